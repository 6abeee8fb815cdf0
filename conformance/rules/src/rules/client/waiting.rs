//! Waiting as long as `Retry-After` says.
//!
//! A date can be read in one way only, so a request before that date breaks a stated requirement. A number is read as seconds,
//! which is inferred from RFC 9110 §10.2.3: the specification leaves the unit open.
//!
//! A refusal is a gate: until its time has come, no task that knows the refusal sends a request with the key. A gate opens earlier
//!
//! * if another refusal of the same burst asks for less: tasks that were refused together may each follow their own response,
//! * if a request that was sent after the refusal was admitted,
//! * on a connection whose own latest response was a refusal that asks for no more.
//!
//! Traffic shows what left a client, not what it knew: a queue, a distance or a process that stands still makes a lawful client look hasty.
//! So a single early request is an observation, unless it is earlier by more than [`CERTAIN`] and its connection had carried the refusal.

use std::collections::{BTreeSet, HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::knowing::{Key, Sender};
use super::{Clients, described};
use crate::history::Entry;
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::tolerance::Tolerance;
use crate::trace::knowledge::Fact;
use crate::trace::retry_after::{self, RetryAfter};

pub(crate) const RULES: &[Rule] = &[
    Rule::of_clients("client.retry-after-date", |clients, memory, judgement| {
        let is_date = |form| matches!(form, RetryAfter::Date(_));
        judge_waits(clients, &mut memory.waiting_until, is_date, "a date", judgement);
    }),
    Rule::of_clients("client.retry-after-seconds", |clients, memory, judgement| {
        let is_seconds = |form| matches!(form, RetryAfter::Seconds(_));
        judge_waits(clients, &mut memory.waiting_for, is_seconds, "a number of seconds", judgement);
    }),
];

/// The number of connections of a key above which those whose gates are over are forgotten.
const MAX_CONNECTIONS: usize = 1_000;

/// The number of requests in a row that fall short of the seconds in `Retry-After`, from which on the client is not excused by the slack: the
/// error of one measurement does not come again and again.
const LEAST_SHORTFALLS: u32 = 3;

/// The time by which a single request must be early to be a failure, in addition to the slack.
const CERTAIN: SignedDuration = SignedDuration::from_secs(3);

/// The time by which a lawful client may fall short of a `Retry-After` now and then.
const SLACK: SignedDuration = Tolerance::CLIENT_SLACK.duration();

/// A refusal and the time that it asks to wait for.
#[derive(Clone, Copy, Debug)]
struct Gate {
    sender: Sender,
    form: RetryAfter,
    opens_at: Timestamp,
    /// The time at which the gate opens for a client that counts seconds from an earlier time than the receipt of the refusal.
    opens_early_at: Timestamp,
}

/// The refusals of one key, as far as the connections that send with it know them.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates {
    /// Refusals that not every connection knows yet, in the order of their receipt.
    recent: VecDeque<Gate>,
    /// The gate that every connection knows.
    known: Option<Gate>,
    connections: HashMap<u64, Connection>,
    /// The time at which the latest admitted request was sent.
    admitted: Option<Timestamp>,
    /// Whether a request was too early for one of the present gates, or fell short of it.
    is_broken: bool,
    /// The number of latest requests that fell short of the time of a gate, each by less than the slack.
    shortfalls: u32,
    /// The first early request. Those that follow at once belong to the same moment.
    early: Option<Sender>,
}

/// The refusals that one connection received.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    /// The first received gate that is still shut.
    gate: Option<Gate>,
    /// The time until which the latest response asks to wait, if it was a refusal.
    asked: Option<Timestamp>,
}

