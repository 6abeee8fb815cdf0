//! The published JSON schemas describe reports, `conform.toml`, and the responses of lawful servers.

mod description;
mod host;
mod laboratory;
mod session;
mod sockets;

use animal_store_conform::formats::json;
use animal_store_conformance::{Judge, Options};
use animal_store_lab::Variation;
use animal_store_lab::faults::faults;
use animal_store_reference::Plan;
use animal_store_rules::trace::keys::ApiKey;
use host::Host;
use serde_json::Value;

fn validator(schema: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).expect("JSON")).expect("a schema")
}

#[tokio::test]
async fn reports_are_what_the_schema_of_reports_describes() {
    let schema = validator(include_str!("../../../fixtures/report.schema.json"));
    let fault = faults().into_iter().next().expect("a fault");
    for variation in [Variation::default(), fault.variation()] {
        let host = Host::start(Plan::Pro, variation).await;
        let mut options = Options::new(&host.base_url, &host.key).expect("usable options");
        options.quota_key = ApiKey::new(&host.quota_key).ok();
        options.transport.unix_socket = sockets::of(&host.base_url);
        options.seed = 7;
        let report = Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict");
        let mut report: Value = serde_json::from_str(&json::render(&report)).expect("JSON");
        let wrong: Vec<String> =
            schema.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        report["requirements"][0]["status"] = "perhaps".into();
        assert!(!schema.is_valid(&report), "the schema says what a status can be");
    }
}

#[test]
fn the_schema_of_the_configuration_accepts_the_example_and_says_where_a_file_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let init = ["conform".into(), "init".into(), "--schema".into(), folder.path().as_os_str().to_owned()];
    assert!(animal_store_conform::parse(init).is_err(), "a command is carried out");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let (written, schema) = (read("conform.toml"), validator(&read("conform.schema.json")));
    assert!(written.starts_with("#:schema ./conform.schema.json\n"), "{written}");
    let is_valid =
        |text: &str| schema.is_valid(&toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")));
    // An example of an option is the text after its mark.
    let every: Vec<&str> = written
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| rest.starts_with(char::is_lowercase)).unwrap_or(line))
        .collect();
    assert!(is_valid(&written) && is_valid(&every.join("\n")));
    for wrong in [
        "base-url = 'http://h/v1'",
        "timeout = '10'",
        "strict = 'yes'",
        "profile = 'fast'",
        "only = 'list'",
        "api_key = 'sk-1'",
        "api_key_env = 'sk-1'",
        "[environments.a]\nenv = 'b'",
        "[environments.a]\ntimout = 1",
    ] {
        assert!(!is_valid(wrong), "{wrong}");
    }
}
