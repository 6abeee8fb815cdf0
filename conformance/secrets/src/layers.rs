//! The layers of a text: its bytes once an encoding is undone, with the place in the text that each decoded byte comes from.
//!
//! | layer | undoes | for example |
//! |---|---|---|
//! | escapes | percent-encoding, escapes of JSON, C and shells, entities of HTML | `%2b`, `\u002B`, `\/`, `\x2b`, `\053`, `&#43;`, `&plus;` |
//! | base64, from each of four places | both alphabets, with or without padding; a text in the middle of another one | `c2stMQ==` |
//! | hexadecimal, from each of two places | two digits for a byte | `736b2d31` |
//! | compression, from each beginning | the members of gzip (RFC 1952) and zlib (RFC 1950) | bytes that begin with `1f 8b 08` |
//!
//! Most runs of base64 characters or hexadecimal digits encode nothing. So only the legible parts of their decoded bytes are kept.

use std::io::BufRead;
use std::ops::Range;

use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use super::LEAST_SECRET;

/// The least number of base64 characters that are decoded: they encode seven bytes.
const LEAST_BASE64: usize = 10;

/// The least number of hexadecimal digits that are decoded: they encode seven bytes.
const LEAST_HEX: usize = 14;

/// The maximum number of compressed members of a text that are decoded, and of the bytes that they decode to.
const MOST_MEMBERS: usize = 16;
const MOST_INFLATED: usize = 512 * 1024;

/// The maximum number of places of a text at which decompression is tried.
const MOST_TRIES: usize = 256;

/// The maximum length in bytes of the header of a compressed member: an extra field of 64 KiB, a file name and a comment.
const LONGEST_HEADER: usize = 68 * 1024;

/// The byte between the decoded parts of a text. No key contains it.
const BETWEEN: u8 = 0;

/// A decoded text.
#[derive(Debug, Default)]
pub(super) struct Layer {
    /// The decoded bytes.
    pub(super) bytes: Vec<u8>,
    /// The place in the text that each decoded byte comes from: its first index, and the one after its last.
    places: Vec<(u32, u32)>,
}

/// A predicate that returns true if a secret may contain a byte.
pub(super) type Legible = fn(u8) -> bool;

/// Returns true if a byte is a printed character of ASCII or a space.
pub(super) fn is_printed(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

impl Layer {
    fn push(&mut self, byte: u8, place: Range<usize>) {
        self.bytes.push(byte);
        self.places.push((place.start as u32, place.end as u32));
    }

    /// The part of the text that these decoded bytes come from.
    pub(super) fn place(&self, decoded: &Range<usize>) -> Range<usize> {
        self.places[decoded.start].0 as usize..self.places[decoded.end - 1].1 as usize
    }
}

/// The layers of a text that differ from it, for secrets of legible bytes.
pub(super) fn layers(text: &[u8], is_legible: Legible) -> Vec<Layer> {
    let mut layers: Vec<Layer> = escapes(text).into_iter().collect();
    layers.extend(coded::<6, 4>(text, LEAST_BASE64, sextet, is_legible));
    layers.extend(coded::<4, 2>(text, LEAST_HEX, |byte| char::from(byte).to_digit(16), is_legible));
    layers.extend(compressed(text));
    layers
}

/// The layers that runs of at least so many digits encode, where a digit stands for `BITS` bits: one for each of the `PLACES` digits of a run
/// at which the encoding may begin.
fn coded<const BITS: u32, const PLACES: usize>(
    text: &[u8],
    least: usize,
    digit: impl Fn(u8) -> Option<u32>,
    is_legible: Legible,
) -> Vec<Layer> {
    let (mut runs, mut start) = (Vec::new(), 0);
    for end in 0..=text.len() {
        if text.get(end).is_some_and(|byte| digit(*byte).is_some()) {
            continue;
        }
        if end - start >= least {
            runs.push(start..end);
        }
        start = end + 1;
    }
    let (mut layers, mut decoded) = (Vec::new(), Vec::new());
    for place in (0..PLACES).filter(|_| !runs.is_empty()) {
        let mut layer = Layer::default();
        for run in &runs {
            let (start, mut value, mut bits) = (run.start + place, 0, 0);
            decoded.clear();
            for (at, digit) in (start..).zip(text[start..run.end].iter().filter_map(|byte| digit(*byte))) {
                value = value << BITS | digit;
                bits += BITS;
                if bits >= 8 {
                    bits -= 8;
                    // The byte ends before the last `bits` bits of this digit, and begins in the one before.
                    decoded.push(((value >> bits) as u8, at - 1..at + 1));
                }
            }
            for part in decoded.chunk_by(|(one, _), (next, _)| is_legible(*one) == is_legible(*next)) {
                if is_legible(part[0].0) && part.len() >= LEAST_SECRET {
                    part.iter().for_each(|(byte, place)| layer.push(*byte, place.clone()));
                    layer.push(BETWEEN, run.end..run.end);
                }
            }
        }
        layers.push(layer);
    }
    layers
}

/// The text without escapes, if it has any.
pub(super) fn escapes(text: &[u8]) -> Option<Layer> {
    if !text.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'&')) {
        return None;
    }
    let mut layer = Layer::default();
    let (mut at, mut is_escaped) = (0, false);
    while at < text.len() {
        let (byte, length) = escape(&text[at..]).unwrap_or((text[at], 1));
        is_escaped |= length > 1;
        layer.push(byte, at..at + length);
        at += length;
    }
    is_escaped.then_some(layer)
}

