//! Evidence in the wording that every format uses: findings, and the rate limit as an exchange shows it, because bodies show nothing about
//! limits.

use jiff::Timestamp;

use super::{Evidence, Report, ReportedExchange};
use animal_store_rules::trace::rate_limit::{LIMIT, REMAINING, RESET};
use animal_store_rules::trace::retry_after::RETRY_AFTER;
use animal_store_rules::verdict::findings::Share;

/// The header fields about the rate limit, each with its name in sentences.
const FIELDS: [(&str, &str); 4] =
    [("Limit", LIMIT), ("Remaining", REMAINING), ("Reset", RESET), ("Retry-After", RETRY_AFTER)];

/// The rate limit as one exchange shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LimitsShown {
    /// The number of the exchange.
    pub number: usize,
    /// The time of day at which the request was sent, in UTC: `12:00:00.020`.
    pub time: String,
    /// The method and the target of the request.
    pub request: String,
    /// The status code, or `no response`.
    pub outcome: String,
    /// Limit, Remaining, Reset and `Retry-After`, as they were received; none for a header field that is missing.
    pub fields: [(&'static str, Option<String>); 4],
}

impl Evidence {
    /// The finding with its count and its subjects: `201 on POST /pets x2: "1", true`.
    pub fn finding(&self) -> String {
        let mut finding = self.found.clone();
        if self.count > 1 {
            finding.push_str(&format!(" x{}", self.count));
        }
        if !self.subjects.is_empty() {
            finding.push_str(&format!(": {}", self.subjects.join(", ")));
        }
        if let Some(Share { broken, alike }) = self.intermittent {
            finding.push_str(&format!("; intermittent: in {broken} of {alike} equal requests"));
        }
        if !self.only_with.is_empty() {
            finding.push_str(&format!("; only with {}", self.only_with.join(" and ")));
        }
        if let Some(attribution) = &self.attribution {
            finding.push_str("; ");
            finding.push_str(attribution.sentence());
        }
        finding
    }

    /// The rate limit as each exchange of the evidence shows it, in the order of sending.
    pub fn limits_shown(&self, report: &Report) -> Vec<LimitsShown> {
        let mut shown: Vec<LimitsShown> =
            self.exchanges.iter().map(|exchange| limits_shown(report, exchange)).collect();
        shown.sort_by_key(|shown| shown.number);
        shown
    }
}

fn limits_shown(report: &Report, exchange: &ReportedExchange) -> LimitsShown {
    let request = &exchange.request;
    let target = report.shown_target(&request.url);
    let headers = exchange.response.as_ref().map_or(&[][..], |response| &response.headers);
    let value = |field: &str| {
        let values: Vec<&str> =
            headers.iter().filter(|(name, _)| name == field).map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    };
    LimitsShown {
        number: exchange.number,
        time: exchange.sent_at.strftime("%H:%M:%S.%3f").to_string(),
        request: format!("{} {target}", request.method),
        outcome: exchange.response.as_ref().map_or("no response".to_owned(), |response| response.status.to_string()),
        fields: FIELDS.map(|(name, field)| {
            let shown = value(field);
            (name, if field == RESET { shown.map(with_time) } else { shown })
        }),
    }
}

/// A Reset with its time of day, if it is a time of this century: `1780315260 (12:01:00)`.
fn with_time(reset: String) -> String {
    const CENTURY: std::ops::Range<i64> = 946_684_800..4_102_444_800;
    let seconds = reset.parse().ok().filter(|seconds| CENTURY.contains(seconds));
    match seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
        Some(time) => format!("{reset} ({})", time.strftime("%H:%M:%S")),
        None => reset,
    }
}

impl std::fmt::Display for LimitsShown {
    /// In a line: `#85 12:00:00.020 GET /pets 200, Limit 60, Remaining 0, Reset 1780315260 (12:01:00), no Retry-After`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{} {} {} {}", self.number, self.time, self.request, self.outcome)?;
        self.fields.iter().try_for_each(|(name, value)| match value {
            Some(value) => write!(f, ", {name} {value}"),
            // Only a 429 needs `Retry-After`.
            None if *name == "Retry-After" && self.outcome != "429" => Ok(()),
            None => write!(f, ", no {name}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_shown_with_its_time_if_it_is_one() {
        assert_eq!(with_time("1780315260".to_owned()), "1780315260 (12:01:00)");
        for other in ["42", "1780315260000", "soon", "-1"] {
            assert_eq!(with_time(other.to_owned()), other);
        }
    }
}
