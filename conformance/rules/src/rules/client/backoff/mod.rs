//! Exponential backoff: over a run of refusals the client waits longer and longer.
//!
//! Jitter hides the growth from one wait to the next, so single waits prove nothing. A client is accused only of waits that lawful
//! policies hardly ever produce, whatever their base, factor, floor, cap and jitter are:
//!
//! * [`SHORT_WAITS`] waits in a row below [`Tolerance::SHORTEST_WAIT`],
//! * waits that are nearly the same from the first refusal to the last: full jitter below a constant bound draws them that alike with
//!   the probability of [`Waits::is_even`], and policies whose bound grows draw them alike less often,
//! * [`FALLING_WAITS`] waits, each of them shorter than the one before.
//!
//! The last two show when the refusals end: with a floor, the waits begin to grow late. The table of policies in the tests says how often
//! each is accused. If a client waits as long as `Retry-After` says, the rest of the wait is its own choice, and constant for many clients.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

use super::knowing::{Key, Sender};
use super::{Clients, Memory, described, waiting};
use crate::history::Entry;
use crate::rules::{Judgement, Rule};
use crate::sentence::{Sentence, sentence};
use crate::tolerance::Tolerance;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[Rule::of_clients("client.backoff", backoff)];

/// The number of waits in a row below [`Tolerance::SHORTEST_WAIT`] that is a failure of a single task. With full jitter, a base of 50 ms and
/// a factor of 1.2, one run in a million has as many.
const SHORT_WAITS: usize = 13;

/// The number of waits in a row below [`Tolerance::SHORTEST_WAIT`] that is a failure of several tasks. Twenty tasks that back off over one
/// connection send as many as seventy requests before the pauses between them grow.
const SHORT_WAITS_OF_TASKS: usize = 100;

/// The number of waits, each of them shorter than the one before, that is a failure. One order in 9! is this one.
const FALLING_WAITS: usize = 9;

/// The least number of waits that may be too even. A floor below the waits makes four alike in documented examples.
const EVEN_WAITS: usize = 5;

/// The number of waits of a run that are compared with each other.
const MOST_WAITS: usize = 100;

/// The largest difference between waits that are meant to be the same, as a part of them and in seconds.
const ALIKE: (f64, f64) = (0.02, 0.01);

/// The largest difference between waits that are alike for another reason than a cap, as a part of the longest.
const NEARLY_CONSTANT: f64 = 0.1;

/// The part of the first wait that the time before the first refusal may be if the client adapts its pace: it waits after each response, and
/// an admitted request makes the wait a little shorter. A longer time is the same pause after each response.
const ADAPTED: Range<f64> = 0.25..0.95;

/// The probability below which even waits are a failure.
const UNLIKELY: f64 = 1e-5;

/// The number of refusals in a row on one of several connections, without waits between them, and the least time that they take. No
/// number of tasks that back off sends so many requests.
const STORM: (usize, SignedDuration) = (200, SignedDuration::from_secs(2));

/// The number of exchanges from which on a part of a recording may have been cut while clients were waiting.
const CUT: usize = 1_000;

/// The number of connections of a key whose refusals are remembered.
const MOST_CONNECTIONS: usize = 1_000;

/// The waits of clients over the refusals of each key.
#[derive(Clone, Debug, Default)]
pub(super) struct Backoff(HashMap<Key, Refusals>);

/// The latest refusals of a key.
#[derive(Clone, Debug, Default)]
struct Refusals {
    /// The requests with the key, whatever their connections are.
    all: Track,
    /// The requests on each connection.
    of_connections: BTreeMap<u64, Track>,
    /// The time at which the first refusal was received.
    first: Option<Timestamp>,
    /// Whether the waits of an earlier run grew: then the client backs off.
    grew: bool,
    /// Whether a run was accused. The runs of connections, which are parts of the whole, are not accused as well.
    is_accused: bool,
    /// The number of refusals in a row after which the client waited as `Retry-After` says.
    obeyed: usize,
    storms: HashMap<u64, Storm>,
}

/// Requests that may come from one task.
#[derive(Clone, Debug, Default)]
struct Track {
    /// The latest exchange and what it means for the next request; none before the first.
    last: Option<(Sender, Last)>,
    /// The present run of refusals.
    run: Option<Run>,
}

/// The time between the latest exchange of a task and its next request, in seconds.
#[derive(Clone, Copy, Debug)]
enum Time {
    /// After a response after which the client does not send the request again.
    Lead(f64),
    /// After a refusal, if the client waited as long as it was told: only a part of the wait is its own choice.
    Heeded,
    /// After a refusal.
    Chosen(f64),
    Unknown,
}

/// The meaning of an exchange for the next request of the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Last {
    /// A response after which a client does not send the request again.
    Final,
    /// A refusal, and what its `Retry-After` says.
    Refused(Told),
    /// No response, or one after which the request may be sent again.
    Other,
}

