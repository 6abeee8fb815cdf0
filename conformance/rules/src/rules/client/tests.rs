//! Whole clients on a simulated clock: a thousand lawful ones, none of which may be accused, and saboteurs, each of which must break
//! its rule.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use crate::catalogue::Party;
use crate::facts::Facts;
use crate::history::History;
use crate::rules::{self, Judgement};
use crate::trace::exchange::{Exchange, Outcome, Request, Response};
use crate::trace::keys::ApiKey;
use crate::trace::knowledge::{Carrier, Extent, Knowledge};
use crate::trace::{Context, Trace};

/// What a server says in `Retry-After`.
#[derive(Clone, Copy, Debug)]
enum Announced {
    Seconds,
    Date,
    Nothing,
}

/// How a client makes its own waits irregular.
#[derive(Clone, Copy, Debug)]
enum Jitter {
    None,
    Full,
    Equal,
    Decorrelated,
}

/// What a client does about refusals. Times are in milliseconds.
#[derive(Clone, Debug)]
struct Policy {
    base: f64,
    cap: f64,
    jitter: Jitter,
    attempts: u32,
    /// Whether its own wait comes on top of what `Retry-After` says.
    adds: bool,
    /// Whether it takes a date by the server's `Date` rather than by its own clock.
    by_server: bool,
    /// Requests at the same time.
    threads: usize,
    requests: u32,
    /// The time between an answer and the next request.
    pause: f64,
    /// Whether it heeds `Retry-After` at all.
    waits: bool,
    /// How its requests are carried.
    connections: Connections,
}

/// How a client uses connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Connections {
    /// Each thread keeps one.
    Kept,
    /// All threads share them: whoever sends takes the one that became free last.
    Pooled,
    /// Each request has its own.
    Fresh,
    /// The recorder did not see them.
    Unseen,
}

impl Policy {
    fn lawful(rng: &mut Rng) -> Policy {
        let base = 50.0 + 950.0 * rng.f64();
        let jitter = [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated][rng.usize(..4)];
        // The first wait of decorrelated jitter is up to three times the base: with a cap below that, it would not grow.
        let least = if matches!(jitter, Jitter::Decorrelated) { 8_u32 } else { 2 };
        Policy {
            base,
            cap: base * f64::from(least << rng.u32(..6)),
            jitter,
            attempts: rng.u32(2..12),
            adds: rng.bool(),
            by_server: rng.bool(),
            threads: if rng.bool() { 1 } else { rng.usize(2..6) },
            requests: rng.u32(20..120),
            pause: 30.0 * rng.f64(),
            waits: true,
            connections: [Connections::Kept, Connections::Pooled, Connections::Fresh, Connections::Unseen]
                [rng.usize(..4)],
        }
    }

    /// The wait before the next attempt, of which there were so many, the last after this wait.
    fn backoff(&self, attempt: u32, last: f64, rng: &mut Rng) -> f64 {
        let bound = (self.base * 2_f64.powi(attempt.cast_signed() - 1)).min(self.cap);
        match self.jitter {
            Jitter::None => bound,
            Jitter::Full => bound * rng.f64(),
            Jitter::Equal => bound * f64::midpoint(1.0, rng.f64()),
            Jitter::Decorrelated => (self.base + (3.0 * last - self.base).max(0.0) * rng.f64()).min(self.cap),
        }
    }
}

/// The one thread of a client.
#[derive(Clone, Debug)]
struct Worker {
    client: usize,
    /// Its number among all threads.
    number: usize,
    left: u32,
    attempt: u32,
    last_wait: f64,
}

