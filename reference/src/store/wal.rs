//! Looking for damage in a write-ahead log before SQLite reads it ("WAL Format", sqlite.org/fileformat2.html).
//!
//! SQLite reads a log up to the first frame with a wrong checksum. That is right for the unfinished end of a log, but
//! a single flipped bit in its middle hides, without a message, every commit from there on.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const MAGIC: u32 = 0x377f_0682;

/// Intact frames behind a damaged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// The number of the damaged frame, from 1.
    pub frame: u64,
    /// Commits behind it that SQLite will not read.
    pub hidden_commits: u64,
}

type Sums = [u32; 2];

/// Reads the log at `path`. `None` when there is no log, or when nothing intact follows its readable part.
pub(super) fn find_damage(path: &Path) -> io::Result<Option<Damage>> {
    let mut log = match File::open(path) {
        Ok(file) => BufReader::with_capacity(1 << 20, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = [0_u8; 32];
    if !fill(&mut log, &mut header)? {
        return Ok(None);
    }
    // The magic number says in which byte order the checksums were computed.
    let read = match word(&header, 0) {
        MAGIC => u32::from_le_bytes,
        magic if magic == MAGIC | 1 => u32::from_be_bytes,
        _ => return Ok(None),
    };
    let page_size = word(&header, 8) as usize;
    let mut sums = checksum([0; 2], &header[..24], read);
    if sums != [word(&header, 24), word(&header, 28)] || !(512..=65_536).contains(&page_size) {
        return Ok(None);
    }

    let mut frame = vec![0_u8; 24 + page_size];
    let mut number = 0;
    let mut damage: Option<Damage> = None;
    while fill(&mut log, &mut frame)? {
        number += 1;
        let stored = [word(&frame, 16), word(&frame, 20)];
        let computed = checksum(checksum(sums, &frame[..8], read), &frame[24..], read);
        // Frames of an earlier round have other salts: the log is written from its start again and again.
        let is_intact = frame[8..16] == header[16..24] && stored == computed;
        match &mut damage {
            None if !is_intact => damage = Some(Damage { frame: number, hidden_commits: 0 }),
            Some(damage) if is_intact && word(&frame, 4) != 0 => damage.hidden_commits += 1,
            _ => {}
        }
        // Each checksum continues the one before. Behind damage, the stored one is all there is to continue.
        sums = stored;
    }
    Ok(damage.filter(|damage| damage.hidden_commits > 0))
}

/// Fills `buffer`; false at the end of the file.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// A big-endian number, as all numbers of the format are.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn checksum(seed: Sums, bytes: &[u8], read: fn([u8; 4]) -> u32) -> Sums {
    bytes.chunks_exact(8).fold(seed, |[first, second], pair| {
        let first = first.wrapping_add(read([pair[0], pair[1], pair[2], pair[3]])).wrapping_add(second);
        let second = second.wrapping_add(read([pair[4], pair[5], pair[6], pair[7]])).wrapping_add(first);
        [first, second]
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    const FRAME: u64 = 24 + 4096;

    /// The log of twenty commits, as a killed process leaves it.
    fn log(folder: &Path) -> (Vec<u8>, std::path::PathBuf) {
        let path = folder.join("animals.sqlite");
        let conn = Connection::open(&path).expect("a database");
        conn.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x);").expect("a table");
        for number in 0..19 {
            conn.execute("INSERT INTO t VALUES (?1)", [number]).expect("a row");
        }
        let log = folder.join("animals.sqlite-wal");
        (std::fs::read(&log).expect("a log"), folder.join("copy-wal"))
    }

    #[test]
    fn a_flipped_bit_that_hides_commits_is_found_wherever_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (log, path) = log(folder.path());
        std::fs::write(&path, &log).expect("a copy");
        assert_eq!(find_damage(&path).expect("readable"), None);
        let frames = (log.len() as u64 - 32) / FRAME;
        for (frame, offset) in [(1, 0), (2, 9), (3, 17), (frames - 1, 24), (frames - 1, 4_000)] {
            let mut damaged = log.clone();
            damaged[(32 + (frame - 1) * FRAME + offset) as usize] ^= 4;
            std::fs::write(&path, damaged).expect("a copy");
            let damage = find_damage(&path).expect("readable").expect("damage");
            assert_eq!(damage.frame, frame);
            assert!((1..=frames - frame).contains(&damage.hidden_commits), "{damage:?}");
        }
    }

    #[test]
    fn an_unfinished_end_is_no_damage() {
        let folder = tempfile::tempdir().expect("a folder");
        let (log, path) = log(folder.path());
        assert_eq!(find_damage(&path).expect("no log"), None);
        for length in [0, 31, 32, 40, log.len() - 1, log.len() - FRAME as usize] {
            std::fs::write(&path, &log[..length]).expect("a copy");
            assert_eq!(find_damage(&path).expect("readable"), None, "{length}");
        }
        let mut damaged = log;
        *damaged.last_mut().expect("a byte") ^= 1;
        std::fs::write(&path, damaged).expect("a copy");
        assert_eq!(find_damage(&path).expect("readable"), None, "nothing follows the last frame");
    }
}
