//! The fixed tour: every operation, every row of the error table, the filter, the limits, the headers and the deprecation,
//! in fewer than sixty requests with the key and some twenty without. Its requests also count towards exhausting the window.
//!
//! Each request has a step, which identifies it without names, ids and keys: the transcript of the tour consists of these.

use std::ops::Range;
use std::time::Duration;

use super::CONCURRENCY;
use super::credentials;
use super::near_misses;
use super::quota::watch;
use super::session::{MAY_BE_A_DAY, Session, Stop, bearing};
use super::steps::{ask, create, creation, digits, fetch, filled, list, listed, listed_ids, new_pet, next_id, step_of};
use crate::http::pacing::window_of;
use animal_store_rules::catalogue::RunPart;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::request::STATUSES;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::json::Json;

/// More animals than the default limit, so that the default can be observed.
const ENOUGH: usize = 21;

/// The valid creations that are sent on one connection, each before a refused one: an available and a sold animal.
const BEFORE_LACKING: [usize; LACKING] = [0, 2];

/// The valid creations that are sent alone after the unusual ones: an animal without a status, and a sold one.
const ALONE: [usize; 2] = [3, 6];

/// The required creation that comes last, a pending animal: a list under its status shows a filter that lags one creation behind. Its id
/// is fetched before, if it can be foreseen: a cache may keep the response that there is no such animal.
const LAST: usize = 1;

/// The first delay before reading a new animal again; it doubles each time.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Invalid bodies with one defect each. A name in them is new, so that later reads show whether the animal was created.
const REFUSED: [&str; 11] = [
    r#"{"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@"}"#,
    r#"{"name":12345,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":"@CATEGORY@"}"#,
    r#"{"name":"@NAME@","categoryId":1.5}"#,
    r#"{"name":"@NAME@","categoryId":9223372036854775808}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"Available"}"#,
    // A reader that is derived from a type may take its fields by their order.
    r#"["@NAME@",@CATEGORY@,"sold"]"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@"#,
    "",
];

/// The number of bodies at the start of [`REFUSED`] that lack a required member.
const LACKING: usize = 2;

/// A body with the largest category but one, which may be accepted or rejected. The nearest double is beyond int64: a server that rounds
/// shows another category, even if it brings that back to the largest.
const LARGE_CATEGORY: &str = r#"{"name":"@NAME@","categoryId":9223372036854775806}"#;

/// A body with a name of many kinds of characters, which may be accepted or rejected.
const UNUSUAL_NAME: &str = r#"{"name":"o'neil's  \"old\" cat+dog, 100%41; a\\b\/c\\n <&> &amp; #1? {{n}} ${n} $& $$ %% %s Zo\u00EB \ud83d\udc22 @NAME@ x-42 7","categoryId":@CATEGORY@,"status":"available"}"#;

/// Bodies that may be accepted or rejected. The name in one is a number to some readers.
const UNUSUAL: [&str; 7] = [
    LARGE_CATEGORY,
    r#"{"name":"@NAME@","categoryId":-9007199254740993,"status":"sold"}"#,
    UNUSUAL_NAME,
    r#"{"name":"@DIGITS@","categoryId":@CATEGORY@,"status":"sold","colour":"grey"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold","id":@FOREIGN@}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":null}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@.0,"status":"sold"}"#,
];

/// Lists before anything is created. They are concurrent, and often the first requests of a window, each of which must be counted.
const AT_FIRST: [&str; 2] = ["status=available", "status=sold"];

/// A list that is requested while there may be animals but none of this status, and again when there are some, as soon as reads may no
/// longer lag. This shows a filter that returns everything where nothing matches, and a list that is kept for longer than reads may lag.
const PENDING: &str = "limit=100&status=pending";

/// The list of all animals, as far as a list may be long.
const ALL: &str = "limit=100";

/// The list of one animal, which is sent beside creations if there are any.
const SHORTEST: &str = "limit=1";

/// Further lists of every kind; the long ones first. A filter may look for a part of a status, or for a status in another case.
const LISTS: [&str; 7] = ["", SHORTEST, "limit=0", "limit=1000", "limit=ten", "status=availabl", "status=SOLD"];

/// The usual number of creations in an empty catalogue. For each unusual body or name that a service rejects, a plain one is sent.
const CREATIONS: usize = REFUSED.len() + AS_TEXT + ENOUGH + USUALLY_REJECTED;

/// The number of [`UNUSUAL`] bodies that most services reject.
const USUALLY_REJECTED: usize = 1;

