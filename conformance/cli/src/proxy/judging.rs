//! Judges the traffic of the proxy, on a thread of its own, in parts of bounded size.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use animal_store_rules::catalogue::Level;
use animal_store_rules::rules::Failure;
use animal_store_rules::sentence::Sentence;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::verdict::RequirementVerdict;
use animal_store_traffic::{Head, lines};
use jiff::Timestamp;

use super::budget::Budget;
use super::capture::Captured;
use super::part::divided;
use super::traffic::Traffic;
use super::{OnEvent, Outcome, ProxyEvent, Settings};
use animal_store_conformance::layout::at_most;
use animal_store_conformance::recorded::{LONGEST_PART, PART_EXCHANGES, PendingPart, RecordedJudge, writer};
use animal_store_conformance::redaction::{Printable, printable};

/// The approximate size of an exchange without its bodies.
const BESIDE_BODIES: usize = 2048;

/// The interval at which new exchanges are judged. It is longer if judging takes more than a tenth of it.
const LOOK: Duration = Duration::from_millis(500);

/// The time for which exchanges are gathered before they are taken: waking this thread for each of them would delay the traffic.
const GATHER: Duration = Duration::from_millis(20);

/// The number of exchanges after which the trace states the next place at which it can be divided.
const DIVISIBLE: usize = PART_EXCHANGES / 4;

/// The maximum number of kinds of findings of a requirement that get a line while the proxy runs.
const MAX_LINES: usize = 5;

/// The maximum length of the line for a finding, in bytes.
const MAX_LINE: usize = 400;

/// The nice value of the thread that judges.
#[cfg(target_os = "linux")]
const LEAST_PRIORITY: i32 = 19;

/// The log into which connections hand their exchanges.
#[derive(Clone)]
pub(super) struct Log {
    /// The pending requests, and their clock.
    pub(super) traffic: Arc<Traffic>,
    /// The memory for copies of messages.
    pub(super) budget: Budget,
    queue: Sender<Option<Captured>>,
    lost: Arc<AtomicUsize>,
}

impl Log {
    /// Counts a request that is passed on unjudged, because there is no memory for a copy.
    pub(super) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes a complete exchange.
    pub(super) fn take(&self, mut captured: Captured) {
        let ticket = captured.asked.ticket;
        let has_room = captured.asked.reserved.grow(BESIDE_BODIES);
        if !has_room || self.queue.send(Some(captured)).is_err() {
            self.lose();
        }
        // This comes last, so that a request that is no longer pending is already in the queue.
        self.traffic.end(ticket);
    }
}

/// The thread that judges.
pub(super) struct JudgingThread {
    thread: JoinHandle<Judge>,
    rerun_command: String,
    /// The queue, whose end is marked by `None`, because a connection may still have a log.
    queue: Sender<Option<Captured>>,
}

impl JudgingThread {
    /// Starts to judge the exchanges that are handed to the log.
    pub(super) fn start(settings: Settings) -> std::io::Result<(JudgingThread, Log)> {
        let Settings { to: base_url, terms, rerun_command, record, on_event, clock, .. } = settings;
        let traffic = Arc::new(Traffic::new(clock));
        let (queue, received) = channel();
        let lost = Arc::new(AtomicUsize::new(0));
        let log = Log {
            traffic: Arc::clone(&traffic),
            budget: Budget::default(),
            queue: queue.clone(),
            lost: Arc::clone(&lost),
        };
        let mut recorded = RecordedJudge::new(terms);
        recorded.recorded_at(&base_url).unwrap_or_else(|_| unreachable!("the first address"));
        let mut judge = Judge {
            base_url,
            recorded,
            traffic,
            lost,
            pending: PendingPart::default(),
            divisible: 1.0,
            looked_at: 0,
            parts: 0,
            samples: 0,
            total_lost: 0,
            record: Recorder::new(record, Arc::clone(&on_event)),
            shown: Vec::new(),
            on_event,
        };
        let thread = std::thread::Builder::new().name("judge".to_owned()).spawn(move || {
            // On other systems, not every program may set the priority of a single thread.
            #[cfg(target_os = "linux")]
            go_last();
            judge.run(&received);
            judge
        })?;
        Ok((JudgingThread { thread, rerun_command, queue }, log))
    }

