//! The near misses that show a broken requirement, derived from the rules.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::near_misses::{NearMiss, Target, Values, near_misses};
use crate::rules::broken;
use crate::trace::exchange::{Exchange, Outcome, Request, Response};
use crate::trace::keys::ApiKey;
use crate::trace::knowledge::{Extent, Knowledge};
use crate::trace::{Context, Trace};

const VALUES: Values<'_> = Values {
    name: "Heron 1",
    digits: "4711",
    category: 1,
    id: Some(42),
    key: "sk-a-valid-key",
    unknown: "conform-unknown-1",
};

/// The near misses for which a success, as a lenient reader gives it, breaks a requirement, those of common readers first.
pub fn of_requirement(id: &str) -> Vec<&'static NearMiss> {
    // Limits show in requests of any kind.
    if !["create.", "get.", "list.", "auth."].iter().any(|area| id.starts_with(area)) {
        return Vec::new();
    }
    let mut rows: Vec<&NearMiss> = near_misses().iter().filter(|row| broken_by_success(row).contains(id)).collect();
    rows.sort_by_key(|row| Reverse(row.weight));
    rows
}

/// The requirements that a server breaks if it answers a near miss with a success.
pub fn broken_by_success(row: &NearMiss) -> BTreeSet<&'static str> {
    let (Some(request), Ok(key)) = (row.request(Target::Create, &VALUES), ApiKey::new(VALUES.key)) else {
        return BTreeSet::new();
    };
    let is_keyless = row.place.is_keyless();
    let request = if is_keyless { request } else { request.authorization(format!("Bearer {}", VALUES.key)) };
    let context =
        Context { keys: [key].into_iter().collect(), ..Context::new(Extent::Run, "https://api.example.com/v1") };
    broken(&Trace { context, exchanges: vec![succeeding(request)] })
}

/// The exchange of a request that succeeds.
fn succeeding(request: Request) -> Exchange {
    let time = jiff::Timestamp::UNIX_EPOCH;
    let animal = r#"{"id":42,"name":"Heron 1","categoryId":1,"status":"sold"}"#;
    let (status, body) = match (request.method.as_str(), request.path.as_str()) {
        ("POST", _) => (201, animal),
        (_, "/pets") => (200, "[]"),
        _ => (200, animal),
    };
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Exchange {
        number: 1,
        probe: "example".into(),
        step: String::new(),
        request,
        outcome: Outcome::Response(Response { status, headers, body: body.into(), cut: false }),
        sent_at: time,
        received_at: time,
        known: Knowledge::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_near_misses_of_a_requirement_are_those_whose_success_breaks_it() {
        let readers = |id: &str| of_requirement(id).into_iter().map(|row| row.reader).collect::<Vec<_>>();
        assert!(readers("create.status-enum").contains(&"a plain text column without a check of the words"));
        assert!(readers("auth.exact-key").iter().any(|reader| reader.contains("URL-decode")));
        assert_eq!(readers("headers.limit"), [""; 0]);
    }
}
