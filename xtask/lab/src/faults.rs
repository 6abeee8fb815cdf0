//! Checks that each fault of the laboratory is caught, whatever the seed of the judge.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use animal_store_lab::faults::{Fault, faults};

use super::Options;

/// The faults that show only between two keys.
const NEED_TWO_KEYS: [&str; 2] = ["quota.not-early.one-count-for-all", "quota.enforced.spares-the-first-key"];

/// Judges each fault whose name contains `text` by each seed.
pub(super) fn run(options: &Options, text: &str) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let chosen: Vec<Fault> = faults().into_iter().filter(|fault| fault.name.contains(text)).collect();
    anyhow::ensure!(!chosen.is_empty(), "no fault's name contains `{text}`; `animal-lab faults` lists them");
    let count = chosen.len() as u64;
    let all = options.for_each(count * options.seeds, async |number| {
        let (fault, seed) = (&chosen[(number % count) as usize], options.from + number / count);
        Ok((fault.name.as_str(), seed, missed(fault, seed, options).await?))
    })?;

    let mut missed: BTreeMap<(&str, String), Vec<u64>> = BTreeMap::new();
    for (fault, seed, requirements) in all.iter().filter(|(_, _, requirements)| !requirements.is_empty()) {
        missed.entry((fault, requirements.join(" "))).or_default().push(*seed);
    }
    for ((name, what), seeds) in &mut missed {
        seeds.sort_unstable();
        println!("{name}: not caught by {what}, with {} of the seeds: {}", seeds.len(), first(seeds));
    }
    println!(
        "{} runs, of {} faults with up to {} seeds each, in {:.0} s; {} were not caught as they must be",
        all.len(),
        chosen.len(),
        options.seeds,
        begun.elapsed().as_secs_f64(),
        missed.values().map(Vec::len).sum::<usize>()
    );
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the requirements that a fault breaks and one run does not find broken; or the reason why there is no verdict.
async fn missed(fault: &Fault, seed: u64, options: &Options) -> anyhow::Result<Vec<String>> {
    let two_keys = options.two_keys || NEED_TWO_KEYS.contains(&fault.name.as_str());
    let options = Options { two_keys, ..options.clone() };
    let report = match options.judge(fault.plan, seed, &fault.name, fault.variation()).await? {
        Ok(report) => report,
        Err(error) => return Ok(vec![format!("any requirement, for there is no verdict ({error})")]),
    };
    let is_found = |target: &str| report.requirements.iter().any(|found| found.id == target && found.failures > 0);
    Ok(fault.targets.iter().filter(|target| !is_found(target)).map(ToString::to_string).collect())
}

/// The first few of many seeds.
fn first(seeds: &[u64]) -> String {
    let shown: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
    let more = if seeds.len() > shown.len() { " …" } else { "" };
    format!("{}{more}", shown.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faults_that_need_two_keys_exist() {
        let names: Vec<String> = faults().into_iter().map(|fault| fault.name).collect();
        assert!(NEED_TWO_KEYS.iter().all(|name| names.iter().any(|fault| fault == name)));
    }
}
