//! The files of a database: who may use them, and what happens when they are damaged, removed or cannot be written.

use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;

use crate::faults::Faults;
use crate::support::{Answer, Folder, Server, eventually};

const ANIMAL: &str = r#"{"name":"Rex","categoryId":1}"#;

fn beside(folder: &Folder, suffix: &str) -> PathBuf {
    PathBuf::from(folder.db_text() + suffix)
}

/// How many processes hold SQLite's locks on the database. Without them, another process that closes the database
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
    for suffix in ["", "-wal", "-shm", "-usage"] {
        let mode = std::fs::metadata(beside(&folder, suffix)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
    assert!(!server.stop().contains("chmod"));
    std::fs::set_permissions(folder.db(), PermissionsExt::from_mode(0o644)).expect("other permissions");
    assert!(folder.serve(&[]).stop().contains("chmod 600"));
}

#[test]
fn health_reports_the_last_commit_and_the_size_of_the_log() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    assert_eq!(health(&server).json()["writing"]["last_commit"], "none");
    assert_eq!(server.post(&key, ANIMAL).status, 201);
    let body = health(&server).json();
    assert_eq!((body["status"].as_str(), body["writing"]["last_commit"].as_str()), (Some("ok"), Some("ok")));
    assert!(body["writing"]["seconds_ago"].is_u64() && body["writing"]["log_bytes"].as_u64() > Some(4096), "{body}");
}

#[test]
fn nothing_is_acknowledged_into_a_file_that_was_removed_or_replaced() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    let before = server.post(&key, ANIMAL).body;
    for name in ["", "-wal"] {
        let (path, moved) = (beside(&folder, name), folder.path().join("moved"));
        std::fs::rename(&path, &moved).expect("moved");
        server.post(&key, ANIMAL).assert_error(503);
        assert_unhealthy(&server, "was removed or replaced");
        assert_eq!(server.ask("GET", "/v1/pets", &key).status, 200);
        assert!(!path.exists(), "nobody creates an empty file in its place");
        std::fs::write(&path, "").expect("another file");
        server.post(&key, ANIMAL).assert_error(503);
        assert_unhealthy(&server, "was removed or replaced");
        std::fs::rename(&moved, &path).expect("moved back");
        eventually("it is healthy again", || (health(&server).status == 200).then_some(()));
    }
    let after = server.post(&key, ANIMAL);
    assert_eq!(after.status, 201);
    server.kill();
    assert_eq!(folder.serve(&[]).ask("GET", "/v1/pets", &key).body, format!("[{},{before}]", after.body));
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
        assert!(message.contains("another server already serves"), "{message}");
    }
    assert!(!beside(&folder, ".lock").exists(), "there is no other file to remove");

    let added = server.post(&key, ANIMAL);
    let other = Connection::open(folder.db()).expect("a connection");
    let count: i64 = other.query_row("SELECT count(*) FROM animals", [], |row| row.get(0)).expect("a count");
    assert_eq!(count, 1);
    drop(other);
    assert_eq!(sqlite_locks(&folder), 1, "of the server, which holds its own lock besides");
    server.kill();
    assert_eq!(folder.serve(&[]).ask("GET", "/v1/pets", &key).body, format!("[{}]", added.body));
}

#[test]
fn one_process_cannot_serve_a_database_twice_and_keeps_its_locks_when_it_tries() {
    use animal_store_reference::store::{Location, OpenError, Store};
    let folder = Folder::new();
    let location = Location::File(folder.db());
    let store = Store::open(&location, 4).expect("a store");
    assert_eq!(sqlite_locks(&folder), 1);
    assert!(matches!(Store::open(&location, 4).map(drop), Err(OpenError::AlreadyServed(_))));
    assert_eq!(sqlite_locks(&folder), 1);
    drop(store);
    assert!(Store::open(&location, 4).is_ok());
}

#[test]
fn a_flipped_bit_that_hides_acknowledged_animals_is_warned_about() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    for _ in 0..20 {
        assert_eq!(server.post(&key, ANIMAL).status, 201);
    }
    server.kill();
    let server = folder.serve(&[]);
    assert_eq!(server.post(&key, ANIMAL).status, 201);
    for _ in 0..20 {
        assert_eq!(server.post(&key, ANIMAL).status, 201);
    }
    server.signal("KILL");
    assert!(!server.wait().1.contains("is damaged"), "a kill damages nothing");

    let log = std::fs::File::options().read(true).write(true).open(beside(&folder, "-wal")).expect("the log");
    let middle = 32 + 10 * (24 + 4096) + 1_000;
    let mut byte = [0];
    log.read_exact_at(&mut byte, middle).expect("a byte");
    log.write_all_at(&[byte[0] ^ 1], middle).expect("a flipped bit");
    let log = folder.serve(&[]).stop();
    assert!(log.contains("the write-ahead log is damaged") && log.contains("frame=11"), "{log}");
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
