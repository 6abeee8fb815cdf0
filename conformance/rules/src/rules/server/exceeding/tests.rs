use super::*;
use crate::trace::exchange::Request;
use crate::trace_builder::TraceBuilder;

const NONE: [[usize; 0]; 0] = [];

/// Three failures between two successes, for which Remaining falls.
const COUNTED: [(u16, u64); 5] = [(200, 4), (404, 3), (404, 2), (404, 1), (200, 0)];

fn shared(builder: TraceBuilder) -> bool {
    has_other_traffic(&History::new(&builder.trace()), 0)
}

#[test]
fn failures_for_which_remaining_falls_are_counted() {
    let counted = || TraceBuilder::new().lists(5, &COUNTED);
    assert_eq!(counted().failing(not_exceeded), NONE, "as many as the limit");
    assert_eq!(counted().list(404, 0, 5).failing(not_exceeded), [[5]], "one more");
    assert_eq!(counted().list(429, 0, 5).list(429, 0, 5).failing(not_exceeded), NONE, "a 429 is none");
}

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
        assert_eq!(TraceBuilder::new().lists(limit, answers).failing(not_exceeded), NONE, "{why}");
    }
    let elsewhere = TraceBuilder::new().lists(5, &COUNTED[..2]).elsewhere().lists(5, &COUNTED[2..]).list(404, 0, 5);
    assert_eq!(elsewhere.failing(not_exceeded), NONE, "something else may have been counted");
    let together = TraceBuilder::new().lists(5, &COUNTED).list(404, 0, 5).together(1..=5);
    assert_eq!(together.failing(not_exceeded), NONE, "their order is unknown");
}

#[test]
fn failures_count_for_the_window_that_they_fell_in() {
    let next = [(200, 4), (404, 3), (404, 2), (200, 1)];
    let builder = TraceBuilder::new().lists(5, &COUNTED).wait(60).window(60).lists(5, &next);
    assert_eq!(builder.failing(not_exceeded), NONE);
}

#[test]
fn what_others_use_up_shows_in_what_remains() {
    assert!(!shared(TraceBuilder::new().lists(60, &[(200, 10), (200, 9)])));
    assert!(shared(TraceBuilder::new().lists(60, &[(200, 10), (200, 8)])));
    assert!(
        !shared(TraceBuilder::new().list(200, 10, 60).elsewhere().list(200, 8, 60)),
        "this run's own requests may count"
    );
    assert!(shared(TraceBuilder::new().list(200, 10, 60).elsewhere().list(200, 7, 60)));
    assert!(!shared(TraceBuilder::new().lists(60, &[(200, 10), (429, 0)])), "a refusal says nothing of others");
    assert!(
        !shared(TraceBuilder::new().list(200, 10, 60).list(200, 8, 1_000)),
        "two figures have nothing to do with each other"
    );
}

#[test]
fn in_a_new_window_nothing_was_used_up_before_this_runs_own_requests() {
    let next = |remaining| TraceBuilder::new().list(200, 10, 60).wait(60).window(60).list(200, remaining, 60);
    assert!(!shared(next(59)));
    assert!(shared(next(57)));
    let back = TraceBuilder::new().list(200, 10, 60).window(20).list(200, 2, 60);
    assert!(!shared(back), "a window that ends before the one before says nothing");
}

#[test]
fn requests_under_way_at_the_same_time_may_have_been_counted_in_any_order() {
    let answers = [(200, 9), (200, 7), (200, 8), (200, 5), (200, 6)];
    assert!(shared(TraceBuilder::new().lists(60, &answers)));
    assert!(!shared(TraceBuilder::new().lists(60, &answers).together(2..=3).together(4..=5)));
    assert!(!shared(TraceBuilder::new().lists(60, &[(200, 10), (200, 2)]).together(1..=2)));
    // The last of those together was counted first, as was the first of the next.
    assert!(!shared(
        TraceBuilder::new().lists(60, &[(200, 9), (200, 6), (200, 8), (200, 7), (200, 5)]).together(2..=4)
    ));
    assert!(shared(TraceBuilder::new().lists(60, &[(200, 9), (200, 5), (200, 8), (200, 7), (200, 4)]).together(2..=4)));
}

