//! The family of lawful limiters, as ordinary code with known times. All times are milliseconds.

use crate::history::{Retry, Seen};

pub(crate) const SECOND: i64 = 1_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const DAY: i64 = 24 * 60 * MINUTE;

/// The statuses of admitted requests.
pub(crate) const SUCCESS: u16 = 200;
pub(crate) const MALFORMED: u16 = 400;
pub(crate) const MISSING: u16 = 404;

/// The number of every request of somebody else.
pub(crate) const FOREIGN: usize = usize::MAX;

/// How the minutes of a limiter are cut.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Cut {
    /// Fixed windows, on the minutes of the server's clock.
    Clock,
    /// Fixed windows, each from the first request after the one before.
    First,
    /// A log of the last minute: each request counts for a minute. Reset is when the oldest one, or the newest one, no longer does.
    Log { newest: bool },
    /// A counter that slides between two windows on the clock: that of the last window counts by the part of it that still lies in
    /// the last minute, rounded up or down. Reset is the end of the window, or when the next request is restored.
    Weighted { up: bool, next: bool },
}

/// What the headers of an answer report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shows {
    Minute,
    Day,
    /// Whichever has fewer requests left.
    Fewer,
}

/// When the headers of an answer are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Written {
    /// On arrival, before the request is counted.
    BeforeCounting,
    /// On arrival, after the request was counted.
    AfterCounting,
    /// When the answer goes out.
    OnAnswer,
}

/// The failed requests that are treated in another way than successes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failed {
    Any,
    Malformed,
    Missing,
}

/// What a failed request costs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Failures {
    Count,
    Free(Failed),
    /// These are counted on arrival, and given back when the answer has been written.
    GivenBack(Failed),
}

impl Failures {
    pub(crate) const ALL: [Failures; 7] = [
        Failures::Count,
        Failures::Free(Failed::Any),
        Failures::GivenBack(Failed::Any),
        Failures::Free(Failed::Malformed),
        Failures::GivenBack(Failed::Malformed),
        Failures::Free(Failed::Missing),
        Failures::GivenBack(Failed::Missing),
    ];

    fn spare(which: Failed, status: u16) -> bool {
        match which {
            Failed::Any => [MALFORMED, MISSING].contains(&status),
            Failed::Malformed => status == MALFORMED,
            Failed::Missing => status == MISSING,
        }
    }

    /// Whether an admitted request that gets this status is never counted.
    pub(crate) fn are_free(self, status: u16) -> bool {
        matches!(self, Failures::Free(which) if Failures::spare(which, status))
    }

    /// Whether an admitted request that gets this status is given back.
    pub(crate) fn are_given_back(self, status: u16) -> bool {
        matches!(self, Failures::GivenBack(which) if Failures::spare(which, status))
    }
}

/// Part of a second in a Reset or a Retry-After.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rounding {
    Down,
    Up,
    /// The present second plus the time left, rounded up: now up, now down.
    FromLeft,
}

/// A ban after repeated refusals.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ban {
    /// The number of the refusal, without an admission between, that starts it: at least 2.
    pub(crate) after: u32,
    /// The status while it lasts: 429, 403 or 401.
    pub(crate) status: u16,
    pub(crate) length: i64,
    /// Whether the refusal that starts it reports it.
    pub(crate) announced: bool,
}

/// A member of the family.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) per_minute: u64,
    pub(crate) per_day: u64,
    /// Requests of the day before the history begins.
    pub(crate) used_today: u64,
    pub(crate) cut: Cut,
    pub(crate) shows: Shows,
    pub(crate) written: Written,
    pub(crate) failures: Failures,
    pub(crate) counts_refusals: bool,
    pub(crate) ban: Option<Ban>,
    pub(crate) rounding: Rounding,
    /// Whether Retry-After is an HTTP-date.
    pub(crate) retry_date: bool,
    /// How many seconds Retry-After asks for beyond what is needed.
    pub(crate) extra: i64,
    /// How far the server's clock is ahead of the client's.
    pub(crate) ahead: i64,
    pub(crate) dated: bool,
}

/// The weight of a past window of `count` requests, `into` ms into the present one.
pub(crate) fn weight(count: u64, into: i64, up: bool) -> u64 {
    let part = count * MINUTE.saturating_sub(into).max(0) as u64;
    if up { part.div_ceil(MINUTE as u64) } else { part / MINUTE as u64 }
}

/// The first moment of a window, from 0 to a minute, at which a past window of `count` requests weighs no more than `most`.
pub(crate) fn weighs_at_most(count: u64, most: u64, up: bool) -> i64 {
    let (mut low, mut high) = (0, MINUTE);
    while low < high {
        let middle = i64::midpoint(low, high);
        if weight(count, middle, up) <= most { high = middle } else { low = middle + 1 }
    }
    low
}

