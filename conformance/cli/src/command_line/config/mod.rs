//! The source of each option: the command line, the environment, `conform.toml`, or its default.
//!
//! The command line is parsed first by itself, to see which options it sets, and then with the values of the environment and the file
//! added as arguments. So all three accept the same values, with the same messages; [`Configuration::parse`] adds the source to a
//! message. clap does not read the environment, because CI systems set variables to nothing, and leave line breaks and spaces around
//! values.

mod file;
mod member;
mod show;

use std::env::VarError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use self::file::File;
use self::member::Member;
pub(super) use self::member::schema;
pub(super) use self::show::{ShownOptions, without_secrets};
use super::arguments::Arguments;
use super::rerun::Rerun;
use super::selection;
use super::usage_error::{UsageError, did_you_mean};
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

/// The options that name a key.
pub(super) const KEYS: [&str; 4] = ["api_key", "api_key_file", "quota_key", "quota_key_file"];

/// The beginning of the name of each variable that sets an option: `CONFORM_BASE_URL` for `--base-url`.
const PREFIX: &str = "CONFORM_";

/// The variables that set no option of the file: of commands other than judging, and of the file itself.
const OF_OTHER_COMMANDS: [&str; 3] = ["CONFORM_SIDE", "CONFORM_PROXY_URL", "CONFORM_CONFIG"];

/// The values by which a variable switches an option off.
const OFF: [&str; 6] = ["0", "f", "n", "no", "off", "false"];

/// The kind of source of an option, by precedence.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Layer {
    /// The command line.
    Flag,
    /// The selection of the report that a run repeats.
    Report,
    /// An environment variable.
    Variable,
    /// The table of the selected environment.
    Environment,
    /// The top of the file.
    File,
    /// A choice or the address in the report that a run repeats.
    ReportedChoice,
    /// No source sets it.
    Default,
}

/// An option and its source.
#[derive(Clone, Debug)]
struct Setting {
    member: Member,
    layer: Layer,
    /// The source in words, such as `conform.toml, line 3`.
    source: String,
    /// The values. Of a flag only a switch has one here.
    values: Vec<String>,
    /// The variable that the file names for a key.
    key_variable: Option<String>,
    /// The exclusive option that takes precedence.
    overridden_by: Option<&'static str>,
}

/// All options and their sources.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    /// The file that was read, if any.
    file: Option<File>,
    /// The selected environment.
    pub(super) environment: Option<String>,
    settings: Vec<Setting>,
    /// The report that the run repeats.
    rerun: Option<Rerun>,
}

impl Configuration {
    /// Combines the command line, as parsed into `typed`, with the environment and the file that they name or that applies in
    /// `folder`.
    pub(super) fn new(command: &Command, typed: &ArgMatches, folder: &Path) -> Result<Configuration, UsageError> {
        let members = member::members(command);
        let file = read_file(typed, folder, &members)?;
        let rerun = first_value(typed, "rerun", file.as_ref())?;
        let rerun = rerun.map(|path| Rerun::read(Path::new(&path))).transpose()?;
        let environment = select_environment(typed, file.as_ref())?;
        let mut configuration = Configuration { file, environment, settings: Vec::new(), rerun };
        for member in members {
            let setting = configuration.setting(member, typed)?;
            configuration.settings.push(setting);
        }
        for (one, other) in EXCLUSIVE {
            let (Some(a), Some(b)) = (configuration.set(one), configuration.set(other)) else { continue };
            if a.layer == b.layer {
                return Err(UsageError::Exclusive { one, other, origin: a.source.clone() });
            }
            let (winner, loser) = if a.layer < b.layer { (one, other) } else { (other, one) };
            configuration.override_by(winner, loser);
        }
        // Replicas may belong to another service than a base URL from a source of higher precedence, and must not share a run, and a key,
        // with it.
        if let (Some(base_url), Some(replicas)) = (configuration.set("base_url"), configuration.set("replica"))
            && base_url.layer < replicas.layer
        {
            configuration.override_by("base_url", "replica");
        }
        Ok(configuration)
    }

