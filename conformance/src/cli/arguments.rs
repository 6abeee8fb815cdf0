//! The options as they are typed. What becomes of them is [`super::to_options`]'s.
//!
//! An option has one definition, here: its variable of the environment and its member of `conform.toml` go by its name, and
//! [`super::config`] reads what may stand in the file from [`command`].

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, CommandFactory, Parser, Subcommand};
use jiff::Timestamp;

use super::container::ContainerArguments;
use super::values::{self, Color, HeaderField, Key, Printed, ReportFile};
use super::{diff, init, rules};
use crate::options::Options;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::Profile;

/// Judge an Animal Store server by the specification
///
/// Each option can also stand in a file, conform.toml. What is typed comes before what a variable of the environment says,
/// and that before the file: --show-config tells what holds, and why.
///
/// Exit codes: 0 conforms · 1 violates · 2 wrong usage, nothing was sent · 3 could not run · 4 incomplete: nothing failed,
/// but a stated requirement was not exercised · 130 interrupted: what was judged until then is told
#[derive(Clone, Debug, Parser)]
#[command(
    name = "conform",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(super) struct Arguments {
    /// Something else than judging.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Base address of the server, with its version segment: http://localhost:8080/v1
    #[arg(long, value_name = "URL", env = "CONFORM_BASE_URL", value_parser = values::base_url, help_heading = "Target")]
    pub base_url: Option<String>,

    /// The environment of conform.toml to judge: [environments.NAME], such as production or staging
    #[arg(long, value_name = "NAME", env = "CONFORM_ENV", help_heading = "Target")]
    pub env: Option<String>,

    /// The key to judge with
    #[arg(long, value_name = "KEY", env = "CONFORM_API_KEY", help_heading = "Keys")]
    pub api_key: Option<Key>,

    /// A key that the run may use up, instead of the main one
    #[arg(long, value_name = "KEY", env = "CONFORM_QUOTA_KEY", help_heading = "Keys")]
    pub quota_key: Option<Key>,

    /// The main key's plan: free, pro, business, enterprise or enterprise=RPM,RPD [default: learnt from the headers]
    #[arg(long, value_name = "PLAN", env = "CONFORM_PLAN", help_heading = "Keys")]
    pub plan: Option<Plan>,

    /// How much to judge
    #[arg(long, value_parser = values::profile(), default_value_t, env = "CONFORM_PROFILE", help_heading = "Scope")]
    pub profile: Profile,

    /// Judge only this requirement, or all that begin so (repeatable)
    #[arg(long, value_name = "ID", env = "CONFORM_ONLY", value_parser = values::requirement, value_delimiter = ',', help_heading = "Scope")]
    pub only: Vec<String>,

    /// Leave out this requirement, or all that begin so (repeatable)
    #[arg(long, value_name = "ID", env = "CONFORM_SKIP", value_parser = values::requirement, value_delimiter = ',', help_heading = "Scope")]
    pub skip: Vec<String>,

    /// Count a broken inferred requirement as a violation
    #[arg(long, action = ArgAction::Set, default_value_t, env = "CONFORM_STRICT", help_heading = "Scope")]
    pub strict: bool,

    /// TOML file that lists requirements known to fail: they are judged, and reported apart
    #[arg(long, value_name = "FILE", env = "CONFORM_KNOWN_FAILING", help_heading = "Scope")]
    pub known_failing: Option<PathBuf>,

    /// Seed of everything random [default: another one each time]
    #[arg(long, value_name = "NUMBER", env = "CONFORM_SEED", help_heading = "Run")]
    pub seed: Option<u64>,

    /// Send this many generated requests [default: by the key's limit]
    #[arg(long, value_name = "NUMBER", env = "CONFORM_CASES", help_heading = "Run")]
    pub cases: Option<usize>,

    /// Send only the generated request of this number; give the --seed of the run that showed it
    #[arg(long, value_name = "NUMBER", env = "CONFORM_REPLAY", help_heading = "Run")]
    pub replay: Option<usize>,

    /// Send no more requests than this
    #[arg(long, value_name = "NUMBER", env = "CONFORM_MAX_REQUESTS", default_value_t = Options::MAX_REQUESTS, help_heading = "Run")]
    pub max_requests: usize,

    /// Take no longer than this, in seconds
    #[arg(long, value_name = "SECONDS", env = "CONFORM_MAX_DURATION", default_value_t = Options::MAX_DURATION.as_secs(), help_heading = "Run")]
    pub max_duration: u64,

    /// Wait this long for one answer, in seconds
    #[arg(long, value_name = "SECONDS", env = "CONFORM_TIMEOUT", default_value_t = Options::TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..), help_heading = "Run")]
    pub timeout: u64,

    /// Wait up to this long until something answers at the base address, in seconds
    #[arg(long, value_name = "SECONDS", env = "CONFORM_WAIT", default_value_t = Options::WAIT.as_secs(), value_parser = clap::value_parser!(u64).range(..=86_400), help_heading = "Run")]
    pub wait: u64,

    /// Send this many creations at once
    #[arg(long, value_name = "NUMBER", env = "CONFORM_CONCURRENCY", default_value_t = Options::CONCURRENCY, help_heading = "Run")]
    pub concurrency: usize,

    /// A category in which animals can be created
    #[arg(long, value_name = "INT64", env = "CONFORM_CATEGORY_ID", default_value_t = Options::CATEGORY_ID, allow_negative_numbers = true, help_heading = "Run")]
    pub category_id: i64,

    /// Judge the removal of GET /pets/{petId} as if it were this day, such as 2030-12-05 [default: the day that the
    /// answers tell]
    #[arg(long, value_name = "DATE", env = "CONFORM_ASSUME_DATE", value_parser = values::day, help_heading = "Run")]
    pub assume_date: Option<Timestamp>,

    /// Print what would be done and what it would cost, and send nothing
    #[arg(long, action = ArgAction::Set, default_value_t, env = "CONFORM_DRY_RUN", help_heading = "Run")]
    pub dry_run: bool,

    /// The container to judge
    #[command(flatten)]
    pub container: ContainerArguments,

    /// PEM file with certificates to trust beside the system's
    #[arg(long, value_name = "FILE", env = "CONFORM_CA_CERT", help_heading = "Transport")]
    pub ca_cert: Option<PathBuf>,

    /// Proxy for every request; the usual proxy variables are not read
    #[arg(long, value_name = "URL", env = "CONFORM_PROXY", help_heading = "Transport")]
    pub proxy: Option<String>,

    /// Header field to send with every request, as `Name: value` (repeatable; one a line in the variable)
    #[arg(long, value_name = "FIELD", env = "CONFORM_HEADER", value_delimiter = '\n', help_heading = "Transport")]
    pub header: Vec<HeaderField>,

    #[arg(long, value_name = "FORMAT=PATH", env = "CONFORM_REPORT", value_delimiter = '\n', help = values::report_help(), help_heading = "Output")]
    pub report: Vec<ReportFile>,

    /// What to print on standard output
    #[arg(long, value_parser = values::printed(), default_value = "text", env = "CONFORM_FORMAT", help_heading = "Output")]
    pub format: Printed,

    /// Print the verdict and what it rests on only, and no progress
    #[arg(short, long, action = ArgAction::Set, default_value_t, env = "CONFORM_QUIET", help_heading = "Output")]
    pub quiet: bool,

    /// Print every requirement, the exchanges behind each failure, and each request as it is sent
    #[arg(short, long, action = ArgAction::Set, default_value_t, env = "CONFORM_VERBOSE", help_heading = "Output")]
    pub verbose: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t, env = "CONFORM_COLOR", help_heading = "Output")]
    pub color: Color,

    /// The configuration file [default: conform.toml in this folder, or in the nearest one above it in the same repository]
    #[arg(long, value_name = "PATH", env = "CONFORM_CONFIG", help_heading = "Configuration")]
    pub config: Option<PathBuf>,

    /// Read no configuration file
    #[arg(long, help_heading = "Configuration")]
    pub no_config: bool,

    /// Print what each option is and where that comes from, and send nothing
    #[arg(long, help_heading = "Configuration")]
    pub show_config: bool,
}

/// What there is to do beside judging.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    /// Compare two JSON reports: what changed from A to B
    Diff(diff::Arguments),
    /// Write a configuration file to start from
    Init(init::Arguments),
    /// List the requirements, or explain one
    Rules(rules::Arguments),
}

/// The command line's definition, for help, completions and man pages.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command().mut_args(|arg| {
        // The help is often shown to others; what the variables hold is for --show-config to tell.
        let arg = arg.hide_env_values(true);
        if is_switch(&arg) { switch(arg) } else { arg }
    })
}

/// Whether an option can be on or off in the environment and the file as well.
fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set) && arg.get_value_parser().type_id() == std::any::TypeId::of::<bool>()
}

/// `--strict` is on; what the environment or the file has switched on, `--strict=false` switches off.
fn switch(arg: Arg) -> Arg {
    arg.value_name("true|false")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_parser(BoolishValueParser::new())
        .hide_possible_values(true)
        .hide_default_value(true)
}
