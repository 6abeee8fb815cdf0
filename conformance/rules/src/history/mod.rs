//! A trace prepared for judging: every exchange with the classification of its request, and what the exchanges show together.
//!
//! Built once per judgement, so that no rule parses anything again and all rules see the same facts.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::catalogue::figures::REMOVAL;
use crate::request::{self, CreateBody, Draft, Existence, Expectation, Operation, PetId};
use crate::tolerance::Tolerance;
use crate::trace::knowledge::{Extent, Fact};
use crate::trace::{Context, Trace};

pub(crate) mod bans;
mod changes;
mod clock;
mod entry;
mod sightings;

use entry::Body;
pub(crate) use entry::answered;
pub use entry::{Animal, Entry};

/// A creation that was answered with 201 and an id.
#[derive(Debug)]
pub struct Creation {
    /// Index of its entry.
    pub entry: usize,
    /// The id that the service assigned.
    pub id: i64,
    /// What was sent.
    pub sent: Draft,
}

/// Where the run stands in the life of `GET /pets/{petId}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    /// Before 5 December 2030.
    Before,
    /// On that day, or at an unknown time: both are right.
    OnTheDay,
    /// After it.
    After,
}

/// A trace made ready for judging.
#[derive(Debug)]
pub struct History<'t> {
    /// What is known beside the exchanges.
    pub context: &'t Context,
    /// Every exchange, in the order of sending.
    pub entries: Vec<Entry<'t>>,
    /// Every creation that was answered with 201 and an id.
    pub creations: Vec<Creation>,
    /// Where each animal is shown.
    sightings: sightings::Sightings,
    /// For each entry, the time by which it and all entries before it had been answered.
    answered_by: Vec<Timestamp>,
    /// How long reads may lag.
    lag: SignedDuration,
    /// Whether the status of an animal that somebody else created was seen to change. Then none of theirs is certain between two
    /// looks.
    pub others_change: bool,
    /// Where an animal of this run is seen to have changed.
    changes: changes::Changes,
}

