//! Every route, and everything that happens to a request, in order.
//!
//! Below the base path: authenticate, then count against the rate limits, then look at what was asked.
//! So a caller without a valid key learns nothing but that, whatever else is wrong with the request, and
//! every response carries the rate-limit headers. Beside the API, without a key: health and documentation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Body;

use crate::app::App;
use crate::error::ApiError;
use crate::rate_limit::{Decision, Quota};
use crate::respond::{self, Reply, Response};
use crate::{orders, pets, query};

/// A path below the base path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Pets,
    /// The identifier, if the segment held one.
    Pet(Option<i64>),
    Orders,
    Unknown,
    #[cfg(test)]
    Panic,
}

impl Route {
    /// `path` is what follows the base path; it is empty or begins with a slash.
    fn find(path: &str) -> Self {
        match path {
            "/pets" => Self::Pets,
            "/store/orders" => Self::Orders,
            #[cfg(test)]
            "/panic" => Self::Panic,
            _ => match path.strip_prefix("/pets/") {
                Some(segment) if !segment.contains('/') => Self::Pet(query::pet_id(segment)),
                _ => Self::Unknown,
            },
        }
    }

    /// Its name in logs. Paths themselves are never logged: a key may have strayed into one.
    const fn name(self) -> &'static str {
        match self {
            Self::Pets => "/pets",
            Self::Pet(_) => "/pets/{petId}",
            Self::Orders => "/store/orders",
            Self::Unknown => "unknown",
            #[cfg(test)]
            Self::Panic => "/panic",
        }
    }
}

impl App {
    /// Answers any request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let now = self.clock.now();
        let number = self.next_request();
        let log = tracing::enabled!(target: "access", tracing::Level::DEBUG)
            .then(|| (Instant::now(), loggable(request.method())));

        let path = request.uri().path();
        let below_base = path.strip_prefix(&*self.base_path).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let (name, mut response) = match (beside_the_api(path), below_base.map(Route::find)) {
            (Some(page), _) => (page.name(), self.answer_beside(page, request.method(), now)),
            (None, Some(route)) => (route.name(), self.answer_api(route, request, now).await),
            (None, None) => ("unknown", respond::error(ApiError::not_found("nothing has this path"), now)),
        };

        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            response.headers_mut().insert("x-request-id", HeaderValue::from(number));
        }
        if status.is_server_error() {
            tracing::error!(request = number, route = name, status = status.as_u16(), "a request failed");
        }
        if let Some((started, method)) = log {
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            tracing::debug!(target: "access", request = number, method, route = name, status = status.as_u16(), micros);
        }
        response
    }

    /// An API request: who, how much, what.
    async fn answer_api<B>(&self, route: Route, request: Request<B>, now: u64) -> Response
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let key = match self.keys.authenticate(request.headers()) {
            Ok(key) => key,
            Err(error) => return respond::api(Err(ApiError::unauthorized(error)), Quota::anonymous(now), now),
        };
        let quota = match key.decide(self.ban, now) {
            Decision::Admitted(quota) => quota,
            Decision::Refused { quota, retry_after, banned } => {
                return respond::api(Err(ApiError::too_many_requests(retry_after, banned)), quota, now);
            }
        };
        drop(key);
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let outcome = guard(self.dispatch(route, request, now)).await;
        let mut response = respond::api(outcome, quota, now);
        if reads && matches!(route, Route::Pet(_)) {
            self.notice.announce(response.headers_mut(), now);
        }
        response
    }

    /// The operations.
    async fn dispatch<B>(&self, route: Route, request: Request<B>, now: u64) -> Result<Reply, ApiError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        match (route, request.method()) {
            (Route::Pets, &Method::GET | &Method::HEAD) => pets::list(self, request.uri().query()),
            (Route::Pets, &Method::POST) => pets::create(self, request).await,
            (Route::Pets, _) => Err(ApiError::method_not_allowed("GET, HEAD, POST")),
            (Route::Pet(id), &Method::GET | &Method::HEAD) => {
                self.notice.check(now)?;
                pets::get(self, id)
            }
            (Route::Orders, &Method::GET | &Method::HEAD) => Ok(orders::list()),
            (Route::Pet(_) | Route::Orders, _) => Err(ApiError::method_not_allowed("GET, HEAD")),
            (Route::Unknown, _) => Err(ApiError::not_found("nothing has this path")),
            #[cfg(test)]
            (Route::Panic, _) => panic!("asked to"),
        }
    }

    /// Health and documentation.
    fn answer_beside(&self, page: Page, method: &Method, now: u64) -> Response {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return respond::error(ApiError::method_not_allowed("GET, HEAD"), now);
        }
        match page {
            Page::Health => match self.store.key_generation() {
                Ok(_) => respond::json(StatusCode::OK, Bytes::from_static(b"{\"status\":\"ok\"}"), now),
                Err(error) => respond::error(error.into(), now),
            },
            Page::OpenApi => respond::json(StatusCode::OK, self.openapi.clone(), now),
            Page::Docs => {
                let mut response = respond::json(StatusCode::OK, self.docs.clone(), now);
                let html = HeaderValue::from_static("text/html; charset=utf-8");
                response.headers_mut().insert(header::CONTENT_TYPE, html);
                response
            }
        }
    }
}

