//! `--dry-run`: the options of a run with their sources, its plan and its cost. Nothing is sent.

use std::fmt::Display;

use serde_json::json;

use super::config::ShownOptions;
use super::output::{print, usage};
use super::values::Printed;
use crate::exit_code::ExitCode;
use animal_store_conformance::{Options, RunPlan};

/// Prints the options and the plan of a run against this target, and returns the exit code.
pub(super) fn show(shown: &ShownOptions, options: &Options, target: &str, format: Printed) -> ExitCode {
    let text = if format.is_json() {
        let plan = RunPlan::of(options);
        let probes = plan.described(options).into_iter().map(|(name, cost)| format!("{name} {cost}"));
        let document = json!({
            "configuration_file": shown.configuration_file,
            "options": shown.options,
            "target": target,
            "profile": options.judging.scope.profile.as_str(),
            "plan": options.judging.plan.as_ref().map(ToString::to_string),
            "seed": options.seed,
            "probes": probes.collect::<Vec<_>>(),
            "requests": plan.requests,
            "windows": plan.windows,
            "animals": plan.animals,
        });
        format!("{document:#}\n")
    } else {
        format!("{}\n{}\nNothing was sent.\n", shown.table(), plan(options, target))
    };
    print(&text, ExitCode::Success)
}

/// Prints an error in the options, after the options themselves if they are those of a dry run, and returns the exit code.
pub(super) fn refuse(shown: Option<&ShownOptions>, format: Printed, error: &dyn Display) -> ExitCode {
    if let Some(shown) = shown {
        print(&if format.is_json() { format!("{:#}\n", json!(shown)) } else { shown.table() }, ExitCode::Usage);
    }
    usage(error)
}

/// The plan of a run against this target, as text.
fn plan(options: &Options, target: &str) -> String {
    let plan = RunPlan::of(options);
    let mut text = format!(
        "{target} · profile {} · {}\n\n",
        options.judging.scope.profile.as_str(),
        options.judging.plan.as_ref().map_or_else(
            || "plan unknown until the first response; assuming a Free key".to_owned(),
            |plan| format!("plan {plan}")
        )
    );
    text.push_str("  preflight    1 request, 2 if the first response is inconclusive\n");
    plan.described(options).iter().for_each(|(name, cost)| text.push_str(&format!("  {name:<11}  {cost}\n")));
    text.push_str(&if plan.is_cut {
        format!(
            "\nAt most {} requests in all (--max-requests), {} one-minute windows and {} new animals, which the API cannot delete.\n\
             The whole plan needs more requests; the report will name the parts that were not sent.\n",
            plan.requests, plan.windows, plan.animals
        )
    } else {
        format!(
            "\nAbout {} requests with the key, {} without, {} one-minute windows and {} new animals, which the API cannot delete.\n\
             Responses of a second, a sliding window, reads that lag, and failures take more: never more than {} requests in all (--max-requests).\n",
            plan.keyed, plan.keyless, plan.windows, plan.animals, options.budget.max_requests
        )
    });
    text
}

/// The base URL, with the number of replicas of the service.
pub(super) fn target(options: &Options) -> String {
    let base_url = &options.transport.base_url;
    match options.transport.replicas.len() {
        0 => base_url.clone(),
        1 => format!("{base_url} and 1 replica"),
        replicas => format!("{base_url} and {replicas} replicas"),
    }
}
