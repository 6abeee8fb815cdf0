//! The command line: what can be set, its defaults, and how its values are read.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use jiff::Timestamp;
use tracing_subscriber::filter::LevelFilter;

use crate::api::app::{AppOptions, seconds};
use crate::domain::plan::{Limits, Plan};
use crate::serve::{listener::Address, tls::Tls};

/// The database of a server that is not told another one.
const DB: &str = "animal-store.sqlite";

/// The address of a server that is not told another one.
const LISTEN: &str = "127.0.0.1:8080";

/// The value of `--db` that asks for a temporary database.
pub(super) const MEMORY: &str = ":memory:";

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 could not start, 4 stopped unfinished.";

/// The reference server of the Animal Store API
#[derive(Debug, Parser)]
#[command(name = "reference", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the API
    Serve(Box<ServeArgs>),
    /// Issue, list and revoke API keys, also while a server runs
    Keys(KeysArgs),
    /// Print the interface description (OpenAPI 3.1)
    Openapi,
    /// Ask a running server whether it is healthy; for container health checks
    Health(HealthArgs),
}

/// Options of `reference serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The database file, created if missing; `:memory:` for a temporary one, which is the default with --dev
    #[arg(long, value_name = "FILE", env = "ANIMAL_STORE_DB", default_value = DB, default_value_if("dev", "true", MEMORY))]
    pub db: String,

    /// The address to listen on; port 0 takes a free one. Or unix:PATH: a Unix socket that only this user can connect to
    #[arg(long, value_name = "ADDRESS:PORT|unix:PATH", default_value = LISTEN)]
    pub listen: Address,

    /// The settings of the application.
    #[command(flatten)]
    pub app: AppOptions,

    /// Issue one key for each plan, at every start, and print it with a ready curl line
    #[arg(long)]
    pub dev: bool,

    /// Start the clock here and let it run on, for example 2030-12-04T23:59:50Z
    #[arg(long, value_name = "TIME", value_parser = not_before_1970)]
    pub now: Option<Timestamp>,

    /// Give a plan this key (any bearer token), or several, separated by commas or spaces; repeatable. On the command line they
    /// replace those of the environment
    #[arg(long = "key", value_name = "PLAN=KEY", env = "ANIMAL_STORE_KEYS", hide_env_values = true)]
    pub keys: Vec<String>,

    /// The encryption of connections.
    #[command(flatten)]
    pub tls: Tls,

    /// What to log, on standard error; `debug` logs every request
    #[arg(long, value_name = "LEVEL", env = "ANIMAL_STORE_LOG", default_value = "info", value_parser = PossibleValuesParser::new(["off", "error", "warn", "info", "debug"]).try_map(|level| level.parse::<LevelFilter>()), help_heading = "Logs")]
    pub log: LevelFilter,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    /// The database file
    #[arg(long, global = true, value_name = "FILE", env = "ANIMAL_STORE_DB", default_value = DB)]
    pub(crate) db: String,

    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Issue a key and show it, this once
    Issue(IssueArgs),
    /// List all keys, without their secrets
    List,
    /// Revoke a key by its number; it stops working at once
    Revoke {
        /// The number of the key, as `reference keys list` shows it
        number: i64,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IssueArgs {
    /// The plan of the key
    #[arg(long)]
    plan: Plan,

    /// What to call the key
    #[arg(long, default_value = "unnamed")]
    pub(crate) name: String,

    /// Requests per minute; for enterprise keys
    #[arg(long, value_name = "REQUESTS", requires = "rpd", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    rpm: Option<u64>,

    /// Requests per day; for enterprise keys
    #[arg(long, value_name = "REQUESTS", requires = "rpm", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    rpd: Option<u64>,
}

impl IssueArgs {
    /// The plan that the options describe; a sentence when figures are given for a plan that has its own.
    pub(crate) fn plan(&self) -> Result<Plan, &'static str> {
        match (self.plan, self.rpm.zip(self.rpd)) {
            (plan, None) => Ok(plan),
            (Plan::Enterprise, Some((per_minute, per_day))) => Ok(Plan::Custom(Limits { per_minute, per_day })),
            (_, Some(_)) => Err("--rpm and --rpd are for enterprise keys; the other plans have fixed figures"),
        }
    }
}

/// Options of `reference health`.
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// The address of the server, as given to `serve --listen`; it must serve HTTP without TLS
    #[arg(long, value_name = "ADDRESS:PORT|unix:PATH", default_value = LISTEN)]
    pub address: Address,

    /// How long to wait for its answer
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub timeout: Duration,
}

fn not_before_1970(text: &str) -> Result<Timestamp, String> {
    let time: Timestamp = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    if time >= Timestamp::UNIX_EPOCH { Ok(time) } else { Err("it must not be before 1970".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn fixed_plans_refuse_other_figures() {
        let plan = |args: &[&str]| {
            let line = [&["reference", "keys", "issue"], args].concat();
            match Cli::try_parse_from(line).ok()?.command {
                Command::Keys(KeysArgs { command: KeysCommand::Issue(issue), .. }) => issue.plan().ok(),
                _ => None,
            }
        };
        assert_eq!(plan(&["--plan", "free"]), Some(Plan::Free));
        assert_eq!(plan(&["--plan", "free", "--rpm", "5", "--rpd", "5"]), None);
        assert_eq!(plan(&["--plan", "enterprise", "--rpm", "5"]), None);
        let custom = Plan::Custom(Limits { per_minute: 5, per_day: 6 });
        assert_eq!(plan(&["--plan", "enterprise", "--rpm", "5", "--rpd", "6"]), Some(custom));
        assert_eq!(plan(&["--plan", "enterprise", "--rpm", "0", "--rpd", "6"]), None);
    }

    #[test]
    fn a_clock_starts_in_1970_at_the_earliest() {
        assert_eq!(not_before_1970("1970-01-01T00:01:00Z").map(Timestamp::as_second), Ok(60));
        assert!(not_before_1970("1969-12-31T23:59:59Z").is_err());
    }
}
