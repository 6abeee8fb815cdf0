//! Checks that no lawful server is accused: the reference with the lawful choices of many seeds, judged strictly.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Instant;

use animal_store_conformance::Verdict;
use animal_store_lab::choices::{Build, Choice, Drawn, Maker, choices, lawful};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;

use super::Options;
use super::judging;

/// Judges the server of each seed.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let (from, simplify) = (options.from, options.simplify);
    let terms = options.clone();
    // Without circumstances, seed 7 is the server of `animal-lab serve --lawful 7`.
    let drawn = if options.circumstances { Drawn::ChoicesAndCircumstances } else { Drawn::Choices };
    let judged = options.for_each(options.seeds, move |runtime, number| {
        let seed = from + number;
        let choices = lawful(seed, drawn);
        let Some(problem) = runtime.block_on(judge(seed, &choices, &terms))? else { return Ok((seed, None)) };
        let (choices, problem) =
            if simplify { runtime.block_on(simplest(seed, choices, problem, &terms))? } else { (choices, problem) };
        Ok((seed, Some((problem.outcome, describe(seed, &choices, &problem)))))
    })?;
    let mut problems: Vec<&(Outcome, String)> = judged.iter().filter_map(|(_, problem)| problem.as_ref()).collect();
    problems.sort();
    for (_, description) in &problems {
        println!("{description}\n");
    }
    let number_of = |outcome| problems.iter().filter(|(of, _)| *of == outcome).count();
    let (accused, incomplete) = (problems.len() - number_of(Outcome::Incomplete), number_of(Outcome::Incomplete));
    let seeds: Vec<u64> = judged.iter().map(|(seed, _)| *seed).collect();
    let covered = coverage(&seeds, drawn);
    println!(
        "{} of {} seeds were judged in {:.0} s: {} conform, {incomplete} are incomplete, {accused} are accused",
        judged.len(),
        options.seeds,
        begun.elapsed().as_secs_f64(),
        judged.len() - problems.len()
    );
    println!(
        "pairs of choices on different axes: {} of {} ({:.1} %)",
        covered.found,
        covered.all,
        100.0 * covered.found as f64 / covered.all as f64
    );
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
    outcome: Outcome,
    found: String,
}

/// The plan of a seed's key.
fn plan(seed: u64) -> Plan {
    if seed.is_multiple_of(2) { Plan::Free } else { Plan::Pro }
}

/// Judges the server of a seed strictly. Returns nothing if it conforms.
async fn judge(seed: u64, choices: &[Choice], terms: &Options) -> anyhow::Result<Option<Problem>> {
    let run = terms.run(plan(seed), seed, "lawful");
    let report = match judging::judge(&run, Build::new(choices).finish()).await? {
        Ok(report) => report,
        Err(found) => return Ok(Some(Problem { outcome: Outcome::NoVerdict, found })),
    };
    if report.verdict == Verdict::Conforms {
        return Ok(None);
    }
    let mut found = Vec::new();
    for requirement in report.requirements.iter().filter(|requirement| requirement.failures > 0) {
        let sentence = requirement.evidence.first().map_or("", |evidence| evidence.sentence.as_str());
        found.push(format!("{}: {sentence}", requirement.id));
    }
    for requirement in &report.requirements {
        if requirement.status == Status::NotExercised && requirement.level == Level::Stated {
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
    Ok(Some(Problem { outcome, found: found.join("\n    ") }))
}

/// Removes choices as long as the outcome stays the same, halves before single ones. Returns the remaining choices and their problem.
async fn simplest(
    seed: u64,
    mut kept: Vec<Choice>,
    mut problem: Problem,
    terms: &Options,
) -> anyhow::Result<(Vec<Choice>, Problem)> {
    let quietly = Options { verbose: false, record: None, ..terms.clone() };
    kept.retain(|choice| choice.maker != Maker::Reference);
    let mut size = kept.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < kept.len() {
            let fewer = [&kept[..at], &kept[kept.len().min(at + size)..]].concat();
            match judge(seed, &fewer, &quietly).await? {
                Some(still) if still.outcome == problem.outcome => (kept, problem) = (fewer, still),
                _ => at += size,
            }
        }
        if size <= 1 {
            return Ok((kept, problem));
        }
        size = size.div_ceil(2);
    }
}

fn describe(seed: u64, choices: &[Choice], problem: &Problem) -> String {
    let names: Vec<String> =
        choices.iter().filter(|choice| choice.maker != Maker::Reference).map(Choice::name).collect();
    let Problem { outcome, found } = problem;
    format!("seed {seed} on a {} key: {outcome:?}\n    {found}\n    {}", plan(seed), names.join(" "))
}

/// How many pairs of choices on different axes there are, and how many of them some seed has made together.
struct Coverage {
    found: usize,
    all: usize,
}

fn coverage(seeds: &[u64], drawn: Drawn) -> Coverage {
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
    Coverage { found: found.len(), all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_seeds_cover_more_pairs_and_a_thousand_nearly_all() {
        for drawn in [Drawn::Choices, Drawn::ChoicesAndCircumstances] {
            let covered = |seeds: u64| coverage(&(0..seeds).collect::<Vec<_>>(), drawn);
            let (few, many) = (covered(5), covered(1_000));
            assert!(few.found < many.found && few.all == many.all && many.found <= many.all);
            assert!(many.found * 100 > many.all * 95, "{} of {}", many.found, many.all);
        }
    }
}
