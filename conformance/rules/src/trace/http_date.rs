//! HTTP-dates (RFC 9110 §5.6.7), parsed in one way for the server's clock (`Date`) and for the dates that are judged or obeyed
//! (`Retry-After`, `Sunset`).
//!
//! The parser is strict: a weekday that is not that of the date, or a day without its leading zero, makes the text invalid. White
//! space around a field value is not part of it (§5.5).

use jiff::Timestamp;

/// Reads an HTTP-date in the preferred form or one of the two obsolete ones.
pub fn read(text: &str) -> Option<Timestamp> {
    Timestamp::try_from(httpdate::parse_http_date(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_date_form_is_read_strictly_and_the_obsolete_ones_are_known() {
        for known in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(read(known).map(Timestamp::as_second), Some(784_111_777), "{known}");
        }
        for wrong in [
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "1994-11-06T08:49:37Z",
            "60",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
