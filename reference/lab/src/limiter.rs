//! A limiter in front of the reference's own, with other lawful habits or with one flaw.
//!
//! The reference behind it counts nothing, so that this one alone decides.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::response::error_body;
use super::{Layer, MINUTE, Request, Response, ServerState};
use animal_store_reference::Limits;

const DAY: i64 = 86_400;

/// The time between reading a count and writing it, for [`Flaw::Races`].
const RACE: Duration = Duration::from_millis(20);

/// The beginning of a window.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Anchor {
    /// A window begins with each minute of the clock.
    #[default]
    Clock,
    /// A window begins with the first request after the last window.
    Request,
    /// There are no windows: a request counts for this number of seconds, and Reset is the time when the oldest one no longer
    /// counts.
    Log(i64),
    /// There are no windows, as with [`Anchor::Log`], but Reset is the time when no request counts any more.
    Draining(i64),
    /// A window begins with each minute of the clock, and the requests of the last window count by the part of it that is less than
    /// a minute ago. Reset is the end of the window.
    Sliding,
    /// The requests count as with [`Anchor::Sliding`]. Reset is the time at which the count falls by the next request.
    SlidingNext,
}

impl Anchor {
    /// Returns true if the last window weighs in the present one.
    fn is_sliding(self) -> bool {
        matches!(self, Anchor::Sliding | Anchor::SlidingNext)
    }

    /// Returns true if each request counts for a number of seconds.
    fn is_log(self) -> bool {
        matches!(self, Anchor::Log(_) | Anchor::Draining(_))
    }
}

/// The time at which the headers of a response are written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Written {
    /// After the request was counted.
    #[default]
    After,
    /// Before the request is counted.
    Before,
    /// When the response goes out.
    OnAnswer,
}

/// A defect of a limiter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flaw {
    /// The limiter admits this number of requests more, or fewer if negative, than the limit that it reports.
    OffBy(i64),
    /// Requests are counted by these groups instead of by their keys.
    Groups(fn(&Request, key: i64, Limits) -> Group),
    /// Some requests are neither counted nor refused.
    Exempts(fn(&Request) -> bool),
    /// Some requests are counted and never refused.
    Spares(fn(&Request) -> bool),
    /// The requests of the key that was used first are counted and never refused.
    SparesTheFirstKey,
    /// A refusal has this status instead of 429.
    Status(u16),
    /// A refused request is carried out all the same.
    CarriesOut,
    /// The count is set back after this number of seconds, regardless of the reported reset.
    ResetsAfter(i64),
    /// The count is set back after this number of requests, as when a process is restarted.
    ForgetsAfter(u64),
    /// Refusals go on for this number of seconds after the reported reset.
    RefusesLonger(i64),
    /// In the first seconds of a window, this number of them, the count is written back with the response: of concurrent requests, one
    /// is counted.
    Races(i64),
    /// Each request begins the window anew.
    Prolongs,
    /// Some requests count twice.
    Doubles(fn(&Request) -> bool),
    /// The headers report the day's limit with the end of the minute.
    DayEndsWithMinute,
    /// Nothing is refused in the first window of a key.
    SparesTheFirstWindow,
    /// One request over the limit is admitted in each period of this many seconds.
    AdmitsEvery(i64),
    /// A failed request that leaves nothing remaining sets the count back.
    ForgivesTheLast,
}

/// The way in which a limiter counts, refuses and reports: by default, as the reference does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Policy {
    /// The beginning of a minute.
    pub(crate) anchor: Anchor,
    /// The length of the slots of a log in seconds, if it has slots: a request counts as if it had come when its slot began.
    pub(crate) slot: Option<i64>,
    /// Whether the headers report the day.
    pub(crate) reports_day: bool,
    /// Whether the day is a log: a request counts for a day, and Reset is the time when the newest one no longer counts.
    pub(crate) logs_day: bool,
    /// The number of seconds by which windows that slide begin after the minutes of the clock.
    pub(crate) offset: i64,
    /// The time at which the headers are written.
    pub(crate) written: Written,
    /// The requests that do not count, by the status of their responses.
    pub(crate) free: Option<fn(request: &Request, status: u16) -> bool>,
    /// Whether such a request counts in its own response, and not afterwards.
    pub(crate) gives_back: bool,
    /// Whether refused requests count.
    pub(crate) counts_refusals: bool,
    /// The number of seconds that `Retry-After` adds to the end of the window.
    pub(crate) extra_wait: i64,
    /// Whether `Retry-After` is a date.
    pub(crate) dates: bool,
    /// Whether a 429 has no body.
    pub(crate) empty: bool,
    /// The length of the ban that a second refused request causes, in seconds, if it causes one.
    pub(crate) ban: Option<i64>,
    /// The number of the request at which another client causes a ban of the key, and the length of the ban in seconds.
    pub(crate) banned: Option<(u64, i64)>,
    /// Whether callers are distinguished by their address, so that requests without a key count against the same limit.
    pub(crate) by_address: bool,
    /// The number of requests after which another client sends one with the same key.
    pub(crate) others: Option<u64>,
    /// The interval, in milliseconds, at which another client sends a request with the same key.
    pub(crate) steady: Option<i64>,
    /// The defect, if the limiter is not lawful.
    pub(crate) flaw: Option<Flaw>,
}

