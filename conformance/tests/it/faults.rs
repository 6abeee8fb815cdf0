//! Ways in which the candidate that shares no code with the reference can be broken, each with the requirement that must catch it.
//!
//! One for each section of the specification, so that what is proven with saboteurs of the reference is no peculiarity of theirs,
//! and those that no saboteur shows: they concern all answers of an operation, or what stands behind them.

use std::collections::HashSet;

use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, Party, catalogue};
use animal_store_rules::verdict::Verdict;

use crate::candidate::{Candidate, Nature};
use crate::{broken, options};

/// A way to be broken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    HangsUpOnCreate,
    ReusesIds,
    FailsOnList,
    Defaults50,
    RefusesSold,
    UnwrapsCategory,
    TakesAnyJson,
    GetsAnotherAnimal,
    NoOrders,
    TakesSuffixes,
    RefusesKeyOnCreate,
    EmptyErrors,
    WindowsOfSeconds,
    NothingRemains,
    NeverRecovers,
    RemovedEarly,
    /// Of one replica among others.
    NoReset,
    /// Of one replica among others.
    Forbids,
    /// Shown by generated requests only, so it has no test here.
    TrimsStatus,
}

impl Fault {
    /// Whether only an exhausted key and the window after it show the fault.
    fn shows_in_the_next_window(self) -> bool {
        matches!(self, Fault::WindowsOfSeconds | Fault::NothingRemains | Fault::NeverRecovers)
    }
}

/// Judges a server with one fault by the fixed part of a run: generated requests come on top.
async fn is_caught(fault: Fault, id: &str) {
    let (limit, first_window, profile) =
        if fault.shows_in_the_next_window() { (90, 15, Profile::Full) } else { (100_000, 60, Profile::Functional) };
    let candidate = Candidate::start(Nature { fault: Some(fault), limit, first_window, ..Nature::default() }).await;
    let mut options = options(&candidate.base_url, profile);
    options.cases = Some(0);
    options.strict = true;
    let report = candidate.judge(options).await.expect("a verdict");
    let caught = report.requirements.iter().any(|requirement| requirement.id == id && requirement.failures > 0);
    assert!(caught, "{fault:?} is not caught by {id}: {:?}, broken: {:#?}", report.verdict, broken(&report));
    assert_eq!(report.verdict, Verdict::Violates);
}

/// A test for each fault, and the list of them.
macro_rules! faults {
    ($($test:ident: $fault:ident, $id:literal;)*) => {
        const FAULTS: &[(Fault, &str)] = &[$((Fault::$fault, $id)),*];
        $(
            #[tokio::test]
            async fn $test() {
                is_caught(Fault::$fault, $id).await;
            }
        )*
    };
}

faults! {
    hangs_up_on_create: HangsUpOnCreate, "service.complete-answer";
    reuses_ids: ReusesIds, "pet.unique-id";
    fails_on_list: FailsOnList, "list.success";
    defaults_50: Defaults50, "list.limit-default";
    refuses_sold: RefusesSold, "create.success";
    unwraps_category: UnwrapsCategory, "create.category-type";
    takes_any_json: TakesAnyJson, "create.body-required";
    gets_another_animal: GetsAnotherAnimal, "get.success";
    no_orders: NoOrders, "orders.exists";
    takes_suffixes: TakesSuffixes, "auth.exact-key";
    refuses_key_on_create: RefusesKeyOnCreate, "auth.valid-key";
    empty_errors: EmptyErrors, "errors.shape";
    windows_of_seconds: WindowsOfSeconds, "headers.reset-time";
    nothing_remains: NothingRemains, "quota.not-exceeded";
    never_recovers: NeverRecovers, "quota.recovers";
    removed_early: RemovedEarly, "versioning.lifetime";
}

#[test]
fn every_section_with_a_requirement_that_can_fail_has_a_fault() {
    let section = |id: &str| catalogue().get(id).unwrap_or_else(|| panic!("{id} is no requirement")).section.as_str();
    let covered: HashSet<&str> = FAULTS.iter().map(|(_, id)| section(id)).collect();
    for requirement in catalogue().of(Party::Server).filter(|requirement| requirement.level != Level::Open) {
        let section = requirement.section.as_str();
        assert!(covered.contains(section), "no fault for a requirement of the section `{section}`");
    }
}
