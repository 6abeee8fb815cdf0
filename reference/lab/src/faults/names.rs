//! Names that a server alters.

use serde_json::json;

use super::create::rename;
use super::{Fault, fault};
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    // A run on a Free key has no room for names that seldom occur.
    characters().into_iter().chain(rare().into_iter().map(|fault| fault.on(Plan::Pro))).collect()
}

/// A fault that alters names for which there is another.
fn altering(short: &'static str, does: &'static str, like: &'static str, alter: fn(&str) -> Option<String>) -> Fault {
    fault(short, does, &["create.echo"], like).edit(move |request, _| {
        request.edit_object(|pet| rename(pet, |name| alter(name).unwrap_or_else(|| name.to_owned())));
    })
}

fn characters() -> Vec<Fault> {
    vec![
        altering("cut-at-number-sign", "A name is cut at a number sign.", "a name that passes through a URL", |name| {
            name.split_once('#').map(|(begin, _)| begin.to_owned())
        }),
        altering("placeholders", "A question mark in a name becomes $1.", "a placeholder in SQL", |name| {
            name.contains('?').then(|| name.replace('?', "$1"))
        }),
        altering(
            "templates",
            "What a name has in double braces is left out.",
            "a template engine that renders values, too",
            |name| {
                let (begin, rest) = name.split_once("{{")?;
                rest.split_once("}}").map(|(_, end)| format!("{begin}{end}"))
            },
        ),
        altering(
            "no-last-number",
            "A number at the end of a name is left out.",
            "a clean-up of numbered copies",
            |name| {
                let (begin, number) = name.rsplit_once(' ')?;
                number.bytes().all(|byte| byte.is_ascii_digit()).then(|| begin.to_owned())
            },
        ),
        altering(
            "left-to-right",
            "Letters that are written from right to left are left out of names.",
            "a filter for marks of direction that takes too much",
            |name| {
                let is_kept = |c: &char| !('\u{590}'..='\u{6ff}').contains(c);
                (!name.chars().all(|c| is_kept(&c))).then(|| name.chars().filter(is_kept).collect())
            },
        ),
        altering(
            "western-letters",
            "Greek and Cyrillic letters in names become question marks.",
            "a column in a Western encoding",
            |name| {
                let western = |c: char| if ('\u{370}'..='\u{4ff}').contains(&c) { '?' } else { c };
                let changed: String = name.chars().map(western).collect();
                (changed != name).then_some(changed)
            },
        ),
    ]
}

/// Faults of names that seldom occur.
fn rare() -> Vec<Fault> {
    vec![
        altering(
            "digits-as-a-number",
            "A name that is a number loses its last noughts.",
            "a column without a type, which stores numbers as numbers",
            |name| name.parse::<f64>().ok().filter(|_| name.contains('.')).map(|number| number.to_string()),
        ),
        altering(
            "dollar-signs",
            "Two dollar signs in a name become one.",
            "a replacement pattern in which a dollar sign is special",
            |name| name.contains("$$").then(|| name.replace("$$", "$")),
        ),
        altering(
            "percent-signs",
            "Two percent signs in a name become one.",
            "a name that is written as a format",
            |name| name.contains("%%").then(|| name.replace("%%", "%")),
        ),
        fault(
            "digits-are-numbers",
            "A name of digits is returned as a number.",
            &["pet.members"],
            "a format in which what looks like a number is one",
        )
        .after(|_, response, _| {
            let number = |text: &str| text.parse::<i64>().ok().filter(|number| number.to_string() == text);
            response.edit_pets(|pet| {
                if let Some(number) = pet.get("name").and_then(|name| number(name.as_str()?)) {
                    pet.insert("name".to_owned(), json!(number));
                }
            });
        }),
        altering("entities", "A character reference in a name is resolved.", "a filter for markup", |name| {
            name.contains("&amp;").then(|| name.replace("&amp;", "&"))
        }),
        altering("cut-at-1024", "A name is cut after 1,024 bytes.", "a column that is silently cut", |name| {
            name.get(..1_024).filter(|cut| cut.len() < name.len()).map(str::to_owned)
        }),
        altering("cut-at-4096", "A name is cut after 4,096 bytes.", "a buffer of one page of memory", |name| {
            name.get(..4_096).filter(|cut| cut.len() < name.len()).map(str::to_owned)
        }),
        altering(
            "dates",
            "A time is added to a name that is a date.",
            "a reader of JSON that makes dates of what looks like one",
            |name| {
                let is_date = name.len() == 10 && name.split('-').map(str::len).eq([4, 2, 2]);
                is_date.then(|| format!("{name}T00:00:00Z"))
            },
        ),
        altering("exponents", "A name in the form of a number loses its exponent.", "a loosely typed value", |name| {
            name.contains('e').then(|| name.parse::<f64>().ok()).flatten().map(|number| number.to_string())
        }),
    ]
}