#[derive(Default)]
struct Count {
    /// The reported end of the present window.
    ends: i64,
    /// The end of the present window, for limiters in which the last one still weighs.
    window_ends: i64,
    /// The time when the count was last set back, in Unix seconds.
    since: i64,
    used: u64,
    /// The present day, counted from 1970.
    day: i64,
    used_today: u64,
    /// The times of the requests of the last day, for limiters that keep a log of them.
    log_of_day: VecDeque<i64>,
    /// The times of the counted requests, for limiters that keep a log.
    log: VecDeque<i64>,
    /// The counts of the last minute and of this one, for limiters in which the last one still weighs.
    minutes: [u64; 2],
    /// The time of the next request of another client, in Unix milliseconds.
    next: Option<i64>,
    seen: u64,
    /// The number of windows that have begun.
    windows: u64,
    /// The time of the last request that was admitted over the limit.
    extra_at: i64,
    refused: u64,
    refused_at: i64,
    banned_until: i64,
}

impl Count {
    fn give_back(&mut self) {
        self.used = self.used.saturating_sub(1);
        self.minutes[1] = self.minutes[1].saturating_sub(1);
        self.log.pop_back();
        self.log_of_day.pop_back();
        self.used_today = self.used_today.saturating_sub(1);
    }

    /// The count of this window and of the part of the last one that is less than a window ago, at a time that is not before now.
    fn weighed(&self, time: i64, window: i64) -> u64 {
        let [last, present] = if time < self.window_ends { self.minutes } else { [self.minutes[1], 0] };
        let end = if time < self.window_ends { self.window_ends } else { self.window_ends + window };
        present + last * (end - time).max(0).unsigned_abs() / window.unsigned_abs()
    }
}

#[derive(Clone, Copy)]
struct Reported {
    group: Group,
    limits: Limits,
    refused: bool,
    counted: bool,
    /// The count with this request in it.
    used: u64,
    remaining: u64,
    reset: i64,
}

/// A group of requests that are counted together: usually the number of a key, and a part of its requests.
pub(crate) type Group = (i64, u64);

#[derive(Default)]
struct Ledger {
    counts: HashMap<Group, Count>,
    reported: HashMap<u64, Reported>,
    /// The key that was used first.
    first: Option<i64>,
    /// The key that was used last, and its limits.
    caller: Option<(i64, Limits)>,
}

/// The layer that applies a policy.
pub(crate) fn limiter(policy: Policy) -> Layer {
    let takes = if matches!(policy.flaw, Some(Flaw::Races(_))) { RACE } else { Duration::ZERO };
    Layer::default()
        .taking(takes)
        .before(move |request, server| server.own(|ledger| policy.decide(ledger, request, server)))
        .after(move |request, response, server| server.own(|ledger| policy.report(ledger, request, response, server)))
}

