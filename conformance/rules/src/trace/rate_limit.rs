//! The rate-limit headers of a response.

use crate::tolerance::Tolerance;
use crate::trace::exchange::Response;

/// `X-RateLimit-Limit`, in lower case, as header fields are named here.
pub const LIMIT: &str = "x-ratelimit-limit";
/// `X-RateLimit-Remaining`
pub const REMAINING: &str = "x-ratelimit-remaining";
/// `X-RateLimit-Reset`
pub const RESET: &str = "x-ratelimit-reset";
/// The three rate-limit header fields.
pub const FIELDS: [&str; 3] = [LIMIT, REMAINING, RESET];

/// The greatest distance of a time from 1970, in seconds (3 million years). Times further away are brought back to it, so that no sum
/// overflows.
const FAR: i64 = 100_000_000_000_000;

/// The reading of one rate-limit header field of a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Field {
    /// The response does not have the field.
    Missing,
    /// The response has the field more than once.
    Repeated,
    /// The value is not an integer: its text.
    Malformed(String),
    /// The value is an integer.
    Integer(i64),
}

impl Field {
    fn read(response: &Response, name: &str) -> Field {
        let mut values = response.values(name);
        let Some(text) = values.next() else { return Field::Missing };
        if values.next().is_some() {
            return Field::Repeated;
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        match text.parse() {
            Ok(integer) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Field::Integer(integer),
            _ => Field::Malformed(text.to_owned()),
        }
    }

    /// The value, if it is an integer.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Field::Integer(integer) => Some(*integer),
            _ => None,
        }
    }
}

/// The three rate-limit header fields of a response.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RateHeaders {
    /// `X-RateLimit-Limit`
    pub limit: Field,
    /// `X-RateLimit-Remaining`
    pub remaining: Field,
    /// `X-RateLimit-Reset`
    pub reset: Field,
}

/// Reads the rate-limit header fields of a response.
pub fn read(response: &Response) -> RateHeaders {
    RateHeaders {
        limit: Field::read(response, LIMIT),
        remaining: Field::read(response, REMAINING),
        reset: Field::read(response, RESET),
    }
}

/// The state of a window as the three rate-limit header fields of a response report it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Window {
    /// The number of requests that the window admits.
    pub limit: u64,
    /// The number of requests that remain in the window.
    pub remaining: u64,
    /// The Unix time, in seconds, at which the window ends.
    pub reset: i64,
}

impl Window {
    /// Returns true if two responses report one window: the same limit, and ends no further apart than rounding explains.
    #[must_use]
    pub fn is_same(self, other: Window) -> bool {
        self.limit == other.limit && (self.reset - other.reset).abs() <= Tolerance::ROUNDING.seconds()
    }
}

impl RateHeaders {
    /// The three fields with their names, in the order of [`FIELDS`].
    pub fn fields(&self) -> [(&'static str, &Field); 3] {
        [
            ("X-RateLimit-Limit", &self.limit),
            ("X-RateLimit-Remaining", &self.remaining),
            ("X-RateLimit-Reset", &self.reset),
        ]
    }

    /// The window, if all three fields are integers and neither the limit nor the remaining number is negative.
    pub fn window(&self) -> Option<Window> {
        Some(Window {
            limit: self.limit.integer()?.try_into().ok()?,
            remaining: self.remaining.integer()?.try_into().ok()?,
            reset: self.reset.integer()?.clamp(-FAR, FAR),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(values: &[&str]) -> Field {
        let headers = values.iter().map(|value| (LIMIT.to_owned(), (*value).to_owned())).collect();
        Field::read(&Response { status: 200, headers, body: Vec::new(), cut: false }, LIMIT)
    }

    #[test]
    fn only_one_plain_integer_is_an_integer() {
        assert_eq!(field(&["60"]), Field::Integer(60));
        assert_eq!(field(&["-1"]), Field::Integer(-1));
        assert_eq!(field(&[]), Field::Missing);
        assert_eq!(field(&["60", "60"]), Field::Repeated);
        for text in ["", "60.0", "+60", "6e1", "60, 60", "unlimited", "99999999999999999999", "-"] {
            assert_eq!(field(&[text]), Field::Malformed(text.to_owned()));
        }
    }
}
