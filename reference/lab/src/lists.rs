//! `animal-lab choices` and `animal-lab faults`: the lists of lawful choices and of faults.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::choices::{Choice, Maker, choices};
use crate::config::{ListArgs, ListFormat};
use crate::faults::{Fault, faults};
use crate::pattern::contains;
use animal_store_reference::cli::{Failure, print};
use animal_store_rules::printable::printable;

pub(crate) fn list_choices(args: &ListArgs) -> Result<(), Failure> {
    let choices = filtered(choices(), args.filter.as_deref(), Choice::name)?;
    let text = match args.format {
        ListFormat::Text => choices_text(&choices),
        ListFormat::Json => lines(choices.iter().map(choice_json).collect()),
    };
    print(&printable(&text))
}

pub(crate) fn list_faults(args: &ListArgs) -> Result<(), Failure> {
    let faults = filtered(faults(), args.filter.as_deref(), |fault| fault.name.clone())?;
    let text = match args.format {
        ListFormat::Text => faults_text(&faults),
        ListFormat::Json => lines(faults.iter().map(fault_json).collect()),
    };
    print(&printable(&text))
}

/// The entries whose names contain a text.
fn filtered<T>(mut entries: Vec<T>, filter: Option<&str>, name: fn(&T) -> String) -> Result<Vec<T>, Failure> {
    if let Some(filter) = filter {
        entries.retain(|entry| contains(filter, &name(entry)));
        if entries.is_empty() {
            return Err(Failure::Usage(format!("no name contains `{filter}`; without a filter, all are listed")));
        }
    }
    Ok(entries)
}

fn choices_text(choices: &[Choice]) -> String {
    let mut out =
        String::from("Lawful choices: `*` marks those of the plain reference; a seed leaves out those with `-`.\n");
    for choice in choices {
        let mark = match choice.maker {
            Maker::Reference => '*',
            Maker::Others => ' ',
            Maker::Circumstance | Maker::Intermediary => '-',
        };
        let _ = write!(out, "\n{mark} {}\n    {}\n", choice.name(), choice.does);
        if matches!(choice.maker, Maker::Others | Maker::Intermediary) {
            let _ = writeln!(out, "    As with {}.", choice.like);
        }
    }
    out
}

fn faults_text(faults: &[Fault]) -> String {
    let mut out = String::from("Faults: each breaks the requirement that its name begins with.\n");
    for fault in faults {
        let _ = write!(out, "\n{}\n    {}\n    As with {}.\n", fault.name, fault.does, fault.like);
        if let [_, others @ ..] = fault.targets
            && !others.is_empty()
        {
            let _ = writeln!(out, "    It also breaks {}.", others.join(", "));
        }
    }
    out
}

fn choice_json(choice: &Choice) -> Value {
    json!({
        "name": choice.name(),
        "requirement": choice.requirement(),
        "axis": choice.axis(),
        "does": choice.does,
        "as_with": choice.like,
        "made_by": choice.maker,
    })
}

fn fault_json(fault: &Fault) -> Value {
    json!({"name": fault.name, "requirement": fault.targets[0], "breaks": fault.targets, "does": fault.does, "as_with": fault.like})
}

fn lines(values: Vec<Value>) -> String {
    format!("{:#}\n", Value::Array(values))
}
