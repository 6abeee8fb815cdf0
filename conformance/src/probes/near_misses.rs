//! Near misses: requests that do not fit, in addition to the tour, in the first window of a Free key. Each is wrong in one way: the
//! wrong JSON type of one member, text that is not quite JSON, bodies that are hard to read, and identifiers that are not quite those
//! of an animal.

use super::cost::Cost;
use super::replaced;
use super::session::{Session, Stop};
use super::steps::{ask, create, fetch, filled, list, listed_ids};
use animal_store_rules::trace::exchange::Request;

/// The usual cost of this probe.
pub(super) const COST: Cost = Cost {
    keyed: BODIES.len() + UNUSUAL.len() + HARD.len() + LISTS.len() + IDS + 8,
    keyless: 5,
    animals: UNUSUAL.len() + HARD.len() + 1,
};

/// Invalid bodies. Those from [`IN_TURN`] on are sent in turn with reads.
const BODIES: [&str; 27] = [
    r#"{"name":null,"categoryId":@CATEGORY@,"status":"available"}"#,
    r#"{"name":["@NAME@"],"categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":{"first":"@NAME@"},"categoryId":@CATEGORY@}"#,
    r#"{"name":true,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":null}"#,
    r#"{"name":"@NAME@","categoryId":true}"#,
    r#"{"name":"@NAME@","categoryId":"one","status":"pending"}"#,
    r#"{"name":"@NAME@","categoryId":[@CATEGORY@]}"#,
    r#"{"name":"@NAME@","categoryId":-9223372036854775809}"#,
    r#"{"name":"@NAME@","categoryId":""}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":0}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":["sold"]}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":true}"#,
    // A reader that is derived from an enumeration may take this for the variant.
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":{"sold":null}}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":""}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"SOLD"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold\n"}"#,
    // A server that left this unread on its connection would take it for the start of the next request.
    "null",
    "{}",
    r#"[{"name":"@NAME@","categoryId":@CATEGORY@}]"#,
    r#"{"Name":"@NAME@","CategoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@} x"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@}{"name":"@NAME@","categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":007}"#,
    r#"{"name":"@NAME@","categoryId":+1}"#,
    r#"{"name":"@NAME@","categoryId":NaN}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,}"#,
];

/// The place of `null` in [`BODIES`].
const IN_TURN: usize = 17;

/// The number of identifiers that [`near_ids`] returns: the id of an animal, and some that resemble it.
const IDS: usize = 5;

/// The number of identifiers of [`near_ids`] that are sent with a selection of requirements about other ids: those of no animal, to a
/// reader that neither wraps numbers nor reads other bases.
pub(super) const OTHER_IDS: usize = 3;

/// The smallest int64, whose absolute value is not an int64.
const SMALLEST: &str = "/pets/-9223372036854775808";

/// Bodies that may be accepted or rejected, each for one reason, so that a refusal has only one explanation.
const UNUSUAL: [&str; 4] = [
    r#"{"name":"@NAME@","categoryId":@CATEGORY@e0,"status":"sold"}"#,
    r#"{"name":"@NAME@\u0000 and more","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"@NAME@","categoryId":0,"status":"sold"}"#,
    r#"{"name":"@NAME@","categoryId":-9223372036854775808,"status":"sold"}"#,
];

/// A template, a placeholder in it, and the bytes that replace the placeholder.
type HardBody = (&'static str, &'static str, fn() -> Vec<u8>);

/// Bodies that are hard to read, each with a placeholder and its replacement: some must be refused, all may be.
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
    (r#"{"name":"@NAME@","categoryId":@CATEGORY@(2 KiB of spaces),"status":"sold"}"#, "(2 KiB of spaces)", || {
        b" ".repeat(2 * 1024)
    }),
    (r#"{"name":"@NAME@","categoryId":@CATEGORY@(110 KiB of spaces)}"#, LONGEST, || b" ".repeat(110 * 1024)),
];

