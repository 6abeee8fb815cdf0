//! Authentication.

use std::io::Write;

use crate::support::{Answer, Folder, ask, connect, program};

#[test]
fn without_a_valid_key_everything_is_a_401_without_effect() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve_tcp(&[]);
    let animal = (r"application/json", &br#"{"name":"x","categoryId":1}"#[..]);
    let huge = vec![b'x'; 5_000_000];
    for wrong in ["", "x", &key[..key.len() - 1], &format!("{key}x"), &key.to_uppercase(), &key.to_lowercase()] {
        for (method, path, body) in [
            ("GET", "/v1/pets", None),
            ("POST", "/v1/pets", Some(animal)),
            ("POST", "/v1/pets", Some(("text/plain", &b"{"[..]))),
            ("POST", "/v1/pets", Some(("application/json", &huge[..]))),
            ("PATCH", "/v1/pets/1", None),
            ("GET", "/v1/nothing?limit=0", None),
        ] {
            let answer = ask(&server.address, method, path, wrong, body);
            answer.assert_error(401);
            let expected = if wrong.is_empty() {
                "Bearer realm=\"animal-store\""
            } else {
                "Bearer realm=\"animal-store\", error=\"invalid_token\""
            };
            assert_eq!(answer.header("www-authenticate"), Some(expected));
            assert_eq!((answer.number("x-ratelimit-limit"), answer.number("x-ratelimit-remaining")), (0, 0));
        }
    }
    assert_eq!(server.ask("GET", &format!("/v1/pets?api_key={key}"), "").status, 401);
    let answer = server.ask("GET", "/v1/pets", &key);
    assert_eq!(answer.body, "[]");
    assert_eq!(answer.number("x-ratelimit-remaining"), 999_999, "refused requests count for no key");
}

#[test]
fn only_the_bearer_scheme_carries_a_key() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&[]);
    let with = |header: &str| {
        let mut stream = connect(&server.address);
        let request = format!("GET /v1/pets HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{header}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        Answer::read(&mut stream).status
    };
    assert_eq!(with(&format!("Authorization: bearer {key}")), 200);
    for header in [
        format!("Authorization: {key}"),
        format!("Authorization: Basic {key}"),
        format!("Authorization: Bearer{key}"),
        format!("Authorization: Bearer {key} {key}"),
        format!("Authorization: Bearer {key}, Bearer {key}"),
        format!("Authorization: Bearer {key}\r\nAuthorization: Bearer {key}"),
        format!("X-Api-Key: {key}"),
    ] {
        assert_eq!(with(&header), 401, "{header}");
    }
}

#[test]
fn keys_issued_and_revoked_by_another_process_count_at_once() {
    let folder = Folder::new();
    let server = folder.serve(&[]);
    assert!(server.notice.iter().any(|line| line.contains("reference keys issue --db")), "{:?}", server.notice);
    for number in 1..=5 {
        let key = folder.issue(&["free", "--name", "short-lived"]);
        assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
        let revoke = ["keys", "revoke", "--db", &folder.db_text(), &number.to_string()];
        assert!(program(&revoke).status.success());
        assert_eq!(server.ask("GET", "/v1/pets", &key).status, 401);
        assert_eq!(program(&revoke).status.code(), Some(1), "it is revoked already");
    }
    let list = program(&["keys", "list", "--db", &folder.db_text()]);
    let list = String::from_utf8(list.stdout).expect("text");
    let lines: Vec<&str> = list.lines().filter(|line| line.ends_with("short-lived")).collect();
    assert_eq!(lines.len(), 5, "{list}");
    let times =
        |line: &str| line.split_whitespace().filter(|word| word.starts_with("20") && word.ends_with('Z')).count();
    assert!(lines.iter().all(|line| times(line) == 2), "when they were issued and revoked: {list}");
}

#[test]
fn a_key_is_nowhere_in_the_database_files() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&[]);
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
    server.stop();
    let secret = key.splitn(3, '_').last().expect("a secret").as_bytes().to_owned();
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a file");
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{}", path.display());
    }
}

#[test]
fn dev_issues_a_key_for_each_plan_with_a_ready_command() {
    let folder = Folder::new();
    let server = folder.serve(&["--dev"]);
    for (plan, limit) in [("free", 60), ("pro", 300), ("business", 1_000), ("enterprise", 1_000_000)] {
        let line = server.notice.iter().find(|line| line.starts_with(plan)).expect("a line for the plan");
        let key = line.split_whitespace().last().expect("a key");
        assert!(server.notice.iter().any(|line| line.contains("curl") && line.contains(key)));
        assert_eq!(server.ask("GET", "/v1/pets", key).number("x-ratelimit-limit"), limit);
    }
}
