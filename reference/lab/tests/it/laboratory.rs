//! Other lawful servers and broken ones, from the command line.

use std::io::{Read, Write};

use flate2::read::GzDecoder;

use crate::support::{Folder, Server, connect, program};

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
fn a_fault_about_the_end_of_a_key_compares_its_beginning() {
    const KEY: &str = "a-key-of-tests";
    let given = format!("enterprise={KEY}");
    for fault in ["auth.exact-key.narrow-column", "auth.exact-key.another-end-for-creations"] {
        let server = Server::start(&["--db", ":memory:", "--key", &given, "--fault", fault]);
        for (key, status) in [("a-key-of-testx", 201), ("x-key-of-testx", 401), ("a-key-of-test", 401), (KEY, 201)] {
            assert_eq!(server.post(key, &pet(1)).status, status, "{fault}: {key}");
        }
    }
}

#[test]
fn a_fault_about_the_words_of_a_name_makes_their_first_letters_capitals() {
    let given = "enterprise=a-key-of-tests";
    let server = Server::start(&["--db", ":memory:", "--key", given, "--fault", "create.echo.title-case"]);
    let created = server.post("a-key-of-tests", r#"{"name":"\u00e9clair of mR x","categoryId":1}"#).json();
    assert_eq!(created["name"], "\u{c9}clair Of MR X");
    assert_eq!(server.ask("GET", "/v1/pets/1", "a-key-of-tests").json()["name"], "\u{e9}clair of mR x");
}

#[test]
fn a_creation_that_is_sent_again_gets_the_animal_of_the_first_time() {
    let keys = ["--key", "enterprise=a-key-of-tests", "--key", "enterprise=another-key"];
    for (fault, is_of_every_key) in
        [("pet.unique-id.sent-again", false), ("pet.unique-id.one-for-the-same-bytes", true)]
    {
        let server = Server::start(&[&["--db", ":memory:", "--fault", fault], &keys[..]].concat());
        let create = |key: &str, number| server.post(key, &pet(number)).json()["id"].as_i64();
        assert_eq!((create("a-key-of-tests", 1), create("a-key-of-tests", 1)), (Some(1), Some(1)), "{fault}");
        assert_eq!(create("another-key", 1) == Some(1), is_of_every_key, "{fault}");
        create("a-key-of-tests", 2);
        assert_eq!(create("a-key-of-tests", 1) == Some(1), is_of_every_key, "{fault}: after another creation");
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

/// What comes back on one connection for this many requests for a list, until it ends; the bytes of each answer.
fn on_one_connection(choice: &str, requests: usize) -> Vec<Vec<u8>> {
    let key = "a-key-of-tests";
    let server = Server::start(&[
        "--db",
        ":memory:",
        "--key",
        &format!("enterprise={key}"),
        "--choose",
        choice,
        "--now",
        "2030-01-01T12:00:00Z",
    ]);
    let mut stream = connect(&server.address);
    let mut answers = Vec::new();
    for _ in 0..requests {
        let request = format!(
            "GET /v1/pets HTTP/1.1\r\nHost: x\r\nAccept-Encoding: identity\r\nAuthorization: Bearer {key}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
            answer.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&answer).into_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("a body");
        answers.push([answer, body].concat());
    }
    answers
}

#[test]
fn an_intermediary_closes_a_kept_connection_before_the_first_byte_of_a_response() {
    let answers = on_one_connection("service.complete-answer.closed-silently", 6);
    assert!(answers[..5].iter().all(|answer| answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(b"[]")));
    assert_eq!(answers[5], b"");
}

#[test]
fn an_intermediary_compresses_and_says_so_whatever_was_asked_for() {
    let answers = on_one_connection("service.json.gzip-in-spite-of-identity", 1);
    let text = String::from_utf8_lossy(&answers[0]);
    assert!(text.contains("content-encoding: gzip"), "{text}");
    let body = answers[0].windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head") + 4;
    let mut read = String::new();
    GzDecoder::new(&answers[0][body..]).read_to_string(&mut read).expect("gzip");
    assert_eq!(read, "[]");
}

#[test]
fn an_intermediary_answers_one_request_in_the_place_of_the_server() {
    for (choice, status) in [("one-502", "502"), ("one-503", "503"), ("one-407", "407")] {
        let answers = on_one_connection(&format!("service.complete-answer.{choice}"), 38);
        for (at, answer) in answers.iter().enumerate() {
            let text = String::from_utf8_lossy(answer);
            let is_own = at != 36;
            assert_eq!(text.starts_with("HTTP/1.1 200"), is_own, "{choice} {at}: {text}");
            assert_eq!(text.contains("x-ratelimit-limit"), is_own, "{choice} {at}: {text}");
            assert!(is_own || text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
        }
    }
}

#[test]
fn an_intermediary_writes_the_date_of_another_clock() {
    let answers = on_one_connection("headers.reset-time.date-of-a-gateway", 1);
    let text = String::from_utf8_lossy(&answers[0]);
    assert!(text.contains("date: Tue, 01 Jan 2030 12:02:0"), "{text}");
    assert!(text.contains("x-ratelimit-reset: 1893499260"), "{text}");
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
        for member in ["requirement", "does"] {
            assert!(entry[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {entry}");
        }
    }
}
