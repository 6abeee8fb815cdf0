//! The cost of a run, known before anything is sent.

use crate::options::Options;
use crate::probes::cost::Cost;
use crate::probes::plan::{Probe, RunPlan, Turn, plan};
use animal_store_rules::catalogue::plan::Plan;

impl RunPlan {
    /// The plan of a run with these options, before anything is sent. Without a plan in the options, the key is taken for a Free one.
    #[must_use]
    pub fn of(options: &Options) -> RunPlan {
        plan(options, options.judging.plan.as_ref().and_then(Plan::plan_limits), None)
    }

    /// The name of each probe of a run with these options, and the requests that it sends, in a few words. Preflight, which comes first,
    /// is not among them.
    #[must_use]
    pub fn described(&self, options: &Options) -> Vec<(&'static str, String)> {
        self.probes.iter().map(|probe| described(*probe, options)).collect()
    }
}

fn described(probe: Probe, options: &Options) -> (&'static str, String) {
    let Cost { keyed, keyless, .. } = probe.cost(&options.judging.scope);
    match probe {
        Probe::Tour => ("tour", format!("{keyed} requests with the key, {keyless} without")),
        Probe::NearMisses(_) => ("near misses", format!("{keyed} requests that are nearly right")),
        Probe::Credentials(_) => ("credentials", format!("{keyless} requests without a valid key")),
        Probe::FullPage => ("full page", format!("up to {keyed} requests: more animals than a list may show")),
        Probe::Properties(cases) => ("properties", format!("{cases} generated requests; more to simplify failures")),
        Probe::Sequence(steps) => ("sequence", format!("{steps} create, list and get requests")),
        Probe::Quota(turn) => {
            let which = match turn {
                _ if options.quota_key.is_none() => "the key",
                Turn::First => "the main key",
                Turn::Second => "the quota key",
            };
            let then = if turn == Turn::First { " and waits for its reset" } else { "" };
            ("quota", format!("exhausts the window of {which}{then}"))
        }
    }
}
