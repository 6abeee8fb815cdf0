//! The plan of a run: its probes, their order and cost.
//!
//! Ordinary traffic exhausts the window: if it has room, generated requests come before the quota run, which then needs fewer
//! requests of its own. With a small limit they come after it, in the next window.

use super::cost::Cost;
use super::near_misses::{self, Amount};
use super::session::MAY_BE_A_DAY;
use super::{credentials, full_page, sequence, tour};
use crate::options::Options;
use animal_store_rules::catalogue::RunPart;
use animal_store_rules::catalogue::plan::{Plan, PlanLimits};
use animal_store_rules::catalogue::scope::{Profile, Scope};
use animal_store_rules::trace::rate_limit::Window;

/// The smallest limit per minute that has room for most near misses and a full page.
const ROOMY: usize = 200;

/// The smallest limit per minute that has room for all near misses.
const ROOMY_FOR_ALL: usize = 900;

/// The number of requests over the limit of an exhausted window, and one that looks at the window first.
const OVER: usize = 3;

/// The number of requests after the first exhaustion, in the window that follows.
const RECOVERY: usize = 3;

/// The number of requests beside near misses in a window that has been used little.
const BESIDE: usize = 1;

/// The number of requests of the quota run beyond those that exhaust the window, with some to spare.
const QUOTA_EXTRA: usize = OVER + RECOVERY + 1;

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
    /// Near misses with the key, one after the other.
    NearMisses(Amount),
    /// Further requests without a valid key.
    Credentials(Amount),
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
    pub fn fixed_part(self) -> Option<&'static str> {
        match self {
            Probe::Tour => Some("the tour"),
            Probe::NearMisses(_) => Some("the near misses"),
            Probe::Credentials(_) => Some("the requests without a valid key"),
            Probe::FullPage => Some("the list of more than 100 animals"),
            Probe::Quota(Turn::First) => Some("the first exhaustion of the key"),
            Probe::Quota(Turn::Second) => Some("the second exhaustion of the key"),
            Probe::Properties(_) | Probe::Sequence(_) => None,
        }
    }

    /// The usual cost of the probe in a run of this scope, without the requests that exhaust a window.
    pub fn cost(self, scope: &Scope) -> Cost {
        match self {
            Probe::Tour => Cost {
                keyed: tour::keyed(scope),
                keyless: if scope.needs(RunPart::Credentials) { credentials::in_tour(scope) } else { 0 },
                animals: if scope.needs(RunPart::Creations) { tour::ANIMALS } else { 0 },
            },
            Probe::NearMisses(amount) if scope.needs(RunPart::NearMisses) => amount.cost(scope.profile.creates()),
            Probe::NearMisses(_) => Cost { keyed: near_misses::OTHER_IDS, ..Cost::default() },
            Probe::Credentials(amount) => Cost { keyless: credentials::later(amount, scope), ..Cost::default() },
            Probe::FullPage => full_page::COST,
            // Nearly half of the generated requests may create an animal.
            Probe::Properties(cases) => Cost { keyed: cases, animals: cases / 2, ..Cost::default() },
            Probe::Sequence(steps) => sequence::cost(steps, scope),
            Probe::Quota(_) => Cost { keyed: QUOTA_EXTRA, keyless: KEYLESS_OVER, animals: 1 },
        }
    }
}

