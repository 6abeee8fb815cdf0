//! Other lawful choices: what the specification leaves open, and headers that nobody asks for.

use animal_store_rules::history::{Entry, History};
use animal_store_rules::limits::Limiter;
use animal_store_rules::request::{Ambiguity, CreateBody, Credential, Defect, Fault, Operation, Parameter, PetId};
use animal_store_rules::trace::Trace;
use fastrand::Rng;
use serde_json::json;

use super::Lawful;
use crate::tools::{
    each, empty, every, fetched, http_date, keyed, limited, places, recount, refuse, remove, renumber, set, set_json,
};

pub(super) const EDITS: &[Lawful] = &[
    Lawful { name: "optional headers are left out", hides: None, apply: fewer_headers },
    Lawful { name: "there are further headers", hides: None, apply: further_headers },
    Lawful { name: "header fields come in another order", hides: None, apply: reorder_headers },
    Lawful { name: "a caller without a key has an allowance", hides: None, apply: allowance },
    Lawful { name: "Remaining is reported before the request is counted", hides: None, apply: counted_late },
    Lawful { name: "there is other traffic on the key", hides: None, apply: other_traffic },
    Lawful { name: "an unknown status filter matches nothing, or is refused", hides: None, apply: unknown_status },
    Lawful { name: "a limit out of range is refused", hides: None, apply: bad_limit },
    Lawful { name: "what is no int64 gets 400 or 404", hides: None, apply: malformed_id },
    Lawful { name: "JSON under another label is refused in another way", hides: None, apply: other_media },
    Lawful { name: "what is no JSON is refused in another way", hides: None, apply: malformed_json },
    Lawful { name: "a number of 5,000 digits is refused in another way", hides: None, apply: many_digits },
    Lawful { name: "a body of 65 KiB is refused in another way", hides: None, apply: large_body },
    Lawful { name: "half of a surrogate pair is refused in another way", hides: None, apply: half_a_pair },
    Lawful { name: "two Authorization fields make a request malformed", hides: None, apply: two_credentials },
    Lawful { name: "bodies are labelled as not encoded", hides: None, apply: not_encoded },
    Lawful { name: "store orders answers in any other way", hides: None, apply: orders },
    Lawful { name: "unknown paths and methods are answered in any way", hides: None, apply: elsewhere },
    Lawful { name: "a lower-case scheme is refused", hides: None, apply: scheme_case },
    Lawful {
        name: "a 429 has an empty body",
        hides: None,
        apply: |trace, _| each(trace, limited, |response| empty(response, 429)),
    },
    Lawful {
        name: "a 429 has an Error",
        hides: None,
        apply: |trace, _| each(trace, limited, |response| refuse(response, 429)),
    },
    Lawful {
        name: "one more request goes over each limit",
        hides: Some("after repeated refusals there may be a ban"),
        apply: once_more_over_the_limit,
    },
    Lawful { name: "Retry-After comes in its other form", hides: None, apply: retry_after_form },
    Lawful { name: "Retry-After is a few seconds longer", hides: None, apply: longer_retry_after },
    Lawful { name: "a removed operation is refused in another way", hides: None, apply: removed },
    Lawful { name: "the plan is not reported", hides: None, apply: plan_not_reported },
    Lawful {
        name: "the API stands at another address",
        hides: None,
        apply: |trace, _| trace.context.base_url = "https://store.example/animals/v1".to_owned(),
    },
];

/// A plan that is not reported is learnt from the headers. An agreed plan with the day of one that everybody can have must be reported.
fn plan_not_reported(trace: &mut Trace, _: &mut Rng) {
    let reported = trace.context.plan_limits.take();
    let learnt = Limiter::new(&History::new(trace)).plan_limits(0);
    if learnt.is_some() && learnt != reported {
        trace.context.plan_limits = reported;
    }
}

const OPTIONAL: [&str; 6] = ["www-authenticate", "sunset", "link", "allow", "x-request-id", "content-length"];

fn fewer_headers(trace: &mut Trace, random: &mut Rng) {
    every(trace, |response| {
        for name in OPTIONAL {
            if random.bool() {
                remove(response, name);
            }
        }
    });
}

fn further_headers(trace: &mut Trace, _: &mut Rng) {
    every(trace, |response| {
        for (name, value) in [
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("connection", "close"),
            ("ratelimit", "\"default\";r=50;t=30"),
            ("x-ratelimit-used", "lots"),
            ("vary", "authorization"),
            ("cache-control", "no-store"),
        ] {
            response.headers.push((name.to_owned(), value.to_owned()));
        }
        if response.status == 201 {
            set(response, "location", "/v1/pets/elsewhere");
        }
    });
    each(trace, fetched, |response| {
        set(response, "deprecation", "@1767225600");
        set(response, "sunset", "Thu, 05 Dec 2030 23:59:59 GMT");
        set(response, "warning", "299 - \"deprecated\"");
    });
}

