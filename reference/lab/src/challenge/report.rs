//! The results of a challenge.

use std::fmt::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::{showing::Sight, subject::Subject};
use crate::{choices::Choice, config::ChallengeArgs};
use animal_store_secrets::printable::Printable;

/// The version of the JSON report.
const SCHEMA: u32 = 1;

/// The number of lines of an output that the text report shows.
const LAST_LINES: usize = 5;

/// The verdict of a suite on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// The suite ended with exit code 0.
    Accepted,
    /// The suite ended with another exit code.
    Refused {
        /// The exit code.
        code: i32,
    },
    /// The suite was ended by a signal.
    Crashed,
    /// The suite did not end in time.
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

/// The results of a challenge.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    schema_version: u32,
    /// The command, quoted for a shell.
    command: Printable,
    plan: &'static str,
    /// The length of a window of requests per minute in seconds, if it was not the 60 s of the specification.
    fast_windows_seconds: Option<u32>,
    /// Whether the challenge was ended before all servers were tried.
    pub(super) interrupted: bool,
    /// The duration of the suite on the plain reference, in seconds.
    plain_seconds: f64,
    /// Lawful servers that make one choice.
    choices: Vec<Tried>,
    /// Lawful servers of seeds, which make many choices.
    lawful: Vec<Tried>,
    faults: Vec<Tried>,
    requirements: Vec<Row>,
}

/// A server that was tried.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Tried {
    /// The place of the server among those that are tried.
    #[serde(skip)]
    place: usize,
    name: String,
    /// The seed of a lawful server that makes many choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// The choices of such a server in which it differs from the plain reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<Vec<String>>,
    /// The requirement that leaves a choice open, or that a fault breaks first.
    #[serde(skip_serializing_if = "str::is_empty")]
    requirement: &'static str,
    /// The requirements that a fault breaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    breaks: Vec<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    does: &'static str,
    /// Whether the suite did not accept a broken server.
    #[serde(skip_serializing_if = "Option::is_none")]
    noticed: Option<bool>,
    #[serde(flatten)]
    pub(super) verdict: Verdict,
    pub(super) seconds: f64,
    /// The end of the suite's output, unless it accepted a lawful server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Printable>,
    /// The effort of a suite to see the fault, if this suite missed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_with: Option<Sight>,
    /// How a suite can show the fault, if this one missed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_by: Option<Printable>,
}

impl Tried {
    /// The result of running the suite against a server: the verdict, the time that it took, the end of its output, and the steps that
    /// show a missed fault.
    pub(super) fn new(
        subject: &Subject,
        verdict: Verdict,
        took: Duration,
        output: Printable,
        shown_by: Option<(Sight, String)>,
    ) -> Tried {
        let Subject { place, seed, vector } = subject;
        let (choice, fault) = (subject.choice(), vector.faults.first());
        let is_accepted = verdict == Verdict::Accepted;
        let (seen_with, shown_by) = shown_by.map(|(sight, text)| (sight, Printable::from(text))).unzip();
        Tried {
            place: *place,
            name: subject.name(),
            seed: *seed,
            choices: seed.map(|_| vector.differing().map(Choice::name).collect()),
            requirement: choice.map(Choice::requirement).or(fault.map(|fault| fault.targets[0])).unwrap_or_default(),
            breaks: fault.map(|fault| fault.targets.clone()).unwrap_or_default(),
            does: choice.map(|choice| choice.does).or(fault.map(|fault| fault.does)).unwrap_or_default(),
            noticed: fault.map(|_| !is_accepted),
            verdict,
            seconds: (took.as_secs_f64() * 1_000.0).round() / 1_000.0,
            output: Some(output).filter(|_| !is_accepted && fault.is_none()),
            seen_with,
            shown_by,
        }
    }

    fn is_accepted(&self) -> bool {
        self.verdict == Verdict::Accepted
    }
}

/// The servers that were not accepted.
fn refused(tried: &[Tried]) -> impl Iterator<Item = &Tried> {
    tried.iter().filter(|tried| !tried.is_accepted())
}

/// A requirement, with the number of its faults and of the choices that it leaves open, and how many of each were noticed or
/// refused.
#[derive(Clone, Debug, Default, Serialize)]
struct Row {
    requirement: &'static str,
    faults: usize,
    noticed: usize,
    choices: usize,
    refused: usize,
}

