//! Sends vectors to a server and says which of them it fails, by nothing but what their files and `conformance/docs/vectors.md` say.

use std::collections::BTreeSet;
use std::io::Read;
use std::time::Duration;

use animal_store_conformance::http::Clock;
use animal_store_lab::Variation;
use animal_store_reference::Address;
use animal_store_reference::app::AppOptions;
use animal_store_reference::extension::{Extended, Extension, ExtensionError, Started};
use animal_store_reference::keys::{StartKey, parse_given};
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use animal_store_rules::request::STATUSES;
use animal_store_rules::trace::exchange::Response;
use animal_store_rules::trace::json::Json;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;

use super::{KEY, Kind, Lawful, Sent, Step, Vector};
use crate::host::START_AT;
use crate::laboratory::beside;
use crate::sockets::Socket;

/// Reads may lag a write for so long.
const LAG: Duration = Duration::from_secs(6);

/// Only a server that never answers is waited for, in real time.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The first vector that a server fails, and why. It is started anew for each file.
pub(super) async fn failure(files: &[Vec<Vector>], variation: Variation) -> Option<String> {
    for vectors in files {
        let clock = Clock::stepping();
        let socket = Socket::new();
        let start_at = variation.setting.start_at.unwrap_or(START_AT);
        let options = EmbeddedOptions {
            listen: Address::Unix(socket.path()),
            ..EmbeddedOptions::new(Plan::Enterprise, beside(&clock, start_at))
        };
        let server = Embedded::start_with(options, WithKey(variation.clone())).await.expect("a server");
        let mut reader =
            Reader { http: client(&socket), base_url: server.base_url().to_owned(), clock, ids: BTreeSet::new() };
        for vector in vectors {
            if let Err(problem) = reader.try_vector(vector).await {
                return Some(format!("{}: {problem}", vector.about));
            }
        }
    }
    None
}

fn client(socket: &Socket) -> reqwest::Client {
    // Tests of one program share the provider: whichever is first installs it.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).redirect(reqwest::redirect::Policy::none());
    http.unix_socket(socket.path()).timeout(TIMEOUT).pool_max_idle_per_host(0).build().expect("a client")
}

/// A variation whose server knows the key of the vectors.
struct WithKey(Variation);

impl Extension for WithKey {
    fn set_up(&mut self, options: &mut AppOptions) {
        self.0.set_up(options);
    }

    async fn start(self, mut server: Started) -> Result<Extended, ExtensionError> {
        let keys = parse_given(&[format!("enterprise={KEY}")])?;
        server.keys = StartKey::put_in_force(&keys, &server.app.store.keys, server.app.options.clock.now())?;
        self.0.start(server).await
    }
}

struct Reader {
    http: reqwest::Client,
    base_url: String,
    clock: Clock,
    /// The ids of all animals that were created.
    ids: BTreeSet<i64>,
}

impl Reader {
    async fn try_vector(&mut self, vector: &Vector) -> Result<(), String> {
        let mut responses: Vec<Response> = Vec::new();
        for step @ Step { request, lawful } in &vector.exchanges {
            let id = responses.first().and_then(|first| Json::parse(&first.body).ok()?.get("id")?.as_int64());
            let Some(target) = target_of(request, id) else { return Ok(()) };
            let mut response = self.send(request, &target).await?;
            for _ in 0..LAG.as_secs() {
                let may_lag = reads_animals(step) && matches!(response.status, 200 | 404);
                if !may_lag || judge(&response, lawful, &responses).is_ok() {
                    break;
                }
                self.clock.sleep(Duration::from_secs(1)).await;
                response = self.send(request, &target).await?;
            }
            if response.status == 429 {
                // What follows is for another time.
                return Ok(());
            }
            judge(&response, lawful, &responses)
                .map_err(|problem| format!("{} {target}: {problem}", request.method))?;
            if response.status == 201
                && let Some(pet) = Json::parse(&response.body).ok().and_then(|json| pet(&json).ok())
                && !self.ids.insert(pet.id)
            {
                return Err(format!("{} {target}: the id {} is not new", request.method, pet.id));
            }
            responses.push(response);
        }
        Ok(())
    }

    async fn send(&self, request: &Sent, target: &str) -> Result<Response, String> {
        let method = request.method.parse().expect("a method");
        let mut builder = self.http.request(method, format!("{}{target}", self.base_url));
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if request.body.as_deref() == Some("") {
            builder = builder.header("content-length", "0");
        } else if let Some(text) = &request.body {
            builder = builder.body(text.clone());
        } else if let Some(text) = &request.body_base64 {
            builder = builder.body(BASE64_STANDARD.decode(text).expect("base64"));
        }
        let response = builder.send().await.map_err(|error| format!("no response: {error}"))?;
        let status = response.status().as_u16();
        let field = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let headers = response.headers().iter().map(field).collect();
        let body = response.bytes().await.map_err(|error| format!("no whole body: {error:?}"))?.to_vec();
        let mut response = Response { status, headers, body, cut: false };
        if response.content_coding() == Some("gzip") {
            let mut text = Vec::new();
            GzDecoder::new(&response.body[..]).read_to_end(&mut text).map_err(|error| format!("no gzip: {error}"))?;
            response.body = text;
        }
        Ok(response)
    }
}

