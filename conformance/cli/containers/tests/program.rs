//! The program with `--image`, before it asks for an engine. `xtask/dist/tests/images.rs` has what needs one.

use std::process::Command;

#[test]
fn without_an_engine_a_message_says_what_to_start() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conform-containers"));
    command.args(["--no-config", "--image", "pets", "--api-key", "k"]).env("DOCKER_HOST", "tcp://127.0.0.1:1");
    let output = command.output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("no container engine responds") && message.contains("DOCKER_HOST"), "{message}");
}
