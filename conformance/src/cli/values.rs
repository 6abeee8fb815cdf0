//! Values of options that are more than a text or a number.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::options::{UnusableOptions, normal_base_url};
use crate::report::formats::{self, FORMATS, Format};
use animal_store_rules::catalogue::catalogue;
use animal_store_rules::catalogue::scope::Profile;

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

/// Reads a profile by its name.
pub(super) fn profile() -> impl TypedValueParser<Value = Profile> {
    let value = |profile: Profile| {
        PossibleValue::new(profile.as_str()).help(match profile {
            Profile::Full => "Everything: creates animals, and exhausts a key once",
            Profile::Functional => "Everything but exhausting a key",
            Profile::ReadOnly => "Neither creates animals nor exhausts a key",
        })
    };
    PossibleValuesParser::new(Profile::ALL.map(value)).try_map(|name| name.parse::<Profile>())
}

/// A key as it is given. `Debug` does not show it.
#[derive(Clone, Eq, PartialEq)]
pub(super) struct Key(String);

impl Key {
    /// The key itself.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Key {
    fn from(text: String) -> Key {
        Key(text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
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

/// What to print on standard output after a run.
#[derive(Clone, Copy, Debug)]
pub enum Printed {
    /// The text for people.
    Text,
    /// The report in a format, and nothing else.
    Report(&'static Format),
}

/// How [`Printed`] is typed.
pub(super) fn printed() -> impl TypedValueParser<Value = Printed> {
    let formats = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    let text = PossibleValue::new("text").help("For people");
    PossibleValuesParser::new(std::iter::once(text).chain(formats))
        .map(|name| formats::named(&name).map_or(Printed::Text, Printed::Report))
}

/// What `--report` is for.
pub(super) fn report_help() -> String {
    format!("Write a report to a file (repeatable; one a line in the variable); the formats are {}", formats::names())
}

/// A report to be written: its format and where to.
#[derive(Clone, Debug)]
pub struct ReportFile {
    /// The format.
    pub format: &'static Format,
    /// The file.
    pub path: PathBuf,
}

impl fmt::Display for ReportFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.format.name, self.path.display())
    }
}

impl FromStr for ReportFile {
    type Err = String;

    fn from_str(text: &str) -> Result<ReportFile, String> {
        let (name, path) = text.split_once('=').ok_or("a report is written FORMAT=PATH, such as json=report.json")?;
        let format = formats::named(name)
            .ok_or_else(|| format!("`{name}` is no report format; the formats are {}", formats::names()))?;
        if path.is_empty() {
            return Err(format!("the path is missing, as in {name}=report.{name}"));
        }
        Ok(ReportFile { format, path: PathBuf::from(path) })
    }
}

/// A base address, without the slash at its end.
pub(super) fn base_url(text: &str) -> Result<String, UnusableOptions> {
    normal_base_url(text)
}

/// An identifier of the catalogue, or the beginning of one.
pub(super) fn requirement(text: &str) -> Result<String, String> {
    if catalogue().knows(text) {
        return Ok(text.to_owned());
    }
    Err(format!("no requirement is called so or begins so{}", catalogue().did_you_mean(text)))
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
