//! Recorded traces, read back.

pub(crate) mod format;

use std::collections::HashMap;
use std::sync::LazyLock;

use animal_store_rules::catalogue::plan::PlanLimits;
use animal_store_rules::trace::exchange::{Body, Connection, Exchange, Outcome, Request, Response};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::{Extent, Knowledge};
use animal_store_rules::trace::{Context, Trace};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::TRACES;
use format::{Answered, Asked, FORMAT, Head, Line};

/// Every recorded trace, read once: edits are many.
static RECORDED: LazyLock<HashMap<&str, Trace>> = LazyLock::new(|| TRACES.map(|name| (name, read(name))).into());

/// A recorded trace, to be edited.
pub(super) fn load(name: &str) -> Trace {
    RECORDED[name].clone()
}

fn read(name: &str) -> Trace {
    let file = format::path(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut lines = text.lines();
    let head: Head = serde_json::from_str(lines.next().expect("a first line")).expect("a head");
    assert_eq!(head.format, FORMAT, "{} is to be recorded anew", file.display());
    let context = Context {
        extent: Extent::Run,
        base_url: head.base_url,
        replicas: Vec::new(),
        keys: head.keys.iter().map(|key| ApiKey::new(key).expect("a usable key")).collect(),
        plan_limits: Some(PlanLimits { per_minute: head.per_minute, per_day: head.per_day }),
        category_id: head.category_id,
        vouches_for_category: false,
        name_mark: head.name_mark,
        left_out: Vec::new(),
        unfinished: Vec::new(),
    };
    let exchanges = lines.enumerate().map(|(at, line)| {
        let line: Line = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}, line {}: {error}", at + 2));
        exchange(at + 1, line)
    });
    Trace { context, exchanges: exchanges.collect() }
}

fn exchange(number: usize, line: Line) -> Exchange {
    let Asked { method, path, query, authorization, headers, content_type, body, body_base64, kept } = line.request;
    let connection = if kept { Connection::Kept } else { Connection::Own };
    let decoded = body_base64.map(|text| BASE64_STANDARD.decode(text).expect("base64"));
    let bytes = body.map(String::into_bytes).or(decoded);
    let body = content_type.zip(bytes).map(|(content_type, bytes)| Body { content_type, bytes });
    let Answered { status, headers: fields, body: text } = line.response;
    Exchange {
        number,
        probe: "recorded".into(),
        step: line.step,
        request: Request { method, path, query, authorization, headers, body, connection, replica: None },
        outcome: Outcome::Response(Response { status, headers: fields, body: text.into_bytes(), cut: false }),
        sent_at: line.sent_at.parse().expect("a time"),
        received_at: line.received_at.parse().expect("a time"),
        known: Knowledge::default(),
    }
}
