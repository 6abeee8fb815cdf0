//! The exhaustion of a key: requests that use up its window, those over its limit, and those without a valid key meanwhile.

use std::time::Duration;

use super::{KEPT, fetch_animal, fetch_of, fetches_work, fillers, is_over_admitted, keys, limits, list_of, time_left};
use crate::http::pacing::window_of;
use crate::probes::CONCURRENCY;
use crate::probes::plan::{KEYLESS_OVER, Turn};
use crate::probes::session::{Session, Stop, bearing};
use crate::probes::steps::{creation, fetch, list};
use animal_store_rules::request::harmless;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::rate_limit::Window;

/// The number of times that a request over the limit is sent until it is refused.
const ATTEMPTS_OVER: usize = 6;

/// The maximum number of refusals, within windows that promised more requests, after which the run waits and goes on: further ones
/// show nothing new.
const EARLY_REFUSALS: usize = 2;

/// The bit of the seed with which the run pauses between two refusals of the second turn.
const PAUSES: u64 = 2;

/// The remainders of the seed by four with which the last request that a window of the second turn admits is one of two at once.
const TWO_AT_ONCE: [u64; 2] = [1, 2];

/// The pause between two refusals of one window.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(6);

/// The exhaustion of the key that requests are sent with.
///
/// All but the last few requests of a window are sent in bursts, so that the window of a slow server is exhausted before it ends. The
/// last ones are sent one after the other, so that their order is known.
pub(super) struct Exhaustion<'s, 'r> {
    session: &'s mut Session<'r>,
    key: ApiKey,
    turn: Turn,
    /// The requests over the limit, the creation of the first turn last.
    over: Vec<Request>,
    /// The number of requests over the limit that were sent before one of them was refused.
    over_sent: usize,
    /// The request whose refusal showed that the window is exhausted.
    refused: Option<Request>,
    sent: usize,
    sent_alone: usize,
    /// The size of the last burst; 1 after a request that was sent alone.
    last_burst: usize,
    early_refusals: usize,
    /// Whether the request for the last place of the window was sent.
    has_taken_last: bool,
    /// The number of sent requests from which it is examined again whether the window has admitted more than its limit.
    examined_again_at: usize,
}

impl<'s, 'r> Exhaustion<'s, 'r> {
    /// Creates the exhaustion of a window, which may have refused this request already.
    pub(super) fn new(session: &'s mut Session<'r>, turn: Turn, refused: Option<Request>) -> Exhaustion<'s, 'r> {
        let key = session.asking_key();
        let over = over_the_limit(session, turn, &key);
        Exhaustion {
            session,
            key,
            turn,
            over,
            over_sent: 0,
            refused,
            sent: 0,
            sent_alone: 0,
            last_burst: 1,
            early_refusals: 0,
            has_taken_last: false,
            examined_again_at: 0,
        }
    }

    /// Uses up the window, whose limit is met after `most` requests, and exceeds the limit. Returns true if a request was refused.
    pub(super) async fn run(mut self, most: u64) -> Result<bool, Stop> {
        // A window may end meanwhile, so the count may start over once.
        while self.refused.is_none() && self.sent as u64 <= 2 * most && !self.is_over_admitted() {
            let last = self.session.last_answer_to(&self.key);
            let has_reached_the_limit =
                last.is_some_and(|last| matches!(last.status(), Some(200 | 404)) && remains_none(last));
            if self.turn == Turn::First && has_reached_the_limit && self.creation_is_refused().await? {
                return Ok(true);
            }
            let wanted = room(self.session, self.last_burst).saturating_sub(KEPT).min(CONCURRENCY);
            match self.session.at_once(wanted) {
                0 if !self.send_alone().await? => break,
                0 => {}
                burst => self.send_burst(burst).await?,
            }
        }
        let is_refused = self.exceed().await?;
        ask_without_a_key(self.session, self.turn).await?;
        keys::ask_with_the_other(self.session).await?;
        Ok(is_refused)
    }

    /// Returns true if the window has admitted more than its limit. This is examined at intervals of a sixteenth of the sent requests,
    /// because it takes longer with each request to explain the counts.
    fn is_over_admitted(&mut self) -> bool {
        let is_due = self.sent >= self.examined_again_at;
        if is_due {
            self.examined_again_at = self.sent + 1 + self.sent / 16;
        }
        is_due && is_over_admitted(self.session)
    }

