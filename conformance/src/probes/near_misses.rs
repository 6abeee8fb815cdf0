//! Near misses: what the tour has no room for in a Free key's first window. Each is wrong in one way, most are the wrong JSON
//! type of one member.

use super::session::{Session, Stop};
use super::tour::{ask, create};
use crate::wire::exchange::Request;

/// Requests that this probe sends.
pub(super) const COUNT: usize = BODIES.len() + IDS.len() + LISTS.len() + 5;

/// Bodies that must be refused.
const BODIES: [&str; 22] = [
    r#"{"name":null,"categoryId":@CATEGORY@,"status":"available"}"#,
    r#"{"name":["@NAME@"],"categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":true,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":null}"#,
    r#"{"name":"@NAME@","categoryId":true}"#,
    r#"{"name":"@NAME@","categoryId":"one"}"#,
    r#"{"name":"@NAME@","categoryId":"@CATEGORY@","status":"pending"}"#,
    r#"{"name":"@NAME@","categoryId":[@CATEGORY@]}"#,
    r#"{"name":"@NAME@","categoryId":{"id":@CATEGORY@}}"#,
    r#"{"name":"@NAME@","categoryId":-9223372036854775809}"#,
    r#"{"name":"@NAME@","categoryId":""}"#,
    r#"{"name":"@NAME@","categoryId":-0.5}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":0}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":["sold"]}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":true}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":""}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"SOLD"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold "}"#,
    "null",
    "{}",
    r#"{"categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"[{"name":"@NAME@","categoryId":@CATEGORY@}]"#,
];

/// Identifiers that hardly any animal has, and that are read wrongly sometimes.
const IDS: [&str; 4] = ["0", "-1", "-9223372036854775808", "1.5"];

/// Lists whose parameters are unusual.
const LISTS: [&str; 6] = [
    "limit=-1",
    "limit=101",
    "limit=4294967297",
    "limit=99999999999999999999",
    "limit=99&status=available",
    "status=sold",
];

/// Sends them all; without `creates`, those alone that could create nothing.
///
/// # Errors
///
/// [`Stop`] when the budget is spent.
pub(super) async fn run(session: &mut Session<'_>, creates: bool) -> Result<(), Stop> {
    session.begin("near misses");
    for template in BODIES.into_iter().filter(|_| creates) {
        create(session, template).await?;
    }
    for id in IDS {
        let request = Request::new("GET", format!("/pets/{id}"));
        let step = format!("GET {}", request.target());
        ask(session, request, &step).await?;
    }
    // An animal that is neither the first nor the last, and the id that a 32-bit integer would take for its own.
    if let Some(id) = session.created_as("sold").or_else(|| session.known_ids().first().copied()) {
        ask(session, Request::new("GET", format!("/pets/{id}")), "GET /pets/{petId}").await?;
        let wrapped = id.wrapping_add(1 << 32);
        ask(session, Request::new("GET", format!("/pets/{wrapped}")), "GET /pets/{petId + 2^32}").await?;
    }
    for query in LISTS {
        let step = format!("GET /pets?{query}");
        ask(session, Request::new("GET", "/pets").query(query), &step).await?;
    }
    ask(session, Request::new("GET", "/conform-no-such-path"), "GET /conform-no-such-path").await?;
    if creates {
        ask(session, Request::new("PUT", "/pets"), "PUT /pets").await?;
    }
    // A list at the end shows whether something was stored all the same.
    ask(session, Request::new("GET", "/pets").query("limit=100"), "GET /pets?limit=100").await?;
    session.step("");
    Ok(())
}
