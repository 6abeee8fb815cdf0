use super::*;
use crate::catalogue::plan::PlanLimits;
use crate::tests::TraceBuilder;
use crate::trace::knowledge::Fact;

const NONE: [[usize; 0]; 0] = [];

/// Answers at these seconds, each of which reports a window that ends this many seconds ahead.
fn answers(answers: &[(i64, i64)]) -> TraceBuilder {
    let mut now = 0;
    answers.iter().fold(TraceBuilder::new(), |builder, (at, ahead)| {
        let waited = builder.wait(at - now).window(*ahead);
        now = *at;
        waited.list(200, 5, 7)
    })
}

#[test]
fn what_a_withheld_time_leaves_unknown_is_held_against_no_other_answer() {
    let moved =
        |builder: TraceBuilder| builder.wait(10).window(3_577).list(200, 5, 7).failures_of("headers.reset-time");
    let first = || TraceBuilder::new().window(3_600).list(200, 5, 7);
    assert_eq!(moved(first()), [[2, 1]]);
    let withheld = first().change_last(|exchange| exchange.known.withheld.insert(Fact::Times));
    assert_eq!(moved(withheld), NONE);
}

#[test]
fn a_reset_that_was_announced_does_not_move_while_its_window_runs() {
    let moved = |reported: &[(i64, i64)]| answers(reported).failures_of("headers.reset-time");
    assert_eq!(moved(&[(0, 60), (57, 3_600)]), [[2, 1]]);
    assert_eq!(moved(&[(0, 60), (58, 3_600)]), NONE, "it has ended");
    assert_eq!(moved(&[(0, 3_600), (10, 3_587)]), [[2, 1]]);
    assert_eq!(moved(&[(0, 3_600), (10, 3_592)]), NONE, "rounded");
    let refused = |first, second| TraceBuilder::new().window(3_600).list(first, 5, 7).window(60).list(second, 5, 7);
    assert_eq!(refused(200, 404).failures_of("headers.reset-time"), [[2, 1]]);
    assert_eq!(refused(200, 429).failures_of("headers.reset-time"), NONE, "the exhausted window is another one");
    assert_eq!(refused(429, 200).failures_of("headers.reset-time"), NONE);
    assert_eq!(refused(200, 200).together(1..=2).failures_of("headers.reset-time"), NONE);
    assert_eq!(
        TraceBuilder::new().list(200, 5, 7).window(3_600).list(200, 5, 8).failures_of("headers.reset-time"),
        NONE,
        "another limit"
    );
}

#[test]
fn a_ban_may_end_at_any_time() {
    let far = |answers: &[u16]| {
        let builder =
            answers.iter().fold(TraceBuilder::new().window(100_000), |builder, status| builder.list(*status, 0, 7));
        builder.failures_of("headers.reset-time")
    };
    assert_eq!(far(&[404]), [[1]]);
    assert_eq!(far(&[429, 429]), NONE);
    assert_eq!(far(&[429, 429, 403]), NONE);
    assert_eq!(far(&[429, 429, 404]), [[3]]);
}

#[test]
fn a_reset_lies_within_the_window_that_the_limit_is_of() {
    let off = |limit, ahead, plan_limits| {
        let builder = TraceBuilder::new().window(ahead).list(200, 5, limit).plan(plan_limits);
        builder.failures_of("headers.reset-time") != NONE
    };
    let agreed = |per_minute, per_day| Some(PlanLimits { per_minute, per_day });
    let within = |limit, plan_limits, latest| {
        assert!(
            !off(limit, latest, plan_limits) && off(limit, latest + 1, plan_limits),
            "{limit} {plan_limits:?} {latest}"
        );
        assert!(!off(limit, -3, plan_limits) && off(limit, -4, plan_limits), "{limit} {plan_limits:?} {latest}");
    };
    within(60, None, 62);
    within(7, agreed(7, 70), 62);
    within(70, agreed(7, 70), 86_402);
    within(7, agreed(7, 7), 86_402);
    within(7, None, 86_402);
    let dateless =
        |ahead| TraceBuilder::new().window(ahead).list(200, 5, 7).dateless().failures_of("headers.reset-time") != NONE;
    assert!(!dateless(-86_400) && dateless(-86_401));
    assert!(!dateless(172_800) && dateless(172_801));
}

#[test]
fn a_limit_is_above_zero_and_takes_two_values_at_the_most() {
    assert_eq!(TraceBuilder::new().list(200, 0, 0).failures_of("headers.limit-figure"), [[1]]);
    assert_eq!(
        TraceBuilder::new().list(429, 0, 7).list(429, 0, 0).failures_of("headers.limit-figure"),
        NONE,
        "a ban's own"
    );
    assert_eq!(
        TraceBuilder::new().list(429, 0, 0).list(429, 0, 0).together(1..=2).failures_of("headers.limit-figure"),
        NONE
    );
    assert_eq!(TraceBuilder::new().list(200, 5, 7).list(200, 5, 8).failures_of("headers.limit-figure"), NONE);
    assert_eq!(
        TraceBuilder::new().list(200, 5, 7).list(200, 5, 8).list(200, 5, 9).failures_of("headers.limit-figure"),
        [[3]]
    );
}