impl Policy {
    fn decide(&self, ledger: &mut Ledger, request: &Request, server: &ServerState) -> Option<Response> {
        let key = server.key_of(request);
        let is_known = key.is_some();
        if let Some(key) = key {
            ledger.first.get_or_insert(key.id);
            ledger.caller = Some((key.id, key.limits));
        } else if !self.by_address {
            return None;
        }
        // A request without a key comes from the address of the key that was used last.
        let (caller, limits) = ledger.caller?;
        let group = match self.flaw {
            Some(Flaw::Groups(group)) => group(request, caller, limits),
            _ => (caller, 0),
        };
        let now = server.now();
        let count = ledger.counts.entry(group).or_default();
        self.admit_others(count, limits, server);
        self.roll(count, server, now);
        count.seen += 1;
        if matches!(self.flaw, Some(Flaw::Prolongs)) {
            count.ends = now + server.window();
        }
        if let Some((_, seconds)) = self.banned.filter(|(at, _)| *at == count.seen) {
            (count.used, count.banned_until) = (limits.per_minute, now + server.scaled(seconds));
        }
        let exempt = matches!(self.flaw, Some(Flaw::Exempts(which)) if which(request));
        let is_let_through = match self.flaw {
            Some(Flaw::Spares(which)) => which(request),
            Some(Flaw::SparesTheFirstKey) => ledger.first == Some(caller),
            Some(Flaw::SparesTheFirstWindow) => count.windows < 2,
            Some(Flaw::AdmitsEvery(seconds)) => now - count.extra_at >= server.scaled(seconds),
            _ => false,
        };
        let is_full = self.refuses(count, limits, now);
        if is_full && is_let_through {
            count.extra_at = now;
        }
        let is_over = is_full && !exempt && !is_let_through;
        // A request without a valid key always gets 401.
        let (refused, counted) = (is_over && is_known, !is_over && !exempt);
        if counted || refused && self.counts_refusals {
            let others = u64::from(self.others.is_some_and(|every| count.seen.is_multiple_of(every)));
            let doubled = u64::from(matches!(self.flaw, Some(Flaw::Doubles(which)) if which(request)));
            self.count(count, now, 1 + others + doubled);
            if let Anchor::Draining(seconds) = self.anchor {
                count.ends = self.begin_of_slot(now) + server.scaled(seconds);
            }
        }
        if refused {
            (count.refused, count.refused_at) = (count.refused + 1, now);
            if let Some(seconds) = self.ban.filter(|_| count.refused > 1) {
                count.banned_until = now + server.scaled(seconds);
            }
        }
        let remaining = self.remaining(count, limits, u64::from(self.written == Written::Before && counted));
        let day_ends = DAY
            + if self.logs_day { count.log_of_day.back().copied().unwrap_or(now) } else { now - now.rem_euclid(DAY) };
        let reset = if self.reports_day { day_ends } else { count.ends.max(count.banned_until) };
        let is_answered = refused && !matches!(self.flaw, Some(Flaw::CarriesOut));
        let refusal = is_answered.then(|| self.refusal(count, limits, server));
        ledger
            .reported
            .insert(request.number, Reported { group, limits, refused, counted, used: count.used, remaining, reset });
        if self.races(count, server) && !refused {
            count.used -= 1;
        }
        refusal
    }

    /// Returns true if the count is written back with the response.
    fn races(&self, count: &Count, server: &ServerState) -> bool {
        matches!(self.flaw, Some(Flaw::Races(within)) if server.now() - count.since < within)
    }

    /// Returns true if Limit and Remaining describe the day.
    fn shows_day(&self) -> bool {
        self.reports_day || matches!(self.flaw, Some(Flaw::DayEndsWithMinute))
    }

    /// The Remaining of a count in which this number of requests is not reported.
    fn remaining(&self, count: &Count, limits: Limits, unreported: u64) -> u64 {
        let (limit, used) =
            if self.shows_day() { (limits.per_day, count.used_today) } else { (limits.per_minute, count.used) };
        (limit + unreported).saturating_sub(used).min(limit)
    }

    fn count(&self, count: &mut Count, now: i64, requests: u64) {
        count.used += requests;
        count.used_today += requests;
        count.minutes[1] += requests;
        if self.logs_day {
            (0..requests).for_each(|_| count.log_of_day.push_back(now));
        }
        if self.anchor.is_log() {
            (0..requests).for_each(|_| count.log.push_back(self.begin_of_slot(now)));
        }
    }

    /// Counts the admitted requests that another client has sent until now.
    fn admit_others(&self, count: &mut Count, limits: Limits, server: &ServerState) {
        let Some(every) = self.steady else { return };
        let now = server.timestamp().as_millisecond();
        let mut next = count.next.unwrap_or(now + every);
        while next <= now {
            let second = next.div_euclid(1_000);
            self.roll(count, server, second);
            if count.used < limits.per_minute {
                self.count(count, second, 1);
            }
            next += every;
        }
        count.next = Some(next);
    }

    /// The time from which a log counts a request.
    fn begin_of_slot(&self, now: i64) -> i64 {
        self.slot.map_or(now, |slot| now - now.rem_euclid(slot))
    }

