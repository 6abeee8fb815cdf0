//! A client like the judge: bursts, waits for Reset and Retry-After, pauses, requests at once, a second key. What it sees of a limiter
//! is a history that is lawful by construction.

use crate::history::{History, Retry, Seen};
use crate::limiter::{FOREIGN, Limiter, MALFORMED, MINUTE, MISSING, Pending, Policy, SECOND, SUCCESS};

/// Longer than this the client waits for nothing.
const LONGEST_WAIT: i64 = 150 * SECOND;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Requests one after the other. Bit `n` of `failing` makes the `n`th fail.
    Burst {
        count: u32,
        gap: i64,
        failing: u8,
    },
    /// Requests at the same time.
    Together {
        count: u32,
        failing: u8,
    },
    /// Requests until one is refused, and so many more.
    Drain {
        more: u32,
        gap: i64,
    },
    Pause(i64),
    /// Waits until the last Reset has passed, and so much longer.
    AwaitReset(i64),
    /// Waits as the last Retry-After indicates, and so much longer.
    AwaitRetry(i64),
    OtherKey,
}

/// Requests of somebody else on the main key, from some moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Others {
    /// When the first comes, in ms after the first request of the history; it may be negative.
    pub(crate) from: i64,
    pub(crate) every: i64,
    pub(crate) times: u32,
    /// How many come at once.
    pub(crate) each: u32,
}

/// A whole case: a limiter, what a client does, who else does something, and how the network behaves.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) policy: Policy,
    pub(crate) plan_is_stated: bool,
    /// Unix time of the first request, in ms.
    pub(crate) begins: i64,
    pub(crate) steps: Vec<Step>,
    pub(crate) others: Option<Others>,
    /// Answers take from `fastest` to `slowest` ms.
    pub(crate) fastest: i64,
    pub(crate) slowest: i64,
    /// Bit `n` makes the `n`th request of a step malformed if it fails. The others ask for something that does not exist.
    pub(crate) malformed: u8,
    /// What chance decides, in order and over again.
    pub(crate) noise: Vec<u8>,
}

enum Event {
    Arrival,
    Answer,
}

struct Run<'s> {
    script: &'s Script,
    limiters: [Limiter; 2],
    history: History,
    others: Vec<i64>,
    now: i64,
    key: usize,
    drawn: usize,
}

impl Script {
    /// The status of the `nth` request of a step if it is admitted.
    fn status(&self, failing: u8, nth: u32) -> u16 {
        match (failing >> (nth % 8) & 1, self.malformed >> (nth % 8) & 1) {
            (0, _) => SUCCESS,
            (_, 0) => MISSING,
            _ => MALFORMED,
        }
    }

    pub(crate) fn play(&self) -> History {
        let others = self.others.iter().flat_map(|others| {
            (0..others.times).flat_map(move |turn| {
                let at = self.begins + others.from + i64::from(turn) * others.every;
                std::iter::repeat_n(at, others.each as usize)
            })
        });
        let mut others: Vec<i64> = others.collect();
        others.reverse();
        let earliest = others.last().copied().unwrap_or(self.begins).min(self.begins);
        let plan = self.plan_is_stated.then_some((self.policy.per_minute, self.policy.per_day));
        let mut run = Run {
            script: self,
            limiters: [0; 2].map(|_| Limiter::new(&self.policy, earliest)),
            history: History { seen: Vec::new(), plan },
            others,
            now: self.begins,
            key: 0,
            drawn: 0,
        };
        self.steps.iter().for_each(|step| run.step(*step));
        run.history
    }
}

