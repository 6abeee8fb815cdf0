//! Vectors of requests for unit tests in any language, in `fixtures/vectors/requests`: requests, and the lawful responses to them as the
//! `Expectation` of the judge's rules says. They are sent here to the reference, to lawful servers and to broken ones.
//!
//! `UPDATE_VECTORS=1` writes the lawful responses of each request anew.

mod check;
mod expectation;

use std::collections::BTreeMap;
use std::path::PathBuf;

use animal_store_lab::Variation;
use animal_store_lab::choices::{Drawn, Maker, choices, lawful, variation};
use animal_store_lab::faults::faults;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use crate::support::root;
use check::failure;
use expectation::derived;

/// The only valid key of a store that the vectors are sent to.
const KEY: &str = "Vector-Key-1";

/// Requests that are sent one after the other, and what may answer each.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    about: String,
    exchanges: Vec<Step>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Step {
    request: Sent,
    /// The response must be one of these.
    lawful: Vec<Lawful>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    method: String,
    /// Path and query below the base address. `{1}` is the id in the response to the first exchange.
    target: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// A body that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

/// Responses that are lawful.
#[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Lawful {
    /// Statuses and ranges of them, such as `402-403`.
    status: Vec<String>,
    body: Kind,
    /// The values that members of the animal must have.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    equal: serde_json::Map<String, serde_json::Value>,
    /// The number of the exchange whose response showed the same animal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    same_as: Option<usize>,
    /// How many animals there are at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<usize>,
    /// How many animals there are at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<usize>,
    /// The status that every animal has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every_status: Option<String>,
    /// The numbers of exchanges: an animal that one of their responses showed is in the list, with the same members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    includes: Vec<usize>,
    /// Names that no animal of the list has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    excludes: Vec<String>,
}

/// What the body of a response is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
enum Kind {
    Pet,
    Pets,
    Error,
    #[default]
    #[serde(rename = "any")]
    Any,
}

/// The text of a file of vectors: two lines for each exchange.
fn written(vectors: &[Vector]) -> String {
    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).expect("JSON")
    }
    let exchange =
        |step: &Step| format!("    {{\"request\": {},\n     \"lawful\": {}}}", json(&step.request), json(&step.lawful));
    let vector = |vector: &Vector| {
        let exchanges: Vec<String> = vector.exchanges.iter().map(exchange).collect();
        format!("  {{\"about\": {}, \"exchanges\": [\n{}\n  ]}}", json(&vector.about), exchanges.join(",\n"))
    };
    format!("[\n{}\n]\n", vectors.iter().map(vector).collect::<Vec<_>>().join(",\n"))
}

fn folder() -> PathBuf {
    root().join("fixtures/vectors/requests")
}

/// The files. A store is empty at the beginning of each, and a store that all of them are sent to is empty at the beginning of the first.
const FILES: [&str; 8] = [
    "empty-store.json",
    "creations-valid.json",
    "creations-acceptable.json",
    "creations-invalid.json",
    "lists.json",
    "fetches.json",
    "credentials.json",
    "sequences.json",
];

/// The text of a file, and its vectors.
fn file(name: &str) -> (String, Vec<Vector>) {
    let text = std::fs::read_to_string(folder().join(name)).expect("a readable file");
    let vectors = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    (text, vectors)
}

/// The vectors of each file.
fn read() -> Vec<Vec<Vector>> {
    FILES.iter().map(|name| file(name).1).collect()
}

#[test]
fn the_lawful_responses_are_those_that_the_rules_expect() {
    assert_eq!(std::fs::read_dir(folder()).expect("a folder").count(), FILES.len());
    for name in FILES {
        let (found, vectors) = file(name);
        let text = written(&vectors.iter().map(derived).collect::<Vec<_>>());
        if std::env::var_os("UPDATE_VECTORS").is_some() {
            std::fs::write(folder().join(name), &text).expect("a writable file");
            continue;
        }
        assert!(found == text, "{name} is stale: run the test again with UPDATE_VECTORS=1");
    }
}

#[tokio::test]
async fn the_reference_gives_a_lawful_response_to_every_vector() {
    assert_eq!(failure(&read(), Variation::default()).await, None);
}

#[tokio::test]
async fn no_lawful_server_fails_a_vector() {
    let vectors = read();
    let is_between = |maker: Maker| maker == Maker::Intermediary;
    let alone = choices().into_iter().filter(|choice| !is_between(choice.maker));
    let alone = alone.map(|choice| (choice.name(), variation(&[choice])));
    let together = |seed: u64| (format!("seed {seed}"), variation(&lawful(seed, Drawn::Choices)));
    // The vectors are for a store that is empty, before GET /pets/{petId} is removed.
    let is_meant = |server: &Variation| server.setting.stock == 0 && server.setting.start_at.is_none();
    let servers = alone.chain((0..SEEDS).map(together)).filter(|(_, server)| is_meant(server));
    let failed = failures(&vectors, servers.collect()).await;
    let failed: Vec<_> = failed.into_iter().filter_map(|(name, failure)| Some((name, failure?))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// So many seeds make a lawful server.
const SEEDS: u64 = 20;

/// The first failure of each of these servers. Several servers are tried at a time.
async fn failures(vectors: &[Vec<Vector>], servers: Vec<(String, Variation)>) -> Vec<(String, Option<String>)> {
    let tried = servers.into_iter().map(async |(name, variation)| (name, failure(vectors, variation).await));
    futures_util::stream::iter(tried).buffer_unordered(AT_ONCE).collect().await
}

/// So many servers are tried at a time: most of the time, they wait for their disk.
const AT_ONCE: usize = 16;

/// The share of the faults outside of limits and of the grammar of JSON that fail a vector, in percent, at least.
const CAUGHT: usize = 83;

#[tokio::test]
async fn the_vectors_fail_most_faults_outside_of_limits_and_grammar() {
    // One server for all files is enough to fail, and faster.
    let vectors: Vec<Vec<Vector>> = vec![read().into_iter().flatten().collect()];
    // A parser may read extensions of JSON, so the vectors leave them open; that a server had better not is inferred.
    let is_of_others =
        |name: &str| ["headers.", "quota.", "create.extended-json."].iter().any(|area| name.starts_with(area));
    let faults = faults().into_iter().filter(|fault| !is_of_others(&fault.name));
    let faults: Vec<_> = faults.map(|fault| (fault.name.clone(), fault.variation())).collect();
    let count = faults.len();
    let missed = failures(&vectors, faults).await.into_iter().filter(|(_, failure)| failure.is_none());
    let mut missed: Vec<String> = missed.map(|(name, _)| name).collect();
    missed.sort();
    let caught = (count - missed.len()) * 100 / count;
    assert!(caught >= CAUGHT, "{} of {count} faults fail no vector: {missed:#?}", missed.len());
}