impl Report {
    /// A report in which nothing but the plain reference was tried.
    pub(super) fn new(args: &ChallengeArgs, plain_seconds: f64) -> Report {
        let words: Vec<String> = args.command.iter().map(|word| quoted(&word.to_string_lossy())).collect();
        Report {
            schema_version: SCHEMA,
            command: words.join(" ").into(),
            plan: args.plan.name(),
            fast_windows_seconds: args.fast_windows,
            interrupted: false,
            plain_seconds,
            choices: Vec::new(),
            lawful: Vec::new(),
            faults: Vec::new(),
            requirements: Vec::new(),
        }
    }

    /// Adds the result of one trial.
    pub(super) fn add(&mut self, tried: Tried) {
        let list = match (tried.seed, tried.noticed) {
            (Some(_), _) => &mut self.lawful,
            (_, Some(_)) => &mut self.faults,
            _ => &mut self.choices,
        };
        list.push(tried);
    }

    /// Sorts the results in the order of the lists, and counts by requirement, in the order of the faults.
    pub(super) fn sort(&mut self) {
        for tried in [&mut self.choices, &mut self.lawful, &mut self.faults] {
            tried.sort_by_key(|tried| tried.place);
        }
        for tried in self.faults.iter().chain(&self.choices) {
            let rows = &mut self.requirements;
            let place = rows.iter().position(|row| row.requirement == tried.requirement).unwrap_or(rows.len());
            if place == rows.len() {
                rows.push(Row { requirement: tried.requirement, ..Row::default() });
            }
            let row = &mut rows[place];
            let (count, refused) = match tried.noticed {
                Some(_) => (&mut row.faults, &mut row.noticed),
                None => (&mut row.choices, &mut row.refused),
            };
            *count += 1;
            *refused += usize::from(!tried.is_accepted());
        }
    }

    /// The faults that were not noticed, those first that are the easiest to see.
    fn missed(&self) -> Vec<&Tried> {
        let mut missed: Vec<&Tried> = self.faults.iter().filter(|fault| fault.is_accepted()).collect();
        missed.sort_by_key(|fault| fault.seen_with);
        missed
    }

    /// A summary of missed faults and refused lawful servers, if there are any. With a number of faults to notice, others may be missed.
    pub(super) fn shortcoming(&self, at_least: Option<usize>) -> Option<String> {
        let (missed, faults, tried) = (self.missed().len(), self.faults.len(), self.choices.len() + self.lawful.len());
        let refused = refused(&self.choices).count() + refused(&self.lawful).count();
        let missed = match at_least {
            Some(least) => (faults - missed < least)
                .then(|| format!("{} of {faults} faults were noticed, fewer than {least}", faults - missed)),
            None => (missed > 0).then(|| format!("{missed} of {faults} faults were missed")),
        };
        let refused = (refused > 0).then(|| format!("{refused} of {tried} lawful servers were refused"));
        let parts: Vec<String> = [missed, refused].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", and "))
    }

    /// The report for programs.
    pub(super) fn json(&self) -> String {
        // Plain data with names for keys can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The report for people: the whole, or the beginning, which fits on a screen.
    pub(super) fn text(&self, is_whole: bool) -> Printable {
        let mut out = self.figures();
        if is_whole && !self.requirements.is_empty() {
            let width = self.requirements.iter().map(|row| row.requirement.len()).max().unwrap_or(0).max(11);
            let _ = writeln!(out, "\n{:width$}  faults  noticed  choices  refused", "requirement");
            for Row { requirement, faults, noticed, choices, refused } in &self.requirements {
                let _ = writeln!(out, "{requirement:width$}  {faults:6}  {noticed:7}  {choices:7}  {refused:7}");
            }
        }
        self.add_sections(&mut out, is_whole);
        out.into()
    }

    fn figures(&self) -> String {
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
        for (what, tried, verdict) in [
            ("lawful choices    ", &self.choices, "wrongly refused"),
            ("lawful seeds      ", &self.lawful, "wrongly refused"),
            ("faults            ", &self.faults, "noticed"),
        ] {
            let _ = writeln!(out, "{what}{} tried, {} {verdict}", tried.len(), refused(tried).count());
        }
        if self.interrupted {
            let _ = writeln!(out, "interrupted       what was not tried is not counted");
        }
        out
    }

    fn add_sections(&self, out: &mut String, is_whole: bool) {
        let room = |lines| if is_whole { usize::MAX } else { lines };
        let choices = refused(&self.choices)
            .map(|choice| format!("  {}\n      {}\n{}", choice.name, choice.does, ending(choice)));
        let title = "Lawful choices that were refused; `animal-lab serve --dev --choose NAME` starts such a server:";
        add_section(out, title, &choices.collect::<Vec<_>>(), room(9));
        let seed = |lawful: &Tried| lawful.seed.unwrap_or_default();
        let seeds = refused(&self.lawful)
            .map(|lawful| format!("  animal-lab serve --dev --lawful {}\n{}", seed(lawful), ending(lawful)));
        let title = "Lawful servers that make many choices and were refused; the JSON report names the choices:";
        add_section(out, title, &seeds.collect::<Vec<_>>(), room(8));
        let missed = self.missed().into_iter().map(|fault| {
            let shown_by = fault.shown_by.as_ref().map(|shown_by| format!("      {shown_by}\n")).unwrap_or_default();
            format!("  {}\n      {} ({:.1} s)\n{shown_by}", fault.name, fault.does, fault.seconds)
        });
        let title = "Faults that were missed, the easiest to see first; `animal-lab serve --dev --fault NAME` starts such a server:";
        add_section(out, title, &missed.collect::<Vec<_>>(), room(15));
    }
}

