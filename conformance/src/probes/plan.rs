//! The plan of a run: its probes, their order and cost.
//!
//! Ordinary traffic exhausts the window: if it has room, generated requests come before the quota run, which then needs fewer
//! requests of its own. With a small limit they come after it, in the next window.

use super::needs::Part;
use super::{credentials, full_page, further_bodies, near_misses, tour};
use crate::options::Options;
use animal_store_rules::catalogue::plan::PlanLimits;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::trace::rate_limit::Window;

/// The number of requests without a valid key in the tour.
pub const TOUR_KEYLESS: usize = credentials::IN_TOUR;

/// The number of further requests without a valid key.
pub const CREDENTIALS: usize = credentials::LATER;

/// The maximum number of further creations with unusual bodies.
pub const FURTHER_BODIES: usize = further_bodies::COUNT;

/// The maximum number of requests for a page that is full.
pub const FULL_PAGE: usize = full_page::COUNT;

/// The smallest limit per minute that has room for further bodies and a full page.
const ROOMY: usize = 200;

/// The number of requests of the quota run beyond those that exhaust the window.
pub const QUOTA_EXTRA: usize = 7;

/// The number of requests without a valid key while a window is exhausted.
pub const KEYLESS_OVER: usize = 3;

/// The requests with two keys in turn at the start of a run, by the place of the key. Some requests of one key come between two of
/// the other.
pub(super) const IN_TURN: [usize; 7] = [1, 1, 1, 0, 1, 0, 1];

/// The number of requests at a time with the key that is not being exhausted.
pub(super) const OF_THE_OTHER: usize = 2;

/// The number of requests that show whether two keys are counted apart: in turn, and some times with one while the other is exhausted.
const OF_TWO_KEYS: usize = IN_TURN.len() + 6 * OF_THE_OTHER;

/// The operations that are requested over the limit. The first turn sends one request over the limit if Remaining shows which request is
/// the last, else two. The second turn sends requests until two are refused in a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// Create, and list if there is a second; then the run waits for the key to recover.
    First,
    /// List and, as the seed chooses, a creation that is not JSON, get, or orders, without waiting: with the quota key, if there is one.
    Second,
}

/// A probe and its parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Probe {
    /// The fixed tour.
    Tour,
    /// Near misses, one after the other.
    NearMisses,
    /// Further requests without a valid key.
    Credentials,
    /// Unusual bodies, which lenient readers take for others.
    FurtherBodies,
    /// More animals than a list may show.
    FullPage,
    /// The generated requests, and their number.
    Properties(usize),
    /// The model-based sequence, and the number of its steps.
    Sequence(usize),
    /// A turn of the quota run.
    Quota(Turn),
}

impl Probe {
    /// The name in reports of a probe that every run has to send completely; none for a probe whose requests are generated.
    #[must_use]
    pub fn fixed_part(self) -> Option<&'static str> {
        match self {
            Probe::Tour => Some("the tour"),
            Probe::NearMisses => Some("the near misses"),
            Probe::Credentials => Some("the requests without a valid key"),
            Probe::FurtherBodies => Some("the unusual bodies"),
            Probe::FullPage => Some("the list of more than 100 animals"),
            Probe::Quota(Turn::First) => Some("the first exhaustion of the key"),
            Probe::Quota(Turn::Second) => Some("the second exhaustion of the key"),
            Probe::Properties(_) | Probe::Sequence(_) => None,
        }
    }
}

/// The plan of a run. Its numbers hold for a server with fixed windows whose reads do not lag. Other servers take more, and no run
/// takes more than [`Options::max_requests`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// The probes in order, after preflight.
    pub probes: Vec<Probe>,
    /// The number of invalid bodies that are sent in a window that has been used little.
    pub few_bodies: usize,
    /// The usual number of requests, if the limit is known.
    pub requests: usize,
    /// The usual number of requests with a key.
    pub keyed: usize,
    /// The usual number of requests without a valid key. A generated request is with or without one.
    pub keyless: usize,
    /// The usual number of one-minute windows, if the limit is known.
    pub windows: usize,
    /// The usual number of animals that the run creates.
    pub animals: usize,
    /// Whether the budget ends the run before everything is sent.
    pub is_cut: bool,
}

