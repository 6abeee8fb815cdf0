//! The formats of reports: their names, whom they are for, and what writes them.

use super::{Report, ctrf, github, har, html, json, junit, markdown, sarif};

/// A format.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Whom it is for, in a few words.
    pub about: &'static str,
    /// What writes it.
    pub render: fn(&Report) -> String,
}

/// Every format that a report can be written in, beside the text for a terminal.
pub static FORMATS: [Format; 8] = [
    Format { name: "json", about: "The whole report, for programs", render: json::render },
    Format { name: "html", about: "One page for a browser, for people", render: html::render },
    Format { name: "junit", about: "Test results, for the dashboard of a CI system", render: junit::render },
    Format { name: "markdown", about: "The summary of a GitHub job", render: markdown::render },
    Format { name: "sarif", about: "What is broken, for code scanning", render: sarif::render },
    Format { name: "github", about: "Annotations of a GitHub Actions step", render: github::render },
    Format { name: "har", about: "Every exchange, for a browser's network panel", render: har::render },
    Format { name: "ctrf", about: "Test results in the Common Test Report Format", render: ctrf::render },
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