/// Adds the lines about each server of a list, as many as fit into a number of lines, but at least about one.
fn add_section(out: &mut String, title: &str, entries: &[String], room: usize) {
    let Some(first) = entries.first() else { return };
    let _ = write!(out, "\n{title}\n{first}");
    let (mut shown, mut lines) = (1, first.lines().count());
    for entry in &entries[1..] {
        lines += entry.lines().count();
        if lines > room {
            break;
        }
        out.push_str(entry);
        shown += 1;
    }
    if shown < entries.len() {
        let _ = writeln!(out, "  and {} more, which --report text=FILE lists", entries.len() - shown);
    }
}

/// The verdict of the command, with the last lines of its output.
fn ending(Tried { verdict, seconds, output, .. }: &Tried) -> String {
    let output = output.as_ref().map_or("", Printable::as_str);
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let colon = if last.is_empty() { "." } else { "; the last lines of its output:" };
    let mut out = format!("      the command {verdict} after {seconds:.1} s{colon}\n");
    for line in last {
        let _ = writeln!(out, "      | {line}");
    }
    out
}

/// A word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::subject::Chosen;
    use super::*;

    fn tried(subject: &Subject, verdict: Verdict) -> Tried {
        let shown_by = Some((Sight::OrdinaryRequest, "shown by GET /pets".to_owned()));
        Tried::new(subject, verdict, Duration::from_millis(1_500), "<b>expected 20, got 50</b>".into(), shown_by)
    }

    /// An empty report of a challenge with this command.
    fn report(command: &[&str]) -> Report {
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            args: ChallengeArgs,
        }
        let line = [&["challenge", "--fast-windows", "5", "--"], command].concat();
        Report::new(&Line::parse_from(line).args, 1.5)
    }

    /// A report on two choices and two seeds, one of each refused, and the faults of the page size, of which one is missed.
    fn sample() -> Report {
        let mut report = report(&["./suite", "--url", "{url}", "a b"]);
        let patterns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let choices = patterns(&["list.order.random", "list.order.by-name"]);
        let faults = patterns(&["list.limit-default.fifty", "list.limit-default.ten"]);
        let subjects = Chosen { seeds: 2, choices: &choices, faults: &faults }.subjects().expect("servers");
        let refused = Verdict::Refused { code: 1 };
        let verdicts = [Verdict::Accepted, refused, Verdict::Accepted, refused, Verdict::Accepted, Verdict::TimedOut];
        assert_eq!(subjects.len(), verdicts.len());
        for (subject, verdict) in subjects.into_iter().zip(verdicts).rev() {
            report.add(tried(&subject, verdict));
        }
        report.sort();
        report
    }

    #[test]
    fn the_text_counts_and_names_what_was_missed_and_what_was_wrongly_refused() {
        let report = sample();
        let refused = &refused(&report.choices).next().expect("a choice").name;
        let missed = &report.missed()[0].name;
        let noticed = &report.faults.iter().find(|fault| !fault.is_accepted()).expect("a fault").name;
        let text = report.text(true).to_string();
        for part in [
            "./suite --url {url} 'a b'",
            "lawful choices    2 tried, 1 wrongly refused",
            "lawful seeds      2 tried, 1 wrongly refused",
            "2 tried, 1 noticed",
            "5 s instead of a minute",
            "list.limit-default       2        1        0        0\n",
            "list.order               0        0        2        1\n",
            &format!("  {refused}\n"),
            "--lawful 2\n      the command fails with exit code 1 after 1.5 s; the last lines of its output:\n      | <b>expected",
            &format!("  {missed}\n"),
            "      shown by GET /pets\n",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(!text.contains(&format!("  {noticed}\n")), "it was noticed, if only by taking for ever");
    }

    #[test]
    fn the_summary_of_the_worst_suite_fits_on_60_lines_with_the_progress_and_says_how_many_servers_it_leaves_out() {
        let mut report = report(&["./suite"]);
        let sights = [Sight::SeveralRequests, Sight::NearMiss, Sight::OrdinaryRequest];
        let subjects = Chosen { seeds: 20, ..Chosen::default() }.subjects().expect("servers");
        for (number, subject) in subjects.into_iter().enumerate() {
            let is_broken = !subject.vector.faults.is_empty();
            let mut tried = tried(&subject, if is_broken { Verdict::Accepted } else { Verdict::Crashed });
            tried.output = tried.output.map(|_| "a line\n".repeat(20).into());
            let sight = sights[number % sights.len()];
            (tried.seen_with, tried.shown_by) = (Some(sight), Some(format!("shown by {sight:?}").into()));
            report.add(tried);
        }
        report.interrupted = true;
        report.sort();
        let (summary, text) = (report.text(false).to_string(), report.text(true).to_string());
        // The estimate, the progress and the message at the end are on standard error.
        let lines = summary.lines().count() + 1 + super::super::LINES_OF_PROGRESS + 1;
        assert!(lines <= 60, "{lines} lines");
        assert_eq!(summary.matches(" more, which --report text=FILE lists\n").count(), 3, "{summary}");
        assert!(!summary.contains("NearMiss") && summary.contains("OrdinaryRequest"), "the easiest first: {summary}");
        assert!(!text.contains(" more, which"), "the text has all");
        for tried in report.faults.iter().chain(&report.choices) {
            assert!(text.contains(&format!("  {}\n", tried.name)), "{}", tried.name);
        }
    }

    #[test]
    fn of_a_long_output_the_text_shows_the_last_lines() {
        let mut tried = sample().choices.remove(0);
        tried.verdict = Verdict::Crashed;
        tried.output = Some((1..=9).map(|number| format!("line {number}\n\n")).collect::<String>().into());
        let text = ending(&tried);
        assert!(text.contains("| line 5\n") && text.contains("| line 9\n") && !text.contains("line 4"), "{text}");
        tried.output = None;
        assert_eq!(ending(&tried), "      the command is ended by a signal after 1.5 s.\n");
    }

    #[test]
    fn the_shortcoming_counts_both_kinds_and_a_perfect_suite_has_none() {
        let mut report = sample();
        let shortcoming = report.shortcoming(None);
        assert_eq!(shortcoming.as_deref(), Some("1 of 2 faults were missed, and 2 of 4 lawful servers were refused"));
        assert_eq!(report.shortcoming(Some(1)).as_deref(), Some("2 of 4 lawful servers were refused"));
        let fewer = report.shortcoming(Some(2));
        assert!(fewer.is_some_and(|text| text.starts_with("1 of 2 faults were noticed, fewer than 2, and ")));
        report.faults.retain(|fault| !fault.is_accepted());
        report.lawful.retain(|lawful| lawful.verdict == Verdict::Accepted);
        report.choices.retain(|choice| choice.verdict == Verdict::Accepted);
        assert_eq!(report.shortcoming(None), None);
    }

    #[test]
    fn the_json_has_verdicts_by_server_and_figures_by_requirement() {
        let json: serde_json::Value = serde_json::from_str(&sample().json()).expect("JSON");
        assert_eq!(json["lawful"][1]["verdict"], "refused");
        assert_eq!(json["lawful"][1]["code"], 1);
        assert_eq!(
            (&json["choices"][1]["verdict"], &json["choices"][1]["requirement"]),
            (&"refused".into(), &"list.order".into())
        );
        assert_eq!((&json["requirements"][1]["choices"], &json["requirements"][1]["refused"]), (&2.into(), &1.into()));
        assert_eq!(json["faults"][1]["verdict"], "timed-out");
        assert_eq!(json["requirements"][0]["requirement"], "list.limit-default");
        assert_eq!(json["requirements"][0]["noticed"], 1);
        assert!(json["lawful"][0].get("output").is_none());
    }
}