/// A creation with another media type.
const AS_TEXT: usize = 1;

/// The usual number of animals that the tour creates.
pub(super) const ANIMALS: usize = ENOUGH + AS_TEXT;

/// The usual number of requests with the key of each part of the tour.
const COSTS: [(RunPart, usize); 6] = [
    (RunPart::FirstLists, AT_FIRST.len() + 1),
    (RunPart::Orders, 1),
    // The last creation has a fetch before it.
    (RunPart::Creations, CREATIONS + 1),
    (RunPart::Fetches, 3),
    (RunPart::OtherIds, OTHER_IDS),
    // Besides, there are two of new animals, two by status, and one with the scheme in lower case.
    (RunPart::Lists, LISTS.len() + 5),
];

/// The usual number of requests with the key that a run of this scope sends in preflight and tour.
pub(super) fn keyed(scope: &Scope) -> usize {
    let is_sent = |part: RunPart| scope.needs(part) && (part != RunPart::Creations || scope.profile.creates());
    let needed = COSTS.iter().filter(|(part, _)| is_sent(*part));
    1 + needed.map(|(_, cost)| cost).sum::<usize>()
}

/// The animals that the tour knows.
#[derive(Default)]
struct Animals {
    /// The ids of all animals, those of the tour last.
    ids: Vec<i64>,
    /// The animal with the largest category but one, if the service knows it.
    large_category: Option<i64>,
    /// An animal with an unusual name, if the service accepts one.
    unusual_name: Option<i64>,
}

