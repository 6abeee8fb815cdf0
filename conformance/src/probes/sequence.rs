//! The walk through the outcomes of the operations: every outcome follows every other one, because faults of state show only after a
//! certain step.
//!
//! The seed draws the order. The walk decides which request is next, and judges nothing: the model for the responses is the history of the
//! rules, which includes all earlier ones.

use super::cost::Cost;
use super::session::{Session, Stop};
use super::steps::{creation, fetch, list, listed_ids, new_pet, query_of};
use animal_store_rules::catalogue::RunPart;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::request::STATUSES;
use animal_store_rules::trace::exchange::Request;

/// A kind of request, whose responses are of one kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Asked {
    List,
    ListOfStatus,
    ListOutsideOfRange,
    RecentAnimal,
    MissingAnimal,
    Orders,
    Creation,
    FaultyCreation,
}

/// A kind of request, and whether it is sent with the key.
type Stage = (Asked, bool);

const STAGES: [Stage; 12] = [
    (Asked::List, true),
    (Asked::ListOfStatus, true),
    (Asked::ListOutsideOfRange, true),
    (Asked::RecentAnimal, true),
    (Asked::MissingAnimal, true),
    (Asked::Orders, true),
    (Asked::Creation, true),
    (Asked::FaultyCreation, true),
    (Asked::List, false),
    (Asked::RecentAnimal, false),
    (Asked::Orders, false),
    (Asked::Creation, false),
];

fn creates((asked, _): Stage) -> bool {
    matches!(asked, Asked::Creation | Asked::FaultyCreation)
}

/// The stages of a run of this scope.
fn stages(scope: &Scope) -> Vec<Stage> {
    let (may_create, has_keyless) = (scope.profile.creates(), scope.needs(RunPart::Credentials));
    let mut stages = Vec::from(STAGES);
    stages.retain(|stage| (may_create || !creates(*stage)) && (has_keyless || stage.1));
    stages
}

/// The number of steps after which each stage has followed each.
pub(super) fn steps(scope: &Scope) -> usize {
    stages(scope).len().pow(2) + 1
}

/// The usual cost of a walk of this many steps.
pub(super) fn cost(steps: usize, scope: &Scope) -> Cost {
    let stages = stages(scope);
    let share = |count: usize| (steps * count).div_ceil(stages.len());
    let keyed = share(stages.iter().filter(|(_, has_key)| *has_key).count());
    Cost { keyed, keyless: steps - keyed, animals: share(stages.iter().filter(|stage| creates(**stage)).count() / 3) }
}

/// Walks this many steps.
pub(super) async fn run(session: &mut Session<'_>, steps: usize) -> Result<(), Stop> {
    session.begin("sequence");
    let stages = stages(&session.options.judging.scope);
    let mut random = fastrand::Rng::with_seed(session.options.seed);
    let mut walk = Vec::new();
    while walk.len() < steps {
        walk.extend(circuit(stages.len(), &mut random));
    }
    for place in walk.into_iter().take(steps) {
        let (asked, has_key) = stages[place];
        let request = request(session, asked);
        if has_key {
            session.ask(request).await?;
        } else {
            session.draw_without_key(request).await?;
        }
    }
    Ok(())
}

/// Draws a walk in which each of this many stages follows each of them once (an Eulerian circuit, by Hierholzer's algorithm).
fn circuit(stages: usize, random: &mut fastrand::Rng) -> Vec<usize> {
    let mut unused: Vec<Vec<usize>> = vec![(0..stages).collect(); stages];
    unused.iter_mut().for_each(|next| random.shuffle(next));
    let mut path = vec![random.usize(..stages)];
    let mut circuit = Vec::with_capacity(stages * stages + 1);
    while let Some(&at) = path.last() {
        match unused[at].pop() {
            Some(next) => path.push(next),
            None => circuit.extend(path.pop()),
        }
    }
    circuit
}

fn drawn<T: Copy>(session: &mut Session<'_>, choices: &[T]) -> T {
    choices[session.random.usize(..choices.len())]
}

fn drawn_limit(session: &mut Session<'_>) -> Option<u32> {
    session.random.bool().then(|| session.random.u32(1..=100))
}

fn request(session: &mut Session<'_>, asked: Asked) -> Request {
    match asked {
        Asked::List => list(&query_of(drawn_limit(session), None)),
        Asked::ListOfStatus => list(&query_of(drawn_limit(session), Some(drawn(session, &STATUSES)))),
        Asked::ListOutsideOfRange => list(drawn(session, &["limit=0", "limit=-1", "limit=101"])),
        Asked::RecentAnimal => {
            let mut ids = session.known_ids();
            if ids.is_empty() {
                ids = listed_ids(session.trace.exchanges.first());
            }
            match &ids[ids.len().saturating_sub(5)..] {
                [] => request(session, Asked::MissingAnimal),
                recent => fetch(drawn(session, recent)),
            }
        }
        Asked::MissingAnimal => fetch(session.random.i64(-(1 << 62)..-(1 << 61))),
        Asked::Orders => Request::new("GET", "/store/orders"),
        Asked::Creation => {
            let (name, category) = (session.fresh_name(), session.trace.context.category_id);
            let status = drawn(session, &STATUSES);
            let status = session.random.bool().then_some(status);
            Request::new("POST", "/pets").json(new_pet(session, &name, category, status))
        }
        Asked::FaultyCreation => {
            let templates = [
                r#"{"name":"@NAME@"}"#,
                r#"{"name":12345,"categoryId":@CATEGORY@}"#,
                r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#,
                "",
            ];
            let template = drawn(session, &templates);
            creation(session, template)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_circuit_has_each_pair_of_stages_once_and_the_seed_draws_the_order() {
        let drawn = |seed| circuit(STAGES.len(), &mut fastrand::Rng::with_seed(seed));
        for seed in 0..50 {
            let circuit = drawn(seed);
            let pairs: HashSet<&[usize]> = circuit.windows(2).collect();
            assert_eq!((circuit.len(), pairs.len()), (145, 144), "{seed}");
        }
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
