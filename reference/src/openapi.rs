//! The interface description: OpenAPI 3.1, built from the constants that the server itself uses.
//!
//! It is served at `/openapi.json`, printed by `reference openapi`, and kept in `fixtures/openapi.json`.

use serde_json::{Map, Value, json};

use crate::deprecation::SUNSET_DATE;
use crate::limits::RequestLimits;
use crate::query::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::wire::PetStatus;

/// The version of the interface (specification: "Versioning").
pub const VERSION: &str = "1.0.0";

/// The description of a server whose API lives below `base_path`.
#[must_use]
pub fn document(base_path: &str) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Animal Store",
            "version": VERSION,
            "description": "A catalogue of animals. Every response of the API carries the caller's rate limit, \
                            and every error has the same shape.",
            "license": { "name": "MIT", "identifier": "MIT" }
        },
        "servers": [{ "url": if base_path.is_empty() { "/" } else { base_path }, "description": "This server" }],
        "security": [{ "apiKey": [] }],
        "tags": [
            { "name": "animals", "description": "The catalogue" },
            { "name": "orders", "description": "Store orders, of which nothing but the path is settled" }
        ],
        "paths": {
            "/pets": { "get": list_pets(), "post": create_pet() },
            "/pets/{petId}": { "get": get_pet() },
            "/store/orders": { "get": list_orders() }
        },
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key: `Authorization: Bearer <API key>`"
                }
            },
            "headers": headers(),
            "schemas": schemas()
        }
    })
}

/// The document as text, with a line feed at its end.
#[must_use]
pub fn render(document: &Value) -> String {
    // The alternate form indents; a value that is built in memory can always be written.
    format!("{document:#}\n")
}

fn list_pets() -> Value {
    json!({
        "operationId": "listPets",
        "tags": ["animals"],
        "summary": "List animals",
        "description": "The newest animals first. There is no second page.",
        "parameters": [
            {
                "name": "limit",
                "in": "query",
                "description": "How many animals to return at most",
                "schema": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT }
            },
            {
                "name": "status",
                "in": "query",
                "description": "Only animals with this availability",
                "schema": reference("schemas/PetStatus")
            }
        ],
        "responses": responses("200", &success("The animals", "schemas/Pets"), &[("400", "A parameter is out of range or given twice")])
    })
}

fn create_pet() -> Value {
    let max_body = RequestLimits::default().max_body;
    json!({
        "operationId": "createPet",
        "tags": ["animals"],
        "summary": "Add an animal",
        "description": "Answers once the animal is stored durably.",
        "requestBody": {
            "required": true,
            "description": format!("The animal, in at most {max_body} bytes"),
            "content": { "application/json": { "schema": reference("schemas/NewPet") } }
        },
        "responses": responses("201", &success("The animal as it was added", "schemas/Pet"), &[
            ("400", "The body is missing, is not a JSON object, lacks a member or holds a wrong value"),
            ("408", "The body did not arrive in time"),
            ("413", "The body is too long"),
            ("415", "The body is not announced as application/json")
        ])
    })
}

fn get_pet() -> Value {
    let mut responses = responses(
        "200",
        &success("The animal", "schemas/Pet"),
        &[("404", "There is no such animal"), ("410", "The operation has been removed")],
    );
    for status in ["200", "404"] {
        responses[status]["headers"]["Sunset"] = reference("headers/Sunset");
    }
    for status in ["200", "404", "410"] {
        responses[status]["headers"]["Link"] = reference("headers/Link");
    }
    json!({
        "operationId": "getPet",
        "tags": ["animals"],
        "summary": "Get an animal",
        "description": format!("Removed from {SUNSET_DATE} on: list animals by status instead."),
        "deprecated": true,
        "x-sunset": "2030-12-05",
        "parameters": [{
            "name": "petId",
            "in": "path",
            "required": true,
            "description": "The identifier that the service gave to the animal",
            "schema": int64()
        }],
        "responses": responses
    })
}

fn list_orders() -> Value {
    let array = json!({
        "description": "The orders: always none",
        "headers": rate_limit_headers(),
        "content": { "application/json": { "schema": { "type": "array", "maxItems": 0 } } }
    });
    json!({
        "operationId": "listOrders",
        "tags": ["orders"],
        "summary": "List store orders",
        "description": "The shape of an order is not settled, so there are none.",
        "x-stability": "experimental",
        "responses": responses("200", &array, &[])
    })
}

