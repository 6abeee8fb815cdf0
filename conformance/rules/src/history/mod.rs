//! A trace made ready for judging: every exchange with its meaning, and what the exchanges show together.
//!
//! Built once per judgement, so that no rule parses anything again and all rules see the same facts.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::request::{self, CreateBody, Credential, Draft, Existence, Expectation, Operation, PetId};
use crate::tolerance::Tolerance;
use crate::trace::exchange::{Exchange, Response};
use crate::trace::json::{Json, NotJson};
use crate::trace::rate_limit::{self, RateHeaders};
use crate::trace::{Context, Trace};

pub(crate) mod bans;

/// One exchange and what it means.
#[derive(Debug)]
pub struct Entry<'t> {
    /// The exchange.
    pub exchange: &'t Exchange,
    /// What was asked for.
    pub operation: Operation,
    /// With which credential.
    pub credential: Credential,
    /// The body of the response read as JSON, when there is a response with a body.
    pub json: Option<Result<Json, NotJson>>,
    /// The rate-limit headers of the response, when there is one.
    pub rate: Option<RateHeaders>,
    /// The server's time when it answered: its `Date`.
    date: Option<Timestamp>,
}

/// What is made of the bodies of responses.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Body {
    Parsed,
    Ignored,
}

impl<'t> Entry<'t> {
    /// Reads an exchange. `names` are those of earlier creations, and gain that of this one.
    fn read(exchange: &'t Exchange, context: &Context, names: &mut HashSet<String>, body: Body) -> Entry<'t> {
        let operation = match body {
            // Unread, it may be anything. Bodies may be long, and are read each time that the limits are asked about.
            Body::Ignored if exchange.request.method == "POST" && exchange.request.path == "/pets" => {
                Operation::Create(CreateBody::Unclear)
            }
            _ => request::operation(&exchange.request, context, names),
        };
        if let Operation::Create(body) = &operation {
            names.extend(body.draft().and_then(|draft| draft.name.clone()));
        }
        let credential = request::credential(&exchange.request, context);
        Entry::answered(exchange, operation, credential, body)
    }

    fn answered(exchange: &'t Exchange, operation: Operation, credential: Credential, body: Body) -> Entry<'t> {
        let response = exchange.response();
        Entry {
            exchange,
            operation,
            credential,
            json: response
                .filter(|response| body == Body::Parsed && !response.body.is_empty())
                .map(|response| Json::parse_foreign(&response.body)),
            rate: response.map(rate_limit::read),
            date: response.and_then(Response::date),
        }
    }

    /// The same request with another outcome.
    #[must_use]
    pub fn with_outcome_of(&self, exchange: &'t Exchange) -> Entry<'t> {
        Entry::answered(exchange, self.operation.clone(), self.credential, Body::Parsed)
    }

    /// The response, if any.
    #[must_use]
    pub fn response(&self) -> Option<&'t Response> {
        self.exchange.response()
    }

    /// The status, if there is a response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.exchange.status()
    }

    /// Whether it was answered with a 2xx status.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        matches!(self.status(), Some(200..=299))
    }

    /// The body, if it is JSON.
    #[must_use]
    pub fn value(&self) -> Option<&Json> {
        self.json.as_ref().and_then(|json| json.as_ref().ok())
    }

    /// The server's time when it answered: its `Date`.
    #[must_use]
    pub fn server_time(&self) -> Option<Timestamp> {
        self.date
    }

    /// The server's time when it answered, or where it is unknown the judge's.
    #[must_use]
    pub fn answered_at(&self) -> Timestamp {
        self.date.unwrap_or(self.exchange.received_at)
    }

