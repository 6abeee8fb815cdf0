//! Which limiters of the family explain a history? For each member: the set of its states, exchange by exchange, where everything that
//! nobody saw (arrivals, the offset of the clocks, the end of a ban) stays open within the bounds of a zone.

use std::collections::{BTreeSet, HashSet};

use crate::history::{History, Retry, Seen};
use crate::limiter::{Cut, DAY, Failures, MINUTE, SECOND, Shows, Written, weighs_at_most};
use crate::zone::Zone;

/// Variables of a zone. All but the offset are times by the client's clock; a time by the server's is one less `SHIFT`.
const ZERO: usize = 0;
const SHIFT: usize = 1;
const NOW: usize = 2;
/// The end of the ban, while there is one.
const BAN: usize = 3;
/// The beginning of a window from the first request, while there is one.
const START: usize = 4;
/// The first of those that hold the arrivals in a log.
const LOG: usize = 5;

/// Without a Date the clocks are known to agree so far.
pub(crate) const UNKNOWN_CLOCK: i64 = 90 * SECOND;

/// A second refusal may start a ban.
const REPEATED: u32 = 2;

/// More states than this are not followed.
const MANY: usize = 4_000;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    Explained,
    Unexplained,
    /// There are too many states.
    Undecided,
}

/// The part of the family that may explain a history.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    pub(crate) members: fn(&Member) -> bool,
    pub(crate) bans: bool,
    /// Whether a day that no header shows may be exhausted.
    pub(crate) hidden_days: bool,
    /// How many requests of somebody else there may be on each key.
    pub(crate) strangers: u32,
}

/// The whole family, without traffic that nobody saw.
pub(crate) const ALL: Family = Family { members: |_| true, bans: true, hidden_days: true, strangers: 0 };

/// Whether members of the family explain the answers to every key.
pub(crate) fn explain(history: &History, family: Family) -> Verdict {
    for key in 0..2 {
        let seen: Vec<&Seen> = history.seen.iter().filter(|seen| seen.key == key).collect();
        let verdict = explain_key(&seen, history.plan, family);
        if verdict != Verdict::Explained {
            return verdict;
        }
    }
    Verdict::Explained
}

fn explain_key(seen: &[&Seen], plan: Option<(u64, u64)>, family: Family) -> Verdict {
    let mut verdict = Verdict::Unexplained;
    for member in members(seen, plan).into_iter().filter(family.members) {
        match (Search { member, family, seen }).run() {
            Verdict::Explained => return Verdict::Explained,
            Verdict::Undecided => verdict = Verdict::Undecided,
            Verdict::Unexplained => {}
        }
    }
    if seen.is_empty() { Verdict::Explained } else { verdict }
}

/// What is fixed about a member. The figure that no header shows may be `u64::MAX`: not enforced in this history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) per_minute: u64,
    pub(crate) per_day: u64,
    pub(crate) cut: Cut,
    pub(crate) shows: Shows,
    pub(crate) written: Written,
    pub(crate) failures: Failures,
    pub(crate) counts_refusals: bool,
}