    /// Sends the creation over the limit, and nothing else if it is refused: a second refusal could cause a ban, and that of another
    /// operation would show less.
    async fn creation_is_refused(&mut self) -> Result<bool, Stop> {
        keys::ask_with_the_other(self.session).await?;
        let Some(creation) = self.over.last().cloned() else { return Ok(false) };
        let is_refused = self.send_over(&creation).await?;
        if is_refused {
            ask_without_a_key(self.session, self.turn).await?;
            keys::ask_with_the_other(self.session).await?;
        }
        Ok(is_refused)
    }

    async fn send_over(&mut self, request: &Request) -> Result<bool, Stop> {
        let request = renewed(self.session, request, &self.key);
        Ok(self.session.send(request).await?.status() == Some(429))
    }

    async fn send_burst(&mut self, burst: usize) -> Result<(), Stop> {
        let key = &self.key;
        let requests = fillers(self.session, self.sent, burst, key);
        let promised = self.session.promised(key);
        let mut refusals: Vec<Exchange> = self.session.send_together(requests).await?.into_iter().cloned().collect();
        refusals.retain(|sent| sent.status() == Some(429));
        self.sent += burst;
        self.last_burst = burst;
        // No request of a burst is known to be the last one of the window.
        if !refusals.is_empty() && (burst > 1 || self.is_early(promised)) {
            self.session.heed(&self.key, &refusals, 0.0).await?;
        } else {
            self.refused = refusals.pop().map(|refusal| refusal.request);
        }
        Ok(())
    }

    /// Sends the next request. Returns false if there is none, or if further requests would show nothing new.
    async fn send_alone(&mut self) -> Result<bool, Stop> {
        self.last_burst = 1;
        let remaining = self.session.last_window(&self.key).map_or(0, |window| window.remaining);
        if remaining <= 1 {
            keys::ask_with_the_other(self.session).await?;
        }
        let takes_last = remaining == 1 && !self.has_taken_last;
        self.has_taken_last |= takes_last;
        let is_at_once =
            takes_last && self.turn == Turn::Second && TWO_AT_ONCE.contains(&(self.session.options.seed % 4));
        if is_at_once && self.session.refusals_left(&self.key) > 1 {
            // Two lists at once for the last place of the window: a limiter that does not count a request at once admits both.
            let lists = [list_of(0, &self.key), of_another_client(list_of(0, &self.key))];
            let answers = self.session.send_together(lists.into()).await?;
            let refused = answers.into_iter().find(|answer| answer.status() == Some(429));
            self.refused = refused.map(|answer| answer.request.clone());
            self.sent += 2;
            self.sent_alone += 1;
            return Ok(true);
        }
        let request = if takes_last && self.turn == Turn::First {
            // A failure that takes the last place of the window must give nothing back but itself.
            Some(fetch_animal(self.session.random.i64(1 << 61..1 << 62), &self.key))
        } else {
            self.next_alone(remaining)
        };
        let Some(request) = request else { return Ok(false) };
        let promised = self.session.promised(&self.key);
        let exchange = self.session.send(request).await?.clone();
        match exchange.status() {
            Some(429) if self.is_early(promised) => self.session.heed(&self.key, &[exchange], 0.0).await?,
            Some(429) => self.refused = Some(exchange.request),
            None => return Ok(false),
            // A list may be rejected with Remaining 0, but not with 429: further lists would show nothing new.
            Some(400..=599) if self.turn == Turn::First && !takes_last && remains_none(&exchange) => return Ok(false),
            Some(_) => {}
        }
        self.sent += 1;
        self.sent_alone += 1;
        Ok(true)
    }

    /// The next request that is sent alone, where this many remain. Over the limit, lists show most in the first turn; the second turn
    /// has requests of its own, each a few times: a server that does not refuse them would admit more of them alike.
    fn next_alone(&mut self, remaining: u64) -> Option<Request> {
        let step = self.sent_alone;
        match self.turn {
            // The last new animal has been fetched before.
            Turn::First if step.is_multiple_of(2) && remaining > 1 && fetches_work(self.session) => {
                Some(fetch_of(&self.session.known_ids(), step / 2 + 1, &self.key))
            }
            Turn::First => Some(list_of(step / 2 + 1, &self.key)),
            Turn::Second if remaining == 0 => {
                let place = self.over_sent;
                self.over_sent += 1;
                self.over.get(place % self.over.len()).filter(|_| place < self.over.len() * ATTEMPTS_OVER).cloned()
            }
            Turn::Second => Some(self.next_read()),
        }
    }

