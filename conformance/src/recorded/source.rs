//! The files of recorded traffic: as text, out of gzip and ZIP archives, with the files that an archive names.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Component, Path};

use animal_store_rules::trace::exchange::MAX_BODY;
use animal_store_traffic::har::Attached;
use animal_store_traffic::{MAX_LINE, Unreadable};
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use rawzip::{CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};

use super::UnusableRecording;

/// The first bytes of a gzip member, with the only method of compression that there is.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// The first bytes of a ZIP archive that has members.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";

/// The number of bytes by which a format is recognised.
const BEGINNING: u64 = 512;

/// Opens a recording, and hands on its text and a reader of the files that it names. `-` is standard input. Gzip, ZIP and UTF-16 are
/// recognised by their first bytes.
pub(super) fn open<T>(
    path: &Path,
    name: &str,
    read: impl FnOnce(Box<dyn BufRead + '_>, &mut Attached<'_>) -> Result<T, UnusableRecording>,
) -> Result<T, UnusableRecording> {
    if path == Path::new("-") {
        let (beginning, rest) = divided(io::stdin().lock())?;
        if beginning.starts_with(ZIP_MAGIC) {
            let problem = "a ZIP archive cannot be read from standard input".to_owned();
            return Err(UnusableRecording::Zip(name.to_owned(), problem));
        }
        return read(text(beginning, rest)?, &mut |_| None);
    }
    let file = || File::open(path).map_err(|error| UnusableRecording::File(name.to_owned(), error));
    let (beginning, rest) = divided(file()?)?;
    if beginning.starts_with(ZIP_MAGIC) {
        return Zip::open(file()?)
            .map_err(|error| UnusableRecording::Zip(name.to_owned(), format!("the ZIP archive is damaged: {error}")))?
            .read(name, read);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    read(text(beginning, rest)?, &mut |name| file_beside(folder, name))
}

/// A file, divided into its first [`BEGINNING`] bytes and the rest.
fn divided<R: Read>(mut reader: R) -> Result<(Vec<u8>, R), Unreadable> {
    let mut beginning = Vec::new();
    (&mut reader).take(BEGINNING).read_to_end(&mut beginning)?;
    Ok((beginning, reader))
}

/// The whole of a divided file as text, in UTF-8.
fn text<'r>(beginning: Vec<u8>, rest: impl Read + 'r) -> Result<Box<dyn BufRead + 'r>, Unreadable> {
    let is_gzip = beginning.starts_with(&GZIP_MAGIC);
    // The first read from this chain gives the whole beginning, by which UTF-16 is recognised.
    let whole = Cursor::new(beginning).chain(BufReader::with_capacity(1 << 16, rest));
    if !is_gzip {
        return Ok(transcoded(whole)?);
    }
    let (beginning, rest) = divided(MultiGzDecoder::new(whole))?;
    Ok(transcoded(Cursor::new(beginning).chain(BufReader::with_capacity(1 << 16, rest)))?)
}

/// Reads a text in UTF-16, as PowerShell's `>` writes it, as UTF-8, and any other text as it is. A recording in UTF-16 begins with a byte
/// order mark, or with `{` or white space as two bytes, one of them 0. It is read whole.
fn transcoded<'r>(mut text: impl BufRead + 'r) -> io::Result<Box<dyn BufRead + 'r>> {
    let (order, mark): (fn([u8; 2]) -> u16, usize) = match text.fill_buf()? {
        [0xFF, 0xFE, ..] => (u16::from_le_bytes, 2),
        [0xFE, 0xFF, ..] => (u16::from_be_bytes, 2),
        [b'{' | b' ' | b'\t' | b'\r' | b'\n', 0, ..] => (u16::from_le_bytes, 0),
        [0, b'{' | b' ' | b'\t' | b'\r' | b'\n', ..] => (u16::from_be_bytes, 0),
        _ => return Ok(Box::new(text)),
    };
    text.consume(mark);
    let mut bytes = Vec::new();
    text.take(MAX_LINE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_LINE {
        let size = MAX_LINE / 1024 / 1024;
        return Err(io::Error::other(format!("a text in UTF-16 of more than {size} MiB\n  Convert it to UTF-8.")));
    }
    let (units, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| order(*unit)).collect();
    let mut text = String::from_utf16_lossy(&units);
    // A single byte at the end is no character.
    text.extend(rest.iter().map(|_| char::REPLACEMENT_CHARACTER));
    Ok(Box::new(Cursor::new(text)))
}

/// A file with a body in the folder of an archive. Playwright names such a file by the digest of its bytes: 40 hexadecimal digits and an
/// extension. Other files of the folder, files in other folders, and links to files elsewhere are not read.
fn file_beside(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let digest = name.split('.').next().filter(|digest| digest.len() == 40)?;
    let path = folder.join(plain(name).filter(|_| digest.bytes().all(|byte| byte.is_ascii_hexdigit()))?);
    path.symlink_metadata().ok().filter(|found| found.is_file())?;
    body(File::open(path).ok()?)
}

/// The name, if it is the bare name of a file, without folders.
fn plain(name: &str) -> Option<&str> {
    let mut components = Path::new(name).components();
    let is_plain = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    (is_plain && !name.contains(['/', '\\', ':', '\0'])).then_some(name)
}

