//! The property probe: sends generated requests, and for each that breaks a rule looks for the simplest one that still does.

mod case;

use std::collections::BTreeSet;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use case::{Case, any_case};

use super::session::{Session, Stop};
use animal_store_rules::rules;
use animal_store_rules::trace::Trace;

/// The maximum number of requests for simplifying a counterexample.
const MAX_SHRINKS: usize = 24;

/// Sends `cases` generated requests; where the profile creates no animals, none that could create one.
pub(super) async fn run(session: &mut Session<'_>, cases: usize) -> Result<(), Stop> {
    session.begin("properties");
    let creates = session.options.judging.scope.profile.creates();
    let mut generator = Generator::new(session.options.seed, any_case);
    // A requirement that is already broken needs no second counterexample.
    let mut known = rules::broken(&session.trace);
    for _ in 0..cases {
        let begun = generator.clone();
        let Some(case) = generator.next(&[]) else { return Ok(()) };
        if !creates && case.creates() {
            continue;
        }
        let (broken, replica) = send(session, &case, None).await?;
        let news: BTreeSet<&str> = broken.difference(&known).copied().collect();
        if !news.is_empty() {
            shrink(session, &begun, &news, replica).await?;
            known.extend(news);
        }
    }
    Ok(())
}

/// Sends a generated request. Returns the requirements that this exchange alone breaks, and the replica that got it.
async fn send(
    session: &mut Session<'_>,
    case: &Case,
    replica: Option<usize>,
) -> Result<(BTreeSet<&'static str>, Option<usize>), Stop> {
    let (request, keyed) = case.request(session);
    let request = request.at(replica);
    let exchange =
        if keyed { Some(session.ask(request).await?.clone()) } else { session.draw_without_key(request).await? };
    // A request that the allowance of callers without a key refuses is not judged.
    let Some(exchange) = exchange else { return Ok((BTreeSet::new(), replica)) };
    let replica = exchange.request.replica;
    let exchanges = vec![exchange];
    Ok((rules::broken(&Trace { context: session.trace.context.clone(), exchanges }), replica))
}

/// Looks for the simplest request that still breaks one of the requirements, from the next one of this generator on. It is not returned: it is in the trace, and the report
/// shows the smallest request of each failure. All are sent to one replica, because another one may not break anything.
async fn shrink(
    session: &mut Session<'_>,
    begun: &Generator<Case>,
    news: &BTreeSet<&str>,
    replica: Option<usize>,
) -> Result<(), Stop> {
    let mut steps = vec![Step::Simplify];
    for _ in 0..MAX_SHRINKS {
        let Some(simpler) = begun.clone().next(&steps) else { break };
        let (broken, _) = send(session, &simpler, replica).await?;
        let is_broken = broken.iter().any(|id| news.contains(id));
        steps.push(if is_broken { Step::Simplify } else { Step::Complicate });
    }
    Ok(())
}

/// A step from the last value of proptest's tree to the next one.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// To a simpler value, because the last one broke a rule.
    Simplify,
    /// To a value between the last two, because the last one broke no rule.
    Complicate,
}

/// A stream of generated values, the same for the same seed.
#[derive(Clone)]
struct Generator<T> {
    runner: TestRunner,
    strategy: fn() -> BoxedStrategy<T>,
}

impl<T: std::fmt::Debug> Generator<T> {
    /// Begins the stream of a seed.
    fn new(seed: u64, strategy: fn() -> BoxedStrategy<T>) -> Generator<T> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config { failure_persistence: None, ..Config::default() };
        let runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        Generator { runner, strategy }
    }

    /// Draws the next value and takes these steps from it; none if the last step leads to no other value. A tree cannot be sent between
    /// threads, as a run may be, so each call makes it anew.
    fn next(&mut self, steps: &[Step]) -> Option<T> {
        let mut tree = (self.strategy)().new_tree(&mut self.runner).ok()?;
        let mut has_moved = true;
        for step in steps {
            has_moved = match step {
                Step::Simplify => tree.simplify(),
                Step::Complicate => tree.complicate(),
            };
        }
        has_moved.then(|| tree.current())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_values_and_another_gives_others() {
        let first = |seed| {
            let mut generator = Generator::new(seed, || any::<u64>().boxed());
            [generator.next(&[]), generator.next(&[])]
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn a_failing_value_shrinks_to_the_smallest_that_fails() {
        let mut generator = Generator::new(1, || (0_u32..1_000_000).boxed());
        let mut begun = generator.clone();
        let mut value = generator.next(&[]);
        while value.is_some_and(|value| value < 1_000) {
            begun = generator.clone();
            value = generator.next(&[]);
        }
        let (mut smallest, mut steps) = (value, vec![Step::Simplify]);
        while let Some(value) = begun.clone().next(&steps) {
            if value >= 1_000 {
                smallest = Some(value);
                steps.push(Step::Simplify);
            } else {
                steps.push(Step::Complicate);
            }
        }
        assert_eq!(smallest, Some(1_000));
    }
}
