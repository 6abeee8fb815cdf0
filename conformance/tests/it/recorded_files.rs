//! The files that recorded traffic comes in: compressed, in UTF-16, and with bodies in files of their own.

use std::io::Write;
use std::path::{Path, PathBuf};

use animal_store_conformance::recorded::{Terms, judge};
use animal_store_conformance::report::Report;
use animal_store_rules::verdict::Status;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::Value;

use crate::command_line::{command, text};
use crate::recorded::statuses;
use crate::support::root;

/// The recording of a session by Playwright.
fn recording() -> String {
    let archives = root().join("fixtures/archives");
    std::fs::read_to_string(archives.join("playwright-chromium.har")).expect("a readable file")
}

/// The same session as Playwright records it with `content: "attach"`, and as it does in a ZIP archive: the bodies are in files.
fn attached() -> (String, Vec<(String, Vec<u8>)>) {
    let mut archive: Value = serde_json::from_str(&recording()).expect("JSON");
    let mut files = Vec::new();
    for (at, entry) in archive["log"]["entries"].as_array_mut().expect("entries").iter_mut().enumerate() {
        let mut detach = |body: &mut Value, name: String| {
            let Some(text) = body.get("text").and_then(Value::as_str) else { return };
            files.push((name.clone(), text.as_bytes().to_vec()));
            body["_file"] = name.into();
        };
        detach(&mut entry["response"]["content"], format!("{at:040x}.json"));
        if let Some(sent) = entry["request"].get_mut("postData") {
            detach(sent, format!("{:040x}.json", at + 1_000));
            sent["text"] = "".into();
        }
        entry["response"]["content"].as_object_mut().expect("a body").remove("text");
    }
    assert!(files.len() > 4, "{files:?}");
    (archive.to_string(), files)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zip(files: &[(String, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for (name, content) in files {
        let (mut entry, config) = archive.new_file(name).compression_method(method).start().expect("memory");
        if method == CompressionMethod::DEFLATE {
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
            writer.write_all(content).expect("memory");
            let (encoder, descriptor) = writer.finish().expect("memory");
            encoder.finish().expect("memory");
            entry.finish(descriptor).expect("memory");
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(content).expect("memory");
            let (_, descriptor) = writer.finish().expect("memory");
            entry.finish(descriptor).expect("memory");
        }
    }
    archive.finish().expect("memory");
    bytes
}

fn in_folder(folder: &str, har: String, files: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    let all = std::iter::once(("har.har".to_owned(), har.into_bytes())).chain(files);
    all.map(|(name, content)| (format!("{folder}{name}"), content)).collect()
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a writable folder");
    path
}

fn judged(file: &Path) -> Report {
    judge(&[file.to_owned()], &Terms::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn error(file: &Path) -> String {
    judge(&[file.to_owned()], &Terms::default()).expect_err("an unusable file").to_string()
}

#[test]
fn however_an_archive_is_packed_it_is_judged_alike() {
    let plain = recording();
    let (har, files) = attached();
    let utf16: Vec<u8> = format!("\u{feff}{plain}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let rows = [
        ("gzip", gzip(plain.as_bytes())),
        ("UTF-16", utf16.clone()),
        ("UTF-16 in gzip", gzip(&utf16)),
        ("deflated in ZIP", zip(&in_folder("", har.clone(), files.clone()), CompressionMethod::DEFLATE)),
        ("stored in a folder in ZIP", zip(&in_folder("a/", har.clone(), files.clone()), CompressionMethod::STORE)),
        ("ZIP with bodies in place", zip(&in_folder("", plain.clone(), Vec::new()), CompressionMethod::DEFLATE)),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let expected = judged(&written(folder.path(), "plain", plain.as_bytes()));
    assert_eq!(
        (statuses(&expected)["list.array"].0, statuses(&expected)["create.echo"].0),
        (Status::Pass, Status::Pass)
    );
    for (name, bytes) in rows {
        let report = judged(&written(folder.path(), "packed", &bytes));
        assert_eq!(statuses(&report), statuses(&expected), "{name}");
    }
    let beside = tempfile::tempdir().expect("a folder");
    files.iter().for_each(|(name, bytes)| drop(written(beside.path(), name, bytes)));
    let report = judged(&written(beside.path(), "session.har", har.as_bytes()));
    assert_eq!(statuses(&report), statuses(&expected), "bodies beside the archive");
}

#[test]
fn a_body_whose_file_is_missing_or_elsewhere_is_withheld() {
    let (har, files) = attached();
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).expect("a writable folder");
    let withheld = |name: &str, report: &Report| {
        let found = statuses(report);
        assert_eq!(
            (found["list.array"].0, found["create.echo"].0),
            (Status::NotExercised, Status::NotExercised),
            "{name}"
        );
        assert_eq!(crate::broken(report), [""; 0], "{name}");
        assert_eq!(found["headers.limit"].0, Status::Pass, "{name}");
    };
    let alone = zip(&in_folder("", har.clone(), Vec::new()), CompressionMethod::DEFLATE);
    withheld("a ZIP archive without the files", &judged(&written(folder.path(), "x.zip", &alone)));
    withheld("no files beside it", &judged(&written(&inner, "session.har", har.as_bytes())));
    files.iter().for_each(|(name, bytes)| drop(written(folder.path(), name, bytes)));
    let above = files.iter().fold(har.clone(), |har, (name, _)| har.replace(name, &format!("../{name}")));
    withheld("files in another folder", &judged(&written(&inner, "above.har", above.as_bytes())));
    for (name, _) in &files {
        std::os::unix::fs::symlink(folder.path().join(name), inner.join(name)).expect("a link");
    }
    withheld("links to files in another folder", &judged(&written(&inner, "linked.har", har.as_bytes())));
    let lengthened = |(name, mut bytes): (String, Vec<u8>)| {
        bytes.resize(9 * 1024 * 1024, b' ');
        (name, bytes)
    };
    let long: Vec<_> = files.into_iter().map(lengthened).collect();
    let long = zip(&in_folder("", har, long), CompressionMethod::DEFLATE);
    withheld("files that are longer than a body", &judged(&written(folder.path(), "long.zip", &long)));
}

#[test]
fn a_trace_in_gzip_is_judged_like_the_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let head = r#"{"format":"animal-store-trace/1"}"#;
    let error = error(&written(folder.path(), "run.jsonl.gz", &gzip(head.as_bytes())));
    assert!(error.contains("`animal-store-trace/1` is not known"), "{error}");
}

#[test]
fn what_grows_without_an_end_when_it_is_decompressed_is_refused() {
    let filler = gzip(&vec![b'a'; 1 << 20]);
    let folder = tempfile::tempdir().expect("a folder");
    for (name, beginning, message) in [
        ("bomb.har.gz", r#"{"log":{"entries":[{"_text":""#, "more than 128 MiB"),
        ("bomb.jsonl.gz", r#"{"format":""#, "a line of more than 128 MiB"),
    ] {
        let bomb = [gzip(beginning.as_bytes()), filler.repeat(130)].concat();
        let error = error(&written(folder.path(), name, &bomb));
        assert!(error.contains(name) && error.contains(message), "{error}");
    }
}

#[test]
fn an_archive_that_is_cut_or_has_no_single_har_is_refused_with_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let cut = gzip(recording().as_bytes());
    let refused = error(&written(folder.path(), "cut.har.gz", &cut[..cut.len() / 2]));
    assert!(refused.contains("cut.har.gz: ") && refused.contains("Nothing was judged"), "{refused}");
    let named = |names: &[&str]| -> Vec<u8> {
        let files: Vec<_> = names.iter().map(|name| ((*name).to_owned(), recording().into_bytes())).collect();
        zip(&files, CompressionMethod::STORE)
    };
    let whole = named(&["har.har"]);
    let mut changed = whole.clone();
    changed[2_000] ^= 1;
    for (bytes, message) in [
        (named(&["a.har", "b.har"]), "several HTTP Archives, such as `a.har` and `b.har`"),
        (named(&["trace.network"]), "no file whose name ends with `.har`"),
        (whole[..whole.len() - 30].to_vec(), "the ZIP archive is damaged"),
    ] {
        let refused = error(&written(folder.path(), "session.zip", &bytes));
        assert!(refused.contains(message) && refused.contains("Unzip it"), "{refused}");
    }
    error(&written(folder.path(), "session.zip", &changed));
}

#[tokio::test]
async fn standard_input_is_unpacked_as_well_and_refuses_a_zip_archive() {
    let judged_from_input = async |bytes: Vec<u8>| {
        let folder = tempfile::tempdir().expect("a folder");
        let input = std::fs::File::open(written(folder.path(), "input", &bytes)).expect("a readable file");
        let output =
            command(&["judge", "-", "--format", "json"]).stdin(input).output().await.expect("the program starts");
        (output.status.code(), text(&output.stderr))
    };
    let (code, message) = judged_from_input(gzip(recording().as_bytes())).await;
    assert_eq!(code, Some(4), "{message}");
    let archive = zip(&in_folder("", recording(), Vec::new()), CompressionMethod::STORE);
    let (code, message) = judged_from_input(archive).await;
    assert!(code == Some(2) && message.contains("standard input: a ZIP archive cannot be read"), "{message}");
}