/// Every member that may matter: what the history cannot show apart is tried once.
fn members(seen: &[&Seen], plan: Option<(u64, u64)>) -> Vec<Member> {
    let limits: Option<BTreeSet<u64>> = seen
        .iter()
        .map(|seen| seen.limit.and_then(|limit| u64::try_from(limit).ok().filter(|limit| *limit > 0)))
        .collect();
    let limits: Vec<u64> = limits.unwrap_or_default().into_iter().collect();
    let refused = seen.iter().any(|seen| seen.status == 429);
    let failed = seen.iter().any(|seen| seen.status == 404);
    let figures: Vec<(u64, u64, Shows)> = match (limits.as_slice(), plan) {
        (&[limit], Some((minute, day))) => [(limit, day, Shows::Minute), (minute, limit, Shows::Day)]
            .into_iter()
            .filter(|figures| (figures.0, figures.1) == (minute, day))
            .collect(),
        (&[limit], None) => {
            let hidden = (1..=seen.len() as u64).filter(|_| refused).chain([u64::MAX]);
            let day = hidden.map(|minute| (minute, limit, Shows::Day));
            [(limit, u64::MAX, Shows::Minute)].into_iter().chain(day).collect()
        }
        (&[minute, day], plan) if plan.is_none_or(|plan| plan == (minute, day)) => vec![(minute, day, Shows::Fewer)],
        _ => Vec::new(),
    };
    let cuts = [Cut::Clock, Cut::First, Cut::Log, Cut::Weighted { up: false }, Cut::Weighted { up: true }];
    let mut members = Vec::new();
    for (per_minute, per_day, shows) in figures {
        for cut in cuts {
            for written in [Written::AfterCounting, Written::BeforeCounting, Written::OnAnswer] {
                for failures in [Failures::Count, Failures::Free, Failures::Refunded] {
                    for counts_refusals in [false, true] {
                        let matters = (failed || failures == Failures::Count) && (refused || !counts_refusals);
                        if matters {
                            members.push(Member {
                                per_minute,
                                per_day,
                                cut,
                                shows,
                                written,
                                failures,
                                counts_refusals,
                            });
                        }
                    }
                }
            }
        }
    }
    members
}

/// A moment that headers report.
#[derive(Clone, Copy)]
enum Moment {
    /// By the server's clock.
    Server(i64),
    /// So long after the time that a variable holds.
    After(usize, i64),
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Outcome {
    Admitted {
        counted: bool,
    },
    Refused,
    /// Refused, with the end of a ban.
    Banned,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Phase {
    Waiting,
    /// Decided, in the windows with these indices, and not answered yet.
    Arrived(Outcome, i64, i64),
    Answered,
}

/// A set of states that differ in times only.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    zone: Zone,
    /// The present window: on the clock its number since 1970, else a count.
    window: i64,
    /// Whether a window from the first request runs.
    open: bool,
    used: u64,
    past: u64,
    /// What `past` weighs now.
    weight: u64,
    /// Of each request in the log, its place in the history; of somebody else's, none.
    log: Vec<Option<usize>>,
    day: i64,
    used_today: u64,
    /// Whether a day that no header shows is exhausted.
    day_is_spent: bool,
    refusals: u32,
    banned: bool,
    strangers: u32,
    phases: Vec<Phase>,
}

/// The search for the states of one member that explain the answers to one key.
struct Search<'h> {
    member: Member,
    family: Family,
    seen: &'h [&'h Seen],
}

