//! Copies: answers that were made earlier and served again, for example by a cache. Their header fields say nothing about the present.

use std::collections::HashMap;

use super::super::keys::{Answer, KeyLimits};
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

impl<'h> KeyLimits<'h> {
    /// Returns true if an answer is a copy of an earlier one.
    pub(super) fn is_copy(&self, answer: &Answer<'_>) -> bool {
        self.is_outdated(answer) || self.is_repeated_late(answer)
    }

    /// Returns true if an answer was made before another one that was complete before its request was sent.
    fn is_outdated(&self, answer: &Answer<'_>) -> bool {
        let Some(made) = answer.entry.server_time() else { return false };
        let slack = Tolerance::CLOCK_SLACK.duration();
        let mut dates = self.complete_before(answer).take(FEW).filter_map(|other| other.entry.server_time());
        dates.any(|date| date > made + slack)
    }

    /// Returns true if an answer repeats an earlier one, although answers in between report less of that window, or a later one.
    fn is_repeated_late(&self, answer: &Answer<'_>) -> bool {
        // Checked first, because hardly any answer repeats another one, and comparing times takes long.
        let Some(since) = self.first_report_of(answer.window).and_then(|first| self.earlier_than(answer).get(first..))
        else {
            return false;
        };
        if !since.iter().any(|other| repeats(answer, other)) {
            return false;
        }
        let mut has_gone_on = false;
        for other in since.iter().rev().take(MANY) {
            let (is_of_limit, is_same) =
                (other.window.limit == answer.window.limit, other.window.is_same(answer.window));
            let is_lower = is_same && other.window.remaining < answer.window.remaining;
            let is_later = is_lower || !is_same && other.window.reset > answer.window.reset;
            let decides = !is_of_limit || is_later && !has_gone_on || has_gone_on && repeats(answer, other);
            if !decides || !other.precedes(answer) {
                continue;
            }
            if !is_of_limit || has_gone_on && repeats(answer, other) {
                return is_of_limit;
            }
            has_gone_on = true;
        }
        false
    }

    /// The index of the first answer that reports a window.
    fn first_report_of(&self, window: Window) -> Option<usize> {
        let first_reports = self.first_reports.get_or_init(|| {
            let mut first_reports = HashMap::new();
            for (index, answer) in self.answers().iter().enumerate() {
                first_reports.entry(answer.window).or_insert(index);
            }
            first_reports
        });
        first_reports.get(&window).copied()
    }

    /// The answers to earlier requests.
    fn earlier_than(&self, answer: &Answer<'_>) -> &[Answer<'h>] {
        let number = answer.entry.exchange.number;
        &self.answers()[..self.answers().partition_point(|other| other.entry.exchange.number < number)]
    }

    /// The answers that were complete before the request of another one was sent, the latest first.
    fn complete_before<'a>(&'a self, answer: &'a Answer<'_>) -> impl Iterator<Item = &'a Answer<'h>> {
        self.earlier_than(answer).iter().rev().filter(move |other| other.precedes(answer))
    }
}

/// The number of the last answers that are searched for one that is newer than a copy.
const FEW: usize = 8;

/// The number of answers among which a copy is searched for the one that it repeats: as many as a Business key gets in two minutes.
const MANY: usize = 2_000;

/// Returns true if an answer to a GET reports the same window as an earlier success to the same request.
fn repeats(answer: &Answer<'_>, earlier: &Answer<'_>) -> bool {
    let [request, before] = [answer, earlier].map(|answer| &answer.entry.exchange.request);
    earlier.window == answer.window
        && request.method == "GET"
        && (&request.method, &request.path, &request.query) == (&before.method, &before.path, &before.query)
        && earlier.entry.succeeded()
}

#[cfg(test)]
mod tests {
    use crate::tests::TraceBuilder;

    fn copies(builder: TraceBuilder) -> Vec<usize> {
        builder.main_key(|key| {
            let copies = key.answers().iter().filter(|answer| key.is_copy(answer));
            copies.map(|answer| answer.entry.exchange.number).collect()
        })
    }

    #[test]
    fn an_answer_that_was_made_before_another_one_is_a_copy() {
        let served = |date| {
            TraceBuilder::new()
                .list(200, 9, 60)
                .wait(30)
                .get(7, Some("sold"))
                .with_rate_limit(8, 60)
                .wait(4)
                .list(200, 7, 60)
                .dateless()
                .header("date", date)
        };
        assert_eq!(copies(served("Mon, 01 Jun 2026 12:00:05 GMT")), [3]);
        assert_eq!(copies(served("Mon, 01 Jun 2026 12:00:29 GMT")), [0; 0], "clocks of several servers differ");
        assert_eq!(copies(served("Mon, 01 Jun 2026 11:59:00 GMT")), [0; 0], "this date does not explain the reset");
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