impl Run<'_> {
    fn step(&mut self, step: Step) {
        match step {
            Step::Burst { count, gap, failing } => {
                for nth in 0..count {
                    self.send(&[self.script.status(failing, nth)]);
                    self.now += gap;
                }
            }
            Step::Together { count, failing } => {
                let statuses: Vec<u16> = (0..count).map(|nth| self.script.status(failing, nth)).collect();
                self.send(&statuses);
                self.now += 1;
            }
            Step::Drain { more, gap } => {
                let refused = |seen: &Seen| !seen.succeeded();
                for _ in 0..self.script.policy.per_minute + 2 {
                    self.send(&[SUCCESS]);
                    self.now += gap;
                    if self.history.seen.last().is_some_and(refused) {
                        break;
                    }
                }
                for _ in 0..more {
                    self.send(&[SUCCESS]);
                    self.now += gap;
                }
            }
            Step::Pause(time) => self.now += time,
            Step::AwaitReset(longer) => self.wait(longer, |seen| seen.reset.map(Retry::At)),
            Step::AwaitRetry(longer) => self.wait(longer, |seen| seen.retry),
            Step::OtherKey => self.key = 1 - self.key,
        }
    }

    /// Waits for what the last answer indicates.
    fn wait(&mut self, longer: i64, indicated: impl Fn(&Seen) -> Option<Retry>) {
        let Some(last) = self.history.seen.iter().rev().find(|seen| seen.key == self.key) else { return };
        let until = match indicated(last) {
            Some(Retry::In(seconds)) => last.received + seconds * SECOND,
            Some(Retry::At(unix)) => last.received + (unix - last.date.unwrap_or(last.received / SECOND)) * SECOND,
            None => return,
        };
        let wait = (until - self.now).clamp(0, LONGEST_WAIT);
        self.now += wait + longer;
    }

    fn draw(&mut self) -> i64 {
        let noise = &self.script.noise;
        self.drawn += 1;
        noise.get(self.drawn % noise.len().max(1)).map_or(0, |byte| i64::from(*byte))
    }

    /// Sends requests at the same time, and waits for all their answers.
    fn send(&mut self, statuses: &[u16]) {
        let first = self.history.seen.len();
        let mut events = Vec::new();
        let mut received = Vec::new();
        for nth in 0..statuses.len() {
            let latency =
                self.script.fastest + (self.script.slowest - self.script.fastest) * self.draw() / i64::from(u8::MAX);
            let arrival = self.now + latency * self.draw() / i64::from(u8::MAX);
            let end = self.now + latency;
            let answer = arrival + (end - arrival) * self.draw() / i64::from(u8::MAX);
            events.push((arrival, nth, Event::Arrival));
            events.push((answer, nth, Event::Answer));
            received.push(end);
        }
        events.sort_by_key(|(at, ..)| *at);
        let mut pending: Vec<Option<Pending>> = statuses.iter().map(|_| None).collect();
        let mut seen: Vec<Option<Seen>> = statuses.iter().map(|_| None).collect();
        for (at, nth, event) in events {
            while let Some(other) = self.others.pop_if(|other| *other <= at) {
                let arrived = self.limiters[0].arrive(other, FOREIGN, SUCCESS);
                self.limiters[0].answer(other, &arrived);
            }
            let limiter = &mut self.limiters[self.key];
            match event {
                Event::Arrival => pending[nth] = Some(limiter.arrive(at, first + nth, statuses[nth])),
                Event::Answer => seen[nth] = pending[nth].as_ref().map(|pending| limiter.answer(at, pending)),
            }
        }
        let sent = self.now;
        for (nth, seen) in seen.into_iter().flatten().enumerate() {
            let seen = Seen { key: self.key, sent, received: received[nth], ..seen };
            self.history.seen.push(seen);
        }
        self.now = received.into_iter().max().unwrap_or(self.now);
    }
}

/// What may befall a lawful history without making it unlawful.
#[derive(Clone, Debug)]
pub(crate) struct Shaking {
    /// Of eight exchanges, those whose Date is left out.
    pub(crate) undated: u8,
    /// Of 32 exchanges, those that somebody else sent.
    pub(crate) foreign: u32,
    /// Requests are sent so much earlier, and answers received so much later.
    pub(crate) wider: i64,
}

impl Shaking {
    pub(crate) fn apply(&self, history: &mut History, policy: &Policy) {
        let mut nth = 0;
        history.seen.retain(|seen| {
            nth += 1;
            // As those of `Others`, requests of somebody else that would be given back do not fail.
            self.foreign >> (nth % 32) & 1 == 0 || policy.failures.are_given_back(seen.status)
        });
        let mut earliest = i64::MIN;
        for (nth, seen) in history.seen.iter_mut().enumerate() {
            if self.undated >> (nth % 8) & 1 == 1 {
                seen.date = None;
            }
            seen.sent = (seen.sent - self.wider).max(earliest);
            seen.received += self.wider;
            earliest = seen.sent;
        }
    }
}

/// The middle of a day, by the client's clock.
pub(crate) const NOON: i64 = 1_780_315_200_000;
/// A little before midnight.
pub(crate) const LATE: i64 = NOON + 12 * 60 * MINUTE - 2 * MINUTE;
