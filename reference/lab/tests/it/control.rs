//! The listener by which a test controls the server.

use std::io::{Read, Write};

use animal_store_reference::Address;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_traffic::{Unreadable, lines};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::{Answer, Folder, Server, connect, eventually, head};

const KEY: &str = "test-key-of-a-mock";

struct Controlled {
    server: Server,
    control: Address,
}

/// A server that is controlled, on a temporary database, with a key that meets no limit.
fn controlled(args: &[&str]) -> Controlled {
    controlled_on(":memory:", args)
}

fn controlled_on(db: &str, args: &[&str]) -> Controlled {
    let key = format!("enterprise={KEY}");
    let server = Server::start(&[&["--db", db, "--control", "0", "--key", &key], args].concat());
    let line = server.notice.iter().find_map(|line| line.strip_prefix("control on http://"));
    let control = line.expect("the address of the control").parse().expect("an address");
    Controlled { server, control }
}

/// An answer with its length instead of chunks.
fn without_chunks(answer: &str) -> String {
    let Some((head, mut chunks)) = answer.split_once("\r\n\r\n").filter(|(head, _)| head.contains("chunked")) else {
        return answer.to_owned();
    };
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("the length of a chunk");
        body += &rest[..length];
        chunks = &rest[length + 2..];
    }
    let head = head.replace("transfer-encoding: chunked", &format!("content-length: {}", body.len()));
    format!("{head}\r\n\r\n{body}")
}

impl Controlled {
    fn ask_with(&self, method: &str, path: &str, fields: &str, body: &str) -> Answer {
        let mut stream = connect(&self.control);
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        Answer::read(&mut without_chunks(&answer).as_bytes())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.ask_with(method, path, &format!("Host: {}\r\n", self.control), body)
    }

    /// What the control answers, which must be a success.
    fn done(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.ask(method, path, body);
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        answer.json()
    }

    fn list(&self) -> String {
        self.server.ask("GET", "/v1/pets?limit=100", KEY).body
    }

    fn add(&self, name: &str) -> i64 {
        let answer = self.server.post(KEY, &json!({"name": name, "categoryId": 1}).to_string());
        answer.json()["id"].as_i64().expect("an id")
    }

    fn freeze(&self, at: &str) {
        self.done("POST", "/clock/freeze", "");
        self.done("POST", "/clock/set", &json!({"to": at}).to_string());
    }
}