    /// Whether a request with a valid key was refused for the rate.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.status() == Some(429) && self.key().is_some()
    }

    /// Whether the whole exchange lies before the sending of another: then the server dealt with it first. None precedes itself,
    /// even if it took no time by a coarse clock.
    #[must_use]
    pub fn precedes(&self, other: &Entry<'_>) -> bool {
        self.exchange.number < other.exchange.number && self.exchange.received_at <= other.exchange.sent_at
    }

    /// The key's index, when the request came with a valid key in the described form.
    #[must_use]
    pub fn key(&self) -> Option<usize> {
        match self.credential {
            Credential::Valid(key) => Some(key),
            Credential::Ambiguous | Credential::Banned | Credential::Invalid(_) => None,
        }
    }

    /// The animals that the response shows, wherever they are well enough formed to be distinguished.
    #[must_use]
    pub fn animals(&self) -> Vec<Animal<'_>> {
        match (&self.operation, self.status(), self.value()) {
            (Operation::List(_), Some(200), Some(Json::Array(items))) => items.iter().map(Animal).collect(),
            (Operation::Create(_), Some(201), Some(pet)) | (Operation::Get(_), Some(200), Some(pet)) => {
                vec![Animal(pet)]
            }
            _ => Vec::new(),
        }
    }
}

/// An animal in a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Animal<'c>(pub &'c Json);

impl<'c> Animal<'c> {
    /// `id`, if an int64.
    #[must_use]
    pub fn id(self) -> Option<i64> {
        self.0.get("id").and_then(Json::as_int64)
    }

    /// `name`, if a string.
    #[must_use]
    pub fn name(self) -> Option<&'c str> {
        self.0.get("name").and_then(Json::as_str)
    }

    /// `categoryId`, if an int64.
    #[must_use]
    pub fn category_id(self) -> Option<i64> {
        self.0.get("categoryId").and_then(Json::as_int64)
    }

    /// `status`, if a string.
    #[must_use]
    pub fn status(self) -> Option<&'c str> {
        self.0.get("status").and_then(Json::as_str)
    }
}

/// A creation that was answered with 201 and an id.
#[derive(Debug)]
pub struct Creation {
    /// Index of the case.
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
    /// On that day: both are right.
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
    /// For every id: the entries that show it, in order.
    pub sightings: HashMap<i64, Vec<usize>>,
    /// How long reads may lag.
    lag: SignedDuration,
    /// Whether the status of an animal that somebody else created was seen to change. Then none of theirs is certain between two
    /// looks.
    pub others_change: bool,
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

