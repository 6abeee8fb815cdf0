//! The programs that the workspace publishes, as their command lines define them.

use clap::Command;

/// `conform` and `reference`.
pub(crate) fn programs() -> [Command; 2] {
    [animal_store_conformance::cli::command(), animal_store_reference::cli::command()]
}
