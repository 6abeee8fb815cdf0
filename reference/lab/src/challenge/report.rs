//! What a challenge has shown.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::subject::{Kind, Subject};
use crate::printable::Printable;
use animal_store_reference::Plan;

/// The version of the JSON report.
const SCHEMA: u32 = 1;

/// What a suite said about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// Exit code 0.
    Accepted,
    /// Another exit code.
    Refused {
        /// The exit code.
        code: i32,
    },
    /// It was ended by a signal.
    Crashed,
    /// It did not end in time.
    TimedOut,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Accepted => f.write_str("accepts"),
            Verdict::Refused { code } => write!(f, "fails with exit code {code}"),
            Verdict::Crashed => f.write_str("is ended by a signal"),
            Verdict::TimedOut => f.write_str("does not end in time"),
        }
    }
}

/// A suite and a server.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) subject: Subject,
    pub(super) verdict: Verdict,
    pub(super) took: Duration,
    /// The end of the suite's output.
    pub(super) output: Printable,
}

/// What a challenge has shown.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    schema_version: u32,
    /// The command, as a shell would take it.
    pub(super) command: Printable,
    pub(super) plan: &'static str,
    /// How long a window of requests per minute was, if not a minute, as the specification says.
    pub(super) fast_windows_seconds: Option<u32>,
    /// Whether it was ended before all servers were tried.
    pub(super) interrupted: bool,
    /// How long the suite took for the plain reference.
    pub(super) plain_seconds: f64,
    pub(super) lawful: Vec<Lawful>,
    pub(super) faults: Vec<Tried>,
    pub(super) requirements: Vec<Row>,
}

/// A lawful server that was tried.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Lawful {
    pub(super) seed: u64,
    #[serde(flatten)]
    pub(super) verdict: Verdict,
    pub(super) seconds: f64,
    /// The choices in which it differs from the plain reference.
    pub(super) choices: Vec<String>,
    /// The end of the suite's output, unless it accepted the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Printable>,
}

/// A broken server that was tried.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tried {
    #[serde(skip)]
    place: usize,
    pub(super) name: String,
    pub(super) breaks: &'static [&'static str],
    pub(super) does: &'static str,
    pub(super) as_with: &'static str,
    /// Whether the suite did anything but accept it.
    pub(super) noticed: bool,
    #[serde(flatten)]
    pub(super) verdict: Verdict,
    pub(super) seconds: f64,
}

/// A requirement, and how many of its faults were noticed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) requirement: &'static str,
    pub(super) faults: usize,
    pub(super) noticed: usize,
}

impl Report {
    /// A report in which nothing but the plain reference was tried.
    pub(super) fn new(command: Printable, fast_windows: Option<u32>, plan: Plan, plain: &Trial) -> Report {
        Report {
            schema_version: SCHEMA,
            command,
            plan: plan.name(),
            fast_windows_seconds: fast_windows,
            interrupted: false,
            plain_seconds: seconds(plain.took),
            lawful: Vec::new(),
            faults: Vec::new(),
            requirements: Vec::new(),
        }
    }

    /// Adds what one trial has shown.
    pub(super) fn add(&mut self, trial: Trial) {
        let Trial { subject, verdict, took, output } = trial;
        let (accepted, seconds) = (verdict == Verdict::Accepted, seconds(took));
        match subject.kind {
            Kind::Plain => {}
            Kind::Lawful(seed) => {
                let differs = subject.vector.differing();
                let choices = differs.map(|choice| choice.name()).collect();
                let output = (!accepted).then_some(output);
                self.lawful.push(Lawful { seed, verdict, seconds, choices, output });
            }
            Kind::Fault(place) => self.faults.extend(subject.vector.faults.into_iter().map(|fault| Tried {
                place,
                name: fault.name,
                breaks: fault.targets,
                does: fault.does,
                as_with: fault.like,
                noticed: !accepted,
                verdict,
                seconds,
            })),
        }
    }

    /// Brings what was added into the order of the lists, and counts by requirement.
    pub(super) fn sort(&mut self) {
        self.lawful.sort_by_key(|lawful| lawful.seed);
        self.faults.sort_by_key(|fault| fault.place);
        let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
        for fault in &self.faults {
            let requirement = fault.breaks[0];
            let place = self.faults.iter().position(|first| first.breaks[0] == requirement).unwrap_or_default();
            let row = rows.entry(place).or_insert(Row { requirement, faults: 0, noticed: 0 });
            row.faults += 1;
            row.noticed += usize::from(fault.noticed);
        }
        self.requirements = rows.into_values().collect();
    }

    /// The faults that were not noticed.
    pub(super) fn missed(&self) -> impl Iterator<Item = &Tried> {
        self.faults.iter().filter(|fault| !fault.noticed)
    }

    /// The lawful servers that were not accepted.
    pub(super) fn refused(&self) -> impl Iterator<Item = &Lawful> {
        self.lawful.iter().filter(|lawful| lawful.verdict != Verdict::Accepted)
    }

