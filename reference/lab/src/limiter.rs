//! A limiter in front of the reference's own, with other lawful habits or with one flaw.
//!
//! The reference behind it counts nothing, so that this one alone decides.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::{Layer, MINUTE, Request, Response, ServerState};
use animal_store_reference::Limits;

const DAY: i64 = 86_400;

/// The time between reading a count and writing it, for [`Flaw::Races`] and [`Flaw::ChecksLate`].
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
    /// Some requests of a key are counted apart, by this number.
    Parts(fn(&Request) -> u64),
    /// The keys with the same number share a count.
    Shares(fn(Limits) -> i64),
    /// A request counts as this number of requests. One that counts as none is never refused.
    Costs(fn(&Request) -> u64),
    /// Some requests are counted and never refused.
    Spares(fn(&Request, &Count, &ServerState) -> bool),
    /// A refused request is carried out all the same.
    CarriesOut,
    /// The count is set back after this number of seconds, regardless of the reported reset.
    ResetsAfter(i64),
    /// The count is set back after this number of requests, as when a process is restarted.
    ForgetsAfter(usize),
    /// Refusals go on for this number of seconds after the reported reset.
    RefusesLonger(i64),
    /// In the first seconds of a window, this number of them, the count is written back with the response: of concurrent requests, one
    /// is counted.
    Races(i64),
    /// A request counts at once, and is refused for those only that have been answered.
    ChecksLate,
    /// Each request begins the window anew.
    Prolongs,
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
    /// The number of seconds by which windows that slide, and slots, begin after the minutes of the clock.
    pub(crate) offset: i64,
    /// The number of requests that the log has from the minute before the first request of a key.
    pub(crate) before: i64,
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

/// The requests of a group.
#[derive(Default)]
pub(crate) struct Count {
    /// Whether no other group was counted before.
    pub(crate) is_first: bool,
    /// The number of windows that have begun.
    pub(crate) windows: u64,
    /// The time of the last request that was admitted over the limit.
    pub(crate) extra_at: i64,
    /// The times of the requests that may count now or later, in order.
    log: VecDeque<i64>,
    /// The reported end of the present window.
    ends: i64,
    /// The beginning of the present window, or the time when the count was last set back, in Unix seconds.
    since: i64,
    /// The present day, counted from 1970.
    day: i64,
    used_today: u64,
    /// The times of the requests of the last day, for limiters that keep a log of them.
    log_of_day: VecDeque<i64>,
    /// The time of the next request of another client, in Unix milliseconds.
    next: Option<i64>,
    seen: u64,
    refused: u64,
    refused_at: i64,
    banned_until: i64,
}

impl Count {
    /// Gives the request back that came at a time and counts from another, unless its window has ended.
    fn give_back(&mut self, came: i64, from: i64) {
        for (log, time) in [(&mut self.log, from), (&mut self.log_of_day, came)] {
            let place = log.partition_point(|other| *other <= time).checked_sub(1);
            if let Some(place) = place.filter(|place| log[*place] == time) {
                log.remove(place);
            }
        }
        self.used_today = self.used_today.saturating_sub(1);
    }
}

struct Reported {
    group: Group,
    limits: Limits,
    refused: bool,
    counted: bool,
    /// The time at which the request came, and the time from which it counts.
    came: i64,
    from: i64,
    /// The length of the log with this request in it.
    logged: usize,
    remaining: u64,
    reset: i64,
}

/// A group of requests that are counted together: usually the number of a key, and a part of its requests.
type Group = (i64, u64);

#[derive(Default)]
struct Ledger {
    counts: HashMap<Group, Count>,
    reported: HashMap<u64, Reported>,
    /// The key that was used last, and its limits.
    caller: Option<(i64, Limits)>,
}

/// The layer that applies a policy.
pub(crate) fn limiter(policy: Policy) -> Layer {
    let takes = if matches!(policy.flaw, Some(Flaw::Races(_) | Flaw::ChecksLate)) { RACE } else { Duration::ZERO };
    Layer::default()
        .taking(takes)
        .before(move |request, server| server.own(|ledger| policy.decide(ledger, request, server)))
        .after(move |request, response, server| server.own(|ledger| policy.report(ledger, request, response, server)))
}

