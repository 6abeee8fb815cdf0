//! The table of all requests.

use jiff::Timestamp;

use animal_store_conformance::layout::at_most;
use animal_store_conformance::report::{Report, ReportedExchange};

/// The maximum number of requests listed; the HAR report contains all.
const MAX_LISTED: usize = 300;

/// The maximum length of a request body in bytes.
const MAX_SENT: usize = 96;

/// The requests of the run.
pub(super) struct Requests<'r> {
    /// The first requests, up to a bound.
    pub(super) listed: Vec<Line<'r>>,
    /// The number of requests not listed.
    pub(super) further: usize,
}

/// A request in a line.
pub(super) struct Line<'r> {
    /// The exchange.
    pub(super) exchange: &'r ReportedExchange,
    /// The URL relative to the base URL.
    pub(super) target: &'r str,
    /// The time at which the request was sent, relative to the first one.
    pub(super) after: String,
    /// The response time in milliseconds.
    pub(super) took: String,
    /// The status code, or `no response`.
    pub(super) outcome: String,
    /// The beginning of the request's body.
    pub(super) sent: Option<String>,
}

/// The requests of a report. A report that was read from a file contains none.
pub(super) fn listed(report: &Report) -> Requests<'_> {
    let exchanges = report.exchanges.iter().take(MAX_LISTED);
    Requests {
        listed: exchanges.map(|exchange| line(report, report.exchanges[0].sent_at, exchange)).collect(),
        further: report.exchanges.len().saturating_sub(MAX_LISTED),
    }
}

fn line<'r>(report: &Report, start: Timestamp, exchange: &'r ReportedExchange) -> Line<'r> {
    Line {
        exchange,
        target: report.shown_target(&exchange.request.url),
        after: format!("{:.3} s", exchange.sent_at.duration_since(start).as_secs_f64()),
        took: format!("{:.1}", exchange.elapsed_us as f64 / 1000.0),
        outcome: exchange
            .response
            .as_ref()
            .map_or_else(|| "no response".to_owned(), |response| response.status.to_string()),
        sent: exchange
            .request
            .body
            .as_ref()
            .filter(|body| !body.text.is_empty())
            .map(|body| at_most(&body.text, MAX_SENT)),
    }
}