    /// Puts cases together.
    #[must_use]
    pub fn of(context: &'t Context, mut entries: Vec<Entry<'t>>) -> History<'t> {
        let mut creations = Vec::new();
        let mut sightings: HashMap<i64, Vec<usize>> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            for animal in entry.animals() {
                let Some(id) = animal.id() else { continue };
                let seen = sightings.entry(id).or_default();
                if seen.last() != Some(&index) {
                    seen.push(index);
                }
                if let Operation::Create(body) = &entry.operation {
                    creations.push(Creation { entry: index, id, sent: body.draft().cloned().unwrap_or_default() });
                }
            }
        }
        bans::mark(&mut entries, context.keys.len());
        let mut history = History {
            context,
            entries,
            creations,
            sightings,
            lag: Tolerance::READ_LAG.duration(),
            others_change: false,
        };
        history.others_change = history.sees_others_change();
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

    /// What answers before `entry` show of the animal with this id: the earliest, which is its creation if the run made it.
    #[must_use]
    pub fn known(&self, id: i64, entry: &Entry<'_>) -> Option<(&Entry<'t>, Animal<'_>)> {
        let first = self.entries.get(*self.sightings.get(&id)?.first()?)?;
        if !first.precedes(entry) {
            return None;
        }
        let animal = first.animals().into_iter().find(|animal| animal.id() == Some(id))?;
        Some((first, animal))
    }

    /// The creation of the animal with this id.
    #[must_use]
    pub fn creation(&self, id: i64) -> Option<&Creation> {
        self.creations.iter().find(|creation| creation.id == id)
    }

    /// Whether a read must show the animal: this run created it longer ago than reads may lag. Replicas may lag one by one, so
    /// that an earlier read has shown it says nothing. An animal of somebody else's may go as it came: that it exists is certain
    /// only between two answers that show it alike.
    #[must_use]
    pub fn is_settled(&self, id: i64, entry: &Entry<'_>) -> bool {
        let Some((first, animal)) = self.known(id, entry) else { return false };
        let settled = entry.exchange.sent_at.duration_since(first.exchange.received_at) >= self.lag;
        let is_own = matches!(first.operation, Operation::Create(_));
        settled && (is_own || self.is_seen_after(id, entry, |later| later.status() == animal.status()))
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

    /// Whether another answer, earlier or later, shows the animal with this id.
    #[must_use]
    pub fn is_shown_elsewhere(&self, id: i64, entry: &Entry<'_>) -> bool {
        let shown = self.sightings.get(&id).map_or(&[][..], Vec::as_slice);
        shown.iter().any(|&index| !std::ptr::eq(&raw const self.entries[index], entry))
    }

    /// Whether a request that failed was under way at the same time: what it used up may be given back afterwards.
    #[must_use]
    pub fn is_beside_a_failure(&self, entry: &Entry<'_>) -> bool {
        let (before, rest) = self.entries.split_at(entry.exchange.number.saturating_sub(1).min(self.entries.len()));
        let earlier = before.iter().rev().take_while(|other| !other.precedes(entry));
        let later = rest.iter().skip(1).take_while(|other| !entry.precedes(other));
        earlier.chain(later).any(|other| other.key() == entry.key() && !other.succeeded())
    }

    /// Whether this run created the animal.
    #[must_use]
    pub fn is_own(&self, id: i64) -> bool {
        self.creation(id).is_some()
    }

    fn sees_others_change(&self) -> bool {
        let own: HashSet<i64> = self.creations.iter().map(|creation| creation.id).collect();
        let mut statuses: HashMap<i64, Option<&str>> = HashMap::new();
        self.entries.iter().flat_map(Entry::animals).any(|animal| {
            let Some(id) = animal.id().filter(|id| !own.contains(id)) else { return false };
            *statuses.entry(id).or_insert(animal.status()) != animal.status()
        })
    }

    /// Whether an answer to a later request shows the animal like this.
    #[must_use]
    pub fn is_seen_after(&self, id: i64, entry: &Entry<'_>, like: impl Fn(Animal<'_>) -> bool) -> bool {
        let later = self.sightings.get(&id).into_iter().flatten().rev().map(|&index| &self.entries[index]);
        later
            .take_while(|later| entry.precedes(later))
            .any(|later| later.animals().into_iter().any(|animal| animal.id() == Some(id) && like(animal)))
    }

    /// Where an exchange stands in the life of `GET /pets/{petId}`: by the assumed date, else by the response's `Date`,
    /// else by the judge's clock. An assumed date means that the day of removal has come.
    #[must_use]
    pub fn era(&self, entry: &Entry<'_>) -> Era {
        /// 2030-12-05T00:00:00Z
        const REMOVAL: Timestamp = Timestamp::constant(1_922_659_200, 0);
        if let Some(assumed) = self.context.assumed_date {
            return if assumed < REMOVAL { Era::Before } else { Era::After };
        }
        let now = entry.server_time().unwrap_or(entry.exchange.received_at);
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
        let at = |entry: &Entry<'_>| entry.exchange.number.saturating_sub(1);
        let entries = |range| self.entries.get::<std::ops::Range<usize>>(range).unwrap_or_default().iter();
        let earlier = entries(0..at(before)).rev().take_while(|other| !other.precedes(before)).count();
        let later = entries(at(after) + 1..self.entries.len()).take_while(|other| !after.precedes(other)).count();
        (earlier + (at(after) - at(before)) + later) as u64
    }
}

#[cfg(test)]
mod tests;
