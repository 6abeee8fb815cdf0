//! The transcript of the tour: what each step got, told so that every lawful server has the same one.
//!
//! Names, ids, codes, messages and times do not show. Where several answers are lawful, the set of them stands in place of the
//! one that was chosen. What is not lawful stands as it is, so a comparison with the committed transcript shows it at a glance.

use similar::TextDiff;

use crate::history::{Entry, Era, History};
use crate::request::{Ambiguity, CreateBody, Credential, Operation, PetId};
use crate::rules::server::errors::misshapen;
use crate::trace::json::Json;
use crate::trace::rate_limit::Field;

/// The committed transcript, as insta keeps it.
const COMMITTED: &str = include_str!("../../../snapshots/tour.snap");

/// The steps of a trace, each with what it got.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transcript {
    lines: Vec<(String, String)>,
}

impl Transcript {
    /// Reads the steps of a history. A step that was repeated stands once, with its last lawful answer or its first other one.
    #[must_use]
    pub fn new(history: &History<'_>) -> Transcript {
        let mut lines: Vec<(String, String)> = Vec::new();
        for entry in history.entries.iter().filter(|entry| !entry.exchange.step.is_empty()) {
            let retried = entry.status() == Some(429) && !entry.credential.is_invalid();
            let not_yet = matches!(entry.operation, Operation::Get(PetId::Int64(id)) if entry.status() == Some(404)
                && history.known(id, entry).is_some() && !history.is_settled(id, entry));
            if retried || not_yet {
                continue;
            }
            let answer = answer(history, entry);
            match lines.iter_mut().find(|(step, _)| *step == entry.exchange.step) {
                None => lines.push((entry.exchange.step.clone(), answer)),
                Some((_, earlier)) if earlier.starts_with(UNLAWFUL) => {}
                Some((_, earlier)) => *earlier = answer,
            }
        }
        Transcript { lines }
    }

    /// The transcript as text: a step and its answer a line.
    #[must_use]
    pub fn text(&self) -> String {
        let width = self.lines.iter().map(|(step, _)| step.chars().count()).max().unwrap_or(0);
        self.lines.iter().map(|(step, answer)| format!("{step:width$}  {answer}\n")).collect()
    }

    /// How it differs from the committed transcript, as a unified diff of the steps that were taken; nothing if it does not.
    #[must_use]
    pub fn difference(&self) -> Option<String> {
        let committed = COMMITTED.splitn(3, "---\n").nth(2).unwrap_or_default();
        let (mut expected, mut found) = (String::new(), String::new());
        for (step, answer) in &self.lines {
            let lawful =
                committed.lines().find_map(|line| line.strip_prefix(step.as_str())?.strip_prefix("  ")).map(str::trim);
            expected.push_str(&format!("{step}  {}\n", lawful.unwrap_or("(not in the committed transcript)")));
            found.push_str(&format!("{step}  {answer}\n"));
        }
        (expected != found).then(|| {
            TextDiff::from_lines(&expected, &found)
                .unified_diff()
                .context_radius(0)
                .header("committed", "this server")
                .to_string()
        })
    }
}

/// What an answer that is not lawful begins with.
const UNLAWFUL: &str = "✗ ";

/// The set of lawful answers if the answer is one of them, else the answer.
fn answer(history: &History<'_>, entry: &Entry<'_>) -> String {
    let (set, holds) = lawful(history, entry);
    match (holds, missing_headers(entry)) {
        (true, None) => set.to_owned(),
        (_, missing) => format!("{UNLAWFUL}{}{}", shown(entry), missing.unwrap_or_default()),
    }
}

/// The lawful answers, in words, and whether the answer is one of them.
fn lawful(history: &History<'_>, entry: &Entry<'_>) -> (&'static str, bool) {
    let Some(status) = entry.status() else { return ("an answer", false) };
    let error = misshapen(entry).is_none();
    let client_error = (400..500).contains(&status);
    let pet = entry.animals().len() == 1 && matches!(entry.operation, Operation::Create(_) | Operation::Get(_));
    let pets = status == 200 && matches!(entry.value(), Some(Json::Array(_)));
    let is = |expected: u16| status == expected && error;
    match (&entry.operation, entry.credential) {
        (Operation::Elsewhere, _) => ("any", true),
        (_, Credential::Invalid(_)) => ("401 Error", is(401)),
        (Operation::List(_), Credential::Ambiguous) => ("200 Pets, or 401 Error", pets || is(401)),
        (_, Credential::Ambiguous | Credential::Banned) => ("any", true),
        (Operation::List(query), _) if query.is_lawful() => ("200 Pets", pets),
        (Operation::List(_), _) => ("200 Pets, or an Error of the client", pets || client_error && error),
        (Operation::Create(CreateBody::OtherMedia), _) => ("any", true),
        (Operation::Create(CreateBody::Unclear), _) => ("201 Pet, or an error of the client", pet || client_error),
        (Operation::Create(CreateBody::Malformed), _) => ("an error of the client", client_error),
        (Operation::Create(CreateBody::Faulty(..)), _) => ("400 Error", is(400)),
        (Operation::Create(CreateBody::NewPet(_, ambiguities)), _) if ambiguities.is_empty() => ("201 Pet", pet),
        (Operation::Create(CreateBody::NewPet(_, ambiguities)), _) => {
            let own = ambiguities.iter().any(|ambiguity| matches!(ambiguity, Ambiguity::Name | Ambiguity::Size));
            if own {
                ("201 Pet, or an error of the client", pet || client_error)
            } else {
                ("201 Pet, or 400 Error", pet || is(400))
            }
        }
        (Operation::Get(PetId::Int64(id)), _) => {
            let removed = history.era(entry) != Era::Before && client_error;
            if history.known(*id, entry).is_some() {
                ("200 Pet", pet || removed)
            } else {
                ("404 Error", is(404) || removed)
            }
        }
        (Operation::Get(_), _) => ("400 Error, or 404 Error", !matches!(status, 200..=299 | 500..=599)),
        (Operation::Orders, _) => ("any but 404 and 405", status != 404 && status != 405),
    }
}

