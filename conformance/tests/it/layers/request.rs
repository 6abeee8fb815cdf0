//! A request on its way through the layers.

use axum::http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value};

/// A request, below the base path.
#[derive(Clone)]
pub(crate) struct Request {
    /// A number that no other request of this server has.
    pub(crate) number: u64,
    /// The method.
    pub(crate) method: Method,
    /// The path below the base path.
    pub(crate) path: String,
    /// The query as it stands in the URL; empty for none.
    pub(crate) query: String,
    /// The header fields.
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// `GET /pets`
    pub(crate) fn is_list(&self) -> bool {
        self.method == Method::GET && self.path == "/pets"
    }

    /// `POST /pets`
    pub(crate) fn is_create(&self) -> bool {
        self.method == Method::POST && self.path == "/pets"
    }

    /// `GET /pets/{petId}`
    pub(crate) fn is_get(&self) -> bool {
        self.method == Method::GET && self.path.starts_with("/pets/")
    }

    /// `GET /store/orders`
    pub(crate) fn is_orders(&self) -> bool {
        self.method == Method::GET && self.path == "/store/orders"
    }

    /// The identifier in the path, if it is an int64.
    pub(crate) fn id(&self) -> Option<i64> {
        self.path.strip_prefix("/pets/")?.parse().ok()
    }

    /// A query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// A query parameter as a number.
    pub(crate) fn number_of(&self, name: &str) -> Option<i64> {
        self.parameter(name)?.parse().ok()
    }

    /// Sets a query parameter, or takes it away.
    pub(crate) fn set_parameter(&mut self, name: &str, value: Option<&str>) {
        let others = self.query.split('&').filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(name));
        let pairs: Vec<String> =
            others.map(str::to_owned).chain(value.map(|value| format!("{name}={value}"))).collect();
        self.query = pairs.join("&");
    }

    /// The value of `Authorization`; empty for none.
    pub(crate) fn authorization(&self) -> &str {
        self.header("authorization")
    }

    /// The value of a header field; empty for none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The token of the credential, if its scheme is Bearer.
    pub(crate) fn token(&self) -> Option<&str> {
        self.authorization().strip_prefix("Bearer ")
    }

    /// Presents a key as described.
    pub(crate) fn authorize(&mut self, key: &str) {
        let value = HeaderValue::from_str(&format!("Bearer {key}")).expect("a key that a header can carry");
        self.headers.insert("authorization", value);
    }

    /// The body, if it is JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The body, if it is a JSON object.
    pub(crate) fn object(&self) -> Option<Map<String, Value>> {
        match self.json()? {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Sets the body.
    pub(crate) fn set_json(&mut self, value: impl Into<Value>) {
        self.body = value.into().to_string().into_bytes();
        self.headers.insert("content-type", HeaderValue::from_static("application/json"));
    }

    /// Changes the members of the body of a creation, if it is an object.
    pub(crate) fn edit_object(&mut self, edit: impl FnOnce(&mut Map<String, Value>)) {
        if self.is_create()
            && let Some(mut members) = self.object()
        {
            edit(&mut members);
            self.set_json(members);
        }
    }
}
