//! Near misses with the key, from the table: as many as the window of a small plan has room for, and all of them on a larger one.
//!
//! Creations and reads are sent in turn on one connection, as far as there are reads: no part of one request may show in the next.

use std::cmp::Reverse;

use super::cost::Cost;
use super::session::{MAY_BE_A_DAY, Session, Stop};
use super::steps::{ask, create, creation, digits, fetch, filled, list, listed_ids, next_id, step_of};
use animal_store_rules::near_misses::{NearMiss, Place, Target, Values, near_misses};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Request;

/// The number of near misses with a body that a run on a small plan sends.
const CREATIONS: usize = AMONG_READS + ASIDE;

/// The number of them that are sent with the reads.
const AMONG_READS: usize = 31;

/// The number of them that are sent in a window that the run uses little of.
pub(super) const ASIDE: usize = 23;

/// The number of near misses without a body that a run on a small plan sends in the probe.
const READS: usize = 15;

/// The number of further near misses with a body, and without, in a window that the run uses little of, if there is time for them. The
/// table has four times as many rows with a body as without.
const CREATIONS_IN_TIME: usize = 15;
const READS_IN_TIME: usize = 7;
pub(super) const ASIDE_IN_TIME: usize = CREATIONS_IN_TIME + READS_IN_TIME;

/// The number of near misses with a body that a run with two keys sends with one of them while the other is exhausted.
pub(super) const MEANWHILE: usize = 32;

/// The requests of every run: the creation of an animal, fetches of two others, three lists, and store orders.
const FIXED: usize = 7;

/// The requests without a valid key among the near misses.
const KEYLESS: usize = 7;

/// The requests of a large run beyond the near misses: lists around a creation, two equal creations, and reads of what was created.
const FIXED_OF_MANY: usize = 5;

/// The number of identifiers that are sent with a selection of requirements about other ids.
pub(super) const OTHER_IDS: usize = 3;

/// The name in the trace of near misses outside of the probe.
pub(super) const ASIDE_NAME: &str = "further near misses";

/// The number of requests that must remain in the window after near misses outside of the probe.
const LEFT: u64 = 10;

/// The query of a list that is requested without a key before it is requested with the key.
const AFTER_A_REFUSAL: &str = "status=sold";

/// The number of near misses that a run sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Amount {
    /// As many as the window of a small plan has room for.
    Few,
    /// Queries and identifiers, and the other near misses of common and plausible readers.
    Most,
    /// Every near miss of the table.
    All,
}

/// The smallest weight of the other near misses that a run on a medium plan sends.
const PLAUSIBLE: u8 = 2;

impl Amount {
    /// Returns true if a run that does not count its near misses sends this one.
    pub(crate) fn includes(self, row: &NearMiss) -> bool {
        self == Amount::All || row.weight >= PLAUSIBLE || row.is_first || is_read(row)
    }

    /// The usual cost of the probe in a run that creates animals, or none.
    pub(super) fn cost(self, creates: bool) -> Cost {
        let sent = || near_misses().iter().filter(|row| !row.place.is_keyless() && self.includes(row));
        let names = sent().filter(|row| is_read_back(row)).count();
        let (keyed, animals) = match (self, creates) {
            (Amount::Few, false) => (READS, 0),
            (_, false) => (sent().filter(|row| is_read(row)).count(), 0),
            (Amount::Few, true) => (AMONG_READS + READS, 12),
            (_, true) => (sent().count() + names + FIXED_OF_MANY, names + 80),
        };
        Cost { keyed: keyed + FIXED, keyless: KEYLESS, animals }
    }
}

