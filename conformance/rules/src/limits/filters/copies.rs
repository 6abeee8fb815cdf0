//! Copies: answers that were made earlier and served again, as by a cache. Their headers say nothing of the present.

use super::super::keys::{Answer, KeyLimits};
use crate::tolerance::Tolerance;

impl KeyLimits<'_> {
    /// Whether an answer is a copy of an earlier one: it was made before an answer that was complete before its request was sent; or it
    /// repeats the headers of an earlier answer to the same request, though answers in between show less of that window, or a later one.
    #[must_use]
    pub fn is_copy(&self, answer: &Answer<'_>) -> bool {
        let earlier = || self.answers().iter().rev().filter(|other| other.precedes(answer));
        let is_old = answer.entry.server_time().is_some_and(|made| {
            let slack = Tolerance::CLOCK_SLACK.duration();
            earlier().take(FEW).filter_map(|other| other.entry.server_time()).any(|before| before > made + slack)
        });
        // Looked for first, because hardly any answer repeats another one, and comparing times takes long.
        let number = answer.entry.exchange.number;
        let repeats = |other: &Answer<'_>| {
            other.entry.exchange.number < number && other.window == answer.window && is_like(other, answer)
        };
        let is_repeated = || {
            let mut has_gone_on = false;
            earlier().take_while(|other| other.window.limit == answer.window.limit).any(|other| {
                let is_same = other.window.is_same(answer.window);
                let is_lower = is_same && other.window.remaining < answer.window.remaining;
                has_gone_on |= is_lower || !is_same && other.window.reset > answer.window.reset;
                has_gone_on && repeats(other)
            })
        };
        is_old || self.answers().iter().any(repeats) && is_repeated()
    }
}

/// A copy is older than one of the last few answers.
const FEW: usize = 8;

/// Whether two successful answers are to the same request.
fn is_like(one: &Answer<'_>, other: &Answer<'_>) -> bool {
    let [a, b] = [one, other].map(|answer| &answer.entry.exchange.request);
    a.method == "GET" && a.method == b.method && a.path == b.path && a.query == b.query && one.entry.succeeded()
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    fn copies(builder: TraceBuilder) -> Vec<usize> {
        builder.main_key(|key| {
            let copies = key.answers().iter().filter(|answer| key.is_copy(answer));
            copies.map(|answer| answer.entry.exchange.number).collect()
        })
    }

    #[test]
    fn an_answer_that_was_made_before_another_one_is_a_copy() {
        let old = "Mon, 01 Jun 2026 11:59:00 GMT";
        let served = |date| {
            TraceBuilder::new()
                .list(200, 9, 60)
                .get(7, Some("sold"))
                .with_rate_limit(8, 60)
                .wait(4)
                .list(200, 7, 60)
                .dateless()
                .header("date", date)
        };
        assert_eq!(copies(served(old)), [3]);
        assert_eq!(copies(served("Mon, 01 Jun 2026 11:59:58 GMT")), [0; 0], "clocks of several servers differ");
    }

    #[test]
    fn an_answer_that_repeats_an_earlier_one_while_others_went_on_is_a_copy() {
        let first = || TraceBuilder::new().list(200, 9, 60).get(7, Some("sold")).with_rate_limit(8, 60);
        assert_eq!(copies(first().list(200, 9, 60)), [3]);
        assert_eq!(copies(first().list(200, 7, 60)), [0; 0]);
        assert_eq!(copies(first().get(7, Some("sold")).with_rate_limit(9, 60)), [0; 0], "another request");
        assert_eq!(copies(TraceBuilder::new().list(200, 9, 60).list(200, 9, 60)), [0; 0], "nothing went on");
    }
}
