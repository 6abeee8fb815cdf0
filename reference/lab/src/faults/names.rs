//! Names that a server alters.

use super::{Fault, fault, set};
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    // A run on a Free key has no room for names that seldom occur.
    characters().into_iter().chain(rare().into_iter().map(|fault| fault.on(Plan::Pro))).collect()
}

fn characters() -> Vec<Fault> {
    vec![
        fault("cut-at-number-sign", &["create.echo"])
            .does("A name is cut at a number sign.")
            .like("a name that passes through a URL")
            .renames(|name| name.split_once('#').map(|(begin, _)| begin.to_owned())),
        fault("placeholders", &["create.echo"])
            .does("A question mark in a name becomes $1.")
            .like("a placeholder in SQL")
            .renames(|name| name.contains('?').then(|| name.replace('?', "$1"))),
        fault("templates", &["create.echo"])
            .does("What a name has in double braces is left out.")
            .like("a template engine that renders values, too")
            .renames(|name| {
                let (begin, rest) = name.split_once("{{")?;
                rest.split_once("}}").map(|(_, end)| format!("{begin}{end}"))
            }),
        fault("no-last-number", &["create.echo"])
            .does("A number at the end of a name is left out.")
            .like("a clean-up of numbered copies")
            .renames(|name| {
                let (begin, number) = name.rsplit_once(' ')?;
                number.bytes().all(|byte| byte.is_ascii_digit()).then(|| begin.to_owned())
            }),
        fault("left-to-right", &["create.echo"])
            .does("Letters that are written from right to left are left out of names.")
            .like("a filter for marks of direction that takes too much")
            .renames(|name| {
                let is_kept = |c: &char| !('\u{590}'..='\u{6ff}').contains(c);
                (!name.chars().all(|c| is_kept(&c))).then(|| name.chars().filter(is_kept).collect())
            }),
        fault("western-letters", &["create.echo"])
            .does("Greek and Cyrillic letters in names become question marks.")
            .like("a column in a Western encoding")
            .renames(|name| {
                let western = |c: char| if ('\u{370}'..='\u{4ff}').contains(&c) { '?' } else { c };
                let changed: String = name.chars().map(western).collect();
                (changed != name).then_some(changed)
            }),
    ]
}

/// Faults of names that seldom occur.
fn rare() -> Vec<Fault> {
    vec![
        fault("digits-as-a-number", &["create.echo"])
            .does("A name that is a number loses its last noughts.")
            .like("a column without a type, which stores numbers as numbers")
            .renames(|name| name.parse::<f64>().ok().filter(|_| name.contains('.')).map(|number| number.to_string())),
        fault("dollar-signs", &["create.echo"])
            .does("Two dollar signs in a name become one.")
            .like("a replacement pattern in which a dollar sign is special")
            .renames(|name| name.contains("$$").then(|| name.replace("$$", "$"))),
        fault("percent-signs", &["create.echo"])
            .does("Two percent signs in a name become one.")
            .like("a name that is written as a format")
            .renames(|name| name.contains("%%").then(|| name.replace("%%", "%"))),
        fault("digits-are-numbers", &["pet.members"])
            .does("A name of digits is returned as a number.")
            .like("a format in which what looks like a number is one")
            .shows(|pet| {
                let number = |text: &str| text.parse::<i64>().ok().filter(|number| number.to_string() == text);
                if let Some(number) = pet.get("name").and_then(|name| number(name.as_str()?)) {
                    set(pet, "name", number);
                }
            }),
        fault("entities", &["create.echo"])
            .does("A character reference in a name is resolved.")
            .like("a filter for markup")
            .renames(|name| name.contains("&amp;").then(|| name.replace("&amp;", "&"))),
        fault("cut-at-1024", &["create.echo"])
            .does("A name is cut after 1,024 bytes.")
            .like("a column that is silently cut")
            .renames(|name| name.get(..1_024).filter(|cut| cut.len() < name.len()).map(str::to_owned)),
        fault("cut-at-4096", &["create.echo"])
            .does("A name is cut after 4,096 bytes.")
            .like("a buffer of one page of memory")
            .renames(|name| name.get(..4_096).filter(|cut| cut.len() < name.len()).map(str::to_owned)),
        fault("dates", &["create.echo"])
            .does("A time is added to a name that is a date.")
            .like("a reader of JSON that makes dates of what looks like one")
            .renames(|name| {
                let is_date = name.len() == 10 && name.split('-').map(str::len).eq([4, 2, 2]);
                is_date.then(|| format!("{name}T00:00:00Z"))
            }),
        fault("exponents", &["create.echo"])
            .does("A name in the form of a number loses its exponent.")
            .like("a loosely typed value")
            .renames(|name| {
                name.contains('e').then(|| name.parse::<f64>().ok()).flatten().map(|number| number.to_string())
            }),
    ]
}
