//! The lawful responses to the requests of the vectors, as the `Expectation` of the judge's rules says.

use std::collections::{BTreeMap, HashSet};

use animal_store_rules::catalogue::figures::MAX_LIMIT;
use animal_store_rules::request::{
    Ambiguity, CreateBody, Credential, Existence, Expectation, ListQuery, Operation, Parameter, Shape, credential,
    may_be_refused_at_edge, operation,
};
use animal_store_rules::trace::Context;
use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::Extent;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::{KEY, Kind, Lawful, Sent, Step, Vector};

/// A vector with the lawful responses that the rules derive from its requests. What they cannot derive stays: which exchanges show the same
/// animal, the least number of animals, and which of them a list includes and excludes.
pub(super) fn derived(vector: &Vector) -> Vector {
    let mut names = HashSet::new();
    let mut exchanges = Vec::new();
    for step in &vector.exchanges {
        let mut lawful = responses(&step.request, &names);
        for derived in &mut lawful {
            if let Some(stated) = step.lawful.iter().find(|stated| stated.body == derived.body) {
                (derived.same_as, derived.at_least) = (stated.same_as, stated.at_least);
                derived.includes.clone_from(&stated.includes);
                derived.excludes.clone_from(&stated.excludes);
            }
        }
        let body = step.request.body.as_deref().and_then(|body| serde_json::from_str::<Value>(body).ok());
        names.extend(body.and_then(|body| Some(body.get("name")?.as_str()?.to_owned())));
        exchanges.push(Step { request: step.request.clone(), lawful });
    }
    Vector { about: vector.about.clone(), exchanges }
}

/// The lawful responses to a request, where these names were sent before.
fn responses(sent: &Sent, names: &HashSet<String>) -> Vec<Lawful> {
    let request = sent.request();
    let mut context = Context::new(Extent::Run, "http://localhost/v1");
    context.keys = vec![ApiKey::new(KEY).expect("a usable key")].into();
    let (called, credential) = (operation(&request, None, &context, names), credential(&request, &context));
    let existence = if sent.target == "/pets/{1}" { Existence::Certain } else { Existence::Unknown };
    let id = request.path.rsplit('/').next().and_then(|id| id.parse().ok()).unwrap_or_default();
    let expectation = Expectation::of(&called, credential).given(id, existence);
    let is_of_edge = may_be_refused_at_edge(&request);
    let expectation = if is_of_edge { expectation.or_refused_at_edge() } else { expectation };
    lawful(expectation, &called, credential, is_of_edge || credential.is_malformed())
}

impl Sent {
    /// The request, with 1 for the id in the response to the first exchange.
    fn request(&self) -> Request {
        let target = self.target.replace("{1}", "1");
        let mut request = match target.split_once('?') {
            Some((path, query)) => Request::new(&self.method, path).query(query),
            None => Request::new(&self.method, target),
        };
        for (name, value) in self.headers.iter().filter(|(name, _)| *name != "Content-Type") {
            request = match name.as_str() {
                "Authorization" => request.authorization(value),
                name => request.header(name, value),
            };
        }
        let decoded = |text: &String| BASE64_STANDARD.decode(text).expect("base64");
        let bytes = self.body.clone().map(String::into_bytes).or_else(|| self.body_base64.as_ref().map(decoded));
        match bytes {
            Some(bytes) => request.body(&self.headers["Content-Type"], bytes),
            None => request,
        }
    }
}

/// The lawful responses: those with a body of one kind each, with the ranges of their statuses. The response may be that of an edge.
fn lawful(expectation: Expectation, called: &Operation, credential: Credential, is_of_edge: bool) -> Vec<Lawful> {
    let mut statuses: BTreeMap<Kind, Vec<u16>> = BTreeMap::new();
    for status in 200..600 {
        // A valid key is accepted, and whether it may be limited depends on other requests.
        let is_for_the_key = matches!(credential, Credential::Valid(_)) && matches!(status, 401 | 429);
        if let Some(kind) = kind_of(expectation, status, is_of_edge).filter(|_| !is_for_the_key) {
            statuses.entry(kind).or_default().push(status);
        }
    }
    let of_kind = |(body, statuses): (Kind, Vec<u16>)| {
        let mut lawful = Lawful { status: ranges(&statuses), body, ..Lawful::default() };
        match (body, called) {
            (Kind::Pet, Operation::Create(body)) => lawful.equal = members(body),
            (Kind::Pets, Operation::List(query)) => bound(&mut lawful, query),
            _ => {}
        }
        lawful
    };
    statuses.into_iter().map(of_kind).collect()
}

/// The shape of the body of a lawful response with this status; none if the status is not lawful.
fn kind_of(expectation: Expectation, status: u16, is_of_edge: bool) -> Option<Kind> {
    if !expectation.admits(status) {
        return None;
    }
    let shapes = [(Shape::Pet, Kind::Pet), (Shape::Pets, Kind::Pets)];
    let success = shapes.into_iter().find(|(shape, _)| {
        expectation.admits_answer(status, *shape) && !expectation.admits_answer(status, Shape::Other)
    });
    // The statuses of the table of errors have the Error for each request that is sound as HTTP, wherever it is refused.
    let is_described = matches!(status, 400 | 401 | 404) && !is_of_edge;
    let has_error = is_described || !expectation.admits_answer(status, Shape::Other);
    Some(success.map_or(if has_error { Kind::Error } else { Kind::Any }, |(_, kind)| kind))
}

/// Statuses as ranges of those that follow each other.
fn ranges(statuses: &[u16]) -> Vec<String> {
    let of_chunk = |chunk: &[u16]| match chunk {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    statuses.chunk_by(|one, next| next - one == 1).map(of_chunk).collect()
}

/// The members that an animal has as they were sent. Which of two values counts is open.
fn members(body: &CreateBody) -> Map<String, Value> {
    let mut members = Map::new();
    let CreateBody::NewPet(draft, ambiguities) = body else { return members };
    if ambiguities.contains(&Ambiguity::RepeatedMember) {
        return members;
    }
    members.extend(draft.name.clone().map(|name| ("name".to_owned(), name.into())));
    members.extend(draft.category_id.map(|category| ("categoryId".to_owned(), category.into())));
    members.extend(draft.status.clone().map(|status| ("status".to_owned(), status.into())));
    members
}

/// The number and the status of the animals in a list.
fn bound(lawful: &mut Lawful, query: &ListQuery) {
    lawful.at_most = Some(query.bound().filter(|_| !query.unknown).unwrap_or(MAX_LIMIT));
    match &query.status {
        Parameter::Lawful(status) => lawful.every_status = Some(status.clone()),
        // An unknown word matches nothing. Anything else may be read in another way.
        Parameter::Ambiguous(text) if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !text.is_empty() => {
            lawful.at_most = Some(0);
        }
        _ => {}
    }
}