impl Plan {
    /// Returns true if a probe of the plan exhausts the key.
    #[must_use]
    pub fn exhausts(&self) -> bool {
        self.probes.iter().any(|probe| matches!(probe, Probe::Quota(_)))
    }
}

/// The usual number of requests in preflight and tour: with the key, and without a valid one.
#[must_use]
pub fn of_tour(scope: &Scope) -> (usize, usize) {
    (tour::keyed(scope), if Part::Credentials.is_needed(scope) { TOUR_KEYLESS } else { 0 })
}

/// The number of near misses that a run of this scope sends.
#[must_use]
pub fn near_misses(scope: &Scope) -> usize {
    match (Part::NearMisses.is_needed(scope), Part::OtherIds.is_needed(scope)) {
        (true, _) => near_misses::COUNT,
        (false, true) => near_misses::OTHER_IDS,
        (false, false) => 0,
    }
}

/// Plans a run, given the limits of the plan, the window that the first responses report, or neither.
#[must_use]
pub fn plan(options: &Options, plan_limits: Option<PlanLimits>, window: Option<Window>) -> Plan {
    let profile = options.scope.profile;
    let custom = options.plan.as_ref().is_some_and(|plan| plan.plan_limits().is_none());
    let limit = limit_per_minute(plan_limits, window).unwrap_or(if custom { CUSTOM } else { SMALLEST });
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let cases = options.cases.unwrap_or(if limit < ROOMY { 2 } else { (limit / 5).min(120) });
    let earlier = options.earlier.as_ref().filter(|earlier| !earlier.probes.is_empty());
    let selection = Selection { scope: &options.scope, earlier, limit };
    let fills_a_page = limit >= ROOMY && profile.creates() && selection.needs(Part::FullPage);
    let near_misses = if selection.repeats("near misses") { near_misses(&options.scope) } else { 0 };
    let sends_bodies =
        profile.creates() && selection.repeats(further_bodies::NAME) && Part::Bodies.is_needed(&options.scope);
    let has_further_bodies = limit >= ROOMY && sends_bodies;
    let generated = [
        (near_misses > 0).then_some(Probe::NearMisses),
        selection.needs(Part::Credentials).then_some(Probe::Credentials),
        selection.needs(Part::Generated).then_some(Probe::Properties(cases)),
        selection.needs(Part::Generated).then_some(Probe::Sequence(cases / 3)),
        has_further_bodies.then_some(Probe::FurtherBodies),
        fills_a_page.then_some(Probe::FullPage),
    ]
    .into_iter()
    .flatten();
    let cases = if selection.needs(Part::Generated) { cases } else { 0 };
    let further_bodies = if has_further_bodies { FURTHER_BODIES } else { 0 };
    let generated_requests =
        near_misses + cases + cases / 3 + further_bodies + if fills_a_page { FULL_PAGE } else { 0 };
    let (tour, keyless_of_tour) = of_tour(&options.scope);
    let credentials = if selection.needs(Part::Credentials) { CREDENTIALS } else { 0 };
    let of_near_misses = if selection.needs(Part::NearMisses) { near_misses::KEYLESS } else { 0 };
    let exhausts = selection.needs(Part::Exhaustion);
    let while_exhausted = if exhausts { 2 * KEYLESS_OVER } else { 0 };
    let keyless = keyless_of_tour + credentials + of_near_misses + while_exhausted;
    let mut probes = vec![Probe::Tour];
    if let Some(case) = options.replay {
        let probes = vec![Probe::Properties(case)];
        let animals = usize::from(profile.creates());
        let is_cut = options.max_requests < 2;
        return Plan { probes, few_bodies: 0, requests: 2, keyed: 2, keyless: 1, windows: 1, animals, is_cut };
    }
    let fits = tour + generated_requests + QUOTA_EXTRA <= limit && options.quota_key.is_none();
    let [first, second] = [Turn::First, Turn::Second].map(|turn| exhausts.then_some(Probe::Quota(turn)));
    if fits {
        probes.extend(generated.chain(first).chain(second));
    } else {
        probes.extend(first.into_iter().chain(generated).chain(second));
    }
    // Without an exhaustion, they take another window, which a run takes only for requirements that are asked for.
    let has_few_bodies = !has_further_bodies && sends_bodies && (exhausts || !options.scope.only.is_empty());
    let few_bodies = if has_few_bodies { further_bodies::FEW } else { 0 };
    let keyed = tour + generated_requests + few_bodies;
    let exhausting = match &options.quota_key {
        _ if !exhausts => 0,
        // Each key is exhausted once: the main one by the tour, the other one by the generated requests.
        Some(_) => {
            limit.saturating_sub(tour) + limit.saturating_sub(generated_requests) + 2 * QUOTA_EXTRA + OF_TWO_KEYS
        }
        // Two windows are exhausted: one by the tour and one by the generated requests, or the first by both.
        None if fits => limit.saturating_sub(keyed).saturating_add(limit) + 2 * QUOTA_EXTRA,
        None => limit.saturating_sub(tour) + limit.saturating_sub(generated_requests) + 2 * QUOTA_EXTRA,
    };
    // The quota run does not start if the budget is too small for it.
    let affordable = keyed + keyless + exhausting <= options.max_requests;
    let exhausting = if affordable { exhausting } else { 1 };
    let wanted = (keyed + keyless).saturating_add(exhausting);
    let requests = wanted.min(options.max_requests);
    Plan {
        probes,
        few_bodies,
        requests,
        keyed: (wanted - keyless).min(requests),
        keyless: (keyless + cases).min(requests),
        // Two are exhausted, and a run may begin in the middle of another.
        windows: if exhausts { 3 } else { keyed.div_ceil(limit.max(1)) + 1 },
        animals: animals(&options.scope, cases, has_further_bodies, fills_a_page).min(requests),
        is_cut: wanted > options.max_requests,
    }
}

