//! The animals that a catalogue begins with: generated, or read from a file.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::value::RawValue;

use animal_store_reference::wire::{NewPet, PetStatus};

/// The maximum number of generated animals: more would take minutes to create.
const MOST: u32 = 1_000_000;

/// The names of generated animals, before their number.
const NAMES: [&str; 24] = [
    "Amber", "Bella", "Clover", "Daisy", "Echo", "Finn", "Ginger", "Hazel", "Iris", "Jasper", "Kiwi", "Luna", "Milo",
    "Nala", "Otto", "Pepper", "Quill", "Rex", "Shadow", "Tilly", "Umbra", "Violet", "Willow", "Ziggy",
];

/// The number of categories of generated animals, which are numbered from 1.
const CATEGORIES: i64 = 5;

/// The source of the first animals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Animals {
    /// Generated animals, this number: the same in every run, and a larger number begins with the same animals.
    Generated(u32),
    /// A JSON file: an array of bodies of creations.
    File(PathBuf),
}

impl FromStr for Animals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it must be a number or a file".to_owned());
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Self::File(text.into()));
        }
        let count = text.parse().ok().filter(|count| *count <= MOST);
        count.map(Self::Generated).ok_or_else(|| format!("at most {MOST} animals can be generated"))
    }
}

impl Animals {
    /// The animals, the oldest first.
    ///
    /// # Errors
    ///
    /// A sentence that names the file, the entry and the problem.
    pub(crate) fn read(&self) -> Result<Vec<NewPet>, String> {
        match self {
            Self::Generated(count) => Ok((1..=u64::from(*count)).map(generate).collect()),
            Self::File(path) => {
                let unreadable = |error| format!("cannot read the animals of {}: {error}", path.display());
                parse(path, &std::fs::read(path).map_err(unreadable)?)
            }
        }
    }
}

/// The animal of this number, which depends on nothing else.
fn generate(number: u64) -> NewPet {
    let mut random = fastrand::Rng::with_seed(number);
    let name = NAMES[random.usize(..NAMES.len())];
    let status = match random.u8(..10) {
        0..=4 => Some(PetStatus::Available),
        5..=6 => Some(PetStatus::Pending),
        7..=8 => Some(PetStatus::Sold),
        // Clients have to be ready for an animal without a status.
        _ => None,
    };
    NewPet { name: format!("{name} {number}"), category_id: random.i64(1..=CATEGORIES), status }
}

fn parse(path: &Path, text: &[u8]) -> Result<Vec<NewPet>, String> {
    let path = path.display();
    let entries: Vec<&RawValue> =
        serde_json::from_slice(text).map_err(|error| format!("{path} is not a JSON array of animals: {error}"))?;
    let read = |(number, entry): (usize, &RawValue)| {
        NewPet::parse(entry.get().as_bytes()).map_err(|error| {
            // A place within the entry would be taken for one in the file.
            let problem = error.split(" at line ").next().unwrap_or_default();
            format!("entry {number} of {path} is not a valid animal: {problem}")
        })
    };
    (1..).zip(entries).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_generates_and_anything_else_is_a_file() {
        assert_eq!("25".parse(), Ok(Animals::Generated(25)));
        assert_eq!("0".parse(), Ok(Animals::Generated(0)));
        assert_eq!("./25".parse(), Ok(Animals::File("./25".into())));
        assert_eq!("-1".parse(), Ok(Animals::File("-1".into())));
        for wrong in ["", "1000001", "99999999999"] {
            assert!(wrong.parse::<Animals>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn generated_animals_are_the_same_whatever_their_number_and_of_every_kind() {
        let (few, many) =
            (Animals::Generated(7).read().expect("animals"), Animals::Generated(200).read().expect("animals"));
        assert_eq!(few[..], many[..7]);
        for status in [None, Some(PetStatus::Available), Some(PetStatus::Pending), Some(PetStatus::Sold)] {
            assert!(many.iter().any(|pet| pet.status == status), "{status:?}");
        }
        for category in 1..=CATEGORIES {
            assert!(many.iter().any(|pet| pet.category_id == category), "{category}");
        }
        // What others rely on in their tests.
        assert_eq!(few[0], generate(1));
        assert_eq!(many.iter().map(|pet| &pet.name).collect::<std::collections::HashSet<_>>().len(), 200);
    }

    #[test]
    fn a_file_that_is_wrong_is_refused_with_the_entry_and_what_is_wrong_with_it() {
        for (text, expected) in [
            ("{}", "a.json is not a JSON array of animals: invalid type: map, expected a sequence at line 1 column 0"),
            (
                r#"[{"name":"x","categoryId":1},{"name":"x"}]"#,
                "entry 2 of a.json is not a valid animal: missing field `categoryId`",
            ),
        ] {
            let error = parse(Path::new("a.json"), text.as_bytes()).expect_err("it is refused");
            assert_eq!(error, expected, "{text}");
        }
        let missing = Animals::File("/nonexistent/animals.json".into()).read().expect_err("there is no such file");
        assert!(missing.contains("/nonexistent/animals.json"), "{missing}");
    }
}