/// Sends near misses; where the profile creates no animals, only those that cannot create one. Only a run that `waits` for windows anyway waits for reads
/// that may lag. On a small plan, the probe sends only as many requests as the window has time for: `in_time`.
pub(super) async fn run(
    session: &mut Session<'_>,
    amount: Amount,
    waits: bool,
    in_time: Option<usize>,
) -> Result<(), Stop> {
    session.begin("near misses");
    let creates = session.options.judging.scope.profile.creates();
    let (mut creations, mut reads) = (creations(session.options.seed), reads(session.options.seed));
    if !creates {
        creations.clear();
        reads.retain(|row| row.place != Place::Path);
    }
    if amount == Amount::Few {
        // The window that the near misses use is exhausted after them.
        let in_time = in_time.unwrap_or(usize::MAX).saturating_sub(FIXED + KEYLESS);
        reads.truncate(READS.min(in_time / 3));
        creations.truncate(AMONG_READS.min(in_time - in_time / 3));
    } else {
        creations.retain(|row| amount.includes(row));
        reads.retain(|row| amount.includes(row));
    }
    if amount != Amount::Few && creates {
        if waits {
            list_and_again(session).await?;
        }
        twice(session).await?;
    }
    reads.sort_by_key(|row| row.place != Place::Id);
    // A body that a server does not read to its end is followed by a read: whole bodies come first, the long ones before the others.
    creations.sort_by_key(|row| (row.place != Place::Body, Reverse(row.length())));
    in_turn(session, &creations, &reads, amount).await?;
    if creates {
        let addresses = session.trace.context.addresses().count();
        for address in 0..addresses {
            padded_creation(session, (addresses > 1).then_some(address)).await?;
        }
        // A read of another kind right after a creation: one operation must not disturb the next.
        ask(session, Request::new("GET", "/store/orders"), "GET /store/orders").await?;
    }
    // A cache may have kept the refusal. By now there are more sold animals than the default limit.
    let step = format!("GET /pets?{AFTER_A_REFUSAL}");
    session.step(format!("{step} without a key, before the same with it"));
    let refused = session.ask_without_key(session.on_kept_connection(list(AFTER_A_REFUSAL))).await?;
    let read = session.on_kept_connection(list(AFTER_A_REFUSAL));
    let read = read.at(refused.and_then(|refused| refused.request.replica));
    ask(session, read, &step).await?;
    // Right before the list of all, which shows that no animal has changed its status meanwhile.
    ask(session, list("status=sold&limit=100"), "GET /pets?status=sold&limit=100").await?;
    // A final list shows whether an invalid request created an animal.
    ask_and_again_without_a_key(session, list("limit=100"), "GET /pets?limit=100").await?;
    session.step("");
    Ok(())
}

/// Returns true if a near miss is a list or a fetch.
fn is_read(row: &NearMiss) -> bool {
    matches!(row.place, Place::Query | Place::Id)
}

/// Returns true if an animal with the name of a near miss is read on a large plan: stores alter it, not only responses.
fn is_read_back(row: &NearMiss) -> bool {
    row.family == NAMES && row.weight >= PLAUSIBLE
}

/// Sends a near miss. On a large plan, an animal that it has created or may have changed is read.
async fn send(session: &mut Session<'_>, row: &NearMiss, amount: Amount) -> Result<(), Stop> {
    let id = an_id(session);
    let Some((request, step)) = request(session, row, Target::List, id) else { return Ok(()) };
    let created = ask(session, request, &step).await?.created_id();
    let shown = if row.needs_animal(Target::List) { id } else { created.filter(|_| is_read_back(row)) };
    match shown.filter(|_| amount != Amount::Few) {
        Some(id) => ask(session, fetch(id), "GET /pets/{petId}").await.map(drop),
        None => Ok(()),
    }
}

/// Sends a near miss on the connection that is kept open, and returns the id of the new animal, if there is one.
async fn send_kept(session: &mut Session<'_>, row: &NearMiss, id: Option<i64>) -> Result<Option<i64>, Stop> {
    let Some((request, step)) = request(session, row, Target::List, id) else { return Ok(None) };
    let request = session.on_kept_connection(request);
    Ok(ask(session, request, &step).await?.created_id())
}

