//! The generator: proptest's trees on a thread of their own.
//!
//! proptest's runner is synchronous and its trees cannot be sent between threads, while a run is asynchronous and may be. So the
//! tree that is being looked at stays on one thread, and the run asks it for the next value or for a simpler one.

use std::sync::mpsc;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::sync::oneshot;

/// A question to the generator, and where its answer goes: none when there is nothing more.
type Question<T> = (Step, oneshot::Sender<Option<T>>);

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(in crate::probes) enum Step {
    /// A new value.
    Next,
    /// A simpler one than the last, because that broke something.
    Simplify,
    /// One between the last two, because the last was too simple.
    Complicate,
}

/// A stream of generated values, the same for the same seed.
pub(in crate::probes) struct Generator<T> {
    questions: mpsc::Sender<Question<T>>,
}

impl<T: std::fmt::Debug + Send + 'static> Generator<T> {
    /// Starts a generator. `strategy` is called on the generator's thread, because strategies cannot be sent either.
    pub(in crate::probes) fn start(seed: u64, strategy: fn() -> BoxedStrategy<T>) -> Generator<T> {
        let (questions, inbox) = mpsc::channel::<Question<T>>();
        std::thread::spawn(move || {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            let config = Config { failure_persistence: None, ..Config::default() };
            let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
            let strategy = strategy();
            let mut tree = None;
            while let Ok((step, answer)) = inbox.recv() {
                let moved = match (step, &mut tree) {
                    (Step::Next, tree) => {
                        *tree = strategy.new_tree(&mut runner).ok();
                        tree.is_some()
                    }
                    (Step::Simplify, Some(tree)) => tree.simplify(),
                    (Step::Complicate, Some(tree)) => tree.complicate(),
                    (Step::Simplify | Step::Complicate, None) => false,
                };
                let value = tree.as_ref().filter(|_| moved).map(ValueTree::current);
                let _run_has_ended = answer.send(value);
            }
        });
        Generator { questions }
    }

    /// Asks for a value. None when there is no simpler one.
    pub(in crate::probes) async fn ask(&self, step: Step) -> Option<T> {
        let (answer, value) = oneshot::channel();
        self.questions.send((step, answer)).ok()?;
        value.await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[tokio::test]
    async fn the_same_seed_gives_the_same_values_and_another_gives_others() {
        let first = |seed| async move {
            let generator = Generator::start(seed, || any::<u64>().boxed());
            [generator.ask(Step::Next).await, generator.ask(Step::Next).await]
        };
        assert_eq!(first(1).await, first(1).await);
        assert_ne!(first(1).await, first(2).await);
    }

    #[tokio::test]
    async fn a_failing_value_shrinks_to_the_smallest_that_fails() {
        let generator = Generator::start(1, || (0_u32..1_000_000).boxed());
        let mut value = generator.ask(Step::Next).await;
        while value.is_some_and(|value| value < 1_000) {
            value = generator.ask(Step::Next).await;
        }
        let (mut smallest, mut step) = (value, Step::Simplify);
        while let Some(value) = generator.ask(step).await {
            if value >= 1_000 {
                (smallest, step) = (Some(value), Step::Simplify);
            } else {
                step = Step::Complicate;
            }
        }
        assert_eq!(smallest, Some(1_000));
    }
}