/// The answer, without anything that differs from run to run.
fn shown(entry: &Entry<'_>) -> String {
    let Some(status) = entry.status() else { return "no answer".to_owned() };
    let body = match &entry.json {
        None => "empty".to_owned(),
        Some(Err(_)) => "not JSON".to_owned(),
        Some(Ok(_)) if misshapen(entry).is_none() => "Error".to_owned(),
        Some(Ok(Json::Array(_))) => "Pets".to_owned(),
        Some(Ok(json)) if json.get("id").is_some() => "Pet".to_owned(),
        Some(Ok(json)) => json.kind().to_owned(),
    };
    format!("{status} {body}")
}

/// The rate-limit headers that an answer of an operation lacks.
fn missing_headers(entry: &Entry<'_>) -> Option<String> {
    let rate = entry.rate.as_ref().filter(|_| entry.operation != Operation::Elsewhere)?;
    let fields = [("Limit", &rate.limit), ("Remaining", &rate.remaining), ("Reset", &rate.reset)];
    let missing: Vec<String> = fields
        .into_iter()
        .filter(|(_, field)| !matches!(field, Field::Integer(_)))
        .map(|(name, _)| format!("X-RateLimit-{name}"))
        .collect();
    (!missing.is_empty()).then(|| format!(", without {}", missing.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::exchange::Request;
    use crate::trace_builder::{TraceBuilder, animal};

    /// The statuses of this range with which an answer is lawful: with an Error, and with an animal or a list of them.
    fn lawful_statuses(before: impl Fn() -> TraceBuilder, request: &Request) -> (Vec<u16>, Vec<u16>) {
        let holds = |status: u16, body: String| {
            let trace = before().ask(request.clone(), status, body).trace();
            let history = History::new(&trace);
            history.entries.last().is_some_and(|entry| lawful(&history, entry).1)
        };
        let shown =
            |_| if request.path == "/pets" && request.method == "GET" { "[]".to_owned() } else { animal(7, "sold") };
        let error = |status| json!({"code": "c", "message": "m", "status": status}).to_string();
        let all = [200, 201, 400, 401, 404, 405, 410, 422, 500];
        let lawful = |body: &dyn Fn(u16) -> String| all.into_iter().filter(|at| holds(*at, body(*at))).collect();
        (lawful(&error), lawful(&shown))
    }

    #[test]
    fn each_set_of_lawful_answers_holds_what_it_says() {
        let get = |path: &str| Request::new("GET", path);
        let create = |body: &str| Request::new("POST", "/pets").json(body);
        let client = || vec![400, 401, 404, 405, 410, 422];
        // What an animal looks like is another matter: here anything counts as one.
        let created = || [vec![201], client()].concat();
        let new = TraceBuilder::new;
        let late = || TraceBuilder::at("2031-06-01T12:00:00Z");
        let known = || TraceBuilder::new().get(7, Some("sold"));
        for (before, request, errors, animals) in [
            (&new as &dyn Fn() -> TraceBuilder, get("/pets"), vec![], vec![200]),
            (&new, get("/pets").query("limit=0"), client(), vec![200]),
            (&new, create("{"), client(), client()),
            (&new, create("{}"), vec![400], vec![]),
            (&new, create(r#"{"name":"Rex","categoryId":1} x"#), created(), created()),
            (&new, create(r#"{"name":"Rex","categoryId":1}"#), vec![201], vec![201]),
            (&new, create(r#"{"name":"","categoryId":1}"#), created(), created()),
            (&new, create(r#"{"name":"Rex","categoryId":2}"#), vec![201, 400], vec![201]),
            (&new, get("/pets/7"), vec![404], vec![]),
            (&known, get("/pets/7"), vec![200], vec![200]),
            (&late, get("/pets/7"), client(), client()),
            (&new, get("/pets/seven"), client(), client()),
            (
                &new,
                get("/store/orders"),
                vec![200, 201, 400, 401, 410, 422, 500],
                vec![200, 201, 400, 401, 410, 422, 500],
            ),
        ] {
            assert_eq!(lawful_statuses(before, &request), (errors, animals), "{} {request:?}", request.target());
        }
    }
}
