//! `--dry-run`: the plan of a run and its cost. Nothing is sent.

use animal_store_conformance::{Forecast, Options};

/// The plan of a run against this target, as text.
#[must_use]
pub(super) fn describe(options: &Options, target: &str) -> String {
    let plan = Forecast::of(options);
    let mut text = format!(
        "{target} · profile {} · {}\n\n",
        options.scope.profile.as_str(),
        options.plan.as_ref().map_or_else(
            || "plan unknown until the first response; assuming a Free key".to_owned(),
            |plan| format!("plan {plan}")
        )
    );
    text.push_str("  preflight    1 request, 2 if the first response is inconclusive\n");
    plan.probes.iter().for_each(|(name, cost)| text.push_str(&format!("  {name:<11}  {cost}\n")));
    text.push_str(&totals(&plan, options));
    text.push_str("\nNothing was sent.\n");
    text
}

/// The plan of a run as JSON, for programs.
#[must_use]
pub(super) fn as_json(options: &Options, target: &str) -> String {
    let plan = Forecast::of(options);
    let probes: Vec<String> = plan.probes.iter().map(|(name, cost)| format!("{name} {cost}")).collect();
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

/// The base URL, with the number of replicas of the service.
#[must_use]
pub(super) fn target(options: &Options) -> String {
    let base_url = &options.transport.base_url;
    match options.transport.replicas.len() {
        0 => base_url.clone(),
        1 => format!("{base_url} and 1 replica"),
        replicas => format!("{base_url} and {replicas} replicas"),
    }
}

fn totals(plan: &Forecast, options: &Options) -> String {
    if plan.is_cut {
        return format!(
            "\nAt most {} requests in all (--max-requests), {} one-minute windows and {} new animals, which the API cannot delete.\n\
             The whole plan needs more requests; the report will name the parts that were not sent.\n",
            plan.requests, plan.windows, plan.animals
        );
    }
    format!(
        "\nAbout {} requests with the key, {} without, {} one-minute windows and {} new animals, which the API cannot delete.\n\
         A sliding window, reads that lag, and failures take more: never more than {} requests in all (--max-requests).\n",
        plan.keyed, plan.keyless, plan.windows, plan.animals, options.max_requests
    )
}