#[test]
fn a_reset_returns_to_the_animals_of_the_start_and_to_unused_keys() {
    let mock = controlled(&["--animals", "3", "--key", "free=a-free-key"]);
    let before = mock.list();
    mock.freeze("2030-01-01T12:00:00Z");
    for _ in 0..2 {
        assert_eq!(mock.add("Rex"), 4, "numbers begin anew");
        assert_eq!(mock.server.ask("GET", "/v1/pets/4", KEY).json()["name"], "Rex");
        while mock.server.ask("GET", "/v1/pets", "a-free-key").status == 200 {}
        mock.done("POST", "/answers", r#"{"status":500}"#);
        assert_eq!(mock.done("POST", "/reset", ""), json!({"animals": 3}));
        assert_eq!(mock.list(), before);
        assert_eq!(mock.server.ask("GET", "/v1/pets/4", KEY).status, 404, "no body was kept");
        assert_eq!(mock.server.ask("GET", "/v1/pets", "a-free-key").number("x-ratelimit-remaining"), 59);
    }
}

#[test]
fn a_reset_of_a_database_that_is_kept_returns_to_what_it_had_at_the_start() {
    let folder = Folder::new();
    let key = "a-key-of-the-database";
    let plain = folder.serve(&["--key", &format!("enterprise={key}")]);
    assert_eq!(plain.post(key, r#"{"name":"Kept","categoryId":1}"#).status, 201);
    plain.stop();
    let mock = controlled_on(&folder.db_text(), &["--choose", "list.order.oldest-first"]);
    assert_eq!(mock.add("Rex"), 2);
    mock.done("POST", "/reset", "");
    let list: Value = serde_json::from_str(&mock.list()).expect("JSON");
    assert_eq!(list, json!([{"id": 1, "name": "Kept", "categoryId": 1}]));
}

#[test]
fn a_snapshot_brings_animals_and_usage_back() {
    let mock = controlled(&["--key", "free=a-free-key"]);
    mock.freeze("2030-01-01T12:00:00Z");
    mock.add("Rex");
    for _ in 0..5 {
        mock.server.ask("GET", "/v1/pets", "a-free-key");
    }
    let before = mock.list();
    assert_eq!(mock.done("PUT", "/snapshots/five%20used", ""), json!({"name": "five used", "animals": 1}));
    mock.add("Mia");
    while mock.server.ask("GET", "/v1/pets", "a-free-key").status == 200 {}
    mock.done("POST", "/reset", "");
    assert_eq!(mock.list(), "[]");
    mock.done("POST", "/snapshots/five%20used/restore", "");
    assert_eq!(mock.list(), before);
    assert_eq!(mock.server.ask("GET", "/v1/pets", "a-free-key").number("x-ratelimit-remaining"), 54);
    assert_eq!(mock.add("Mia"), 2);
    assert_eq!(mock.done("GET", "/snapshots", ""), json!([{"name": "five used", "animals": 1}]));
    mock.done("DELETE", "/snapshots/five%20used", "");
    for (method, path) in [("POST", "/snapshots/five%20used/restore"), ("DELETE", "/snapshots/five%20used")] {
        assert_eq!(mock.ask(method, path, "").status, 404);
    }
    assert_eq!(mock.ask("PUT", &format!("/snapshots/{}", "x".repeat(101)), "").status, 400);
}

#[test]
fn the_clock_of_the_server_stands_moves_and_runs() {
    let mock = controlled(&["--now", "2030-12-04T10:00:00Z"]);
    let status = || mock.server.ask("GET", "/v1/pets/7", KEY).status;
    assert_eq!(mock.done("GET", "/clock", "")["frozen"], false);
    mock.freeze("2030-12-04T23:59:59Z");
    assert_eq!(status(), 404);
    let moved = mock.done("POST", "/clock/advance", r#"{"seconds":1}"#);
    assert_eq!(moved, json!({"now": "2030-12-05T00:00:00Z", "unix": 1_922_659_200, "frozen": true}));
    assert_eq!(status(), 410);
    let dates = || mock.server.ask("GET", "/v1/pets", KEY).header("date").map(str::to_owned);
    assert_eq!((dates(), dates()), (Some("Thu, 05 Dec 2030 00:00:00 GMT".to_owned()), dates()));
    assert_eq!(mock.done("POST", "/clock/run", "")["frozen"], false);
    for (path, body) in [
        ("/clock/set", r#"{"to":"soon"}"#),
        ("/clock/set", r#"{"to":"1969-12-31T23:59:59Z"}"#),
        ("/clock/advance", r#"{"seconds":999999999999999}"#),
    ] {
        let refused = mock.ask("POST", path, body);
        assert_eq!((refused.status, &refused.json()["status"]), (400, &400.into()), "{path} {body}");
    }
}

#[test]
fn a_prepared_answer_takes_the_place_of_the_servers_own_and_has_no_effect() {
    let mock = controlled(&[]);
    mock.freeze("2030-01-01T12:00:00Z");
    let answer = json!({
        "times": 2, "operation": "createPet", "key": KEY, "status": 503,
        "headers": {"Retry-After": "7"}, "body": {"code": "busy", "message": "try again", "status": 503}
    });
    let waiting = mock.done("POST", "/answers", &answer.to_string());
    assert_eq!(waiting, json!([{"times": 2, "operation": "createPet", "for_one_key": true, "status": 503}]));
    for _ in 0..2 {
        let answer = mock.server.post(KEY, r#"{"name":"Rex","categoryId":1}"#);
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("7")));
        assert_eq!(answer.body, r#"{"code":"busy","message":"try again","status":503}"#);
        assert_eq!(answer.header("date"), Some("Tue, 01 Jan 2030 12:00:00 GMT"));
        assert_eq!(answer.header("x-ratelimit-limit"), None);
    }
    assert_eq!((mock.list().as_str(), mock.add("Rex")), ("[]", 1));
    mock.done("POST", "/answers", r#"{"status":200,"text":"not JSON"}"#);
    mock.done("DELETE", "/answers", "");
    assert_eq!(mock.server.ask("GET", "/v1/pets", KEY).status, 200);
    assert_eq!(mock.ask("POST", "/answers", r#"{"status":7}"#).status, 400);
}

#[test]
fn the_log_is_a_trace_of_the_judge_without_keys() {
    let mock = controlled(&[]);
    mock.freeze("2030-01-01T12:00:00Z");
    mock.server.post(KEY, r#"{"name":"Rex","categoryId":1,"status":"sold"}"#);
    mock.server.ask("GET", &format!("/v1/pets?limit=2&api_key={KEY}"), KEY);
    mock.server.ask("GET", "/v1/pets/1", "wrong-key-of-somebody");
    mock.server.post(KEY, &format!("{{\"name\":\"{KEY}\",\"categoryId\":\"\"}}"));
    let get = |authorization: &str| {
        let mut stream = connect(&mock.server.address);
        let head =
            format!("GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: {authorization}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        Answer::read(&mut stream);
    };
    ["bearer short", KEY, "Basic bWU6cGFzc3dvcmQ=", "bearer"].into_iter().for_each(get);
    mock.server.ask("GET", "/healthz", "");
    let answer = mock.ask("GET", "/log", "");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    assert!(!answer.body.contains(KEY) && !answer.body.contains("wrong-key-of-somebody"), "{}", answer.body);
    let lines: Vec<Value> = answer.body.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let listed: Vec<String> = lines[1..]
        .iter()
        .map(|line| {
            let (request, response) = (&line["request"], &line["response"]);
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let path = [&request["method"], &request["path"], &request["query"], &request["authorization"]].map(text);
            format!("{} {}", path.join(" "), response["status"])
        })
        .collect();
    assert_eq!(
        listed,
        [
            "POST /pets - Bearer sk-Recorded-Key-0001 201",
            "GET /pets limit=2&api_key=sk-Recorded-Key-0001 Bearer sk-Recorded-Key-0001 200",
            "GET /pets/1 - Bearer sk-Invalid-Key-0001 401",
            "POST /pets - Bearer sk-Recorded-Key-0001 400",
            "GET /pets - bearer sk-Invalid-Key-0002 401",
            "GET /pets - sk-Recorded-Key-0001 401",
            "GET /pets - Basic sk-Invalid-Key-0003 401",
            "GET /pets - bearer 401",
        ]
    );
    assert_eq!(lines[1]["sent_at"], "2030-01-01T12:00:00Z");
    assert_eq!(lines[1]["response"]["body"], r#"{"id":1,"name":"Rex","categoryId":1,"status":"sold"}"#);
    assert_eq!(lines[1]["request"]["body"], r#"{"name":"Rex","categoryId":1,"status":"sold"}"#);
    assert_eq!(lines[0]["keys"], json!(["sk-Recorded-Key-0001"]));

    let read = lines::read::<Unreadable>(&mut answer.body.as_bytes(), |_, _| Ok(()));
    assert_eq!(read.expect("a trace").context.extent, Extent::Sample);
    mock.done("DELETE", "/log", "");
    assert_eq!(mock.ask("GET", "/log", "").body.lines().count(), 1);
}

#[test]
fn a_prepared_answer_has_rate_limit_fields_and_counts_where_it_is_asked_to() {
    for limiter in [&[][..], &["--choose", "headers.window.first-request"]] {
        let mock = controlled(&[limiter, &["--key", "free=a-free-key"]].concat());
        mock.freeze("2030-01-01T12:00:00Z");
        mock.done("POST", "/answers", r#"{"times":2,"operation":"createPet","status":503,"rate_limit":true}"#);
        mock.done("POST", "/answers", r#"{"status":500,"rate_limit":true,"headers":{"X-RateLimit-Remaining":"7"}}"#);
        let busy = || mock.server.post("a-free-key", r#"{"name":"Rex","categoryId":1}"#);
        for remaining in [59, 58] {
            let answer = busy();
            assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (503, remaining));
            assert_eq!((answer.number("x-ratelimit-limit"), answer.number("x-ratelimit-reset")), (60, 1_893_499_260));
        }
        assert_eq!(mock.server.ask("GET", "/v1/pets", "a-free-key").number("x-ratelimit-remaining"), 7);
        let answer = mock.server.ask("GET", "/v1/pets", "a-free-key");
        assert_eq!((answer.body.as_str(), answer.number("x-ratelimit-remaining")), ("[]", 56), "nothing was created");
    }
}

#[test]
fn faults_come_and_go_at_run_time_and_a_reset_returns_to_those_of_the_start() {
    let mock = controlled(&["--fault", "list.limit-default.ten", "--animals", "30"]);
    let listed = || {
        let list: Value = mock.server.ask("GET", "/v1/pets", KEY).json();
        list.as_array().map(Vec::len)
    };
    assert_eq!(listed(), Some(10));
    let shown = mock.done("PUT", "/faults", r#"["list.limit-default.fifty","auth.invalid-key.any-key@0.5"]"#);
    assert_eq!((&shown[0]["rate"], &shown[1]["rate"]), (&json!(1.0), &json!(0.5)));
    assert_eq!(listed(), Some(50), "this fault has fifty animals at least");
    mock.done("DELETE", "/faults", "");
    assert_eq!((listed(), mock.done("GET", "/faults", "")), (Some(20), json!([])));
    mock.done("PUT", "/faults", r#"["quota.enforced.never-refuses"]"#);
    for (body, part) in [
        (r#"["list.limit-default.fifti"]"#, "there is `list.limit-default.fifty`"),
        (r#"["versioning.path.no-version"]"#, "where the API lives, which stays"),
        (r#"["list.limit-default.fifty@7"]"#, "`7` is not a rate"),
        (r#"{"name":"list"}"#, "invalid type"),
    ] {
        let refused = mock.ask("PUT", "/faults", body);
        assert_eq!(refused.status, 400, "{body}");
        assert!(refused.body.contains(part), "{body}: {}", refused.body);
    }
    assert_eq!(mock.done("GET", "/faults", "")[0]["name"], "quota.enforced.never-refuses", "nothing was changed");
    mock.done("POST", "/reset", "");
    assert_eq!((listed(), &mock.done("GET", "/faults", "")[0]["name"]), (Some(10), &"list.limit-default.ten".into()));
}

#[test]
fn a_plain_server_gets_a_fault_that_knows_the_keys_of_the_start_and_loses_it_again() {
    let mock = controlled(&[]);
    let status = || mock.server.ask("GET", "/v1/pets", &KEY.to_uppercase()).status;
    assert_eq!(status(), 401);
    mock.done("PUT", "/faults", r#"["auth.exact-key.any-case-keys"]"#);
    assert_eq!(status(), 200);
    mock.done("DELETE", "/faults", "");
    assert_eq!(status(), 401);
}

#[test]
fn delays_are_set_at_run_time_and_a_reset_returns_to_those_of_the_start() {
    let mock = controlled(&[]);
    let hour = || mock.done("PUT", "/delay", r#"{"delay":"3600000"}"#);
    assert_eq!(hour(), json!({"delay": "3600000"}));
    let mut held = connect(&mock.server.address);
    let body = br#"{"name":"Rex","categoryId":1}"#;
    held.write_all(head("POST", "/v1/pets", KEY, Some(("application/json", body))).as_bytes()).expect("sent");
    held.write_all(body).expect("sent");
    eventually("the animal is stored", || (mock.done("PUT", "/snapshots/x", "")["animals"] == 1).then_some(()));
    assert_eq!(mock.done("GET", "/log/counts", "")["exchanges"], 0, "the response is held back");
    // Without an end of the delay, these lists would take an hour.
    assert_eq!(mock.done("DELETE", "/delay", ""), json!({"delay": null}));
    mock.list();
    hour();
    mock.done("POST", "/reset", "");
    assert_eq!(mock.done("GET", "/delay", ""), json!({"delay": null}));
    mock.list();
    assert_eq!(mock.ask("PUT", "/delay", r#"{"delay":"soon"}"#).status, 400);
}

#[test]
fn the_log_shows_and_counts_the_exchanges_that_are_asked_for() {
    let mock = controlled(&[]);
    mock.add("Rex");
    for path in ["/v1/pets", "/v1/pets/1", "/v1/pets/2", "/v1/nothing"] {
        mock.server.ask("GET", path, KEY);
    }
    mock.server.ask("GET", "/v1/pets", "wrong");
    let counts = mock.done("GET", "/log/counts", "");
    let operations = json!({
        "createPet": {"201": 1}, "getPet": {"200": 1, "404": 1}, "listPets": {"200": 1, "401": 1}, "other": {"404": 1}
    });
    assert_eq!(counts, json!({"exchanges": 6, "operations": operations}));
    for (query, expected) in [
        ("operation=getPet", 2),
        ("status=404", 2),
        ("status=4xx", 3),
        ("status=404&operation=getPet", 1),
        ("method=POST", 1),
        ("path=/pets", 3),
        ("path=/pets/*", 2),
        ("last=2", 2),
        ("last=0", 0),
    ] {
        assert_eq!(mock.done("GET", &format!("/log/counts?{query}"), "")["exchanges"], expected, "{query}");
        assert_eq!(mock.ask("GET", &format!("/log?{query}"), "").body.lines().count(), expected + 1, "{query}");
    }
    for query in ["status=often", "status=4x", "operation=deletePet", "last=-1", "since=1"] {
        assert_eq!(mock.ask("GET", &format!("/log?{query}"), "").status, 400, "{query}");
    }
}

#[test]
fn the_log_has_no_key_however_and_wherever_it_was_sent() {
    let other = "k+/ey-of-a-second-plan";
    let third = "key-that-is-never-presented";
    let mock = controlled(&["--key", &format!("pro={other}"), "--key", &format!("pro={third}")]);
    let send = |target: &str, fields: &str, body: &[u8]| {
        let mut stream = connect(&mock.server.address);
        let length = body.len();
        let head = format!("POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n");
        stream.write_all(&[head.as_bytes(), fields.as_bytes(), b"\r\n", body].concat()).expect("sent");
        Answer::read(&mut stream);
    };
    let base64 = |text: &str| BASE64_STANDARD.encode(text);
    // Before any of the keys has been presented in a field.
    send("/v1/pets?api_key=k%2B%2Fey-of-a-second-plan&name=secret-of-somebody", "", b"");
    send(&format!("/v1/{third}"), &format!("X-{third}: {}\r\n", base64(&format!("id:{third}"))), b"");
    // Bodies are read with a key only.
    let key = format!("Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\n");
    send("/v1/pets", &key, format!("\u{ff}{KEY}").as_bytes());
    send("/v1/pets", &key, &[&b"\xff"[..], KEY.as_bytes()].concat());
    send("/v1/pets", &key, format!("{{\"name\":\"{}\"}}", base64(&format!("x{other}"))).as_bytes());
    send("/v1/pets?token=short", &key, br#"{"password":"hunter-2222","name":"k+\/ey-of-a-second-\u0070lan"}"#);
    let fields = format!("{key}Cookie: a=b; sid=wrong-key-1\r\nX-Pass: wrong-key-2\r\nAccept: wrong-key-3\r\n");
    send("/v1/wrong-key-1?x=wrong-key-2", &fields, b"");
    let form = format!("Authorization: Bearer {KEY}\r\nContent-Type: application/x-www-form-urlencoded\r\n");
    send("/v1/pets", &form, b"secret=wrong-key-3&a=wrong-key-3");
    send("/v1/pets", &key, br#"{"name":"wrong-key-4","owners":[{"auth":{"apiKey":"wrong-key-4"}}]}"#);
    let basic = format!("Authorization: Basic {}\r\n", base64("me:pass-of-basic"));
    send("/v1/pets?name=hunter-2222&x=pass-of-basic", &basic, b"");
    send("/v1/pets", &format!("Authorization: {KEY}\r\n"), b"");
    let log = mock.ask("GET", "/log", "").body;
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 12);
    let bodies = lines.iter().filter_map(|line| BASE64_STANDARD.decode(line["request"]["body_base64"].as_str()?).ok());
    let bodies: Vec<String> = bodies.map(|body| String::from_utf8_lossy(&body).into_owned()).collect();
    // The second stand-in is that of the key which is encoded in the value of a field.
    assert_eq!(bodies, ["\u{fffd}sk-Recorded-Key-0003"]);
    let whole = log + &bodies.concat();
    for secret in
        [KEY, other, third, "ey-of-a-second", "2Fey-of", "=short", "hunter-2222", "pass-of-basic", "wrong-key-"]
    {
        assert!(!whole.contains(secret), "{secret}: {whole}");
    }
    for encoded in [base64(&format!("id:{third}")), base64(&format!("x{other}")), base64("me:pass-of-basic")] {
        assert!(!whole.contains(&encoded[4..encoded.len() - 4]), "{encoded}: {whole}");
    }
    assert!(whole.contains("secret-of-somebody"), "nothing says that it is a credential: {whole}");
}

#[test]
fn the_log_has_no_credential_in_whatever_notation_it_was_sent() {
    let mock = controlled(&[]);
    let multipart = "--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nSECRET\r\n--x--\r\n";
    for secret in ["a-long-Secret-4711", "sh0rt"] {
        // In a body, a short value may be any word.
        let is_long = secret.len() >= 8;
        for (target, media_type, body) in [
            ("/v1/pets", "application/json", r#"{"name":"Rex","owner":{"login":{"apiKey":"SECRET"}}}"#),
            ("/v1/pets", "application/json", r#"{"name":"Rex","owners":[1,{"tokens":["SECRET"]}]}"#),
            ("/v1/pets", "application/json", r#"{"tokens":["another",[7,{"x":"SECRET"}]]}"#),
            ("/v1/pets", "application/json", r#"{"name":"Rex","apiKey":"SECRET","#),
            ("/v1/pets", "application/json", r#"{"name":"Rex",'password':'SECRET'}"#),
            ("/v1/pets", "multipart/form-data; boundary=x", multipart),
            ("/v1/pets?limit=1;token=SECRET;x=1", "application/json", "{}"),
            ("/v1/pets?x=1;session=SECRET&y=2", "application/json", "{}"),
        ] {
            if !is_long && body.contains("SECRET") {
                continue;
            }
            mock.done("DELETE", "/log", "");
            let (target, body) = (target.replace("SECRET", secret), body.replace("SECRET", secret));
            let mut stream = connect(&mock.server.address);
            let head = head("POST", &target, KEY, Some((media_type, body.as_bytes())));
            stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).expect("sent");
            Answer::read(&mut stream);
            let log = mock.ask("GET", "/log", "").body;
            assert_eq!(log.lines().count(), 2, "{target} {body}: {log}");
            assert!(!log.contains(secret), "{target} {body}: {log}");
        }
    }
}

#[test]
fn the_log_forgets_its_oldest_exchanges_where_they_exceed_its_size() {
    let mock = controlled(&[]);
    // In JSON, each of these characters takes six bytes.
    let body = "\u{1}".repeat(60 * 1024);
    for _ in 0..200 {
        assert_eq!(mock.server.post(KEY, &body).status, 400);
    }
    let kept = mock.done("GET", "/log/counts", "")["exchanges"].as_u64().expect("a number");
    let most = 64 * 1024 * 1024 / (6 * body.len() as u64);
    assert!((most - 5..=most).contains(&kept), "{kept} of at most {most}");
    let last = mock.ask("GET", "/log?last=1", "").body;
    assert!(last.len() > 6 * body.len() && last.lines().count() == 2, "{} bytes", last.len());
}

#[test]
fn what_the_control_repeats_has_no_character_that_acts_on_a_terminal_and_no_key() {
    let mock = controlled(&[]);
    let log = |text: &str| mock.server.post(KEY, &json!({"name": text, "categoryId": 1}).to_string());
    log("a\u{9b}31mb\u{202e}c\u{200b}\u{7f}");
    let (method, path, body) = ("POST", "/answers", &json!({"status": KEY}).to_string());
    assert!(!mock.ask(method, path, body).body.contains(KEY));
    for (method, path, body) in [
        ("GET", "/log", ""),
        ("PUT", "/snapshots/a%C2%9Bb%E2%80%AE", ""),
        ("GET", "/snapshots", ""),
        ("POST", "/answers", r#"{"status":200,"headers":{"a\u009b\u202e":"x"}}"#),
        ("POST", "/answers", r#"{"status":200,"a\u009b\u202e":"x"}"#),
    ] {
        let answer = mock.ask(method, path, body).body;
        assert!(answer.contains("009b") || answer.contains("{9b}"), "{method} {path}: {answer:?}");
        let acts = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}".contains(c);
        assert!(!answer.contains(acts), "{method} {path}: {answer:?}");
    }
}

#[test]
fn the_log_has_each_credential_of_a_request_and_tells_when_an_answer_broke_off() {
    let mock = controlled(&["--animals", "50", "--fault", "service.complete-answer.cuts-long-lists"]);
    mock.server.ask("GET", "/v1/pets?limit=1", KEY);
    let mut twice = connect(&mock.server.address);
    let bearer = format!("Authorization: Bearer {KEY}\r\n").repeat(2);
    let request = format!("GET /v1/pets HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{bearer}\r\n");
    twice.write_all(request.as_bytes()).expect("sent");
    assert_eq!(Answer::read(&mut twice).status, 401);
    let mut broken = connect(&mock.server.address);
    broken.write_all(head("GET", "/v1/pets?limit=100", KEY, None).as_bytes()).expect("sent");
    let _ends_early = broken.read_to_end(&mut Vec::new());
    let log = mock.ask("GET", "/log", "").body;
    let lines: Vec<Value> = log.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let further = lines[1]["request"]["headers"].as_array().expect("fields");
    assert!(further.contains(&json!(["authorization", "Bearer sk-Recorded-Key-0001"])), "{further:?}");
    assert_eq!(lines[2]["failure"], json!({"kind": "broken", "detail": "the response was broken off"}));
    assert_eq!((lines.len(), lines[2].get("response")), (3, None));
}

#[test]
fn pages_in_browsers_do_not_control_the_server() {
    let mock = controlled(&[]);
    let host = format!("Host: {}\r\n", mock.control);
    for fields in [
        format!("{host}Origin: http://evil.example\r\n"),
        "Host: evil.example:80\r\n".to_owned(),
        "Host: [::1].evil.example\r\n".to_owned(),
        "Host: [::1]evil.example:80\r\n".to_owned(),
        "Host: 127.0.0.1.evil.example\r\n".to_owned(),
        format!("{host}Host: evil.example\r\n"),
        format!("{host}{host}"),
        String::new(),
    ] {
        let answer = mock.ask_with("POST", "/reset", &fields, "");
        assert_eq!((answer.status, &answer.json()["code"]), (403, &"forbidden".into()), "{fields}");
    }
    for host in ["localhost:9", "localhost", "127.0.0.1", "[::1]:9", "[::1]"] {
        assert_eq!(mock.ask_with("POST", "/reset", &format!("Host: {host}\r\n"), "").status, 200, "{host}");
    }
}

#[test]
fn half_a_head_does_not_hold_a_connection_of_the_control() {
    let mock = controlled(&[]);
    let mut stream = connect(&mock.control);
    stream.write_all(b"POST /reset HTTP/1.1\r\nHost: local").expect("sent");
    stream.read_to_end(&mut Vec::new()).expect("the control ends the connection");
    mock.done("POST", "/reset", "");
}

/// What a server answers to the same requests, byte for byte.
fn answers(mock: &Controlled) -> Vec<String> {
    let ask = |method: &str, path: &str, key: &str, body: &str| {
        let body = (!body.is_empty()).then_some(("application/json", body.as_bytes()));
        let mut stream = connect(&mock.server.address);
        stream.write_all(head(method, path, key, body).as_bytes()).expect("sent");
        stream.write_all(body.map_or(&[][..], |(_, body)| body)).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        assert!(answer.starts_with(b"HTTP/1.1 "));
        String::from_utf8_lossy(&answer).into_owned()
    };
    let mut answers = Vec::new();
    for round in 0..3 {
        let pet = format!(r#"{{"name":"Rex {round}","categoryId":1,"status":"sold"}}"#);
        answers.push(ask("POST", "/v1/pets", KEY, &pet));
        answers.push(ask("POST", "/v1/pets", KEY, r#"{"name":"","categoryId":-7.0,"colour":"red"}"#));
        answers.push(ask("GET", "/v1/pets?limit=7", KEY, ""));
        answers.push(ask("GET", "/v1/pets/3", KEY, ""));
        answers.push(ask("GET", "/v1/pets?status=lost&limit=0", "wrong", ""));
    }
    answers
}

#[test]
fn on_a_clock_that_stands_a_seed_answers_the_same_requests_with_the_same_bytes_also_after_a_reset() {
    let start = |seed: &str| {
        let mock = controlled(&["--animals", "5", "--delay", "0..1", "--lawful", seed]);
        mock.freeze("2030-01-01T12:00:00Z");
        mock
    };
    for seed in ["1", "2", "3", "4"] {
        let (first, second) = (start(seed), start(seed));
        let expected = answers(&first);
        first.done("POST", "/reset", "");
        for again in [answers(&first), answers(&second)] {
            let differs = expected.iter().zip(&again).find(|(expected, again)| expected != again);
            assert_eq!(differs, None, "seed {seed}");
        }
    }
}

#[test]
fn a_log_remembers_a_refusal_for_as_long_as_a_request() {
    let choices = ["--choose", "headers.window.sliding-log", "--choose", "quota.ban.five-minutes"];
    // The second refusal bans the key for five minutes; a first one asks for a wait until the log has room.
    for (later, wait) in [(59, 300), (60, 60)] {
        let controlled = controlled(&[&choices[..], &["--key", "free=key-of-a-log"]].concat());
        let list = || controlled.server.ask("GET", "/v1/pets", "key-of-a-log");
        let until_refused = || std::iter::repeat_with(list).find(|answer| answer.status == 429).expect("a refusal");
        controlled.freeze("2030-01-01T12:00:00Z");
        assert!((0..30).all(|_| list().status == 200));
        controlled.done("POST", "/clock/advance", r#"{"seconds":30}"#);
        assert_eq!(until_refused().number("retry-after"), 30);
        controlled.done("POST", "/clock/advance", &json!({"seconds": later}).to_string());
        assert_eq!(until_refused().number("retry-after"), wait, "{later} s later");
    }
}
