//! A run is refused at most twice in a row, whatever the rate-limit fields of a server say or lack.

use std::time::Duration;

use animal_store_conformance::report::text::{self, Detail};
use animal_store_conformance::{Judge, RunError};
use animal_store_lab::faults::faults;
use animal_store_lab::{Layer, Response, Variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;

use crate::host::Host;
use crate::options;
use crate::support::few_refusals;

const FIELDS: [&str; 3] = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// How responses are changed.
type Change = fn(&mut Response);

/// What is between a server and its clients, or wrong with it: a name, and how it changes responses.
const MANGLED: [(&str, Change); 12] = [
    ("unchanged", |_| {}),
    ("missing", |response| FIELDS.iter().for_each(|name| response.remove(name))),
    ("missing, and Retry-After too", |response| {
        FIELDS.iter().chain(&["retry-after"]).for_each(|name| response.remove(name));
    }),
    ("missing in successes", |response| {
        if response.status < 400 {
            FIELDS.iter().for_each(|name| response.remove(name));
        }
    }),
    ("missing in refusals", |response| {
        if response.status == 429 {
            FIELDS.iter().chain(&["retry-after"]).for_each(|name| response.remove(name));
        }
    }),
    ("fractional", |response| {
        for name in FIELDS {
            let value = format!("{}.5", response.header(name));
            response.set(name, value);
        }
    }),
    ("doubled", |response| {
        for name in FIELDS {
            let value = response.header(name).to_owned();
            response.add(name, value);
        }
    }),
    ("in a list", |response| {
        let value = response.header(FIELDS[0]).to_owned();
        response.set(FIELDS[0], format!("{value}, {value};w=60"));
    }),
    ("a Reset in milliseconds", |response| {
        let value = format!("{}000", response.header(FIELDS[2]));
        response.set(FIELDS[2], value);
    }),
    ("always fifty-nine", |response| response.set(FIELDS[1], 59)),
    ("those of a larger plan", |response| {
        let remaining = response.number_of(FIELDS[1]) + 240;
        response.set(FIELDS[0], 300);
        response.set(FIELDS[1], remaining);
    }),
    ("a wait of nothing", |response| {
        if response.status == 429 {
            response.set("retry-after", 0);
        }
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_more_than_two_requests_in_a_row_are_refused_whatever_the_fields_say_or_lack() {
    let mut problems = Vec::new();
    for (name, change) in MANGLED {
        for plan in [None, Some("free")] {
            let layer = Layer::default().after(move |_, response, _| change(response));
            let host = Host::start(Plan::Free, Variation { layers: vec![layer], ..Variation::default() }).await;
            let mut options = options(&host.base_url, Profile::Full);
            options.api_key = ApiKey::new(&host.key).expect("a usable key");
            options.judging.plan = plan.map(|plan| plan.parse().expect("a plan"));
            let report = match Judge::new(options).clock(host.clock.clone()).run().await {
                Ok(report) => report,
                // The named plan is not that of the fields: nothing more was sent.
                Err(RunError::AnotherPlan(_)) => continue,
                Err(error) => panic!("{name}: {error}"),
            };
            if let Err(problem) = few_refusals(&report) {
                problems.push(format!("{name}, plan {plan:?}: {problem}"));
            }
            let text = text::render(&report, Detail::Normal, 200).to_string();
            let last = text.trim_end().lines().last().expect("a line");
            assert!(last.contains(&format!("{} refused with 429", report.refused)), "{name}: {last}");
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_said_to_be_unreached_only_where_no_request_was_refused() {
    const EARLIER: &str = "429 came earlier";
    const UNREACHED: &str = "was not reached";
    for (name, said, unsaid) in
        [("quota.not-early.ten-early", EARLIER, UNREACHED), ("quota.enforced.never-refuses", UNREACHED, EARLIER)]
    {
        let fault = faults().into_iter().find(|fault| fault.name == name).expect("a fault");
        let host = Host::start(fault.plan, fault.variation()).await;
        let mut options = options(&host.base_url, Profile::Full);
        options.api_key = ApiKey::new(&host.key).expect("a usable key");
        options.judging.plan = fault.plan.name().parse().ok();
        options.budget.max_duration = Duration::from_hours(1);
        let judged = Judge::new(options).clock(host.clock.clone()).run_and_record().await;
        let (report, trace) = judged.expect("a verdict");
        assert_eq!(report.refused > 0, said == EARLIER, "{name}");
        assert!(trace.contains(said) && !trace.contains(unsaid), "{name}");
    }
}
