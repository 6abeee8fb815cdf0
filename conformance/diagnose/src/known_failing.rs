//! Requirements that a candidate is known to break: still judged, reported separately, and reported when the entry has expired.
//!
//! The file is an array of tables, each with `id` and `reason`. The other members are optional:
//!
//! ```toml
//! [[known-failing]]
//! id = "list.array"
//! reason = "the old shop wraps its lists; ticket 4711"
//! expires = "2026-12-31"      # the last day on which the entry is valid
//! hides = ["list.complete"]   # cannot be exercised while this requirement fails
//!
//! [[known-failing]]
//! id = "get.success"
//! reason = "one replica fails at times; ticket 4712"
//! flaky = true                # fails at times, and not each time; needs an end
//! expires = "2026-12-31"
//! ```

use animal_store_rules::catalogue::{Level, catalogue};
use animal_store_rules::toml_error::TomlError;
use animal_store_rules::verdict::{RequirementVerdict, Status};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Requirements that are known to fail.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFailing {
    entries: Vec<Entry>,
}

/// One requirement that is known to fail.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    id: String,
    /// The reason for the failure, as the file states it.
    pub reason: String,
    /// The last day on which the entry holds.
    pub expires: Option<Date>,
    /// Whether the requirement fails at times only.
    flaky: bool,
    /// The requirements that cannot be exercised while this one fails.
    pub hides: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "known-failing")]
    known_failing: Vec<TypedEntry>,
}

/// An entry as it is typed, with the places of its members for error messages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedEntry {
    id: Spanned<String>,
    reason: Spanned<String>,
    expires: Option<Spanned<String>>,
    #[serde(default)]
    flaky: bool,
    #[serde(default)]
    hides: Vec<Spanned<String>>,
}

impl KnownFailing {
    /// Reads a list from TOML.
    ///
    /// # Errors
    ///
    /// [`TomlError`] when the text is not such TOML, names requirements that the catalogue does not have or that cannot fail, or
    /// has an entry twice.
    pub fn parse(text: &str) -> Result<KnownFailing, TomlError> {
        let file: File = toml::from_str(text).map_err(|error| TomlError::toml(text, &error))?;
        let mut entries: Vec<Entry> = Vec::new();
        for typed in file.known_failing {
            let (at, id) = (typed.id.span(), of_catalogue(text, typed.id)?);
            if entries.iter().any(|entry| entry.id == id) {
                return Err(TomlError::at(text, at, format!("{id} is listed twice: remove one of the entries")));
            }
            let (at, reason) = (typed.reason.span(), typed.reason.into_inner());
            if reason.trim().is_empty() {
                return Err(TomlError::at(text, at, "the reason is empty: say why the requirement fails"));
            }
            let expires = match typed.expires {
                None => None,
                Some(typed) => Some(typed.get_ref().parse().map_err(|_| {
                    TomlError::at(
                        text,
                        typed.span(),
                        format!("`{}` is not a date: write YYYY-MM-DD, such as 2026-12-31", typed.get_ref()),
                    )
                })?),
            };
            if typed.flaky && expires.is_none() {
                return Err(TomlError::at(text, at, "a flaky entry needs its last day: add expires = \"YYYY-MM-DD\""));
            }
            let hides = typed.hides.into_iter().map(|hidden| of_catalogue(text, hidden)).collect::<Result<_, _>>()?;
            entries.push(Entry { id, reason, expires, flaky: typed.flaky, hides });
        }
        Ok(KnownFailing { entries })
    }