/// Sends creations and reads in turn on one connection. A read without a key, and one with the key, come around a refusal for the key.
async fn in_turn(
    session: &mut Session<'_>,
    creations: &[&NearMiss],
    reads: &[&NearMiss],
    amount: Amount,
) -> Result<(), Stop> {
    let id = an_id(session);
    let mut creations = creations.iter();
    // The longest body: the read that follows it on the connection must succeed.
    if let Some(row) = creations.next() {
        send_kept(session, row, id).await?;
    }
    // A store may hide the animals of one status.
    if let Some(id) = session.created_as("pending").or(id) {
        ask_and_again_without_a_key(session, fetch(id), "GET /pets/{petId}").await?;
        // The body of a request that is refused for its key may not have been read, and this is how a request begins. The next one is a
        // fetch of an animal that does not exist.
        let request = session.on_kept_connection(Request::new("POST", "/pets").json("POST"));
        session.step("POST /pets POST without a key");
        session.ask_without_key(request).await?;
    }
    for row in reads {
        send_kept(session, row, id).await?;
        if let Some(row) = creations.next()
            && let Some(created) = send_kept(session, row, id).await?
            && amount != Amount::Few
            && is_read_back(row)
        {
            ask(session, fetch(created), "GET /pets/{petId}").await?;
        }
    }
    if let Some(id) = of_another_shard(session) {
        // The connection has seen the fetch of another animal.
        let fetch = session.on_kept_connection(fetch(id));
        ask(session, fetch, "GET /pets/{petId}").await?;
    }
    for row in creations {
        send(session, row, amount).await?;
    }
    Ok(())
}

/// The id of an animal in a shard from which no animal was fetched before, where a store splits ids among a few shards: the one that was
/// created with the longest response, for its name.
fn of_another_shard(session: &Session<'_>) -> Option<i64> {
    const SHARDS: u64 = 4;
    let fetched = session.trace.exchanges.iter().filter(|exchange| exchange.status() == Some(200));
    let ids = fetched.filter_map(|exchange| exchange.request.path.strip_prefix("/pets/")?.parse::<i64>().ok());
    let asked: Vec<u64> = ids.map(|id| id.unsigned_abs() % SHARDS).collect();
    let others = session.trace.exchanges.iter().filter_map(|exchange| {
        let id = exchange.created_id().filter(|id| !asked.contains(&(id.unsigned_abs() % SHARDS)))?;
        Some((exchange.response()?.body.len(), id))
    });
    others.max().map(|(_, id)| id)
}

/// Creates an animal with a valid body of some KiB. Of several addresses, this one is asked for the animal before another one creates it, if
/// its id can be foreseen, and afterwards: a cache may have kept the response that there is no such animal.
async fn padded_creation(session: &mut Session<'_>, asked_at: Option<usize>) -> Result<(), Stop> {
    let next = asked_at.and_then(|_| next_id(session));
    if let Some(next) = next {
        ask(session, fetch(next).at(asked_at), "GET /pets/{the next petId}").await?;
    }
    let create_at = session.elsewhere_than(asked_at);
    let body = filled(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@(spaces),"status":"sold"}"#);
    let body = body.replace("(spaces)", &" ".repeat(2 * 1024));
    ask(session, Request::new("POST", "/pets").json(body).at(create_at), "POST /pets with 2 KiB of spaces").await?;
    match next.filter(|next| session.known_ids().contains(next)) {
        Some(next) => ask(session, fetch(next).at(asked_at), "GET /pets/{petId}").await.map(drop),
        None => Ok(()),
    }
}

/// Sends one creation twice, which makes two animals.
async fn twice(session: &mut Session<'_>) -> Result<(), Stop> {
    let template = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"pending"}"#;
    let request = creation(session, template);
    for _ in 0..2 {
        ask(session, request.clone(), &format!("{}, twice", step_of(template))).await?;
    }
    Ok(())
}

