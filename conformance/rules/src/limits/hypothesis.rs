//! Hypotheses: complete ways of counting. A lawful policy is a variant of [`Cut`] or a value of another field. A new variant also needs its
//! place in `Cut::ALL`, in the predicates of [`Cut`], in `explain/resets.rs`, and in `share.rs` if it has windows.

use std::collections::HashSet;
use std::fmt;

/// The way in which minutes are cut, and the time that Reset announces.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Cut {
    /// Fixed windows that follow each other on a grid, such as the minutes of the clock. Reset is the end of the window.
    Clock,
    /// Fixed windows, each opened by the first request after the end of the window before. Reset is the end of the window.
    First,
    /// A log: each request counts for a minute. Reset is the time at which the oldest request no longer counts.
    Log,
    /// A log: each request counts for a minute. Reset is the time at which the newest request no longer counts.
    Drain,
    /// A counter that slides between two windows on the grid: the requests of the last window count by the part of it that still lies
    /// in the last minute. Reset is the end of the window.
    Weighted,
    /// A counter that slides like [`Cut::Weighted`], between the minutes of the clock or those of the grid that the first report shows. Reset
    /// is the time at which the next request is restored.
    WeightedNext {
        /// Whether the windows are the minutes of the clock.
        on_clock: bool,
    },
}

impl Cut {
    /// Every way to cut minutes, the most common one first.
    pub(super) const ALL: [Cut; 7] = [
        Cut::Clock,
        Cut::First,
        Cut::Log,
        Cut::Weighted,
        Cut::Drain,
        Cut::WeightedNext { on_clock: true },
        Cut::WeightedNext { on_clock: false },
    ];

    /// Returns true if minutes are windows that begin with an empty count.
    #[must_use]
    pub fn is_fixed(self) -> bool {
        matches!(self, Cut::Clock | Cut::First)
    }

    /// Returns true if each request counts for a minute.
    pub(super) fn is_log(self) -> bool {
        matches!(self, Cut::Log | Cut::Drain)
    }

    /// Returns true if windows follow each other on a grid.
    pub(super) fn is_on_grid(self) -> bool {
        matches!(self, Cut::Clock | Cut::Weighted) || self.announces_the_next()
    }

    /// Returns true if windows slide, and Reset is the time of the next restoration.
    pub(super) fn announces_the_next(self) -> bool {
        matches!(self, Cut::WeightedNext { .. })
    }
}

/// The time at which the header fields of a response are written.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Written {
    /// When the request arrives, after it was counted.
    After,
    /// When the request arrives, before it is counted.
    Before,
    /// When the response goes out.
    OnAnswer,
}

/// The failed requests that a server treats in another way than successes, by the status of the response.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Failed {
    statuses: &'static [u16],
    /// The only kind of requests among them, if there is only one.
    only: Option<Only>,
}

/// A kind of requests that a server may treat in another way than others when they fail.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Only {
    Creations,
    /// Creations whose bodies are no JSON: a parser of bodies may answer them before requests are counted.
    Unparsed,
    Reads,
}

/// A body in a request, as far as the cost of its failure may depend on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sent {
    /// The request has no body.
    NoBody,
    /// The body is JSON.
    Json,
    /// The body is no JSON.
    Unparsed,
    /// The body is no JSON to some parsers.
    Unclear,
}

impl Failed {
    /// Every failed request.
    pub const ANY: Failed = Failed::of(&[400, 404, 422]);
    /// Malformed requests.
    pub const MALFORMED: Failed = Failed::of(&[400, 422]);
    /// Requests for something that does not exist.
    pub const MISSING: Failed = Failed::of(&[404]);
    /// Creations with a malformed body.
    pub const MALFORMED_BODY: Failed = Failed::MALFORMED.creations();

