//! The variables that `cargo run` sets for the program that it starts, and that an inner cargo must not inherit. Build scripts that watch
//! them (that of `ring` does) would run again, and everything above them would be compiled again, each time the outer command changes.

use std::env;
use std::process::Command;

const NAMES: &[&str] = &["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
const BEGINNINGS: &[&str] = &["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_EXE_"];

/// Removes the variables from the environment of a command.
pub(crate) fn forget(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if NAMES.contains(&text) || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) {
            command.env_remove(&name);
        }
    }
}
