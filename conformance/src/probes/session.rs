//! The session of a run with its target: sends requests, records exchanges, paces itself, and keeps to the budget.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;

use super::pace::Pace;
use super::target::{self, Unusable};
use crate::events::{Answer, Event, Listener};
use crate::http::client::Client;
use crate::http::clock::Clock;
use crate::http::pacing::{self, Advice};
use crate::interrupt::Interrupt;
use crate::options::Transport;
use crate::redaction::Redactor;
use animal_store_rules::trace::exchange::{Exchange, FailureKind, Outcome, Request};
use animal_store_rules::trace::json::{MAX_VALUES, count_values};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::{Fact, Knowledge};
use animal_store_rules::trace::{Context, LeftOut, Trace};

mod animals;
mod asking;
mod keyless;
mod refusals;
mod repetition;
mod spread;

pub use animals::created_id;
use animals::nonce;
pub use asking::MAY_BE_A_DAY;
use keyless::ALLOWANCES;
use repetition::Repetitions;
use spread::Spread;

/// How often the run waits and tries a request again while the response is 429.
const ATTEMPTS: u32 = 3;

/// The memory limit for all responses of a run: a candidate must not be able to exhaust the judge's memory.
const MAX_MEMORY: usize = 128 * 1024 * 1024;

/// The approximate memory of a parsed JSON value, in bytes.
const VALUE: usize = 64;

/// The maximum number of requests that time out. Each costs the whole timeout, and more would show nothing new.
const SILENCES: usize = 10;

/// The budget of a run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Requests.
    pub requests: usize,
    /// Time.
    pub time: Duration,
}

/// Why a run ended early.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// The requests are exhausted.
    #[error("the budget of {0} requests (--max-requests) is exhausted")]
    Requests(usize),
    /// The time is exhausted, or a wait would exceed it.
    #[error("the run would exceed {} s (--max-duration)", .0.as_secs())]
    Time(Duration),
    /// The key is exhausted for longer than the judge waits.
    #[error("the key is exhausted for another {} s, and the judge waits at most {} s", .0.as_secs(), pacing::LONGEST_WAIT.as_secs())]
    Exhausted(Duration),
    /// The key remains limited.
    #[error("the key remained limited after waiting for Retry-After {ATTEMPTS} times")]
    StaysLimited,
    /// Too much was received.
    #[error("the responses of the run exceed the memory limit of {} MiB", MAX_MEMORY / 1024 / 1024)]
    Bodies,
    /// The run was interrupted.
    #[error("the run was interrupted")]
    Interrupted,
    /// A requirement is broken, and the run was asked to end with the first.
    #[error("{0} is broken (--fail-fast)")]
    FailFast(&'static str),
    /// There is no generated request with this number.
    #[error("there is no generated request {case} to replay: {reason}")]
    NoSuchCase {
        /// The number.
        case: usize,
        /// Why.
        reason: &'static str,
    },
    /// Another address of the service, or the second key, cannot be used.
    #[error(transparent)]
    Unusable(Box<Unusable>),
    /// An intermediary answers in the place of the service.
    #[error("{0} answered {1} in the place of the service, which could no longer be reached")]
    Intermediary(String, u16),
    /// Too many requests timed out.
    #[error("{SILENCES} requests timed out (--timeout)")]
    Silence,
}