/// Requests counted against one limit. Times are the server's.
#[derive(Clone, Debug)]
struct Counter {
    cut: Cut,
    length: i64,
    limit: u64,
    /// The end of the present fixed window.
    end: i64,
    used: u64,
    /// The count of the window before, of one that slides.
    past: u64,
    /// When requests arrived, and their numbers, of a log.
    log: Vec<(i64, usize)>,
}

impl Counter {
    fn new(cut: Cut, length: i64, limit: u64) -> Counter {
        Counter { cut, length, limit, end: i64::MIN, used: 0, past: 0, log: Vec::new() }
    }

    /// Lets time pass. Only an arrival opens a window from the first request.
    fn roll(&mut self, now: i64, arrival: bool) {
        self.log.retain(|(arrived, _)| now - arrived < self.length);
        if now < self.end || self.cut == Cut::First && !arrival {
            return;
        }
        let is_next = now < self.end.saturating_add(self.length);
        self.past = if is_next { self.used } else { 0 };
        self.used = 0;
        self.end = if self.cut == Cut::First { now } else { now.div_euclid(self.length) * self.length } + self.length;
    }

    /// How many requests count at this time, to which it was rolled.
    fn used(&self, now: i64) -> u64 {
        match self.cut {
            Cut::First if now >= self.end => 0,
            Cut::Clock | Cut::First => self.used,
            Cut::Log { .. } => self.log.len() as u64,
            Cut::Weighted { up, .. } => self.used + weight(self.past, now - (self.end - self.length), up),
        }
    }

    fn is_full(&self, now: i64) -> bool {
        self.used(now) >= self.limit
    }

    fn left(&self, now: i64) -> u64 {
        self.limit.saturating_sub(self.used(now))
    }

    fn count(&mut self, now: i64, request: usize) {
        self.used += 1;
        self.log.push((now, request));
    }

    /// Gives back what a request cost that was counted in the window with this end.
    fn give_back(&mut self, request: usize, end: i64) {
        self.log.retain(|(_, other)| *other != request);
        if self.end == end {
            self.used -= 1;
        }
    }

    /// The time to report as that of the reset.
    fn resets(&self, now: i64) -> i64 {
        match self.cut {
            Cut::Log { newest } => {
                let last = if newest { self.log.last() } else { self.log.first() };
                last.map_or(now, |(arrived, _)| *arrived) + self.length
            }
            Cut::First if now >= self.end => now + self.length,
            Cut::Weighted { up, next: true } => {
                let begin = self.end - self.length;
                match weight(self.past, now - begin, up) {
                    0 => self.end,
                    weight => begin + weighs_at_most(self.past, weight - 1, up),
                }
            }
            _ => self.end,
        }
    }

    /// When it has room again, if nothing more comes.
    fn has_room(&self, now: i64) -> i64 {
        if !self.is_full(now) {
            return now;
        }
        match self.cut {
            Cut::Clock | Cut::First => self.end,
            Cut::Log { .. } => self.log[self.log.len() - self.limit as usize].0 + self.length,
            Cut::Weighted { up, .. } if self.used < self.limit => {
                self.end - self.length + weighs_at_most(self.past, self.limit - 1 - self.used, up)
            }
            Cut::Weighted { up, .. } => self.end + weighs_at_most(self.used, self.limit - 1, up),
        }
    }
}

/// How a request was dealt with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Admitted { counted: bool },
    Refused,
    Banned(u16),
}

/// A request between its arrival and its answer.
pub(crate) struct Pending {
    request: usize,
    outcome: Outcome,
    /// The status of the answer if the request is admitted.
    admitted_with: u16,
    /// The ends of the windows in which it was counted.
    counted_in: [i64; 2],
    headers: Headers,
}

#[derive(Clone, Copy, Debug)]
struct Headers {
    limit: u64,
    remaining: u64,
    reset: i64,
    retry: Option<Retry>,
}

/// A limiter at work for one key.
pub(crate) struct Limiter {
    policy: Policy,
    minute: Counter,
    day: Counter,
    refusals: u32,
    banned_until: i64,
}

impl Limiter {
    pub(crate) fn new(policy: &Policy, now: i64) -> Limiter {
        let mut day = Counter::new(Cut::Clock, DAY, policy.per_day);
        day.roll(now + policy.ahead, true);
        day.used = policy.used_today;
        let minute = Counter::new(policy.cut, MINUTE, policy.per_minute);
        Limiter { policy: policy.clone(), minute, day, refusals: 0, banned_until: i64::MIN }
    }

