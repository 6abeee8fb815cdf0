//! Requests that were refused with 400 and are sent again unchanged: the client ignored the refusal.
//!
//! A bad request may be sent once, in a test or by mistake. Only one that is certainly bad counts, and only after its 400.

use crate::facts::Facts;
use crate::history::Entry;
use crate::request::{CreateBody, Operation, Parameter};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::trace::exchange::Request;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("client.new-pet", |facts, judgement| learns(facts, judgement, is_no_new_pet, "a body that is no NewPet"))
        .needing(Needs::REQUEST_BODY),
    Rule::new("client.list-parameters", |facts, judgement| {
        learns(facts, judgement, has_bad_parameters, "a limit or status outside its range");
    }),
];

fn learns(
    &Facts { history, .. }: &Facts<'_>,
    judgement: &mut Judgement,
    is_bad: fn(&Operation) -> bool,
    defect: &'static str,
) {
    for (at, entry) in history.entries.iter().enumerate() {
        if !is_bad(&entry.operation) {
            continue;
        }
        let refused = |other: &&Entry<'_>| {
            other.status() == Some(400)
                && other.precedes(entry)
                && is_same(&other.exchange.request, &entry.exchange.request)
        };
        match history.entries[..at].iter().find(refused) {
            Some(first) => judgement.fail(
                &[entry, first],
                format!("no second request with {defect}, after a 400"),
                format!("{} was sent again unchanged", entry.operation.name()),
            ),
            None if entry.status() == Some(400) => judgement.hold(),
            None => {}
        }
    }
}

fn is_no_new_pet(operation: &Operation) -> bool {
    matches!(operation, Operation::Create(CreateBody::Malformed | CreateBody::Faulty(..)))
}

fn has_bad_parameters(operation: &Operation) -> bool {
    let Operation::List(query) = operation else { return false };
    matches!(query.limit, Parameter::Ambiguous(_)) || matches!(query.status, Parameter::Ambiguous(_))
}

/// Whether two requests are the same, credentials and other header fields apart.
fn is_same(one: &Request, other: &Request) -> bool {
    one.query == other.query && one.body == other.body && one.method == other.method && one.path == other.path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::TraceBuilder;

    fn sent(bodies: &[&str]) -> Vec<&'static str> {
        let post = |body: &str| Request::new("POST", "/pets").json(body);
        let send = |builder: TraceBuilder, body: &&str| builder.ask(post(body), 400, String::new());
        bodies.iter().fold(TraceBuilder::new(), send).client_broken()
    }

    #[test]
    fn the_same_bad_body_after_a_400_shows_that_the_client_did_not_learn() {
        assert_eq!(sent(&[r#"{"name":1}"#, r#"{"name":1}"#]), ["client.new-pet"]);
        assert_eq!(sent(&[r#"{"name":1}"#, r#"{"name":2}"#]), [""; 0], "each bad body once, as tests send them");
        let valid = r#"{"name":"Rex","categoryId":1}"#;
        assert_eq!(sent(&[valid, valid]), [""; 0], "the server was wrong to refuse it");
    }

    #[test]
    fn the_same_bad_query_after_a_400_shows_that_the_client_did_not_learn() {
        let list = |builder: TraceBuilder, query: &str, status| {
            builder.ask(Request::new("GET", "/pets").query(query), status, "[]".to_owned())
        };
        let twice = |query: &str, status| list(list(TraceBuilder::new(), query, status), query, status).client_broken();
        assert_eq!(twice("limit=500", 400), ["client.list-parameters"]);
        assert_eq!(twice("status=lost", 400), ["client.list-parameters"]);
        assert_eq!(twice("limit=500", 200), [""; 0], "the server took it, so there was nothing to learn");
        assert_eq!(twice("limit=5", 400), [""; 0]);
    }
}
