//! Variation that costs nothing: requests get header fields of different clients, as the seed draws them for each request.

use crate::options::Transport;
use animal_store_rules::request::harmless::FIELDS;
use animal_store_rules::trace::exchange::{Connection, Request};

/// The differences that requests get.
#[derive(Debug)]
pub(super) struct Variation {
    pub(super) is_on: bool,
    random: fastrand::Rng,
}

impl Variation {
    /// The variation of a run. It is off until the target is known to be usable.
    pub(super) fn new(seed: u64) -> Variation {
        // The generator of the session draws other things.
        Variation { is_on: false, random: fastrand::Rng::with_seed(seed.rotate_left(32)) }
    }

    /// The request with fields that neither it nor the options set: half of the known ones, each with one of its values.
    pub(super) fn applied_to(&mut self, mut request: Request, transport: &Transport) -> Request {
        if !self.is_on {
            return request;
        }
        // The kept connection is that of a client which sends names in lower case.
        let has_capitals = self.random.bool() && request.connection == Connection::Own;
        for field in FIELDS {
            let is_drawn = self.random.bool();
            let value = field.values[self.random.usize(..field.values.len())];
            let is_given =
                transport.headers.iter().chain(&request.headers).any(|(name, _)| name.eq_ignore_ascii_case(field.name));
            let is_kept = request.connection == Connection::Kept && field.name == "Connection";
            if is_drawn && !is_kept && !is_given {
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
            let mut variation = Variation::new(seed);
            let mut transport = Transport::new("http://h/v1".to_owned());
            transport.headers = vec![("accept".to_owned(), "x".to_owned())];
            variation.is_on = true;
            let mut pairs = BTreeSet::new();
            for _ in 0..60 {
                let differences = differences(&variation.applied_to(Request::new("GET", "/pets"), &transport));
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