    /// Every choice of failed requests, the most common one first.
    pub(super) const ALL: [Failed; 12] = [
        Failed::ANY,
        Failed::MALFORMED,
        Failed::MISSING,
        Failed::MALFORMED_BODY,
        Failed::of(&[400]),
        Failed::of(&[400]).creations(),
        Failed::of(&[400, 404]),
        Failed::of(&[422]),
        Failed::of(&[422]).creations(),
        Failed::of(&[404, 422]),
        Failed { only: Some(Only::Unparsed), ..Failed::MALFORMED },
        Failed { only: Some(Only::Reads), ..Failed::ANY },
    ];

    const fn of(statuses: &'static [u16]) -> Failed {
        Failed { statuses, only: None }
    }

    const fn creations(self) -> Failed {
        Failed { only: Some(Only::Creations), ..self }
    }

    /// Returns true if a request with this outcome is among the failed requests.
    pub(super) fn include(self, outcome: Outcome) -> bool {
        let Outcome::Failed { status, sent } = outcome else { return false };
        let is_one = match self.only {
            None => true,
            Some(Only::Creations) => sent != Sent::NoBody,
            Some(Only::Unparsed) => sent == Sent::Unparsed,
            Some(Only::Reads) => sent == Sent::NoBody,
        };
        self.statuses.contains(&status) && is_one
    }

    /// Returns true if a request with this outcome may be among the failed requests or not.
    fn may_include(self, outcome: Outcome) -> bool {
        self.only == Some(Only::Unparsed) && matches!(outcome, Outcome::Failed { sent: Sent::Unclear, .. })
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Failed::ANY => f.write_str("failures"),
            Failed::MALFORMED => f.write_str("malformed requests"),
            Failed::MISSING => f.write_str("requests for something that does not exist"),
            Failed::MALFORMED_BODY => f.write_str("malformed bodies"),
            Failed { statuses, only } => {
                let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
                let requests = match only {
                    None => "requests",
                    Some(Only::Creations) => "creations",
                    Some(Only::Unparsed) => "bodies that are no JSON",
                    Some(Only::Reads) => "reads",
                };
                write!(f, "{requests} with {}", statuses.join(" or "))
            }
        }
    }
}

/// The cost of failed requests.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Failures {
    /// A failed request costs as much as any other.
    Count,
    /// These requests cost nothing. Any other failed request counts.
    Free(Failed),
    /// These requests are counted, and given back when the response has been written. Any other failed request counts.
    GivenBack(Failed),
}

impl Failures {
    /// The failed requests that do not count for good, if there are any.
    fn spared(self) -> Option<Failed> {
        match self {
            Failures::Count => None,
            Failures::Free(which) | Failures::GivenBack(which) => Some(which),
        }
    }

    /// The treatments of failed requests that these outcomes can distinguish, the most common one first.
    pub(super) fn distinguished(outcomes: &[Outcome]) -> Vec<Failures> {
        let mut distinguished: HashSet<Vec<bool>> = HashSet::from([vec![false; outcomes.len()]]);
        let mut kinds = Failed::ALL.to_vec();
        kinds.retain(|which| distinguished.insert(outcomes.iter().map(|outcome| which.include(*outcome)).collect()));
        let (free, given_back) =
            (kinds.iter().copied().map(Failures::Free), kinds.iter().copied().map(Failures::GivenBack));
        std::iter::once(Failures::Count).chain(free).chain(given_back).collect()
    }

    /// The treatments of failed requests that these outcomes cannot tell from this one.
    pub(super) fn alike(self, outcomes: &[Outcome]) -> Vec<Failures> {
        let of_kind = |which: Failed| match self {
            Failures::Count => Failures::Count,
            Failures::Free(_) => Failures::Free(which),
            Failures::GivenBack(_) => Failures::GivenBack(which),
        };
        let mut alike: Vec<Failures> = Failed::ALL.into_iter().map(of_kind).collect();
        alike.retain(|other| outcomes.iter().all(|outcome| other.spare(*outcome) == self.spare(*outcome)));
        alike
    }

