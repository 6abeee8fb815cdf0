//! The source of each option: the command line, the environment, `conform.toml`, or its default.
//!
//! The command line is parsed twice: first to see which options it sets, then with the values of the environment and the settings
//! of the file added as arguments. So all three accept the same values, with the same messages. clap does not read the
//! environment, because CI systems set variables to nothing, and leave line breaks and spaces around values.

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
use self::file::File;
pub(super) use self::member::schema;
use self::member::{Member, Value};
pub(super) use self::show::{ShownOptions, without_secrets};
use super::arguments::Arguments;
use super::key_file;
use super::rerun::{Rerun, Taken};
use super::values::Key;
use animal_store_rules::trace::keys::ApiKey;

/// Mutually exclusive options: when both are set, the one from the source of higher precedence applies.
const EXCLUSIVE: &[(&str, &str)] = &[
    ("base_url", "image"),
    ("replica", "image"),
    ("api_key", "api_key_file"),
    ("quota_key", "quota_key_file"),
    ("quiet", "verbose"),
    ("only", "rerun"),
    ("proxy", "unix_socket"),
    ("proxy", "resolve"),
    ("resolve", "unix_socket"),
];

/// The options that name a key, in the order of the keys.
pub(super) const KEYS: [[&str; 2]; 2] = [["api_key", "api_key_file"], ["quota_key", "quota_key_file"]];

/// The beginning of the name of each variable that sets an option: `CONFORM_BASE_URL` for `--base-url`.
const PREFIX: &str = "CONFORM_";

/// The variables of commands other than judging, and of the proxy for its command.
const OF_OTHER_COMMANDS: [&str; 2] = ["CONFORM_SIDE", "CONFORM_PROXY_URL"];

/// The source of an option, by precedence.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Origin {
    /// The command line.
    Flag,
    /// The selection of the report that a run repeats.
    Report(PathBuf),
    /// This environment variable.
    Variable(String),
    /// The table of the selected environment.
    Environment(Place),
    /// The top of the file.
    File(Place),
    /// A choice or the address in the report that a run repeats.
    ReportedChoice(PathBuf),
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
    /// The value in the file or in the environment variable, if that is the source.
    given: Option<Value>,
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
    /// The report that the run repeats.
    rerun: Option<Rerun>,
}

impl Configuration {
    /// Combines the command line, as parsed into `typed`, with the environment and the file that they name or that applies in
    /// `folder`.
    pub(super) fn new(command: &Command, typed: &ArgMatches, folder: &Path) -> Result<Configuration, ConfigError> {
        let members = member::members(command);
        let file = read(command, typed, folder, &members)?;
        let rerun = rerun(typed, file.as_ref())?;
        let environment = select_environment(typed, file.as_ref())?;
        let settings: Result<Vec<Setting>, ConfigError> = members
            .into_iter()
            .map(|member| setting(member, command, typed, rerun.as_ref(), file.as_ref(), environment.as_deref()))
            .collect();
        let mut settings = settings?;
        for (one, other) in EXCLUSIVE {
            settle(&mut settings, one, other)?;
        }
        leave_replicas(&mut settings);
        Ok(Configuration { file, environment, settings, rerun })
    }

    /// The command line with the values of the environment and the settings of the file added.
    pub(super) fn complete(&self, line: &[OsString]) -> Vec<OsString> {
        let (program, typed) = line.split_at(1.min(line.len()));
        // The arguments come last: they may end with `--`.
        let mut complete = program.to_vec();
        let elsewhere = |setting: &&Setting| setting.overridden_by.is_none() && setting.origin != Origin::Flag;
        for setting in self.settings.iter().filter(elsewhere) {
            if let Some(Value::Typed(values)) = &setting.given {
                complete.extend(values.iter().map(|value| OsString::from(setting.member.argument(value))));
            }
        }
        complete.extend_from_slice(typed);
        complete
    }

    /// Adds the settings of the file that have no option, and the keys from the variables that the file names. Checks that there is a target
    /// where the file intends one.
    pub(super) fn finish(&self, arguments: &mut Arguments) -> Result<(), ConfigError> {
        if let Some(file) = &self.file {
            arguments.container.table = file.container.clone();
        }
        if arguments.base_url.is_none() && arguments.container.image.is_none() {
            // The embedded server would be judged instead.
            return self.require_no_target();
        }
        let [main, quota] = &mut arguments.key_variables;
        *main = self.read_key(KEYS[0], &mut arguments.api_key, arguments.api_key_file.as_deref())?;
        *quota = self.read_key(KEYS[1], &mut arguments.quota_key, arguments.quota_key_file.as_deref())?;
        Ok(())
    }

