//! Keys from files and from the output of commands.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::values::Key;
use animal_store_conformance::http::errors::of_file;
use animal_store_rules::trace::keys::{ApiKey, UnusableKey};

/// A file or a command that gives no key.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoKey {
    /// The file cannot be read.
    #[error("{}", of_file(.0))]
    Unreadable(io::Error),
    /// The command cannot be started.
    #[error("the command cannot be started: {}", of_file(.0))]
    NotStarted(io::Error),
    /// The command failed.
    #[error("the command ended with {0}")]
    Failed(ExitStatus),
    /// The content or output is no key.
    #[error(transparent)]
    Unusable(#[from] UnusableKey),
}

/// The key in a file, without the spaces and line breaks around it.
pub(super) fn in_file(path: &Path) -> Result<Key, NoKey> {
    key(&std::fs::read(path).map_err(NoKey::Unreadable)?)
}

/// The key that a command of the shell prints. The command may ask for a password: it has the standard input and error of this program.
pub(super) fn printed_by(command: &str) -> Result<Key, NoKey> {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let started = Command::new(shell).args([option, command]).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output();
    let output = started.map_err(NoKey::NotStarted)?;
    if output.status.success() { key(&output.stdout) } else { Err(NoKey::Failed(output.status)) }
}

fn key(bytes: &[u8]) -> Result<Key, NoKey> {
    let text = String::from_utf8_lossy(bytes);
    let key = ApiKey::new(text.trim_start_matches('\u{feff}').trim())?;
    Ok(Key::from(key.reveal().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_loses_what_editors_and_commands_put_around_it() {
        for content in ["sk-1", "sk-1\n", "\u{feff}sk-1\r\n", "\n  sk-1 \n\n"] {
            assert_eq!(key(content.as_bytes()).expect(content).reveal(), "sk-1", "{content:?}");
        }
        for content in ["", "\n", "sk-1\nsk-2", "Bearer sk-1", "sk-\u{e9}"] {
            assert!(key(content.as_bytes()).is_err(), "{content:?}");
        }
    }
}
