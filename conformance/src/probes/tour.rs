//! The fixed tour: every operation, every row of the error table, the filter, the limits, the headers and the deprecation,
//! in about fifty requests with the key and a dozen without. Its requests are also what uses up the window.

use std::time::Duration;

use jiff::Timestamp;

use super::session::{Session, Stop};
use crate::options::Profile;
use crate::rules::docket::READ_LAG;
use crate::rules::meaning::STATUSES;
use crate::wire::exchange::{Exchange, Request};
use crate::wire::json::Json;

/// More animals than the default limit, so that the default shows.
const ENOUGH: usize = 21;

/// How long to wait before looking again for what was created: this long at first, and twice as long each time.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Takes the tour.
pub(super) async fn run(session: &mut Session<'_>, profile: Profile) -> Result<(), Stop> {
    session.begin("tour");
    session.ask(Request::new("GET", "/store/orders")).await?;
    let mut ids = listed_ids(session.trace.exchanges.first());
    if profile.creates() {
        refused_creations(session).await?;
        unusual_creations(session).await?;
        ids = creations(session, ids).await?;
    } else {
        session.leave_out("get.", "there was no animal to fetch, and the profile read-only creates none");
        session
            .leave_out("versioning.lifetime", "there was no animal to fetch, and the profile read-only creates none");
    }
    without_a_key(session, ids.last().copied().unwrap_or(1), profile).await?;
    read_back(session, &ids).await?;
    lists(session).await?;
    elsewhere(session).await
}

/// The ids that an answer to a list shows.
fn listed_ids(exchange: Option<&Exchange>) -> Vec<i64> {
    let body = exchange.and_then(Exchange::response).map_or(&[][..], |response| &response.body);
    match Json::parse(body) {
        Ok(Json::Array(items)) => items.iter().filter_map(|item| item.get("id")?.as_int64()).collect(),
        _ => Vec::new(),
    }
}

