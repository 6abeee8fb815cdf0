//! Near misses: requests with one defect each, mostly the wrong JSON type of a member. They do not fit into a Free key's first
//! window together with the tour.

use super::session::{Session, Stop};
use super::tour::{ask, create};
use animal_store_rules::trace::exchange::Request;

/// The number of requests of this probe.
pub(super) const COUNT: usize = BODIES.len() + UNUSUAL.len() + LISTS.len() + 9;

/// The number of animals that it may create.
pub(super) const ANIMALS: usize = UNUSUAL.len();

/// Invalid bodies.
const BODIES: [&str; 25] = [
    r#"{"name":null,"categoryId":@CATEGORY@,"status":"available"}"#,
    r#"{"name":["@NAME@"],"categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":{"first":"@NAME@"},"categoryId":@CATEGORY@}"#,
    r#"{"name":true,"categoryId":@CATEGORY@}"#,
    r#"{"name":false,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":null}"#,
    r#"{"name":"@NAME@","categoryId":true}"#,
    r#"{"name":"@NAME@","categoryId":"one","status":"pending"}"#,
    r#"{"name":"@NAME@","categoryId":[@CATEGORY@]}"#,
    r#"{"name":"@NAME@","categoryId":{"id":@CATEGORY@}}"#,
    r#"{"name":"@NAME@","categoryId":-9223372036854775809}"#,
    r#"{"name":"@NAME@","categoryId":""}"#,
    r#"{"name":"@NAME@","categoryId":-0.5}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":0}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":["sold"]}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":{"value":"sold"}}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":true}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":""}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"SOLD"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold "}"#,
    "null",
    r#""@NAME@""#,
    "{}",
    r#"{"categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"[{"name":"@NAME@","categoryId":@CATEGORY@}]"#,
];

/// Bodies that may be accepted or rejected.
const UNUSUAL: [&str; 3] = [
    r#"{"name":"","categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":0}"#,
    r#"{"name":"@NAME@","categoryId":-9223372036854775808}"#,
];

/// Unusual query strings of lists.
const LISTS: [&str; 6] =
    ["limit=-1", "limit=101", "limit=4294967297", "limit=99999999999999999999", "limit=2&status=sold", "status=sold"];

/// Sends them all; without `creates`, only those that cannot create an animal.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn run(session: &mut Session<'_>, creates: bool) -> Result<(), Stop> {
    session.begin("near misses");
    for template in BODIES.into_iter().chain(UNUSUAL).filter(|_| creates) {
        create(session, template).await?;
    }
    ask(session, Request::new("GET", "/pets/0"), "GET /pets/0").await?;
    // An animal that is neither the first nor the last, and ids that a server mistakes for its id when it truncates or wraps them.
    if let Some(id) = session.created_as("sold").or_else(|| session.known_ids().first().copied()) {
        for (text, step) in [
            (id.to_string(), "GET /pets/{petId}"),
            (id.wrapping_add(1 << 32).to_string(), "GET /pets/{petId + 2^32}"),
            ((i128::from(id) + (1 << 64)).to_string(), "GET /pets/{petId + 2^64}"),
            (id.wrapping_neg().to_string(), "GET /pets/{-petId}"),
            (format!("{id}abc"), "GET /pets/{petId}abc"),
        ] {
            ask(session, Request::new("GET", format!("/pets/{text}")), step).await?;
        }
    }
    for query in LISTS {
        let step = format!("GET /pets?{query}");
        ask(session, Request::new("GET", "/pets").query(query), &step).await?;
    }
    ask(session, Request::new("GET", "/conform-no-such-path"), "GET /conform-no-such-path").await?;
    if creates {
        ask(session, Request::new("PUT", "/pets"), "PUT /pets").await?;
    }
    // A final list shows whether an invalid request created an animal.
    ask(session, Request::new("GET", "/pets").query("limit=100"), "GET /pets?limit=100").await?;
    session.step("");
    Ok(())
}
