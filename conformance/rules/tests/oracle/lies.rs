//! Lies: changes to what the answers of a lawful limiter report, as broken limiters do.

use crate::history::{History, Seen};

pub(crate) struct Lie {
    pub(crate) name: &'static str,
    /// Applies the lie, beginning with the exchange that a number picks. Whether anything could be changed.
    pub(crate) report: fn(&mut History, usize) -> bool,
}

/// The lie that only a client shows which waits for a whole minute again and again.
pub(crate) const NEVER_RECOVERS: &str = "the key never recovers";

pub(crate) const LIES: &[Lie] = &[
    Lie { name: "Remaining is stuck", report: stuck },
    Lie {
        name: "Remaining rises",
        report: |history, pick| one(history, pick, in_a_window, |seen| add(&mut seen.remaining, 2)),
    },
    Lie { name: "a request costs nothing", report: costs_nothing },
    Lie { name: "a reset restores nothing", report: restores_nothing },
    Lie {
        name: "Remaining exceeds Limit",
        report: |history, pick| one(history, pick, any, |seen| seen.remaining = seen.limit.map(|limit| limit + 1)),
    },
    Lie {
        name: "Remaining is negative",
        report: |history, pick| one(history, pick, any, |seen| seen.remaining = Some(-1)),
    },
    Lie {
        name: "Reset moves",
        report: |history, pick| one(history, pick, in_a_window, |seen| add(&mut seen.reset, 20)),
    },
    Lie {
        name: "Reset stays a minute ahead",
        report: |history, _| all(history, |seen| seen.reset = seen.date.map(|date| date + 60)),
    },
    Lie { name: "Reset lies in the past", report: |history, _| all(history, |seen| add(&mut seen.reset, -200)) },
    Lie {
        name: "Reset is in milliseconds",
        report: |history, _| all(history, |seen| seen.reset = seen.reset.map(|reset| reset * 1_000)),
    },
    Lie {
        name: "Reset is a number of seconds",
        report: |history, _| {
            all(history, |seen| seen.reset = seen.reset.zip(seen.date).map(|(reset, date)| reset - date))
        },
    },
    Lie { name: "429 comes early", report: |history, _| all(history, |seen| off_by(seen, 2)) },
    Lie { name: "429 comes late", report: |history, _| all(history, |seen| off_by(seen, -2)) },
    Lie {
        name: "nothing is refused",
        report: |history, _| {
            all(history, |seen| {
                if seen.status == 429 {
                    admit(seen);
                }
            })
        },
    },
    Lie {
        name: "503 in place of 429",
        report: |history, _| {
            all(history, |seen| {
                if seen.status == 429 {
                    seen.status = 503;
                }
            })
        },
    },
    Lie {
        name: "one answer has another Limit",
        report: |history, pick| one(history, pick, any, |seen| add(&mut seen.limit, 1)) && history.plan.is_some(),
    },
    Lie { name: "no Limit", report: |history, pick| one(history, pick, any, |seen| seen.limit = None) },
    Lie { name: "no Remaining", report: |history, pick| one(history, pick, any, |seen| seen.remaining = None) },
    Lie { name: "no Reset", report: |history, pick| one(history, pick, any, |seen| seen.reset = None) },
    Lie {
        name: "no Retry-After",
        report: |history, pick| one(history, pick, |_, seen| seen.status == 429, |seen| seen.retry = None),
    },
    Lie { name: NEVER_RECOVERS, report: never_recovers },
];

fn any(_: Option<&Seen>, _: &Seen) -> bool {
    true
}

/// Whether the answer before reports the same window, which is not over yet.
fn in_a_window(before: Option<&Seen>, seen: &Seen) -> bool {
    let is_same = |before: &Seen| before.reset == seen.reset && before.limit == seen.limit && before.succeeded();
    seen.succeeded() && before.is_some_and(is_same) && seen.reset > seen.date.map(|date| date + 3)
}

fn add(field: &mut Option<i64>, more: i64) {
    *field = field.map(|value| value + more);
}

fn admit(seen: &mut Seen) {
    (seen.status, seen.retry) = (200, None);
}

/// Another limit is reported than the one that is kept.
fn off_by(seen: &mut Seen, more: i64) {
    add(&mut seen.limit, more);
    if seen.status != 429 {
        seen.remaining = seen.remaining.map(|remaining| (remaining + more).max(0));
    }
}

fn one(
    history: &mut History,
    pick: usize,
    applies: impl Fn(Option<&Seen>, &Seen) -> bool,
    change: impl Fn(&mut Seen),
) -> bool {
    let before = |at: usize| history.seen[..at].iter().rev().find(|before| before.key == history.seen[at].key);
    let places: Vec<usize> = (0..history.seen.len()).filter(|at| applies(before(*at), &history.seen[*at])).collect();
    let Some(at) = places.get(pick % places.len().max(1)) else { return false };
    change(&mut history.seen[*at]);
    true
}

fn all(history: &mut History, change: impl Fn(&mut Seen)) -> bool {
    history.seen.iter_mut().for_each(change);
    true
}

/// From some answer on Remaining is what it was.
fn stuck(history: &mut History, pick: usize) -> bool {
    let from = pick % history.seen.len().max(1);
    let Some(remaining) = history.seen.get(from).and_then(|seen| seen.remaining) else { return false };
    let later = history.seen.iter_mut().skip(from + 1).filter(|seen| seen.succeeded());
    let changed = later.map(|seen| seen.remaining = Some(remaining)).count();
    changed > 1 && remaining > 0
}

/// One request is not counted, nor do the answers after it in its window show it.
fn costs_nothing(history: &mut History, pick: usize) -> bool {
    let places: Vec<usize> =
        (1..history.seen.len()).filter(|at| in_a_window(Some(&history.seen[at - 1]), &history.seen[*at])).collect();
    let Some(&from) = places.get(pick % places.len().max(1)) else { return false };
    let reset = history.seen[from].reset;
    for seen in history.seen.iter_mut().skip(from).filter(|seen| seen.reset == reset && seen.succeeded()) {
        add(&mut seen.remaining, 1);
    }
    true
}

/// The first answer of a window is lower than the last of the one before.
fn restores_nothing(history: &mut History, pick: usize) -> bool {
    let mut last: Option<(i64, i64)> = None;
    let mut changed = false;
    let wanted = pick % 3;
    for seen in &mut history.seen {
        let (Some(remaining), Some(reset)) = (seen.remaining, seen.reset) else { continue };
        let is_new = last.is_some_and(|(then, before)| reset > then + 30 && remaining > before && wanted < 2);
        if is_new {
            seen.remaining = last.map(|(_, before)| (before - 1).max(0));
            changed = true;
        }
        last = Some((reset, seen.remaining.unwrap_or(remaining)));
    }
    changed
}

/// After the first refusal there is nothing else, with the same wait each time.
fn never_recovers(history: &mut History, _: usize) -> bool {
    let Some(first) = history.seen.iter().position(|seen| seen.status == 429) else { return false };
    let refusal = history.seen[first].clone();
    let mut changed = false;
    for seen in history.seen.iter_mut().skip(first + 1).filter(|seen| seen.succeeded()) {
        (seen.status, seen.remaining, seen.retry) = (429, Some(0), refusal.retry);
        changed = true;
    }
    changed
}
