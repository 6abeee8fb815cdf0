//! List all animals.

use serde_json::{Value, json};

use super::{Builds, Fault, at, fault, rare, set, set_missing};
use crate::{Request, Response, ServerState};

/// The newest stored animals of a kind, with a limit.
fn page(limit: usize, server: &ServerState, which: impl Fn(&Value) -> bool) -> Vec<Value> {
    server.newest().into_iter().filter(|pet| which(pet)).take(limit).collect()
}

impl Fault {
    /// Sends another JSON text than a list of these animals, if the function returns one.
    fn lists_as(self, change: impl Fn(&[Value]) -> Option<Value> + Send + Sync + 'static) -> Fault {
        self.sends(at(200, Request::is_list), move |response| {
            if let Some(Value::Array(pets)) = response.json()
                && let Some(other) = change(&pets)
            {
                response.set_json(other);
            }
        })
    }

    /// Takes another value of a parameter for the requested one, or none, if the function returns it.
    pub(super) fn asks_for(
        self,
        name: &'static str,
        change: impl Fn(&Request) -> Option<Option<String>> + Send + Sync + 'static,
    ) -> Fault {
        self.edit(move |request, _| {
            if let Some(value) = change(request) {
                request.set_parameter(name, value.as_deref());
            }
        })
    }
}

/// Answers a list as the first one of this minute with its query was answered.
fn answer_from_cache(request: &Request, response: &mut Response, server: &ServerState) {
    if request.is_list() && response.status == 200 {
        match server.kept(request, server.now() % 60 + 1) {
            Some(first) => response.body = first.body,
            None => server.keep(request, response),
        }
    }
}

/// Lists this number of the stored animals, newest first, filtered as requested.
fn relist(request: &Request, response: &mut Response, server: &ServerState, limit: usize) {
    if request.is_list() && matches!(response.status, 200 | 400) {
        response.become_json(200, page(limit, server, |pet| request.selects(pet)));
    }
}

