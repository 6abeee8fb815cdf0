//! The licences of everything that is compiled into a program, as one text to distribute with it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::metadata::{Metadata, Package};

/// How the names of files begin that report a licence, in capitals.
const BEGINNINGS: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// The libraries that are linked into every program beside packages.
const BESIDE: &str = "\
Rust's standard library   MIT OR Apache-2.0
GNU C library (glibc)     LGPL-2.1-or-later; linked statically. To link the program with another version of it, build it
                          again from its source with `cargo xtask dist`.
";

/// The text for the programs of a workspace's package.
pub(crate) fn text(metadata: &Metadata, package: &Package) -> anyhow::Result<String> {
    let parts = metadata.parts_of(package);
    let mut texts = Texts::default();
    let mut out = format!(
        "The packages that are compiled into {} {}, with their licences. Its own licence is in the file LICENSE.\n\n{BESIDE}\n",
        package.name, package.version
    );
    let width = parts.iter().map(|part| part.name.len() + part.version.len() + 1).max().unwrap_or(0);
    for part in parts {
        let name = format!("{} {}", part.name, part.version);
        let licence = part.license.as_deref().unwrap_or("see its file");
        let mut numbers = Vec::new();
        for file in files(part)? {
            let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            numbers.push(format!("[{}]", texts.number(&String::from_utf8_lossy(&text))));
        }
        let where_to = if numbers.is_empty() { "comes without a licence file".to_owned() } else { numbers.join(" ") };
        out += &format!("{name:width$}  {licence}  {where_to}\n");
    }
    for (index, text) in texts.list.iter().enumerate() {
        out += &format!("\n{}\n[{}]\n\n{text}\n", "-".repeat(80), index + 1);
    }
    Ok(out)
}

/// The files of a package that report its licence, by name.
fn files(package: &Package) -> anyhow::Result<Vec<PathBuf>> {
    let folder = package.folder();
    let mut found: Vec<PathBuf> = package.license_file.iter().map(|file| folder.join(file)).collect();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_file() && reports_a_licence(&path) && !found.contains(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn reports_a_licence(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_uppercase()).unwrap_or_default();
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Texts without repetitions; line breaks make no difference.
#[derive(Debug, Default)]
struct Texts {
    list: Vec<String>,
    known: HashMap<String, usize>,
}

impl Texts {
    /// The number of a text, from 1.
    fn number(&mut self, text: &str) -> usize {
        let words: Vec<&str> = text.split_whitespace().collect();
        let list = &mut self.list;
        *self.known.entry(words.join(" ")).or_insert_with(|| {
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            list.push(lines.join("\n").trim_matches('\n').to_owned());
            list.len()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_reported_once_however_its_lines_are_broken() {
        let mut texts = Texts::default();
        assert_eq!((texts.number("a b\nc\n"), texts.number("d"), texts.number("a\r\nb c")), (1, 2, 1));
        assert_eq!(texts.list, ["a b\nc", "d"]);
    }

    #[test]
    fn licence_files_are_known_by_their_names() {
        let known = |name: &str| reports_a_licence(Path::new(name));
        assert!(["LICENSE-MIT", "license.md", "COPYING", "LICENCE", "UNLICENSE"].into_iter().all(known));
        assert!(!["README.md", "src", "Cargo.toml"].into_iter().any(known));
    }
}
