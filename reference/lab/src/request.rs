//! A request on its way through the layers.

use std::fmt::Display;

use animal_store_rules::trace::exchange::Request as Observed;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value};

use crate::members::is_status;

/// The number of the connection that a request came on, in the order in which they were accepted.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct ConnectionNumber(pub u64);

/// A request, below the base path.
#[derive(Clone, Debug)]
pub struct Request {
    /// A number that no other request of this server has.
    pub number: u64,
    /// The connection that the request came on.
    pub connection: ConnectionNumber,
    /// The method.
    pub method: Method,
    /// The path below the base path.
    pub path: String,
    /// The query as it stands in the URL; empty for none.
    pub query: String,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// The end of each received part of the body: of a chunk, or of one read from the connection.
    pub chunk_ends: Vec<usize>,
}

/// Header fields as text.
pub(crate) fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// A request as the judge's crates know it, without the bytes of its body.
pub(crate) fn observed(method: &Method, path: &str, query: Option<&str>, headers: &HeaderMap) -> Observed {
    let mut observed = Observed::new(method.as_str(), path);
    observed.query = query.map(str::to_owned);
    for (name, value) in fields(headers) {
        match &*name {
            "authorization" if observed.authorization.is_none() => observed.authorization = Some(value),
            "content-type" if observed.body.is_none() => observed = observed.body(&value, ""),
            "content-type" => {}
            _ => observed.headers.push((name, value)),
        }
    }
    observed
}

/// The number of decimal digits that any double holds.
const DIGITS_OF_A_DOUBLE: usize = 15;

impl Request {
    /// Returns true for `GET /pets`.
    pub(crate) fn is_list(&self) -> bool {
        self.method == Method::GET && self.path == "/pets"
    }

    /// Returns true for `POST /pets`.
    pub fn is_create(&self) -> bool {
        self.method == Method::POST && self.path == "/pets"
    }

    /// Returns true for `GET /pets/{petId}`.
    pub(crate) fn is_get(&self) -> bool {
        self.method == Method::GET && self.path.starts_with("/pets/")
    }

    /// Returns true for a list with this value of a parameter.
    pub(crate) fn lists_with(&self, name: &str, value: &str) -> bool {
        self.is_list() && self.parameter(name) == Some(value)
    }

    /// Returns true for a list that lacks a parameter.
    pub(crate) fn lists_without(&self, name: &str) -> bool {
        self.is_list() && self.parameter(name).is_none()
    }

    /// Returns true for a list with this parameter.
    pub(crate) fn lists_by(&self, name: &str) -> bool {
        self.is_list() && self.parameter(name).is_some()
    }

    /// Returns true for a list with a filter for a status that no animal can have.
    pub(crate) fn lists_by_unknown_status(&self) -> bool {
        self.is_list() && self.parameter("status").is_some_and(|status| !is_status(status))
    }

    /// Returns true for `GET /pets/{petId}` with an identifier that no animal can have.
    pub(crate) fn gets_malformed(&self) -> bool {
        self.is_get() && self.id().is_none()
    }

    /// Returns true for `GET /store/orders`.
    pub fn is_orders(&self) -> bool {
        self.method == Method::GET && self.path == "/store/orders"
    }

    /// Returns true for a request that the specification describes.
    pub(crate) fn is_operation(&self) -> bool {
        self.is_list() || self.is_create() || self.is_get() || self.is_orders()
    }

    /// The text of the identifier of `GET /pets/{petId}`.
    fn id_text(&self) -> Option<&str> {
        self.path.strip_prefix("/pets/").filter(|_| self.is_get())
    }

    /// The identifier of `GET /pets/{petId}`, if it is an int64.
    pub(crate) fn id(&self) -> Option<i64> {
        self.id_text()?.parse().ok()
    }

    /// Gives `GET /pets/{petId}` another identifier, if the function returns one.
    pub(crate) fn look_up<T: Display>(&mut self, other: impl FnOnce(&str) -> Option<T>) {
        if let Some(id) = self.id_text().and_then(other) {
            self.path = format!("/pets/{id}");
        }
    }

    /// Turns `/pets/` into `/pets`. Returns true if the path was that.
    pub(crate) fn leave_out_slash(&mut self) -> bool {
        let is_with_slash = self.path == "/pets/";
        if is_with_slash {
            self.path.pop();
        }
        is_with_slash
    }

    /// The number of animals that a list is asked for, if it is a number.
    pub(crate) fn limit(&self) -> Option<usize> {
        usize::try_from(self.number_of("limit")?).ok()
    }

    /// The largest number of animals that a list may have.
    pub(crate) fn page_size(&self) -> usize {
        self.limit().unwrap_or(20)
    }

