//! How often a second this disk makes one small write durable: the baseline for the durable POST.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::machine::Work;
use super::rounds::Sample;

/// One write: a page of a database.
const PAGE: usize = 4096;
/// In place, the file is written in a ring over this many pages, as a write-ahead log is once it has reached its size.
const PAGES: u64 = 1024;

/// Where each write goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// To the end of a growing file: the new size has to become durable, too.
    End,
    /// Over what a file of fixed size already holds.
    Within,
}

/// Writes a page and waits until it is on the disk, again and again for `duration`.
pub(crate) fn serial_syncs(dir: &Path, place: Place, duration: Duration) -> anyhow::Result<Sample> {
    let path = dir.join("disk-yardstick");
    let context = || format!("could not measure the disk with {}", path.display());
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&path).with_context(context)?;
    let page = [0x5a_u8; PAGE];
    if place == Place::Within {
        for _ in 0..PAGES {
            file.write_all(&page).with_context(context)?;
        }
    }
    file.sync_all().with_context(context)?;

    let work = Work::start(std::process::id());
    let start = Instant::now();
    let mut writes = 0_u64;
    while start.elapsed() < duration {
        if place == Place::Within {
            file.seek(SeekFrom::Start(writes % PAGES * PAGE as u64)).with_context(context)?;
        }
        file.write_all(&page).with_context(context)?;
        file.sync_data().with_context(context)?;
        writes += 1;
    }
    let sample = Sample { count: writes, elapsed: start.elapsed(), server: Duration::ZERO, load: work.so_far() };
    std::fs::remove_file(&path).with_context(context)?;
    Ok(sample)
}
