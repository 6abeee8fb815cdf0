//! `conform.toml`: where it is, and what it says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Place;
use super::member::{Member, ON_THE_LINE_ONLY, Value};
use animal_store_rules::toml_error::TomlError;

/// The name of the file where none is named.
pub(super) const NAME: &str = "conform.toml";

/// A file, understood.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// Where it is.
    pub path: PathBuf,
    /// What holds for every environment.
    top: Table,
    /// What holds for each.
    environments: BTreeMap<String, Table>,
}

/// The members of a table, by name.
type Table = BTreeMap<String, Entry>;

/// What a member says, and where.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// What it says.
    pub value: Value,
    /// Its line in the file, from 1.
    pub line: usize,
    /// The environment whose table it stands in.
    pub environment: Option<String>,
}

/// The file that applies in a folder: its own, or that of the nearest folder above it in the same repository. Outside of a
/// repository no other folder is asked: what lies further up may be anybody's.
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
    /// Understands a text.
    pub(super) fn parse(path: &Path, text: &str, members: &[Member], command: &Command) -> Result<File, TomlError> {
        let parsed = DeTable::parse(text).map_err(|error| TomlError::toml(text, &error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let reader = Reader { text, members, command, folder };
        let mut file = File { path: path.to_owned(), ..File::default() };
        for (name, value) in parsed.get_ref() {
            if name.get_ref() == "environments" {
                file.environments = reader.environments(value)?;
            } else {
                reader.member(&mut file.top, None, name, value)?;
            }
        }
        Ok(file)
    }

    /// What the file says about a member: what its environment says, else what holds for all.
    pub(super) fn entry(&self, environment: Option<&str>, member: &str) -> Option<&Entry> {
        let table = environment.and_then(|name| self.environments.get(name));
        table.and_then(|table| table.get(member)).or_else(|| self.top.get(member))
    }

    /// What its environment alone says about a member.
    pub(super) fn entry_of(&self, environment: &str, member: &str) -> Option<&Entry> {
        self.environments.get(environment)?.get(member)
    }

    /// Where an entry stands.
    pub(super) fn place(&self, entry: &Entry) -> Place {
        Place { path: self.path.clone(), line: entry.line, environment: entry.environment.clone() }
    }

    /// The names of the environments.
    pub(super) fn environments(&self) -> Vec<String> {
        self.environments.keys().cloned().collect()
    }
}

/// A file that is being read.
struct Reader<'r> {
    text: &'r str,
    members: &'r [Member],
    command: &'r Command,
    folder: &'r Path,
}

impl Reader<'_> {
    fn environments(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, Table>, TomlError> {
        let wanted = "environments are tables: write [environments.staging], and below it what holds there";
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
            return Err(at_name("env picks an environment: it stands above all tables".to_owned()));
        }
        let read = member.read(value, self.command, self.folder);
        let value = read.map_err(|(bytes, problem)| TomlError::at(self.text, bytes, problem))?;
        let line = TomlError::at(self.text, name.span(), "").line;
        table.insert(member.name.clone(), Entry { value, line, environment: environment.map(str::to_owned) });
        Ok(())
    }

    /// What to write instead of a member that there is not.
    fn unknown(&self, name: &str, value: &DeValue<'_>) -> String {
        if let Some(key) = self.members.iter().find(|member| member.is_key() && member.id == name) {
            return format!(
                "a key does not belong in a file, which others read and which stays in the history of a repository: \
                 put it in an environment variable, and write its name: {} = \"STAGING_KEY\"",
                key.name
            );
        }
        if ON_THE_LINE_ONLY.contains(&name) {
            return format!("`{name}` is for the command line only: --{}", name.replace('_', "-"));
        }
        let names = self.members.iter().map(|member| member.name.as_str()).chain(["environments"]);
        match nearest(name, names) {
            Some(nearest) => format!("there is no option `{name}`: did you mean `{nearest}`?"),
            None if matches!(value, DeValue::Table(_)) => {
                format!("there is no table `{name}`: an environment is written [environments.{name}]")
            }
            None => {
                format!("there is no option `{name}`: `conform --help` lists them, and `conform init` writes them all")
            }
        }
    }
}