    /// Returns true for the animals that the filter of a list selects.
    pub(crate) fn selects(&self, pet: &Value) -> bool {
        self.parameter("status").is_none_or(|status| pet["status"] == status)
    }

    /// The value of a query parameter, as it stands in the URL.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// The value of a query parameter, if it is an int64.
    pub(crate) fn number_of(&self, name: &str) -> Option<i64> {
        self.parameter(name)?.parse().ok()
    }

    /// Sets a query parameter, or removes it.
    pub(crate) fn set_parameter(&mut self, name: &str, value: Option<&str>) {
        let others = self.query.split('&').filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(name));
        let pairs: Vec<String> =
            others.map(str::to_owned).chain(value.map(|value| format!("{name}={value}"))).collect();
        self.query = pairs.join("&");
    }

    /// The value of `Authorization`; empty for none.
    pub fn authorization(&self) -> &str {
        self.header("authorization")
    }

    /// The value of a header field; empty for none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The values of a header field.
    pub(crate) fn fields(&self, name: &str) -> impl ExactSizeIterator<Item = &HeaderValue> {
        self.headers.get_all(name).iter().collect::<Vec<_>>().into_iter()
    }

    /// The token of the credential, if its scheme is Bearer.
    pub(crate) fn token(&self) -> Option<&str> {
        self.authorization().strip_prefix("Bearer ")
    }

    /// Sets `Authorization` to this key with the scheme `Bearer`.
    pub fn authorize(&mut self, key: &str) {
        // A key that no header can carry was never presented in one.
        if let Ok(value) = HeaderValue::from_str(&format!("Bearer {key}")) {
            self.headers.insert("authorization", value);
        }
    }

    /// The body, if it is JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns true if the body contains a text.
    pub(crate) fn holds(&self, text: &str) -> bool {
        self.body.windows(text.len()).any(|part| part == text.as_bytes())
    }

    /// Returns true if the body is JSON, even if a number in it fits no type.
    pub(crate) fn is_json(&self) -> bool {
        serde_json::from_slice::<serde::de::IgnoredAny>(&self.body).is_ok()
    }

    /// The body, if it is a JSON object.
    pub fn object(&self) -> Option<Map<String, Value>> {
        match self.json()? {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The members of the animal that the request creates.
    pub(crate) fn pet(&self) -> Option<Map<String, Value>> {
        self.object().filter(|_| self.is_create())
    }

    /// A member of the animal that the request creates.
    pub(crate) fn member(&self, name: &str) -> Option<Value> {
        self.pet()?.remove(name)
    }

    /// Returns true if the request creates an animal with a status that no animal can have.
    pub(crate) fn has_unknown_status(&self) -> bool {
        self.member("status").is_some_and(|status| !status.as_str().is_some_and(is_status))
    }

    /// The method and the target, by which responses are kept.
    pub(crate) fn target(&self) -> String {
        format!("{} {}?{}", self.method, self.path, self.query)
    }

    /// The name of the animal that the request creates.
    pub(crate) fn name(&self) -> Option<String> {
        self.member("name")?.as_str().map(str::to_owned)
    }

    /// Returns true if the request creates an animal without this member.
    pub(crate) fn lacks(&self, member: &str) -> bool {
        self.pet().is_some_and(|pet| !pet.contains_key(member))
    }

    /// Sets a JSON body and its media type.
    pub(crate) fn set_json(&mut self, value: impl Into<Value>) {
        self.body = value.into().to_string().into_bytes();
        self.headers.insert("content-type", HeaderValue::from_static("application/json"));
    }

    /// Returns true if the body has a number with a point or an exponent that is longer than a double can tell apart.
    fn has_long_fraction(&self) -> bool {
        let is_of_number = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
        self.body.split(|byte| !is_of_number(byte)).any(|number| {
            let digits = |text: &[u8]| text.iter().filter(|byte| byte.is_ascii_digit()).count();
            let exponent = number.split(|byte| b"eE".contains(byte)).nth(1).unwrap_or_default();
            let has_point = number.contains(&b'.') || !exponent.is_empty();
            has_point && digits(number) > DIGITS_OF_A_DOUBLE || digits(exponent) > 2
        })
    }

    /// Changes the members of the body of a creation, if it is an object whose numbers a double can hold.
    pub fn edit_object(&mut self, edit: impl FnOnce(&mut Map<String, Value>)) {
        if self.is_create()
            && !self.has_long_fraction()
            && let Some(mut members) = self.object()
        {
            edit(&mut members);
            self.set_json(members);
        }
    }
}
