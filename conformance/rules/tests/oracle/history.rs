//! What a client sees of a limiter: requests with their times, and what the answers report. The only module that knows the types of
//! the crate under test.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use animal_store_rules::catalogue::plan::PlanLimits;
use animal_store_rules::rules;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Request, Response};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::{Extent, Knowledge};
use animal_store_rules::trace::{Context, Trace};
use jiff::Timestamp;

use crate::limiter::{MALFORMED, MISSING};

/// The keys that the client has.
const KEYS: [&str; 2] = ["sk-Key1", "sk-Other"];

/// The time in milliseconds for which a failure may be counted that is given back then.
const COUNTED_FOR: i64 = 1_000;

/// What a `Retry-After` says, in whole seconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Retry {
    /// So long from now.
    In(i64),
    /// At this Unix time by the server's clock.
    At(i64),
}

/// One exchange. `sent` and `received` are Unix milliseconds by the client's clock; what the answer reports is in Unix seconds by
/// the server's. A header that is `None` is missing.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) key: usize,
    pub(crate) sent: i64,
    pub(crate) received: i64,
    pub(crate) status: u16,
    pub(crate) limit: Option<i64>,
    pub(crate) remaining: Option<i64>,
    pub(crate) reset: Option<i64>,
    pub(crate) date: Option<i64>,
    pub(crate) retry: Option<Retry>,
}

/// Everything that one client sent, in the order of sending.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) seen: Vec<Seen>,
    /// Requests per minute and per day, when the user of the judge has stated the plan.
    pub(crate) plan: Option<(u64, u64)>,
}

impl Seen {
    pub(crate) fn succeeded(&self) -> bool {
        self.status == 200
    }

    fn exchange(&self, number: usize) -> Exchange {
        let request = match self.status {
            MISSING => Request::new("GET", "/pets/404"),
            MALFORMED => Request::new("POST", "/pets").json("{"),
            _ => Request::new("GET", "/pets"),
        };
        let (content, body) = match self.status {
            200 => ("application/json", "[]".to_owned()),
            status => ("application/json", format!(r#"{{"code":"refused","message":"No.","status":{status}}}"#)),
        };
        let mut headers = vec![("content-type", content.to_owned())];
        headers.extend(self.limit.map(|limit| ("x-ratelimit-limit", limit.to_string())));
        headers.extend(self.remaining.map(|remaining| ("x-ratelimit-remaining", remaining.to_string())));
        headers.extend(self.reset.map(|reset| ("x-ratelimit-reset", reset.to_string())));
        headers.extend(self.date.map(|date| ("date", http_date(date))));
        headers.extend(self.retry.map(|retry| {
            let value = match retry {
                Retry::In(seconds) => seconds.to_string(),
                Retry::At(unix) => http_date(unix),
            };
            ("retry-after", value)
        }));
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let at = |ms| Timestamp::from_millisecond(ms).expect("a time in this century");
        Exchange {
            number,
            probe: "oracle".into(),
            step: String::new(),
            request: request.authorization(format!("Bearer {}", KEYS[self.key])),
            outcome: Outcome::Response(Response { status: self.status, headers, body: body.into_bytes(), cut: false }),
            sent_at: at(self.sent),
            received_at: at(self.received),
            known: Knowledge::default(),
        }
    }
}

fn http_date(unix: i64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix.unsigned_abs()))
}

impl History {
    fn trace(&self) -> Trace {
        let context = Context {
            extent: Extent::Run,
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            replicas: Vec::new(),
            keys: KEYS.map(|key| ApiKey::new(key).expect("a usable key")).to_vec().into(),
            plan_limits: self.plan.map(|(per_minute, per_day)| PlanLimits { per_minute, per_day }),
            category_id: 1,
            vouches_for_category: false,
            exclusive_key: false,
            name_mark: None,
            left_out: Vec::new(),
            unfinished: Vec::new(),
        };
        let exchanges = self.seen.iter().enumerate().map(|(at, seen)| seen.exchange(at + 1)).collect();
        Trace { context, exchanges }
    }

    /// The limiter rules that fail on it.
    pub(crate) fn broken(&self) -> BTreeSet<&'static str> {
        let mut broken = rules::broken(&self.trace());
        broken.retain(|id| id.starts_with("headers.") || id.starts_with("quota."));
        broken
    }

    /// Whether Remaining ever fell from one answer to the next by more than the client's own requests explain: then somebody else uses
    /// the key, visibly.
    pub(crate) fn shows_others(&self, key: usize) -> bool {
        let own = |seen: &[Seen], before: &Seen, after: &Seen| {
            let since = |own: &Seen| if own.succeeded() { before.sent } else { before.sent - COUNTED_FOR };
            seen.iter().filter(|own| own.received >= since(own) && own.sent <= after.received).count() as i64 - 1
        };
        let seen: Vec<&Seen> = self.seen.iter().filter(|seen| seen.key == key).collect();
        seen.windows(2).any(|pair| {
            let (before, after) = (pair[0], pair[1]);
            let fell = before.remaining.zip(after.remaining).map_or(0, |(before, after)| before - after);
            // A refusal may report anything, and a failure may be counted for a while.
            let is_plain = [before, after].iter().all(|seen| seen.succeeded());
            let is_certain = before.limit == after.limit && before.received <= after.sent && is_plain;
            is_certain && fell > own(&self.seen, before, after)
        })
    }

    /// A table, with times in seconds since the first request, for the message of a failing test.
    pub(crate) fn table(&self) -> String {
        use std::fmt::Write as _;

        let zero = self.seen.first().map_or(0, |first| first.sent);
        let at = |ms: i64| (ms - zero) as f64 / 1_000.0;
        let from_zero = |unix: Option<i64>| unix.map(|unix| unix - zero.div_euclid(1_000));
        let mut text = format!("plan {:?}, first request at {zero}\n", self.plan);
        for (number, seen) in self.seen.iter().enumerate() {
            let retry = match seen.retry {
                Some(Retry::At(unix)) => format!("at {:?}", from_zero(Some(unix))),
                other => format!("{other:?}"),
            };
            writeln!(
                text,
                "#{:<3} key {} {:>8.3}..{:<8.3} {} limit {:?} remaining {:?} reset {:?} date {:?} retry {retry}",
                number + 1,
                seen.key,
                at(seen.sent),
                at(seen.received),
                seen.status,
                seen.limit,
                seen.remaining,
                from_zero(seen.reset),
                from_zero(seen.date),
            )
            .expect("a string");
        }
        text
    }
}
