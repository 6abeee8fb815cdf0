//! The session of a run with its target: sends requests, records exchanges, paces itself, and keeps to the budget.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;

use super::target::{self, UnusableTarget};
use crate::events::{Answer, Event, Listener};
use crate::http::client::Client;
use crate::http::clock::Clock;
use crate::http::pacing::{self, Advice};
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::redaction::{Redactor, redactor};
use animal_store_rules::history::AccessEnd;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::{Fact, Knowledge};
use animal_store_rules::trace::{Context, LeftOut, Trace};

mod access;
mod animals;
mod asking;
mod budget;
mod bursts;
mod repetition;
mod spread;
mod variation;

pub(crate) use access::EXHAUSTED_ALLOWANCE;
use animals::Names;
use asking::Asking;
pub use asking::MAY_BE_A_DAY;
use budget::{Ledger, MAX_MEMORY_MIB, MAX_TIMEOUTS};
use bursts::Bursts;
use repetition::Repetitions;
use spread::Spread;
use variation::Variation;

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
    /// The options of the run.
    pub options: &'r Options,
    /// The exchanges so far.
    pub trace: Trace,
    /// The random generator of the run.
    pub random: fastrand::Rng,
    wire: Wire<'r>,
    probe: &'static str,
    step: String,
    ledger: Ledger,
    asking: Asking,
    bursts: Bursts,
    repetitions: Repetitions,
    names: Names,
    variation: Variation,
}

/// The way of requests to the target, and of events to the listener.
struct Wire<'r> {
    client: &'r Client,
    listener: &'r Listener,
    /// The redactor for the texts of events.
    redactor: Redactor,
    clock: Clock,
    interrupt: Interrupt,
    /// The turns of the addresses, if the service has several.
    spread: Option<Spread>,
    started: Instant,
    /// The time of the run at which the next request may be sent.
    next: Duration,
}

