//! `conform.toml`: finding and reading it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Command;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::Place;
use super::member::{Member, ON_THE_LINE_ONLY, Value};
use crate::command_line::container::ContainerTable;
use animal_store_rules::toml_error::TomlError;

/// The default name of the file.
pub(super) const NAME: &str = "conform.toml";

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// The path of the file.
    pub path: PathBuf,
    /// The members that apply to every environment.
    top: Table,
    /// The members of each environment.
    environments: BTreeMap<String, Table>,
    /// The table `[container]`.
    pub container: ContainerTable,
}

/// The members of a table, by name.
type Table = BTreeMap<String, Entry>;

/// The value of a member, and its position.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub value: Value,
    /// The line of the member in the file, from 1.
    pub line: usize,
    /// The environment whose table contains the member.
    pub environment: Option<String>,
}

/// The file that applies in a directory: its own, or that of the nearest parent within the same repository. Outside a
/// repository, parents are not searched: they may belong to other users.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    let has = |folder: &&Path| folder.join(NAME).is_file();
    if has(&folder) {
        return Some(PathBuf::from(NAME));
    }
    let root = folder.ancestors().find(|above| above.join(".git").exists())?;
    let inside = folder.ancestors().take_while(|above| above.starts_with(root));
    inside.skip(1).find(has).map(|above| above.join(NAME))
}

impl File {
    /// Parses a text.
    pub(super) fn parse(path: &Path, text: &str, members: &[Member], command: &Command) -> Result<File, TomlError> {
        let parsed = DeTable::parse(text).map_err(|error| TomlError::toml(text, &error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let line_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        let reader = Reader { text, line_breaks, members, command, folder };
        let mut file = File { path: path.to_owned(), ..File::default() };
        for (name, value) in parsed.get_ref() {
            match name.get_ref().as_ref() {
                "environments" => file.environments = reader.environments(value)?,
                "container" => {
                    let table = ContainerTable::deserialize(ValueDeserializer::from(value.clone()));
                    file.container = table.map_err(|error| TomlError::toml(text, &error))?;
                }
                _ => reader.member(&mut file.top, None, name, value)?,
            }
        }
        Ok(file)
    }

    /// The value of a member: that of the environment, else that for all environments.
    pub(super) fn entry(&self, environment: Option<&str>, member: &str) -> Option<&Entry> {
        let table = environment.and_then(|name| self.environments.get(name));
        table.and_then(|table| table.get(member)).or_else(|| self.top.get(member))
    }

    /// The value of a member in the table of this environment only.
    pub(super) fn entry_of(&self, environment: &str, member: &str) -> Option<&Entry> {
        self.environments.get(environment)?.get(member)
    }

    /// The position of an entry.
    pub(super) fn place(&self, entry: &Entry) -> Place {
        Place { path: self.path.clone(), line: entry.line, environment: entry.environment.clone() }
    }

    /// The names of the environments.
    pub(super) fn environments(&self) -> Vec<String> {
        self.environments.keys().cloned().collect()
    }
}

/// The context of parsing a file.
struct Reader<'r> {
    text: &'r str,
    /// The places of the line breaks in the text.
    line_breaks: Vec<usize>,
    members: &'r [Member],
    command: &'r Command,
    folder: &'r Path,
}

impl Reader<'_> {
    fn environments(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, Table>, TomlError> {
        let wanted = "environments are tables, such as [environments.staging]";
        let DeValue::Table(tables) = value.get_ref() else {
            return Err(TomlError::at(self.text, value.span(), wanted));
        };
        let mut environments = BTreeMap::new();
        for (name, value) in tables {
            let DeValue::Table(entries) = value.get_ref() else {
                return Err(TomlError::at(self.text, name.span(), wanted));
            };
            let mut table = Table::new();
            for (member, value) in entries {
                self.member(&mut table, Some(name.get_ref()), member, value)?;
            }
            environments.insert(name.get_ref().to_string(), table);
        }
        Ok(environments)
    }

    fn member(
        &self,
        table: &mut Table,
        environment: Option<&str>,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), TomlError> {
        let at_name = |problem: String| TomlError::at(self.text, name.span(), problem);
        let known = self.members.iter().find(|member| member.name == *name.get_ref());
        let member = known.ok_or_else(|| at_name(self.unknown(name.get_ref(), value.get_ref())))?;
        if member.id == "env" && environment.is_some() {
            return Err(at_name("env selects an environment: move it above all tables".to_owned()));
        }
        let read = member.read(value, self.command, self.folder);
        let value = read.map_err(|(bytes, problem)| TomlError::at(self.text, bytes, problem))?;
        let line = self.line_breaks.partition_point(|line_break| *line_break < name.span().start) + 1;
        table.insert(member.name.clone(), Entry { value, line, environment: environment.map(str::to_owned) });
        Ok(())
    }

    /// The error message for an unknown member.
    fn unknown(&self, name: &str, value: &DeValue<'_>) -> String {
        if let Some(key) = self.members.iter().find(|member| member.is_key() && member.id == name) {
            return format!(
                "keys must not be in the file: it is shared and stays in the history of a repository. \
                 Set an environment variable to the key and name the variable here: {} = \"STAGING_KEY\"",
                key.name
            );
        }
        if ON_THE_LINE_ONLY.contains(&name) {
            return format!("`{name}` is a command-line option only: --{}", name.replace('_', "-"));
        }
        let names = self.members.iter().map(|member| member.name.as_str()).chain(["environments", "container"]);
        match nearest(name, names) {
            Some(nearest) => format!("unknown option `{name}`: did you mean `{nearest}`?"),
            None if matches!(value, DeValue::Table(_)) => {
                format!("unknown table `{name}`: environments are tables [environments.{name}]")
            }
            None => {
                format!("unknown option `{name}`: `conform --help` lists the options")
            }
        }
    }
}

/// The known name most similar to a misspelt one, if any is similar.
pub(super) fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|name| (strsim::jaro_winkler(name, typed), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.8)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::super::member::members;
    use super::*;
    use crate::command_line::arguments::command;
    use crate::command_line::init::EXAMPLE;

