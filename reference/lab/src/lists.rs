//! `animal-lab choices` and `animal-lab faults`: the lists of lawful choices and of faults.

use std::fmt::Write;

use serde::Serialize;

use crate::choices::{Choice, Maker, choices};
use crate::config::{Format, ListArgs};
use crate::faults::{Fault, every};
use animal_store_reference::cli::{Failure, print};
use animal_store_secrets::printable::printable;

/// A choice or a fault in a list.
#[derive(Serialize)]
struct Entry {
    name: String,
    requirement: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    axis: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    breaks: Vec<&'static str>,
    does: &'static str,
    /// A product, if the entry names one.
    as_with: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    made_by: Option<Maker>,
}

fn of_choice(choice: &Choice) -> Entry {
    Entry {
        name: choice.name(),
        requirement: choice.requirement(),
        axis: Some(choice.axis()),
        breaks: Vec::new(),
        does: choice.does,
        as_with: Some(choice.like).filter(|like| !like.is_empty()),
        made_by: Some(choice.maker),
    }
}

fn of_fault(Fault { name, targets, does, like, .. }: Fault) -> Entry {
    let (requirement, as_with) = (targets[0], Some(like).filter(|like| !like.is_empty()));
    Entry { name, requirement, axis: None, breaks: targets, does, as_with, made_by: None }
}

pub(crate) fn list_choices(args: &ListArgs) -> Result<(), Failure> {
    let heading = "Lawful choices: `*` marks those of the plain reference; a seed leaves out those with `-`.\n";
    list(args, heading, choices().iter().map(of_choice).collect())
}

pub(crate) fn list_faults(args: &ListArgs) -> Result<(), Failure> {
    let heading = "Faults: each breaks the requirement that its name begins with.\n";
    list(args, heading, every().into_iter().map(of_fault).collect())
}

/// Prints the entries whose names contain a text.
fn list(args: &ListArgs, heading: &str, mut entries: Vec<Entry>) -> Result<(), Failure> {
    if let Some(filter) = &args.filter {
        entries.retain(|entry| contains(filter, &entry.name));
        if entries.is_empty() {
            return Err(Failure::Usage(format!("no name contains `{filter}`; without a filter, all are listed")));
        }
    }
    let text = match args.format {
        Format::Text => heading.to_owned() + &entries.iter().map(text).collect::<String>(),
        Format::Json => serde_json::to_string_pretty(&entries).map_err(Failure::failed)? + "\n",
    };
    print(&printable(&text))
}

fn text(Entry { name, breaks, does, as_with, made_by, .. }: &Entry) -> String {
    let mark = match made_by {
        None => "",
        Some(Maker::Reference) => "* ",
        Some(Maker::Others) => "  ",
        Some(Maker::Circumstance | Maker::Intermediary) => "- ",
    };
    let mut out = format!("\n{mark}{name}\n    {does}\n");
    if let Some(product) = as_with {
        let _ = writeln!(out, "    As with {product}.");
    }
    if breaks.len() > 1 {
        let _ = writeln!(out, "    It also breaks {}.", breaks[1..].join(", "));
    }
    out
}

/// Returns true if a name begins with a pattern, in which `*` stands for any text.
pub(crate) fn begins(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else { return false };
    parts.all(|part| {
        let found = rest.find(part);
        rest = found.map_or(rest, |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

/// Returns true if a name contains a pattern, in which `*` stands for any text.
pub(crate) fn contains(pattern: &str, name: &str) -> bool {
    begins(&format!("*{pattern}"), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_beginning_in_which_stars_stand_for_any_text() {
        let name = "list.limit-default.fifty";
        for pattern in ["", "list", "list.limit-default.fifty", "*", "*fifty", "list.*.fi", "*limit*fifty"] {
            assert!(begins(pattern, name), "{pattern}");
        }
        for pattern in ["fifty", "list.*.ten", "*fifty*limit", "list.limit-default.fifty-one"] {
            assert!(!begins(pattern, name), "{pattern}");
        }
        assert!(contains("limit*fi", name) && !contains("limit*ten", name));
    }
}
