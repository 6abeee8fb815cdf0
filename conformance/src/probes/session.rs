//! The session of a run with its target: sends requests, records exchanges, paces itself, and keeps to the budget.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

use super::target::{self, UnusableTarget};
use crate::events::{Event, Listener};
use crate::http::client::Client;
use crate::http::clock::Clock;
use crate::http::pacing::{self, Advice};
use crate::interrupt::Interrupt;
use crate::options::{Options, Transport};
use crate::redaction::redactor;
use animal_store_rules::history::AccessEnd;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::{Context, LeftOut, Trace};

mod access;
mod animals;
mod asking;
mod budget;
mod bursts;
mod keyless;
mod log;
mod refusals;
mod repetition;
mod spread;
mod variation;
mod wire;

use animals::Names;
use asking::Asking;
pub use asking::MAY_BE_A_DAY;
use budget::{Ledger, MAX_MEMORY_MIB, MAX_TIMEOUTS};
use bursts::Bursts;
use log::Log;
use repetition::Repetitions;
use spread::Spread;
use variation::Variation;
use wire::Wire;

/// The number of times that the run waits and tries a request again while the response is 429.
const ATTEMPTS: u32 = 3;

/// The reason why a run ended early.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// The budget of requests (`--max-requests`) is used up.
    #[error("the budget of {0} requests (--max-requests) is exhausted")]
    Requests(usize),
    /// The budget of time (`--max-duration`) is used up, or a wait would exceed it.
    #[error("the run would exceed {} s (--max-duration)", .0.as_secs())]
    Time(Duration),
    /// The key is exhausted for longer than the judge waits.
    #[error("the key is exhausted for another {} s, and the judge waits at most {} s", .0.as_secs(), pacing::LONGEST_WAIT.as_secs())]
    Exhausted(Duration),
    /// The key is still refused with 429 after several waits.
    #[error("the key remained limited after waiting for Retry-After {ATTEMPTS} times{}", of_day(.0))]
    StaysLimited(Duration),
    /// The responses of the run exceed the memory limit.
    #[error(
        "the responses of the run exceed {MAX_MEMORY_MIB} MiB of memory: judge the service with smaller animals, or with fewer"
    )]
    Bodies,
    /// The run was interrupted.
    #[error("the run was interrupted")]
    Interrupted,
    /// A requirement is broken, and `--fail-fast` ends the run with the first broken one.
    #[error("{0} is broken (--fail-fast)")]
    FailFast(&'static str),
    /// Another address of the service, or the second key, cannot be used.
    #[error(transparent)]
    Unusable(Box<UnusableTarget>),
    /// An intermediary answers in the place of the service.
    #[error("{0} answered {1} in the place of the service, which could no longer be reached")]
    Intermediary(String, u16),
    /// The key was revoked, or the address of the judge is locked out.
    #[error("{0}")]
    Access(AccessEnd),
    /// Too many requests timed out.
    #[error("{MAX_TIMEOUTS} requests timed out (--timeout)")]
    Silence,
}

/// The end of a sentence about a key that stays limited, if its window ends in this time, later than a minute does.
fn of_day(left: &Duration) -> String {
    if *left <= pacing::LONGEST_WAIT {
        return String::new();
    }
    format!(": its window ends in {} s, so the day is exhausted, and Retry-After names a minute", left.as_secs())
}

/// The session of a run with its target.
pub struct Session<'r> {
    wire: Wire<'r>,
    ledger: Ledger,
    log: Log<'r>,
    asking: Asking,
    bursts: Bursts,
    repetitions: Repetitions,
    names: Names,
    variation: Variation,
    /// The seed of the random generator.
    pub seed: u64,
    /// Whether the run sends unknown keys.
    pub sends_unknown_keys: bool,
    /// The random generator of the run.
    pub random: fastrand::Rng,
}