    /// Reads a key from the variable that the file names, or from its own file, and returns the variable.
    fn read_key(
        &self,
        [id, in_file]: [&'static str; 2],
        key: &mut Option<Key>,
        path: Option<&Path>,
    ) -> Result<Option<String>, ConfigError> {
        let mut from = None;
        let setting = self.settings.iter().find(|setting| setting.member.id == id && setting.overridden_by.is_none());
        if let Some(setting) = setting
            && let Some(Value::InVariable(variable)) = &setting.given
        {
            *key = Some(setting.key(variable)?);
            from = Some(variable.clone());
        }
        if let Some(path) = path {
            let no_key = |source| ConfigError::NoKey { option: in_file.replace('_', "-"), source };
            *key = Some(key_file::read(path).map_err(no_key)?);
            from = None;
        }
        Ok(from)
    }

    fn require_no_target(&self) -> Result<(), ConfigError> {
        if let Some(image) = self.rerun.as_ref().and_then(|rerun| rerun.image.as_ref()) {
            return Err(ConfigError::ReportedImage(image.clone()));
        }
        let Some(file) = &self.file else { return Ok(()) };
        let path = file.path.display().to_string();
        let known = file.environments();
        match &self.environment {
            Some(name) => Err(ConfigError::NoTarget { path, name: name.clone() }),
            None if known.is_empty() => Ok(()),
            None => Err(ConfigError::WhichEnvironment { path, known }),
        }
    }

    /// A note for each environment variable that begins with [`PREFIX`] and belongs to no option.
    pub(super) fn unknown_variables(&self) -> Vec<String> {
        let of_options = self.settings.iter().map(|setting| setting.member.variable.as_str());
        let named = self.settings.iter().filter_map(|setting| match &setting.given {
            Some(Value::InVariable(variable)) => Some(variable.as_str()),
            _ => None,
        });
        let known: Vec<&str> = of_options.chain(named).chain(OF_OTHER_COMMANDS).chain(["CONFORM_CONFIG"]).collect();
        let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let unknown = variables.filter(|name| name.starts_with(PREFIX) && !known.contains(&name.as_str()));
        unknown
            .map(|name| {
                let meant = file::nearest(&name, known.iter().copied());
                let meant = meant.map_or_else(String::new, |meant| format!(": did you mean {meant}?"));
                format!("the environment variable {name} belongs to no option{meant}")
            })
            .collect()
    }

    /// Notes on the options of a report that a run takes and leaves out, and one for each variable that overrides the target or a key of the
    /// selected environment.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes_on_report().into_iter().chain(self.overriding_variables()).collect()
    }

    fn notes_on_report(&self) -> Vec<String> {
        let Some(rerun) = &self.rerun else { return Vec::new() };
        let (mut taken, mut left_out) = (Vec::new(), Vec::new());
        for setting in self.settings.iter().filter(|setting| setting.origin != Origin::Flag) {
            let option = setting.member.option();
            let values = rerun.values(&option);
            match setting.origin {
                _ if values.is_empty() => {}
                Origin::Report(_) | Origin::ReportedChoice(_) if setting.overridden_by.is_none() => {
                    let shown: Vec<String> = values.iter().map(|value| without_secrets(value, None)).collect();
                    taken.push(format!("{option} {}", shown.join(", ")));
                }
                _ => left_out.push(option),
            }
        }
        let report = &rerun.earlier.report;
        let note = |what: &str, options: Vec<String>| {
            (!options.is_empty()).then(|| format!("{what} report {report}: {}", options.join("; ")))
        };
        [note("taken from", taken), note("left out of", left_out)].into_iter().flatten().collect()
    }

    fn overriding_variables(&self) -> Vec<String> {
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

    /// The selected environment.
    pub(super) fn environment(&self) -> Option<&String> {
        self.environment.as_ref()
    }

    /// Returns true if an option is on the command line.
    pub(super) fn is_typed(&self, id: &str) -> bool {
        self.settings.iter().any(|setting| setting.member.id == id && setting.origin == Origin::Flag)
    }
}

impl Setting {
    /// The key from a variable that the file names.
    fn key(&self, variable: &str) -> Result<Key, ConfigError> {
        let (place, member, variable) = (self.origin.to_string(), self.member.name.clone(), variable.to_owned());
        match member::value_of(&variable) {
            Err(_) | Ok(None) => Err(ConfigError::NoVariable { place, member, variable }),
            Ok(Some(key)) => match ApiKey::new(key.as_str()) {
                Ok(_) => Ok(Key::from(key)),
                Err(source) => Err(ConfigError::Key { place, member, variable, source }),
            },
        }
    }

    /// Returns true if the option is set to another value than false.
    fn is_set(&self) -> bool {
        self.origin != Origin::Default && self.given != Some(Value::Typed(vec!["false".to_owned()]))
    }
}

/// The file that is named, or that applies in the directory.
fn read(command: &Command, typed: &ArgMatches, folder: &Path, members: &[Member]) -> Result<Option<File>, ConfigError> {
    if typed.get_flag("no_config") {
        return Ok(None);
    }
    let named = typed.get_one::<PathBuf>("config").cloned();
    let named = named.or(variable("CONFORM_CONFIG")?.map(PathBuf::from));
    let Some(path) = named.or_else(|| file::find(folder)) else { return Ok(None) };
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|source| ConfigError::Unreadable { path: shown(), source })?;
    let file = File::parse(&path, &text, members, command);
    file.map(Some).map_err(|source| ConfigError::Invalid { path: shown(), source })
}

