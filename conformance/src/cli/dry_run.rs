//! `--dry-run`: the plan of a run and its cost. Nothing is sent.

use crate::options::Options;
use crate::probes::plan::{self, Plan, Probe, Turn};

/// The plan of a run against this target, as text.
#[must_use]
pub(super) fn describe(options: &Options, target: &str) -> String {
    let plan_limits = options.plan.as_ref().and_then(animal_store_rules::catalogue::plan::Plan::plan_limits);
    let plan = plan::plan(options, plan_limits, None);
    let mut text = format!(
        "{target} · profile {} · {}\n\n",
        options.scope.profile.as_str(),
        options.plan.as_ref().map_or_else(
            || "plan unknown until the first response; assuming a Free key".to_owned(),
            |plan| format!("plan {plan}")
        )
    );
    text.push_str("  preflight    1 request, 2 if the first response is inconclusive\n");
    plan.probes.iter().for_each(|probe| text.push_str(&line(*probe, options)));
    text.push_str(&totals(&plan));
    text.push_str("\nNothing was sent.\n");
    text
}

/// The same as JSON, for programs.
#[must_use]
pub(super) fn as_json(options: &Options, target: &str) -> String {
    let plan_limits = options.plan.as_ref().and_then(animal_store_rules::catalogue::plan::Plan::plan_limits);
    let plan = plan::plan(options, plan_limits, None);
    let probes: Vec<String> = plan
        .probes
        .iter()
        .map(|probe| line(*probe, options).split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let document = serde_json::json!({
        "target": target,
        "profile": options.scope.profile.as_str(),
        "plan": options.plan.as_ref().map(ToString::to_string),
        "seed": options.seed,
        "probes": probes,
        "requests": plan.requests,
        "windows": plan.windows,
        "animals": plan.animals,
    });
    format!("{document:#}\n")
}

/// The base URL, and how many further addresses of the service there are.
#[must_use]
pub(super) fn target(options: &Options) -> String {
    let base_url = &options.transport.base_url;
    match options.transport.replicas.len() {
        0 => base_url.clone(),
        1 => format!("{base_url} and 1 replica"),
        replicas => format!("{base_url} and {replicas} replicas"),
    }
}

fn line(probe: Probe, options: &Options) -> String {
    match probe {
        Probe::Tour => {
            let (keyed, keyless) = plan::of_tour(&options.scope);
            format!("  tour         up to {keyed} requests with the key, {keyless} without\n")
        }
        Probe::NearMisses => {
            format!("  near misses  {} requests, each with one defect\n", plan::near_misses(&options.scope))
        }
        Probe::Credentials => format!("  credentials  {} requests without a valid key\n", plan::CREDENTIALS),
        Probe::FurtherBodies => {
            format!("  bodies       up to {} creations that lenient servers misread\n", plan::FURTHER_BODIES)
        }
        Probe::FullPage => {
            format!("  full page    up to {} requests: more animals than a list may show\n", plan::FULL_PAGE)
        }
        Probe::Properties(case) if options.replay.is_some() => {
            format!("  properties   generated request {case} only\n")
        }
        Probe::Properties(cases) => {
            format!("  properties   {cases} generated requests; more to simplify failures\n")
        }
        Probe::Sequence(steps) => format!("  sequence     {steps} create, list and get requests\n"),
        Probe::Quota(turn) => {
            let which = match turn {
                _ if options.quota_key.is_none() => "the key",
                Turn::First => "the main key",
                Turn::Second => "the quota key",
            };
            let then = if turn == Turn::First { " and waits for its reset" } else { "" };
            format!("  quota        exhausts the window of {which}{then}\n")
        }
    }
}

fn totals(plan: &Plan) -> String {
    if plan.is_cut {
        return format!(
            "\nAt most {} requests in all (--max-requests), {} one-minute windows and {} new animals, which the API cannot delete.\n\
             The whole plan needs more requests; the report will name the parts that were not sent.\n",
            plan.requests, plan.windows, plan.animals
        );
    }
    format!(
        "\nAt most {} requests with the key, {} without, {} one-minute windows and {} new animals, which the API cannot delete.\n",
        plan.keyed, plan.keyless, plan.windows, plan.animals
    )
}