fn reorder_headers(trace: &mut Trace, random: &mut Rng) {
    every(trace, |response| random.shuffle(&mut response.headers));
}

fn allowance(trace: &mut Trace, random: &mut Rng) {
    each(
        trace,
        |entry| entry.credential.is_invalid(),
        |response| {
            let limit = random.u64(0..=u64::from(u32::MAX));
            set(response, "x-ratelimit-limit", limit);
            set(response, "x-ratelimit-remaining", random.u64(0..=limit));
        },
    );
}

/// Whether an answer reports what remains of a key's window.
fn has_rate_limit(entry: &Entry<'_>) -> bool {
    entry.credential.key().is_some()
}

fn counted_late(trace: &mut Trace, _: &mut Rng) {
    each(
        trace,
        |entry| has_rate_limit(entry) && !limited(entry) && entry.status() != Some(401),
        |response| {
            let limit = response.header("x-ratelimit-limit").and_then(|text| text.parse().ok()).unwrap_or(i64::MAX);
            recount(response, "x-ratelimit-remaining", |remaining| (remaining + 1).min(limit));
        },
    );
}

/// From some request on, others have used some of what remains, in windows that nobody exhausts.
fn other_traffic(trace: &mut Trace, random: &mut Rng) {
    if trace.exchanges.iter().any(|exchange| exchange.status() == Some(429)) {
        return;
    }
    let begins = random.usize(1..=trace.exchanges.len());
    let used = random.i64(2..9);
    let affected = |entry: &Entry<'_>| has_rate_limit(entry) && entry.exchange.number >= begins;
    each(trace, affected, |response| {
        recount(response, "x-ratelimit-remaining", |remaining| (remaining - used).max(1));
    });
}

fn unknown_status(trace: &mut Trace, random: &mut Rng) {
    let pick = |entry: &Entry<'_>| {
        let is_ambiguous =
            matches!(&entry.operation, Operation::List(query) if matches!(query.status, Parameter::Ambiguous(_)));
        is_ambiguous && (keyed(entry, 200) || keyed(entry, 400))
    };
    each(trace, pick, |response| {
        if random.bool() {
            refuse(response, 400);
        } else {
            response.status = 200;
            set_json(response, &json!([]));
        }
    });
}

fn bad_limit(trace: &mut Trace, _: &mut Rng) {
    let pick = |entry: &Entry<'_>| {
        let is_ambiguous =
            matches!(&entry.operation, Operation::List(query) if matches!(query.limit, Parameter::Ambiguous(_)));
        is_ambiguous && keyed(entry, 200)
    };
    each(trace, pick, |response| refuse(response, 400));
}

fn malformed_id(trace: &mut Trace, random: &mut Rng) {
    let pick = |entry: &Entry<'_>| {
        entry.operation == Operation::Get(PetId::NotInt64) && (keyed(entry, 400) || keyed(entry, 404))
    };
    each(trace, pick, |response| refuse(response, if random.bool() { 400 } else { 404 }));
}

fn other_media(trace: &mut Trace, random: &mut Rng) {
    let pick = |entry: &Entry<'_>| {
        entry.operation == Operation::Create(CreateBody::OtherMedia) && matches!(entry.status(), Some(400 | 415))
    };
    each(trace, pick, |response| refuse(response, if random.bool() { 400 } else { 406 }));
}

fn malformed_json(trace: &mut Trace, random: &mut Rng) {
    let pick = |entry: &Entry<'_>| {
        matches!(entry.operation, Operation::Create(CreateBody::Malformed | CreateBody::Extended)) && keyed(entry, 400)
    };
    each(trace, pick, |response| refuse(response, random.choice([400, 413, 422]).expect("there are three")));
}

/// Refuses what is refused with one of the statuses of those who take no such body.
fn refuse_otherwise(trace: &mut Trace, random: &mut Rng, pick: fn(&CreateBody) -> bool) {
    let picked = |entry: &Entry<'_>| {
        matches!(&entry.operation, Operation::Create(body) if pick(body)) && (keyed(entry, 400) || keyed(entry, 413))
    };
    each(trace, picked, |response| refuse(response, random.choice([400, 413, 422]).expect("there are three")));
}