#[test]
fn a_distance_is_reported_in_the_unit_that_suits_it() {
    for (seconds, text) in [(0, "+0 s"), (-3_600, "-60 min"), (36_000, "+10 h"), (-864_000, "-10 days")] {
        assert_eq!(distance(seconds).to_string(), text);
    }
}

#[test]
fn of_two_limits_one_is_that_of_the_day() {
    // At these seconds, with windows that end this many seconds ahead, and with these limits.
    let reported = |answers: &[(i64, i64, u64)]| {
        let mut now = 0;
        let builder = answers.iter().fold(TraceBuilder::new(), |builder, (at, ahead, limit)| {
            let waited = builder.wait(at - now).window(*ahead);
            now = *at;
            waited.list(200, 5, *limit)
        });
        builder.failures_of("headers.limit-figure")
    };
    assert_eq!(reported(&[(0, 60, 60), (5, 55, 30), (70, 50, 60), (75, 45, 30)]), [[3, 4]]);
    assert_eq!(reported(&[(0, 60, 60), (5, 55, 30), (70, 50, 60)]), NONE, "30 was reported of one window only");
    let day = [(0, 60, 60), (1, 5_000, 1_000), (70, 50, 60), (71, 4_900, 1_000)];
    assert_eq!(reported(&day), NONE, "the end of the day is counted from the last requests");
    let midnight = [(0, 60, 60), (5, 55, 1_000), (70, 50, 60), (75, 86_400, 1_000)];
    assert_eq!(reported(&midnight), NONE, "the day ended with a minute");
}

#[test]
fn a_ban_may_go_with_a_limit_of_its_own() {
    let minute = |builder: TraceBuilder, first: u16| {
        let reported = builder.window(50).list(first, 5, 60).list(429, 0, 60).list(429, 0, 60).list(429, 0, 30);
        reported.wait(70)
    };
    assert_eq!(minute(minute(TraceBuilder::new(), 200), 200).failures_of("headers.limit-figure"), NONE);
    let other = |builder: TraceBuilder| builder.window(50).list(200, 5, 60).list(404, 5, 30).wait(70);
    assert_eq!(other(other(TraceBuilder::new())).failures_of("headers.limit-figure"), [[3, 4]]);
}

#[test]
fn in_a_log_without_a_date_what_remains_may_rise_before_the_reset_is_reported_anew() {
    let dateless = |builder: TraceBuilder, remaining| builder.list(200, remaining, 7).dateless();
    let three = dateless(dateless(dateless(TraceBuilder::new(), 6).wait(10), 5), 4);
    let log = dateless(dateless(three.wait(55).window(5), 4).wait(4), 5);
    assert_eq!(log.failures_of("headers.remaining-never-rises"), NONE, "the second and third have dropped out");
    let three = dateless(dateless(dateless(TraceBuilder::new(), 6).wait(10), 5), 4);
    assert_eq!(dateless(three, 5).failures_of("headers.remaining-never-rises"), [[4, 3]]);
}

#[test]
fn a_reset_is_compared_with_no_time_that_is_withheld() {
    let dated_by_the_judge = |withheld: bool| {
        let list = TraceBuilder::new().window(60).list(200, 5, 60).dateless().change_last(|exchange| {
            exchange.sent_at = jiff::Timestamp::UNIX_EPOCH;
            exchange.received_at = jiff::Timestamp::UNIX_EPOCH;
            if withheld {
                exchange.known.withheld.insert(Fact::Times);
            }
        });
        list.failures_of("headers.reset-time").len()
    };
    assert_eq!(dated_by_the_judge(false), 1);
    assert_eq!(dated_by_the_judge(true), 0);
}

#[test]
fn a_401_says_nothing_of_what_remains_for_the_key() {
    let answers = |status| TraceBuilder::new().lists(60, &[(200, 27), (status, 60)]);
    assert_eq!(answers(401).failures_of("headers.remaining-never-rises"), NONE);
    assert_eq!(answers(404).failures_of("headers.remaining-never-rises"), [[2, 1]]);
}

#[test]
fn a_day_that_moves_after_a_refusal_is_no_contradiction_to_the_refusal() {
    let plan = Some(PlanLimits { per_minute: 60, per_day: 1_000 });
    let begin = TraceBuilder::at("2026-06-01T12:00:10Z").plan(plan).window(30);
    let minute = (0..60).fold(begin, |builder, at| builder.list(200, 400 - at, 1_000));
    let refused = minute.list(429, 340, 1_000).retry_after("50");
    // A request of yesterday has dropped out of a log of the last day.
    let later = refused.wait(60).window(84).list(200, 340, 1_000).list(200, 339, 1_000).list(200, 338, 1_000);
    assert_eq!(later.failures_of("headers.reset-time"), NONE);
}

#[test]
fn a_reset_that_the_judges_clock_explains_is_right_whoever_wrote_the_date() {
    let plan = Some(PlanLimits { per_minute: 60, per_day: 1_000 });
    let asked = |ahead: i64, left: i64| {
        let builder = TraceBuilder::new().plan(plan).window(86_000).list(200, 900, 1_000).dated(ahead);
        builder.key("nobody").window(left).list(401, 59, 60).dated(ahead).failures_of("headers.reset-time")
    };
    assert_eq!(asked(300, 20), NONE);
    assert_eq!(asked(300, -20), [[2]], "neither clock explains it");
}
