//! A trace prepared for judging: every exchange with the classification of its request, and the facts that follow from several exchanges.
//!
//! A history is built once per judgement, so that no rule parses anything again and all rules see the same facts.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::catalogue::figures::REMOVAL;
use crate::request::{self, CreateBody, Draft, Existence, Expectation, Operation, PetId};
use crate::tolerance::Tolerance;
use crate::trace::knowledge::{Extent, Fact};
use crate::trace::{Context, Trace};

mod acceptance;
pub(crate) mod bans;
mod changes;
mod clock;
mod entry;
mod sightings;

pub use acceptance::{Acceptance, Access, AccessEnd};
use entry::Body;
pub(crate) use entry::answered;
pub use entry::{Animal, Entry};

/// A `POST /pets` that was answered with 201 and an id.
#[derive(Debug)]
pub struct Creation {
    /// Index of its entry.
    pub entry: usize,
    /// The id that the service assigned.
    pub id: i64,
    /// The members of the request body.
    pub sent: Draft,
}

/// The time of an exchange relative to the removal of `GET /pets/{petId}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    /// Before 5 December 2030.
    Before,
    /// On that day, or at an unknown time: the operation may be there or removed.
    OnTheDay,
    /// After 5 December 2030.
    After,
}

/// A trace with its requests classified, its responses parsed and its animals followed.
#[derive(Debug)]
pub struct History<'t> {
    /// The facts about the target that do not come from the exchanges.
    pub context: &'t Context,
    /// Every exchange, in the order of sending.
    pub entries: Vec<Entry<'t>>,
    /// Every creation that was answered with 201 and an id.
    pub creations: Vec<Creation>,
    /// The index in `creations` of the first creation with each id.
    created: HashMap<i64, usize>,
    /// The responses that show each animal.
    sightings: sightings::Sightings,
    /// Whether the keys may belong to customers with a catalogue each: no response to one of them shows an animal that was created with
    /// another or, where none was created, any animal of another. All catalogues may have had the same animals at first.
    are_catalogues_apart: bool,
    /// For each entry, the time by which it and all entries before it had been answered.
    answered_by: Vec<Timestamp>,
    /// The longest time for which a read may lag behind a write.
    lag: SignedDuration,
    /// The acceptance of each key over time, and the end of the access to the service.
    pub access: Access,
    /// Whether the status of an animal of other clients was seen to change. Then the status of every such animal is uncertain between
    /// two reads.
    pub others_change: bool,
    /// The responses that show a changed status of an animal of this run.
    changes: changes::Changes,
    /// The ids that a sample shows in the responses to several creations.
    recreated: HashSet<i64>,
}

