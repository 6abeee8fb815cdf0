use crate::catalogue::plan::PlanLimits;
use crate::trace::exchange::Request;
use crate::trace_builder::TraceBuilder;

const NONE: [[usize; 0]; 0] = [];

/// Three failures between two successes, for which Remaining falls.
const COUNTED: [(u16, u64); 5] = [(200, 4), (404, 3), (404, 2), (404, 1), (200, 0)];

#[test]
fn failures_for_which_remaining_falls_are_counted() {
    let counted = || TraceBuilder::new().lists(5, &COUNTED);
    assert_eq!(counted().failures_of("quota.not-exceeded"), NONE, "as many as the limit");
    assert_eq!(counted().list(404, 0, 5).failures_of("quota.not-exceeded"), [[5]], "one more");
    assert_eq!(counted().list(429, 0, 5).list(429, 0, 5).failures_of("quota.not-exceeded"), NONE, "a 429 is none");
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

/// With 9 remaining, and a Reset in this many seconds, a list is answered with 429 after a pause.
fn refused(reset: i64, pause: i64, retry_after: &str) -> TraceBuilder {
    TraceBuilder::new().window(reset).list(200, 9, 60).wait(pause).list(429, 9, 60).retry_after(retry_after)
}

#[test]
fn a_429_while_requests_remain_is_early() {
    assert_eq!(refused(50, 0, "50").failures_of("quota.not-early"), [[2, 1]]);
    assert_eq!(refused(50, 1, "50").failures_of("quota.not-early"), [[2, 1]]);
    assert_eq!(
        refused(50, 2, "50").failures_of("quota.not-early"),
        NONE,
        "others may have used them up in the meantime"
    );
}

#[test]
fn what_remained_before_a_429_is_unknown_where_another_came_before() {
    let is_withheld = |builder: TraceBuilder| builder.judged_by("quota.not-early").withheld.is_some();
    assert!(is_withheld(TraceBuilder::new().window(50).lists(60, &[(429, 0), (429, 0)])));
    assert!(!is_withheld(TraceBuilder::new().window(50).lists(60, &[(200, 1), (200, 0), (429, 0)])));
    assert!(!is_withheld(TraceBuilder::new().window(50).lists(60, &[(200, 9)])), "there is no 429");
}

#[test]
fn a_429_that_asks_for_more_than_the_rest_of_the_window_may_be_the_days() {
    assert_eq!(refused(50, 0, "110").failures_of("quota.not-early"), [[2, 1]]);
    assert_eq!(refused(50, 0, "111").failures_of("quota.not-early"), NONE);
    assert_eq!(refused(50, 0, "Mon, 01 Jun 2026 23:59:59 GMT").failures_of("quota.not-early"), NONE);
    assert_eq!(refused(50, 0, "soon").failures_of("quota.not-early"), [[2, 1]], "that says nothing");
}

#[test]
fn as_many_as_the_limit_may_be_admitted() {
    let admitted = |answers: &[(u16, u64)]| TraceBuilder::new().lists(3, answers);
    for rule in ["quota.enforced", "quota.not-exceeded"] {
        assert_eq!(admitted(&[(200, 2), (200, 1), (200, 0)]).failures_of(rule), NONE);
        assert_eq!(admitted(&[(200, 2), (200, 1), (200, 0), (200, 0)]).failures_of(rule), [[4]]);
    }
    let late = || admitted(&[(200, 2), (200, 1), (200, 0), (200, 0), (429, 0)]);
    assert_eq!(late().failures_of("quota.enforced"), NONE, "there is a limit, if a late one");
    assert_eq!(late().failures_of("quota.not-exceeded"), [[4]]);
}

/// Of a window that ends in 50 s, nothing remains, and a list is refused.
fn exhausted() -> TraceBuilder {
    TraceBuilder::new().window(50).list(429, 0, 60)
}

#[test]
fn after_a_429_all_is_refused_until_the_reset() {
    assert_eq!(exhausted().list(200, 0, 60).failures_of("quota.enforced"), [[2, 1]]);
    assert_eq!(exhausted().wait(47).list(200, 0, 60).failures_of("quota.enforced"), [[2, 1]]);
    assert_eq!(
        exhausted().wait(48).list(200, 0, 60).failures_of("quota.enforced"),
        NONE,
        "clocks are reported to the second"
    );
    assert_eq!(exhausted().list(200, 5, 60).failures_of("quota.enforced"), NONE, "something remains");
    assert_eq!(exhausted().window(110).list(200, 0, 60).failures_of("quota.enforced"), NONE, "another window");
    assert_eq!(exhausted().list(200, 0, 60).together(1..=2).failures_of("quota.enforced"), NONE, "in whatever order");
    let unsound = Request::new("GET", "/pets").query("limit=0");
    assert_eq!(
        exhausted().ask(unsound, 400, String::new()).with_rate_limit(0, 60).failures_of("quota.enforced"),
        NONE,
        "refused for itself"
    );
    let day = TraceBuilder::new().window(3_600).list(200, 1, 1_000).list(429, 0, 1_000).list(200, 0, 1_000);
    assert_eq!(day.failures_of("quota.enforced"), NONE, "what the day says is not true of the minute");
    let beside = |status| {
        let fetch = TraceBuilder::new().window(50).fetch(7, status, String::new()).with_rate_limit(0, 60);
        let both = fetch.list(429, 0, 60).together(1..=2);
        both.list(200, 0, 60).failures_of("quota.enforced")
    };
    assert_eq!(beside(404), NONE, "a failure at the same time was given back");
    assert_eq!(beside(429), [[3, 2]], "a refusal gives nothing back");
    let shared = TraceBuilder::new().window(50).list(200, 9, 60).list(200, 5, 60).list(429, 0, 60).list(200, 0, 60);
    assert_eq!(shared.failures_of("quota.enforced"), NONE, "what fails for others may make room");
}

#[test]
fn in_less_than_a_minute_no_more_than_two_minutes_figures_are_admitted() {
    let lists = |count: u64| (0..count).fold(TraceBuilder::new().window(3_600), |s, at| s.list(200, 999 - at, 1_000));
    // With those in between, the first 120 take 1.99 s.
    let first = || (0..79).fold(lists(120), |builder, _| builder.elsewhere());
    assert_eq!(first().wait(57).list(200, 879, 1_000).failures_of("quota.not-exceeded"), [[200, 1]]);
    assert_eq!(first().wait(58).list(200, 879, 1_000).failures_of("quota.not-exceeded"), NONE, "a minute");
}

#[test]
fn a_refusal_with_nothing_remaining_is_early_where_that_is_so_in_two_windows() {
    let once = || TraceBuilder::new().window(50).lists(60, &[(200, 9), (429, 0)]);
    assert_eq!(once().failures_of("quota.not-early"), NONE, "somebody else may have used nine, unseen");
    assert_eq!(once().wait(60).window(50).lists(60, &[(200, 59), (200, 58)]).failures_of("quota.not-early"), NONE);
    let twice = once().wait(60).window(50).lists(60, &[(200, 59), (429, 0)]);
    assert_eq!(twice.failures_of("quota.not-early"), [[2, 1], [4, 3]]);
}

#[test]
fn behind_a_day_a_refusal_that_asks_for_more_than_a_minute_may_be_a_ban() {
    let refused = |wait: &str| {
        let day = TraceBuilder::new().window(3_600).lists(1_000, &[(200, 999), (429, 999)]);
        let plan_limits = PlanLimits { per_minute: 60, per_day: 1_000 };
        day.retry_after(wait).plan(Some(plan_limits)).failures_of("quota.not-early")
    };
    assert_eq!(refused("67"), [[2, 1]]);
    assert_eq!(refused("68"), NONE);
}

#[test]
fn what_an_earlier_window_had_left_promises_nothing_of_this_one() {
    let builder = TraceBuilder::new().list(200, 0, 60).wait(60).window(60).lists(60, &[(200, 59), (429, 58)]);
    assert_eq!(builder.failures_of("quota.not-early"), [[3, 2]]);
}

#[test]
fn what_may_have_consumed_the_last_request_excuses_a_429() {
    let list = || Request::new("GET", "/pets");
    let between = |ask: fn(TraceBuilder) -> TraceBuilder| {
        ask(TraceBuilder::new().list(200, 2, 60)).key("sk-Key1").list(429, 1, 60).failures_of("quota.not-early")
    };
    assert_eq!(between(|builder| builder), [[2, 1]]);
    assert_eq!(between(TraceBuilder::elsewhere), NONE);
    assert_eq!(between(|builder| builder.elsewhere().with_rate_limit(1, 60)), NONE);
    assert_eq!(between(|builder| builder.key(" sk-Key1").list(200, 1, 60)), NONE, "an ambiguous form");
    assert_eq!(between(|builder| builder.key("unknown").list(401, 1, 60)), NONE, "counted by address");
    assert_eq!(between(|builder| builder.key("unknown").list(401, 1, 10)), [[3, 1]], "counted by itself");
    assert_eq!(between(|builder| builder.key("sk-Other").list(200, 1, 60)), [[3, 1]], "another key");
    assert_eq!(between(|builder| builder.key("sk-Other").elsewhere()), [[3, 1]], "another key");
    assert_eq!(between(|builder| builder.key("sk-Other").elsewhere().with_rate_limit(1, 60)), [[3, 1]], "another key");
    let unreported = |key: &'static str| {
        let builder = TraceBuilder::new().list(200, 2, 60).key(key).ask(list(), 200, "[]".to_owned());
        builder.key("sk-Key1").list(429, 1, 60).failures_of("quota.not-early")
    };
    assert_eq!(unreported("sk-Key1"), NONE);
    assert_eq!(unreported("sk-Other"), [[3, 1]]);
}

