//! Variants: the reference with other lawful choices. Every one conforms alone, and so do those that a seed makes together, for the
//! first seeds; `cargo xtask lab` judges many more.

use std::collections::HashSet;

use animal_store_conformance::Judge;
use animal_store_conformance::http::Clock;
use animal_store_lab::choices::{Choice, Drawn, Maker, about_anonymous, about_limits, choices, lawful, variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, Party, catalogue};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};
use libtest_mimic::Trial;

use crate::host::{Host, START_AT};
use crate::support::few_refusals;
use crate::trials::{Outcome, Table, block_on, plain};
use crate::{broken, options};

/// So many seeds are judged, each with the choices that it makes together.
const SEEDS: u64 = 50;

/// Further seeds, both of a counter that slides while others use the key.
const OF_SHARED_COUNTERS: [u64; 2] = [200_269, 200_839];

/// The seeds whose key others use, too, and which ban it again and again, for longer than the judge waits: a run may end with that
/// reason, or no 429 can be compared with what remained before it.
const BANNED: [u64; 1] = [2];

/// Circumstances in which others use up the key, or get it banned: no judge can foresee the refusals that they cause.
const SHARED: [&str; 2] = ["headers.remaining-falls", "quota.ban/meanwhile"];

/// Where `Date` is by another clock, that of the judge has to be the server's.
const DATED_BY_ANOTHER: &str = "headers.reset-time/date";

/// Choices that show something only together: about limits, and about an operation that is removed.
const TOGETHER: [[&str; 2]; 6] = [
    ["headers.window.sliding-log", "headers.reset-time.date-in-steps"],
    ["headers.window.first-request", "headers.reset-time.date-in-steps"],
    ["headers.window.sliding-log", "quota.ban.two-minutes"],
    ["headers.window.sliding-log", "quota.ban.five-minutes"],
    ["headers.reset-time.long-after-removal", "versioning.lifetime.unknown-path"],
    ["headers.reset-time.long-after-removal", "versioning.lifetime.redirected"],
];

/// The seed of a server that is judged with two keys: the responses to one refute the first treatment of failures that explains the other.
const OF_TWO_KEYS: u64 = 112;

/// Some lawful choices of a server, on a plan.
struct Variant {
    plan: Plan,
    /// Whether a run may end because the key is refused for longer than the judge waits.
    may_be_banned: bool,
    /// Whether the judge has a second key to exhaust.
    has_two_keys: bool,
    choices: Vec<Choice>,
}

/// A test for each choice on a Free key, for each choice about limits on a Pro key too, for each window and one choice of each other axis
/// about limits with two keys, for the choices of some seeds, and for what there is to choose.
pub(crate) fn trials() -> Vec<Trial> {
    let alone = |plan: Plan| {
        move |choice: Choice| {
            (
                format!("{plan} {}", choice.name()),
                Variant { plan, may_be_banned: false, has_two_keys: false, choices: vec![choice] },
            )
        }
    };
    let differs = |choice: &Choice| choice.maker != Maker::Reference;
    let free = choices().into_iter().filter(differs).map(alone(Plan::Free));
    let of_limits = || about_limits().into_iter().chain(about_anonymous()).filter(differs);
    let pro = of_limits().map(alone(Plan::Pro));
    let table = |kind, variants: Vec<(String, Variant)>| Table::new(kind, variants, |v| block_on(conforms(v))).trials();
    let mut axes = HashSet::new();
    let two_keys = of_limits()
        .filter(move |choice| choice.axis() == "headers.window" || axes.insert(choice.axis()))
        .map(alone(Plan::Free))
        .map(|(name, variant)| (format!("{name} with two keys"), Variant { has_two_keys: true, ..variant }));
    let together = (1..=SEEDS).chain(OF_SHARED_COUNTERS).map(|seed| {
        let plan = if seed.is_multiple_of(2) { Plan::Free } else { Plan::Pro };
        let choices = lawful(seed, Drawn::ChoicesAndCircumstances).into_iter().filter(differs).collect();
        (
            format!("{plan} seed {seed}"),
            Variant { plan, may_be_banned: BANNED.contains(&seed), has_two_keys: false, choices },
        )
    });
    let pairs = TOGETHER.iter().map(|names| {
        let choices: Vec<Choice> =
            choices().into_iter().filter(|choice| names.contains(&choice.name().as_str())).collect();
        assert_eq!(choices.len(), names.len(), "{names:?} are choices");
        (names.join(" "), Variant { plan: Plan::Free, may_be_banned: false, has_two_keys: false, choices })
    });
    let drawn = lawful(OF_TWO_KEYS, Drawn::Choices).into_iter().filter(differs).collect();
    let both = Variant { plan: Plan::Free, may_be_banned: false, has_two_keys: true, choices: drawn };
    let both = std::iter::once((format!("free seed {OF_TWO_KEYS} with two keys"), both));
    let mut trials = table("variant", free.chain(pro).chain(two_keys).collect());
    trials.extend(table("combination", pairs.chain(together).chain(both).collect()));
    trials.push(plain!("choices", every_choice_belongs_to_a_requirement_and_every_open_one_has_two));
    trials
}

