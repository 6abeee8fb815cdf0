//! Faults between the requests of one connection, and in the framing and coding of bodies.

use std::collections::{HashMap, HashSet};

use super::{Builds, Fault, Members, fault, give_key, set};
use crate::{ConnectionNumber, Delivery, Request, Response};

/// The connections of a kind, such as those on which a body was not read.
type Connections = HashSet<ConnectionNumber>;

/// The members of the last bodies of connections.
type Bodies = HashMap<ConnectionNumber, Members>;

impl Fault {
    /// Takes the unread rest of some bodies for the next request of the connection.
    fn leaves_unread(self, which: fn(&Request, &Response) -> bool) -> Fault {
        self.before(|request, server| {
            let is_unread = server.own(|connections: &mut Connections| connections.remove(&request.connection));
            is_unread.then(|| Response::error(400))
        })
        .after(move |request, response, server| {
            if which(request, response) {
                server.own(|connections: &mut Connections| connections.insert(request.connection));
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("auth.missing-key.connection-remembers-key", "A connection that carried a key needs no further key.")
            .edit(|request, server| {
                let is_known = server.key_of(request).is_some();
                let is_trusted = server.own(|connections: &mut Connections| {
                    is_known && connections.insert(request.connection) || connections.contains(&request.connection)
                });
                if is_trusted && request.authorization().is_empty() {
                    give_key(request, server);
                }
            }),
        fault(
            "auth.invalid-key.connection-remembers-key",
            "A connection that carried a key takes any other key for it.",
        )
        .edit(|request, server| {
            let is_known = server.key_of(request).is_some();
            let is_trusted = server.own(|connections: &mut Connections| {
                is_known && connections.insert(request.connection) || connections.contains(&request.connection)
            });
            if is_trusted && !is_known && !request.authorization().is_empty() {
                give_key(request, server);
            }
        }),
        fault("service.complete-answer.second-request-unanswered", "The second request of a connection hangs.").after(
            |request, response, server| {
                if !server.own(|connections: &mut Connections| connections.insert(request.connection)) {
                    response.delivery = Delivery::Never;
                }
            },
        ),
        fault("get.success.unread-long-body", "What a body has beyond 100 KiB is taken for the next request.")
            .leaves_unread(|request, _| request.body.len() > 100 * 1024),
        fault("get.not-found.unread-body", "A body sent with a wrong key is taken for the connection's next request.")
            .leaves_unread(|request, response| response.status == 401 && !request.body.is_empty()),
        fault("create.name-required.kept-from-before", "What a body lacks is taken from the connection's last body.")
            .also(&["create.category-required"])
            .edit(|request, server| {
                let connection = request.connection;
                request.edit_object(|pet| {
                    server.own(|bodies: &mut Bodies| {
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
        fault("create.success.chunked-read-as-empty", "A body that comes in chunks is taken for none.")
            .like("a handler that reads as many bytes as Content-Length says (CGI, WSGI)")
            .edit(|request, _| {
                if !request.header("transfer-encoding").is_empty() {
                    request.body.clear();
                }
            }),
        fault("create.echo.chunks-decoded-apart", "A character that is split between two chunks is replaced.")
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
        fault("service.complete-answer.dies-after-errors", "A response after an error breaks off with its connection.")
            .after(|request, response, server| {
                server.own(|connections: &mut Connections| {
                    if connections.contains(&request.connection) {
                        response.delivery = Delivery::Cut;
                    } else if response.status >= 400 {
                        connections.insert(request.connection);
                    }
                });
            }),
        fault("service.json.claims-gzip", "Successful answers are said to be compressed, and are not.")
            .answered(200, |_, response, _| response.set("content-encoding", "gzip")),
        fault("errors.shape.errors-claim-gzip", "Errors are labelled as gzip, and are none.").after(
            |_, response, _| {
                if response.status >= 400 {
                    response.set("content-encoding", "gzip");
                }
            },
        ),
        fault("errors.shape.edge-413", "A body over 64 KiB gets 413 and a page in HTML.").after(
            |request, response, _| {
                if request.body.len() > 64 * 1024 && response.status >= 400 {
                    response.status = 413;
                    response.set_body("text/html", "<h1>413 Request Entity Too Large</h1>");
                }
            },
        ),
    ]
}
