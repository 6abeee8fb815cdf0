use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::{Fact, Knowledge};
use serde_json::{Value, json};

use super::*;
use crate::MAX_LINE;

/// An archive with these entries.
fn archive(entries: &[Value]) -> String {
    json!({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": entries}}).to_string()
}

/// An entry as browsers export it, with some members replaced, each by its path.
fn entry(changes: &[(&str, Value)]) -> Value {
    let mut entry = json!({
        "startedDateTime": "2026-06-01T12:00:00.125Z",
        "time": 12.5,
        "request": {
            "method": "GET",
            "url": "https://api.example.com/v1/pets?limit=5",
            "httpVersion": "HTTP/2",
            "headers": [
                {"name": ":authority", "value": "api.example.com"},
                {"name": "Authorization", "value": "Bearer sk-1"},
                {"name": "Cookie", "value": "sid=secret"}
            ],
            "bodySize": 0
        },
        "response": {
            "status": 200,
            "headers": [
                {"name": "Content-Type", "value": "application/json"},
                {"name": "Date", "value": "Mon, 01 Jun 2026 12:00:00 GMT"}
            ],
            "content": {"size": 2, "mimeType": "application/json", "text": "[]"}
        },
        "cache": {},
        "timings": {}
    });
    for (path, value) in changes {
        *entry.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = value.clone();
    }
    entry
}

fn read_all(text: &str, base_url: Option<&str>) -> Result<(Summary, Vec<Exchange>), Unreadable> {
    let mut exchanges = Vec::new();
    let summary = read(text.as_bytes(), base_url, &mut |_| None, |_, exchange| {
        exchanges.push(exchange);
        Ok::<(), Unreadable>(())
    })?;
    Ok((summary, exchanges))
}

fn one(changes: &[(&str, Value)]) -> Exchange {
    let (_, mut exchanges) = read_all(&archive(&[entry(changes)]), None).expect("an archive");
    exchanges.pop().expect("an exchange")
}

fn withheld(changes: &[(&str, Value)]) -> Vec<Fact> {
    one(changes).known.withheld.iter().collect()
}

#[test]
fn an_entry_of_a_browser_is_an_exchange_of_which_only_the_exact_time_is_unknown() {
    let exchange = one(&[]);
    assert_eq!((exchange.request.method.as_str(), exchange.request.target().as_str()), ("GET", "/pets?limit=5"));
    assert_eq!(exchange.request.authorization.as_deref(), Some("Bearer sk-1"));
    assert!(exchange.request.headers.iter().all(|(name, _)| name != "authorization"), "it has a place of its own");
    let response = exchange.response().expect("a response");
    assert_eq!((response.status, response.body.as_slice(), response.headers.len()), (200, &b"[]"[..], 2));
    assert_eq!(exchange.known.withheld.iter().collect::<Vec<_>>(), [Fact::Times]);
    assert_eq!(exchange.received_at.duration_since(exchange.sent_at).as_micros(), 12_500);
}

#[test]
fn what_an_exporter_may_have_left_out_or_changed_is_withheld() {
    let content = "/response/content";
    for (member, value, part) in [
        (content, json!({"size": 2, "mimeType": "application/json"}), Some(Fact::ResponseBody)),
        (content, json!({"size": 9, "text": "[]"}), Some(Fact::ResponseBody)),
        (content, json!({"size": 1, "text": "[]"}), Some(Fact::ResponseBody)),
        (content, json!({"size": 0, "text": ""}), Some(Fact::ResponseBody)),
        (content, json!({"size": 5, "text": "[\"\u{fffd}\"]"}), Some(Fact::ResponseBody)),
        (content, json!({"size": 2, "text": "no base64", "encoding": "base64"}), Some(Fact::ResponseBody)),
        (content, json!({"size": 2, "text": "W10=", "encoding": "base64"}), None),
        (content, json!({"text": "[]"}), None),
        (content, json!({"size": -1, "text": "[]"}), None),
        ("/response/headers", json!([]), Some(Fact::ResponseHeaders)),
        ("/response/headers", json!([{"name": "content-type", "value": "a/b"}]), Some(Fact::ResponseHeaders)),
        ("/response/headers/1/value", json!("[redacted]"), Some(Fact::ResponseHeaders)),
        ("/request/headers/1/value", json!("Bearer ***"), Some(Fact::Credential)),
        ("/request/headers", json!([{"name": "accept", "value": "*/*"}]), Some(Fact::Credential)),
        // HTTP/2 needs no length.
        ("/request/method", json!("POST"), Some(Fact::RequestBody)),
    ] {
        let expected: Vec<Fact> = part.into_iter().chain([Fact::Times]).collect();
        assert_eq!(withheld(&[(member, value.clone())]), expected, "{member}: {value}");
    }
    let request_in_page = ("/request/headers", json!([{"name": "accept", "value": "*/*"}]));
    let exposed = json!([{"name": "content-type", "value": "a/b"}, {"name": "x-ratelimit-limit", "value": "60"}]);
    let in_page = [Fact::Credential, Fact::ResponseHeaders, Fact::Times];
    assert_eq!(withheld(&[request_in_page, ("/response/headers", exposed.clone())]), in_page);
    assert_eq!(withheld(&[("/response/headers", exposed)]), [Fact::Times], "the host of the request is below the page");
}

#[test]
fn bytes_that_are_not_text_are_known_where_the_length_proves_them() {
    let read = |length: &str| {
        let mut entry = entry(&[]);
        entry["response"]["headers"]
            .as_array_mut()
            .expect("fields")
            .push(json!({"name": "Content-Length", "value": length}));
        entry["response"]["content"] = json!({"text": "BYTES"});
        let text = archive(&[entry]).replace("BYTES", r#"[\"caf\udce9\"]"#);
        read_all(&text, None).expect("an archive").1.pop().expect("an exchange")
    };
    let proven = read("8");
    assert!(!proven.known.withheld.contains(Fact::ResponseBody));
    assert_eq!(proven.response().expect("a response").body, b"[\"caf\xE9\"]");
    assert!(read("10").known.withheld.contains(Fact::ResponseBody));
    let mut unproven = entry(&[("/response/content", json!({"text": "BYTES"}))]);
    unproven["response"]["bodySize"] = json!(8);
    let text = archive(&[unproven]).replace("BYTES", r#"[\"caf\udce9\"]"#);
    let (_, exchanges) = read_all(&text, None).expect("an archive");
    assert!(exchanges[0].known.withheld.contains(Fact::ResponseBody));
}

#[test]
fn an_archive_of_chromium_without_a_key_does_not_say_that_none_was_sent() {
    let keyless = ("/request/headers", json!([{"name": "host", "value": "api.example.com"}]));
    assert_eq!(withheld(std::slice::from_ref(&keyless)), [Fact::Times]);
    let mut of_chromium = entry(&[keyless]);
    of_chromium["_initiator"] = json!({"type": "script"});
    let (_, exchanges) = read_all(&archive(&[of_chromium]), None).expect("an archive");
    assert!(exchanges[0].known.withheld.contains(Fact::Credential));
}

#[test]
fn two_recorders_of_one_response_differ_in_the_fields_of_their_hop_only() {
    let recorded = |headers: &[[&str; 2]]| {
        let fields = headers.iter().map(|[name, value]| json!({"name": name, "value": value}));
        entry(&[("/response/headers", fields.collect()), ("/time", json!(headers.len()))])
    };
    let kept = |second: &[[&str; 2]]| {
        let first =
            recorded(&[["date", "Mon, 01 Jun 2026 12:00:00 GMT"], ["x-ratelimit-remaining", "5"], ["x-id", "1"]]);
        read_all(&archive(&[first, recorded(second)]), None).expect("an archive").1.len()
    };
    let [date, remaining] = [["Date", "Mon, 01 Jun 2026 12:00:00 GMT"], ["X-RateLimit-Remaining", "5"]];
    assert_eq!(kept(&[remaining, date, ["X-Id", "1"], ["Via", "1.1 gateway"]]), 1);
    assert_eq!(kept(&[remaining, date, ["X-Id", "2"], ["Via", "1.1 gateway"]]), 2);
}

#[test]
fn a_repetition_with_the_same_idempotency_key_is_recorded_twice() {
    let created = |key: &str, time: i32| {
        let fields = json!([{"name": "Host", "value": "api.example.com"}, {"name": "Idempotency-Key", "value": key}]);
        entry(&[("/request/method", json!("POST")), ("/request/headers", fields), ("/time", json!(time))])
    };
    let kept =
        |second: &str| read_all(&archive(&[created("k-1", 5), created(second, 6)]), None).expect("an archive").1.len();
    assert_eq!([kept("k-1"), kept("k-2")], [1, 2]);
}

#[test]
fn a_redirect_of_the_browser_itself_names_no_service() {
    let redirect = entry(&[
        ("/request/url", json!("http://api.example.com/v1/pets")),
        ("/response/status", json!(307)),
        ("/response/headers", json!([{"name": "Non-Authoritative-Reason", "value": "HSTS"}])),
    ]);
    let (summary, exchanges) = read_all(&archive(&[redirect, entry(&[])]), None).expect("an archive");
    assert_eq!((summary.left_out.get(&LeftOut::Redirected), exchanges.len()), (Some(&1), 1));
}

#[test]
fn a_time_that_is_missing_precedes_nothing() {
    for changes in [
        vec![("/startedDateTime", json!(null))],
        vec![("/startedDateTime", json!("yesterday"))],
        vec![("/time", json!(0))],
        vec![("/time", json!(null))],
    ] {
        assert_eq!(one(&changes).known.precision, Knowledge::NO_TIME, "{changes:?}");
    }
    let rounded = one(&[("/startedDateTime", json!("2026-06-01T12:00:00+02:00"))]);
    assert_eq!(rounded.known.precision.as_secs(), 1);
}

#[test]
fn what_a_cache_answered_what_has_no_response_and_what_went_elsewhere_is_left_out_and_counted() {
    let text = archive(&[
        entry(&[]),
        entry(&[("/request/url", json!("https://cdn.example.com/app.js"))]),
        entry(&[("/request/url", json!("https://api.example.com/v1x/pets"))]),
        entry(&[("/response/status", json!(0))]),
        entry(&[("/response/status", json!(304))]),
        entry(&[("/cache", json!({"beforeRequest": {"eTag": "a"}}))]),
        entry(&[("/response/headers/0", json!({"name": "Age", "value": "7"}))]),
    ]);
    let (summary, exchanges) = read_all(&text, None).expect("an archive");
    assert_eq!((summary.entries, exchanges.len()), (7, 1));
    let counts: Vec<(LeftOut, usize)> = summary.left_out.into_iter().collect();
    assert_eq!(counts, [(LeftOut::Elsewhere, 2), (LeftOut::Cached, 3), (LeftOut::Unanswered, 1)]);
}

#[test]
fn of_two_services_one_has_to_be_chosen() {
    let staging = entry(&[("/request/url", json!("https://staging.example.com/v1/pets"))]);
    let text = archive(&[entry(&[]), staging]);
    let error = read_all(&text, None).expect_err("two services").to_string();
    assert!(error.contains("https://api.example.com/v1 and to https://staging.example.com/v1"), "{error}");
    let (summary, exchanges) = read_all(&text, Some("https://staging.example.com/v1")).expect("an archive");
    assert_eq!((exchanges.len(), summary.left_out.len()), (1, 1));
}

#[test]
fn a_broken_archive_is_reported_with_its_line_and_column() {
    let error = |text: &str| read_all(text, None).expect_err("a broken archive").to_string();
    let whole = archive(&[entry(&[])]);
    assert!(error(&whole[..whole.len() - 40]).starts_with("line 1, column "), "{}", error(&whole[..whole.len() - 40]));
    let typed = error("{\"log\":\n{\"entries\":7}}");
    assert!(typed.starts_with("line 2, column ") && typed.contains("invalid type: integer"), "{typed}");
    assert!(error("{\"log\":{}}").contains("one member `entries`"));
    assert!(error(&format!("{whole} x")).contains("trailing characters"));
}

#[test]
fn members_before_log_are_read_over_and_an_object_without_log_is_refused() {
    let whole = archive(&[entry(&[])]);
    for first in [r#""$schema":"https://example.com/har.json""#, r#""_comment":{"log":[]}"#, r#""_tool":null"#] {
        let (summary, exchanges) = read_all(&format!("{{{first},{}", &whole[1..]), None).expect("an archive");
        assert_eq!((summary.entries, exchanges.len()), (1, 1), "{first}");
    }
    for other in [r#"{"entries":[]}"#, r#"{"schema_version":1,"requirements":[{}]}"#] {
        let error = read_all(other, None).expect_err("no archive");
        assert!(matches!(error, Unreadable::Neither), "{other}: {error}");
    }
}

#[test]
fn an_entry_that_cannot_be_read_is_left_out_and_named_without_its_texts() {
    let text = archive(&[
        entry(&[]),
        entry(&[("/request/headers", json!("Authorization: Bearer sk-live-1"))]),
        entry(&[("/request", json!(null))]),
        json!(7),
        entry(&[("/request/url", json!(null))]),
    ]);
    let (summary, exchanges) = read_all(&text, None).expect("an archive");
    assert_eq!((exchanges.len(), summary.left_out.into_iter().collect()), (1, vec![(LeftOut::Unreadable, 4)]));
    let named: Vec<(usize, String)> =
        summary.unreadable.into_iter().map(|UnreadableEntry { index, reason }| (index, reason)).collect();
    assert_eq!(named.len(), 3, "{named:?}");
    assert_eq!(named[0], (1, "invalid type: a string, expected a sequence".to_owned()));
    assert_eq!(named[1].0, 2);
    assert!(named[1].1.starts_with("invalid type: null, expected struct"), "{named:?}");
}

#[test]
fn bytes_that_are_not_utf_8_affect_only_the_entry_that_contains_them() {
    let text = archive(&[entry(&[]), entry(&[("/request/url", json!("https://api.example.com/v1/pets/MARK"))])]);
    let text = text.replace("MARK", "7?name=\u{1}").into_bytes();
    let bytes: Vec<u8> = text.into_iter().map(|byte| if byte == 1 { 0xE9 } else { byte }).collect();
    let mut exchanges = 0;
    let summary = read(bytes.as_slice(), None, &mut |_| None, |_, _| {
        exchanges += 1;
        Ok::<(), Unreadable>(())
    });
    assert_eq!((summary.expect("an archive").entries, exchanges), (2, 2));
}

/// Python's `surrogateescape` writes the bytes from 80 to FF as U+DC80 to U+DCFF.
#[test]
fn halves_of_surrogate_pairs_refuse_no_entry_wherever_they_are() {
    let members = [
        "/request/method",
        "/request/url",
        "/request/headers/0/value",
        "/request/headers/1/name",
        "/response/headers/0/value",
        "/response/content/mimeType",
        "/cache",
        "/timings",
        "/startedDateTime",
    ];
    for member in members {
        let text = archive(&[entry(&[(member, json!("MARK"))]), entry(&[])]).replace("MARK", r"caf\udce9");
        let (summary, _) = read_all(&text, Some("https://api.example.com/v1")).expect(member);
        assert!(!summary.left_out.contains_key(&LeftOut::Unreadable), "{member}: {:?}", summary.unreadable);
    }
    let mut escaped = entry(&[("/response/headers/0/value", json!("MARK"))]);
    escaped["_foreign"] = json!({"text": "MARK", "deep": [{"MARK": "MARK"}]});
    let text = archive(&[escaped]).replace("MARK", r"Zo\udcc3\udcab \udce9");
    let (_, exchanges) = read_all(&text, None).expect("an archive");
    assert_eq!(exchanges[0].response().expect("a response").headers[0].1, "Zo\u{eb} \u{fffd}");
}

#[test]
fn numbers_in_place_of_texts_and_foreign_members_refuse_no_entry() {
    let mut changed = entry(&[
        ("/response/status", json!("200")),
        ("/time", json!("12.5")),
        ("/request/bodySize", json!("0")),
        ("/response/headers/1", json!({"name": "X-RateLimit-Limit", "value": 60})),
        ("/response/content", json!({"size": "2", "text": "[]", "_transfer": [null]})),
    ]);
    changed["_initiator"] = json!({"type": "script", "stack": null});
    changed["request"]["_priority"] = json!(7);
    let (_, exchanges) = read_all(&archive(&[changed]), None).expect("an archive");
    let response = exchanges[0].response().expect("a response");
    assert_eq!((response.status, response.headers[1].1.as_str()), (200, "60"));
    assert_eq!(exchanges[0].known.withheld.iter().collect::<Vec<_>>(), [Fact::Times]);
}

#[test]
fn an_answer_that_a_mock_may_have_given_is_left_out() {
    let count_with = |value: Option<Value>| {
        let mut entry = entry(&[]);
        if let Some(value) = value {
            entry["_wasFulfilled"] = value;
        }
        read_all(&archive(&[entry]), None).expect("an archive").1.len()
    };
    assert_eq!([None, Some(json!(false)), Some(json!(true)), Some(Value::Null)].map(count_with), [1, 1, 0, 0]);
}

#[test]
fn an_answer_of_age_0_is_the_answer_of_the_service() {
    let aged = |age: &str| {
        let changed = entry(&[("/response/headers/0", json!({"name": "Age", "value": age}))]);
        read_all(&archive(&[changed]), None).expect("an archive").1.len()
    };
    assert_eq!((aged("0"), aged("1")), (1, 0));
}

#[test]
fn the_bound_of_an_entry_is_not_that_of_the_archive() {
    let filler = "a".repeat(1 << 20);
    let entries = 140;
    let filled = entry(&[("/cache", json!(filler))]).to_string();
    let list = vec![filled.as_str(); entries].join(",");
    let text = format!(r#"{{"log":{{"entries":[{list}]}}}}"#);
    assert!(text.len() > MAX_LINE);
    assert_eq!(read_all(&text, None).expect("an archive").0.entries, entries);
    let endless = r#"{"log":{"entries":[{"_text":""#.as_bytes().chain(std::io::repeat(b'a'));
    let error = read(endless, None, &mut |_| None, |_, _| Ok::<(), Unreadable>(())).expect_err("no end").to_string();
    assert!(error.contains("more than 128 MiB"), "{error}");
}

#[test]
fn a_body_in_a_file_of_its_own_is_known_if_there_is_the_file() {
    let mut posted = entry(&[
        ("/request/method", json!("POST")),
        ("/request/url", json!("https://api.example.com/v1/pets")),
        ("/response/content", json!({"size": 8, "mimeType": "application/json", "_file": "b.json"})),
    ]);
    posted["request"]["postData"] = json!({"mimeType": "application/json", "text": "", "_file": "a.json"});
    let text = archive(&[posted]);
    let read_with = |attached: &mut Attached<'_>| {
        let mut exchanges = Vec::new();
        let summary = read(text.as_bytes(), None, attached, |_, exchange| {
            exchanges.push(exchange);
            Ok::<(), Unreadable>(())
        });
        summary.expect("an archive");
        exchanges.pop().expect("an exchange")
    };
    let whole = read_with(&mut |name| match name {
        "a.json" => Some(b"{\"name\":\"Rex\"}".to_vec()),
        "b.json" => Some(b"[\"caf\xE9\"]".to_vec()),
        _ => None,
    });
    assert_eq!(whole.known.withheld.iter().collect::<Vec<_>>(), [Fact::Times]);
    assert_eq!(whole.response().expect("a response").body, b"[\"caf\xE9\"]");
    assert_eq!(whole.request.body.expect("a body").bytes, b"{\"name\":\"Rex\"}");
    let cut = read_with(&mut |name| (name == "b.json").then(|| b"[\"caf\"]".to_vec()));
    assert!(cut.known.withheld.contains(Fact::ResponseBody), "the archive states eight bytes");
    let without = read_with(&mut |_| None);
    assert!(without.known.withheld.contains(Fact::RequestBody) && without.known.withheld.contains(Fact::ResponseBody));
}
