//! One run's conversation with its target: sends, writes down, paces itself, and keeps to the budget.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;

use super::pace::Pace;
use crate::events::{Event, Listener};
use crate::http::client::Client;
use crate::http::clock::Clock;
use crate::http::pacing::{self, Advice};
use crate::interrupt::Interrupt;
use crate::redaction::Redactor;
use animal_store_rules::trace::exchange::{Exchange, FailureKind, Outcome, Request};
use animal_store_rules::trace::json::{MAX_VALUES, count_values};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::{Context, LeftOut, Trace};

mod animals;

pub use animals::created_id;
use animals::in_letters;

/// How often a request that met a 429 is tried again.
const ATTEMPTS: u32 = 3;

/// The answers of a whole run may not take more memory than this: a candidate must not be able to exhaust the judge's.
const MAX_MEMORY: usize = 128 * 1024 * 1024;

/// About what a value of a JSON text takes when it has been read, in bytes.
const VALUE: usize = 64;

/// So many requests may wait for an answer in vain. Each costs the whole timeout, and more of them tell nothing new.
const SILENCES: usize = 10;

/// What a run may spend.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Requests.
    pub requests: usize,
    /// Time.
    pub time: Duration,
}

/// Why a run ended before its plan did.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Stop {
    /// The requests are spent.
    #[error("the budget of {0} requests (--max-requests) was spent")]
    Requests(usize),
    /// The time is spent, or a wait would take the run beyond it.
    #[error("the run would take longer than {} s (--max-duration)", .0.as_secs())]
    Time(Duration),
    /// The key is used up for longer than the judge waits.
    #[error("the key is used up for another {} s, and the judge waits {} s at the most", .0.as_secs(), pacing::LONGEST_WAIT.as_secs())]
    UsedUp(Duration),
    /// The key stays limited.
    #[error("the key stayed limited, although every Retry-After was heeded {ATTEMPTS} times")]
    StaysLimited,
    /// Too much was received.
    #[error("the answers of this run are too large to be judged together: they would take {} MiB and more", MAX_MEMORY / 1024 / 1024)]
    Bodies,
    /// Somebody ended it.
    #[error("it was interrupted")]
    Interrupted,
    /// Too many requests waited for an answer in vain.
    #[error("{SILENCES} requests got no complete answer within the timeout (--timeout)")]
    Silence,
}

/// One run's conversation with its target.
pub struct Session<'r> {
    client: &'r Client,
    listener: &'r Listener,
    clock: Clock,
    interrupt: Interrupt,
    budget: Budget,
    started: Instant,
    memory: usize,
    silences: usize,
    probe: &'static str,
    step: String,
    case: Option<usize>,
    seed: u64,
    heeds_remaining: bool,
    waited_before: Option<usize>,
    pace: Pace,
    names: usize,
    nonce: String,
    redactor: Redactor,
    /// Everything random about the run.
    pub random: fastrand::Rng,
    /// What has been sent and received.
    pub trace: Trace,
}

