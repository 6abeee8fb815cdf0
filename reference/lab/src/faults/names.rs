//! Names that a server alters.

use super::{Builds, Fault, fault, set};
use animal_store_reference::Plan;

pub(super) fn faults() -> Vec<Fault> {
    // A run on a Free key has no room for names that seldom occur.
    characters().into_iter().chain(rare().into_iter().map(|fault| fault.on(Plan::Pro))).collect()
}

fn characters() -> Vec<Fault> {
    vec![
        fault("create.echo.cut-at-number-sign", "A name is cut at a number sign.")
            .renames(|name| name.split_once('#').map(|(begin, _)| begin.to_owned())),
        fault("create.echo.placeholders", "A question mark in a name becomes $1.")
            .renames(|name| name.contains('?').then(|| name.replace('?', "$1"))),
        fault("create.echo.templates", "What a name has in double braces is left out.").renames(|name| {
            let (begin, rest) = name.split_once("{{")?;
            rest.split_once("}}").map(|(_, end)| format!("{begin}{end}"))
        }),
        fault("create.echo.no-last-number", "A number at the end of a name is left out.").renames(|name| {
            let (begin, number) = name.rsplit_once(' ')?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| begin.to_owned())
        }),
        fault("create.echo.left-to-right", "Letters that are written from right to left are left out of names.")
            .renames(|name| {
                let is_kept = |c: &char| !('\u{590}'..='\u{6ff}').contains(c);
                (!name.chars().all(|c| is_kept(&c))).then(|| name.chars().filter(is_kept).collect())
            }),
        fault("create.echo.western-letters", "Greek and Cyrillic letters become question marks.").renames(|name| {
            let western = |c: char| if ('\u{370}'..='\u{4ff}').contains(&c) { '?' } else { c };
            let changed: String = name.chars().map(western).collect();
            (changed != name).then_some(changed)
        }),
    ]
}

/// Faults of names that seldom occur.
fn rare() -> Vec<Fault> {
    vec![
        fault("create.echo.digits-as-a-number", "A name that is a number loses its last zeros.")
            .renames(|name| name.parse::<f64>().ok().filter(|_| name.contains('.')).map(|number| number.to_string())),
        fault("create.echo.dollar-signs", "Two dollar signs in a name become one.")
            .renames(|name| name.contains("$$").then(|| name.replace("$$", "$"))),
        fault("create.echo.percent-signs", "Two percent signs in a name become one.")
            .renames(|name| name.contains("%%").then(|| name.replace("%%", "%"))),
        fault("pet.members.digits-are-numbers", "A name of digits is returned as a number.").shows(|pet| {
            let number = |text: &str| text.parse::<i64>().ok().filter(|number| number.to_string() == text);
            if let Some(number) = pet.get("name").and_then(|name| number(name.as_str()?)) {
                set(pet, "name", number);
            }
        }),
        fault("create.echo.entities", "A character reference in a name is resolved.")
            .renames(|name| name.contains("&amp;").then(|| name.replace("&amp;", "&"))),
        fault("create.echo.cut-at-1024", "A name is cut after 1,024 bytes.")
            .renames(|name| name.get(..1_024).filter(|cut| cut.len() < name.len()).map(str::to_owned)),
        fault("create.echo.cut-at-4096", "A name is cut after 4,096 bytes.")
            .renames(|name| name.get(..4_096).filter(|cut| cut.len() < name.len()).map(str::to_owned)),
        fault("create.echo.dates", "A time is added to a name that is a date.").renames(|name| {
            let is_date = name.len() == 10 && name.split('-').map(str::len).eq([4, 2, 2]);
            is_date.then(|| format!("{name}T00:00:00Z"))
        }),
        fault("create.echo.exponents", "A name in the form of a number loses its exponent.").renames(|name| {
            name.contains('e').then(|| name.parse::<f64>().ok()).flatten().map(|number| number.to_string())
        }),
    ]
}