    /// The entry of a requirement.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Sets known failures apart from violations, on the day of the run, with the requirements that they hide. An entry whose last
    /// day is over excuses nothing. A flaky entry excuses no requirement that failed each of several times.
    pub fn apply(&self, verdicts: &mut [RequirementVerdict], today: Date) {
        let mut hiding = Vec::new();
        for verdict in verdicts.iter_mut().filter(|verdict| verdict.status == Status::Fail) {
            let Some(entry) = self.entry(&verdict.requirement.id) else { continue };
            let fails_always = verdict.judged > 1 && verdict.failures.len() >= verdict.judged;
            let reason = if let Some(last) = entry.expires.filter(|last| *last < today) {
                verdict.status = Status::StaleKnownFailing;
                format!("known to fail ({}), but the entry expired after {last}", entry.reason)
            } else if entry.flaky && fails_always {
                format!("known to fail at times ({}), but it failed all {} times", entry.reason, verdict.judged)
            } else {
                verdict.status = Status::KnownFailing;
                hiding.push(entry);
                entry.to_string()
            };
            verdict.reason = Some(reason);
        }
        for verdict in verdicts.iter_mut().filter(|verdict| verdict.selected && verdict.status == Status::NotExercised)
        {
            let hides = |entry: &&&Entry| entry.hides.contains(&verdict.requirement.id);
            if let Some(entry) = hiding.iter().find(hides) {
                verdict.status = Status::KnownFailing;
                verdict.reason = Some(format!("hidden by {}, which is known to fail: {entry}", entry.id));
            }
        }
    }

    /// Returns true if the requirement is listed as one that fails each time, so that its entry has no use once it holds.
    pub fn expects_failure(&self, id: &str) -> bool {
        self.entry(id).is_some_and(|entry| !entry.flaky)
    }
}

/// The identifier of a requirement that can fail.
fn of_catalogue(text: &str, id: Spanned<String>) -> Result<String, TomlError> {
    let (at, id) = (id.span(), id.into_inner());
    match catalogue().get(&id) {
        Some(requirement) if requirement.level == Level::Open => {
            Err(TomlError::at(text, at, format!("{id} is an open requirement, which cannot fail: remove it")))
        }
        Some(_) => Ok(id),
        None => {
            let hint = catalogue().did_you_mean(&id);
            Err(TomlError::at(text, at, format!("no requirement is called {id}{hint}")))
        }
    }
}

impl Entry {
    /// An entry for a requirement that fails each time, for this reason and until this last day.
    pub fn new(id: &str, reason: &str, expires: Option<Date>) -> Entry {
        Entry { id: id.to_owned(), reason: reason.to_owned(), expires, flaky: false, hides: Vec::new() }
    }