/// Lists all animals before and after a creation without a status: a list that is kept until the animals of a status change does not show
/// the new one.
async fn list_and_again(session: &mut Session<'_>) -> Result<(), Stop> {
    ask(session, list("limit=100"), "GET /pets?limit=100").await?;
    create(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#).await?;
    session.wait(Tolerance::READ_LAG.duration().unsigned_abs(), "a new animal to be listed").await?;
    ask(session, list("limit=100"), "GET /pets?limit=100, after a creation without a status").await?;
    Ok(())
}

/// Sends only fetches with identifiers that are nearly those of an animal.
pub(super) async fn other_ids(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin("near misses");
    let id = an_id(session);
    let reads = reads(session.options.seed).into_iter().filter(|row| row.place == Place::Id);
    for row in reads.take(OTHER_IDS) {
        if let Some((read, step)) = request(session, row, Target::List, id) {
            ask(session, read, &step).await?;
        }
    }
    session.step("");
    Ok(())
}

/// Returns true if a window that the run uses little of has room for near misses outside of the probe.
pub(super) fn has_room_aside(session: &Session<'_>) -> bool {
    let window = session.last_window(&session.asking_key()).filter(|window| window.limit < MAY_BE_A_DAY);
    window.is_some_and(|window| window.remaining >= ASIDE as u64 + LEFT)
}

/// Sends the near misses that a small plan has no room for in the probe, and further ones if there `is_time` for them.
pub(super) async fn aside(session: &mut Session<'_>, is_time: bool) -> Result<(), Stop> {
    session.begin_aside(ASIDE_NAME);
    let (creations, reads) = (creations(session.options.seed), reads(session.options.seed));
    for row in &creations[AMONG_READS..CREATIONS] {
        send(session, row, Amount::Few).await?;
    }
    let in_time =
        reads[READS..READS + READS_IN_TIME].iter().chain(&creations[CREATIONS..CREATIONS + CREATIONS_IN_TIME]);
    for row in in_time.filter(|_| is_time) {
        if session.last_window(&session.asking_key()).is_none_or(|window| window.remaining <= LEFT) {
            break;
        }
        send(session, row, Amount::Few).await?;
    }
    session.step("");
    Ok(())
}

/// Sends further near misses with a key whose window the run uses little of, as far as that window has room.
pub(super) async fn meanwhile(session: &mut Session<'_>) -> Result<(), Stop> {
    let key = session.asking_key();
    for row in creations(session.options.seed).into_iter().skip(CREATIONS + CREATIONS_IN_TIME).take(MEANWHILE) {
        if session.promised(&key) <= LEFT {
            break;
        }
        send(session, row, Amount::Few).await?;
    }
    session.step("");
    Ok(())
}

/// Sends a request with the key, and then without one and with an unknown one on the same connection: it must not remember the key, and
/// a cache must not serve its response.
async fn ask_and_again_without_a_key(session: &mut Session<'_>, request: Request, step: &str) -> Result<(), Stop> {
    let keyed = session.on_kept_connection(request.clone());
    let replica = ask(session, keyed, step).await?.request.replica;
    session.step(format!("{step} without a key, after the same with it"));
    let keyless = session.on_kept_connection(request.clone()).at(replica);
    session.ask_without_key(keyless).await?;
    session.step(format!("{step} with an unknown key, after the same with the key"));
    let unknown = format!("Bearer conform-unknown-{:016x}", session.random.u64(..));
    let unknown = session.on_kept_connection(request.authorization(unknown)).at(replica);
    session.ask_without_key(unknown).await?;
    Ok(())
}

/// Draws the near misses with the key that may create an animal.
fn creations(seed: u64) -> Vec<&'static NearMiss> {
    drawn(seed, |row| row.place.creates() && !row.place.is_keyless())
}

/// Draws the near misses with the key that have no body.
fn reads(seed: u64) -> Vec<&'static NearMiss> {
    drawn(seed, |row| !row.place.creates() && !row.place.is_keyless())
}

/// Draws the near misses without a valid key.
pub(super) fn keyless(seed: u64) -> Vec<&'static NearMiss> {
    drawn(seed, |row| row.place.is_keyless())
}

