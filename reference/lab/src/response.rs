//! A response on its way through the layers.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use super::Request;
use animal_store_reference::respond::http_date;

pub(crate) const LIMIT: &str = "x-ratelimit-limit";
pub(crate) const REMAINING: &str = "x-ratelimit-remaining";
pub(crate) const RESET: &str = "x-ratelimit-reset";

/// The way in which a response is sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Delivery {
    /// The response is sent whole, with its length.
    #[default]
    Whole,
    /// The response is sent in chunks, without a length.
    Chunked,
    /// The response breaks off in the middle.
    Cut,
    /// The connection ends before anything of the body is sent.
    Dropped,
    /// The response is never sent, and the connection stays open.
    Never,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// The way in which the response is sent.
    pub delivery: Delivery,
    /// The delay of the response, by the server's clock.
    pub delay: Duration,
}

impl Response {
    /// A response without header fields and body.
    pub fn new(status: u16) -> Response {
        let (headers, body, delivery) = (HeaderMap::new(), Vec::new(), Delivery::Whole);
        Response { status, headers, body, delivery, delay: Duration::ZERO }
    }

    /// An Error with this status.
    pub fn error(status: u16) -> Response {
        let mut response = Response::new(status);
        response.refuse(status);
        response
    }

    /// The body, if it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Sets the body without changing the media type.
    pub fn set_json(&mut self, value: impl Into<Value>) {
        self.body = value.into().to_string().into_bytes();
    }

    /// Sets a header field. A value that no header can carry takes the field away.
    #[expect(clippy::needless_pass_by_value, reason = "callers write numbers and text alike")]
    pub fn set(&mut self, name: &'static str, value: impl ToString) {
        match HeaderValue::from_str(&value.to_string()) {
            Ok(value) => drop(self.headers.insert(HeaderName::from_static(name), value)),
            Err(_) => self.remove(name),
        }
    }

    /// Sets a header field to the HTTP date of a Unix time in seconds.
    pub(crate) fn set_date(&mut self, name: &'static str, time: i64) {
        self.headers.insert(name, http_date(u64::try_from(time).unwrap_or_default()));
    }

    /// Adds a header field beside others of this name. A value that no header can carry is left out.
    #[expect(clippy::needless_pass_by_value, reason = "callers write numbers and text alike")]
    pub fn add(&mut self, name: &'static str, value: impl ToString) {
        if let Ok(value) = HeaderValue::from_str(&value.to_string()) {
            self.headers.append(HeaderName::from_static(name), value);
        }
    }

    /// Sets the media type and the body.
    pub fn set_body(&mut self, media_type: &str, body: impl Into<Vec<u8>>) {
        self.set("content-type", media_type);
        self.body = body.into();
    }

    /// Makes the body a page in HTML.
    pub(crate) fn set_page(&mut self, title: &str) {
        self.set_body("text/html", format!("<h1>{title}</h1>"));
    }

    /// The value of a header field; empty for none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The value of a header field as a number.
    pub fn number_of(&self, name: &str) -> i64 {
        self.header(name).parse().unwrap_or_default()
    }

    /// Sets the rate-limit header fields.
    pub(crate) fn set_limits(&mut self, limit: impl ToString, remaining: impl ToString, reset: impl ToString) {
        self.set(LIMIT, limit);
        self.set(REMAINING, remaining);
        self.set(RESET, reset);
    }

    /// Removes the rate-limit header fields.
    pub(crate) fn remove_limits(&mut self) {
        [LIMIT, REMAINING, RESET].iter().for_each(|name| self.remove(name));
    }

    /// Removes a header field.
    pub fn remove(&mut self, name: &str) {
        self.headers.remove(name);
    }

    /// Turns the response into the plainest Error with this status; the header fields stay.
    pub fn refuse(&mut self, status: u16) {
        let code = format!("error_{status}");
        self.become_json(status, json!({"code": code, "message": "it was refused", "status": status}));
    }

    /// Turns the response into a 429 that asks for a wait of this many seconds; the header fields stay.
    pub(crate) fn refuse_for(&mut self, seconds: i64) {
        self.refuse(429);
        self.set("retry-after", seconds);
    }

    /// Turns the response into a 204.
    pub(crate) fn empty(&mut self) {
        self.status = 204;
        self.clear_body();
    }

    /// Removes the body and its media type.
    pub(crate) fn clear_body(&mut self) {
        self.body.clear();
        self.remove("content-type");
    }

    /// Sets the status and a JSON body; the header fields stay.
    pub(crate) fn become_json(&mut self, status: u16, value: impl Into<Value>) {
        self.status = status;
        self.set_body("application/json", value.into().to_string());
    }

    /// Changes every animal that a successful response shows.
    pub fn edit_pets(&mut self, mut edit: impl FnMut(&mut Map<String, Value>)) {
        if !matches!(self.status, 200 | 201) {
            return;
        }
        match self.json() {
            Some(Value::Array(mut pets)) => {
                pets.iter_mut().filter_map(Value::as_object_mut).for_each(edit);
                self.set_json(pets);
            }
            Some(Value::Object(mut pet)) if pet.contains_key("id") => {
                edit(&mut pet);
                self.set_json(pet);
            }
            _ => {}
        }
    }

    /// Changes the array of a successful list.
    pub fn edit_list(&mut self, request: &Request, edit: impl FnOnce(&mut Vec<Value>)) {
        if request.is_list()
            && self.status == 200
            && let Some(Value::Array(mut pets)) = self.json()
        {
            edit(&mut pets);
            self.set_json(pets);
        }
    }

    /// Changes the members of an Error.
    pub(crate) fn edit_error(&mut self, edit: impl FnOnce(&mut Map<String, Value>)) {
        if self.status >= 400
            && let Some(Value::Object(mut error)) = self.json()
        {
            edit(&mut error);
            self.set_json(error);
        }
    }

    pub(super) fn into_response(self) -> http::Response<Body> {
        let chunk = |bytes: &[u8]| Ok::<_, std::io::Error>(Bytes::copy_from_slice(bytes));
        let broken = || Err(std::io::Error::other("this server breaks off"));
        let body = match self.delivery {
            Delivery::Whole | Delivery::Never => Body::from(self.body.clone()),
            Delivery::Chunked => Body::from_stream(stream::iter(self.body.chunks(7).map(chunk).collect::<Vec<_>>())),
            // The written bytes are sent before the connection ends.
            Delivery::Cut => Body::from_stream(stream::iter([chunk(&self.body[..self.body.len() / 2])]).chain(
                stream::once(async move {
                    tokio::task::yield_now().await;
                    broken()
                }),
            )),
            Delivery::Dropped => Body::from_stream(stream::iter([broken()])),
        };
        let mut message = http::Response::new(body);
        *message.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *message.headers_mut() = self.headers;
        message.headers_mut().remove("content-length");
        if matches!(self.delivery, Delivery::Cut | Delivery::Dropped) {
            message.headers_mut().insert("content-length", self.body.len().into());
        }
        message
    }
}