impl<'r> Session<'r> {
    /// Creates the session of a run with these options, which has sent no request yet. It ends with [`Stop::Interrupted`] when the
    /// interrupt is raised.
    pub fn new(
        options: &'r Options,
        context: Context,
        client: &'r Client,
        listener: &'r Listener,
        clock: Clock,
        interrupt: Interrupt,
    ) -> Session<'r> {
        let seed = options.seed;
        // Names must be new to the candidate even when a seed is reused, so they depend on the time as well.
        let names = Names::of_run_from_now(&clock);
        let context = Context { name_mark: Some(names.nonce().to_owned()), ..context };
        let (spread, started) = (Spread::new(context.addresses().count(), seed), clock.instant());
        let next = Duration::ZERO;
        Session {
            options,
            trace: Trace { context, exchanges: Vec::new() },
            random: fastrand::Rng::with_seed(seed),
            wire: Wire { client, listener, redactor: redactor(options), clock, interrupt, spread, started, next },
            probe: "preflight",
            step: String::new(),
            ledger: Ledger::default(),
            asking: Asking::default(),
            bursts: Bursts::default(),
            repetitions: Repetitions::default(),
            names,
            variation: Variation::new(seed),
        }
    }

    /// The exchange at this place of the trace.
    fn exchange(&self, place: usize) -> &Exchange {
        &self.trace.exchanges[place]
    }

    /// Passes an event to the listener.
    pub fn tell(&self, event: &Event) {
        (self.wire.listener)(event);
    }

    /// Sets the probe of the following requests.
    pub fn begin(&mut self, probe: &'static str) {
        self.probe = probe;
        self.tell(&Event::Probe(probe));
    }

    /// Sets the name of the following requests, which are not part of the plan.
    pub fn begin_aside(&mut self, name: &'static str) {
        self.probe = name;
        self.tell(&Event::Aside(name));
    }

    /// Sets the step of the following requests: the request without names, ids and keys; empty for generated requests.
    pub fn step(&mut self, step: impl Into<String>) {
        self.step = step.into();
    }

    /// Whether requests get header fields of other clients from now on, as the seed draws them.
    pub fn vary(&mut self, is_varied: bool) {
        self.variation.is_on = is_varied;
    }

    /// The least time between two requests.
    pub fn interval(&self) -> Duration {
        self.options.budget.rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.get())
    }

    /// The main key.
    pub fn key(&self) -> ApiKey {
        self.trace.context.keys[0].clone()
    }

    /// The requests that may still be sent.
    pub fn requests_left(&self) -> usize {
        self.options.budget.max_requests.saturating_sub(self.trace.exchanges.len())
    }

    /// The number of requests, of the wanted ones, to send concurrently. A candidate that processes one request at a time has to
    /// answer all of them within the timeout, and few may be refused, because several refusals at a time could cause a ban. Batches
    /// grow by doubling, and a candidate that refuses what its fields promise gets one request at a time.
    pub fn at_once(&self, wanted: usize) -> usize {
        self.bursts.size(wanted, self.room(), self.options.transport.timeout)
    }

    /// Records that a part of the plan is omitted.
    pub fn leave_out(&mut self, requirements: &'static str, reason: impl Into<String>) {
        let part = LeftOut { requirements: requirements.into(), reason: reason.into() };
        if !self.trace.context.left_out.contains(&part) {
            self.trace.context.left_out.push(part);
        }
    }

    /// Notes that a fixed part of the plan was not sent completely, with the reason in parentheses where nothing else names it.
    pub fn leave_unfinished(&mut self, part: impl Into<Cow<'static, str>>) {
        let part = part.into();
        if !self.trace.context.unfinished.contains(&part) {
            self.trace.context.unfinished.push(part);
        }
    }

    /// Sends a request without waiting.
    pub async fn send(&mut self, request: Request) -> Result<&Exchange, Stop> {
        let places = self.send_all(vec![request]).await?;
        Ok(self.exchange(places[0]))
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
        let given = &self.options.transport;
        let requests = requests.into_iter().map(|request| self.variation.applied_to(request, given)).collect();
        let first = self.transmit(requests).await?;
        let mut places = Vec::with_capacity(count);
        for place in first..first + count {
            places.push(self.settled(place).await?);
        }
        self.heed_access(first).await?;
        Ok(places)
    }

    /// Sends requests concurrently, each to the address whose turn it is, and repeats none. Returns the place of the first exchange.
    ///
    /// # Errors
    ///
    /// [`Stop`]; after [`Stop::Interrupted`], the requests in flight are not recorded.
    async fn transmit(&mut self, requests: Vec<Request>) -> Result<usize, Stop> {
        self.ledger.allow(&self.options.budget, self.trace.exchanges.len() + requests.len().max(1), self.elapsed())?;
        self.heed_refusals(&requests).await?;
        let promised = self.promised(&self.asking_key());
        let before = self.trace.exchanges.len();
        let interval = self.interval();
        let now = if interval.is_zero() { Duration::ZERO } else { self.elapsed() };
        let mut sent = Vec::with_capacity(requests.len());
        for (request, number) in requests.into_iter().zip(before + 1..) {
            let wire = &mut self.wire;
            let request = match &mut wire.spread {
                Some(spread) => spread.place(request),
                None => request,
            };
            let wait = wire.next.saturating_sub(now);
            wire.next = now + wait + interval;
            let (client, clock, id) = (wire.client, wire.clock.clone(), self.trace.context.request_id(number));
            let (probe, step) = (self.probe.into(), self.step.clone());
            sent.push(async move {
                if !wait.is_zero() {
                    clock.sleep(wait).await;
                }
                let sent_at = clock.now();
                let outcome = client.send_as(&request, id.as_deref()).await;
                let (received_at, known) = (clock.now(), Knowledge::default());
                Exchange { number, probe, step, request, outcome, sent_at, received_at, known }
            });
        }
        let sent = self.unless_interrupted(join_all(sent)).await?;
        let began = sent.iter().map(|sent| sent.sent_at).min();
        let ended = sent.iter().map(|sent| sent.received_at).max();
        if let Some((began, ended)) = began.zip(ended) {
            self.bursts.note_duration(sent.len(), ended.duration_since(began).unsigned_abs());
        }
        let refused = sent.iter().filter(|exchange| exchange.status() == Some(429)).count();
        self.bursts.note_refusals(sent.len(), refused, promised);
        for exchange in sent {
            self.record(exchange);
        }
        if self.wire.spread.is_some()
            && let Some(unusable) = target::unusable_replica(&self.trace, &self.options.transport, before)
        {
            return Err(Stop::Unusable(Box::new(unusable)));
        }
        Ok(before)
    }

    /// Adds an exchange to the trace, and tells the listener of it.
    fn record(&mut self, mut exchange: Exchange) {
        self.ledger.charge(&exchange.outcome);
        if let Some(spread) = &mut self.wire.spread {
            spread.note(&exchange);
        }
        let (request, redactor, context) = (&exchange.request, &self.wire.redactor, &self.trace.context);
        let answer = match &exchange.outcome {
            Outcome::Response(response) => {
                if response.unreadable_coding().is_some() || response.is_too_long() {
                    exchange.known.withheld.insert(Fact::ResponseBody);
                }
                Answer::Status(response.status)
            }
            Outcome::Failed(failure) => {
                Answer::Failed { kind: failure.kind, message: redactor.redact(&failure.detail) }
            }
        };
        let address = if context.addresses().count() > 1 { context.address_of(request) } else { "" };
        let mut target = redactor.for_prose().redact(&format!("{address}{}", request.path));
        if let Some(query) = &request.query {
            target.push_str(&format!("?{}", redactor.redact(query)));
        }
        let (number, method) = (exchange.number, request.method.clone());
        self.trace.exchanges.push(exchange);
        self.tell(&Event::Exchange { number, method, target, answer, left: self.requests_left() });
    }

    /// An address of the service other than this one, if there are several.
    pub fn elsewhere_than(&mut self, replica: Option<usize>) -> Option<usize> {
        Some(self.wire.spread.as_mut()?.other_than(replica?))
    }

    /// The current time by the session's clock.
    pub fn now(&self) -> Timestamp {
        self.wire.clock.now()
    }

    /// The time since the session began.
    fn elapsed(&self) -> Duration {
        self.wire.clock.instant().duration_since(self.wire.started)
    }

    /// The time that is left of the budget.
    pub fn time_left(&self) -> Duration {
        self.options.budget.max_duration.saturating_sub(self.elapsed())
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
        let most = self.options.budget.max_duration;
        if self.elapsed() + time >= most {
            return Err(Stop::Time(most));
        }
        self.tell(&Event::Waiting { time, reason });
        self.unless_interrupted(self.wire.clock.sleep(time)).await
    }

    async fn unless_interrupted<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.wire.interrupt.raised() => Err(Stop::Interrupted),
            done = work => Ok(done),
        }
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
