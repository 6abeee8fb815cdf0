//! A set of states of one member of the family, which differ in times only.

use super::{LOG, NOW, SHIFT, START, ZERO};
use crate::history::Retry;
use crate::limiter::{Cut, MINUTE, SECOND, weighs_at_most};
use crate::zone::Zone;

/// A moment that headers report.
#[derive(Clone, Copy)]
pub(super) enum Moment {
    /// By the server's clock.
    Server(i64),
    /// So long after the time that a variable holds.
    After(usize, i64),
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Outcome {
    Admitted {
        counted: bool,
    },
    Refused,
    /// Refused, with the end of a ban.
    Banned,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Phase {
    Waiting,
    /// Decided, in the windows with these indices, and not answered yet.
    Arrived(Outcome, i64, i64),
    Answered,
}

/// A set of states that differ in times only.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct State {
    pub(super) zone: Zone,
    /// The present window: on the clock its number since 1970, else a count.
    pub(super) window: i64,
    /// Whether a window from the first request runs.
    pub(super) open: bool,
    pub(super) used: u64,
    pub(super) past: u64,
    /// What `past` weighs now.
    pub(super) weight: u64,
    /// Of each request in the log, its place in the history; of somebody else's, none.
    pub(super) log: Vec<Option<usize>>,
    pub(super) day: i64,
    pub(super) used_today: u64,
    /// Whether a day that no header shows is exhausted.
    pub(super) day_is_spent: bool,
    pub(super) refusals: u32,
    pub(super) banned: bool,
    pub(super) strangers: u32,
    pub(super) phases: Vec<Phase>,
}

impl State {
    /// Some time later, between two times.
    pub(super) fn advanced(&self, least: i64, most: i64) -> Option<State> {
        let mut state = self.clone();
        let later = state.zone.len();
        state.zone.push();
        let fits = state.zone.at_most(NOW, later, 0) && state.zone.within(later, ZERO, least, most);
        state.zone.assign(NOW, later);
        state.zone.remove(later);
        fits.then_some(state)
    }

    /// The state in each period of the server's clock that it may be in.
    pub(super) fn on_the_clock(&self, length: i64, enter: impl Fn(&mut State, i64)) -> Vec<State> {
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

    pub(super) fn enter(&mut self, window: i64) {
        if window > self.window {
            self.past = if window == self.window.saturating_add(1) { self.used } else { 0 };
            (self.used, self.window) = (0, window);
        }
    }

    /// The state with each weight that the past window may have.
    pub(super) fn weighed(&self, up: bool) -> Vec<State> {
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
    pub(super) fn first(&self, arrival: bool) -> Vec<State> {
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
    pub(super) fn dropped(&self) -> Vec<State> {
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

    pub(super) fn count(&mut self, cut: Cut, request: Option<usize>) {
        self.used_today += 1;
        if matches!(cut, Cut::Log { .. }) {
            let last = self.zone.len();
            self.zone.push();
            self.zone.assign(last, NOW);
            self.log.push(request);
        } else {
            self.used += 1;
        }
    }

    pub(super) fn give_back(&mut self, request: usize, (window, day): (i64, i64)) {
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
    pub(super) fn server_within(&mut self, moment: Moment, least: i64, most: i64) -> bool {
        match moment {
            Moment::Server(time) => (least..=most).contains(&time),
            Moment::After(x, later) => self.zone.within(x, SHIFT, least - later, most - later),
        }
    }

    /// Whether a wait may end at most a second before a moment, and no longer after it than this; then it does.
    pub(super) fn waits(&mut self, retry: Retry, moment: Moment, longer: i64) -> bool {
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
