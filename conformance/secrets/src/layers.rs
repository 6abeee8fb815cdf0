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

use std::io::{BufRead, Read, Result};
use std::ops::Range;

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

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
#[derive(Debug)]
pub(super) struct Layer {
    /// The decoded bytes.
    pub(super) bytes: Vec<u8>,
    /// The place in the text that each decoded byte comes from: its first index, and the one after its last.
    places: Vec<(u32, u32)>,
    is_legible: Legible,
    /// The index in `bytes` at which the present legible part begins.
    part: usize,
}

/// A predicate that returns true if a secret may contain a byte.
pub(super) type Legible = fn(u8) -> bool;

/// Returns true if a byte is a printed character of ASCII or a space.
pub(super) fn is_printed(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

impl Layer {
    fn new(is_legible: Legible) -> Layer {
        Layer { bytes: Vec::new(), places: Vec::new(), is_legible, part: 0 }
    }

    fn push(&mut self, byte: u8, place: Range<usize>) {
        self.bytes.push(byte);
        self.places.push((place.start as u32, place.end as u32));
    }

    /// Adds a byte if it is legible. Any other byte ends the part before it.
    fn push_legible(&mut self, byte: u8, place: Range<usize>) {
        if (self.is_legible)(byte) {
            self.push(byte, place);
        } else {
            self.end_part(place.start);
        }
    }

    /// Ends a legible part. A part that is too short for a secret is removed.
    fn end_part(&mut self, at: usize) {
        if self.bytes.len() - self.part < LEAST_SECRET {
            self.bytes.truncate(self.part);
            self.places.truncate(self.part);
        } else {
            self.push(BETWEEN, at..at);
        }
        self.part = self.bytes.len();
    }

    /// The part of the text that these decoded bytes come from.
    pub(super) fn place(&self, decoded: &Range<usize>) -> Range<usize> {
        self.places[decoded.start].0 as usize..self.places[decoded.end - 1].1 as usize
    }
}

/// The layers of a text that differ from it, for secrets of legible bytes.
pub(super) fn layers(text: &[u8], is_legible: Legible) -> Vec<Layer> {
    let mut layers: Vec<Layer> = escapes(text).into_iter().collect();
    let runs = runs(text, LEAST_BASE64, |byte| sextet(byte).is_some());
    if !runs.is_empty() {
        layers.extend((0..4).map(|shift| base64(text, &runs, shift, is_legible)));
    }
    // Hexadecimal digits are characters of base64.
    let mut digits = Vec::new();
    for run in runs.iter().filter(|run| run.len() >= LEAST_HEX) {
        let inside = self::runs(&text[run.clone()], LEAST_HEX, |byte| byte.is_ascii_hexdigit());
        digits.extend(inside.into_iter().map(|part| part.start + run.start..part.end + run.start));
    }
    if !digits.is_empty() {
        layers.extend((0..2).map(|shift| hex(text, &digits, shift, is_legible)));
    }
    layers.extend(compressed(text));
    layers
}

/// The maximal runs of bytes that satisfy a predicate, with at least this number of bytes.
fn runs(text: &[u8], least: usize, is_in: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for end in 0..=text.len() {
        if text.get(end).is_some_and(|byte| is_in(*byte)) {
            continue;
        }
        if end - start >= least {
            runs.push(start..end);
        }
        start = end + 1;
    }
    runs
}

/// The text without escapes, if it has any.
pub(super) fn escapes(text: &[u8]) -> Option<Layer> {
    if !text.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'&')) {
        return None;
    }
    let mut layer = Layer::new(is_printed);
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
        [b'&', b'#', b'x' | b'X', rest @ ..] => {
            let (byte, length) = digits(rest, 16, 1, 6)?;
            Some((byte, 3 + length + usize::from(rest.get(length) == Some(&b';'))))
        }
        [b'&', b'#', rest @ ..] => {
            let (byte, length) = digits(rest, 10, 1, 6)?;
            Some((byte, 2 + length + usize::from(rest.get(length) == Some(&b';'))))
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
fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// The layer that runs of base64 characters encode, if the encoding begins at this index of each run, from 0 to 3.
fn base64(text: &[u8], runs: &[Range<usize>], shift: usize, is_legible: Legible) -> Layer {
    let mut layer = Layer::new(is_legible);
    for run in runs {
        let (mut value, mut bits) = (0_u32, 0_u8);
        let start = run.start + shift;
        for (at, byte) in (start..).zip(&text[start..run.end]) {
            value = value << 6 | u32::from(sextet(*byte).unwrap_or_default());
            bits += 6;
            if bits >= 8 {
                bits -= 8;
                // The byte ends before the last `bits` bits of this character, and begins in the one before.
                layer.push_legible((value >> bits) as u8, at - 1..at + 1);
            }
        }
        layer.end_part(run.end);
    }
    layer
}

/// The layer that runs of hexadecimal digits encode, if the encoding begins at this index of each run, 0 or 1.
fn hex(text: &[u8], runs: &[Range<usize>], shift: usize, is_legible: Legible) -> Layer {
    let mut layer = Layer::new(is_legible);
    for run in runs {
        for at in (run.start + shift..run.end - 1).step_by(2) {
            let digit = |at: usize| char::from(text[at]).to_digit(16).unwrap_or_default();
            layer.push_legible((digit(at) << 4 | digit(at + 1)) as u8, at..at + 2);
        }
        layer.end_part(run.end);
    }
    layer
}

/// The layers that compressed members in a text encode, also if their ends are missing.
fn compressed(text: &[u8]) -> Vec<Layer> {
    let (mut layers, mut left) = (Vec::new(), MOST_INFLATED);
    // What is no member may begin like one.
    let members = (0..text.len()).filter_map(|at| Some((at, member(&text[at..])?)));
    for (at, (format, header)) in members.take(MOST_TRIES) {
        let (bytes, length) = inflated(&text[at + header..], format, left);
        if bytes.len() < LEAST_SECRET {
            continue;
        }
        left -= bytes.len();
        let end = at + header + length;
        let mut layer = Layer::new(|_| true);
        bytes.into_iter().for_each(|byte| layer.push(byte, at..end));
        layers.push(layer);
        if layers.len() == MOST_MEMBERS || left == 0 {
            break;
        }
    }
    layers
}

/// The format of a compressed member that begins here, and the length of its header before the format.
fn member(text: &[u8]) -> Option<(DataFormat, usize)> {
    match text {
        [0x1f, 0x8b, 8, ..] => {
            let header = &text[..text.len().min(LONGEST_HEADER)];
            let mut rest = header;
            skip_gzip_header(&mut rest).ok()?;
            Some((DataFormat::Raw, header.len() - rest.len()))
        }
        // A member with a preset dictionary (bit 5) cannot be decoded.
        [first @ 0x78, second, ..] if u16::from_be_bytes([*first, *second]) % 31 == 0 && second & 0x20 == 0 => {
            Some((DataFormat::Zlib, 0))
        }
        _ => None,
    }
}

/// Skips the header of a gzip member (RFC 1952, section 2.3). It is an error if the text ends within the header.
fn skip_gzip_header(text: &mut &[u8]) -> Result<()> {
    let mut header = [0; 10];
    text.read_exact(&mut header)?;
    let [has_check, has_extra, has_name, has_comment] = [1, 2, 3, 4].map(|bit| header[3] >> bit & 1 == 1);
    if has_extra {
        let mut length = [0; 2];
        text.read_exact(&mut length)?;
        std::io::copy(&mut text.take(u16::from_le_bytes(length).into()), &mut std::io::sink())?;
    }
    for _ in 0..usize::from(has_name) + usize::from(has_comment) {
        text.skip_until(0)?;
    }
    if has_check {
        text.read_exact(&mut [0; 2])?;
    }
    Ok(())
}

/// The decompressed bytes of a member, at most so many, and the number of bytes that encode them.
fn inflated(text: &[u8], format: DataFormat, at_most: usize) -> (Vec<u8>, usize) {
    let mut state = InflateState::new_boxed(format);
    let (mut bytes, mut read, mut buffer) = (Vec::new(), 0, [0; 4096]);
    while bytes.len() < at_most {
        let room = buffer.len().min(at_most - bytes.len());
        let step = inflate(&mut state, &text[read..], &mut buffer[..room], MZFlush::None);
        read += step.bytes_consumed;
        bytes.extend_from_slice(&buffer[..step.bytes_written]);
        let is_stuck = step.bytes_consumed == 0 && step.bytes_written == 0;
        if step.status != Ok(MZStatus::Ok) || is_stuck {
            break;
        }
    }
    (bytes, read)
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