/// The placeholder of the longest body. A server that refuses it may leave a part of it unread.
const LONGEST: &str = "(110 KiB of spaces)";

/// The query of a list that is requested without a key before it is requested with the key.
const AFTER_A_REFUSAL: &str = "status=sold";

/// Unusual query strings of lists.
const LISTS: [&str; 4] = ["limit=-1", "limit=4294967297", "limit=99999999999999999999", AFTER_A_REFUSAL];

/// Sends all near misses; without `creates`, only those that cannot create an animal.
pub(super) async fn run(session: &mut Session<'_>, creates: bool) -> Result<(), Stop> {
    session.begin("near misses");
    if creates {
        for template in BODIES[..IN_TURN].iter().chain(&UNUSUAL) {
            create(session, template).await?;
        }
        hard_bodies(session).await?;
        let (_, body) = filled(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#);
        ask(session, Request::new("POST", "/pets").body("", body), "POST /pets without a media type").await?;
    }
    in_turn(session, if creates { &BODIES[IN_TURN..] } else { &[] }).await?;
    ask(session, Request::new("GET", "/conform-no-such-path"), "GET /conform-no-such-path").await?;
    if creates {
        ask(session, Request::new("PUT", "/pets"), "PUT /pets").await?;
    }
    // A final list shows whether an invalid request created an animal.
    let all = list("limit=100");
    ask_and_again_without_a_key(session, all, "GET /pets?limit=100").await?;
    session.step("");
    Ok(())
}

/// Sends bodies that are hard to read, among them one that must be accepted. If ids rise by one, its id is fetched before it is
/// assigned and afterwards: a cache may have kept the response that there is no such animal.
async fn hard_bodies(session: &mut Session<'_>) -> Result<(), Stop> {
    let (mut next, mut asked_at, mut create_at) = (None, None, None);
    for (template, mark, filling) in HARD {
        let (step, body) = filled(session, template);
        if template.contains(ACCEPTED) {
            next = next_id(session);
            if let Some(next) = next {
                asked_at = ask(session, fetch(next), "GET /pets/{the next petId}").await?.request.replica;
                create_at = session.elsewhere_than(asked_at);
            }
        }
        let body = replaced(body.as_bytes(), mark.as_bytes(), &filling());
        let create = Request::new("POST", "/pets").json(body).at(create_at.take());
        // The next request on this connection is a read.
        let create = if mark == LONGEST { session.on_kept_connection(create) } else { create };
        ask(session, create, &format!("POST /pets {step}")).await?;
    }
    match next.filter(|next| session.known_ids().contains(next)) {
        Some(next) => ask(session, fetch(next).at(asked_at), "GET /pets/{petId}").await.map(drop),
        None => Ok(()),
    }
}

/// The placeholder of the hard body that must be accepted.
const ACCEPTED: &str = "(2 KiB of spaces)";

/// The id of the next animal, if ids rise by one.
fn next_id(session: &Session<'_>) -> Option<i64> {
    let ids = session.known_ids();
    let last = *ids.iter().max()?;
    (ids.len() > 2 && ids.contains(&(last - 1)) && ids.contains(&(last - 2))).then(|| last.checked_add(1))?
}

/// Sends only the fetches with identifiers that are nearly those of an animal.
pub(super) async fn other_ids(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin("near misses");
    let reads: Vec<(Request, String)> = near_ids(session).skip(1).take(OTHER_IDS).collect();
    for (read, step) in reads {
        ask(session, read, &step).await?;
    }
    session.step("");
    Ok(())
}

/// Fetches of an animal that is neither the first nor the last, and with ids that a server mistakes for its id when it truncates or
/// wraps them.
fn near_ids(session: &Session<'_>) -> impl Iterator<Item = (Request, String)> + use<> {
    let created = session.created_as("pending").or_else(|| session.known_ids().first().copied());
    let id = created.or_else(|| listed_ids(session.trace().exchanges.first()).first().copied());
    let ids = id.map(|id| -> [(String, &str); IDS] {
        // Beyond 2^53 a double cannot tell neighbours apart, and 32 bits hold none of the ids.
        let confused = if id.unsigned_abs() > 1 << 53 {
            ((id ^ 1).to_string(), "GET /pets/{the id next to petId}")
        } else {
            (id.wrapping_add(1 << 32).to_string(), "GET /pets/{petId + 2^32}")
        };
        [
            (id.to_string(), "GET /pets/{petId}"),
            confused,
            (with_2_to_the_128(id), "GET /pets/{petId + 2^128}"),
            (format!("0x{id:x}"), "GET /pets/{petId in hexadecimal}"),
            (format!("{id}abc"), "GET /pets/{petId}abc"),
        ]
    });
    let request = |(text, step): (String, &str)| (fetch(text), step.to_owned());
    ids.into_iter().flatten().map(request)
}

/// The decimal digits of an id plus 2^128: a number of 39 digits, which no usual type holds, and which wraps round to the id.
fn with_2_to_the_128(id: i64) -> String {
    // 2^128 in two parts, the lower one of 19 digits.
    const PARTS: (i128, i128) = (34_028_236_692_093_846_346, 3_374_607_431_768_211_456);
    const BASE: i128 = 10_000_000_000_000_000_000;
    let low = PARTS.1 + i128::from(id);
    format!("{}{:019}", PARTS.0 + low.div_euclid(BASE), low.rem_euclid(BASE))
}

/// Sends refused creations and reads in turn on one connection: no part of one request may show in the next.
async fn in_turn(session: &mut Session<'_>, refused: &[&str]) -> Result<(), Stop> {
    let mut reads: Vec<(Request, String)> = near_ids(session).collect();
    reads.extend(["/pets/0", SMALLEST].map(|path| (Request::new("GET", path), format!("GET {path}"))));
    reads.extend(LISTS.map(|query| (list(query), format!("GET /pets?{query}"))));
    let mut refused = refused.iter();
    for (place, (read, step)) in reads.into_iter().enumerate() {
        if place == 0 {
            ask_and_again_without_a_key(session, read, &step).await?;
            // The body of a request that is refused for its key may not have been read, and this is how a request begins.
            let request = session.on_kept_connection(Request::new("POST", "/pets").json("POST"));
            session.step("POST /pets POST without a key");
            session.ask_without_key(request).await?;
            continue;
        }
        let mut request = session.on_kept_connection(read);
        if request.query.as_deref() == Some(AFTER_A_REFUSAL) {
            // A cache may have kept the refusal.
            session.step(format!("{step} without a key, before the same with it"));
            let refused = session.ask_without_key(request.clone()).await?;
            request = request.at(refused.and_then(|refused| refused.request.replica));
        }
        ask(session, request, &step).await?;
        if let Some(template) = refused.next() {
            let (step, body) = filled(session, template);
            let request = session.on_kept_connection(Request::new("POST", "/pets").json(body));
            ask(session, request, &format!("POST /pets {step}")).await?;
        }
    }
    // Rejected bodies for which there was no read.
    for template in refused {
        create(session, template).await?;
    }
    Ok(())
}

/// Sends a request with the key, and then without one on the same connection: it must not remember the key, and a cache must not serve
/// its response.
async fn ask_and_again_without_a_key(session: &mut Session<'_>, request: Request, step: &str) -> Result<(), Stop> {
    let keyed = session.on_kept_connection(request.clone());
    let replica = ask(session, keyed, step).await?.request.replica;
    session.step(format!("{step} without a key, after the same with it"));
    let keyless = session.on_kept_connection(request).at(replica);
    session.ask_without_key(keyless).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::with_2_to_the_128;

    #[test]
    fn ids_wrap_round_at_2_to_the_128() {
        assert_eq!(with_2_to_the_128(0), "340282366920938463463374607431768211456");
        assert_eq!(with_2_to_the_128(-1), u128::MAX.to_string());
        assert_eq!(with_2_to_the_128(i64::MAX), "340282366920938463472597979468622987263");
    }
}
