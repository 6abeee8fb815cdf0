//! Rate limit headers.

use super::{Fault, fault};
use crate::limiter::{Anchor, Policy};

const LIMIT: &str = "x-ratelimit-limit";
const REMAINING: &str = "x-ratelimit-remaining";
const RESET: &str = "x-ratelimit-reset";

pub(super) fn faults() -> Vec<Fault> {
    [absent(), wrong_values(), times()].into_iter().flatten().collect()
}

impl Fault {
    /// Leaves header fields out of the responses with one status.
    fn without(self, status: u16, fields: &'static [&'static str]) -> Fault {
        self.answered(status, |_, response, _| fields.iter().for_each(|field| response.remove(field)))
    }
}

fn absent() -> Vec<Fault> {
    let all: &[&str] = &["headers.limit", "headers.remaining", "headers.reset"];
    let fields: &[&str] = &[LIMIT, REMAINING, RESET];
    vec![
        fault("none-on-401", all)
            .does("A 401 has no rate-limit headers.")
            .like("a limiter that stands behind the check of the key")
            .without(401, fields),
        fault("none-on-404", all)
            .does("A 404 has no rate-limit headers.")
            .like("an error handler that begins a new answer")
            .without(404, fields),
        fault("none-on-400", all)
            .does("A 400 has no rate-limit headers.")
            .like("validation that answers before the limiter does")
            .without(400, fields),
        fault("none-on-429", all)
            .does("A 429 has no rate-limit headers.")
            .like("a refusal that is written by hand")
            .without(429, fields),
        fault("none-on-201", all)
            .does("A 201 has no rate-limit headers.")
            .like("an operation that was left out of the list")
            .without(201, fields),
        fault("only-on-429", all)
            .does("Only a 429 has rate-limit headers.")
            .like("a limiter that says something when it refuses")
            .after(|_, response, _| {
                if response.status != 429 {
                    fields.iter().for_each(|field| response.remove(field));
                }
            }),
        fault("no-limit-on-404", &["headers.limit"])
            .does("A 404 has no X-RateLimit-Limit.")
            .like("a header that is set with the page")
            .without(404, &[LIMIT]),
        fault("no-remaining-on-400", &["headers.remaining"])
            .does("A 400 has no X-RateLimit-Remaining.")
            .like("a count that comes with success")
            .without(400, &[REMAINING]),
        fault("no-reset-on-401", &["headers.reset"])
            .does("A 401 has no X-RateLimit-Reset.")
            .like("a reset that only a key has")
            .without(401, &[RESET]),
        fault("limit-with-policy", &["headers.limit"])
            .does("X-RateLimit-Limit is followed by a policy.")
            .like("the limit and its window in one field")
            .after(|_, response, _| response.set(LIMIT, format!("{}, 60;w=60", response.header(LIMIT)))),
        fault("limits-twice", &["headers.limit"])
            .does("There are two X-RateLimit-Limit.")
            .like("a proxy that adds its own limit")
            .after(|_, response, _| response.add(LIMIT, 1_000)),
        fault("remaining-as-double", &["headers.remaining"])
            .does("X-RateLimit-Remaining has a decimal point.")
            .like("a count kept as a double")
            .after(|_, response, _| response.set(REMAINING, format!("{}.0", response.header(REMAINING)))),
        fault("reset-as-date", &["headers.reset"])
            .does("X-RateLimit-Reset is a date.")
            .like("a reset written as a date")
            .after(|_, response, _| response.set(RESET, "2026-06-01T12:01:00Z")),
        fault("reset-with-fraction", &["headers.reset"])
            .does("X-RateLimit-Reset has a fraction.")
            .like("a time that has milliseconds behind the point")
            .after(|_, response, _| response.set(RESET, format!("{}.250", response.header(RESET)))),
    ]
}