    /// The reads that exhaust a window the second time: fetches and orders, and a list after two of them that were refused, which may
    /// cost nothing.
    fn next_read(&self) -> Request {
        let (step, key) = (self.sent_alone, &self.key);
        let mut latest = self.session.trace.exchanges.iter().rev().take(2);
        if latest.all(|answer| matches!(answer.status(), Some(400..=599))) {
            list_of(step, key)
        } else if step.is_multiple_of(2) {
            // A different animal each time: one fetch does not show that the others work.
            fetch_next(self.session, step / 2, key)
        } else {
            bearing(Request::new("GET", "/store/orders"), key)
        }
    }

    /// Sends requests over the limit for other operations than the refused one: they must get 429 as well, and must not create an animal.
    /// Returns true if any request was refused.
    async fn exceed(&mut self) -> Result<bool, Stop> {
        let mut is_refused = self.refused.is_some();
        let mut others = self.over.clone();
        let operation = |request: &Request| {
            let above = request.path.rsplit_once('/').map_or("", |(above, _)| above);
            (request.method.clone(), above.to_owned())
        };
        let refused = self.refused.as_ref().map(operation);
        others.retain(|request| refused != Some(operation(request)));
        if self.turn == Turn::Second {
            for other in others {
                if self.session.refusals_left(&self.key) == 0 {
                    break;
                }
                // With half of the seeds, some seconds lie between two refusals of one window: a limiter may admit a request now and then.
                let is_running = time_left(self.session).is_some_and(|left| left > 2 * BETWEEN_REFUSALS);
                if is_refused && is_running && self.session.options.seed & PAUSES != 0 {
                    self.session.wait(BETWEEN_REFUSALS, "a later response in the exhausted window").await?;
                }
                is_refused |= self.session.send(other).await?.status() == Some(429);
            }
        } else if let Some(last) = others.last().or(self.over.last()).cloned() {
            for _ in 0..ATTEMPTS_OVER {
                if self.send_over(&last).await? {
                    return Ok(true);
                }
                // A request that dropped out of a log may have made room for this one.
                if !is_refused {
                    break;
                }
            }
        }
        Ok(is_refused)
    }

    /// Returns true if a refusal came in the middle of a window that promised many more requests: then that window is not exhausted. Only
    /// the first few refusals are treated like this.
    fn is_early(&mut self, promised: u64) -> bool {
        let is_early = promised > KEPT as u64 && self.early_refusals < EARLY_REFUSALS;
        self.early_refusals += usize::from(is_early);
        is_early
    }
}

/// Returns true if a response reports that no further request is admitted in its window.
fn remains_none(exchange: &Exchange) -> bool {
    window_of(exchange).is_some_and(|window| window.remaining == 0)
}

/// The number of requests that certainly remain after the last responses, which were concurrent and have no order.
fn room(session: &Session<'_>, responses: usize) -> usize {
    let mut lowest: Option<Window> = None;
    for exchange in session.trace.exchanges.iter().rev().take(responses) {
        // Nothing is certain after an unusual response.
        let Some(window) = window_of(exchange).filter(|_| exchange.status() == Some(200)) else { return 0 };
        lowest = Some(lowest.filter(|lowest| lowest.remaining <= window.remaining).unwrap_or(window));
    }
    // The last requests of a window are sent alone, whatever limits it otherwise.
    let Some(lowest) = lowest.filter(|lowest| lowest.remaining > KEPT as u64) else { return 0 };
    let left = limits(session, |key| match key.minute_behind_day() {
        Some(per_minute) => per_minute.saturating_sub(key.sent_in_minute(session.now())),
        None => lowest.remaining,
    });
    usize::try_from(left).unwrap_or(usize::MAX).min(session.requests_left())
}

/// The fetch of an available animal, then of the animals after the first sold one: several in a row show it when only some can be
/// fetched. The near misses fetch a pending animal.
fn fetch_next(session: &Session<'_>, place: usize, key: &ApiKey) -> Request {
    let ids = session.known_ids();
    if let Some(available) = session.created_as("available").filter(|_| place == 0) {
        return fetch_animal(available, key);
    }
    let first = session.created_as("sold").and_then(|sold| ids.iter().position(|id| *id == sold)).unwrap_or(0);
    fetch_animal(ids.iter().cycle().nth(first + 1 + place).copied().unwrap_or(1), key)
}

/// The body of a creation that is valid.
const VALID: &str = r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#;