impl<'r> Session<'r> {
    /// Begins a run.
    #[must_use]
    pub fn new(
        client: &'r Client,
        listener: &'r Listener,
        clock: Clock,
        context: Context,
        redactor: Redactor,
        budget: Budget,
        seed: u64,
    ) -> Session<'r> {
        // Names must be new to the candidate even when a seed is used again, so they hang on the time as well.
        let milliseconds = clock.now().as_millisecond().unsigned_abs();
        Session {
            client,
            listener,
            interrupt: Interrupt::default(),
            budget,
            started: clock.instant(),
            clock,
            memory: 0,
            silences: 0,
            probe: "preflight",
            step: String::new(),
            case: None,
            seed,
            heeds_remaining: true,
            waited_before: None,
            pace: Pace::default(),
            names: 0,
            nonce: in_letters(milliseconds, 7),
            redactor,
            random: fastrand::Rng::with_seed(seed),
            trace: Trace { context, exchanges: Vec::new() },
        }
    }

    /// Ends when this is raised.
    #[must_use]
    pub fn interrupted_by(self, interrupt: Interrupt) -> Session<'r> {
        Session { interrupt, ..self }
    }

    /// Tells what follows preflight: how many probes, and the most requests that the whole run takes.
    pub fn announce(&self, probes: usize, requests: usize) {
        (self.listener)(&Event::Planned { probes, requests });
    }

    /// Names the probe that sends from now on.
    pub fn begin(&mut self, probe: &'static str) {
        self.probe = probe;
        (self.listener)(&Event::Probe(probe));
    }

    /// Says what is sent from now on, apart from names, ids and keys. Empty where requests are generated.
    pub fn step(&mut self, step: impl Into<String>) {
        self.step = step.into();
    }

    /// Says which generated case is sent from now on.
    pub fn number_case(&mut self, case: Option<usize>) {
        self.case = case;
    }

    /// The seed of everything random.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The proxy that every request goes through, if there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<&str> {
        self.client.transport().proxy.as_deref()
    }

    /// The main key.
    #[must_use]
    pub fn key(&self) -> ApiKey {
        self.trace.context.keys[0].clone()
    }

    /// The key that may be exhausted: the one given for that, else the main one.
    #[must_use]
    pub fn quota_key(&self) -> ApiKey {
        self.trace.context.keys[self.trace.context.keys.len() - 1].clone()
    }

    /// The requests that may still be sent.
    #[must_use]
    pub fn requests_left(&self) -> usize {
        self.budget.requests.saturating_sub(self.trace.exchanges.len())
    }

    /// How many requests, of those wanted, are to be sent at once, so that a candidate that deals with one at a time answers all of
    /// them within the timeout.
    #[must_use]
    pub fn at_once(&self, wanted: usize) -> usize {
        self.pace.at_once(wanted, self.client.transport().timeout)
    }

    /// Notes that a part of the plan is not carried out.
    pub fn leave_out(&mut self, requirements: &'static str, reason: impl Into<String>) {
        self.trace.context.left_out.push(LeftOut { requirements, reason: reason.into() });
    }

    /// Notes that a fixed part of the plan was not sent to its end.
    pub fn leave_unfinished(&mut self, part: &'static str) {
        self.trace.context.unfinished.push(part);
    }

    /// Sends a request as it is, at once.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is spent.
    pub async fn send(&mut self, request: Request) -> Result<&Exchange, Stop> {
        let sent = self.send_together(vec![request]).await?;
        Ok(&sent[0])
    }

    /// Sends requests as they are, all at once. They are written down in the given order, with times of their own.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is spent, or does not suffice for all.
    pub async fn send_together(&mut self, requests: Vec<Request>) -> Result<&[Exchange], Stop> {
        if self.requests_left() < requests.len().max(1) {
            return Err(Stop::Requests(self.budget.requests));
        }
        if self.elapsed() >= self.budget.time {
            return Err(Stop::Time(self.budget.time));
        }
        if self.memory > MAX_MEMORY {
            return Err(Stop::Bodies);
        }
        if self.silences >= SILENCES {
            return Err(Stop::Silence);
        }
        let outcomes = tokio::select! {
            biased;
            () = self.interrupt.raised() => return Err(Stop::Interrupted),
            outcomes = join_all(requests.iter().map(|request| self.timed(request))) => outcomes,
        };
        let began = outcomes.iter().map(|(_, sent_at, _)| *sent_at).min();
        let ended = outcomes.iter().map(|(.., received_at)| *received_at).max();
        if let Some((began, ended)) = began.zip(ended) {
            self.pace.note(outcomes.len(), ended.duration_since(began).unsigned_abs());
        }
        let before = self.trace.exchanges.len();
        for (request, (outcome, sent_at, received_at)) in requests.into_iter().zip(outcomes) {
            self.write_down(request, outcome, sent_at, received_at);
        }
        Ok(&self.trace.exchanges[before..])
    }

    /// What comes of a request, when it was about to be sent, and when that was complete.
    async fn timed(&self, request: &Request) -> (Outcome, Timestamp, Timestamp) {
        let sent_at = self.clock.now();
        let outcome = self.client.send(request).await;
        (outcome, sent_at, self.clock.now())
    }

    fn write_down(&mut self, request: Request, outcome: Outcome, sent_at: Timestamp, received_at: Timestamp) {
        let number = self.trace.exchanges.len() + 1;
        let described = match &outcome {
            Outcome::Response(response) => {
                // As it came, and once more as it is read.
                self.memory += 2 * response.body.len() + VALUE * count_values(&response.body).min(MAX_VALUES);
                response.status.to_string()
            }
            Outcome::Failed(failure) => {
                self.silences += usize::from(failure.kind == FailureKind::Timeout);
                failure.detail.clone()
            }
        };
        let left = self.budget.requests.saturating_sub(number);
        let redactor = &self.redactor;
        (self.listener)(&Event::Exchange {
            number,
            request: redactor.redact(&format!("{} {}", request.method, request.target())),
            outcome: redactor.redact(&described),
            left,
        });
        let (probe, step, case) = (self.probe, self.step.clone(), self.case);
        self.trace.exchanges.push(Exchange { number, probe, step, case, request, outcome, sent_at, received_at });
    }

    /// Sends a request with the main key: waits for the window first when it is used up, and after a 429 waits as told and
    /// tries again.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is spent or the wait would be too long.
    pub async fn ask(&mut self, request: Request) -> Result<&Exchange, Stop> {
        let key = self.key();
        let request = bearing(request, &key);
        self.make_room(&key, 1).await?;
        for attempt in 0..ATTEMPTS {
            let jitter = self.random.f64();
            let exchange = self.send(request.clone()).await?;
            if exchange.status() != Some(429) {
                return Ok(&self.trace.exchanges[self.trace.exchanges.len() - 1]);
            }
            let advice = pacing::after_refusal(exchange, attempt, jitter);
            self.heed(advice, "the time that Retry-After tells").await?;
        }
        Err(Stop::StaysLimited)
    }

    /// Sends requests with the main key, all at once, when the window has room for them: else it waits for the next one. Those
    /// that meet a 429 all the same are not tried again, but waited for: whatever comes next would be repeated requests.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is spent or the wait would be too long.
    pub async fn ask_together(&mut self, requests: Vec<Request>) -> Result<&[Exchange], Stop> {
        let key = self.key();
        // Others may use the key as much as this run does, and of requests at once several would be refused.
        self.make_room(&key, 2 * requests.len()).await?;
        let before = self.trace.exchanges.len();
        let sent = self.send_together(requests.into_iter().map(|request| bearing(request, &key)).collect()).await?;
        if let Some(refused) = sent.iter().find(|exchange| exchange.status() == Some(429)).cloned() {
            let advice = pacing::after_refusal(&refused, 0, self.random.f64());
            self.heed(advice, "the time that Retry-After tells").await?;
        }
        Ok(&self.trace.exchanges[before..])
    }

    /// Waits for the window's end when it has no room for so many requests.
    async fn make_room(&mut self, key: &ApiKey, requests: usize) -> Result<(), Stop> {
        let Some(last) = self.last_answer_to(key) else { return Ok(()) };
        let (number, advice) = (last.number, pacing::before_many(last, requests));
        if !matches!(advice, Advice::Go) {
            // Used up right after the window has ended: what Remaining says is not worth waiting for. A 429 still is.
            if self.waited_before == Some(number) {
                self.heeds_remaining = false;
            }
            if !self.heeds_remaining {
                return Ok(());
            }
            self.waited_before = Some(self.trace.exchanges.len() + 1);
        }
        self.heed(advice, "the window of the key to end").await
    }

    /// The last exchange with a key.
    #[must_use]
    pub fn last_answer_to(&self, key: &ApiKey) -> Option<&Exchange> {
        let credential = credential(key);
        self.trace.exchanges.iter().rev().find(|exchange| exchange.request.authorization.as_ref() == Some(&credential))
    }

    /// The time of day.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How long the run may still take.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.budget.time.saturating_sub(self.elapsed())
    }

    /// How long the run has taken so far.
    fn elapsed(&self) -> Duration {
        self.clock.instant().duration_since(self.started)
    }

    /// Waits as advised.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the wait is too long, or longer than the run may take.
    pub async fn heed(&mut self, advice: Advice, reason: &'static str) -> Result<(), Stop> {
        match advice {
            Advice::Go => Ok(()),
            Advice::Wait(time) => self.wait(time, reason).await,
            Advice::TooLong(time) => Err(Stop::UsedUp(time)),
        }
    }

    /// Waits.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the run may not take that long.
    pub async fn wait(&mut self, time: Duration, reason: &'static str) -> Result<(), Stop> {
        if self.elapsed() + time >= self.budget.time {
            return Err(Stop::Time(self.budget.time));
        }
        (self.listener)(&Event::Waiting { time, reason });
        tokio::select! {
            biased;
            () = self.interrupt.raised() => Err(Stop::Interrupted),
            () = self.clock.sleep(time) => Ok(()),
        }
    }
}

/// The `Authorization` value that presents a key as described.
#[must_use]
pub fn credential(key: &ApiKey) -> String {
    format!("Bearer {}", key.reveal())
}

/// The request with a key as described.
#[must_use]
pub fn bearing(request: Request, key: &ApiKey) -> Request {
    request.authorization(credential(key))
}
