//! How lists and fetches look at the animals: in which order, how late, and under which ids.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::layers::{Layer, ServerState};

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Order {
    /// As the reference has it.
    #[default]
    Newest,
    Oldest,
    ByName,
    Random,
}

/// How lists and fetches look at the animals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    pub(super) order: Order,
    /// How long a list does not show a new animal.
    pub(super) list_lag: SignedDuration,
    /// How long a fetch does not show a new animal.
    pub(super) get_lag: SignedDuration,
    /// What ids are multiplied by, modulo 2^64; odd, so that no two become the same. 0 leaves them alone.
    pub(super) ids: u64,
}

impl View {
    /// The layers of a view, the outermost first.
    pub(super) fn layers(self) -> Vec<Layer> {
        let mut layers = Vec::new();
        if self.ids != 0 {
            layers.push(renumbered(self.ids));
        }
        if self.order != Order::Newest || self.list_lag > SignedDuration::ZERO || self.get_lag > SignedDuration::ZERO {
            layers.push(self.looked_at());
        }
        layers
    }

    fn looked_at(self) -> Layer {
        Layer::default().after(move |request, response, server| {
            let limit = request.number_of("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(20);
            let status = request.parameter("status");
            response.edit_list(request, |pets| {
                *pets = self.listed(server);
                pets.retain(|pet| status.is_none_or(|status| pet["status"] == status));
                pets.truncate(limit);
            });
            if request.is_get() && response.status == 200 && request.id().is_some_and(|id| self.is_too_new(server, id))
            {
                response.refuse(404);
            }
        })
    }

    fn listed(self, server: &ServerState) -> Vec<Value> {
        let seen = server.instant() - self.list_lag;
        let born = |(_, born): &&(Value, Timestamp)| *born <= seen;
        let mut pets: Vec<Value> = server.memory().pets.iter().filter(born).map(|(pet, _)| pet.clone()).collect();
        match self.order {
            Order::Newest => pets.reverse(),
            Order::Oldest => {}
            Order::ByName => pets.sort_by_key(|pet| pet["name"].to_string()),
            Order::Random => fastrand::Rng::with_seed(server.count()).shuffle(&mut pets),
        }
        pets
    }

    fn is_too_new(self, server: &ServerState, id: i64) -> bool {
        let seen = server.instant() - self.get_lag;
        server.memory().pets.iter().any(|(pet, born)| pet["id"] == id && *born > seen)
    }
}

/// Other ids than the reference's.
fn renumbered(factor: u64) -> Layer {
    let back = inverse(factor);
    Layer::default()
        .before(move |request, _| {
            if let Some(id) = request.id().filter(|_| request.is_get()) {
                request.path = format!("/pets/{}", times(id, back));
            }
            None
        })
        .after(move |_, response, _| {
            response.edit_pets(|pet| {
                let id = times(pet["id"].as_i64().expect("an id"), factor);
                pet.insert("id".to_owned(), json!(id));
            });
        })
}

fn times(id: i64, factor: u64) -> i64 {
    id.cast_unsigned().wrapping_mul(factor).cast_signed()
}

/// What undoes a multiplication modulo 2^64, by Newton's method: each step doubles the bits that are right.
fn inverse(factor: u64) -> u64 {
    (0..6).fold(factor, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse))))
}

#[test]
fn ids_that_were_multiplied_are_found_again() {
    for factor in [3, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
        for id in [1, 2, 77, i64::MAX, i64::MIN] {
            assert_eq!(times(times(id, factor), inverse(factor)), id);
        }
    }
}
