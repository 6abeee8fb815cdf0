//! Requests with a key: the choice of the key, the waits until its limit has room, and its last responses.

use std::time::Duration;

use super::{ATTEMPTS, Session, Stop, bearing};
use crate::http::pacing::{self, Advice, window_of};
use animal_store_rules::catalogue::plan::PLANS;
use animal_store_rules::history::History;
use animal_store_rules::limits::{Kind, Limiter};
use animal_store_rules::request::bearer_key;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::rate_limit::Window;

/// A limit of at least the smallest daily limit may be per day, and then the limit per minute is unknown.
pub const MAY_BE_A_DAY: u64 = 1_000;

/// The number of requests that other clients of the key may send between two requests of the run.
const FEW: u64 = 5;

/// The maximum number of bans that the run waits for, if each is short enough.
const BANS: usize = 3;

/// The time that restores the whole limit of a minute. Requests that are restored one by one may be used by other clients at once.
const A_MINUTE: Duration = Tolerance::LONGEST_MINUTE.unsigned();

/// The maximum number of requests of a key that are refused in a row.
const IN_A_ROW: usize = 2;

/// The minimum wait after two refusals, even if the server announces a shorter one.
const LEAST_WAIT: Duration = Duration::from_secs(2);

/// The use that a session makes of its keys, and its experience with waits for them.
#[derive(Default)]
pub(super) struct Asking {
    /// The place of the key that requests are sent with.
    place: usize,
    /// Whether the run waits only after a 429, and not at Remaining 0, because Resets restore nothing.
    ignores_remaining: bool,
    /// The number of the exchange that followed the last wait for a Reset.
    waited_before: Option<usize>,
    /// The refusals of windows that had promised more requests.
    early_refusals: usize,
    /// The bans that were waited for.
    bans: usize,
    /// The number of times that a likely end of the access turned out to be none.
    pub(super) mistaken_ends: usize,
    /// The number of times that callers without a key have exhausted an allowance of theirs.
    pub(super) exhausted_allowances: usize,
}

