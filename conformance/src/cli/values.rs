//! Values of options that are more than a text or a number.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A form of output.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// JSON, and nothing else
    Json,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A header field to send.
#[derive(Clone, Debug)]
pub(super) struct HeaderField {
    pub name: String,
    pub value: String,
}

impl FromStr for HeaderField {
    type Err = String;

    fn from_str(text: &str) -> Result<HeaderField, String> {
        let (name, value) = text.split_once(':').ok_or("a header field is written `Name: value`")?;
        let (name, value) = (name.trim(), value.trim());
        if reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("`{name}` cannot be the name of a header field"));
        }
        if reqwest::header::HeaderValue::from_str(value).is_err() {
            return Err("the value holds characters that a header field cannot carry".to_owned());
        }
        if name.eq_ignore_ascii_case("authorization") {
            return Err("the judge sets Authorization itself: give the key with --api-key".to_owned());
        }
        Ok(HeaderField { name: name.to_owned(), value: value.to_owned() })
    }
}

/// A report to be written: its format and where to.
#[derive(Clone, Debug)]
pub struct ReportFile {
    /// The format.
    pub format: FileFormat,
    /// The file.
    pub path: PathBuf,
}

/// A format of report files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FileFormat {
    /// The whole report.
    Json,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileFormat::Json => f.write_str("json"),
        }
    }
}

impl FromStr for ReportFile {
    type Err = String;

    fn from_str(text: &str) -> Result<ReportFile, String> {
        let (format, path) = text.split_once('=').ok_or("a report is written FORMAT=PATH, such as json=report.json")?;
        let format = match format {
            "json" => FileFormat::Json,
            other => return Err(format!("`{other}` is no report format: there is json")),
        };
        if path.is_empty() {
            return Err("the path is missing, as in json=report.json".to_owned());
        }
        Ok(ReportFile { format, path: PathBuf::from(path) })
    }
}

/// The first moment, in UTC, of a day such as 2030-12-05.
pub(super) fn day(text: &str) -> Result<Timestamp, String> {
    let date: Date = text.parse().map_err(|_| "a day is written year-month-day, such as 2030-12-05".to_owned())?;
    date.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorization_is_not_to_be_set_by_hand() {
        assert!("Authorization: Bearer x".parse::<HeaderField>().is_err());
        assert!("X-Tenant: a".parse::<HeaderField>().is_ok());
    }
}
