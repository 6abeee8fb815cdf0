//! Faults between the requests of one connection, and in the framing and coding of bodies.

use std::collections::{HashMap, HashSet};

use super::{Fault, Members, fault, set};
use crate::{ConnectionNumber, Delivery, Request, Response};

/// Connections that have carried a key.
#[derive(Default)]
struct Authenticated(HashSet<ConnectionNumber>);

/// Connections on which a request was served.
#[derive(Default)]
struct Served(HashSet<ConnectionNumber>);

/// Connections on which a body was not read.
#[derive(Default)]
struct Unread(HashSet<ConnectionNumber>);

/// The members of the last bodies of connections.
#[derive(Default)]
struct Bodies(HashMap<ConnectionNumber, Members>);

/// Connections on which an error was answered.
#[derive(Default)]
struct Refused(HashSet<ConnectionNumber>);

impl Fault {
    /// Takes the unread rest of some bodies for the next request of the connection.
    fn leaves_unread(self, which: fn(&Request, &Response) -> bool) -> Fault {
        self.before(|request, server| {
            let is_unread = server.own(|Unread(connections)| connections.remove(&request.connection));
            is_unread.then(|| Response::error(400))
        })
        .after(move |request, response, server| {
            if which(request, response) {
                server.own(|Unread(connections)| connections.insert(request.connection));
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("connection-remembers-key", &["auth.missing-key"])
            .does("A request without a key is served on a connection that has carried a key.")
            .like("a session that belongs to the connection")
            .edit(|request, server| {
                let is_known = server.key_of(request).is_some();
                let is_trusted = server.own(|Authenticated(connections)| {
                    is_known && connections.insert(request.connection) || connections.contains(&request.connection)
                });
                if is_trusted
                    && request.authorization().is_empty()
                    && let Some(key) = server.keys().first()
                {
                    request.authorize(key);
                }
            }),
        fault("second-request-unanswered", &["service.complete-answer"])
            .does("The second request of a connection is never answered.")
            .like("a worker that serves one request and keeps the connection open")
            .after(|request, response, server| {
                if !server.own(|Served(connections)| connections.insert(request.connection)) {
                    response.delivery = Delivery::Never;
                }
            }),
        fault("unread-long-body", &["get.success"])
            .does("The end of a body over 100 KiB is taken for the next request of the connection.")
            .like("a body that is read as far as a bound, and a connection that is kept all the same")
            .leaves_unread(|request, _| request.body.len() > 100 * 1024),
        fault("unread-body", &["get.not-found"])
            .does("A body that came with a wrong key is taken for the next request of the connection.")
            .like("a body that is not read when the key is refused, and is taken for the start of the next request")
            .leaves_unread(|request, response| response.status == 401 && !request.body.is_empty()),
        fault("kept-from-before", &["create.name-required", "create.category-required"])
            .does("What a body lacks is taken from the body before it on the same connection.")
            .like("an object that the worker of a connection decodes each body into")
            .edit(|request, server| {
                let connection = request.connection;
                request.edit_object(|pet| {
                    server.own(|Bodies(bodies)| {
                        let before = bodies.entry(connection).or_default();
                        for member in ["name", "categoryId"] {
                            match (pet.get(member).cloned(), before.get(member).cloned()) {
                                (Some(value), _) => set(before, member, value),
                                (None, Some(value)) => set(pet, member, value),
                                (None, None) => {}
                            }
                        }
                    });
                });
            }),
        fault("chunked-read-as-empty", &["create.success"])
            .does("A body that comes in chunks is taken for none.")
            .like("a handler that reads as many bytes as Content-Length says (CGI, WSGI)")
            .edit(|request, _| {
                if !request.header("transfer-encoding").is_empty() {
                    request.body.clear();
                }
            }),
        fault("chunks-decoded-apart", &["create.echo"])
            .does("A character that is split between two chunks of a body becomes replacement characters.")
            .like("a reader that makes text of each chunk as it comes (`body += chunk` in Node)")
            .edit(|request, _| {
                let mut text = String::new();
                let mut begin = 0;
                for end in request.chunk_ends.clone() {
                    text.push_str(&String::from_utf8_lossy(&request.body[begin..end]));
                    begin = end;
                }
                if request.is_create() && text.contains('\u{fffd}') && std::str::from_utf8(&request.body).is_ok() {
                    request.body = text.into_bytes();
                }
            }),
        fault("dies-after-errors", &["service.complete-answer"])
            .does("A connection breaks within the response to the next request after an error.")
            .like("a worker that is replaced after an error")
            .after(|request, response, server| {
                server.own(|Refused(connections)| {
                    if connections.contains(&request.connection) {
                        response.delivery = Delivery::Cut;
                    } else if response.status >= 400 {
                        connections.insert(request.connection);
                    }
                });
            }),
        fault("claims-gzip", &["service.json"])
            .does("Successful answers are said to be compressed, and are not.")
            .like("a proxy that decompresses, and leaves the label as it was")
            .answered(200, |_, response, _| response.set("content-encoding", "gzip")),
        fault("errors-claim-gzip", &["errors.shape"])
            .does("Errors are said to be compressed, and are not.")
            .like("a handler for errors behind the compression")
            .after(|_, response, _| {
                if response.status >= 400 {
                    response.set("content-encoding", "gzip");
                }
            }),
        fault("edge-413", &["errors.shape"])
            .does("A body of more than 64 KiB is answered with 413 and a page in HTML.")
            .like("a proxy with a limit of its own for bodies, and a page for it")
            .after(|request, response, _| {
                if request.body.len() > 64 * 1024 && response.status >= 400 {
                    response.status = 413;
                    response.set_body("text/html", "<h1>413 Request Entity Too Large</h1>");
                }
            }),
    ]
}