#[test]
fn in_a_log_of_the_last_minute_one_may_drop_out_as_another_comes() {
    let fixed = || TraceBuilder::new().window(60).list(200, 6, 7).list(200, 5, 7).wait(30).list(200, 4, 7);
    assert_eq!(fixed().list(200, 4, 7).failures_of("quota.every-operation"), [[4, 3]]);
    // The first two have dropped out, one before each of these.
    let log = fixed().wait(30).window(30).list(200, 4, 7).list(200, 4, 7);
    assert!(log.failures_of("quota.every-operation").is_empty());
}

#[test]
fn in_a_log_of_the_last_minute_there_may_be_several_last_ones() {
    let spent = |ahead| {
        let full = TraceBuilder::new().window(60).lists(3, &[(200, 2), (200, 1)]).wait(30).list(200, 0, 3);
        full.wait(31).window(ahead).list(200, 0, 3).list(200, 0, 3)
    };
    assert_eq!(spent(60).failures_of("quota.not-exceeded"), [[5, 4]], "a window of a minute has one");
    assert!(spent(29).failures_of("quota.not-exceeded").is_empty());
}

#[test]
fn a_request_that_was_under_way_when_a_window_ended_may_be_of_that_one() {
    // Of a limit of two: one in a window that has 60 s, one that is sent `wait` seconds later and takes `took` seconds, and two more.
    let counted = |wait: i64, took: i64| {
        let first = TraceBuilder::new().window(60).list(200, 1, 2);
        first.wait(wait).window(120 - wait).list(200, 2, 2).slow(took).lists(2, &[(200, 1), (200, 0)])
    };
    let all = [[4]];
    assert!(counted(59, 2).failures_of("quota.not-exceeded").is_empty());
    assert!(counted(60, 0).failures_of("quota.not-exceeded").is_empty(), "within the second in which it ended");
    assert_eq!(counted(61, 0).failures_of("quota.not-exceeded"), all);
    assert_eq!(counted(62, 1).failures_of("quota.not-exceeded"), all);
    let next = TraceBuilder::new().list(200, 1, 2).wait(60).window(60).list(200, 2, 2).list(200, 1, 2);
    assert_eq!(
        next.lists(2, &[(200, 0), (200, 0)]).failures_of("quota.not-exceeded"),
        [[5]],
        "one at the most is of that one"
    );
    let other = TraceBuilder::new().list(200, 4, 5).wait(60).window(50).lists(2, &[(200, 2), (200, 1), (200, 0)]);
    assert_eq!(other.failures_of("quota.not-exceeded"), all, "another limit");
    let dateless = TraceBuilder::new().list(200, 1, 2).wait(600).window(60).list(200, 2, 2).dateless();
    assert_eq!(
        dateless.lists(2, &[(200, 1), (200, 0)]).failures_of("quota.not-exceeded"),
        NONE,
        "when it came is not known"
    );
}

