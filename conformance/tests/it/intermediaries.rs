//! What stands between the judge and a lawful server is never judged as the server, and never makes it conform.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use animal_store_conformance::{Judge, Options, Report, RunError};
use animal_store_lab::{Layer, Request, Response, ServerState, Variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::Verdict;

use crate::host::Host;
use crate::{broken, options};

/// What an intermediary answers in the server's place, if it does.
type Answer = fn(&mut Request, &ServerState) -> Option<Response>;

fn json(status: u16, body: &str) -> Response {
    let mut response = Response::new(status);
    response.set_body("application/json", body);
    response
}

fn page(status: u16, server: &str) -> Response {
    let mut response = Response::new(status);
    response.set("server", server);
    response.set_body("text/html", "<html><body>Not the service</body></html>");
    response
}

/// Intermediaries that let nothing pass, each with what the message says.
const CLOSED: [(&str, Answer); 7] = [
    ("answers 407", |_, _| {
        let mut response = Response::new(407);
        response.set("proxy-authenticate", "Basic realm=\"company\"");
        Some(response)
    }),
    ("Amazon API Gateway answers 403", |_, _| {
        let mut response = json(403, r#"{"message":"Forbidden"}"#);
        response.set("x-amzn-errortype", "ForbiddenException");
        Some(response)
    }),
    ("answers 400", |request, _| {
        let names_tenant = request.header("x-tenant") == "acme";
        (!names_tenant).then(|| json(400, r#"{"code":"tenant","message":"X-Tenant is missing","status":400}"#))
    }),
    ("HTML instead of JSON", |_, _| Some(page(200, "sso"))),
    ("nginx answers 503", |_, _| Some(page(503, "nginx"))),
    ("answers 451", |_, _| Some(json(451, r#"{"message":"not in your country"}"#))),
    ("redirects to", |_, _| {
        let mut response = page(302, "sso");
        response.set("location", "https://login.example/");
        Some(response)
    }),
];

/// Judges a lawful server behind an intermediary.
async fn behind(answer: Answer, change: impl FnOnce(&mut Options)) -> Result<Report, RunError> {
    behind_layer(Layer::default().before(answer), change).await
}

async fn behind_layer(layer: Layer, change: impl FnOnce(&mut Options)) -> Result<Report, RunError> {
    let host = Host::start(Plan::Free, Variation { layers: vec![layer], ..Variation::default() }).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    change(&mut options);
    Judge::new(options).clock(host.clock.clone()).run().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lets_nothing_pass_is_named_before_anything_is_judged() {
    for (message, answer) in CLOSED {
        let error = behind(answer, |_| {}).await.expect_err(message);
        assert!(matches!(error, RunError::Unusable(_)), "{message}: {error}");
        assert!(error.to_string().contains(message), "{message}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_a_gateway_that_gets_what_it_asks_for_conforms() {
    let (_, tenant) = CLOSED[2];
    let report = behind(tenant, |options| {
        options.transport.headers.push(("x-tenant".to_owned(), "acme".to_owned()));
    });
    let report = report.await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{:?}", broken(&report));
    assert_eq!((report.answerers.service, report.answerers.intermediaries.len()), (report.requests, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_is_not_ready_yet_is_waited_for() {
    let warming: Answer = |request, _| (request.number < 4).then(|| page(503, "nginx"));
    let report = behind(warming, |options| options.budget.wait = Duration::from_mins(5)).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{:?}", broken(&report));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balancer_that_loses_its_backend_in_the_middle_leaves_the_run_incomplete() {
    // Among requests one after the other, and among several at the same time.
    let lost: [Answer; 4] = [
        |request, _| (request.number > 40).then(|| page(502, "nginx")),
        |request, _| (request.number > 58).then(|| page(502, "nginx")),
        |request, _| (request.number > 60).then(|| page(502, "nginx")),
        |request, _| (request.number > 65).then(|| page(502, "nginx")),
    ];
    for lost in lost {
        let report = behind(lost, |_| {}).await.expect("a verdict");
        assert_eq!((report.verdict, broken(&report)), (Verdict::Incomplete, Vec::new()));
        let named = &report.answerers.intermediaries;
        assert!(matches!(&named[..], [nginx] if nginx.name == "nginx" && nginx.requests > 0), "{named:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_whose_answer_is_lost_at_a_balancer_is_repeated_under_another_name() {
    let created = AtomicUsize::new(0);
    let lost = Layer::default().after(move |_, response, _| {
        if response.status == 201 && [2, 9].contains(&created.fetch_add(1, Ordering::Relaxed)) {
            *response = page(502, "nginx");
        }
    });
    let report = behind_layer(lost, |_| {}).await.expect("a verdict");
    assert_eq!((report.verdict, broken(&report)), (Verdict::Conforms, Vec::new()), "{:?}", report.ended_early);
    let named = &report.answerers.intermediaries;
    assert!(matches!(&named[..], [nginx] if nginx.requests == 2), "{named:?}");
}