/// A server, its clients, and what passes between them.
struct World {
    rng: Rng,
    announced: Announced,
    limit: u32,
    /// How far the server's clock is ahead, in milliseconds.
    ahead: i64,
    /// How many requests of each client a minute has had.
    counts: BTreeMap<(usize, i64), u32>,
    /// An answer takes at most this long.
    slowest: i64,
    /// The number of each open connection, its client, the thread that opened it, and when it becomes free.
    connections: Vec<(u64, usize, usize, i64)>,
    opened: u64,
    /// When a refusal was received, by client, until when it asks to wait, and which thread received it.
    gates: Vec<(usize, i64, i64, usize)>,
    exchanges: Vec<Exchange>,
}

/// The noon at which a world begins.
fn at(milliseconds: i64) -> Timestamp {
    "2026-06-01T12:00:00Z".parse::<Timestamp>().expect("a time") + SignedDuration::from_millis(milliseconds)
}

fn date(time: Timestamp) -> String {
    httpdate::fmt_http_date(std::time::SystemTime::from(time))
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::with_seed(seed);
        let announced = [Announced::Seconds, Announced::Date, Announced::Nothing][rng.usize(..3)];
        let (limit, ahead) = (rng.u32(5..40), rng.i64(-90_000..90_000));
        let slowest = [2, 80][rng.usize(..2)];
        World {
            rng,
            announced,
            limit,
            ahead,
            counts: BTreeMap::new(),
            slowest,
            connections: Vec::new(),
            opened: 0,
            gates: Vec::new(),
            exchanges: Vec::new(),
        }
    }

    /// Lets clients send until they are done.
    fn run(&mut self, policies: &[Policy]) {
        let mut workers = Vec::new();
        let mut wakes = BinaryHeap::new();
        for (client, policy) in policies.iter().enumerate() {
            let begins = self.rng.i64(0..50_000);
            for _ in 0..policy.threads {
                wakes.push(Reverse((begins, workers.len())));
                let number = workers.len();
                workers.push(Worker { client, number, left: policy.requests, attempt: 0, last_wait: policy.base });
            }
        }
        while let Some(Reverse((now, worker))) = wakes.pop() {
            let policy = &policies[workers[worker].client];
            if let Some(next) = self.wake(now, &mut workers[worker], policy) {
                wakes.push(Reverse((next, worker)));
            }
        }
        self.exchanges.sort_by_key(|exchange| exchange.sent_at);
    }

    /// A worker may send; when it wants to again.
    fn wake(&mut self, now: i64, worker: &mut Worker, policy: &Policy) -> Option<i64> {
        // The other threads know it a moment later.
        let told_in = self.rng.i64(0..60);
        let known = self.gates.iter().filter(|(client, received, _, by)| {
            *client == worker.client && received + if *by == worker.number { 0 } else { told_in } <= now
        });
        let until = known.map(|(_, _, until, _)| *until).max().unwrap_or_default();
        if policy.waits && now < until {
            return Some(until + self.rng.i64(0..200));
        }
        let (refused, received) = self.send(now, worker, policy);
        if !refused {
            worker.left -= 1;
            worker.attempt = 0;
            worker.last_wait = policy.base;
            return (worker.left > 0).then(|| received + (policy.pause * self.rng.f64()) as i64);
        }
        worker.attempt += 1;
        if worker.attempt >= policy.attempts {
            return None;
        }
        let wait = policy.backoff(worker.attempt, worker.last_wait, &mut self.rng);
        worker.last_wait = wait;
        let announced = self
            .gates
            .iter()
            .filter(|(client, at, _, by)| *client == worker.client && *at == received && *by == worker.number);
        let until = announced.map(|(_, _, until, _)| *until).max().filter(|_| policy.waits).unwrap_or(received);
        Some(if policy.adds { until + wait as i64 } else { until.max(received + wait as i64) })
    }

    /// Sends a request; whether it was refused, and when the answer was complete.
    fn send(&mut self, now: i64, worker: &Worker, policy: &Policy) -> (bool, i64) {
        let client = worker.client;
        let arrived = now + self.rng.i64(0..self.slowest);
        let received = arrived + self.rng.i64(1..=self.slowest);
        let carrier = self.carry(now, received, worker, policy);
        let minute = (arrived + self.ahead).div_euclid(60_000);
        let count = self.counts.entry((client, minute)).or_default();
        *count += 1;
        let refused = *count > self.limit;
        let by_server = at(arrived + self.ahead);
        let mut headers = vec![("date".to_owned(), date(by_server))];
        let reset = (minute + 1) * 60_000;
        let left = (reset - arrived - self.ahead).div_euclid(1_000) + 1;
        if refused {
            let value = match self.announced {
                Announced::Seconds => Some((left.to_string(), received + left * 1_000)),
                Announced::Date => {
                    // `Date` has whole seconds, and so has the difference to it.
                    let relative = received + reset - (arrived + self.ahead).div_euclid(1_000) * 1_000;
                    Some((date(at(reset)), if policy.by_server { relative } else { reset }))
                }
                Announced::Nothing => None,
            };
            if let Some((value, until)) = value {
                headers.push(("retry-after".to_owned(), value));
                self.gates.push((client, received, until, worker.number));
            }
        }
        let (status, body) = if refused { (429, "") } else { (200, "[]") };
        self.exchanges.push(Exchange {
            number: 0,
            probe: "".into(),
            step: String::new(),
            request: Request::new("GET", "/pets").authorization(format!("Bearer sk-{client}")),
            outcome: Outcome::Response(Response { status, headers, body: body.into(), cut: false }),
            sent_at: at(now),
            received_at: at(received),
            known: Knowledge { carrier, ..Knowledge::default() },
        });
        (refused, received)
    }

    /// The connection that carries a request.
    fn carry(&mut self, now: i64, received: i64, worker: &Worker, policy: &Policy) -> Option<Carrier> {
        let Worker { client, number, .. } = *worker;
        if policy.connections == Connections::Fresh {
            // Each is closed after its request.
            self.connections.retain(|(_, of, _, free_at)| *of != client || *free_at > now);
        }
        let is_free = |(_, of, owner, free_at): &&mut (u64, usize, usize, i64)| {
            let is_own = policy.connections == Connections::Pooled || *owner == number;
            *of == client && *free_at <= now && is_own
        };
        let free = self.connections.iter_mut().filter(is_free).max_by_key(|(.., free_at)| *free_at);
        let connection = if let Some(connection) = free {
            connection.3 = received;
            connection.0
        } else {
            self.opened += 1;
            self.connections.push((self.opened, client, number, received));
            self.opened
        };
        let others = u32::try_from(self.connections.len() - 1).unwrap_or(u32::MAX);
        (policy.connections != Connections::Unseen).then_some(Carrier { connection, others })
    }

    /// What the rules make of it.
    fn judged(self, clients: usize) -> BTreeMap<&'static str, Judgement> {
        World::judge(self.exchanges, clients, Extent::Conversation)
    }

    /// What is after a moment at which no request was under way: a part of what a proxy sees.
    fn after_a_division(&mut self) -> Vec<Exchange> {
        let from = self.rng.usize(..self.exchanges.len());
        let (mut received, mut at) = (Timestamp::MIN, 0);
        for (place, exchange) in self.exchanges.iter().enumerate() {
            if place >= from && received <= exchange.sent_at {
                at = place;
                break;
            }
            received = received.max(exchange.received_at);
        }
        self.exchanges[at..].to_vec()
    }

    /// Some of the exchanges.
    fn sample(&mut self) -> Vec<Exchange> {
        let share = self.rng.f64();
        self.exchanges.iter().filter(|_| self.rng.f64() < share).cloned().collect()
    }

    fn judge(mut exchanges: Vec<Exchange>, clients: usize, extent: Extent) -> BTreeMap<&'static str, Judgement> {
        exchanges.iter_mut().enumerate().for_each(|(at, exchange)| exchange.number = at + 1);
        let keys = (0..clients).map(|client| ApiKey::new(format!("sk-{client}")).expect("a usable key"));
        let context = Context { extent, keys: keys.collect(), ..Context::for_test() };
        judge(&Trace { context, exchanges })
    }
}