/// The parts and probes that a run needs, by its scope and by the report of an earlier run, if one is given.
struct Selection<'o> {
    scope: &'o Scope,
    earlier: Option<&'o crate::options::Earlier>,
    /// The limit per minute.
    limit: usize,
}

impl Selection<'_> {
    /// Returns true if the probe failed in the earlier run, or if there was none.
    fn repeats(&self, probe: &str) -> bool {
        self.earlier.is_none_or(|earlier| earlier.probes.iter().any(|name| name == probe))
    }

    /// Returns true if the run needs the part.
    fn needs(&self, part: Part) -> bool {
        let exhausts = self.scope.profile.exhausts();
        let shown_in: &[&str] = match part {
            Part::Credentials => &["credentials"],
            Part::FullPage => &["full page"],
            Part::Generated => &["properties", "sequence"],
            // With a small limit, bodies are sent on the way to exhausting a key.
            Part::Exhaustion if exhausts && self.limit < ROOMY => &["quota", further_bodies::NAME],
            Part::Exhaustion if exhausts => &["quota"],
            _ => &[],
        };
        match self.earlier {
            // A failure may show in a probe that is not meant for its requirement.
            Some(_) if !shown_in.is_empty() => shown_in.iter().any(|probe| self.repeats(probe)),
            _ => part.is_needed(self.scope) && (part != Part::NearMisses || self.repeats("near misses")),
        }
    }
}

/// The assumed limit per minute if it is unknown: the one of the smallest plan.
const SMALLEST: u64 = 60;

/// The assumed limit per minute of a plan with custom limits.
const CUSTOM: u64 = 1_000_000;

fn limit_per_minute(plan_limits: Option<PlanLimits>, window: Option<Window>) -> Option<u64> {
    plan_limits.map(|plan_limits| plan_limits.per_minute).or(window.map(|window| window.limit))
}

