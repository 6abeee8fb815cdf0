//! The members of a configuration file, derived from the definition of the command line, so that no option is forgotten.

use std::any::TypeId;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command};
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::PREFIX;
use crate::command_line::container::Variable;
use crate::command_line::values::{HeaderField, ReportFile};
use animal_store_rules::trace::keys::ApiKey;

/// Options about the file itself, and those that clap adds: they cannot be set in the file.
const ON_THE_LINE_ONLY: &[&str] = &["config", "no_config", "help", "version"];

/// An option, as a member of the file.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The name in the file. It differs from that of the option for keys only.
    pub name: String,
    arg: Arg,
}

/// An error message, and the bytes of the file that it is about.
pub(super) type Mistake = (Range<usize>, String);

/// Every member, in the order of the definition.
pub(super) fn members(command: &Command) -> Vec<Member> {
    let settable = command.get_arguments().filter(|arg| !ON_THE_LINE_ONLY.contains(&arg.get_id().as_str()));
    settable
        .map(|arg| {
            let mut member = Member { name: arg.get_id().to_string(), arg: arg.clone() };
            if member.is_key() {
                member.name.push_str("_env");
            }
            member
        })
        .collect()
}

impl Member {
    /// The name of the option, in which `_` stands for `-`.
    pub(super) fn id(&self) -> &str {
        self.arg.get_id().as_str()
    }

    /// The option of the command line, such as `--base-url`.
    pub(super) fn option(&self) -> String {
        format!("--{}", self.arg.get_long().unwrap_or_default())
    }

    /// The heading of the option in the help.
    pub(super) fn group(&self) -> &str {
        self.arg.get_help_heading().unwrap_or_default()
    }

    /// The environment variable of the option.
    pub(super) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.id().to_uppercase())
    }

    /// The command-line arguments with these values.
    pub(super) fn arguments(&self, values: &[String]) -> Vec<OsString> {
        values.iter().map(|value| format!("{}={value}", self.option()).into()).collect()
    }

    /// Returns true if clap parses the value to this type.
    fn takes<T: 'static>(&self) -> bool {
        self.arg.get_value_parser().type_id() == TypeId::of::<T>()
    }

    /// Returns true if the value is a key.
    pub(super) fn is_key(&self) -> bool {
        self.takes::<ApiKey>()
    }

    /// Returns true if the member is a switch.
    pub(super) fn is_switch(&self) -> bool {
        self.takes::<bool>()
    }

    fn is_list(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::Append)
    }

    /// The separator after which the value may be a secret, if it may.
    pub(super) fn hidden_after(&self) -> Option<&'static str> {
        if self.takes::<HeaderField>() { Some(": ") } else { self.takes::<Variable>().then_some("=") }
    }

    /// The values in the text of an environment variable, without the spaces and line breaks around each of them.
    pub(super) fn split(&self, text: &str) -> Vec<String> {
        let delimiter = self.arg.get_value_delimiter();
        let parts = text.split(|character| Some(character) == delimiter).map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// The values in the file, as on the command line. Paths are relative to `folder`. The value of a key is the name of its variable.
    pub(super) fn values(&self, value: &Spanned<DeValue<'_>>, folder: &Path) -> Result<Vec<String>, Mistake> {
        let parts = match value.get_ref() {
            DeValue::Array(parts) if self.is_list() => parts.as_ref(),
            _ => std::slice::from_ref(value),
        };
        let mut values = Vec::new();
        for part in parts {
            let text = text(part.get_ref()).ok_or_else(|| {
                let or_array = if self.is_list() { ", or an array of them" } else { "" };
                (part.span(), format!("{} takes a string, a number or a boolean{or_array}", self.name))
            })?;
            if self.is_key() && !is_variable(&text) {
                let problem = format!(
                    "{} must be the name of an environment variable in upper case, such as STAGING_KEY, and never a key",
                    self.name
                );
                return Err((part.span(), problem));
            }
            values.push(self.placed(text, folder));
        }
        Ok(values)
    }

    fn placed(&self, text: String, folder: &Path) -> String {
        let path = |path: &str| folder.join(path).display().to_string();
        match text.split_once('=') {
            _ if self.takes::<PathBuf>() && !text.is_empty() => path(&text),
            Some((format, file)) if self.takes::<ReportFile>() && !file.is_empty() => {
                format!("{format}={}", path(file))
            }
            _ => text,
        }
    }

    /// The JSON Schema of the member's value.
    fn schema(&self) -> serde_json::Value {
        let help = self.arg.get_help().map(ToString::to_string).unwrap_or_default();
        let names: Vec<String> =
            self.arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let is_number = self.takes::<u16>() || self.takes::<u64>() || self.takes::<usize>() || self.takes::<i64>();
        let mut value = match () {
            () if is_number => json!({ "type": "integer" }),
            () if self.is_switch() => json!({ "type": "boolean" }),
            () if self.is_key() => json!({ "type": "string", "pattern": "^[A-Z_][A-Z0-9_]*$" }),
            () if !names.is_empty() => json!({ "type": "string", "enum": names }),
            () => json!({ "type": "string" }),
        };
        if self.is_list() {
            value = json!({ "type": "array", "items": value });
        }
        let of_key = if self.is_key() { "Name of the environment variable that holds it: " } else { "" };
        value["description"] = format!("{of_key}{help}").into();
        value
    }
}

/// The JSON Schema of a configuration file, by which editors complete and check it.
pub(in crate::command_line) fn schema(command: &Command) -> serde_json::Value {
    let properties = |is_inside: bool| -> serde_json::Map<String, serde_json::Value> {
        let members = members(command).into_iter().filter(|member| !is_inside || member.id() != "env");
        members.map(|member| (member.name.clone(), member.schema())).collect()
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

/// A value as on the command line, or `None` for an array, a table or a date.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok().map(|it| it.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(on) => Some(on.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Returns true if a text is the name of an environment variable. Upper case is required because keys are seldom all upper case: a key
/// written here by mistake is rejected, and not repeated in the message.
fn is_variable(text: &str) -> bool {
    let capital = |character: char| character.is_ascii_uppercase() || character == '_';
    text.starts_with(capital) && text.chars().all(|character| capital(character) || character.is_ascii_digit())
}