    /// What the suite did wrong, if anything.
    pub(super) fn shortcoming(&self) -> Option<String> {
        let (missed, refused) = (self.missed().count(), self.refused().count());
        let missed = (missed > 0).then(|| format!("{missed} of {} faults were missed", self.faults.len()));
        let refused = (refused > 0).then(|| format!("{refused} of {} lawful servers were refused", self.lawful.len()));
        let parts: Vec<String> = [missed, refused].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", and "))
    }

    /// The report for programs.
    pub(super) fn json(&self) -> String {
        // Plain data with names for keys can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The report for people.
    pub(super) fn text(&self) -> Printable {
        let mut out = String::new();
        let _ = writeln!(out, "command           {}", self.command);
        let _ = writeln!(
            out,
            "plain reference   accepted in {:.1} s, with a key on the {} plan",
            self.plain_seconds, self.plan
        );
        if let Some(seconds) = self.fast_windows_seconds {
            let _ = writeln!(out, "windows           {seconds} s instead of a minute, against the specification");
        }
        let refused: Vec<&Lawful> = self.refused().collect();
        let _ = writeln!(out, "lawful servers    {} tried, {} wrongly refused", self.lawful.len(), refused.len());
        let noticed = self.faults.len() - self.missed().count();
        let _ = writeln!(out, "faults            {} tried, {noticed} noticed", self.faults.len());
        if self.interrupted {
            let _ = writeln!(out, "interrupted       what was not tried is not counted");
        }
        let width = self.requirements.iter().map(|row| row.requirement.len()).max().unwrap_or(0).max(11);
        if !self.requirements.is_empty() {
            let _ = writeln!(out, "\n{:width$}  faults  noticed", "requirement");
        }
        for row in &self.requirements {
            let _ = writeln!(out, "{:width$}  {:6}  {:7}", row.requirement, row.faults, row.noticed);
        }
        if !refused.is_empty() {
            out.push_str("\nLawful servers that were refused; the JSON report has the output of the command:\n");
        }
        for lawful in refused {
            let _ = writeln!(
                out,
                "  animal-lab serve --dev --lawful {}   the command {} after {:.1} s",
                lawful.seed, lawful.verdict, lawful.seconds
            );
        }
        if self.missed().next().is_some() {
            out.push_str("\nFaults that were missed; `animal-lab serve --dev --fault NAME` starts such a server:\n");
        }
        for fault in self.missed() {
            let _ = writeln!(out, "  {}\n      {} ({:.1} s)", fault.name, fault.does, fault.seconds);
        }
        out.into()
    }
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::subject::subjects;
    use super::*;

    fn trial(subject: Subject, verdict: Verdict) -> Trial {
        Trial { subject, verdict, took: Duration::from_millis(1_500), output: "<b>expected 20, got 50</b>".into() }
    }

    /// A report on two lawful servers, one refused, and the faults of the page size, of which one is missed.
    pub(in super::super) fn sample() -> Report {
        let command = "./suite --url {url} 'a b'".into();
        let plain = trial(Subject::plain(), Verdict::Accepted);
        let mut report = Report::new(command, Some(5), Plan::Free, &plain);
        let subjects = subjects(2, &["list.limit-default".to_owned()]).expect("servers");
        let verdicts = [Verdict::Accepted, Verdict::Refused { code: 1 }, Verdict::Accepted, Verdict::TimedOut];
        for (subject, verdict) in subjects.into_iter().zip(verdicts).rev() {
            report.add(trial(subject, verdict));
        }
        report.sort();
        report
    }

    #[test]
    fn the_text_counts_and_names_what_was_missed_and_what_was_wrongly_refused() {
        let text = sample().text().to_string();
        for part in [
            "./suite --url {url} 'a b'",
            "2 tried, 1 wrongly refused",
            "2 tried, 1 noticed",
            "5 s instead of a minute",
            "--lawful 2   the command fails with exit code 1",
            "  list.limit-default.fifty\n",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(!text.contains("list.limit-default.ten"), "it was noticed, if only by taking for ever");
    }

    #[test]
    fn the_text_has_no_table_before_a_fault_was_tried() {
        let report = Report::new("true".into(), None, Plan::Free, &trial(Subject::plain(), Verdict::Accepted));
        assert!(!report.text().as_str().contains("requirement"), "{}", report.text());
        assert!(sample().text().as_str().contains("requirement"));
    }

    #[test]
    fn the_shortcoming_counts_both_kinds_and_a_perfect_suite_has_none() {
        let mut report = sample();
        let shortcoming = report.shortcoming();
        assert_eq!(shortcoming.as_deref(), Some("1 of 2 faults were missed, and 1 of 2 lawful servers were refused"));
        report.faults.retain(|fault| fault.noticed);
        report.lawful.retain(|lawful| lawful.verdict == Verdict::Accepted);
        assert_eq!(report.shortcoming(), None);
    }

    #[test]
    fn the_json_has_verdicts_by_server_and_figures_by_requirement() {
        let json: serde_json::Value = serde_json::from_str(&sample().json()).expect("JSON");
        assert_eq!(json["lawful"][1]["verdict"], "refused");
        assert_eq!(json["lawful"][1]["code"], 1);
        assert_eq!(json["faults"][1]["verdict"], "timed-out");
        assert_eq!(json["requirements"][0]["requirement"], "list.limit-default");
        assert_eq!(json["requirements"][0]["noticed"], 1);
        assert!(json["lawful"][0].get("output").is_none());
    }
}
