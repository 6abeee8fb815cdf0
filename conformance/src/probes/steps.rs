//! Requests of the fixed probes. Each has the name of its step; bodies are filled in from templates.

use std::fmt::Display;

use super::session::{Session, Stop};
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::json::Json;

/// The list with this query, which may be empty.
pub(super) fn list(query: &str) -> Request {
    let list = Request::new("GET", "/pets");
    if query.is_empty() { list } else { list.query(query) }
}

/// The query of a list with this limit and status.
pub(super) fn query_of(limit: Option<impl Display>, status: Option<&str>) -> String {
    let limit = limit.map(|limit| format!("limit={limit}"));
    let status = status.map(|status| format!("status={status}"));
    [limit, status].into_iter().flatten().collect::<Vec<_>>().join("&")
}

/// The fetch of the animal with this id, or with a text in the place of one.
pub(super) fn fetch(id: impl Display) -> Request {
    Request::new("GET", format!("/pets/{id}"))
}

/// Sends a request with the key, as this step.
pub(super) async fn ask<'s>(session: &'s mut Session<'_>, request: Request, step: &str) -> Result<&'s Exchange, Stop> {
    session.step(step);
    session.ask(request).await
}

/// A number of 10 to 12 digits, which is new as a name.
pub(super) fn digits(session: &mut Session<'_>) -> String {
    session.random.u64(1_000_000_000..1_000_000_000_000).to_string()
}

/// A creation whose body is this template, with a fresh name or digits, the category and a foreign id in the place of its marks.
pub(super) fn creation(session: &mut Session<'_>, template: &str) -> Request {
    Request::new("POST", "/pets").json(filled(session, template))
}

/// A template with a fresh name or digits, the category and a foreign id in the place of its marks.
pub(super) fn filled(session: &mut Session<'_>, template: &str) -> String {
    let mut body = template.replace("@CATEGORY@", &session.trace.context.category_id.to_string());
    if body.contains("@NAME@") {
        body = body.replace("@NAME@", &session.fresh_name());
    }
    if body.contains("@DIGITS@") {
        body = body.replace("@DIGITS@", &digits(session));
    }
    if body.contains("@FOREIGN@") {
        body = body.replace("@FOREIGN@", &session.random.i64(1_000_000_000..2_000_000_000).to_string());
    }
    body
}

/// A NewPet as clients write one: the seed draws the order of its members, and the spaces between them.
pub(super) fn new_pet(session: &mut Session<'_>, name: &str, category: i64, status: Option<&str>) -> String {
    let styles = [(":", ",", "{", "}"), (": ", ", ", "{", "}"), (": ", ",\n  ", "{\n  ", "\n}")];
    let (colon, comma, open, close) = styles[session.random.usize(..styles.len())];
    let mut members = vec![format!(r#""name"{colon}"{name}""#), format!(r#""categoryId"{colon}{category}"#)];
    members.extend(status.map(|status| format!(r#""status"{colon}"{status}""#)));
    session.random.shuffle(&mut members);
    format!("{open}{}{close}", members.join(comma))
}

/// The step of a creation with the body of this template.
pub(super) fn step_of(template: &str) -> String {
    format!("POST /pets {}", template.replace('@', ""))
}

/// Sends a creation with the key, as the step that its template describes, and returns the id of the new animal, if there is one.
pub(super) async fn create(session: &mut Session<'_>, template: &str) -> Result<Option<i64>, Stop> {
    let request = creation(session, template);
    ask(session, request, &step_of(template)).await.map(Exchange::created_id)
}

/// The animals in the response to a list.
pub(super) fn listed(exchange: Option<&Exchange>) -> Vec<Json> {
    let body = exchange.and_then(Exchange::response).map_or(&[][..], |response| &response.body);
    match Json::parse_foreign(body) {
        Ok(Json::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// The id of the next animal, if ids rise by one.
pub(super) fn next_id(session: &Session<'_>) -> Option<i64> {
    let ids = session.known_ids();
    let last = *ids.iter().max()?;
    (ids.len() > 2 && ids.contains(&(last - 1)) && ids.contains(&(last - 2))).then(|| last.checked_add(1))?
}

/// The ids in the response to a list.
pub(super) fn listed_ids(exchange: Option<&Exchange>) -> Vec<i64> {
    listed(exchange).iter().filter_map(|item| item.get("id")?.as_int64()).collect()
}
