//! The programs that the workspace publishes, as their command lines define them.

use clap::Command;

/// `conform`, `reference` and `animal-lab`.
pub(crate) fn programs() -> [Command; 3] {
    [animal_store_conform::command(), animal_store_reference::cli::command(), animal_store_lab::cli::command()]
}
