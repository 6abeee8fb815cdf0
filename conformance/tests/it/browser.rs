//! The HTML report in a real browser, where there is one: filters, links, policy, width and contrast.
//!
//! No driver is needed: a copy of the page gets one more script, which clicks and looks, and writes what it found into the
//! page; headless Chromium prints the page that results.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use animal_store_conformance::report::html;

use crate::sample;

const SCRIPT: &str = include_str!("browser.js");

/// The first Chromium on the path, or the one that `CHROMIUM` names.
fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let on_path = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    named.or_else(|| on_path.into_iter().find(|file| file.is_file()))
}

/// Opens a page in a window of this width and these colours, and returns what the browser reports of it.
fn open(browser: &Path, page: &str, name: &str, width: u32, scheme: u32) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}"));
    let _not_there = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("report.html");
    std::fs::write(&file, page).expect("a file");
    let output = Command::new(browser)
        // As root, Chromium runs without its sandbox only; it opens nothing but this file.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    // Megabytes that say nothing; the page stays, to be looked at.
    let _in_use = std::fs::remove_dir_all(folder.join("profile"));
    let dump = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!dump.is_empty(), "the browser printed nothing: {}", String::from_utf8_lossy(&output.stderr));
    dump
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(browser) = chromium() else {
        // Not `eprintln!`, which nobody sees when the test passes.
        let line =
            "skipped: no Chromium found on the path, so nobody clicked through the HTML report (CHROMIUM=… names one)";
        writeln!(std::io::stderr(), "{line}").expect("standard error");
        return;
    };
    let mut report = sample::report();
    // An exchange that shows two failures stands on the page once, with a link to it.
    let mut failed = report.requirements.iter_mut().filter(|requirement| !requirement.evidence.is_empty());
    let shared = failed.next().expect("a failure").evidence[0].exchanges[0].clone();
    failed.next().expect("another failure").evidence[0].exchanges.push(shared);
    let page = html::render(&report);
    // The policy lets no further script run; this copy admits one more, by a nonce.
    let page = page.replacen("script-src ", "script-src 'nonce-test' ", 1);
    let page = page.replacen("</body>", &format!("<script nonce=\"test\">{SCRIPT}</script></body>"), 1);
    let page = page.replacen("<head>", "<head><meta name=\"copy\" content=\"of a test\">", 1);
    for (name, width, scheme) in [("wide-light", 1280, 1), ("phone-dark", 390, 0)] {
        let dump = open(&browser, &page, name, width, scheme);
        let found = dump.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let (found, _) = found.unwrap_or_else(|| panic!("{name}: the script did not finish"));
        let wrong: Vec<&str> = found.lines().filter(|line| !line.starts_with("ok ")).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        assert!(found.lines().count() >= 20, "{name}: too little was looked at:\n{found}");
    }
}
