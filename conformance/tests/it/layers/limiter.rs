//! A limiter in front of the reference's own, with other lawful habits or with one flaw.
//!
//! The reference behind it has a plan that is never used up, so that this one alone decides.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::HeaderMap;

use super::response::error_body;
use super::{Delivery, Layer, Request, Response, ServerState};

const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

/// How long a count lies between being read and being written, where that is a flaw.
const RACE: Duration = Duration::from_millis(20);

/// Where a window begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Anchor {
    /// On the clock.
    Clock,
    /// With the first request after the last window.
    Request,
    /// Nowhere: a request counts for so many seconds, and the reset is when the oldest one no longer does.
    Log(i64),
}

/// What requests that fail use up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failures {
    /// One, like all.
    Count,
    /// Nothing.
    AreFree,
    /// One by what their own answer tells, which is given back afterwards.
    AreRefunded,
}

/// What is wrong with a limiter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flaw {
    /// It admits so many more, or fewer, than the limit that it tells.
    OffBy(i64),
    /// It counts each operation by itself.
    PerOperation,
    /// So many processes count by themselves, and requests go round.
    PerProcess(u64),
    /// Some requests are neither counted nor refused.
    Exempts(fn(&Request) -> bool),
    /// Some requests are counted and never refused.
    Spares(fn(&Request) -> bool),
    /// It tells and never refuses.
    NeverRefuses,
    /// It answers this status instead of 429.
    Status(u16),
    /// A refused request is carried out all the same.
    CarriesOut,
    /// The count is never set back.
    NeverResets,
    /// The count is set back after so many seconds, whatever it tells.
    ResetsAfter(i64),
    /// The count is set back after so many requests, as when a process is restarted.
    ForgetsAfter(u64),
    /// It refuses for so many seconds more than it tells.
    RefusesLonger(i64),
    /// It writes the count back when it answers: of requests at the same time, one is counted.
    Races,
}

/// How a limiter goes about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Requests in a minute.
    pub(crate) per_minute: u64,
    /// Requests in a day; only told, because no run gets there.
    pub(crate) per_day: u64,
    /// Where a minute begins.
    pub(crate) anchor: Anchor,
    /// Whether the headers tell the day.
    pub(crate) reports_day: bool,
    /// Whether Remaining is told before the request is counted.
    pub(crate) counts_late: bool,
    /// What requests that fail use up.
    pub(crate) failures: Failures,
    /// How many seconds `Retry-After` asks for beyond the window's end.
    pub(crate) extra_wait: i64,
    /// Whether `Retry-After` is a date.
    pub(crate) dates: bool,
    /// Whether a 429 has no body.
    pub(crate) empty: bool,
    /// For how many seconds a second refused request bans the key, if it does.
    pub(crate) ban: Option<i64>,
    /// At which request of the key, and for how many seconds, it is banned for what somebody else has done with it.
    pub(crate) banned: Option<(u64, i64)>,
    /// Whether callers are told apart by their address, so that requests without a key use up the same.
    pub(crate) by_address: bool,
    /// Every so many requests, somebody else sends one with the same key.
    pub(crate) others: Option<u64>,
    /// What is wrong with it.
    pub(crate) flaw: Option<Flaw>,
}

/// The limits of a Free key, as the reference keeps them.
pub(crate) const FREE: Policy = Policy {
    per_minute: 60,
    per_day: 1_000,
    anchor: Anchor::Clock,
    reports_day: false,
    counts_late: false,
    failures: Failures::Count,
    extra_wait: 0,
    dates: false,
    empty: false,
    ban: None,
    banned: None,
    by_address: false,
    others: None,
    flaw: None,
};

/// The limits of a Free key, with a flaw.
pub(crate) const fn flawed(flaw: Flaw) -> Policy {
    Policy { flaw: Some(flaw), ..FREE }
}

#[derive(Default)]
struct Count {
    /// The end of the present window.
    ends: i64,
    /// When the count was last set back.
    since: i64,
    used: u64,
    used_today: u64,
    /// When those that are used came, where there is a log of them.
    log: VecDeque<i64>,
    seen: u64,
    refused: u64,
    banned_until: i64,
}

#[derive(Clone, Copy)]
struct Told {
    bucket: u64,
    refused: bool,
    /// The count with this request in it.
    used: u64,
    remaining: u64,
    reset: i64,
}

#[derive(Default)]
struct Ledger {
    counts: HashMap<u64, Count>,
    told: HashMap<u64, Told>,
}

/// The layer of a policy.
pub(crate) fn limiter(policy: Policy) -> Layer {
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let same = Arc::clone(&ledger);
    let takes = if matches!(policy.flaw, Some(Flaw::Races)) { RACE } else { Duration::ZERO };
    Layer::default()
        .taking(takes)
        .before(move |request, server| policy.decide(&mut ledger.lock().expect("no panic"), request, server))
        .after(move |request, response, _| policy.tell(&mut same.lock().expect("no panic"), request, response))
}

