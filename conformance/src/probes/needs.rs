//! What a run sends for which requirements: with `--only`, the parts that the selected ones need, and no others.

use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::catalogue::{Party, catalogue};

/// A part of a run that is left out where no selected requirement needs it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// Lists of each status before anything is created.
    FirstLists,
    /// Store orders.
    Orders,
    /// Creations, valid and invalid.
    Creations,
    /// Fetches of animals.
    Fetches,
    /// Fetches with identifiers that no animal has, or that are none.
    OtherIds,
    /// Requests without a valid key.
    Credentials,
    /// Lists of every kind.
    Lists,
    /// Near misses; those among them that are [`Part::OtherIds`] may be needed without the others.
    NearMisses,
    /// More animals than a list may show.
    FullPage,
    /// Generated requests.
    Generated,
    /// The exhaustion of a key.
    Exhaustion,
}

use Part::{
    Creations, Credentials, Exhaustion, Fetches, FirstLists, FullPage, Generated, Lists, NearMisses, Orders, OtherIds,
};

/// What is sent for a requirement; nothing where it concerns every response, and so needs all of a run.
fn parts_for(requirement: &str) -> Option<&'static [Part]> {
    match requirement {
        "get.not-found" | "get.malformed-id" => Some(&[OtherIds]),
        _ => match requirement.split('.').next()? {
            "orders" => Some(&[Orders]),
            "versioning" => Some(&[Orders, Creations, Fetches, OtherIds]),
            "pet" | "list" | "create" | "get" => {
                Some(&[FirstLists, Creations, Fetches, OtherIds, Lists, NearMisses, FullPage, Generated])
            }
            "auth" => {
                Some(&[FirstLists, Orders, Creations, Fetches, OtherIds, Credentials, Lists, NearMisses, Exhaustion])
            }
            _ => None,
        },
    }
}

impl Part {
    /// Whether a run of this scope sends it.
    #[must_use]
    pub(super) fn is_needed(self, scope: &Scope) -> bool {
        let is_of_profile = self != Exhaustion || scope.profile.exhausts();
        let selected = || catalogue().of(Party::Server).filter(|requirement| scope.selects(&requirement.id));
        // Without a selection, a run also observes which choices the server has made.
        let is_selected = scope.only.is_empty()
            || selected().any(|found| parts_for(&found.id).is_none_or(|parts| parts.contains(&self)));
        is_of_profile && is_selected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_rules::catalogue::scope::Profile;

    fn is_needed(part: Part, only: &[&str]) -> bool {
        let only = only.iter().map(|id| (*id).to_owned()).collect();
        part.is_needed(&Scope { only, ..Scope::default() })
    }

    #[test]
    fn a_selected_requirement_is_sent_what_it_needs_and_no_more() {
        assert!(is_needed(OtherIds, &["get.not-found"]));
        for part in [Creations, Lists, NearMisses, Credentials, Exhaustion] {
            assert!(!is_needed(part, &["get.not-found"]), "{part:?}");
        }
        assert!(is_needed(Creations, &["get"]), "a prefix selects several");
        assert!(!is_needed(Exhaustion, &["list", "create"]) && is_needed(Exhaustion, &["list", "quota.recovers"]));
    }

    #[test]
    fn every_requirement_needs_something_and_a_run_without_a_selection_all() {
        for requirement in catalogue().of(Party::Server) {
            assert!(parts_for(&requirement.id).is_none_or(|parts| !parts.is_empty()), "{}", requirement.id);
        }
        assert!(is_needed(Exhaustion, &[]) && is_needed(Generated, &[]));
        let functional = Scope { profile: Profile::Functional, ..Scope::default() };
        assert!(!Exhaustion.is_needed(&functional));
    }
}
