//! What is changed, and which tests have to notice.

use clap::ValueEnum;

/// What is changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Subject {
    /// The rules of the judge, against recorded traces that are edited
    Rules,
    /// The reference server, against its own tests and the judge
    Reference,
}

/// Tests that are asked in one go.
#[derive(Debug)]
pub(super) struct Tests {
    /// Their package.
    pub(super) package: &'static str,
    /// Which of its test programs is built and run.
    pub(super) program: &'static str,
    /// The names of the tests, or the beginning of them; all when empty.
    pub(super) only: &'static [&'static str],
}

const RULES: &str = "animal-store-rules";
const JUDGE: &str = "animal-store-conformance";
const REFERENCE: &str = "animal-store-reference";

impl Subject {
    /// How the command line calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Rules => "rules",
            Subject::Reference => "reference",
        }
    }

    /// The package that holds it.
    pub(super) fn package(self) -> &'static str {
        match self {
            Subject::Rules => RULES,
            Subject::Reference => REFERENCE,
        }
    }

    /// Where it lies.
    pub(super) fn files(self) -> &'static str {
        match self {
            Subject::Rules => "conformance/rules/src/**",
            Subject::Reference => "reference/src/**",
        }
    }

    /// The tests that have to notice, the quickest first: what they notice the others are not asked about.
    pub(super) fn passes(self) -> &'static [Tests] {
        match self {
            Subject::Rules => &[
                Tests { package: RULES, program: "--lib", only: &[] },
                Tests { package: RULES, program: "--test=edits", only: &["messages::"] },
                Tests { package: RULES, program: "--test=edits", only: &[] },
            ],
            Subject::Reference => &[
                Tests { package: REFERENCE, program: "--lib", only: &[] },
                Tests { package: REFERENCE, program: "--test=it", only: &[] },
                Tests {
                    package: JUDGE,
                    program: "--test=it",

                    only: &[
                        "the_reference_conforms_on_a_pro",
                        "the_reference_conforms_after",
                        "the_transcript_of_the_tour",
                    ],
                },
            ],
        }
    }
}
