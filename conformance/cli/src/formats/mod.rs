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
    /// Renders a report. No character of the document can control a terminal or hide text.
    pub fn render(&self, report: &Report) -> Printable {
        (self.gate)(&(self.render)(report))
    }
}

/// Every report format, except the text for a terminal.
pub static FORMATS: &[Format] = &[
    Format { name: "json", about: "Complete report for programs", render: json::render, gate: Printable::json },
    Format { name: "html", about: "HTML page", render: html::render, gate: Printable::document },
    Format {
        name: "junit",
        about: "JUnit XML test results for CI systems",
        render: junit::render,
        gate: Printable::document,
    },
    Format { name: "markdown", about: "GitHub job summary", render: markdown::render, gate: Printable::document },
    Format { name: "sarif", about: "SARIF results for code scanning", render: sarif::render, gate: Printable::json },
    Format { name: "github", about: "GitHub Actions annotations", render: github::render, gate: Printable::document },
    Format { name: "har", about: "HTTP Archive with every exchange", render: har::render, gate: Printable::json },
];

/// The format of this name.
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The names of the formats, for a message: `json, html`.
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
