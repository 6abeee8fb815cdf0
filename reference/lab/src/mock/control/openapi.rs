//! The description of the control interface: OpenAPI 3.1.

use serde_json::{Value, json};

use super::paths::{
    ANSWERS, CLOCK, CLOCK_ADVANCE, CLOCK_FREEZE, CLOCK_RUN, CLOCK_SET, DELAY, FAULTS, LOG, LOG_COUNTS, OPENAPI, RESET,
    RESTORE, SNAPSHOT, SNAPSHOTS,
};

/// The OpenAPI document of the control interface.
pub(super) fn document() -> Value {
    let name = json!([{
        "name": "name", "in": "path", "required": true, "schema": { "type": "string", "maxLength": 100 }
    }]);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Control of the Animal Store mock",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Without keys: only tests may reach it. Requests from pages in browsers are refused.",
            "license": { "name": "MIT", "identifier": "MIT" }
        },
        "servers": [{ "url": "/" }],
        "security": [],
        "paths": {
            OPENAPI: { "get": operation("getDescription", "This description", &json_of(&json!({ "type": "object" }))) },
            RESET: { "post": operation(
                "reset",
                "Return to the animals of the start and to keys that were never used; forget prepared answers; return to the faults and \
                 delays of the start",
                &json_of(&schema("Animals"))
            ) },
            SNAPSHOTS: { "get": operation(
                "listSnapshots",
                "The snapshots",
                &json_of(&json!({ "type": "array", "items": schema("Snapshot") }))
            ) },
            SNAPSHOT: {
                "parameters": name,
                "put": with_errors(
                    operation("keepSnapshot", "Keep animals and usage by this name", &json_of(&schema("Snapshot"))),
                    &[("400", "The name is too long"), ("409", "There are too many snapshots")]
                ),
                "delete": with_errors(
                    operation("deleteSnapshot", "Forget the snapshot", &json_of(&json!({ "type": "object" }))),
                    &[("404", "There is none of this name")]
                )
            },
            RESTORE: {
                "parameters": name,
                "post": with_errors(
                    operation("restoreSnapshot", "Return to its animals and its usage", &json_of(&schema("Snapshot"))),
                    &[("404", "There is none of this name")]
                )
            },
            CLOCK: { "get": operation("getClock", "What the clock of the server shows", &json_of(&schema("Clock"))) },
            CLOCK_SET: { "post": with_body("setClock", "Set the clock; it runs on if it ran", &json!({
                "type": "object", "required": ["to"], "additionalProperties": false,
                "properties": { "to": { "type": "string", "format": "date-time" } }
            }), "Clock") },
            CLOCK_ADVANCE: { "post": with_body("advanceClock", "Move the clock on", &json!({
                "type": "object", "required": ["seconds"], "additionalProperties": false,
                "properties": { "seconds": { "type": "integer", "minimum": 0 } }
            }), "Clock") },
            CLOCK_FREEZE: { "post": operation("freezeClock", "Let the clock stand", &json_of(&schema("Clock"))) },
            CLOCK_RUN: { "post": operation("runClock", "Let the clock run on", &json_of(&schema("Clock"))) },
            ANSWERS: {
                "get": operation("listAnswers", "The answers that wait for requests", &json_of(&schema("Waiting"))),
                "post": with_body(
                    "prepareAnswer",
                    "Give this answer to the next requests in place of the server's own. Without `rate_limit`, it counts for no \
                     limit and has no header fields but these, Date and Content-Length",
                    &schema("Answer"),
                    "Waiting"
                ),
                "delete": operation("forgetAnswers", "Forget the answers that wait", &json_of(&schema("Waiting")))
            },
            LOG: {
                "get": filtered(operation(
                    "getLog",
                    "The latest 10,000 exchanges, as a trace of the judge; credentials are replaced",
                    &json!({ "application/x-ndjson": { "schema": { "type": "string" } } })
                )),
                "delete": operation("clearLog", "Forget them", &json_of(&json!({ "type": "object" })))
            },
            LOG_COUNTS: { "get": filtered(operation(
                "countLog",
                "How many of these exchanges there are, by operation and status",
                &json_of(&schema("Counts"))
            )) },
            FAULTS: {
                "get": operation("listFaults", "The present faults", &json_of(&schema("Faults"))),
                "put": with_body(
                    "setFaults",
                    "Have these faults in place of the present ones; what faults and choices remember is forgotten",
                    &json!({ "type": "array", "items": {
                        "type": "string", "description": "NAME or NAME@RATE, as `animal-lab faults` lists them"
                    } }),
                    "Faults"
                ),
                "delete": operation("forgetFaults", "Have none", &json_of(&schema("Faults")))
            },
            DELAY: {
                "get": operation("getDelay", "How long answers are held back", &json_of(&schema("Delay"))),
                "put": with_body("setDelay", "Hold answers back", &schema("Delay"), "Delay"),
                "delete": operation("forgetDelay", "Hold none back", &json_of(&schema("Delay")))
            }
        },
        "components": { "schemas": schemas() }
    })
}

