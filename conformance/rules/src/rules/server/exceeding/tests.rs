use crate::catalogue::plan::PlanLimits;
use crate::trace::exchange::Request;
use crate::trace_builder::TraceBuilder;

const NONE: [[usize; 0]; 0] = [];

/// Three failures between two successes, for which Remaining falls.
const COUNTED: [(u16, u64); 5] = [(200, 4), (404, 3), (404, 2), (404, 1), (200, 0)];

#[test]
fn failures_are_not_counted_where_it_is_not_certain() {
    for (why, limit, answers) in [
        ("given back", 5, &[(200, 4), (404, 3), (404, 2), (404, 1), (200, 3), (404, 2), (404, 1), (404, 0)][..]),
        (
            "given back at first",
            9,
            &[(200, 8), (404, 7), (200, 7), (404, 6), (404, 5), (404, 4), (200, 3), (404, 2), (404, 2), (404, 2)],
        ),
        ("seen twice only", 4, &[(200, 3), (404, 2), (404, 1), (200, 0), (404, 0), (404, 0)]),
        ("another status", 5, &[(200, 4), (404, 3), (404, 2), (404, 1), (200, 0), (400, 0)]),
        ("the server's own", 5, &[(200, 4), (500, 3), (500, 2), (500, 1), (200, 0), (500, 0)]),
        (
            "others use the key",
            9,
            &[(200, 8), (404, 7), (404, 6), (404, 5), (200, 1), (404, 0), (404, 0), (404, 0), (404, 0), (404, 0)],
        ),
    ] {
        assert_eq!(TraceBuilder::new().lists(limit, answers).failures_of("quota.not-exceeded"), NONE, "{why}");
    }
    let elsewhere = TraceBuilder::new().lists(5, &COUNTED[..2]).elsewhere().lists(5, &COUNTED[2..]).list(404, 0, 5);
    assert_eq!(elsewhere.failures_of("quota.not-exceeded"), NONE, "something else may have been counted");
    let together = TraceBuilder::new().lists(5, &COUNTED).list(404, 0, 5).together(1..=5);
    assert_eq!(together.failures_of("quota.not-exceeded"), NONE, "their order is unknown");
}

#[test]
fn failures_count_for_the_window_that_they_fell_in() {
    let next = [(200, 4), (404, 3), (404, 2), (200, 1)];
    let builder = TraceBuilder::new().lists(5, &COUNTED).wait(60).window(60).lists(5, &next);
    assert_eq!(builder.failures_of("quota.not-exceeded"), NONE);
}

#[test]
fn a_refusal_with_nothing_remaining_is_early_where_that_is_so_in_two_windows() {
    let once = || TraceBuilder::new().window(50).lists(60, &[(200, 9), (429, 0)]);
    assert_eq!(once().failures_of("quota.not-early"), NONE, "another client may have used nine, unseen");
    assert_eq!(once().wait(60).window(50).lists(60, &[(200, 59), (200, 58)]).failures_of("quota.not-early"), NONE);
    let twice = once().wait(60).window(50).lists(60, &[(200, 59), (429, 0)]);
    assert_eq!(twice.failures_of("quota.not-early"), [[2, 1], [4, 3]]);
}

#[test]
fn a_log_whose_resets_lie_close_together_is_not_one_window() {
    let full = || TraceBuilder::new().window(60).lists(3, &[(200, 2), (200, 1), (200, 0)]);
    let again = full().wait(60).window(1).lists(3, &[(200, 1), (200, 0)]);
    assert_eq!(again.failures_of("quota.not-exceeded"), NONE);
    let soon = full().wait(30).window(31).lists(3, &[(200, 1), (200, 0)]);
    assert!(!soon.failures_of("quota.not-exceeded").is_empty(), "too soon to drop out");
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

#[test]
fn a_reset_that_is_stuck_is_not_taken_for_a_window_that_admits_more() {
    let stuck = || TraceBuilder::new().lists(2, &[(200, 1), (200, 0)]).wait(64).lists(2, &[(200, 1), (200, 0)]);
    assert_eq!(stuck().failures_of("quota.not-exceeded"), NONE);
    assert_eq!(stuck().failures_of("headers.reset-time"), [[3], [4]]);
}

#[test]
fn a_429_for_what_another_key_has_used_is_early() {
    let both = || {
        let keys = ["sk-Key1", "sk-Other"].into_iter().cycle();
        let turns = keys.zip([9, 8, 7, 6, 5, 4]);
        let builder =
            turns.fold(TraceBuilder::new(), |builder, (key, remaining)| builder.key(key).list(200, remaining, 10));
        let first = [3, 2, 1].into_iter().fold(builder.key("sk-Key1"), |builder, left| builder.list(200, left, 10));
        first.wait(3).key("sk-Other").list(429, 0, 10).failures_of("quota.not-early")
    };
    assert_eq!(both(), [[10, 2]]);
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
fn a_refusal_for_the_minute_shows_nothing_of_the_day() {
    let unseen = |window| {
        let full = TraceBuilder::new().window(window).lists(3, &[(200, 2), (200, 1), (200, 0), (429, 0)]);
        full.judged_by("quota.enforced").unseen
    };
    assert!(unseen(60).is_some_and(|unseen| unseen.contains("a key whose day")));
    assert_eq!(unseen(3_600), None);
}
