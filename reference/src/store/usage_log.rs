//! What keys have used, noted before a request is admitted, so that a killed process forgets none of it.
//!
//! The database stores usage twice a second, because a commit for every request would cost most of the throughput.
//! This file has one record for each key, overwritten in place by one `write` of 64 bytes and never synced: that
//! survives the end of the process, though not a power cut, after which up to half a second of usage is forgotten.
//! Keys with high limits note some requests ahead: a killed process then counts up to a hundredth of a minute's limit,
//! and at most 64 requests, that were not made.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::write::save_usage;
use crate::rate_limit::Usage;

/// The length of a record: five numbers, the start of the key's hash, and the start of a checksum.
const RECORD: usize = 64;
const KEY: std::ops::Range<usize> = 40..48;
const SUM: std::ops::Range<usize> = 48..64;

/// The open file.
pub(super) struct UsageLog {
    file: File,
    failed: AtomicBool,
}

impl UsageLog {
    /// Opens the file, and creates it, readable by this user only, if it is missing.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(Self { file, failed: AtomicBool::new(false) })
    }

    /// Notes what the key with this number and hash has used.
    pub(super) fn note(&self, id: i64, hash: &[u8; 32], usage: &Usage) {
        let offset = u64::try_from(id).unwrap_or(0).saturating_mul(RECORD as u64);
        let noted = self.file.write_all_at(&encode(hash, usage), offset);
        if let Err(error) = &noted
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "usage cannot be noted: if the process is killed, up to half a second of it is forgotten");
        }
    }

    /// Stores in the database what the file knows better.
    pub(super) fn restore(&self, conn: &Connection) -> Result<(), StoreError> {
        let mut noted = Vec::new();
        (&self.file).read_to_end(&mut noted).map_err(|error| StoreError::Failed(error.to_string()))?;
        let mut known = Vec::new();
        for (id, record) in (0_i64..).zip(noted.chunks_exact(RECORD)) {
            let Some((key, usage)) = decode(record) else { continue };
            let hash: Option<[u8; 32]> = conn
                .prepare_cached("SELECT hash FROM keys WHERE id = ?1")?
                .query_row([id], |row| row.get(0))
                .optional()?;
            // Another key may have this number when the database was restored or exchanged.
            if hash.is_some_and(|hash| hash[..key.len()] == key) {
                known.push((id, usage));
            }
        }
        let transaction = conn.unchecked_transaction()?;
        save_usage(&transaction, &known)?;
        Ok(transaction.commit()?)
    }
}

fn encode(hash: &[u8; 32], usage: &Usage) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let numbers = [usage.minute, usage.in_minute, usage.in_day, usage.refusals, usage.banned_until];
    for (bytes, number) in record.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    record[KEY].copy_from_slice(&hash[..KEY.len()]);
    let sum = checksum(&record);
    record[SUM].copy_from_slice(&sum);
    record
}

fn decode(record: &[u8]) -> Option<([u8; 8], Usage)> {
    if record[SUM] != checksum(record) {
        return None;
    }
    let number = |index: usize| record[index * 8..][..8].try_into().map(u64::from_le_bytes).ok();
    let usage = Usage {
        minute: number(0)?,
        in_minute: number(1)?,
        in_day: number(2)?,
        refusals: number(3)?,
        banned_until: number(4)?,
    };
    Some((record[KEY].try_into().ok()?, usage))
}

/// Distinguishes a record from a hole in the file, and from one that was not written completely.
fn checksum(record: &[u8]) -> [u8; 16] {
    let digest: [u8; 32] = Sha256::digest(&record[..SUM.start]).into();
    digest[..16].try_into().unwrap_or([0; 16])
}

#[cfg(test)]
mod tests {
    use super::super::keys::{self, NewKey};
    use super::super::schema::{self, Durability};
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn what_was_noted_is_restored_for_the_same_key_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let conn = schema::open(&folder.path().join("animals.sqlite"), Durability::None).expect("a database");
        for number in 1..=4 {
            let limits = Plan::Free.limits();
            let key = NewKey { name: "x", plan: "free", limits, created_at: 0 };
            assert_eq!(keys::add(&conn, &key, |_| [number; 32]).ok(), Some(number.into()));
        }
        let path = folder.path().join("usage");
        let used = |in_minute| Usage { minute: 10, in_minute, in_day: 9, refusals: 1, banned_until: 1_200 };
        let log = UsageLog::open(&path).expect("a file");
        log.note(1, &[1; 32], &used(1));
        log.note(1, &[1; 32], &used(2));
        log.note(2, &[9; 32], &used(5));
        log.note(4, &[4; 32], &used(7));
        log.note(5, &[5; 32], &used(8));
        log.file.write_all_at(&[1], 4 * 64 + 3).expect("damage");
        UsageLog::open(&path).expect("the file").restore(&conn).expect("stored");
        let stored: Vec<Usage> = keys::all(&conn).expect("the keys").1.into_iter().map(|key| key.usage).collect();
        assert_eq!(stored, [used(2), Usage::default(), Usage::default(), Usage::default()]);
    }
}
