//! The evidence of findings, in every format: likely causes, kinds of failures, and what exchanges show of the rate limit.

use animal_store_conform::formats::FORMATS;
use animal_store_conformance::Options;
use animal_store_conformance::report::text::{self, Detail};
use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_conformance::{conclude, context};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::Knowledge;
use jiff::{SignedDuration, Timestamp};

use crate::support::KEY;

/// A request, the status and body of its answer, and the Remaining that it reports.
type Exchanged = (Request, u16, &'static str, u32);

/// The report on these exchanges, half a second apart.
fn report_on(exchanged: Vec<Exchanged>) -> Report {
    let mut options = Options::new("http://127.0.0.1:8080/v1", KEY).expect("an address and a key");
    options.seed = 7;
    let start: Timestamp = "2026-06-01T12:00:00Z".parse().expect("a time");
    let exchanges = exchanged.into_iter().enumerate().map(|(at, (request, status, body, remaining))| {
        let sent_at = start + SignedDuration::from_millis(500 * i64::try_from(at).expect("small"));
        let second = at / 2;
        let headers = [
            ("date", format!("Mon, 01 Jun 2026 12:00:{second:02} GMT")),
            ("content-type", "application/json".to_owned()),
            ("x-ratelimit-limit", "60".to_owned()),
            ("x-ratelimit-remaining", remaining.to_string()),
            ("x-ratelimit-reset", "1780315260".to_owned()),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Exchange {
            number: at + 1,
            probe: "tour".into(),
            step: String::new(),
            request: request.authorization(format!("Bearer {KEY}")),
            outcome: Outcome::Response(Response { status, headers, body: body.into(), cut: false }),
            sent_at,
            received_at: sent_at + SignedDuration::from_millis(20),
            known: Knowledge::default(),
        }
    });
    let trace = Trace { exchanges: exchanges.collect(), context: context(&options) };
    conclude(&trace, &options, None, None)
}

/// A server that refuses invalid bodies with 422, and whose Remaining rises once.
fn report() -> Report {
    let post = |body: &str| Request::new("POST", "/pets").json(body);
    let error = r#"{"code":"invalid","message":"no","status":422}"#;
    let list = || Request::new("GET", "/pets").query("limit=100");
    let pet = r#"{"id":1,"name":"Rex","categoryId":"1"}"#;
    report_on(vec![
        (post(r#"{"categoryId":1}"#), 422, error, 59),
        (post(r#"{"name":"Rex"}"#), 422, error, 58),
        (post(r#"{"name":"Rex","categoryId":"one"}"#), 422, error, 57),
        (post(r#"{"name":"Rex","categoryId":true}"#), 422, error, 56),
        (post(r#"{"name":"Rex","categoryId":"1"}"#), 201, pet, 55),
        (list(), 200, "[]", 54),
        (list(), 200, "[]", 58),
    ])
}

fn requirement<'r>(report: &'r Report, id: &str) -> &'r RequirementReport {
    report.requirements.iter().find(|requirement| requirement.id == id).expect("a requirement")
}

fn plain(report: &Report, detail: Detail) -> String {
    anstream::adapter::strip_str(text::render(report, detail, usize::MAX).as_str()).to_string()
}

#[test]
fn a_member_in_another_case_is_named_beside_the_one_that_it_stands_for() {
    let valid = Request::new("POST", "/pets").json(r#"{"name":"Rex","categoryId":1}"#);
    let report = report_on(vec![(valid, 201, r#"{"id":1,"Name":"Rex","categoryId":1}"#, 59)]);
    let evidence = &requirement(&report, "pet.members").evidence;
    let found = evidence.first().expect("a finding").finding();
    assert!(found.contains("Name in place of name, which differs only in case"), "{found}");
}

#[test]
fn a_likely_cause_is_in_every_format_that_has_room_for_sentences() {
    let report = report();
    let sentence = "the server refuses invalid bodies with 422 instead of 400";
    let [cause] = report.causes.as_slice() else { panic!("{:?}", report.causes) };
    assert_eq!(cause.sentence, sentence);
    assert_eq!(cause.requirements, ["create.name-required", "create.category-required"]);
    assert_eq!(report.cause_of("create.name-required").map(|cause| &cause.id), Some(&cause.id));
    assert!(report.cause_of("create.category-type").is_none(), "a body that was accepted is another matter");
    assert!(plain(&report, Detail::Normal).contains(&format!("Likely causes\n  →  {sentence}\n")));
    // An archive has exchanges only.
    for format in FORMATS.iter().filter(|format| format.name != "har") {
        assert!(format.render(&report).as_str().contains(sentence), "{} does not name the cause", format.name);
    }
}

#[test]
fn findings_with_one_cause_are_shown_in_full_once() {
    let brief = plain(&report(), Detail::Normal);
    assert_eq!(brief.matches("✗ create.category-required").count(), 1, "in a line only: {brief}");
    let shown = plain(&report(), Detail::Quiet);
    let of = |id: &str| {
        let from = shown.find(&format!("✗ {id}  ")).expect("a finding");
        shown[from..].split("\n\n").next().expect("a paragraph").to_owned()
    };
    assert!(of("create.name-required").contains("curl "));
    let second = of("create.category-required");
    assert!(second.contains("found     422 on POST /pets") && !second.contains("curl "), "{second}");
}

#[test]
fn the_worst_kind_comes_first_with_what_it_is_about() {
    let report = report();
    let requirement = requirement(&report, "create.category-type");
    assert_eq!(requirement.findings(), "201 on POST /pets: \"1\"; 422 on POST /pets x2: \"one\", true");
    let shown = plain(&report, Detail::Normal);
    assert!(shown.contains("    found     201 on POST /pets: \"1\"\n"), "{shown}");
    assert!(shown.contains("    also      422 on POST /pets x2: \"one\", true\n"), "{shown}");
    assert!(
        shown.contains("found     categoryId \"1\" instead of 1") || shown.contains("categoryId is \"1\""),
        "{shown}"
    );
}

#[test]
fn a_finding_about_limits_shows_both_exchanges_in_order_and_no_body() {
    let report = report();
    let shown = plain(&report, Detail::Normal);
    let first =
        "exchange  #6 12:00:02.500 GET /pets?limit=100 200, Limit 60, Remaining 54, Reset 1780315260 (12:01:00)\n";
    let second =
        "exchange  #7 12:00:03.000 GET /pets?limit=100 200, Limit 60, Remaining 58, Reset 1780315260 (12:01:00)\n";
    let at = |line: &str| shown.find(line).unwrap_or_else(|| panic!("{line} is missing in {shown}"));
    assert!(at(first) < at(second));
    assert!(!shown.contains("response  200 []"), "the list's body says nothing of its headers");
    for format in ["markdown", "junit", "sarif", "github"] {
        let format = FORMATS.iter().find(|known| known.name == format).expect("a format");
        assert!(format.render(&report).as_str().contains("Remaining 58"), "{}", format.name);
    }
}

#[test]
fn the_nearest_way_of_counting_is_told_with_the_first_exchange_that_excludes_it() {
    let report = report();
    let [counting] = &report.counting[..] else { panic!("one key: {:?}", report.counting) };
    let first = counting.first.as_ref().expect("something that is not explained");
    let rises = report.requirement("headers.remaining-never-rises").expect("a requirement");
    assert!(
        rises.evidence.iter().any(|evidence| evidence.exchanges.iter().any(|shown| shown.number == first.exchange)),
        "{first:?}"
    );
    let shown = plain(&report, Detail::Normal);
    let sentence = format!(
        "contradicts it, first exchange {}: expected {}, found {}",
        first.exchange, first.expected, first.found
    );
    assert!(shown.contains(&sentence), "{shown}");
    let (lawful, fields) = (Request::new("GET", "/pets"), "[]");
    let explained = report_on(vec![(lawful.clone(), 200, fields, 59), (lawful, 200, fields, 58)]);
    assert_eq!(explained.counting[0].unexplained, 0, "{:?}", explained.counting);
}
