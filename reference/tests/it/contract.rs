//! The responses of the API, over the wire.

use crate::support::{Folder, ask};

#[test]
fn every_error_has_the_same_shape_and_the_rate_limit_headers() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    for (method, path, status) in [
        ("GET", "/v1", 404),
        ("GET", "/v1/pets/", 404),
        ("GET", "/v1/pets/1", 404),
        ("GET", "/v1/pets/9223372036854775807", 404),
        ("GET", "/v1/pets/x", 404),
        ("GET", "/v1/pets?limit=0", 400),
        ("GET", "/v1/pets?limit=101", 400),
        ("GET", "/v1/pets?limit=1&limit=1", 400),
        ("GET", "/v1/pets?status=gone", 400),
        ("PUT", "/v1/pets", 405),
        ("POST", "/v1/pets/1", 405),
        ("DELETE", "/v1/store/orders", 405),
        ("OPTIONS", "/v1/pets", 405),
        ("TRACE", "/v1/pets", 405),
        ("POST", "/v1/pets", 400),
    ] {
        let answer = server.ask(method, path, &key);
        answer.assert_error(status);
        assert_eq!(answer.header("allow").is_some(), status == 405, "{answer:?}");
        assert!(answer.header("x-request-id").is_some(), "{answer:?}");
    }
    let long = vec![b' '; 64 * 1024 + 1];
    for (content_type, body, status) in [
        ("application/json", &b"{}"[..], 400),
        ("application/json", b"{\"name\":\"\xff\",\"categoryId\":1}", 400),
        ("application/json", &long, 413),
        ("text/plain", b"{\"name\":\"x\",\"categoryId\":1}", 415),
        ("", b"{\"name\":\"x\",\"categoryId\":1}", 415),
    ] {
        ask(&server.address, "POST", "/v1/pets", &key, Some((content_type, body))).assert_error(status);
    }
    assert_eq!(server.ask("GET", "/v1/pets", &key).body, "[]", "nothing of it had an effect");
}

#[test]
fn an_animal_comes_back_exactly_as_it_was_added() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    for (body, rest) in [
        (
            r#"{"name":"Rex","categoryId":1,"status":"available"}"#,
            r#""name":"Rex","categoryId":1,"status":"available"}"#,
        ),
        (r#"{"categoryId":9223372036854775807,"name":""}"#, r#""name":"","categoryId":9223372036854775807}"#),
        (
            r#"{"id":77,"name":"\u0000\ud83d\udc31é","categoryId":-9223372036854775808,"x":{"name":1}}"#,
            r#""name":"\u0000🐱é","categoryId":-9223372036854775808}"#,
        ),
        (
            r#"{"name":"a\"\\b","categoryId":9007199254740993.0,"status":"sold"}"#,
            r#""name":"a\"\\b","categoryId":9007199254740993,"status":"sold"}"#,
        ),
    ] {
        let added = server.post(&key, body);
        assert_eq!(added.status, 201, "{added:?}");
        let id = added.json()["id"].as_i64().expect("an id");
        assert_eq!(added.body, format!("{{\"id\":{id},{rest}"));
        assert_eq!(server.ask("GET", &format!("/v1/pets/{id}"), &key).body, added.body);
        assert_eq!(server.ask("GET", "/v1/pets?limit=1", &key).body, format!("[{}]", added.body));
    }
}

#[test]
fn a_list_holds_the_newest_first_up_to_its_limit() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    for number in 0..30 {
        let status = ["available", "pending", "sold"][number % 3];
        assert_eq!(
            server.post(&key, &format!(r#"{{"name":"{number}","categoryId":1,"status":"{status}"}}"#)).status,
            201
        );
    }
    let names = |query: &str| -> Vec<String> {
        let list = server.ask("GET", &format!("/v1/pets{query}"), &key).json();
        let animals = list.as_array().expect("an array").iter();
        animals.map(|animal| animal["name"].as_str().expect("a name").to_owned()).collect()
    };
    let expect = |numbers: Vec<usize>| numbers.iter().map(usize::to_string).collect::<Vec<_>>();
    assert_eq!(names(""), expect((10..30).rev().collect()));
    assert_eq!(names("?limit=100"), expect((0..30).rev().collect()));
    assert_eq!(names("?limit=%31"), expect(vec![29]));
    assert_eq!(names("?status=pending&limit=3"), expect(vec![28, 25, 22]));
}

#[test]
fn orders_are_an_empty_list() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let answer = folder.serve(&[]).ask("GET", "/v1/store/orders", &key);
    assert_eq!((answer.status, answer.body.as_str()), (200, "[]"));
}

#[test]
fn head_answers_like_get_without_the_body() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let answer = folder.serve(&[]).ask("HEAD", "/v1/pets", &key);
    assert_eq!((answer.status, answer.header("content-length"), answer.body.as_str()), (200, Some("2"), ""));
}

#[test]
fn health_and_description_need_no_key() {
    let folder = Folder::new();
    let server = folder.serve(&["--base-path", "/animals/v1"]);
    assert_eq!(server.ask("GET", "/healthz", "").status, 200);
    let description = server.ask("GET", "/openapi.json", "").json();
    assert_eq!(description["info"]["version"], "1.0.0");
    assert_eq!(description["servers"][0]["url"], "/animals/v1");
    assert_eq!(server.ask("GET", "/v1/pets", "").status, 404);
    assert_eq!(server.ask("GET", "/animals/v1/pets", "").status, 401);
    let health = crate::support::program(&["health", "--address", &server.address.to_string()]);
    assert!(health.status.success() && health.stdout == b"ok\n", "{health:?}");
}