impl Session<'_> {
    /// The place of the key that requests are sent with.
    pub fn asking(&self) -> usize {
        self.asking.place
    }

    /// The key that requests are sent with.
    pub fn asking_key(&self) -> ApiKey {
        self.trace.context.keys[self.asking.place].clone()
    }

    /// The other key, if there are two.
    pub fn other_key(&self) -> Option<ApiKey> {
        let keys = &self.trace.context.keys;
        (0..keys.len()).find(|place| *place != self.asking.place).map(|place| keys[place].clone())
    }

    /// Sends requests with the key at this place from now on; with the last one where there are fewer.
    pub fn ask_with(&mut self, place: usize) {
        self.asking.place = place.min(self.trace.context.keys.len() - 1);
    }

    /// Sends a request with the key in turn: if the window is exhausted, waits for its reset first, and after a refusal waits as
    /// announced and retries.
    pub async fn ask(&mut self, request: Request) -> Result<&Exchange, Stop> {
        let key = self.asking_key();
        let request = bearing(request, &key);
        self.make_room(&key, 1).await?;
        let mut is_skipped = false;
        for attempt in 0..=ATTEMPTS {
            let jitter = self.random.f64();
            let is_promised = self.promised(&key) > FEW;
            let exchange = self.send(request.clone()).await?.clone();
            // A second refusal is returned if the limit is not exhausted: other requests may be admitted.
            if !pacing::asks_to_wait(&exchange) || is_skipped {
                return Ok(self.exchange(exchange.number - 1));
            }
            // A 403 for another reason than a ban comes again, so the second one is returned.
            is_skipped = is_promised || exchange.status() == Some(403);
            if attempt == ATTEMPTS {
                break;
            }
            let advice = pacing::after_refusal(&exchange, attempt, jitter);
            // A server that refuses now and then in the middle of its windows has shown that once it was waited for as announced.
            let is_known = is_promised && self.asking.early_refusals > 0 && attempt == 0;
            self.asking.early_refusals += usize::from(is_promised);
            let advice = match advice {
                _ if is_known => Advice::Wait(pacing::MOMENT),
                Advice::Wait(time) if attempt > 0 => Advice::Wait(time.max(A_MINUTE)),
                other => self.until_a_ban_ends(&key, other),
            };
            self.follow(advice, "Retry-After").await?;
        }
        let last = self.last_answer_to(&key).and_then(|last| Some((window_of(last)?, pacing::answered_at(last))));
        let left = last.map_or(0, |(window, now)| window.reset.saturating_sub(now.as_second()));
        Err(Stop::StaysLimited(Duration::from_secs(u64::try_from(left).unwrap_or_default())))
    }

    /// Sends requests with the key in turn concurrently; if the window has no room for them, waits for the next one first. Refused
    /// requests are not retried, but the announced time is awaited: other requests would count as repeated.
    pub async fn ask_together(&mut self, requests: Vec<Request>) -> Result<Vec<&Exchange>, Stop> {
        self.ask_together_beside(requests, Vec::new()).await
    }

    /// Sends requests as [`Session::ask_together`] does, and others, which have their credentials, in the midst of the first of them.
    pub async fn ask_together_beside(
        &mut self,
        requests: Vec<Request>,
        mut others: Vec<Request>,
    ) -> Result<Vec<&Exchange>, Stop> {
        let key = self.asking_key();
        // Other traffic on the key may be as frequent as this run, and then several concurrent requests would get 429.
        self.make_room(&key, 2 * requests.len()).await?;
        let mut answered = Vec::with_capacity(requests.len());
        let mut requests: Vec<Request> = requests.into_iter().map(|request| bearing(request, &key)).collect();
        while !requests.is_empty() {
            let rest = requests.split_off(self.at_once(requests.len()).clamp(1, requests.len()));
            let mut now = std::mem::replace(&mut requests, rest);
            let midst = now.len() / 2..now.len() / 2 + others.len();
            now.splice(midst.start..midst.start, others.drain(..));
            let mut sent = self.send_all(now).await?;
            sent.drain(midst);
            let exchanges = sent.iter().map(|place| self.exchange(*place));
            let refused: Vec<Exchange> = exchanges.filter(|sent| pacing::asks_to_wait(sent)).cloned().collect();
            answered.extend(sent);
            if !refused.is_empty() {
                let jitter = self.random.f64();
                self.heed(&key, &refused, jitter).await?;
            }
        }
        Ok(answered.into_iter().map(|place| self.exchange(place)).collect())
    }

    /// Waits for the longest of the times that these refusals announce.
    pub async fn heed(&mut self, key: &ApiKey, refused: &[Exchange], jitter: f64) -> Result<(), Stop> {
        let advice = refused.iter().map(|refused| pacing::after_refusal(refused, 0, jitter)).max();
        let advice = self.until_a_ban_ends(key, advice.unwrap_or(Advice::Go));
        self.follow(advice, "Retry-After").await
    }

    /// Returns the advice. If it is too long and repeated refusals may have caused a ban, which is lawful, the run waits for the
    /// end of the ban instead, a few times at most.
    fn until_a_ban_ends(&mut self, key: &ApiKey, advice: Advice) -> Advice {
        let refusals = self.exchanges_of(key).filter(|exchange| exchange.status() == Some(429)).count();
        match advice {
            Advice::TooLong(time) if time <= pacing::LONGEST_BAN && self.asking.bans < BANS && refusals > 1 => {
                self.asking.bans += 1;
                Advice::Wait(time)
            }
            // After one ban, a request that comes too early may cause the next.
            Advice::Wait(time) if self.asking.bans > 0 => Advice::Wait(time.max(A_MINUTE)),
            other => other,
        }
    }

    /// The number of consecutive rejected requests with the key, up to the last.
    pub fn refusals(&self, key: &ApiKey) -> usize {
        let latest = self.exchanges_of(key).rev();
        latest.take_while(|exchange| matches!(exchange.status(), Some(401 | 403 | 429))).count()
    }

    /// Waits for the window's reset when it has no room for this many requests.
    pub(in crate::probes) async fn make_room(&mut self, key: &ApiKey, requests: usize) -> Result<(), Stop> {
        let Some(last) = self.last_answer_to(key) else { return Ok(()) };
        let (number, is_refused) = (last.number, last.status() == Some(429));
        let advice = pacing::before_many(last, requests);
        if !matches!(advice, Advice::Go) {
            // Exhausted right after the reset, or not restored by it: Remaining is unreliable, so from now on only a 429 causes a wait.
            let history = History::without_bodies(&self.trace);
            let limiter = Limiter::new(&history);
            let explanation = limiter.keys()[self.asking.place].explanation();
            let restores_nothing = explanation.of_kinds(&[Kind::NotRestored]).next().is_some();
            if self.asking.waited_before == Some(number) || restores_nothing {
                self.asking.ignores_remaining = true;
            }
            if self.asking.ignores_remaining {
                return Ok(());
            }
            self.asking.waited_before = Some(self.trace.exchanges.len() + 1);
        }
        let advice = if is_refused { self.until_a_ban_ends(key, advice) } else { advice };
        self.follow(advice, "the window of the key to reset").await
    }

    /// The exchanges with a key as a bearer token, however it is spelt, in order.
    pub(in crate::probes) fn exchanges_of(&self, key: &ApiKey) -> impl DoubleEndedIterator<Item = &Exchange> {
        let context = &self.trace.context;
        let place = context.keys.place_of(key.reveal());
        let exchanges = self.trace.exchanges.iter();
        exchanges.filter(move |exchange| place.is_some() && bearer_key(&exchange.request, context) == place)
    }

    /// The last exchange with a key.
    pub fn last_answer_to(&self, key: &ApiKey) -> Option<&Exchange> {
        self.exchanges_of(key).next_back()
    }

    /// The window that the last answer to a key reports whose headers can be read.
    pub fn last_window(&self, key: &ApiKey) -> Option<Window> {
        self.exchanges_of(key).rev().find_map(window_of)
    }

    /// The number of requests that remain of the minute by the last answer to a key; 0 as soon as that minute may be over.
    pub fn promised(&self, key: &ApiKey) -> u64 {
        let Some(last) = self.last_answer_to(key).filter(|last| last.status() != Some(429)) else { return 0 };
        let Some(window) = window_of(last) else { return 0 };
        let since = self.now().duration_since(last.received_at).as_secs();
        let is_running = window.reset > pacing::answered_at(last).as_second() + since + 1;
        let is_minute = match self.trace.context.plan_limits {
            Some(plan_limits) => window.limit == plan_limits.per_minute,
            None => window.limit < MAY_BE_A_DAY,
        };
        if is_running && is_minute { window.remaining } else { 0 }
    }
}

