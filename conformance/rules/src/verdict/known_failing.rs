//! What a candidate is known to break: still judged, reported separately, and reported when it is out of date.
//!
//! The file is an array of tables, each with `id`, `reason` and, optionally, the last day on which it is valid:
//!
//! ```toml
//! [[known-failing]]
//! id = "list.limit-default"
//! reason = "the old shop returns 50; ticket 4711"
//! expires = "2026-12-31"
//! ```

use jiff::civil::Date;
use serde::Deserialize;
use toml::Spanned;

use crate::catalogue::{Level, catalogue};
use crate::toml_error::TomlError;
use crate::verdict::{RequirementVerdict, Status};

/// Requirements that are known to fail.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KnownFailing {
    entries: Vec<Entry>,
}

/// One requirement that is known to fail.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    id: String,
    /// Why it fails, in the words of whoever listed it.
    pub reason: String,
    /// The last day on which the entry holds.
    pub expires: Option<Date>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "known-failing")]
    known_failing: Vec<TypedEntry>,
}

/// An entry as it is typed, with the places of what may be wrong with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedEntry {
    id: Spanned<String>,
    reason: Spanned<String>,
    expires: Option<Spanned<String>>,
}

impl KnownFailing {
    /// Reads a list from TOML.
    ///
    /// # Errors
    ///
    /// [`TomlError`] when it is no such TOML, names what the catalogue does not know or what cannot fail, or says something
    /// twice.
    pub fn parse(text: &str) -> Result<KnownFailing, TomlError> {
        let file: File = toml::from_str(text).map_err(|error| TomlError::toml(text, &error))?;
        let mut entries: Vec<Entry> = Vec::new();
        for typed in file.known_failing {
            let (at, id) = (typed.id.span(), typed.id.into_inner());
            let Some(requirement) = catalogue().get(&id) else {
                let hint = catalogue().did_you_mean(&id);
                return Err(TomlError::at(text, at, format!("no requirement is called {id}{hint}")));
            };
            if requirement.level == Level::Open {
                return Err(TomlError::at(text, at, format!("{id} is open: it cannot fail")));
            }
            if entries.iter().any(|entry| entry.id == id) {
                return Err(TomlError::at(text, at, format!("{id} is listed twice")));
            }
            let (at, reason) = (typed.reason.span(), typed.reason.into_inner());
            if reason.trim().is_empty() {
                return Err(TomlError::at(text, at, "say why it is known to fail"));
            }
            let expires = match typed.expires {
                None => None,
                Some(typed) => Some(typed.get_ref().parse().map_err(|_| {
                    TomlError::at(text, typed.span(), format!("`{}` is not a date such as 2026-12-31", typed.get_ref()))
                })?),
            };
            entries.push(Entry { id, reason, expires });
        }
        Ok(KnownFailing { entries })
    }

    /// The entry of a requirement.
    #[must_use]
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The list as TOML, as [`KnownFailing::parse`] reads it.
    #[must_use]
    pub fn toml(&self) -> String {
        self.entries.iter().map(Entry::toml).collect()
    }

    /// Sets known failures apart from violations, on the day of the run. An entry that excuses nothing, because its
    /// requirement holds or its last day is over, is stale. What was not exercised says nothing about its entry.
    pub fn apply(&self, verdicts: &mut [RequirementVerdict], today: Date) {
        for verdict in verdicts {
            let Some(entry) = self.entry(&verdict.requirement.id) else { continue };
            let over = entry.expires.filter(|last| *last < today);
            let (status, reason) = match (verdict.status, over) {
                (Status::Pass, _) => {
                    (Status::StaleKnownFailing, format!("known to fail ({}), but it holds now", entry.reason))
                }
                (Status::Fail, Some(last)) => {
                    (Status::StaleKnownFailing, format!("known to fail ({}), which expired after {last}", entry.reason))
                }
                (Status::Fail, None) => (Status::KnownFailing, entry.to_string()),
                _ => continue,
            };
            verdict.status = status;
            verdict.reason = Some(reason);
        }
    }
}

impl Entry {
    /// An entry for a requirement, with what is known of it.
    #[must_use]
    pub fn new(id: &str, reason: &str, expires: Option<Date>) -> Entry {
        Entry { id: id.to_owned(), reason: reason.to_owned(), expires }
    }