    /// The entry as TOML, as [`KnownFailing::parse`] reads it.
    pub fn toml(&self) -> String {
        // A JSON string is a TOML string, except for the one control character that JSON does not escape.
        let quoted = |text: &str| serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
        let expires = self.expires.map(|day| format!("expires = {}\n", quoted(&day.to_string())));
        let (id, reason) = (quoted(&self.id), quoted(&self.reason));
        let mut toml = format!("[[known-failing]]\nid = {id}\nreason = {reason}\n{}", expires.unwrap_or_default());
        if self.flaky {
            toml.push_str("flaky = true\n");
        }
        if !self.hides.is_empty() {
            toml.push_str(&format!(
                "hides = [{}]\n",
                self.hides.iter().map(|id| quoted(id)).collect::<Vec<_>>().join(", ")
            ));
        }
        toml
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
    use super::*;
    use animal_store_rules::rules::Failure;
    use animal_store_rules::verdict::{Verdict, overall};

    const TODAY: Date = Date::constant(2026, 6, 1);

    fn entry(id: &str, expires: &str) -> String {
        let expires = if expires.is_empty() { String::new() } else { format!("expires = \"{expires}\"\n") };
        format!("[[known-failing]]\nid = \"{id}\"\nreason = \"a ticket\"\n{expires}\n")
    }

    /// The verdict on a requirement that was judged three times.
    fn judged(id: &str, status: Status, failures: usize) -> RequirementVerdict {
        let failure = Failure { exchanges: vec![1], expected: "".into(), found: "".into(), subject: None };
        RequirementVerdict {
            selected: true,
            judged: 3,
            failures: vec![failure; failures],
            ..RequirementVerdict::new(catalogue().get(id).unwrap(), status)
        }
    }

    /// The statuses in the end, and the verdict on a run that selected nothing else.
    fn applied(list: &str, mut verdicts: Vec<RequirementVerdict>) -> (Vec<Status>, Verdict) {
        KnownFailing::parse(list).unwrap().apply(&mut verdicts, TODAY);
        let overall = overall(&verdicts, false, true);
        (verdicts.into_iter().map(|verdict| verdict.status).collect(), overall)
    }

    #[test]
    fn an_entry_excuses_failures_through_its_last_day() {
        for (expires, status, verdict) in [
            ("", Status::KnownFailing, Verdict::Conforms),
            ("2026-06-01", Status::KnownFailing, Verdict::Conforms),
            ("2026-05-31", Status::StaleKnownFailing, Verdict::Violates),
        ] {
            let found = applied(&entry("list.array", expires), vec![judged("list.array", Status::Fail, 3)]);
            assert_eq!(found, (vec![status], verdict), "{expires}");
        }
    }

    #[test]
    fn a_requirement_that_holds_although_it_is_listed_is_no_violation() {
        let found = |status| applied(&entry("list.array", "2026-05-31"), vec![judged("list.array", status, 0)]);
        assert_eq!(found(Status::Pass), (vec![Status::Pass], Verdict::Conforms));
        assert_eq!(found(Status::NotExercised), (vec![Status::NotExercised], Verdict::Incomplete));
    }

    #[test]
    fn a_flaky_requirement_may_fail_at_times_and_not_each_time() {
        let list = entry("list.array", "2026-12-31").trim_end().to_owned() + "\nflaky = true\n";
        for (failures, status) in [(1, Status::KnownFailing), (2, Status::KnownFailing), (3, Status::Fail)] {
            let (statuses, _) = applied(&list, vec![judged("list.array", Status::Fail, failures)]);
            assert_eq!(statuses, [status], "{failures} of 3");
        }
        assert_eq!(applied(&list, vec![judged("list.array", Status::Pass, 0)]).1, Verdict::Conforms);
        let without_end = list.replace("expires = \"2026-12-31\"\n", "");
        assert!(KnownFailing::parse(&without_end).unwrap_err().problem.contains("needs its last day"));
    }

    #[test]
    fn what_a_known_failure_hides_is_no_gap_while_it_fails() {
        let list = entry("list.array", "").trim_end().to_owned() + "\nhides = [\"list.complete\"]\n";
        let hidden = || judged("list.complete", Status::NotExercised, 0);
        let found = applied(&list, vec![hidden(), judged("list.array", Status::Fail, 3)]);
        assert_eq!(found, (vec![Status::KnownFailing, Status::KnownFailing], Verdict::Conforms));
        let (_, verdict) = applied(&list, vec![hidden(), judged("list.array", Status::Pass, 0)]);
        assert_eq!(verdict, Verdict::Incomplete);
        let seen =
            applied(&list, vec![judged("list.complete", Status::Fail, 1), judged("list.array", Status::Fail, 3)]);
        assert_eq!(seen.1, Verdict::Violates);
    }

    #[test]
    fn an_entry_that_is_written_is_read_as_it_was() {
        let mut written = Entry::new("list.array", "a \"ticket\"\nof two lines \\ \u{1}\u{7f}", Some(TODAY));
        (written.flaky, written.hides) = (true, vec!["list.complete".to_owned(), "list.unique".to_owned()]);
        let read = KnownFailing::parse(&written.toml()).unwrap();
        assert_eq!(read.entry("list.array"), Some(&written));
    }

    #[test]
    fn a_mistake_in_the_file_is_reported_with_its_place() {
        for (text, place, problem) in [
            (entry("list.aray", ""), (2, 6), "did you mean list.array?"),
            (entry("list", ""), (2, 6), "no requirement is called list"),
            (entry("list.order", ""), (2, 6), "list.order is an open requirement, which cannot fail"),
            (entry("list.array", "") + &entry("list.array", ""), (6, 6), "list.array is listed twice"),
            (entry("list.array", "soon"), (4, 11), "`soon` is not a date: write YYYY-MM-DD, such as 2026-12-31"),
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
