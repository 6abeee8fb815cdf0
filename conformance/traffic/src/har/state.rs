//! The recorder of an archive, judged by several entries: the entries that it repeats, and the facts that it loses or changes.

use std::collections::HashSet;

use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::hash;
use animal_store_rules::trace::json::outside_strings;
use animal_store_rules::trace::knowledge::{Fact, Knowledge};
use animal_store_rules::trace::rate_limit::REMAINING;
use jiff::SignedDuration;

use super::LeftOut;
use super::entry::Entry;
use super::message::values;

/// The difference up to which two clocks count as one: HTTP dates have whole seconds, and servers may reuse a date for a while.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(2);

/// The integer from which on a double may stand for neighbours as well: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The state of a reader of an archive: the evidence of the entries so far.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// The digests of requests and responses.
    seen: HashSet<u64>,
    /// Whether an entry had the address of the server: browsers state it for every response that came over the network.
    shows_addresses: bool,
    /// The bounds of the time by which the server's clock is ahead of the recorder's.
    ahead_at_least: Option<SignedDuration>,
    ahead_at_most: Option<SignedDuration>,
}

impl Recorder {
    /// Withholds the times of an exchange if they contradict earlier ones: a server writes `Date` between the request and the end of the
    /// response. The error is the reason why the entry is left out.
    pub(super) fn correct(&mut self, entry: &Entry, exchange: &mut Exchange) -> Result<(), LeftOut> {
        let digests = [request_digest(entry), response_digest(entry), idempotency_digest(entry)];
        // All are inserted, even if the first is known.
        if digests.into_iter().flatten().filter(|digest| !self.seen.insert(*digest)).count() > 0 {
            return Err(LeftOut::Repeated);
        }
        self.shows_addresses |= entry.has_address();
        if self.shows_addresses && !entry.has_address() {
            return Err(LeftOut::Untransferred);
        }
        let precision = exchange.known.precision;
        let date = exchange.response().and_then(|response| response.date());
        let Some(date) = date.filter(|_| precision < Knowledge::NO_TIME) else { return Ok(()) };
        let at_least = date.duration_since(exchange.received_at) - precision;
        let at_most = date.duration_since(exchange.sent_at) + precision + SignedDuration::from_secs(1);
        if self.ahead_at_least.is_some_and(|bound| at_most < bound - CLOCK_SLACK) {
            // The response is older than its request.
            return Err(LeftOut::Cached);
        }
        if self.ahead_at_most.is_some_and(|bound| at_least > bound + CLOCK_SLACK) {
            // Recorders with a clock of twelve hours begin anew at one.
            exchange.known.precision = Knowledge::NO_TIME;
        } else {
            self.ahead_at_least = self.ahead_at_least.max(Some(at_least));
            self.ahead_at_most = Some(self.ahead_at_most.map_or(at_most, |bound| bound.min(at_most)));
        }
        Ok(())
    }
}

/// Withholds the facts that the recorder of an archive seems to lose: all queries, if no exchange has one, and bodies with integers that
/// may have been rounded through a double.
pub fn withhold_lost(exchanges: &mut [Exchange]) {
    let shows_queries = exchanges.iter().any(|exchange| exchange.request.query.is_some());
    let integers: Vec<[Integers; 2]> = exchanges
        .iter()
        .map(|exchange| {
            let sent = exchange.request.body.as_ref().map_or(&[][..], |body| &body.bytes);
            let received = exchange.response().map_or(&[][..], |response| &response.body);
            [Integers::of(sent), Integers::of(received)]
        })
        .collect();
    let is_exact = |side: usize| integers.iter().any(|integers| integers[side] == Integers::Exact);
    let is_exact = [is_exact(0), is_exact(1)];
    for (exchange, integers) in exchanges.iter_mut().zip(integers) {
        if !shows_queries {
            exchange.known.withheld.insert(Fact::Query);
        }
        for (side, fact) in [Fact::RequestBody, Fact::ResponseBody].into_iter().enumerate() {
            if integers[side] == Integers::MaybeRounded && !is_exact[side] {
                exchange.known.withheld.insert(fact);
            }
        }
    }
}

/// The evidence of the integers from 2^53 on in a text that they were rounded through a double.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Integers {
    /// The text has no such integer.
    Small,
    /// Each such integer may be a printed double.
    MaybeRounded,
    /// At least one such integer cannot be a printed double.
    Exact,
}

impl Integers {
    fn of(text: &[u8]) -> Integers {
        let mut found = Integers::Small;
        // Strings are not rounded.
        let outside: Vec<u8> = outside_strings(text).collect();
        for number in outside.split(|byte| !byte.is_ascii_digit() && !b"+-.eE".contains(byte)) {
            let number = std::str::from_utf8(number).unwrap_or_default();
            let Ok(double) = number.parse::<f64>() else { continue };
            if double.abs() < EXACT {
                continue;
            }
            // A double prints as its exact value, or as the shortest digits that give it again, filled up with zeros, or with an exponent.
            let is_printed =
                number.parse().map_or(true, |integer: i128| double as i128 == integer) || double.to_string() == number;
            if !is_printed {
                return Integers::Exact;
            }
            found = Integers::MaybeRounded;
        }
        found
    }
}

/// The digest of a request and its times, which are equal where a recorder writes an entry twice. `None` without a time.
fn request_digest(entry: &Entry) -> Option<u64> {
    let started = entry.started_date_time.as_ref()?;
    // The name of a file is the digest of its bytes.
    let body = entry.request.post_data.as_ref().map(|data| (&data.file, &data.text));
    Some(hash(&(started, entry.time?.to_bits(), &entry.request.method, &entry.request.url, body)))
}

/// The digest of the `Idempotency-Key` of a request. With it, a service gives a repetition the response of the first request.
fn idempotency_digest(entry: &Entry) -> Option<u64> {
    let key = values(&entry.request.headers, "idempotency-key").next()?;
    Some(hash(&(&entry.request.method, &entry.request.url, key)))
}

/// The digest of a response with its Remaining, which no server gives twice. `None` without Remaining. The recorders before and behind a
/// gateway show one response without and with its `Via`.
fn response_digest(entry: &Entry) -> Option<u64> {
    let response = entry.response.as_ref()?;
    let fields = response.headers.iter().map(|field| (field.name.to_ascii_lowercase(), &field.value));
    let mut fields: Vec<(String, &String)> = fields.filter(|(name, _)| name != "via").collect();
    fields.sort();
    let body = (&response.content.file, &response.content.text);
    let shows_remaining = fields.iter().any(|(name, _)| name == REMAINING);
    shows_remaining.then(|| hash(&(&entry.request.method, &entry.request.url, &fields, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_that_no_double_prints_shows_that_nothing_is_rounded() {
        let of = |text: &str| Integers::of(text.as_bytes());
        assert_eq!(of(r#"{"id":9007199254740991}"#), Integers::Small);
        for rounded in
            ["9007199254740992", "-9223372036854775808", "9223372036854776000", "9.007199254740994e+15", "1e300"]
        {
            assert_eq!(of(&format!("[{rounded}]")), Integers::MaybeRounded, "{rounded}");
        }
        assert_eq!(of("[9007199254740994, 9007199254740993]"), Integers::Exact);
        assert_eq!(of("[9223372036854775807]"), Integers::Exact);
        assert_eq!(of(r#"{"id":9007199254740992,"link":"/pets/9007199254740993"}"#), Integers::MaybeRounded);
        assert_eq!(of(r#"{"name":"9007199254740993"}"#), Integers::Small);
    }
}
