//! Numbers in JSON, with all their digits.

/// A JSON number, as it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Number {
    /// The number as it was written.
    pub text: String,
    /// The value of the number as an int64, or the reason why it has none.
    pub whole: Whole,
}

/// The value of a number as an int64, or the reason why it has none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Whole {
    /// A whole number within int64.
    Int64(i64),
    /// A whole number outside int64.
    OutOfRange,
    /// A number with a fraction.
    Fraction,
}

impl Number {
    pub(super) fn new(text: &str) -> Number {
        Number { text: text.to_owned(), whole: Whole::of(text) }
    }
}

impl Whole {
    /// Reads a number as an int64 by its decimal digits, without a double. `1.50e1` has the significant digits `15` and the scale 0.
    fn of(text: &str) -> Whole {
        if !text.contains(['.', 'e', 'E']) {
            return text.parse().map_or(Whole::OutOfRange, Whole::Int64);
        }
        let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (integral, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{integral}{fraction}");
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Whole::Int64(0);
        }
        // An exponent that is too large for i64 decides by its sign alone.
        let exponent = exponent.trim_start_matches('+').parse::<i64>().unwrap_or(if exponent.starts_with('-') {
            i64::MIN / 2
        } else {
            i64::MAX / 2
        });
        let trailing = (digits.len() - digits.trim_end_matches('0').len()) as i64;
        let scale = exponent.saturating_sub(fraction.len() as i64).saturating_add(trailing);
        if scale < 0 {
            return Whole::Fraction;
        }
        if scale.saturating_add(significant.len() as i64) > 19 {
            return Whole::OutOfRange;
        }
        let integer = format!("{sign}{significant}{}", "0".repeat(scale as usize));
        integer.parse().map_or(Whole::OutOfRange, Whole::Int64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str) -> Whole {
        Number::new(text).whole
    }

    #[test]
    fn numbers_are_read_by_their_decimal_digits() {
        for (text, expected) in [
            ("0", Whole::Int64(0)),
            ("-0", Whole::Int64(0)),
            ("0.000", Whole::Int64(0)),
            ("7", Whole::Int64(7)),
            ("7.0", Whole::Int64(7)),
            ("70e-1", Whole::Int64(7)),
            ("0.7e1", Whole::Int64(7)),
            ("7E+2", Whole::Int64(700)),
            ("7.5", Whole::Fraction),
            ("1e-400", Whole::Fraction),
            ("9007199254740993", Whole::Int64(9_007_199_254_740_993)),
            ("9223372036854775807", Whole::Int64(i64::MAX)),
            ("-9223372036854775808", Whole::Int64(i64::MIN)),
            ("9223372036854775808", Whole::OutOfRange),
            ("-9223372036854775809", Whole::OutOfRange),
            ("9.223372036854775807e18", Whole::Int64(i64::MAX)),
            ("1e400", Whole::OutOfRange),
            ("1e99999999999999999999", Whole::OutOfRange),
            ("1e9223372036854775807", Whole::OutOfRange),
            ("10e9223372036854775807", Whole::OutOfRange),
            ("1e-9223372036854775808", Whole::Fraction),
            ("1e-99999999999999999999", Whole::Fraction),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn every_int64_survives(value: i64) {
            prop_assert_eq!(whole(&value.to_string()), Whole::Int64(value));
            prop_assert_eq!(whole(&format!("{value}.0")), Whole::Int64(value));
            prop_assert_eq!(whole(&format!("{value}0e-1")), Whole::Int64(value));
        }
    }
}
