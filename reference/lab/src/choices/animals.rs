//! Choices about animals: their order, their ids, the accepted bodies, and the delay until an animal is visible.

use jiff::SignedDuration;
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

use super::view::{Course, Order};
use super::{Build, Choice, Members, other, own};
use crate::Layer;
use crate::members::{change, set_missing};

/// Refuses names with a status of the service's own.
fn constrain(b: &mut Build, status: u16, excludes: fn(&str) -> bool) {
    let spoils = move |pet: &Members| pet.get("name").and_then(Value::as_str).is_some_and(excludes);
    b.after(move |request, response| {
        let faultless = |pet: &Members| spoils(pet) && pet.get("categoryId").is_some_and(Value::is_i64);
        if response.status == 400 && request.is_create() && request.object().is_some_and(|pet| faultless(&pet)) {
            response.refuse(status);
        }
    });
    b.refuse(spoils);
}

pub(super) const CHOICES: &[Choice] = &[
    own("list.order", "newest-first", "The newest animal comes first."),
    other("list.order", "oldest-first")
        .does("The oldest animal comes first.")
        .like("a table read by its primary key")
        .make(|b| b.view.order = Order::Oldest),
    other("list.order", "by-name")
        .does("Animals are listed by name.")
        .like("a list made for people")
        .make(|b| b.view.order = Order::ByName),
    other("list.order", "random")
        .does("Each list has an order of its own.")
        .like("a query without ORDER BY over shards")
        .make(|b| b.view.order = Order::Random),
    own("list.pagination", "first-page-only", "Only the first page can be had, and nothing leads to another."),
    other("list.pagination", "next-link")
        .does("A full page has a Link to the next one, by an offset.")
        .like("RFC 8288, as the interfaces of code hosts use it")
        .make(|b| b.view.links_pages = true),
    other("list.pagination", "total-count")
        .does("X-Total-Count is the number of animals that match.")
        .like("a header that administration interfaces expect")
        .make(|b| b.view.counts_all = true),
    own("pet.unique-id", "counted", "Ids are counted from 1."),
    other("pet.unique-id", "negative")
        .does("Ids are negative.")
        .like("a sequence that counts down")
        .make(|b| b.view.ids = u64::MAX),
    other("pet.unique-id", "scattered")
        .does("Ids are all over int64.")
        .like("ids drawn from 64 random bits")
        .make(|b| b.view.ids = 0x9e37_79b9_7f4a_7c15),
    other("pet.unique-id", "beyond-a-double")
        .does("Ids are whole numbers that a double cannot hold.")
        .like("ids of 64 bits made of the time and a machine's number")
        .make(|b| b.view.ids = (1 << 61) + 1),
    own("pet.unique-id/refused", "no-gaps", "A refused creation consumes no id."),
    other("pet.unique-id/refused", "gaps-for-refused")
        .does("A refused creation consumes an id.")
        .like("a sequence that counts before a body is checked")
        .make(|b| b.view.has_gaps = true),
    own("list.complete", "at-once", "A list shows a new animal at once."),
    other("list.complete", "300-ms-later")
        .does("A list shows a new animal 300 ms later.")
        .like("a replica for reads")
        .make(|b| b.view.list_lag = SignedDuration::from_millis(300)),
    other("list.complete", "4-s-later")
        .does("A list shows a new animal 4 s later.")
        .like("an index that is refreshed")
        .make(|b| b.view.list_lag = SignedDuration::from_secs(4)),
    own("get.success", "at-once", "An animal can be fetched at once."),
    other("get.success", "300-ms-later")
        .does("An animal can be fetched 300 ms later.")
        .like("a replica for reads")
        .make(|b| b.view.get_lag = SignedDuration::from_millis(300)),
    other("get.success", "4-s-later")
        .does("An animal can be fetched 4 s later.")
        .like("a cache of what is not there")
        .make(|b| b.view.get_lag = SignedDuration::from_secs(4)),
    own("list.complete/stock", "no-stock", "There is no animal at the start."),
    other("list.complete/stock", "stock-of-30")
        .does("There are 30 animals at the start.")
        .like("a small shop")
        .make(|b| b.setting.stock = 30),
    other("list.complete/stock", "stock-of-400")
        .does("There are 400 animals at the start.")
        .like("a larger shop")
        .make(|b| b.setting.stock = 400),
    other("list.complete/stock", "stock-renamed-by-others")
        .does("There are 50 animals at the start, which others rename now and then.")
        .like("a shop with other clients")
        .make(|b| {
            b.setting.stock = 50;
            b.layer(Layer::default().after(|_, response, server| {
                let renamed = server.count() / 40;
                response.edit_pets(|pet| {
                    change(pet, "name", |name| {
                        let name = name.as_str().filter(|name| name.starts_with("Stock"))?;
                        Some(format!("{name} {renamed}").into())
                    });
                });
            }));
        }),
    own("create.unknown-members", "ignored", "Members that are not described are ignored."),
    other("create.unknown-members", "refused")
        .does("A body with members that are not described is refused with 400.")
        .like("a schema with additionalProperties: false")
        .make(|b| {
            b.refuse(|pet| pet.keys().any(|key| !["name", "categoryId", "status", "id"].contains(&key.as_str())));
        }),
    own("create.client-id", "ignored", "An id in the body is ignored."),
    other("create.client-id", "refused")
        .does("A body with an id is refused with 400.")
        .like("a read-only member")
        .make(|b| b.refuse(|pet| pet.contains_key("id"))),
    own("create.null-status", "refused", "A status of null is refused with 400."),
    other("create.null-status", "absent").does("A status of null is the same as none.").like("a nullable field").make(
        |b| {
            b.edit_created(|pet| {
                if pet.get("status") == Some(&Value::Null) {
                    pet.remove("status");
                }
            });
        },
    ),
    own("pet.status-default", "absent", "An animal that was created without a status has none."),
    other("pet.status-default", "available")
        .does("An animal that was created without a status is available.")
        .like("a column with a default")
        .make(|b| b.edit_created(|pet| set_missing(pet, "status", "available"))),
    other("pet.status-default", "pending-after-creation")
        .does("An animal that was created without a status is pending, which the 201 does not show yet.")
        .like("a default that the database sets, behind a 201 made of the request")
        .make(|b| {
            b.after(|request, response| {
                if request.is_create() && request.object().is_some_and(|pet| !pet.contains_key("status")) {
                    response.edit_pets(|pet| drop(pet.remove("status")));
                }
            });
            b.edit_created(|pet| set_missing(pet, "status", "pending"));
        }),
    own("pet.status-transitions", "none", "The status of an animal never changes."),
    other("pet.status-transitions", "sold-in-a-minute")
        .does("An animal that is available is sold a minute after it was first read, and all reads show it alike.")
        .like("a shop that sells")
        .make(|b| b.view.course = Some(Course::SoldAfterRead(SignedDuration::from_mins(1)))),
    other("pet.status-transitions", "sold-in-six-seconds")
        .does(
            "An animal that is available is sold six seconds after it was created, whether anybody has read it \
             or not.",
        )
        .like("a shop that sells fast")
        .make(|b| b.view.course = Some(Course::SoldAfterCreation(SignedDuration::from_secs(6)))),
    other("pet.status-transitions", "reserved-for-a-time")
        .does(
            "An animal that is available is pending from ten seconds to forty after it was created, and then \
             available again.",
        )
        .like("a shop where a reservation lapses")
        .make(|b| {
            let (from, until) = (SignedDuration::from_secs(10), SignedDuration::from_secs(40));
            b.view.course = Some(Course::Reserved { from, until });
        }),
    own("create.integral-number", "any-form", "7.0 and 7e0 are 7."),
    other("create.integral-number", "digits-only")
        .does("A category id with a point or an exponent is refused with 400.")
        .like("a reader with types for integers")
        .make(|b| b.refuse(|pet| pet.get("categoryId").is_some_and(Value::is_f64))),
    own("pet.categories", "any", "Every category is known."),
    other("pet.categories", "one")
        .does("Only category 1 is known; others are refused with 400.")
        .like("a foreign key")
        .make(|b| b.refuse(|pet| pet.get("categoryId").is_some_and(|category| category != &json!(1)))),
    other("pet.categories", "positive")
        .does("Only positive category ids are known; others are refused with 400.")
        .like("ids that a sequence yields")
        .make(|b| b.refuse(|pet| pet.get("categoryId").and_then(Value::as_i64).is_some_and(|category| category < 1))),
    own("pet.name-constraints", "any-text", "Any text is a name."),
    other("pet.name-constraints", "normalised")
        .does("Names are trimmed and brought to Unicode form C.")
        .like("names that are searched for")
        .make(|b| {
            b.edit_created(|pet| {
                change(pet, "name", |name| Some(name.as_str()?.trim().nfc().collect::<String>().into()));
            });
        }),
    other("pet.name-constraints", "ascii")
        .does("Names beyond ASCII are refused with 400.")
        .like("a column of old")
        .make(|b| constrain(b, 400, |name| !name.is_ascii())),
    other("pet.name-constraints", "ten-characters")
        .does("Names of more than ten characters are refused with 422.")
        .like("a narrow column")
        .make(|b| constrain(b, 422, |name| name.chars().count() > 10)),
    other("pet.name-constraints", "short-and-printable")
        .does("Names that are blank, longer than 40 bytes or hold control characters are refused with 422.")
        .like("names that are printed on labels")
        .make(|b| {
            constrain(b, 422, |name| name.trim().is_empty() || name.len() > 40 || name.chars().any(char::is_control));
        }),
    other("pet.name-constraints", "unique")
        .does("A name that is taken is refused with 400.")
        .like("a unique index")
        .make(|b| {
            b.layer(Layer::default().before(|request, server| {
                let taken = |pet: &Members| server.newest().iter().any(|known| known["name"] == pet["name"]);
                if request.is_create() && request.object().is_some_and(|pet| pet.contains_key("name") && taken(&pet)) {
                    request.body = b"{}".to_vec();
                }
                None
            }));
        }),
];
