//! The animals: created, listed, fetched.

use std::collections::HashMap;

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::{Animal, Inner, Reply, Shared};
use crate::faults::Fault;

impl Shared {
    pub(super) fn store(&self, inner: &mut Inner, mut pet: Map<String, Value>) -> Map<String, Value> {
        inner.created += 1;
        let number = inner.created;
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
        inner.animals.push(Animal { pet: pet.clone(), born: self.clock.now() });
        pet
    }

    /// Reads a NewPet as strictly as the specification asks, but for the fault.
    pub(super) fn read(&self, body: &[u8]) -> Result<Map<String, Value>, ()> {
        let Ok(Value::Object(members)) = serde_json::from_slice(body) else {
            return if self.has(Fault::TakesAnyJson) && serde_json::from_slice::<Value>(body).is_ok() {
                Ok(json!({"name": "nobody", "categoryId": 1}).as_object().expect("an object").clone())
            } else {
                Err(())
            };
        };
        let mut pet = Map::new();
        match members.get("name") {
            Some(Value::String(name)) => pet.insert("name".to_owned(), json!(name)),
            Some(other) if self.has(Fault::CoercesName) => pet.insert("name".to_owned(), json!(other.to_string())),
            None if self.has(Fault::NameOptional) => pet.insert("name".to_owned(), json!("")),
            _ => return Err(()),
        };
        match members.get("categoryId") {
            Some(Value::Number(number)) if number.is_i64() => pet.insert("categoryId".to_owned(), json!(number)),
            Some(Value::Number(number)) if self.has(Fault::TruncatesCategory) => {
                pet.insert("categoryId".to_owned(), json!(number.as_f64().unwrap_or_default() as i64))
            }
            Some(Value::String(text)) if self.has(Fault::CoercesCategory) => {
                pet.insert("categoryId".to_owned(), json!(text.parse::<i64>().unwrap_or_default()))
            }
            Some(Value::Array(values))
                if self.has(Fault::UnwrapsCategory) && values.len() == 1 && values[0].is_i64() =>
            {
                pet.insert("categoryId".to_owned(), values[0].clone())
            }
            None if self.has(Fault::CategoryOptional) => pet.insert("categoryId".to_owned(), json!(0)),
            _ => return Err(()),
        };
        match members.get("status") {
            None => None,
            Some(Value::Null) if self.nature.odd => None,
            Some(Value::String(status)) if ["available", "pending", "sold"].contains(&status.as_str()) => {
                pet.insert("status".to_owned(), json!(status))
            }
            Some(Value::String(status)) if self.has(Fault::TrimsStatus) && status.trim_start() == "sold" => {
                pet.insert("status".to_owned(), json!("sold"))
            }
            Some(Value::String(status)) if self.has(Fault::TakesAnyStatusCase) && status == "Available" => {
                pet.insert("status".to_owned(), json!("available"))
            }
            Some(_) => return Err(()),
        };
        if self.has(Fault::HonoursIds)
            && let Some(id) = members.get("id")
        {
            pet.insert("id".to_owned(), id.clone());
        }
        if self.has(Fault::RefusesSold) && pet.get("status") == Some(&json!("sold")) {
            return Err(());
        }
        Ok(pet)
    }

    pub(super) fn create(&self, inner: &mut Inner, headers: &HeaderMap, body: &[u8]) -> Reply {
        let is_json =
            headers.get("content-type").is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        if !is_json && !self.nature.odd {
            return Reply::error(415);
        }
        match self.read(body) {
            Ok(pet) => {
                let mut shown = self.store(inner, pet);
                if self.has(Fault::RoundsCategories) {
                    let rounded = shown["categoryId"].as_i64().unwrap_or_default() as f64;
                    shown.insert("categoryId".to_owned(), json!(rounded as i64));
                }
                Reply::json(201, &Value::Object(shown))
            }
            Err(()) => {
                if self.has(Fault::StoresBeforeValidation)
                    && let Some(name) =
                        serde_json::from_slice::<Value>(body).ok().and_then(|v| Some(json!(v.get("name")?.as_str()?)))
                {
                    let pet: HashMap<&str, Value> = HashMap::from([("name", name), ("categoryId", json!(1))]);
                    self.store(inner, pet.into_iter().map(|(k, v)| (k.to_owned(), v)).collect());
                }
                let malformed = serde_json::from_slice::<Value>(body).is_err() && !body.is_empty();
                Reply::error(match self.nature.fault {
                    Some(Fault::FailsOnMalformedJson) if malformed => 500,
                    Some(Fault::RefusesWith422) => 422,
                    _ => 400,
                })
            }
        }
    }

