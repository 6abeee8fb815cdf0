//! Text in UTF-16, as PowerShell's `>` writes it, read as UTF-8.

use std::io::{BufRead, Read, Result};

/// The number of bytes that are converted at a time: a whole number of code units.
const CHUNK: u64 = 1 << 15;

/// Reads two bytes as a code unit.
type Order = fn([u8; 2]) -> u16;

/// Reads a text in UTF-16 as UTF-8, and any other text as it is. A recording in UTF-16 begins with a byte order mark, or with `{` or white
/// space as two bytes, one of them 0.
pub(super) fn transcoded<'r>(mut text: impl BufRead + 'r) -> Result<Box<dyn BufRead + 'r>> {
    let (order, mark): (Order, usize) = match text.fill_buf()? {
        [0xFF, 0xFE, ..] => (u16::from_le_bytes, 2),
        [0xFE, 0xFF, ..] => (u16::from_be_bytes, 2),
        [b'{' | b' ' | b'\t' | b'\r' | b'\n', 0, ..] => (u16::from_le_bytes, 0),
        [0, b'{' | b' ' | b'\t' | b'\r' | b'\n', ..] => (u16::from_be_bytes, 0),
        _ => return Ok(Box::new(text)),
    };
    text.consume(mark);
    let transcoder = Transcoder { inner: text, order, units: Vec::new(), text: Vec::new(), taken: 0 };
    Ok(Box::new(std::io::BufReader::with_capacity(1 << 16, transcoder)))
}

struct Transcoder<R> {
    inner: R,
    order: Order,
    /// Code units that are not converted yet: at most the first half of a pair after each refill.
    units: Vec<u16>,
    text: Vec<u8>,
    /// The number of bytes of `text` that were handed on.
    taken: usize,
}

impl<R: Read> Transcoder<R> {
    fn refill(&mut self) -> Result<()> {
        self.taken = 0;
        self.text.clear();
        let mut bytes = Vec::new();
        (&mut self.inner).take(CHUNK).read_to_end(&mut bytes)?;
        let has_more = bytes.len() as u64 == CHUNK;
        // A single byte at the end is no character.
        self.units.extend(bytes.chunks(2).map(|unit| match unit {
            [one, other] => (self.order)([*one, *other]),
            _ => u32::from(char::REPLACEMENT_CHARACTER) as u16,
        }));
        let first_half = self.units.pop_if(|unit| has_more && (0xD800..0xDC00).contains(unit));
        for character in char::decode_utf16(self.units.drain(..)) {
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.units.extend(first_half);
        Ok(())
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.taken == self.text.len() {
            self.refill()?;
        }
        let read = (&self.text[self.taken..]).read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        transcoded(bytes).expect("memory").read_to_string(&mut text).expect("UTF-8");
        text
    }

    fn encoded(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn either_order_is_read_with_and_without_a_mark() {
        let text = "{\"name\": \"Zoë 😀\"}\r\n";
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            assert_eq!(read(&encoded(text, order)), text);
            assert_eq!(read(&encoded(&format!("\u{feff}{text}"), order)), text);
        }
        assert_eq!(read(text.as_bytes()), text);
        assert_eq!(read(b""), "");
    }

    #[test]
    fn pairs_that_are_read_in_two_pieces_stay_whole_and_halves_are_replaced() {
        let long = format!("{{{}😀}}", "a".repeat(CHUNK as usize / 2 - 2));
        assert_eq!(read(&encoded(&long, u16::to_le_bytes)), long);
        let mut half = encoded("{\u{feff}", u16::to_le_bytes);
        half.extend([0x3D, 0xD8, 0x7D]);
        assert_eq!(read(&half), "{\u{feff}\u{fffd}\u{fffd}");
    }
}