    /// Returns true if a request with this outcome may count for good or not.
    pub(super) fn may_spare(self, outcome: Outcome) -> bool {
        self.spared().is_some_and(|failed| failed.may_include(outcome))
    }

    /// Returns true if a request with this outcome does not count for good.
    pub(super) fn spare(self, outcome: Outcome) -> bool {
        self.spared().is_some_and(|failed| failed.include(outcome))
    }
}

/// The use of a key by other clients. They use requests up, and make no room.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Others {
    /// Only the run uses the key.
    Nobody,
    /// Other clients use the key, as its responses show.
    Shown,
    /// Other clients use the key, and no response shows them. They may have exhausted one window, and no other refusal is theirs.
    Unseen,
}

/// The outcome of a request, as far as its cost may depend on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    /// The request succeeded (2xx, 3xx).
    Succeeded,
    /// The request was malformed (400, 422), or asked for something that does not exist (404, or 410 as well).
    Failed {
        /// 400, 404 or 422.
        status: u16,
        /// The body of the request.
        sent: Sent,
    },
    /// The request was refused for the rate (429).
    Refused,
    /// The request got another response or none, so that it is unknown whether it was counted.
    Unknown,
}

/// The figures that the header fields report. `None` means that a figure is unknown.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Figures {
    /// Requests per minute.
    pub minute: Option<i64>,
    /// Requests per day.
    pub day: Option<i64>,
}

/// The lengths of the windows that plans limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Span {
    Minute,
    Day,
}

/// A complete way of counting.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Hypothesis {
    /// The limits per minute and per day.
    pub figures: Figures,
    /// The way in which minutes are cut, with the meaning of Reset.
    pub cut: Cut,
    /// The length of the slots in which a log keeps its requests, in seconds, or 0 without slots. A request counts as if it had come at the
    /// beginning of its slot.
    pub slot: i64,
    /// The second at which the first slot after the epoch begins; where that is no whole second, the next one.
    pub first_slot: i64,
    /// Whether the day is a log: each request counts for a day, and Reset is the time at which the newest one no longer counts. Otherwise days
    /// are windows with a fixed end.
    pub day_drains: bool,
    /// The time at which the header fields are written.
    pub written: Written,
    /// The cost of failed requests.
    pub failures: Failures,
    /// Whether refused requests are counted.
    pub counts_refusals: bool,
    /// The use of the key by other clients.
    pub others: Others,
}

impl Hypothesis {
    /// Returns true if other clients may have used some of each count.
    pub(super) fn has_others(&self) -> bool {
        self.others != Others::Nobody
    }

    /// Returns true if failures count, in windows that begin with an empty count.
    pub(super) fn is_plain(&self) -> bool {
        self.failures == Failures::Count && self.cut.is_fixed()
    }
}

impl fmt::Display for Hypothesis {
    /// Writes the way of counting in words, for example `60 per minute, in windows at fixed times; …; failures count`.
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
            Cut::WeightedNext { .. } => {
                ", as a counter that slides between two windows, whose Reset is the next restoration"
            }
        })?;
        if self.slot > 0 {
            write!(f, ", in slots of {} s", self.slot)?;
        }
        if self.day_drains {
            f.write_str(", with a log of the last day whose Reset is the end of its newest request")?;
        }
        f.write_str(match self.written {
            Written::After => "; counted before the headers are written",
            Written::Before => "; counted after the headers are written",
            Written::OnAnswer => "; headers are written when the response goes out",
        })?;
        write!(f, "; {}", self.failures.spared().unwrap_or(Failed::ANY))?;
        f.write_str(match self.failures {
            Failures::Count => " count",
            Failures::Free(_) => " do not count",
            Failures::GivenBack(_) => " are given back",
        })?;
        if self.counts_refusals {
            f.write_str("; refused requests count")?;
        }
        f.write_str(match self.others {
            Others::Nobody => "",
            Others::Shown => "; other clients use the key",
            Others::Unseen => "; other clients may use the key, and no response shows them",
        })
    }
}
