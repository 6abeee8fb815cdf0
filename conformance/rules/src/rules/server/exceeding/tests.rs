use crate::catalogue::plan::PlanLimits;
use crate::tests::TraceBuilder;
use crate::trace::exchange::Request;

const NONE: [[usize; 0]; 0] = [];

#[test]
fn a_refusal_with_nothing_remaining_is_early_where_that_is_so_in_two_windows() {
    let once = || TraceBuilder::new().window(50).lists(60, &[(200, 9), (429, 0)]);
    assert_eq!(once().failures_of("quota.not-early"), NONE, "another client may have used nine, unseen");
    assert_eq!(once().wait(60).window(50).lists(60, &[(200, 59), (200, 58)]).failures_of("quota.not-early"), NONE);
    let twice = once().wait(60).window(50).lists(60, &[(200, 59), (429, 0)]);
    assert_eq!(twice.failures_of("quota.not-early"), [[2, 1], [4, 3]]);
}

/// The limits of a Free key.
const FREE: Option<PlanLimits> = Some(PlanLimits { per_minute: 60, per_day: 1_000 });

#[test]
fn where_no_header_reports_a_window_more_than_two_minutes_admit_show_that_there_is_no_limit() {
    let silent = |builder: TraceBuilder, status| builder.ask(Request::new("GET", "/pets"), status, "[]".to_owned());
    let lists = |count: u64| (0..count).fold(TraceBuilder::new().plan(FREE), |builder, _| silent(builder, 200));
    assert_eq!(lists(121).failures_of("quota.enforced"), [[121, 120]]);
    assert_eq!(lists(120).failures_of("quota.enforced"), NONE, "of two minutes");
    assert_eq!(lists(121).plan(None).failures_of("quota.enforced"), NONE, "the plan is unknown");
    assert_eq!(silent(lists(121), 429).failures_of("quota.enforced"), NONE, "there is a limit, if a late one");
    assert_eq!(silent(lists(121), 429).failures_of("quota.not-exceeded"), [[121, 120]]);
}

#[test]
fn a_limit_of_0_is_not_said_to_be_exceeded() {
    for rule in ["quota.enforced", "quota.not-exceeded"] {
        assert_eq!(TraceBuilder::new().window(50).lists(0, &[(200, 0), (200, 0)]).failures_of(rule), NONE);
    }
}

/// A minute of 60 on a Free key, used up by requests one after the other, and the first of the next minute.
fn used_up() -> TraceBuilder {
    (0..60).fold(TraceBuilder::new().plan(FREE).window(50), |builder, at| builder.list(200, 59 - at, 60))
}

#[test]
fn one_more_than_the_limit_is_too_many_and_is_owed_a_429() {
    let next = |builder: TraceBuilder| builder.wait(60).window(50).list(200, 59, 60).list(200, 58, 60);
    let broken = |builder: TraceBuilder| {
        let builder = next(builder).trace();
        crate::rules::broken(&builder)
            .into_iter()
            .filter(|id| id.starts_with("quota.") && *id != "quota.retry-after")
            .collect::<Vec<_>>()
    };
    assert_eq!(broken(used_up().list(429, 0, 60)), Vec::<&str>::new());
    assert_eq!(broken(used_up().list(200, 0, 60)), ["quota.enforced", "quota.not-exceeded"]);
    assert_eq!(broken(used_up().list(200, 0, 60).list(429, 0, 60)), ["quota.not-exceeded"], "a limit, if a late one");
    assert_eq!(broken(used_up().list(429, 0, 60).list(200, 0, 60)), ["quota.enforced"]);
}

#[test]
fn of_two_requests_at_once_in_the_last_place_one_is_over_the_limit() {
    let at_once = |other| {
        let begin = TraceBuilder::at("2026-06-01T12:00:10Z").plan(FREE).window(50);
        let lists = (0..59).fold(begin, |lists, at| lists.list(200, 59 - at, 60));
        lists.list(200, 0, 60).list(other, 0, 60).together(60..=61).failures_of("quota.not-exceeded")
    };
    assert_eq!(at_once(429), NONE);
    assert_eq!(at_once(200), [[60, 59], [61, 59]]);
}

#[test]
fn a_request_that_costs_two_is_one_too_many_where_nobody_else_uses_the_key() {
    let lists = |is_exclusive| {
        let begin = TraceBuilder::at("2026-06-01T12:00:10Z").plan(FREE).window(50);
        let lists = (0..20).fold(begin, |lists, at| lists.list(200, 58 - 2 * at, 60));
        lists.change_context(|context| context.exclusive_key = is_exclusive)
    };
    assert_eq!(lists(false).failures_of("quota.every-operation"), NONE, "another client may send as many");
    assert!(lists(false).main_key(|key| !key.explained_by_others().is_empty()), "the report says so");
    assert_ne!(lists(true).failures_of("quota.every-operation"), NONE);
}

#[test]
fn another_key_shows_that_failures_count_where_they_may_be_given_back_later() {
    let refused = |builder: TraceBuilder, left| {
        builder.ask(Request::new("POST", "/pets").json("{"), 400, String::new()).with_rate_limit(left, 60)
    };
    let used_up = |later| {
        let keyed = TraceBuilder::at("2026-06-01T12:00:10Z").window(50).plan(FREE).key("sk-Key1").list(200, 59, 60);
        let keyed = (50..59).rev().fold(keyed, refused).wait(3).window(47).list(200, later, 60);
        let other = (0..60).rev().fold(keyed.key("sk-Other"), |other, left| match left % 2 {
            0 => refused(other, left),
            _ => other.list(200, left, 60),
        });
        let other = other.list(200, 0, 60).change_context(|context| context.exclusive_key = true);
        other.failures_of("quota.not-exceeded")
    };
    assert_eq!(used_up(58), NONE, "they are given back");
    assert_ne!(used_up(49), NONE, "they count");
}

#[test]
fn a_refusal_for_the_minute_shows_nothing_of_the_day() {
    let unseen = |window| {
        let full = TraceBuilder::new().window(window).lists(3, &[(200, 2), (200, 1), (200, 0), (429, 0)]);
        full.judged_by("quota.enforced").unseen
    };
    assert!(unseen(60).is_some_and(|unseen| unseen.contains("a key whose day")));
    assert_eq!(unseen(3_600), None);
}
