use crate::tests::TraceBuilder;

const NONE: [[usize; 0]; 0] = [];

/// A first 429 with this `Retry-After`, of a window that ends this many seconds later and of which so much remains.
fn limited(reported: &str, window: i64, remaining: u64) -> TraceBuilder {
    TraceBuilder::new().window(window).list(429, remaining, 7).retry_after(reported)
}

/// What is held against another 429, this many seconds later.
fn again(first: TraceBuilder, seconds: i64) -> Vec<Vec<usize>> {
    first.wait(seconds).list(429, 0, 7).failures_of("quota.recovers")
}

#[test]
fn a_key_recovers_once_both_the_wait_and_the_window_are_over() {
    for (reported, window, over) in [("10", 60, 62), ("90", 60, 92), ("Mon, 01 Jun 2026 12:01:30 GMT", 60, 92)] {
        assert_eq!(again(limited(reported, window, 0), over), [[2, 1]], "{reported} {window}");
        assert_eq!(again(limited(reported, window, 0), over - 1), NONE, "{reported} {window}");
    }
}

#[test]
fn where_the_day_is_reported_and_not_exhausted_the_minute_is() {
    assert_eq!(again(limited("0", 3_600, 5), 62), [[2, 1]]);
    assert_eq!(again(limited("0", 3_600, 5), 61), NONE);
    assert_eq!(again(limited("0", 3_600, 0), 62), NONE, "the day is exhausted");
    assert_eq!(again(limited("0", 30, 5), 32), [[2, 1]], "that is no day");
}

#[test]
fn a_second_429_may_have_brought_a_ban_and_the_next_has_to_report_of_it() {
    let second = |seconds| limited("1", 30, 0).wait(seconds).window(30).list(429, 0, 7).retry_after("1");
    assert_eq!(again(second(1), 40), NONE);
    let third = second(1).wait(40).window(30).list(429, 0, 7).retry_after("1");
    assert_eq!(again(third, 40), [[4, 3]], "what the third reported was heeded");
}

#[test]
fn that_a_key_recovers_is_judged_where_the_wait_is_over() {
    for reported in ["10", "10s", "-1"] {
        let judged = |seconds| limited(reported, 10, 0).wait(seconds).list(200, 6, 7).judged_by("quota.recovers");
        assert_eq!((judged(10).judged, judged(10).failures.len()), (1, 0), "{reported}");
        assert_eq!((judged(9).judged, judged(9).failures.len()), (0, 0), "{reported}");
    }
}

#[test]
fn without_a_date_nobody_knows_when_a_date_or_a_day_is_over() {
    let later = |wait: &str, window, remaining, seconds| again(limited(wait, window, remaining).dateless(), seconds);
    assert_eq!(later("Mon, 01 Jun 2026 12:00:10 GMT", -600, 0, 200), NONE, "the server's clock may be behind");
    assert_eq!(later("10", -600, 0, 61), NONE, "its minute may just have begun");
    assert_eq!(later("10", -600, 0, 62), [[2, 1]]);
    assert_eq!(later("10", 3_600, 0, 4_000), NONE, "the day's end is not known");
}

#[test]
fn somebody_else_may_have_used_what_was_restored() {
    let first = |remaining| {
        let builder = TraceBuilder::new().window(10).list(200, 6, 7).list(200, remaining, 7);
        builder.list(200, 0, 7).list(429, 0, 7).retry_after("10").wait(20)
    };
    let again = |builder: TraceBuilder| builder.list(429, 0, 7).failures_of("quota.recovers");
    assert_eq!(again(first(3).window(50)), NONE);
    assert_eq!(again(first(3)), [[5, 4]], "nothing was restored");
    // The reset of the first window was ten seconds ago.
    assert_eq!(again(first(3).window(-8)), [[5, 4]], "the same window, as clocks go");
    assert_eq!(again(first(3).window(-7)), NONE, "the next");
    let spared = TraceBuilder::new().window(10).lists(7, &[(200, 6), (200, 3), (429, 2)]).retry_after("10").wait(20);
    assert_eq!(again(spared), [[4, 3]], "of a minute the rest is no other limit's");
    assert_eq!(again(TraceBuilder::new().window(10).list(429, 0, 7).retry_after("10").wait(20).window(50)), [[2, 1]]);
}

