//! Where the key is put into URLs, and so into the access logs of servers and of what is in front of them.

use std::sync::{Arc, Mutex};

use animal_store_conformance::{ApiKey, Judge, Profile, Status};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;

use crate::{candidate, options};

const KEY: &str = "sk-Live/4711+Zq9x";

/// The targets of the requests of a run against a server that accepts no key.
async fn targets(profile: Profile, only: &[&str]) -> (Vec<String>, Option<animal_store_conformance::Report>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let targets = Arc::clone(&seen);
    let app = Router::new().fallback(move |request: Request| {
        targets.lock().expect("no panic").push(request.uri().to_string());
        let is_valid = request.headers().get("authorization").is_some_and(|value| value == &format!("Bearer {KEY}"));
        async move {
            let status = if is_valid { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
            (status, [("content-type", "application/json")], "[]")
        }
    });
    let base_url = candidate::serve(app);
    let mut options = options(&base_url, profile);
    options.api_key = ApiKey::new(KEY).expect("a key");
    options.judging.scope.only = only.iter().map(|id| (*id).to_owned()).collect();
    options.budget.cases = Some(0);
    let report = Judge::new(options).run().await.ok();
    let targets = std::mem::take(&mut *seen.lock().expect("no panic"));
    (targets, report)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_run_keeps_the_key_out_of_urls() {
    let (encoded, raw) = ("sk-Live%2F4711%2BZq9x", "sk-Live%2F4711+Zq9x");
    let has = |targets: &[String], key: &str| targets.iter().any(|target| target.contains(&format!("api_key={key}")));
    for only in [&[][..], &["auth"]] {
        let (targets, report) = targets(Profile::ReadOnly, only).await;
        let shows_key = |target: &&String| target.contains("4711");
        assert_eq!(targets.iter().find(shows_key), None);
        let report = report.expect("a report");
        let requirement = report.requirement("auth.bearer-header").expect("a requirement");
        assert_eq!(requirement.reason.as_deref(), Some("outside the profile read-only"));
    }
    let (targets, report) = targets(Profile::Functional, &[]).await;
    assert!(has(&targets, encoded) && has(&targets, raw), "{targets:?}");
    let report = report.expect("a report");
    let requirement = report.requirement("auth.bearer-header").expect("a requirement");
    assert_eq!((requirement.status, requirement.reason.as_deref()), (Status::Pass, None));
}
