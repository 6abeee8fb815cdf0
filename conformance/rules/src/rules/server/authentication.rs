//! Authentication: a bearer key on every operation, and 401 without one, whatever else is wrong.

use crate::facts::Facts;
use crate::history::{Animal, Entry, History};
use crate::request::{Credential, Defect};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::sentence;
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_entries("auth.valid-key", |entry| entry.key().is_some(), valid_key).needing(Needs::CREDENTIAL.of_run()),
    Rule::of_requests("auth.missing-key", missing_key),
    Rule::of_requests("auth.invalid-key", |d, j| require_401(d, j, Defect::Unknown, "a key that nobody issued")),
    Rule::of_requests("auth.exact-key", |d, j| {
        require_401(d, j, Defect::Inexact, "a key that is not exactly a valid one");
    }),
    Rule::new("auth.bearer-header", bearer_header).needing(Needs::CREDENTIAL),
    Rule::of_requests("auth.before-all-else", before_all_else),
];

fn valid_key(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    // Another refusal does not show whether the key was accepted.
    if entry.is_of_operation() && (entry.succeeded() || entry.status() == Some(401)) {
        judgement.require(entry, entry.succeeded(), "any status but 401 for a valid key", || answered(entry));
    }
}

/// Requires 401 for the requests to an operation that meet a condition. A 429 that the exhausted allowance of callers without a key
/// explains is not judged.
fn require_refusal(
    Facts { history, limiter }: &Facts<'_>,
    judgement: &mut Judgement,
    credential: &'static str,
    is_judged: impl Fn(&Entry<'_>) -> bool,
) {
    for entry in history.entries.iter().filter(|entry| entry.is_of_operation() && is_judged(entry)) {
        if !limiter.anonymous().explains(entry) {
            judgement.require_lawful(history, entry, credential);
        }
    }
}

/// Requires 401 for the requests whose credential has a defect, and which are valid otherwise. A limiter that runs before authentication is
/// another defect, which `auth.before-all-else` reports: its 429 hides the status code that these requests would get.
fn require_401(facts: &Facts<'_>, judgement: &mut Judgement, defect: Defect, credential: &'static str) {
    require_refusal(facts, judgement, credential, |entry| {
        entry.credential == Credential::Invalid(defect)
            && entry.operation.is_certainly_valid()
            && entry.status() != Some(429)
    });
}

fn missing_key(facts: &Facts<'_>, judgement: &mut Judgement) {
    require_401(facts, judgement, Defect::Absent, "a request without a key");
    for entry in facts.history.entries.iter().filter(|entry| entry.credential.is_invalid()) {
        if let Some(id) = own_animal_elsewhere(facts.history, entry) {
            let found = sentence!("{} with the animal {} of this run", answered(entry), id);
            judgement.fail(&[entry], "no animals without a key, at any path", found);
        }
    }
}

/// The id of an animal of this run that a response at another path than the four operations shows, such as `/pets/`. The
/// specification says nothing about other paths, but a path that shows the animals of the service is one of its operations.
fn own_animal_elsewhere(history: &History<'_>, entry: &Entry<'_>) -> Option<i64> {
    if entry.is_of_operation() || !entry.succeeded() {
        return None;
    }
    let shown = match entry.value()? {
        Json::Array(items) => items.as_slice(),
        pet => std::slice::from_ref(pet),
    };
    shown.iter().map(Animal).find_map(|animal| {
        let creation = history.creation(animal.id()?)?;
        let is_own = animal.name().is_some() && animal.name() == creation.sent.name.as_deref();
        (is_own && history.entries[creation.entry].precedes(entry)).then_some(creation.id)
    })
}

fn bearer_header(facts: &Facts<'_>, judgement: &mut Judgement) {
    let credential = "a key that does not come as a bearer token in the Authorization header";
    // A key in the query makes the query itself unusual, so the request need not be valid otherwise.
    require_refusal(facts, judgement, credential, |entry| {
        matches!(entry.credential, Credential::Invalid(Defect::NotBearer | Defect::Repeated))
            && entry.status() != Some(429)
    });
}

fn before_all_else(facts: &Facts<'_>, judgement: &mut Judgement) {
    let credential = "a request without a valid key, whatever else is wrong with it";
    require_refusal(facts, judgement, credential, |entry| {
        let Credential::Invalid(defect) = entry.credential else { return false };
        // An exceeded limit is another defect, also of a request that is valid otherwise.
        let is_sound = matches!(defect, Defect::NotBearer | Defect::Repeated) || entry.operation.is_certainly_valid();
        !is_sound || entry.status() == Some(429)
    });
}

#[cfg(test)]
mod tests {
    use crate::tests::{TraceBuilder, animal};
    use crate::trace::exchange::Request;

    /// What `/pets/` shows to a caller without a valid key, after the animal 7 was created.
    fn shown_elsewhere(status: u16, body: impl Into<String>) -> TraceBuilder {
        TraceBuilder::new().create(7).key("sk-Unknown").ask(Request::new("GET", "/pets/"), status, body.into())
    }

    #[test]
    fn animals_of_this_run_are_shown_at_no_path_without_a_key() {
        let pet = animal(7, "sold");
        for (why, shown, failures) in [
            ("in a list", shown_elsewhere(200, format!("[{pet}]")), vec![vec![2]]),
            ("alone", shown_elsewhere(200, pet.clone()), vec![vec![2]]),
            ("refused", shown_elsewhere(401, format!("[{pet}]")), vec![]),
            ("nothing is shown", shown_elsewhere(200, "[]"), vec![]),
            ("no JSON", shown_elsewhere(200, "<h1>pets</h1>"), vec![]),
            ("an animal of another client", shown_elsewhere(200, animal(8, "sold")), vec![]),
            ("something else with this number", shown_elsewhere(200, pet.replace("Rex 1", "Max 1")), vec![]),
            ("it was not created yet", shown_elsewhere(200, pet.clone()).together(1..=2), vec![]),
            ("with a key", TraceBuilder::new().create(7).ask(Request::new("GET", "/pets/"), 200, pet.clone()), vec![]),
        ] {
            assert_eq!(shown.failures_of("auth.missing-key"), failures, "{why}");
        }
    }

    #[test]
    fn a_limiter_before_authentication_is_one_finding_and_hides_no_hole() {
        let limited = || TraceBuilder::new().key("sk-Unknown").list(401, 1, 60).list(429, 0, 60).list(429, 0, 60);
        assert_eq!(limited().failures_of("auth.invalid-key"), [[0; 0]; 0]);
        assert_eq!(limited().failures_of("auth.before-all-else"), [[2], [3]]);
        assert_eq!(limited().list(200, 0, 60).failures_of("auth.invalid-key"), [[4]], "the hole");
        let unauthorized = TraceBuilder::new().key("sk-Unknown").list(401, 1, 60);
        assert_eq!(unauthorized.judged_by("auth.before-all-else").judged, 0);
    }

    #[test]
    fn an_edge_may_refuse_a_malformed_request_in_its_own_way_and_nothing_else_may_happen() {
        const RULES: [&str; 6] = [
            "auth.missing-key",
            "auth.invalid-key",
            "auth.before-all-else",
            "errors.shape",
            "errors.elsewhere",
            "headers.limit",
        ];
        let broken = || Request::new("GET", "/pets").query("status=%zz");
        let plain = || Request::new("GET", "/pets");
        for (what, request, status, failing) in [
            ("refused by an edge", broken(), 400, vec![]),
            ("refused as not found by an edge", broken(), 404, vec![]),
            ("refused for its key", broken(), 401, vec!["errors.shape", "headers.limit"]),
            ("served", broken(), 200, vec!["auth.before-all-else", "headers.limit"]),
            (
                "answered with a failure",
                broken(),
                500,
                vec!["auth.before-all-else", "errors.elsewhere", "headers.limit"],
            ),
            ("a sound request refused", plain(), 400, vec!["auth.invalid-key", "errors.shape", "headers.limit"]),
        ] {
            let trace = || TraceBuilder::new().key("sk-Unknown").ask(request.clone(), status, "<h1>no</h1>".to_owned());
            let fails = |rule: &&str| !trace().failures_of(rule).is_empty();
            let failed: Vec<&str> = RULES.into_iter().filter(fails).collect();
            assert_eq!(failed, failing, "{what}");
        }
        let limit = Request::new("GET", "/pets").query("limit=1").header("X-Note", "\u{e9}");
        let with_key = |status: u16, rule: &str| {
            TraceBuilder::new().ask(limit.clone(), status, "<h1>no</h1>".to_owned()).failures_of(rule).len()
        };
        assert_eq!(with_key(400, "list.limit-minimum"), 0);
        assert_eq!(with_key(400, "list.success"), 0);
        assert_eq!(with_key(500, "list.success"), 1);
        assert_eq!(with_key(401, "auth.valid-key"), 1);
    }
}