    /// A request arrives. `now` is the client's time.
    pub(crate) fn arrive(&mut self, now: i64, request: usize, admitted_with: u16) -> Pending {
        let now = now + self.policy.ahead;
        self.minute.roll(now, true);
        self.day.roll(now, true);
        let outcome = self.decide(now, request, admitted_with);
        let headers = self.headers(now, outcome);
        Pending { request, outcome, admitted_with, counted_in: [self.minute.end, self.day.end], headers }
    }

    fn decide(&mut self, now: i64, request: usize, admitted_with: u16) -> Outcome {
        let banned_by = |ban: Option<Ban>| ban.map_or(429, |ban| ban.status);
        if now < self.banned_until {
            return Outcome::Banned(banned_by(self.policy.ban));
        }
        if self.banned_until > i64::MIN {
            (self.banned_until, self.refusals) = (i64::MIN, 0);
        }
        let full = self.minute.is_full(now) || self.day.is_full(now);
        let counted = if full { self.policy.counts_refusals } else { !self.policy.failures.are_free(admitted_with) };
        if counted {
            self.minute.count(now, request);
            self.day.count(now, request);
        }
        if !full {
            self.refusals = 0;
            return Outcome::Admitted { counted };
        }
        // What a client meets as another status than 429 is the consequence of its own refusals.
        if request != FOREIGN || banned_by(self.policy.ban) == 429 {
            self.refusals += 1;
        }
        match self.policy.ban.filter(|ban| ban.after == self.refusals) {
            Some(ban) => {
                self.banned_until = now + ban.length;
                if ban.announced { Outcome::Banned(429) } else { Outcome::Refused }
            }
            None => Outcome::Refused,
        }
    }

    fn seconds(&self, now: i64, time: i64) -> i64 {
        match self.policy.rounding {
            Rounding::Down => time.div_euclid(SECOND),
            Rounding::Up => (time + SECOND - 1).div_euclid(SECOND),
            Rounding::FromLeft => now.div_euclid(SECOND) + (time - now + SECOND - 1).div_euclid(SECOND),
        }
    }

    fn headers(&self, now: i64, outcome: Outcome) -> Headers {
        let shown = match self.policy.shows {
            Shows::Minute => &self.minute,
            Shows::Day => &self.day,
            Shows::Fewer if self.day.left(now) < self.minute.left(now) => &self.day,
            Shows::Fewer => &self.minute,
        };
        let before = outcome == Outcome::Admitted { counted: true } && self.policy.written == Written::BeforeCounting;
        let (mut remaining, mut resets) = (shown.left(now) + u64::from(before), shown.resets(now));
        let mut room = self.minute.has_room(now).max(self.day.has_room(now));
        if let Outcome::Banned(_) = outcome {
            // Another request may have found it over before this answer goes out.
            let end = if self.banned_until == i64::MIN { now } else { self.banned_until };
            (remaining, resets, room) = (0, end, end);
        }
        let refused = !matches!(outcome, Outcome::Admitted { .. });
        let wait = match self.policy.rounding {
            Rounding::Down => (room - now).div_euclid(SECOND),
            Rounding::Up | Rounding::FromLeft => (room - now + SECOND - 1).div_euclid(SECOND),
        };
        let retry = if self.policy.retry_date {
            Retry::At(self.seconds(now, room) + self.policy.extra)
        } else {
            Retry::In(wait.max(0) + self.policy.extra)
        };
        let reset = self.seconds(now, resets);
        Headers { limit: shown.limit, remaining, reset, retry: refused.then_some(retry) }
    }

    /// The answer to a request goes out. `now` is the client's time.
    pub(crate) fn answer(&mut self, now: i64, pending: &Pending) -> Seen {
        let now = now + self.policy.ahead;
        self.minute.roll(now, false);
        self.day.roll(now, false);
        let on_answer = self.policy.written == Written::OnAnswer;
        let headers = if on_answer { self.headers(now, pending.outcome) } else { pending.headers };
        let status = match pending.outcome {
            Outcome::Admitted { .. } => pending.admitted_with,
            Outcome::Refused => 429,
            Outcome::Banned(status) => status,
        };
        if self.policy.failures.are_given_back(status) {
            self.minute.give_back(pending.request, pending.counted_in[0]);
            self.day.give_back(pending.request, pending.counted_in[1]);
        }
        Seen {
            key: 0,
            sent: 0,
            received: 0,
            status,
            limit: Some(headers.limit as i64),
            remaining: Some(headers.remaining as i64),
            reset: Some(headers.reset),
            date: self.policy.dated.then(|| now.div_euclid(SECOND)),
            retry: headers.retry,
        }
    }
}
