//! Notes about the options of a run. They change no verdict.

use std::collections::BTreeSet;

use crate::options::Options;
use animal_store_rules::catalogue::plan::{PLANS, Plan, PlanLimits};
use animal_store_rules::limiter::Limiter;

/// The notes on a run, given its trace so far.
#[must_use]
pub(super) fn notes(limiter: &Limiter<'_>, options: &Options) -> Vec<String> {
    let answers = limiter.key(0).into_iter().flat_map(animal_store_rules::limiter::KeyLimits::answers);
    let limits: BTreeSet<u64> = answers.map(|answer| answer.window.limit).collect();
    let contradiction = |plan: &Plan| limits.iter().find_map(|limit| contradiction(plan, *limit));
    options.plan.as_ref().and_then(contradiction).into_iter().collect()
}

/// The note when the headers report a limit that the named plan does not have.
fn contradiction(plan: &Plan, limit: u64) -> Option<String> {
    let PlanLimits { per_minute, per_day } = plan.plan_limits()?;
    if limit == per_minute || limit == per_day {
        return None;
    }
    let others: Vec<(&str, &str)> = PLANS
        .iter()
        .filter_map(|(name, plan_limits)| match limit {
            figure if figure == plan_limits.per_minute => Some((*name, "minute")),
            figure if figure == plan_limits.per_day => Some((*name, "day")),
            _ => None,
        })
        .collect();
    Some(match others[..] {
        [] => format!(
            "--plan {plan}, but the responses report a limit of {limit}, which no plan has: is this an Enterprise key (--plan enterprise=RPM,RPD)?"
        ),
        [(name, unit)] => {
            format!(
                "--plan {plan}, but the responses report a limit of {limit} per {unit}: is this a {} key?",
                titled(name)
            )
        }
        _ => {
            let keys: Vec<String> = others.iter().map(|(name, unit)| format!("{} ({unit})", titled(name))).collect();
            format!(
                "--plan {plan}, but the responses report a limit of {limit}: is this a key of another plan, {}?",
                keys.join(" or ")
            )
        }
    })
}

fn titled(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_contradicts_the_headers_gets_a_note() {
        let note = |plan: &str, limit| contradiction(&plan.parse().unwrap(), limit);
        assert_eq!(
            note("pro", 60).unwrap(),
            "--plan pro, but the responses report a limit of 60 per minute: is this a Free key?"
        );
        assert_eq!(
            note("business", 10_000).unwrap(),
            "--plan business, but the responses report a limit of 10000 per day: is this a Pro key?"
        );
        assert!(
            note("pro", 1_000).unwrap().ends_with("is this a key of another plan, Free (day) or Business (minute)?")
        );
        assert!(note("free", 77).unwrap().contains("enterprise=RPM,RPD"));
        for (plan, limit) in [("free", 60), ("free", 1_000), ("enterprise", 77), ("enterprise=5,9", 9)] {
            assert_eq!(note(plan, limit), None, "{plan} {limit}");
        }
    }
}
