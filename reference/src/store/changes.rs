//! The state of the write-ahead log, read at almost no cost: whether any process has committed anything, and how much
//! of the log has been copied to the database.
//!
//! SQLite shares this state between processes in a small file beside the database ("WAL-mode File Format",
//! sqlite.org/walformat.html). A commit is visible there before it returns. Reading eight bytes costs a fraction of a
//! microsecond; asking SQLite itself means a read transaction with its locks.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The offset of the number of frames in the log.
const FRAMES: u64 = 16;

/// The offset of the checksum, which every commit changes.
const CHECKSUM: u64 = 40;

/// The offset of the number of frames that have been copied to the database.
const COPIED: u64 = 96;

/// An open view of the shared state.
///
/// On Unix, closing a file drops every lock that the process holds on it, SQLite's included. So this must
/// be closed after the connections of a store.
pub(super) struct Changes(File);

impl Changes {
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        File::open(path).map(Self)
    }

    /// A value that differs after any commit by any process. `None` if the file cannot be read, which a
    /// caller must take as "changed".
    pub(super) fn mark(&self) -> Option<u64> {
        self.read(CHECKSUM).map(u64::from_ne_bytes)
    }

    /// How many frames of the log (one per changed page and commit) have not been copied to the database yet; 0 if
    /// the file cannot be read.
    pub(super) fn pending(&self) -> u64 {
        self.frames().saturating_sub(self.number(COPIED))
    }

    /// How many frames the log has; 0 if the file cannot be read.
    pub(super) fn frames(&self) -> u64 {
        self.number(FRAMES)
    }

    fn number(&self, offset: u64) -> u64 {
        self.read(offset).map_or(0, |bytes: [u8; 4]| u32::from_ne_bytes(bytes).into())
    }

    fn read<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}
