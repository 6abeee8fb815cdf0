//! Requests that are restored to a key before its window ends, by a bucket that fills up or because they failed.

use animal_store_rules::limits::Answer;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::verdict::attribution::BROKEN_BY_COUNTERS;

use super::counters::in_order;
use super::{Broken, Cause};

/// The number of steps that make a habit.
const SEVERAL: usize = 3;

/// One in this many answers may be out of line: concurrent requests are answered in any order.
const ONE_IN: usize = 20;

/// The number of requests that a bucket may seem to be off by: a part of a request, and one that is reported before it is counted.
const OFF: f64 = 1.6;

/// The cause where the Remaining of a key rises by the limit of a minute in each minute, evenly, until it is full.
pub(super) fn bucket(broken: &Broken<'_, '_>) -> Option<Cause> {
    let explained = broken.explained(&BROKEN_BY_COUNTERS, |_| true);
    if explained.is_empty() {
        return None;
    }
    broken.facts.limiter.keys().iter().find_map(|key| {
        let answers = in_order(key);
        let limit = answers.first()?.window.limit;
        let seconds = Tolerance::MINUTE.seconds() as f64 / limit as f64;
        let (mut restoring, mut uneven): (Vec<&Answer<'_>>, usize) = (Vec::new(), 0);
        for pair in answers.windows(2) {
            let [before, after] = [&pair[0], &pair[1]];
            let (first, second) = (before.entry.exchange, after.entry.exchange);
            let least = second.sent_at.duration_since(first.received_at).as_secs_f64();
            let most = second.received_at.duration_since(first.sent_at).as_secs_f64();
            let restored = after.window.remaining as f64 - before.window.remaining as f64 + 1.0;
            let others = broken.facts.history.sent_between(before.entry, after.entry).saturating_sub(1) as f64;
            let is_full = after.window.remaining as f64 + OFF + others >= limit as f64;
            let is_even = (least / seconds - OFF - others..=most / seconds + OFF).contains(&restored);
            if after.window.limit != limit {
                return None;
            }
            uneven += usize::from(!is_even && !is_full);
            if !is_full && restored >= 2.0 && least / seconds >= 2.0 {
                restoring.extend([before, after]);
            }
        }
        let (count, unit) = if seconds >= 1.0 { (1.0, seconds) } else { (1.0 / seconds, 1.0) };
        let sentence = format!(
            "Remaining rises by {count:.0} every {}: is the limit a token bucket? A window restores all requests at once, at its end",
            if unit < 1.5 { "second".to_owned() } else { format!("{unit:.0} seconds") }
        );
        let shown = restoring.iter().map(|answer| answer.entry);
        let is_bucket = restoring.len() >= 2 * SEVERAL && uneven * ONE_IN <= answers.len();
        is_bucket.then(|| Cause::shown_by("token-bucket", sentence, explained.clone(), shown))?
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::ids;
    use crate::trace_builder::TraceBuilder;

    /// Requests after pauses of so many seconds, answered from a bucket of 60 that gains one each second.
    fn bucket(pauses: &[i64]) -> TraceBuilder {
        let mut left = 60;
        pauses.iter().fold(TraceBuilder::new(), |builder, pause| {
            left = (left + pause).min(60) - 1;
            builder.wait(*pause).list(200, left as u64, 60).window(61 - left)
        })
    }

    #[test]
    fn what_is_restored_evenly_is_a_token_bucket_and_not_several_counters() {
        let mut pauses = vec![0; 30];
        pauses.extend([5, 0, 0, 7, 0, 4, 0, 0, 3, 0, 0, 0]);
        let found = ids(bucket(&pauses));
        assert!(found.contains(&"token-bucket") && !found.contains(&"several-counters"), "{found:?}");
        assert!(!ids(bucket(&[0; 40])).contains(&"token-bucket"), "no pause");
        let windows = pauses.iter().enumerate().fold(TraceBuilder::new(), |builder, (at, pause)| {
            builder.wait(*pause).list(200, if at % 7 == 0 { 50 } else { 59 - at as u64 }, 60)
        });
        assert!(!ids(windows).contains(&"token-bucket"), "nothing is restored evenly");
    }
}
