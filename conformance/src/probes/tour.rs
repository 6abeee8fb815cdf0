//! The fixed tour: every operation, every row of the error table, the filter, the limits, the headers and the deprecation,
//! in fewer than sixty requests with the key and some twenty without. Its requests are also what uses up the window.
//!
//! Each request has a step, which tells it apart from names, ids and keys: the transcript of the tour is made of these.

use std::ops::Range;
use std::time::Duration;

use crate::http::key_forms::{basic, toggle_case};

use super::session::{Session, Stop, created_id};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::request::STATUSES;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::json::Json;
use animal_store_rules::trace::rate_limit;

/// More animals than the default limit, so that the default shows.
const ENOUGH: usize = 21;

/// The largest number that a category can have.
const LARGEST: &str = "9223372036854775807";

/// Valid creations that are made in any case: each status twice, and none once.
const REQUIRED: usize = 7;

/// How long to wait before looking again for what was created: this long at first, and twice as long each time.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Bodies that must be refused, each wrong in one way. Where there is a name it is a new one, to be looked for afterwards.
const REFUSED: [&str; 11] = [
    r#"{"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@"}"#,
    r#"{"name":12345,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":"@CATEGORY@"}"#,
    r#"{"name":"@NAME@","categoryId":1.5}"#,
    r#"{"name":"@NAME@","categoryId":9223372036854775808}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"Available"}"#,
    "[]",
    r#"{"name":"@NAME@","categoryId":@CATEGORY@"#,
    "",
];

/// Bodies that may be accepted or refused.
const UNUSUAL: [&str; 7] = [
    r#"{"name":"@NAME@","categoryId":9223372036854775807}"#,
    r#"{"name":"00@DIGITS@","categoryId":-9007199254740993,"status":"sold"}"#,
    r#"{"name":"o'neil's  \"old\" cat+dog, 100%41 a\\b/c <&> Zo\u00eb \ud83d\udc22 @NAME@ x-42","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold","colour":"grey"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold","id":@FOREIGN@}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":null}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@.0}"#,
];

/// Lists that are asked for at the same time.
const TOGETHER: [&str; 3] = ["status=available&limit=2", "status=pending&limit=100", "status=sold&limit=3"];

/// Further lists, of every kind; the long ones come first.
const LISTS: [&str; 7] = ["", "limit=1", "limit=0", "limit=1000", "limit=ten", "status=lost", "status=SOLD"];

