//! The options of the program.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf, time::Duration};

use animal_store_reference::app::seconds;
use animal_store_reference::{Plan, config};
use clap::{Args, ValueEnum};

use crate::vector::Wish;
use crate::{mock::animals::Animals, mock::control::ControlAddress, mock::cors::Origin, mock::delay::DelayRange};

/// Options of `animal-lab serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The options of the reference server.
    #[command(flatten)]
    pub(crate) server: config::ServeArgs,

    /// The options of a mock.
    #[command(flatten)]
    pub(crate) mock: MockArgs,

    /// Which variation of the server to run.
    #[command(flatten)]
    pub(crate) lab: Wish,
}

/// The options of a mock. Without them the server behaves as if this module did not exist.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MockArgs {
    /// Start with this number of generated animals, or with the animals of a JSON file: an array of bodies of creations. A catalogue
    /// that has animals already is left unchanged
    #[arg(long, value_name = "COUNT|FILE", help_heading = "Mock")]
    pub(crate) animals: Option<Animals>,

    /// Delay before each API response in milliseconds, for example 250, or 100..800 for a time drawn from the seed of --lawful
    /// (0 without it)
    #[arg(long, value_name = "MS[..MS]", help_heading = "Mock")]
    pub(crate) delay: Option<DelayRange>,

    /// Let pages of this origin read the responses, for example http://localhost:3000, or `*` for all; repeatable. Preflight
    /// requests need no key then
    #[arg(long, value_name = "ORIGIN", help_heading = "Mock")]
    pub(crate) cors: Vec<Origin>,

    /// Let tests control the server over HTTP on this port of this machine, or on this address: reset it, keep and restore its
    /// state, set its clock, prepare responses, and read the recorded requests
    #[arg(long, value_name = "[ADDRESS:]PORT", help_heading = "Mock")]
    pub(crate) control: Option<ControlAddress>,
}

/// Options of `animal-lab choices` and `animal-lab faults`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those whose names contain this text, in which `*` stands for any text
    pub(crate) filter: Option<String>,

    /// How to list them
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// The form of a list or of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// A JSON array of objects
    Json,
}

/// Options of `animal-lab challenge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every fault was noticed and no lawful server refused, 1 not so, or COMMAND fails on the \
plain reference, 2 wrong usage, 3 could not start, 4 stopped unfinished.

Examples:
  animal-lab challenge -- pytest tests/api                       with CHALLENGE_URL and CHALLENGE_KEY in the environment
  animal-lab challenge --fault list. -- ./suite --url {url} --key {key}
  animal-lab challenge --plan pro --report json=missed.json -- npm test"
)]
pub(crate) struct ChallengeArgs {
    /// Try one fault for each requirement, one choice on each axis, and no servers that make many choices
    #[arg(long)]
    pub(crate) quick: bool,

    /// Succeed although faults are missed, if at least this number is noticed and no lawful server is refused
    #[arg(long, value_name = "COUNT")]
    pub(crate) at_least: Option<usize>,

    /// Lawful servers to try that make many choices at once, of the seeds from 1; at most 1000 [default: 10, with --quick 0]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(..=1_000))]
    pub(crate) lawful: Option<u64>,

    /// Lawful choices to try, each by itself: the beginning of their names, or a pattern with `*`; repeatable. Without it and
    /// without --fault: all
    #[arg(long, value_name = "PATTERN")]
    pub(crate) choose: Vec<String>,

    /// Faults to try: the beginning of their names, or a pattern with `*`; repeatable. Without it and without --choose: all
    #[arg(long, value_name = "PATTERN")]
    pub(crate) fault: Vec<String>,

    /// The plan of each server's key
    #[arg(long, default_value = "free")]
    pub(crate) plan: Plan,

    /// Servers to try at a time [default: the number of processors]
    #[arg(long, value_name = "COUNT")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// How long COMMAND may take for one server, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Let a window of requests per minute last this number of seconds, for suites that wait; this violates the specification
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..60))]
    pub(crate) fast_windows: Option<u32>,

    /// Write the whole report, for people (text) or for programs (json); repeatable
    #[arg(long, value_name = "text|json=FILE", value_parser = report)]
    pub(crate) report: Vec<(Format, PathBuf)>,

    /// The test suite: exit code 0 means that it accepts the server. `{url}` and `{key}` stand for the base address and the
    /// key, which are in `CHALLENGE_URL` and `CHALLENGE_KEY` as well
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Reads the format and the file of a report.
fn report(text: &str) -> Result<(Format, PathBuf), &'static str> {
    match text.split_once('=') {
        Some(("text", path)) if !path.is_empty() => Ok((Format::Text, path.into())),
        Some(("json", path)) if !path.is_empty() => Ok((Format::Json, path.into())),
        _ => Err("it must be text=FILE or json=FILE"),
    }
}
