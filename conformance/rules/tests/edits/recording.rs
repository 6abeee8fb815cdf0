//! Recorded traces, read back.

use std::collections::HashMap;
use std::sync::LazyLock;

use animal_store_rules::trace::Trace;
use animal_store_traffic::{Unreadable, lines};

use crate::TRACES;

/// Every recorded trace, read once: edits are many.
static RECORDED: LazyLock<HashMap<&str, Trace>> = LazyLock::new(|| TRACES.map(|name| (name, read(name))).into());

/// A recorded trace, to be edited.
pub(super) fn load(name: &str) -> Trace {
    RECORDED[name].clone()
}

fn read(name: &str) -> Trace {
    let file = format!("{}/../../fixtures/traces/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut exchanges = Vec::new();
    let head = lines::read(&mut text.as_slice(), |_, exchange| {
        exchanges.push(exchange);
        Ok::<(), Unreadable>(())
    });
    let context = head.and_then(|head| head.context()).unwrap_or_else(|error| panic!("{file}: {error}"));
    Trace { context, exchanges }
}