/// The requests over the limit. The run sends as many of them as may be refused: two in a row.
///
/// In the first turn the list is sent only if no response shows which request is the last of the window. In the second turn the list and
/// one of three other operations are refused: one that was not counted when it failed, because it may be checked before the limit, else
/// the one that the seed of the run chooses.
fn over_the_limit(session: &mut Session<'_>, turn: Turn, key: &ApiKey) -> Vec<Request> {
    let over = match turn {
        Turn::First => vec![list_over(turn), creation(session, VALID)],
        Turn::Second => {
            // A server that reads bodies before it checks the limit answers with 400.
            let malformed = Request::new("POST", "/pets").json(format!(r#"{{"name":"{}""#, session.fresh_name()));
            // A server may serve an animal that is there, and check the limit otherwise. Where a 404 costs nothing, an id that no animal
            // has shows whether the limit is checked last, as it does with half of the seeds.
            let is_404_free = is_free(session, key, |exchange| has_status(exchange, "GET", 404));
            let asks_for_known = !is_404_free && fetches_work(session) && session.options.seed % 2 == 1;
            let known = session.known_ids().last().copied().filter(|_| asks_for_known);
            let id = known.unwrap_or_else(|| session.random.i64(1 << 61..1 << 62));
            let orders = Request::new("GET", "/store/orders");
            let mut others = [
                (malformed, is_free(session, key, |exchange| has_status(exchange, "POST", 400))),
                (fetch(id), is_404_free),
                (orders, false),
            ];
            others.rotate_left((session.options.seed % 3) as usize);
            others.sort_by_key(|(_, is_free)| !is_free);
            // With half of the seeds, a server that reads parameters before it checks the limit answers with 400.
            let list = if session.options.seed.is_multiple_of(2) { list("limit=0") } else { list_over(turn) };
            std::iter::once(of_another_client(list)).chain(others.into_iter().map(|(request, _)| request)).collect()
        }
    };
    over.into_iter().map(|request| bearing(request, key)).collect()
}

/// The request, naming the address of another client, one for documentation (RFC 5737): the key is limited, not the address.
fn of_another_client(request: Request) -> Request {
    request.header("X-Forwarded-For", "203.0.113.77")
}

/// Returns true if a request about animals was answered with this status. One for an unknown path may not reach the limiter.
fn has_status(exchange: &Exchange, method: &str, status: u16) -> bool {
    let Request { method: asked, path, .. } = &exchange.request;
    asked == method && path.starts_with("/pets") && exchange.status() == Some(status)
}

/// Returns true if a request of this kind was not counted: the responses before and after it, in one window, differ by one request only.
fn is_free(session: &Session<'_>, key: &ApiKey, is_of_kind: fn(&Exchange) -> bool) -> bool {
    let own: Vec<_> = session.exchanges_of(key).collect();
    own.windows(3).any(|neighbours| {
        let &[before, exchange, after] = neighbours else { return false };
        let in_order = before.received_at <= exchange.sent_at && exchange.received_at <= after.sent_at;
        // A refusal was not counted itself.
        in_order
            && after.status() != Some(429)
            && is_of_kind(exchange)
            && window_of(before).zip(window_of(after)).is_some_and(|(before, after)| {
                before.reset == after.reset && before.remaining.checked_sub(after.remaining) == Some(1)
            })
    })
}

/// The list that is sent over the limit.
fn list_over(turn: Turn) -> Request {
    let query = match turn {
        Turn::First => "limit=1",
        // The near misses have asked for the same list, which a cache before the limiter would answer. One without a status shows
        // less, because a service may have two handlers.
        Turn::Second => "status=sold",
    };
    list(query)
}

/// The request over the limit to send now, on the connection of the request that shows the recovery. A creation that was sent and admitted
/// before is replaced by another one, because no response would show which of the two had stored an animal.
fn renewed(session: &mut Session<'_>, request: &Request, key: &ApiKey) -> Request {
    let is_same = |exchange: &Exchange| harmless::plain(&exchange.request) == harmless::plain(request);
    let was_sent = session.trace.exchanges.iter().rev().any(is_same);
    let next =
        if request.method == "POST" && was_sent { bearing(creation(session, VALID), key) } else { request.clone() };
    next.kept()
}

/// Sends requests without a key: a client without a key gets 401 also while a key is exhausted. A cache may have kept the refusal of the
/// list.
async fn ask_without_a_key(session: &mut Session<'_>, turn: Turn) -> Result<(), Stop> {
    let unknown = format!("Bearer conform-unknown-{:016x}", session.random.u64(..));
    let requests: [Request; KEYLESS_OVER] = [
        list_over(turn),
        Request::new("GET", "/pets/1").authorization(unknown.clone()),
        Request::new("GET", "/store/orders").authorization(unknown),
    ];
    for mut request in requests {
        request.authorization = request.authorization.filter(|_| session.options.judging.scope.sends_unknown_keys());
        session.send(request).await?;
    }
    Ok(())
}
