//! The service as a whole: responses in JSON, the requests of one connection, the framing and coding of bodies, and header fields that
//! cannot change a lawful response.

use std::collections::{HashMap, HashSet};

use super::{Builds, Fault, Members, at, change, failure, fault, give_key, of, set_missing, success};
use crate::{ConnectionNumber, Delivery, Request, Response, ServerState};

/// The connections on which a body was not read.
type Connections = HashSet<ConnectionNumber>;

/// The members of the last bodies of connections.
type Bodies = HashMap<ConnectionNumber, Members>;

/// The animals that were fetched first on connections.
type Firsts = HashMap<ConnectionNumber, Vec<u8>>;

/// Whether the last response of each connection was a 404.
type Missing = HashMap<ConnectionNumber, bool>;

impl Fault {
    /// Spoils the delivery of some responses.
    fn breaks(self, delivery: Delivery, which: fn(&Request, &Response, &ServerState) -> bool) -> Fault {
        self.sends(which, move |response| response.delivery = delivery)
    }

    /// Gives some requests the key that was presented on their connection before.
    fn remembers_key(self, which: fn(&Request) -> bool) -> Fault {
        self.edit(move |request, server| {
            if server.key_of(request).is_some() {
                server.is_new(request.connection);
            } else if which(request) && server.has_seen(&request.connection) {
                give_key(request, server);
            }
        })
    }

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
        fault("service.complete-answer.drops-status-less-creations", "A creation without a status is dropped.")
            .breaks(Delivery::Dropped, |request, response, _| response.status == 201 && request.lacks("status")),
        fault("service.complete-answer.drops-large-bodies", "A body over 64 KiB ends the connection with no response.")
            .breaks(Delivery::Dropped, |request, _, _| request.body.len() > 64 * 1024),
        fault("service.complete-answer.cuts-long-lists", "A list of more than 1,000 bytes breaks off in the middle.")
            .breaks(Delivery::Cut, |_, response, _| response.status == 200 && response.body.len() > 1_000),
        fault("service.json.one-byte-each", "A body whose characters all fit one byte each is written in Latin-1.")
            .sends(success, |response| {
                if let Some(narrow) = response.text().chars().map(|char| u8::try_from(char).ok()).collect() {
                    response.body = narrow;
                }
            }),
        fault("service.json.html-label", "Successful responses are labelled text/html.")
            .sends(success, |response| response.set("content-type", "text/html; charset=utf-8")),
        fault("service.json.two-labels", "Successful responses are labelled application/json and text/plain.")
            .sends(success, |response| response.add("content-type", "text/plain")),
        fault("service.json.no-label-on-get", "A fetched animal has no Content-Type.")
            .sends(at(200, Request::is_get), |response| response.remove("content-type")),
        fault("service.json.byte-order-mark", "Successful responses begin with a byte order mark.")
            .sends(success, |response| drop(response.body.splice(0..0, *b"\xef\xbb\xbf"))),
        fault("service.json.single-quotes", "Lists have single quotes where JSON has double ones.")
            .sends(at(200, Request::is_list), |response| response.body = response.text().replace('"', "'").into()),
        fault("service.json.latin-1", "Successful responses are encoded in Latin-1.").sends(success, |response| {
            response.body = response.text().chars().map(|char| u8::try_from(char).unwrap_or(b'?')).collect();
        }),
        fault("auth.missing-key.connection-remembers-key", "A connection that carried a key needs no further key.")
            .remembers_key(|request| request.authorization().is_empty()),
        fault("auth.invalid-key.connection-remembers-key", "A connection that carried a key takes any other for it.")
            .remembers_key(|request| !request.authorization().is_empty()),
        fault("service.complete-answer.second-request-unanswered", "The second request of a connection hangs.")
            .breaks(Delivery::Never, |request, _, server| !server.is_new(request.connection)),
        fault("get.success.unread-long-body", "What a body has beyond 100 KiB is taken for the next request.")
            .leaves_unread(|request, _| request.body.len() > 100 * 1024),
        fault("get.not-found.unread-body", "A body sent with a wrong key is taken for the connection's next request.")
            .leaves_unread(|request, response| response.status == 401 && !request.body.is_empty()),
        fault("create.name-required.kept-from-before", "What a body lacks is taken from the connection's last body.")
            .also(&["create.category-required"])
            .edit(|request, server| {
                let connection = request.connection;
                request.edit_object(|pet| {
                    let mut given = pet.clone();
                    given.retain(|member, _| member == "name" || member == "categoryId");
                    server.own(|bodies: &mut Bodies| {
                        let before = bodies.entry(connection).or_default();
                        before.extend(given);
                        before.iter().for_each(|(member, value)| set_missing(pet, member, value.clone()));
                    });
                });
            }),
        fault("create.success.chunked-read-as-empty", "A body that comes in chunks is taken for none.")
            .like("a handler that reads as many bytes as Content-Length says (CGI, WSGI)")
            .edits(|request| !request.header("transfer-encoding").is_empty(), |request| request.body.clear()),
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
            .breaks(Delivery::Cut, |request, response, server| {
                let is_failure = response.status >= 400;
                server.has_seen(&request.connection) || is_failure && !server.is_new(request.connection)
            }),
        fault("list.success.connection-stays-missing", "After a 404, the next success on its connection is one, too.")
            .after(|request, response, server| {
                let is_missing = response.status == 404;
                let before = server.own(|missing: &mut Missing| missing.insert(request.connection, is_missing));
                if before == Some(true) && response.status == 200 {
                    response.refuse(404);
                }
            }),
        fault("get.success.first-of-its-connection", "A connection shows the first animal that was fetched on it.")
            .after(|request, response, server| {
                if request.is_get() && response.status == 200 {
                    let shown = response.body.clone();
                    response.body =
                        server.own(|first: &mut Firsts| first.entry(request.connection).or_insert(shown).clone());
                }
            }),
        fault("service.json.claims-gzip", "Successful answers are said to be compressed, and are not.")
            .answered(200, |_, response, _| response.set("content-encoding", "gzip")),
        fault("errors.shape.errors-claim-gzip", "Errors are labelled as gzip, and are none.")
            .sends(failure, |response| response.set("content-encoding", "gzip")),
        fault("errors.shape.edge-413", "A body over 64 KiB gets 413 and a page in HTML.").sends(
            |request, response, _| request.body.len() > 64 * 1024 && response.status >= 400,
            |response| {
                response.status = 413;
                response.set_page("413 Request Entity Too Large");
            },
        ),
        fault("headers.limit.lost-with-gzip", "Responses to clients that accept gzip have no rate-limit fields.")
            .also(&["headers.remaining", "headers.reset"])
            .sends(of(|request| request.header("accept-encoding").contains("gzip")), Response::remove_limits),
        fault("pet.status-values.translated", "Clients that accept German get the status in German.").shows_in(
            |request| request.header("accept-language").starts_with("de"),
            |pet| {
                let german = |status: &str| match status {
                    "available" => "verfügbar",
                    "pending" => "reserviert",
                    _ => "verkauft",
                };
                change(pet, "status", |status| Some(german(status.as_str()?).into()));
            },
        ),
        fault("list.success.one-media-type", "A list is refused with 406 if the client accepts several media types.")
            .turns([200, 406], |request| request.is_list() && request.header("accept").contains(',')),
    ]
}
