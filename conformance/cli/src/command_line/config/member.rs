//! The members of a configuration file, derived from the definition of the command line, so that no option is forgotten.

use std::any::TypeId;
use std::env::VarError;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::PREFIX;
use crate::command_line::container::Variable;
use crate::command_line::values::{HeaderField, Key, ReportFile};

/// Options about the file itself, and those that clap adds: they cannot be set in the file.
pub(super) const ON_THE_LINE_ONLY: &[&str] = &["config", "no_config", "help", "version"];

/// An option, as a member of the file.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The name in the file.
    pub name: String,
    /// The name of the option. It differs from `name` for keys only.
    pub id: String,
    kind: Kind,
    list: bool,
    /// The character between the values of a list in the variable.
    delimiter: Option<char>,
    long: String,
    /// The environment variable of the option.
    pub variable: String,
}

/// The kind of a member's value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Text,
    Number,
    Switch,
    /// A path, relative to the file.
    Path,
    /// A format and a path, relative to the file.
    Report,
    Header,
    /// A name and a value, which may hold a secret.
    Variable,
    /// The name of the variable that holds a key.
    Key,
}

/// The value of a member.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Value {
    /// The value as on the command line, or each item of an array.
    Typed(Vec<String>),
    /// The environment variable that holds the value.
    InVariable(String),
}

/// An error message, and the bytes of the file that it is about.
pub(super) type Mistake = (Range<usize>, String);

/// Every member, in the order of the definition.
pub(super) fn members(command: &Command) -> Vec<Member> {
    command
        .get_arguments()
        .filter(|arg| !ON_THE_LINE_ONLY.contains(&arg.get_id().as_str()))
        .filter_map(|arg| {
            let (id, long) = (arg.get_id().as_str(), arg.get_long()?);
            let kind = kind(arg);
            let name = if kind == Kind::Key { format!("{id}_env") } else { id.to_owned() };
            let list = matches!(arg.get_action(), ArgAction::Append);
            let variable = format!("{PREFIX}{}", id.to_uppercase());
            let (id, long, delimiter) = (id.to_owned(), long.to_owned(), arg.get_value_delimiter());
            Some(Member { name, id, kind, list, delimiter, long, variable })
        })
        .collect()
}

/// The kind of value that an option takes, by the type that clap parses it to.
fn kind(arg: &Arg) -> Kind {
    let is = |id: TypeId| ValueParser::type_id(arg.get_value_parser()) == id;
    match () {
        () if is(TypeId::of::<bool>()) => Kind::Switch,
        () if is(TypeId::of::<u16>())
            || is(TypeId::of::<u64>())
            || is(TypeId::of::<usize>())
            || is(TypeId::of::<i64>()) =>
        {
            Kind::Number
        }
        () if is(TypeId::of::<PathBuf>()) => Kind::Path,
        () if is(TypeId::of::<ReportFile>()) => Kind::Report,
        () if is(TypeId::of::<HeaderField>()) => Kind::Header,
        () if is(TypeId::of::<Variable>()) => Kind::Variable,
        () if is(TypeId::of::<Key>()) => Kind::Key,
        () => Kind::Text,
    }
}

impl Member {
    /// Returns true if the value is a key.
    pub(super) fn is_key(&self) -> bool {
        self.kind == Kind::Key
    }