/// So many successes, each of which uses up `cost`.
fn costly(times: u64, cost: u64) -> TraceBuilder {
    (0..times).fold(TraceBuilder::new(), |builder, at| builder.list(200, 100 - at * cost, 100))
}

#[test]
fn a_request_may_use_up_more_than_one_where_each_does_many_times() {
    assert!(!shared(costly(11, 2)));
    assert!(shared(costly(10, 2)), "nine times are not many");
    assert!(shared(costly(11, 2).list(200, 77, 100)), "once it was three");
    assert!(!shared(costly(11, 0).list(200, 99, 100)), "nothing at all is no cost");
    assert!(!shared(costly(11, 2).elsewhere().list(200, 76, 100)), "two requests cost twice as much");
    assert!(!shared(costly(11, 2).list(404, 80, 100).list(200, 78, 100)), "a failure may cost nothing");
}

/// With 9 remaining, and a Reset in so many seconds, a list is answered with 429 after a pause.
fn refused(reset: i64, pause: i64, retry_after: &str) -> TraceBuilder {
    TraceBuilder::new().window(reset).list(200, 9, 60).wait(pause).list(429, 9, 60).retry_after(retry_after)
}

#[test]
fn a_429_while_requests_remain_is_early() {
    assert_eq!(refused(50, 0, "50").failing(not_early), [[2, 1]]);
    assert_eq!(refused(50, 1, "50").failing(not_early), [[2, 1]]);
    assert_eq!(refused(50, 2, "50").failing(not_early), NONE, "others may have used them up in the meantime");
}

#[test]
fn a_429_that_asks_for_more_than_the_rest_of_the_window_may_be_the_days() {
    assert_eq!(refused(50, 0, "110").failing(not_early), [[2, 1]]);
    assert_eq!(refused(50, 0, "111").failing(not_early), NONE);
    assert_eq!(refused(50, 0, "Mon, 01 Jun 2026 23:59:59 GMT").failing(not_early), NONE);
    assert_eq!(refused(50, 0, "soon").failing(not_early), [[2, 1]], "that says nothing");
}

#[test]
fn as_many_as_the_limit_may_be_admitted() {
    let admitted = |answers: &[(u16, u64)]| TraceBuilder::new().lists(3, answers);
    for judge in [enforced, not_exceeded] {
        assert_eq!(admitted(&[(200, 2), (200, 1), (200, 0)]).failing(judge), NONE);
        assert_eq!(admitted(&[(200, 2), (200, 1), (200, 0), (200, 0)]).failing(judge), [[4]]);
    }
}

/// Of a window that ends in 50 s, nothing remains, and a list is refused.
fn used_up() -> TraceBuilder {
    TraceBuilder::new().window(50).list(429, 0, 60)
}

#[test]
fn after_a_429_all_is_refused_until_the_reset() {
    assert_eq!(used_up().list(200, 0, 60).failing(enforced), [[2, 1]]);
    assert_eq!(used_up().wait(47).list(200, 0, 60).failing(enforced), [[2, 1]]);
    assert_eq!(used_up().wait(48).list(200, 0, 60).failing(enforced), NONE, "clocks are told to the second");
    assert_eq!(used_up().list(200, 5, 60).failing(enforced), NONE, "something remains");
    assert_eq!(used_up().window(110).list(200, 0, 60).failing(enforced), NONE, "another window");
    assert_eq!(used_up().list(200, 0, 60).together(1..=2).failing(enforced), NONE, "in whatever order");
    let unsound = Request::new("GET", "/pets").query("limit=0");
    assert_eq!(
        used_up().ask(unsound, 400, String::new()).with_rate_limit(0, 60).failing(enforced),
        NONE,
        "refused for itself"
    );
    let day = TraceBuilder::new().window(3_600).list(200, 1, 1_000).list(429, 0, 1_000).list(200, 0, 1_000);
    assert_eq!(day.failing(enforced), NONE, "what the day says is not true of the minute");
    let shared = TraceBuilder::new().window(50).list(200, 9, 60).list(200, 5, 60).list(429, 0, 60).list(200, 0, 60);
    assert_eq!(shared.failing(enforced), NONE, "what fails for others may make room");
}

