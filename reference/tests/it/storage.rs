//! The files of a database: who may use them, and what happens when they are damaged, removed or cannot be written.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;

use crate::faults::Faults;
use crate::support::{Answer, Folder, Server, eventually};

const ANIMAL: &str = r#"{"name":"Rex","categoryId":1}"#;

fn beside(folder: &Folder, suffix: &str) -> PathBuf {
    PathBuf::from(folder.db_text() + suffix)
}

/// Counts the processes that hold SQLite's locks on the database. Without these locks, another process that closes the database
/// removes the write-ahead log.
fn sqlite_locks(folder: &Folder) -> usize {
    let inode = format!(":{} ", std::fs::metadata(folder.db()).expect("a file").ino());
    let all = std::fs::read_to_string("/proc/locks").expect("the locks of the system");
    all.lines().filter(|line| line.contains("POSIX") && line.contains(&inode)).count()
}

fn health(server: &Server) -> Answer {
    server.ask("GET", "/healthz", "")
}

fn assert_unhealthy(server: &Server, reason: &str) {
    let answer = health(server);
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.json()["message"].as_str().expect("a message").contains(reason), "{answer:?}");
}

#[test]
fn the_files_of_a_new_database_belong_to_its_owner_alone() {
    let folder = Folder::new();
    let server = folder.serve(&[]);
    for suffix in ["", "-wal", "-shm"] {
        let mode = std::fs::metadata(beside(&folder, suffix)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
    assert!(!server.stop().contains("chmod"));
    std::fs::set_permissions(folder.db(), PermissionsExt::from_mode(0o644)).expect("other permissions");
    assert!(folder.serve(&[]).stop().contains("chmod 600"));
}

#[test]
fn after_a_clean_end_the_database_alone_is_complete() {
    let folder = Folder::new();
    let key = folder.issue(&["free"]);
    let server = folder.serve(&[]);
    let added = server.post(&key, ANIMAL);
    assert!(beside(&folder, "-wal").exists());
    server.stop();
    let files = std::fs::read_dir(folder.path()).expect("a folder").map(|file| file.expect("a file").path());
    assert_eq!(files.collect::<Vec<_>>(), [folder.db()]);
    let copy = Folder::new();
    std::fs::copy(folder.db(), copy.db()).expect("a copy");
    assert_eq!(copy.serve(&[]).ask("GET", "/v1/pets", &key).body, format!("[{}]", added.body));
}

#[test]
fn the_database_itself_is_locked_under_every_name_and_without_disturbing_sqlite() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    let linked = folder.path().join("linked.sqlite");
    std::fs::hard_link(folder.db(), &linked).expect("a link");
    let linked = linked.to_str().expect("UTF-8");
    for path in [linked, &folder.db_text()] {
        // A server that is not refused would run on.
        let mut command = Command::new("timeout");
        command.args(["20", crate::PROGRAM, "serve", "--listen", "127.0.0.1:0", "--db", path]);
        let output = command.output().expect("the program runs");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{message}");
        assert!(message.contains("served by another server"), "{message}");
    }
    assert!(!beside(&folder, ".lock").exists(), "there is no other file to remove");

    let added = server.post(&key, ANIMAL);
    let other = Connection::open(folder.db()).expect("a connection");
    let count: i64 = other.query_row("SELECT count(*) FROM animals", [], |row| row.get(0)).expect("a count");
    assert_eq!(count, 1);
    drop(other);
    // The list may lack a line while other processes lock and unlock.
    eventually("the lock of SQLite, which the server holds besides its own", || {
        (sqlite_locks(&folder) == 1).then_some(())
    });
    server.kill();
    assert_eq!(folder.serve(&[]).ask("GET", "/v1/pets", &key).body, format!("[{}]", added.body));
}

#[test]
fn after_a_failed_sync_the_outcome_is_reported_as_unknown() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let faults = Faults::prepare(folder.path());
    let server = faults.serve(folder.command(&[]));
    assert_eq!(server.post(&key, ANIMAL).status, 201);
    faults.begin("fail-sync");
    let answer = server.post(&key, ANIMAL);
    answer.assert_error(500);
    assert!(answer.json()["message"].as_str().expect("a message").contains("is not known"), "{answer:?}");
    assert_unhealthy(&server, "the disk failed");
    faults.end("fail-sync");
    eventually("it is healthy again", || (health(&server).status == 200).then_some(()));
    assert_eq!(server.post(&key, ANIMAL).status, 201);
    assert!(server.stop().contains("whether it was stored is not known"));
}
