//! What was acknowledged survives.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Folder, Server, try_ask};

/// Adds animals on several threads until the server is gone or `enough`; returns what was acknowledged.
fn add_until_gone(
    server: &Server,
    key: &str,
    enough: usize,
    when_enough: impl FnOnce() + Send,
) -> BTreeMap<i64, String> {
    let acknowledged = Mutex::new(BTreeMap::new());
    let (gone, when_enough) = (AtomicBool::new(false), Mutex::new(Some(when_enough)));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (acknowledged, gone, when_enough) = (&acknowledged, &gone, &when_enough);
            scope.spawn(move || {
                for number in 0.. {
                    let body = format!(r#"{{"name":"{thread}-{number}","categoryId":{number}}}"#);
                    let body = Some(("application/json", body.as_bytes()));
                    let Ok(answer) = try_ask(&server.address, "POST", "/v1/pets", key, body) else {
                        return gone.store(true, Ordering::SeqCst);
                    };
                    assert_eq!(answer.status, 201, "{answer:?}");
                    let id = answer.json()["id"].as_i64().expect("an id");
                    let count = {
                        let mut all = acknowledged.lock().expect("the list");
                        assert!(all.insert(id, answer.body).is_none(), "identifier {id} was given twice");
                        all.len()
                    };
                    if count >= enough
                        && let Some(act) = when_enough.lock().expect("the action").take()
                    {
                        act();
                    }
                    if gone.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
    });
    acknowledged.into_inner().expect("the list")
}

#[test]
fn every_acknowledged_animal_survives_twenty_kills() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let mut acknowledged = BTreeMap::new();
    for round in 0..20 {
        let server = folder.serve(&[]);
        let added = add_until_gone(&server, &key, 10 + round, || server.signal("KILL"));
        for (id, body) in added {
            assert!(acknowledged.insert(id, body).is_none(), "identifier {id} was given twice");
        }
    }
    let server = folder.serve(&[]);
    for (id, body) in &acknowledged {
        assert_eq!(&server.ask("GET", &format!("/v1/pets/{id}"), &key).body, body);
    }
    assert!(acknowledged.len() >= 200);
    let next = server.post(&key, r#"{"name":"after","categoryId":1}"#).json()["id"].as_i64().expect("an id");
    assert!(next > *acknowledged.keys().last().expect("animals"), "identifiers are never used again");
}

#[test]
fn a_full_disk_is_reported_and_loses_nothing_that_was_acknowledged() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    // A limit on the size of files stands in for the size of the disk.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$@\"", "sh", crate::PROGRAM]);
    command.args(["serve", "--listen", &folder.socket(), "--db", &folder.db_text()]);
    let server = Server::spawn(command);
    let name = "x".repeat(10_000);
    let mut acknowledged = Vec::new();
    let refused = loop {
        let answer = server.post(&key, &format!(r#"{{"name":"{name}","categoryId":1}}"#));
        if answer.status != 201 {
            break answer;
        }
        acknowledged.push(answer);
        assert!(acknowledged.len() < 10_000, "the disk never fills");
    };
    refused.assert_error(refused.status);
    assert!(refused.status >= 500 && !acknowledged.is_empty(), "{refused:?}");
    let read_all = |server: &Server| {
        for animal in &acknowledged {
            let path = format!("/v1/pets/{}", animal.json()["id"]);
            assert_eq!(server.ask("GET", &path, &key).body, animal.body);
        }
    };
    read_all(&server);
    server.stop();
    let server = folder.serve(&[]);
    read_all(&server);
    assert_eq!(server.post(&key, r#"{"name":"x","categoryId":1}"#).status, 201, "with room, it goes on");
}

#[test]
fn a_database_locked_by_another_process_is_a_503_and_not_a_wrong_answer() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    let other = rusqlite::Connection::open(folder.db()).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    server.post(&key, r#"{"name":"x","categoryId":1}"#).assert_error(503);
    assert_eq!(server.ask("GET", "/v1/pets", &key).body, "[]", "reads go on");
    other.execute_batch("ROLLBACK").expect("released");
    assert_eq!(server.post(&key, r#"{"name":"x","categoryId":1}"#).status, 201);
}

#[test]
fn a_database_damaged_while_it_is_served_gives_errors_and_no_wrong_answers() {
    let folder = Folder::new();
    let key = folder.issue(&["enterprise"]);
    let server = folder.serve(&[]);
    // Long enough to fill many pages, so that none that the keys need is hit.
    let name = "x".repeat(1_000);
    let body = format!(r#"{{"name":"{name}","categoryId":1}}"#);
    let added: Vec<_> = (0..300).map(|_| server.post(&key, &body)).collect();
    server.stop();
    let server = folder.serve(&[]);
    let pages = std::fs::read(folder.db()).expect("a file").len() / 4096;
    let file = std::fs::File::options().write(true).open(folder.db()).expect("a file");
    for page in pages / 2..pages {
        std::os::unix::fs::FileExt::write_all_at(&file, &[0xa5; 64], page as u64 * 4096).expect("damage");
    }
    let mut failed = 0;
    for animal in &added {
        let answer = server.ask("GET", &format!("/v1/pets/{}", animal.json()["id"]), &key);
        if answer.status == 200 {
            assert_eq!(answer.body, animal.body);
        } else {
            answer.assert_error(500);
            failed += 1;
        }
    }
    assert!(failed > 0, "the damage went unnoticed");
    assert!(server.stop().contains("malformed"), "the log says why");
}
