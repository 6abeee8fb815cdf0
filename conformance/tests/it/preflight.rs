//! Before the run: waiting for a server that is still starting, and a plan that is not the key's.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use animal_store_conformance::Event;
use animal_store_conformance::report::Report;
use animal_store_conformance::{Judge, RunError};
use animal_store_conformance::{ObstacleKind, UnusableTarget};
use animal_store_lab::choices::{Choice, choices, variation};
use animal_store_lab::{Layer, Setting, Variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};
use serde_json::json;
use tokio::net::TcpSocket;

use crate::candidate::{Candidate, Nature};
use crate::host::Host;
use crate::{broken, judge, options};

/// A loopback port that is taken and refuses connections until somebody listens.
pub(crate) fn silent_port() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

#[tokio::test]
async fn a_server_that_is_still_starting_is_waited_for_and_the_wait_is_no_part_of_the_run() {
    let nature = Nature { stock: 5, ..Nature::default() };
    let (socket, address) = silent_port();
    let socket = Mutex::new(Some(socket));
    let mut options = options(&format!("http://{address}/v1"), Profile::ReadOnly);
    options.budget.wait = Duration::from_mins(10);
    // The server starts when the judge has not reached it, which the judge tells once.
    let judge = Judge::new(options).listener(move |event| {
        if let Event::NoResponseYet { .. } = event {
            let socket = socket.lock().expect("no panic").take().expect("it is told once");
            Candidate::serve(socket.listen(16).expect("a listening port"), nature);
        }
    });
    let report = judge.run().await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{report}");
    let other = Candidate::start(nature).await;
    let other = Judge::new(crate::options(&other.base_url, Profile::ReadOnly)).run().await.expect("a verdict");
    assert_eq!(report.requests, other.requests);
}

#[tokio::test]
async fn when_nothing_answers_in_time_the_refusal_tells_how_long_was_waited() {
    let (_refuses, address) = silent_port();
    let mut options = options(&format!("http://{address}/v1"), Profile::Full);
    options.budget.wait = Duration::from_secs(1);
    let error = judge(options).await.expect_err("there is no server");
    let is_expected =
        matches!(error, RunError::Unusable(UnusableTarget::NotReached { kind: ObstacleKind::NothingThere, .. }));
    assert!(is_expected, "{error}");
    assert!(error.to_string().contains("within 1 s"), "{error}");
}

#[tokio::test]
async fn what_time_does_not_mend_ends_the_wait() {
    let candidate = Candidate::start_on_port(Nature::default()).await;
    let mut options = options(&candidate.base_url.replace("http:", "https:"), Profile::Full);
    options.budget.wait = Duration::from_mins(10);
    let error = judge(options).await.expect_err("plain HTTP is no TLS");
    assert!(matches!(error, RunError::Unusable(UnusableTarget::NotReached { kind: ObstacleKind::Tls, .. })), "{error}");
}

#[tokio::test]
async fn a_second_key_that_is_not_accepted_ends_the_run_and_accuses_nobody() {
    let candidate = Candidate::start(Nature::default()).await;
    let mut options = options(&candidate.base_url, Profile::Full);
    options.quota_key = Some(ApiKey::new("sk-of-another-environment").expect("a usable key"));
    let error = judge(options).await.expect_err("the second key is unknown");
    assert!(matches!(error, RunError::Unusable(UnusableTarget::QuotaKeyRefused { .. })), "{error}");
    assert!(error.to_string().contains("--quota-key"), "{error}");
}

#[tokio::test]
async fn where_the_category_is_refused_a_note_names_the_option_for_another() {
    let is_one = |choice: &Choice| choice.name() == "pet.categories.one";
    let only_one: Vec<Choice> = choices().into_iter().filter(is_one).collect();
    let host = Host::start(Plan::Free, variation(&only_one)).await;
    let hint = |report: &Report| report.notes.iter().any(|note| note.contains("--category-id"));
    let run = async |category_id: Option<i64>| {
        let mut options = options(&host.base_url, Profile::Functional);
        options.api_key = ApiKey::new(&host.key).expect("a usable key");
        options.category_id = category_id;
        Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict")
    };
    let misnamed = run(Some(2)).await;
    assert!(misnamed.verdict == Verdict::Violates && hint(&misnamed), "{:?}", misnamed.notes);
    let known = run(Some(1)).await;
    assert!(known.verdict == Verdict::Conforms && !hint(&known), "{:?}", known.notes);
}

/// A server that knows only category 7, with this many animals of it at the start.
fn knowing_only_category_7(stock: usize) -> Variation {
    // The reference behind the layer calls it category 1.
    let layer = Layer::default()
        .before(|request, _| {
            if request.is_create() && request.object().is_none() {
                request.body = b"{".to_vec();
            }
            request.edit_object(|pet| {
                if let Some(category) = pet.get("categoryId").filter(|category| category.is_number()) {
                    let members = if *category == json!(7) { json!({"categoryId": 1}) } else { json!({"name": null}) };
                    pet.extend(members.as_object().cloned().unwrap_or_default());
                }
            });
            None
        })
        .after(|_, response, _| response.edit_pets(|pet| drop(pet.insert("categoryId".to_owned(), json!(7)))));
    Variation { setting: Setting { stock, ..Setting::default() }, layers: vec![layer] }
}

#[tokio::test]
async fn without_a_named_category_a_run_takes_that_of_a_listed_animal_and_accuses_no_service_that_knows_another() {
    let run = async |stock: usize| {
        let host = Host::start(Plan::Free, knowing_only_category_7(stock)).await;
        let mut options = options(&host.base_url, Profile::Functional);
        options.api_key = ApiKey::new(&host.key).expect("a usable key");
        Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict")
    };
    let stocked = run(3).await;
    assert_eq!(stocked.verdict, Verdict::Conforms, "{:#?}", broken(&stocked));
    let empty = run(0).await;
    assert_eq!(empty.verdict, Verdict::Incomplete, "{:#?}", broken(&empty));
    assert!(empty.notes.iter().any(|note| note.contains("--category-id")), "{:?}", empty.notes);
}

#[tokio::test]
async fn a_limit_that_no_plan_has_gets_a_note_beside_the_verdict() {
    let candidate = Candidate::start(Nature { limit: 77, ..Nature::default() }).await;
    let mut options = options(&candidate.base_url, Profile::ReadOnly);
    options.budget.max_requests = 5;
    options.judging.plan = "pro".parse().ok();
    let report = judge(options.clone()).await.expect("a verdict");
    let note = "--plan pro, but the responses report a limit of 77, which no plan has";
    assert!(matches!(&report.notes[..], [only] if only.starts_with(note)), "{:?}", report.notes);
    assert!(report.to_string().contains(note), "{report}");
    let figure = report.requirements.iter().find(|r| r.id == "headers.limit-figure").expect("a requirement");
    assert_eq!(figure.status, Status::Fail);
    options.judging.plan = "enterprise=77,10000".parse().ok();
    assert!(judge(options).await.expect("a verdict").notes.is_empty());
}