#[test]
fn where_headers_report_now_the_minute_now_the_day_those_that_reported_the_day_were_counted_too() {
    // Of three that remain in the minute, so many are used by requests whose answers report the day.
    let refused = |used: u64| {
        let first = TraceBuilder::new().window(60).lists(60, &[(200, 4), (200, 3)]).window(40_000);
        let reported = (0..used).fold(first, |builder, used| builder.list(200, 900 - used, 1_000));
        reported.window(60).list(429, 1, 60)
    };
    assert_eq!(refused(3).failures_of("quota.not-early"), NONE);
    assert_eq!(refused(2).failures_of("quota.not-early"), NONE, "reported before it is counted, the last shows 1");
    assert_eq!(refused(1).failures_of("quota.not-early"), [[4, 3]]);
}

#[test]
fn of_several_at_once_all_may_report_that_nothing_remains() {
    let twice = || TraceBuilder::new().window(50).lists(3, &[(200, 2), (200, 0), (200, 0)]);
    assert_eq!(twice().failures_of("quota.not-exceeded"), [[3, 2]]);
    let later = |seconds| {
        let first = TraceBuilder::new().window(50).lists(3, &[(200, 2), (200, 0)]);
        first.wait(seconds).list(200, 0, 3).failures_of("quota.not-exceeded").len()
    };
    assert_eq!([46, 47, 48, 49].map(later), [1, 1, 0, 0], "near the Reset");
    let at_once = twice().together(2..=3);
    assert_eq!(at_once.failures_of("quota.not-exceeded"), NONE, "written when the answers went out");
    let refunded = TraceBuilder::new().window(50).lists(4, &[(200, 0), (404, 0), (200, 1), (200, 0)]).together(1..=2);
    assert_eq!(refunded.failures_of("quota.not-exceeded"), NONE, "a failure was counted, and given back");
}

