//! Several counters where there should be one: one for each process, or one for each route.

use std::collections::BTreeMap;

use animal_store_rules::history::Entry;
use animal_store_rules::limits::{Answer, KeyLimits, Others, one_after_another};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::verdict::attribution::BROKEN_BY_COUNTERS;

use super::{Broken, Cause};

/// The number of answers that make a series, and of steps out of order that show more than one counter.
const SEVERAL: usize = 3;

/// The maximum fall of Remaining between two answers of one counter: other requests may have been counted between them.
const MAX_STEP: u64 = 4;

/// A function that returns the group to which a request belongs.
type Group = fn(&Entry<'_>) -> String;

/// The cause where the Remaining of a key interleaves several series, each of which falls.
pub(super) fn several(broken: &Broken<'_, '_>) -> Option<Cause> {
    let explained = broken.explained(&BROKEN_BY_COUNTERS, |_| true);
    if explained.is_empty() {
        return None;
    }
    broken.facts.limiter.keys().iter().find_map(|key| {
        // Sliding ways of counting raise Remaining lawfully.
        if !key.explanation().hypothesis.cut.is_fixed() {
            return None;
        }
        let answers = in_order(key);
        let disorder: Vec<[&Answer<'_>; 2]> =
            answers.windows(2).map(|pair| [&pair[0], &pair[1]]).filter(|pair| is_disorder(*pair)).collect();
        let groups: [(&str, &str, Group); 3] = [
            ("method", "method", |entry| entry.exchange.request.method.clone()),
            ("operation", "route", |entry| entry.operation.name().to_owned()),
            ("URL", "URL", |entry| entry.exchange.request.target()),
        ];
        let sentence = match groups
            .into_iter()
            .find(|(.., of)| !disorder.is_empty() && is_counted_each(key, &answers, &disorder, *of))
        {
            Some((each, counted, _)) => {
                format!("Remaining falls in several separate series, one for each {each}: does each {counted} have its own counter?")
            }
            None => {
                let count = series(&answers).filter(|_| disorder.len() >= SEVERAL && is_by_chance(&disorder))?;
                format!("Remaining falls in {count} separate series: does each process have its own counter?")
            }
        };
        let shown = disorder.iter().take(2).flatten().map(|answer| answer.entry);
        Cause::shown_by("several-counters", sentence, explained.clone(), shown)
    })
}

/// The cause where the requests of one operation lower Remaining never, and all others always.
pub(super) fn not_counted(broken: &Broken<'_, '_>) -> Option<Cause> {
    let explained = broken.explained(&["headers.remaining-falls", "quota.every-operation"], |_| true);
    broken.facts.limiter.keys().iter().find_map(|key| {
        let answers = in_order(key);
        // For each operation, the numbers of requests that have lowered Remaining and of those that have not.
        let mut falls: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for pair in answers.windows(2).filter(|pair| pair[0].window.is_same(pair[1].window)) {
            let is_lower = pair[1].window.remaining < pair[0].window.remaining;
            falls.entry(pair[1].entry.operation.name()).or_default()[usize::from(!is_lower)] += 1;
        }
        let mut free = falls.iter().filter(|(_, [lowered, _])| *lowered == 0);
        let (operation, [_, count]) = free.next().filter(|_| free.next().is_none())?;
        let is_certain = *count >= 2 && falls.len() >= 2;
        let are_counted = falls.iter().all(|(other, [_, unchanged])| other == operation || *unchanged == 0);
        let shown = answers.iter().map(|answer| answer.entry).filter(|entry| entry.operation.name() == *operation);
        let sentence = format!("{operation} is not counted: none of {count} requests lowered Remaining");
        Cause::shown_by("operation-not-counted", sentence, explained.clone(), shown)
            .filter(|_| is_certain && are_counted)
    })
}

/// The cause where replicas count the requests of a key for themselves.
pub(super) fn of_replicas(broken: &Broken<'_, '_>) -> Option<Cause> {
    let fleet = broken.fleet?;
    let apart = fleet.counting_apart();
    let addresses: Vec<&str> = broken.facts.history.context.addresses().collect();
    let subject = match apart[..] {
        [] => return None,
        _ if !fleet.shares_a_counter() => "each replica".to_owned(),
        [one] => format!("the replica {}", addresses[one]),
        _ => format!("each of {} replicas", apart.len()),
    };
    let sentence = format!("{subject} counts the requests of a key separately, and admits the whole limit");
    broken.between_replicas("counter-per-replica", sentence, &BROKEN_BY_COUNTERS)
}

/// The successes of a key, each complete before the next was sent.
pub(super) fn in_order<'h>(key: &KeyLimits<'h>) -> Vec<Answer<'h>> {
    one_after_another(key.answers().iter().filter(|answer| answer.entry.succeeded()))
}

