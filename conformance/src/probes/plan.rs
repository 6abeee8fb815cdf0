//! The plan of a run: its probes, their order and cost.
//!
//! Ordinary traffic exhausts the window: if it has room, generated requests come before the quota run, which then needs fewer
//! requests of its own. With a small limit they come after it, in the next window.

use super::cost::Cost;
use super::needs::Part;
use super::{credentials, full_page, further_bodies, near_misses, tour};
use crate::options::Options;
use animal_store_rules::catalogue::plan::PlanLimits;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::trace::rate_limit::Window;

/// The smallest limit per minute that has room for further bodies and a full page.
const ROOMY: usize = 200;

/// The number of requests of the quota run beyond those that exhaust the window.
const QUOTA_EXTRA: usize = 7;

/// The number of requests without a valid key while a window is exhausted.
pub(super) const KEYLESS_OVER: usize = 3;

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

    /// The usual cost of the probe in a run of this scope, without the requests that exhaust a window.
    #[must_use]
    pub fn cost(self, scope: &Scope) -> Cost {
        match self {
            Probe::Tour => Cost {
                keyed: tour::keyed(scope),
                keyless: if Part::Credentials.is_needed(scope) { credentials::IN_TOUR } else { 0 },
                animals: if Part::Creations.is_needed(scope) { tour::ANIMALS } else { 0 },
            },
            Probe::NearMisses if Part::NearMisses.is_needed(scope) => near_misses::COST,
            Probe::NearMisses => Cost { keyed: near_misses::OTHER_IDS, ..Cost::default() },
            Probe::Credentials => Cost { keyless: credentials::LATER, ..Cost::default() },
            Probe::FurtherBodies => further_bodies::COST,
            Probe::FullPage => full_page::COST,
            // Nearly half of the generated requests may create an animal, and a fifth of the steps.
            Probe::Properties(cases) => Cost { keyed: cases, animals: cases / 2, ..Cost::default() },
            Probe::Sequence(steps) => Cost { keyed: steps, animals: steps / 5 + 1, ..Cost::default() },
            Probe::Quota(_) => Cost { keyed: QUOTA_EXTRA, keyless: KEYLESS_OVER, animals: 1 },
        }
    }
}

/// The plan of a run. Its numbers hold for a server with fixed windows whose reads do not lag. Other servers take more, and no run
/// takes more than [`Options::max_requests`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// The probes in order, after preflight.
    pub probes: Vec<Probe>,
    /// Whether [`further_bodies::few`] are sent in a window that has been used little.
    pub sends_few_bodies: bool,
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

/// Plans a run, given the limits of the plan, the window that the first responses report, or neither.
#[must_use]
pub fn plan(options: &Options, plan_limits: Option<PlanLimits>, window: Option<Window>) -> Plan {
    let (scope, creates) = (&options.scope, options.scope.profile.creates());
    let custom = options.plan.as_ref().is_some_and(|plan| plan.plan_limits().is_none());
    let limit = limit_per_minute(plan_limits, window).unwrap_or(if custom { CUSTOM } else { SMALLEST });
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let earlier = options.earlier.as_ref().filter(|earlier| !earlier.probes.is_empty());
    let selection = Selection { scope, earlier, limit };
    let cases = options.cases.unwrap_or(if limit < ROOMY { 2 } else { (limit / 5).min(120) });
    let generated = selection.between_exhaustions(cases);
    let exhausts = selection.needs(Part::Exhaustion);
    // Without an exhaustion, they take another window, which a run takes only for requirements that are asked for.
    let sends_few_bodies = selection.sends_bodies() && limit < ROOMY && (exhausts || !scope.only.is_empty());

    let keyed_by = |probes: &[Probe]| probes.iter().map(|probe| probe.cost(scope).keyed).sum::<usize>();
    let fits = keyed_by(&[Probe::Tour]) + keyed_by(&generated) + QUOTA_EXTRA <= limit && options.quota_key.is_none();
    let [first, second] = [Turn::First, Turn::Second].map(|turn| exhausts.then_some(Probe::Quota(turn)));
    let mut probes = vec![Probe::Tour];
    if fits {
        probes.extend(generated.into_iter().chain(first).chain(second));
    } else {
        probes.extend(first.into_iter().chain(generated).chain(second));
    }

    let few_bodies = if sends_few_bodies { further_bodies::FEW } else { 0 };
    let (mut keyed, mut keyless, mut animals) = (few_bodies, 0, 0);
    // The requests that exhaust windows, and those of the present window until then.
    let (mut exhausting, mut in_window) = (0, 0);
    for probe in &probes {
        let cost = probe.cost(scope);
        keyless += cost.keyless;
        if *probe == Probe::FullPage {
            animals = animals.max(cost.animals + near_misses::COST.animals + further_bodies::COST.animals);
        } else {
            animals += cost.animals;
        }
        if matches!(probe, Probe::Quota(_)) {
            exhausting += limit.saturating_sub(in_window) + cost.keyed;
            in_window = 0;
        } else {
            keyed += cost.keyed;
            in_window += cost.keyed;
        }
    }
    if exhausts && options.quota_key.is_some() {
        exhausting += OF_TWO_KEYS;
    }
    // The quota run does not start if the budget is too small for it.
    let is_affordable = keyed + keyless + exhausting <= options.max_requests;
    keyed += if is_affordable { exhausting } else { 1 };
    let requests = (keyed + keyless).min(options.max_requests);
    let cases = if selection.needs(Part::Generated) { cases } else { 0 };
    Plan {
        probes,
        sends_few_bodies,
        requests,
        keyed: keyed.min(requests),
        keyless: (keyless + cases).min(requests),
        // Two are exhausted, and a run may begin in the middle of another.
        windows: if exhausts { 3 } else { keyed.div_ceil(limit.max(1)) + 1 },
        animals: if creates { animals.min(requests) } else { 0 },
        is_cut: keyed + keyless > options.max_requests,
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
    /// The probes between the exhaustions of two windows, or before both.
    fn between_exhaustions(&self, cases: usize) -> Vec<Probe> {
        let has_near_misses = Part::NearMisses.is_needed(self.scope) || Part::OtherIds.is_needed(self.scope);
        let is_roomy = self.limit >= ROOMY;
        let fills_page = is_roomy && self.scope.profile.creates() && self.needs(Part::FullPage);
        [
            (has_near_misses && self.repeats("near misses")).then_some(Probe::NearMisses),
            self.needs(Part::Credentials).then_some(Probe::Credentials),
            self.needs(Part::Generated).then_some(Probe::Properties(cases)),
            self.needs(Part::Generated).then_some(Probe::Sequence(cases / 3)),
            (is_roomy && self.sends_bodies()).then_some(Probe::FurtherBodies),
            fills_page.then_some(Probe::FullPage),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns true if the run sends the further bodies, or a few of them.
    fn sends_bodies(&self) -> bool {
        self.scope.profile.creates() && self.repeats(further_bodies::NAME) && Part::Bodies.is_needed(self.scope)
    }

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
        assert!(plan.keyless <= 90, "{plan:?}");
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
    fn a_rerun_with_a_small_limit_sends_bodies_on_the_way_to_exhausting_the_key() {
        let rerun = |name: &str| {
            plan_on(name, |options| {
                options.scope.only = vec!["create.extended-json".to_owned()];
                let (report, broken) = ("run.json".to_owned(), options.scope.only.clone());
                options.earlier = Some(Earlier { report, broken, probes: vec![further_bodies::NAME.to_owned()] });
            })
        };
        assert!(rerun("free").sends_few_bodies, "{:?}", rerun("free"));
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