fn judge_waits(
    clients: &Clients<'_>,
    keys: &mut HashMap<Key, Gates>,
    is_of_form: fn(RetryAfter) -> bool,
    described_form: &str,
    judgement: &mut Judgement,
) {
    let (mut is_met, mut is_hidden, mut observed) = (false, false, None);
    let exchanges: Vec<(&Entry<'_>, &Sender)> = clients.exchanges().collect();
    let mut receipts: Vec<usize> = (0..exchanges.len()).collect();
    receipts.sort_by_key(|index| (exchanges[*index].1.received_at, *index));
    let asked = asked_together(&exchanges, &receipts);
    let mut receipts = receipts.into_iter().peekable();
    let shows_pauses = clients.shows_pauses();
    let mut receive = |keys: &mut HashMap<Key, Gates>, index: usize| {
        let (entry, sender) = exchanges[index];
        is_hidden |= entry.status() == Some(429) && (sender.key.is_none() || !shows_pauses);
        if let Some(key) = sender.key.filter(|_| shows_pauses) {
            is_met |= keys.entry(key).or_default().receive(entry, sender, asked[index], is_of_form);
        }
    };
    for (present, &(entry, sender)) in exchanges.iter().enumerate() {
        while let Some(index) =
            receipts.next_if(|index| *index < present && exchanges[*index].1.received_at <= sender.sent_at)
        {
            receive(keys, index);
        }
        let Some(gates) = sender.key.and_then(|key| keys.get_mut(&key)) else { continue };
        if let Some(gate) = gates.broken_by(sender) {
            gates.is_broken = true;
            let after = sender.sent_at.duration_since(gate.sender.received_at).as_secs_f64();
            let early = gate.opens_at.duration_since(sender.sent_at).as_secs_f64();
            let (after, early) = (format!("{after:.1}"), format!("{early:.1}"));
            let found = sentence!("{} was sent {} s after the 429, {} s too early", described(entry), after, early);
            if gates.is_certain(&gate, sender) {
                let expected =
                    sentence!("no request with this key until the time of {} has come", header_line(gate.form));
                judgement.fail(&clients.evidence(entry, &[&gate.sender]), expected, found);
            } else {
                observed.get_or_insert_with(|| {
                    format!("{found}; as a single one, it may be from a task that had not read the refusal")
                });
            }
        } else if gates.pass(sender.sent_at) {
            judgement.hold();
        }
    }
    receipts.for_each(|index| receive(keys, index));
    // A client that gave up has waited, if the recording goes on for long enough to show it.
    if let Some(end) = exchanges.last().map(|(_, last)| last.sent_at) {
        for gates in keys.values_mut() {
            if gates.pass(end) {
                judgement.hold();
            }
        }
    }
    if observed.is_some() && judgement.failures.is_empty() {
        judgement.unseen = observed;
    } else if judgement.judged == 0 {
        judgement.withheld = is_hidden.then(|| {
            "this needs a recording of everything that the client sent and received, with keys and exact times"
                .to_owned()
        });
        judgement.unseen = (!is_hidden).then(|| {
            if is_met {
                format!("after the last 429 with {described_form} in Retry-After, the clients sent nothing more")
            } else {
                format!("the clients received no 429 with {described_form} in Retry-After")
            }
        });
    }
}

/// The time until which each exchange asks to wait: the earliest one of the refusals that the same key received within the slack
/// before or after it. Tasks whose requests were sent together may each follow their own response.
fn asked_together(exchanges: &[(&Entry<'_>, &Sender)], receipts: &[usize]) -> Vec<Option<Timestamp>> {
    let mut of_keys: HashMap<Key, Vec<(usize, Timestamp, Timestamp)>> = HashMap::new();
    for &index in receipts {
        let (entry, sender) = exchanges[index];
        if let Some((key, until)) = sender.key.zip(waits_until(entry)) {
            of_keys.entry(key).or_default().push((index, sender.received_at, until));
        }
    }
    let mut asked = vec![None; exchanges.len()];
    for refusals in of_keys.into_values() {
        // The refusals within the slack of the present one, the least time first.
        let (mut within, mut begin, mut end) = (BTreeSet::new(), 0, 0);
        for &(index, received_at, _) in &refusals {
            while let Some(&(_, _, until)) = refusals.get(end).filter(|(_, other, _)| *other <= received_at + SLACK) {
                within.insert((until, end));
                end += 1;
            }
            while refusals[begin].1 + SLACK < received_at {
                within.remove(&(refusals[begin].2, begin));
                begin += 1;
            }
            asked[index] = within.first().map(|(until, _)| *until);
        }
    }
    asked
}

impl Gates {
    /// Notes a response, which asks for no request until a time. Returns true if it is a refusal with a `Retry-After` of the judged
    /// form.
    fn receive(
        &mut self,
        entry: &Entry<'_>,
        sender: &Sender,
        asked: Option<Timestamp>,
        is_of_form: fn(RetryAfter) -> bool,
    ) -> bool {
        if matches!(entry.status(), Some(200..=299 | 400 | 404)) {
            self.admitted = self.admitted.max(Some(sender.sent_at));
        }
        let gate = asked.zip(retry_after_of(entry)).filter(|(_, form)| is_of_form(*form));
        let gate = gate.map(|(opens_at, form)| {
            let head_start = sender.received_at.duration_since(counted_from(entry));
            let opens_early_at = opens_at.checked_sub(head_start).unwrap_or(opens_at);
            Gate { sender: *sender, form, opens_at, opens_early_at }
        });
        if let Some(carrier) = sender.carrier {
            if self.connections.len() >= MAX_CONNECTIONS {
                self.connections.retain(|_, known| known.gate.is_some_and(|gate| gate.opens_at > sender.received_at));
            }
            let connection = self.connections.entry(carrier.connection).or_default();
            connection.asked = waits_until(entry);
            // Of several shut gates, the connection has known the first one for longest.
            let is_shut = connection.gate.is_some_and(|gate| gate.opens_at > sender.received_at);
            connection.gate = if is_shut { connection.gate } else { gate.or(connection.gate) };
        }
        self.recent.extend(gate);
        gate.is_some()
    }

    /// The gate for which a request is too early.
    fn broken_by(&mut self, request: &Sender) -> Option<Gate> {
        while let Some(gate) = self.recent.front().filter(|gate| gate.sender.gap_to(request) >= SLACK).copied() {
            self.recent.pop_front();
            if self.known.is_none_or(|known| known.opens_at <= gate.opens_at || !self.is_shut(&known, request, SLACK)) {
                self.known = Some(gate);
            }
        }
        let broken = self.shut_for(request, |_| SLACK);
        let short = self.shut_for(request, repeated_slack).filter(|_| broken.is_none());
        self.is_broken |= short.is_some();
        let unexplained = short.filter(|gate| gate.opens_early_at > request.sent_at + repeated_slack(gate.form));
        self.shortfalls += u32::from(unexplained.is_some());
        broken.or(unexplained.filter(|_| self.shortfalls > LEAST_SHORTFALLS))
    }

    /// Returns true if a request that is too early for a gate shows that the client does not wait: it is early by far on a connection that
    /// carried the refusal, or it is not the first.
    fn is_certain(&mut self, gate: &Gate, request: &Sender) -> bool {
        let early = gate.opens_at.duration_since(request.sent_at);
        let is_sole = gate.sender.is_sole_beside(request);
        let is_far = early > SLACK + CERTAIN && (is_sole || gate.sender.shares_connection(request));
        let first = *self.early.get_or_insert(*request);
        is_far || early <= SLACK || first.is_apart_from(request)
    }

    /// The gate that is shut when a request is sent by a task that knows of it, with this allowance for the form of its `Retry-After`.
    fn shut_for(&self, request: &Sender, slack: fn(RetryAfter) -> SignedDuration) -> Option<Gate> {
        let connection = request.carrier.and_then(|carrier| self.connections.get(&carrier.connection));
        let gates = connection.and_then(|connection| connection.gate).into_iter();
        let mut gates = gates.chain(self.known).chain(self.recent.front().copied());
        let asked = connection.and_then(|connection| connection.asked);
        gates.find(|gate| {
            let slack = slack(gate.form);
            asked.is_none_or(|until| until > request.sent_at + slack)
                && gate.sender.is_disregarded_by(request)
                && self.is_shut(gate, request, slack)
        })
    }

    /// Returns true if a gate is shut when a request is sent, with allowance for the slack and the precision of the times.
    fn is_shut(&self, gate: &Gate, request: &Sender, slack: SignedDuration) -> bool {
        let slack = slack.saturating_add(gate.sender.precision.max(request.precision));
        let is_reopened = self.admitted.is_some_and(|sent_at| sent_at >= gate.sender.received_at);
        !is_reopened && gate.opens_at.duration_since(request.sent_at) > slack
    }

    /// Forgets the gates when the time of all of them has come. Returns true if there were gates and no request was too early for
    /// them.
    fn pass(&mut self, now: Timestamp) -> bool {
        let is_over = |gate: &Gate| gate.opens_at <= now + repeated_slack(gate.form);
        if self.known.is_none() && self.recent.is_empty() || !self.known.iter().chain(&self.recent).all(is_over) {
            return false;
        }
        self.known = None;
        self.recent.clear();
        let is_kept = !std::mem::take(&mut self.is_broken);
        self.shortfalls = if is_kept { 0 } else { self.shortfalls };
        is_kept
    }
}

/// The time by which a lawful client may fall short of a `Retry-After` again and again: clocks that disagree about a date go on to disagree,
/// but seconds depend on no clock.
pub(super) fn repeated_slack(form: RetryAfter) -> SignedDuration {
    match form {
        RetryAfter::Date(_) => SLACK,
        RetryAfter::Seconds(_) => Tolerance::HANDOVER.duration(),
    }
}

/// The earliest time from which a client may count the seconds of a refusal: the sending of its request, the second of its receipt by a clock
/// of whole seconds, or its `Date`.
fn counted_from(entry: &Entry<'_>) -> Timestamp {
    let exchange = entry.exchange;
    let second = Timestamp::from_second(exchange.received_at.as_second()).unwrap_or(exchange.received_at);
    let dates = Some(entry.answered_at()).filter(|date| exchange.received_at.duration_since(*date) < SLACK);
    dates.into_iter().fold(exchange.sent_at.min(second), Timestamp::min)
}

/// The `Retry-After` of a 429, if it can be read.
pub(super) fn retry_after_of(entry: &Entry<'_>) -> Option<RetryAfter> {
    let is_shown = !entry.exchange.known.withheld.contains(Fact::ResponseHeaders);
    let response = entry.response().filter(|response| response.status == 429 && is_shown)?;
    retry_after::read(response).ok()
}

/// The time until which a refusal asks to wait, by the clock of the trace. A client may compare a date with its own clock or with
/// the server's `Date`: the earlier time counts.
pub(super) fn waits_until(entry: &Entry<'_>) -> Option<Timestamp> {
    let received = entry.exchange.received_at;
    let form = retry_after_of(entry)?;
    let relative = received.checked_add(form.wait(entry.answered_at())).ok()?;
    match form {
        RetryAfter::Seconds(_) => Some(relative),
        RetryAfter::Date(date) => {
            let by_date = received.checked_add(form.wait(entry.exchange.answered_at())).ok()?;
            Some(relative.min(by_date).min(date))
        }
    }
}

fn header_line(form: RetryAfter) -> String {
    match form {
        RetryAfter::Seconds(seconds) => format!("Retry-After: {seconds}"),
        RetryAfter::Date(date) => {
            format!("Retry-After: {}", date.strftime("%a, %d %b %Y %H:%M:%S GMT"))
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use crate::tests::TraceBuilder;
    use crate::trace::exchange::{Exchange, Request};
    use crate::trace::knowledge::Carrier;

    fn broken_by(builder: TraceBuilder) -> Vec<&'static str> {
        builder.client_broken().into_iter().filter(|id| id.starts_with("client.retry-after")).collect()
    }

    /// At noon the key is refused with this `Retry-After`; so much later the client sends again.
    fn sent_again(retry_after: &str, seconds: i64) -> Vec<&'static str> {
        broken_by(TraceBuilder::new().list(429, 0, 60).retry_after(retry_after).wait(seconds).list(200, 59, 60))
    }

    #[test]
    fn a_request_before_the_seconds_are_over_is_too_early() {
        assert_eq!(sent_again("30", 10), ["client.retry-after-seconds"]);
        assert_eq!(sent_again("30", 30), [""; 0]);
        assert_eq!(sent_again("30", 29), [""; 0], "a second of slack");
        assert_eq!(sent_again("30", 0), [""; 0], "it may have been in a queue");
    }

    #[test]
    fn a_single_early_request_is_an_observation_unless_it_is_early_by_far() {
        let rule = "client.retry-after-seconds";
        assert_eq!(sent_again("5", 2), [""; 0], "a process may stand still");
        let twice = |first: i64, then: i64| {
            let refused = TraceBuilder::new().list(429, 0, 60).retry_after("6").wait_millis(first);
            broken_by(refused.list(429, 0, 60).retry_after("6").wait_millis(then).list(429, 0, 60))
        };
        assert_eq!(twice(2_500, 2_500), [rule]);
        assert_eq!(twice(2_500, 6_000), [""; 0], "it learned");
        let stalled = |builder: TraceBuilder, connection: u64| {
            let on = move |exchange: &mut Exchange| exchange.known.carrier = Some(Carrier { connection, others: 7 });
            builder.list(200, 0, 60).change_last(on)
        };
        let refused = TraceBuilder::new().list(429, 0, 60).retry_after("9").wait(3);
        let resumed = (2..9).fold(refused, stalled);
        assert_eq!(broken_by(resumed), [""; 0], "all tasks of a process go on at the same moment");
    }

    #[test]
    fn a_far_client_knows_a_refusal_when_it_has_arrived_there() {
        let far = |round_trip: i64, times: usize| {
            let begun = TraceBuilder::new().list(429, 0, 60).retry_after("9");
            (0..times).fold(begun, |builder, _| builder.wait_millis(round_trip).list(429, 0, 60).retry_after("9"))
        };
        assert_eq!(broken_by(far(300, 3)), [""; 0], "a pool sends what was queued as each response arrives");
        assert_eq!(broken_by(far(300, 12)), ["client.retry-after-seconds"], "a queue is empty after a second");
    }

    /// Requests with this pause before each in milliseconds, the first five of them admitted; then the key is refused. `limits` is the number
    /// of different requests.
    fn after_pauses(pauses: &[i64], limits: usize) -> TraceBuilder {
        pauses.iter().enumerate().fold(TraceBuilder::new(), |builder, (at, pause)| {
            let list = Request::new("GET", "/pets").query(format!("limit={}", 1 + at % limits));
            let builder = builder.wait_millis(*pause);
            match at {
                0..5 => builder.ask(list, 200, "[]".to_owned()).with_rate_limit(1, 60),
                _ => builder.ask(list, 429, String::new()).with_rate_limit(0, 60).retry_after("3"),
            }
        })
    }

    #[test]
    fn requests_in_the_queue_of_one_connection_cannot_be_taken_back() {
        let queue = after_pauses(&[1; 40], 40).wait(4).list(200, 59, 60);
        assert_eq!(broken_by(queue), [""; 0], "forty tasks share one connection");
        assert_eq!(broken_by(after_pauses(&[15; 40], 40)), [""; 0], "on a slow server");
        let two = |builder: TraceBuilder| {
            builder.change_each(|exchange| {
                let connection = 1 + exchange.number as u64 % 2;
                exchange.known.carrier = Some(Carrier { connection, others: 1 });
            })
        };
        assert_eq!(broken_by(two(after_pauses(&[1; 40], 40))), [""; 0], "two connections");
        assert_eq!(broken_by(after_pauses(&[1; 40], 1)), [""; 0], "tasks may send the same request");
        assert_eq!(broken_by(after_pauses(&[1; 60], 1)), ["client.retry-after-seconds"], "no queue is as long");
    }

    #[test]
    fn a_client_that_falls_short_of_the_seconds_again_and_again_does_not_wait() {
        let again = |retry_after: &str, wait: i64, times: usize| {
            let refused = |builder: TraceBuilder| builder.list(429, 0, 60).retry_after(retry_after).wait_millis(wait);
            (0..times).fold(TraceBuilder::new().list(200, 1, 60), |builder, _| refused(builder)).list(200, 59, 60)
        };
        let rule = "client.retry-after-seconds";
        assert_eq!(again("1", 500, 2).client_judged(rule), 0, "neither obeyed nor broken");
        assert!(broken_by(again("1", 1, 200)).contains(&rule));
        assert!(broken_by(again("2", 1_050, 6)).contains(&rule));
        assert_eq!(broken_by(again("1", 900, 60)), [""; 0], "timers are not exact");
        assert!(again("1", 1_001, 9).client_judged(rule) > 0);
    }

    #[test]
    fn seconds_may_be_counted_by_a_clock_of_whole_seconds_or_from_the_sending() {
        // Each response takes 0.4 s, and the requests are 2 s apart.
        let again = |first: i64, millis: i64| {
            let refused = |builder: TraceBuilder, _| {
                let slow = |exchange: &mut Exchange| exchange.sent_at -= SignedDuration::from_millis(400);
                builder.list(429, 0, 60).retry_after("2").change_last(slow).wait_millis(millis)
            };
            (0..12).fold(TraceBuilder::new().wait_millis(first), refused)
        };
        for first in [400, 700] {
            assert_eq!(broken_by(again(first, 2_000)), [""; 0], "{first}");
        }
        assert!(broken_by(again(400, 1_700)).contains(&"client.retry-after-seconds"));
    }

    #[test]
    fn another_connection_knows_of_a_refusal_after_a_second() {
        let on_another = |millis| {
            let again = TraceBuilder::new().list(429, 0, 60).retry_after("6").wait_millis(millis).list(429, 0, 60);
            broken_by(again.change_last(|last| last.known.carrier = Some(Carrier { connection: 2, others: 0 })))
        };
        assert_eq!(on_another(800), [""; 0]);
        assert_eq!(on_another(1_100), ["client.retry-after-seconds"]);
    }

    #[test]
    fn a_request_before_the_date_is_too_early() {
        let date = "Mon, 01 Jun 2026 12:00:30 GMT";
        assert_eq!(sent_again(date, 10), ["client.retry-after-date"]);
        assert_eq!(sent_again(date, 30), [""; 0]);
        assert_eq!(sent_again("Mon, 01 Jun 2026 11:00:00 GMT", 1), [""; 0], "a date in the past asks for no wait");
    }

    #[test]
    fn another_key_need_not_wait_and_what_cannot_be_read_asks_for_nothing() {
        let refused = || TraceBuilder::new().list(429, 0, 60).retry_after("30");
        assert_eq!(broken_by(refused().key("sk-Other").list(200, 59, 60)), [""; 0]);
        assert_eq!(sent_again("soon", 0), [""; 0]);
    }

    #[test]
    fn a_request_that_was_under_way_is_not_too_early() {
        let together = TraceBuilder::new().list(429, 0, 60).retry_after("30").list(200, 1, 60).slow(5);
        assert_eq!(broken_by(together), [""; 0]);
    }

    #[test]
    fn a_client_that_gives_up_is_judged_only_if_the_trace_goes_on() {
        let judged = |builder: TraceBuilder| builder.client_judged("client.retry-after-seconds");
        let refused = || TraceBuilder::new().list(429, 0, 60).retry_after("30");
        assert_eq!(judged(refused()), 0);
        assert_eq!(judged(refused().wait(31).key("sk-Other").list(200, 59, 60)), 1);
    }
}
