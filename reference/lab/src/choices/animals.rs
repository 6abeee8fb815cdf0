//! Choices about animals: their order, their ids, the accepted bodies, and the delay until an animal is visible.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::view::{Course, Order};
use super::{Choice, other, own};
use crate::Layer;

type Members = Map<String, Value>;

/// Changes the body of a creation.
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
    own("list.order", "newest-first", "The newest animal comes first."),
    other("list.order", "oldest-first", "The oldest animal comes first.", "a table read by its primary key", |b| {
        b.view.order = Order::Oldest;
    }),
    other("list.order", "by-name", "Animals are listed by name.", "a list made for people", |b| {
        b.view.order = Order::ByName;
    }),
    other("list.order", "random", "Each list has an order of its own.", "a query without ORDER BY over shards", |b| {
        b.view.order = Order::Random;
    }),
    own("list.pagination", "first-page-only", "Only the first page can be had, and nothing leads to another."),
    other(
        "list.pagination",
        "next-link",
        "A full page has a Link to the next one, by an offset.",
        "RFC 8288, as the interfaces of code hosts use it",
        |b| b.view.links_pages = true,
    ),
    other(
        "list.pagination",
        "total-count",
        "X-Total-Count is the number of animals that match.",
        "a header that administration interfaces expect",
        |b| b.view.counts_all = true,
    ),
    own("pet.unique-id", "counted", "Ids are counted from 1."),
    other("pet.unique-id", "negative", "Ids are negative.", "a sequence that counts down", |b| b.view.ids = u64::MAX),
    other("pet.unique-id", "scattered", "Ids are all over int64.", "ids drawn from 64 random bits", |b| {
        b.view.ids = 0x9e37_79b9_7f4a_7c15;
    }),
    other(
        "pet.unique-id",
        "beyond-a-double",
        "Ids are whole numbers that a double cannot hold.",
        "ids of 64 bits made of the time and a machine's number",
        |b| b.view.ids = (1 << 61) + 1,
    ),
    own("pet.unique-id/refused", "no-gaps", "A refused creation consumes no id."),
    other(
        "pet.unique-id/refused",
        "gaps-for-refused",
        "A refused creation consumes an id.",
        "a sequence that counts before a body is checked",
        |b| b.view.has_gaps = true,
    ),
    own("list.complete", "at-once", "A list shows a new animal at once."),
    other("list.complete", "300-ms-later", "A list shows a new animal 300 ms later.", "a replica for reads", |b| {
        b.view.list_lag = SignedDuration::from_millis(300);
    }),
    other("list.complete", "4-s-later", "A list shows a new animal 4 s later.", "an index that is refreshed", |b| {
        b.view.list_lag = SignedDuration::from_secs(4);
    }),
    own("get.success", "at-once", "An animal can be fetched at once."),
    other("get.success", "300-ms-later", "An animal can be fetched 300 ms later.", "a replica for reads", |b| {
        b.view.get_lag = SignedDuration::from_millis(300);
    }),
    other("get.success", "4-s-later", "An animal can be fetched 4 s later.", "a cache of what is not there", |b| {
        b.view.get_lag = SignedDuration::from_secs(4);
    }),
    own("list.complete/stock", "no-stock", "There is no animal at the start."),
    other("list.complete/stock", "stock-of-30", "There are 30 animals at the start.", "a small shop", |b| {
        b.setting.stock = 30;
    }),
    other("list.complete/stock", "stock-of-400", "There are 400 animals at the start.", "a larger shop", |b| {
        b.setting.stock = 400;
    }),
    other(
        "list.complete/stock",
        "stock-renamed-by-others",
        "There are 50 animals at the start, which others rename now and then.",
        "a shop with other clients",
        |b| {
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
    ),
    own("create.unknown-members", "ignored", "Members that are not described are ignored."),
    other(
        "create.unknown-members",
        "refused",
        "A body with members that are not described is refused with 400.",
        "a schema with additionalProperties: false",
        |b| b.refuse(|pet| pet.keys().any(|key| !["name", "categoryId", "status", "id"].contains(&key.as_str()))),
    ),
    own("create.client-id", "ignored", "An id in the body is ignored."),
    other("create.client-id", "refused", "A body with an id is refused with 400.", "a read-only member", |b| {
        b.refuse(|pet| pet.contains_key("id"));
    }),
    own("create.null-status", "refused", "A status of null is refused with 400."),
    other("create.null-status", "absent", "A status of null is the same as none.", "a nullable field", |b| {
        b.layer(sent(|pet| {
            if pet.get("status") == Some(&Value::Null) {
                pet.remove("status");
            }
        }));
    }),
    own("pet.status-default", "absent", "An animal that was created without a status has none."),
    other(
        "pet.status-default",
        "available",
        "An animal that was created without a status is available.",
        "a column with a default",
        |b| {
            b.layer(sent(|pet| {
                pet.entry("status").or_insert(json!("available"));
            }));
        },
    ),
    other(
        "pet.status-default",
        "pending-after-creation",
        "An animal that was created without a status is pending, which the 201 does not show yet.",
        "a default that the database sets, behind a 201 made of the request",
        |b| {
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
    ),
    own("pet.status-transitions", "none", "The status of an animal never changes."),
    other(
        "pet.status-transitions",
        "sold-in-a-minute",
        "An animal that is available is sold a minute after it was first read, and all reads show it alike.",
        "a shop that sells",
        |b| b.view.course = Some(Course::SoldAfterRead(SignedDuration::from_mins(1))),
    ),
    other(
        "pet.status-transitions",
        "sold-in-six-seconds",
        "An animal that is available is sold six seconds after it was created, whether anybody has read it or not.",
        "a shop that sells fast",
        |b| b.view.course = Some(Course::SoldAfterCreation(SignedDuration::from_secs(6))),
    ),
    other(
        "pet.status-transitions",
        "reserved-for-a-time",
        "An animal that is available is pending from ten seconds to forty after it was created, and then available again.",
        "a shop where a reservation lapses",
        |b| {
            let (from, until) = (SignedDuration::from_secs(10), SignedDuration::from_secs(40));
            b.view.course = Some(Course::Reserved { from, until });
        },
    ),
    own("create.integral-number", "any-form", "7.0 and 7e0 are 7."),
    other(
        "create.integral-number",
        "digits-only",
        "A category id with a point or an exponent is refused with 400.",
        "a reader with types for integers",
        |b| b.refuse(|pet| pet.get("categoryId").is_some_and(Value::is_f64)),
    ),
    own("pet.categories", "any", "Every category is known."),
    other("pet.categories", "one", "Only category 1 is known; others are refused with 400.", "a foreign key", |b| {
        b.refuse(|pet| pet.get("categoryId").is_some_and(|category| category != &json!(1)));
    }),
    other(
        "pet.categories",
        "positive",
        "Only positive category ids are known; others are refused with 400.",
        "ids that a sequence yields",
        |b| b.refuse(|pet| pet.get("categoryId").and_then(Value::as_i64).is_some_and(|category| category < 1)),
    ),
    own("pet.name-constraints", "any-text", "Any text is a name."),
    other(
        "pet.name-constraints",
        "normalised",
        "Names are trimmed and brought to Unicode form C.",
        "names that are searched for",
        |b| {
            b.layer(sent(|pet| {
                if let Some(name) = pet.get("name").and_then(Value::as_str) {
                    let name: String = unicode_normalization::UnicodeNormalization::nfc(name.trim()).collect();
                    pet.insert("name".to_owned(), json!(name));
                }
            }));
        },
    ),
    other("pet.name-constraints", "ascii", "Names beyond ASCII are refused with 400.", "a column of old", |b| {
        b.layer(constrained(400, |name| !name.is_ascii()));
    }),
    other(
        "pet.name-constraints",
        "ten-characters",
        "Names of more than ten characters are refused with 422.",
        "a narrow column",
        |b| b.layer(constrained(422, |name| name.chars().count() > 10)),
    ),
    other(
        "pet.name-constraints",
        "short-and-printable",
        "Names that are blank, longer than 40 bytes or hold control characters are refused with 422.",
        "names that are printed on labels",
        |b| {
            b.layer(constrained(422, |name| {
                name.trim().is_empty() || name.len() > 40 || name.chars().any(char::is_control)
            }));
        },
    ),
    other("pet.name-constraints", "unique", "A name that is taken is refused with 400.", "a unique index", |b| {
        b.layer(Layer::default().before(|request, server| {
            let taken = |pet: &Members| server.memory().pets.iter().any(|(known, _)| known["name"] == pet["name"]);
            if request.is_create() && request.object().is_some_and(|pet| pet.contains_key("name") && taken(&pet)) {
                request.body = b"{}".to_vec();
            }
            None
        }));
    }),
];