impl Search<'_> {
    fn run(&self) -> Verdict {
        let mut states = self.begin();
        let is_done = |state: &State| state.phases.iter().all(|phase| *phase == Phase::Answered);
        while states.first().is_some_and(|state| !is_done(state)) {
            let mut next: Vec<State> = states.iter().flat_map(|state| self.events(state)).collect();
            if next.len() > 1 {
                let distinct: HashSet<State> = next.drain(..).collect();
                next = distinct.into_iter().collect();
            }
            if next.len() > MANY {
                return Verdict::Undecided;
            }
            states = next;
        }
        if states.is_empty() { Verdict::Unexplained } else { Verdict::Explained }
    }

    /// The states before the first request: nothing is counted in the minute, anything may be in the day.
    fn begin(&self) -> Vec<State> {
        let seen = self.seen;
        let mut zone = Zone::new(LOG);
        let dates = seen.iter().filter_map(|seen| Some((seen, seen.date? * SECOND)));
        let mut bounds = dates.map(|(seen, date)| (seen.sent - date - SECOND + 1, seen.received - date)).peekable();
        let fits = match bounds.peek() {
            Some(_) => bounds.all(|(least, most)| zone.within(SHIFT, ZERO, least, most)),
            None => zone.within(SHIFT, ZERO, -UNKNOWN_CLOCK, UNKNOWN_CLOCK),
        };
        let fits = fits && zone.at_most(ZERO, NOW, 2 * MINUTE - seen[0].sent);
        let earlier = if self.member.shows == Shows::Minute { 0..=0 } else { 0..=self.member.per_day };
        let state = |used_today| State {
            zone: zone.clone(),
            window: i64::MIN,
            open: false,
            used: 0,
            past: 0,
            weight: 0,
            log: Vec::new(),
            day: i64::MIN,
            used_today,
            day_is_spent: false,
            refusals: 0,
            banned: false,
            strangers: self.family.strangers,
            phases: vec![Phase::Waiting; seen.len()],
        };
        earlier.filter(|_| fits).map(state).collect()
    }

    /// The states after whatever may happen next: a request arrives, or an answer goes out.
    fn events(&self, state: &State) -> Vec<State> {
        let seen = self.seen;
        let open: Vec<usize> = (0..seen.len()).filter(|at| state.phases[*at] != Phase::Answered).take(16).collect();
        let first_end = open.iter().map(|at| seen[*at].received).min().unwrap_or(i64::MAX);
        let mut next = Vec::new();
        for &at in open.iter().filter(|at| seen[**at].sent <= first_end) {
            for state in self.after_strangers(state, seen[at].received) {
                let Some(state) = state.advanced(seen[at].sent, seen[at].received) else { continue };
                match state.phases[at] {
                    Phase::Waiting => next.extend(self.arrivals(&state, at, seen[at])),
                    Phase::Arrived(outcome, window, day) => {
                        next.extend(self.answers(&state, at, seen[at], outcome, (window, day)));
                    }
                    Phase::Answered => {}
                }
            }
        }
        next
    }

    /// The state, and those after requests of somebody else.
    fn after_strangers(&self, state: &State, until: i64) -> Vec<State> {
        let mut all = vec![state.clone()];
        let mut latest = all.clone();
        for _ in 0..state.strangers {
            let arrived = latest.iter().filter_map(|state| state.advanced(i64::MIN / 16, until));
            let mut next: Vec<State> = arrived.flat_map(|state| self.rolled(&state, true)).collect();
            next.retain(|state| !self.is_full(state) && !state.banned);
            for state in &mut next {
                state.strangers -= 1;
                state.count(self.member.cut, None);
            }
            all.extend(next.iter().cloned());
            latest = next;
        }
        all
    }

    fn arrivals(&self, state: &State, at: usize, seen: &Seen) -> Vec<State> {
        let mut decided = Vec::new();
        for state in self.rolled(state, true) {
            if state.banned {
                let mut banned = state.clone();
                if banned.zone.at_most(NOW, BAN, -1) && [401, 403, 429].contains(&seen.status) {
                    decided.push((banned, Outcome::Banned));
                }
                let mut over = state;
                if over.zone.at_most(BAN, NOW, 0) {
                    (over.banned, over.refusals) = (false, 0);
                    self.decide(over, at, seen, &mut decided);
                }
            } else {
                self.decide(state, at, seen, &mut decided);
            }
        }
        let (window, day) = (|state: &State| state.window, |state: &State| state.day);
        let mut next = Vec::new();
        for (mut state, outcome) in decided {
            let given_back = self.member.failures == Failures::Refunded && seen.status == 404;
            if self.member.written == Written::OnAnswer || given_back {
                state.phases[at] = Phase::Arrived(outcome, window(&state), day(&state));
            } else {
                state.phases[at] = Phase::Answered;
                // The answer goes out at any time from now on until it is received.
                let date = seen.date.map(|date| date * SECOND);
                let fits = date.is_none_or(|date| state.zone.at_most(NOW, SHIFT, date + SECOND - 1));
                if !fits {
                    continue;
                }
            }
            if self.member.written == Written::OnAnswer {
                next.push(state);
            } else {
                next.extend(self.reported(state, seen, outcome));
            }
        }
        next
    }

    fn decide(&self, mut state: State, at: usize, seen: &Seen, decided: &mut Vec<(State, Outcome)>) {
        let full = self.is_full(&state);
        if !full && [200, 404].contains(&seen.status) {
            let mut state = state.clone();
            let counted = seen.status == 200 || self.member.failures != Failures::Free;
            if counted {
                state.count(self.member.cut, Some(at));
            }
            state.refusals = 0;
            decided.push((state, Outcome::Admitted { counted }));
        }
        let day_ends_unseen = self.family.hidden_days && self.member.shows == Shows::Minute && !state.day_is_spent;
        if seen.status != 429 || !full && !day_ends_unseen {
            return;
        }
        state.refusals += 1;
        if self.member.counts_refusals {
            state.count(self.member.cut, Some(at));
        }
        let mut refused = Vec::new();
        if day_ends_unseen {
            // This request found it exhausted, or exhausted it.
            refused.push(State { day_is_spent: true, ..state.clone() });
        }
        if full {
            refused.push(state);
        }
        for state in refused {
            if state.refusals >= REPEATED && self.family.bans {
                let mut banned = State { banned: true, ..state.clone() };
                banned.zone.forget(BAN);
                if banned.zone.within(BAN, NOW, 0, DAY) {
                    decided.push((banned.clone(), Outcome::Banned));
                    decided.push((banned, Outcome::Refused));
                }
            }
            decided.push((state, Outcome::Refused));
        }
    }

    fn answers(&self, state: &State, at: usize, seen: &Seen, outcome: Outcome, counted_in: (i64, i64)) -> Vec<State> {
        let mut next = Vec::new();
        for mut state in self.rolled(state, false) {
            let date = seen.date.map(|date| date * SECOND);
            if !date.is_none_or(|date| state.zone.within(NOW, SHIFT, date, date + SECOND - 1)) {
                continue;
            }
            state.phases[at] = Phase::Answered;
            let reported = if self.member.written == Written::OnAnswer {
                self.reported(state, seen, outcome)
            } else {
                vec![state]
            };
            next.extend(reported.into_iter().map(|mut state| {
                if self.member.failures == Failures::Refunded && seen.status == 404 {
                    state.give_back(at, counted_in);
                }
                state
            }));
        }
        next
    }

    /// The state at its present time: windows have ended, requests have dropped out.
    fn rolled(&self, state: &State, arrival: bool) -> Vec<State> {
        let mut states = state.on_the_clock(DAY, |state, day| {
            if day > state.day && state.day > i64::MIN {
                (state.used_today, state.day_is_spent) = (0, false);
            }
            state.day = day;
        });
        states = states.iter().flat_map(|state| self.rolled_minute(state, arrival)).collect();
        states
    }

    fn rolled_minute(&self, state: &State, arrival: bool) -> Vec<State> {
        match self.member.cut {
            Cut::Clock => state.on_the_clock(MINUTE, State::enter),
            Cut::Weighted { up } => {
                let states = state.on_the_clock(MINUTE, State::enter);
                states.iter().flat_map(|state| state.weighed(up)).collect()
            }
            Cut::First => state.first(arrival),
            Cut::Log => state.dropped(),
        }
    }

    fn counted(&self, state: &State) -> u64 {
        match self.member.cut {
            Cut::Clock | Cut::First => state.used,
            Cut::Log => state.log.len() as u64,
            Cut::Weighted { .. } => state.used + state.weight,
        }
    }

    fn is_full(&self, state: &State) -> bool {
        self.counted(state) >= self.member.per_minute || self.day_is_full(state)
    }

    fn day_is_full(&self, state: &State) -> bool {
        state.day_is_spent || self.member.shows != Shows::Minute && state.used_today >= self.member.per_day
    }

    /// The states in which an answer reports what was seen of it.
    fn reported(&self, state: State, seen: &Seen, outcome: Outcome) -> Vec<State> {
        let (Some(limit), Some(remaining), Some(reset)) = (seen.limit, seen.remaining, seen.reset) else {
            return Vec::new();
        };
        let left = [
            self.member.per_minute.saturating_sub(self.counted(&state)),
            self.member.per_day.saturating_sub(state.used_today),
        ];
        let shows_day = match self.member.shows {
            Shows::Minute => false,
            Shows::Day => true,
            Shows::Fewer => left[1] < left[0],
        };
        let own = outcome == Outcome::Admitted { counted: true } && self.member.written == Written::BeforeCounting;
        let (mut least, mut resets) = (left[usize::from(shows_day)] + u64::from(own), self.resets(&state, shows_day));
        let mut room = self.has_room(&state);
        if outcome == Outcome::Banned {
            (least, resets, room) = (0, Moment::After(BAN, 0), vec![Moment::After(BAN, 0)]);
        }
        let figure = if shows_day { self.member.per_day } else { self.member.per_minute };
        let mut state = state;
        let reset = reset.saturating_mul(SECOND);
        let fits = (limit, remaining) == (figure as i64, least as i64)
            && state.server_within(resets, reset - SECOND + 1, reset + SECOND - 1);
        match (outcome, seen.retry) {
            _ if !fits => Vec::new(),
            (Outcome::Admitted { .. }, _) => vec![state],
            (_, None) => Vec::new(),
            (_, Some(retry)) => {
                // Not too short for any reason to wait, and not much longer than one.
                let long_enough = room.iter().all(|moment| state.waits(retry, *moment, i64::MIN / 16));
                let each = room.iter().filter(|_| long_enough).filter_map(|moment| {
                    let mut state = state.clone();
                    state.waits(retry, *moment, -4 * SECOND).then_some(state)
                });
                each.collect()
            }
        }
    }

    fn resets(&self, state: &State, shows_day: bool) -> Moment {
        match self.member.cut {
            _ if shows_day => Moment::Server((state.day + 1) * DAY),
            Cut::Clock | Cut::Weighted { .. } => Moment::Server((state.window + 1) * MINUTE),
            Cut::First if state.open => Moment::After(START, MINUTE),
            Cut::Log if !state.log.is_empty() => Moment::After(LOG, MINUTE),
            Cut::First | Cut::Log => Moment::After(NOW, MINUTE),
        }
    }

    /// When there is room again in what is full, if nothing more comes.
    fn has_room(&self, state: &State) -> Vec<Moment> {
        let mut room = Vec::new();
        if self.counted(state) >= self.member.per_minute {
            room.push(match self.member.cut {
                Cut::Clock | Cut::First => self.resets(state, false),
                Cut::Log => Moment::After(LOG + state.log.len() - self.member.per_minute as usize, MINUTE),
                Cut::Weighted { up } if state.used < self.member.per_minute => {
                    let most = self.member.per_minute - 1 - state.used;
                    Moment::Server(state.window * MINUTE + weighs_at_most(state.past, most, up))
                }
                Cut::Weighted { up } => Moment::Server(
                    (state.window + 1) * MINUTE + weighs_at_most(state.used, self.member.per_minute - 1, up),
                ),
            });
        }
        if self.day_is_full(state) {
            room.push(self.resets(state, true));
        }
        if room.is_empty() {
            room.push(Moment::After(NOW, 0));
        }
        room
    }
}