/// The usual number of animals: nearly half of the generated requests and a fifth of the steps may create one.
fn animals(scope: &Scope, cases: usize, has_further_bodies: bool, fills_a_page: bool) -> usize {
    if !scope.profile.creates() || !Part::Creations.is_needed(scope) {
        return 0;
    }
    let of_exhaustion = if Part::Exhaustion.is_needed(scope) { 2 } else { 0 };
    let near_misses = if Part::NearMisses.is_needed(scope) { near_misses::ANIMALS } else { 0 };
    let unusual = near_misses + if has_further_bodies { further_bodies::ANIMALS } else { 0 };
    let fixed = tour::ANIMALS + unusual + cases / 2 + cases / 15 + 1 + of_exhaustion;
    // The animals of the tour are there already.
    if fills_a_page { fixed.max(full_page::ANIMALS + unusual) } else { fixed }
}

#[cfg(test)]
mod tests {
    use animal_store_rules::catalogue::scope::Profile;

    use super::*;
    use crate::options::Earlier;

    fn plan_on(name: &str, change: impl FnOnce(&mut Options)) -> Plan {
        let mut options = Options::new("http://127.0.0.1:1/v1", "sk-1").expect("usable options");
        options.plan = name.parse().ok();
        change(&mut options);
        plan(&options, options.plan.as_ref().and_then(animal_store_rules::catalogue::plan::Plan::plan_limits), None)
    }

    #[test]
    fn a_free_key_affords_everything_in_150_requests_and_three_windows() {
        let plan = plan_on("free", |_| {});
        assert!(plan.keyed <= 150 && plan.windows <= 3, "{plan:?}");
        assert!(plan.keyless <= 87, "{plan:?}");
        assert_eq!(plan.probes[..2], [Probe::Tour, Probe::Quota(Turn::First)]);
    }

    #[test]
    fn if_the_window_has_room_ordinary_traffic_exhausts_it() {
        for name in ["pro", "business"] {
            let plan = plan_on(name, |_| {});
            assert_eq!(plan.probes.last(), Some(&Probe::Quota(Turn::Second)), "{plan:?}");
            assert!(plan.requests < 2_500, "{plan:?}");
        }
    }

    #[test]
    fn one_requirement_costs_few_requests() {
        let plan = plan_on("free", |options| options.scope.only = vec!["get.not-found".to_owned()]);
        assert_eq!((plan.requests, plan.keyless, plan.animals), (8, 0, 0), "{plan:?}");
        let plan = plan_on("free", |options| options.scope.only = vec!["orders".to_owned()]);
        assert_eq!((plan.requests, plan.probes), (2, vec![Probe::Tour]));
        let plan = plan_on("free", |options| options.scope.only = vec!["list".to_owned()]);
        assert!(!plan.probes.contains(&Probe::Quota(Turn::First)), "{plan:?}");
    }

    #[test]
    fn a_rerun_with_a_small_limit_sends_bodies_on_the_way_to_exhausting_the_key() {
        let rerun = |name: &str| {
            plan_on(name, |options| {
                options.scope.only = vec!["create.extended-json".to_owned()];
                let (report, broken) = ("run.json".to_owned(), options.scope.only.clone());
                options.earlier = Some(Earlier { report, broken, probes: vec![further_bodies::NAME.to_owned()] });
            })
        };
        assert!(rerun("free").few_bodies > 0, "{:?}", rerun("free"));
        assert_eq!(rerun("pro").probes, [Probe::Tour, Probe::FurtherBodies]);
    }

    #[test]
    fn a_profile_omits_the_probes_that_it_excludes() {
        let functional = plan_on("free", |options| options.scope.profile = Profile::Functional);
        assert!(!functional.probes.contains(&Probe::Quota(Turn::First)));
        let read_only = plan_on("free", |options| options.scope.profile = Profile::ReadOnly);
        assert_eq!(read_only.animals, 0);
        assert!(!read_only.probes.contains(&Probe::Quota(Turn::First)));
    }
}
