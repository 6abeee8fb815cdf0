//! `cargo xtask dist`, `image`, `completions` and `man`: the files that the project hands to others.

mod archive;
mod deb;
mod dist;
mod documents;
mod image;
mod metadata;
mod products;

use std::process::ExitCode;

use clap::Parser;

/// The files that the project hands to others: programs, images, completions and man pages
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Build static release binaries, with licences and checksums
    Dist(dist::Options),
    /// Build container images that hold the static programs and nothing else
    Image(image::Options),
    /// Write shell completions for `conform`, `reference` and `animal-lab`
    Completions(documents::CompletionsOptions),
    /// Write the man pages of `conform`, `reference` and `animal-lab`
    Man(documents::ManOptions),
}

fn main() -> anyhow::Result<ExitCode> {
    match Command::parse() {
        Command::Dist(options) => dist::run(&options),
        Command::Image(options) => image::run(&options),
        Command::Completions(options) => documents::run_completions(&options),
        Command::Man(options) => documents::run_man(&options),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Command::command().debug_assert();
    }
}
