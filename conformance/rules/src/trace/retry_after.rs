//! `Retry-After` as RFC 9110 §10.2.3 defines it: delta-seconds or an HTTP-date. Rules judge it, observers record it, and pacing
//! obeys it; all use this parser.

use jiff::{SignedDuration, Timestamp};

use crate::trace::exchange::Response;
use crate::trace::http_date;

/// The name of the header field in lower case, as names are compared here.
pub const RETRY_AFTER: &str = "retry-after";

/// The longest wait in seconds. Longer ones are shortened to it, so that a wait can be added to any time without overflow.
const FAR: i64 = 1 << 40;

/// The value of a `Retry-After` that can be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RetryAfter {
    /// A number of whole seconds after the response.
    Seconds(u64),
    /// An HTTP-date.
    Date(Timestamp),
}

/// Reads the `Retry-After` of a response.
///
/// # Errors
///
/// The defect, in words that follow "with": the field is missing, repeated, or in neither of the two forms.
pub fn read(response: &Response) -> Result<RetryAfter, String> {
    let mut values = response.values(RETRY_AFTER);
    let text = values.next().ok_or("no Retry-After")?;
    if values.next().is_some() {
        return Err("more than one Retry-After".to_owned());
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(RetryAfter::Seconds(text.parse().unwrap_or(u64::MAX)));
    }
    http_date::read(text).map(RetryAfter::Date).ok_or_else(|| format!("Retry-After: {text}"))
}

impl RetryAfter {
    /// The time for which the client is to wait after the response, given the server's time when it answered.
    #[must_use]
    pub fn wait(self, answered_at: Timestamp) -> SignedDuration {
        match self {
            RetryAfter::Seconds(seconds) => SignedDuration::from_secs(seconds.try_into().unwrap_or(FAR).min(FAR)),
            RetryAfter::Date(date) => date.duration_since(answered_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_values(values: &[&str]) -> Result<RetryAfter, String> {
        let headers = values.iter().map(|value| (RETRY_AFTER.to_owned(), (*value).to_owned())).collect();
        read(&Response { status: 429, headers, body: Vec::new(), cut: false })
    }

    #[test]
    fn both_forms_are_read_and_nothing_else() {
        assert_eq!(read_values(&["30"]), Ok(RetryAfter::Seconds(30)));
        assert_eq!(read_values(&["99999999999999999999"]), Ok(RetryAfter::Seconds(u64::MAX)));
        assert!(matches!(read_values(&["Thu, 01 Jan 1970 01:00:30 GMT"]), Ok(RetryAfter::Date(_))));
        assert_eq!(read_values(&[]), Err("no Retry-After".to_owned()));
        assert_eq!(read_values(&["30", "30"]), Err("more than one Retry-After".to_owned()));
        for wrong in ["", "+30", "-1", "30.5", "30 s", "Fri, 01 Jan 1970 01:00:30 GMT"] {
            assert_eq!(read_values(&[wrong]), Err(format!("Retry-After: {wrong}")));
        }
    }

    #[test]
    fn a_date_is_measured_by_the_servers_clock_and_no_wait_overflows() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        assert_eq!(RetryAfter::Date(at(90)).wait(at(60)), SignedDuration::from_secs(30));
        assert_eq!(RetryAfter::Seconds(30).wait(at(60)), SignedDuration::from_secs(30));
        assert_eq!(RetryAfter::Seconds(u64::MAX).wait(at(60)), SignedDuration::from_secs(FAR));
    }
}