impl State {
    /// Some time later, between two times.
    fn advanced(&self, least: i64, most: i64) -> Option<State> {
        let mut state = self.clone();
        let later = state.zone.len();
        state.zone.push();
        let fits = state.zone.at_most(NOW, later, 0) && state.zone.within(later, ZERO, least, most);
        state.zone.assign(NOW, later);
        state.zone.remove(later);
        fits.then_some(state)
    }

    /// The state in each period of the server's clock that it may be in.
    fn on_the_clock(&self, length: i64, enter: impl Fn(&mut State, i64)) -> Vec<State> {
        let (least, most) = self.zone.range(NOW, SHIFT);
        let periods = least.div_euclid(length)..=most.div_euclid(length);
        let entered = periods.filter_map(|period| {
            let mut state = self.clone();
            let fits = state.zone.within(NOW, SHIFT, period * length, (period + 1) * length - 1);
            enter(&mut state, period);
            fits.then_some(state)
        });
        entered.collect()
    }

    fn enter(&mut self, window: i64) {
        if window > self.window {
            self.past = if window == self.window.saturating_add(1) { self.used } else { 0 };
            (self.used, self.window) = (0, window);
        }
    }

    /// The state with each weight that the past window may have.
    fn weighed(&self, up: bool) -> Vec<State> {
        let begin = self.window * MINUTE;
        let weights = (0..=self.past).filter_map(|weight| {
            let least = weighs_at_most(self.past, weight, up);
            let most = if weight == 0 { MINUTE } else { weighs_at_most(self.past, weight - 1, up) } - 1;
            let mut state = self.clone();
            state.weight = weight;
            (least <= most && state.zone.within(NOW, SHIFT, begin + least, begin + most)).then_some(state)
        });
        weights.collect()
    }

