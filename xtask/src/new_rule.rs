//! `cargo xtask new-rule`: the skeleton of a rule, in each place that a rule needs.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::cargo;

const CATALOGUE: &str = "fixtures/requirements.toml";
const COVERAGE: &str = ".github/docs/coverage.md";
const RULES: &str = "conformance/rules/src/rules/server";
const EDITS: &str = "conformance/rules/tests/edits/breaking";
const FAULTS: &str = "reference/lab/src/faults";

/// The arguments of `cargo xtask new-rule`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cargo xtask new-rule list.no-duplicates --statement 'Pets is a bare array' --level inferred")]
pub(crate) struct Options {
    /// The identifier of the requirement: the area of other rules, a dot, and a name of its own
    id: String,
    /// A part of the statement of the specification that the requirement answers for, as .github/docs/coverage.md has it
    #[arg(long, value_name = "TEXT")]
    statement: String,
    /// Whether the specification states the requirement, or it follows from the specification
    #[arg(long, value_parser = ["stated", "inferred"], default_value = "stated")]
    level: String,
}

/// Writes the skeleton and prints the next steps.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let changed = write(cargo::workspace_root(), options)?;
    println!("{} is in:", options.id);
    changed.iter().for_each(|path| println!("  {path}"));
    println!(
        "Next, as \"Add a rule\" in conformance/README.md says in detail:
  1. Replace each TODO: in the catalogue, the rule, its test, the edit of a trace and the faults of the laboratory.
  2. Declare what the rule needs to know, such as `.needing(Needs::HEADERS)`.
  3. Send a request that exercises the rule, if none does so yet.
  4. Add a lawful choice that comes close to the rule to reference/lab/src/choices/.
  5. cargo test -p animal-store-rules --test edits"
    );
    Ok(ExitCode::SUCCESS)
}

/// Adds the skeleton to the files below a folder. Returns the changed files.
fn write(root: &Path, Options { id, statement, level }: &Options) -> anyhow::Result<Vec<String>> {
    let is_word = |part: &str| part.chars().all(|c| c.is_ascii_lowercase() || "0123456789-".contains(c));
    let (area, name) = id
        .split_once('.')
        .filter(|(area, name)| is_word(area) && is_word(name) && !name.is_empty())
        .with_context(|| format!("{id:?} is not AREA.NAME in lower case, such as list.no-duplicates"))?;
    let (function, area) = (name.replace('-', "_"), format!("\"{area}."));

    let catalogue = read(root, CATALOGUE)?;
    ensure!(
        !catalogue.contains(&format!("id = \"{id}\"\n")),
        "{id} exists already: `cargo xtask rules {id}` explains it"
    );
    let parsed: toml::Table = catalogue.parse()?;
    let statements = parsed["statement"].as_array().context("no statements")?;
    let gists = statements.iter().filter_map(|entry| entry["gist"].as_str());
    let gists: Vec<&str> = gists.filter(|gist| gist.contains(statement.as_str())).collect();
    let [gist] = gists[..] else { bail!("{statement:?} fits {} statements, not one: {gists:#?}", gists.len()) };
    let neighbour = format!("\nid = {area}");
    let at = catalogue.rfind(&neighbour).with_context(|| format!("no requirement begins with {area}"))?;
    let section = catalogue[at..].lines().find(|line| line.starts_with("section = ")).context("no section")?;
    let (from, faults) = match level.as_str() {
        "inferred" => ("\nfrom = \"TODO\"", &["todo"][..]),
        _ => ("", &["todo", "todo-too"][..]),
    };
    let targets = format!("&[{area}");
    let rules = file_with(root, RULES, &area)?;
    let mut changed = vec![rules, file_with(root, EDITS, &area)?, file_with(root, FAULTS, &targets)?];

    let entry = format!(
        "\n\n[[requirement]]\nid = \"{id}\"\nlevel = \"{level}\"\n{section}\ntitle = \"TODO\"\ntext = \"TODO\"\nbreaks = \"TODO\"{from}"
    );
    insert(root, CATALOGUE, &neighbour, "\n\n", &entry)?;
    insert(root, CATALOGUE, &format!("gist = {}\n", toml::Value::from(gist)), "]\n", &format!(", \"{id}\""))?;
    insert(root, COVERAGE, &format!("| {gist} | "), " |\n", &format!(", `{id}`"))?;
    insert(root, &changed[0], "RULES: &[Rule] =", "];", &format!("Rule::new(\"{id}\", {function})"))?;
    let edit =
        format!("Breaking {{ rule: \"{id}\", name: \"TODO\", trace: \"free\", also: &[], apply: |_trace| {{}} }},");
    insert(root, &changed[1], &format!("rule: {area}"), "\n];", &edit)?;
    for name in faults {
        let fault = format!(
            "fault(\"{name}\", &[\"{id}\"]).does(\"TODO.\").like(\"TODO\").after(|_request, _response, _server| {{}}),"
        );
        insert(root, &changed[2], &targets, "\n    ]", &fault)?;
    }

    let rule = format!(
        "fn {function}(&Facts {{ history, .. }}: &Facts<'_>, judgement: &mut Judgement) {{
            for entry in &history.entries {{
                // TODO: the condition that this exchange must meet.
                let held = true;
                judgement.require(entry, held, \"TODO: expected\", || \"TODO: found\".into());
            }}
        }}\n\n"
    );
    let test = format!(
        "\n#[test]\nfn {function}_is_judged() {{ todo!(\"a trace that breaks {id}, and one that does not\") }}\n"
    );
    let text = read(root, &changed[0])?;
    let (code, tests) = text.split_at(text.find("#[cfg(test)]").unwrap_or(text.len()));
    let tests = if tests.contains("mod tests;") {
        let file = changed[0].replace(".rs", "/tests.rs");
        std::fs::write(root.join(&file), read(root, &file)? + &test)?;
        changed.push(file);
        tests.to_owned()
    } else {
        let module = tests.trim_end().strip_suffix('}').unwrap_or("#[cfg(test)]\nmod tests {");
        format!("{module}{test}}}\n")
    };
    std::fs::write(root.join(&changed[0]), format!("{code}{rule}{tests}"))?;
    let mut format = Command::new("rustfmt");
    format.args(["--edition", "2024", "--config-path"]).arg(root).args(changed.iter().map(|path| root.join(path)));
    cargo::run(&mut format)?;
    changed.extend([CATALOGUE, COVERAGE].map(str::to_owned));
    Ok(changed)
}

