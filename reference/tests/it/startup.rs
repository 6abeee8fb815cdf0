//! A server that cannot start reports why, and what to do.

use std::path::Path;

use crate::support::{Folder, Server, program};

/// Expects `serve` on this database to be refused with a message that contains all of `words`.
fn refused(db: &Path, words: &[&str]) {
    let output = program(&["serve", "--listen", "127.0.0.1:0", "--db", db.to_str().expect("UTF-8")]);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(3), "{message}");
    for word in words {
        assert!(message.contains(word), "{word:?} is missing from {message:?}");
    }
}

fn sqlite(path: &Path, sql: &str) -> rusqlite::Connection {
    let conn = rusqlite::Connection::open(path).expect("a connection");
    conn.execute_batch(sql).expect("it runs");
    conn
}

#[test]
fn a_missing_folder_is_named() {
    let folder = Folder::new();
    refused(
        &folder.path().join("missing/animals.sqlite"),
        &["missing/animals.sqlite", "folder that does not exist", "create it"],
    );
}

#[test]
fn a_database_can_be_named_without_its_folder() {
    let folder = Folder::new();
    let mut command = std::process::Command::new(crate::PROGRAM);
    command.current_dir(folder.path()).args(["serve", "--listen", "127.0.0.1:0", "--db", "animals.sqlite"]);
    Server::spawn(command).stop();
    assert!(folder.db().is_file());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    refused(Path::new("/proc/animals.sqlite"), &["/proc/animals.sqlite", "check the file, its folder"]);
}

