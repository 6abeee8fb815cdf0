//! Variation that costs nothing: requests get header fields of different clients, as the seed draws them for each request.

use animal_store_rules::request::harmless::FIELDS;
use animal_store_rules::trace::exchange::{Connection, Request};

/// The differences that requests get.
#[derive(Debug)]
pub(super) struct Variation {
    pub(super) is_on: bool,
    /// The header fields of every request, which are never changed.
    given: Vec<String>,
    random: fastrand::Rng,
}

impl Variation {
    /// The variation of a run whose requests all have these header fields. It is off until the target is known to be usable.
    pub(super) fn new(seed: u64, given: &[(String, String)]) -> Variation {
        let given = given.iter().map(|(name, _)| name.clone()).collect();
        // The generator of the session draws other things.
        Variation { is_on: false, given, random: fastrand::Rng::with_seed(seed.rotate_left(32)) }
    }

    /// The request with fields that it lacks: half of the known ones, each with one of its values.
    pub(super) fn applied_to(&mut self, mut request: Request) -> Request {
        if !self.is_on {
            return request;
        }
        // The kept connection is that of a client which sends names in lower case.
        let has_capitals = self.random.bool() && request.connection == Connection::Own;
        for field in FIELDS {
            let is_drawn = self.random.bool();
            let value = field.values[self.random.usize(..field.values.len())];
            let mut known = request.headers.iter().map(|(name, _)| name).chain(&self.given);
            let is_kept = request.connection == Connection::Kept && field.name == "Connection";
            if is_drawn && !is_kept && !known.any(|name| name.eq_ignore_ascii_case(field.name)) {
                let name = if has_capitals { field.name.to_owned() } else { field.name.to_ascii_lowercase() };
                request = request.header(&name, value);
            }
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use animal_store_rules::request::harmless::{CAPITALS, differences};

    #[test]
    fn sixty_requests_have_nearly_every_pair_of_differences_and_keep_what_is_given() {
        for seed in 0..20 {
            let mut variation = Variation::new(seed, &[("accept".to_owned(), "x".to_owned())]);
            variation.is_on = true;
            let mut pairs = BTreeSet::new();
            for _ in 0..60 {
                let differences = differences(&variation.applied_to(Request::new("GET", "/pets")));
                assert!(!differences.contains(&"accept".to_owned()));
                for one in &differences {
                    pairs.extend(differences.iter().map(|other| (one.clone(), other.clone())));
                }
            }
            // Seven values of four fields, four names and the capitals; the values of one field exclude each other.
            assert!(pairs.iter().any(|(one, _)| one == CAPITALS));
            assert!(pairs.len() >= 88, "{seed}: {}", pairs.len());
        }
    }
}