    pub(super) fn list(&self, inner: &mut Inner, query: &str) -> Reply {
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let limit = match parameter("limit").map(str::parse::<usize>) {
            None => match self.nature.fault {
                Some(Fault::Defaults50) => 50,
                Some(Fault::Defaults10) => 10,
                _ => 20,
            },
            Some(Ok(1)) if self.has(Fault::RefusesLimit1) => return Reply::error(400),
            Some(Ok(100)) if self.has(Fault::RefusesLimit100) => return Reply::error(400),
            Some(Ok(limit)) if limit > 100 && self.has(Fault::NoMaximum) => limit,
            Some(Ok(0)) if self.has(Fault::FailsOnLimit0) => return Reply::error(500),
            // The odd one clamps and ignores, the other refuses.
            Some(Ok(limit)) if self.nature.odd => limit.clamp(1, 100),
            Some(Err(_)) if self.nature.odd => 20,
            Some(Ok(limit @ 1..=100)) => limit,
            Some(_) => return Reply::error(400),
        };
        let status = parameter("status");
        let known = status.is_none_or(|status| ["available", "pending", "sold"].contains(&status));
        if !known && !self.nature.odd && !self.has(Fault::FiltersInAnyCase) {
            return Reply::error(400);
        }
        let matches = |pet: &Map<String, Value>| match status {
            Some(_) if self.has(Fault::IgnoresFilter) => true,
            Some(status) if self.has(Fault::FiltersInAnyCase) => {
                pet.get("status") == Some(&json!(status.to_lowercase()))
            }
            Some(status) => pet.get("status").and_then(Value::as_str) == Some(status),
            None => true,
        };
        let lags = self.read_lags(inner);
        self.meddle(inner);
        let seen = self.seen_by_lagging_reads();
        let visible = inner.animals.iter().filter(|animal| !lags || animal.born < seen);
        let mut pets: Vec<Map<String, Value>> = visible.map(|animal| animal.pet.clone()).collect();
        if self.nature.odd {
            fastrand::shuffle(&mut pets);
        } else {
            pets.reverse();
        }
        if self.has(Fault::LimitsBeforeFilter) {
            pets.truncate(limit);
        }
        pets.retain(matches);
        if !self.has(Fault::IgnoresLimit) {
            pets.truncate(limit);
        }
        match self.nature.fault {
            Some(Fault::RepeatsAnimals) if pets.len() > 2 => pets[1] = pets[0].clone(),
            Some(Fault::ListsAnotherCategory) => {
                for pet in &mut pets {
                    pet.insert("categoryId".to_owned(), json!(5));
                }
            }
            _ => {}
        }
        if self.has(Fault::NullForNone) && pets.is_empty() {
            return Reply::json(200, &Value::Null);
        }
        if self.has(Fault::Envelope) {
            Reply::json(200, &json!({"items": pets}))
        } else {
            Reply::json(200, &json!(pets))
        }
    }

    /// Whether this read does not show what is new.
    fn read_lags(&self, inner: &mut Inner) -> bool {
        inner.reads += 1;
        self.nature.odd || self.nature.replicas_lag && inner.reads.is_multiple_of(2)
    }

    /// What somebody else does to the animals of the stock between two lists.
    fn meddle(&self, inner: &mut Inner) {
        if self.nature.is_busy && inner.reads.is_multiple_of(3) && inner.created as usize > self.nature.stock {
            inner.animals.remove(0);
            for animal in inner.animals.iter_mut().take(5) {
                let status = ["available", "pending", "sold"][inner.reads as usize % 3];
                animal.pet.insert("status".to_owned(), json!(status));
            }
        }
    }

    pub(super) fn get(&self, inner: &mut Inner, id: &str) -> Reply {
        let Ok(id) = id.parse::<i64>() else {
            return Reply::error(match self.nature.fault {
                Some(Fault::FailsOnMalformedId) => 500,
                _ if self.nature.odd => 400,
                _ => 404,
            });
        };
        if self.has(Fault::RemovedEarly) {
            return Reply::error(410);
        }
        let lags = self.read_lags(inner) || self.nature.fetches_lag;
        let found = inner.animals.iter().find(|animal| animal.pet.get("id") == Some(&json!(id)));
        let seen = self.seen_by_lagging_reads();
        match found.filter(|animal| !lags || animal.born < seen) {
            Some(animal) => {
                let mut pet = animal.pet.clone();
                match self.nature.fault {
                    Some(Fault::GetsAnotherAnimal) => drop(pet.insert("id".to_owned(), json!(id.wrapping_add(1)))),
                    Some(Fault::GetLosesStatus) => drop(pet.remove("status")),
                    _ => {}
                }
                Reply::json(200, &Value::Object(pet))
            }
            None if self.has(Fault::NegativeIdsAreBad) && id < 0 => Reply::error(400),
            None if self.has(Fault::NullForNobody) => Reply::json(200, &Value::Null),
            None => Reply::error(404),
        }
    }
}
