//! The animals of a run: their names and ids.

use std::hash::{BuildHasher, RandomState};

use super::Session;
use crate::http::clock::Clock;
use animal_store_rules::request::{MODEST_NAME, is_plain_name};
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::json::Json;

/// The source of names for animals: no name is used twice, not even by another run.
pub(super) struct Names {
    nonce: String,
    given: usize,
}

impl Names {
    /// The names of a run that starts now. Another run may start at the same time and must not take these animals for its own, so chance
    /// decides as well, unless the clock is simulated.
    pub(super) fn of_run_from_now(clock: &Clock) -> Names {
        let chance = if clock.is_simulated() { 0 } else { RandomState::new().hash_one(std::process::id()) };
        Names::new(clock.now().as_millisecond().unsigned_abs() ^ chance)
    }

    /// The names whose first letters stand for this number.
    fn new(number: u64) -> Names {
        let mut nonce = in_letters(number, NONCE);
        nonce[..1].make_ascii_uppercase();
        Names { nonce, given: 0 }
    }

    /// The letters that every name begins with.
    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    fn next(&mut self) -> String {
        self.given += 1;
        format!("{}{}", self.nonce, in_letters(self.given as u64, MODEST_NAME - NONCE))
    }

    /// Replaces each name of this run in a body by a new one.
    pub(super) fn renew(&mut self, body: &mut [u8]) {
        let name = self.next();
        for end in MODEST_NAME..=body.len() {
            let place = &mut body[end - MODEST_NAME..end];
            if place.starts_with(self.nonce.as_bytes()) {
                place.copy_from_slice(name.as_bytes());
            }
        }
    }
}

impl Session<'_> {
    /// A new plain name: one short word of letters, which any name constraint accepts.
    pub fn fresh_name(&mut self) -> String {
        self.names.next()
    }

    /// The request with a new name for each animal of this run in its body.
    pub fn renewed(&mut self, mut request: Request) -> Request {
        if let Some(body) = &mut request.body {
            self.names.renew(&mut body.bytes);
        }
        request
    }

    /// The ids in the responses to creations.
    pub fn known_ids(&self) -> Vec<i64> {
        self.trace.exchanges.iter().filter_map(Exchange::created_id).collect()
    }

    /// Creates animals in the category of these animals, unless the user has named a category or an animal has the present one.
    pub fn take_category_of(&mut self, animals: &[Json]) {
        let context = &mut self.trace.context;
        let known: Vec<i64> = animals.iter().filter_map(|animal| animal.get("categoryId")?.as_int64()).collect();
        if !context.vouches_for_category && !known.contains(&context.category_id) {
            context.category_id = known.first().copied().unwrap_or(context.category_id);
        }
    }

    /// The body of the last creation with a plain name, in the category of the run.
    pub fn last_plain_creation(&self) -> Option<Vec<u8>> {
        let created = self.trace.exchanges.iter().rev().filter(|exchange| exchange.created_id().is_some());
        created.filter_map(|exchange| exchange.request.body.as_ref()).find_map(|body| {
            let sent = Json::parse(&body.bytes).ok().filter(|_| body.content_type == "application/json")?;
            let Json::Object(members) = &sent else { return None };
            let is_known =
                members.iter().all(|(member, _)| ["name", "categoryId", "status"].contains(&member.as_str()));
            let is_usable = is_known && sent.get("categoryId")?.as_int64()? == self.trace.context.category_id;
            (is_usable && is_plain_name(sent.get("name")?.as_str()?)).then(|| body.bytes.clone())
        })
    }

    /// The id of the first animal that was created with this status.
    pub fn created_as(&self, status: &str) -> Option<i64> {
        let has_status = |exchange: &&Exchange| {
            let response = exchange.response().filter(|response| response.status == 201);
            let pet = response.and_then(|response| Json::parse(&response.body).ok());
            pet.is_some_and(|pet| pet.get("status").and_then(Json::as_str) == Some(status))
        };
        self.trace.exchanges.iter().find(has_status).and_then(Exchange::created_id)
    }

    /// The id of the first animal that was created without a status.
    pub fn created_without_status(&self) -> Option<i64> {
        let has_none = |exchange: &&Exchange| {
            let body = exchange.request.body.as_ref().and_then(|body| Json::parse(&body.bytes).ok());
            body.is_some_and(|body| body.get("status").is_none())
        };
        self.trace.exchanges.iter().filter(has_none).find_map(Exchange::created_id)
    }
}

/// The number of letters that all names of one run begin with.
const NONCE: usize = 7;

/// The last digits of a number, in letters.
fn in_letters(mut number: u64, digits: usize) -> String {
    let mut letters = vec!['a'; digits];
    for letter in letters.iter_mut().rev() {
        *letter = char::from(b'a' + (number % 26) as u8);
        number /= 26;
    }
    String::from_iter(letters)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn runs_that_start_at_the_same_time_have_names_of_their_own_unless_the_clock_is_simulated() {
        let nonces = |clock: fn() -> Clock| -> BTreeSet<String> {
            (0..100).map(|_| Names::of_run_from_now(&clock()).nonce().to_owned()).collect()
        };
        assert_eq!(nonces(Clock::system).len(), 100);
        assert_eq!(nonces(|| Clock::stepping_from(jiff::Timestamp::UNIX_EPOCH)).len(), 1);
    }

    #[test]
    fn only_a_whole_name_of_the_run_is_replaced_in_a_body() {
        let mut names = Names::new(1_780_315_200_000);
        let (name, nonce) = (names.next(), names.nonce().to_owned());
        let mut body = format!(r#"{{"name":"{name}","categoryId":1}}"#).into_bytes();
        names.renew(&mut body);
        let body = String::from_utf8(body).expect("a text");
        assert!(!body.contains(&name) && body.contains(&nonce), "{body}");
        for other in ["", "null", nonce.as_str()] {
            let mut body = other.as_bytes().to_vec();
            names.renew(&mut body);
            assert_eq!(body, other.as_bytes());
        }
    }
}
