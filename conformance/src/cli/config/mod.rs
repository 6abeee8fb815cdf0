//! The source of each option: the command line, the environment, `conform.toml`, or its default.
//!
//! The command line is parsed twice: first to see which options the command line and the environment set, then with the
//! settings of the file added as arguments. So the file and the command line accept the same values, with the same messages.

mod error;
mod file;
mod member;
mod show;

use std::ffi::OsString;
use std::fmt;
use std::mem::discriminant;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

pub(super) use self::error::ConfigError;
use self::file::{Entry, File};
use self::member::{Member, Value};
use super::arguments::Arguments;
use super::values::Key;
use animal_store_rules::trace::keys::ApiKey;

/// Mutually exclusive options: when both are set, the one from the source of higher precedence applies.
const EXCLUSIVE: &[(&str, &str)] =
    &[("base_url", "image"), ("replica", "image"), ("quiet", "verbose"), ("only", "rerun")];

/// The source of an option, by precedence.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Origin {
    /// The command line.
    Flag,
    /// This environment variable.
    Variable(String),
    /// The table of the selected environment.
    Environment(Place),
    /// The top of the file.
    File(Place),
    /// No source sets it.
    Default,
}

/// A line of the file.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    path: PathBuf,
    line: usize,
    environment: Option<String>,
}

/// An option and its source.
#[derive(Clone, Debug)]
struct Setting {
    member: Member,
    origin: Origin,
    /// Its value in the file, if that is its source.
    in_file: Option<Value>,
    /// The exclusive option that takes precedence.
    overridden_by: Option<&'static str>,
}

/// All options and their sources.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    /// The file that was read, if any.
    file: Option<File>,
    /// The selected environment.
    environment: Option<String>,
    settings: Vec<Setting>,
}

impl Configuration {
    /// Combines the command line and the environment, as parsed into `typed`, with the file that they name or that applies in
    /// `folder`.
    pub(super) fn new(command: &Command, typed: &ArgMatches, folder: &Path) -> Result<Configuration, ConfigError> {
        let members = member::members(command);
        let file = read(command, typed, folder, &members)?;
        let environment = pick(typed, file.as_ref())?;
        let mut settings: Vec<Setting> = members
            .into_iter()
            .map(|member| setting(member, command, typed, file.as_ref(), environment.as_deref()))
            .collect();
        for (one, other) in EXCLUSIVE {
            settle(&mut settings, typed, one, other)?;
        }
        leave_replicas(&mut settings);
        Ok(Configuration { file, environment, settings })
    }