    /// Judges the remaining exchanges, and returns the outcome.
    pub(super) async fn end(self, notes: Vec<String>) -> Outcome {
        let JudgingThread { thread, rerun_command, queue } = self;
        // If the thread has ended, it panicked.
        let _panicked = queue.send(None);
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        let judge = match joined {
            Ok(Ok(judge)) => judge,
            // A panic of the thread that judges, or of this one.
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let of_judge = judge.notes();
        let Judge { mut recorded, record, .. } = judge;
        notes.into_iter().chain(of_judge).for_each(|note| recorded.note(note));
        // The command that sent the requests may contain their keys.
        let rerun_command = recorded.redactor().redact(&rerun_command);
        Outcome { unreached: None, report: recorded.report(rerun_command), unwritten: record.error }
    }
}

/// Gives traffic priority over judging. Exchanges for which there is no memory then are counted, but not judged.
#[cfg(target_os = "linux")]
fn go_last() {
    // If that is not allowed, the thread has the priority of all others.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), LEAST_PRIORITY);
}

/// The trace that is written while there is traffic, in the order in which exchanges end.
struct Recorder {
    to: Option<Box<dyn Write + Send>>,
    error: Option<std::io::Error>,
    on_event: OnEvent,
    /// The time at which the last written response had arrived.
    received: Timestamp,
    /// The number of exchanges since the last place at which the trace can be divided.
    undivided: usize,
    /// Whether exchanges are missing before the next one.
    lacks_some: bool,
}

impl Recorder {
    fn new(to: Option<Box<dyn Write + Send>>, on_event: OnEvent) -> Recorder {
        let received = Timestamp::MIN;
        Recorder { to, error: None, on_event, received, undivided: DIVISIBLE, lacks_some: false }
    }

    /// Writes exchanges that have ended. Every request that was sent before the horizon has ended.
    fn record(&mut self, mut exchanges: Vec<Exchange>, horizon: Timestamp) {
        exchanges.sort_by_key(|exchange| exchange.received_at);
        // For each exchange, the time at which the earliest request was sent that was not written before it.
        let mut unwritten = horizon;
        let mut earliest: Vec<Timestamp> = Vec::with_capacity(exchanges.len());
        for exchange in exchanges.iter().rev() {
            unwritten = unwritten.min(exchange.sent_at);
            earliest.push(unwritten);
        }
        for (exchange, earliest) in exchanges.iter_mut().zip(earliest.into_iter().rev()) {
            if std::mem::take(&mut self.lacks_some) {
                exchange.known.begins = Some(Extent::Sample);
            } else if self.undivided >= DIVISIBLE && self.received <= earliest {
                (exchange.known.begins, self.undivided) = (Some(Extent::Conversation), 0);
            }
            self.undivided += 1;
            self.received = self.received.max(exchange.received_at);
        }
        self.write(|| exchanges.iter().map(lines::line).collect());
    }

    /// Writes a text, which is made only if there is a trace to write.
    fn write(&mut self, text: impl FnOnce() -> String) {
        if let Some(to) = &mut self.to
            && let Err(error) = to.write_all(Printable::json(&text()).as_str().as_bytes()).and_then(|()| to.flush())
        {
            (self.on_event)(ProxyEvent::Unwritten(&error));
            (self.to, self.error) = (None, Some(error));
        }
    }
}

/// The state of the thread that judges.
struct Judge {
    base_url: String,
    recorded: RecordedJudge,
    traffic: Arc<Traffic>,
    /// The number of exchanges for which there was no memory since they were last counted.
    lost: Arc<AtomicUsize>,
    /// The exchanges of the present part, in the order of sending.
    pending: PendingPart,
    /// The size of the part from which on it is worth looking for a place to divide it again.
    divisible: f64,
    /// The number of pending exchanges that were judged before the part is complete.
    looked_at: usize,
    parts: usize,
    samples: usize,
    total_lost: usize,
    record: Recorder,
    /// The findings that got a line.
    shown: Vec<(&'static str, Sentence)>,
    on_event: OnEvent,
}

impl Judge {
    fn run(&mut self, received: &Receiver<Option<Captured>>) {
        let context = self.recorded.context(&self.base_url, Extent::Conversation);
        let options = serde_json::json!({"side": self.recorded.scope().side.as_str()});
        self.record.write(|| lines::head_line(&Head { options, ..Head::of(&context, writer()) }));
        let mut next_look = Instant::now() + LOOK;
        let mut is_open = true;
        while is_open {
            let first = match received.recv_timeout(next_look.saturating_duration_since(Instant::now())) {
                Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => None,
            };
            if first.is_some() {
                std::thread::sleep(GATHER);
            }
            // This is read before the queue is emptied: exchanges that are complete by then are in it.
            let horizon = self.traffic.horizon();
            let others = received.try_iter().take_while(|next| {
                is_open = next.is_some();
                is_open
            });
            let taken = first.into_iter().chain(others.flatten()).map(Captured::into_exchange);
            // No more exchanges are taken at a time than can be judged at a time.
            let taken: Vec<Exchange> = taken.take(PART_EXCHANGES).collect();
            let is_whole = taken.len() < PART_EXCHANGES;
            // If more are in the queue, some of them may have been sent before the horizon.
            let horizon = if is_whole { horizon } else { Timestamp::MIN };
            self.count_lost();
            if self.record.to.is_some() && !taken.is_empty() {
                let exchanges = self.recorded.without_secrets(taken.clone());
                self.record.record(exchanges, horizon);
            }
            for exchange in taken {
                let place = self.pending.exchanges().partition_point(|other| other.sent_at <= exchange.sent_at);
                self.looked_at = self.looked_at.min(place);
                self.pending.insert(place, exchange);
            }
            while self.pending.size() >= self.divisible && self.divide(horizon) {}
            if Instant::now() >= next_look {
                let begun = Instant::now();
                self.look(horizon);
                next_look = Instant::now() + LOOK.max(begun.elapsed() * 10);
            }
        }
        self.count_lost();
        self.judge(self.pending.exchanges().len());
    }

