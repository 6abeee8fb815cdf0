//! The invariants of the project, written as what is absent.

use crate::support::{read, root};

/// Every Rust file below a folder of the workspace, with its path from the root.
pub(crate) fn sources(folder: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("below the root").display().to_string();
                files.push((name, std::fs::read_to_string(&path).expect("a readable file")));
            }
        }
    }
    assert!(!files.is_empty(), "there is no source below {folder}");
    files
}

/// The files below a folder, other than the excepted ones, that hold one of the words.
fn with_any(folder: &str, except: &[&str], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in sources(folder) {
        let excepted = except.iter().any(|prefix| name.starts_with(prefix));
        found.extend(
            words.iter().filter(|word| !excepted && text.contains(**word)).map(|word| format!("{name}: {word}")),
        );
    }
    found
}

#[test]
fn renderers_compute_no_verdict_and_touch_no_file() {
    let words = [
        "animal_store_rules::rules",
        "animal_store_rules::history",
        "overall(",
        "judge(",
        "std::fs",
        "reqwest",
        "tokio",
    ];
    // The schema of the report is a file that a test compares.
    let except = ["conformance/src/report/assemble.rs", "conformance/src/report/model/tests.rs"];
    assert_eq!(with_any("conformance/src/report", &except, &words), [""; 0]);
    assert_eq!(with_any("conformance/cli/src/formats", &[], &words), [""; 0]);
}

#[test]
fn one_module_owns_the_http_client() {
    let words = ["reqwest::Client", "redirect::", "TcpStream"];
    assert_eq!(with_any("conformance/src", &["conformance/src/http/client.rs"], &words), [""; 0]);
    // The proxy sends nothing of its own: it passes on what clients send.
    assert_eq!(with_any("conformance/cli/src", &["conformance/cli/src/proxy/upstream.rs"], &words), [""; 0]);
}

#[test]
fn the_proxy_judges_in_one_place_and_renders_nothing() {
    let except = ["conformance/cli/src/proxy/session.rs"];
    let words = ["verdict::judge", "Facts::new", "report::text", "formats::"];
    assert_eq!(with_any("conformance/cli/src/proxy", &except, &words), [""; 0]);
}

#[test]
fn probes_judge_nothing() {
    assert_eq!(
        with_any("conformance/src/probes", &[], &["Judgement", "animal_store_rules::verdict", "animal_store_diagnose"]),
        [""; 0]
    );
}

/// The rooms of the rules crate, from the bottom up: each uses only those before it.
const ROOMS: [&str; 16] = [
    "words",
    "tolerance",
    "toml_error",
    "catalogue",
    "trace",
    "near_misses",
    "sentence",
    "request",
    "history",
    "limits",
    "facts",
    "fleet",
    "rules",
    "observers",
    "transcript",
    "verdict",
];

#[test]
fn no_room_of_the_rules_uses_one_above_it() {
    let place = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut wrong = Vec::new();
    for (name, text) in sources("conformance/rules/src") {
        let room = name.trim_start_matches("conformance/rules/src/").split(['/', '.']).next().unwrap_or_default();
        // The crate's front page names all rooms; tests may look at what follows from a rule.
        if room == "lib" || name.ends_with("/tests.rs") {
            continue;
        }
        let own = place(room).unwrap_or_else(|| panic!("{name} is in no room that is known here"));
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let used = code.split("crate::").skip(1).filter_map(|rest| rest.split([':', ';', ',', ' ']).next());
        wrong.extend(
            used.filter(|room| place(room).is_some_and(|other| other > own)).map(|room| format!("{name}: {room}")),
        );
    }
    assert_eq!(wrong, [""; 0]);
}

/// The folders of the reference, from the bottom up: each uses only those before it.
const FOLDERS: [&str; 5] = ["domain", "store", "api", "serve", "cli"];

