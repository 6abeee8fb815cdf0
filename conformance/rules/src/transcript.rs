//! The transcript of the tour: the response to each step, written so that every lawful server has the same transcript.
//!
//! It contains no names, ids, codes, messages and times. If several responses are lawful, it has their set instead of the chosen
//! one. An unlawful response is written as it is, so a comparison with the committed transcript shows it.

use similar::TextDiff;

use crate::history::{Entry, History};
use crate::limits::Anonymous;
use crate::near_misses;
use crate::request::{Credential, Existence, Operation, PetId, Shape};
use crate::rules::server::errors::misshapen;
use crate::trace::exchange::Exchange;
use crate::trace::json::Json;
use crate::trace::rate_limit::Field;

/// The committed transcript, as insta keeps it.
const COMMITTED: &str = include_str!(env!("TOUR"));

/// The steps of a trace, each with its response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transcript {
    lines: Vec<(String, String)>,
}

impl Transcript {
    /// Reads the steps of a history. A repeated step stands once, with its first unlawful response, otherwise with its last lawful
    /// one.
    pub fn new(history: &History<'_>) -> Transcript {
        let (mut lines, anonymous): (Vec<(String, String)>, _) = (Vec::new(), Anonymous::new(history));
        // The seed draws near misses, so no two transcripts would have the same.
        let is_drawn = |exchange: &Exchange| exchange.probe != "tour" && near_misses::of_step(&exchange.step).is_some();
        for entry in history.entries.iter().filter(|entry| !entry.exchange.step.is_empty() && !is_drawn(entry.exchange))
        {
            let retried = entry.status() == Some(429) && (!entry.credential.is_invalid() || anonymous.explains(entry));
            let not_yet = matches!(entry.operation, Operation::Get(PetId::Int64(id)) if entry.status() == Some(404)
                && history.known(id, entry).is_some() && !history.is_settled(id, entry));
            let is_unjudged = !entry.is_of_service() || entry.credential == Credential::Withheld;
            if retried || not_yet || is_unjudged {
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

    /// The transcript as text: a line for each step and its response.
    pub fn text(&self) -> String {
        let width = self.lines.iter().map(|(step, _)| step.chars().count()).max().unwrap_or(0);
        self.lines.iter().map(|(step, answer)| format!("{step:width$}  {answer}\n")).collect()
    }

    /// The difference from the committed transcript as a unified diff of the steps that were taken, if there is one.
    pub fn difference(&self) -> Option<String> {
        let committed = COMMITTED.splitn(3, "---\n").nth(2).unwrap_or_default();
        let (mut expected, mut found) = (String::new(), String::new());
        for (step, answer) in &self.lines {
            let lawful =
                committed.lines().find_map(|line| line.strip_prefix(step.as_str())?.strip_prefix("  ")).map(str::trim);
            // The set of lawful responses may depend on assigned ids and on the date: then the sets differ, and nothing is wrong.
            let found_here = lawful.filter(|_| !answer.starts_with(UNLAWFUL)).unwrap_or(answer);
            expected.push_str(&format!("{step}  {}\n", lawful.unwrap_or("(not in the committed transcript)")));
            found.push_str(&format!("{step}  {found_here}\n"));
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

/// The mark before an unlawful response.
const UNLAWFUL: &str = "✗ ";

/// The set of lawful responses if the response is in it, otherwise the response.
fn answer(history: &History<'_>, entry: &Entry<'_>) -> String {
    let expectation = match entry.operation {
        // A read that lags is left out above, so the response must show an animal that is known.
        Operation::Get(PetId::Int64(id)) if history.known(id, entry).is_some() => {
            history.expectation(entry).given(id, Existence::Certain)
        }
        _ => history.expectation(entry),
    };
    let held = entry.status().is_some_and(|status| expectation.admits_answer(status, shape(entry)));
    match (held, missing_headers(entry)) {
        (true, None) => expectation.to_string(),
        (_, missing) => format!("{UNLAWFUL}{}{}", shown(entry), missing.unwrap_or_default()),
    }
}

/// The schema of the body of a response.
fn shape(entry: &Entry<'_>) -> Shape {
    match (&entry.operation, entry.value()) {
        _ if misshapen(entry).is_none() => Shape::Error,
        (Operation::List(_), Some(Json::Array(_))) => Shape::Pets,
        (Operation::Create(_) | Operation::Get(_), _) if entry.animals().len() == 1 => Shape::Pet,
        _ => Shape::Other,
    }
}

/// The response in words, without anything that differs from run to run.
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

/// The rate-limit header fields that the response of an operation lacks, in words.
fn missing_headers(entry: &Entry<'_>) -> Option<String> {
    let is_due = entry.is_of_operation() && !entry.may_be_of_edge();
    let fields = entry.rate.as_ref().filter(|_| is_due)?.fields().into_iter();
    let missing = fields.filter(|(_, field)| !matches!(field, Field::Integer(_))).map(|(name, _)| name);
    let missing: Vec<&str> = missing.collect();
    (!missing.is_empty()).then(|| format!(", without {}", missing.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Request;

    fn reported(builder: TraceBuilder) -> String {
        let trace = builder.trace();
        answer(&History::new(&trace), History::new(&trace).entries.last().expect("an entry"))
    }

    #[test]
    fn a_lawful_answer_stands_for_all_lawful_ones_and_another_for_itself() {
        let error = |status: u16| json!({"code": "c", "message": "m", "status": status}).to_string();
        let list = |status, body: &str| {
            let builder =
                TraceBuilder::new().ask(Request::new("GET", "/pets").query("limit=0"), status, body.to_owned());
            reported(builder.with_rate_limit(5, 60))
        };
        assert_eq!(list(200, "[]"), "200 Pets, or 400 Error");
        assert_eq!(list(400, &error(400)), "200 Pets, or 400 Error");
        assert_eq!(list(422, &error(422)), "✗ 422 Error");
        assert_eq!(list(400, ""), "✗ 400 empty");
        assert_eq!(list(200, "{}"), "✗ 200 an object");
    }

    #[test]
    fn what_was_read_before_it_had_to_be_readable_counts_as_readable() {
        assert_eq!(reported(TraceBuilder::new().create(7).get(7, Some("sold")).with_rate_limit(5, 60)), "200 Pet");
    }

    #[test]
    fn once_the_operation_may_be_gone_a_refusal_is_as_lawful_as_the_animal() {
        let late = || TraceBuilder::at("2031-06-01T12:00:00Z");
        assert_eq!(reported(late().fetch(7, 410, String::new()).with_rate_limit(5, 60)), "200 Pet, or 404 Error");
        let seen = TraceBuilder::new().get(7, Some("sold")).fetch(7, 410, String::new()).with_rate_limit(5, 60);
        assert_eq!(reported(seen), "✗ 410 empty");
    }
}
