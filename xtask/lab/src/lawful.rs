//! Checks that no lawful server is accused: the reference with the lawful choices of many seeds, judged strictly.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Instant;

use animal_store_conformance::Verdict;
use animal_store_lab::choices::{Choice, Drawn, Maker, choices, lawful, variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;

use super::Options;

/// Judges the server of each seed.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    // Without circumstances, seed 7 is the server of `animal-lab serve --lawful 7`.
    let drawn = if options.circumstances { Drawn::ChoicesAndCircumstances } else { Drawn::Choices };
    let judged = options.for_each(options.seeds, async |number| {
        let seed = options.from + number;
        let problem = match judge(seed, &lawful(seed, drawn), options).await? {
            Some(problem) if options.simplify => Some(problem.simplify(options).await?),
            problem => problem,
        };
        Ok((seed, problem))
    })?;
    let mut problems: Vec<&Problem> = judged.iter().filter_map(|(_, problem)| problem.as_ref()).collect();
    problems.sort_by_key(|problem| (problem.outcome, problem.seed));
    for Problem { seed, outcome, found, choices } in &problems {
        let names: Vec<String> = choices.iter().map(Choice::name).collect();
        println!("seed {seed} on a {} key: {outcome:?}\n    {found}\n    {}\n", plan(*seed), names.join(" "));
    }
    let incomplete = problems.iter().filter(|problem| problem.outcome == Outcome::Incomplete).count();
    let accused = problems.len() - incomplete;
    let seeds: Vec<u64> = judged.iter().map(|(seed, _)| *seed).collect();
    let (found, all) = coverage(&seeds, drawn);
    println!(
        "{} of {} seeds were judged in {:.0} s: {} conform, {incomplete} are incomplete, {accused} are accused",
        judged.len(),
        options.seeds,
        begun.elapsed().as_secs_f64(),
        judged.len() - problems.len()
    );
    let percent = 100.0 * found as f64 / all as f64;
    println!("pairs of choices on different axes: {found} of {all} ({percent:.1} %)");
    Ok(if accused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How a run ended in which a lawful server was not found to conform.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Outcome {
    Accused,
    NoVerdict,
    /// No server is accused. For example, a key was banned for longer than the judge waits.
    Incomplete,
}

/// A run in which a lawful server was not found to conform.
struct Problem {
    seed: u64,
    outcome: Outcome,
    found: String,
    /// The choices that the reference itself does not make.
    choices: Vec<Choice>,
}

/// The plan of a seed's key.
fn plan(seed: u64) -> Plan {
    if seed.is_multiple_of(2) { Plan::Free } else { Plan::Pro }
}

/// Judges the server of a seed strictly. Returns `None` if it conforms.
async fn judge(seed: u64, choices: &[Choice], options: &Options) -> anyhow::Result<Option<Problem>> {
    let problem = |outcome, found| {
        let choices = choices.iter().filter(|choice| choice.maker != Maker::Reference).cloned().collect();
        Ok(Some(Problem { seed, outcome, found, choices }))
    };
    let report = match options.judge(plan(seed), seed, "lawful", variation(choices)).await? {
        Ok(report) => report,
        Err(found) => return problem(Outcome::NoVerdict, found),
    };
    if report.verdict == Verdict::Conforms {
        return Ok(None);
    }
    let mut found = Vec::new();
    for requirement in &report.requirements {
        if requirement.failures > 0 {
            let sentence = requirement.evidence.first().map_or("", |evidence| evidence.sentence.as_str());
            found.push(format!("{}: {sentence}", requirement.id));
        } else if requirement.status == Status::NotExercised && requirement.level == Level::Stated {
            let reason = requirement.reason.as_deref().unwrap_or_default();
            found.push(format!("{} not exercised: {reason}", requirement.id));
        }
    }
    if !report.unfinished.is_empty() {
        found.push(format!("unfinished: {}", report.unfinished.join(", ")));
    }
    if let Some(reason) = &report.ended_early {
        found.push(format!("ended early: {reason}"));
    }
    let outcome = if report.verdict == Verdict::Incomplete { Outcome::Incomplete } else { Outcome::Accused };
    problem(outcome, found.join("\n    "))
}

impl Problem {
    /// Removes choices as long as the outcome stays the same, halves before single ones.
    async fn simplify(mut self, options: &Options) -> anyhow::Result<Problem> {
        let quietly = Options { verbose: false, record: None, ..options.clone() };
        let mut size = self.choices.len().div_ceil(2);
        loop {
            let mut at = 0;
            while at < self.choices.len() {
                let end = self.choices.len().min(at + size);
                let fewer = [&self.choices[..at], &self.choices[end..]].concat();
                match judge(self.seed, &fewer, &quietly).await? {
                    Some(still) if still.outcome == self.outcome => self = still,
                    _ => at += size,
                }
            }
            if size <= 1 {
                return Ok(self);
            }
            size = size.div_ceil(2);
        }
    }
}

/// How many pairs of choices on different axes some seed has made together, and how many of them there are.
fn coverage(seeds: &[u64], drawn: Drawn) -> (usize, usize) {
    let is_drawn = |choice: &Choice| match choice.maker {
        Maker::Reference | Maker::Others => true,
        Maker::Circumstance => drawn == Drawn::ChoicesAndCircumstances,
        Maker::Intermediary => false,
    };
    let table: Vec<Choice> = choices().into_iter().filter(is_drawn).collect();
    let mut all = 0;
    for (at, one) in table.iter().enumerate() {
        all += table[at + 1..].iter().filter(|other| other.axis() != one.axis()).count();
    }
    let mut found = HashSet::new();
    for seed in seeds {
        let names: Vec<String> = lawful(*seed, drawn).iter().map(Choice::name).collect();
        for (at, one) in names.iter().enumerate() {
            found.extend(names[at + 1..].iter().map(|other| (one.clone(), other.clone())));
        }
    }
    (found.len(), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_seeds_cover_more_pairs_and_a_thousand_nearly_all() {
        for drawn in [Drawn::Choices, Drawn::ChoicesAndCircumstances] {
            let covered = |seeds: u64| coverage(&(0..seeds).collect::<Vec<_>>(), drawn);
            let ((few, all), (many, same)) = (covered(5), covered(1_000));
            assert!(few < many && all == same && many <= all);
            assert!(many * 100 > all * 95, "{many} of {all}");
        }
    }
}