impl<'t> History<'t> {
    /// Reads a trace.
    #[must_use]
    pub fn new(trace: &'t Trace) -> History<'t> {
        History::read(trace, Body::Parsed)
    }

    /// Reads a trace as far as facts about rate limits need it, again and again during a run: no body is parsed, so the history
    /// shows no animals.
    #[must_use]
    pub fn without_bodies(trace: &'t Trace) -> History<'t> {
        History::read(trace, Body::Ignored)
    }

    fn read(trace: &'t Trace, body: Body) -> History<'t> {
        let mut names = HashSet::new();
        let read = |exchange| Entry::read(exchange, &trace.context, &mut names, body);
        History::of(&trace.context, trace.exchanges.iter().map(read).collect())
    }

    /// Reads a trace as if what was created had to be seen at once. What that holds against a read is worth a second look.
    #[must_use]
    pub fn impatient(trace: &'t Trace) -> History<'t> {
        History { lag: SignedDuration::ZERO, ..History::new(trace) }
    }

    /// Puts entries together.
    #[must_use]
    pub fn of(context: &'t Context, mut entries: Vec<Entry<'t>>) -> History<'t> {
        clock::settle(&mut entries);
        let mut creations = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let Operation::Create(body) = &entry.operation else { continue };
            let created = entry.animals().into_iter().filter_map(Animal::id);
            let sent = || body.draft().cloned().unwrap_or_default();
            creations.extend(created.map(|id| Creation { entry: index, id, sent: sent() }));
        }
        let sightings = sightings::of(&entries);
        if context.extent < Extent::Complete {
            bans::withhold(&mut entries);
        } else {
            bans::mark(&mut entries, context.keys.len());
        }
        let received = entries.iter().map(|entry| entry.exchange.received_at);
        let answered_by = received.scan(Timestamp::MIN, |latest, at| {
            *latest = at.max(*latest);
            Some(*latest)
        });
        let mut history = History {
            answered_by: answered_by.collect(),
            context,
            entries,
            creations,
            sightings,
            lag: Tolerance::READ_LAG.duration(),
            others_change: false,
            changes: changes::Changes::default(),
        };
        history.others_change = history.sees_others_change();
        history.changes = history.find_changes();
        history
    }

    /// The entries of `GET /pets`.
    pub fn lists(&self) -> impl Iterator<Item = (&Entry<'t>, &request::ListQuery)> {
        self.entries.iter().filter_map(|entry| match &entry.operation {
            Operation::List(query) => Some((entry, query)),
            _ => None,
        })
    }

    /// The entries of `POST /pets`.
    pub fn creates(&self) -> impl Iterator<Item = (&Entry<'t>, &CreateBody)> {
        self.entries.iter().filter_map(|entry| match &entry.operation {
            Operation::Create(body) => Some((entry, body)),
            _ => None,
        })
    }

    /// The entries of `GET /pets/{petId}`.
    pub fn gets(&self) -> impl Iterator<Item = (&Entry<'t>, PetId)> {
        self.entries.iter().filter_map(|entry| match entry.operation {
            Operation::Get(id) => Some((entry, id)),
            _ => None,
        })
    }

    /// The creation of the animal with this id.
    #[must_use]
    pub fn creation(&self, id: i64) -> Option<&Creation> {
        self.creations.iter().find(|creation| creation.id == id)
    }

    /// Whether a read must show the animal: this run created it longer ago than reads may lag. Each replica may lag
    /// separately, so it does not matter whether an earlier read has shown it. An animal that others created may disappear: that it
    /// exists is certain only between two responses that show it alike.
    #[must_use]
    pub fn is_settled(&self, id: i64, entry: &Entry<'_>) -> bool {
        let Some((first, animal)) = self.known(id, entry) else { return false };
        let settled = entry.time_since(first) >= self.lag;
        settled && (self.is_made_by(first) || self.is_seen_after(id, entry, |later| self.is_alike(later, animal)))
    }

    /// Whether an animal is shown as before: with the same status, and in recorded traffic, where others may have replaced it
    /// meanwhile, with the same members.
    fn is_alike(&self, later: Animal<'_>, animal: Animal<'_>) -> bool {
        let is_same = || later.name() == animal.name() && later.category_id() == animal.category_id();
        later.status() == animal.status() && (self.is_run() || is_same())
    }

    /// Whether a response shows an animal that the judge created, so that nobody else knows it. In recorded traffic it is unknown who
    /// created an animal, and who else changes it.
    #[must_use]
    pub fn is_made_by(&self, first: &Entry<'_>) -> bool {
        self.is_run() && matches!(first.operation, Operation::Create(_))
    }

    /// Whether the judge chose every request of the trace.
    #[must_use]
    pub fn is_run(&self) -> bool {
        self.context.extent == Extent::Run
    }

    /// Whether requests may be missing from the trace that were sent with its keys.
    #[must_use]
    pub fn is_sample(&self) -> bool {
        self.context.extent < Extent::Complete
    }

    /// The lawful answers to a request, given everything that the trace shows.
    #[must_use]
    pub fn expectation(&self, entry: &Entry<'_>) -> Expectation {
        let expectation = Expectation::of(&entry.operation, entry.credential);
        let Operation::Get(id) = entry.operation else { return expectation };
        if entry.credential.is_invalid() {
            return expectation;
        }
        let expectation = match id {
            PetId::Int64(id) => expectation.given(id, self.existence(id, entry)),
            PetId::NotInt64 | PetId::Ambiguous => expectation,
        };
        if self.era(entry) == Era::Before { expectation } else { expectation.or_removed() }
    }

    /// What other answers show of the animal that a fetch asks for.
    fn existence(&self, id: i64, entry: &Entry<'_>) -> Existence {
        if self.is_settled(id, entry) {
            Existence::Certain
        } else if self.is_shown_elsewhere(id, entry) {
            Existence::Possible
        } else {
            Existence::Unknown
        }
    }

    /// Whether a failed request with the same key was under way at the same time: what that one had consumed of the limit may be
    /// restored afterwards.
    #[must_use]
    pub fn overlaps_a_failure(&self, entry: &Entry<'_>) -> bool {
        self.meanwhile(entry).any(|other| other.key() == entry.key() && !other.succeeded())
    }

    /// The other requests that were under way at the same time.
    pub fn meanwhile(&self, entry: &Entry<'_>) -> impl Iterator<Item = &Entry<'t>> {
        self.under_way_at(entry).chain(self.sent_during(entry))
    }

    /// The requests that were under way when this one was sent.
    fn under_way_at(&self, entry: &Entry<'_>) -> impl Iterator<Item = &Entry<'t>> {
        let (sent_at, end) = (entry.exchange.sent_at, place(entry));
        let earlier = self.entries.iter().zip(&self.answered_by).take(end).rev();
        let may_be_open = earlier.take_while(move |(_, answered_by)| **answered_by > sent_at);
        may_be_open.map(|(other, _)| other).filter(move |other| other.exchange.received_at > sent_at)
    }

    /// The requests that were sent while this one was under way.
    fn sent_during(&self, entry: &Entry<'_>) -> impl Iterator<Item = &Entry<'t>> {
        let received_at = entry.exchange.received_at;
        let later = self.entries.iter().skip(place(entry) + 1);
        later.take_while(move |other| other.exchange.sent_at < received_at)
    }

    /// Whether this run created the animal.
    #[must_use]
    pub fn is_own(&self, id: i64) -> bool {
        self.is_run() && self.creation(id).is_some()
    }

    fn sees_others_change(&self) -> bool {
        let own: HashSet<i64> =
            self.creations.iter().map(|creation| creation.id).filter(|id| self.is_own(*id)).collect();
        let mut statuses: HashMap<i64, Option<&str>> = HashMap::new();
        self.entries.iter().flat_map(Entry::animals).any(|animal| {
            let Some(id) = animal.id().filter(|id| !own.contains(id)) else { return false };
            *statuses.entry(id).or_insert(animal.status()) != animal.status()
        })
    }

    /// Where an exchange stands in the life of `GET /pets/{petId}`: by the assumed date, else by the response's `Date`,
    /// else by the judge's clock. An assumed date means that the day of removal has come. Of recorded traffic without a `Date` nothing
    /// is known: neither whose clock its times are from nor whether that clock was right. Nor is it where that time is withheld.
    #[must_use]
    pub fn era(&self, entry: &Entry<'_>) -> Era {
        if let Some(assumed) = self.context.assumed_date {
            return if assumed < REMOVAL { Era::Before } else { Era::After };
        }
        let now = match entry.server_time() {
            None if self.is_sample() || entry.exchange.known.withheld.contains(Fact::Times) => return Era::OnTheDay,
            time => time.unwrap_or(entry.exchange.received_at),
        };
        if now < REMOVAL {
            Era::Before
        } else if now < REMOVAL + SignedDuration::from_hours(24) {
            Era::OnTheDay
        } else {
            Era::After
        }
    }

    /// How many of this run's requests, with whatever credential, may have been counted between two answers, the one to the second
    /// request among them.
    #[must_use]
    pub fn sent_between(&self, before: &Entry<'_>, after: &Entry<'_>) -> u64 {
        let earlier = self.under_way_at(before).count();
        let later = self.sent_during(after).count();
        (earlier + (place(after) - place(before)) + later) as u64
    }
}

/// The index of an entry.
fn place(entry: &Entry<'_>) -> usize {
    entry.exchange.number.saturating_sub(1)
}

#[cfg(test)]
mod tests;
