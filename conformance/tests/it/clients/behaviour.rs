//! What clients do: lawful ones, those that are early, and those that break another rule.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::sleep;

use super::sender::{Sender, gated, hammered, on_one_connection, pipelined, raw, retried};
use super::{KEY, LIMIT};

/// What a client does with the base URL of the proxy.
pub(super) type Behaviour = fn(String) -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! behaviour {
    (|$base_url:ident| $does:expr) => {
        |$base_url: String| Box::pin(async move { $does })
    };
}

/// The time between two jobs of a single task. Without it, their requests might be in the queue of a pool.
const BETWEEN_JOBS: Duration = Duration::from_millis(60);

/// Lawful clients, and those that only an observation is about.
pub(super) const LAWFUL: &[(&str, Behaviour)] = &[
    (
        "one task waits as it is told",
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            for _ in 0..LIMIT + 5 {
                retried(&sender, 3, |told, _| told).await;
            }
        }),
    ),
    (
        "ten tasks share connections and a gate",
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            gated(vec![sender; 10], Duration::from_millis(10), 3).await;
        }),
    ),
    (
        "four tasks with a new connection for each request share a gate",
        behaviour!(|url| {
            let sender = Sender::new(&url, false);
            gated(vec![sender; 4], Duration::from_millis(15), 7).await;
        }),
    ),
    (
        "thirty requests at once, each waits as it is told",
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            futures_util::future::join_all((0..30).map(|_| retried(&sender, 4, |told, _| told))).await;
        }),
    ),
    ("tries once more at once, as a queue does", behaviour!(|url| on_one_connection(&url, BETWEEN_JOBS, 1).await)),
    ("thirty requests in one piece on one connection", behaviour!(|url| pipelined(&url, 30).await)),
    (
        "a suite with bad requests that runs twice",
        behaviour!(|url| {
            for _ in 0..2 {
                let sender = Sender::new(&url, true);
                sender.list().await;
                let id = sender.post(r#"{"name":"Rex","categoryId":1}"#).await;
                sender.get(&format!("/pets/{id}")).await;
                sender.get("/pets/999").await;
                sender.post(r#"{"name":"Rex"}"#).await;
                sender.get("/pets?limit=1000").await;
            }
        }),
    ),
];

/// Clients that break a rule wherever `Retry-After` has a form: they are early.
pub(super) const EARLY: &[(&str, Behaviour)] = &[
    (
        "tries again at once",
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            for _ in 0..LIMIT + 4 {
                retried(&sender, 6, |_, _| Duration::ZERO).await;
                sleep(BETWEEN_JOBS).await;
            }
        }),
    ),
    (
        "goes on with the next job",
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            let mut refused = 0;
            while refused < 2 * LIMIT {
                refused += usize::from(sender.list().await.is_some());
                sleep(BETWEEN_JOBS).await;
            }
        }),
    ),
    (
        "does not await its wait, in more jobs than a queue may hold",
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            for _ in 0..LIMIT + 12 {
                retried(&sender, 6, |_, _| Duration::ZERO).await;
            }
        }),
    ),
    (
        "waits for a millisecond, because its wait overflows a timer",
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            for _ in 0..LIMIT + 18 {
                retried(&sender, 4, |_, _| Duration::from_millis(1)).await;
            }
        }),
    ),
    ("hammers on twelve connections", behaviour!(|url| hammered(url, 12, Duration::from_secs(3)).await)),
];

/// Clients that break another rule, with its identifier and that of the first animal.
pub(super) const BROKEN: &[(&str, &str, i64, Behaviour)] = &[
    (
        "the key in the query only",
        "client.key-in-header",
        0,
        behaviour!(|url| {
            raw(&Sender::new(&url, true), "GET", &format!("/pets?api_key={KEY}"), None).await;
        }),
    ),
    (
        "the key in a body only",
        "client.key-in-header",
        0,
        behaviour!(|url| {
            let body = format!(r#"{{"name":"Rex","categoryId":1,"apiKey":"{KEY}"}}"#);
            raw(&Sender::new(&url, true), "POST", "/pets", Some(body)).await;
        }),
    ),
    (
        "the key in the query of a path outside the service",
        "client.key-in-header",
        0,
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            sender.list().await;
            raw(&sender, "GET", &format!("OUTSIDE/metrics?who={KEY}"), None).await;
        }),
    ),
    (
        "a creation without a category, again and again",
        "client.new-pet",
        0,
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            for _ in 0..6 {
                sender.post(r#"{"name":"Rex"}"#).await;
            }
        }),
    ),
    (
        "a limit that was refused, again and again",
        "client.list-parameters",
        0,
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            for _ in 0..6 {
                sender.get("/pets?limit=1000").await;
            }
        }),
    ),
    (
        "the key under another scheme",
        "client.key-in-header",
        0,
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            sender.list().await;
            sender.list_with(&format!("Token {KEY}")).await;
        }),
    ),
    (
        "ids with separators",
        "client.exact-ids",
        1_234_567,
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            sender.post(r#"{"name":"Rex","categoryId":1}"#).await;
            sender.get("/pets/1,234,568").await;
        }),
    ),
    (
        "ids in the shortest form of doubles",
        "client.exact-ids",
        1_234_567_890_123_456_788,
        behaviour!(|url| {
            let sender = Sender::new(&url, true);
            sender.post(r#"{"name":"Rex","categoryId":1}"#).await;
            sender.get("/pets/1234567890123456800").await;
        }),
    ),
];
