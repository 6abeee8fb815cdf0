use super::*;
use crate::rules::sample::Sample;

/// Three failures between two successes, for which Remaining falls.
const COUNTED: [(u16, u64); 5] = [(200, 4), (404, 3), (404, 2), (404, 1), (200, 0)];

fn shared(sample: Sample) -> bool {
    has_other_traffic(&Docket::new(&sample.trace()), 0)
}

#[test]
fn failures_for_which_remaining_falls_are_counted() {
    let counted = || Sample::new().lists(5, &COUNTED);
    assert_eq!(counted().failing(not_exceeded), [[0; 0]; 0], "as many as the limit");
    assert_eq!(counted().list(404, 0, 5).failing(not_exceeded), [[5]], "one more");
    assert_eq!(counted().list(429, 0, 5).list(429, 0, 5).failing(not_exceeded), [[0; 0]; 0], "a 429 is none");
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
        assert_eq!(Sample::new().lists(limit, answers).failing(not_exceeded), [[0; 0]; 0], "{why}");
    }
    let elsewhere = Sample::new().lists(5, &COUNTED[..2]).elsewhere().lists(5, &COUNTED[2..]).list(404, 0, 5);
    assert_eq!(elsewhere.failing(not_exceeded), [[0; 0]; 0], "something else may have been counted");
    let together = Sample::new().lists(5, &COUNTED).list(404, 0, 5).together(1..=5);
    assert_eq!(together.failing(not_exceeded), [[0; 0]; 0], "their order is unknown");
}

#[test]
fn failures_count_for_the_window_that_they_fell_in() {
    let next = [(200, 4), (404, 3), (404, 2), (200, 1)];
    let sample = Sample::new().lists(5, &COUNTED).wait(60).window(60).lists(5, &next);
    assert_eq!(sample.failing(not_exceeded), [[0; 0]; 0]);
}

#[test]
fn what_others_use_up_shows_in_what_remains() {
    assert!(!shared(Sample::new().lists(60, &[(200, 10), (200, 9)])));
    assert!(shared(Sample::new().lists(60, &[(200, 10), (200, 8)])));
    assert!(!shared(Sample::new().list(200, 10, 60).elsewhere().list(200, 8, 60)), "this run's own requests may count");
    assert!(shared(Sample::new().list(200, 10, 60).elsewhere().list(200, 7, 60)));
    assert!(!shared(Sample::new().lists(60, &[(200, 10), (429, 0)])), "a refusal says nothing of others");
    assert!(
        !shared(Sample::new().list(200, 10, 60).list(200, 8, 1_000)),
        "two figures have nothing to do with each other"
    );
}

#[test]
fn in_a_new_window_nothing_was_used_up_before_this_runs_own_requests() {
    let next = |remaining| Sample::new().list(200, 10, 60).wait(60).window(60).list(200, remaining, 60);
    assert!(!shared(next(59)));
    assert!(shared(next(57)));
    let back = Sample::new().list(200, 10, 60).window(20).list(200, 2, 60);
    assert!(!shared(back), "a window that ends before the one before says nothing");
}

#[test]
fn requests_under_way_at_the_same_time_may_have_been_counted_in_any_order() {
    let answers = [(200, 9), (200, 7), (200, 8), (200, 5), (200, 6)];
    assert!(shared(Sample::new().lists(60, &answers)));
    assert!(!shared(Sample::new().lists(60, &answers).together(2..=3).together(4..=5)));
    // The last of those together was counted first, as was the first of the next.
    assert!(!shared(Sample::new().lists(60, &[(200, 9), (200, 6), (200, 8), (200, 7), (200, 5)]).together(2..=4)));
    assert!(shared(Sample::new().lists(60, &[(200, 9), (200, 5), (200, 8), (200, 7), (200, 4)]).together(2..=4)));
}

/// So many successes, each of which uses up `cost`.
fn costly(times: u64, cost: u64) -> Sample {
    (0..times).fold(Sample::new(), |sample, at| sample.list(200, 100 - at * cost, 100))
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
fn refused(reset: i64, pause: i64, retry_after: &str) -> Sample {
    Sample::new().window(reset).list(200, 9, 60).wait(pause).list(429, 9, 60).retry_after(retry_after)
}

#[test]
fn a_429_while_requests_remain_is_early() {
    assert_eq!(refused(50, 0, "50").failing(not_early), [[2, 1]]);
    assert_eq!(refused(50, 1, "50").failing(not_early), [[2, 1]]);
    assert_eq!(refused(50, 2, "50").failing(not_early), [[0; 0]; 0], "others may have used them up in the meantime");
}

#[test]
fn a_429_that_asks_for_more_than_the_rest_of_the_window_may_be_the_days() {
    assert_eq!(refused(50, 0, "110").failing(not_early), [[2, 1]]);
    assert_eq!(refused(50, 0, "111").failing(not_early), [[0; 0]; 0]);
    assert_eq!(refused(50, 0, "Mon, 01 Jun 2026 23:59:59 GMT").failing(not_early), [[0; 0]; 0]);
    assert_eq!(refused(50, 0, "soon").failing(not_early), [[2, 1]], "that says nothing");
}
