//! Generated requests: they find what the tour does not ask for, and shrink it.

use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::verdict::Verdict;

use crate::candidate::{Candidate, Nature};
use crate::faults::Fault;
use crate::{broken, options};

fn category_int64(report: &Report) -> &RequirementReport {
    report.requirements.iter().find(|requirement| requirement.id == "create.category-int64").expect("in the catalogue")
}

#[tokio::test]
async fn a_generated_request_finds_what_the_tour_misses_and_is_shrunk() {
    let candidate = Candidate::start(Nature { fault: Some(Fault::RoundsLargeFractions), ..Nature::default() }).await;
    let mut only_the_tour = options(&candidate.base_url, Profile::Functional);
    only_the_tour.budget.cases = Some(0);
    let report = candidate.judge(only_the_tour).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));

    let mut generated = options(&candidate.base_url, Profile::Functional);
    generated.budget.cases = Some(600);
    let report = candidate.judge(generated).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Violates);
    let shown = &category_int64(&report).evidence[0].exchanges[0];
    let body = shown.request.body.as_ref().map(|body| body.text.as_str()).expect("a body");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert!(body["categoryId"].as_f64().is_some_and(|number| number.abs() < 1e5), "{body}");
}

#[tokio::test]
async fn generated_requests_accuse_no_lawful_server() {
    for odd in [false, true] {
        let candidate = Candidate::start(Nature { odd, stock: 30, ..Nature::default() }).await;
        for seed in 1..=3 {
            let mut options = options(&candidate.base_url, Profile::Functional);
            (options.seed, options.budget.cases, options.judging.strict) = (seed, Some(150), true);
            let report = candidate.judge(options).await.expect("a verdict");
            assert_eq!(report.verdict, Verdict::Conforms, "odd {odd}, seed {seed}: {:#?}", broken(&report));
        }
    }
}
