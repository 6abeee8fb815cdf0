//! The responses of the whole server, without a socket.

use std::time::Duration;

use axum::{body::Body, extract::Request};
use tower::ServiceExt;

use super::*;
use crate::api::{app::AppOptions, handlers::REMOVAL, keys};
use crate::domain::plan::{Limits, Plan};
use crate::domain::{clock::Clock, wire::NewPet};
use crate::store::Store;

struct TestServer {
    app: Arc<App>,
    entrance: Router,
    key: String,
}

async fn panicking() {
    panic!("a deliberate panic")
}

impl TestServer {
    fn new(plan: Plan, clock: &Clock) -> Self {
        Self::below("/v1", plan, clock)
    }

    fn below(base_path: &str, plan: Plan, clock: &Clock) -> Self {
        let store = Store::temporary().expect("a store");
        let (_, key) = keys::issue(&store.keys, "test", plan, 0).expect("a key");
        let options = AppOptions { base_path: base_path.to_owned(), ..AppOptions::new(clock.clone()) };
        let app = Arc::new(App::new(store, options));
        let routes = routes(&app).route(&format!("{base_path}/panic"), get(panicking));
        let entrance = routes.layer(from_fn_with_state(Arc::clone(&app), middleware::layer));
        Self { entrance, app, key: key.reveal().to_owned() }
    }

    async fn ask(&self, method: &str, path: &str, key: Option<&str>) -> (axum::http::response::Parts, String) {
        let mut request = Request::builder().method(method).uri(path).header("host", "test");
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let request = request.body(Body::empty()).expect("a request");
        let (parts, body) = self.entrance.clone().oneshot(request).await.expect("an answer").into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
        (parts, String::from_utf8(body.to_vec()).expect("text"))
    }
}

#[tokio::test]
async fn a_panic_costs_one_request_and_is_answered_as_an_error() {
    let server = TestServer::new(Plan::Free, &Clock::frozen(600));
    let (parts, body) = server.ask("GET", "/v1/panic", Some(&server.key)).await;
    assert_eq!(parts.status, 500);
    assert!(body.contains("\"code\":\"internal\"") && body.contains("\"status\":500"), "{body}");
    assert_eq!(parts.headers["x-ratelimit-remaining"], "59");
    assert_eq!(server.ask("GET", "/v1/pets", Some(&server.key)).await.0.status, 200);
}

