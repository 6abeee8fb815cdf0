//! The whole catalogue: read as of one moment, and replaced by another one in one transaction.

use rusqlite::{Connection, OptionalExtension};

use super::error::StoreError;
use super::read::{self, status_code};
use crate::domain::wire::NewPet;

/// All animals of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// The animals with their identifiers, the oldest first.
    pub animals: Vec<(i64, NewPet)>,
    /// The last identifier that was assigned, or 0. The next animal gets the number after it.
    pub last_id: i64,
}

impl Catalogue {
    /// A catalogue of these animals, numbered from 1.
    #[must_use]
    pub fn new(animals: Vec<NewPet>) -> Self {
        let animals: Vec<(i64, NewPet)> = (1..).zip(animals).collect();
        Self { last_id: animals.last().map_or(0, |(id, _)| *id), animals }
    }
}

/// The catalogue as of one moment.
pub(super) fn all(conn: &Connection) -> Result<Catalogue, StoreError> {
    let transaction = conn.unchecked_transaction()?;
    let mut animals = Vec::new();
    read::newest(&transaction, None, u32::MAX, |row| {
        let pet = NewPet { name: row.name.to_owned(), category_id: row.category_id, status: row.status };
        animals.push((row.id, pet));
    })?;
    animals.reverse();
    let last_id = transaction
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'animals'", [], |row| row.get(0))
        .optional()?;
    Ok(Catalogue { animals, last_id: last_id.unwrap_or(0) })
}

/// Replaces the present catalogue, inside the transaction of the caller.
pub(super) fn replace(conn: &Connection, catalogue: &Catalogue) -> Result<(), StoreError> {
    conn.execute("DELETE FROM animals", [])?;
    let mut insert =
        conn.prepare_cached("INSERT INTO animals (id, name, category_id, status) VALUES (?1, ?2, ?3, ?4)")?;
    for (id, pet) in &catalogue.animals {
        insert.execute((id, &pet.name, pet.category_id, pet.status.map(status_code)))?;
    }
    conn.execute("DELETE FROM sqlite_sequence WHERE name = 'animals'", [])?;
    conn.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('animals', ?1)", [catalogue.last_id])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Location, Store};
    use super::*;
    use crate::domain::wire::PetStatus;

    fn pet(name: &str, status: Option<PetStatus>) -> NewPet {
        NewPet { name: name.to_owned(), category_id: 7, status }
    }

    #[tokio::test]
    async fn a_catalogue_that_was_read_comes_back_with_its_identifiers_and_the_next_one() {
        let store = Store::open(&Location::Scratch).expect("a store");
        assert_eq!(store.catalogue().expect("read"), Catalogue::default());
        for name in ["a", "b"] {
            store.create(pet(name, Some(PetStatus::Sold))).await.expect("stored");
        }
        let two = store.catalogue().expect("read");
        assert_eq!(two, Catalogue::new(vec![pet("a", Some(PetStatus::Sold)), pet("b", Some(PetStatus::Sold))]));
        store.replace(Catalogue { animals: vec![(40, pet("c", None))], last_id: 50 }).await.expect("replaced");
        assert_eq!(store.create(pet("d", None)).await.expect("stored"), 51);
        store.replace(two.clone()).await.expect("replaced");
        assert_eq!(store.catalogue().expect("read"), two);
        assert_eq!(store.create(pet("e", None)).await.expect("stored"), 3);
        store.replace(Catalogue::default()).await.expect("replaced");
        assert_eq!(store.create(pet("f", None)).await.expect("stored"), 1);
    }
}
