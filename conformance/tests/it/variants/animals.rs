//! Choices about animals: their order, their ids, what is taken for one, and how soon one is seen.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::Choice;
use super::view::Order;
use crate::layers::Layer;

type Members = Map<String, Value>;

/// Changes what a creation sends.
fn sent(edit: impl Fn(&mut Members) + Send + Sync + 'static) -> Layer {
    Layer::default().before(move |request, _| {
        request.edit_object(&edit);
        None
    })
}

/// Refuses names with a status of the service's own.
fn constrained(status: u16, excludes: impl Fn(&str) -> bool + Send + Sync + 'static) -> Layer {
    let spoils = move |pet: &Members| pet.get("name").and_then(Value::as_str).is_some_and(&excludes);
    let spoils = std::sync::Arc::new(spoils);
    let same = std::sync::Arc::clone(&spoils);
    Layer::default()
        .before(move |request, _| {
            if request.is_create() && request.object().is_some_and(|pet| spoils(&pet)) {
                request.body = b"{}".to_vec();
            }
            None
        })
        .after(move |request, response, _| {
            let faultless = |pet: &Members| same(pet) && pet.get("categoryId").is_some_and(Value::is_i64);
            if response.status == 400 && request.is_create() && request.object().is_some_and(|pet| faultless(&pet)) {
                response.refuse(status);
            }
        })
}

pub(super) const CHOICES: &[Choice] = &[
    Choice { axis: "order", name: "oldest first", make: |b| b.view.order = Order::Oldest },
    Choice { axis: "order", name: "by name", make: |b| b.view.order = Order::ByName },
    Choice { axis: "order", name: "random", make: |b| b.view.order = Order::Random },
    Choice { axis: "ids", name: "negative", make: |b| b.view.ids = u64::MAX },
    Choice { axis: "ids", name: "all over int64", make: |b| b.view.ids = 0x9e37_79b9_7f4a_7c15 },
    Choice { axis: "ids", name: "beyond a double", make: |b| b.view.ids = (1 << 61) + 1 },
    Choice { axis: "lists", name: "lag for 300 ms", make: |b| b.view.list_lag = SignedDuration::from_millis(300) },
    Choice { axis: "lists", name: "lag for 4 s", make: |b| b.view.list_lag = SignedDuration::from_secs(4) },
    Choice { axis: "fetches", name: "lag for 300 ms", make: |b| b.view.get_lag = SignedDuration::from_millis(300) },
    Choice { axis: "fetches", name: "lag for 4 s", make: |b| b.view.get_lag = SignedDuration::from_secs(4) },
    Choice { axis: "stock", name: "thirty animals", make: |b| b.setting.stock = 30 },
    Choice { axis: "stock", name: "four hundred animals", make: |b| b.setting.stock = 400 },
    Choice {
        axis: "stock",
        name: "fifty animals that others rename now and then",
        make: |b| {
            b.setting.stock = 50;
            b.layer(Layer::default().after(|_, response, server| {
                let renamed = server.count() / 40;
                response.edit_pets(|pet| {
                    if let Some(name) = pet["name"].as_str().filter(|name| name.starts_with("Stock")) {
                        pet.insert("name".to_owned(), json!(format!("{name} {renamed}")));
                    }
                });
            }));
        },
    },
    Choice {
        axis: "unknown members",
        name: "refused",
        make: |b| b.refuse(|pet| pet.keys().any(|key| !["name", "categoryId", "status"].contains(&key.as_str()))),
    },
    Choice {
        axis: "unknown members",
        name: "refused when it is an id",
        make: |b| b.refuse(|pet| pet.contains_key("id")),
    },
    Choice {
        axis: "null status",
        name: "taken as absent",
        make: |b| {
            b.layer(sent(|pet| {
                if pet.get("status") == Some(&Value::Null) {
                    pet.remove("status");
                }
            }));
        },
    },
    Choice {
        axis: "status",
        name: "available by default",
        make: |b| {
            b.layer(sent(|pet| {
                pet.entry("status").or_insert(json!("available"));
            }));
        },
    },
    Choice {
        axis: "status",
        name: "by default, but not yet in the 201",
        make: |b| {
            b.layer(
                Layer::default()
                    .before(|request, _| {
                        request.edit_object(|pet| {
                            pet.entry("status").or_insert(json!("pending"));
                        });
                        None
                    })
                    .after(|request, response, _| {
                        if request.is_create() && request.object().is_some_and(|pet| !pet.contains_key("status")) {
                            response.edit_pets(|pet| drop(pet.remove("status")));
                        }
                    }),
            );
        },
    },
    Choice {
        axis: "whole numbers",
        name: "refused with a fraction",
        make: |b| b.refuse(|pet| pet.get("categoryId").is_some_and(Value::is_f64)),
    },
    Choice {
        axis: "categories",
        name: "only one is known",
        make: |b| b.refuse(|pet| pet.get("categoryId").is_some_and(|category| category != &json!(1))),
    },
    Choice {
        axis: "names",
        name: "trimmed and normalised",
        make: |b| {
            b.layer(sent(|pet| {
                if let Some(name) = pet.get("name").and_then(Value::as_str) {
                    let name: String = unicode_normalization::UnicodeNormalization::nfc(name.trim()).collect();
                    pet.insert("name".to_owned(), json!(name));
                }
            }));
        },
    },
    Choice { axis: "names", name: "ASCII alone", make: |b| b.layer(constrained(400, |name| !name.is_ascii())) },
    Choice {
        axis: "names",
        name: "neither blank nor long nor with control characters",
        make: |b| {
            b.layer(constrained(422, |name| {
                name.trim().is_empty() || name.len() > 40 || name.chars().any(char::is_control)
            }));
        },
    },
    Choice {
        axis: "names",
        name: "unique",
        make: |b| {
            b.layer(Layer::default().before(|request, server| {
                let taken = |pet: &Members| server.newest().iter().any(|known| known["name"] == pet["name"]);
                if request.is_create() && request.object().is_some_and(|pet| pet.contains_key("name") && taken(&pet)) {
                    request.body = b"{}".to_vec();
                }
                None
            }));
        },
    },
];