/// What is served beside the API.
#[derive(Clone, Copy)]
enum Page {
    Health,
    OpenApi,
    Docs,
}

impl Page {
    const fn name(self) -> &'static str {
        match self {
            Self::Health => "/healthz",
            Self::OpenApi => "/openapi.json",
            Self::Docs => "/docs",
        }
    }
}

fn beside_the_api(path: &str) -> Option<Page> {
    match path {
        "/healthz" => Some(Page::Health),
        "/openapi.json" => Some(Page::OpenApi),
        "/docs" => Some(Page::Docs),
        _ => None,
    }
}

/// A method may be any token, so only the known ones are logged.
fn loggable(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|name| method.as_str() == *name).unwrap_or("other")
}

/// Turns a panic into a 500, so that it ends one request and nothing else.
async fn guard(operation: impl Future<Output = Result<Reply, ApiError>>) -> Result<Reply, ApiError> {
    let mut operation = pin!(operation);
    std::future::poll_fn(move |context| {
        // What the operation shares is behind locks that survive a panic of their holder.
        match catch_unwind(AssertUnwindSafe(|| operation.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(_panic) => {
                tracing::error!("an operation panicked");
                Poll::Ready(Err(ApiError::internal()))
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;
    use crate::app::{AppOptions, RequestLimits};
    use crate::clock::Clock;
    use crate::deprecation::REMOVAL;
    use crate::keys;
    use crate::plan::{Limits, Plan};
    use crate::rate_limit::BanPolicy;
    use crate::store::{KeyStore, Location, Store};

    struct Bench {
        app: App,
        key: String,
    }

    impl Bench {
        fn new(plan: Plan, clock: &Clock) -> Self {
            let store = Store::open(&Location::Scratch, 16).expect("a store");
            let desk = KeyStore::beside(&store).expect("a second connection");
            let (_, key) = keys::issue(&desk, "test", plan, 0).expect("a key");
            let options = AppOptions {
                base_path: "/v1".to_owned(),
                clock: clock.clone(),
                ban: BanPolicy::default(),
                limits: RequestLimits::default(),
            };
            Self { app: App::new(store, options).expect("an app"), key: key.reveal().to_owned() }
        }

        async fn ask(&self, method: &str, path: &str, key: Option<&str>) -> (http::response::Parts, String) {
            let mut request = Request::builder().method(method).uri(path);
            if let Some(key) = key {
                request = request.header("authorization", format!("Bearer {key}"));
            }
            let response = self.app.answer(request.body(Full::<Bytes>::default()).expect("a request")).await;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            (parts, String::from_utf8(body.to_vec()).expect("text"))
        }
    }

    #[tokio::test]
    async fn a_panic_costs_one_request_and_is_answered_as_an_error() {
        let bench = Bench::new(Plan::Free, &Clock::frozen(600));
        let (parts, body) = bench.ask("GET", "/v1/panic", Some(&bench.key)).await;
        assert_eq!(parts.status, 500);
        assert!(body.contains("\"code\":\"internal\"") && body.contains("\"status\":500"), "{body}");
        assert_eq!(parts.headers["x-ratelimit-remaining"], "59");
        assert_eq!(bench.ask("GET", "/v1/pets", Some(&bench.key)).await.0.status, 200);
    }

    #[tokio::test]
    async fn nothing_but_401_is_told_without_a_key() {
        let bench = Bench::new(Plan::Free, &Clock::frozen(610));
        for (method, path) in [
            ("GET", "/v1"),
            ("GET", "/v1/"),
            ("GET", "/v1/pets"),
            ("POST", "/v1/pets"),
            ("PUT", "/v1/pets"),
            ("GET", "/v1/pets/1"),
            ("GET", "/v1/pets/x"),
            ("GET", "/v1/pets?limit=0"),
            ("GET", "/v1/nothing"),
            ("OPTIONS", "/v1/pets"),
            ("TRACE", "/v1/x/y"),
            ("GET", "/v1/store/orders"),
            ("GET", "/v1/panic"),
        ] {
            let (parts, body) = bench.ask(method, path, None).await;
            assert_eq!(parts.status, 401, "{method} {path}");
            assert!(body.contains("\"status\":401"), "{body}");
            let told = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "www-authenticate"];
            assert_eq!(told.map(|name| parts.headers[name].to_str().expect("text")), ["0", "0", "660", "Bearer"]);
        }
    }

    #[tokio::test]
    async fn paths_outside_the_base_path_need_no_key() {
        let bench = Bench::new(Plan::Free, &Clock::frozen(600));
        for (path, status) in
            [("/healthz", 200), ("/openapi.json", 200), ("/docs", 200), ("/", 404), ("/v1x/pets", 404)]
        {
            let (parts, _) = bench.ask("GET", path, None).await;
            assert_eq!(parts.status, status, "{path}");
            assert!(!parts.headers.contains_key("x-ratelimit-limit"), "{path}");
        }
        assert_eq!(bench.ask("POST", "/docs", None).await.0.headers["allow"], "GET, HEAD");
    }

    #[tokio::test]
    async fn known_paths_name_their_methods_and_unknown_ones_do_not_exist() {
        let bench = Bench::new(Plan::Pro, &Clock::frozen(600));
        for (path, allow) in
            [("/v1/pets", "GET, HEAD, POST"), ("/v1/pets/7", "GET, HEAD"), ("/v1/store/orders", "GET, HEAD")]
        {
            for method in ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"] {
                let (parts, _) = bench.ask(method, path, Some(&bench.key)).await;
                assert_eq!((parts.status.as_u16(), parts.headers["allow"].to_str().expect("text")), (405, allow));
            }
        }
        for path in ["/v1", "/v1/", "/v1/pets/", "/v1/pets/1/2", "/v1/Pets", "/v1//pets", "/v1/store", "/v1/orders"] {
            assert_eq!(bench.ask("GET", path, Some(&bench.key)).await.0.status, 404, "{path}");
        }
    }

    #[tokio::test]
    async fn the_operation_announces_its_end_and_then_is_gone() {
        let clock = Clock::frozen(REMOVAL - 1);
        let bench = Bench::new(Plan::Free, &clock);
        let link = "</v1/pets?status=available>; rel=\"successor-version\"";
        let (parts, _) = bench.ask("GET", "/v1/pets/1", Some(&bench.key)).await;
        assert_eq!(parts.status, 404);
        assert_eq!(parts.headers["sunset"], "Thu, 05 Dec 2030 00:00:00 GMT");
        assert_eq!(parts.headers["link"], link);
        assert_eq!(parts.headers["date"], "Wed, 04 Dec 2030 23:59:59 GMT");
        clock.set(REMOVAL);
        let (parts, body) = bench.ask("GET", "/v1/pets/1", Some(&bench.key)).await;
        assert_eq!((parts.status.as_u16(), parts.headers["link"].to_str().expect("text")), (410, link));
        assert!(body.contains("\"status\":410") && !parts.headers.contains_key("sunset"), "{body}");
        assert_eq!(bench.ask("GET", "/v1/pets", Some(&bench.key)).await.0.status, 200);
    }

    #[tokio::test]
    async fn a_refused_request_says_when_to_return() {
        let bench = Bench::new(Plan::Custom(Limits { per_minute: 1, per_day: 9 }), &Clock::frozen(615));
        assert_eq!(bench.ask("PUT", "/v1/pets", Some(&bench.key)).await.0.status, 405);
        let (parts, body) = bench.ask("GET", "/v1/pets", Some(&bench.key)).await;
        assert_eq!((parts.status.as_u16(), parts.headers["retry-after"].to_str().expect("text")), (429, "45"));
        assert!(body.contains("\"code\":\"rate_limited\""), "{body}");
    }
}