fn read(root: &Path, path: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

/// The file of a folder that contains a text most often.
fn file_with(root: &Path, folder: &str, text: &str) -> anyhow::Result<String> {
    let mut found = (0, String::new());
    for entry in root.join(folder).read_dir().with_context(|| format!("cannot read {folder}"))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let path = format!("{folder}/{}", entry.file_name().display());
            found = found.max((read(root, &path)?.matches(text).count(), path));
        }
    }
    ensure!(found.0 > 0, "no file in {folder} contains {text}: write the first rule of a new area by hand");
    Ok(found.1)
}

/// Inserts `new` into a file, before the next `end` after the last `start`; between elements of Rust, with the comma that may be missing.
fn insert(root: &Path, path: &str, start: &str, end: &str, new: &str) -> anyhow::Result<()> {
    let mut text = read(root, path)?;
    let at = text.rfind(start).with_context(|| format!("{start:?} is missing in {path}"))? + start.len();
    let at = at + text[at..].find(end).with_context(|| format!("{end:?} is missing after {start:?} in {path}"))?;
    let comma = end.contains(']') && !new.starts_with(',') && !text[..at].trim_end().ends_with(',');
    text.insert_str(at, &format!("{}{new}", if comma { "," } else { "" }));
    Ok(std::fs::write(root.join(path), text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of the files that a rule is written to.
    fn copy() -> tempfile::TempDir {
        let (from, to) = (cargo::workspace_root(), tempfile::tempdir().expect("a folder"));
        let mut listed = Command::new("git");
        listed.current_dir(from).args(["ls-files", ".rustfmt.toml", CATALOGUE, COVERAGE, RULES, EDITS, FAULTS]);
        let listed = String::from_utf8(listed.output().expect("git").stdout).expect("names in UTF-8");
        for name in listed.lines() {
            std::fs::create_dir_all(to.path().join(name).parent().expect("a folder")).expect("a folder");
            std::fs::copy(from.join(name), to.path().join(name)).expect("a copy");
        }
        to
    }

    #[test]
    fn a_rule_of_each_area_is_written_to_every_place_and_stays_readable() {
        for (id, statement, level) in [
            ("list.no-duplicates", "Pets is a bare array", "inferred"),
            ("service.one-more", "production and staging", "stated"),
            ("quota.one-more", "clients back off exponentially", "stated"),
            ("versioning.one-more", "no versioning policy", "stated"),
        ] {
            let folder = copy();
            let options = Options { id: id.to_owned(), statement: statement.to_owned(), level: level.to_owned() };
            let changed = write(folder.path(), &options).unwrap_or_else(|error| panic!("{id}: {error:#}"));
            assert!(changed.len() >= 5, "{id}: {changed:?}");
            for path in &changed {
                let text = read(folder.path(), path).expect("a file");
                assert!(text.contains(id) || path.ends_with("tests.rs"), "{id} is not in {path}");
            }
            let catalogue: toml::Table = read(folder.path(), CATALOGUE).expect("a file").parse().expect("TOML");
            let named = |table: &str| {
                catalogue[table]
                    .as_array()
                    .expect("an array")
                    .iter()
                    .filter(|entry| entry.to_string().contains(id))
                    .count()
            };
            assert_eq!([named("requirement"), named("statement")], [1, 1], "{id}");
            let refused = write(folder.path(), &options).expect_err("it exists").to_string();
            assert!(refused.contains("exists already"), "{refused}");
        }
    }

    #[test]
    fn an_unclear_request_writes_nothing() {
        let folder = copy();
        let before = read(folder.path(), CATALOGUE).expect("a file");
        for (id, statement, reason) in [
            ("list", "Pets is a bare array", "AREA.NAME"),
            ("list.Upper", "Pets is a bare array", "AREA.NAME"),
            ("novel.rule", "Pets is a bare array", "no requirement begins"),
            ("list.new", "a", "statements, not one"),
            ("list.new", "nothing of the kind", "fits 0 statements"),
        ] {
            let options = Options { id: id.to_owned(), statement: statement.to_owned(), level: "stated".to_owned() };
            let refused = write(folder.path(), &options).expect_err(id).to_string();
            assert!(refused.contains(reason), "{refused}");
        }
        assert_eq!(read(folder.path(), CATALOGUE).expect("a file"), before);
    }
}