    /// The states in which a window from the first request still runs, and in which it does not.
    fn first(&self, arrival: bool) -> Vec<State> {
        let mut states = Vec::new();
        let mut running = self.clone();
        if self.open && running.zone.at_most(NOW, START, MINUTE - 1) {
            states.push(running);
        }
        let mut over = self.clone();
        if !self.open || over.zone.at_most(START, NOW, -MINUTE) {
            if over.open {
                over.zone.forget(START);
                (over.open, over.used, over.window) = (false, 0, over.window + 1);
            }
            if arrival {
                over.zone.assign(START, NOW);
                over.open = true;
            }
            states.push(over);
        }
        states
    }

    /// The states in which the first so many requests of a log have dropped out.
    fn dropped(&self) -> Vec<State> {
        let states = (0..=self.log.len()).filter_map(|out| {
            let mut state = self.clone();
            let fits = (out == 0 || state.zone.at_most(LOG + out - 1, NOW, -MINUTE))
                && (out == self.log.len() || state.zone.at_most(NOW, LOG + out, MINUTE - 1));
            (0..out).for_each(|_| state.zone.remove(LOG));
            state.log.drain(..out);
            fits.then_some(state)
        });
        states.collect()
    }

    fn count(&mut self, cut: Cut, request: Option<usize>) {
        self.used_today += 1;
        if cut == Cut::Log {
            let last = self.zone.len();
            self.zone.push();
            self.zone.assign(last, NOW);
            self.log.push(request);
        } else {
            self.used += 1;
        }
    }

