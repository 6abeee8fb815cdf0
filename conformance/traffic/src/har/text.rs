//! The text of an archive, as a stream of bounded members.

use std::cell::Cell;
use std::io::{Error, ErrorKind, Read, Result};
use std::rc::Rc;

use crate::MAX_LINE;

/// The number of bytes that are converted at a time.
const CHUNK: usize = 1 << 16;

/// Reads the text of an archive as UTF-8. Bytes that are not UTF-8 become U+FFFD, so that they affect only the entry that contains them.
pub(super) struct ArchiveText<R> {
    inner: R,
    /// The number of bytes that the present member of the archive may still have. The reader of entries resets it to [`MAX_LINE`].
    pub(super) left: Rc<Cell<usize>>,
    /// The bytes that are not converted yet: at most the beginning of a character after each refill.
    raw: Vec<u8>,
    text: Vec<u8>,
    /// The number of bytes of `text` that have been handed on.
    taken: usize,
    has_ended: bool,
}

impl<R: Read> ArchiveText<R> {
    pub(super) fn new(inner: R) -> ArchiveText<R> {
        let left = Rc::new(Cell::new(MAX_LINE));
        ArchiveText { inner, left, raw: Vec::new(), text: Vec::new(), taken: 0, has_ended: false }
    }

    fn refill(&mut self) -> Result<()> {
        self.taken = 0;
        self.text.clear();
        while self.text.is_empty() && !self.has_ended {
            let read = (&mut self.inner).take(CHUNK as u64).read_to_end(&mut self.raw)?;
            self.has_ended = read == 0;
            let end = self.raw.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
            let is_beginning = std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none());
            // The rest of the character is in the next chunk.
            let kept = if is_beginning && !self.has_ended { end.len() } else { 0 };
            let rest = self.raw.split_off(self.raw.len() - kept);
            self.text = String::from_utf8_lossy(&self.raw).into_owned().into_bytes();
            self.raw = rest;
        }
        Ok(())
    }
}

impl<R: Read> Read for ArchiveText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.taken == self.text.len() {
            self.refill()?;
        }
        let read = (&self.text[self.taken..]).read(buffer)?;
        let Some(left) = self.left.get().checked_sub(read) else {
            let size = MAX_LINE / 1024 / 1024;
            let problem = format!("an entry, or another member of `log`, has more than {size} MiB: shorten it");
            return Err(Error::new(ErrorKind::InvalidData, problem));
        };
        self.left.set(left);
        self.taken += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time, as a slow pipe does.
    struct Slow<'t>(&'t [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }

    fn converted(bytes: &[u8]) -> String {
        let mut text = String::new();
        ArchiveText::new(Slow(bytes)).read_to_string(&mut text).expect("UTF-8");
        text
    }

    #[test]
    fn characters_stay_whole_and_other_bytes_are_replaced() {
        assert_eq!(converted("Zoë 😀".as_bytes()), "Zoë 😀");
        assert_eq!(converted(b"caf\xE9 \xF0\x9F"), "caf\u{fffd} \u{fffd}");
        let long = [b"a".repeat(CHUNK - 1).as_slice(), "ë".as_bytes()].concat();
        assert!(converted(&long).ends_with("aë"));
    }

    #[test]
    fn a_member_without_an_end_is_refused() {
        let mut endless = ArchiveText::new(std::io::repeat(b' '));
        let error = std::io::copy(&mut endless, &mut std::io::sink()).expect_err("no end").to_string();
        assert!(error.contains("more than 128 MiB"), "{error}");
    }
}
