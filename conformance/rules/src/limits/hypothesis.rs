//! Hypotheses: complete ways of counting. A lawful policy is a variant of [`Cut`] or a value of another field, and stands nowhere else.

use std::fmt;

/// How minutes are cut, and what Reset announces.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Cut {
    /// Fixed windows that follow each other on a grid, such as the minutes of the clock. Reset is the end of the window.
    Clock,
    /// Fixed windows, each opened by the first request after the one before. Reset is the end of the window.
    First,
    /// A log: each request counts for a minute. Reset is when the oldest request no longer counts.
    Log,
    /// The same log. Reset is when the newest request no longer counts.
    Drain,
    /// A counter that slides between two windows on the grid: the requests of the last window count by the part of it that still lies
    /// in the last minute. Reset is the end of the window.
    Weighted,
    /// The same counter on the minutes of the clock. Reset is when the next request is restored.
    WeightedNext,
}

impl Cut {
    /// Every way to cut minutes, the commonest first.
    pub const ALL: [Cut; 6] = [Cut::Clock, Cut::First, Cut::Log, Cut::Weighted, Cut::Drain, Cut::WeightedNext];

    /// Whether the minutes are windows that begin with an empty count.
    #[must_use]
    pub fn is_fixed(self) -> bool {
        matches!(self, Cut::Clock | Cut::First)
    }

    /// Whether the windows follow each other on a grid.
    #[must_use]
    pub fn is_on_grid(self) -> bool {
        matches!(self, Cut::Clock | Cut::Weighted | Cut::WeightedNext)
    }
}

/// When the header fields of a response are written.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Written {
    /// On arrival, after the request was counted.
    After,
    /// On arrival, before the request is counted.
    Before,
    /// When the response goes out.
    OnAnswer,
}

/// What a failed request costs.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Failures {
    /// As much as any other.
    Count,
    /// Nothing.
    Free,
    /// It is counted, and given back when the response has been written.
    Refunded,
    /// Nothing if the request was malformed (400), as much as any other if it asked for something that does not exist (404).
    MalformedFree,
    /// As much as any other if the request was malformed, nothing if it asked for something that does not exist.
    MissingFree,
}

/// The figures that the header fields report. `None` is a figure that is unknown.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Figures {
    /// Requests per minute.
    pub minute: Option<i64>,
    /// Requests per day.
    pub day: Option<i64>,
}

/// A complete way of counting.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Hypothesis {
    /// The limits.
    pub figures: Figures,
    /// How minutes are cut.
    pub cut: Cut,
    /// When the header fields are written.
    pub written: Written,
    /// What failed requests cost.
    pub failures: Failures,
    /// Whether refused requests are counted.
    pub counts_refusals: bool,
    /// Whether other clients use the key.
    pub others: bool,
}

impl Hypothesis {
    /// Whether each request counts in a window that begins with an empty count.
    pub(super) fn is_plain(&self) -> bool {
        self.failures == Failures::Count && self.cut.is_fixed()
    }
}

/// What of a history makes some hypotheses worth asking.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Occasions {
    /// Some request was malformed.
    pub(super) malformed: bool,
    /// Some request asked for something that does not exist.
    pub(super) missing: bool,
    /// Some request was refused.
    pub(super) refused: bool,
}

/// Every hypothesis that a history can distinguish, the simplest first, without other clients.
pub(super) fn hypotheses(figures: &[Figures], occasions: Occasions) -> Vec<Hypothesis> {
    let failures: &[Failures] = match (occasions.malformed, occasions.missing) {
        (false, false) => &[Failures::Count],
        (true, true) => {
            &[Failures::Count, Failures::Free, Failures::Refunded, Failures::MalformedFree, Failures::MissingFree]
        }
        _ => &[Failures::Count, Failures::Free, Failures::Refunded],
    };
    let refusals: &[bool] = if occasions.refused { &[false, true] } else { &[false] };
    let mut all = Vec::new();
    for &failures in failures {
        for &written in &[Written::After, Written::Before, Written::OnAnswer] {
            for &cut in &Cut::ALL {
                for &counts_refusals in refusals {
                    for &figures in figures {
                        all.push(Hypothesis { figures, cut, written, failures, counts_refusals, others: false });
                    }
                }
            }
        }
    }
    all.sort_by_key(|hypothesis| !hypothesis.is_plain());
    all
}

impl fmt::Display for Hypothesis {
    /// The way of counting in words: `60 per minute, in windows on the clock; counted before the response; failures count`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = [(self.figures.minute, "minute"), (self.figures.day, "day")];
        let figures: Vec<String> =
            figures.iter().filter_map(|(figure, unit)| Some(format!("{} per {unit}", (*figure)?))).collect();
        f.write_str(&figures.join(" and "))?;
        f.write_str(match self.cut {
            Cut::Clock => ", in windows at fixed times",
            Cut::First => ", in windows that begin with the first request",
            Cut::Log => ", as a log of the last minute whose Reset is the end of its oldest request",
            Cut::Drain => ", as a log of the last minute whose Reset is the end of its newest request",
            Cut::Weighted => ", as a counter that slides between two windows",
            Cut::WeightedNext => ", as a counter that slides between two windows, whose Reset is the next restoration",
        })?;
        f.write_str(match self.written {
            Written::After => "; counted before the headers are written",
            Written::Before => "; counted after the headers are written",
            Written::OnAnswer => "; headers are written when the response goes out",
        })?;
        f.write_str(match self.failures {
            Failures::Count => "; failures count",
            Failures::Free => "; failures do not count",
            Failures::Refunded => "; failures are given back",
            Failures::MalformedFree => "; malformed requests do not count",
            Failures::MissingFree => "; requests for what does not exist do not count",
        })?;
        if self.counts_refusals {
            f.write_str("; refused requests count")?;
        }
        if self.others {
            f.write_str("; other clients use the key")?;
        }
        Ok(())
    }
}