impl Policy {
    fn decide(&self, ledger: &mut Ledger, request: &Request, server: &ServerState) -> Option<Response> {
        let key = server.key_of(request);
        match &key {
            Some(key) => ledger.caller = Some((key.id, key.limits)),
            None if self.by_address => {}
            None => return None,
        }
        // A request without a key comes from the address of the key that was used last.
        let (caller, limits) = ledger.caller?;
        let group = self.group_of(caller, limits, request);
        let now = server.now();
        let is_first = ledger.counts.is_empty();
        let used_before =
            (1..=self.before).rev().map(|at| self.begin_of_slot(now - at * server.window() / (self.before + 1)));
        let count = ledger.counts.entry(group).or_insert_with(|| Count {
            is_first,
            log: used_before.collect(),
            used_today: self.before.unsigned_abs(),
            day: now.div_euclid(DAY),
            ..Count::default()
        });
        self.admit_others(count, limits, server);
        self.roll(count, server, now);
        count.seen += 1;
        if matches!(self.flaw, Some(Flaw::Prolongs)) {
            count.ends = now + server.window();
        }
        if let Some((_, seconds)) = self.banned.filter(|(at, _)| *at == count.seen) {
            count.log.resize(usize::try_from(limits.per_minute).unwrap_or_default(), now);
            count.banned_until = now + server.scaled(seconds);
        }
        let cost = if let Some(Flaw::Costs(cost)) = self.flaw { cost(request) } else { 1 };
        let is_spared = matches!(self.flaw, Some(Flaw::Spares(which)) if which(request, count, server));
        let more = self.over_the_limit(&ledger.reported, group);
        let most = limits.per_minute.saturating_add_signed(more);
        let is_full = self.used(count, server, now) >= most || now < count.banned_until;
        if is_full && is_spared {
            count.extra_at = now;
        }
        let is_over = is_full && cost > 0 && !is_spared;
        // A request without a valid key always gets 401.
        let (refused, counted) = (is_over && key.is_some(), !is_over && cost > 0);
        if counted || refused && self.counts_refusals {
            let others = u64::from(self.others.is_some_and(|every| count.seen.is_multiple_of(every)));
            self.count(count, now, cost + others);
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
        let remaining = self.remaining(count, limits, server, self.written == Written::Before && counted);
        let reset = if self.reports_day { self.end_of_day(count, now) } else { count.ends.max(count.banned_until) };
        let is_answered = refused && !matches!(self.flaw, Some(Flaw::CarriesOut));
        let refusal = is_answered.then(|| self.refusal(count, limits, server));
        let (from, logged) = (self.begin_of_slot(now), count.log.len());
        let reported = Reported { group, limits, refused, counted, came: now, from, logged, remaining, reset };
        ledger.reported.insert(request.number, reported);
        if self.races(count, server) && !refused {
            count.log.pop_back();
        }
        refusal
    }

    fn group_of(&self, caller: i64, limits: Limits, request: &Request) -> Group {
        match self.flaw {
            Some(Flaw::Parts(part)) => (caller, part(request)),
            Some(Flaw::Shares(number)) => (number(limits), 0),
            _ => (caller, 0),
        }
    }

    /// The number of requests of a group that are admitted beyond the limit, given the requests that are under way.
    fn over_the_limit(&self, reported: &HashMap<u64, Reported>, group: Group) -> i64 {
        match self.flaw {
            Some(Flaw::OffBy(more)) => more,
            Some(Flaw::ChecksLate) => {
                reported.values().filter(|other| other.group == group && other.counted).count() as i64
            }
            _ => 0,
        }
    }

    /// The time at which the day resets that a count reports.
    fn end_of_day(&self, count: &Count, now: i64) -> i64 {
        let newest = count.log_of_day.back().copied().unwrap_or(now);
        DAY + if self.logs_day { newest } else { now - now.rem_euclid(DAY) }
    }

    /// Returns true if the count is written back with the response.
    fn races(&self, count: &Count, server: &ServerState) -> bool {
        matches!(self.flaw, Some(Flaw::Races(within)) if server.now() - count.since < within)
    }

    /// The number of requests that count at a time that is not before now, if no further one comes.
    fn used(&self, count: &Count, server: &ServerState, time: i64) -> u64 {
        let window = server.window();
        let begin = self.begin_of_window(server, time);
        let from = |begin: i64| (count.log.len() - count.log.partition_point(|came| *came < begin)) as u64;
        match self.anchor {
            Anchor::Clock | Anchor::Request => count.log.len() as u64,
            Anchor::Log(seconds) | Anchor::Draining(seconds) => from(time - server.scaled(seconds) + 1),
            Anchor::Sliding | Anchor::SlidingNext => {
                let (present, both) = (from(begin), from(begin - window));
                let left = (begin + window - time).unsigned_abs();
                present + (both - present) * left / window.unsigned_abs()
            }
        }
    }

    /// The Remaining of a count, in which the last request may be left out.
    fn remaining(&self, count: &Count, limits: Limits, server: &ServerState, without_last: bool) -> u64 {
        let used = || self.used(count, server, server.now());
        let (limit, used) =
            if self.reports_day { (limits.per_day, count.used_today) } else { (limits.per_minute, used()) };
        (limit + u64::from(without_last)).saturating_sub(used).min(limit)
    }

    fn count(&self, count: &mut Count, now: i64, requests: u64) {
        count.used_today += requests;
        if self.logs_day {
            (0..requests).for_each(|_| count.log_of_day.push_back(now));
        }
        (0..requests).for_each(|_| count.log.push_back(self.begin_of_slot(now)));
    }

    /// Counts the admitted requests that another client has sent until now.
    fn admit_others(&self, count: &mut Count, limits: Limits, server: &ServerState) {
        let Some(every) = self.steady else { return };
        let now = server.timestamp().as_millisecond();
        let mut next = count.next.unwrap_or(now + every);
        while next <= now {
            let second = next.div_euclid(1_000);
            self.roll(count, server, second);
            if self.used(count, server, second) < limits.per_minute {
                self.count(count, second, 1);
            }
            next += every;
        }
        count.next = Some(next);
    }

    /// The beginning of the window around a time, for windows by the clock.
    fn begin_of_window(&self, server: &ServerState, time: i64) -> i64 {
        let window = server.window();
        time - (time - self.offset * window / i64::from(MINUTE)).rem_euclid(window)
    }

    /// The time from which a log counts a request.
    fn begin_of_slot(&self, now: i64) -> i64 {
        self.slot.map_or(now, |slot| now - (now - self.offset).rem_euclid(slot))
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
        let begin = self.begin_of_window(server, now);
        match self.anchor {
            Anchor::Sliding | Anchor::SlidingNext => {
                if begin > count.since {
                    (count.since, count.refused) = (begin, 0);
                }
                count.log.retain(|came| *came >= begin - window);
                count.ends = begin + window;
                if self.anchor == Anchor::SlidingNext {
                    let used = self.used(count, server, now);
                    let is_fewer = |time: &i64| self.used(count, server, *time) < used;
                    count.ends = (now + 1..count.ends).find(is_fewer).unwrap_or(count.ends);
                }
            }
            Anchor::Log(seconds) | Anchor::Draining(seconds) => {
                let kept = server.scaled(seconds);
                count.log.retain(|came| came + kept > now);
                // The refusals form a second log. Only whether it has any matters.
                if count.refused_at + kept <= now {
                    count.refused = 0;
                }
                let is_draining = matches!(self.anchor, Anchor::Draining(_));
                let last = if is_draining { count.log.back() } else { count.log.front() };
                count.ends = last.copied().unwrap_or(self.begin_of_slot(now)) + kept;
            }
            Anchor::Clock | Anchor::Request if now >= count.ends => {
                count.ends = if self.anchor == Anchor::Clock { begin + window } else { now + window };
                if !matches!(self.flaw, Some(Flaw::RefusesLonger(_))) {
                    count.log.clear();
                    (count.refused, count.since) = (0, now);
                    count.windows += 1;
                }
            }
            Anchor::Clock | Anchor::Request => {}
        }
        let forgets = match self.flaw {
            Some(Flaw::ResetsAfter(seconds)) => now - count.since >= server.scaled(seconds),
            Some(Flaw::ForgetsAfter(requests)) => count.log.len() == requests,
            Some(Flaw::RefusesLonger(seconds)) => now - count.since >= window + server.scaled(seconds),
            _ => false,
        };
        if forgets {
            count.log.clear();
            (count.refused, count.since) = (0, now);
        }
    }

    fn refusal(&self, count: &Count, limits: Limits, server: &ServerState) -> Response {
        let now = server.now();
        let mut response = Response::error(429);
        // The next time at which a full count has room, if no request comes.
        let has_room = |time: &i64| self.used(count, server, *time) < limits.per_minute;
        let has_room_at = (now..now + 2 * server.window()).find(has_room).unwrap_or(count.ends);
        let until = count.ends.max(has_room_at).max(count.banned_until) + self.extra_wait;
        response.set("retry-after", (until - now).max(1));
        response.set_date("date", now);
        response
    }

    fn report(&self, ledger: &mut Ledger, request: &Request, response: &mut Response, server: &ServerState) {
        let Some(mut reported) = ledger.reported.remove(&request.number) else { return };
        if reported.refused && matches!(self.flaw, Some(Flaw::CarriesOut)) {
            response.refuse_for(server.window());
        }
        let count = ledger.counts.entry(reported.group).or_default();
        if self.races(count, server) && !reported.refused {
            count.log.resize(reported.logged, server.now());
        }
        if matches!(self.flaw, Some(Flaw::ForgivesTheLast)) && response.status >= 400 && reported.remaining == 0 {
            count.log.clear();
        }
        let is_free = reported.counted && self.free.is_some_and(|free| free(request, response.status));
        if is_free && !self.gives_back {
            count.give_back(reported.came, reported.from);
            reported.remaining += u64::from(self.written == Written::After);
        }
        if self.written == Written::OnAnswer {
            reported.remaining = self.remaining(count, reported.limits, server, false);
        }
        if is_free && self.gives_back {
            count.give_back(reported.came, reported.from);
        }
        let limit = if self.reports_day { reported.limits.per_day } else { reported.limits.per_minute };
        response.set_limits(limit, reported.remaining, reported.reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_given_back_takes_its_own_place_and_none_of_another_window() {
        let mut count =
            Count { log: [10, 20, 20, 30].into(), log_of_day: [12, 24, 27].into(), used_today: 4, ..Count::default() };
        count.give_back(24, 20);
        assert_eq!((&count.log, count.used_today), (&[10, 20, 30].into(), 3));
        assert_eq!(count.log_of_day, [12, 27]);
        count.give_back(5, 5);
        count.give_back(25, 25);
        assert_eq!((&count.log, count.used_today), (&[10, 20, 30].into(), 1));
    }
}
