//! The distribution of requests over the addresses of a service that has several.
//!
//! Requests of each kind go to every address in turn, in an order that depends on the seed, so that no address gets more than its
//! share of any kind. An animal that was created at one address is read at another one.

use std::collections::HashMap;

use animal_store_rules::trace::exchange::{Connection, Exchange, Request};
use fastrand::Rng;

/// The number of requests on a kept connection to one address before the next address has its turn. State that one request leaves
/// on a connection shows in the next ones.
const ON_ONE_CONNECTION: usize = 6;

/// Makes the random order of the addresses independent of the other random choices, which use the same seed.
const SALT: u64 = 0x5eed_f1ee;

/// The turns of the addresses.
pub(super) struct Spread {
    random: Rng,
    /// The number of requests that each address has got, by its place.
    sent: Vec<usize>,
    /// The addresses whose turn is still to come, by the kind of the request.
    turns: HashMap<String, Vec<usize>>,
    /// The address at which an animal was created, by its id.
    created_at: HashMap<String, usize>,
    /// The address at which the last request created an animal, if it did.
    last_created_at: Option<usize>,
    /// The address that gets the requests on a kept connection, and the number of further requests that it gets.
    kept: Option<(usize, usize)>,
}

impl Spread {
    /// The turns of this many addresses, or none if there is only one.
    pub(super) fn new(addresses: usize, seed: u64) -> Option<Spread> {
        (addresses > 1).then(|| Spread {
            random: Rng::with_seed(seed ^ SALT),
            sent: vec![0; addresses],
            turns: HashMap::new(),
            created_at: HashMap::new(),
            last_created_at: None,
            kept: None,
        })
    }

    /// Sets the address of a request: the one that the request names, else the next.
    pub(super) fn place(&mut self, request: Request) -> Request {
        let at = match (request.replica, request.connection) {
            (Some(named), _) => named.min(self.sent.len() - 1),
            (None, Connection::Kept) => {
                let (at, left) = match self.kept {
                    Some((at, left)) if left > 0 => (at, left),
                    _ => (self.next(&request), ON_ONE_CONNECTION),
                };
                self.kept = Some((at, left - 1));
                at
            }
            (None, Connection::Own) => self.next(&request),
        };
        self.sent[at] += 1;
        request.at(Some(at))
    }

    /// Records the address at which an exchange created an animal.
    pub(super) fn note(&mut self, exchange: &Exchange) {
        self.last_created_at = None;
        if let (Some(id), Some(at)) = (exchange.created_id(), exchange.request.replica) {
            self.created_at.insert(id.to_string(), at);
            self.last_created_at = Some(at);
        }
    }

    /// A random address other than this one.
    pub(super) fn other_than(&mut self, at: usize) -> usize {
        let other = self.random.usize(..self.sent.len() - 1);
        if other < at { other } else { other + 1 }
    }

    /// The next address for a request of this kind, other than the address at which the requested animal was created.
    fn next(&mut self, request: &Request) -> usize {
        let written_at = match (request.method.as_str(), request.path.strip_prefix("/pets")) {
            ("GET", Some("")) => self.last_created_at,
            ("GET", Some(below)) => self.created_at.get(below.trim_start_matches('/')).copied(),
            _ => None,
        };
        let is_other = |at: &usize| Some(*at) != written_at;
        // The first request to an address shows whether it can be reached, so it comes early.
        if let Some(first) = (0..self.sent.len()).filter(is_other).find(|at| self.sent[*at] == 0) {
            return first;
        }
        let turns = self.turns.entry(kind(request)).or_default();
        if turns.is_empty() {
            turns.extend(0..self.sent.len());
            self.random.shuffle(turns);
        }
        match turns.iter().position(is_other) {
            Some(next) => turns.remove(next),
            None => self.other_than(written_at.unwrap_or_default()),
        }
    }
}

/// The kind of a request. The requests of each kind go to every address in turn.
fn kind(request: &Request) -> String {
    let path = if request.path.starts_with("/pets/") { "/pets/{petId}" } else { &request.path };
    let credential = if request.authorization.is_some() { "a credential" } else { "none" };
    let connection = if request.connection == Connection::Kept { "kept" } else { "own" };
    format!("{} {path} {credential} {connection}", request.method)
}

#[cfg(test)]
mod tests {
    use animal_store_rules::trace::exchange::{Outcome, Response};
    use animal_store_rules::trace::knowledge::Knowledge;
    use jiff::Timestamp;

    use super::*;

    fn created(id: i64, at: usize) -> Exchange {
        let body = format!(r#"{{"id":{id}}}"#).into_bytes();
        Exchange {
            number: 1,
            probe: "test".into(),
            step: String::new(),
            request: Request::new("POST", "/pets").at(Some(at)),
            outcome: Outcome::Response(Response { status: 201, headers: Vec::new(), body, cut: false }),
            sent_at: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            known: Knowledge::default(),
        }
    }

    fn place(spread: &mut Spread, request: Request) -> usize {
        spread.place(request).replica.expect("an address")
    }

    #[test]
    fn requests_of_each_kind_go_to_every_address_alike_and_to_the_same_with_the_same_seed() {
        assert!(Spread::new(1, 7).is_none(), "nothing to spread");
        let places = |seed| -> Vec<usize> {
            let mut spread = Spread::new(3, seed).expect("several addresses");
            (0..33).map(|_| place(&mut spread, Request::new("GET", "/pets"))).collect()
        };
        let first = places(7);
        assert_eq!(first[..3], [0, 1, 2], "each is reached early");
        for address in 0..3 {
            assert_eq!(first.iter().filter(|at| **at == address).count(), 11, "{first:?}");
        }
        assert_eq!(first, places(7));
        assert_ne!(first, places(8));
    }

    #[test]
    fn what_was_created_at_one_address_is_read_at_another_one() {
        let mut spread = Spread::new(3, 7).expect("several addresses");
        for _ in 0..20 {
            spread.note(&created(4711, 1));
            assert_ne!(place(&mut spread, Request::new("GET", "/pets").query("limit=100")), 1);
            assert_ne!(place(&mut spread, Request::new("GET", "/pets/4711")), 1);
        }
        assert_eq!(place(&mut spread, Request::new("GET", "/pets/4711").at(Some(1))), 1, "unless it is asked for");
    }

    #[test]
    fn several_requests_on_a_kept_connection_go_to_one_address() {
        let mut spread = Spread::new(2, 7).expect("several addresses");
        let places: Vec<usize> = (0..12).map(|_| place(&mut spread, Request::new("GET", "/pets").kept())).collect();
        assert!(places[..6].iter().all(|at| *at == places[0]) && places[6..].iter().all(|at| *at != places[0]));
    }
}