    fn give_back(&mut self, request: usize, (window, day): (i64, i64)) {
        if let Some(at) = self.log.iter().position(|other| *other == Some(request)) {
            self.log.remove(at);
            self.zone.remove(LOG + at);
        } else if self.window == window && self.used > 0 {
            self.used -= 1;
        }
        if self.day == day {
            self.used_today -= 1;
        }
    }

    /// Whether a moment may lie between two times of the server's clock; then it does.
    fn server_within(&mut self, moment: Moment, least: i64, most: i64) -> bool {
        match moment {
            Moment::Server(time) => (least..=most).contains(&time),
            Moment::After(x, later) => self.zone.within(x, SHIFT, least - later, most - later),
        }
    }

    /// Whether a wait may end at most a second before a moment, and no longer after it than this; then it does.
    fn waits(&mut self, retry: Retry, moment: Moment, longer: i64) -> bool {
        match (retry, moment) {
            (Retry::At(unix), _) => self.server_within(moment, unix * SECOND + longer, unix * SECOND + SECOND - 1),
            (Retry::In(seconds), Moment::Server(time)) => {
                let wait = seconds * SECOND - time;
                self.zone.within(SHIFT, NOW, wait + longer, wait + SECOND - 1)
            }
            (Retry::In(seconds), Moment::After(x, later)) => {
                let wait = seconds * SECOND - later;
                self.zone.within(x, NOW, wait + longer, wait + SECOND - 1)
            }
        }
    }
}