    /// An option with its value from the source of highest precedence.
    fn setting(&self, member: Member, typed: &ArgMatches) -> Result<Setting, UsageError> {
        let (reported, report) = match &self.rerun {
            Some(rerun) => (rerun.values(&member.option()), format!("report {}", rerun.earlier.report)),
            None => (Vec::new(), String::new()),
        };
        let entry = self.file.as_ref().and_then(|file| {
            let entry = file.entry(self.environment.as_deref(), &member.name)?;
            Some((file.place(entry), entry))
        });
        let variable = member.variable();
        let in_variable = value_of(&variable)?.map(|text| member.split(&text)).filter(|values| !values.is_empty());
        let has_environments = self.file.as_ref().is_some_and(|file| !file.environments().is_empty());
        let taken = match member.id() {
            _ if reported.is_empty() => None,
            "skip" | "strict" | "seed" | "cases" => Some(Layer::Report),
            // The key is sent there, and the environments of the file have their own addresses.
            "base_url" | "replica" if has_environments => None,
            "base_url" | "replica" | "profile" | "plan" | "category_id" => Some(Layer::ReportedChoice),
            _ => None,
        };
        let mut key_variable = None;
        let (layer, source, values) = match (in_variable, entry) {
            _ if typed.value_source(member.id()) == Some(ValueSource::CommandLine) => {
                let switch = member.is_switch().then(|| typed.get_flag(member.id()).to_string());
                (Layer::Flag, "command line".to_owned(), switch.into_iter().collect())
            }
            _ if taken == Some(Layer::Report) => (Layer::Report, report, reported),
            (Some(values), _) => (Layer::Variable, format!("environment variable {variable}"), values),
            (None, Some((place, entry))) => {
                let mut values = entry.values.clone();
                if member.is_key() {
                    key_variable = values.pop();
                    let key = key_variable.as_deref().map(value_of).transpose()?;
                    values.extend(key.flatten());
                }
                (if entry.environment.is_some() { Layer::Environment } else { Layer::File }, place, values)
            }
            (None, None) => match taken {
                Some(layer) => (layer, report, reported),
                None => (Layer::Default, "default".to_owned(), Vec::new()),
            },
        };
        Ok(Setting { member, layer, source, values, key_variable, overridden_by: None })
    }

    /// The setting of an option, unless it has its default or is a switch that is off.
    fn set(&self, id: &str) -> Option<&Setting> {
        let setting = self.settings.iter().find(|setting| setting.member.id() == id)?;
        let is_off = |value: &String| OFF.contains(&value.to_ascii_lowercase().as_str());
        let is_off = setting.member.is_switch() && setting.values.iter().any(is_off);
        (setting.layer != Layer::Default && !is_off).then_some(setting)
    }

    /// Marks an option as overridden by another one.
    fn override_by(&mut self, winner: &'static str, loser: &str) {
        for setting in self.settings.iter_mut().filter(|setting| setting.member.id() == loser) {
            setting.overridden_by = Some(winner);
        }
    }

    /// Parses the command line with the values of the environment and the file added as arguments. The error about such a value names its
    /// source.
    pub(super) fn parse(&self, command: &Command, line: &[OsString]) -> Result<ArgMatches, clap::Error> {
        let (program, typed) = line.split_at(1.min(line.len()));
        let mut complete = program.to_vec();
        for setting in &self.settings {
            if setting.overridden_by.is_none() && setting.layer != Layer::Flag {
                complete.extend(setting.member.arguments(&setting.values));
            }
        }
        // The arguments come last: they may end with `--`.
        complete.extend_from_slice(typed);
        command.clone().try_get_matches_from(complete).map_err(|mut error| {
            if let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) {
                let option = argument.split([' ', '[', '=']).next().unwrap_or_default();
                if let Some(setting) = self.settings.iter().find(|setting| setting.member.option() == option) {
                    let argument = format!("{argument} from {}", setting.origin());
                    error.insert(ContextKind::InvalidArg, ContextValue::String(argument));
                }
            }
            error
        })
    }

    /// Adds the settings of the file that have no option, and the keys from files. Checks that there is a target where the file intends
    /// one, and that the variables are set that the file names for keys.
    pub(super) fn finish(&self, arguments: &mut Arguments) -> Result<(), UsageError> {
        if let Some(file) = &self.file {
            arguments.container.table = file.container.clone();
        }
        if arguments.base_url.is_none() && arguments.container.image.is_none() {
            // The embedded server would be judged instead.
            return self.require_no_target();
        }
        let Arguments { api_key, api_key_file, quota_key, quota_key_file, key_variables: [main, quota], .. } =
            arguments;
        *main = self.read_key("api_key", "--api-key-file", api_key, api_key_file.as_deref())?;
        *quota = self.read_key("quota_key", "--quota-key-file", quota_key, quota_key_file.as_deref())?;
        Ok(())
    }

    /// Reads a key from its own file, or else returns the variable that the configuration names for it.
    fn read_key(
        &self,
        id: &str,
        option: &'static str,
        key: &mut Option<ApiKey>,
        path: Option<&Path>,
    ) -> Result<Option<String>, UsageError> {
        if let Some(path) = path {
            *key = Some(selection::key(option, path)?);
            return Ok(None);
        }
        let Some(setting) = self.set(id) else { return Ok(None) };
        match &setting.key_variable {
            Some(variable) if key.is_none() => Err(UsageError::KeyVariable {
                place: setting.source.clone(),
                member: setting.member.name.clone(),
                variable: variable.clone(),
            }),
            variable => Ok(variable.clone()),
        }
    }

    fn require_no_target(&self) -> Result<(), UsageError> {
        if let Some(image) = self.rerun.as_ref().and_then(|rerun| rerun.image.as_ref()) {
            return Err(UsageError::ReportedImage(image.clone()));
        }
        let Some(file) = &self.file else { return Ok(()) };
        let path = file.path.display().to_string();
        let known = file.environments();
        match &self.environment {
            Some(name) => Err(UsageError::NoBaseUrl { path, name: name.clone() }),
            None if known.is_empty() => Ok(()),
            None => Err(UsageError::WhichEnvironment { path, known }),
        }
    }

    /// Notes on unknown variables, and on the options of a report that a run takes and leaves out.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut known: Vec<String> = self.settings.iter().map(|setting| setting.member.variable()).collect();
        known.extend(self.settings.iter().filter_map(|setting| setting.key_variable.clone()));
        known.extend(OF_OTHER_COMMANDS.map(str::to_owned));
        for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
            if name.starts_with(PREFIX) && !known.contains(&name) {
                let meant = did_you_mean(&name, known.iter().map(String::as_str));
                notes.push(format!("the environment variable {name} belongs to no option{meant}"));
            }
        }
        if let Some(rerun) = &self.rerun {
            let (mut taken, mut left_out) = (Vec::new(), Vec::new());
            for setting in self.settings.iter().filter(|setting| setting.layer != Layer::Flag) {
                let option = setting.member.option();
                let values = rerun.values(&option);
                if values.is_empty() {
                    continue;
                }
                let is_reported = matches!(setting.layer, Layer::Report | Layer::ReportedChoice);
                if is_reported && setting.overridden_by.is_none() {
                    let shown: Vec<String> = values.iter().map(|value| without_secrets(value, None)).collect();
                    taken.push(format!("{option} {}", shown.join(", ")));
                } else {
                    left_out.push(option);
                }
            }
            for (verb, options) in [("taken from", taken), ("left out of", left_out)] {
                if !options.is_empty() {
                    notes.push(format!("{verb} report {}: {}", rerun.earlier.report, options.join("; ")));
                }
            }
        }
        notes
    }

    /// Returns true if an option is on the command line.
    pub(super) fn is_typed(&self, id: &str) -> bool {
        self.set(id).is_some_and(|setting| setting.layer == Layer::Flag)
    }
}

