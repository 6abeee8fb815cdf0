//! Vectors for unit tests in any language: small timelines of requests and responses, lawful and not, in `fixtures/vectors/limits`. They are generated
//! here from the family of lawful limiters and from the lies, and judged here as they are read.
//!
//! `UPDATE_VECTORS=1` writes them anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::client::{NOON, Script, Step};
use crate::history::{History, Retry, Seen};
use crate::lies::LIES;
use crate::limiter::{Cut, Failed, Failures, Policy, Rounding, SECOND, Shows, Written};

/// A timeline, as its file contains it.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    about: String,
    /// The requirements that it breaks. A lawful one breaks none.
    breaks: Vec<String>,
    limits: Limits,
    exchanges: Vec<Row>,
}

#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    per_minute: u64,
    per_day: u64,
}

/// A request and its response. Times are Unix times in milliseconds by the client's clock, those of header fields in seconds.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Row {
    sent_ms: i64,
    received_ms: i64,
    request: String,
    status: u16,
    date: Option<i64>,
    limit: Option<i64>,
    remaining: Option<i64>,
    reset: Option<i64>,
    retry_after: Option<i64>,
}

/// A fixed window on the clock. The other policies differ from it in one thing.
const PLAIN: Policy = Policy {
    per_minute: 5,
    per_day: 100,
    used_today: 0,
    cut: Cut::Clock,
    shows: Shows::Minute,
    written: Written::AfterCounting,
    failures: Failures::Count,
    counts_refusals: false,
    ban: None,
    rounding: Rounding::Up,
    retry_date: false,
    extra: 0,
    ahead: 0,
    dated: true,
};

/// The lawful limiters: the name of the file, what it is about, and the policy.
const LAWFUL: [(&str, &str, Policy); 9] = [
    ("window-on-the-clock", "A window is a minute of the clock", PLAIN),
    (
        "window-from-the-first-request",
        "A window begins with the first request after the last",
        Policy { cut: Cut::First, ..PLAIN },
    ),
    ("log-of-the-last-minute", "Each request counts for a minute", Policy { cut: Cut::Log { newest: false }, ..PLAIN }),
    (
        "counter-that-slides",
        "The last window counts by the part of it that lies in the last minute",
        Policy { cut: Cut::Weighted { up: true, next: false }, ..PLAIN },
    ),
    ("figures-of-the-day", "The fields report the limit of the day", Policy { shows: Shows::Day, ..PLAIN }),
    (
        "reported-before-counting",
        "Remaining is what was left before the request",
        Policy { written: Written::BeforeCounting, ..PLAIN },
    ),
    (
        "failures-are-free",
        "A request that fails uses nothing",
        Policy { failures: Failures::Free(Failed::Any), ..PLAIN },
    ),
    ("refusals-count", "A refused request counts as well", Policy { counts_refusals: true, ..PLAIN }),
    ("longer-wait", "Retry-After asks for three seconds more than needed", Policy { extra: 3, ..PLAIN }),
];

/// Lies whose requirement a short timeline cannot show, because the judge needs more requests to be certain.
const NEED_MORE: [&str; 1] = ["the key never recovers"];

fn timeline(policy: Policy) -> History {
    let steps = vec![
        Step::Burst { count: 2, gap: 1_000, failing: 0 },
        Step::Burst { count: 1, gap: 1_000, failing: 1 },
        Step::Drain { more: 0, gap: 400 },
        Step::AwaitRetry(1_200),
        Step::Burst { count: 3, gap: 700, failing: 0 },
        Step::AwaitReset(1_200),
        Step::Burst { count: 2, gap: 500, failing: 0 },
    ];
    let begins = NOON + 7 * SECOND;
    Script {
        policy,
        plan_is_stated: true,
        begins,
        steps,
        others: None,
        fastest: 40,
        slowest: 40,
        malformed: 0,
        noise: vec![128],
    }
    .play()
}

impl Vector {
    fn of(about: &str, history: &History) -> Vector {
        let (per_minute, per_day) = history.plan.expect("a plan");
        let row = |seen: &Seen| Row {
            sent_ms: seen.sent,
            received_ms: seen.received,
            request: if seen.status == 404 { "GET /pets/404" } else { "GET /pets" }.to_owned(),
            status: seen.status,
            date: seen.date,
            limit: seen.limit,
            remaining: seen.remaining,
            reset: seen.reset,
            retry_after: seen.retry.map(|retry| match retry {
                Retry::In(seconds) => seconds,
                Retry::At(_) => unreachable!("the vectors have seconds"),
            }),
        };
        Vector {
            about: about.to_owned(),
            breaks: history.broken().into_iter().map(str::to_owned).collect(),
            limits: Limits { per_minute, per_day },
            exchanges: history.seen.iter().map(row).collect(),
        }
    }

    fn history(&self) -> History {
        let seen = |row: &Row| Seen {
            key: 0,
            sent: row.sent_ms,
            received: row.received_ms,
            status: row.status,
            limit: row.limit,
            remaining: row.remaining,
            reset: row.reset,
            date: row.date,
            retry: row.retry_after.map(Retry::In),
        };
        let plan = Some((self.limits.per_minute, self.limits.per_day));
        History { seen: self.exchanges.iter().map(seen).collect(), plan }
    }
}

/// Every vector, with the path of its file below the folder.
fn vectors() -> Vec<(PathBuf, Vector)> {
    let lawful = LAWFUL.into_iter().map(|(name, about, policy)| {
        (Path::new("valid").join(name).with_extension("json"), Vector::of(about, &timeline(policy)))
    });
    let lies = LIES.iter().filter(|lie| !NEED_MORE.contains(&lie.name)).filter_map(|lie| {
        let mut history = timeline(PLAIN);
        let name = lie.name.to_lowercase().replace(' ', "-");
        let is_told = (lie.report)(&mut history, 3);
        is_told.then(|| (Path::new("invalid").join(name).with_extension("json"), Vector::of(lie.name, &history)))
    });
    lawful.chain(lies).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/limits")
}

#[test]
fn the_files_are_the_vectors_that_the_oracle_generates() {
    let mut names = BTreeSet::new();
    for (name, vector) in vectors() {
        let path = folder().join(&name);
        let text = serde_json::to_string_pretty(&vector).expect("JSON") + "\n";
        if std::env::var_os("UPDATE_VECTORS").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
            std::fs::write(&path, &text).expect("a writable file");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, text, "{} is stale: run the test again with UPDATE_VECTORS=1", name.display());
        names.insert(name);
    }
    let files = ["valid", "invalid"].into_iter().flat_map(|kind| {
        let files = std::fs::read_dir(folder().join(kind)).expect("a folder");
        files.map(move |file| Path::new(kind).join(file.expect("a file").file_name()))
    });
    assert_eq!(files.collect::<BTreeSet<PathBuf>>(), names);
}

#[test]
fn a_vector_that_is_read_breaks_what_it_says_and_a_lawful_one_nothing() {
    for (name, _) in vectors() {
        let text = std::fs::read_to_string(folder().join(&name)).expect("a readable file");
        let vector: Vector = serde_json::from_str(&text).expect("a vector");
        let broken: Vec<String> = vector.history().broken().into_iter().map(str::to_owned).collect();
        assert_eq!(broken, vector.breaks, "{}", name.display());
        assert_eq!(vector.breaks.is_empty(), name.starts_with("valid"), "{}", name.display());
    }
}