#[test]
fn a_missing_place_for_temporary_files_is_named_with_a_remedy() {
    let mut command = std::process::Command::new(crate::PROGRAM);
    command.env("TMPDIR", "/proc/missing").args(["serve", "--db", ":memory:", "--listen", "127.0.0.1:0"]);
    let output = command.output().expect("the program runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    let expected = "/proc/missing cannot hold a temporary folder (entity not found): set TMPDIR to a folder";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_folder_in_place_of_a_file_is_refused() {
    let folder = Folder::new();
    refused(folder.path(), &["cannot be used"]);
}

#[test]
fn a_locked_database_is_distinguished_from_a_broken_one() {
    let folder = Folder::new();
    folder.issue(&["free"]);
    let holder = sqlite(&folder.db(), "BEGIN IMMEDIATE");
    refused(&folder.db(), &["is locked by another process", "then start again"]);
    drop(holder);
    folder.serve(&[]).stop();
}

#[test]
fn a_database_locked_for_readers_too_is_reported_as_well() {
    let folder = Folder::new();
    sqlite(&folder.db(), "CREATE TABLE x (x); DROP TABLE x;");
    let _holder = sqlite(&folder.db(), "BEGIN EXCLUSIVE");
    refused(&folder.db(), &["is locked by another process"]);
}

#[test]
fn a_second_server_on_the_same_file_is_refused() {
    let folder = Folder::new();
    let first = folder.serve(&[]);
    refused(&folder.db(), &["served by another server"]);
    first.stop();
    folder.serve(&[]).stop();
}

#[test]
fn a_file_of_another_kind_is_left_alone() {
    let folder = Folder::new();
    std::fs::write(folder.db(), "Dear diary, ".repeat(1_000)).expect("a file");
    refused(&folder.db(), &["is not an animal store database"]);
    assert!(std::fs::read_to_string(folder.db()).expect("text").starts_with("Dear diary"));
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new();
    sqlite(&folder.db(), "CREATE TABLE diary (day TEXT)");
    refused(&folder.db(), &["belongs to another program"]);
}

#[test]
fn a_database_from_the_future_is_left_alone() {
    let folder = Folder::new();
    folder.issue(&["free"]);
    sqlite(&folder.db(), "PRAGMA user_version = 99");
    refused(&folder.db(), &["newer version", "99", "update this program"]);
}

#[test]
fn a_damaged_database_is_refused() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    for number in 0..200 {
        assert_eq!(server.post(&key, &format!(r#"{{"name":"animal {number}","categoryId":1}}"#)).status, 201);
    }
    server.stop();
    let mut bytes = std::fs::read(folder.db()).expect("a file");
    for page in (1..bytes.len() / 4096).step_by(2) {
        bytes[page * 4096..page * 4096 + 64].fill(0xa5);
    }
    std::fs::write(folder.db(), bytes).expect("a damaged file");
    refused(&folder.db(), &["is damaged", "restore it from a backup"]);
}

#[test]
fn an_address_in_use_is_named() {
    let folder = Folder::new();
    let server = folder.serve_tcp(&[]);
    let (other, address) = (Folder::new(), server.address.to_string());
    let output = program(&["serve", "--listen", &address, "--db", &other.db_text()]);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains(&format!("cannot listen on {address}")), "{message}");
}

#[test]
fn a_start_for_which_there_is_no_address_issues_no_keys() {
    let folder = Folder::new();
    let server = folder.serve_tcp(&[]);
    let other = Folder::new();
    other.issue(&["free"]);
    let listen = ["--listen", &server.address.to_string()];
    let output = program(&[&["serve", "--dev", "--key", "pro=given", "--db", &other.db_text()], &listen[..]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let list = program(&["keys", "list", "--db", &other.db_text()]);
    assert_eq!(String::from_utf8_lossy(&list.stdout).lines().count(), 2, "the heading and one key: {list:?}");
}

#[test]
fn a_server_for_development_leaves_no_database_behind() {
    let folder = Folder::new();
    let mut command = std::process::Command::new(crate::PROGRAM);
    command.current_dir(folder.path()).args(["serve", "--listen", "unix:s", "--dev"]).env_remove("ANIMAL_STORE_DB");
    Server::spawn(command).stop();
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused_at_once() {
    let folder = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(folder.db()).status().expect("mkfifo runs");
    assert!(made.success());
    refused(&folder.db(), &["cannot be used", "not a regular file"]);
}

#[test]
fn commands_about_keys_wait_for_a_busy_database() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&[]);
    let holder = sqlite(&folder.db(), "BEGIN IMMEDIATE");
    std::thread::scope(|scope| {
        let revoked = scope.spawn(|| program(&["keys", "revoke", "1", "--db", &folder.db_text()]));
        // Longer than the server itself would wait.
        std::thread::sleep(std::time::Duration::from_millis(2_500));
        holder.execute_batch("ROLLBACK").expect("released");
        let output = revoked.join().expect("no panic");
        assert!(output.status.success(), "{output:?}");
    });
    assert_eq!(server.ask("GET", "/v1/pets", &key).status, 401);
}

#[test]
fn a_long_log_of_a_killed_process_is_announced() {
    let folder = Folder::new();
    folder.issue(&["free"]);
    assert!(!folder.serve(&[]).stop().contains("write-ahead log is long"));
    // A hole: to SQLite an empty log.
    let log = std::fs::File::create(folder.path().join("animals.sqlite-wal")).expect("a file");
    log.set_len(100 << 20).expect("a size");
    assert!(folder.serve(&[]).stop().contains("write-ahead log is long"));
}

#[test]
fn listing_and_revoking_keys_creates_no_database() {
    let folder = Folder::new();
    for args in [&["keys", "list"][..], &["keys", "revoke", "1"]] {
        let output = program(&[args, &["--db", &folder.db_text()]].concat());
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(3), "{message}");
        assert!(message.contains("there is no database"), "{message}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{args:?}");
    }
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    for args in [
        &["serve", "--now", "yesterday"][..],
        &["serve", "--base-path", "v1"],
        &["serve", "--tls-cert", "x.pem"],
        &["keys", "issue", "--plan", "gold"],
        &["keys", "issue", "--plan", "free", "--rpm", "1", "--rpd", "1"],
        &["keys", "list", "--db", ":memory:"],
        &[],
    ] {
        assert_eq!(program(args).status.code(), Some(2), "{args:?}");
    }
}