/// Runs the tour. Creations that fill the catalogue, and some lists, are sent concurrently. With `watches_window`, it pauses twice to see how
/// the window goes on. With `sends_keyless`, the tour has requests without a valid key.
pub(super) async fn run(session: &mut Session<'_>, watches_window: bool, sends_keyless: bool) -> Result<(), Stop> {
    let scope = &session.options.judging.scope;
    let (profile, needs) = (scope.profile, |part: RunPart| scope.needs(part));
    session.begin("tour");
    let mut animals = Animals { ids: listed_ids(session.trace.exchanges.first()), ..Animals::default() };
    if needs(RunPart::FirstLists) {
        session.step("GET /pets by status, at first");
        ask_at_once(session, AT_FIRST.map(list).into()).await?;
    }
    if needs(RunPart::Orders) {
        ask(session, Request::new("GET", "/store/orders"), "GET /store/orders").await?;
    }
    let creates = profile.creates() && needs(RunPart::Creations);
    if creates {
        first_creations(session, &mut animals).await?;
    }
    if needs(RunPart::FirstLists) {
        ask(session, list(PENDING), &format!("GET /pets?{PENDING}, at first")).await?;
    }
    if creates {
        let body = filled(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#);
        let as_text = Request::new("POST", "/pets").body("text/plain", body);
        animals.ids.extend(ask(session, as_text, "POST /pets as text/plain").await?.created_id());
        creations(session, &mut animals).await?;
    } else if !profile.creates() {
        for requirements in ["get.", "versioning.lifetime"] {
            session.leave_out(requirements, "there was no animal to fetch, and the profile read-only creates none");
        }
    }
    // Before an animal changes by itself, and while replicas may still lag.
    if needs(RunPart::Fetches) {
        read_back(session, &animals).await?;
    }
    if needs(RunPart::Lists) {
        new_lists(session).await?;
    }
    if watches_window {
        watch::pause(session).await?;
    }
    if needs(RunPart::OtherIds) {
        other_ids(session).await?;
    }
    // After the same URLs were requested with the key: a cached response must not be served without one.
    if sends_keyless && needs(RunPart::Credentials) {
        credentials::of_tour(session, animals.ids.last().copied().unwrap_or(1)).await?;
    }
    if watches_window {
        watch::pause(session).await?;
    }
    if !needs(RunPart::Lists) {
        return Ok(());
    }
    session.step("GET /pets by status, at once");
    ask_at_once(session, by_status(session)).await?;
    if needs(RunPart::Exhaustion) {
        // The other key is used, if there is one: of sixty requests, the first key has only a few left, and each of them shows how
        // Remaining falls.
        session.ask_with(1);
    }
    let sent = single_lists(session).await;
    session.ask_with(0);
    sent
}

/// Sends creations that must be refused, and unusual ones.
async fn first_creations(session: &mut Session<'_>, animals: &mut Animals) -> Result<(), Stop> {
    for (place, template) in REFUSED.into_iter().enumerate() {
        // On one connection: a member that a body lacks must not be taken from the body before, nor an error from the response before.
        if let Some(number) = BEFORE_LACKING.get(place) {
            animals.ids.extend(required(session, *number).await?);
        }
        let request = creation(session, template);
        let request = if place < LACKING { session.on_kept_connection(request) } else { request };
        animals.ids.extend(ask(session, request, &step_of(template)).await?.created_id());
    }
    for template in UNUSUAL {
        let id = create(session, template).await?;
        animals.ids.extend(id);
        match template {
            LARGE_CATEGORY => animals.large_category = id,
            UNUSUAL_NAME => animals.unusual_name = id,
            _ => {}
        }
    }
    Ok(())
}

/// Sends reads with the key concurrently; one after the other where the headers do not show that the minute has room for them:
/// several 429 responses may cause a ban.
async fn ask_at_once(session: &mut Session<'_>, requests: Vec<Request>) -> Result<(), Stop> {
    let window = session.last_answer_to(&session.key()).and_then(window_of);
    let reports_minute = window.is_some_and(|window| window.limit < MAY_BE_A_DAY);
    let size = if reports_minute { session.at_once(requests.len()).max(1) } else { 1 };
    for requests in requests.chunks(size) {
        match requests {
            [request] => drop(session.ask(request.clone()).await?),
            several => drop(session.ask_together(several.to_vec()).await?),
        }
    }
    Ok(())
}

/// Sends valid creations: the required ones, and then, in bursts, enough to observe the default limit.
async fn creations(session: &mut Session<'_>, animals: &mut Animals) -> Result<(), Stop> {
    for number in ALONE {
        animals.ids.extend(required(session, number).await?);
    }
    // Even a full catalogue gets a small burst: duplicate ids show only with concurrent creations. A candidate that creates
    // nothing gets no further creations.
    let wanted = ENOUGH.saturating_sub(animals.ids.len()).max(UNUSUAL_NAMES);
    let mut made = 0;
    while made < wanted && !animals.ids.is_empty() {
        let size = session.at_once((wanted - made).min(CONCURRENCY));
        let others = if made == 0 { beside_creations(session) } else { Vec::new() };
        burst_of(session, animals, made..made + size, others).await?;
        made += size;
    }
    // Unusual names may have been rejected.
    let missing = ENOUGH.saturating_sub(animals.ids.len()).min(UNUSUAL_NAMES);
    if !animals.ids.is_empty() && missing > 0 {
        burst_of(session, animals, made..made + missing, Vec::new()).await?;
    }
    // Where ids do not rise by one, a search may find the animal that comes next.
    let below = session.known_ids().into_iter().max().map_or(-1, |last| last.saturating_sub(1));
    let nobody = next_id(session).unwrap_or(below);
    ask(session, fetch(nobody), "GET /pets/{an id that nobody has}").await?;
    animals.ids.extend(required(session, LAST).await?);
    Ok(())
}

/// Sends the required creation with this number, and returns the new id.
async fn required(session: &mut Session<'_>, number: usize) -> Result<Option<i64>, Stop> {
    let status = STATUSES.get(number % 4).copied();
    let named = status.map_or(String::new(), |status| format!(r#","status":"{status}""#));
    let (name, category) = (session.fresh_name(), session.trace.context.category_id);
    let body = new_pet(session, &name, category, status);
    // A parameter does not change the media type.
    let media_type = if number == 6 { "application/json; charset=utf-8" } else { "application/json" };
    let request = Request::new("POST", "/pets").body(media_type, body);
    let request = if BEFORE_LACKING.contains(&number) { session.on_kept_connection(request) } else { request };
    ask(session, request, &format!(r#"POST /pets {{"name":"NAME","categoryId":CATEGORY{named}}}"#))
        .await
        .map(Exchange::created_id)
}

/// The position in a burst of the creation whose name is in several scripts, and whose body comes in chunks.
const SCRIPTS: usize = 1;

/// The position in a burst of the creation that differs from the others.
const DIFFERENT: usize = 2;

/// The position in a burst of the creation that repeats an earlier one.
const REPEATED: usize = 3;

/// The position in a burst of the creation with a plain name whose body comes in chunks.
const IN_CHUNKS: usize = 5;

/// The positions in a burst of creations with names that stores and readers alter, as the seed draws them.
const DRAWN: Range<usize> = 8..10;

/// The number of creations at the start of a burst that may be rejected, most of them for their names.
const UNUSUAL_NAMES: usize = DRAWN.end;

/// The requests beside the first creations: a list with the other key, if there is one, and one without a key. No request may use what another
/// one has left in the server.
fn beside_creations(session: &Session<'_>) -> Vec<Request> {
    let scope = &session.options.judging.scope;
    let key = session.other_key().unwrap_or_else(|| session.asking_key());
    let listed = scope.needs(RunPart::Lists).then(|| bearing(list(SHORTEST), &key));
    let keyless = scope.needs(RunPart::Credentials).then(|| list("status=sold"));
    listed.into_iter().chain(keyless).collect()
}

/// Sends the creations at these positions, and these other requests, concurrently.
async fn burst_of(
    session: &mut Session<'_>,
    animals: &mut Animals,
    places: Range<usize>,
    others: Vec<Request>,
) -> Result<(), Stop> {
    let scripts = places.clone().position(|place| place == SCRIPTS);
    let mut requests = Vec::with_capacity(places.len());
    for place in places {
        if let Some(drawn) = DRAWN.contains(&place).then(|| near_misses::name(session, place)).flatten() {
            requests.push(drawn);
            continue;
        }
        let name = name_in_burst(session, place);
        // Nearly all have one status, as most other animals of a run: in the end more than the default limit. This shows a limit under
        // a filter. One differs, which shows when concurrent requests are mixed up.
        let category = session.trace.context.category_id;
        let body = match place {
            DIFFERENT if animals.large_category.is_some() => new_pet(session, &name, 77001, Some("pending")),
            DIFFERENT => new_pet(session, &name, category, Some("pending")),
            _ => new_pet(session, &name, category, Some("sold")),
        };
        // Two requests with the same bytes are two animals, or the second is refused for its name.
        let repeated = (place == REPEATED).then(|| session.last_plain_creation()).flatten();
        let request = Request::new("POST", "/pets").json(repeated.unwrap_or(body.into_bytes()));
        requests.push(if [SCRIPTS, IN_CHUNKS].contains(&place) { request.chunked() } else { request });
    }
    session.step("POST /pets, many at once");
    let created: Vec<Option<i64>> =
        session.ask_together_beside(requests, others).await?.into_iter().map(Exchange::created_id).collect();
    animals.ids.extend(created.iter().flatten());
    animals.unusual_name = animals.unusual_name.or(scripts.and_then(|place| created.get(place).copied().flatten()));
    Ok(())
}

/// A name for a creation; the first few are unusual and may be rejected, but must not be altered or cause an error.
fn name_in_burst(session: &mut Session<'_>, place: usize) -> String {
    let name = session.fresh_name();
    match place {
        // Longer than a database column is by default, with characters of several bytes wherever it is cut.
        0 => format!("{name} {}", "of the l\u{f6}ng name ".repeat(240).trim_end()),
        // Unescaped non-ASCII characters, with a ligature, a full-width letter and others that forms of Unicode replace.
        SCRIPTS => format!(
            "Zo\u{eb} \u{3a9}\u{3bc} \u{416}\u{443}\u{43a} \u{5db}\u{5dc}\u{5d1} \u{732b} \u{fb01} \u{ff21} \u{df} \u{130} {name} no. 4-2 "
        ),
        // A string that some languages convert to a number.
        DIFFERENT => format!("00{}", digits(session)),
        // All of its characters fit an encoding of one byte each. The last one has a plain form.
        4 => format!("{name}\u{e9}\u{aa}"),
        6 => String::new(),
        // A string that others do.
        7 => format!("{}.50e3", digits(session)),
        _ => name,
    }
}

/// Fetches animals by their ids.
async fn read_back(session: &mut Session<'_>, animals: &Animals) -> Result<(), Stop> {
    // The last new animal, as soon as it can be read.
    if let Some(id) = animals.ids.last() {
        let is_found = |read: &Exchange| read.status() != Some(404);
        let read = session.on_kept_connection(fetch(id));
        read_until(session, &read, "GET /pets/{petId}", "a new animal to be readable", is_found).await?;
    }
    // An available animal, with an unusual name if possible, and the one with a large category, concurrently. This shows
    // handlers that share state by mistake.
    let unusual = animals.unusual_name.or_else(|| session.created_as("available"));
    let unusual = unusual.or_else(|| animals.ids.get(animals.ids.len() / 2).copied());
    let others: Vec<i64> = unusual.into_iter().chain(animals.large_category).collect();
    session.step("GET /pets/{petId}, several at once");
    let requests = others.iter().map(fetch).collect();
    ask_at_once(session, requests).await
}

/// The number of fetches with identifiers that no animal has, or that are no identifiers.
const OTHER_IDS: usize = 3;

/// Fetches with identifiers that no animal has, or that are no identifiers.
async fn other_ids(session: &mut Session<'_>) -> Result<(), Stop> {
    let fetches: [(&str, &str); OTHER_IDS] = [
        ("9223372036854775807", "GET /pets/9223372036854775807"),
        ("not-a-number", "GET /pets/not-a-number"),
        ("9223372036854775808", "GET /pets/9223372036854775808"),
    ];
    for (place, (id, step)) in fetches.into_iter().enumerate() {
        // The next request on the connection of the first one, which gets 404, is one that succeeds.
        let fetch = if place == 0 { session.on_kept_connection(fetch(id)) } else { fetch(id) };
        ask(session, fetch, step).await?;
    }
    Ok(())
}

/// Repeats a read until it shows what was created, or until reads may no longer lag. All reads go to one replica, because each may lag by
/// itself.
async fn read_until(
    session: &mut Session<'_>,
    read: &Request,
    step: &str,
    reason: &'static str,
    shows: impl Fn(&Exchange) -> bool,
) -> Result<(), Stop> {
    let (mut pause, mut replica) = (LOOK_AGAIN, None);
    loop {
        let exchange = ask(session, read.clone().at(replica), step).await?;
        replica = exchange.request.replica;
        if shows(exchange) || !may_lag(session) {
            return Ok(());
        }
        session.wait(pause, reason).await?;
        pause *= 2;
    }
}

/// Returns true if the last creation is so recent that reads may still lag.
fn may_lag(session: &Session<'_>) -> bool {
    let last = session.trace.exchanges.iter().rev().find(|exchange| exchange.created_id().is_some());
    last.is_some_and(|last| session.now().duration_since(last.received_at) <= Tolerance::READ_LAG.duration())
}

/// Two lists for one time: those of a status that was listed before there were any animals, and all but one of another status.
fn by_status(session: &Session<'_>) -> Vec<Request> {
    let is_all = |exchange: &&Exchange| exchange.request.query.as_deref() == Some(ALL);
    let mut all = listed(session.trace.exchanges.iter().rfind(is_all));
    all.retain(|animal| animal.get("status").and_then(Json::as_str) == Some("sold"));
    let limit = all.len().saturating_sub(1).max(1);
    vec![list("status=available"), list(&format!("status=sold&limit={limit}"))]
}

/// Lists new animals as soon as they must be listed: those of a status that was listed before, and all.
async fn new_lists(session: &mut Session<'_>) -> Result<(), Stop> {
    let created = session.known_ids();
    // Of a status, a list shows a delay of its own if the list of all, soon afterwards, has the animal.
    for (query, created) in [(PENDING, &created[created.len().saturating_sub(1)..]), (ALL, &created[..])] {
        let shows_all = |exchange: &Exchange| {
            let listed = listed_ids(Some(exchange));
            listed.len() >= 100 || created.iter().all(|id| listed.contains(id))
        };
        let step = format!("GET /pets?{query}");
        read_until(session, &list(query), &step, "new animals to be listed", shows_all).await?;
    }
    Ok(())
}

/// Sends further lists, and one with the scheme in lower case.
async fn single_lists(session: &mut Session<'_>) -> Result<(), Stop> {
    let is_sent = |exchange: &Exchange| exchange.request.query.as_deref() == Some(SHORTEST);
    let mut lists = LISTS.to_vec();
    lists.retain(|query| *query != SHORTEST || !session.trace.exchanges.iter().any(is_sent));
    for (place, query) in lists.into_iter().enumerate() {
        let request = if place == 0 { session.on_kept_connection(list(query)) } else { list(query) };
        let step = format!("GET {}", request.target());
        ask(session, request, &step).await?;
    }
    let lower = format!("bearer {}", session.asking_key().reveal());
    session.step("GET /pets with `bearer` in lower case");
    // A limit of one digit, for which there are animals enough; with half of the seeds, under a filter.
    let seed = session.options.seed;
    let filter = if seed.is_multiple_of(2) { "" } else { "status=sold&" };
    session.send(list(&format!("{filter}limit={}", 3 + seed / 2 % 7)).authorization(lower)).await?;
    session.step("");
    Ok(())
}
