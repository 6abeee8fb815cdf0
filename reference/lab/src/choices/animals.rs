//! Choices about animals: their order, their ids, the accepted bodies, and the delay until an animal is visible.

use fastrand::Rng;
use jiff::SignedDuration;
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

use super::{Builds, Choice, Members, other, own};
use crate::ServerState;
use crate::members::{change, set_missing};

impl Choice {
    /// Refuses the bodies of some creations.
    fn refuses(self, which: impl Fn(&Members, &ServerState) -> bool + Send + Sync + 'static) -> Choice {
        self.edit(move |request, server| {
            if request.pet().is_some_and(|pet| which(&pet, server)) {
                // The reference refuses this one with 400.
                request.body = b"{}".to_vec();
            }
        })
    }

    /// Refuses names with a status of the service's own.
    fn refuses_names(self, status: u16, which: fn(&str) -> bool) -> Choice {
        let spoils = move |pet: &Members| pet.get("name").and_then(Value::as_str).is_some_and(which);
        let faultless = move |pet: &Members| spoils(pet) && pet.get("categoryId").is_some_and(Value::is_i64);
        self.turns([400, status], move |request| request.pet().is_some_and(|pet| faultless(&pet)))
            .refuses(move |pet, _| spoils(pet))
    }
}

/// A server that has animals at the start.
fn stock(count: usize, short: &'static str, does: &'static str) -> Choice {
    other("list.complete/stock", short, does).sets(|setting| setting.stock = count)
}

/// The axis of the later states of animals.
const TRANSITIONS: &str = "pet.status-transitions";

/// The axis of the names that are refused or changed.
const NAMES: &str = "pet.name-constraints";