impl Policy {
    fn decide(&self, ledger: &mut Ledger, request: &Request, server: &ServerState) -> Option<Response> {
        let (scheme, token) = request.authorization().split_once(' ').unwrap_or_default();
        let is_known = scheme.eq_ignore_ascii_case("bearer") && token == server.key;
        if !is_known && !self.by_address {
            return None;
        }
        let bucket = match self.flaw {
            Some(Flaw::PerOperation) => u64::from(request.is_list()) + 2 * u64::from(request.is_create()),
            Some(Flaw::PerProcess(processes)) => request.number % processes,
            _ => 0,
        };
        let now = server.now();
        let count = ledger.counts.entry(bucket).or_default();
        self.roll(count, now);
        count.seen += 1;
        if let Some((_, seconds)) = self.banned.filter(|(at, _)| *at == count.seen) {
            (count.used, count.banned_until) = (self.per_minute, now + seconds);
        }
        let exempt = matches!(self.flaw, Some(Flaw::Exempts(which)) if which(request));
        // Whoever has no key is told so, and nothing else.
        let refused = self.refuses(count, request, now) && !exempt && is_known;
        if !refused && !exempt {
            let others = u64::from(self.others.is_some_and(|every| count.seen.is_multiple_of(every)));
            count.used += 1 + others;
            count.used_today += 1 + others;
            (0..=others).for_each(|_| count.log.push_back(now));
        }
        if refused {
            count.refused += 1;
            if let Some(seconds) = self.ban.filter(|_| count.refused > 1) {
                count.banned_until = now + seconds;
            }
        }
        let (limit, used) =
            if self.reports_day { (self.per_day, count.used_today) } else { (self.per_minute, count.used) };
        let told = u64::from(self.counts_late && !refused && !exempt);
        let remaining = (limit + told).saturating_sub(used).min(limit);
        let day_ends = now - now.rem_euclid(DAY) + DAY;
        let reset = if self.reports_day { day_ends } else { count.ends.max(count.banned_until) };
        ledger.told.insert(request.number, Told { bucket, refused, used, remaining, reset });
        if matches!(self.flaw, Some(Flaw::Races)) && !refused {
            count.used -= 1;
        }
        (refused && !matches!(self.flaw, Some(Flaw::CarriesOut))).then(|| self.refusal(&ledger.counts[&bucket], now))
    }

    fn roll(&self, count: &mut Count, now: i64) {
        if let Anchor::Log(kept) = self.anchor {
            while count.log.front().is_some_and(|came| came + kept <= now) {
                count.log.pop_front();
            }
            count.used = count.log.len() as u64;
            count.ends = count.log.front().unwrap_or(&now) + kept;
        } else if now >= count.ends {
            count.ends = match self.anchor {
                Anchor::Clock => now - now.rem_euclid(MINUTE) + MINUTE,
                Anchor::Request | Anchor::Log(_) => now + MINUTE,
            };
            if !matches!(self.flaw, Some(Flaw::NeverResets | Flaw::RefusesLonger(_))) {
                (count.used, count.refused, count.since) = (0, 0, now);
            }
        }
        let forgets = match self.flaw {
            Some(Flaw::ResetsAfter(seconds)) => now - count.since >= seconds,
            Some(Flaw::ForgetsAfter(requests)) => count.used == requests,
            Some(Flaw::RefusesLonger(seconds)) => now - count.since >= MINUTE + seconds,
            _ => false,
        };
        if forgets {
            (count.used, count.refused, count.since) = (0, 0, now);
        }
    }

    fn refuses(&self, count: &Count, request: &Request, now: i64) -> bool {
        let limit = match self.flaw {
            Some(Flaw::OffBy(more)) => self.per_minute.saturating_add_signed(more),
            Some(Flaw::NeverRefuses) => u64::MAX,
            Some(Flaw::Spares(which)) if which(request) => u64::MAX,
            _ => self.per_minute,
        };
        count.used >= limit || now < count.banned_until
    }

    fn refusal(&self, count: &Count, now: i64) -> Response {
        let status = if let Some(Flaw::Status(status)) = self.flaw { status } else { 429 };
        let mut response = Response { status, headers: HeaderMap::new(), body: Vec::new(), delivery: Delivery::Whole };
        if !self.empty {
            response.set_body("application/json", error_body(status).to_string());
        }
        let until = count.ends.max(count.banned_until) + self.extra_wait;
        if self.dates {
            response.set("retry-after", http_date(until));
        } else {
            response.set("retry-after", (until - now).max(1));
        }
        response.set("date", http_date(now));
        response
    }

    fn tell(&self, ledger: &mut Ledger, request: &Request, response: &mut Response) {
        let Some(mut told) = ledger.told.remove(&request.number) else { return };
        if told.refused && matches!(self.flaw, Some(Flaw::CarriesOut)) {
            let date = response.header("date").to_owned();
            response.refuse(429);
            response.set("date", date);
            response.set("retry-after", MINUTE);
        } else if self.failures != Failures::Count && !told.refused && response.status >= 400 {
            let count = ledger.counts.entry(told.bucket).or_default();
            count.used = count.used.saturating_sub(1);
            count.log.pop_back();
            count.used_today = count.used_today.saturating_sub(1);
            told.remaining += u64::from(!self.counts_late && self.failures == Failures::AreFree);
        } else if matches!(self.flaw, Some(Flaw::Races)) && !told.refused {
            ledger.counts.entry(told.bucket).or_default().used = told.used;
        }
        response.set("x-ratelimit-limit", if self.reports_day { self.per_day } else { self.per_minute });
        response.set("x-ratelimit-remaining", told.remaining);
        response.set("x-ratelimit-reset", told.reset);
    }
}

/// A Unix time as HTTP writes it.
pub(crate) fn http_date(unix: i64) -> String {
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(unix.unsigned_abs()))
}
