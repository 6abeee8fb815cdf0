//! The neutral description of the API, `fixtures/animal-store.openapi.json`: it accepts ordinary sessions with every lawful server, and
//! notices what a description can.

use animal_store_lab::choices::{Drawn, lawful, variation};
use animal_store_lab::faults::faults;
use animal_store_reference::Plan;
use animal_store_rules::trace::exchange::{Exchange, Response};
use serde_json::{Value, json};

use crate::host::Host;
use crate::session::session;

/// So many seeds of lawful servers have a session.
const SEEDS: u64 = 10;

/// Requirements that a description can express: the first fault of each contradicts it.
const EXPRESSED: [&str; 7] = [
    "pet.members",
    "pet.status-values",
    "list.array",
    "errors.media-type",
    "headers.limit",
    "headers.reset",
    "service.json",
];

#[tokio::test]
async fn sessions_with_lawful_servers_are_as_described() {
    // Of 0, the plain reference.
    for seed in 0..=SEEDS {
        let mut choices = if seed == 0 { Vec::new() } else { lawful(seed, Drawn::ChoicesAndCircumstances) };
        // The description is of the operations that there are.
        choices.retain(|choice| !choice.name().starts_with("versioning.lifetime."));
        let host = Host::start(Plan::Free, variation(&choices)).await;
        let problems = Description::read().problems(&session(&host).await);
        assert!(problems.is_empty(), "seed {seed}: {}", problems.join("\n"));
    }
}

#[tokio::test]
async fn a_fault_of_each_requirement_that_a_description_can_express_is_noticed() {
    for id in EXPRESSED {
        let mut is_noticed = false;
        // Some show only to certain clients.
        for fault in faults().into_iter().filter(|fault| fault.targets.contains(&id)) {
            let host = Host::start(Plan::Free, fault.variation()).await;
            is_noticed = !Description::read().problems(&session(&host).await).is_empty();
            if is_noticed {
                break;
            }
        }
        assert!(is_noticed, "no fault of {id} is noticed");
    }
}

struct Description(Value);

impl Description {
    fn read() -> Description {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/animal-store.openapi.json");
        let text = std::fs::read_to_string(path).expect("the description");
        Description(serde_json::from_str(&text).expect("JSON"))
    }

    /// The responses that contradict the description, each with its request and the contradiction.
    fn problems(&self, exchanges: &[Exchange]) -> Vec<String> {
        let described = exchanges.iter().filter_map(|exchange| Some((exchange, exchange.response()?)));
        let problems = described.filter_map(|(exchange, response)| {
            let problem = self.problem(&exchange.request.method, &exchange.request.path, response)?;
            Some(format!("{} {} {}: {problem}", exchange.request.method, exchange.request.target(), response.status))
        });
        problems.collect()
    }

    fn problem(&self, method: &str, path: &str, response: &Response) -> Option<String> {
        let path = match path {
            "/pets" | "/store/orders" => path,
            _ if path.starts_with("/pets/") => "/pets/{petId}",
            _ => return None,
        };
        let responses = self.0["paths"][path].get(method.to_ascii_lowercase())?["responses"].clone();
        let status = response.status.to_string();
        let found = self.resolved(responses.get(&status).unwrap_or(&responses["default"]));
        let headers = found["headers"].as_object().expect("header fields");
        headers.iter().find_map(|(name, header)| self.problem_of_field(name, header, response)).or_else(|| {
            let content = found.get("content")?["application/json"].clone();
            self.problem_of_body(&content["schema"], response)
        })
    }

    fn problem_of_field(&self, name: &str, header: &Value, response: &Response) -> Option<String> {
        let header = self.resolved(header);
        let Some(value) = response.header(&name.to_ascii_lowercase()) else {
            return (header["required"] == true).then(|| format!("no {name}"));
        };
        let value = match &header["schema"]["type"] {
            Value::String(kind) if kind == "integer" => serde_json::from_str(value).unwrap_or_else(|_| json!(value)),
            _ => json!(value),
        };
        self.contradiction(&header["schema"], &value).map(|problem| format!("{name}: {problem}"))
    }

    fn problem_of_body(&self, schema: &Value, response: &Response) -> Option<String> {
        let media_type = response.media_type().unwrap_or_default();
        if media_type != "application/json" {
            return Some(format!("Content-Type {media_type:?}"));
        }
        match serde_json::from_slice(&response.body) {
            Ok(body) => self.contradiction(schema, &body),
            Err(error) => Some(error.to_string()),
        }
    }

    fn contradiction(&self, schema: &Value, value: &Value) -> Option<String> {
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        validator.validate(value).err().map(|error| error.to_string())
    }

    /// What a reference names, or the value itself.
    fn resolved(&self, value: &Value) -> Value {
        match value["$ref"].as_str().and_then(|reference| self.0.pointer(reference.strip_prefix('#')?)) {
            Some(found) => found.clone(),
            None => value.clone(),
        }
    }
}