/// The bytes of a body, if there are at most [`MAX_BODY`].
fn body(reader: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BODY as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MAX_BODY).then_some(bytes)
}

/// A ZIP archive, such as Playwright writes: it contains an HTTP Archive and the bodies that its entries name.
struct Zip {
    archive: ZipArchive<FileReader>,
    members: HashMap<String, (ZipArchiveEntryWayfinder, CompressionMethod)>,
}

impl Zip {
    fn open(file: File) -> Result<Zip, rawzip::Error> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipArchive::from_file(file, &mut buffer)?;
        let mut members = HashMap::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry()? {
            let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            members.insert(name, (entry.wayfinder(), entry.compression_method()));
        }
        Ok(Zip { archive, members })
    }

    /// Hands on the text of the only HTTP Archive in the ZIP archive, and a reader of the files beside it.
    fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(Box<dyn BufRead + '_>, &mut Attached<'_>) -> Result<T, UnusableRecording>,
    ) -> Result<T, UnusableRecording> {
        let wrong = |problem: String| UnusableRecording::Zip(name.to_owned(), problem);
        // macOS adds a file of its own for each file, which is no HTTP Archive.
        let is_archive = |name: &&String| {
            Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("har"))
                && !name.starts_with("__MACOSX/")
        };
        let mut archives: Vec<&String> = self.members.keys().filter(is_archive).collect();
        archives.sort();
        let har = match archives[..] {
            [har] => har,
            [] => return Err(wrong("the ZIP archive has no file whose name ends with `.har`".to_owned())),
            [one, other, ..] => {
                return Err(wrong(format!("the ZIP archive has several HTTP Archives, such as `{one}` and `{other}`")));
            }
        };
        let folder = &har[..har.rfind('/').map_or(0, |slash| slash + 1)];
        let bytes = self.member(har).map_err(|error| wrong(format!("`{har}` cannot be read: {error}")))?;
        let (beginning, rest) = divided(bytes)?;
        read(text(beginning, rest)?, &mut |name| body(self.member(&format!("{folder}{}", plain(name)?)).ok()?))
    }

    fn member(&self, name: &str) -> io::Result<Box<dyn Read + '_>> {
        let (wayfinder, method) = *self.members.get(name).ok_or(io::ErrorKind::NotFound)?;
        let entry = self.archive.get_entry(wayfinder).map_err(io::Error::other)?;
        let bytes = BufReader::with_capacity(1 << 16, entry.reader());
        match method {
            CompressionMethod::STORE => Ok(Box::new(entry.verifying_reader(bytes))),
            CompressionMethod::DEFLATE => Ok(Box::new(entry.verifying_reader(DeflateDecoder::new(bytes)))),
            other => Err(io::Error::other(format!("it is compressed with the method {other}"))),
        }
    }
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

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let (mut read, (beginning, rest)) = (Vec::new(), divided(bytes).map_err(io::Error::other)?);
        text(beginning, rest).map_err(io::Error::other)?.read_to_end(&mut read).map(|_| read)
    }

    #[test]
    fn gzip_members_follow_each_other_and_headers_may_have_every_field() {
        let long: Vec<u8> = (0..200_000_u32).flat_map(|number| number.wrapping_mul(number).to_le_bytes()).collect();
        let full = GzBuilder::new().extra(vec![7; 300]).filename("session.har").comment("exported");
        let mut encoder = full.write(Vec::new(), Compression::best());
        encoder.write_all(&long).expect("memory");
        let full = encoder.finish().expect("memory");
        let bytes = [gzip(b"[1,"), full, gzip(b""), gzip(b"2]")].concat();
        assert_eq!(read(&bytes).expect("four members"), [b"[1,", long.as_slice(), b"2]"].concat());
    }

    #[test]
    fn a_gzip_file_that_ends_early_or_was_changed_is_an_error() {
        let whole = gzip(b"a text that is long enough to be changed");
        for length in GZIP_MAGIC.len()..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes of {}", whole.len());
        }
        let last = whole.len() - 8;
        for at in [last, last + 4] {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(read(&changed).is_err(), "byte {at}");
        }
        assert!(read(&[whole, b"more".to_vec()].concat()).is_err());
    }

    #[test]
    fn utf_16_is_read_in_either_order_with_and_without_a_mark() {
        let text = "{\"name\": \"Zoë 😀\"}\r\n";
        let encoded = |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            assert_eq!(read(&encoded(text, order)).expect("a text"), text.as_bytes());
            assert_eq!(read(&encoded(&format!("\u{feff}{text}"), order)).expect("a text"), text.as_bytes());
        }
        assert_eq!(read(text.as_bytes()).expect("a text"), text.as_bytes());
        assert_eq!(read(b"").expect("no text"), b"");
        let mut half = encoded("{\u{feff}", u16::to_le_bytes);
        half.extend([0x3D, 0xD8, 0x7D]);
        assert_eq!(read(&half).expect("a text"), "{\u{feff}\u{fffd}\u{fffd}".as_bytes());
        assert!(read(&b" \0".repeat(MAX_LINE / 2 + 1)).is_err());
    }
}
