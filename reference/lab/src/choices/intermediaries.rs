//! Choices of intermediaries between client and server, with which the server stays lawful.

use std::{collections::HashMap, io::Write};

use flate2::{Compression, write::GzEncoder};

use super::{Builds, Choice, between, own};
use crate::{ConnectionNumber, Delivery, Request, Response, ServerState};

/// The number of requests that a balancer lets pass on one connection.
const MOST_ON_A_CONNECTION: u32 = 5;

/// The number of seconds by which the clock of a gateway is off.
const OFF: i64 = 120;

/// The requests of each connection that have passed.
type Passed = HashMap<ConnectionNumber, u32>;

fn close_silently(request: &mut Request, server: &ServerState) -> Option<Response> {
    let passed = server.own(|passed: &mut Passed| {
        let count = passed.entry(request.connection).or_default();
        *count += 1;
        *count
    });
    (passed > MOST_ON_A_CONNECTION).then(|| {
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

impl Choice {
    /// Lets a gateway write `Date` by a clock that is this many seconds ahead.
    fn dates(self, seconds: i64) -> Choice {
        self.after(move |_, response, server| response.set_date("date", server.now() + seconds))
    }

    /// Lets a gateway answer one request in the place of the server, which never sees it.
    fn answers_one(self, answer: fn() -> Response) -> Choice {
        self.before(move |request, _| (request.number == 37).then(answer))
    }
}

pub(super) fn page(status: u16, title: &str) -> Response {
    let mut response = Response::new(status);
    response.set("server", "gateway");
    response.set_body(
        "text/html",
        format!("<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\r\n"),
    );
    response
}

pub(super) fn choices() -> Vec<Choice> {
    vec![
        own("service.complete-answer/idle", "kept-until-announced", "A kept connection does not end unannounced."),
        between("service.complete-answer/idle", "closed-silently", "A kept connection ends silently at request six.")
            .before(close_silently),
        own("service.json/compression", "as-asked", "Bodies are not compressed."),
        between("service.json/compression", "gzip-in-spite-of-identity", "Bodies are compressed with gzip, labelled.")
            .after(compress),
        own("service.complete-answer/gateway", "no-gateway", "Nothing answers in the server's place."),
        between("service.complete-answer/gateway", "one-502", "The 37th request gets 502 and a page, unserved.")
            .answers_one(|| page(502, "502 Bad Gateway")),
        between("service.complete-answer/gateway", "one-503", "The 37th request gets 503 and a page, unserved.")
            .answers_one(|| page(503, "503 Service Temporarily Unavailable")),
        between("service.complete-answer/gateway", "one-407", "The 37th request gets 407, and is not served.")
            .answers_one(|| {
                let mut response = Response::new(407);
                response.set("proxy-authenticate", "Basic realm=\"company\"");
                response
            }),
        own("service.complete-answer/forged", "passes-forwarded-for", "X-Forwarded-For of a client changes nothing."),
        between("service.complete-answer/forged", "refuses-forwarded-for", "A client with X-Forwarded-For gets 403.")
            .before(|request, _| {
                let is_forged = !request.header("x-forwarded-for").is_empty();
                is_forged.then(|| page(403, "403 Forbidden"))
            }),
        own("headers.reset-time/date", "date-of-the-server", "Date and X-RateLimit-Reset are of one clock."),
        between("headers.reset-time/date", "date-of-a-gateway", "Date is two minutes ahead of the clock of Reset.")
            .dates(OFF),
        between("headers.reset-time/date", "date-of-a-slow-gateway", "Date is two minutes behind the clock of Reset.")
            .dates(-OFF),
        between("headers.reset-time/date", "date-in-steps", "Date stands still for ten seconds at a time.")
            .after(|_, response, server| response.set_date("date", server.now() - server.now().rem_euclid(10))),
    ]
}