    /// The separator after which the value may be a secret, if it may.
    pub(super) fn hidden_after(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Header => Some(": "),
            Kind::Variable => Some("="),
            _ => None,
        }
    }

    /// Returns true if the member is a switch.
    pub(super) fn is_switch(&self) -> bool {
        self.kind == Kind::Switch
    }

    /// The values in the environment variable of the option, without the spaces and line breaks around each of them, or `None` if none
    /// is left. `command` validates them.
    pub(super) fn in_variable(&self, command: &Command) -> Result<Option<Value>, String> {
        let Some(text) = value_of(&self.variable)? else { return Ok(None) };
        let parts: Vec<&str> = match self.delimiter {
            Some(delimiter) => text.split(delimiter).map(str::trim).filter(|part| !part.is_empty()).collect(),
            None => vec![&text],
        };
        for part in &parts {
            self.check(part, command)?;
        }
        let value = |part: &str| match part.to_ascii_lowercase().as_str() {
            "0" | "f" | "n" | "no" | "off" if self.is_switch() => "false".to_owned(),
            _ => part.to_owned(),
        };
        Ok((!parts.is_empty()).then(|| Value::Typed(parts.into_iter().map(value).collect())))
    }

    /// The option of the command line.
    pub(super) fn option(&self) -> String {
        format!("--{}", self.long)
    }

    /// The command-line argument with this value.
    pub(super) fn argument(&self, value: &str) -> String {
        format!("--{}={value}", self.long)
    }

    /// Reads a value. `command` validates it; paths are relative to `folder`.
    pub(super) fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        command: &Command,
        folder: &Path,
    ) -> Result<Value, Mistake> {
        let wrong = |value: &Spanned<DeValue<'_>>| {
            (value.span(), format!("{} must be {}, not {}", self.name, self.wanted(), what(value.get_ref())))
        };
        let parts = match (self.list, value.get_ref()) {
            (false, _) => std::slice::from_ref(value),
            (true, DeValue::Array(parts)) => parts.as_ref(),
            (true, _) => return Err(wrong(value)),
        };
        let mut typed = Vec::new();
        for part in parts {
            let text = self.text(part.get_ref()).ok_or_else(|| wrong(value))?;
            if self.kind == Kind::Key {
                return variable(&self.name, &text).map(Value::InVariable).map_err(|problem| (part.span(), problem));
            }
            let text = self.placed(text, folder);
            self.check(&text, command).map_err(|problem| (part.span(), format!("{}: {problem}", self.name)))?;
            typed.push(text);
        }
        Ok(Value::Typed(typed))
    }

    /// A value as on the command line, or `None` if it is of another type.
    fn text(&self, value: &DeValue<'_>) -> Option<String> {
        match (self.kind, value) {
            (Kind::Number, DeValue::Integer(number)) => {
                i128::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
            }
            (Kind::Switch, DeValue::Boolean(on)) => Some(on.to_string()),
            (Kind::Number | Kind::Switch, _) => None,
            (_, DeValue::String(text)) => Some(text.to_string()),
            _ => None,
        }
    }

    fn placed(&self, text: String, folder: &Path) -> String {
        let path = |path: &str| folder.join(path).display().to_string();
        match (self.kind, text.split_once('=')) {
            (Kind::Path, _) if !text.is_empty() => path(&text),
            (Kind::Report, Some((format, file))) if !file.is_empty() => format!("{format}={}", path(file)),
            _ => text,
        }
    }

    /// Checks that the command line accepts the value. Combinations of options are checked later.
    pub(super) fn check(&self, text: &str, command: &Command) -> Result<(), String> {
        match command.clone().try_get_matches_from([command.get_name(), &self.argument(text)]) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) => {
                Err(reason(&error, text))
            }
            _ => Ok(()),
        }
    }

    /// The JSON Schema of the member's value.
    fn schema(&self, command: &Command) -> serde_json::Value {
        let arg = command.get_arguments().find(|arg| arg.get_id() == self.id.as_str());
        let help = arg.and_then(Arg::get_help).map(ToString::to_string).unwrap_or_default();
        let values: Vec<String> = arg.map_or_else(Vec::new, |arg| {
            arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
        });
        let mut value = match self.kind {
            Kind::Number => json!({ "type": "integer" }),
            Kind::Switch => json!({ "type": "boolean" }),
            Kind::Key => json!({ "type": "string", "pattern": "^[A-Z_][A-Z0-9_]*$" }),
            Kind::Text if !values.is_empty() => json!({ "type": "string", "enum": values }),
            _ => json!({ "type": "string" }),
        };
        if self.list {
            value = json!({ "type": "array", "items": value });
        }
        let of_key = if self.is_key() { "Name of the environment variable that holds it: " } else { "" };
        value["description"] = format!("{of_key}{help}").into();
        value
    }

    /// A description of the expected value.
    fn wanted(&self) -> &'static str {
        match (self.kind, self.list) {
            (Kind::Number, _) => "an integer, such as 10",
            (Kind::Switch, _) => "true or false",
            (Kind::Path, false) => "a path as a string, such as \"known-failing.toml\"",
            (Kind::Report, _) => "an array of strings, such as [\"json=report.json\"]",
            (Kind::Header, _) => "an array of strings, such as [\"X-Tenant: staging\"]",
            (Kind::Variable, _) => "an array of strings, such as [\"LOG=debug\", \"DATABASE_PASSWORD\"]",
            (Kind::Key, _) => "the name of an environment variable as a string, such as \"STAGING_KEY\"",
            (Kind::Text | Kind::Path, true) => "an array of strings, such as [\"list\", \"get.success\"]",
            (Kind::Text, false) => "a string",
        }
    }
}

/// The JSON Schema of a configuration file, by which editors complete and check it.
pub(in crate::command_line) fn schema(command: &Command) -> serde_json::Value {
    let properties = |is_inside: bool| -> serde_json::Map<String, serde_json::Value> {
        let members = members(command).into_iter().filter(|member| !is_inside || member.id != "env");
        members.map(|member| (member.name.clone(), member.schema(command))).collect()
    };
    let mut top = properties(false);
    let table = json!({ "type": "object", "properties": properties(true), "additionalProperties": false });
    let about = "Settings of one environment, which --env selects";
    top.insert(
        "environments".to_owned(),
        json!({ "type": "object", "description": about, "additionalProperties": table }),
    );
    let container = json!({
        "args": { "type": "array", "items": { "type": "string" } },
        "path": { "type": "string" },
        "ready_timeout": { "type": "integer" },
    });
    let about = "Settings of the container of image that have no option";
    top.insert(
        "container".to_owned(),
        json!({ "type": "object", "description": about, "properties": container, "additionalProperties": false }),
    );
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "conform.toml",
        "type": "object",
        "properties": top,
        "additionalProperties": false,
    })
}

/// The value of an environment variable, without the spaces and line breaks around it, or `None` if nothing is left.
pub(super) fn value_of(variable: &str) -> Result<Option<String>, String> {
    match std::env::var(variable) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err("the value is not valid UTF-8".to_owned()),
    }
}

/// A description of the type of a value.
fn what(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// The reason for which clap rejects a value, without the name of the command-line option.
fn reason(error: &clap::Error, text: &str) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) => format!("`{text}` is not one of {}", valid.join(", ")),
        _ => error.to_string(),
    }
}

/// Checks the name of an environment variable. Upper case is required because keys are seldom all upper case: a key written
/// here by mistake is rejected, and not repeated in the message.
fn variable(member: &str, text: &str) -> Result<String, String> {
    let capital = |character: char| character.is_ascii_uppercase() || character == '_';
    if text.starts_with(capital) && text.chars().all(|character| capital(character) || character.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "{member} must be the name of an environment variable in upper case, such as STAGING_KEY, and never a key"
    ))
}
