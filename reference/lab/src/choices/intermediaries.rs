//! Choices of intermediaries between client and server, with which the server stays lawful.

use std::collections::HashMap;
use std::io::Write;

use animal_store_reference::clock::http_date;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Build, Choice, between, own};
use crate::{ConnectionNumber, Delivery, Layer, Request, Response, ServerState};

/// The number of requests that a balancer lets pass on one connection.
const MOST_ON_A_CONNECTION: u32 = 5;

/// The number of seconds by which the clock of a gateway is off.
const OFF: i64 = 120;

/// The requests of each connection that have passed.
#[derive(Default)]
struct Passed(HashMap<ConnectionNumber, u32>);

fn close_silently(request: &mut Request, server: &ServerState) -> Option<Response> {
    let is_over = server.own(|Passed(passed)| {
        let count = passed.entry(request.connection).or_default();
        *count += 1;
        *count > MOST_ON_A_CONNECTION && passed.remove(&request.connection).is_some()
    });
    is_over.then(|| {
        let mut response = Response::new(200);
        // A part of the body must be missing for the connection to end.
        response.set_body("text/plain", "never sent");
        response.delivery = Delivery::Dropped;
        response
    })
}

fn compress(_: &Request, response: &mut Response, _: &ServerState) {
    if response.body.is_empty() || !response.header("content-encoding").is_empty() {
        return;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    if let Ok(()) = encoder.write_all(&response.body)
        && let Ok(compressed) = encoder.finish()
    {
        response.body = compressed;
        response.set("content-encoding", "gzip");
    }
}

/// A gateway writes `Date` by a clock that is this many seconds ahead.
fn date_off_by(b: &mut Build, seconds: i64) {
    b.between(Layer::default().after(move |_, response, server| {
        let date = u64::try_from(server.now() + seconds).unwrap_or_default();
        response.headers.insert("date", http_date(date));
    }));
}

/// A gateway answers one request in the server's place, which never sees it.
fn answer_one(b: &mut Build, number: u64, answer: fn() -> Response) {
    b.between(Layer::default().before(move |request, _| (request.number == number).then(answer)));
}

fn page(status: u16, title: &str) -> Response {
    let mut response = Response::new(status);
    response.set("server", "gateway");
    response.set_body(
        "text/html",
        format!("<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\r\n"),
    );
    response
}

pub(super) const CHOICES: &[Choice] = &[
    own("service.complete-answer/idle", "kept-until-announced", "A kept connection does not end unannounced."),
    between("service.complete-answer/idle", "closed-silently")
        .does("A kept connection ends at its sixth request, of which nothing has been processed.")
        .like("a balancer that closes connections without saying so")
        .make(|b| b.between(Layer::default().before(close_silently))),
    own("service.json/compression", "as-asked", "Bodies are not compressed."),
    between("service.json/compression", "gzip-in-spite-of-identity")
        .does("Bodies are compressed with gzip and labelled so, whatever the request accepts.")
        .like("a CDN that compresses everything")
        .make(|b| b.between(Layer::default().after(compress))),
    own("service.complete-answer/gateway", "no-gateway", "Nothing answers in the server's place."),
    between("service.complete-answer/gateway", "one-502")
        .does("One request, the 37th, is answered with 502 and a page in HTML, and does not reach the server.")
        .like("an ingress whose backend is replaced")
        .make(|b| answer_one(b, 37, || page(502, "502 Bad Gateway"))),
    between("service.complete-answer/gateway", "one-503")
        .does("One request, the 37th, is answered with 503 and a page in HTML, and does not reach the server.")
        .like("a CDN that does not reach its origin for a moment")
        .make(|b| answer_one(b, 37, || page(503, "503 Service Temporarily Unavailable"))),
    between("service.complete-answer/gateway", "one-407")
        .does("One request, the 37th, is answered with 407, and does not reach the server.")
        .like("a proxy of a company that asks for a login now and then")
        .make(|b| {
            answer_one(b, 37, || {
                let mut response = Response::new(407);
                response.set("proxy-authenticate", "Basic realm=\"company\"");
                response
            });
        }),
    own("headers.reset-time/date", "date-of-the-server", "Date and X-RateLimit-Reset are of one clock."),
    between("headers.reset-time/date", "date-of-a-gateway")
        .does("Date is two minutes ahead of the clock of X-RateLimit-Reset.")
        .like("a gateway that writes Date by a clock of its own")
        .make(|b| date_off_by(b, OFF)),
    between("headers.reset-time/date", "date-of-a-slow-gateway")
        .does("Date is two minutes behind the clock of X-RateLimit-Reset.")
        .like("a gateway that writes Date by a clock of its own")
        .make(|b| date_off_by(b, -OFF)),
];
