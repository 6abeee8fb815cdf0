//! The animals: created, listed, fetched.

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::{Animal, Inner, Reply, Shared};
use crate::faults::Fault;

impl Shared {
    pub(super) fn store(&self, inner: &mut Inner<'_>, mut pet: Map<String, Value>) -> Map<String, Value> {
        inner.stock.created += 1;
        let number = self.nature.ids_after + inner.stock.created;
        let id = match self.nature.fault {
            Some(Fault::ReusesIds) => i64::try_from(number % 5).expect("small"),
            // The odd one scatters its ids over all of int64.
            _ if self.nature.odd => number.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed(),
            _ => i64::try_from(number).expect("small"),
        };
        pet.entry("id").or_insert(json!(id));
        if self.nature.odd {
            pet.entry("status").or_insert(json!("pending"));
            pet.insert("createdAt".to_owned(), json!("2026-01-01T00:00:00Z"));
        }
        inner.stock.animals.push(Animal { pet: pet.clone(), born: self.time(), home: self.place });
        pet
    }

    /// Reads a NewPet as strictly as the specification asks, but for the fault.
    pub(super) fn read(&self, body: &[u8]) -> Result<Map<String, Value>, ()> {
        let Ok(Value::Object(members)) = serde_json::from_slice(body) else {
            return Err(());
        };
        let mut pet = Map::new();
        match members.get("name") {
            Some(Value::String(name)) => pet.insert("name".to_owned(), json!(name)),
            _ => return Err(()),
        };
        match members.get("categoryId") {
            Some(Value::Number(number)) if number.is_i64() => pet.insert("categoryId".to_owned(), json!(number)),
            Some(Value::Number(number)) if self.has(Fault::RoundsLargeFractions) => {
                let is_large = |number: f64| number.fract() != 0.0 && number.abs() > 1e3;
                if !number.as_f64().is_some_and(is_large) {
                    return Err(());
                }
                pet.insert("categoryId".to_owned(), json!(1))
            }
            _ => return Err(()),
        };
        match members.get("status") {
            None => None,
            Some(Value::Null) if self.nature.odd => None,
            Some(Value::String(status)) if ["available", "pending", "sold"].contains(&status.as_str()) => {
                pet.insert("status".to_owned(), json!(status))
            }
            Some(_) => return Err(()),
        };
        if self.has(Fault::RefusesSold) && pet.get("status") == Some(&json!("sold")) {
            return Err(());
        }
        Ok(pet)
    }

    pub(super) fn create(&self, inner: &mut Inner<'_>, headers: &HeaderMap, body: &[u8]) -> Reply {
        let is_json =
            headers.get("content-type").is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        if !is_json && !self.nature.odd {
            return Reply::error(415);
        }
        match self.read(body) {
            Ok(pet) => Reply::json(201, &Value::Object(self.store(inner, pet))),
            Err(()) => Reply::error(400),
        }
    }

    pub(super) fn list(&self, inner: &mut Inner<'_>, query: &str) -> Reply {
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let limit = match parameter("limit").map(str::parse::<usize>) {
            None if self.has(Fault::Defaults50) => 50,
            None => 20,
            // The odd one clamps and ignores, the other refuses.
            Some(Ok(limit)) if self.nature.odd => limit.clamp(1, 100),
            Some(Err(_)) if self.nature.odd => 20,
            Some(Ok(limit @ 1..=100)) => limit,
            Some(_) => return Reply::error(400),
        };
        let status = parameter("status");
        let known = status.is_none_or(|status| ["available", "pending", "sold"].contains(&status));
        if !known && !self.nature.odd {
            return Reply::error(400);
        }
        let matches =
            |pet: &Map<String, Value>| status.is_none() || pet.get("status").and_then(Value::as_str) == status;
        let lags = self.read_lags(inner);
        self.meddle(inner);
        let seen = self.seen_by_lagging_reads();
        let visible =
            inner.stock.animals.iter().filter(|animal| (!lags || animal.born < seen) && self.has_arrived(animal));
        let mut pets: Vec<Map<String, Value>> = visible.map(|animal| animal.pet.clone()).collect();
        if self.nature.odd {
            fastrand::shuffle(&mut pets);
        } else {
            pets.reverse();
        }
        pets.retain(matches);
        pets.truncate(limit);
        Reply::json(200, &json!(pets))
    }

    /// Whether this read does not show what is new.
    fn read_lags(&self, inner: &mut Inner<'_>) -> bool {
        inner.stock.reads += 1;
        self.nature.odd || self.nature.replicas_lag && inner.stock.reads.is_multiple_of(2)
    }

    /// What somebody else does to the animals of the stock between two lists.
    fn meddle(&self, inner: &mut Inner<'_>) {
        if self.nature.is_busy
            && inner.stock.reads.is_multiple_of(3)
            && inner.stock.created as usize > self.nature.stock
        {
            inner.stock.animals.remove(0);
            let status = ["available", "pending", "sold"][inner.stock.reads as usize % 3];
            for animal in inner.stock.animals.iter_mut().take(5) {
                animal.pet.insert("status".to_owned(), json!(status));
            }
        }
    }

    pub(super) fn get(&self, inner: &mut Inner<'_>, id: &str) -> Reply {
        let Ok(id) = id.parse::<i64>() else {
            return Reply::error(if self.nature.odd { 400 } else { 404 });
        };
        if self.has(Fault::RemovedEarly) {
            return Reply::error(410);
        }
        let lags = self.read_lags(inner);
        let found = inner.stock.animals.iter().find(|animal| animal.pet.get("id") == Some(&json!(id)));
        let seen = self.seen_by_lagging_reads();
        match found.filter(|animal| (!lags || animal.born < seen) && self.has_arrived(animal)) {
            Some(animal) => {
                let mut pet = animal.pet.clone();
                if self.has(Fault::GetsAnotherAnimal) {
                    pet.insert("id".to_owned(), json!(id.wrapping_add(1)));
                }
                Reply::json(200, &Value::Object(pet))
            }
            None => Reply::error(404),
        }
    }
}