fn wrong_values() -> Vec<Fault> {
    vec![
        fault("limit-of-the-library", &["headers.limit-figure"])
            .does("X-RateLimit-Limit is 100, whatever the plan is.")
            .like("the figure that a library comes with")
            .after(|_, response, _| response.set(LIMIT, 100)),
        fault("limit-of-the-day", &["headers.limit-figure"])
            .does("X-RateLimit-Limit is the day's 1,000, and Remaining and Reset are the minute's.")
            .like("the wrong one of two constants")
            .after(|_, response, _| response.set(LIMIT, 1_000)),
        fault("limit-falls", &["headers.limit-figure"])
            .does("X-RateLimit-Limit is what X-RateLimit-Remaining is.")
            .like("what remains, reported as the limit")
            .after(|_, response, _| response.set(LIMIT, response.header(REMAINING).to_owned())),
        fault("creations-have-more", &["headers.limit-figure"])
            .does("X-RateLimit-Limit is larger by ten for creations.")
            .like("a limit for each route")
            .after(|request, response, _| {
                if request.is_create() {
                    response.set(LIMIT, response.number_of(LIMIT) + 10);
                    response.set(REMAINING, response.number_of(REMAINING) + 10);
                }
            }),
        fault("one-below-nought", &["headers.remaining-range"])
            .does("X-RateLimit-Remaining is -1 with a 429.")
            .like("the limit less a count that goes on")
            .answered(429, |_, response, _| response.set(REMAINING, -1)),
        fault("more-than-all", &["headers.remaining-range"])
            .does("X-RateLimit-Remaining can be larger than the limit.")
            .like("a credit for those who come back")
            .answered(200, |_, response, _| response.set(REMAINING, 20 + response.number_of(REMAINING))),
        fault("constant", &["headers.remaining-falls"])
            .does("X-RateLimit-Remaining is always the limit.")
            .like("a figure that nobody counts down")
            .after(|_, response, _| response.set(REMAINING, response.header(LIMIT).to_owned())),
        fault("used-instead", &["headers.remaining-never-rises"])
            .does("X-RateLimit-Remaining is the number of requests used.")
            .like("the requests used where those left are meant")
            .after(|_, response, _| response.set(REMAINING, response.number_of(LIMIT) - response.number_of(REMAINING))),
        fault("never-counted", &["headers.remaining-falls"])
            .does("X-RateLimit-Remaining is always one less than the limit on success.")
            .like("a count that is read and never written back")
            .after(|_, response, _| {
                if response.status < 400 {
                    response.set(REMAINING, response.number_of(LIMIT) - 1);
                }
            }),
        fault("refills", &["headers.remaining-never-rises"])
            .does("X-RateLimit-Remaining rises by one every second.")
            .like("a bucket that gets a request back every second, reported as a window")
            .after(|_, response, server| {
                let refilled = response.number_of(REMAINING) + (server.now() - 45).rem_euclid(server.window());
                response.set(REMAINING, refilled.min(response.number_of(LIMIT)));
            }),
        fault("estimated", &["headers.remaining-never-rises"])
            .does("X-RateLimit-Remaining jitters.")
            .like("a count that is gathered from many places now and then")
            .after(|_, response, server| {
                let noise = (server.count() * 7 % 5) as i64;
                response.set(REMAINING, (response.number_of(REMAINING) - noise).max(0));
            }),
    ]
}

fn times() -> Vec<Fault> {
    let target: &[&str] = &["headers.reset-time"];
    vec![
        fault("milliseconds", target)
            .does("X-RateLimit-Reset is in milliseconds.")
            .like("a language whose time is in milliseconds")
            .after(|_, response, _| response.set(RESET, response.number_of(RESET) * 1_000)),
        fault("delay", target)
            .does("X-RateLimit-Reset is the number of seconds left.")
            .like("the seconds that are left")
            .after(|_, response, server| response.set(RESET, response.number_of(RESET) - server.now())),
        fault("moving-reset", target)
            .does("X-RateLimit-Reset is always a minute ahead.")
            .like("a minute from now, always")
            .after(|_, response, server| response.set(RESET, server.now() + server.window())),
        fault("moving-reset-of-a-window", target)
            .does(
                "A window begins with the first request after the last one, and X-RateLimit-Reset is always a minute \
                 ahead.",
            )
            .like("a counter that expires a minute after it was made, and headers that do not ask it")
            .limiter(Policy { anchor: Anchor::Request, ..Policy::default() })
            .outside(|_, response, server| response.set(RESET, server.now() + server.window())),
        fault("reset-of-the-start", target)
            .does("X-RateLimit-Reset is the beginning of the window.")
            .like("the beginning of the window")
            .after(|_, response, server| response.set(RESET, response.number_of(RESET) - server.window())),
        fault("local-time", target)
            .does("X-RateLimit-Reset is two hours ahead.")
            .like("a time that was meant to be local")
            .after(|_, response, _| response.set(RESET, response.number_of(RESET) + 7_200)),
        fault("reset-is-now", target)
            .does("X-RateLimit-Reset is the time of the response.")
            .like("the time of the answer")
            .after(|_, response, server| response.set(RESET, server.now())),
        fault("log-of-half-a-minute", target)
            .does("The requests of the last half minute count, instead of a minute.")
            .like("a log whose length was taken from another plan")
            .limiter(Policy { anchor: Anchor::Log(30), ..Policy::default() }),
        fault("now-on-404", target)
            .does("X-RateLimit-Reset is the time of the response with a 404.")
            .like("an error handler without the window at hand")
            .answered(404, |_, response, server| response.set(RESET, server.now())),
    ]
}
