//! Facts that hold for every key of a run. A server has one policy, so that the responses to one key may show how another is counted.

use super::Part;
use super::hypothesis::Failures;
use super::timeline::{Event, MINUTE, SECOND, Timeline};
use crate::history::History;
use crate::tolerance::Tolerance;

/// The facts that the explanations of all keys have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonFacts {
    /// Whether only the run uses the keys.
    pub(super) is_exclusive: bool,
    /// Whether the responses to a key show that Reset is the next restoration of a counter that slides off the minutes of the clock.
    pub(super) shows_restorations: bool,
    /// The treatment of failed requests, if it is known.
    pub(super) failures: Option<Failures>,
}

/// Returns true if the responses to some key show that Reset announces a restoration of a counter that slides.
pub(super) fn shows_restorations(history: &History<'_>) -> bool {
    let part = Part { is_own: true, is_report: true, is_copy: false, may_be_ban: false, cost: 1 };
    let with_keys = history.entries.iter().filter(|entry| entry.key().is_some() && entry.is_of_operation());
    let timeline = Timeline::new(&with_keys.map(|entry| (entry, part)).collect::<Vec<_>>(), &[]);
    let admitted = |key| {
        let of_key = timeline.events.iter().filter(move |event| event.entry.key() == Some(key));
        of_key.filter(|event| event.is_admitted())
    };
    (0..history.context.keys.len()).any(|key| announces_restorations(admitted(key)))
}

/// Returns true if the first report of a key shows the end of a window that began with its request, and a later one announces a time
/// before the ends of the windows that follow each other from there: a restoration of a counter that slides.
fn announces_restorations<'e, 'h: 'e>(admitted: impl Iterator<Item = &'e Event<'h>>) -> bool {
    let slack = Tolerance::ROUNDING.seconds() * SECOND;
    let mut reports = admitted.filter_map(|event| Some((event, event.report?)));
    let Some((first, begin)) = reports.next().filter(|(first, report)| report.used <= first.cost) else { return false };
    reports.any(|(event, report)| {
        let windows = (event.arrival.0 - begin.reset).div_euclid(MINUTE) + 1;
        event.arrival.0 > first.arrival.1 && report.reset + slack < begin.reset + windows * MINUTE
    })
}