    fn count_lost(&mut self) {
        let lost = self.lost.swap(0, Ordering::SeqCst);
        if lost > 0 {
            self.total_lost += lost;
            self.pending.extent = Some(Extent::Sample);
            self.record.lacks_some = true;
        }
    }

    /// Judges a part if the pending exchanges can be divided, and returns true in that case.
    fn divide(&mut self, horizon: Timestamp) -> bool {
        let (at, is_calm) = divided(self.pending.exchanges(), horizon);
        if at > 0 && (is_calm || self.pending.size() >= 2.0) {
            self.judge(at);
            true
        } else if self.pending.size() >= LONGEST_PART - 1.0 {
            // Requests were pending all the time. Each of the two parts lacks exchanges that belong to it.
            self.pending.extent = Some(Extent::Sample);
            self.judge(self.pending.exchanges().len());
            self.pending.extent = Some(Extent::Sample);
            true
        } else {
            // The search takes time for each pending exchange, so it is not repeated for each new one.
            self.divisible = self.pending.size() + 0.125;
            false
        }
    }

    /// Judges the first exchanges as a part.
    fn judge(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let (exchanges, extent) = self.pending.take(count);
        let extent = extent.unwrap_or(Extent::Conversation);
        self.looked_at = 0;
        self.divisible = 1.0;
        self.parts += 1;
        self.samples += usize::from(extent == Extent::Sample);
        let context = self.recorded.context(&self.base_url, extent);
        let trace = self.recorded.sample(context, exchanges);
        let verdicts = self.recorded.add(trace);
        self.show(&verdicts);
    }

    /// Judges the complete exchanges of the present part, to show new findings.
    fn look(&mut self, horizon: Timestamp) {
        let (count, _) = divided(self.pending.exchanges(), horizon);
        if count <= self.looked_at {
            return;
        }
        self.looked_at = count;
        let context = self.recorded.context(&self.base_url, self.pending.extent.unwrap_or(Extent::Conversation));
        let trace = self.recorded.sample(context, self.pending.exchanges()[..count].to_vec());
        let verdicts = self.recorded.preview(&trace);
        self.show(&verdicts);
    }

    /// Shows a line for each kind of finding of a selected requirement, unless it has one already.
    fn show(&mut self, verdicts: &[RequirementVerdict]) {
        for RequirementVerdict { requirement, findings, .. } in verdicts.iter().filter(|verdict| verdict.selected) {
            for Failure { expected, found, .. } in findings.iter().map(|finding| &finding.example) {
                // The identifier lives as long as the catalogue.
                let id: &'static str = &requirement.id;
                let mut of_requirement = self.shown.iter().filter(|(shown, _)| *shown == id);
                if of_requirement.clone().count() < MAX_LINES && !of_requirement.any(|(_, other)| other.is_alike(found))
                {
                    self.shown.push((id, found.clone()));
                    let level = if requirement.level == Level::Inferred { " (inferred)" } else { "" };
                    let sentence = format!("{id}{level}: expected {expected}; found {found}");
                    let line = at_most(&printable(&sentence).replace('\n', " "), MAX_LINE);
                    (self.on_event)(ProxyEvent::Finding(&line));
                }
            }
        }
    }

    /// The notes on facts that were not judged, because the traffic was divided or there was no memory.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.parts > 1 {
            notes.push(format!(
                "judged in {} separate parts; a failure of the server that shows only across two parts is not found",
                self.parts
            ));
        }
        if self.samples > 0 {
            notes.push(format!(
                "{} parts lack requests that were under way at their ends or for which there was no memory; requirements that need \
                 every request are not judged in these parts",
                self.samples
            ));
        }
        if self.total_lost > 0 {
            notes.push(format!("{} requests were passed on unjudged, because there was no memory", self.total_lost));
        }
        notes
    }
}
