//! What people and machines are shown, on a fixed trace: a server that is broken in a few ways.

use animal_store_conformance::judge::conclude;
use animal_store_conformance::options::Profile;
use animal_store_conformance::report::text::Detail;
use animal_store_conformance::report::{Report, json, text};
use animal_store_conformance::wire::exchange::{Exchange, Failure, FailureKind, Outcome, Request, Response};
use animal_store_conformance::wire::secret::{ApiKey, Redactor};
use animal_store_conformance::wire::trace::{Context, LeftOut, Trace};
use jiff::{SignedDuration, Timestamp};

use crate::candidate::KEY;
use crate::options;

/// A refused list, an error page that echoes the key and tries to paint the terminal, and a dropped connection.
fn sample() -> Report {
    let time: Timestamp = "2026-06-01T12:00:00Z".parse().expect("a time");
    let mut redactor = Redactor::default();
    redactor.hide(KEY, "${CONFORM_API_KEY}");
    let headers = |media_type: &str| {
        [
            ("date", "Mon, 01 Jun 2026 12:00:00 GMT"),
            ("content-type", media_type),
            ("x-ratelimit-limit", "60"),
            ("x-ratelimit-remaining", "59"),
            ("x-ratelimit-reset", "1780315260"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    };
    let answer = |status: u16, media_type: &str, body: &str| {
        Outcome::Response(Response { status, headers: headers(media_type), body: body.into(), cut: false })
    };
    let bearer = format!("Bearer {KEY}");
    let outcomes = [
        (
            Request::new("GET", "/pets").query("limit=1").authorization(&bearer),
            answer(400, "application/json", r#"{"code":"bad","message":"no","status":400}"#),
        ),
        (
            Request::new("POST", "/pets").authorization(&bearer).json(r#"{"name":"O'Hara 1"}"#),
            answer(500, "text/html", &format!("<h1>\u{1b}[31mOops</h1> {bearer}\r\n")),
        ),
        (
            Request::new("GET", "/store/orders"),
            Outcome::Failed(Failure { kind: FailureKind::Broken, detail: "connection closed".to_owned() }),
        ),
    ];
    let exchanges = outcomes.into_iter().enumerate().map(|(index, (request, outcome))| {
        let sent_at = time + SignedDuration::from_millis(20 * i64::try_from(index).expect("small"));
        let received_at = sent_at + SignedDuration::from_millis(12);
        Exchange {
            number: index + 1,
            probe: "tour",
            step: String::new(),
            case: None,
            request,
            outcome,
            sent_at,
            received_at,
        }
    });
    let trace = Trace {
        exchanges: exchanges.collect(),
        context: Context {
            base_url: "http://127.0.0.1:8080/v1".to_owned(),
            keys: vec![ApiKey::new(KEY).expect("a usable key")],
            figures: None,
            category_id: 1,
            assumed_date: None,
            redactor,
            left_out: vec![LeftOut {
                requirements: "",
                reason: "the budget of 3 requests (--max-requests) was spent".to_owned(),
            }],
        },
    };
    let mut options = options("http://127.0.0.1:8080/v1", Profile::Full);
    options.plan = "free".parse().ok();
    conclude(&trace, &options, Some("the budget of 3 requests (--max-requests) was spent".to_owned()))
}

pub(crate) fn check(name: &str, text: &str) {
    assert!(!text.contains(KEY), "the key is shown");
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn the_text_report_is_the_reviewed_one() {
    let plain = |detail| anstream::adapter::strip_str(&text::render(&sample(), detail)).to_string();
    check("report-text", &plain(Detail::Normal));
    check("report-text-quiet", &plain(Detail::Quiet));
    check("report-text-verbose", &plain(Detail::Verbose));
}

#[test]
fn the_json_report_is_the_reviewed_one() {
    let mut report = sample();
    report.requirements.retain(|requirement| {
        ["list.limit-minimum", "create.category-required", "service.complete-answer", "quota.enforced", "quota.body"]
            .contains(&requirement.id.as_str())
    });
    report.gap_profile.retain(|choice| choice.observed.is_some() || choice.id == "quota.body");
    check("report-json", &json::render(&report));
}
