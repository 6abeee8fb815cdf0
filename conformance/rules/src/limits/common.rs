//! Facts that hold for every key of a run. A server has one policy, so that the responses to one key may show how another is counted.

use crate::history::{Entry, History};
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

/// The facts that the explanations of all keys have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonFacts {
    /// Whether only the run uses the keys.
    pub(super) is_exclusive: bool,
    /// Whether the responses to a key show that Reset is the next restoration of a counter that slides off the minutes of the clock.
    pub(super) shows_restorations: bool,
}

/// The admitted requests of a key, with the windows that their responses report.
fn admitted<'h>(history: &'h History<'_>, key: usize) -> Vec<(&'h Entry<'h>, Window)> {
    let of_key = history.entries.iter().filter(|entry| entry.key() == Some(key) && entry.is_of_operation());
    of_key.filter(|entry| !entry.is_limited()).filter_map(|entry| Some((entry, entry.window()?))).collect()
}

/// Returns true if the responses to some key show that Reset announces the restorations of a counter that slides.
pub(super) fn shows_restorations(history: &History<'_>) -> bool {
    (0..history.context.keys.len()).any(|key| announces_several(&admitted(history, key)))
}

/// Returns true if the first report shows the end of a window that began with its request, and later ones announce several times before the
/// ends of the windows that follow each other from there: restorations of a counter that slides.
fn announces_several(reports: &[(&Entry<'_>, Window)]) -> bool {
    /// The number of announced restorations that are unlikely to be the ends of windows.
    const SEVERAL: usize = 4;
    let [slack, minute] = [Tolerance::ROUNDING, Tolerance::MINUTE].map(Tolerance::seconds);
    let Some(((first, begin), later)) =
        reports.split_first().filter(|((_, begin), _)| begin.limit <= begin.remaining + 1)
    else {
        return false;
    };
    let mut announced: Vec<i64> = Vec::new();
    for (entry, window) in later.iter().filter(|(entry, _)| first.precedes(entry)) {
        // The request came at this time by the server's clock, or later.
        let took = entry.exchange.received_at.duration_since(entry.exchange.sent_at).as_secs() + 1;
        let arrived = entry.answered_at().as_second() - took - Tolerance::CLOCK_SLACK.seconds();
        let windows = (arrived - begin.reset).div_euclid(minute) + 1;
        if window.reset + slack < begin.reset + windows * minute {
            announced.push(window.reset);
        }
    }
    announced.sort_unstable();
    announced.dedup_by(|later, earlier| *later - *earlier <= slack);
    announced.len() >= SEVERAL
}