fn judge(trace: &Trace) -> BTreeMap<&'static str, Judgement> {
    let history = History::new(trace);
    rules::judge(&rules::rules_of(Party::Client), &Facts::new(&history))
}

fn broken(judgements: &BTreeMap<&'static str, Judgement>) -> Vec<String> {
    let failures =
        judgements.iter().flat_map(|(id, judgement)| judgement.failures.iter().map(move |failure| (id, failure)));
    failures.map(|(id, failure)| format!("{id}: {}", failure.found)).collect()
}

#[test]
fn of_a_thousand_lawful_clients_none_is_accused() {
    let mut judged: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..1_000 {
        let mut world = World::new(seed);
        let policies: Vec<Policy> = (0..world.rng.usize(1..4)).map(|_| Policy::lawful(&mut world.rng)).collect();
        world.run(&policies);
        let announced = world.announced;
        let (part, sample) = (world.after_a_division(), world.sample());
        for (exchanges, extent) in [(part, Extent::Conversation), (sample, Extent::Sample)] {
            let judgements = World::judge(exchanges, policies.len(), extent);
            assert_eq!(broken(&judgements), [""; 0], "seed {seed}, {extent:?}: {announced:?}, {policies:#?}");
        }
        let judgements = world.judged(policies.len());
        assert_eq!(broken(&judgements), [""; 0], "seed {seed}: {announced:?}, {policies:#?}");
        judgements.iter().for_each(|(id, judgement)| *judged.entry(id).or_default() += judgement.judged);
    }
    for id in ["client.retry-after-seconds", "client.retry-after-date", "client.backoff", "client.key-in-header"] {
        assert!(judged[id] > 50, "{id} was judged {} times", judged[id]);
    }
}

