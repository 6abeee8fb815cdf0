//! Near misses: what the tour has no room for in a Free key's first window. Each is wrong in one way: the wrong JSON type of one
//! member, text that is not quite JSON, and bodies that are hard to read.

use super::replaced;
use super::session::{Session, Stop};
use super::tour::{ask, create, filled};
use animal_store_rules::trace::exchange::Request;

/// The number of requests of this probe.
pub(super) const COUNT: usize = BODIES.len() + UNUSUAL.len() + HARD.len() + LISTS.len() + 9;

/// The number of animals that it may create.
pub(super) const ANIMALS: usize = UNUSUAL.len() + HARD.len();

/// Invalid bodies.
const BODIES: [&str; 28] = [
    r#"{"name":null,"categoryId":@CATEGORY@,"status":"available"}"#,
    r#"{"name":["@NAME@"],"categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":{"first":"@NAME@"},"categoryId":@CATEGORY@}"#,
    r#"{"name":true,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":null}"#,
    r#"{"name":"@NAME@","categoryId":true}"#,
    r#"{"name":"@NAME@","categoryId":"one","status":"pending"}"#,
    r#"{"name":"@NAME@","categoryId":[@CATEGORY@]}"#,
    r#"{"name":"@NAME@","categoryId":{"id":@CATEGORY@}}"#,
    r#"{"name":"@NAME@","categoryId":-9223372036854775809}"#,
    r#"{"name":"@NAME@","categoryId":""}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":0}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":["sold"]}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":true}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":""}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"SOLD"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold\n"}"#,
    "null",
    r#""@NAME@""#,
    "{}",
    r#"{"categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"[{"name":"@NAME@","categoryId":@CATEGORY@}]"#,
    r#"{"Name":"@NAME@","CategoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@} x"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@}{"name":"@NAME@","categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":007}"#,
    r#"{"name":"@NAME@","categoryId":+1}"#,
    r#"{"name":"@NAME@","categoryId":NaN}"#,
];

/// Bodies that may be accepted or rejected.
const UNUSUAL: [&str; 3] = [
    r#"{"name":"","categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":0}"#,
    r#"{"name":"@NAME@","categoryId":-9223372036854775808}"#,
];

/// A template, a placeholder in it, and what replaces that.
type HardBody = (&'static str, &'static str, fn() -> Vec<u8>);

/// Bodies that are hard to read, each with a placeholder and what replaces it: some must be refused, all may be.
const HARD: [HardBody; 6] = [
    (r#"{"name":"@NAME@ (a byte that is not UTF-8)","categoryId":@CATEGORY@}"#, "(a byte that is not UTF-8)", || {
        vec![0xff]
    }),
    (r#"{"name":"@NAME@ (half a surrogate pair)","categoryId":@CATEGORY@}"#, "(half a surrogate pair)", || {
        br"\ud800".to_vec()
    }),
    (r#"{"name":"@NAME@","categoryId":(5,000 digits)}"#, "(5,000 digits)", || b"9".repeat(5_000)),
    (r#"{"name":"@NAME@","categoryId":@CATEGORY@,"colour":(3,000 levels)}"#, "(3,000 levels)", || {
        [b"[".repeat(3_000), b"]".repeat(3_000)].concat()
    }),
    (r#"{"name":"@NAME@","categoryId":@CATEGORY@(2 KiB of spaces)}"#, "(2 KiB of spaces)", || b" ".repeat(2 * 1024)),
    (r#"{"name":"@NAME@","categoryId":@CATEGORY@(65 KiB of spaces)}"#, "(65 KiB of spaces)", || b" ".repeat(65 * 1024)),
];

/// Unusual query strings of lists.
const LISTS: [&str; 5] = ["limit=-1", "limit=101", "limit=4294967297", "limit=99999999999999999999", "status=sold"];

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
    for (template, mark, filling) in HARD.into_iter().filter(|_| creates) {
        let (step, body) = filled(session, template);
        let body = replaced(body.as_bytes(), mark.as_bytes(), &filling());
        ask(session, Request::new("POST", "/pets").json(body), &format!("POST /pets {step}")).await?;
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
