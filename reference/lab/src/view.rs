//! The view of lists and fetches on the animals: their order, their delay, and their ids.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::members::{Members, change, set};
use crate::{Layer, Request, Response, ServerState};

/// The time of the first read of each animal, by its id.
#[derive(Default)]
struct Reads(HashMap<i64, Timestamp>);

/// A status by the times since the creation of an animal and since its first read.
type Course = fn(SignedDuration, Option<SignedDuration>) -> Option<&'static str>;

/// The view of lists and fetches on the animals.
#[derive(Clone, Copy, Default)]
pub(crate) struct View {
    /// Puts the animals of a list, newest first, in another order.
    pub(crate) order: Option<fn(&mut Vec<Value>, &ServerState)>,
    /// The time for which a list does not show a new animal.
    pub(crate) list_lag: SignedDuration,
    /// The time for which a fetch does not show a new animal.
    pub(crate) get_lag: SignedDuration,
    /// The later status of an animal that was created as available.
    pub(crate) course: Option<Course>,
    /// Whether a page has a link to the next one.
    pub(crate) links_pages: bool,
    /// Whether a list has the number of all animals that match.
    pub(crate) counts_all: bool,
    /// The factor by which ids are multiplied, modulo 2^64; odd, so that ids stay different. 0 leaves ids unchanged.
    pub(crate) ids: u64,
    /// Whether refused creations consume ids.
    pub(crate) has_gaps: bool,
}

impl View {
    /// The layers of a view, the outermost first.
    pub(crate) fn layers(self) -> Vec<Layer> {
        let mut layers = Vec::new();
        if self.ids != 0 {
            layers.push(renumbered(self.ids));
        }
        if self.has_gaps {
            layers.push(gapped());
        }
        let has_lag = self.list_lag + self.get_lag > SignedDuration::ZERO;
        if has_lag || self.order.is_some() || self.course.is_some() || self.links_pages || self.counts_all {
            layers.push(self.looked_at());
        }
        layers
    }

    fn looked_at(self) -> Layer {
        Layer::default().after(move |request, response, server| {
            if request.is_list() && response.status == 200 {
                self.list(request, response, server);
            }
            if request.is_get() && response.status == 200 {
                if request.id().is_some_and(|id| server.born(id) > server.timestamp() - self.get_lag) {
                    response.refuse(404);
                }
                response.edit_pets(|pet| self.age(server, pet, server.timestamp()));
                self.note_read(server, response.json().iter());
            }
        })
    }

    /// Replaces the list of the reference.
    fn list(self, request: &Request, response: &mut Response, server: &ServerState) {
        let (limit, status) = (request.page_size(), request.parameter("status"));
        let offset = request.number_of("offset").and_then(|offset| usize::try_from(offset).ok());
        let offset = offset.filter(|_| self.links_pages).unwrap_or(0);
        let mut pets = server.newest();
        // Each reading of a simulated clock may move it.
        let now = server.timestamp();
        pets.retain(|pet| pet["id"].as_i64().is_some_and(|id| server.born(id) <= now - self.list_lag));
        pets.iter_mut().filter_map(Value::as_object_mut).for_each(|pet| self.age(server, pet, now));
        if let Some(order) = self.order {
            order(&mut pets, server);
        }
        pets.retain(|pet| request.selects(pet));
        let all = pets.len();
        let page: Vec<Value> = pets.into_iter().skip(offset).take(limit).collect();
        if self.links_pages && offset + page.len() < all {
            let filter = status.map(|status| format!("&status={status}")).unwrap_or_default();
            response.add("link", format!("<?limit={limit}&offset={}{filter}>; rel=\"next\"", offset + limit));
        }
        if self.counts_all {
            response.set("x-total-count", all);
        }
        self.note_read(server, page.iter());
        response.set_json(page);
    }