/// What is held against a client that does this about refusals, and on how many of 50 servers that announce waits like this.
fn sabotage(announced: Announced, change: impl Fn(&mut Policy)) -> BTreeMap<String, usize> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..50 {
        let mut world = World::new(seed);
        world.announced = announced;
        // By a clock that is ahead of the server's, its dates are over before they have come.
        world.ahead = world.ahead.abs();
        let mut policy = Policy {
            threads: 1,
            requests: 200,
            attempts: 8,
            connections: [Connections::Kept, Connections::Fresh][seed as usize % 2],
            ..Policy::lawful(&mut world.rng)
        };
        change(&mut policy);
        world.run(std::slice::from_ref(&policy));
        let judgements = world.judged(1);
        let broken = judgements.into_iter().filter(|(_, judgement)| !judgement.failures.is_empty());
        broken.for_each(|(id, _)| *named.entry(id.to_owned()).or_default() += 1);
    }
    named
}

#[test]
fn a_client_that_does_not_wait_is_named_on_every_server() {
    // It does not give up within the second after which its other connections know of a refusal.
    let impatient = |policy: &mut Policy| {
        *policy = Policy { waits: false, base: 100.0, cap: 400.0, attempts: 20, ..policy.clone() };
    };
    assert_eq!(sabotage(Announced::Seconds, impatient)["client.retry-after-seconds"], 50);
    assert_eq!(sabotage(Announced::Date, impatient)["client.retry-after-date"], 50);
}

#[test]
fn a_client_that_hammers_is_named_on_every_server() {
    let hammering = |policy: &mut Policy| {
        *policy = Policy { base: 0.0, cap: 0.0, jitter: Jitter::None, waits: false, attempts: 150, ..policy.clone() };
    };
    for announced in [Announced::Nothing, Announced::Seconds, Announced::Date] {
        assert_eq!(sabotage(announced, hammering)["client.backoff"], 50, "{announced:?}");
    }
}
