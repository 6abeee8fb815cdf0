use jiff::SignedDuration;

use super::*;
use crate::catalogue::plan::PLANS;
use crate::catalogue::plan::PlanLimits;
use crate::history::History;
use crate::limits::Limiter;
use crate::tests::TraceBuilder;
use crate::trace::exchange::Request;

/// The best way of counting, and the kinds of what it does not explain.
fn explained(builder: TraceBuilder) -> (Hypothesis, Vec<Kind>) {
    let trace = builder.trace();
    let history = History::new(&trace);
    let limiter = Limiter::new(&history);
    let explanation = limiter.keys()[0].explanation();
    let mut kinds: Vec<Kind> = explanation.findings.iter().map(|finding| finding.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (explanation.hypothesis, kinds)
}

/// A limiter of ten requests per minute, whose answers to lists at these seconds after 12:00:30 a count and a Reset describe. The clock of
/// the count is that of the trace, in milliseconds.
fn limiter(seconds: &[i64], mut count: impl FnMut(i64) -> (u16, u64, i64)) -> TraceBuilder {
    let mut builder = TraceBuilder::at("2026-06-01T12:00:30Z");
    builder = builder.plan(Some(PlanLimits { per_minute: LIMIT, per_day: 1_000 }));
    let mut now = 0;
    for (at, second) in seconds.iter().enumerate() {
        let next = second * 1_000 + 20 * i64::try_from(at).expect("few");
        builder = builder.wait_millis(next - now);
        let (status, remaining, reset) = count(next);
        builder = builder.window(reset - next.div_euclid(1_000)).list(status, remaining, LIMIT);
        if status == 429 {
            builder = builder.retry_after(&(reset - next.div_euclid(1_000)).max(1).to_string());
        }
        now = next + 10;
    }
    builder
}

const LIMIT: u64 = 10;

/// Requests that fill a window, and those of the next one.
const TWO_WINDOWS: [i64; 16] = [0, 0, 0, 1, 1, 2, 3, 5, 8, 8, 8, 34, 34, 35, 36, 40];

/// Counts in windows that end at these seconds, after which `rest` of the count is left.
fn windows(mut end: i64, rest: impl Fn(u64) -> u64) -> impl FnMut(i64) -> (u16, u64, i64) {
    let mut used = 0;
    move |now| {
        while now >= end * 1_000 {
            (end, used) = (end + 60, rest(used));
        }
        if used == LIMIT {
            return (429, 0, end);
        }
        used += 1;
        (200, LIMIT - used, end)
    }
}

#[test]
fn a_window_that_begins_with_half_of_the_last_one_is_used_by_other_clients_or_by_nobody() {
    let keeps_half = || limiter(&TWO_WINDOWS, windows(30, |used| used / 2));
    let (hypothesis, kinds) = explained(keeps_half());
    assert_eq!((hypothesis.has_others(), kinds), (true, vec![]));
    let undecided = keeps_half().main_key(|key| key.explained_by_others().iter().map(|of| of.kind).collect::<Vec<_>>());
    assert_eq!(undecided, [Kind::Excess]);
    let mut trace = keeps_half().trace();
    trace.context.exclusive_key = true;
    let history = History::new(&trace);
    let limiter = Limiter::new(&history);
    let explanation = limiter.keys()[0].explanation();
    assert_eq!(explanation.findings.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [Kind::Excess]);
}

#[test]
fn the_reset_of_the_first_refusal_is_the_end_of_its_window() {
    for (moved, expected) in [(0, vec![]), (-60, vec![Kind::ResetOff]), (-3_600, vec![Kind::ResetOff])] {
        let mut count = windows(30, |_| 0);
        let moved = limiter(&TWO_WINDOWS, |now| {
            let (status, remaining, reset) = count(now);
            (status, remaining, if status == 429 { reset + moved } else { reset })
        });
        assert_eq!(explained(moved).1, expected);
    }
}

#[test]
fn windows_on_the_clock_are_the_first_explanation_of_what_they_explain() {
    let (best, kinds) = explained(limiter(&TWO_WINDOWS, windows(30, |_| 0)));
    assert_eq!((best.cut, best.written, best.others, kinds), (Cut::Clock, Written::After, Others::Nobody, vec![]));
    assert_eq!(
        best.to_string(),
        "10 per minute and 1000 per day, in windows at fixed times; counted before the headers are written; failures count"
    );
}

#[test]
fn a_log_of_the_last_minute_is_recognised_by_its_resets() {
    let seconds: Vec<i64> = (0..12).map(|at| at * 13).collect();
    for (is_drain, cut) in [(false, Cut::Log), (true, Cut::Drain)] {
        let mut log: Vec<i64> = Vec::new();
        let (best, kinds) = explained(limiter(&seconds, |now| {
            log.retain(|at| now - at < 60_000);
            log.push(now);
            let of = if is_drain { log[log.len() - 1] } else { log[0] };
            (200, LIMIT - log.len() as u64, (of + 60_000).div_euclid(1_000))
        }));
        assert_eq!((best.cut, kinds), (cut, vec![]));
    }
}

#[test]
fn a_log_may_keep_its_requests_in_slots_and_each_for_the_minute_of_its_slot() {
    let seconds: Vec<i64> = (0..16).map(|at| at * 13).collect();
    // The length of a slot in seconds, and the begin of the first one in milliseconds.
    for (slot, first, is_drain) in [
        (5, 0, false),
        (10, 0, true),
        (15, 0, false),
        (30, 0, false),
        (7, 0, false),
        (10, 3_000, true),
        (10, 3_400, false),
    ] {
        let slots = |kept: i64, rounded: i64| {
            let mut log: Vec<i64> = Vec::new();
            explained(limiter(&seconds, |now| {
                log.retain(|at| now - at < kept);
                log.push(now - (now - first).rem_euclid(slot * 1_000));
                let of = if is_drain { log[log.len() - 1] } else { log[0] };
                // Rounded up, and for some requests once more.
                let more = if now.rem_euclid(7) < 3 { rounded } else { 0 };
                (200, LIMIT - log.len() as u64, (of + 60_999).div_euclid(1_000) + more)
            }))
        };
        for rounded in [0, 1] {
            let (best, kinds) = slots(60_000, rounded);
            assert_eq!((best.slot, kinds), (slot, vec![]), "{slot}, {rounded}");
            assert!(best.to_string().contains(&format!("in slots of {slot} s")), "{best}");
        }
        assert_ne!(slots(20_000, 0).1, vec![], "{slot}: a request counts for a minute");
    }
}

#[test]
fn a_request_that_a_log_deals_with_late_finds_the_room_that_there_is_then() {
    let seconds = [0, 1, 2, 4, 7, 11, 16, 22, 29, 50, 66, 68, 72, 75];
    let mut log: Vec<i64> = Vec::new();
    let requests = limiter(&seconds, |now| {
        log.retain(|at| now - at < 60_000);
        log.push(now);
        (200, LIMIT - log.len() as u64, (log[0] + 60_000).div_euclid(1_000))
    });
    // The eleventh request was sent before the tenth, which took the last place.
    let late = requests.change_each(|exchange| {
        if exchange.number == 11 {
            exchange.sent_at -= SignedDuration::from_millis(16_100);
        }
    });
    let (best, kinds) = explained(late);
    assert_eq!((best.cut, kinds), (Cut::Log, vec![]));
}

#[test]
fn a_log_may_have_requests_from_before_the_run_that_drop_out_one_by_one() {
    let seconds: Vec<i64> = (0..14).map(|at| at * 3).collect();
    let log_of = |before: i64, counts_one_in: usize| {
        let mut log: Vec<i64> = (1..=before).rev().map(|at| at * -8_000).collect();
        let mut asked = 0_usize;
        explained(limiter(&seconds, |now| {
            log.retain(|at| now - at < 60_000);
            let reset = (log.first().unwrap_or(&now) + 60_000).div_euclid(1_000);
            if log.len() as u64 >= LIMIT {
                return (429, 0, reset);
            }
            asked += 1;
            if asked.is_multiple_of(counts_one_in) {
                log.push(now);
            }
            (200, LIMIT - log.len() as u64, reset)
        }))
    };
    for before in [3, 7] {
        let (best, kinds) = log_of(before, 1);
        assert_eq!((best.cut, best.others, kinds), (Cut::Log, Others::Nobody, vec![]), "{before}");
    }
    assert_ne!(log_of(3, 2).1, vec![], "each request counts");
}

#[test]
fn a_counter_that_slides_may_announce_its_next_restoration() {
    // The last window has ten; each six seconds one of them is restored.
    let slides = |end: i64, kept: u64| {
        let (mut used, end_millis) = (0, end * 1_000);
        let seconds: Vec<i64> = (0..10).map(|_| 0).chain([6, 12, 24, 36].map(|after| end + after)).collect();
        explained(limiter(&seconds, |now| {
            used += 1;
            if now < end_millis {
                return (200, LIMIT - used, end);
            }
            let into = now - end_millis;
            let weight = kept * (60_000 - into) as u64 / 60_000;
            (200, LIMIT.saturating_sub(weight + used - 10), (end_millis + (into / 6_000 + 1) * 6_000).div_euclid(1_000))
        }))
    };
    for (end, on_clock) in [(30, true), (47, false)] {
        let (best, kinds) = slides(end, 10);
        assert_eq!((best.cut, kinds), (Cut::WeightedNext { on_clock }, vec![]), "{end}");
        assert_ne!(slides(end, 2).1, vec![], "{end}: the last window counts");
    }
}

#[test]
fn a_log_of_the_last_day_may_report_when_its_newest_request_ends() {
    let free = PLANS.iter().find(|(_, limits)| limits.per_minute == 60).map(|(_, limits)| *limits);
    // The number of yesterday's requests, the seconds between two of them, and the requests of the run that are not counted.
    let drains = |before: i64, gap: i64, uncounted: i64, ahead: i64| {
        let mut builder = TraceBuilder::new().plan(free);
        for own in 1..=50_i64 {
            let now = own * 5;
            let yesterday = (before - (now / gap)).max(0);
            let used = yesterday + own - if own > 20 { uncounted } else { 0 };
            let millis = if own % 10 == 0 { 3_000 } else { 0 };
            builder = builder.wait(5).window(86_400 + ahead * millis / 3_000).list(200, (1_000 - used) as u64, 1_000);
        }
        explained(builder)
    };
    for (before, gap) in [(0, 1), (20, 5), (30, 1), (200, 2)] {
        let (best, kinds) = drains(before, gap, 0, 0);
        assert_eq!((best.day_drains, kinds), (true, vec![]), "{before} {gap}");
        assert!(best.to_string().contains("a log of the last day"), "{best}");
    }
    assert_ne!(drains(0, 1, 3, 0).1, vec![], "a request that is not counted");
    assert_ne!(drains(0, 1, 0, -30).1, vec![], "a Reset before the end of the newest request");
}

#[test]
fn a_log_of_the_last_day_may_restore_the_requests_of_yesterday_one_by_one() {
    let free = PLANS.iter().find(|(_, limits)| limits.per_minute == 60).map(|(_, limits)| *limits);
    // The number of yesterday's requests, the seconds between two of them, and the seconds between two requests of the run.
    for (before, gap, step) in [(60, 3, 2), (300, 1, 1), (60, 20, 5), (300, 7, 7), (40, 3, 1)] {
        let mut builder = TraceBuilder::new().plan(free);
        for own in 1..=50_i64 {
            let now: i64 = own * step;
            let restored = ((now - 10).div_euclid(gap) + 1).clamp(0, before);
            let used = before - restored + own;
            let oldest = if restored < before { 10 + restored * gap } else { 86_400 + step };
            builder = builder.wait(step).window(oldest - now).list(200, (1_000 - used) as u64, 1_000);
        }
        assert_eq!(builder.failures_of("headers.reset-time"), [[0; 0]; 0], "{before} {gap} {step}");
    }
}

#[test]
fn the_distance_of_a_reset_shows_a_day_whose_figure_is_that_of_the_minute() {
    for per_minute in [7, 70] {
        let first = TraceBuilder::new().plan(Some(PlanLimits { per_minute, per_day: 70 })).window(3_600);
        let restored = first.list(200, 50, 70).wait(3_610).window(3_600).list(200, 51, 70);
        assert_eq!(restored.failures_of("headers.reset-time"), [[0; 0]; 0], "{per_minute} per minute");
    }
}

/// A window is used up, and the key is refused again after each of four whole waits. Each admitted request uses this many.
fn refused_after_each_wait(each: u64) -> TraceBuilder {
    let admitted = usize::try_from(LIMIT / each).expect("few");
    let seconds: Vec<i64> = std::iter::repeat_n(1, admitted).chain([2, 35, 95, 155, 215]).collect();
    let mut used = 0;
    limiter(&seconds, |now| {
        let end = (now / 1_000 + 30) / 60 * 60 + 30;
        if now < 2_000 {
            used += each;
            (200, LIMIT - used, end)
        } else {
            (429, 0, end)
        }
    })
}

#[test]
fn refusals_after_whole_waits_are_due_to_other_clients_only_if_admitted_requests_show_some() {
    let (best, kinds) = explained(refused_after_each_wait(1));
    assert!(kinds.contains(&Kind::StillLimited), "{best} {kinds:?}");
    let (best, kinds) = explained(refused_after_each_wait(2));
    assert!(best.has_others() && !kinds.contains(&Kind::StillLimited), "{best} {kinds:?}");
    assert_eq!(refused_after_each_wait(2).failures_of("quota.recovers"), [[0; 0]; 0]);
}

#[test]
fn a_log_whose_reset_is_that_of_its_newest_request_is_shown_by_a_chain_of_them() {
    // Lists 16 s apart, each a minute before the Reset that it reports; of a limit of 20.
    let drains = |used: &[u64]| {
        let lists = used.iter().fold(TraceBuilder::new(), |b, used| b.wait(16).window(60).list(200, 20 - used, 20));
        lists.main_key(|key| {
            let explanation = key.explanation();
            (explanation.hypothesis.cut == Cut::Drain, explanation.may_be_draining())
        })
    };
    let log = [1, 2, 3, 4, 4, 4, 4, 4, 4];
    assert_eq!(drains(&log), (true, false));
    assert_eq!(drains(&log[..7]), (true, true), "no longer than a minute");
    assert!(!drains(&[1, 2, 3, 4, 1, 2, 3, 4, 1]).1, "a window that begins anew");
}

#[test]
fn what_opens_no_window_reports_the_end_of_the_one_that_runs() {
    let missing = |ahead| {
        let lists = TraceBuilder::at("2026-06-01T12:00:30Z").window(50).lists(60, &[(200, 59), (200, 58), (200, 57)]);
        lists.wait(20).window(ahead).list(404, 56, 60).window(30).lists(60, &[(200, 56), (200, 55)])
    };
    assert_eq!(explained(missing(30)).1, []);
    assert!(!explained(missing(0)).1.is_empty());
}

#[test]
fn of_two_clocks_each_date_is_right_by_one() {
    let dated = |ahead: i64| {
        let first = TraceBuilder::at("2026-06-01T12:00:30Z").window(30).lists(60, &[(200, 59), (200, 58)]);
        let other = first.wait(2).list(503, 0, 60).without_rate_limit().dated(6 * 3_600);
        other.wait(27).window(ahead).lists(60, &[(200, 57), (200, 56)])
    };
    assert_eq!(explained(dated(1)).1, []);
    assert!(!explained(dated(-20)).1.is_empty());
}

#[test]
fn others_whose_requests_drop_out_of_a_log_are_no_reset_that_moves() {
    let at = |builder: TraceBuilder, millis: i64, ahead: i64, remaining: u64| {
        builder.wait_millis(millis).window(ahead).list(200, remaining, 60).slow(1)
    };
    let first = at(TraceBuilder::at("2026-06-01T12:00:00Z"), 1_180, 59, 59);
    let log = at(at(first, 4_100, 55, 54), 55_900, 3, 40);
    assert_eq!(explained(log).1, []);
}

#[test]
fn the_count_of_a_day_is_not_that_of_a_minute_that_slides() {
    let (per_minute, per_day) = (10, 25);
    let mut builder = TraceBuilder::at("2026-06-01T12:00:00Z").plan(Some(PlanLimits { per_minute, per_day }));
    // The number of requests in each minute of the clock.
    let mut minutes = [0; 5];
    let (mut now, mut days_shown) = (0, 0);
    let first = [0, 1, 2, 3, 4, 5, 6, 7];
    for second in
        first.into_iter().chain([75, 90, 110, 118, 130, 140, 150, 160, 170, 178, 190, 200, 210, 220, 230, 238])
    {
        let (minute, into) = (second as usize / 60, second % 60);
        minutes[minute] += 1;
        let before = if minute == 0 { 0 } else { minutes[minute - 1] };
        let used = minutes[minute] + before * (60 - into as u64) / 60;
        let used_today: u64 = minutes.iter().sum();
        assert!(used <= per_minute && used_today <= per_day, "a lawful server admits no more");
        let is_day = per_day - used_today < per_minute - used;
        let (remaining, limit, end) = if is_day {
            (per_day - used_today, per_day, 12 * 3_600)
        } else {
            (per_minute - used, per_minute, (minute as i64 + 1) * 60)
        };
        days_shown += u64::from(is_day);
        builder = builder.wait_millis(second * 1_000 - now).window(end - second).list(200, remaining, limit);
        now = second * 1_000 + 10;
    }
    assert!(days_shown > 2, "{days_shown} responses show the day");
    let (best, kinds) = explained(builder);
    assert_eq!((best.cut, kinds), (Cut::Weighted, vec![]), "{best}");
}

/// The explanation of a key that nobody else uses, with 60 requests per minute: ten rounds in a minute in which every request is known.
/// A round adds to a trace, and takes from Remaining what it uses.
fn of_rounds(mut round: impl FnMut(TraceBuilder, &mut u64) -> TraceBuilder) -> (Cut, Failures, Vec<Kind>) {
    let mut builder = TraceBuilder::new().plan(Some(PlanLimits { per_minute: 60, per_day: 1_000 }));
    builder = builder.change_context(|context| context.exclusive_key = true).window(60).list(200, 59, 60);
    builder = builder.wait(121).window(59).list(200, 59, 60);
    let mut remaining = 59;
    for _ in 0..10 {
        builder = round(builder, &mut remaining);
    }
    let (best, kinds) = explained(builder);
    (best.cut, best.failures, kinds)
}

/// Adds a request that takes this number from Remaining.
fn uses(builder: TraceBuilder, request: Request, status: u16, cost: u64, remaining: &mut u64) -> TraceBuilder {
    *remaining -= cost;
    builder.ask(request, status, String::new()).with_rate_limit(*remaining, 60)
}

fn malformed_body(builder: TraceBuilder, status: u16, remaining: u64) -> TraceBuilder {
    let request = Request::new("POST", "/pets").json("{");
    builder.ask(request, status, String::new()).with_rate_limit(remaining, 60)
}

#[test]
fn a_server_may_spare_malformed_requests_and_count_another_refusal() {
    let of_orders = |status, cost| {
        of_rounds(|builder, remaining| {
            let builder = malformed_body(malformed_body(builder, 400, *remaining), 400, *remaining);
            let builder = uses(builder, Request::new("GET", "/store/orders"), status, cost, remaining);
            *remaining -= 1;
            builder.list(200, *remaining, 60)
        })
    };
    for status in [402, 403, 413, 501] {
        let lawful = (Cut::Clock, Failures::Free(Failed::ANY), vec![]);
        assert_eq!(of_orders(status, 1), lawful, "{status} counts");
        assert_eq!(of_orders(status, 0).2, [], "{status} does not count");
    }
    assert_ne!(of_orders(200, 0).2, [], "a success counts");
}

#[test]
fn a_server_may_spare_malformed_bodies_and_count_malformed_queries() {
    let of_list = |cost| {
        of_rounds(|builder, remaining| {
            let builder = malformed_body(builder, 400, *remaining);
            let builder = uses(builder, Request::new("GET", "/pets").query("limit=0"), 400, 1, remaining);
            *remaining -= cost;
            builder.list(200, *remaining, 60)
        })
    };
    assert_eq!(of_list(1), (Cut::Clock, Failures::Free(Failed::MALFORMED_BODY), vec![]));
    assert_ne!(of_list(3).2, [], "a success counts once");
}

#[test]
fn a_server_may_spare_one_status_of_malformed_requests_and_count_another() {
    let of_creations = |spared, counted, cost| {
        of_rounds(|builder, remaining| {
            let builder = malformed_body(builder, spared, *remaining);
            *remaining -= 1;
            let builder = malformed_body(builder, counted, *remaining);
            *remaining -= cost;
            builder.list(200, *remaining, 60)
        })
    };
    let (cut, failures, kinds) = of_creations(400, 422, 1);
    assert_eq!((cut, kinds), (Cut::Clock, vec![]));
    assert!(matches!(failures, Failures::Free(which) if which.to_string() == "requests with 400"), "{failures:?}");
    assert_eq!(of_creations(422, 400, 1).2, []);
    assert_ne!(of_creations(400, 422, 3).2, [], "a success counts once");
}

#[test]
fn a_server_may_spare_malformed_bodies_and_count_a_pet_that_it_refuses() {
    let of_pets = |cost| {
        of_rounds(|builder, remaining| {
            let builder = malformed_body(builder, 422, *remaining);
            *remaining -= cost;
            let builder = builder.refused_create(422).with_rate_limit(*remaining, 60);
            *remaining -= 1;
            builder.list(200, *remaining, 60)
        })
    };
    assert_eq!([of_pets(0).2, of_pets(1).2], [[], []]);
    assert_ne!(of_pets(3).2, [], "a request counts once");
}

#[test]
fn a_spared_request_may_count_for_others_until_it_has_been_dealt_with() {
    let beside = |counted_meanwhile| {
        let mut number = 2;
        of_rounds(|builder, remaining| {
            let builder = malformed_body(builder, 400, *remaining);
            *remaining -= 1;
            let builder = malformed_body(builder, 400, *remaining).list(200, *remaining - counted_meanwhile, 60);
            number += 3;
            builder.together(number - 1..=number)
        })
    };
    assert_eq!(beside(0), (Cut::Clock, Failures::Free(Failed::ANY), vec![]));
    assert_eq!(beside(1), (Cut::Clock, Failures::Free(Failed::ANY), vec![]));
}

/// A row of a history: the milliseconds at which a request was sent and its response complete, the status code, Remaining, and the second of
/// Reset. A list, or the fetch of an animal that does not exist.
type Row = (i64, i64, u16, u64, i64);

/// A history that begins so many milliseconds after noon, from which the seconds of its Resets count.
fn history(after_noon: i64, limit: u64, rows: &[Row]) -> TraceBuilder {
    let (mut builder, mut now) = (TraceBuilder::at("2026-06-01T12:00:00Z"), 0);
    for &(sent, received, status, remaining, reset) in rows {
        let begin = after_noon + sent;
        builder =
            builder.wait_millis(begin - now).window(reset + after_noon.div_euclid(1_000) - begin.div_euclid(1_000));
        builder = match status {
            404 => builder.get(7, None).with_rate_limit(remaining, limit),
            _ => builder.list(status, remaining, limit),
        };
        builder = builder.change_last(|exchange| {
            exchange.received_at = exchange.sent_at + SignedDuration::from_millis(received - sent);
        });
        now = begin + 10;
    }
    builder
}

#[test]
fn a_reset_may_be_rounded_in_either_direction_from_one_response_to_the_next() {
    let rows = [
        (0, 405, 200, 1, 43),
        (570, 975, 200, 0, 43),
        (1_140, 1_545, 429, 0, 42),
        (44_061, 44_466, 200, 3, 104),
        (44_466, 44_871, 200, 2, 104),
        (44_871, 45_276, 200, 1, 105),
        (45_276, 45_681, 200, 0, 104),
    ];
    let (best, kinds) = explained(history(42_450, 4, &rows));
    assert_eq!((best.cut, kinds), (Cut::First, vec![]));
}

#[test]
fn a_failure_that_takes_no_place_may_be_dealt_with_before_the_requests_beside_it() {
    let beside = |status| {
        let first = [(0, 5, 200, 3, 20), (10, 15, 404, 3, 20), (20, 25, 200, 2, 20)];
        let at_once = [(900, 910, 200, 1, 20), (900, 910, 200, 0, 20), (900, 1_500, status, 0, 20)];
        explained(history(40_000, 4, &[&first[..], &at_once].concat())).1
    };
    assert_eq!((beside(404), beside(200)), (vec![], vec![Kind::OverAdmitted]));
}

#[test]
fn others_may_use_as_much_of_a_window_as_of_the_one_before() {
    let rows = [
        (0, 5, 200, 4, 60),
        (63_006, 63_011, 200, 4, 120),
        (63_006, 63_011, 200, 3, 120),
        (63_006, 63_022, 200, 2, 120),
        (143_005, 143_010, 200, 1, 180),
        (143_005, 143_010, 200, 0, 180),
    ];
    let (best, kinds) = explained(history(0, 5, &rows));
    assert_eq!((best.has_others(), kinds), (true, vec![]));
}

#[test]
fn others_may_open_a_window_whose_count_shows_them() {
    let rows = [
        (0, 10, 200, 3, 61),
        (10, 15, 200, 2, 61),
        (15, 20, 404, 2, 61),
        (20, 25, 200, 1, 61),
        (94_992, 94_997, 200, 0, 124),
        (94_992, 94_997, 200, 0, 124),
    ];
    let (best, kinds) = explained(history(900, 4, &rows));
    assert_eq!((best.cut, best.others, kinds), (Cut::First, Others::Shown, vec![]));
}

#[test]
fn a_ban_that_began_in_the_window_before_may_last_into_one_with_room() {
    let banned = [
        (0, 10, 200, 1, 33),
        (100, 110, 200, 0, 33),
        (200, 210, 429, 0, 33),
        (300, 310, 429, 0, 33),
        (38_000, 38_010, 429, 0, 44),
        (42_000, 42_010, 429, 0, 44),
        (44_500, 44_510, 200, 1, 93),
    ];
    assert_eq!(explained(history(27_000, 2, &banned)).1, []);
    let again = [(50_000, 50_010, 429, 1, 93), (50_100, 50_110, 429, 1, 93), (60_000, 60_010, 200, 0, 93)];
    let (_, kinds) = explained(history(27_000, 2, &[&banned[..], &again].concat()));
    assert_eq!(kinds, [Kind::Early], "after a request was admitted");
}

#[test]
fn refusals_that_count_may_weigh_more_than_the_limit_in_the_minute_that_follows() {
    let seconds = [(0, 5), (685, 4), (1_370, 3), (2_060, 2), (2_752, 1), (3_437, 0)];
    let mut rows: Vec<Row> = seconds.iter().map(|(sent, remaining)| (*sent, sent + 8, 200, *remaining, 57)).collect();
    rows.extend([4_127, 4_820, 5_510].map(|sent| (sent, sent + 15, 429, 0, 57)));
    let later = [(82_952, 1), (87_395, 0), (91_838, 0), (96_281, 0)];
    rows.extend(later.map(|(sent, remaining)| (sent, sent + 5, 200, remaining, 117)));
    let (best, kinds) = explained(history(3_696, 6, &rows));
    assert_eq!((best.cut, best.counts_refusals, kinds), (Cut::Weighted, true, vec![]));
}

/// A row of the worked trace: the seconds after noon, the status code, Remaining, and the seconds from noon to the Reset.
type WorkedRow = (i64, u16, u64, i64);

fn worked_rows() -> Vec<WorkedRow> {
    let seconds = |time: &str| {
        let parts: Vec<i64> = time.split(':').map(|part| part.parse().expect("a number")).collect();
        (parts[0] - 12) * 3_600 + parts[1] * 60 + parts[2]
    };
    let mut rows = Vec::new();
    for line in WORKED_TRACE.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, number, time, status, remaining, reset, ..] = cells[..]
            && number.parse::<u8>().is_ok()
        {
            let [status, remaining] = [status, remaining].map(|cell| cell.parse::<u64>().expect("a number"));
            rows.push((seconds(time), status as u16, remaining, seconds(reset)));
        }
    }
    rows
}