/// The report that the run repeats.
fn rerun(typed: &ArgMatches, file: Option<&File>) -> Result<Option<Rerun>, ConfigError> {
    let in_file = || match &file?.entry(None, "rerun")?.value {
        Value::Typed(paths) => paths.first().map(PathBuf::from),
        Value::InVariable(_) => None,
    };
    let named = typed.get_one::<PathBuf>("rerun").cloned().or(variable("CONFORM_RERUN")?.map(PathBuf::from));
    let Some(path) = named.or_else(in_file) else { return Ok(None) };
    Rerun::read(&path).map(Some).map_err(|error| ConfigError::Rerun(Box::new(error)))
}

/// The selected environment, which the file must define.
fn select_environment(typed: &ArgMatches, file: Option<&File>) -> Result<Option<String>, ConfigError> {
    let by_hand = typed.get_one::<String>("env").cloned();
    let by_variable = variable("CONFORM_ENV")?;
    let Some(file) = file else {
        // With --no-config, CONFORM_ENV is ignored: it may be set for other runs.
        let requested = by_hand.or(by_variable.filter(|_| !typed.get_flag("no_config")));
        return requested.map_or(Ok(None), |name| Err(ConfigError::NoFile(name)));
    };
    let in_file = file.entry(None, "env").and_then(|entry| match &entry.value {
        Value::Typed(names) => names.first().cloned(),
        Value::InVariable(_) => None,
    });
    let known = file.environments();
    let Some(name) = by_hand.or(by_variable).or(in_file) else { return Ok(None) };
    if known.contains(&name) {
        return Ok(Some(name));
    }
    Err(ConfigError::UnknownEnvironment { path: file.path.display().to_string(), name, known })
}

fn setting(
    member: Member,
    command: &Command,
    typed: &ArgMatches,
    rerun: Option<&Rerun>,
    file: Option<&File>,
    environment: Option<&str>,
) -> Result<Setting, ConfigError> {
    let taken = rerun.zip(Taken::of(&member.id)).map(|(rerun, taken)| (taken, rerun.values(&member.option())));
    let taken = taken.filter(|(_, values)| !values.is_empty());
    let has_environments = file.is_some_and(|file| !file.environments().is_empty());
    let report = || rerun.map(|rerun| PathBuf::from(&rerun.earlier.report)).unwrap_or_default();
    let (origin, given) = match typed.value_source(&member.id) {
        Some(ValueSource::CommandLine) if member.is_switch() => {
            (Origin::Flag, Some(Value::Typed(vec![typed.get_flag(&member.id).to_string()])))
        }
        Some(ValueSource::CommandLine) => (Origin::Flag, None),
        _ if taken.as_ref().is_some_and(|(taken, _)| *taken == Taken::Selection) => {
            (Origin::Report(report()), taken.map(|(_, values)| Value::Typed(values)))
        }
        _ => match member.in_variable(command) {
            Err(problem) => return Err(ConfigError::Variable { variable: member.variable, problem }),
            Ok(Some(value)) => (Origin::Variable(member.variable.clone()), Some(value)),
            Ok(None) => match file.and_then(|file| file.entry(environment, &member.name).map(|entry| (file, entry))) {
                Some((file, entry)) => {
                    let place = file.place(entry);
                    let in_table = place.environment.is_some();
                    let origin = if in_table { Origin::Environment(place) } else { Origin::File(place) };
                    (origin, Some(entry.value.clone()))
                }
                None => match taken {
                    Some((Taken::Address, _)) if has_environments => (Origin::Default, None),
                    Some((_, values)) => (Origin::ReportedChoice(report()), Some(Value::Typed(values))),
                    None => (Origin::Default, None),
                },
            },
        },
    };
    Ok(Setting { member, origin, given, overridden_by: None })
}

/// The value of a variable that does not belong to a single member.
fn variable(name: &str) -> Result<Option<String>, ConfigError> {
    member::value_of(name).map_err(|problem| ConfigError::Variable { variable: name.to_owned(), problem })
}

/// Marks an exclusive option as overridden, if the other one is set in a source of higher precedence.
fn settle(settings: &mut [Setting], one: &'static str, other: &'static str) -> Result<(), ConfigError> {
    let origin = |id: &str| {
        let setting = settings.iter().find(|setting| setting.member.id == id);
        setting.filter(|setting| setting.is_set()).map(|setting| setting.origin.clone())
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

/// Marks replicas as overridden, if the base URL is from a source of higher precedence. Then they may belong to another service, which must
/// not share a run, and a key, with the base URL.
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
            Origin::Report(path) | Origin::ReportedChoice(path) => write!(f, "report {}", path.display()),
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
