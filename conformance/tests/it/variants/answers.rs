//! Choices about answers: their words, their form, and how they are sent.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::Choice;
use crate::layers::{Delivery, Layer, Request, Response};

fn after(change: impl Fn(&Request, &mut Response) + Send + Sync + 'static) -> Layer {
    Layer::default().after(move |request, response, _| change(request, response))
}

fn edited(edit: impl Fn(&mut Request) + Send + Sync + 'static) -> Layer {
    Layer::default().before(move |request, _| {
        edit(request);
        None
    })
}

fn is_bad_limit(request: &Request) -> bool {
    request.is_list() && request.parameter("limit").is_some() && !matches!(request.number_of("limit"), Some(1..=100))
}

/// JSON with a space wherever one may stand, and no character beyond ASCII.
fn spread(value: &Value) -> String {
    let pretty = serde_json::to_string_pretty(value).expect("JSON");
    let escape = |c: char| {
        let mut units = [0; 2];
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
    };
    pretty.chars().map(|c| if c.is_ascii() { c.to_string() } else { escape(c) }).collect()
}

/// Lets time pass in one answer of so many.
fn slow(time: Duration, every: u64) -> Layer {
    Layer::default().after(move |request, _, server| {
        if request.number.is_multiple_of(every) {
            server.clock().sleep(time).now_or_never().expect("a clock that steps");
        }
    })
}

