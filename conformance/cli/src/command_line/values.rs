//! Types of option values.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::formats::{self, FORMATS, Format};
use animal_store_rules::catalogue::catalogue;
use animal_store_rules::catalogue::scope::{Profile, Side};

/// Reads a number of requests in a second: `10/s`.
pub(super) fn rate(text: &str) -> Result<NonZeroU32, String> {
    let number = text.strip_suffix("/s").and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("`{text}` does not have the form N/s, such as 10/s"))
}

/// An output format.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Text for a terminal
    #[default]
    Text,
    /// JSON
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

impl Color {
    /// Uses colours as chosen from now on.
    pub(super) fn apply(self) {
        match self {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

/// Reads a profile by its name.
pub(super) fn profile() -> impl TypedValueParser<Value = Profile> {
    let named = |name: String| Profile::ALL.into_iter().find(|profile| profile.as_str() == name);
    PossibleValuesParser::new(Profile::ALL.map(Profile::as_str)).try_map(move |name| named(name).ok_or("not a profile"))
}

/// Reads a side by its name.
pub(super) fn side() -> impl TypedValueParser<Value = Side> {
    let value = |side: Side| {
        PossibleValue::new(side.as_str()).help(match side {
            Side::Server => "What the server does with requests",
            Side::Client => "What its clients do: waiting after a 429, backoff, the place of the key",
            Side::Both => "Both",
        })
    };
    let named = |name: String| Side::ALL.into_iter().find(|side| side.as_str() == name);
    PossibleValuesParser::new(Side::ALL.map(value)).try_map(move |name| named(name).ok_or("not a side"))
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
        let (name, value) = text.split_once(':').ok_or("a header field must have the form `Name: value`")?;
        let (name, value) = (name.trim(), value.trim());
        if reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("`{name}` is not a valid header field name"));
        }
        if reqwest::header::HeaderValue::from_str(value).is_err() {
            return Err("the value contains characters that are not allowed in a header field".to_owned());
        }
        if name.eq_ignore_ascii_case("authorization") {
            return Err("Authorization is set by the judge: give the key with --api-key".to_owned());
        }
        Ok(HeaderField { name: name.to_owned(), value: value.to_owned() })
    }
}

/// The output on standard output after a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Printed {
    /// The report as text.
    Text,
    /// The report in another format.
    Report(&'static Format),
}

impl Printed {
    /// Whether the output is JSON.
    pub(super) fn is_json(self) -> bool {
        matches!(self, Printed::Report(format) if format.name == "json")
    }
}

/// Parses [`Printed`].
pub(super) fn printed() -> impl TypedValueParser<Value = Printed> {
    let formats = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    let text = PossibleValue::new("text").help("Text for a terminal");
    PossibleValuesParser::new(std::iter::once(text).chain(formats))
        .map(|name| formats::named(&name).map_or(Printed::Text, Printed::Report))
}

/// The help of `--report`.
pub(super) fn report_help() -> String {
    format!("Write a report to a file (repeatable); formats: {}", formats::names())
}

/// A report file to write.
#[derive(Clone, Debug)]
pub(super) struct ReportFile {
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
        let (name, path) =
            text.split_once('=').ok_or("a report must have the form FORMAT=PATH, such as json=report.json")?;
        let format = formats::named(name)
            .ok_or_else(|| format!("`{name}` is not a report format; formats: {}", formats::names()))?;
        if path.is_empty() {
            return Err(format!("the path is missing: write {name}=report.{name}"));
        }
        Ok(ReportFile { format, path: PathBuf::from(path) })
    }
}

/// The ID of a requirement, or a prefix of one.
pub(super) fn requirement(text: &str) -> Result<String, String> {
    let text = text.trim();
    if catalogue().knows(text) {
        return Ok(text.to_owned());
    }
    Err(format!("no requirement has this ID or ID prefix{}", catalogue().did_you_mean(text)))
}
