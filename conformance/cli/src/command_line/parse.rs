//! From a command line to an invocation.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue};

use super::arguments::{Arguments, Command, command};
use super::config::{self, Configuration};
use super::dry_run;
use super::output::{complete, print, say, usage};
use super::run::Invocation;
use super::usage_error::UsageError;
use crate::exit_code::ExitCode;
use animal_store_conformance::redaction::{HIDDEN, Printable, without_secrets};

/// Reads a command line, program name first, with the environment and the configuration file.
///
/// # Errors
///
/// The exit code, when there is nothing to judge: the command line requests help, another command or the configuration, or is
/// invalid. The output has been printed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, ExitCode> {
    let line: Vec<OsString> = args.into_iter().collect();
    let definition = command();
    let typed = definition.clone().try_get_matches_from(&line).map_err(clap_exit)?;
    let arguments = Arguments::from_arg_matches(&typed).map_err(clap_exit)?;
    if let Some(command) = &arguments.command {
        return Err(run(command, program(&line))?);
    }
    // A directory that was deleted contains no file.
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::new());
    let configuration = Configuration::new(&definition, &typed, &folder).map_err(|error| usage(&error))?;
    let complete = configuration.parse(&definition, &line).map_err(clap_exit)?;
    let mut arguments = Arguments::from_arg_matches(&complete).map_err(clap_exit)?;
    if !arguments.quiet {
        configuration.notes().iter().for_each(|note| say(format!("note: {note}")));
    }
    let shown = arguments.dry_run.then(|| configuration.shown(&complete));
    if let Err(error) = complete_target(&configuration, &mut arguments) {
        return Err(dry_run::refuse(shown.as_ref(), arguments.format, &error));
    }
    // The selected environment, whichever source selects it.
    arguments.env.clone_from(&configuration.environment);
    Ok(Invocation { program: program(&line), arguments, shown, clock: None })
}

/// Adds the keys to the target, and checks that no option lacks its target.
fn complete_target(configuration: &Configuration, arguments: &mut Arguments) -> Result<(), UsageError> {
    configuration.finish(arguments)?;
    if arguments.base_url.is_none() && !arguments.replica.is_empty() {
        return Err(UsageError::ReplicaWithoutTarget);
    }
    if arguments.base_url.is_none() && arguments.unix_socket.is_some() {
        return Err(UsageError::SocketWithoutTarget);
    }
    let has_target = arguments.base_url.is_some() || arguments.container.image.is_some();
    if !has_target && config::KEYS.iter().any(|key| configuration.is_typed(key)) {
        return Err(UsageError::KeyWithoutTarget);
    }
    Ok(())
}

/// The name that the program was called by.
fn program(line: &[OsString]) -> String {
    line.first().map_or_else(String::new, |program| program.to_string_lossy().into_owned())
}

/// Runs a command other than judging a server.
fn run(command: &Command, program: String) -> Result<ExitCode, ExitCode> {
    match command {
        Command::Compare(compare) => compare.run(),
        Command::Completions(completions) => Ok(completions.run(super::arguments::command())),
        Command::Diff(diff) => diff.run(),
        Command::Init(init) => init.run(&config::schema(&super::arguments::command())),
        Command::Man(man) => man.run(super::arguments::command()),
        Command::Judge(judge) => judge.run(program),
        Command::Proxy(proxy) => complete(proxy.run(program)),
        Command::Rules(rules) => rules.run(),
    }
}

fn clap_exit(mut error: clap::Error) -> ExitCode {
    // For clap, help and version are errors that go to standard output.
    if !error.use_stderr() {
        return print(Printable::styled(&error.render().ansi().to_string()), ExitCode::Success);
    }
    let stray = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].into_iter().find_map(|kind| error.get(kind));
    if let Some(ContextValue::String(text)) = stray
        && ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
    {
        return usage(&UsageError::StrayAddress(without_secrets(text)));
    }
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        let is_hidden = HIDDEN_VALUES.iter().any(|option| argument.starts_with(option));
        let shown = if is_hidden { HIDDEN.to_owned() } else { config::without_secrets(value, None) };
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
    }
    say(Printable::styled(&error.render().ansi().to_string()).without_end());
    ExitCode::Usage
}

/// The options whose values are secrets, or contain some.
const HIDDEN_VALUES: [&str; 4] = ["--api-key", "--quota-key", "--header", "--container-env"];
