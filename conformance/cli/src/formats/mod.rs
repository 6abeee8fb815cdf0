//! The report formats: their names, descriptions and renderers, one file each.
//!
//! A report contains no secret and no terminal control character, so that no renderer can forget to remove them. Renderers compute no
//! verdict.

pub mod github;
pub mod har;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;

mod specification;
mod summary;

use animal_store_conformance::redaction::Printable;
use animal_store_conformance::report::Report;

/// A format.
#[derive(Debug)]
pub struct Format {
    /// The name of the format on the command line.
    pub name: &'static str,
    /// A description for the help.
    pub about: &'static str,
    /// The function that writes the document, before it passes the gate.
    render: fn(&Report) -> String,
    /// The gate that keeps the meaning of the document.
    gate: fn(&str) -> Printable,
}

impl Format {
    const fn new(
        name: &'static str,
        about: &'static str,
        render: fn(&Report) -> String,
        gate: fn(&str) -> Printable,
    ) -> Format {
        Format { name, about, render, gate }
    }

    /// Renders a report. No character of the document can control a terminal or hide text.
    #[must_use]
    pub fn render(&self, report: &Report) -> Printable {
        (self.gate)(&(self.render)(report))
    }
}

/// Every report format, except the text for a terminal.
pub static FORMATS: &[Format] = &[
    Format::new("json", "Complete report for programs", json::render, Printable::json),
    Format::new("html", "HTML page", html::render, Printable::document),
    Format::new("junit", "JUnit XML test results for CI systems", junit::render, Printable::document),
    Format::new("markdown", "GitHub job summary", markdown::render, Printable::document),
    Format::new("sarif", "SARIF results for code scanning", sarif::render, Printable::json),
    Format::new("github", "GitHub Actions annotations", github::render, Printable::document),
    Format::new("har", "HTTP Archive with every exchange", har::render, Printable::json),
];

/// The format of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The names of the formats, for a message: `json, html`.
#[must_use]
pub fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The text that a function writes.
pub(crate) fn written(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _infallible = write(&mut out);
    out
}
