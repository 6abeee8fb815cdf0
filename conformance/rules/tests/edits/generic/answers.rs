//! All generic edits of one answer.

use animal_store_rules::trace::exchange::{Exchange, Response};
use serde_json::{Map, Value, json};

use crate::tools::{answer, http_date, json_of, remove, set};

/// An edited answer.
pub(super) struct Edit {
    /// What was edited: `status`, `header date`, `body`, `body code`, `list`, `list name`.
    pub(super) part: String,
    /// In which way.
    pub(super) kind: String,
    /// The exchange with the edited answer.
    pub(super) exchange: Exchange,
}

const STATUSES: [u16; 14] = [200, 201, 202, 204, 301, 400, 401, 403, 404, 410, 422, 429, 500, 503];

/// The header fields that mean something to the specification or to HTTP's own sense of it.
const MEANINGFUL: [&str; 7] = [
    "content-type",
    "date",
    "retry-after",
    "sunset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

/// Every edit of the answer of an exchange.
pub(super) fn edits(exchange: &Exchange) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut edit = |part: &str, kind: &str, change: &dyn Fn(&mut Response)| {
        let mut edited = exchange.clone();
        change(answer(&mut edited));
        if edited == *exchange {
            return;
        }
        edits.push(Edit { part: part.to_owned(), kind: kind.to_owned(), exchange: edited });
    };
    let response = exchange.response().expect("a recorded exchange has an answer");
    for status in STATUSES.into_iter().filter(|status| *status != response.status) {
        edit("status", &status.to_string(), &|response| response.status = status);
    }
    for (name, value) in &response.headers {
        let part = format!("header {name}");
        edit(&part, "dropped", &|response| remove(response, name));
        edit(&part, "doubled", &|response| response.headers.push((name.clone(), value.clone())));
        if !MEANINGFUL.contains(&name.as_str()) {
            continue;
        }
        edit(&part, "emptied", &|response| set(response, name, ""));
        edit(&part, "retyped", &|response| set(response, name, "no/thing"));
        if let Some(date) = response.date().filter(|_| name == "date").map(jiff::Timestamp::as_second) {
            for (kind, by) in
                [("a second later", 1), ("a second earlier", -1), ("an hour later", 3_600), ("a day earlier", -86_400)]
            {
                edit(&part, kind, &|response| set(response, name, http_date(date + by)));
            }
        }
        if let Ok(integer) = value.parse::<i64>() {
            for (kind, changed) in [
                ("one more", integer + 1),
                ("one less", integer - 1),
                ("negative", -integer - 1),
                ("a thousandfold", integer * 1_000),
            ] {
                if changed != integer {
                    edit(&part, kind, &|response| set(response, name, changed));
                }
            }
            edit(&part, "with a fraction", &|response| set(response, name, format!("{integer}.0")));
        }
    }
    edit("body", "emptied", &|response| response.body.clear());
    edit("body", "cut", &|response| response.body.truncate(response.body.len() / 2));
    edit("body", "text", &|response| response.body = b"nothing".to_vec());
    edit("body", "null", &|response| response.body = b"null".to_vec());
    let Some(body) = json_of(response) else { return edits };
    edit("body", "wrapped", &|response| response.body = json!({"data": body}).to_string().into_bytes());
    edit("body", "in an array", &|response| response.body = json!([body]).to_string().into_bytes());
    match &body {
        Value::Object(members) => {
            for (part, kind, changed) in member_edits("body", members) {
                edit(&part, &kind, &|response| response.body.clone_from(&changed));
            }
        }
        Value::Array(items) => {
            // All animals of a list are alike: three of them stand for the others.
            let mut chosen = vec![0, items.len() / 2, items.len().saturating_sub(1)];
            chosen.dedup();
            for at in chosen.into_iter().filter(|at| *at < items.len()) {
                let with = |changed: &[u8]| {
                    let mut texts: Vec<String> = items.iter().map(Value::to_string).collect();
                    texts[at] = String::from_utf8_lossy(changed).into_owned();
                    format!("[{}]", texts.join(",")).into_bytes()
                };
                let mut fewer = items.clone();
                fewer.remove(at);
                edit("list", "one dropped", &|response| response.body = json!(fewer).to_string().into_bytes());
                let mut more = items.clone();
                more.push(items[at].clone());
                edit("list", "one doubled", &|response| response.body = json!(more).to_string().into_bytes());
                edit("list", "one null", &|response| response.body = with(b"null"));
                if let Value::Object(members) = &items[at] {
                    for (part, kind, changed) in member_edits("list", members) {
                        edit(&part, &kind, &|response| response.body = with(&changed));
                    }
                }
            }
        }
        _ => {}
    }
    edits
}

/// Every edit of every member of an object: which, how, and the text of the object after it.
fn member_edits(whole: &str, members: &Map<String, Value>) -> Vec<(String, String, Vec<u8>)> {
    let mut edits = Vec::new();
    for (name, value) in members {
        let mut edit = |kind: &str, changed: Option<Value>| {
            if changed.as_ref() == Some(value) {
                return;
            }
            let mut members = members.clone();
            match changed {
                Some(changed) => members.insert(name.clone(), changed),
                None => members.remove(name),
            };
            edits.push((format!("{whole} {name}"), kind.to_owned(), Value::Object(members).to_string().into_bytes()));
        };
        edit("dropped", None);
        edit("null", Some(Value::Null));
        edit("an array", Some(json!([value])));
        match value {
            Value::String(text) => {
                edit("a number", Some(json!(7)));
                edit("emptied", Some(json!("")));
                edit("with a letter more", Some(json!(format!("{text}x"))));
                edit("in capitals", Some(json!(text.to_uppercase())));
            }
            Value::Number(number) => {
                edit("a string", Some(json!(number.to_string())));
                let integer = number.as_i64().expect("integers only");
                edit("one more", Some(json!(integer.wrapping_add(1))));
                edit("one less", Some(json!(integer.wrapping_sub(1))));
                edit("negative", Some(json!(integer.wrapping_neg().wrapping_sub(1))));
                edit("beyond int64", Some(json!(u64::MAX)));
                // A double has no room for the fraction of a larger one.
                if integer.unsigned_abs() < 1 << 52 {
                    edit("with a fraction", Some(json!(integer as f64 + 0.5)));
                }
            }
            _ => {}
        }
        let again = Value::Object(members.clone()).to_string();
        let again = format!("{{{}:{value},{}", json!(name), &again[1..]);
        edits.push((format!("{whole} {name}"), "doubled".to_owned(), again.into_bytes()));
    }
    edits
}