/// The wait that a `Retry-After` asks for, and the error of its measurement; none if there was none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Told {
    wait: SignedDuration,
    slack: SignedDuration,
}

/// Refusals in a row.
#[derive(Clone, Debug, Default)]
struct Run {
    waits: Waits,
    /// The time in seconds between the last response and the first refused request, if the run is known to begin with the first refusal.
    /// Before a recording begins, or after other failures, a client may have come to its cap: then even or falling waits show nothing.
    lead: Option<f64>,
    senders: Vec<Sender>,
    is_accused: bool,
}

/// Refusals in a row on one connection, without waits between them.
#[derive(Clone, Copy, Debug)]
struct Storm {
    first: Sender,
    last: Sender,
    count: usize,
}

/// The judged waits of a run, in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// The first of the waits.
    compared: Vec<f64>,
    most: f64,
    count: usize,
    /// The number of latest waits in a row below [`Tolerance::SHORTEST_WAIT`].
    short: usize,
}

/// A pattern of waits that lawful policies hardly ever produce.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unlikely {
    Even,
    Falling,
}

impl Waits {
    fn add(&mut self, wait: f64) {
        if self.compared.len() < MOST_WAITS {
            self.compared.push(wait);
        }
        self.most = self.most.max(wait);
        self.count += 1;
        self.short = if wait < shortest() { self.short + 1 } else { 0 };
    }

    fn first(&self) -> f64 {
        self.compared.first().copied().unwrap_or_default()
    }

    fn least(&self) -> f64 {
        self.compared.iter().copied().fold(self.most, f64::min)
    }

    /// The unlikely pattern of all waits, if they have one.
    fn unlikely(&self) -> Option<Unlikely> {
        let falls = self.compared.windows(2).take_while(|pair| pair[1] < pair[0]).count() + 1 >= FALLING_WAITS;
        if self.most >= shortest() && self.is_even() {
            Some(Unlikely::Even)
        } else {
            (falls && self.most <= self.first() && self.first() >= shortest()).then_some(Unlikely::Falling)
        }
    }

    /// Returns true if the waits are more alike than any jitter makes them. Waits that are drawn evenly between a half and the
    /// whole of a bound, as equal jitter does, lie this close together with a probability below [`UNLIKELY`]. A cap makes waits
    /// the same, so only the others count, if there are others. Waits that are all longer than the first grew, if only to a cap.
    fn is_even(&self) -> bool {
        let (first, most) = (self.first(), self.most);
        let later = self.compared.iter().skip(1).copied().fold(f64::INFINITY, f64::min);
        if self.count < EVEN_WAITS || later > first && !are_alike(first, later) {
            return false;
        }
        let varied = self.compared.iter().filter(|wait| !are_alike(**wait, most)).count();
        let spread = (most - self.least()) / most;
        // Two waits may be alike by chance.
        let is_capped = spread > NEARLY_CONSTANT && self.compared.len() - varied > 2;
        let others = if is_capped { varied } else { self.compared.len() - 1 };
        (2.25 * spread).powi(i32::try_from(others).unwrap_or(i32::MAX)) < UNLIKELY
    }

    /// Returns true if a later wait is clearly longer than the first.
    fn grow(&self) -> bool {
        self.most > 1.5 * self.first().max(shortest())
    }
}

fn shortest() -> f64 {
    Tolerance::SHORTEST_WAIT.duration().as_secs_f64()
}

/// Returns true if two waits may be meant to be the same.
fn are_alike(wait: f64, longest: f64) -> bool {
    (longest - wait).abs() <= (longest * ALIKE.0).max(ALIKE.1)
}

fn backoff(clients: &Clients<'_>, memory: &mut Memory, judgement: &mut Judgement) {
    let mut seen = BTreeSet::new();
    for (entry, sender) in clients.exchanges() {
        let Some(key) = sender.key else { continue };
        let refusals = memory.backoff.0.entry(key).or_default();
        refusals.see(clients, entry, sender, judgement);
        seen.insert(key);
    }
    for key in seen {
        memory.backoff.0.entry(key).or_default().pause(clients, judgement);
    }
    if judgement.judged == 0 {
        let unseen = "no client received six 429 responses in a row to requests that it sent one after the other, with waits that it \
                      chose itself between them";
        judgement.unseen = Some(unseen.to_owned());
    }
}