/// The target of a request; none if it asks for an animal that was lawfully not created.
fn target_of(request: &Sent, id: Option<i64>) -> Option<String> {
    if request.target.contains("{1}") {
        return id.map(|id| request.target.replace("{1}", &id.to_string()));
    }
    Some(request.target.clone())
}

/// The members of an animal.
#[derive(Clone, Debug, PartialEq)]
struct Pet {
    id: i64,
    name: String,
    category_id: i64,
    status: Option<String>,
}

fn pet(json: &Json) -> Result<Pet, String> {
    let status = match json.get("status") {
        None => None,
        Some(Json::String(status)) if STATUSES.contains(&status.as_str()) => Some(status.clone()),
        Some(status) => return Err(format!("the status {status}")),
    };
    let int64 = |name: &str| json.get(name).and_then(Json::as_int64).ok_or_else(|| format!("no int64 {name}"));
    let name = json.get("name").and_then(Json::as_str).ok_or("no string name")?;
    Ok(Pet { id: int64("id")?, name: name.to_owned(), category_id: int64("categoryId")?, status })
}

/// Whether a request asks for animals, which may be shown late.
fn reads_animals(step: &Step) -> bool {
    let is_success = |lawful: &Lawful| matches!(lawful.body, Kind::Pet | Kind::Pets);
    step.request.method == "GET" && step.lawful.iter().any(is_success)
}

/// Judges a response; `earlier` are the responses to the exchanges before.
fn judge(response: &Response, lawful: &[Lawful], earlier: &[Response]) -> Result<(), String> {
    let problems: Vec<String> = lawful.iter().filter_map(|lawful| unlike(response, lawful, earlier).err()).collect();
    if problems.len() < lawful.len() { Ok(()) } else { Err(problems.join(", or ")) }
}

/// Says how a response differs from these.
fn unlike(response: &Response, lawful: &Lawful, earlier: &[Response]) -> Result<(), String> {
    let is_in = |range: &String| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (first.parse().expect("a status")..=last.parse().expect("a status")).contains(&response.status)
    };
    if !lawful.status.iter().any(is_in) {
        return Err(format!("status {}", response.status));
    }
    if lawful.body == Kind::Any {
        return Ok(());
    }
    if response.media_type().as_deref() != Some("application/json") {
        return Err(format!("{} labelled {:?}", response.status, response.media_type()));
    }
    let json = Json::parse(&response.body).map_err(|error| error.to_string())?;
    match lawful.body {
        Kind::Any => Ok(()),
        Kind::Error => {
            let is_text = |name: &str| json.get(name).is_some_and(|value| value.as_str().is_some());
            let status = json.get("status").and_then(Json::as_int64);
            let is_error = is_text("code") && is_text("message") && status == Some(i64::from(response.status));
            if is_error { Ok(()) } else { Err(format!("{} with no Error of this status", response.status)) }
        }
        Kind::Pet => {
            let found = pet(&json)?;
            for (name, value) in &lawful.equal {
                let value = Json::parse(value.to_string().as_bytes()).expect("JSON");
                let is_equal = match (json.get(name), &value) {
                    (Some(Json::Number(found)), Json::Number(value)) => found.whole == value.whole,
                    (found, value) => found == Some(value),
                };
                if !is_equal {
                    return Err(format!("{name} is not {value}"));
                }
            }
            match lawful.same_as.and_then(|number| earlier.get(number - 1)).and_then(Shown::of) {
                Some(shown) if !shown.agrees_with(&found) => Err(format!("{found:?} after {shown:?}")),
                _ => Ok(()),
            }
        }
        Kind::Pets => {
            let Json::Array(entries) = &json else { return Err(format!("{} instead of an array", json.kind())) };
            let pets = entries.iter().map(pet).collect::<Result<Vec<Pet>, String>>()?;
            agree(&pets, lawful, earlier)
        }
    }
}

/// An animal in an earlier response.
#[derive(Debug)]
struct Shown {
    pet: Pet,
    /// Whether by a creation: a status that it lacks may be filled in after that.
    is_creation: bool,
}

impl Shown {
    fn of(response: &Response) -> Option<Shown> {
        let pet = pet(&Json::parse(&response.body).ok()?).ok()?;
        matches!(response.status, 200 | 201).then_some(Shown { pet, is_creation: response.status == 201 })
    }

    fn agrees_with(&self, pet: &Pet) -> bool {
        let is_filled_in = self.is_creation && self.pet.status.is_none();
        let status = if is_filled_in { None } else { pet.status.clone() };
        self.pet == Pet { status, ..pet.clone() }
    }
}

fn agree(pets: &[Pet], lawful: &Lawful, earlier: &[Response]) -> Result<(), String> {
    let count = pets.len();
    if lawful.at_least.is_some_and(|least| count < least) || lawful.at_most.is_some_and(|most| count > most) {
        return Err(format!("{count} animals"));
    }
    if pets.iter().map(|pet| pet.id).collect::<BTreeSet<_>>().len() < count {
        return Err("an animal twice".to_owned());
    }
    for pet in pets {
        if lawful.every_status.is_some() && pet.status != lawful.every_status || lawful.excludes.contains(&pet.name) {
            return Err(format!("{pet:?} among them"));
        }
    }
    let mut shown = lawful.includes.iter().filter_map(|number| Shown::of(earlier.get(number - 1)?));
    match shown.find(|shown| !pets.iter().any(|pet| shown.agrees_with(pet))) {
        Some(missing) => Err(format!("no {missing:?} among {count} animals")),
        None => Ok(()),
    }
}