/// The bound on refusals: at most two requests of a key in a row are refused for the rate, with any header fields of the server.
///
/// Two functions keep to it. [`Session::heed_refusals`] waits before a request whose key was refused that often. [`Session::room`]
/// bounds the number of concurrent requests to what certainly fits into a window.
impl Session<'_> {
    /// The number of further requests of a key that may be refused before the run has to wait.
    pub(in crate::probes) fn refusals_left(&self, key: &ApiKey) -> usize {
        IN_A_ROW.saturating_sub(self.refused_in_a_row(key).len())
    }

    /// Waits if the key of one of these requests was refused as often in a row as is allowed. The wait is as long as the last
    /// refusal announces, and from the third refusal on at least a whole minute.
    pub(super) async fn heed_refusals(&mut self, requests: &[Request]) -> Result<(), Stop> {
        for place in 0..self.trace.context.keys.len() {
            let context = &self.trace.context;
            let row = self.refused_in_a_row(&context.keys[place]);
            let is_sent = requests.iter().any(|request| bearer_key(request, context) == Some(place));
            let Some(last) = row.first().filter(|_| is_sent && row.len() >= IN_A_ROW) else { continue };
            let announced = pacing::announced(last).unwrap_or(A_MINUTE).clamp(LEAST_WAIT, pacing::LONGEST_WAIT);
            let wait = if row.len() > IN_A_ROW { announced.max(A_MINUTE) } else { announced };
            let passed = self.now().duration_since(last.received_at).unsigned_abs();
            if let Some(left) = wait.checked_sub(passed).filter(|left| !left.is_zero()) {
                self.wait(left, "the key was refused twice in a row").await?;
            }
        }
        Ok(())
    }

    /// The last exchange of a key, if it was refused for the rate and the time that it announces has not passed.
    pub(in crate::probes) fn refused_now(&self, key: &ApiKey) -> Option<&Exchange> {
        let last = self.last_answer_to(key).filter(|last| last.status() == Some(429))?;
        let announced = pacing::announced(last)?;
        (self.now().duration_since(last.received_at).unsigned_abs() < announced).then_some(last)
    }

    /// The latest refusals of a key in a row, the last one first. Requests without a response are skipped.
    fn refused_in_a_row(&self, key: &ApiKey) -> Vec<&Exchange> {
        let answered = self.exchanges_of(key).rev().filter(|exchange| exchange.status().is_some());
        answered.take_while(|exchange| exchange.status() == Some(429)).collect()
    }

    /// The number of requests with the key that may be sent concurrently, at least one. If the last response does not say how many
    /// remain, all of them may be refused. If it does, it may be wrong: while the requests of the last minute come close to the
    /// limit of a plan, all of them may be refused as well.
    pub(super) fn room(&self) -> usize {
        let key = self.asking_key();
        let Some(last) = self.last_answer_to(&key) else { return 1 };
        let in_a_row = self.refusals_left(&key).max(1);
        let Some(window) = window_of(last) else { return in_a_row };
        // A reset may restore a single request of many, for example where each request counts for a minute of its own.
        let by_headers = usize::try_from(window.remaining.max(1)).unwrap_or(usize::MAX);
        // Those of the last minute that were admitted.
        let since = self.now() - Tolerance::MINUTE.duration();
        let recent = self.exchanges_of(&key).rev().take_while(|exchange| exchange.received_at >= since);
        let sent = recent.filter(|exchange| exchange.status() != Some(429)).count();
        let plan = self.trace.context.plan_limits.map(|plan_limits| plan_limits.per_minute);
        let plans = plan.map_or_else(|| PLANS.iter().map(|(_, limits)| limits.per_minute).collect(), |plan| vec![plan]);
        let mut limits = plans.into_iter().map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        // The window is one of a minute if its limit is that of the plan, or if it ends within a minute.
        let left = window.reset.saturating_sub(pacing::answered_at(last).as_second());
        let ends_soon = window.limit < MAY_BE_A_DAY || left <= Tolerance::LONGEST_MINUTE.duration().as_secs();
        let is_of_minute = plan.map_or(ends_soon, |plan| window.limit == plan);
        let near = if is_of_minute && self.counts_own(&key, last, window) {
            limits.filter(|limit| sent < limit + IN_A_ROW).min()
        } else {
            // No header field says how many remain of the minute: it may have begun with any request of the last one.
            limits.next().map(|limit| if sent < limit { limit } else { sent })
        };
        match near {
            Some(limit) if sent < limit => by_headers.min(limit - sent).max(1),
            Some(_) => by_headers.min(in_a_row),
            None => by_headers,
        }
    }

    /// Returns true if the window of the last response has as many requests used as this run has had admitted in it. If not, its
    /// Remaining is not reliable.
    fn counts_own(&self, key: &ApiKey, last: &Exchange, window: Window) -> bool {
        let (mut counted, mut used) = (0, 0);
        for exchange in self.exchanges_of(key) {
            let Some(reported) = window_of(exchange) else { continue };
            if reported.reset != window.reset || reported.limit != window.limit {
                continue;
            }
            counted += u64::from(exchange.status() != Some(429));
            // Requests at the same time have no order.
            if exchange.received_at > last.sent_at {
                used = used.max(reported.limit.saturating_sub(reported.remaining));
            }
        }
        // Remaining may be reported before the request is counted.
        used + 1 >= counted
    }
}

#[cfg(test)]
mod tests;
