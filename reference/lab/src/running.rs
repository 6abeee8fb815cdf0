//! A variation at work: requests pass its layers, the reference, and the layers again.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::Request as HttpRequest;
use axum::response::Response as HttpResponse;
use axum::{Router, body::Body};
use bytes::Bytes;

use http::{HeaderValue, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::ServiceExt;

use super::limiter::{Policy, limiter};
use super::{Delivery, Request, Response, ServerState, Variation};
use animal_store_reference::app::{App, below};
use animal_store_reference::keys::{self, ApiKey};
use animal_store_reference::wire::{NewPet, PetStatus};
use animal_store_reference::{Limits, Plan};
use animal_store_reference::{extension::ExtensionError, respond::ApiError};

/// The longest body that layers see. The reference refuses bodies over its own bound, which is usually far below.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// A variation at work, which can begin anew while it is served.
pub(crate) struct Lab {
    app: Arc<App>,
    running: RwLock<Arc<Running>>,
}

impl Lab {
    /// Prepares a variation of the server of `app`: its stock is created, unless there are as many animals already.
    ///
    /// # Errors
    ///
    /// [`ExtensionError`] when the animals cannot be read or created, or a key cannot be issued.
    pub(crate) async fn start(app: Arc<App>, variation: Variation) -> Result<Lab, ExtensionError> {
        let running = Running::start(Arc::clone(&app), variation, None).await?;
        Ok(Lab { app, running: RwLock::new(Arc::new(running)) })
    }

    /// Replaces the variation; the server begins anew. The settings with which the reference was started stay.
    ///
    /// # Errors
    ///
    /// [`ExtensionError`] as from [`Lab::start`]; the server then goes on as before.
    pub(crate) async fn change(&self, variation: Variation) -> Result<(), ExtensionError> {
        let last = self.running();
        let next = Running::start(Arc::clone(&self.app), variation, last.pass.clone()).await?;
        last.state().keys().iter().for_each(|key| next.state().learn(key));
        *self.running.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        Ok(())
    }

    /// Returns true if no layer stands around the reference.
    pub(crate) fn is_plain(&self) -> bool {
        self.running().variation.layers.is_empty()
    }

    /// Begins anew with the animals that are stored now. The layers forget everything except the known keys.
    ///
    /// # Errors
    ///
    /// [`ExtensionError`] as from [`Lab::start`]; the server then goes on as before.
    pub(crate) async fn restart(&self) -> Result<(), ExtensionError> {
        self.change(self.running().variation.clone()).await
    }

    /// Makes keys known before they are used: some faults take something else for a key.
    pub(crate) fn introduce<'a>(&self, keys: impl IntoIterator<Item = &'a ApiKey>) {
        keys.into_iter().for_each(|key| self.running().state().learn(key.reveal()));
    }

    /// Answers a request with the help of the reference. Requests outside the API go to the reference alone.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the body did not arrive.
    pub(crate) async fn answer(&self, entrance: Router, request: HttpRequest) -> Result<HttpResponse, ApiError> {
        self.running().answer(entrance, request).await
    }

    pub(crate) fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A variation between two beginnings.
pub(super) struct Running {
    app: Arc<App>,
    pub(super) variation: Variation,
    /// The key with which requests reach the reference where a layer counts them.
    pub(super) pass: Option<Arc<Pass>>,
    /// The states for the parts of the server, by the numbers of the parts. The first one is there always.
    states: Vec<ServerState>,
    requests: AtomicU64,
}

impl Running {
    /// Prepares a variation, which takes over the pass of the one before, if there is one.
    async fn start(
        app: Arc<App>,
        mut variation: Variation,
        pass: Option<Arc<Pass>>,
    ) -> Result<Running, ExtensionError> {
        if variation.setting.window.is_some() && !variation.setting.counts_in_layer {
            // The reference's own windows are minutes.
            variation.setting.counts_in_layer = true;
            variation.layers.push(limiter(Policy::default()));
        }
        let pass = match pass {
            _ if !variation.setting.counts_in_layer => None,
            Some(pass) => Some(pass),
            None => Some(Arc::new(Pass::issue(&app)?)),
        };
        let stock = variation.setting.stock;
        let mut animals = 0;
        app.store.newest(None, u32::try_from(stock).unwrap_or(u32::MAX), |_| animals += 1)?;
        for number in animals + 1..=stock {
            let name = format!("Stock {number}");
            app.store.create(NewPet { name, category_id: 1, status: Some(PetStatus::Available) }).await?;
        }
        let mut states = vec![ServerState::new(Arc::clone(&app), &variation.setting)?];
        for _ in 0..variation.layers.iter().map(|layer| layer.owner).max().unwrap_or(0) {
            states.push(states[0].for_another_part());
        }
        Ok(Running { app, variation, pass, states, requests: AtomicU64::new(0) })
    }

    /// The state that all parts of the server see.
    fn state(&self) -> &ServerState {
        &self.states[0]
    }

    /// Answers a request with the help of the reference. Requests outside the API go to the reference alone.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the body did not arrive.
    pub(super) async fn answer(&self, entrance: Router, request: HttpRequest) -> Result<HttpResponse, ApiError> {
        if !self.app.serves(request.uri().path()) {
            return Ok(passed_on(entrance, request).await);
        }
        let mut request = self.receive(request).await?;
        self.state().learn_key(&request);
        let (mut passed, mut early) = (Vec::new(), None);
        for layer in &self.variation.layers {
            if layer.draw.as_ref().is_some_and(|draw| !draw.has(request.number)) {
                continue;
            }
            passed.push((layer, request.clone()));
            early = layer.before.as_ref().and_then(|before| before(&mut request, &self.states[layer.owner]));
            if early.is_some() {
                break;
            }
        }
        let mut response = match early {
            Some(response) => response,
            None => self.of_reference(entrance, &request).await,
        };
        for (layer, request) in passed.into_iter().rev() {
            if !layer.takes.is_zero() {
                tokio::time::sleep(layer.takes).await;
            }
            if let Some(after) = &layer.after {
                after(&request, &mut response, &self.states[layer.owner]);
            }
        }
        if response.delivery == Delivery::Never {
            std::future::pending::<()>().await;
        }
        if !response.delay.is_zero() {
            self.state().clock().sleep(response.delay).await;
        }
        Ok(response.into_response())
    }

    /// Reads a request. A body that is longer than [`MAX_BODY`] and the bound of the reference is refused.
    async fn receive(&self, request: HttpRequest) -> Result<Request, ApiError> {
        let (parts, body) = request.into_parts();
        let mut chunk_ends = Vec::new();
        let mut read = 0;
        let noted = body.map_frame(|frame| {
            read += frame.data_ref().map_or(0, Bytes::len);
            chunk_ends.push(read);
            frame
        });
        let read = Limited::new(noted, MAX_BODY.max(animal_store_reference::MAX_BODY + 1)).collect();
        let read = tokio::time::timeout(self.app.options.request_timeout, read).await;
        let body = read.map_err(|_elapsed| ApiError::request_timeout())?.map_err(|error| {
            let ended_early = "the body ended early or is not framed as HTTP asks";
            let is_too_long = error.is::<LengthLimitError>();
            if is_too_long { ApiError::payload_too_large() } else { ApiError::bad_request("invalid_body", ended_early) }
        })?;
        Ok(Request {
            number: self.requests.fetch_add(1, Ordering::Relaxed) + 1,
            connection: parts.extensions.get().copied().unwrap_or_default(),
            method: parts.method,
            path: below(&self.app.options.base_path, parts.uri.path()).unwrap_or_default().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            body: body.to_bytes().to_vec(),
            chunk_ends,
        })
    }

    /// Returns the response of the reference.
    async fn of_reference(&self, entrance: Router, request: &Request) -> Response {
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        let uri = format!("{}{}{query}", self.app.options.base_path, request.path);
        let inner = HttpRequest::builder().method(request.method.clone()).uri(uri);
        // An impossible target, which layers may have made, is not found.
        let Ok(mut inner) = inner.body(Body::from(request.body.clone())) else { return Response::error(404) };
        *inner.headers_mut() = request.headers.clone();
        if let Some(pass) = &self.pass
            && self.state().key_of(request).is_some()
            && let Ok(credential) = HeaderValue::from_str(&format!("Bearer {}", pass.key.reveal()))
        {
            inner.headers_mut().insert(header::AUTHORIZATION, credential);
        }
        let (mut parts, body) = passed_on(entrance, inner).await.into_parts();
        // The whole body has arrived here, so the connection can go on even if the reference left a part unread.
        parts.headers.remove(header::CONNECTION);
        let mut response = Response::new(parts.status.as_u16());
        response.headers = parts.headers;
        match body.collect().await {
            Ok(body) => response.body = body.to_bytes().to_vec(),
            Err(_broken) => response.delivery = Delivery::Dropped,
        }
        if request.is_create()
            && response.status == 201
            && let Some(id) = response.json().and_then(|pet| pet["id"].as_i64())
        {
            self.state().note_created(id);
        }
        response
    }
}

/// A key of the laboratory that meets no limit. If a layer counts requests, they reach the reference with this key, as they would
/// behind a gateway that counts. Dropping the pass revokes the key.
pub(super) struct Pass {
    app: Arc<App>,
    number: i64,
    key: ApiKey,
}

impl Pass {
    /// Issues the key.
    fn issue(app: &Arc<App>) -> Result<Pass, ExtensionError> {
        let limit = i64::MAX.unsigned_abs();
        let plan = Plan::Custom(Limits { per_minute: limit, per_day: limit });
        let (number, key) = keys::issue(&app.store.keys, "laboratory", plan, app.options.clock.now())?;
        Ok(Pass { app: Arc::clone(app), number, key })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.app.store.keys.revoke(self.number, self.app.options.clock.now()).is_err() {
            tracing::warn!(key = self.number, "the laboratory's own key could not be revoked");
        }
    }
}

/// Returns the response of the reference to an unchanged request.
pub(super) async fn passed_on(entrance: Router, request: HttpRequest) -> HttpResponse {
    let answered: Result<HttpResponse, Infallible> = entrance.oneshot(request).await;
    let Ok(response) = answered;
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use tokio::task::JoinSet;

    use super::*;
    use crate::choices::{about_anonymous, about_limits, variation};
    use crate::mock::clock::TestClock;
    use crate::{ConnectionNumber, Lab, Layer};
    use animal_store_reference::app::AppOptions;
    use animal_store_reference::clock::Clock;
    use animal_store_reference::routes::router;
    use animal_store_reference::store::Store;

    const NOON: u64 = 20_000 * 86_400 + 43_200;

    fn frozen_at_noon() -> Clock {
        let clock = TestClock::starting_at(Timestamp::from_second(NOON.cast_signed()).expect("a time"));
        clock.freeze();
        clock.set(Timestamp::from_second(NOON.cast_signed()).expect("a time"));
        Clock::controlled(clock)
    }

    /// A laboratory on a clock that stands still, and its key.
    async fn lab(variation: Variation) -> (Arc<App>, Lab, ApiKey) {
        let store = Store::temporary().expect("a store");
        let (_, key) = keys::issue(&store.keys, "test", Plan::Free, NOON).expect("a key");
        let app = Arc::new(App::new(store, AppOptions::new(frozen_at_noon())));
        let lab = Lab::start(Arc::clone(&app), variation).await.expect("a laboratory");
        (app, lab, key)
    }

    fn request(method: &str, target: &str, key: &str, body: &str) -> HttpRequest {
        let request = HttpRequest::builder()
            .method(method)
            .uri(target)
            .header("host", "test")
            .header("authorization", format!("Bearer {key}"));
        let request = request.header("content-type", "application/json");
        request.body(Body::from(body.to_owned())).expect("a request")
    }

    fn breaking(response: &mut Response) {
        response.refuse(500);
    }

    /// The statuses of a server of this variation: enough for a limiter that counts the requests of two such servers.
    async fn statuses(variation: Variation) -> Vec<Option<u16>> {
        let (app, lab, key) = lab(variation).await;
        let mut statuses = Vec::new();
        for number in 0..64 {
            let (method, body) = match number % 7 {
                0 => ("POST", r#"{"name":"Rex","categoryId":1,"status":"lost"}"#),
                1 => ("POST", r#"{"name":"Rex","categoryId":1}"#),
                _ => ("GET", ""),
            };
            let key = if number % 2 == 0 { "ask_1_wrong" } else { key.reveal() };
            let mut request = request(method, "/v1/pets", key, body);
            request.extensions_mut().insert(ConnectionNumber(number));
            let answer = tokio::time::timeout(Duration::from_mins(5), lab.answer(router(&app), request)).await;
            statuses.push(answer.ok().map(|response| response.expect("a response").status().as_u16()));
        }
        statuses
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn servers_of_one_variation_share_nothing_that_is_remembered() {
        /// So many variations are asked at a time: each server holds files open.
        const AT_ONCE: usize = 8;

        let faults = crate::faults::faults().into_iter().map(|fault| (fault.name.clone(), fault.variation()));
        // Only choices that count something.
        let choices =
            about_limits().into_iter().chain(about_anonymous()).map(|choice| (choice.name(), variation(&[choice])));
        let mut variations = faults.chain(choices).peekable();
        while variations.peek().is_some() {
            let mut asked = JoinSet::new();
            for (name, variation) in variations.by_ref().take(AT_ONCE) {
                asked.spawn(async move { (name, statuses(variation.clone()).await, statuses(variation).await) });
            }
            for (name, first, second) in asked.join_all().await {
                assert_eq!(first, second, "{name}");
            }
        }
    }

    #[tokio::test]
    async fn faults_of_one_server_count_apart_and_the_layers_of_a_fault_together() {
        let count =
            |owner| Layer { owner, ..Layer::default().after(|_, response, server| response.add("x", server.count())) };
        let (app, lab, key) =
            lab(Variation { layers: vec![count(1), count(2), count(1)], ..Variation::default() }).await;
        let response =
            lab.answer(router(&app), request("GET", "/v1/pets", key.reveal(), "")).await.expect("a response");
        let counts: Vec<_> = response.headers().get_all("x").iter().collect();
        assert_eq!(counts, ["1", "1", "2"]);
    }

    #[tokio::test]
    async fn what_lies_outside_the_api_passes_no_layer() {
        let layers = vec![Layer::default().after(|_, response, _| breaking(response))];
        let (app, lab, key) = lab(Variation { layers, ..Variation::default() }).await;
        let status = async |target: &str| {
            let response = lab.answer(router(&app), request("GET", target, key.reveal(), "")).await;
            response.expect("a response").status().as_u16()
        };
        assert_eq!((status("/healthz").await, status("/v1/pets").await, status("/v1").await), (200, 500, 500));
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_for_the_layers_is_refused_as_the_reference_would() {
        let (app, lab, key) = lab(Variation::default()).await;
        let body = "x".repeat(MAX_BODY + 1);
        let answered = lab.answer(router(&app), request("POST", "/v1/pets", key.reveal(), &body)).await;
        assert_eq!(answered.map(|_| ()).map_err(|error| error.status.as_u16()), Err(413));
    }

    #[tokio::test]
    async fn a_stock_is_filled_up_and_not_doubled() {
        let mut variation = Variation::default();
        variation.setting.stock = 3;
        let animals = |lab: &Lab| lab.running().state().newest().len();
        let (app, first, _) = lab(variation.clone()).await;
        assert_eq!(animals(&first), 3);
        variation.setting.stock = 5;
        let second = Lab::start(app, variation).await.expect("a laboratory");
        assert_eq!(animals(&second), 5);
    }
}