#[test]
fn a_log_whose_resets_lie_close_together_is_not_one_window() {
    let full = || TraceBuilder::new().window(60).lists(3, &[(200, 2), (200, 1), (200, 0)]);
    let again = full().wait(60).window(1).lists(3, &[(200, 1), (200, 0)]);
    assert_eq!(again.failures_of("quota.not-exceeded"), NONE);
    let soon = full().wait(30).window(31).lists(3, &[(200, 1), (200, 0)]);
    assert!(!soon.failures_of("quota.not-exceeded").is_empty(), "too soon to drop out");
}

#[test]
fn a_429_until_midnight_may_be_the_days() {
    let late = |wait: &str| {
        let refused = TraceBuilder::at("2026-06-01T23:59:20Z").window(60).lists(7, &[(200, 6), (429, 5)]);
        refused.retry_after(wait).failures_of("quota.not-early")
    };
    assert_eq!(late("40"), NONE);
    assert_eq!(late("45"), NONE, "and a little longer");
    assert_eq!(late("60"), [[2, 1]]);
    let dateless = TraceBuilder::at("2026-06-01T23:59:15Z").window(60).lists(7, &[(200, 6), (429, 5)]).dateless();
    assert_eq!(dateless.retry_after("40").failures_of("quota.not-early"), NONE, "the server's clock may be ahead");
}

/// The limits of a Free key.
const FREE: Option<PlanLimits> = Some(PlanLimits { per_minute: 60, per_day: 1_000 });

