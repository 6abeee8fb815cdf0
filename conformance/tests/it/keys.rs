//! Keys that change during a run: revoked, new, known to some replicas only, or sent from an address that is locked out.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use animal_store_conformance::report::KeyAlias;
use animal_store_conformance::{Judge, Options, Report, RunError};
use animal_store_lab::choices::{choices, variation};
use animal_store_lab::faults::faults;
use animal_store_lab::{Layer, Request, Response, ServerState, Setting, Variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::Verdict;

use crate::host::Host;
use crate::{broken, options};

/// The most requests that a run sends at once.
const AT_ONCE: usize = 16;

/// The requests that show whether the access to a service has ended.
const SPACED: usize = 3;

async fn run(plan: Plan, variation: Variation, change: impl FnOnce(&mut Options)) -> Result<Report, RunError> {
    let host = Host::start(plan, variation).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.judging.strict = true;
    change(&mut options);
    Judge::new(options).clock(host.clock.clone()).run().await
}

async fn judge(plan: Plan, variation: Variation, change: impl FnOnce(&mut Options)) -> Report {
    run(plan, variation, change).await.expect("a verdict")
}

fn chosen(name: &str) -> Variation {
    let chosen: Vec<_> = choices().into_iter().filter(|choice| choice.name() == name).collect();
    assert_eq!(chosen.len(), 1, "{name}");
    variation(&chosen)
}

/// The number of responses with this status to requests with a key, or without a valid one.
fn answered(report: &Report, status: u16, with_key: bool) -> usize {
    let of_kind = report.exchanges.iter().filter(|exchange| (exchange.key == KeyAlias::Main) == with_key);
    of_kind.filter(|exchange| exchange.response.as_ref().is_some_and(|response| response.status == status)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_revoked_ends_the_run_with_one_reason_and_accuses_nobody() {
    for plan in [Plan::Free, Plan::Pro] {
        let report = judge(plan, chosen("auth.key-lifecycle.revoked"), |_| {}).await;
        assert_eq!((report.verdict, broken(&report)), (Verdict::Incomplete, Vec::new()), "{plan}");
        let reason = report.ended_early.as_deref().unwrap_or_default();
        assert!(reason.contains("the key was refused with 401 from request") && reason.contains("revoked"), "{reason}");
        let gap = report.requirement("quota.recovers").and_then(|recovers| recovers.reason.as_deref());
        assert!(gap.is_some_and(|gap| gap.contains("revoked")), "{gap:?}");
        let refused = answered(&report, 401, true);
        assert!(
            (1 + SPACED..=AT_ONCE + SPACED).contains(&refused),
            "{refused} requests with a revoked key on a {plan} key"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_locked_out_ends_the_run_with_one_reason_and_accuses_nobody() {
    for (name, status) in [("locks-out", 403), ("locks-out-with-429", 429)] {
        for plan in [Plan::Free, Plan::Pro] {
            let report = judge(plan, chosen(&format!("auth.key-lifecycle.{name}")), |_| {}).await;
            assert_eq!((report.verdict, broken(&report)), (Verdict::Incomplete, Vec::new()), "{plan} {name}");
            let reason = report.ended_early.as_deref().unwrap_or_default();
            assert!(reason.contains("locked out") && reason.contains("--skip auth"), "{reason}");
            let refused = answered(&report, status, true) + answered(&report, status, false);
            assert!(refused <= AT_ONCE + SPACED, "{refused} requests from an address that is locked out");
        }
    }
}

/// A server that counts the credentials it does not know.
fn counting_unknown_keys() -> (Variation, Arc<AtomicUsize>) {
    let unknown = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&unknown);
    let count = move |request: &mut Request, server: &ServerState| {
        let is_known = server.key_of(request).is_some() || request.authorization().is_empty();
        counted.fetch_add(usize::from(!is_known), Ordering::Relaxed);
        None
    };
    let setting = Setting { stock: 5, ..Setting::default() };
    (Variation { setting, layers: vec![Layer::default().before(count)] }, unknown)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_skips_authentication_or_only_reads_sends_no_unknown_key() {
    let (server, unknown) = counting_unknown_keys();
    let report = judge(Plan::Free, server, |_| {}).await;
    assert!(report.verdict == Verdict::Conforms && unknown.load(Ordering::Relaxed) > 20);
    for (profile, skip) in [(Profile::ReadOnly, ""), (Profile::Full, "auth"), (Profile::Functional, "auth")] {
        let (server, unknown) = counting_unknown_keys();
        let report = judge(Plan::Free, server, |options| {
            options.judging.scope.profile = profile;
            options.judging.scope.skip.extend((!skip.is_empty()).then(|| skip.to_owned()));
        });
        let report = report.await;
        assert_eq!(report.verdict, Verdict::Conforms, "{profile} {skip}: {:?}", report.ended_early);
        assert_eq!(unknown.load(Ordering::Relaxed), 0, "{profile} {skip}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_every_second_replica_does_not_know_is_one_cause() {
    let name = "auth.valid-key.known-to-every-second-replica";
    let fault = faults().into_iter().find(|fault| fault.name == name).expect("a fault");
    let report = judge(Plan::Free, fault.variation(), |_| {}).await;
    assert_eq!(report.verdict, Verdict::Violates);
    let cause = report.causes.first().expect("a cause");
    assert!(cause.id == "key-known-to-some" && cause.sentence.contains("replica"), "{:?}", report.causes);
    let violations = report.requirements.iter().filter(|requirement| requirement.violation);
    let unexplained: Vec<&str> = violations
        .map(|broken| broken.id.as_str())
        .filter(|id| !cause.requirements.iter().any(|of| of == id))
        .collect();
    assert!(unexplained.is_empty(), "{unexplained:?} are not explained by: {}", cause.sentence);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_is_one_key_however_its_scheme_is_spelt() {
    let report = judge(Plan::Free, Variation::default(), |_| {}).await;
    let authorization = |name: &str| {
        report.exchanges.iter().find(|exchange| {
            exchange.request.headers.iter().any(|(field, value)| field == "authorization" && value.starts_with(name))
        })
    };
    let lower = authorization("bearer ").expect("a request with the scheme in lower case");
    assert_eq!((lower.key, authorization("Bearer ").map(|sent| sent.key)), (KeyAlias::Main, Some(KeyAlias::Main)));
    // A limiter that counts by the text of the field gives each spelling a limit of its own.
    let raw = Layer::default().after(|request: &Request, response: &mut Response, _| {
        if request.authorization().starts_with("bearer ") && response.status == 200 {
            response.set("x-ratelimit-remaining", 59);
        }
    });
    let report = judge(Plan::Free, Variation { layers: vec![raw], ..Variation::default() }, |_| {}).await;
    let rises = report.requirement("headers.remaining-never-rises").expect("a requirement");
    assert!(rises.failures > 0, "{:?}", broken(&report));
}

/// A server before which this answers the first requests of a kind.
fn at_first(count: usize, of_kind: fn(&Request) -> bool, answer: fn(&mut Request) -> Option<Response>) -> Variation {
    let met = AtomicUsize::new(0);
    let layer = Layer::default().before(move |request, _| {
        let is_early = of_kind(request) && met.fetch_add(1, Ordering::Relaxed) < count;
        if is_early { answer(request) } else { None }
    });
    Variation { layers: vec![layer], ..Variation::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judge_waits_for_a_route_and_for_a_key_that_is_not_known_yet() {
    let no_route = |_: &mut Request| {
        let mut response = Response::new(404);
        response.set_body("text/plain", "default backend - 404");
        Some(response)
    };
    let unknown = |request: &mut Request| {
        request.authorize("not-yet-known");
        None
    };
    let is_keyed = |request: &Request| !request.authorization().is_empty();
    let route = || at_first(2, |_| true, no_route);
    let key = || at_first(2, is_keyed, unknown);
    for (what, server) in [("a route", route()), ("a key", key())] {
        let report = judge(Plan::Free, server, |options| options.budget.wait = Duration::from_mins(5)).await;
        assert_eq!((report.verdict, broken(&report)), (Verdict::Conforms, Vec::new()), "{what}");
    }
    for (what, server) in [("a route", route()), ("a key", key())] {
        let error = run(Plan::Free, server, |_| {}).await.expect_err(what);
        assert!(matches!(error, RunError::Unusable(_)), "{what}: {error}");
    }
}

/// The requests of a key, in the present minute of the clock.
#[derive(Default)]
struct Minute {
    end: i64,
    used: u64,
    refused: HashSet<u64>,
}

/// Limits every key but the one that asks first to this number of requests per minute.
fn limiting_the_second(limit: u64) -> Variation {
    let (first, minute) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(Minute::default())));
    let is_second = move |request: &Request, server: &ServerState| {
        let mut first = first.lock().expect("nobody panics with it");
        server.key_of(request).is_some_and(|key| *first.get_or_insert(key.id) != key.id)
    };
    let (asks_second, counted) = (is_second.clone(), Arc::clone(&minute));
    let layer = Layer::default()
        .before(move |request, server| {
            let mut minute = counted.lock().expect("nobody panics with it");
            if asks_second(request, server) {
                // Each reading of a simulated clock may move it.
                let now = server.now();
                let end = now - now.rem_euclid(60) + 60;
                if end != minute.end {
                    *minute = Minute { end, ..Minute::default() };
                }
                if minute.used == limit {
                    // A creation must store nothing.
                    request.path = "/store/orders".to_owned();
                    minute.refused.insert(request.number);
                } else {
                    minute.used += 1;
                }
            }
            None
        })
        .after(move |request, response, server| {
            let minute = minute.lock().expect("nobody panics with it");
            if is_second(request, server) {
                if minute.refused.contains(&request.number) {
                    response.refuse(429);
                    response.set("retry-after", minute.end - server.now());
                }
                response.set("x-ratelimit-limit", limit);
                response.set("x-ratelimit-remaining", limit - minute.used);
                response.set("x-ratelimit-reset", minute.end);
            }
        });
    Variation { layers: vec![layer], ..Variation::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_key_with_a_lower_limit_does_not_set_the_pace_of_a_run() {
    let host = Host::start(Plan::Pro, limiting_the_second(60)).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.quota_key = ApiKey::new(&host.quota_key).ok();
    let report = Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict");
    assert_eq!((report.verdict, broken(&report)), (Verdict::Conforms, Vec::new()), "{:?}", report.ended_early);
    assert!(report.duration_ms < 300_000, "{} ms", report.duration_ms);
}