#[test]
fn in_less_than_a_minute_no_more_than_two_minutes_figures_are_admitted() {
    let lists = |count: u64| (0..count).fold(TraceBuilder::new().window(3_600), |s, at| s.list(200, 999 - at, 1_000));
    // With those in between, the first 120 take 1.99 s.
    let first = || (0..79).fold(lists(120), |builder, _| builder.elsewhere());
    assert_eq!(first().wait(57).list(200, 879, 1_000).failing(not_exceeded), [[200, 1]]);
    assert_eq!(first().wait(58).list(200, 879, 1_000).failing(not_exceeded), NONE, "a minute");
}

#[test]
fn what_an_earlier_window_had_left_promises_nothing_of_this_one() {
    let builder = TraceBuilder::new().list(200, 0, 60).wait(60).window(60).lists(60, &[(200, 59), (429, 0)]);
    assert_eq!(builder.failing(not_early), [[3, 2]]);
}

#[test]
fn that_remaining_is_told_after_counting_shows_in_the_first_answer_of_a_window() {
    let first = |answers: &[(u16, u64, u64)], later: i64| {
        let begun = TraceBuilder::new().list(200, 5, 60);
        let begun = begun.wait(60).window(later);
        let builder = answers.iter().fold(begun, |builder, (status, left, limit)| builder.list(*status, *left, *limit));
        counts_first(&History::new(&builder.trace()), 0)
    };
    assert!(first(&[(200, 59, 60)], 60));
    assert!(first(&[(200, 59, 60)], 3));
    assert!(!first(&[(200, 59, 60)], 2), "clocks are told to the second");
    assert!(!first(&[(200, 59, 60)], 0), "no other window");
    assert!(!first(&[(404, 59, 60)], 60), "a failure may not count");
    assert!(!first(&[(200, 58, 60)], 60), "others came first");
    assert!(!first(&[(200, 99, 100)], 60), "another limit");
    assert!(!first(&[(200, 59, 60), (404, 60, 60)], 60), "the whole limit shows");
    assert!(!first(&[], 60));
}

#[test]
fn what_may_have_used_up_the_last_request_excuses_a_429() {
    let list = || Request::new("GET", "/pets");
    let between = |ask: fn(TraceBuilder) -> TraceBuilder| {
        ask(TraceBuilder::new().list(200, 2, 60)).key("sk-Key1").list(429, 0, 60).failing(not_early)
    };
    assert_eq!(between(|builder| builder), [[2, 1]]);
    assert_eq!(between(TraceBuilder::elsewhere), NONE);
    assert_eq!(between(|builder| builder.elsewhere().with_rate_limit(1, 60)), NONE);
    assert_eq!(between(|builder| builder.key(" sk-Key1").list(200, 1, 60)), NONE, "a debatable form");
    assert_eq!(between(|builder| builder.key("unknown").list(401, 1, 60)), NONE, "counted by address");
    assert_eq!(between(|builder| builder.key("unknown").list(401, 1, 10)), [[3, 1]], "counted by itself");
    assert_eq!(between(|builder| builder.key("sk-Other").list(200, 1, 60)), [[3, 1]], "another key");
    assert_eq!(between(|builder| builder.key("sk-Other").elsewhere()), [[3, 1]], "another key");
    assert_eq!(between(|builder| builder.key("sk-Other").elsewhere().with_rate_limit(1, 60)), [[3, 1]], "another key");
    let untold = |key: &'static str| {
        let builder = TraceBuilder::new().list(200, 2, 60).key(key).ask(list(), 200, "[]".to_owned());
        builder.key("sk-Key1").list(429, 0, 60).failing(not_early)
    };
    assert_eq!(untold("sk-Key1"), NONE);
    assert_eq!(untold("sk-Other"), [[3, 1]]);
}

