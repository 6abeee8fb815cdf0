//! Tests that are made of tables: one for each server, and one for what is written of all of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use libtest_mimic::Trial;

use crate::support::check;

/// What is written of a server in the snapshot of its table, or what is wrong with the verdict on it.
pub(crate) type Outcome = Result<String, String>;

/// Servers of one kind. Each is judged once at most, whichever test asks first.
pub(crate) struct Table<S> {
    kind: &'static str,
    rows: Vec<Row<S>>,
    judge: fn(&S) -> Outcome,
}

struct Row<S> {
    name: String,
    server: S,
    outcome: OnceLock<Outcome>,
}

impl<S: Send + Sync + 'static> Table<S> {
    /// A table of named servers, and how one of them is judged.
    pub(crate) fn new(
        kind: &'static str,
        servers: impl IntoIterator<Item = (String, S)>,
        judge: fn(&S) -> Outcome,
    ) -> Arc<Table<S>> {
        let row = |(name, server)| Row { name, server, outcome: OnceLock::new() };
        Arc::new(Table { kind, rows: servers.into_iter().map(row).collect(), judge })
    }

    /// A test for each server, with its name.
    pub(crate) fn trials(self: &Arc<Self>) -> Vec<Trial> {
        let trial = |at: usize| {
            let table = Arc::clone(self);
            let name = format!("{}::{}", self.kind, identifier(&self.rows[at].name));
            Trial::test(name, move || Ok(table.outcome(at).map(drop)?))
        };
        (0..self.rows.len()).map(trial).collect()
    }

    /// A test that compares what is written of all servers with the reviewed text.
    pub(crate) fn snapshot(self: &Arc<Self>, name: &'static str) -> Trial {
        self.snapshot_with_figures(name, |_| {})
    }

    /// The same, which then compares figures that are counted in that text with those of a page.
    pub(crate) fn snapshot_with_figures(self: &Arc<Self>, name: &'static str, check_figures: fn(&str)) -> Trial {
        let table = Arc::clone(self);
        Trial::test(format!("snapshot::{}", identifier(name)), move || {
            let text = table.text()?;
            check(name, &text);
            check_figures(&text);
            Ok(())
        })
    }

    fn outcome(&self, at: usize) -> Result<&str, String> {
        let row = &self.rows[at];
        let outcome = row.outcome.get_or_init(|| (self.judge)(&row.server));
        outcome.as_deref().map_err(|problem| format!("{} `{}`: {problem}", self.kind, row.name))
    }

    /// What is written of all servers. Those that no test has asked for yet are judged a few at a time.
    fn text(&self) -> Result<String, String> {
        let next = AtomicUsize::new(0);
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < self.rows.len());
        let judge_those_left = || {
            while let Some(at) = take() {
                let _looked_at_below = self.outcome(at);
            }
        };
        thread::scope(|scope| (0..at_once()).for_each(|_| drop(scope.spawn(judge_those_left))));
        let (text, problems): (Vec<_>, Vec<_>) =
            (0..self.rows.len()).map(|at| self.outcome(at)).partition(Result::is_ok);
        if problems.is_empty() {
            Ok(text.into_iter().flatten().collect())
        } else {
            Err(problems.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// As many servers are judged at once as keep the machine busy, although some of them only let time pass.
pub(crate) fn at_once() -> usize {
    4 * thread::available_parallelism().map_or(1, usize::from)
}

/// A test that looks at tables and judges no server.
macro_rules! plain {
    ($kind:literal, $test:path) => {
        libtest_mimic::Trial::test(concat!($kind, "::", stringify!($test)), || {
            $test();
            Ok(())
        })
    };
}
pub(crate) use plain;

/// A name as that of a function.
pub(crate) fn identifier(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

/// Runs a future to its end. Each test has a runtime of its own, which takes what it has started along when it ends.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}
