//! A change of the code, and where it is made.

use std::fmt;

/// A change, as cargo-mutants names it: `conformance/rules/src/rules/server/list.rs:26:60: replace && with || in admitted`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Mutant {
    /// The file, from the root of the workspace.
    pub(super) file: String,
    /// The line, counted from 1.
    pub(super) line: usize,
    /// The column in characters, counted from 1.
    pub(super) column: usize,
    /// What is changed, and in which function.
    pub(super) change: String,
}

impl Mutant {
    /// Reads its name.
    pub(super) fn parse(name: &str) -> Option<Mutant> {
        let (place, change) = name.split_once(": ")?;
        let mut parts = place.rsplitn(3, ':');
        let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Mutant {
            file: file.to_owned(),
            line: line.parse().ok()?,
            column: column.parse().ok()?,
            change: change.to_owned(),
        })
    }

    /// A regular expression that matches its name and no other.
    pub(super) fn pattern(&self) -> String {
        let mut pattern = String::from("^");
        for character in self.to_string().chars() {
            if character.is_ascii_punctuation() && !matches!(character, '<' | '>') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern + "$"
    }

    /// The source from the changed place to the end of its line: it says where the change is made for as long as that line stays
    /// the same, whatever becomes of those above.
    pub(super) fn at<'s>(&self, source: &'s str) -> Option<&'s str> {
        let line = source.lines().nth(self.line.checked_sub(1)?)?;
        let (start, _) = line.char_indices().nth(self.column.checked_sub(1)?)?;
        Some(line[start..].trim_end())
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_and_its_place_is_found_without_the_number_of_the_line() {
        let name = "src/list.rs:2:11: replace == with != in f::<impl A: B>";
        let mutant = Mutant::parse(name).expect("a name");
        assert_eq!(mutant.change, "replace == with != in f::<impl A: B>");
        assert_eq!(mutant.to_string(), name);
        assert_eq!(mutant.pattern(), r"^src\/list\.rs\:2\:11\: replace \=\= with \!\= in f\:\:<impl A\: B>$");
        assert_eq!(mutant.at("fn f() {\n    ü and a == b;  \n}\n"), Some("a == b;"));
        assert_eq!(mutant.at("fn f() {}\n"), None);
        assert_eq!(Mutant::parse("nothing of the kind"), None);
    }
}