pub(super) fn choices() -> Vec<Choice> {
    vec![
        own("list.order", "newest-first", "The newest animal comes first."),
        other("list.order", "oldest-first", "The oldest animal comes first.")
            .views(|view| view.order = Some(|pets, _| pets.reverse())),
        other("list.order", "by-name", "Animals are listed by name.")
            .views(|view| view.order = Some(|pets, _| pets.sort_by_key(|pet| pet["name"].to_string()))),
        other("list.order", "random", "Each list has an order of its own.")
            .views(|view| view.order = Some(|pets, server| Rng::with_seed(server.count()).shuffle(pets))),
        own("list.pagination", "first-page-only", "Only the first page can be had, and nothing leads to another."),
        other("list.pagination", "next-link", "A full page has a Link to the next one, by an offset.")
            .views(|view| view.links_pages = true),
        other("list.pagination", "total-count", "X-Total-Count is the number of animals that match.")
            .views(|view| view.counts_all = true),
        own("pet.unique-id", "counted", "Ids are counted from 1."),
        other("pet.unique-id", "negative", "Ids are negative.").views(|view| view.ids = u64::MAX),
        other("pet.unique-id", "scattered", "Ids are all over int64.").views(|view| view.ids = 0x9e37_79b9_7f4a_7c15),
        other("pet.unique-id", "beyond-a-double", "Ids are whole numbers that a double cannot hold.")
            .views(|view| view.ids = (1 << 61) + 1),
        own("pet.unique-id/refused", "no-gaps", "A refused creation consumes no id."),
        other("pet.unique-id/refused", "gaps-for-refused", "A refused creation consumes an id.")
            .views(|view| view.has_gaps = true),
        own("list.complete", "at-once", "A list shows a new animal at once."),
        other("list.complete", "300-ms-later", "A list shows a new animal 300 ms later.")
            .views(|view| view.list_lag = SignedDuration::from_millis(300)),
        other("list.complete", "4-s-later", "A list shows a new animal 4 s later.")
            .views(|view| view.list_lag = SignedDuration::from_secs(4)),
        own("get.success", "at-once", "An animal can be fetched at once."),
        other("get.success", "300-ms-later", "An animal can be fetched 300 ms later.")
            .views(|view| view.get_lag = SignedDuration::from_millis(300)),
        other("get.success", "4-s-later", "An animal can be fetched 4 s later.")
            .views(|view| view.get_lag = SignedDuration::from_secs(4)),
        own("list.complete/stock", "no-stock", "There is no animal at the start."),
        stock(30, "stock-of-30", "There are 30 animals at the start."),
        stock(400, "stock-of-400", "There are 400 animals at the start."),
        stock(50, "stock-renamed-by-others", "There are 50 animals at the start, sometimes renamed.").after(
            |_, response, server| {
                let renamed = server.count() / 40;
                let other = |name: &str| name.starts_with("Stock").then(|| format!("{name} {renamed}"));
                response.edit_pets(|pet| change(pet, "name", |name| Some(other(name.as_str()?)?.into())));
            },
        ),
        own("create.unknown-members", "ignored", "Members that are not described are ignored."),
        other("create.unknown-members", "refused", "A body with members that are not described is refused with 400.")
            .refuses(|pet, _| pet.keys().any(|key| !["name", "categoryId", "status", "id"].contains(&key.as_str()))),
        own("create.client-id", "ignored", "An id in the body is ignored."),
        other("create.client-id", "refused", "A body with an id is refused with 400.")
            .refuses(|pet, _| pet.contains_key("id")),
        own("create.null-status", "refused", "A status of null is refused with 400."),
        other("create.null-status", "absent", "A status of null is the same as none.")
            .edit_created(|pet| pet.retain(|name, value| name != "status" || !value.is_null())),
        own("pet.status-default", "absent", "An animal that was created without a status has none."),
        other("pet.status-default", "available", "An animal that was created without a status is available.")
            .edit_created(|pet| set_missing(pet, "status", "available")),
        other("pet.status-default", "pending-after-creation", "An animal created without a status is pending later.")
            .shows_in(|request| request.lacks("status"), |pet| drop(pet.remove("status")))
            .edit_created(|pet| set_missing(pet, "status", "pending")),
        own(TRANSITIONS, "none", "The status of an animal never changes."),
        other(TRANSITIONS, "sold-in-a-minute", "An available animal is sold a minute after it is read.")
            .views(|view| view.course = Some(|_, read| (read?.as_secs() >= 60).then_some("sold"))),
        other(TRANSITIONS, "sold-in-six-seconds", "An available animal is sold six seconds after its 201.")
            .views(|view| view.course = Some(|age, _| (age.as_secs() >= 6).then_some("sold"))),
        other(TRANSITIONS, "reserved-for-a-time", "An available animal is pending from 10 s to 40 s of age.")
            .views(|view| view.course = Some(|age, _| (10..40).contains(&age.as_secs()).then_some("pending"))),
        own("create.integral-number", "any-form", "7.0 and 7e0 are 7."),
        other("create.integral-number", "digits-only", "A category id with a point or an exponent gets 400.")
            .refuses(|pet, _| pet.get("categoryId").is_some_and(Value::is_f64)),
        own("pet.categories", "any", "Every category is known."),
        other("pet.categories", "one", "Only category 1 is known; others are refused with 400.")
            .refuses(|pet, _| pet.get("categoryId").is_some_and(|category| category != &json!(1))),
        other("pet.categories", "positive", "Only positive category ids are known; others are refused with 400.")
            .refuses(|pet, _| pet.get("categoryId").and_then(Value::as_i64).is_some_and(|category| category < 1)),
        own(NAMES, "any-text", "Any text is a name."),
        other(NAMES, "normalised", "Names are trimmed and in Unicode form C.")
            .reads("name", |name| Some(name.as_str()?.trim().nfc().collect::<String>().into())),
        other(NAMES, "ascii", "Names beyond ASCII are refused with 400.").refuses_names(400, |name| !name.is_ascii()),
        other(NAMES, "ten-characters", "Names of more than ten characters are refused with 422.")
            .refuses_names(422, |name| name.chars().count() > 10),
        other(NAMES, "short-and-printable", "Names that are blank, unprintable or over 40 bytes get 422.")
            .refuses_names(422, |name| name.trim().is_empty() || name.len() > 40 || name.chars().any(char::is_control)),
        other(NAMES, "unique", "A name that is taken is refused with 400.").refuses(|pet, server| {
            pet.contains_key("name") && server.newest().iter().any(|known| known["name"] == pet["name"])
        }),
    ]
}
