//! From a command line to something to run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::FromArgMatches;

use super::arguments::{Arguments, Command, command};
use super::config::{self, Configuration};
use super::init::NotWritten;
use super::output::exit::{COULD_NOT_RUN, USAGE};
use super::output::{print, say, usage};
use super::run::Invocation;
use super::to_options::UsageError;
use super::values::Printed;

/// Reads a command line, program name first, with the environment and the configuration file.
///
/// # Errors
///
/// The exit code, when there is nothing to judge: help, the rules or the configuration were asked for, or the usage is wrong.
/// What there is to say has been printed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, ExitCode> {
    let line: Vec<OsString> = args.into_iter().collect();
    let definition = command();
    let typed = definition.clone().try_get_matches_from(&line);
    let typed = typed.map_err(|error| match config::variable_at_fault(&definition, &line) {
        Some(fault) => usage(&fault),
        None => refuse(&error),
    })?;
    let arguments = Arguments::from_arg_matches(&typed).map_err(|error| refuse(&error))?;
    if let Some(command) = &arguments.command {
        return Err(answer(command));
    }
    // A folder that is gone holds no file.
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::new());
    let configuration = Configuration::new(&definition, &typed, &folder).map_err(|error| usage(&error))?;
    let (definition, whole) = configuration.complete(definition, &line);
    let complete = definition.clone().try_get_matches_from(whole).map_err(|error| refuse(&error))?;
    let mut arguments = Arguments::from_arg_matches(&complete).map_err(|error| refuse(&error))?;
    if arguments.show_config {
        let as_json = matches!(arguments.format, Printed::Report(format) if format.name == "json");
        return Err(print(&configuration.show(&definition, &complete, as_json), ExitCode::SUCCESS));
    }
    configuration.finish(&mut arguments).map_err(|error| usage(&error))?;
    let has_target = arguments.base_url.is_some() || arguments.container.image.is_some();
    if !has_target && ["api_key", "quota_key"].iter().any(|key| configuration.is_typed(key)) {
        return Err(usage(&UsageError::KeyWithoutTarget));
    }
    if !arguments.quiet {
        configuration.notes().iter().for_each(|note| say(&format!("note: {note}")));
    }
    let program = line.first().map_or_else(String::new, |program| program.to_string_lossy().into_owned());
    Ok(Invocation::new(program, arguments))
}

/// What the commands beside judging have to say.
fn answer(command: &Command) -> ExitCode {
    match command {
        Command::Diff(diff) => diff.answer(),
        Command::Init(init) => match init.write() {
            Ok(answer) => print(&answer, ExitCode::SUCCESS),
            Err(error @ NotWritten::Exists(_)) => usage(&error),
            Err(error) => {
                say(&format!("error: {error}"));
                ExitCode::from(COULD_NOT_RUN)
            }
        },
        Command::Rules(rules) => match rules.answer() {
            Ok(answer) => print(&answer, ExitCode::SUCCESS),
            Err(error) => usage(&error),
        },
    }
}

fn refuse(error: &clap::Error) -> ExitCode {
    // Help and version come as errors too, with the exit code 0. Where to print is the error's own affair.
    let _unprintable = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
}