    /// Records the time of the first read of animals, if they change.
    fn note_read<'a>(self, server: &ServerState, pets: impl Iterator<Item = &'a Value>) {
        if self.course.is_some() {
            let now = server.timestamp();
            server.own(|Reads(reads)| {
                for id in pets.filter_map(|pet| pet["id"].as_i64()) {
                    reads.entry(id).or_insert(now);
                }
            });
        }
    }

    /// Gives an animal that was created as available its present status.
    fn age(self, server: &ServerState, pet: &mut Members, now: Timestamp) {
        if let (Some(course), Some(id)) = (self.course, pet["id"].as_i64())
            && pet.get("status") == Some(&json!("available"))
        {
            let since = |time| now.duration_since(time);
            let read = server.own(|Reads(reads)| reads.get(&id).copied());
            if let Some(status) = course(since(server.born(id)), read.map(since)) {
                set(pet, "status", status);
            }
        }
    }
}

/// The layer that shows other ids than the reference's.
fn renumbered(factor: u64) -> Layer {
    let back = inverse(factor);
    Layer::default()
        .before(move |request, _| {
            request.look_up(|id| Some(times(id.parse().ok()?, back)));
            None
        })
        .after(move |_, response, _| {
            response.edit_pets(|pet| change(pet, "id", |id| Some(json!(times(id.as_i64()?, factor)))));
        })
}

/// The number of refused creations, and the shown id of each created animal by its id in the reference.
#[derive(Default)]
struct Gaps(i64, BTreeMap<i64, i64>);

/// The layer by which refused creations consume ids as well.
fn gapped() -> Layer {
    Layer::default()
        .before(|request, server| {
            if let Some(id) = request.id() {
                let own = server.own(|Gaps(_, created)| {
                    let is_of_stock = created.first_key_value().is_none_or(|(first, _)| id < *first);
                    let own = created.iter().find(|(_, shown)| **shown == id).map(|(own, _)| *own);
                    own.or(is_of_stock.then_some(id))
                });
                // An id that a refusal consumed belongs to no animal.
                request.path = format!("/pets/{}", own.unwrap_or(i64::MAX));
            }
            None
        })
        .after(|request, response, server| {
            server.own(|Gaps(refused, created)| {
                *refused += i64::from(request.is_create() && response.status == 400);
                response.edit_pets(|pet| {
                    change(pet, "id", |id| {
                        // A list may show a new animal before the response to its creation arrives here.
                        let id = id.as_i64().filter(|id| !server.is_of_start(*id))?;
                        let shown = created.get(&id).copied().unwrap_or_else(|| shown_as(id, *refused, created));
                        created.insert(id, shown);
                        Some(json!(shown))
                    });
                });
            });
        })
}

/// The shown id of an animal with this id in the reference, created after this number of refusals. A later one of concurrent
/// creations may have been answered first: refusals since then come after both.
fn shown_as(id: i64, refused: i64, created: &BTreeMap<i64, i64>) -> i64 {
    let skipped_by_the_next = created.range(id..).next().map(|(next, shown)| shown - next);
    id + skipped_by_the_next.map_or(refused, |skipped| refused.min(skipped))
}

fn times(id: i64, factor: u64) -> i64 {
    id.cast_unsigned().wrapping_mul(factor).cast_signed()
}

/// The factor that undoes a multiplication modulo 2^64, by Newton's method: each step doubles the correct bits.
fn inverse(factor: u64) -> u64 {
    (0..6).fold(factor, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_animals_get_one_id_in_whatever_order_their_creations_are_answered() {
        let mut created = BTreeMap::new();
        for (id, refused, shown) in [(3, 1, 4), (7, 1, 8), (6, 2, 7), (9, 2, 11), (8, 4, 10)] {
            assert_eq!(shown_as(id, refused, &created), shown, "{id}");
            created.insert(id, shown);
        }
    }

    #[test]
    fn ids_that_were_multiplied_are_found_again() {
        for factor in [3, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
            for id in [1, 2, 77, i64::MAX, i64::MIN] {
                assert_eq!(times(times(id, factor), inverse(factor)), id);
            }
        }
    }
}