impl<'r> Session<'r> {
    /// Creates the session of a run with these options, which has sent no request yet.
    pub fn new(
        options: &Options,
        context: Context,
        client: &'r Client,
        listener: &'r Listener,
        clock: Clock,
    ) -> Session<'r> {
        let seed = options.seed;
        // Names must be new to the candidate even when a seed is reused, so they depend on the time as well.
        let names = Names::of_run_from_now(&clock);
        let context = Context { name_mark: Some(names.nonce().to_owned()), ..context };
        let spread = Spread::new(context.addresses().count(), seed);
        Session {
            wire: Wire::new(
                client,
                clock,
                spread,
                options.budget.rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.get()),
            ),
            ledger: Ledger::new(options.budget.clone()),
            log: Log::new(listener, redactor(options), Trace { context, exchanges: Vec::new() }),
            asking: Asking::default(),
            bursts: Bursts::default(),
            repetitions: Repetitions::default(),
            names,
            variation: Variation::new(seed, &options.transport.headers),
            seed,
            sends_unknown_keys: options.judging.scope.sends_unknown_keys(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// The session, which ends with [`Stop::Interrupted`] when this interrupt is raised.
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Session<'r> {
        self.wire.interrupt = interrupt;
        self
    }

    /// The exchanges so far.
    pub fn trace(&self) -> &Trace {
        &self.log.trace
    }

    /// The exchange at this place of the trace.
    fn exchange(&self, place: usize) -> &Exchange {
        &self.log.trace.exchanges[place]
    }

    /// Ends the session and returns its trace.
    pub fn into_trace(self) -> Trace {
        self.log.trace
    }

    /// Passes an event to the listener.
    pub fn tell(&self, event: &Event) {
        self.log.tell(event);
    }

    /// Sets the probe of the following requests.
    pub fn begin(&mut self, probe: &'static str) {
        self.log.probe = probe;
        self.log.tell(&Event::Probe(probe));
    }

    /// Sets the name of the following requests, which are not part of the plan.
    pub fn begin_aside(&mut self, name: &'static str) {
        self.log.probe = name;
        self.log.tell(&Event::Aside(name));
    }

    /// Sets the step of the following requests: the request without names, ids and keys; empty for generated requests.
    pub fn step(&mut self, step: impl Into<String>) {
        self.log.step = step.into();
    }

    /// Whether requests get header fields of other clients from now on, as the seed draws them.
    pub fn vary(&mut self, is_varied: bool) {
        self.variation.is_on = is_varied;
    }

    /// The way in which the requests reach their addresses, for example through a proxy, and their timeout.
    pub fn transport(&self) -> &Transport {
        self.wire.client.transport()
    }

    /// The least time between two requests.
    pub fn interval(&self) -> Duration {
        self.wire.interval
    }

    /// The main key.
    pub fn key(&self) -> ApiKey {
        self.log.trace.context.keys[0].clone()
    }

    /// The requests that may still be sent.
    pub fn requests_left(&self) -> usize {
        self.ledger.requests_left()
    }

    /// The number of requests, of the wanted ones, to send concurrently. A candidate that processes one request at a time has to
    /// answer all of them within the timeout, and few may be refused, because several refusals at a time could cause a ban. Batches
    /// grow by doubling, and a candidate that refuses what its fields promise gets one request at a time.
    pub fn at_once(&self, wanted: usize) -> usize {
        self.bursts.size(wanted, self.room(), self.transport().timeout)
    }

    /// Records that a part of the plan is omitted.
    pub fn leave_out(&mut self, requirements: &'static str, reason: impl Into<String>) {
        self.log.trace.context.left_out.push(LeftOut { requirements: requirements.into(), reason: reason.into() });
    }

    /// Notes that a fixed part of the plan was not sent completely, with the reason in parentheses where nothing else names it.
    pub fn leave_unfinished(&mut self, part: impl Into<Cow<'static, str>>) {
        self.log.trace.context.unfinished.push(part.into());
    }

    /// Sends a request without waiting.
    pub async fn send(&mut self, request: Request) -> Result<&Exchange, Stop> {
        let request = self.variation.applied_to(request);
        let sent = self.transmit(vec![request]).await?;
        let answered = self.settled(sent).await?;
        self.heed_access(sent).await?;
        Ok(self.exchange(answered))
    }