/// The successful response, the given errors, and those that every operation can end in.
fn responses(success_status: &str, success: &Value, errors: &[(&str, &str)]) -> Value {
    let mut all = Map::new();
    all.insert(success_status.to_owned(), success.clone());
    let common = [
        ("401", "The API key is missing or invalid"),
        ("405", "The path does not take this method"),
        ("429", "The rate limit is reached, or the key is banned for a while"),
        ("500", "The server failed"),
        ("503", "The server cannot do it now and may be able to later"),
    ];
    for (status, description) in errors.iter().chain(&common) {
        let mut headers = rate_limit_headers();
        headers["X-Request-Id"] = reference("headers/X-Request-Id");
        match *status {
            "401" => headers["WWW-Authenticate"] = reference("headers/WWW-Authenticate"),
            "405" => headers["Allow"] = reference("headers/Allow"),
            "429" | "503" => headers["Retry-After"] = reference("headers/Retry-After"),
            _ => {}
        }
        let error = json!({
            "description": description,
            "headers": headers,
            "content": { "application/json": { "schema": reference("schemas/Error") } }
        });
        all.insert((*status).to_owned(), error);
    }
    Value::Object(all)
}

fn success(description: &str, schema: &str) -> Value {
    json!({
        "description": description,
        "headers": rate_limit_headers(),
        "content": { "application/json": { "schema": reference(schema) } }
    })
}

fn rate_limit_headers() -> Value {
    let names = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    names.into_iter().map(|name| (name.to_owned(), reference(&format!("headers/{name}")))).collect()
}

fn headers() -> Value {
    let count = |description: &str| json!({ "required": true, "description": description, "schema": { "type": "integer", "minimum": 0 } });
    let text = |description: &str, pattern: &str| json!({ "required": true, "description": description, "schema": { "type": "string", "pattern": pattern } });
    json!({
        "X-RateLimit-Limit": count("Requests that the key may make in the window; 0 without a valid key"),
        "X-RateLimit-Remaining": count("Requests left in the window"),
        "X-RateLimit-Reset": count("The end of the window as a Unix time in seconds"),
        "X-Request-Id": text("The number of the request in the server's log", "^[0-9]+$"),
        "Retry-After": {
            "required": true,
            "description": "Seconds to wait before the next request",
            "schema": { "type": "integer", "minimum": 1 }
        },
        "WWW-Authenticate": text("The scheme to authenticate with, and what was wrong with a key that was sent (RFC 6750)", "^Bearer realm=\"animal-store\"(, error=\"invalid_token\")?$"),
        "Allow": text("The methods that the path takes", "^[A-Z]+(, [A-Z]+)*$"),
        "Sunset": text("When the operation is removed (RFC 8594)", &format!("^{SUNSET_DATE}$")),
        "Link": text("What to use instead of the operation", "^<[^<>]*>; rel=\"successor-version\"$")
    })
}

fn schemas() -> Value {
    let name = json!({ "type": "string", "description": "What the animal is called: any text" });
    let category = int64();
    json!({
        "PetStatus": {
            "type": "string",
            "description": "Whether an animal can be had",
            "enum": PetStatus::ALL.map(PetStatus::name)
        },
        "NewPet": {
            "type": "object",
            "description": "An animal to add. Other members are ignored, an id among them.",
            "required": ["name", "categoryId"],
            "properties": { "name": name, "categoryId": category, "status": reference("schemas/PetStatus") }
        },
        "Pet": {
            "type": "object",
            "description": "An animal. The status is left out if none was given.",
            "required": ["id", "name", "categoryId"],
            "properties": {
                "id": int64(),
                "name": name,
                "categoryId": category,
                "status": reference("schemas/PetStatus")
            }
        },
        "Pets": { "type": "array", "maxItems": MAX_LIMIT, "items": reference("schemas/Pet") },
        "Error": {
            "type": "object",
            "description": "Why a request was refused",
            "required": ["code", "message", "status"],
            "properties": {
                "code": { "type": "string", "description": "A word that programs can rely on" },
                "message": { "type": "string", "description": "A sentence for people" },
                "status": { "type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status" }
            }
        }
    })
}

fn int64() -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": i64::MIN, "maximum": i64::MAX })
}

fn reference(component: &str) -> Value {
    json!({ "$ref": format!("#/components/{component}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document("/v1");
        let mut waiting = vec![&document];
        let mut found = 0;
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(members) => waiting.extend(members.values()),
                Value::Array(items) => waiting.extend(items),
                Value::String(text) if text.starts_with("#/") => {
                    found += 1;
                    assert!(document.pointer(&text[1..]).is_some(), "{text}");
                }
                _ => {}
            }
        }
        assert!(found > 50);
    }

    #[test]
    fn the_committed_description_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/openapi.json");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == render(&document("/v1")),
            "fixtures/openapi.json is stale; refresh it with: \
             cargo run -p animal-store-reference -- openapi > fixtures/openapi.json"
        );
    }
}