/// The session of a run with its target.
pub struct Session<'r> {
    client: &'r Client,
    listener: &'r Listener,
    clock: Clock,
    interrupt: Interrupt,
    budget: Budget,
    started: Instant,
    memory: usize,
    silences: usize,
    allowances: usize,
    repetitions: Repetitions,
    probe: &'static str,
    step: String,
    case: Option<usize>,
    seed: u64,
    asking: usize,
    follows_remaining: bool,
    waited_before: Option<usize>,
    early_refusals: usize,
    is_refused_in_bursts: bool,
    largest_batch: usize,
    bans: usize,
    pace: Pace,
    names: usize,
    nonce: String,
    redactor: Redactor,
    spread: Option<Spread>,
    /// The random generator of the run.
    pub random: fastrand::Rng,
    /// The exchanges so far.
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
        // Names must be new to the candidate even when a seed is reused, so they depend on the time as well.
        let nonce = nonce(clock.now().as_millisecond().unsigned_abs());
        let context = Context { name_mark: Some(nonce.clone()), ..context };
        Session {
            client,
            listener,
            interrupt: Interrupt::default(),
            budget,
            started: clock.instant(),
            clock,
            memory: 0,
            silences: 0,
            allowances: ALLOWANCES,
            repetitions: Repetitions::default(),
            probe: "preflight",
            step: String::new(),
            case: None,
            seed,
            asking: 0,
            follows_remaining: true,
            waited_before: None,
            early_refusals: 0,
            is_refused_in_bursts: false,
            largest_batch: 1,
            bans: 0,
            pace: Pace::default(),
            names: 0,
            nonce,
            redactor,
            spread: Spread::new(context.addresses().count(), seed),
            random: fastrand::Rng::with_seed(seed),
            trace: Trace { context, exchanges: Vec::new() },
        }
    }

    /// Ends when this is raised.
    #[must_use]
    pub fn interrupted_by(self, interrupt: Interrupt) -> Session<'r> {
        Session { interrupt, ..self }
    }

    /// Reports the plan: the number of probes, and the maximum number of requests of the whole run.
    pub fn announce(&self, probes: usize, requests: usize) {
        (self.listener)(&Event::Planned { probes, requests });
    }

    /// Sets the probe of the following requests.
    pub fn begin(&mut self, probe: &'static str) {
        self.probe = probe;
        (self.listener)(&Event::Probe(probe));
    }

    /// Sets the name of requests that come beside the plan.
    pub fn begin_aside(&mut self, name: &'static str) {
        self.probe = name;
        (self.listener)(&Event::Aside(name));
    }

    /// Reports that a requirement is broken.
    pub fn report_broken(&self, id: &'static str, title: &'static str) {
        (self.listener)(&Event::Broken { id, title });
    }

    /// Sets the step of the following requests: the request without names, ids and keys; empty for generated requests.
    pub fn step(&mut self, step: impl Into<String>) {
        self.step = step.into();
    }

    /// Sets the number of the generated request that is sent from now on.
    pub fn number_case(&mut self, case: Option<usize>) {
        self.case = case;
    }

    /// The seed of the random generator.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How the requests reach their addresses.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        self.client.transport()
    }

    /// The main key.
    #[must_use]
    pub fn key(&self) -> ApiKey {
        self.trace.context.keys[0].clone()
    }

    /// The requests that may still be sent.
    #[must_use]
    pub fn requests_left(&self) -> usize {
        self.budget.requests.saturating_sub(self.trace.exchanges.len())
    }

    /// How many of the wanted requests to send concurrently, so that a candidate that processes one at a time responds to all of
    /// them within the timeout, and that few are refused: several refusals at a time could cause a ban. Batches grow by doubling, and a
    /// candidate that refuses what its fields promise gets one request at a time.
    #[must_use]
    pub fn at_once(&self, wanted: usize) -> usize {
        let room = if self.is_refused_in_bursts { 1 } else { self.room().min(2 * self.largest_batch) };
        self.pace.at_once(wanted.min(room), self.client.transport().timeout)
    }

    /// Records that a part of the plan is omitted.
    pub fn leave_out(&mut self, requirements: &'static str, reason: impl Into<String>) {
        self.trace.context.left_out.push(LeftOut { requirements: requirements.into(), reason: reason.into() });
    }

    /// Notes that a fixed part of the plan was not sent completely, with the reason in parentheses where nothing else names it.
    pub fn leave_unfinished(&mut self, part: impl Into<Cow<'static, str>>) {
        self.trace.context.unfinished.push(part.into());
    }

    /// Sends a request unchanged, without waiting.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is exhausted.
    pub async fn send(&mut self, request: Request) -> Result<&Exchange, Stop> {
        let sent = self.transmit(vec![request]).await?;
        let answered = self.settled(sent).await?;
        Ok(&self.trace.exchanges[answered])
    }

    /// Sends requests unchanged and concurrently; the exchanges that answer them. They are recorded in the given order, with their own
    /// times, and before any repetition.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is exhausted, or too small for all.
    pub async fn send_together(&mut self, requests: Vec<Request>) -> Result<Vec<&Exchange>, Stop> {
        let places = self.send_all(requests).await?;
        Ok(places.into_iter().map(|place| &self.trace.exchanges[place]).collect())
    }

    /// [`Session::send_together`], with the places of the exchanges.
    async fn send_all(&mut self, requests: Vec<Request>) -> Result<Vec<usize>, Stop> {
        let count = requests.len();
        let first = self.transmit(requests).await?;
        let mut places = Vec::with_capacity(count);
        for place in first..first + count {
            places.push(self.settled(place).await?);
        }
        Ok(places)
    }

    /// Sends requests concurrently, and repeats none; the place of the first exchange.
    async fn transmit(&mut self, requests: Vec<Request>) -> Result<usize, Stop> {
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
        self.heed_refusals(&requests).await?;
        let promised = self.promised(&self.asking_key());
        let requests = self.placed(requests);
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
            self.record(request, outcome, sent_at, received_at);
        }
        if self.spread.is_some()
            && let Some(unusable) = target::unusable_replica(&self.trace, self.transport(), &self.key(), before)
        {
            return Err(Stop::Unusable(Box::new(unusable)));
        }
        let sent = &self.trace.exchanges[before..];
        let refused = sent.iter().filter(|exchange| exchange.status() == Some(429)).count();
        self.is_refused_in_bursts |= refused > 1 || refused == 1 && promised > sent.len() as u64;
        if refused == 0 {
            self.largest_batch = self.largest_batch.max(sent.len());
        }
        Ok(before)
    }

    /// The requests, each to the address that it goes to.
    fn placed(&mut self, requests: Vec<Request>) -> Vec<Request> {
        match &mut self.spread {
            Some(spread) => requests.into_iter().map(|request| spread.place(request)).collect(),
            None => requests,
        }
    }

    /// Some address of the service other than this one, if there are several.
    pub fn elsewhere_than(&mut self, replica: Option<usize>) -> Option<usize> {
        Some(self.spread.as_mut()?.other_than(replica?))
    }

    /// The outcome of a request, and the times before sending and after completion.
    async fn timed(&self, request: &Request) -> (Outcome, Timestamp, Timestamp) {
        let sent_at = self.clock.now();
        let outcome = self.client.send(request).await;
        (outcome, sent_at, self.clock.now())
    }

    fn record(&mut self, request: Request, outcome: Outcome, sent_at: Timestamp, received_at: Timestamp) {
        let number = self.trace.exchanges.len() + 1;
        let answer = match &outcome {
            Outcome::Response(response) => {
                // The raw body and the parsed one.
                self.memory += 2 * response.body.len() + VALUE * count_values(&response.body).min(MAX_VALUES);
                Answer::Status(response.status)
            }
            Outcome::Failed(failure) => {
                self.silences += usize::from(failure.kind == FailureKind::Timeout);
                Answer::Failed { kind: failure.kind, message: self.redactor.redact(&failure.detail) }
            }
        };
        let left = self.budget.requests.saturating_sub(number);
        let address = if self.spread.is_some() { self.trace.context.address_of(&request) } else { "" };
        (self.listener)(&Event::Exchange {
            number,
            method: request.method.clone(),
            target: target_shown(&self.redactor, address, &request),
            answer,
            left,
        });
        let (probe, step, case) = (self.probe.into(), self.step.clone(), self.case);
        let mut known = Knowledge::default();
        if let Outcome::Response(response) = &outcome
            && response.unreadable_coding().is_some()
        {
            known.withheld.insert(Fact::ResponseBody);
        }
        self.trace.exchanges.push(Exchange {
            number,
            probe,
            step,
            case,
            request,
            outcome,
            sent_at,
            received_at,
            known,
        });
        if let (Some(spread), Some(exchange)) = (&mut self.spread, self.trace.exchanges.last()) {
            spread.note(exchange);
        }
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

    /// Follows the advice.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the wait is too long, or longer than the run may take.
    pub async fn follow(&mut self, advice: Advice, reason: &'static str) -> Result<(), Stop> {
        match advice {
            Advice::Go => Ok(()),
            Advice::Wait(time) => self.wait(time, reason).await,
            Advice::TooLong(time) => Err(Stop::Exhausted(time)),
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

/// Address and target of a request, keys redacted.
fn target_shown(redactor: &Redactor, address: &str, request: &Request) -> String {
    let own = redactor.for_prose().redact(&format!("{address}{}", request.path));
    request.query.as_ref().map_or_else(|| own.clone(), |query| format!("{own}?{}", redactor.redact(query)))
}

/// The `Authorization` value for a key as a bearer token.
#[must_use]
pub fn credential(key: &ApiKey) -> String {
    format!("Bearer {}", key.reveal())
}

/// The request with a key as a bearer token.
#[must_use]
pub fn bearing(request: Request, key: &ApiKey) -> Request {
    request.authorization(credential(key))
}
