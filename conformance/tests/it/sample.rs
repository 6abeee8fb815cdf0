//! One report for every renderer: a server that is broken in a few ways, and says whatever might confuse a format.

use animal_store_conformance::Options;
use animal_store_conformance::report::Report;
use animal_store_conformance::{conclude, context};
use animal_store_diagnose::known_failing::KnownFailing;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::exchange::{Exchange, Failure, FailureKind, Outcome, Request, Response};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::Knowledge;
use animal_store_rules::trace::{LeftOut, Trace};
use jiff::{SignedDuration, Timestamp};

use crate::support::{KEY, QUOTA_KEY, options, secrets};

/// What ends a string, a cell, a comment, a code block, a command or an element in one format or another; what repaints a
/// terminal; what XML cannot hold; and a reader's name.
pub(crate) const AWKWARD: &str = "</script><img src=x onerror=alert(1)> &amp; | `tick` ``` @everyone #1 ]]> --> ::error::x %0A \u{1b}[2J\u{0}\u{85}\u{202e}\u{fffe}\u{2028}\"'\\";

/// The sample report.
pub(crate) fn report() -> Report {
    let (trace, options) = run();
    conclude(&trace, &options, Some("the budget of 8 requests (--max-requests) was spent".to_owned()), None)
}

/// The sample report with few requirements, one of each kind, for formats that show each in detail.
pub(crate) fn short_report() -> Report {
    const KEPT: [&str; 10] = [
        "auth.exact-key",
        "create.category-required",
        "create.status-enum",
        "errors.codes",
        "errors.elsewhere",
        "list.limit-maximum",
        "list.limit-minimum",
        "pet.members",
        "quota.error-body",
        "service.complete-answer",
    ];
    let mut report = report();
    report.requirements.retain(|requirement| KEPT.contains(&requirement.id.as_str()));
    report.gap_profile.retain(|choice| choice.observed.is_some());
    report.timeline.truncate(2);
    report
}

/// The exchanges, and the options that they were made with.
fn run() -> (Trace, Options) {
    let mut options = options("http://127.0.0.1:8080/v1", Profile::Full);
    options.judging.plan = "free".parse().ok();
    options.judging.implementation.name = Some("Pets <b>| `& more`".to_owned());
    options.judging.implementation.version = Some("1.2.0".to_owned());
    options.quota_key = ApiKey::new(QUOTA_KEY).ok();
    options.judging.known_failing = KnownFailing::parse(
        "[[known-failing]]\nid = \"create.status-enum\"\nreason = \"see | ticket <b>`4711`</b> @everyone\"",
    )
    .expect("a list");
    let started: Timestamp = "2026-06-01T12:00:00Z".parse().expect("a time");
    let exchanges = talk().into_iter().enumerate().map(|(index, (request, outcome))| {
        let sent_at = started + SignedDuration::from_millis(20 * i64::try_from(index).expect("small"));
        Exchange {
            number: index + 1,
            probe: "tour".into(),
            step: format!("step {}", index + 1),
            request,
            outcome,
            sent_at,
            received_at: sent_at + SignedDuration::from_micros(12_345),
            known: Knowledge::default(),
        }
    });
    let mut trace = Trace { exchanges: exchanges.collect(), context: context(&options) };
    trace.context.left_out.push(LeftOut {
        requirements: "".into(),
        reason: "the budget of 8 requests (--max-requests) was spent".to_owned(),
    });
    (trace, options)
}

/// A refused list, an error page that echoes the keys, a dropped connection, bytes that are no text, a challenge, an awkward
/// error, and an animal that is none.
fn talk() -> Vec<(Request, Outcome)> {
    let bearer = format!("Bearer {KEY}");
    let quota_bearer = format!("Bearer {QUOTA_KEY}");
    let echo = secrets().join("\n");
    let error = serde_json::json!({"code": AWKWARD, "message": AWKWARD, "status": 401}).to_string();
    vec![
        (
            Request::new("GET", "/pets").query("limit=1").authorization(&bearer),
            answer(400, 59, "application/json", r#"{"code":"bad","message":"no","status":400}"#),
        ),
        (
            Request::new("POST", "/pets").authorization(&bearer).json(r#"{"name":"O'Hara 1"}"#),
            answer(500, 58, "text/html", format!("<h1>\u{1b}[31mOops</h1> {AWKWARD}\r\n{echo}")),
        ),
        (
            Request::new("GET", "/store/orders"),
            Outcome::Failed(Failure { kind: FailureKind::Broken, detail: "connection closed".to_owned() }),
        ),
        (
            Request::new("GET", "/pets/7").authorization(&quota_bearer),
            answer(404, 59, "application/json", [b"\xff\x00".as_slice(), echo.as_bytes()].concat()),
        ),
        (Request::new("GET", "/pets").query(format!("api_key={KEY}")), answer(401, 0, "application/json", error)),
        (
            Request::new("POST", "/pets")
                .authorization(&bearer)
                .json(r#"{"name":"Rex","categoryId":1,"status":"Sold"}"#),
            answer(201, 57, "application/json", r#"{"id":1,"name":"Rex","categoryId":1,"status":"Sold"}"#),
        ),
        (
            Request::new("GET", "/pets").query("limit=100").authorization(&bearer),
            answer(200, 56, "application/json", r#"[{"id":2,"name":"Ann","categoryId":1,"status":"sold"}]"#),
        ),
        (Request::new("GET", "/nowhere").authorization(&bearer), answer(404, 57, AWKWARD, AWKWARD)),
    ]
}

fn answer(status: u16, remaining: u32, media_type: &str, body: impl Into<Vec<u8>>) -> Outcome {
    let remaining = remaining.to_string();
    let headers = [
        ("date", "Mon, 01 Jun 2026 12:00:00 GMT"),
        ("content-type", media_type),
        ("x-ratelimit-limit", "60"),
        ("x-ratelimit-remaining", &remaining),
        ("x-ratelimit-reset", "1780315260"),
        ("set-cookie", "sid=s3cr3t-session; Path=/; HttpOnly"),
        ("x-awkward", AWKWARD),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    Outcome::Response(Response { status, headers, body: body.into(), cut: false })
}