    fn roll(&self, count: &mut Count, server: &ServerState, now: i64) {
        let window = server.window();
        let day = now.div_euclid(DAY);
        if day != count.day {
            (count.day, count.used_today) = (day, 0);
        }
        if self.logs_day {
            count.log_of_day.drain(..count.log_of_day.partition_point(|came| came + DAY <= now));
            count.used_today = count.log_of_day.len() as u64;
        }
        if self.anchor.is_sliding() {
            let ends = now - (now - self.offset * window / i64::from(MINUTE)).rem_euclid(window) + window;
            if ends > count.window_ends {
                let last = if ends - count.window_ends == window { count.minutes[1] } else { 0 };
                (count.minutes, count.window_ends, count.refused) = ([last, 0], ends, 0);
            }
            count.used = count.weighed(now, window);
            count.ends = ends;
            if self.anchor == Anchor::SlidingNext {
                let is_fewer = |time: &i64| count.weighed(*time, window) < count.used;
                count.ends = (now + 1..ends).find(is_fewer).unwrap_or(ends);
            }
        } else if let Anchor::Log(seconds) | Anchor::Draining(seconds) = self.anchor {
            let kept = server.scaled(seconds);
            while count.log.front().is_some_and(|came| came + kept <= now) {
                count.log.pop_front();
            }
            // The refusals form a second log, of which only the existence of an earlier refusal matters.
            if count.refused_at + kept <= now {
                count.refused = 0;
            }
            count.used = count.log.len() as u64;
            let is_draining = matches!(self.anchor, Anchor::Draining(_));
            let last = if is_draining { count.log.back() } else { count.log.front() };
            count.ends = last.copied().unwrap_or(self.begin_of_slot(now)) + kept;
        } else if now >= count.ends {
            count.ends = match self.anchor {
                Anchor::Clock | Anchor::Sliding | Anchor::SlidingNext => now - now.rem_euclid(window) + window,
                Anchor::Request | Anchor::Log(_) | Anchor::Draining(_) => now + window,
            };
            if !matches!(self.flaw, Some(Flaw::RefusesLonger(_))) {
                (count.used, count.refused, count.since) = (0, 0, now);
                count.windows += 1;
            }
        }
        let forgets = match self.flaw {
            Some(Flaw::ResetsAfter(seconds)) => now - count.since >= server.scaled(seconds),
            Some(Flaw::ForgetsAfter(requests)) => count.used == requests,
            Some(Flaw::RefusesLonger(seconds)) => now - count.since >= window + server.scaled(seconds),
            _ => false,
        };
        if forgets {
            (count.used, count.refused, count.since) = (0, 0, now);
        }
    }

    fn refuses(&self, count: &Count, limits: Limits, now: i64) -> bool {
        let more = if let Some(Flaw::OffBy(more)) = self.flaw { more } else { 0 };
        count.used >= limits.per_minute.saturating_add_signed(more) || now < count.banned_until
    }

    /// The time at which a full count has room again, if no request comes.
    fn has_room_at(&self, count: &Count, limit: u64, server: &ServerState) -> i64 {
        let (now, window) = (server.now(), server.window());
        let over = count.log.len().checked_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        match (self.anchor, over) {
            (Anchor::Log(seconds) | Anchor::Draining(seconds), Some(over)) if over < count.log.len() => {
                count.log[over] + server.scaled(seconds)
            }
            (Anchor::Sliding | Anchor::SlidingNext, _) => {
                (now..now + 2 * window).find(|time| count.weighed(*time, window) < limit).unwrap_or(now + 2 * window)
            }
            _ => count.ends,
        }
    }

    fn refusal(&self, count: &Count, limits: Limits, server: &ServerState) -> Response {
        let now = server.now();
        let status = if let Some(Flaw::Status(status)) = self.flaw { status } else { 429 };
        let mut response = Response::new(status);
        if !self.empty {
            response.set_body("application/json", error_body(status).to_string());
        }
        let has_room_at = self.has_room_at(count, limits.per_minute, server);
        let until = count.ends.max(has_room_at).max(count.banned_until) + self.extra_wait;
        if self.dates {
            response.set("retry-after", http_date(until));
        } else {
            response.set("retry-after", (until - now).max(1));
        }
        response.set("date", http_date(now));
        response
    }

    fn report(&self, ledger: &mut Ledger, request: &Request, response: &mut Response, server: &ServerState) {
        let Some(mut reported) = ledger.reported.remove(&request.number) else { return };
        if reported.refused && matches!(self.flaw, Some(Flaw::CarriesOut)) {
            let date = response.header("date").to_owned();
            response.refuse(429);
            response.set("date", date);
            response.set("retry-after", server.window());
        }
        let count = ledger.counts.entry(reported.group).or_default();
        if self.races(count, server) && !reported.refused {
            count.used = reported.used;
        }
        if matches!(self.flaw, Some(Flaw::ForgivesTheLast)) && response.status >= 400 && reported.remaining == 0 {
            count.used = 0;
        }
        let is_free = reported.counted && self.free.is_some_and(|free| free(request, response.status));
        if is_free && !self.gives_back {
            count.give_back();
            reported.remaining += u64::from(self.written == Written::After);
        }
        if self.written == Written::OnAnswer {
            reported.remaining = self.remaining(count, reported.limits, 0);
        }
        if is_free && self.gives_back {
            count.give_back();
        }
        let limit = if self.shows_day() { reported.limits.per_day } else { reported.limits.per_minute };
        response.set_limits(limit, reported.remaining, reported.reset);
    }
}

/// A Unix time in the format of HTTP dates.
fn http_date(unix: i64) -> String {
    animal_store_reference::respond::http_date(u64::try_from(unix).unwrap_or(0)).to_str().unwrap_or_default().to_owned()
}