impl Refusals {
    fn see<'h>(&mut self, clients: &Clients<'h>, entry: &'h Entry<'h>, sender: &Sender, judgement: &mut Judgement) {
        self.see_storm(clients, entry, sender, judgement);
        let time = self.all.time_before(sender, is_same_task);
        self.obeyed = match time {
            Time::Heeded if entry.status() == Some(429) => self.obeyed + 1,
            _ => 0,
        };
        if self.obeyed == 2 {
            judgement.hold();
        }
        if let Some(mut run) = self.all.add(entry, sender, time)
            && self.end(&mut run, last_of(entry), clients, judgement)
            && !run.is_accused
        {
            judgement.hold();
        }
        if let Some(run) = &mut self.all.run {
            // A queue has further requests.
            let is_repetition = run.senders.windows(2).all(|pair| pair[0].is_followed_alone_by(&pair[1]));
            let is_single_task = is_repetition || run.senders.first().is_some_and(Sender::is_of_single_task);
            if run.waits.short >= if is_single_task { SHORT_WAITS } else { SHORT_WAITS_OF_TASKS } {
                run.accuse(clients, entry, sentence!("the last {} without a wait", run.waits.short), judgement);
            }
        }
        self.see_connection(clients, entry, sender, judgement);
    }

    /// Notes an exchange on a connection. Each of several may be that of a task. A pool gives it to other tasks as well, which have other
    /// waits, so that the waits on a connection are alike only if those of all tasks are.
    fn see_connection<'h>(
        &mut self,
        clients: &Clients<'h>,
        entry: &'h Entry<'h>,
        sender: &Sender,
        judgement: &mut Judgement,
    ) {
        if entry.status() == Some(429) {
            self.first.get_or_insert(sender.received_at);
        }
        // Tasks that were refused before may have come to their caps.
        let slack = Tolerance::CLIENT_SLACK.duration();
        let is_first_round = self.first.is_none_or(|first| sender.sent_at <= first + slack);
        let Some(carrier) = sender.carrier else { return };
        if self.of_connections.len() >= MOST_CONNECTIONS {
            self.of_connections.clear();
        }
        let track = self.of_connections.entry(carrier.connection).or_default();
        let time = match track.time_before(sender, |last, sender| !last.gap_to(sender).is_negative()) {
            Time::Lead(_) if !is_first_round => Time::Unknown,
            // Another task may have taken the connection.
            Time::Chosen(wait) if wait < Tolerance::HANDOVER.duration().as_secs_f64() => Time::Unknown,
            time => time,
        };
        if let Some(mut run) = track.add(entry, sender, time).filter(|_| !self.is_accused) {
            self.end(&mut run, last_of(entry), clients, judgement);
        }
    }

    /// Judges a run of refusals that has ended with a response. Returns true if its waits grew. The client may go on with its waits after
    /// another refusal or a failure.
    fn end(&mut self, run: &mut Run, last: Last, clients: &Clients<'_>, judgement: &mut Judgement) -> bool {
        let grew = run.lead.is_some() && run.waits.grow();
        self.grew |= grew;
        if !self.grew && last == Last::Final {
            run.accuse_if_unlikely(clients, judgement);
            self.is_accused |= run.is_accused;
        }
        grew
    }

    /// Judges the runs that end with a part of a recording: the client has given up, or the recording ends. A part that is so long that it may
    /// have been cut ends no run whose next wait may not be over yet.
    fn pause(&mut self, clients: &Clients<'_>, judgement: &mut Judgement) {
        let end =
            clients.exchanges().last().map(|(_, last)| last.sent_at).filter(|_| clients.exchanges().count() >= CUT);
        let tracks = std::iter::once(&mut self.all).chain(self.of_connections.values_mut());
        for run in tracks.filter_map(|track| track.run.as_mut()) {
            let is_over = end.is_none_or(|end| run.is_over_at(end));
            if is_over && !self.grew && !self.is_accused {
                run.accuse_if_unlikely(clients, judgement);
                self.is_accused = run.is_accused;
            }
        }
    }

    /// Notes an exchange of a client with several connections. A connection that goes on for long without a wait is a failure.
    fn see_storm(&mut self, clients: &Clients<'_>, entry: &Entry<'_>, sender: &Sender, judgement: &mut Judgement) {
        let Some(carrier) = sender.carrier.filter(|carrier| carrier.others > 0) else { return };
        if !matches!(last_of(entry), Last::Refused(told) if !told.wait.is_positive()) {
            self.storms.remove(&carrier.connection);
            return;
        }
        let new_storm = Storm { first: *sender, last: *sender, count: 0 };
        let storm = self.storms.entry(carrier.connection).or_insert(new_storm);
        let shortest = Tolerance::SHORTEST_WAIT.duration();
        if sender.sent_at.duration_since(storm.last.received_at) >= shortest {
            *storm = new_storm;
        }
        (storm.last, storm.count) = (*sender, storm.count + 1);
        if storm.count >= STORM.0 && sender.sent_at.duration_since(storm.first.received_at) >= STORM.1 {
            judgement.fail(
                &clients.evidence(entry, &[&storm.first]),
                "waits that grow from one refusal to the next",
                sentence!(
                    "{} refusals in a row on one connection, without a wait, the last to {}",
                    storm.count,
                    described(entry)
                ),
            );
            self.storms.remove(&carrier.connection);
        }
    }
}