pub(super) const CHOICES: &[Choice] = &[
    Choice {
        axis: "bad limits",
        name: "clamped",
        make: |b| {
            b.layer(edited(|request| {
                if is_bad_limit(request) {
                    let limit = request.number_of("limit").map(|limit| limit.clamp(1, 100).to_string());
                    request.set_parameter("limit", limit.as_deref());
                }
            }));
        },
    },
    Choice {
        axis: "bad limits",
        name: "ignored",
        make: |b| {
            b.layer(edited(|request| {
                if is_bad_limit(request) {
                    request.set_parameter("limit", None);
                }
            }));
        },
    },
    Choice {
        axis: "unknown status",
        name: "matches nothing",
        make: |b| {
            b.inside(after(|request, response| {
                let unknown = |status| !["available", "pending", "sold"].contains(&status);
                if response.status == 400 && request.is_list() && request.parameter("status").is_some_and(unknown) {
                    response.become_json(200, json!([]));
                }
            }));
        },
    },
    Choice {
        axis: "malformed ids",
        name: "400",
        make: |b| {
            b.layer(after(|request, response| {
                if response.status == 404 && request.is_get() && request.id().is_none() {
                    response.refuse(400);
                }
            }));
        },
    },
    Choice {
        axis: "malformed JSON",
        name: "422",
        make: |b| {
            b.layer(after(|request, response| {
                if response.status == 400 && request.is_create() && !request.body.is_empty() && request.json().is_none()
                {
                    response.refuse(422);
                }
            }));
        },
    },
    Choice {
        axis: "other media types",
        name: "read as JSON",
        make: |b| {
            b.layer(edited(|request| {
                request.headers.insert("content-type", "application/json".parse().expect("ASCII"));
            }));
        },
    },
    Choice {
        axis: "members",
        name: "more than are described",
        make: |b| {
            b.layer(after(|_, response| {
                response.edit_pets(|pet| {
                    pet.insert("createdAt".to_owned(), json!("2026-01-01T00:00:00Z"));
                    pet.insert("category".to_owned(), json!({"id": pet["categoryId"], "name": null}));
                    pet.insert("weight".to_owned(), json!(1.5e3));
                });
            }));
        },
    },
    Choice {
        axis: "members",
        name: "nested more deeply than some readers go",
        make: |b| {
            b.layer(after(|_, response| {
                let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
                response.edit_pets(|pet| {
                    // Spread over lines, a hundred of them would take a mebibyte.
                    if pet["id"].as_i64().is_some_and(|id| id % 10 == 0) {
                        pet.insert("ancestors".to_owned(), deep.clone());
                    }
                });
            }));
        },
    },
    Choice {
        axis: "location",
        name: "told",
        make: |b| {
            b.layer(after(|_, response| {
                if response.status == 201 {
                    let id = response.json().expect("an animal")["id"].to_string();
                    response.set("location", format!("/v1/pets/{id}"));
                }
            }));
        },
    },
    Choice {
        axis: "errors",
        name: "in another language and with more members",
        make: |b| {
            b.layer(after(|_, response| {
                response.edit_error(|error| {
                    error.insert("code".to_owned(), json!("E-4711"));
                    error.insert("message".to_owned(), json!("Das geht nicht: \u{201e}prüfen\u{201c} \u{1f422}\n"));
                    error.insert("traceId".to_owned(), json!("00-aa-bb-01"));
                    error.insert("errors".to_owned(), json!([{"field": "name", "status": "missing"}]));
                });
            }));
        },
    },
    Choice {
        axis: "JSON",
        name: "spread over lines and escaped",
        make: |b| {
            b.layer(after(|_, response| {
                if let Some(value) = response.json() {
                    response.body = format!("\r\n{}\n", spread(&value)).into_bytes();
                }
            }));
        },
    },
    Choice {
        axis: "label",
        name: "with a charset and in capitals",
        make: |b| {
            b.layer(after(|_, response| {
                if response.header("content-type") == "application/json" {
                    response.set("content-type", "Application/JSON;charset=UTF-8");
                }
            }));
        },
    },
    Choice {
        axis: "challenge",
        name: "none",
        make: |b| b.layer(after(|_, response| response.remove("www-authenticate"))),
    },
    Choice {
        axis: "challenge",
        name: "with a realm and an error",
        make: |b| {
            b.layer(after(|_, response| {
                if response.status == 401 {
                    response.set("www-authenticate", r#"Bearer realm="animals", error="invalid_token""#);
                }
            }));
        },
    },
    Choice {
        axis: "scheme",
        name: "in one case alone",
        make: |b| {
            b.layer(edited(|request| {
                if !request.authorization().starts_with("Bearer ") {
                    request.headers.remove("authorization");
                }
            }));
        },
    },
    Choice {
        axis: "orders",
        name: "not implemented",
        make: |b| {
            b.inside(after(|request, response| {
                if request.is_orders() && response.status == 200 {
                    response.refuse(501);
                }
            }));
        },
    },
    Choice {
        axis: "orders",
        name: "an object",
        make: |b| {
            b.layer(after(|request, response| {
                if request.is_orders() && response.status == 200 {
                    response.become_json(200, json!({"orders": [], "next": null}));
                }
            }));
        },
    },
    Choice {
        axis: "orders",
        name: "no content",
        make: |b| {
            b.layer(after(|request, response| {
                if request.is_orders() && response.status == 200 {
                    response.status = 204;
                    response.body.clear();
                    response.remove("content-type");
                }
            }));
        },
    },
    Choice {
        axis: "elsewhere",
        name: "nothing but a status",
        make: |b| {
            b.layer(after(|request, response| {
                if !(request.is_list() || request.is_create() || request.is_get() || request.is_orders()) {
                    response.body.clear();
                    ["content-type", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]
                        .into_iter()
                        .for_each(|name| response.remove(name));
                }
            }));
        },
    },
    Choice {
        axis: "deprecation",
        name: "not announced",
        make: |b| b.layer(after(|_, response| ["sunset", "link"].into_iter().for_each(|name| response.remove(name)))),
    },
    Choice {
        axis: "deprecation",
        name: "announced with its date",
        make: |b| {
            b.layer(after(|request, response| {
                if request.is_get() {
                    response.set("deprecation", "@1764892800");
                    response.set("sunset", "Thu, 05 Dec 2030 23:59:59 GMT");
                }
            }));
        },
    },
    Choice {
        axis: "delivery",
        name: "in chunks",
        make: |b| b.layer(after(|_, response| response.delivery = Delivery::Chunked)),
    },
    Choice {
        axis: "delivery",
        name: "one answer a connection",
        make: |b| b.layer(after(|_, response| response.set("connection", "close"))),
    },
    Choice {
        axis: "speed",
        name: "half a second for one answer in five",
        make: |b| b.layer(slow(Duration::from_millis(500), 5)),
    },
    Choice {
        axis: "speed",
        name: "three seconds for one answer in sixty",
        make: |b| b.layer(slow(Duration::from_secs(3), 60)),
    },
];
