//! Gzip (RFC 1952) and DEFLATE (RFC 1951), decoded as a stream: no more is decoded than the reader asks for.
//!
//! `flate2` would add three packages to a library of few; `miniz_oxide` decodes, and `rawzip` has the checksum.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

use animal_store_rules::secrets::skip_gzip_header;
use miniz_oxide::inflate::stream::{FullReset, InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use rawzip::Crc32;

/// The first bytes of a gzip member, with the only method of compression that there is.
pub(crate) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Decodes DEFLATE up to its end.
pub(crate) struct Inflate<R> {
    inner: R,
    state: Box<InflateState>,
    has_ended: bool,
}

impl<R: BufRead> Inflate<R> {
    pub(crate) fn new(inner: R) -> Inflate<R> {
        Inflate { inner, state: InflateState::new_boxed(DataFormat::Raw), has_ended: false }
    }

    fn restart(&mut self) {
        self.state.reset_as(FullReset(DataFormat::Raw));
        self.has_ended = false;
    }
}

impl<R: BufRead> Read for Inflate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() || self.has_ended {
            return Ok(0);
        }
        loop {
            let input = self.inner.fill_buf()?;
            let is_at_end = input.is_empty();
            let step = inflate(&mut self.state, input, buffer, MZFlush::None);
            self.inner.consume(step.bytes_consumed);
            self.has_ended = step.status == Ok(MZStatus::StreamEnd);
            if self.has_ended || step.bytes_written > 0 {
                return Ok(step.bytes_written);
            }
            match step.status {
                Ok(_) | Err(MZError::Buf) if is_at_end => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(MZError::Buf) if step.bytes_consumed > 0 => {}
                _ => return Err(damaged("it is not compressed as it says")),
            }
        }
    }
}

/// Decodes the members of a gzip file, one after the other, and checks the length and the checksum of each.
pub(crate) struct Gzip<R> {
    deflated: Inflate<R>,
    checksum: Crc32,
    /// The length of the present member, modulo 2^32.
    length: u32,
    is_within_member: bool,
    members: usize,
}

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(inner: R) -> Gzip<R> {
        let (deflated, checksum) = (Inflate::new(inner), Crc32::new());
        Gzip { deflated, checksum, length: 0, is_within_member: false, members: 0 }
    }

    /// Reads the header of a member. Returns false if there is no further member.
    fn begin_member(&mut self) -> Result<bool> {
        let inner = &mut self.deflated.inner;
        if self.members > 0 && inner.fill_buf()?.is_empty() {
            return Ok(false);
        }
        if !skip_gzip_header(inner)? {
            return Err(damaged("a member begins with other bytes"));
        }
        self.deflated.restart();
        (self.checksum, self.length, self.is_within_member) = (Crc32::new(), 0, true);
        self.members += 1;
        Ok(true)
    }

    fn end_member(&mut self) -> Result<()> {
        let mut trailer = [0; 8];
        self.deflated.inner.read_exact(&mut trailer)?;
        let [a, b, c, d, rest @ ..] = trailer;
        if u32::from_le_bytes([a, b, c, d]) != self.checksum.checksum() || u32::from_le_bytes(rest) != self.length {
            return Err(damaged("its checksum is another one"));
        }
        self.is_within_member = false;
        Ok(())
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_within_member && !self.begin_member()? {
                return Ok(0);
            }
            let read = self.deflated.read(buffer)?;
            if read > 0 {
                self.checksum.update(&buffer[..read]);
                self.length = self.length.wrapping_add(read as u32);
                return Ok(read);
            }
            self.end_member()?;
        }
    }
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the compressed data is damaged: {what}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;
    use flate2::{Compression, GzBuilder};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        // A reader that shows few bytes at a time.
        Gzip::new(std::io::BufReader::with_capacity(3, bytes)).read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn members_follow_each_other_and_headers_may_have_every_field() {
        let long: Vec<u8> = (0..200_000_u32).flat_map(|number| number.wrapping_mul(number).to_le_bytes()).collect();
        let full = GzBuilder::new().extra(vec![7; 300]).filename("session.har").comment("exported");
        let mut encoder = full.write(Vec::new(), Compression::best());
        encoder.write_all(&long).expect("memory");
        let full = encoder.finish().expect("memory");
        let bytes = [gzip(b"[1,"), full, gzip(b""), gzip(b"2]")].concat();
        assert_eq!(read(&bytes).expect("four members"), [b"[1,", long.as_slice(), b"2]"].concat());
    }

    #[test]
    fn a_file_that_ends_early_or_was_changed_is_an_error() {
        let whole = gzip(b"a text that is long enough to be changed");
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes of {}", whole.len());
        }
        let last = whole.len() - 8;
        for at in [0, 1, 2, last, last + 4] {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(read(&changed).is_err(), "byte {at}");
        }
        assert!(read(&[whole, b"more".to_vec()].concat()).is_err());
    }
}
