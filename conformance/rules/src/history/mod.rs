//! A trace made ready for judging: every exchange with its meaning, and what the exchanges together tell.
//!
//! Built once per judgement, so that no rule parses anything again and all rules see the same facts.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::catalogue::plan::Figures;
use crate::limiter::bans;
use crate::request::{self, Access, CreateBody, Draft, Operation, PetId};
use crate::trace::exchange::{Exchange, Response};
use crate::trace::json::{Json, NotJson};
use crate::trace::rate_limit::{self, RateHeaders};
use crate::trace::{Context, Trace};

/// Reads may lag a write by a moment. This is the moment: past it, what was created must be seen.
pub const READ_LAG: SignedDuration = SignedDuration::from_secs(5);

/// One exchange and what it means.
#[derive(Debug)]
pub struct Case<'t> {
    /// The exchange.
    pub exchange: &'t Exchange,
    /// What was asked for.
    pub operation: Operation,
    /// With which credential.
    pub access: Access,
    /// The body of the response read as JSON, when there is a response with a body.
    pub json: Option<Result<Json, NotJson>>,
    /// The rate-limit headers of the response, when there is one.
    pub rate: Option<RateHeaders>,
    /// The server's time when it answered: its `Date`.
    date: Option<Timestamp>,
}

impl<'t> Case<'t> {
    /// Reads an exchange. `names` are those of earlier creations, and gain that of this one.
    fn read(exchange: &'t Exchange, context: &Context, names: &mut HashSet<String>) -> Case<'t> {
        let operation = request::operation(&exchange.request, context, names);
        if let Operation::Create(body) = &operation {
            names.extend(body.draft().and_then(|draft| draft.name.clone()));
        }
        let access = request::access(&exchange.request, context);
        Case::answered(exchange, operation, access)
    }

    fn answered(exchange: &'t Exchange, operation: Operation, access: Access) -> Case<'t> {
        let response = exchange.response();
        Case {
            exchange,
            operation,
            access,
            json: response
                .filter(|response| !response.body.is_empty())
                .map(|response| Json::parse_foreign(&response.body)),
            rate: response.map(rate_limit::read),
            date: response.and_then(Response::date),
        }
    }

    /// The same request with another outcome.
    #[must_use]
    pub fn with_outcome_of(&self, exchange: &'t Exchange) -> Case<'t> {
        Case::answered(exchange, self.operation.clone(), self.access)
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

    /// The Unix time, by the server's clock, at which the request may have come: its `Date`, which tells when the answer went out,
    /// less the whole seconds that the answer took.
    #[must_use]
    pub fn came(&self) -> Option<i64> {
        let took = self.exchange.received_at.duration_since(self.exchange.sent_at).as_secs();
        Some(self.server_time()?.as_second() - took)
    }

    /// Whether the whole exchange lies before the sending of another: then the server dealt with it first.
    #[must_use]
    pub fn precedes(&self, other: &Case<'_>) -> bool {
        self.exchange.received_at <= other.exchange.sent_at
    }

    /// The key's index, when the request came with a valid key in the described form.
    #[must_use]
    pub fn key(&self) -> Option<usize> {
        match self.access {
            Access::Valid(key) => Some(key),
            Access::Debatable | Access::Banned | Access::Lacking(_) => None,
        }
    }

    /// The animals that the response shows, wherever they are well enough formed to be told apart.
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
    pub case: usize,
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
pub struct Docket<'t> {
    /// What is known beside the exchanges.
    pub context: &'t Context,
    /// Every exchange, in the order of sending.
    pub cases: Vec<Case<'t>>,
    /// Every creation that was answered with 201 and an id.
    pub creations: Vec<Creation>,
    /// For every id: the cases that show it, in order.
    pub sightings: HashMap<i64, Vec<usize>>,
    /// For every key: the figures of its plan, as far as they are known.
    figures: Vec<Option<Figures>>,
    /// How long reads may lag.
    lag: SignedDuration,
    /// Whether the status of an animal that somebody else created was seen to change. Then none of theirs is certain between two
    /// looks.
    pub others_change: bool,
}

impl<'t> Docket<'t> {
    /// Reads a trace.
    #[must_use]
    pub fn new(trace: &'t Trace) -> Docket<'t> {
        let mut names = HashSet::new();
        let read = |exchange| Case::read(exchange, &trace.context, &mut names);
        Docket::of(&trace.context, trace.exchanges.iter().map(read).collect())
    }

    /// Reads a trace as if what was created had to be seen at once. What that holds against a read is worth a second look.
    #[must_use]
    pub fn impatient(trace: &'t Trace) -> Docket<'t> {
        Docket { lag: SignedDuration::ZERO, ..Docket::new(trace) }
    }

    /// Puts cases together.
    #[must_use]
    pub fn of(context: &'t Context, mut cases: Vec<Case<'t>>) -> Docket<'t> {
        let mut creations = Vec::new();
        let mut sightings: HashMap<i64, Vec<usize>> = HashMap::new();
        for (index, case) in cases.iter().enumerate() {
            for animal in case.animals() {
                let Some(id) = animal.id() else { continue };
                let seen = sightings.entry(id).or_default();
                if seen.last() != Some(&index) {
                    seen.push(index);
                }
                if let Operation::Create(body) = &case.operation {
                    creations.push(Creation { case: index, id, sent: body.draft().cloned().unwrap_or_default() });
                }
            }
        }
        bans::mark(&mut cases, context.keys.len());
        let mut docket =
            Docket { context, cases, creations, sightings, figures: Vec::new(), lag: READ_LAG, others_change: false };
        docket.others_change = docket.sees_others_change();
        docket.figures = docket.keys().map(|key| docket.learn_figures(key)).collect();
        docket
    }

    /// The cases of `GET /pets`.
    pub fn lists(&self) -> impl Iterator<Item = (&Case<'t>, &request::ListQuery)> {
        self.cases.iter().filter_map(|case| match &case.operation {
            Operation::List(query) => Some((case, query)),
            _ => None,
        })
    }

    /// The cases of `POST /pets`.
    pub fn creates(&self) -> impl Iterator<Item = (&Case<'t>, &CreateBody)> {
        self.cases.iter().filter_map(|case| match &case.operation {
            Operation::Create(body) => Some((case, body)),
            _ => None,
        })
    }

    /// The cases of `GET /pets/{petId}`.
    pub fn gets(&self) -> impl Iterator<Item = (&Case<'t>, PetId)> {
        self.cases.iter().filter_map(|case| match case.operation {
            Operation::Get(id) => Some((case, id)),
            _ => None,
        })
    }

    /// What answers before `case` tell of the animal with this id: the earliest, which is its creation if the run made it.
    #[must_use]
    pub fn known(&self, id: i64, case: &Case<'_>) -> Option<(&Case<'t>, Animal<'_>)> {
        let first = self.cases.get(*self.sightings.get(&id)?.first()?)?;
        if !first.precedes(case) {
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
    pub fn is_settled(&self, id: i64, case: &Case<'_>) -> bool {
        let Some((first, animal)) = self.known(id, case) else { return false };
        let settled = case.exchange.sent_at.duration_since(first.exchange.received_at) >= self.lag;
        let is_own = matches!(first.operation, Operation::Create(_));
        settled && (is_own || self.is_seen_after(id, case, |later| later.status() == animal.status()))
    }

    /// Whether a request that failed was under way at the same time: what it used up may be given back afterwards.
    #[must_use]
    pub fn is_beside_a_failure(&self, case: &Case<'_>) -> bool {
        let (before, rest) = self.cases.split_at(case.exchange.number.saturating_sub(1).min(self.cases.len()));
        let earlier = before.iter().rev().take_while(|other| !other.precedes(case));
        let later = rest.iter().skip(1).take_while(|other| !case.precedes(other));
        earlier.chain(later).any(|other| other.key() == case.key() && !other.succeeded())
    }

    /// Whether this run created the animal.
    #[must_use]
    pub fn is_own(&self, id: i64) -> bool {
        self.creation(id).is_some()
    }

    fn sees_others_change(&self) -> bool {
        let own: HashSet<i64> = self.creations.iter().map(|creation| creation.id).collect();
        let mut statuses: HashMap<i64, Option<&str>> = HashMap::new();
        self.cases.iter().flat_map(Case::animals).any(|animal| {
            let Some(id) = animal.id().filter(|id| !own.contains(id)) else { return false };
            *statuses.entry(id).or_insert(animal.status()) != animal.status()
        })
    }

    /// Whether an answer to a later request shows the animal like this.
    #[must_use]
    pub fn is_seen_after(&self, id: i64, case: &Case<'_>, like: impl Fn(Animal<'_>) -> bool) -> bool {
        let later = self.sightings.get(&id).into_iter().flatten().rev().map(|&index| &self.cases[index]);
        later
            .take_while(|later| case.precedes(later))
            .any(|later| later.animals().into_iter().any(|animal| animal.id() == Some(id) && like(animal)))
    }

    /// Where an exchange stands in the life of `GET /pets/{petId}`: by the assumed date, else by the response's `Date`,
    /// else by the judge's clock. An assumed date means that the day of removal has come.
    #[must_use]
    pub fn era(&self, case: &Case<'_>) -> Era {
        let removal: Timestamp = "2030-12-05T00:00:00Z".parse().expect("a constant timestamp");
        if let Some(assumed) = self.context.assumed_date {
            return if assumed < removal { Era::Before } else { Era::After };
        }
        let now = case.server_time().unwrap_or(case.exchange.received_at);
        if now < removal {
            Era::Before
        } else if now < removal + SignedDuration::from_hours(24) {
            Era::OnTheDay
        } else {
            Era::After
        }
    }

    /// The cases of a valid key whose answers carry readable rate-limit headers, in order.
    #[must_use]
    pub fn metered(&self, key: usize) -> Vec<(&Case<'t>, rate_limit::Window)> {
        self.cases
            .iter()
            .filter(|case| case.key() == Some(key) && case.operation != Operation::Elsewhere)
            .filter_map(|case| Some((case, case.rate.as_ref()?.window()?)))
            .collect()
    }

    /// The indices of the keys in use.
    pub fn keys(&self) -> impl Iterator<Item = usize> {
        0..self.context.keys.len()
    }

    /// The figures of a key's plan: told by the user for the main key, else learnt from what the headers said.
    #[must_use]
    pub fn figures(&self, key: usize) -> Option<Figures> {
        self.figures.get(key).copied().flatten()
    }
}

#[cfg(test)]
mod tests;