impl Setting {
    /// The source of the value.
    fn origin(&self) -> String {
        match &self.key_variable {
            Some(variable) => format!("environment variable {variable}, named in {}", self.source),
            None => self.source.clone(),
        }
    }
}

/// The file that is named, or that applies in the directory.
fn read_file(typed: &ArgMatches, folder: &Path, members: &[Member]) -> Result<Option<File>, UsageError> {
    if typed.get_flag("no_config") {
        return Ok(None);
    }
    let named = first_value(typed, "config", None)?.map(PathBuf::from);
    let Some(path) = named.or_else(|| file::find(folder)) else { return Ok(None) };
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|source| UsageError::Configuration { path: shown(), source })?;
    File::parse(&path, &text, members).map(Some).map_err(|source| UsageError::Toml { path: shown(), source })
}

/// The value of an option that decides on the sources of others: that of the command line, its variable or the file.
fn first_value(typed: &ArgMatches, id: &str, file: Option<&File>) -> Result<Option<OsString>, UsageError> {
    if let Some(value) = typed.get_raw(id).and_then(|mut values| values.next()) {
        return Ok(Some(OsStr::to_owned(value)));
    }
    let in_variable = value_of(&format!("{PREFIX}{}", id.to_uppercase()))?;
    let in_file = || file?.entry(None, id)?.values.first().cloned();
    Ok(in_variable.or_else(in_file).map(OsString::from))
}

/// The selected environment, which the file must define.
fn select_environment(typed: &ArgMatches, file: Option<&File>) -> Result<Option<String>, UsageError> {
    // With --no-config, CONFORM_ENV is ignored: it may be set for other runs.
    if typed.get_flag("no_config") && !typed.contains_id("env") {
        return Ok(None);
    }
    let Some(name) = first_value(typed, "env", file)? else { return Ok(None) };
    let name = name.to_string_lossy().into_owned();
    let Some(file) = file else { return Err(UsageError::NoFile(name)) };
    let known = file.environments();
    if known.contains(&name) {
        return Ok(Some(name));
    }
    Err(UsageError::UnknownEnvironment { path: file.path.display().to_string(), name, known })
}

/// The value of an environment variable, without the spaces and line breaks around it, or `None` if nothing is left.
fn value_of(variable: &str) -> Result<Option<String>, UsageError> {
    match std::env::var(variable) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(UsageError::Variable(variable.to_owned())),
    }
}