    /// Sends requests concurrently, and returns the exchanges that answer them. They are recorded in the given order,
    /// with their own times, and before any repetition.
    ///
    /// # Errors
    ///
    /// [`Stop`] when the budget is exhausted, or too small for all.
    pub async fn send_together(&mut self, requests: Vec<Request>) -> Result<Vec<&Exchange>, Stop> {
        let places = self.send_all(requests).await?;
        Ok(places.into_iter().map(|place| self.exchange(place)).collect())
    }

    /// Sends requests as [`Session::send_together`] does, and returns the places of the exchanges in the trace.
    async fn send_all(&mut self, requests: Vec<Request>) -> Result<Vec<usize>, Stop> {
        let count = requests.len();
        let requests = requests.into_iter().map(|request| self.variation.applied_to(request)).collect();
        let first = self.transmit(requests).await?;
        let mut places = Vec::with_capacity(count);
        for place in first..first + count {
            places.push(self.settled(place).await?);
        }
        self.heed_access(first).await?;
        Ok(places)
    }

    /// Sends requests concurrently and repeats none. Returns the place of the first exchange.
    async fn transmit(&mut self, requests: Vec<Request>) -> Result<usize, Stop> {
        self.ledger.allow(requests.len().max(1), self.wire.elapsed())?;
        self.heed_refusals(&requests).await?;
        let promised = self.promised(&self.asking_key());
        let next = self.trace().exchanges.len() + 1;
        let ids = (next..next + requests.len()).map(|number| self.trace().context.request_id(number)).collect();
        let sent = self.wire.send(requests, ids).await?;
        let began = sent.iter().map(|sent| sent.sent_at).min();
        let ended = sent.iter().map(|sent| sent.received_at).max();
        if let Some((began, ended)) = began.zip(ended) {
            self.bursts.note_duration(sent.len(), ended.duration_since(began).unsigned_abs());
        }
        let before = self.log.trace.exchanges.len();
        for sent in sent {
            self.ledger.charge(&sent.outcome);
            let exchange = self.log.record(sent, self.ledger.requests_left());
            if let Some(spread) = &mut self.wire.spread {
                spread.note(exchange);
            }
        }
        if self.wire.spread.is_some()
            && let Some(unusable) = target::unusable_replica(self.trace(), self.transport(), before)
        {
            return Err(Stop::Unusable(Box::new(unusable)));
        }
        let sent = &self.log.trace.exchanges[before..];
        let refused = sent.iter().filter(|exchange| exchange.status() == Some(429)).count();
        self.bursts.note_refusals(sent.len(), refused, promised);
        Ok(before)
    }

    /// An address of the service other than this one, if there are several.
    pub fn elsewhere_than(&mut self, replica: Option<usize>) -> Option<usize> {
        Some(self.wire.spread.as_mut()?.other_than(replica?))
    }

    /// The current time by the session's clock.
    pub fn now(&self) -> Timestamp {
        self.wire.clock.now()
    }

    /// The time that is left of the budget.
    pub fn time_left(&self) -> Duration {
        self.ledger.budget.max_duration.saturating_sub(self.wire.elapsed())
    }

    /// Waits as the advice says, or stops if the wait is too long.
    pub async fn follow(&mut self, advice: Advice, reason: &'static str) -> Result<(), Stop> {
        match advice {
            Advice::Go => Ok(()),
            Advice::Wait(time) => self.wait(time, reason).await,
            Advice::TooLong(time) => Err(Stop::Exhausted(time)),
        }
    }

    /// Waits for this time, and tells the listener the reason.
    pub async fn wait(&mut self, time: Duration, reason: &'static str) -> Result<(), Stop> {
        let most = self.ledger.budget.max_duration;
        if self.wire.elapsed() + time >= most {
            return Err(Stop::Time(most));
        }
        self.log.tell(&Event::Waiting { time, reason });
        self.wire.sleep(time).await
    }
}

/// The `Authorization` value for a key as a bearer token.
pub fn credential(key: &ApiKey) -> String {
    format!("Bearer {}", key.reveal())
}

/// The request with a key as a bearer token.
pub fn bearing(request: Request, key: &ApiKey) -> Request {
    request.authorization(credential(key))
}