/// Draws near misses: those that every run sends first, by length, then the others by weight, as the seed chooses.
fn drawn(seed: u64, is_wanted: fn(&NearMiss) -> bool) -> Vec<&'static NearMiss> {
    let mut rows: Vec<(f64, &NearMiss)> = near_misses()
        .iter()
        .map(|row| {
            // Each row has a generator of its own, so that a further row changes no other draw. This is the hash FNV-1a, which begins with the
            // seed.
            let step = row.step(Target::List);
            let hash = step.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            let mut random = fastrand::Rng::with_seed(hash);
            // The smallest of exponential variables chooses by rate (Efraimidis and Spirakis, 2006): one step of weight is a factor of four.
            let rate = 4_f64.powi(i32::from(row.weight));
            // Of those that come first, the longest lead: what a server leaves unread of them shows in a read after it.
            let first = -(row.length() as f64);
            (if row.is_first { first } else { -(1.0 - random.f64()).ln() / rate }, row)
        })
        .collect();
    rows.retain(|(_, row)| is_wanted(row));
    rows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Makes the next request with new values for the placeholders of near misses. `id` is the id of an animal, if one is known.
pub(super) fn with_values<R>(session: &mut Session<'_>, id: Option<i64>, make: impl FnOnce(&Values<'_>) -> R) -> R {
    let (name, digits) = (session.fresh_name(), digits(session));
    let unknown = format!("conform-unknown-{:016x}", session.random.u64(..));
    let (context, category) = (&session.trace.context, session.trace.context.category_id);
    let key = context.keys[0].reveal();
    make(&Values { name: &name, digits: &digits[..4], category, id, key, unknown: &unknown })
}

/// The request of a near miss, and its step. `None` if the run lacks a value for it.
fn request(session: &mut Session<'_>, row: &NearMiss, target: Target, id: Option<i64>) -> Option<(Request, String)> {
    // A server that takes the id in a body for that of the new animal may replace an animal: only one of the run's own.
    let id = id.filter(|id| !row.place.creates() || session.known_ids().contains(id));
    let request = with_values(session, id, |values| row.request(target, values))?;
    Some((request, row.step(target)))
}

/// The name of the family of names that stores and readers alter.
const NAMES: &str = "names";

/// The longest value of a name among other requests, in bytes.
const SHORT: usize = 200;

/// A creation with a name that stores and readers alter: the one at this place of those that the seed draws.
pub(super) fn name(session: &mut Session<'_>, place: usize) -> Option<Request> {
    let is_short = |row: &NearMiss| row.family == NAMES && row.length() < SHORT && !row.is_first;
    let row = *drawn(session.options.seed, is_short).get(place)?;
    request(session, row, Target::Create, None).map(|(request, _)| request)
}

/// The id of an animal for near misses that resemble it: one that the run has created, else one that the first list shows.
fn an_id(session: &Session<'_>) -> Option<i64> {
    let created = session.known_ids();
    let ids = if created.is_empty() { listed_ids(session.trace.exchanges.first()) } else { created };
    // Readers that skip a character between digits need two of them.
    let long: Vec<i64> = ids.iter().copied().filter(|id| *id > 9).collect();
    let mut ids = if long.is_empty() { ids } else { long };
    // Creations at the same time get their ids in any order.
    ids.sort_unstable();
    // The generator of the session draws what the other probes send.
    let mut random = fastrand::Rng::with_seed(session.options.seed ^ session.trace.exchanges.len() as u64);
    (!ids.is_empty()).then(|| ids[random.usize(..ids.len())])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_free_key_sends_all_that_come_first_and_the_seed_draws_the_rest() {
        let first = |rows: &[&NearMiss]| rows.iter().filter(|row| row.is_first).count();
        assert!(first(&creations(1)) <= CREATIONS, "{}", first(&creations(1)));
        assert!(first(&reads(1)) <= READS, "{}", first(&reads(1)));
        let sent = |seed| -> BTreeSet<String> {
            let rows = creations(seed).into_iter().take(CREATIONS).chain(reads(seed).into_iter().take(READS));
            rows.map(|row| row.step(Target::List)).collect()
        };
        assert_eq!(sent(1), sent(1));
        assert_ne!(sent(1), sent(2));
    }
}