/// Returns true if the second answer, of the same window, reports no less than the first.
fn is_disorder([before, after]: [&Answer<'_>; 2]) -> bool {
    let is_over = after.entry.answered_at().as_second() >= before.window.reset - Tolerance::CLOCK_SLACK.seconds();
    before.window.limit == after.window.limit && !is_over && after.window.remaining >= before.window.remaining
}

/// Returns true if Remaining is out of order on more than one operation, or rises. Where one operation costs nothing, it does
/// neither.
fn is_by_chance(disorder: &[[&Answer<'_>; 2]]) -> bool {
    let first = disorder.first().map(|[_, after]| after.entry.operation.name());
    let varies = disorder.iter().any(|[_, after]| Some(after.entry.operation.name()) != first);
    let rises = disorder.iter().filter(|[before, after]| after.window.remaining > before.window.remaining).count();
    varies || rises >= 2
}

/// Returns true if a way of counting explains each group of requests by itself, and several of them without other clients; or if
/// Remaining falls within the groups, and not between them, as where each has a bucket that is refilled.
fn is_counted_each(key: &KeyLimits<'_>, answers: &[Answer<'_>], disorder: &[[&Answer<'_>; 2]], group: Group) -> bool {
    let mut groups: BTreeMap<String, Vec<&Answer<'_>>> = BTreeMap::new();
    for answer in answers {
        groups.entry(group(answer.entry)).or_default().push(answer);
    }
    let mut alone = 0;
    let is_explained = groups.iter().all(|(of_one, answers)| {
        let explanation = key.explanation_of(|entry| group(entry) == *of_one);
        alone += usize::from(answers.len() >= SEVERAL && explanation.hypothesis.others == Others::Nobody);
        explanation.findings.is_empty()
    });
    groups.retain(|_, answers| answers.len() >= SEVERAL);
    let steps = || groups.values().flat_map(|answers| answers.windows(2)).map(|pair| [pair[0], pair[1]]);
    let is_sorted = groups.len() >= 2 && disorder.len() >= SEVERAL && !steps().any(is_disorder);
    is_explained && alone >= 2 || is_sorted
}

/// The number of series that run at once, if nearly every answer belongs to one. Each series falls by small steps within one
/// window: 59, 30, 58, 29, 57, 28 are two series.
fn series(answers: &[Answer<'_>]) -> Option<usize> {
    let mut series: Vec<Vec<usize>> = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let step = |of: &Vec<usize>| {
            let last = &answers[*of.last()?];
            let step = last.window.remaining.checked_sub(answer.window.remaining)?;
            (last.window.is_same(answer.window) && (1..=MAX_STEP).contains(&step)).then_some(step)
        };
        // Of equal steps, the series that has waited longest.
        let next = series
            .iter_mut()
            .filter_map(|of| Some((step(of)?, of.last().copied(), of)))
            .min_by_key(|(step, last, _)| (*step, *last));
        match next {
            Some((.., of)) => of.push(at),
            None => series.push(vec![at]),
        }
    }
    series.retain(|of| of.len() >= SEVERAL);
    let covered: usize = series.iter().map(Vec::len).sum();
    let spans = |at: usize| series.iter().filter(|of| of.first() <= Some(&at) && Some(&at) <= of.last()).count();
    let at_once = (0..answers.len()).map(spans).max().unwrap_or(0);
    (at_once >= 2 && 5 * covered >= 4 * answers.len()).then_some(at_once)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ids, shown};
    use crate::trace_builder::TraceBuilder;
    use animal_store_rules::trace::exchange::Request;

    fn lists(remaining: &[u64]) -> TraceBuilder {
        remaining.iter().fold(TraceBuilder::new(), |builder, left| builder.list(200, *left, 60))
    }

    fn orders(builder: TraceBuilder, remaining: u64) -> TraceBuilder {
        builder.ask(Request::new("GET", "/store/orders"), 200, "[]".to_owned()).with_rate_limit(remaining, 60)
    }

    #[test]
    fn series_that_interleave_are_counters_of_processes() {
        let causes = shown(lists(&[59, 58, 59, 57, 58, 57, 56, 56, 55, 55]));
        assert_eq!(causes[0].0, "Remaining falls in 2 separate series: does each process have its own counter?");
        assert!(causes[0].1.contains(&"headers.remaining-never-rises"), "{causes:?}");
        let three = shown(lists(&[59, 49, 39, 58, 48, 38, 57, 47, 37, 56, 46, 36]));
        assert_eq!(three[0].0, "Remaining falls in 3 separate series: does each process have its own counter?");
    }

    #[test]
    fn an_operation_that_is_not_counted_is_named() {
        let fetch = |builder: TraceBuilder, left| builder.get(7, Some("sold")).with_rate_limit(left, 60);
        // After a pause, no request of others can leave a log of the last minute.
        let begun = TraceBuilder::new().list(200, 59, 60).wait(130).window(60);
        let rounds = (0..12).fold(begun, |builder, at| fetch(builder.list(200, 59 - at, 60), 59 - at));
        let causes = shown(rounds);
        let sentence = "GET /pets/{petId} is not counted: none of 12 requests lowered Remaining";
        assert!(causes.iter().any(|(cause, _)| cause == sentence), "{causes:?}");
    }

    #[test]
    fn a_series_for_each_operation_is_a_counter_per_route() {
        let routes = (0..4).fold(TraceBuilder::new(), |builder, at| orders(builder.list(200, 40 - at, 60), 59 - at));
        let causes = shown(routes);
        assert!(causes[0].0.ends_with("does each route have its own counter?"), "{causes:?}");
    }

    #[test]
    fn a_series_for_each_method_or_url_is_a_counter_of_its_own() {
        let methods = (0..4).fold(TraceBuilder::new(), |builder, at| {
            let created = builder.list(200, 40 - 2 * at, 60).create(at as i64).with_rate_limit(59 - at, 60);
            orders(created, 39 - 2 * at)
        });
        assert!(shown(methods)[0].0.ends_with("does each method have its own counter?"));
        let list_of = |builder: TraceBuilder, status: &str, remaining| {
            let request = Request::new("GET", "/pets").query(format!("status={status}"));
            builder.ask(request, 200, "[]".to_owned()).with_rate_limit(remaining, 60)
        };
        let urls = (0..4)
            .fold(TraceBuilder::new(), |builder, at| list_of(list_of(builder, "sold", 40 - at), "pending", 59 - at));
        assert!(shown(urls)[0].0.ends_with("does each URL have its own counter?"));
    }

    #[test]
    fn one_rise_or_an_operation_that_costs_nothing_is_not_several_counters() {
        assert!(!ids(lists(&[30, 29, 28, 27, 59, 58, 57])).contains(&"several-counters"));
        let free = (0..4).fold(TraceBuilder::new(), |builder, at| orders(builder.list(200, 40 - at, 60), 40 - at));
        assert!(!ids(free).contains(&"several-counters"));
        assert!(!ids(lists(&[50, 13, 44, 2, 31, 57, 20, 8, 39])).contains(&"several-counters"), "chance");
    }
}
