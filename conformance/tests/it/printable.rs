//! Nothing that a server, or a file of others, contains acts on a terminal or on the log of a continuous integration service, or hides
//! from a reader.

use std::path::Path;

use animal_store_conform::formats::json;
use serde_json::{Value, json};

use crate::command_line::command;
use crate::sample;

/// Sets a title, clears the screen, turns the direction, hides, and begins commands of services that read logs.
const HOSTILE: &str = "sold\u{200b}\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{feff}\r\n::error::pwned\n##[group]x\u{8} ##vso[task.complete] ##teamcity[x]";

/// Fails if an output contains a character that acts or hides, or a line that is a command.
fn check(name: &str, output: &[u8]) {
    let shown = String::from_utf8(output.to_vec()).unwrap_or_else(|_| panic!("{name}: not UTF-8"));
    let acts = |c: &char| c.is_control() && !['\n', '\t'].contains(c);
    let hides = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}');
    let found: Vec<char> = shown.chars().filter(|c| acts(c) || hides(c)).collect();
    assert!(found.is_empty(), "{name} shows {found:?}: {shown:?}");
    let command = shown.lines().find(|line| {
        let marks = ["##[", "##vso[", "##teamcity["];
        line.trim_start().starts_with("::") || marks.iter().any(|mark| line.contains(mark))
    });
    assert_eq!(command, None, "{name}");
}

async fn checked(name: &str, folder: &Path, args: &[&str]) {
    let output = command(args).current_dir(folder).output().await.expect("the program starts");
    check(&format!("{name}, standard output"), &output.stdout);
    check(&format!("{name}, standard error"), &output.stderr);
    assert!(!output.stdout.is_empty() || !output.stderr.is_empty(), "{name} shows nothing");
}

/// Adds the hostile text to every text of a document that is not one of a few.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(HOSTILE),
        Value::Array(items) => items.iter_mut().for_each(spoil),
        Value::Object(members) => {
            let fixed = ["id", "verdict", "status", "level", "profile", "side", "digest", "key", "plan"];
            members.iter_mut().filter(|(name, _)| !fixed.contains(&name.as_str())).for_each(|(_, value)| spoil(value));
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_others_acts_on_nothing_whatever_its_texts_contain() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a writable folder");
    let honest: Value = serde_json::from_str(&json::render(&sample::report())).expect("JSON");
    let mut hostile = honest.clone();
    spoil(&mut hostile);
    hostile["requirements"][0]["id"] = HOSTILE.into();
    hostile["gap_profile"][0]["id"] = HOSTILE.into();
    write("honest.json", &honest.to_string());
    write("hostile.json", &hostile.to_string());
    for args in [
        &["diff", "honest.json", "hostile.json"][..],
        &["diff", "hostile.json", "honest.json"],
        &["diff", "--format=json", "hostile.json", "honest.json"],
        &["compare", "honest.json", "hostile.json"],
        &["compare", "--format=json", "hostile.json"],
    ] {
        checked(&args.join(" "), folder.path(), args).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_used_is_named_and_quoted_without_acting() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a writable folder");
    let archive = json!({"log": {"version": HOSTILE, "creator": {"name": HOSTILE}, "entries": [{"request": {"method": HOSTILE, "url": HOSTILE}}]}});
    write("a.har", &archive.to_string());
    write("b.har", &format!("{{\"log\": {HOSTILE}"));
    write("a.jsonl", &format!("{{\"format\": {}}}\n", json!(HOSTILE)));
    write("b.jsonl", &format!("{{\"{HOSTILE}\": 1}}\n"));
    write("known.toml", &format!("[[known-failing]]\nid = \"{}\"\n", "list.array\\u001b[31m\\u202e"));
    for args in [
        vec!["judge", "a.har"],
        vec!["judge", "b.har"],
        vec!["judge", "a.jsonl"],
        vec!["judge", "b.jsonl"],
        vec!["judge", HOSTILE],
        vec!["diff", HOSTILE, "b.har"],
        vec!["compare", HOSTILE],
        vec!["rules", HOSTILE],
        vec![HOSTILE],
        vec!["--profile", HOSTILE],
        vec!["--only", HOSTILE],
        vec!["--base-url", HOSTILE],
        vec!["--header", HOSTILE],
        vec!["--plan", HOSTILE],
        vec!["--no-config", "--base-url", "http://127.0.0.1:1/v1", "--api-key", "k", "--known-failing", "known.toml"],
        vec!["--no-config", "--base-url", "http://127.0.0.1:1/v1", "--api-key", "k", "--known-failing", HOSTILE],
        vec!["--no-config", "--base-url", "http://127.0.0.1:1/v1", "--api-key", "k", "--ca-cert", HOSTILE],
        vec![
            "--no-config",
            "--base-url",
            "http://127.0.0.1:1/v1",
            "--api-key",
            "k",
            "--report",
            &format!("json=/nowhere/{HOSTILE}/x"),
        ],
    ] {
        checked(&args.join(" "), folder.path(), &args).await;
    }
    for text in [
        "profile = \"full\\u001b[2J\\u202e\"\n".to_owned(),
        "\"\\u001b[2J\\u202e\" = 1\n".to_owned(),
        format!("{HOSTILE} = 1\n"),
    ] {
        write("conform.toml", &text);
        checked("conform.toml", folder.path(), &["--api-key", "k"]).await;
    }
}