    /// The entry as TOML, as [`KnownFailing::parse`] reads it.
    #[must_use]
    pub fn toml(&self) -> String {
        // A string of JSON is one of TOML, but for the one control character that JSON does not escape.
        let quoted = |text: &str| serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
        let expires = self.expires.map(|day| format!("expires = {}\n", quoted(&day.to_string())));
        let (id, reason) = (quoted(&self.id), quoted(&self.reason));
        format!("[[known-failing]]\nid = {id}\nreason = {reason}\n{}", expires.unwrap_or_default())
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)?;
        match self.expires {
            Some(last) => write!(f, " (until {last})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::verdict::Verdict;
    use crate::verdict::overall;

    const TODAY: Date = Date::constant(2026, 6, 1);

    fn entry(id: &str, expires: &str) -> String {
        let expires = if expires.is_empty() { String::new() } else { format!("expires = \"{expires}\"\n") };
        format!("[[known-failing]]\nid = \"{id}\"\nreason = \"a ticket\"\n{expires}\n")
    }

    /// The status that a requirement has in the end, and the verdict on a run that selected nothing else.
    fn applied(status: Status, selected: bool, expires: &str) -> (Status, Verdict) {
        let requirement = catalogue().get("list.array").unwrap();
        let verdict = RequirementVerdict {
            requirement,
            selected,
            status,
            judged: 3,
            exchanges: BTreeSet::default(),
            failures: Vec::new(),
            findings: Vec::new(),
            reason: None,
            observed: None,
        };
        let mut verdicts = [verdict];
        KnownFailing::parse(&entry("list.array", expires)).unwrap().apply(&mut verdicts, TODAY);
        (verdicts[0].status, overall(&verdicts, false, true))
    }

    #[test]
    fn a_known_failure_is_set_apart_through_its_last_day_and_stale_after_it() {
        assert_eq!(applied(Status::Fail, true, ""), (Status::KnownFailing, Verdict::Conforms));
        assert_eq!(applied(Status::Fail, true, "2026-06-01"), (Status::KnownFailing, Verdict::Conforms));
        assert_eq!(applied(Status::Fail, true, "2026-05-31"), (Status::StaleKnownFailing, Verdict::Violates));
    }

    #[test]
    fn an_entry_whose_requirement_holds_is_stale_and_one_that_was_not_exercised_is_not() {
        assert_eq!(applied(Status::Pass, true, ""), (Status::StaleKnownFailing, Verdict::Violates));
        assert_eq!(applied(Status::NotExercised, true, "2026-05-31"), (Status::NotExercised, Verdict::Incomplete));
        assert_eq!(applied(Status::NotExercised, false, ""), (Status::NotExercised, Verdict::Conforms));
    }

    #[test]
    fn an_entry_that_is_written_is_read_as_it_was() {
        let written = Entry::new("list.array", "a \"ticket\"\nof two lines \\ \u{1}\u{7f}", Some(TODAY));
        let read = KnownFailing::parse(&written.toml()).unwrap();
        assert_eq!(read.entry("list.array"), Some(&written));
    }

    #[test]
    fn a_mistake_in_the_file_is_reported_with_its_place() {
        for (text, place, problem) in [
            (entry("list.aray", ""), (2, 6), "did you mean list.array?"),
            (entry("list", ""), (2, 6), "no requirement is called list"),
            (entry("list.order", ""), (2, 6), "list.order is open: it cannot fail"),
            (entry("list.array", "") + &entry("list.array", ""), (6, 6), "list.array is listed twice"),
            (entry("list.array", "soon"), (4, 11), "`soon` is not a date such as 2026-12-31"),
            (entry("list.array", "").replace("a ticket", " "), (3, 10), "say why"),
            (entry("list.array", "").replace("reason", "because"), (3, 1), "unknown field `because`"),
            ("# ë\n[[known-failing]\n".to_owned(), (2, 17), ""),
            ("known-failing = 1\n".to_owned(), (1, 17), "expected"),
        ] {
            let error = KnownFailing::parse(&text).unwrap_err();
            assert_eq!((error.line, error.column), place, "{error}\n{text}");
            assert!(error.problem.contains(problem), "{error}\n{text}");
        }
        assert_eq!(KnownFailing::parse("# nothing yet\n"), Ok(KnownFailing::default()));
    }
}
