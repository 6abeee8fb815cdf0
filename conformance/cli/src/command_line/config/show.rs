//! The value of each option and its source, which `--dry-run` prints.

use clap::ArgMatches;
use serde::Serialize;

use super::Configuration;

/// All options of a run with their sources. They contain no secret.
#[derive(Debug, Serialize)]
pub(in crate::command_line) struct ShownOptions {
    pub(in crate::command_line) configuration_file: Option<String>,
    pub(in crate::command_line) options: Vec<Row>,
}

/// An option with its source.
#[derive(Debug, Serialize)]
pub(in crate::command_line) struct Row {
    /// The group of the option in the help.
    #[serde(skip)]
    group: String,
    option: String,
    value: String,
    from: String,
}

impl Configuration {
    /// All options. `complete` is the command line with the settings of the file.
    pub(in crate::command_line) fn shown(&self, complete: &ArgMatches) -> ShownOptions {
        let configuration_file = self.file.as_ref().map(|file| file.path.display().to_string());
        let mut options = Vec::new();
        for setting in &self.settings {
            let member = &setting.member;
            let from = match setting.overridden_by {
                Some(winner) => format!("overridden by {winner}; {}", setting.origin()),
                None => setting.origin(),
            };
            let value = match complete.get_raw(member.id()) {
                None => "not set".to_owned(),
                // `1` and `yes` are `true` as well.
                Some(_) if member.is_switch() => complete.get_flag(member.id()).to_string(),
                Some(_) if member.is_key() => "set".to_owned(),
                Some(values) => {
                    let values = values.map(|value| without_secrets(&value.to_string_lossy(), member.hidden_after()));
                    values.collect::<Vec<_>>().join(", ")
                }
            };
            options.push(Row { group: member.group().to_owned(), option: member.id().to_owned(), value, from });
        }
        ShownOptions { configuration_file, options }
    }
}

impl ShownOptions {
    /// The options as a table for each group.
    pub(in crate::command_line) fn table(&self) -> String {
        let mut text = match &self.configuration_file {
            Some(path) => format!("configuration file: {path}\n"),
            None => "no configuration file\n".to_owned(),
        };
        let options = self.options.iter().map(|row| row.option.len()).max().unwrap_or_default();
        let widths = self.options.iter().map(|row| row.value.chars().count());
        let values = widths.filter(|width| *width <= 40).max().unwrap_or_default();
        let mut group = "";
        for row in &self.options {
            if row.group != group {
                group = &row.group;
                text.push_str(&format!("\n{group}\n"));
            }
            text.push_str(&format!("  {:options$}  {:values$}  {}\n", row.option, row.value, row.from));
        }
        text
    }
}

/// A value without secrets (of header fields, variables and URLs) and control characters.
pub(in crate::command_line) fn without_secrets(value: &str, hidden_after: Option<&str>) -> String {
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
