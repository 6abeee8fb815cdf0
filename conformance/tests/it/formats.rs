//! What the readers of each format rely on, asked of the sample report.

use std::collections::HashSet;

use animal_store_conform::formats::{github, har, junit, markdown, sarif};
use serde_json::Value;

use crate::sample;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

/// Every member that the object must have is there.
fn has(value: &Value, members: &[&str]) {
    for member in members {
        assert!(value.get(member).is_some(), "{member} is missing in {value}");
    }
}

/// The elements that the schema of Jenkins' xUnit plugin (junit-10.xsd) admits in each element, and the attributes.
const JENKINS: [(&str, &[&str], &[&str]); 9] = [
    ("testsuites", &["testsuite"], &["name", "time", "tests", "failures", "errors"]),
    (
        "testsuite",
        &["testsuite", "properties", "testcase", "system-out", "system-err"],
        &["name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "package"],
    ),
    ("properties", &["property"], &[]),
    ("property", &[], &["name", "value"]),
    ("testcase", &["skipped", "error", "failure", "system-out", "system-err"], &["name", "time", "classname", "group"]),
    ("failure", &[], &["type", "message"]),
    ("error", &[], &["type", "message"]),
    ("skipped", &[], &["type", "message"]),
    ("system-out", &[], &[]),
];

#[test]
fn junit_has_no_element_and_no_attribute_that_jenkins_refuses() {
    use quick_xml::events::Event;
    let rendered = junit::render(&sample::report());
    let mut reader = quick_xml::Reader::from_str(&rendered);
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    loop {
        let event = reader.read_event().expect("XML");
        let (element, is_empty) = match &event {
            Event::Start(element) => (element, false),
            Event::Empty(element) => (element, true),
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        let name = String::from_utf8(element.name().as_ref().to_vec()).expect("a name");
        let (_, _, attributes) = JENKINS.iter().find(|(known, ..)| *known == name).expect("an element of the schema");
        for attribute in element.attributes() {
            let attribute = attribute.expect("an attribute");
            let key = String::from_utf8(attribute.key.as_ref().to_vec()).expect("a name");
            assert!(attributes.contains(&key.as_str()), "{name} has {key}");
            let is_decimal = |value: &[u8]| value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
            assert!(key != "time" || is_decimal(&attribute.value), "{name} takes {:?}", attribute.value);
        }
        match open.last() {
            None => assert_eq!(name, "testsuites"),
            Some(parent) => {
                let (_, children, _) = JENKINS.iter().find(|(known, ..)| known == parent).expect("checked before");
                assert!(children.contains(&name.as_str()), "{name} in {parent}");
            }
        }
        seen.insert(name.clone());
        if !is_empty {
            open.push(name);
        }
    }
    assert_eq!(seen.len(), JENKINS.len(), "the sample has one of each: {seen:?}");
}

#[test]
fn a_har_has_what_every_reader_of_archives_requires() {
    let report = sample::report();
    let archive = parsed(&har::render(&report));
    let log = &archive["log"];
    assert_eq!(log["version"], "1.2");
    has(&log["creator"], &["name", "version"]);
    assert_eq!(array(&log["entries"]).len(), report.requests);
    for entry in array(&log["entries"]) {
        has(entry, &["startedDateTime", "time", "request", "response", "cache", "timings"]);
        let timings = ["send", "wait", "receive"].map(|part| entry["timings"][part].as_f64().expect("milliseconds"));
        assert!((timings.iter().sum::<f64>() - entry["time"].as_f64().expect("milliseconds")).abs() < 1e-9);
        let (request, response) = (&entry["request"], &entry["response"]);
        let both = ["httpVersion", "cookies", "headers", "headersSize", "bodySize"];
        has(request, &[&both[..], &["method", "url", "queryString"]].concat());
        has(response, &[&both[..], &["status", "statusText", "content", "redirectURL"]].concat());
        has(&response["content"], &["size", "mimeType"]);
        for pair in array(&request["headers"]).iter().chain(array(&response["headers"])) {
            assert!(pair["name"].is_string() && pair["value"].is_string(), "{pair}");
        }
    }
    let content = |number: usize| &log["entries"][number - 1]["response"]["content"];
    assert_eq!(content(1)["encoding"], Value::Null);
    assert_eq!(content(4)["encoding"], "base64", "bytes that are no text");
    assert_eq!(log["entries"][2]["response"]["status"], 0);
    assert_eq!(log["entries"][2]["response"]["_error"], "connection closed");
}

#[test]
fn sarif_has_what_code_scanning_requires() {
    let mut report = sample::report();
    let log = parsed(&sarif::render(&report));
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = array(&run["tool"]["driver"]["rules"]);
    let ids: HashSet<&str> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
    assert_eq!(ids.len(), rules.len(), "a rule's id stands once");
    for rule in rules {
        has(rule, &["shortDescription", "fullDescription", "help", "defaultConfiguration"]);
        assert!(["error", "warning"].contains(&rule["defaultConfiguration"]["level"].as_str().expect("a level")));
    }
    let results = array(&run["results"]);
    let broken = report.requirements.iter().filter(|requirement| requirement.failures > 0).count();
    assert_eq!(results.len(), broken);
    let mut fingerprints = HashSet::new();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().expect("a message").is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].is_string() && place["region"]["startLine"] == 1);
        assert!(fingerprints.insert(result["partialFingerprints"]["primaryLocationLineHash"].to_string()));
    }
    let suppressed: Vec<_> = results.iter().filter(|result| result.get("suppressions").is_some()).collect();
    assert!(matches!(suppressed[..], [known] if known["ruleId"] == "create.status-enum"));
    (report.seed, report.started_at) = (8, None);
    let later = sarif::render(&report);
    let later = parsed(&later);
    for (result, again) in results.iter().zip(array(&later["runs"][0]["results"])) {
        assert_eq!(result["partialFingerprints"], again["partialFingerprints"], "the same in every run");
    }
}

#[test]
fn github_is_told_in_whole_commands_of_which_it_shows_all() {
    let rendered = github::render(&sample::report());
    for line in rendered.lines() {
        let kinds = ["::error title=", "::warning title=", "::notice title="];
        assert!(kinds.iter().any(|kind| line.starts_with(kind)), "{line}");
    }
    for kind in ["::error", "::warning", "::notice"] {
        let count = rendered.lines().filter(|line| line.starts_with(kind)).count();
        assert!((1..=10).contains(&count), "{count} {kind}");
    }
    assert!(rendered.contains("and 19 more"), "27 gaps and a warning, nine listed, the rest counted");
}

#[test]
fn a_summary_stays_below_what_github_takes_however_much_there_is_to_tell() {
    let mut report = sample::report();
    for requirement in &mut report.requirements {
        (requirement.violation, requirement.failures) = (true, 3);
        let mut evidence = sample::report().requirements[0].evidence[0].clone();
        evidence.found = sample::AWKWARD.repeat(1_000);
        evidence.exchanges[0].curl = "`curl`".repeat(1_200);
        requirement.evidence = vec![evidence; 4];
    }
    let rendered = markdown::render(&report);
    assert!((512 * 1024..1024 * 1024).contains(&rendered.len()), "{} bytes", rendered.len());
    assert!(rendered.contains("omitted for length"));
    for line in rendered.lines().filter(|line| !line.contains("curl")) {
        assert!(!line.contains("@everyone") && !line.contains("<img") && !line.contains("```js"), "{line}");
    }
}
