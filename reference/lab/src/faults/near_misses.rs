//! Faults that follow from near misses: readers that take one near miss for a valid request.

use std::sync::LazyLock;

use animal_store_rules::near_misses::{self, NearMiss, Place, Values};
use animal_store_rules::trace::exchange::Request as Observed;
use animal_store_rules::verdict::near_misses::broken_by_success;
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Build, Builds, Fault};
use crate::request::observed;
use crate::{Request, ServerState};
use animal_store_reference::Plan;

/// The faults of readers that take a near miss for a valid request: one for each row whose success breaks a requirement.
pub fn readers() -> Vec<Fault> {
    static READERS: LazyLock<Vec<Fault>> =
        LazyLock::new(|| near_misses::near_misses().iter().filter_map(reader_of).collect());
    READERS.clone()
}

fn reader_of(row: &'static NearMiss) -> Option<Fault> {
    let is_of_request = |id: &&str| ["create.", "get.", "list.", "auth."].iter().any(|area| id.starts_with(area));
    let targets: Vec<&'static str> = broken_by_success(row).into_iter().filter(is_of_request).collect();
    let step = row.step(near_misses::Target::List);
    let fault = Fault {
        name: format!("{}.reads-{}", targets.first()?, short_name(&step)),
        // The list of faults lives as long as the program.
        does: format!("A near miss is taken for a valid request: {}.", step.trim_end_matches('.')).leak(),
        like: row.reader,
        targets,
        plan: if row.is_first { Plan::Free } else { Plan::Business },
        rate: None,
        build: Build::default(),
    };
    // A malformed identifier is taken for that of an animal.
    let fault = fault.sets(|setting| setting.stock = usize::from(row.place == Place::Id));
    Some(fault.edit(move |request, server| take_for_valid(request, row, server)))
}

/// The first words of a step, and a part of its hash: a name that does not change when rows are added.
fn short_name(step: &str) -> String {
    let words: Vec<&str> =
        step.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).take(6).collect();
    let hash = Sha256::digest(step.as_bytes());
    format!("{}-{:02x}{:02x}", words.join("-").to_ascii_lowercase(), hash[0], hash[1])
}

/// Makes the request valid if it was made from the row.
fn take_for_valid(request: &mut Request, row: &NearMiss, server: &ServerState) {
    let nearly_right = nearly_right(request);
    let keys = server.keys();
    let newest = if row.needs_animal(near_misses::Target::List) { server.newest() } else { Vec::new() };
    let mut ids: Vec<Option<i64>> = newest.iter().map(|pet| pet.get("id").and_then(Value::as_i64)).collect();
    ids.push(None);
    for key in &keys {
        for id in &ids {
            let values = Values { name: "", digits: "", category: 1, id: *id, key, unknown: "" };
            if row.resembles(&nearly_right, &values) {
                let id = id.or_else(|| server.newest().first()?.get("id")?.as_i64());
                return make_valid(request, row, id, key);
            }
        }
    }
}

fn make_valid(request: &mut Request, row: &NearMiss, id: Option<i64>, key: &str) {
    match row.place {
        Place::Credential | Place::Elsewhere => request.authorize(key),
        Place::Id => {
            if let Some(id) = id {
                request.path = format!("/pets/{id}");
            }
        }
        Place::Query => request.query = String::new(),
        _ => {
            request.query = String::new();
            request.set_json(json!({"name": "Heron", "categoryId": 1, "status": "sold"}));
        }
    }
}

/// The request as the rules know it.
fn nearly_right(request: &Request) -> Observed {
    let Request { method, path, query, headers, body, .. } = request;
    let mut nearly_right = observed(method, path, Some(query.as_str()).filter(|query| !query.is_empty()), headers);
    nearly_right.body = None;
    if method == Method::POST { nearly_right.body(request.header("content-type"), body.clone()) } else { nearly_right }
}
