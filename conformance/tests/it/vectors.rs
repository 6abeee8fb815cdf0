//! Vectors of requests for unit tests in any language, in `fixtures/vectors/requests`: requests, and the lawful responses to them as the
//! `Expectation` of the judge's rules says. They are generated from a table, and sent here to the reference, to lawful servers and to
//! broken ones as they are read.
//!
//! `UPDATE_VECTORS=1` writes them anew.

mod check;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use animal_store_lab::Variation;
use animal_store_lab::choices::{Build, Drawn, Maker, choices, lawful};
use animal_store_lab::faults::faults;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use crate::support::root;
use check::failure;
use table::table;

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

#[derive(Debug, Deserialize, PartialEq, Serialize)]
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

/// The vectors of each file, as it contains them.
fn read() -> Vec<Vec<Vector>> {
    let of_file = |(name, _): (&str, Vec<Vector>)| {
        let text = std::fs::read_to_string(folder().join(name)).expect("a readable file");
        serde_json::from_str::<Vec<Vector>>(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    table().into_iter().map(of_file).collect()
}

#[test]
fn the_files_of_requests_are_those_that_the_table_generates() {
    let mut names = BTreeSet::new();
    for (name, vectors) in table() {
        let (path, text) = (folder().join(name), written(&vectors));
        if std::env::var_os("UPDATE_VECTORS").is_some() {
            std::fs::create_dir_all(folder()).expect("a writable folder");
            std::fs::write(&path, &text).expect("a writable file");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{name} is stale: run the test again with UPDATE_VECTORS=1");
        names.insert(name.to_owned());
    }
    let files = std::fs::read_dir(folder()).expect("a folder");
    let files = files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    assert_eq!(files.collect::<BTreeSet<String>>(), names);
    assert_eq!(table().into_iter().map(|(_, vectors)| vectors).collect::<Vec<_>>(), read());
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
    let alone = alone.map(|choice| (choice.name(), Build::new(&[choice]).finish()));
    let together = |seed: u64| (format!("seed {seed}"), Build::new(&lawful(seed, Drawn::Choices)).finish());
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

/// The share of the faults outside of limits that fail a vector, in percent, at least.
const CAUGHT: usize = 83;

#[tokio::test]
async fn the_vectors_fail_most_faults_outside_of_limits() {
    // One server for all files is enough to fail, and faster.
    let vectors: Vec<Vec<Vector>> = vec![read().into_iter().flatten().collect()];
    let is_of_limits = |name: &str| ["headers.", "quota."].iter().any(|area| name.starts_with(area));
    let faults = faults().into_iter().filter(|fault| !is_of_limits(&fault.name));
    let faults: Vec<_> = faults.map(|fault| (fault.name, fault.variation)).collect();
    let count = faults.len();
    let missed = failures(&vectors, faults).await.into_iter().filter(|(_, failure)| failure.is_none());
    let mut missed: Vec<String> = missed.map(|(name, _)| name).collect();
    missed.sort();
    let caught = (count - missed.len()) * 100 / count;
    assert!(caught >= CAUGHT, "{} of {count} faults fail no vector: {missed:#?}", missed.len());
}
