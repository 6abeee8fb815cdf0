//! `rules`: the catalogue for people and machines, and examples that are true of a real server.

use animal_store_conform::explain;
use animal_store_conform::explain::examples;
use animal_store_conformance::http::Client;
use animal_store_lab::Variation;
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Party, catalogue};
use animal_store_rules::trace::exchange::{Outcome, Request};
use serde_json::Value;

use crate::command_line::{conform, text};
use crate::host::Host;
use crate::support::{check, options};

#[tokio::test]
async fn the_list_names_every_requirement_and_a_beginning_narrows_it() {
    let output = conform(&["rules"]).await;
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    for requirement in &catalogue().requirements {
        assert!(shown.contains(&format!("  {} ", requirement.id)), "{}", requirement.id);
    }
    let output = conform(&["rules", "list", "--format", "json"]).await;
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    let ids = listed.as_array().expect("an array").iter().map(|entry| entry["id"].as_str().expect("a string"));
    let lists = catalogue().requirements.iter().map(|r| r.id.as_str()).filter(|id| id.starts_with("list."));
    assert!(ids.eq(lists));
}

#[tokio::test]
async fn one_requirement_is_explained_for_machines_as_well() {
    let output = conform(&["rules", "create.name-required", "--format", "json"]).await;
    let rule: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    for member in ["id", "level", "section", "title", "text", "breaks"] {
        assert!(rule[member].is_string(), "{member}: {rule}");
    }
    assert_eq!(rule["example"][0]["response"]["status"], 400, "{rule}");
}

#[tokio::test]
async fn a_misspelt_identifier_is_wrong_usage_that_names_the_nearest() {
    let output = conform(&["rules", "create.name-requird"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean create.name-required?"), "{}", text(&output.stderr));
    let output = conform(&["rules", "zzzz"]).await;
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[tokio::test]
async fn keys_and_addresses_in_the_environment_do_not_keep_the_rules_from_being_told() {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_conform"));
    command.args(["rules", "auth"]).env("CONFORM_BASE_URL", "http://h/v1").env("CONFORM_API_KEY", "k");
    let output = command.output().await.expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn the_explanations_are_the_reviewed_ones() {
    for id in ["list.complete", "errors.elsewhere", "create.content-type", "quota.backoff"] {
        let explanation = explain::explain(catalogue().get(id).expect("a requirement"));
        let plain = anstream::adapter::strip_str(explain::text(&explanation).as_str()).to_string();
        check(&format!("rules-{}", id.replace('.', "-")), &plain);
    }
}

/// An example is judged by the rules in a test of its own; here the reference has to answer it as it says. Those about an
/// exhausted key and about clients are left to the rules.
#[tokio::test]
async fn the_reference_answers_the_examples_with_the_status_that_they_show() {
    let host = Host::start(Plan::Business, Variation::default()).await;
    let transport = options(&host.base_url, Profile::Full).transport;
    let client = Client::new(transport).expect("a client");
    // Some examples fetch the first animal, which is there already.
    let key = format!("Bearer {}", host.key);
    client.send(&Request::new("POST", "/pets").authorization(key).json(r#"{"name":"Rex","categoryId":7}"#)).await;
    for requirement in catalogue().of(Party::Server).filter(|r| !r.id.starts_with("quota.")) {
        let trace = examples::trace(requirement);
        let with_key = |text: &str| text.replace(trace.context.keys[0].reveal(), &host.key);
        for exchange in &trace.exchanges {
            let mut request = exchange.request.clone();
            request.authorization = request.authorization.as_deref().map(with_key);
            request.query = request.query.as_deref().map(with_key);
            let outcome = client.send(&request).await;
            let Outcome::Response(response) = outcome else { panic!("{}: {outcome:?}", requirement.id) };
            assert_eq!(Some(response.status), exchange.status(), "{}", requirement.id);
        }
    }
}