#[test]
fn where_the_day_is_told_the_minute_behind_it_is_used_up_by_as_many_as_its_figure() {
    let decided = |lists: u64, others: fn(TraceBuilder) -> TraceBuilder, wait: i64| {
        let builder = (0..lists).fold(TraceBuilder::new().window(3_600), |s, at| s.list(200, 999 - at, 1_000));
        let trace = others(builder).key("sk-Key1").wait(wait).list(429, 900, 1_000).trace();
        let history = History::new(&trace);
        let (limited, window) = history.with_rate_limit(0)[lists as usize];
        minute_is_exhausted(&history, 0, limited, window)
    };
    let alone = |lists, wait| decided(lists, |builder| builder, wait);
    assert!(alone(60, 0));
    assert!(!alone(59, 0), "the refused one is none of them");
    assert!(alone(60, 61), "clocks are told to the second");
    assert!(!alone(60, 62), "the minute has ended");
    assert!(!decided(59, |builder| builder.key("sk-Other").list(200, 5, 60), 0), "another key is counted by itself");
    assert!(
        decided(59, |builder| builder.key("unknown").list(401, 940, 1_000), 0),
        "callers are told apart by address"
    );
    assert!(!decided(59, |builder| builder.key("unknown").list(401, 5, 60), 0), "who has no key is counted by himself");
}

#[test]
fn in_a_log_of_the_last_minute_one_may_drop_out_as_another_comes() {
    let fixed = || TraceBuilder::new().window(60).list(200, 6, 7).list(200, 5, 7).wait(30).list(200, 4, 7);
    assert_eq!(fixed().list(200, 4, 7).failing(every_operation), [[4, 3]]);
    // The first two have dropped out, one before each of these.
    let log = fixed().wait(30).window(30).list(200, 4, 7).list(200, 4, 7);
    assert!(log.failing(every_operation).is_empty());
}

#[test]
fn in_a_log_of_the_last_minute_there_may_be_several_last_ones() {
    let spent = |ahead| {
        let full = TraceBuilder::new().window(60).lists(3, &[(200, 2), (200, 1)]).wait(30).list(200, 0, 3);
        full.wait(31).window(ahead).list(200, 0, 3).list(200, 0, 3)
    };
    assert_eq!(spent(60).failing(not_exceeded), [[5, 4]], "a window of a minute has one");
    assert!(spent(29).failing(not_exceeded).is_empty());
}

#[test]
fn a_request_that_was_under_way_when_a_window_ended_may_be_of_that_one() {
    // Of a limit of two: one in a window that has 60 s, one that comes so many seconds later and takes so long, and two more.
    let counted = |wait: i64, took: i64| {
        let first = TraceBuilder::new().window(60).list(200, 1, 2);
        first.wait(wait).window(120 - wait).list(200, 2, 2).slow(took).lists(2, &[(200, 1), (200, 0)])
    };
    let all = [[4]];
    assert!(counted(59, 2).failing(not_exceeded).is_empty());
    assert!(counted(60, 0).failing(not_exceeded).is_empty(), "within the second in which it ended");
    assert_eq!(counted(61, 0).failing(not_exceeded), all);
    assert_eq!(counted(62, 1).failing(not_exceeded), all);
    let next = TraceBuilder::new().list(200, 1, 2).wait(60).window(60).list(200, 2, 2).list(200, 1, 2);
    assert_eq!(next.lists(2, &[(200, 0), (200, 0)]).failing(not_exceeded), [[5]], "one at the most is of that one");
    let other = TraceBuilder::new().list(200, 4, 5).wait(60).window(60).lists(2, &[(200, 2), (200, 1), (200, 0)]);
    assert_eq!(other.failing(not_exceeded), all, "another limit");
    let dateless = TraceBuilder::new().list(200, 1, 2).wait(600).window(60).list(200, 2, 2).dateless();
    assert_eq!(dateless.lists(2, &[(200, 1), (200, 0)]).failing(not_exceeded), NONE, "when it came is not known");
}

#[test]
fn where_headers_tell_now_the_minute_now_the_day_those_that_told_the_day_were_counted_too() {
    // Of three that remain in the minute, so many are used by requests whose answers tell the day.
    let refused = |used: u64| {
        let first = TraceBuilder::new().window(60).lists(60, &[(200, 4), (200, 3)]).window(40_000);
        let told = (0..used).fold(first, |builder, used| builder.list(200, 900 - used, 1_000));
        told.window(60).list(429, 0, 60)
    };
    assert_eq!(refused(3).failing(not_early), NONE);
    assert_eq!(refused(2).failing(not_early), NONE, "told before it is counted, the last shows 1");
    assert_eq!(refused(1).failing(not_early), [[4, 3]]);
}
