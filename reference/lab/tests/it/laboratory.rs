//! Other lawful servers and broken ones, from the command line.

use crate::support::{Folder, Server, program};

/// The key of a plan that `--dev` printed.
fn key(server: &Server, plan: &str) -> String {
    let line = server.notice.iter().find_map(|line| line.strip_prefix(plan)).expect("a key for each plan");
    line.trim().to_owned()
}

fn pet(number: usize) -> String {
    format!(r#"{{"name":"Rex {number}","categoryId":1}}"#)
}

fn refused(args: &[&str]) -> String {
    let output = program(&[&["serve", "--db", ":memory:", "--listen", "127.0.0.1:0"], args].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_fault_breaks_what_it_says_on_every_plan_and_is_printed_at_start() {
    let server = Server::start(&["--db", ":memory:", "--dev", "--fault", "list.limit-default.fifty"]);
    let printed = "fault list.limit-default.fifty: A list without a limit has up to 50 animals.";
    assert!(server.notice.iter().any(|line| line == printed), "{:?}", server.notice);
    let key = key(&server, "business");
    assert_eq!(server.post(&key, &pet(1)).status, 201);
    let list = server.ask("GET", "/v1/pets", &key).json();
    let list = list.as_array().expect("a list");
    assert_eq!((list.len(), &list[0]["name"]), (50, &"Rex 1".into()), "the fault needs some animals, and has them");
}

#[test]
fn a_limiter_of_the_laboratory_keeps_the_limits_of_each_key() {
    let server = Server::start(&["--db", ":memory:", "--dev", "--choose", "headers.window.first-request"]);
    for (plan, limit) in [("free", 60), ("pro", 300)] {
        let answer = server.ask("GET", "/v1/pets", &key(&server, plan));
        assert_eq!(answer.number("x-ratelimit-limit"), limit);
        assert_eq!(answer.number("x-ratelimit-remaining"), limit - 1);
    }
}

#[test]
fn a_seed_prints_its_choices_and_makes_the_same_ones_again() {
    let notice = |seed: &str| Server::start_tcp(&["--db", ":memory:", "--lawful", seed]).notice.clone();
    let (first, second, other) = (notice("7"), notice("7"), notice("8"));
    assert!(first.iter().any(|line| line.starts_with("choice ")), "{first:?}");
    assert_eq!(first, second);
    assert_ne!(first, other);
}

#[test]
fn a_fault_with_a_rate_shows_in_some_requests_which_are_the_same_in_each_run() {
    let lawful = || {
        let fault = ["--choose", "list.order.newest-first", "--fault", "list.status-filter.filter-ignored@30%"];
        let server = Server::start(&[&["--db", ":memory:", "--key", "enterprise=a-key-of-tests"], &fault[..]].concat());
        server.post("a-key-of-tests", r#"{"name":"Rex","categoryId":1,"status":"sold"}"#);
        let is_lawful = || server.ask("GET", "/v1/pets?status=pending", "a-key-of-tests").body == "[]";
        (0..40).map(|_| is_lawful()).collect::<Vec<_>>()
    };
    let first = lawful();
    let shown = first.iter().filter(|is_lawful| !**is_lawful).count();
    assert!((4..25).contains(&shown), "{first:?}");
    assert_eq!(first, lawful());
}

#[test]
fn lists_can_be_filtered_by_a_part_of_the_name() {
    for (command, filter) in [("faults", "limit-default"), ("choices", "list.*random")] {
        let output = program(&[command, filter, "--format", "json"]);
        let listed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let names: Vec<&str> =
            listed.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
        let part = filter.rsplit('*').next().expect("a part");
        assert!(!names.is_empty() && names.iter().all(|name| name.contains(part)), "{names:?}");
        let output = program(&[command, "no-such-name"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no name contains `no-such-name`"), "{output:?}");
    }
}

#[test]
fn what_cannot_be_together_or_does_not_exist_is_a_usage_error_with_the_names() {
    let both = refused(&["--choose", "list.order.random", "--choose", "list.order.by-name"]);
    assert!(both.contains("`list.order.random` and `list.order.by-name` exclude each other"), "{both}");
    let unknown = refused(&["--fault", "list.limit-default.fifti"]);
    assert!(unknown.contains("but there is `list.limit-default.fifty`"), "{unknown}");
}

#[test]
fn animals_that_were_stored_before_are_part_of_a_laboratory() {
    let folder = Folder::new();
    let key = "a-key-of-the-database";
    let plain = folder.serve(&["--key", &format!("pro={key}")]);
    for number in 0..3 {
        assert_eq!(plain.post(key, &pet(number)).status, 201);
    }
    plain.stop();
    let reversed = folder.serve(&["--choose", "list.order.oldest-first"]);
    let list = reversed.ask("GET", "/v1/pets", key).json();
    let names: Vec<_> = list.as_array().expect("a list").iter().map(|pet| pet["name"].clone()).collect();
    assert_eq!(names, ["Rex 0", "Rex 1", "Rex 2"]);
}

#[test]
fn a_fault_that_accepts_part_of_a_key_learns_stored_keys_as_they_are_used() {
    let folder = Folder::new();
    let key = "a-key-of-the-database";
    folder.serve(&["--key", &format!("pro={key}")]).stop();
    let server = folder.serve(&["--fault", "auth.exact-key.prefixes"]);
    let prefix = &key[..key.len() - 3];
    assert_eq!(server.ask("GET", "/v1/pets", prefix).status, 401);
    assert_eq!(server.ask("GET", "/v1/pets", key).status, 200);
    assert_eq!(server.ask("GET", "/v1/pets", prefix).status, 200);
}

#[test]
fn lists_are_for_people_and_for_programs() {
    for (command, name) in [("choices", "list.order.random"), ("faults", "list.limit-default.fifty")] {
        let output = |args: &[&str]| String::from_utf8(program(&[&[command], args].concat()).stdout).expect("text");
        assert!(output(&[]).contains(name));
        let listed: serde_json::Value = serde_json::from_str(&output(&["--format", "json"])).expect("JSON");
        let entry = listed.as_array().expect("an array").iter().find(|entry| entry["name"] == name);
        let entry = entry.expect("an entry");
        for member in ["requirement", "does", "as_with"] {
            assert!(entry[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {entry}");
        }
    }
}
