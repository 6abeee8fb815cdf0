//! `conform.toml`: finding and reading it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::member::Member;
use crate::command_line::container::ContainerTable;
use animal_store_rules::catalogue::nearest;
use animal_store_rules::toml_error::TomlError;

/// The default name of the file.
pub(super) const NAME: &str = "conform.toml";

/// A parsed file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// The path of the file.
    pub path: PathBuf,
    text: String,
    /// The members of each environment, and under `None` the members that apply to every environment.
    pub tables: BTreeMap<Option<String>, Table>,
    /// The table `[container]`.
    pub container: ContainerTable,
}

/// The members of a table, by name.
pub(super) type Table = BTreeMap<String, Entry>;

/// The value of a member, and its position.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The value as on the command line, or each item of an array. For a key, the variable that holds it.
    pub values: Vec<String>,
    /// The environment whose table contains the member.
    pub environment: Option<String>,
    /// The byte of the text at which the member begins.
    start: usize,
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
    /// Parses a text. The command line validates the values later.
    pub(super) fn parse(path: &Path, text: &str, members: &[Member]) -> Result<File, TomlError> {
        let mut top = DeTable::parse(text).map_err(|error| TomlError::toml(text, &error))?.into_inner();
        let mut file = File { path: path.to_owned(), text: text.to_owned(), ..File::default() };
        if let Some(value) = top.remove("container") {
            let table = ContainerTable::deserialize(ValueDeserializer::from(value));
            file.container = table.map_err(|error| TomlError::toml(text, &error))?;
        }
        let environments = top.remove("environments");
        file.read_table(None, &top, members)?;
        if let Some(environments) = environments {
            let no_table = |span| TomlError::at(text, span, "environments are tables, such as [environments.staging]");
            let DeValue::Table(tables) = environments.get_ref() else { return Err(no_table(environments.span())) };
            for (name, value) in tables {
                let DeValue::Table(table) = value.get_ref() else { return Err(no_table(name.span())) };
                file.read_table(Some(name.get_ref()), table, members)?;
            }
        }
        Ok(file)
    }

    /// Reads the members of a table: that of an environment, or the top of the file.
    fn read_table(
        &mut self,
        environment: Option<&str>,
        entries: &DeTable<'_>,
        members: &[Member],
    ) -> Result<(), TomlError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let mut table = Table::new();
        for (name, value) in entries {
            let at_name = |problem: String| TomlError::at(&self.text, name.span(), problem);
            let known = members.iter().find(|member| member.name == *name.get_ref());
            let member = known.ok_or_else(|| at_name(unknown(name.get_ref(), value.get_ref(), members)))?;
            if member.id() == "env" && environment.is_some() {
                return Err(at_name("env selects an environment: move it above all tables".to_owned()));
            }
            let values = member.values(value, folder);
            let values = values.map_err(|(bytes, problem)| TomlError::at(&self.text, bytes, problem))?;
            let entry = Entry { values, environment: environment.map(str::to_owned), start: name.span().start };
            table.insert(member.name.clone(), entry);
        }
        self.tables.insert(environment.map(str::to_owned), table);
        Ok(())
    }

    /// The value of a member: that of the environment, else that for all environments.
    pub(super) fn entry(&self, environment: Option<&str>, member: &str) -> Option<&Entry> {
        let own = self.tables.get(&environment.map(str::to_owned)).and_then(|table| table.get(member));
        own.or_else(|| self.tables.get(&None)?.get(member))
    }

    /// The position of an entry: `conform.toml, line 3, [environments.staging]`.
    pub(super) fn place(&self, entry: &Entry) -> String {
        let line = self.text[..entry.start].matches('\n').count() + 1;
        let table = entry.environment.as_ref().map_or_else(String::new, |name| format!(", [environments.{name}]"));
        format!("{}, line {line}{table}", self.path.display())
    }

    /// The names of the environments.
    pub(super) fn environments(&self) -> Vec<String> {
        self.tables.keys().flatten().cloned().collect()
    }
}

/// The error message for an unknown member.
fn unknown(name: &str, value: &DeValue<'_>, members: &[Member]) -> String {
    if let Some(key) = members.iter().find(|member| member.is_key() && member.id() == name) {
        return format!(
            "keys must not be in the file: it is shared and stays in the history of a repository. \
             Set an environment variable to the key and name the variable here: {} = \"STAGING_KEY\"",
            key.name
        );
    }
    let names = members.iter().map(|member| member.name.as_str()).chain(["environments", "container"]);
    match nearest(name, names, 0.8) {
        Some(nearest) => format!("unknown option `{name}`: did you mean `{nearest}`?"),
        None if matches!(value, DeValue::Table(_)) => {
            format!("unknown table `{name}`: environments are tables [environments.{name}]")
        }
        None => format!("unknown option `{name}`: `conform --help` lists the options"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::member::members;
    use super::*;
    use crate::command_line::arguments::command;
    use crate::command_line::init::EXAMPLE;

    fn parse(text: &str) -> Result<File, TomlError> {
        File::parse(Path::new("some/folder/conform.toml"), text, &members(&command()))
    }

    fn values(file: &File, environment: Option<&str>, member: &str) -> Vec<String> {
        file.entry(environment, member).unwrap_or_else(|| panic!("{member} is missing")).values.clone()
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
            ("timeout = [1, 2]", (1, 11), "timeout takes a string, a number or a boolean"),
            ("only = [[\"list\"]]", (1, 9), "or an array of them"),
            ("no_config = true", (1, 1), "unknown option `no_config`"),
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
        let last = file.entry(Some(&format!("e{}", count - 1)), "seed").expect("the last environment");
        assert!(file.place(last).contains(&format!("line {}, [", 3 * count - 1)), "{}", file.place(last));
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
            ("api_key_env", "A_KEY"),
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
            let arg = command.get_arguments().find(|arg| arg.get_id() == member.id()).expect("its definition");
            let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            assert!(default.is_empty() || default == value, "{}: the default is {default:?}", member.name);
            if !member.is_key() {
                let line = [vec!["conform".into()], member.arguments(&value)].concat();
                command.clone().try_get_matches_from(line).unwrap_or_else(|error| panic!("{}: {error}", member.name));
            }
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
