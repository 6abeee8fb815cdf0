//! `--show-config`: the value of each option and its source.

use clap::{Arg, ArgMatches, Command};
use serde::Serialize;

use super::member::Value;
use super::{Configuration, Setting, member};

/// An option in the output.
#[derive(Debug, Serialize)]
struct Row {
    /// The group of the option in the help.
    #[serde(skip)]
    group: String,
    option: String,
    value: String,
    from: String,
}

impl Configuration {
    /// All options. `complete` is the command line with the settings of the file.
    pub(in crate::command_line) fn show(&self, command: &Command, complete: &ArgMatches, as_json: bool) -> String {
        let rows = self.settings.iter().filter_map(|setting| row(setting, command, complete));
        let rows: Vec<Row> = rows.collect();
        if as_json {
            // Rows hold strings only, which always serialize.
            return serde_json::to_string_pretty(&rows).unwrap_or_default() + "\n";
        }
        self.table(&rows)
    }

    fn table(&self, rows: &[Row]) -> String {
        let mut text = match &self.file {
            Some(file) => format!("configuration file: {}\n", file.path.display()),
            None => "no configuration file\n".to_owned(),
        };
        let options = rows.iter().map(|row| row.option.len()).max().unwrap_or_default();
        let values =
            rows.iter().map(|row| row.value.chars().count()).filter(|width| *width <= 40).max().unwrap_or_default();
        let mut group = "";
        for row in rows {
            if row.group != group {
                group = &row.group;
                text.push_str(&format!("\n{group}\n"));
            }
            text.push_str(&format!("  {:options$}  {:values$}  {}\n", row.option, row.value, row.from));
        }
        text.push_str("\nNothing was sent.\n");
        text
    }
}

fn row(setting: &Setting, command: &Command, complete: &ArgMatches) -> Option<Row> {
    let member = &setting.member;
    let arg = command.get_arguments().find(|arg| arg.get_id() == member.id.as_str())?;
    let mut from = setting.origin.to_string();
    let value = match (&setting.given, setting.overridden_by) {
        (_, Some(winner)) => {
            from = format!("overridden by {winner}; {from}");
            default(arg)
        }
        (Some(Value::InVariable(variable)), None) => {
            from = format!("environment variable {variable}, named in {from}");
            if matches!(member::value_of(variable), Ok(Some(_))) { "set".to_owned() } else { "not set".to_owned() }
        }
        _ => match complete.get_raw(&member.id) {
            None => default(arg),
            // `1` and `yes` are `true` as well.
            Some(_) if member.is_switch() => complete.get_flag(&member.id).to_string(),
            Some(_) if member.is_key() => "set".to_owned(),
            Some(values) => {
                let values = values.map(|value| without_secrets(&value.to_string_lossy(), member.hidden_after()));
                values.collect::<Vec<_>>().join(", ")
            }
        },
    };
    let group = arg.get_help_heading().unwrap_or_default().to_owned();
    Some(Row { group, option: member.id.clone(), value, from })
}

/// The default value, as in the help.
fn default(arg: &Arg) -> String {
    let values: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !values.is_empty() {
        return values.join(", ");
    }
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let default = help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
    default.map_or_else(|| "not set".to_owned(), |(default, _)| default.to_owned())
}

/// A value without secrets (of header fields, variables and URLs) and control characters.
fn without_secrets(value: &str, hidden_after: Option<&str>) -> String {
    let mut shown = value.to_owned();
    if let Some(mark) = hidden_after
        && let Some((name, _)) = value.split_once(mark.trim_end())
    {
        shown = format!("{name}{mark}…");
    } else if value.contains("://") || value.contains('@') {
        shown = animal_store_conformance::redaction::without_secrets(value);
    }
    animal_store_conformance::redaction::printable(&shown).replace('\n', " ")
}