/// The explanation of the worked trace with these further responses.
fn worked(further: &[WorkedRow], is_key_exclusive: bool) -> (Hypothesis, Vec<Kind>) {
    let mut builder = TraceBuilder::new().plan(Some(PlanLimits { per_minute: 5, per_day: 1_000 }));
    builder = builder.change_context(|context| context.exclusive_key = is_key_exclusive);
    let mut now = 0;
    for (second, status, remaining, reset) in worked_rows().into_iter().chain(further.iter().copied()) {
        builder = builder.wait_millis(second * 1_000 - now).window(reset - second);
        builder = match status {
            404 => builder.get(7, None).with_rate_limit(remaining, 5),
            _ => builder.list(status, remaining, 5),
        };
        now = second * 1_000 + 10;
    }
    explained(builder)
}

#[test]
fn the_worked_trace_is_lawful_and_a_ninth_response_is_explained_as_its_text_says() {
    let given_back = Failures::GivenBack(Failed::ANY);
    let (best, kinds) = worked(&[], false);
    assert_eq!((best.cut, best.failures, best.others, kinds), (Cut::Clock, given_back, Others::Nobody, vec![]));
    let eighth = worked_rows()[7];
    // The status code and Remaining, and the explanation with other clients and without.
    for (status, remaining, others, shared, exclusive) in [
        (200, 3, Others::Nobody, &[][..], &[][..]),
        (200, 4, Others::Nobody, &[Kind::NotCounted], &[Kind::NotCounted]),
        (200, 1, Others::Shown, &[], &[Kind::Excess]),
        (429, 3, Others::Nobody, &[Kind::Early], &[Kind::Early]),
        (429, 0, Others::Unseen, &[], &[Kind::Early]),
    ] {
        let ninth = (eighth.0 + 1, status, remaining, eighth.3);
        let (best, kinds) = worked(&[ninth], false);
        assert_eq!((best.failures, best.others, &kinds[..]), (given_back, others, shared), "{status} {remaining}");
        assert_eq!(worked(&[ninth], true).1, exclusive, "{status} {remaining}, and nobody else");
    }
}
