//! The walk through the outcomes of the operations: every outcome follows every other one, because faults of state show only after a
//! certain step.
//!
//! The seed draws the order. The walk decides which request is next, and judges nothing: the model for the responses is the history of the
//! rules, which includes all earlier ones.

use super::cost::Cost;
use super::session::{Session, Stop};
use super::steps::{fetch, filled, list, listed_ids, new_pet, query_of};
use animal_store_rules::catalogue::RunPart;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::request::STATUSES;
use animal_store_rules::trace::exchange::Request;

/// A request whose response is of one kind.
struct Stage {
    request: fn(&mut Session<'_>) -> Request,
    has_key: bool,
    creates: bool,
}

const fn stage(request: fn(&mut Session<'_>) -> Request) -> Stage {
    Stage { request, has_key: true, creates: false }
}

const STAGES: [Stage; 12] = [
    stage(any_list),
    stage(list_of_a_status),
    stage(list_with_a_limit_outside_of_the_range),
    stage(fetch_of_a_recent_animal),
    stage(fetch_of_a_missing_animal),
    stage(orders),
    Stage { creates: true, ..stage(creation) },
    Stage { creates: true, ..stage(faulty_creation) },
    Stage { has_key: false, ..stage(any_list) },
    Stage { has_key: false, ..stage(fetch_of_a_recent_animal) },
    Stage { has_key: false, ..stage(orders) },
    Stage { has_key: false, creates: true, ..stage(creation) },
];

/// The stages of a run of this scope.
fn stages(scope: &Scope) -> Vec<Stage> {
    let (creates, has_keyless) = (scope.profile.creates(), scope.needs(RunPart::Credentials));
    let mut stages = Vec::from(STAGES);
    stages.retain(|stage| (creates || !stage.creates) && (has_keyless || stage.has_key));
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
    let keyed = share(stages.iter().filter(|stage| stage.has_key).count());
    Cost { keyed, keyless: steps - keyed, animals: share(stages.iter().filter(|stage| stage.creates).count() / 3) }
}

/// Walks this many steps.
pub(super) async fn run(session: &mut Session<'_>, steps: usize, scope: &Scope) -> Result<(), Stop> {
    session.begin("sequence");
    let stages = stages(scope);
    let mut random = fastrand::Rng::with_seed(session.seed);
    let mut walk = Vec::new();
    while walk.len() < steps {
        walk.extend(circuit(stages.len(), &mut random));
    }
    for place in walk.into_iter().take(steps) {
        let stage = &stages[place];
        let request = (stage.request)(session);
        if stage.has_key {
            session.ask(request).await?;
        } else {
            session.ask_without_key(request).await?;
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

fn any_list(session: &mut Session<'_>) -> Request {
    list(&query_of(drawn_limit(session), None))
}

fn list_of_a_status(session: &mut Session<'_>) -> Request {
    list(&query_of(drawn_limit(session), Some(drawn(session, &STATUSES))))
}

fn list_with_a_limit_outside_of_the_range(session: &mut Session<'_>) -> Request {
    list(drawn(session, &["limit=0", "limit=-1", "limit=101"]))
}

fn creation(session: &mut Session<'_>) -> Request {
    let (name, category) = (session.fresh_name(), session.trace().context.category_id);
    let status = drawn(session, &STATUSES.map(Some));
    let status = status.filter(|_| session.random.bool());
    Request::new("POST", "/pets").json(new_pet(session, &name, category, status))
}

fn faulty_creation(session: &mut Session<'_>) -> Request {
    let template = drawn(
        session,
        &[
            r#"{"name":"@NAME@"}"#,
            r#"{"name":12345,"categoryId":@CATEGORY@}"#,
            r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#,
            "",
        ],
    );
    let (_, body) = filled(session, template);
    Request::new("POST", "/pets").json(body)
}

fn fetch_of_a_recent_animal(session: &mut Session<'_>) -> Request {
    let mut ids = session.known_ids();
    if ids.is_empty() {
        ids = listed_ids(session.trace().exchanges.first());
    }
    let recent = &ids[ids.len().saturating_sub(5)..];
    if recent.is_empty() { fetch_of_a_missing_animal(session) } else { fetch(drawn(session, recent)) }
}

fn fetch_of_a_missing_animal(session: &mut Session<'_>) -> Request {
    fetch(session.random.i64(-(1 << 62)..-(1 << 61)))
}

fn orders(_: &mut Session<'_>) -> Request {
    Request::new("GET", "/store/orders")
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
