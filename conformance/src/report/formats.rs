//! The report formats: their names, descriptions and renderers.

use super::{Report, badge, ctrf, github, har, html, in_toto, json, junit, markdown, sarif};

/// A format.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description for the help.
    pub about: &'static str,
    /// The renderer.
    pub render: fn(&Report) -> String,
}

/// Every report format, except the text for a terminal.
pub static FORMATS: [Format; 10] = [
    Format { name: "json", about: "Complete report for programs", render: json::render },
    Format { name: "html", about: "HTML page", render: html::render },
    Format { name: "junit", about: "JUnit XML test results for CI systems", render: junit::render },
    Format { name: "markdown", about: "GitHub job summary", render: markdown::render },
    Format { name: "sarif", about: "SARIF results for code scanning", render: sarif::render },
    Format { name: "github", about: "GitHub Actions annotations", render: github::render },
    Format { name: "har", about: "HTTP Archive with every exchange", render: har::render },
    Format { name: "in-toto", about: "in-toto statement with a test result", render: in_toto::render },
    Format { name: "badge", about: "Badge for the endpoint of shields.io", render: badge::render },
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