    /// The command line with the settings of the file added, and the definition to parse it with.
    pub(super) fn complete(&self, mut command: Command, line: &[OsString]) -> (Command, Vec<OsString>) {
        let (program, typed) = line.split_at(1.min(line.len()));
        // The arguments come last: they may end with `--`.
        let mut complete = program.to_vec();
        for setting in &self.settings {
            if setting.overridden_by.is_some() {
                command = command.mut_arg(&setting.member.id, |arg| arg.env(None::<&'static str>));
            } else if let Some(Value::Typed(values)) = &setting.in_file {
                complete.extend(values.iter().map(|value| OsString::from(setting.member.argument(value))));
            }
        }
        complete.extend_from_slice(typed);
        (command, complete)
    }

    /// Checks that there is a target where the file intends one, and reads the keys from the variables that the file names.
    pub(super) fn finish(&self, arguments: &mut Arguments) -> Result<(), ConfigError> {
        if arguments.base_url.is_none() && arguments.container.image.is_none() {
            // The embedded server would be judged instead.
            return self.require_no_target();
        }
        let keys = [("api_key", &mut arguments.api_key), ("quota_key", &mut arguments.quota_key)];
        for (id, key) in keys {
            if let Some(setting) = self.settings.iter().find(|setting| setting.member.id == id)
                && let Some(Value::InVariable(variable)) = &setting.in_file
            {
                *key = Some(setting.key(variable)?);
            }
        }
        Ok(())
    }

    fn require_no_target(&self) -> Result<(), ConfigError> {
        let Some(file) = &self.file else { return Ok(()) };
        let path = file.path.display().to_string();
        let known = file.environments();
        match &self.environment {
            Some(name) => Err(ConfigError::NoTarget { path, name: name.clone() }),
            None if known.is_empty() => Ok(()),
            None => Err(ConfigError::WhichEnvironment { path, known }),
        }
    }

    /// A note for each variable that overrides the target or a key of the selected environment.
    pub(super) fn notes(&self) -> Vec<String> {
        let Some((file, name)) = self.file.as_ref().zip(self.environment.as_deref()) else { return Vec::new() };
        let notes = self.settings.iter().filter_map(|setting| {
            let Origin::Variable(variable) = &setting.origin else { return None };
            let member = &setting.member;
            let entry = file.entry_of(name, &member.name)?;
            (member.id == "base_url" || member.is_key())
                .then(|| format!("{variable} overrides {} in {}", member.name, file.place(entry)))
        });
        notes.collect()
    }

    /// Whether an option is on the command line.
    pub(super) fn is_typed(&self, id: &str) -> bool {
        self.settings.iter().any(|setting| setting.member.id == id && setting.origin == Origin::Flag)
    }
}

impl Setting {
    /// The key from a variable that the file names.
    fn key(&self, variable: &str) -> Result<Key, ConfigError> {
        let (place, member, variable) = (self.origin.to_string(), self.member.name.clone(), variable.to_owned());
        match std::env::var(&variable) {
            Err(_) => Err(ConfigError::NoVariable { place, member, variable }),
            Ok(key) => match ApiKey::new(key.as_str()) {
                Ok(_) => Ok(Key::from(key)),
                Err(source) => Err(ConfigError::Key { place, member, variable, source }),
            },
        }
    }

    /// Whether the option is set, other than to false.
    fn is_set(&self, typed: &ArgMatches) -> bool {
        let off = match &self.in_file {
            Some(value) => *value == Value::Typed(vec!["false".to_owned()]),
            None => self.member.is_switch() && !typed.get_flag(&self.member.id),
        };
        self.origin != Origin::Default && !off
    }
}

/// The invalid environment variable, if the command line alone is valid.
pub(super) fn variable_at_fault(definition: &Command, line: &[OsString]) -> Option<ConfigError> {
    let members = member::members(definition);
    let variables: Vec<String> = members.iter().map(|member| member.variable(definition)).collect();
    let definition = definition.clone().mut_args(|arg| arg.env(None::<&'static str>));
    definition.clone().try_get_matches_from(line).ok()?;
    members.iter().zip(variables).find_map(|(member, variable)| {
        let problem = member.check(&std::env::var(&variable).ok()?, &definition).err()?;
        Some(ConfigError::Variable { variable, problem })
    })
}

/// The file that is named, or that applies in the directory.
fn read(command: &Command, typed: &ArgMatches, folder: &Path, members: &[Member]) -> Result<Option<File>, ConfigError> {
    if typed.get_flag("no_config") {
        return Ok(None);
    }
    let named = typed.get_one::<PathBuf>("config").cloned();
    let Some(path) = named.or_else(|| file::find(folder)) else { return Ok(None) };
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|source| ConfigError::Unreadable { path: shown(), source })?;
    let file = File::parse(&path, &text, members, command);
    file.map(Some).map_err(|source| ConfigError::Invalid { path: shown(), source })
}

/// The selected environment, which the file must define.
fn pick(typed: &ArgMatches, file: Option<&File>) -> Result<Option<String>, ConfigError> {
    let requested = typed.get_one::<String>("env");
    let Some(file) = file else {
        // With --no-config, CONFORM_ENV is ignored: it may be set for other runs.
        let by_hand = typed.value_source("env") == Some(ValueSource::CommandLine);
        let requested = requested.filter(|_| by_hand || !typed.get_flag("no_config"));
        return requested.map_or(Ok(None), |name| Err(ConfigError::NoFile(name.clone())));
    };
    let in_file = file.entry(None, "env").and_then(|entry| match &entry.value {
        Value::Typed(names) => names.first(),
        Value::InVariable(_) => None,
    });
    let Some(name) = requested.or(in_file) else { return Ok(None) };
    let known = file.environments();
    if known.contains(name) {
        return Ok(Some(name.clone()));
    }
    Err(ConfigError::UnknownEnvironment { path: file.path.display().to_string(), name: name.clone(), known })
}

fn setting(
    member: Member,
    command: &Command,
    typed: &ArgMatches,
    file: Option<&File>,
    environment: Option<&str>,
) -> Setting {
    let entry: Option<(&File, &Entry)> =
        file.and_then(|file| file.entry(environment, &member.name).map(|entry| (file, entry)));
    let (origin, in_file) = match (typed.value_source(&member.id), entry) {
        (Some(ValueSource::CommandLine), _) => (Origin::Flag, None),
        (Some(ValueSource::EnvVariable), _) => (Origin::Variable(member.variable(command)), None),
        (_, Some((file, entry))) => {
            let place = file.place(entry);
            let origin = if place.environment.is_some() { Origin::Environment(place) } else { Origin::File(place) };
            (origin, Some(entry.value.clone()))
        }
        (_, None) => (Origin::Default, None),
    };
    Setting { member, origin, in_file, overridden_by: None }
}

/// Of two exclusive options that are both set, the one of lower precedence does not apply.
fn settle(
    settings: &mut [Setting],
    typed: &ArgMatches,
    one: &'static str,
    other: &'static str,
) -> Result<(), ConfigError> {
    let origin = |id: &str| {
        let setting = settings.iter().find(|setting| setting.member.id == id);
        setting.filter(|setting| setting.is_set(typed)).map(|setting| setting.origin.clone())
    };
    let (Some(ones), Some(others)) = (origin(one), origin(other)) else { return Ok(()) };
    if discriminant(&ones) == discriminant(&others) {
        return Err(ConfigError::Exclusive { one, other, origin: ones.to_string() });
    }
    let (winner, loser) = if ones < others { (one, other) } else { (other, one) };
    for setting in settings.iter_mut().filter(|setting| setting.member.id == loser) {
        setting.overridden_by = Some(winner);
    }
    Ok(())
}

/// Replicas are those of a base URL. One from a source of higher precedence is that of another service, which must not share a run, and a
/// key, with them.
fn leave_replicas(settings: &mut [Setting]) {
    let origin =
        |id: &str| settings.iter().find(|setting| setting.member.id == id).map(|setting| setting.origin.clone());
    let (Some(base_url), Some(replicas)) = (origin("base_url"), origin("replica")) else { return };
    if replicas != Origin::Default && base_url < replicas && discriminant(&base_url) != discriminant(&replicas) {
        for setting in settings.iter_mut().filter(|setting| setting.member.id == "replica") {
            setting.overridden_by.get_or_insert("base_url");
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => f.write_str("command line"),
            Origin::Variable(name) => write!(f, "environment variable {name}"),
            Origin::Environment(place) | Origin::File(place) => place.fmt(f),
            Origin::Default => f.write_str("default"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.path.display(), self.line)?;
        self.environment.as_ref().map_or(Ok(()), |name| write!(f, ", [environments.{name}]"))
    }
}