/// The byte that an escape at the beginning of this text stands for, and the length of the escape.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'%', rest @ ..] => Some((digits(rest, 16, 2, 2)?.0, 3)),
        [b'\\', b'u', b'{', rest @ ..] => {
            let (byte, length) = digits(rest, 16, 1, 6)?;
            (rest.get(length) == Some(&b'}')).then_some((byte, length + 4))
        }
        [b'\\', b'u', rest @ ..] => Some((digits(rest, 16, 4, 4)?.0, 6)),
        [b'\\', b'x', rest @ ..] => Some((digits(rest, 16, 2, 2)?.0, 4)),
        [b'\\', b'0'..=b'3', ..] => Some((digits(&text[1..], 8, 3, 3)?.0, 4)),
        [b'\\', escaped, ..] if escaped.is_ascii_punctuation() => Some((*escaped, 2)),
        [b'&', b'#', rest @ ..] => {
            let hex = rest.strip_prefix(b"x").or_else(|| rest.strip_prefix(b"X"));
            let (byte, length) = digits(hex.unwrap_or(rest), if hex.is_some() { 16 } else { 10 }, 1, 6)?;
            let length = 2 + usize::from(hex.is_some()) + length;
            Some((byte, length + usize::from(text.get(length) == Some(&b';'))))
        }
        [b'&', rest @ ..] => {
            let entity = ENTITIES.split(' ').find(|entity| rest.starts_with(&entity.as_bytes()[1..]))?;
            Some((entity.as_bytes()[0], entity.len()))
        }
        _ => None,
    }
}

/// The byte that digits at the beginning of a text stand for, and the number of digits. `None` for a byte that is no ASCII character: no
/// key contains one.
fn digits(text: &[u8], radix: u32, least: usize, most: usize) -> Option<(u8, usize)> {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    let length = text.iter().take(most).take_while(|byte| digit(byte).is_some()).count();
    let value = text[..length].iter().filter_map(digit).fold(0, |value, digit| value * radix + digit);
    let byte = u8::try_from(value).ok().filter(u8::is_ascii)?;
    (length >= least).then_some((byte, length))
}

/// The punctuation of ASCII with named entities of HTML: each character, followed by its entity without the `&`. None begins another one.
const ENTITIES: &str = "&amp; <lt; >gt; \"quot; 'apos; !excl; #num; $dollar; %percnt; (lpar; )rpar; *ast; *midast; +plus; ,comma; .period; \
    /sol; :colon; ;semi; =equals; ?quest; @commat; [lsqb; [lbrack; \\bsol; ]rsqb; ]rbrack; ^Hat; _lowbar; _UnderBar; \
    `grave; `DiacriticalGrave; {lcub; {lbrace; |verbar; |vert; |VerticalLine; }rcub; }rbrace; -dash;";

