//! From arguments to an exit code.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};

use super::arguments::{Arguments, Command, UsageError};
use super::dry_run;
use super::values::{Color, FileFormat, OutputFormat};
use crate::judge::{Judge, RunError};
use crate::options::Profile;
use crate::plan::Plan;
use crate::progress::Event;
use crate::report::text::Detail;
use crate::report::{self, Report};

/// The exit codes that are no verdict.
pub mod exit {
    /// Wrong usage, or a configuration that cannot be used: nothing was sent.
    pub const USAGE: u8 = 2;
    /// The run could not take place, or a report could not be written.
    pub const COULD_NOT_RUN: u8 = 3;
}
use exit::{COULD_NOT_RUN, USAGE};

/// A server that stands in when no target is named.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// Its base address.
    pub base_url: String,
    /// A key for it.
    pub api_key: String,
    /// The plan of the key.
    pub plan: Plan,
}

/// A command line, understood.
#[derive(Debug)]
pub struct Invocation {
    arguments: Arguments,
}

/// Reads a command line, program name first.
///
/// # Errors
///
/// The exit code, when there is nothing to judge: help or the rules were asked for, or the usage is wrong. What there is to
/// say has been printed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, ExitCode> {
    let matches = Arguments::command().try_get_matches_from(args).map_err(|error| refuse(&error))?;
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| refuse(&error))?;
    if let Some(Command::Rules(rules)) = &arguments.command {
        return Err(match rules.answer() {
            Ok(answer) => print(&answer, ExitCode::SUCCESS),
            Err(error) => usage(&error),
        });
    }
    let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    if arguments.base_url.is_none() && (typed("api_key") || typed("quota_key")) {
        return Err(usage(&UsageError::KeyWithoutTarget));
    }
    Ok(Invocation { arguments })
}

fn refuse(error: &clap::Error) -> ExitCode {
    // Help and version come as errors too, with the exit code 0. Where to print is the error's own affair.
    let _unprintable = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
}

fn usage(error: &dyn std::error::Error) -> ExitCode {
    say(&format!("error: {error}"));
    ExitCode::from(USAGE)
}

/// Prints on standard output; the exit code, which says so when that is not possible. A reader that left early is content.
fn print(text: &str, code: ExitCode) -> ExitCode {
    match write!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("error: the output cannot be printed: {error}"));
            ExitCode::from(COULD_NOT_RUN)
        }
        _ => code,
    }
}

/// Prints on standard error, whoever reads it.
fn say(text: &str) {
    let _nobody_reads = writeln!(anstream::stderr(), "{text}");
}

impl Invocation {
    /// Whether a server is named.
    #[must_use]
    pub fn has_target(&self) -> bool {
        self.arguments.base_url.is_some()
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.arguments.profile.unwrap_or_default()
    }

    /// The plan, if one is named.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.arguments.plan.as_ref()
    }

    /// Judges this server.
    #[must_use]
    pub fn with_target(mut self, embedded: Embedded) -> Invocation {
        self.arguments.base_url = Some(embedded.base_url);
        self.arguments.api_key = Some(embedded.api_key);
        self.arguments.quota_key = None;
        self.arguments.plan = Some(embedded.plan);
        self
    }

    /// Runs the judge, prints and writes what was asked for, and tells the exit code.
    pub async fn run(self) -> ExitCode {
        match self.arguments.color.unwrap_or_default() {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        let options = match self.arguments.options() {
            Ok(options) => options,
            Err(error) => return usage(&error),
        };
        if self.arguments.dry_run {
            let _nobody_reads = write!(anstream::stdout(), "{}", dry_run::describe(&options));
            return ExitCode::SUCCESS;
        }
        // Before anything is sent: a verdict that cannot be kept is not worth a key's requests.
        for file in &self.arguments.report {
            if let Err(error) = OpenOptions::new().create(true).append(true).open(&file.path) {
                say(&format!(
                    "error: the report {}={} cannot be written: {error}\n  Nothing was sent. Choose a file in a folder that exists and is yours to write.",
                    file.format,
                    file.path.display()
                ));
                return ExitCode::from(COULD_NOT_RUN);
            }
        }
        let (quiet, verbose) = (self.arguments.quiet, self.arguments.verbose);
        let judge = Judge::new(options).listener(move |event| tell(event, quiet, verbose));
        match judge.run().await {
            Ok(report) => self.deliver(&report),
            Err(error) => {
                say(&format!("error: {error}"));
                ExitCode::from(if matches!(error, RunError::Client(_)) { USAGE } else { COULD_NOT_RUN })
            }
        }
    }

    fn deliver(&self, report: &Report) -> ExitCode {
        let detail = match (self.arguments.quiet, self.arguments.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        };
        let text = match self.arguments.format.unwrap_or_default() {
            OutputFormat::Text => report::text::render(report, detail),
            OutputFormat::Json => report::json::render(report),
        };
        let mut code = print(&text, ExitCode::from(report.verdict.exit_code()));
        for file in &self.arguments.report {
            let rendered = match file.format {
                FileFormat::Json => report::json::render(report),
            };
            if let Err(error) = std::fs::write(&file.path, rendered) {
                say(&format!("error: the report {}={} was not written: {error}", file.format, file.path.display()));
                code = ExitCode::from(COULD_NOT_RUN);
            }
        }
        code
    }
}

fn tell(event: &Event, quiet: bool, verbose: bool) {
    match event {
        Event::Waiting { time, reason } if !quiet => {
            say(&format!("waiting {:.1} s for {reason}", time.as_secs_f64()));
        }
        Event::NothingYet { patience, detail } if !quiet => {
            say(&format!("nothing answers yet ({detail}): waiting up to {} s for the server", patience.as_secs()));
        }
        Event::Note(note) if !quiet => say(&format!("note: {note}")),
        Event::Probe(probe) if verbose => say(&format!("probe {probe}")),
        Event::Exchange { number, request, outcome } if verbose => say(&format!("{number:>4} {outcome} {request}")),
        _ => {}
    }
}
