//! Files for others: the compose file and the Python client work with the program as it is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::Server;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The JSON value behind a member of a YAML file, which has to stand on one line.
fn member(yaml: &str, name: &str) -> serde_json::Value {
    let mark = format!("{name}: ");
    let line = yaml.lines().find_map(|line| line.trim_start().strip_prefix(&mark)).expect("the member");
    serde_json::from_str(line).expect("a value in JSON")
}

#[test]
fn the_compose_file_starts_a_server_with_its_keys_animals_and_control() {
    let yaml = std::fs::read_to_string(fixture("compose.yaml")).expect("the file");
    let words: Vec<String> = serde_json::from_value(member(&yaml, "command")).expect("words");
    let ports: Vec<String> = serde_json::from_value(member(&yaml, "ports")).expect("ports");
    for listening in [":8080", ":9090"] {
        assert!(words.iter().any(|word| *word == format!("0.0.0.0{listening}")), "{words:?}");
        assert!(ports.iter().any(|port| port.starts_with("127.0.0.1:") && port.ends_with(listening)), "{ports:?}");
    }
    let mut command = Command::new(crate::PROGRAM);
    // The ports may be taken here, and nobody else is to reach them.
    command.args(words.iter().map(|word| if word.starts_with("0.0.0.0:") { "127.0.0.1:0" } else { word.as_str() }));
    command.env("ANIMAL_STORE_KEYS", member(&yaml, "ANIMAL_STORE_KEYS").as_str().expect("text"));
    let server = Server::spawn(command);
    assert!(server.notice.iter().any(|line| line.starts_with("control on ")), "{:?}", server.notice);
    let list = server.ask("GET", "/v1/pets?limit=100", "compose-free-key");
    assert_eq!((list.number("x-ratelimit-limit"), list.json().as_array().map(Vec::len)), (60, Some(50)));
    assert_eq!(server.ask("GET", "/v1/pets", "compose-enterprise-key").status, 200);
}

#[test]
fn the_python_client_works_with_three_lawful_servers() {
    let mut python = Command::new("python3");
    python.arg(fixture("clients/test_animal_store.py")).env("LABORATORY", crate::PROGRAM);
    // No compiled files in the tree.
    python.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
    match python.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // Not by eprintln, which the test harness hides.
            let _nobody_reads =
                writeln!(std::io::stderr(), "SKIPPED: there is no python3, so the client was not tested");
        }
        output => {
            let output = output.expect("python3 runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
