//! The model-based sequence: a random walk through creations, lists and fetches.
//!
//! proptest generates the walk; its state only decides which steps are possible. The model for the responses is the history of
//! the rules: it admits every lawful response and includes all earlier ones. A failing walk needs no shrinking, because each
//! failure names the two exchanges that contradict each other.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::{NewTree, ValueTree};
use proptest::test_runner::TestRunner;

use super::properties::generator::{Generator, Step};
use super::session::{Session, Stop, created_id};
use super::steps::{fetch, list, query_of};
use animal_store_rules::request::STATUSES;
use animal_store_rules::trace::exchange::Request;

/// The percentage of creations in a walk: it is small, because the API cannot delete animals.
const CREATIONS: u32 = 20;

/// A step of a walk.
#[derive(Clone, Debug)]
pub(super) enum Move {
    /// Create an animal with this status.
    Create(Option<&'static str>),
    /// List with this query.
    List(String),
    /// Fetch the animal that was created this many creations ago.
    Get(usize),
}

/// The number of steps of a walk: more than any run needs. A walk ends where its budget does.
const STEPS: usize = 400;

/// The strategy that generates walks. Their steps are drawn one after another, because earlier steps decide which ones are
/// possible.
#[derive(Clone, Debug)]
struct Walks;

impl Strategy for Walks {
    type Tree = Just<Vec<Move>>;
    type Value = Vec<Move>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Walks> {
        let (any_move, mut created, mut moves) = (moves(), 0, Vec::with_capacity(STEPS));
        while moves.len() < STEPS {
            let step = any_move.new_tree(runner)?.current();
            match step {
                Move::Get(back) if back >= created => continue,
                Move::Create(_) => created += 1,
                Move::Get(_) | Move::List(_) => {}
            }
            moves.push(step);
        }
        Ok(Just(moves))
    }
}

/// The strategy for a step, which may not be possible.
fn moves() -> impl Strategy<Value = Move> {
    let status = proptest::option::of(select(STATUSES.to_vec()));
    let query = (proptest::option::of(1_u32..=100), proptest::option::of(select(STATUSES.to_vec())))
        .prop_map(|(limit, status)| query_of(limit, status));
    prop_oneof![
        CREATIONS => status.prop_map(Move::Create),
        50 => query.prop_map(Move::List),
        30 => (0_usize..5).prop_map(Move::Get),
    ]
}

fn walks() -> BoxedStrategy<Vec<Move>> {
    Walks.boxed()
}

/// Walks this many steps.
pub(super) async fn run(session: &mut Session<'_>, steps: usize, creates: bool) -> Result<(), Stop> {
    session.begin("sequence");
    let generator = Generator::start(session.seed(), walks);
    let Some(moves) = generator.request(Step::Next).await else { return Ok(()) };
    let mut ids = Vec::new();
    for step in moves.into_iter().filter(|step| creates || matches!(step, Move::List(_))).take(steps) {
        match step {
            Move::Create(status) => {
                let (name, category) = (session.fresh_name(), session.trace().context.category_id);
                let status = status.map_or_else(String::new, |status| format!(r#","status":"{status}""#));
                let body = format!(r#"{{"name":"{name}","categoryId":{category}{status}}}"#);
                ids.extend(created_id(session.ask(Request::new("POST", "/pets").json(body)).await?));
            }
            Move::List(query) => drop(session.ask(list(&query)).await?),
            Move::Get(back) => {
                let Some(id) = ids.iter().rev().nth(back).or(ids.last()) else { continue };
                session.ask(fetch(id)).await?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_walk_fetches_only_what_it_has_created_and_is_the_same_for_the_same_seed() {
        let walk = || async { Generator::start(3, walks).request(Step::Next).await.expect("a walk") };
        let moves = walk().await;
        let mut created = 0;
        for step in &moves {
            match step {
                Move::Create(_) => created += 1,
                Move::Get(back) => assert!(*back < created),
                Move::List(_) => {}
            }
        }
        assert_eq!((moves.len(), format!("{moves:?}")), (400, format!("{:?}", walk().await)));
    }
}