/// Takes the tour. Creations that fill the catalogue, and some lists, are sent at once, as many as `concurrency` says.
pub(super) async fn run(session: &mut Session<'_>, profile: Profile, concurrency: usize) -> Result<(), Stop> {
    session.begin("tour");
    // Before anything is created: on an empty catalogue, the empty result of a filter.
    ask(session, Request::new("GET", "/pets").query("status=sold"), "GET /pets?status=sold").await?;
    ask(session, Request::new("GET", "/store/orders"), "GET /store/orders").await?;
    let mut ids = listed_ids(session.trace.exchanges.first());
    if profile.creates() {
        for template in REFUSED {
            create(session, template).await?;
        }
        for template in UNUSUAL {
            create(session, template).await?;
        }
        let (_, body) = filled(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#);
        ask(session, Request::new("POST", "/pets").body("text/plain", body), "POST /pets as text/plain").await?;
        ids = creations(session, ids, concurrency).await?;
    } else {
        session.leave_out("get.", "there was no animal to fetch, and the profile read-only creates none");
        session
            .leave_out("versioning.lifetime", "there was no animal to fetch, and the profile read-only creates none");
    }
    read_back(session, &ids, concurrency).await?;
    // After the same URLs were asked for with the key: what a cache keeps of an answer is not for everybody.
    without_a_key(session, ids.last().copied().unwrap_or(1), profile).await?;
    lists(session, concurrency).await?;
    let lower = format!("bearer {}", session.key().reveal());
    session.step("GET /pets with `bearer` in lower case");
    session.send(Request::new("GET", "/pets").query("limit=1").authorization(lower)).await?;
    session.step("");
    Ok(())
}

/// Sends a request with the key, as this step of the tour.
pub(super) async fn ask<'s>(session: &'s mut Session<'_>, request: Request, step: &str) -> Result<&'s Exchange, Stop> {
    session.step(step);
    session.ask(request).await
}

/// A limit as large as the smallest of a day may be that of a day, which says nothing of the minute.
const MAY_BE_A_DAY: u64 = 1_000;

/// Sends reads with the key at the same time; one after the other where the headers do not tell that the minute has room for them:
/// several that are refused may bring a ban.
async fn ask_at_once(session: &mut Session<'_>, requests: Vec<Request>, concurrency: usize) -> Result<(), Stop> {
    let told =
        session.last_answer_to(&session.key()).and_then(Exchange::response).and_then(|r| rate_limit::read(r).window());
    let tells_minute = told.is_some_and(|window| window.limit < MAY_BE_A_DAY);
    let wanted = requests.len().min(concurrency.max(1));
    let size = if tells_minute { session.at_once(wanted).max(1) } else { 1 };
    for requests in requests.chunks(size) {
        match requests {
            [request] => drop(session.ask(request.clone()).await?),
            several => drop(session.ask_together(several.to_vec()).await?),
        }
    }
    Ok(())
}

/// A number that is new as a name.
fn digits(session: &mut Session<'_>) -> String {
    session.random.u64(1_000_000_000..1_000_000_000_000).to_string()
}

/// A template without its marks, and with a fresh name or digits, the category and a foreign id for them.
pub(super) fn filled(session: &mut Session<'_>, template: &str) -> (String, String) {
    let step = template.replace('@', "");
    let mut body = template.replace("@CATEGORY@", &session.trace.context.category_id.to_string());
    if body.contains("@NAME@") {
        body = body.replace("@NAME@", &session.fresh_name());
    }
    if body.contains("@DIGITS@") {
        body = body.replace("@DIGITS@", &digits(session));
    }
    if body.contains("@FOREIGN@") {
        body = body.replace("@FOREIGN@", &session.random.i64(1 << 61..1 << 62).to_string());
    }
    (step, body)
}

pub(super) async fn create(session: &mut Session<'_>, template: &str) -> Result<(), Stop> {
    let (step, body) = filled(session, template);
    ask(session, Request::new("POST", "/pets").json(body), &format!("POST /pets {step}")).await?;
    Ok(())
}

/// The ids that an answer to a list shows.
fn listed_ids(exchange: Option<&Exchange>) -> Vec<i64> {
    let body = exchange.and_then(Exchange::response).map_or(&[][..], |response| &response.body);
    match Json::parse_foreign(body) {
        Ok(Json::Array(items)) => items.iter().filter_map(|item| item.get("id")?.as_int64()).collect(),
        _ => Vec::new(),
    }
}

/// Valid creations: the required ones, and then, in bursts, so many more that the default limit shows. Returns all known ids.
async fn creations(session: &mut Session<'_>, listed: Vec<i64>, concurrency: usize) -> Result<Vec<i64>, Stop> {
    let mut ids = listed;
    ids.extend(session.trace.exchanges.iter().filter_map(created_id));
    for number in 0..REQUIRED {
        let template = match STATUSES.get(number % 4) {
            // The order of members means nothing.
            Some(status) if number > 4 => format!(r#"{{"status":"{status}","categoryId":@CATEGORY@,"name":"@NAME@"}}"#),
            Some(status) => format!(r#"{{"name":"@NAME@","categoryId":@CATEGORY@,"status":"{status}"}}"#),
            None => r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#.to_owned(),
        };
        let (step, body) = filled(session, &template);
        let exchange = ask(session, Request::new("POST", "/pets").json(body), &format!("POST /pets {step}")).await?;
        ids.extend(created_id(exchange));
    }
    // Even a full catalogue gets a small burst: that ids stay unique shows only when creations meet. A candidate that
    // creates nothing is not asked again and again.
    let wanted = ENOUGH.saturating_sub(ids.len()).max(BURST);
    let mut made = 0;
    while made < wanted && !ids.is_empty() {
        let size = session.at_once((wanted - made).min(concurrency.max(1)));
        ids.extend(burst_of(session, made..made + size).await?);
        made += size;
    }
    // Unusual names may have been refused.
    let missing = ENOUGH.saturating_sub(ids.len()).min(UNUSUAL_NAMES);
    if !ids.is_empty() && missing > 0 {
        ids.extend(burst_of(session, made..made + missing).await?);
    }
    Ok(ids)
}

/// The fewest creations of a burst.
const BURST: usize = 6;

/// The place in a burst of the creation that differs from the others.
const DIFFERENT: usize = 2;

/// Creations of a burst, from the first, that have unusual names.
const UNUSUAL_NAMES: usize = 4;

/// Sends creations all at once, those with these places among all of them, and returns the ids that they were given.
async fn burst_of(session: &mut Session<'_>, places: Range<usize>) -> Result<Vec<i64>, Stop> {
    let mut requests = Vec::with_capacity(places.len());
    let any_category = session.created_with(LARGEST).is_some();
    for place in places {
        let name = name_in_burst(session, place);
        // Nearly all with one status, so that more have it than half the default limit: then a smaller limit under a filter shows.
        // One differs, so that it shows when requests at the same time get into each other.
        let template = match place {
            DIFFERENT if any_category => format!(r#"{{"name":"{name}","categoryId":77001,"status":"pending"}}"#),
            DIFFERENT => format!(r#"{{"name":"{name}","categoryId":@CATEGORY@,"status":"pending"}}"#),
            _ => format!(r#"{{"name":"{name}","categoryId":@CATEGORY@,"status":"sold"}}"#),
        };
        let (_, body) = filled(session, &template);
        requests.push(Request::new("POST", "/pets").json(body));
    }
    session.step("POST /pets, many at once");
    Ok(session.ask_together(requests).await?.iter().filter_map(created_id).collect())
}

/// A name as people have them; the first few may be refused, and must not be altered or be too much for the service.
fn name_in_burst(session: &mut Session<'_>, place: usize) -> String {
    let name = session.fresh_name();
    match place {
        // Longer than columns are by default.
        0 => format!("{name} {}", "of the long name ".repeat(18).trim_end()),
        // Not escaped, so in bytes beyond ASCII.
        1 => format!("Zo\u{eb} \u{732b} {name} no. 4-2"),
        // What some languages take for a number.
        DIFFERENT => digits(session),
        // Two animals may have one name.
        3 => session.first_name().unwrap_or(name),
        _ => name,
    }
}

/// No credential and bad ones, on every operation, with good requests and bad ones. Since nothing but 401 is right, one request can
/// ask for two things: a bad one with a bad key shows which of them is looked at, and whether the key is. None of these spends it.
async fn without_a_key(session: &mut Session<'_>, id: i64, profile: Profile) -> Result<(), Stop> {
    let key = session.key();
    let key = key.reveal();
    let unknown = format!("Bearer conform-unknown-{:016x}", session.random.u64(..));
    let long = format!("{unknown}{}", "-and-longer-than-others".repeat(12));
    let list = || Request::new("GET", "/pets");
    let get = || Request::new("GET", format!("/pets/{id}"));
    let orders = || Request::new("GET", "/store/orders");
    let shortened = &key[..key.len() - 1];
    let mut requests = vec![
        ("GET /pets without a key", list()),
        ("GET /pets/{petId} without a key", get()),
        ("GET /store/orders without a key", orders()),
        ("GET /pets?status=lost with an unknown key", list().query("status=lost").authorization(unknown.clone())),
        ("GET /pets/{petId} with an unknown key", get().authorization(unknown.clone())),
        ("GET /store/orders with an unknown key", orders().authorization(unknown.clone())),
        ("GET /pets/9223372036854775807 without a key", Request::new("GET", "/pets/9223372036854775807")),
        ("GET /pets?limit=0 without a key", list().query("limit=0")),
        (
            "GET /pets/not-a-number with a letter and the key",
            Request::new("GET", "/pets/not-a-number").authorization(format!("Bearer x{key}")),
        ),
        ("GET /pets with the key and a letter more", list().authorization(format!("Bearer {key}x"))),
        ("GET /pets/{petId} with the key and a letter less", get().authorization(format!("Bearer {shortened}"))),
        ("GET /store/orders with the key without a scheme", orders().authorization(key)),
        ("GET /pets with an empty key", list().authorization("Bearer")),
        ("GET /pets/{petId} with the key under Token", get().authorization(format!("Token {key}"))),
        ("GET /pets with the key under Basic, encoded", list().authorization(basic(key))),
        ("GET /pets with another last letter", list().authorization(format!("Bearer {}", with_another_end(key)))),
        ("GET /pets with the key elsewhere", elsewhere_in_the_head(list().query(key_everywhere(key)), key)),
    ];
    let toggled = toggle_case(key);
    if toggled != key {
        requests.push(("GET /pets with the key in another case", list().authorization(format!("Bearer {toggled}"))));
    }
    if profile.creates() {
        let mut post = |template: &str| Request::new("POST", "/pets").json(filled(session, template).1);
        let followed = post(r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"pending"}"#);
        requests.extend([
            ("POST /pets with the key and a word more", followed.authorization(format!("Bearer {key} more"))),
            ("POST /pets without a key", post(r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#)),
            (
                "POST /pets with an unknown key",
                post(r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#).authorization(unknown),
            ),
            ("POST /pets { without a key", post("{")),
            ("POST /pets without a body, with a long unknown key", post("").authorization(long)),
            ("POST /pets with a faulty body and no key", post(r#"{"name":"@NAME@","status":"lost"}"#)),
        ]);
    }
    for (step, request) in requests {
        session.step(step);
        session.send(request).await?;
    }
    Ok(())
}

/// A key of the same length that differs in its last letter alone.
fn with_another_end(key: &str) -> String {
    let (start, end) = key.split_at(key.len() - 1);
    format!("{start}{}", if end == "x" { "y" } else { "x" })
}

/// The key under every name that a query parameter for keys goes by.
fn key_everywhere(key: &str) -> String {
    ["access_token", "api_key", "apiKey", "apikey", "api-key", "key", "token", "auth"]
        .map(|name| format!("{name}={key}"))
        .join("&")
}

/// A request with the key in every header field that people put keys in, but for the right one.
fn elsewhere_in_the_head(request: Request, key: &str) -> Request {
    ["X-API-Key", "Api-Key", "X-Auth-Token", "X-Credential-Token", "Proxy-Authorization"]
        .into_iter()
        .fold(request, |request, name| request.header(name, key))
        .header("Cookie", format!("api_key={key}; token={key}"))
}

/// Animals by their ids, and ids that no animal has.
async fn read_back(session: &mut Session<'_>, ids: &[i64], concurrency: usize) -> Result<(), Stop> {
    // The last creation, as soon as it can be read.
    if let Some(id) = ids.last() {
        let get = || Request::new("GET", format!("/pets/{id}"));
        let mut pause = LOOK_AGAIN;
        while ask(session, get(), "GET /pets/{petId}").await?.status() == Some(404) && may_lag(session) {
            session.wait(pause, "what was created to be readable").await?;
            pause *= 2;
        }
    }
    // One with an unusual name or else from the middle, and the largest category of all, at once: handlers that share what they
    // should not show it when they meet.
    let unusual = session.created_with("Zo").or_else(|| ids.get(ids.len() / 2).copied());
    let others: Vec<i64> = unusual.into_iter().chain(session.created_with(LARGEST)).collect();
    session.step("GET /pets/{petId}, several at once");
    let requests = others.iter().map(|id| Request::new("GET", format!("/pets/{id}"))).collect();
    ask_at_once(session, requests, concurrency).await?;
    let nobody = session.random.i64(-(1 << 62)..-(1 << 61)).to_string();
    for (id, step) in [
        ("9223372036854775807", "GET /pets/9223372036854775807"),
        (&nobody, "GET /pets/{an id that nobody has}"),
        ("not-a-number", "GET /pets/not-a-number"),
        ("9223372036854775808", "GET /pets/9223372036854775808"),
    ] {
        ask(session, Request::new("GET", format!("/pets/{id}")), step).await?;
    }
    Ok(())
}

/// Whether the last creation is so recent that reads may still lag it.
fn may_lag(session: &Session<'_>) -> bool {
    let last = session.trace.exchanges.iter().rev().find(|exchange| created_id(exchange).is_some());
    last.is_some_and(|last| session.now().duration_since(last.received_at) <= Tolerance::READ_LAG.duration())
}

/// Lists of every kind, first one that shows everything, again until what was created is there.
async fn lists(session: &mut Session<'_>, concurrency: usize) -> Result<(), Stop> {
    let created: Vec<i64> = session.trace.exchanges.iter().filter_map(created_id).collect();
    let mut pause = LOOK_AGAIN;
    loop {
        let all = Request::new("GET", "/pets").query("limit=100");
        let listed = listed_ids(Some(ask(session, all, "GET /pets?limit=100").await?));
        if listed.len() >= 100 || created.iter().all(|id| listed.contains(id)) || !may_lag(session) {
            break;
        }
        session.wait(pause, "what was created to be listed").await?;
        pause *= 2;
    }
    session.step("GET /pets by each status, at once");
    ask_at_once(session, TOGETHER.map(|query| Request::new("GET", "/pets").query(query)).into(), concurrency).await?;
    for query in LISTS {
        let list = Request::new("GET", "/pets");
        let request = if query.is_empty() { list } else { list.query(query) };
        let step = format!("GET {}", request.target());
        ask(session, request, &step).await?;
    }
    Ok(())
}