    fn parse(text: &str) -> Result<File, TomlError> {
        let command = command();
        File::parse(Path::new("some/folder/conform.toml"), text, &members(&command), &command)
    }

    fn values(file: &File, environment: Option<&str>, member: &str) -> Vec<String> {
        match &file.entry(environment, member).unwrap_or_else(|| panic!("{member}")).value {
            Value::Typed(values) => values.clone(),
            Value::InVariable(name) => vec![format!("${name}")],
        }
    }

    #[test]
    fn an_error_names_its_position_and_a_correction() {
        for (text, place, problem) in [
            ("# ë\nbase-url = \"http://h/v1\"", (2, 1), "unknown option `base-url`: did you mean `base_url`?"),
            ("[environments.a]\n  timout = 3", (2, 3), "did you mean `timeout`?"),
            ("[enviroments.staging]", (1, 2), "did you mean `environments`?"),
            ("[staging]\n", (1, 2), "environments are tables [environments.staging]"),
            ("[environments]\nstaging = 3", (2, 1), "environments are tables"),
            ("[environments.a]\nenv = \"b\"", (2, 1), "move it above all tables"),
            ("no_config = true", (1, 1), "`no_config` is a command-line option only: --no-config"),
            ("timeout = \"10\"", (1, 11), "timeout must be an integer, such as 10, not a string"),
            ("timeout = 1.5", (1, 11), "not a number with a fraction"),
            ("strict = \"yes\"", (1, 10), "strict must be true or false, not a string"),
            ("plan = \"gold\"", (1, 8), "plan: `gold` is not a plan: use free, pro, business"),
            ("only = \"list\"", (1, 8), "only must be an array of strings"),
            ("only = [\"list\",\n  \"list.aray\"]", (2, 3), "did you mean list.array?"),
            ("base_url = \"localhost/v1\"", (1, 12), "http://localhost:8080/v1"),
            ("header = [\"Authorization: Bearer x\"]", (1, 11), "Authorization is set by the judge"),
            ("[container]\npath = \"v1\"", (2, 8), "a path must begin with a slash"),
            ("[container]\nargs = [\"a\"]\narg = 1", (3, 1), "unknown field `arg`, expected one of"),
            ("seed = 1\nseed = 2", (2, 1), "duplicate key"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!((error.line, error.column), place, "{error}\n{text}");
            assert!(error.problem.contains(problem), "{error}\n{text}");
        }
    }

    #[test]
    fn thousands_of_environments_are_read_and_each_member_has_its_line() {
        // A search for the line of each member from the beginning of the text would take minutes.
        let count = 20_000;
        let text: String = (0..count).map(|n| format!("[environments.e{n}]\nseed = {n}\n\n")).collect();
        let file = parse(&text).expect("a usable file");
        assert_eq!(file.entry_of(&format!("e{}", count - 1), "seed").map(|entry| entry.line), Some(3 * count - 1));
    }

    #[test]
    fn a_key_in_the_file_is_refused_and_not_repeated() {
        for text in [
            "api_key = \"sk-0451-secret\"",
            "[environments.a]\nquota_key = \"sk-0451-secret\"",
            "api_key_env = \"sk-0451-secret\"",
            "api_key_env = \"sk_0451_secret\"",
            "api_key_env = sk-0451-secret",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(!error.contains("0451"), "{error}");
        }
        let error = parse("api_key = \"x\"").expect_err("a key").to_string();
        assert!(error.contains("stays in the history") && error.contains("api_key_env = \"STAGING_KEY\""), "{error}");
    }

    #[test]
    fn values_are_those_of_the_command_line_and_paths_are_relative_to_the_file() {
        let file = parse(
            "seed = 0x10\nstrict = true\ncategory_id = -4\nheader = ['A: b=c', 'D: e']\n\
             known_failing = 'known.toml'\nca_cert = '/etc/ca.pem'\nreport = ['json=out/r.json']\napi_key_env = 'A_KEY'",
        )
        .expect("a usable file");
        for (member, value) in [
            ("seed", "16"),
            ("strict", "true"),
            ("category_id", "-4"),
            ("known_failing", "some/folder/known.toml"),
            ("ca_cert", "/etc/ca.pem"),
            ("report", "json=some/folder/out/r.json"),
            ("api_key_env", "$A_KEY"),
        ] {
            assert_eq!(values(&file, None, member), [value], "{member}");
        }
        assert_eq!(values(&file, None, "header"), ["A: b=c", "D: e"]);
    }

    #[test]
    fn the_example_is_valid_and_contains_every_option() {
        parse(EXAMPLE).expect("a usable example");
        // A # right before a name comments a setting out; a # and a space begin an explanation.
        let in_use: Vec<&str> = EXAMPLE
            .lines()
            .map(|line| line.strip_prefix('#').filter(|rest| rest.starts_with(char::is_lowercase)).unwrap_or(line))
            .collect();
        let file = parse(&in_use.join("\n")).expect("a usable example with every line in use");
        let command = command();
        for member in members(&command) {
            let value = values(&file, None, &member.name);
            let arg = command.get_arguments().find(|arg| arg.get_id() == member.id.as_str()).expect("its definition");
            let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            assert!(default.is_empty() || default == value, "{}: the default is {default:?}", member.name);
        }
    }

    #[test]
    fn the_nearest_file_up_to_the_root_of_the_repository_applies() {
        let base = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| {
            let folder = base.path().join(name);
            std::fs::create_dir_all(&folder).expect("a folder");
            folder
        };
        let put = |name: &str| std::fs::write(folder(name).join(NAME), "").expect("a file");
        put("");
        folder("repository/.git");
        let deep = folder("repository/a/b");
        assert_eq!(find(&deep), None, "directories above the repository are not searched");
        put("repository");
        assert_eq!(find(&deep), Some(base.path().join("repository").join(NAME)));
        put("repository/a");
        assert_eq!(find(&deep), Some(base.path().join("repository/a").join(NAME)));
        put("repository/a/b");
        assert_eq!(find(&deep), Some(PathBuf::from(NAME)));
        assert_eq!(find(&folder("loose")), None, "outside a repository only the directory itself is searched");
    }
}