/// The name that a misspelt one is most like, if it is like any.
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
    use crate::cli::arguments::command;
    use crate::cli::init::EXAMPLE;

    fn parse(text: &str) -> Result<File, TomlError> {
        let command = command();
        File::parse(Path::new("some/folder/conform.toml"), text, &members(&command), &command)
    }

    fn says(file: &File, environment: Option<&str>, member: &str) -> Vec<String> {
        match &file.entry(environment, member).unwrap_or_else(|| panic!("{member}")).value {
            Value::Typed(values) => values.clone(),
            Value::InVariable(name) => vec![format!("${name}")],
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_place_and_what_to_write_instead() {
        for (text, place, problem) in [
            ("# ë\nbase-url = \"http://h/v1\"", (2, 1), "there is no option `base-url`: did you mean `base_url`?"),
            ("[environments.a]\n  timout = 3", (2, 3), "did you mean `timeout`?"),
            ("[enviroments.staging]", (1, 2), "did you mean `environments`?"),
            ("[staging]\n", (1, 2), "an environment is written [environments.staging]"),
            ("xyz = 1", (1, 1), "`conform init` writes them all"),
            ("environments = 3", (1, 16), "environments are tables"),
            ("[environments]\nstaging = 3", (2, 1), "environments are tables"),
            ("[environments.a]\nenv = \"b\"", (2, 1), "it stands above all tables"),
            ("show_config = true", (1, 1), "`show_config` is for the command line only: --show-config"),
            ("timeout = \"10\"", (1, 11), "timeout takes a whole number, such as 10, and this is a text"),
            ("timeout = 1.5", (1, 11), "and this is a number with a fraction"),
            ("timeout = 0", (1, 11), "timeout: 0 is not in 1.."),
            ("strict = \"yes\"", (1, 10), "strict takes true or false, and this is a text"),
            ("plan = 3", (1, 8), "plan takes a text in quotes, and this is a number"),
            ("plan = \"gold\"", (1, 8), "plan: `gold` is no plan: use free, pro, business"),
            ("profile = \"fast\"", (1, 11), "`fast` is none of full, functional, read-only"),
            ("only = \"list\"", (1, 8), "only takes a list of texts"),
            ("only = [\"list\", 3]", (1, 8), "only takes a list of texts"),
            ("only = [\"list\",\n  \"list.aray\"]", (2, 3), "did you mean list.array?"),
            ("base_url = \"localhost/v1\"", (1, 12), "http://localhost:8080/v1"),
            ("header = [\"Authorization: Bearer x\"]", (1, 11), "the judge sets Authorization itself"),
            ("report = [\"json\"]", (1, 11), "FORMAT=PATH"),
            ("assume_date = \"soon\"", (1, 15), "such as 2030-12-05"),
            ("seed = 1\nseed = 2", (2, 1), "duplicate key"),
            ("[environments.a", (1, 16), ""),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!((error.line, error.column), place, "{error}\n{text}");
            assert!(error.problem.contains(problem), "{error}\n{text}");
        }
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
    fn values_are_those_that_would_be_typed_and_paths_are_from_the_folder_of_the_file() {
        let file = parse(
            "seed = 0x10\nstrict = true\nassume_date = 2030-12-05\ncategory_id = -4\nheader = ['A: b=c', 'D: e']\n\
             known_failing = 'known.toml'\nca_cert = '/etc/ca.pem'\nreport = ['json=out/r.json']\napi_key_env = 'A_KEY'",
        )
        .expect("a usable file");
        for (member, value) in [
            ("seed", "16"),
            ("strict", "true"),
            ("assume_date", "2030-12-05"),
            ("category_id", "-4"),
            ("known_failing", "some/folder/known.toml"),
            ("ca_cert", "/etc/ca.pem"),
            ("report", "json=some/folder/out/r.json"),
            ("api_key_env", "$A_KEY"),
        ] {
            assert_eq!(says(&file, None, member), [value], "{member}");
        }
        assert_eq!(says(&file, None, "header"), ["A: b=c", "D: e"]);
    }

    #[test]
    fn an_environment_comes_before_what_holds_for_all_and_only_where_it_says_something() {
        let file = parse("timeout = 1\nwait = 2\n[environments.a]\ntimeout = 3\n[environments.b]\n").expect("usable");
        assert_eq!(
            (says(&file, Some("a"), "timeout"), says(&file, Some("a"), "wait")),
            (vec!["3".into()], vec!["2".into()])
        );
        assert_eq!(
            (says(&file, Some("b"), "timeout"), says(&file, None, "timeout")),
            (vec!["1".into()], vec!["1".into()])
        );
        assert_eq!(file.environments(), ["a", "b"]);
    }

    #[test]
    fn the_example_can_be_read_as_it_stands_and_names_every_option() {
        parse(EXAMPLE).expect("a usable example");
        // A # right before a name sets a line aside; one that is followed by a space explains.
        let in_use: Vec<&str> = EXAMPLE
            .lines()
            .map(|line| line.strip_prefix('#').filter(|rest| rest.starts_with(char::is_lowercase)).unwrap_or(line))
            .collect();
        let file = parse(&in_use.join("\n")).expect("a usable example with every line in use");
        let command = command();
        for member in members(&command) {
            let said = says(&file, None, &member.name);
            let arg = command.get_arguments().find(|arg| arg.get_id() == member.id.as_str()).expect("its definition");
            let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            assert!(default.is_empty() || default == said, "{}: the default is {default:?}", member.name);
        }
    }

    #[test]
    fn the_nearest_file_applies_up_to_the_root_of_the_repository() {
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
        assert_eq!(find(&deep), None, "what lies above the repository is somebody else's");
        put("repository");
        assert_eq!(find(&deep), Some(base.path().join("repository").join(NAME)));
        put("repository/a");
        assert_eq!(find(&deep), Some(base.path().join("repository/a").join(NAME)));
        put("repository/a/b");
        assert_eq!(find(&deep), Some(PathBuf::from(NAME)));
        assert_eq!(find(&folder("loose")), None, "outside of a repository only the folder itself counts");
    }
}