/// What is open and not for a layer around a server to choose: where it is deployed, how its keys are issued, what it publishes
/// elsewhere, and what only clients do.
const NOT_FOR_A_LAYER: [&str; 5] =
    ["events.none", "quota.backoff", "service.environments", "service.https", "versioning.policy"];

fn every_choice_belongs_to_a_requirement_and_every_open_one_has_two() {
    let choices = choices();
    for choice in &choices {
        assert!(catalogue().get(choice.requirement()).is_some(), "{} is about no requirement", choice.name());
    }
    for requirement in catalogue().of(Party::Server).filter(|requirement| requirement.level == Level::Open) {
        let id = requirement.id.as_str();
        let found = choices.iter().filter(|choice| choice.requirement() == id).count();
        let wanted = if NOT_FOR_A_LAYER.contains(&id) { 0..=0 } else { 2..=usize::MAX };
        assert!(wanted.contains(&found), "{id} has {found} choices");
    }
}

/// Judges a variant strictly; what is wrong with the verdict, if anything.
async fn accused(variant: &Variant) -> Option<String> {
    let Variant { plan, may_be_banned, has_two_keys, ref choices } = *variant;
    let is_dated_by_another = choices.iter().any(|choice| choice.axis() == DATED_BY_ANOTHER);
    let clock =
        if is_dated_by_another { Clock::stepping_from(START_AT.parse().expect("a time")) } else { Clock::stepping() };
    let host = Host::start_with(plan, variation(choices), clock).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.quota_key = has_two_keys.then(|| ApiKey::new(&host.quota_key).expect("a usable key"));
    // Who has a Free key need not say so.
    options.judging.plan = (plan != Plan::Free).then(|| plan.name().parse().expect("a plan"));
    options.judging.strict = true;
    // A slow variant with a ban takes its time, which is none here.
    options.budget.max_duration = std::time::Duration::from_hours(1);
    let report = match Judge::new(options).clock(host.clock.clone()).run().await {
        Ok(report) => report,
        Err(error) => return Some(format!("no verdict: {error}")),
    };
    let is_shared = choices.iter().any(|choice| SHARED.contains(&choice.axis()));
    if let Err(problem) = few_refusals(&report)
        && !is_shared
    {
        return Some(problem);
    }
    let missed = report.requirements.iter().filter(|requirement| requirement.status == Status::NotExercised);
    let missed: Vec<_> = missed.map(|requirement| (&requirement.id, requirement.level, &requirement.reason)).collect();
    let is_too_long = |reason: &String| reason.starts_with("the key is exhausted for another ");
    let is_by_ban = |(id, level, reason): &(&String, Level, &Option<String>)| {
        let names = |text: &str| reason.as_ref().is_some_and(|reason| reason.contains(text));
        *id == "quota.not-early" && names("as under a ban")
            || *level == Level::Inferred && names("no exchange shows whether")
    };
    let is_cut = match &report.ended_early {
        Some(reason) => is_too_long(reason),
        None => missed.iter().all(is_by_ban),
    };
    let is_banned = report.verdict == Verdict::Incomplete && is_cut;
    // The run ends with the access, for a reason that it names.
    let names_end = report.ended_early.as_ref().is_some_and(|reason| reason.contains("from request"));
    let has_ended = choices.iter().any(Choice::ends_access) && report.verdict == Verdict::Incomplete && names_end;
    let is_judged = report.verdict == Verdict::Conforms || may_be_banned && is_banned || has_ended;
    (!is_judged).then(|| format!("broken: {:#?}, not exercised: {missed:#?}", broken(&report)))
}

/// Choices of these without any of which the server is no longer accused, and of what it is.
async fn simplest(variant: &Variant) -> Option<(Vec<Choice>, String)> {
    let (mut kept, mut problem) = (variant.choices.clone(), accused(variant).await?);
    let mut at = 0;
    while at < kept.len() {
        let fewer = [&kept[..at], &kept[at + 1..]].concat();
        match accused(&Variant { choices: fewer.clone(), ..*variant }).await {
            Some(still) => (kept, problem) = (fewer, still),
            None => at += 1,
        }
    }
    Some((kept, problem))
}

/// The variant is accused of nothing. What is wrong with the verdict is reported for the fewest choices that show it.
async fn conforms(variant: &Variant) -> Outcome {
    match simplest(variant).await {
        None => Ok(String::new()),
        Some((choices, problem)) => {
            let names: Vec<String> = choices.iter().map(Choice::name).collect();
            Err(format!("on a {} key, {names:?}: {problem}", variant.plan))
        }
    }
}