/// Bodies that must be refused, each wrong in one way. Where there is a name it is a new one, to be looked for afterwards.
async fn refused_creations(session: &mut Session<'_>) -> Result<(), Stop> {
    let category = session.trace.context.category_id;
    let templates = [
        format!(r#"{{"categoryId":{category}}}"#),
        r#"{"name":"NAME"}"#.to_owned(),
        format!(r#"{{"name":12345,"categoryId":{category}}}"#),
        format!(r#"{{"name":"NAME","categoryId":"{category}"}}"#),
        r#"{"name":"NAME","categoryId":1.5}"#.to_owned(),
        r#"{"name":"NAME","categoryId":9223372036854775808}"#.to_owned(),
        format!(r#"{{"name":"NAME","categoryId":{category},"status":"lost"}}"#),
        format!(r#"{{"name":"NAME","categoryId":{category},"status":"Available"}}"#),
        "[]".to_owned(),
        format!(r#"{{"name":"NAME","categoryId":{category}"#),
    ];
    for template in templates {
        let name = session.fresh_name();
        session.ask(Request::new("POST", "/pets").json(template.replace("NAME", &name))).await?;
    }
    session.ask(Request::new("POST", "/pets").json(Vec::new())).await?;
    Ok(())
}

/// Bodies that may be accepted or refused.
async fn unusual_creations(session: &mut Session<'_>) -> Result<(), Stop> {
    let category = session.trace.context.category_id;
    let foreign_id = session.random.i64(1 << 61..1 << 62);
    let templates = [
        r#"{"name":"NAME","categoryId":9007199254740993}"#.to_owned(),
        r#"{"name":"NAME","categoryId":9223372036854775807}"#.to_owned(),
        r#"{"name":"NAME","categoryId":-9223372036854775808,"status":"sold"}"#.to_owned(),
        format!(r#"{{"name":"Zo\u00eb \ud83d\udc22 NAME","categoryId":{category}}}"#),
        format!(r#"{{"name":"NAME","categoryId":{category},"colour":"grey"}}"#),
        format!(r#"{{"name":"NAME","categoryId":{category},"id":{foreign_id}}}"#),
        format!(r#"{{"name":"NAME","categoryId":{category},"status":null}}"#),
        format!(r#"{{"name":"NAME","categoryId":{category}.0}}"#),
    ];
    for template in templates {
        let name = session.fresh_name();
        session.ask(Request::new("POST", "/pets").json(template.replace("NAME", &name))).await?;
    }
    let body = new_pet(session, None);
    session.ask(Request::new("POST", "/pets").body("text/plain", body)).await?;
    Ok(())
}

/// A valid body with a fresh name.
fn new_pet(session: &mut Session<'_>, status: Option<&str>) -> String {
    let name = session.fresh_name();
    let category = session.trace.context.category_id;
    match status {
        Some(status) => format!(r#"{{"name":"{name}","categoryId":{category},"status":"{status}"}}"#),
        None => format!(r#"{{"name":"{name}","categoryId":{category}}}"#),
    }
}

/// Valid creations: each status twice, none once, and so many more that the default limit shows. Returns all known ids.
async fn creations(session: &mut Session<'_>, listed: Vec<i64>) -> Result<Vec<i64>, Stop> {
    let mut ids = listed;
    ids.extend(session.trace.exchanges.iter().filter_map(created_id));
    let required = STATUSES.iter().cycle().take(6).map(|status| Some(*status)).chain([None]);
    let filling = STATUSES.iter().cycle().map(|status| Some(*status));
    for (made, status) in required.chain(filling).enumerate() {
        // A candidate that creates nothing is asked only a few times.
        if made >= 7 && (ids.len() >= ENOUGH || ids.is_empty()) || made >= 7 + ENOUGH {
            break;
        }
        let body = new_pet(session, status);
        let exchange = session.ask(Request::new("POST", "/pets").json(body)).await?;
        ids.extend(created_id(exchange));
    }
    Ok(ids)
}

/// The id that a creation was answered with.
fn created_id(exchange: &Exchange) -> Option<i64> {
    let response = exchange.response().filter(|response| response.status == 201)?;
    Json::parse(&response.body).ok()?.get("id")?.as_int64()
}

/// No credential and bad ones, on every operation, with good requests and bad ones. None of these spends the key.
async fn without_a_key(session: &mut Session<'_>, id: i64, profile: Profile) -> Result<(), Stop> {
    let key = session.key();
    let key = key.reveal();
    let unknown = format!("Bearer {}{:016x}", "conform-unknown-", session.random.u64(..));
    let list = || Request::new("GET", "/pets");

    session.send(list()).await?;
    session.send(Request::new("GET", format!("/pets/{id}"))).await?;
    session.send(Request::new("GET", "/store/orders")).await?;
    session.send(list().authorization(unknown.clone())).await?;
    session.send(Request::new("GET", format!("/pets/{id}")).authorization(unknown.clone())).await?;
    session.send(Request::new("GET", "/store/orders").authorization(unknown.clone())).await?;
    session.send(list().query("limit=0&status=lost")).await?;
    session.send(Request::new("GET", "/pets/not-a-number").authorization(unknown.clone())).await?;
    session.send(list().authorization(format!("Bearer {key}x"))).await?;
    session.send(list().authorization(format!("Bearer {}", &key[..key.len() - 1]))).await?;
    let toggled = toggle_case(key);
    if toggled != key {
        session.send(list().authorization(format!("Bearer {toggled}"))).await?;
    }
    session.send(list().authorization(key)).await?;
    session.send(list().authorization(format!("Basic {key}"))).await?;
    session.send(list().query(format!("api_key={key}"))).await?;
    session.send(list().header("X-Api-Key", key)).await?;
    if profile.creates() {
        let body = new_pet(session, None);
        session.send(Request::new("POST", "/pets").json(body)).await?;
        let body = new_pet(session, Some("sold"));
        session.send(Request::new("POST", "/pets").json(body).authorization(unknown.clone())).await?;
        session.send(Request::new("POST", "/pets").json("{")).await?;
        session.send(Request::new("POST", "/pets").json(r#"{"status":"lost"}"#).authorization(unknown)).await?;
    }
    Ok(())
}

/// The key with the case of each letter turned round.
pub(crate) fn toggle_case(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
}

/// Animals by their ids, and ids that no animal has.
async fn read_back(session: &mut Session<'_>, ids: &[i64]) -> Result<(), Stop> {
    // The last creation, one from the middle, and the largest category of all.
    let largest = session
        .trace
        .exchanges
        .iter()
        .find(|e| {
            e.request.body.as_ref().is_some_and(|body| body.bytes.windows(19).any(|w| w == b"9223372036854775807"))
        })
        .and_then(created_id);
    let mut wanted: Vec<i64> = ids.last().into_iter().chain(ids.get(ids.len() / 2)).copied().chain(largest).collect();
    wanted.dedup();
    for id in wanted {
        let get = || Request::new("GET", format!("/pets/{id}"));
        let mut pause = LOOK_AGAIN;
        while session.ask(get()).await?.status() == Some(404) && may_lag(session) {
            session.wait(pause, "what was created to be readable").await?;
            pause *= 2;
        }
    }
    let nobody = session.random.i64(1 << 61..1 << 62);
    for id in ["9223372036854775807", &nobody.to_string(), "not-a-number", "9223372036854775808"] {
        session.ask(Request::new("GET", format!("/pets/{id}"))).await?;
    }
    Ok(())
}

/// Whether the last creation is so recent that reads may still lag it.
fn may_lag(session: &Session<'_>) -> bool {
    let last = session.trace.exchanges.iter().rev().find(|exchange| created_id(exchange).is_some());
    last.is_some_and(|last| Timestamp::now().duration_since(last.received_at) <= READ_LAG)
}

/// Lists of every kind.
async fn lists(session: &mut Session<'_>) -> Result<(), Stop> {
    let all = || Request::new("GET", "/pets").query("limit=100");
    let created: Vec<i64> = session.trace.exchanges.iter().filter_map(created_id).collect();
    let mut pause = LOOK_AGAIN;
    loop {
        let listed = listed_ids(Some(session.ask(all()).await?));
        if listed.len() >= 100 || created.iter().all(|id| listed.contains(id)) || !may_lag(session) {
            break;
        }
        session.wait(pause, "what was created to be listed").await?;
        pause *= 2;
    }
    let queries = [
        "",
        "limit=1",
        "status=available",
        "status=pending&limit=100",
        "status=sold&limit=5",
        "limit=0",
        "limit=101",
        "limit=ten",
        "status=lost",
        "status=SOLD",
    ];
    for query in queries {
        let list = Request::new("GET", "/pets");
        session.ask(if query.is_empty() { list } else { list.query(query) }).await?;
    }
    Ok(())
}

/// What the specification says nothing about: a path, a method, and the scheme in lower case.
async fn elsewhere(session: &mut Session<'_>) -> Result<(), Stop> {
    let key = session.key();
    session.ask(Request::new("GET", "/conform-no-such-path")).await?;
    session.ask(Request::new("PUT", "/pets")).await?;
    let lower = format!("bearer {}", key.reveal());
    session.send(Request::new("GET", "/pets").query("limit=1").authorization(lower)).await?;
    Ok(())
}
