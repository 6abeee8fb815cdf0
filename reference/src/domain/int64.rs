//! Exact reading of a JSON number as an int64.
//!
//! To JSON Schema, and so to OpenAPI 3.1, `1.0` and `1e3` are integers: the value counts, not its form.
//! Numbers are read digit by digit, because a detour through a double would silently change integers beyond
//! 2^53.

/// The value of `number`, if it is an integer from -2^63 to 2^63-1. `number` must be valid JSON; JSON that is
/// no number has no value.
pub(crate) fn parse(number: &str) -> Option<i64> {
    number.parse().ok().or_else(|| parse_decimal(number))
}

fn parse_decimal(number: &str) -> Option<i64> {
    let (sign, unsigned) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // The value is `significant` times ten to the power of `zeros`. An exponent beyond i64 cannot be met
    // by the digits of any body.
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let zeros = exponent
        .parse::<i64>()
        .ok()?
        .checked_add(i64::try_from(trailing).ok()?)?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros < 20)?;
    format!("{sign}{significant}{}", "0".repeat(zeros)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_exactly_however_they_are_written() {
        for (number, value) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0e5", 0),
            ("0e999999999999999999999", 0),
            ("1.0", 1),
            ("-1.000", -1),
            ("1e3", 1_000),
            ("1E+3", 1_000),
            ("10e-1", 1),
            ("1200.50e2", 120_050),
            ("0.001e3", 1),
            ("9007199254740993", 9_007_199_254_740_993),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("9223372036854775807", i64::MAX),
            ("9223372036854775807.00", i64::MAX),
            ("922337203685477580.7e1", i64::MAX),
            ("-9223372036854775808.0", i64::MIN),
        ] {
            assert_eq!(parse(number), Some(value), "{number}");
        }
    }

    #[test]
    fn everything_else_has_no_value() {
        for number in [
            "1.5",
            "1e-1",
            "0.1",
            "1e19",
            "1e9999999999999999999",
            "1e-9999999999999999999",
            "9223372036854775808",
            "9223372036854775808.0",
            "-9223372036854775809",
            "9223372036854775807.1",
            "null",
            "true",
            "\"1\"",
            "[]",
            "{}",
            "",
        ] {
            assert_eq!(parse(number), None, "{number}");
        }
    }
}