/// The plan of a run. Its numbers hold for a server with fixed windows whose reads do not lag. Other servers take more, and no run
/// takes more than [`Budget::max_requests`](crate::options::Budget::max_requests).
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RunPlan {
    /// The probes in order, after preflight.
    pub(crate) probes: Vec<Probe>,
    /// Whether [`near_misses::aside`] are sent in a window that has been used little.
    pub(crate) sends_aside: bool,
    /// Whether the requests of the tour without a valid key come with the further ones, at the end.
    pub(crate) sends_keyless_last: bool,
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

impl RunPlan {
    /// The plan of a run with these options, before anything is sent. Without a plan in the options, the key is taken for a Free one.
    pub fn of(options: &Options) -> RunPlan {
        plan(options, options.judging.plan.as_ref().and_then(Plan::plan_limits), None)
    }

    /// The name of each probe of a run with these options, and the requests that it sends, in a few words. Preflight, which comes first,
    /// is not among them.
    pub fn described(&self, options: &Options) -> Vec<(&'static str, String)> {
        let described = |probe: &Probe| {
            let Cost { keyed, keyless, .. } = probe.cost(&options.judging.scope);
            match probe {
                Probe::Tour => ("tour", format!("{keyed} requests with the key, {keyless} without")),
                Probe::NearMisses(_) => ("near misses", format!("{keyed} requests that are nearly right")),
                Probe::Credentials(_) => ("credentials", format!("{keyless} requests without a valid key")),
                Probe::FullPage => ("full page", format!("up to {keyed} requests: more animals than a list may show")),
                Probe::Properties(cases) => {
                    ("properties", format!("{cases} generated requests; more to simplify failures"))
                }
                Probe::Sequence(steps) => ("sequence", format!("{steps} create, list and get requests")),
                Probe::Quota(turn) => {
                    let which = match turn {
                        _ if options.quota_key.is_none() => "the key",
                        Turn::First => "the main key",
                        Turn::Second => "the quota key",
                    };
                    let then = if *turn == Turn::First { " and waits for its reset" } else { "" };
                    ("quota", format!("exhausts the window of {which}{then}"))
                }
            }
        };
        self.probes.iter().map(described).collect()
    }

    /// Returns true if a probe of the plan exhausts the key.
    pub fn exhausts(&self) -> bool {
        self.probes.iter().any(|probe| matches!(probe, Probe::Quota(_)))
    }

    /// Moves the requests without a valid key to the end, where responses are slow: a window has no time for them. Those of the tour are
    /// moved with them if the tour then nearly fits into a window.
    pub(crate) fn leave_windows_to_the_key(&mut self, with_those_of_the_tour: bool) {
        let is_keyless = |probe: &Probe| matches!(probe, Probe::Credentials(_));
        self.probes.sort_by_key(is_keyless);
        self.sends_keyless_last = with_those_of_the_tour && self.probes.last().is_some_and(is_keyless);
    }
}

/// Plans a run, given the limits of the plan, the window that the first responses report, or neither.
pub fn plan(options: &Options, plan_limits: Option<PlanLimits>, window: Option<Window>) -> RunPlan {
    let (scope, creates) = (&options.judging.scope, options.judging.scope.profile.creates());
    let limit = assumed_limit(options, plan_limits, window);
    let (is_small, amount) = (limit < ROOMY, amount_of(options, limit));

    // A run that repeats an earlier one sends the probes that failed in it. A failure may show in a probe that is not meant for its
    // requirement.
    let earlier = options.judging.earlier.as_ref().filter(|earlier| !earlier.probes.is_empty());
    let repeats = |probe: &str| earlier.is_none_or(|earlier| earlier.probes.iter().any(|name| name == probe));
    let needs = |part: RunPart, shown_in: &[&str]| match earlier {
        Some(_) => shown_in.iter().any(|probe| repeats(probe)),
        None => scope.needs(part),
    };
    // With a small limit, some near misses are sent on the way to exhausting a key.
    let exhausting_probes: &[&str] = if is_small { &["quota", near_misses::ASIDE_NAME] } else { &["quota"] };
    let exhausts = if scope.profile.exhausts() {
        needs(RunPart::Exhaustion, exhausting_probes)
    } else {
        scope.needs(RunPart::Exhaustion)
    };
    let is_needed = creates && scope.needs(RunPart::NearMisses) && amount == Amount::Few;
    // Without an exhaustion, they take another window, which a run takes only for requirements that are asked for.
    let sends_aside = is_needed && repeats(near_misses::ASIDE_NAME) && (exhausts || !scope.only.is_empty());

    // The probes between the exhaustions of two windows, or before both.
    let cases = options.budget.cases.unwrap_or(if is_small { 2 } else { (limit / 5).min(60) });
    let steps = if is_small { cases / 3 } else { sequence::steps(scope).max(cases / 3) };
    let has_near_misses = scope.needs(RunPart::NearMisses) || scope.needs(RunPart::OtherIds);
    let repeats_near_misses = repeats("near misses") || amount != Amount::Few && repeats(near_misses::ASIDE_NAME);
    let is_generated = needs(RunPart::Generated, &["properties", "sequence"]);
    let fills_page = !is_small && creates && needs(RunPart::FullPage, &["full page"]);
    let candidates = [
        (has_near_misses && repeats_near_misses, Probe::NearMisses(amount)),
        (needs(RunPart::Credentials, &["credentials"]), Probe::Credentials(amount)),
        (is_generated, Probe::Properties(cases)),
        (is_generated, Probe::Sequence(steps)),
        (fills_page, Probe::FullPage),
    ];
    let mut between: Vec<Probe> =
        candidates.into_iter().filter(|(is_sent, _)| *is_sent).map(|(_, probe)| probe).collect();

    let mut probes = vec![Probe::Tour];
    if options.quota_key.is_none() {
        probes.extend(moved_before_exhaustion(&mut between, limit, scope));
    }
    let turn = |turn: Turn| exhausts.then_some(Probe::Quota(turn));
    probes.extend(turn(Turn::First).into_iter().chain(between).chain(turn(Turn::Second)));
    estimated(probes, sends_aside, if is_generated { cases } else { 0 }, limit, options)
}

/// The limit per minute of a plan, of the window that the first responses report, or of the smallest plan.
fn assumed_limit(options: &Options, plan_limits: Option<PlanLimits>, window: Option<Window>) -> usize {
    let is_custom = options.judging.plan.as_ref().is_some_and(|plan| plan.plan_limits().is_none());
    let known = plan_limits.map(|plan_limits| plan_limits.per_minute).or(window.map(|window| window.limit));
    usize::try_from(known.unwrap_or(if is_custom { CUSTOM } else { SMALLEST })).unwrap_or(usize::MAX)
}

/// The amount of near misses for which a limit per minute has room.
fn amount_of(options: &Options, limit: usize) -> Amount {
    // The limit per minute of one plan is the limit per day of another, which no run is to use up.
    let may_be_of_day = options.judging.plan.is_none() && limit >= MAY_BE_A_DAY as usize;
    match limit {
        _ if options.judging.scope.profile == Profile::Deep => Amount::All,
        _ if may_be_of_day => Amount::Few,
        limit if limit >= ROOMY_FOR_ALL => Amount::All,
        limit if limit >= ROOMY => Amount::Most,
        _ => Amount::Few,
    }
}

fn keyed_by(probes: &[Probe], scope: &Scope) -> usize {
    probes.iter().map(|probe| probe.cost(scope).keyed).sum()
}

/// Moves the probes for which the first window has room out of those between two exhaustions, and returns them: ordinary traffic exhausts
/// the first window as far as it has room, and then the second one.
fn moved_before_exhaustion(between: &mut Vec<Probe>, limit: usize, scope: &Scope) -> Vec<Probe> {
    let tour = keyed_by(&[Probe::Tour], scope);
    let Some(room) = limit.checked_sub(tour + QUOTA_EXTRA) else { return Vec::new() };
    let has_room = limit >= ROOMY || keyed_by(between, scope) <= room;
    let mut moved = Vec::new();
    for probe in std::mem::take(between) {
        let fits = has_room && keyed_by(&moved, scope) + keyed_by(&[probe], scope) <= room;
        // A list shows every animal until a full page is created.
        let fits = fits && (probe != Probe::FullPage || between.is_empty());
        if fits { moved.push(probe) } else { between.push(probe) }
    }
    moved
}

/// The plan of these probes, with its usual numbers. `cases` is the number of generated requests.
fn estimated(probes: Vec<Probe>, sends_aside: bool, cases: usize, limit: usize, options: &Options) -> RunPlan {
    let scope = &options.judging.scope;
    let exhausts = probes.contains(&Probe::Quota(Turn::First));
    let aside_in_time = if exhausts { near_misses::ASIDE_IN_TIME } else { 0 };
    let aside = if sends_aside { near_misses::ASIDE + aside_in_time + BESIDE } else { 0 };
    let (mut keyed, mut keyless, mut animals) = (aside, 0, 0);
    // The requests that exhaust windows, and those of the present window until then.
    let (mut exhausting, mut in_window) = (0, 0);
    for probe in &probes {
        let cost = probe.cost(scope);
        keyless += cost.keyless;
        if *probe == Probe::FullPage {
            animals = animals.max(cost.animals);
        } else {
            animals += cost.animals;
        }
        if let Probe::Quota(turn) = probe {
            exhausting += limit.saturating_sub(in_window % limit.max(1)) + OVER;
            in_window = if *turn == Turn::First { RECOVERY } else { 0 };
            keyed += in_window;
        } else {
            keyed += cost.keyed;
            in_window += cost.keyed;
        }
    }
    if exhausts && options.quota_key.is_some() {
        exhausting += OF_TWO_KEYS + if sends_aside { near_misses::MEANWHILE } else { 0 };
    }
    let most = options.budget.max_requests;
    // The quota run does not start if the budget is too small for it.
    keyed += if keyed + keyless + exhausting <= most { exhausting } else { 1 };
    let requests = (keyed + keyless).min(most);
    RunPlan {
        probes,
        sends_aside,
        sends_keyless_last: false,
        requests,
        keyed: keyed.min(requests),
        keyless: (keyless + if scope.sends_unknown_keys() { cases } else { 0 }).min(requests),
        // Two are exhausted, and a run may begin in the middle of another.
        windows: if exhausts { keyed.div_ceil(limit.max(1)).max(3) } else { keyed.div_ceil(limit.max(1)) + 1 },
        animals: if scope.profile.creates() { animals.min(requests) } else { 0 },
        is_cut: keyed + keyless > most,
    }
}

/// The assumed limit per minute if it is unknown: the one of the smallest plan.
const SMALLEST: u64 = 60;

/// The assumed limit per minute of a plan with custom limits.
const CUSTOM: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Earlier;

    fn plan_on(name: &str, change: impl FnOnce(&mut Options)) -> RunPlan {
        let mut options = Options::new("http://127.0.0.1:1/v1", "sk-1").expect("usable options");
        options.judging.plan = name.parse().ok();
        change(&mut options);
        RunPlan::of(&options)
    }

    #[test]
    fn a_free_key_affords_everything_in_three_windows_and_150_requests_beside_near_misses_in_time() {
        let plan = plan_on("free", |_| {});
        assert!(plan.keyed <= 150 + near_misses::ASIDE_IN_TIME && plan.windows <= 3, "{plan:?}");
        assert!(plan.keyless <= 150, "{plan:?}");
        assert_eq!(plan.probes[..2], [Probe::Tour, Probe::Quota(Turn::First)]);
    }

    #[test]
    fn every_near_miss_fits_the_day_of_a_free_key() {
        let plan = plan_on("free", |options| options.judging.scope.profile = Profile::Deep);
        assert!(plan.keyed <= 950 && plan.windows > 10, "{plan:?}");
    }

    #[test]
    fn if_the_window_has_room_ordinary_traffic_exhausts_it() {
        for name in ["pro", "business"] {
            let plan = plan_on(name, |_| {});
            assert_eq!(plan.probes.last(), Some(&Probe::Quota(Turn::Second)), "{plan:?}");
            assert!(plan.requests < Options::MAX_REQUESTS, "{plan:?}");
        }
    }

    #[test]
    fn a_rerun_with_a_small_limit_sends_near_misses_on_the_way_to_exhausting_the_key() {
        let rerun = |name: &str| {
            plan_on(name, |options| {
                options.judging.scope.only = vec!["create.extended-json".to_owned()];
                let (report, broken) = ("run.json".to_owned(), options.judging.scope.only.clone());
                options.judging.earlier =
                    Some(Earlier { report, broken, probes: vec![near_misses::ASIDE_NAME.to_owned()] });
            })
        };
        assert!(rerun("free").sends_aside, "{:?}", rerun("free"));
        assert_eq!(rerun("pro").probes, [Probe::Tour, Probe::NearMisses(Amount::Most)]);
    }

    #[test]
    fn what_is_skipped_is_not_paid_for() {
        let skipping = |skip: &[&str]| {
            plan_on("free", |options| options.judging.scope.skip = skip.iter().map(|id| (*id).to_owned()).collect())
        };
        let all = skipping(&[]);
        let has = |plan: &RunPlan, probe: fn(&Probe) -> bool| plan.probes.iter().any(probe);
        let without_auth = skipping(&["auth"]);
        assert!(!has(&without_auth, |probe| matches!(probe, Probe::Credentials(_))), "{without_auth:?}");
        assert!(without_auth.keyless < 20 && without_auth.keyless < all.keyless, "{without_auth:?}");
        let without_quota = skipping(&["quota"]);
        assert!(!without_quota.exhausts() && without_quota.keyed < all.keyed, "{without_quota:?}");
        let reads = skipping(&["create", "get", "list", "pet"]);
        assert!(!has(&reads, |probe| matches!(probe, Probe::NearMisses(_) | Probe::Properties(_))), "{reads:?}");
        assert!(has(&skipping(&["list.order"]), |probe| matches!(probe, Probe::NearMisses(_))));
    }

    #[test]
    fn a_profile_omits_the_probes_that_it_excludes() {
        let functional = plan_on("free", |options| options.judging.scope.profile = Profile::Functional);
        assert!(!functional.probes.contains(&Probe::Quota(Turn::First)));
        let read_only = plan_on("free", |options| options.judging.scope.profile = Profile::ReadOnly);
        assert_eq!(read_only.animals, 0);
        assert!(!read_only.probes.contains(&Probe::Quota(Turn::First)));
    }
}
