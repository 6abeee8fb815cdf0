//! Keys that are given to the server at its start.

use std::process::Command;

use crate::support::{Folder, Server, program};

/// The end of a start that fails, as an exit code and what it says.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = program(&[&["serve", "--db", ":memory:", "--listen", "127.0.0.1:0"], args].concat());
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

#[test]
fn given_keys_work_on_their_plans_and_are_not_printed() {
    let args = ["--db", ":memory:", "--key", "free=ci-key-1", "--key", "pro=a.b_c~d+e/f==,business=ask_1_x"];
    let server = Server::start(&args);
    for (key, limit) in [("ci-key-1", 60), ("a.b_c~d+e/f==", 300), ("ask_1_x", 1_000)] {
        let answer = server.ask("GET", "/v1/pets", key);
        assert_eq!((answer.status, answer.number("x-ratelimit-limit")), (200, limit), "{key}");
        assert!(server.notice.iter().all(|line| !line.contains(key)), "{:?}", server.notice);
    }
    for wrong in ["", "ci-key-2", "CI-KEY-1", "ci-key-", "free=ci-key-1"] {
        assert_eq!(server.ask("GET", "/v1/pets", wrong).status, 401, "{wrong}");
    }
    assert!(server.notice.contains(&"pro         key 2, as given".to_owned()), "{:?}", server.notice);
}

#[test]
fn keys_of_the_environment_are_given_unless_the_command_line_gives_others() {
    let folder = Folder::new();
    let server = |args: &[&str], keys: &str| {
        let mut command: Command = folder.command(args);
        command.env("ANIMAL_STORE_KEYS", keys);
        Server::spawn(command)
    };
    let from_environment = server(&[], "free=env-key, pro=other-key\n");
    assert_eq!(from_environment.ask("GET", "/v1/pets", "env-key").status, 200);
    assert_eq!(from_environment.ask("GET", "/v1/pets", "other-key").number("x-ratelimit-limit"), 300);
    from_environment.stop();
    let again = server(&["--key", "business=own-key"], "gold=never-read");
    assert_eq!(again.ask("GET", "/v1/pets", "own-key").status, 200);
    assert_eq!(again.ask("GET", "/v1/pets", "env-key").number("x-ratelimit-remaining"), 58, "it was adopted and used");
    again.stop();
    server(&[], "").stop();
}

#[test]
fn a_key_that_cannot_be_given_ends_the_start_with_the_reason() {
    let (code, said) = refused(&["--key", "gold=x"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("key 1 of --key") && said.contains("free, pro, business or enterprise"), "{said}");
    assert_eq!(refused(&["--key", "free="]).0, Some(2));
    let (code, said) = refused(&["--key", "free=same,pro=same"]);
    assert!(
        code == Some(2) && said.contains("key 2 of --key") && said.contains("was given before for another plan"),
        "{said}"
    );

    let folder = Folder::new();
    folder.serve(&["--key", "free=a"]).stop();
    let output = program(&["serve", "--listen", "127.0.0.1:0", "--db", &folder.db_text(), "--key", "pro=a"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(3) && said.contains("key 1 of the database, for plan free"), "{said}");
}

#[test]
fn a_start_with_a_key_that_is_taken_puts_no_other_key_in_force() {
    let folder = Folder::new();
    folder.serve(&["--key", "free=a"]).stop();
    let start = ["serve", "--dev", "--key", "free=b,pro=a", "--listen", "127.0.0.1:0", "--db"];
    let output = program(&[&start[..], &[&folder.db_text()]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let list = program(&["keys", "list", "--db", &folder.db_text()]);
    assert_eq!(String::from_utf8_lossy(&list.stdout).lines().count(), 2, "the heading and one key: {list:?}");
}
