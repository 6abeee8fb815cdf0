//! Animals in the database: one, the newest, and the whole catalogue.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use super::{Store, error::StoreError};
use crate::domain::wire::{NewPet, PetStatus};

const INSERT: &str = "INSERT INTO animals (id, name, category_id, status) VALUES (?1, ?2, ?3, ?4)";
const ONE: &str = "SELECT id, name, category_id, status FROM animals WHERE id = ?1";
const NEWEST: &str = "SELECT id, name, category_id, status FROM animals ORDER BY id DESC LIMIT ?1";
const NEWEST_BY_STATUS: &str =
    "SELECT id, name, category_id, status FROM animals WHERE status = ?1 ORDER BY id DESC LIMIT ?2";

/// An animal in the database, borrowed while it is written out as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnimalRow<'row> {
    /// The identifier that the store assigned.
    pub id: i64,
    /// The name as the client sent it.
    pub name: &'row str,
    /// The identifier of the animal's category.
    pub category_id: i64,
    /// The availability of the animal, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PetStatus>,
}

/// All animals of a store with their identifiers, the oldest first. The next animal gets the number after the last one.
pub type Catalogue = Vec<(i64, NewPet)>;

impl Store {
    /// Stores an animal. Returns its id once the animal would survive a power cut.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the animal was not stored, unless it is [`StoreError::OutcomeUnknown`].
    pub async fn create(&self, pet: NewPet) -> Result<i64, StoreError> {
        self.writer.submit(move |conn| insert(conn, None, &pet)).await
    }

    /// Hands the animal with `id` to `write`, if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn animal<T>(&self, id: i64, write: impl FnOnce(AnimalRow<'_>) -> T) -> Result<Option<T>, StoreError> {
        self.read(|conn| conn.prepare_cached(ONE)?.query_row([id], |row| Ok(write(borrow(row)?))).optional())
    }

    /// Hands up to `limit` animals to `write`, the newest first, of one status or of all.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read; `write` may have been called before.
    pub fn newest(
        &self,
        status: Option<PetStatus>,
        limit: u32,
        mut write: impl FnMut(AnimalRow<'_>),
    ) -> Result<(), StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(if status.is_some() { NEWEST_BY_STATUS } else { NEWEST })?;
            let mut rows = match status {
                Some(status) => statement.query((status as u8, limit))?,
                None => statement.query([limit])?,
            };
            while let Some(row) = rows.next()? {
                write(borrow(row)?);
            }
            Ok(())
        })
    }

    /// All animals, as of one moment.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn catalogue(&self) -> Result<Catalogue, StoreError> {
        let mut animals = Vec::new();
        self.newest(None, u32::MAX, |row| {
            let pet = NewPet { name: row.name.to_owned(), category_id: row.category_id, status: row.status };
            animals.push((row.id, pet));
        })?;
        animals.reverse();
        Ok(animals)
    }

    /// Replaces the present catalogue. The cache of response bodies is not cleared: use `App::replace` while a server runs.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was changed, unless it is [`StoreError::OutcomeUnknown`].
    pub async fn replace(&self, catalogue: Catalogue) -> Result<(), StoreError> {
        let replace = move |conn: &Connection| {
            conn.execute("DELETE FROM animals", [])?;
            conn.execute("DELETE FROM sqlite_sequence WHERE name = 'animals'", [])?;
            catalogue.iter().try_fold(0, |_, (id, pet)| insert(conn, Some(*id), pet))
        };
        self.writer.submit(replace).await.map(drop)
    }
}

/// Inserts an animal, without an id under the next one, and returns its id.
fn insert(conn: &Connection, id: Option<i64>, pet: &NewPet) -> rusqlite::Result<i64> {
    // A status is stored as its place in `PetStatus::ALL`.
    let status = pet.status.map(|status| status as u8);
    conn.prepare_cached(INSERT)?.insert((id, &pet.name, pet.category_id, status))
}

fn borrow<'row>(row: &'row Row<'_>) -> rusqlite::Result<AnimalRow<'row>> {
    let unknown = |code: u8| rusqlite::Error::IntegralValueOutOfRange(3, code.into());
    let status = row.get::<_, Option<u8>>(3)?;
    let status = status.map(|code| PetStatus::ALL.get(usize::from(code)).copied().ok_or(unknown(code)));
    Ok(AnimalRow {
        id: row.get(0)?,
        name: row.get_ref(1)?.as_str()?,
        category_id: row.get(2)?,
        status: status.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    #[test]
    fn a_filtered_list_is_answered_from_the_covering_index_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let conn = open::open(&folder.path().join("plan.sqlite"), open::TEMPORARY, open::SERVER_PATIENCE);
        let conn = conn.expect("a database");
        let plan = |sql: &str, parameters: &[i64]| -> String {
            conn.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), rusqlite::params_from_iter(parameters), |row| {
                row.get(3)
            })
            .expect("a plan")
        };
        assert_eq!(
            plan(NEWEST_BY_STATUS, &[0, 20]),
            "SEARCH animals USING COVERING INDEX animals_by_status (status=?)"
        );
        assert_eq!(plan(NEWEST, &[20]), "SCAN animals");
    }

    fn pet(name: &str, status: Option<PetStatus>) -> NewPet {
        NewPet { name: name.to_owned(), category_id: 7, status }
    }

    #[tokio::test]
    async fn a_catalogue_that_was_read_comes_back_with_its_identifiers_and_the_next_one() {
        let store = Store::temporary().expect("a store");
        assert_eq!(store.catalogue().expect("read"), Catalogue::new());
        for name in ["a", "b"] {
            store.create(pet(name, Some(PetStatus::Sold))).await.expect("stored");
        }
        let two = store.catalogue().expect("read");
        assert_eq!(two, [(1, pet("a", Some(PetStatus::Sold))), (2, pet("b", Some(PetStatus::Sold)))]);
        store.replace(vec![(40, pet("c", None))]).await.expect("replaced");
        assert_eq!(store.create(pet("d", None)).await.expect("stored"), 41);
        store.replace(two.clone()).await.expect("replaced");
        assert_eq!(store.catalogue().expect("read"), two);
        assert_eq!(store.create(pet("e", None)).await.expect("stored"), 3);
        store.replace(Catalogue::new()).await.expect("replaced");
        assert_eq!(store.create(pet("f", None)).await.expect("stored"), 1);
    }
}