fn many_digits(trace: &mut Trace, random: &mut Rng) {
    refuse_otherwise(
        trace,
        random,
        |body| matches!(body, CreateBody::Faulty(faults, _) if faults.contains(&Fault::Unread)),
    );
}

fn large_body(trace: &mut Trace, random: &mut Rng) {
    refuse_otherwise(
        trace,
        random,
        |body| matches!(body, CreateBody::NewPet(_, ambiguities) if ambiguities.contains(&Ambiguity::Size)),
    );
}

fn half_a_pair(trace: &mut Trace, random: &mut Rng) {
    refuse_otherwise(trace, random, |body| *body == CreateBody::Unclear);
}

fn two_credentials(trace: &mut Trace, random: &mut Rng) {
    let pick = |entry: &Entry<'_>| {
        entry.operation != Operation::Elsewhere && entry.credential == Credential::Invalid(Defect::Repeated)
    };
    each(trace, pick, |response| match random.u8(0..3) {
        0 => refuse(response, 400),
        1 => empty(response, 431),
        _ => {
            response.status = 400;
            response.body = b"<html><head><title>400 Bad Request</title></head></html>".to_vec();
            set(response, "content-type", "text/html");
            for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
                remove(response, name);
            }
        }
    });
}

fn not_encoded(trace: &mut Trace, random: &mut Rng) {
    every(trace, |response| {
        let label = random.choice(["identity", "Identity", ""]).expect("there are three");
        set(response, "content-encoding", label);
    });
}

fn orders(trace: &mut Trace, random: &mut Rng) {
    let pick = |entry: &Entry<'_>| entry.operation == Operation::Orders && entry.key().is_some() && !limited(entry);
    each(trace, pick, |response| match random.u8(0..6) {
        0 => {
            response.status = 200;
            set_json(response, &json!({"orders": [], "next": null}));
        }
        1 => empty(response, 204),
        2 => empty(response, 303),
        3 => refuse(response, 403),
        4 => refuse(response, 500),
        _ => empty(response, 501),
    });
}

fn elsewhere(trace: &mut Trace, random: &mut Rng) {
    each(
        trace,
        |entry| entry.operation == Operation::Elsewhere,
        |response| {
            match random.u8(0..4) {
                0 => {
                    response.status = 200;
                    response.body = b"<h1>hello</h1>".to_vec();
                    set(response, "content-type", "text/html");
                }
                1 => empty(response, 404),
                2 => refuse(response, 501),
                _ => empty(response, 308),
            }
            for name in ["x-ratelimit-limit", "x-ratelimit-remaining"] {
                remove(response, name);
            }
            set(response, "x-ratelimit-reset", 0);
        },
    );
}

fn scheme_case(trace: &mut Trace, _: &mut Rng) {
    each(trace, |entry| matches!(entry.credential, Credential::Ambiguous(_)), |response| refuse(response, 401));
}

/// The last request of each series that was refused for the rate is sent again at once, and gets the same answer.
fn once_more_over_the_limit(trace: &mut Trace, _: &mut Rng) {
    let refused = places(trace, limited);
    for at in refused.iter().rev().filter(|at| !refused.contains(&(**at + 1))) {
        let mut again = trace.exchanges[*at].clone();
        (again.sent_at, again.received_at) = (again.received_at, again.received_at);
        again.step.clear();
        trace.exchanges.insert(at + 1, again);
    }
    renumber(trace);
}

fn retry_after_form(trace: &mut Trace, _: &mut Rng) {
    each(trace, limited, |response| {
        // Without a Date there is nothing to reckon from.
        let Some(now) = response.date().map(jiff::Timestamp::as_second) else { return };
        let reported = response.header("retry-after").expect("a lawful 429").to_owned();
        match reported.parse::<i64>() {
            Ok(seconds) => set(response, "retry-after", http_date(now + seconds)),
            Err(_) => {
                let until = httpdate::parse_http_date(&reported).expect("a date");
                let until = jiff::Timestamp::try_from(until).expect("a date within reach").as_second();
                set(response, "retry-after", (until - now).max(0));
            }
        }
    });
}

fn longer_retry_after(trace: &mut Trace, random: &mut Rng) {
    each(trace, limited, |response| {
        let seconds = response.header("retry-after").and_then(|text| text.parse::<i64>().ok());
        if let Some(seconds) = seconds {
            set(response, "retry-after", seconds + random.i64(0..5));
        }
    });
}

fn removed(trace: &mut Trace, random: &mut Rng) {
    let pick = |entry: &Entry<'_>| matches!(entry.operation, Operation::Get(_)) && keyed(entry, 410);
    each(trace, pick, |response| refuse(response, random.choice([404, 405, 410]).expect("there are three")));
}