impl<'t> History<'t> {
    /// Reads a trace, with the bodies of its responses.
    pub fn new(trace: &'t Trace) -> History<'t> {
        History::read(trace, Body::Parsed)
    }

    /// Reads a trace without parsing bodies, so that the history shows no animals. Facts about rate limits need no more, and are asked for
    /// again and again during a run.
    pub fn without_bodies(trace: &'t Trace) -> History<'t> {
        History::read(trace, Body::Ignored)
    }

    fn read(trace: &'t Trace, body: Body) -> History<'t> {
        let mut names = HashSet::new();
        let entries = trace.exchanges.iter().map(|exchange| Entry::read(exchange, &trace.context, &mut names, body));
        History::of(&trace.context, entries.collect())
    }

    /// Reads a trace as if every created animal had to be visible at once. A read that fails only by this history should be repeated.
    pub fn impatient(trace: &'t Trace) -> History<'t> {
        History { lag: SignedDuration::ZERO, ..History::new(trace) }
    }

    /// Builds a history from entries in the order of sending.
    fn of(context: &'t Context, mut entries: Vec<Entry<'t>>) -> History<'t> {
        clock::settle(&mut entries);
        let doubts_category = context.extent == Extent::Run && !knows_category(context, &entries);
        for entry in &mut entries {
            if let Operation::Create(body) = &mut entry.operation
                && doubts_category
            {
                body.doubt_category(context.category_id);
            }
            let is_fetch = matches!(entry.operation, Operation::Get(_));
            entry.may_be_removed = is_fetch && era(context, entry) != Era::Before;
        }
        let (creations, created) = creations_in(&entries);
        let sightings = sightings::of(&entries);
        let key_of = |(entry, _): &(usize, usize)| entries[*entry].key();
        let mut telling = sightings.iter().filter(|(id, _)| created.is_empty() || created.contains_key(id));
        let are_catalogues_apart = context.keys.len() > 1
            && telling.all(|(_, places)| places.iter().all(|place| key_of(place) == key_of(&places[0])));
        let mut access = Access::default();
        if context.extent < Extent::Complete {
            bans::withhold(&mut entries);
        } else {
            bans::mark(&mut entries, context.keys.len());
            access = Access::of(&entries, context.keys.len());
            access.mark(&mut entries);
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
            created,
            sightings,
            are_catalogues_apart,
            lag: Tolerance::READ_LAG.duration(),
            access,
            others_change: false,
            changes: changes::Changes::default(),
            recreated: HashSet::new(),
        };
        if history.is_sample() {
            let mut created = HashSet::new();
            let again = history.creations.iter().map(|creation| creation.id).filter(|id| !created.insert(*id));
            history.recreated = again.collect();
        }
        let mut statuses: HashMap<i64, Option<&str>> = HashMap::new();
        history.others_change = history.entries.iter().flat_map(Entry::animals).any(|animal| {
            let Some(id) = animal.id().filter(|id| !history.is_own(*id)) else { return false };
            *statuses.entry(id).or_insert(animal.status()) != animal.status()
        });
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
    pub fn creation(&self, id: i64) -> Option<&Creation> {
        self.created.get(&id).map(|at| &self.creations[*at])
    }

    /// Returns true if a read must show the animal: this run created it longer ago than reads may lag. Each replica may lag
    /// separately, so an earlier read that shows the animal proves nothing. An animal of other clients may disappear, so it must be shown
    /// only between two responses that show it alike. Customers may have a catalogue each.
    pub fn is_settled(&self, id: i64, entry: &Entry<'_>) -> bool {
        let Some((first, animal)) = self.known(id, entry) else { return false };
        if self.are_catalogues_apart && first.key() != entry.key() {
            return false;
        }
        // In recorded traffic, where other clients may have replaced the animal meanwhile, all its members must be the same.
        let is_alike = |later: Animal<'_>| {
            later.status() == animal.status()
                && (self.is_run() || later.name() == animal.name() && later.category_id() == animal.category_id())
        };
        let settled = entry.time_since(first) >= self.lag;
        settled && (self.is_made_by(first) || self.is_seen_after(id, entry, is_alike))
    }

    /// Returns true if the first response that shows an animal is that to a creation by the judge, so that no other client knows the
    /// animal. In recorded traffic other clients may change any animal.
    pub fn is_made_by(&self, first: &Entry<'_>) -> bool {
        self.is_run() && matches!(first.operation, Operation::Create(_))
    }

    /// Returns true if the judge chose every request of the trace.
    pub fn is_run(&self) -> bool {
        self.context.extent == Extent::Run
    }

    /// Returns true if requests that were sent with the keys of the trace may be missing from it.
    pub fn is_sample(&self) -> bool {
        self.context.extent < Extent::Complete
    }

    /// The lawful answers to a request, given everything that the trace shows.
    pub fn expectation(&self, entry: &Entry<'_>) -> Expectation {
        let mut expectation = Expectation::of(&entry.operation, entry.credential);
        if let Operation::Get(PetId::Int64(id)) = entry.operation {
            // The evidence of the other responses that the requested animal exists.
            let existence = if self.is_settled(id, entry) {
                Existence::Certain
            } else if self.is_shown_elsewhere(id, entry) {
                Existence::Possible
            } else {
                Existence::Unknown
            };
            expectation = expectation.given(id, existence);
        }
        if request::may_be_refused_at_edge(&entry.exchange.request) {
            expectation = expectation.or_refused_at_edge();
        }
        if entry.may_be_removed { expectation.or_removed() } else { expectation }
    }

    /// Returns true if this run created the animal with this id.
    pub fn is_own(&self, id: i64) -> bool {
        self.is_run() && self.creation(id).is_some()
    }

    /// The time of an exchange relative to the removal of `GET /pets/{petId}`.
    pub fn era(&self, entry: &Entry<'_>) -> Era {
        era(self.context, entry)
    }

    /// The number of requests of this run, with any credential, that a server may have counted between two responses. The request of the
    /// second response is among them.
    pub fn sent_between(&self, before: &Entry<'_>, after: &Entry<'_>) -> u64 {
        let (sent_at, answered_at) = (before.exchange.sent_at, after.exchange.received_at);
        let earlier = self.entries.iter().zip(&self.answered_by).take(index_of(before)).rev();
        let may_be_open = earlier.take_while(|(_, answered_by)| **answered_by > sent_at);
        let under_way = may_be_open.filter(|(other, _)| other.exchange.received_at > sent_at).count();
        let later = self.entries.iter().skip(index_of(after) + 1);
        let sent_during = later.take_while(|other| other.exchange.sent_at < answered_at).count();
        (under_way + (index_of(after) - index_of(before)) + sent_during) as u64
    }
}

/// Whether the service certainly knows the category of the animals that the run creates: the user says so, or a response shows it.
fn knows_category(context: &Context, entries: &[Entry<'_>]) -> bool {
    let category = Some(context.category_id);
    let created_in = |entry: &Entry<'_>| match &entry.operation {
        Operation::Create(body) if entry.succeeded() => body.draft().and_then(|draft| draft.category_id),
        _ => None,
    };
    let shows = |entry: &Entry<'_>| entry.animals().into_iter().any(|animal| animal.category_id() == category);
    context.vouches_for_category || entries.iter().any(|entry| created_in(entry) == category || shows(entry))
}

/// The creations that the entries show, and the index of the first one with each id.
fn creations_in(entries: &[Entry<'_>]) -> (Vec<Creation>, HashMap<i64, usize>) {
    let (mut creations, mut created) = (Vec::new(), HashMap::new());
    for (index, entry) in entries.iter().enumerate() {
        let Operation::Create(body) = &entry.operation else { continue };
        for id in entry.animals().into_iter().filter_map(Animal::id) {
            created.entry(id).or_insert(creations.len());
            creations.push(Creation { entry: index, id, sent: body.draft().cloned().unwrap_or_default() });
        }
    }
    (creations, created)
}

/// The time of an exchange relative to the removal of `GET /pets/{petId}`: by the response's `Date`, else by the judge's clock. Without a
/// `Date`, the time is unknown in recorded traffic, whose clock may have been wrong, and where the recording withholds it.
fn era(context: &Context, entry: &Entry<'_>) -> Era {
    let is_sample = context.extent < Extent::Complete;
    let now = match entry.server_time() {
        None if is_sample || entry.exchange.known.withheld.contains(Fact::Times) => return Era::OnTheDay,
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

/// The index of an entry in the history.
fn index_of(entry: &Entry<'_>) -> usize {
    entry.exchange.number.saturating_sub(1)
}

#[cfg(test)]
mod tests;
