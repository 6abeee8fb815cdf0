//! The search for states that explain the answers to one key, exchange by exchange.

use std::collections::HashSet;

use super::state::{Moment, Outcome, Phase, State};
use super::{BAN, Family, LOG, MANY, Member, NOW, REPEATED, SHIFT, START, UNKNOWN_CLOCK, Verdict, ZERO};
use crate::history::Seen;
use crate::limiter::{Cut, DAY, MALFORMED, MINUTE, MISSING, SECOND, SUCCESS, Shows, Written, weighs_at_most};
use crate::zone::Zone;

/// The search for the states of one member that explain the answers to one key.
pub(super) struct Search<'h> {
    pub(super) member: Member,
    pub(super) family: Family,
    pub(super) seen: &'h [&'h Seen],
}

impl Search<'_> {
    pub(super) fn run(&self) -> Verdict {
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
            let given_back = self.member.failures.are_given_back(seen.status);
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
        if !full && [SUCCESS, MALFORMED, MISSING].contains(&seen.status) {
            let mut state = state.clone();
            let counted = !self.member.failures.are_free(seen.status);
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
                if self.member.failures.are_given_back(seen.status) {
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
            Cut::Weighted { up, .. } => {
                let states = state.on_the_clock(MINUTE, State::enter);
                states.iter().flat_map(|state| state.weighed(up)).collect()
            }
            Cut::First => state.first(arrival),
            Cut::Log { .. } => state.dropped(),
        }
    }

    fn counted(&self, state: &State) -> u64 {
        match self.member.cut {
            Cut::Clock | Cut::First => state.used,
            Cut::Log { .. } => state.log.len() as u64,
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
            Cut::Weighted { up, next: true } if state.weight > 0 => {
                Moment::Server(state.window * MINUTE + weighs_at_most(state.past, state.weight - 1, up))
            }
            Cut::Clock | Cut::Weighted { .. } => Moment::Server((state.window + 1) * MINUTE),
            Cut::First if state.open => Moment::After(START, MINUTE),
            Cut::Log { newest: false } if !state.log.is_empty() => Moment::After(LOG, MINUTE),
            Cut::Log { .. } if !state.log.is_empty() => Moment::After(LOG + state.log.len() - 1, MINUTE),
            Cut::First | Cut::Log { .. } => Moment::After(NOW, MINUTE),
        }
    }

    /// When there is room again in what is full, if nothing more comes.
    fn has_room(&self, state: &State) -> Vec<Moment> {
        let mut room = Vec::new();
        if self.counted(state) >= self.member.per_minute {
            room.push(match self.member.cut {
                Cut::Clock | Cut::First => self.resets(state, false),
                Cut::Log { .. } => Moment::After(LOG + state.log.len() - self.member.per_minute as usize, MINUTE),
                Cut::Weighted { up, .. } if state.used < self.member.per_minute => {
                    let most = self.member.per_minute - 1 - state.used;
                    Moment::Server(state.window * MINUTE + weighs_at_most(state.past, most, up))
                }
                Cut::Weighted { up, .. } => Moment::Server(
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
