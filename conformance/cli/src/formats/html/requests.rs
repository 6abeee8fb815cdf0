//! The table of all requests.

use animal_store_conformance::layout::at_most;
use animal_store_conformance::report::{Report, ReportedExchange};

/// The maximum number of requests listed; the HAR report contains all.
const MAX_LISTED: usize = 300;

/// The maximum length of a request body in bytes.
const MAX_SENT: usize = 96;

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

/// The first requests of a report, up to a bound. A report that was read from a file contains none.
pub(super) fn listed(report: &Report) -> Vec<Line<'_>> {
    let mut listed = Vec::new();
    for exchange in report.exchanges.iter().take(MAX_LISTED) {
        let after = exchange.sent_at.duration_since(report.exchanges[0].sent_at);
        let status = exchange.response.as_ref().map(|response| response.status.to_string());
        let body = exchange.request.body.as_ref().filter(|body| !body.text.is_empty());
        listed.push(Line {
            exchange,
            target: report.shown_target(&exchange.request.url),
            after: format!("{:.3} s", after.as_secs_f64()),
            took: format!("{:.1}", exchange.elapsed_us as f64 / 1000.0),
            outcome: status.unwrap_or_else(|| "no response".to_owned()),
            sent: body.map(|body| at_most(&body.text, MAX_SENT)),
        });
    }
    listed
}
