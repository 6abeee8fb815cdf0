//! The cost of a run, known before anything is sent.

use crate::options::Options;
use crate::probes::cost::Cost;
use crate::probes::plan::{self, Probe, Turn};
use animal_store_rules::catalogue::plan::Plan;

/// The probes of a run and their cost, known before anything is sent. Without a plan in the options, the key is taken for a Free one.
///
/// The numbers are those of a server with fixed windows that breaks nothing and whose reads do not lag. Others take more, and no run takes
/// more than [`Options::max_requests`].
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// The name of each probe, and the requests that it sends, in a few words. Preflight, which comes first, is not among them.
    pub probes: Vec<(&'static str, String)>,
    /// The usual number of requests.
    pub requests: usize,
    /// The usual number of requests with a key.
    pub keyed: usize,
    /// The usual number of requests without a valid key.
    pub keyless: usize,
    /// The usual number of one-minute windows.
    pub windows: usize,
    /// The usual number of animals that the run creates.
    pub animals: usize,
    /// Whether [`Options::max_requests`] ends the run before everything is sent.
    pub is_cut: bool,
}

impl Forecast {
    /// The forecast for a run with these options.
    #[must_use]
    pub fn of(options: &Options) -> Forecast {
        let plan_limits = options.plan.as_ref().and_then(Plan::plan_limits);
        let plan = plan::plan(options, plan_limits, None);
        Forecast {
            probes: plan.probes.iter().map(|probe| described(*probe, options)).collect(),
            requests: plan.requests,
            keyed: plan.keyed,
            keyless: plan.keyless,
            windows: plan.windows,
            animals: plan.animals,
            is_cut: plan.is_cut,
        }
    }
}

fn described(probe: Probe, options: &Options) -> (&'static str, String) {
    let Cost { keyed, keyless, .. } = probe.cost(&options.scope);
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
