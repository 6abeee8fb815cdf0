//! `cargo xtask conform`: which server it judges.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the judge in a folder, as someone there would.
fn conform(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CONFORM_")) {
        command.env_remove(name);
    }
    command.arg("conform").args(args).current_dir(folder).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with this configuration file.
fn with_file(file: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("conform.toml"), file).expect("a file");
    folder
}

#[test]
fn a_file_that_names_no_server_tells_how_to_judge_the_embedded_one() {
    let folder = with_file("profile = 'functional'\nplan = 'business'\nquiet = true\n");
    let output = conform(folder.path(), &["--only", "list.array"]);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", text(&output.stderr));
    assert!(stdout.contains("profile functional") && stdout.contains("plan business"), "{stdout}");
}

#[test]
fn a_server_that_the_file_names_is_judged_instead_of_the_embedded_one() {
    let folder = with_file("base_url = 'http://127.0.0.1:1/v1'\n");
    let output = conform(folder.path(), &["--api-key", "k"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("http://127.0.0.1:1/v1"), "{}", text(&output.stderr));
}

#[test]
fn a_file_whose_servers_wait_to_be_picked_is_not_passed_over() {
    let folder = with_file("profile = 'functional'\n[environments.staging]\nbase_url = 'http://127.0.0.1:1/v1'\n");
    let output = conform(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("no environment of conform.toml is selected"), "{}", text(&output.stderr));
    assert_eq!(
        conform(folder.path(), &["--no-config", "--profile", "functional", "--only", "list.array"]).status.code(),
        Some(0)
    );
}