#[test]
fn no_folder_of_the_reference_uses_one_above_it() {
    let mut wrong = Vec::new();
    for (name, text) in sources("reference/src") {
        let path = name.trim_start_matches("reference/src/");
        let Some((own, _)) = path.split_once('/') else {
            assert!(["lib.rs", "main.rs"].contains(&path), "{name} is in no folder");
            continue;
        };
        let own = FOLDERS.iter().position(|folder| *folder == own).unwrap_or_else(|| panic!("{name}"));
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let above = FOLDERS[own + 1..].iter().filter(|folder| code.contains(&format!("crate::{folder}")));
        wrong.extend(above.filter(|_| !name.ends_with("/tests.rs")).map(|folder| format!("{name}: {folder}")));
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn one_folder_of_the_reference_touches_sqlite() {
    assert_eq!(with_any("reference", &["reference/src/store/", "reference/tests/"], &["rusqlite"]), [""; 0]);
}

#[test]
fn the_two_products_never_import_each_other() {
    let manifest =
        |package: &str| std::fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a manifest");
    for crate_of_judge in [
        "conformance",
        "conformance/cli",
        "conformance/diagnose",
        "conformance/rules",
        "conformance/secrets",
        "conformance/traffic",
    ] {
        let manifest = manifest(crate_of_judge);
        let dependencies = manifest.split("[dependencies]").nth(1).and_then(|rest| rest.split("\n[").next());
        for product in ["animal-store-reference", "animal-store-lab"] {
            assert!(!dependencies.expect("a table").contains(product), "{crate_of_judge} depends on {product}");
        }
    }
    assert!(!manifest("reference").contains("animal-store-lab"), "the reference depends on its laboratory");
    assert!(!manifest("reference").contains("conformance"), "the reference depends on the judge");
    assert!(!manifest("reference/lab").contains("animal-store-conform"), "the laboratory depends on the judge");
    // The laboratory writes traces and finds secrets as the judge does, and derives readers from near misses. What the judge requires of a
    // server is not its concern.
    let except = ["reference/lab/src/faults/near_misses.rs"];
    let judging = ["catalogue", "facts", "fleet", "history", "limits", "observers", "request", "rules", "verdict"];
    let judging = judging.map(|room| format!("animal_store_rules::{room}"));
    assert_eq!(with_any("reference/lab/src", &except, &judging.each_ref().map(String::as_str)), [""; 0]);
    // An example in the documentation may judge a reference server: it is a test, with the dependencies of tests.
    let imports = |text: &str| {
        text.lines().any(|line| line.contains("animal_store_reference") && !line.trim_start().starts_with("///"))
    };
    let sources = ["conformance/src", "conformance/cli/src"].into_iter().flat_map(sources);
    let importing: Vec<String> = sources.filter(|(_, text)| imports(text)).map(|(name, _)| name).collect();
    assert_eq!(importing, [""; 0]);
}

#[test]
fn the_page_on_the_specification_has_each_section_of_the_catalogue() {
    let page = read("conformance/docs/specification.md");
    let headings: Vec<&str> = page.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' ')).collect();
    for statement in &animal_store_rules::catalogue().statements {
        assert!(headings.contains(&statement.section.as_str()), "no heading `{}`", statement.section);
    }
}

/// How many packages of others the library may use: each is something that its users compile and trust.
const MOST_PACKAGES: usize = 111;

#[test]
fn the_library_has_few_dependencies() {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["tree", "--package", "animal-store-conformance", "--edges", "normal"]);
    let output = cargo.args(["--prefix", "none", "--no-dedupe", "--locked"]).current_dir(root()).output();
    let output = output.expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("names");
    let packages: std::collections::BTreeSet<&str> =
        tree.lines().filter(|line| !line.is_empty() && !line.starts_with("animal-store-")).collect();
    assert!(packages.len() <= MOST_PACKAGES, "{} packages: {packages:#?}", packages.len());
    assert!(!packages.iter().any(|package| package.starts_with("clap ")), "the library parses no command line");
}
