//! Archives of ordinary sessions: which requirements they show as broken, and that they accuse no lawful server.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use animal_store_conform::formats::har;
use animal_store_conformance::recorded::{Terms, UnusableRecording, judge};
use animal_store_lab::Variation;
use animal_store_lab::choices::{Drawn, lawful, variation};
use animal_store_lab::faults::{Fault, faults};
use animal_store_reference::Plan;
use animal_store_rules::trace::Context;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_traffic::{Head, Writer, lines};
use libtest_mimic::Trial;
use serde_json::Value;
use tempfile::TempDir;

use crate::broken;
use crate::host::Host;
use crate::session::session;
use crate::trials::{Outcome, Table, block_on};

/// So many seeds of lawful servers have a session.
const SEEDS: u64 = 10;

/// Faults that together break every requirement which an archive of a session shows, whatever it lacks.
const SHOWN: [&str; 26] = [
    "service.json.one-byte-each",
    "auth.missing-key.connection-remembers-key",
    "pet.members.string-ids",
    "pet.status-values.shouted-status",
    "pet.unique-id.ids-per-process",
    "list.success.partial-content",
    "list.array.envelope",
    "list.bad-parameters.parameters-crash",
    "list.limit-minimum.one-more",
    "create.success.created-is-200",
    "create.name-required.everything-422",
    "get.success.inner-ids",
    "get.success.slow-replica",
    "get.not-found.nobody-is-204",
    "orders.exists.no-orders",
    "errors.shape.empty-401",
    "errors.status-member.always-400",
    "headers.limit.none-on-401",
    "headers.limit-figure.limit-of-the-library",
    "headers.remaining-range.one-below-zero",
    "headers.reset-time.milliseconds",
    "quota.not-exceeded.per-operation",
    "quota.retry-after.no-retry-after",
    "versioning.path.second-version",
    "versioning.sunset.another-day",
    "versioning.deprecation-header.deprecation-true",
];

/// A store that is in use has more animals than one page shows.
const STOCK: usize = 30;

/// Takes something from an entry of an archive.
type LeaveOut = fn(&mut Value);

/// What an exporter leaves out of an archive, and its name in the table.
const LEFT_OUT: [(&str, LeaveOut); 3] =
    [("complete", |_| {}), ("without Authorization", leave_out_keys), ("without bodies", leave_out_bodies)];

/// The table of the faults, and a test for each lawful server.
pub(crate) fn trials() -> Vec<Trial> {
    let fault = |name: &str| {
        let fault = faults().into_iter().find(|fault| fault.name == name);
        (name.to_owned(), fault.unwrap_or_else(|| panic!("the laboratory has no fault {name}")))
    };
    let shown = Table::new("archive", SHOWN.map(fault), |fault| block_on(row(fault)));
    let seeds = (0..=SEEDS).map(|seed| (format!("seed {seed}"), seed));
    let mut trials = Table::new("archive", seeds, |seed| block_on(nobody_is_accused(*seed))).trials();
    trials.push(shown.snapshot("archives"));
    trials
}

/// What of a session with a fault its archives show.
async fn row(fault: &Fault) -> Outcome {
    let recorded = Recorded::of(fault.variation()).await;
    let mut row = format!("{}\n", fault.name);
    for (what, leave_out) in LEFT_OUT {
        let caught = recorded.broken(0..recorded.count(), leave_out);
        let caught = if caught.is_empty() { "nothing".to_owned() } else { caught.join(" ") };
        writeln!(row, "    {what}: {caught}").expect("memory");
    }
    Ok(row)
}

/// A lawful server of a seed, or the plain reference of 0.
async fn nobody_is_accused(seed: u64) -> Outcome {
    let choices = if seed == 0 { Vec::new() } else { lawful(seed, Drawn::ChoicesAndCircumstances) };
    let recorded = Recorded::of(variation(&choices)).await;
    let whole = LEFT_OUT.map(|(what, leave_out)| (what.to_owned(), recorded.broken(0..recorded.count(), leave_out)));
    let parts = recorded.parts().map(|part| (format!("{part:?}"), recorded.broken(part, |_| {})));
    let accused: Vec<_> = whole.into_iter().chain(parts).filter(|(_, broken)| !broken.is_empty()).collect();
    if accused.is_empty() { Ok(String::new()) } else { Err(format!("{accused:#?}")) }
}

/// The archive of a session with a server.
struct Recorded {
    host: Host,
    folder: TempDir,
    archive: Value,
}

impl Recorded {
    async fn of(mut variation: Variation) -> Recorded {
        variation.setting.stock = variation.setting.stock.max(STOCK);
        let host = Host::start(Plan::Free, variation).await;
        let exchanges = session(&host).await;
        let folder = tempfile::tempdir().expect("a folder");
        let archive = archive(folder.path(), &host, &exchanges);
        Recorded { host, folder, archive }
    }

    /// How many entries the archive has.
    fn count(&self) -> usize {
        self.archive["log"]["entries"].as_array().expect("entries").len()
    }

    /// Beginnings, ends and middles of the session, cut at places that have nothing to do with what was sent.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let count = self.count();
        (1..count).step_by(7).flat_map(move |at| [0..at, at..count, at..(at + 20).min(count)])
    }

    /// The requirements that a part of it breaks, after something was left out.
    fn broken(&self, part: Range<usize>, leave_out: LeaveOut) -> Vec<String> {
        let mut archive = self.archive.clone();
        let entries = archive["log"]["entries"].as_array_mut().expect("entries");
        *entries = entries.drain(part).collect();
        entries.iter_mut().for_each(leave_out);
        let path = self.folder.path().join("session.har");
        std::fs::write(&path, archive.to_string()).expect("a writable folder");
        let terms = Terms {
            base_url: Some(self.host.base_url.clone()),
            plan: "free".parse().ok(),
            strict: Some(true),
            ..Terms::default()
        };
        match judge(&[path], &terms) {
            Ok(report) => {
                let id = |line: String| line.split(':').next().unwrap_or_default().to_owned();
                broken(&report).into_iter().map(id).collect()
            }
            // No request of the part was sent to the service, or none of it shows anything that is judged.
            Err(UnusableRecording::Nothing(..) | UnusableRecording::NothingSelected(_)) => Vec::new(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The archive of a session, as the judge writes one of traffic that is not its own.
fn archive(folder: &Path, host: &Host, exchanges: &[Exchange]) -> Value {
    let context = Context::new(Extent::Sample, &host.base_url);
    let writer = Writer { name: "session".to_owned(), version: String::new() };
    let head = lines::head_line(&Head::of(&context, writer));
    let text: String = std::iter::once(head).chain(exchanges.iter().map(lines::line)).collect();
    let path = folder.join("session.jsonl");
    std::fs::write(&path, text).expect("a writable folder");
    let report = judge(&[path], &Terms::default()).expect("a report");
    serde_json::from_str(&har::render(&report)).expect("JSON")
}

fn leave_out_keys(entry: &mut Value) {
    entry["request"]["headers"].as_array_mut().expect("fields").retain(|field| field["name"] != "authorization");
}

fn leave_out_bodies(entry: &mut Value) {
    if let Some(data) = entry["request"]["postData"].as_object_mut() {
        data.remove("text");
    }
    entry["response"]["content"].as_object_mut().expect("a body").remove("text");
}