impl Fault {
    /// Gives lists another limit, if the function returns one, with this number of animals at the start.
    fn relists(self, stock: usize, limit: fn(&Request) -> Option<usize>) -> Fault {
        self.sets(|setting| setting.stock = stock).after(move |request, response, server| {
            if let Some(limit) = limit(request) {
                relist(request, response, server, limit);
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // Answers to lists.
        fault("list.success.partial-content", "A list with a limit gets 206.")
            .sends(at(200, |request| request.lists_by("limit")), |response| response.status = 206),
        fault("list.success.filter-fails", "A list of the pending animals gets 500.")
            .turns([200, 500], |request| request.lists_with("status", "pending")),
        fault("list.success.forgotten-value", "A list of the sold animals gets 400.")
            .turns([200, 400], |request| request.lists_with("status", "sold")),
        fault("list.array.envelope", "A list is an object with the animals in a member.")
            .lists_as(|pets| Some(json!({"items": pets, "limit": 20}))),
        fault("list.array.null-for-none", "An empty list is null.")
            .lists_as(|pets| pets.is_empty().then_some(Value::Null)),
        fault("list.array.bare-single", "A list of one animal is that animal, without an array.")
            .lists_as(|pets| if let [pet] = pets { Some(pet.clone()) } else { None }),
        fault("list.success.nothing-is-204", "An empty list gets 204.")
            .sends(|request, response, _| request.is_list() && response.body == b"[]", Response::empty),
        fault("list.bad-parameters.parameters-crash", "Bad parameters get 500.").turns([400, 500], Request::is_list),
        fault("list.bad-parameters.overflow-crash", "A limit of many digits gets 500.").turns([400, 500], |request| {
            request.is_list() && request.parameter("limit").is_some_and(|it| it.len() > 18)
        }),
        fault("list.bad-parameters.parameters-422", "Bad parameters get 422.").turns([400, 422], Request::is_list),
        // Filters.
        fault("list.status-filter.filter-ignored", "The status parameter is ignored.")
            .asks_for("status", |request| request.is_list().then_some(None)),
        fault("list.status-filter.any-case-filter", "A status parameter in another case is understood.")
            .asks_for("status", |request| Some(Some(request.parameter("status")?.to_lowercase()))),
        fault("list.status-filter.unknown-is-all", "A filter for an unknown status lists all animals.")
            .asks_for("status", |request| request.lists_by_unknown_status().then_some(None)),
        fault("list.status-filter.all-where-none-matches", "A filter that nothing matches lists all animals.").lists(
            |pets, request, server| {
                if request.lists_by("status") && pets.is_empty() {
                    *pets = page(request.page_size(), server, |_| true);
                }
            },
        ),
        fault("list.status-filter.none-counts-as-available", "A filter for available lists those without a status.")
            .lists(|pets, request, server| {
                if request.lists_with("status", "available") {
                    *pets = page(request.page_size(), server, |pet| {
                        pet["status"] == "available" || pet.get("status").is_none()
                    });
                }
            }),
        fault("list.complete.filter-after-limit", "A filtered page holds only the matches among the newest animals.")
            .lists(|pets, request, server| {
                if let Some(status) = request.parameter("status") {
                    *pets = page(request.page_size(), server, |_| true);
                    pets.retain(|pet| pet["status"] == status);
                }
            }),
        fault(
            "list.complete.filter-lags-by-one",
            "A filtered list lacks the newest animal until the next one is created.",
        )
        .lists(|pets, request, server| {
            let newest = server.newest().into_iter().next();
            pets.retain(|pet| !request.lists_by("status") || Some(pet) != newest.as_ref());
        }),
        fault("list.complete.cached-lists", "A list shows for up to a minute what it showed before.")
            .after(answer_from_cache),
        rare("list.complete.kept-for-a-status", "A list stays as it was for a minute, or until a status is created.")
            .after(|request, response, server| {
                if request.member("status").is_some() && response.status == 201 {
                    server.forget();
                }
                answer_from_cache(request, response, server);
            }),
        fault("list.complete.names-are-keys", "Of equal names, only the newest is listed.").lists(|pets, _, server| {
            let newest = server.newest();
            pets.retain(|pet| newest.iter().find(|other| other["name"] == pet["name"]) == Some(pet));
        }),
        fault("list.complete.filtered-by-ten", "A filtered list without a limit has no more than 10 animals.")
            .asks_for("limit", |request| {
                (request.lists_without("limit") && request.lists_by("status")).then(|| Some("10".to_owned()))
            }),
        fault("list.complete.inner-join", "Animals without a status are not listed.")
            .lists(|pets, _, _| pets.retain(|pet| pet.get("status").is_some())),
        fault("list.complete.first-page-for-ever", "Only the oldest 15 are listed.").lists(|pets, request, server| {
            let limit = request.page_size().min(15);
            let oldest: Vec<Value> = server.newest().into_iter().rev().take(limit).collect();
            pets.retain(|pet| oldest.contains(pet));
        }),
        // Contents of lists.
        fault("list.unique.joined-twice", "Each animal is listed twice.").lists(|pets, request, _| {
            *pets = pets.iter().flat_map(|pet| [pet.clone(), pet.clone()]).take(request.page_size()).collect();
        }),
        fault("list.unique.overlapping-shards", "The first animal is the last one as well.").lists(|pets, _, _| {
            if let [first, .., last] = pets.as_mut_slice() {
                last.clone_from(first);
            }
        }),
        fault("list.agrees.listed-as-available", "Listed animals are all available.")
            .shows_in(|request| request.lists_without("status"), |pet| set(pet, "status", "available")),
        fault("list.agrees.default-in-fetches", "A fetched animal without a status is available, unlike a listed one.")
            .shows_in(Request::is_get, |pet| set_missing(pet, "status", "available")),
        fault("list.agrees.category-not-loaded", "Listed animals have the category 0.")
            .shows_in(Request::is_list, |pet| set(pet, "categoryId", 0)),
        fault("list.agrees.short-names", "Listed names have eight characters.").shows_in(Request::is_list, |pet| {
            let name: String = pet["name"].as_str().unwrap_or("").chars().take(8).collect();
            set(pet, "name", name);
        }),
        fault("list.limit-minimum.minimum-exclusive", "A limit of 1 is refused.")
            .turns([200, 400], |request| request.lists_with("limit", "1")),
        fault("list.limit-minimum.one-more", "A list has one animal more than the limit.")
            .also(&["list.limit-honoured"])
            .answered(200, |request, response, server| relist(request, response, server, request.page_size() + 1)),
        fault("list.limit-maximum.maximum-exclusive", "A limit of 100 is refused.")
            .turns([200, 400], |request| request.lists_with("limit", "100")),
        fault("list.limit-maximum.no-maximum", "A limit over 100 is honoured.").relists(150, Request::limit),
        fault("list.limit-maximum.wraps-past-the-maximum", "A limit over 4,294,967,296 is honoured.")
            .relists(150, |request| request.limit().filter(|limit| *limit > 1 << 32)),
        fault("list.limit-maximum.a-thousand-at-most", "A limit of 1,000 is honoured.")
            .relists(150, |request| request.limit().filter(|limit| *limit == 1_000)),
        rare("list.limit-maximum.unusable-is-all", "A limit that is no number lists all animals.")
            .relists(0, |request| request.parameter("limit")?.parse::<i64>().is_err().then_some(usize::MAX)),
        fault("list.limit-default.fifty", "A list without a limit has up to 50 animals.")
            .sets(|setting| setting.stock = 60)
            .asks_for("limit", |request| request.lists_without("limit").then(|| Some("50".to_owned()))),
        fault("list.limit-default.ten", "A list without a limit has no more than 10 animals.")
            .asks_for("limit", |request| request.lists_without("limit").then(|| Some("10".to_owned()))),
        fault("list.limit-default.no-default", "A list without a limit has all animals.")
            .relists(40, |request| request.parameter("limit").is_none().then_some(usize::MAX)),
        rare("list.limit-default.all-by-status", "A list by status without a limit has all animals of that status.")
            .relists(0, |request| (request.lists_by("status") && request.lists_without("limit")).then_some(usize::MAX)),
        fault("list.limit-honoured.limit-lost-in-filter", "A small limit is ignored where a status is given.")
            .asks_for("limit", |request| (request.lists_by("status") && request.limit()? < 20).then_some(None)),
        fault("list.limit-honoured.pages-of-ten", "A limit is rounded up to tens.").asks_for("limit", |request| {
            let limit = request.limit().filter(|limit| request.is_list() && (1..=100).contains(limit))?;
            Some(Some((limit.div_ceil(10) * 10).to_string()))
        }),
        fault("list.status-filter.prefix", "A filter lists the animals whose status begins with its value.").after(
            |request, response, server| {
                if let Some(part) = request.parameter("status").filter(|_| request.is_list() && response.status == 400)
                {
                    let begins = |pet: &Value| pet["status"].as_str().is_some_and(|status| status.starts_with(part));
                    response.become_json(200, page(request.page_size(), server, begins));
                }
            },
        ),
        fault(
            "list.complete.twenty-of-a-status",
            "A filtered list has no more than 20 animals, whatever its limit is.",
        )
        .lists(|pets, request, _| pets.truncate(if request.lists_by("status") { 20 } else { 100 })),
        fault("list.complete.lags-for-eight-seconds", "A list lacks the animals of the last eight seconds.").lists(
            |pets, _, server| {
                let is_old = |id| server.timestamp().duration_since(server.born(id)).as_secs() >= 8;
                pets.retain(|pet| pet["id"].as_i64().is_some_and(is_old));
            },
        ),
    ]
}