/// The value of a base64 character of either alphabet, from 0 to 63.
fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(value.into())
}

/// The layers that compressed members in a text encode, also if their ends are missing.
fn compressed(text: &[u8]) -> Vec<Layer> {
    let (mut layers, mut left) = (Vec::new(), MOST_INFLATED);
    // What is no member may begin like one.
    let members = (0..text.len()).filter_map(|at| Some((at, member(&text[at..])?)));
    for (at, (header, format)) in members.take(MOST_TRIES) {
        let flags = inflate_flags::TINFL_FLAG_HAS_MORE_INPUT | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut bytes = vec![0; left];
        let (_, read, written) =
            decompress(&mut DecompressorOxide::new(), &text[at + header..], &mut bytes, 0, flags | format);
        if written < LEAST_SECRET {
            continue;
        }
        left -= written;
        let mut layer = Layer::default();
        bytes[..written].iter().for_each(|byte| layer.push(*byte, at..at + header + read));
        layers.push(layer);
        if layers.len() == MOST_MEMBERS || left == 0 {
            break;
        }
    }
    layers
}

/// The length of the header of a compressed member that begins here, and the flag of the format that follows.
fn member(text: &[u8]) -> Option<(usize, u32)> {
    match text {
        [0x1f, 0x8b, 8, ..] => Some((gzip_header(&text[..text.len().min(LONGEST_HEADER)])?, 0)),
        // A member with a preset dictionary (bit 5) cannot be decoded.
        [first @ 0x78, second, ..] if u16::from_be_bytes([*first, *second]) % 31 == 0 && second & 0x20 == 0 => {
            Some((0, inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER))
        }
        _ => None,
    }
}

/// The length of the header of a gzip member (RFC 1952, section 2.3). `None` if the text ends within its fixed parts.
fn gzip_header(text: &[u8]) -> Option<usize> {
    let mut rest = text.get(10..)?;
    let has = |bit: u8| text[3] >> bit & 1 == 1;
    if has(2) {
        let (length, extra) = rest.split_first_chunk()?;
        rest = extra.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for _ in [3, 4].into_iter().filter(|bit| has(*bit)) {
        rest.skip_until(0).ok()?;
    }
    rest = if has(1) { rest.get(2..)? } else { rest };
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &str) -> Vec<String> {
        layers(text.as_bytes(), is_printed)
            .iter()
            .map(|layer| String::from_utf8_lossy(&layer.bytes).into_owned())
            .collect()
    }

    #[test]
    fn of_a_text_with_many_headers_of_members_few_are_decoded_and_none_without_a_body() {
        let member = miniz_oxide::deflate::compress_to_vec_zlib(b"sk-Live-4711", 6);
        for (header, count, decoded) in [
            // A name without an end, and nothing after a header.
            (&b"\x1f\x8b\x08\x08"[..], 400_000, 0),
            (b"\x1f\x8b\x08\0\0\0\0\0\0\0", 400_000, 0),
            (b"x\x9c", 1_000, 0),
            (b"x\x9c", MOST_TRIES - 1, 1),
            // With the flag of a preset dictionary.
            (b"x ", 1_000, 1),
            (b"x}", 1_000, 1),
        ] {
            let text = [&header.repeat(count)[..], b"\xff\xff", &member].concat();
            let layers = compressed(&text);
            assert_eq!(layers.len(), decoded, "{count} times {header:x?}");
            assert!(layers.iter().all(|layer| layer.bytes == b"sk-Live-4711"), "{count} times {header:x?}");
        }
    }

    #[test]
    fn what_only_looks_like_an_escape_stays() {
        assert_eq!(decoded(r#"\/\"&amp;%zz&unknown;%2"#)[0], r#"/"&%zz&unknown;%2"#);
        assert!(decoded("100% & more").is_empty());
    }
}