#[tokio::test]
async fn known_paths_name_their_methods_and_unknown_ones_do_not_exist() {
    let server = TestServer::new(Plan::Pro, &Clock::frozen(600));
    for (path, allow) in [("/v1/pets", "GET,HEAD,POST"), ("/v1/pets/7", "GET,HEAD"), ("/v1/store/orders", "GET,HEAD")] {
        for method in ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"] {
            let (parts, _) = server.ask(method, path, Some(&server.key)).await;
            assert_eq!((parts.status.as_u16(), parts.headers["allow"].to_str().expect("text")), (405, allow));
        }
    }
    for path in ["/v1", "/v1/", "/v1/pets/", "/v1/pets/1/2", "/v1/Pets", "/v1//pets", "/v1/store", "/v1/orders"] {
        assert_eq!(server.ask("GET", path, Some(&server.key)).await.0.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_operation_announces_its_end_and_then_is_gone() {
    let clock = Clock::frozen(REMOVAL - 1);
    let server = TestServer::new(Plan::Free, &clock);
    let link = "</v1/pets?status=available>; rel=\"successor-version\"";
    let (parts, _) = server.ask("GET", "/v1/pets/1", Some(&server.key)).await;
    assert_eq!(parts.status, 404);
    assert_eq!(parts.headers["sunset"], "Thu, 05 Dec 2030 00:00:00 GMT");
    assert_eq!(parts.headers["link"], link);
    assert_eq!(parts.headers["date"], "Wed, 04 Dec 2030 23:59:59 GMT");
    assert!(!parts.headers.contains_key("deprecation"), "its date would be invented");
    clock.sleep(Duration::from_secs(1)).await;
    let (parts, body) = server.ask("GET", "/v1/pets/1", Some(&server.key)).await;
    assert_eq!((parts.status.as_u16(), parts.headers["link"].to_str().expect("text")), (410, link));
    assert!(body.contains("\"status\":410") && !parts.headers.contains_key("sunset"), "{body}");
    assert_eq!(server.ask("GET", "/v1/pets", Some(&server.key)).await.0.status, 200);
}

#[tokio::test]
async fn a_refused_request_says_when_to_return() {
    let server = TestServer::new(Plan::Custom(Limits { per_minute: 1, per_day: 9 }), &Clock::frozen(615));
    assert_eq!(server.ask("PUT", "/v1/pets", Some(&server.key)).await.0.status, 405);
    let (parts, body) = server.ask("GET", "/v1/pets", Some(&server.key)).await;
    assert_eq!((parts.status.as_u16(), parts.headers["retry-after"].to_str().expect("text")), (429, "45"));
    assert!(body.contains("\"code\":\"rate_limited\""), "{body}");
}

#[tokio::test]
async fn an_identifier_may_be_percent_encoded_and_is_an_int64_or_nothing() {
    let server = TestServer::new(Plan::Pro, &Clock::frozen(600));
    let pet = NewPet { name: "x".to_owned(), category_id: 1, status: None };
    server.app.store.create(pet).await.expect("an animal");
    for (path, status) in [
        ("/v1/pets/1", 200),
        ("/v1/pets/%31", 200),
        ("/v1/pets/1?limit=0", 200),
        ("/v1/pets/%2531", 404),
        ("/v1/pets/%", 404),
        ("/v1/pets/%ff", 404),
        ("/v1/pets/1%2F", 404),
        ("/v1/pets/+1", 404),
        ("/v1/pets/%2B1", 404),
        ("/v1/pets/01", 404),
        ("/v1/pets/1.0", 404),
        ("/v1/pets/9223372036854775808", 404),
        ("/v1/pets/{petId}", 404),
    ] {
        let (parts, body) = server.ask("GET", path, Some(&server.key)).await;
        assert_eq!(parts.status, status, "{path}: {body}");
        assert!(body.contains(if status == 200 { "\"id\":1" } else { "\"code\":\"not_found\"" }), "{path}: {body}");
        assert!(parts.headers.contains_key("sunset"), "{path}");
    }
    for path in ["/v1/%70ets", "/v1/pets/1/", "/v1/pets//", "/v1/pets//1", "/v1/pets/1//", "/%761/pets", "//v1/pets"] {
        assert_eq!(server.ask("GET", path, Some(&server.key)).await.0.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_api_may_live_below_any_base_path_or_none() {
    for base_path in ["", "/v1", "/api/v1", "/healthz/~x.y-z", "/pets"] {
        let server = TestServer::below(base_path, Plan::Pro, &Clock::frozen(600));
        for (path, status) in
            [("/pets", 200), ("/pets/1", 404), ("/store/orders", 200), ("/", 404), ("/x", 404), ("//pets", 404)]
        {
            let path = format!("{base_path}{path}");
            let (parts, _) = server.ask("GET", &path, None).await;
            assert_eq!((parts.status.as_u16(), parts.headers.contains_key("x-ratelimit-limit")), (401, true), "{path}");
            let (parts, _) = server.ask("GET", &path, Some(&server.key)).await;
            assert_eq!(
                (parts.status.as_u16(), parts.headers.contains_key("x-ratelimit-limit")),
                (status, true),
                "{path}"
            );
        }
        for page in ["/healthz", "/openapi.json"] {
            assert_eq!(server.ask("GET", page, None).await.0.status, 200, "{base_path}: {page}");
        }
    }
}

#[tokio::test]
async fn a_target_without_a_path_finds_nothing() {
    let server = TestServer::new(Plan::Free, &Clock::frozen(600));
    for (method, target) in [("CONNECT", "localhost:80"), ("OPTIONS", "*")] {
        assert_eq!(server.ask(method, target, None).await.0.status, 404, "{method} {target}");
    }
}
