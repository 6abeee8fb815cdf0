//! The generator: proptest's trees on a thread of their own.
//!
//! proptest's runner is synchronous and its trees cannot be sent between threads, while a run is asynchronous and may move between
//! threads. So the current tree stays on one thread, and the run requests the next value or a simpler one from it.

use std::sync::mpsc;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::sync::oneshot;

/// A request to the generator, and the channel for its value: none when there is no other.
type Request<T> = (Step, oneshot::Sender<Option<T>>);

/// The kind of value that is requested.
#[derive(Clone, Copy, Debug)]
pub(in crate::probes) enum Step {
    /// A new value.
    Next,
    /// A simpler value than the last one, which broke a rule.
    Simplify,
    /// A value between the last two, because the last one broke no rule.
    Complicate,
}

/// A stream of generated values, the same for the same seed.
pub(in crate::probes) struct Generator<T> {
    requests: mpsc::Sender<Request<T>>,
}

impl<T: std::fmt::Debug + Send + 'static> Generator<T> {
    /// Starts a generator. `strategy` is called on the generator's thread, because strategies cannot be sent either.
    pub(in crate::probes) fn start(seed: u64, strategy: fn() -> BoxedStrategy<T>) -> Generator<T> {
        let (requests, inbox) = mpsc::channel::<Request<T>>();
        std::thread::spawn(move || {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            let config = Config { failure_persistence: None, ..Config::default() };
            let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
            let strategy = strategy();
            let mut tree = None;
            while let Ok((step, sender)) = inbox.recv() {
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
                let _run_has_ended = sender.send(value);
            }
        });
        Generator { requests }
    }

    /// Requests a value; none when there is no simpler one.
    pub(in crate::probes) async fn request(&self, step: Step) -> Option<T> {
        let (sender, value) = oneshot::channel();
        self.requests.send((step, sender)).ok()?;
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
            [generator.request(Step::Next).await, generator.request(Step::Next).await]
        };
        assert_eq!(first(1).await, first(1).await);
        assert_ne!(first(1).await, first(2).await);
    }

    #[tokio::test]
    async fn a_failing_value_shrinks_to_the_smallest_that_fails() {
        let generator = Generator::start(1, || (0_u32..1_000_000).boxed());
        let mut value = generator.request(Step::Next).await;
        while value.is_some_and(|value| value < 1_000) {
            value = generator.request(Step::Next).await;
        }
        let (mut smallest, mut step) = (value, Step::Simplify);
        while let Some(value) = generator.request(step).await {
            if value >= 1_000 {
                (smallest, step) = (Some(value), Step::Simplify);
            } else {
                step = Step::Complicate;
            }
        }
        assert_eq!(smallest, Some(1_000));
    }
}