/// Returns true if the sender of a request is the task that received the latest response: both belong to one turn, no other
/// connection was open, or the connection is the same and no other task had been waiting for it.
fn is_same_task(last: &Sender, sender: &Sender) -> bool {
    let waited = last.gap_to(sender);
    let is_alone = last.is_alone() && sender.is_alone() || last.is_in_turn_with(sender);
    let is_unhurried = last.shares_connection(sender) && waited >= Tolerance::HANDOVER.duration();
    !waited.is_negative() && (is_alone || is_unhurried)
}

fn last_of(entry: &Entry<'_>) -> Last {
    match entry.status() {
        // The wait that the refusal dictates is unknown.
        Some(429) if entry.exchange.known.withheld.contains(Fact::ResponseHeaders) => Last::Other,
        Some(429) => Last::Refused(Told {
            wait: waiting::waits_until(entry)
                .map_or(SignedDuration::ZERO, |end| end.duration_since(entry.exchange.received_at)),
            slack: waiting::retry_after_of(entry).map_or(SignedDuration::ZERO, waiting::repeated_slack),
        }),
        Some(200..=407 | 409..=428 | 430..=499) => Last::Final,
        _ => Last::Other,
    }
}

impl Track {
    fn time_before(&self, sender: &Sender, is_same_task: fn(&Sender, &Sender) -> bool) -> Time {
        let Some((last, meaning)) = self.last.as_ref().filter(|(last, _)| is_same_task(last, sender)) else {
            return Time::Unknown;
        };
        let waited = sender.sent_at.duration_since(last.received_at);
        match meaning {
            Last::Final => Time::Lead(waited.as_secs_f64()),
            Last::Refused(told) if told.wait.is_positive() && waited + told.slack >= told.wait => Time::Heeded,
            Last::Refused(_) => Time::Chosen(waited.as_secs_f64()),
            Last::Other => Time::Unknown,
        }
    }

    /// Adds an exchange after this time. Returns the run of refusals that has ended before it, if any.
    fn add(&mut self, entry: &Entry<'_>, sender: &Sender, time: Time) -> Option<Run> {
        let is_refused = entry.status() == Some(429);
        self.last = Some((*sender, last_of(entry)));
        if let (true, Time::Chosen(wait), Some(run)) = (is_refused, time, &mut self.run) {
            run.waits.add(wait);
            run.senders.push(*sender);
            if run.senders.len() > 2 * SHORT_WAITS {
                run.senders.drain(1..SHORT_WAITS);
            }
            return None;
        }
        let lead = if let Time::Lead(lead) = time { Some(lead) } else { None };
        let new_run = is_refused.then(|| Run { senders: vec![*sender], lead, ..Run::default() });
        std::mem::replace(&mut self.run, new_run)
    }
}

impl Run {
    /// Accuses the client of the waits of this run if no lawful policy produces them.
    fn accuse_if_unlikely(&mut self, clients: &Clients<'_>, judgement: &mut Judgement) {
        let Waits { most, .. } = self.waits;
        let (first, least) = (self.waits.first(), self.waits.least());
        let is_conclusive = self.lead.is_some_and(|lead| !ADAPTED.contains(&(lead / first)));
        let Some(unlikely) = self.waits.unlikely().filter(|_| is_conclusive) else { return };
        let waits = match unlikely {
            Unlikely::Even => {
                sentence!("with waits of {} to {} s between them", format!("{least:.2}"), format!("{most:.2}"))
            }
            Unlikely::Falling => sentence!("with waits that fall from {} s", format!("{first:.2}")),
        };
        // A run that ended in an earlier part was judged there.
        if let Some(entry) = self.senders.last().and_then(|last| clients.entry_of(last)) {
            self.accuse(clients, entry, waits, judgement);
        }
    }

    /// Returns true if the client would have sent its next request long before this time.
    fn is_over_at(&self, end: Timestamp) -> bool {
        let passed = self.senders.last().map(|last| end.duration_since(last.received_at).as_secs_f64());
        passed.is_some_and(|passed| passed > 3.0 * self.waits.most)
    }

    fn accuse<'h>(&mut self, clients: &Clients<'h>, entry: &'h Entry<'h>, waits: Sentence, judgement: &mut Judgement) {
        if std::mem::replace(&mut self.is_accused, true) {
            return;
        }
        let latest: Vec<&Sender> = self.senders.iter().rev().skip(1).take(5).rev().collect();
        judgement.fail(
            &clients.evidence(entry, &latest),
            "waits that grow from one refusal to the next",
            sentence!("{} refusals in a row, {}, the last to {}", self.waits.count + 1, waits, described(entry)),
        );
    }
}

#[cfg(test)]
mod tests;