fn schemas() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    let operation = json!({ "type": "string", "enum": ["listPets", "createPet", "getPet", "listOrders"] });
    json!({
        "Counts": {
            "type": "object", "required": ["exchanges", "operations"],
            "properties": {
                "exchanges": count,
                "operations": {
                    "type": "object", "description": "By operation, or `other`; in it by status, or `broken`",
                    "additionalProperties": { "type": "object", "additionalProperties": count }
                }
            }
        },
        "Faults": { "type": "array", "items": {
            "type": "object", "required": ["name", "rate", "does"],
            "properties": {
                "name": { "type": "string" },
                "rate": { "type": "number", "description": "The share of the requests that it shows in" },
                "does": { "type": "string" }
            }
        } },
        "Delay": {
            "type": "object", "required": ["delay"], "additionalProperties": false,
            "properties": { "delay": {
                "type": ["string", "null"], "description": "Milliseconds, such as 250, or 100..800 for a time drawn from the seed"
            } }
        },
        "Animals": { "type": "object", "required": ["animals"], "properties": { "animals": count } },
        "Snapshot": {
            "type": "object", "required": ["name", "animals"],
            "properties": { "name": { "type": "string" }, "animals": count }
        },
        "Clock": {
            "type": "object", "required": ["now", "unix", "frozen"],
            "properties": {
                "now": { "type": "string", "format": "date-time" },
                "unix": { "type": "integer", "description": "The same in Unix seconds" },
                "frozen": { "type": "boolean", "description": "Whether it stands" }
            }
        },
        "Answer": {
            "type": "object", "required": ["status"], "additionalProperties": false,
            "properties": {
                "times": {
                    "type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 1,
                    "description": "How many requests get it"
                },
                "key": { "type": "string", "description": "Only requests that present this key" },
                "operation": operation,
                "status": { "type": "integer", "minimum": 200, "maximum": 599 },
                "headers": { "type": "object", "additionalProperties": { "type": "string" } },
                "body": { "description": "The body as JSON" },
                "text": { "type": "string", "description": "The body as text, in place of `body`" },
                "delay_ms": {
                    "type": "integer", "minimum": 0, "maximum": 3_600_000, "default": 0,
                    "description": "How long it is held back"
                },
                "rate_limit": {
                    "type": "boolean", "default": false,
                    "description": "Whether the request counts against the limit of its key, and the answer has the rate-limit fields"
                }
            }
        },
        "Waiting": { "type": "array", "items": {
            "type": "object", "required": ["times", "for_one_key", "status"],
            "properties": {
                "times": count,
                "operation": { "anyOf": [operation, { "type": "null" }] },
                "for_one_key": { "type": "boolean" },
                "status": { "type": "integer" }
            }
        } },
        "Error": {
            "type": "object", "required": ["code", "message", "status"],
            "properties": { "code": { "type": "string" }, "message": { "type": "string" }, "status": { "type": "integer" } }
        }
    })
}

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn json_of(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

fn operation(id: &str, summary: &str, content: &Value) -> Value {
    let done = json!({ "description": "Done", "content": content });
    let operation = json!({ "operationId": id, "summary": summary, "responses": { "200": done } });
    with_errors(operation, &[("403", "The request comes from a page in a browser")])
}

/// Adds the parameters that filter exchanges to an operation.
fn filtered(mut operation: Value) -> Value {
    let parameter = |name: &str, description: &str| json!({ "name": name, "in": "query", "description": description, "schema": { "type": "string" } });
    operation["parameters"] = json!([
        parameter("method", "Only requests with this method"),
        parameter("path", "Only requests with this path below the base path; with `*` at its end, with this beginning"),
        parameter("operation", "Only requests of this operation: listPets, createPet, getPet or listOrders"),
        parameter("status", "Only answers with this status, or of this class: 429 or 4xx"),
        parameter("last", "At most this number of exchanges, the latest"),
    ]);
    with_errors(operation, &[("400", "A parameter is not what it should be")])
}

fn with_errors(mut operation: Value, errors: &[(&str, &str)]) -> Value {
    for (status, description) in errors {
        operation["responses"][*status] = json!({ "description": description, "content": json_of(&schema("Error")) });
    }
    operation
}

fn with_body(id: &str, summary: &str, body: &Value, answer: &str) -> Value {
    let mut operation = operation(id, summary, &json_of(&schema(answer)));
    operation["requestBody"] = json!({ "required": true, "content": json_of(body) });
    with_errors(operation, &[("400", "The body is not what it should be")])
}