#[test]
fn where_no_header_reports_a_window_more_than_two_minutes_admit_show_that_there_is_no_limit() {
    let silent = |builder: TraceBuilder, status| builder.ask(Request::new("GET", "/pets"), status, "[]".to_owned());
    let lists = |count: u64| (0..count).fold(TraceBuilder::new().plan(FREE), |builder, _| silent(builder, 200));
    assert_eq!(lists(121).failures_of("quota.enforced"), [[121, 1]]);
    assert_eq!(lists(120).failures_of("quota.enforced"), NONE, "of two minutes");
    assert_eq!(lists(121).plan(None).failures_of("quota.enforced"), NONE, "the plan is unknown");
    assert_eq!(silent(lists(121), 429).failures_of("quota.enforced"), NONE, "there is a limit, if a late one");
    assert_eq!(silent(lists(121), 429).failures_of("quota.not-exceeded"), [[121, 1]]);
}

#[test]
fn a_limit_of_0_is_not_said_to_be_exceeded() {
    for rule in ["quota.enforced", "quota.not-exceeded"] {
        assert_eq!(TraceBuilder::new().window(50).lists(0, &[(200, 0), (200, 0)]).failures_of(rule), NONE);
    }
}

#[test]
fn a_request_after_the_last_gets_429_and_the_last_itself_may_fail() {
    let failing = |answers: &[(u16, u64)]| TraceBuilder::new().lists(60, answers).failures_of("quota.enforced");
    assert_eq!(failing(&[(200, 1), (500, 0), (500, 0)]), NONE, "the last may be given back");
    assert_eq!(failing(&[(200, 1), (200, 0), (503, 0)]), [[3, 2]]);
    assert_eq!(failing(&[(200, 1), (200, 0), (200, 0)]), NONE, "that more is admitted is another matter");
}

#[test]
fn a_creation_that_must_be_refused_gets_429_as_well_while_nothing_remains() {
    let refused = |body: &str, status| {
        let full = TraceBuilder::new().window(50).lists(2, &[(200, 1), (200, 0), (429, 0)]);
        let creation = Request::new("POST", "/pets").json(body);
        full.ask(creation, status, String::new()).with_rate_limit(0, 2).failures_of("quota.enforced")
    };
    assert_eq!(refused("{", 400), [[4, 3]]);
    assert_eq!(refused(r#"{"name":"Rex"}"#, 400), [[4, 3]]);
    assert_eq!(refused("{", 429), NONE);
    assert_eq!(refused(r#"{"name":"","categoryId":1}"#, 400), NONE, "it may be accepted or refused");
}

#[test]
fn a_reset_that_is_stuck_is_not_taken_for_a_window_that_admits_more() {
    let stuck = || TraceBuilder::new().lists(2, &[(200, 1), (200, 0)]).wait(64).lists(2, &[(200, 1), (200, 0)]);
    assert_eq!(stuck().failures_of("quota.not-exceeded"), NONE);
    assert_eq!(stuck().failures_of("headers.reset-time"), [[3], [4]]);
}

#[test]
fn a_remaining_that_rises_is_not_said_to_stay() {
    let rising = || TraceBuilder::new().lists(60, &[(200, 9), (200, 8), (200, 9)]);
    assert_eq!(rising().failures_of("quota.every-operation"), NONE);
    assert_eq!(rising().failures_of("headers.remaining-never-rises"), [[3, 2]]);
    let flat = TraceBuilder::new().lists(60, &[(200, 9), (200, 8), (200, 8)]);
    assert_eq!(flat.failures_of("quota.every-operation"), [[3, 2]]);
}

#[test]
fn a_429_between_two_answers_that_promise_more_is_early_whatever_its_headers() {
    let refused = TraceBuilder::new().list(200, 54, 60).wait(2).ask(Request::new("GET", "/pets"), 429, String::new());
    assert_eq!(refused.list(200, 53, 60).failures_of("quota.not-early"), [[2, 1, 3]]);
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