#[test]
fn behind_a_day_somebody_else_may_have_exhausted_the_next_minute() {
    let first = |remaining: [u64; 3]| {
        let builder = TraceBuilder::new().window(3_600).list(200, 900, 1_000).list(200, remaining[0], 1_000);
        let refused = builder.list(429, remaining[1], 1_000).retry_after("30");
        refused.wait(70).list(429, remaining[2], 1_000).failures_of("quota.recovers")
    };
    assert_eq!(first([890, 800, 790]), NONE);
    assert_eq!(first([899, 890, 890]), NONE, "they show in what a 429 reports");
    assert_eq!(first([899, 899, 899]), [[4, 3]], "nobody else uses the key");
    let exhausted = TraceBuilder::new().window(3_600).lists(1_000, &[(200, 900), (200, 890), (429, 0)]);
    let again = exhausted.retry_after("3600").wait(3_700).list(429, 0, 1_000);
    assert_eq!(again.failures_of("quota.recovers"), [[4, 3]], "it was the day that was exhausted");
}

#[test]
fn of_requests_at_the_same_time_one_may_have_used_the_place_that_was_restored() {
    let both = || limited("10", 10, 0).wait(20).list(429, 0, 7).list(200, 0, 7);
    assert_eq!(both().failures_of("quota.recovers"), [[2, 1]]);
    assert_eq!(both().together(2..=3).failures_of("quota.recovers"), NONE);
    let beside = |status| limited("10", 10, 0).wait(20).list(429, 0, 7).list(status, 0, 7).together(2..=3);
    assert_eq!(beside(404).failures_of("quota.recovers"), NONE, "it failed for itself, and was counted");
    assert_eq!(beside(429).failures_of("quota.recovers"), [[2, 1]], "it was refused too");
    let other = limited("10", 10, 0).wait(20).list(429, 0, 7).key("sk-Other").list(200, 6, 7).together(2..=3);
    assert_eq!(other.failures_of("quota.recovers"), [[2, 1]], "another key");
}

#[test]
fn a_request_after_the_wait_is_not_refused_again_unless_others_use_the_key() {
    let exhausted = |before: u64, reported: &str| {
        let builder = TraceBuilder::new().window(60).list(200, before, 3).list(200, 1, 3).list(200, 0, 3);
        builder.list(429, 0, 3).retry_after(reported)
    };
    let again = |builder: TraceBuilder, seconds, status| {
        builder.wait(seconds).window(60 - seconds).list(status, 0, 3).failures_of("quota.retry-after-suffices")
    };
    assert_eq!(again(exhausted(2, "0"), 2, 429), [[5, 4]]);
    assert_eq!(again(exhausted(2, "Mon, 01 Jun 2026 12:00:10 GMT"), 12, 429), [[5, 4]]);
    assert_eq!(
        again(exhausted(2, "Mon, 01 Jun 2026 11:00:00 GMT"), 0, 429),
        [[5, 4]],
        "it had passed before the refusal"
    );
    assert_eq!(again(exhausted(2, "0"), 0, 429), NONE, "clocks of whole seconds");
    assert_eq!(again(exhausted(2, "10"), 11, 429), NONE, "clocks of whole seconds");
    assert_eq!(again(exhausted(2, "soon"), 20, 429), NONE, "nobody can tell how long to wait");
    assert_eq!(again(exhausted(2, "10").list(429, 0, 3), 20, 429), NONE, "the second refusal may have begun a ban");
    let at_once = |status| {
        let first = exhausted(2, "10").wait(13).window(47).list(429, 0, 3).list(status, 0, 3);
        first.together(5..=6).failures_of("quota.retry-after-suffices")
    };
    assert_eq!((at_once(200), at_once(429)), (vec![], vec![vec![5, 4]]), "one of two took the place");
    let first = TraceBuilder::new().window(60).list(429, 0, 3).retry_after("10");
    assert_eq!(again(first, 20, 429), NONE, "requests before the run may have caused it");
}
