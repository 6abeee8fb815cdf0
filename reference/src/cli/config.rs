//! The command line: what can be set, its defaults, and how its values are read.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{ArgPredicate, PossibleValue};
use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::Timestamp;

use crate::domain::plan::{Limits, Plan};
use crate::serve::address::Address;

/// The reference server of the Animal Store API
#[derive(Debug, Parser)]
#[command(
    name = "reference",
    version,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 could not start, 4 stopped unfinished."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the API
    Serve(Box<ServeArgs>),
    /// Issue, list and revoke API keys, also while a server runs
    Keys(KeysArgs),
    /// Print the interface description (OpenAPI 3.1)
    Openapi,
    /// Ask a running server whether it is healthy; for container health checks
    Health(HealthArgs),
}

/// The database.
#[derive(Clone, Debug, Args)]
pub struct DbArgs {
    /// The database file
    #[arg(long, value_name = "FILE", env = "ANIMAL_STORE_DB", default_value = "animal-store.sqlite")]
    pub db: String,
}

/// Options of `reference serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The database file, created if missing; `:memory:` for a temporary one, which is the default with --dev
    #[arg(
        long,
        value_name = "FILE",
        env = "ANIMAL_STORE_DB",
        default_value = "animal-store.sqlite",
        default_value_if("dev", ArgPredicate::Equals("true".into()), ":memory:")
    )]
    pub db: String,

    /// The address to listen on; port 0 takes a free one. Or unix:PATH: a Unix socket that only this user can connect to
    #[arg(long, value_name = "ADDRESS:PORT|unix:PATH", default_value = "127.0.0.1:8080")]
    pub listen: Address,

    /// The path below which the API lives
    #[arg(long, value_name = "PATH", default_value = "/v1", value_parser = base_path)]
    pub base_path: String,

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

    /// Serve HTTPS with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "HTTPS")]
    pub tls_cert: Option<PathBuf>,

    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "HTTPS")]
    pub tls_key: Option<PathBuf>,

    /// Serve HTTPS with a certificate made at start, and print where its authority is
    #[arg(long, conflicts_with = "tls_cert", help_heading = "HTTPS")]
    pub tls_self_signed: bool,

    /// Refused requests in one exhausted window before the key is banned for a while; 0 never bans
    #[arg(long, value_name = "REQUESTS", default_value_t = 10, help_heading = "Rate limits")]
    pub ban_after: u64,

    /// How long a ban lasts at least; it ends with a minute
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=31_536_000), help_heading = "Rate limits")]
    pub ban_seconds: u64,

    /// Connections served at a time; more wait
    #[arg(long, value_name = "COUNT", default_value = "4096", value_parser = count, help_heading = "Bounds")]
    pub max_connections: usize,

    /// How long a TLS handshake or the next request's head may take, and a client may read nothing of a response; a connection may
    /// be idle for as long
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Bounds")]
    pub header_timeout: Duration,

    /// How long a request's body may take to arrive
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Bounds")]
    pub request_timeout: Duration,

    /// How long requests in flight may take to finish after SIGTERM or Ctrl-C
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = "Bounds")]
    pub grace: Duration,

    /// What to log, on standard error; `debug` logs every request
    #[arg(long, value_name = "LEVEL", env = "ANIMAL_STORE_LOG", default_value = "info", help_heading = "Logs")]
    pub log: LogLevel,

    /// How to log
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Logs")]
    pub log_format: LogFormat,
}

/// How much to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Nothing
    Off,
    /// What failed
    Error,
    /// What may soon fail
    Warn,
    /// What happened to the server
    Info,
    /// Every request
    Debug,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line with `name=value` pairs
    Text,
    /// A JSON object a line
    Json,
}

/// Options of `reference keys`.
#[derive(Debug, Args)]
pub struct KeysArgs {
    /// What to do with keys.
    #[command(subcommand)]
    pub command: KeysCommand,
}

/// The commands about keys.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Issue a key and show it, this once
    Issue(IssueArgs),
    /// List all keys, without their secrets
    List(DbArgs),
    /// Revoke a key by its number; it stops working at once
    Revoke(RevokeArgs),
}

/// Options of `reference keys issue`.
#[derive(Debug, Args)]
pub struct IssueArgs {
    /// The database.
    #[command(flatten)]
    pub db: DbArgs,

    /// The plan of the key
    #[arg(long)]
    pub plan: Plan,

    /// What to call the key
    #[arg(long, default_value = "unnamed")]
    pub name: String,

    /// Requests per minute; for enterprise keys
    #[arg(long, value_name = "REQUESTS", requires = "rpd", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    pub rpm: Option<u64>,

    /// Requests per day; for enterprise keys
    #[arg(long, value_name = "REQUESTS", requires = "rpm", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    pub rpd: Option<u64>,
}

impl IssueArgs {
    /// The plan that the options describe.
    ///
    /// # Errors
    ///
    /// A sentence, when figures are given for a plan that has its own.
    pub fn plan(&self) -> Result<Plan, &'static str> {
        match (self.plan, self.rpm.zip(self.rpd)) {
            (plan, None) => Ok(plan),
            (Plan::Enterprise, Some((per_minute, per_day))) => Ok(Plan::Custom(Limits { per_minute, per_day })),
            (_, Some(_)) => Err("--rpm and --rpd are for enterprise keys; the other plans have fixed figures"),
        }
    }
}

impl ValueEnum for Plan {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Free, Self::Pro, Self::Business, Self::Enterprise]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Free => "60 requests a minute, 1,000 a day",
            Self::Pro => "300 requests a minute, 10,000 a day",
            Self::Business => "1,000 requests a minute, 100,000 a day",
            Self::Enterprise | Self::Custom(_) => "Agreed figures: --rpm and --rpd",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}

/// Options of `reference keys revoke`.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// The database.
    #[command(flatten)]
    pub db: DbArgs,

    /// The number of the key, as `reference keys list` shows it
    #[arg(value_name = "NUMBER")]
    pub number: i64,
}

/// Options of `reference health`.
#[derive(Debug, Args)]
pub struct HealthArgs {
    /// The address of the server, as given to `serve --listen`; it must serve HTTP without TLS
    #[arg(long, value_name = "ADDRESS:PORT|unix:PATH", default_value = "127.0.0.1:8080")]
    pub address: Address,

    /// How long to wait for its answer
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub timeout: Duration,
}

fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    if path.is_empty() || path.starts_with('/') && !path.contains("//") && path.bytes().all(plain) {
        Ok(path.to_owned())
    } else {
        Err("it must begin with a slash and hold letters, digits and -._~/ only".to_owned())
    }
}

/// Reads a number of seconds.
///
/// # Errors
///
/// A sentence that says which numbers are possible.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let refused = || "it must be a number of seconds, more than 0 and at most a day".to_owned();
    let seconds: f64 = text.parse().map_err(|_| refused())?;
    if seconds > 0.0 && seconds <= 86_400.0 { Ok(Duration::from_secs_f64(seconds)) } else { Err(refused()) }
}

/// Reads a count of at least 1.
///
/// # Errors
///
/// A sentence that says which numbers are possible.
pub fn count(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|count| (1..=1_000_000).contains(count))
        .ok_or_else(|| "it must be 1 to 1000000".to_owned())
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
    fn defaults_on_the_command_line_are_those_of_the_library() {
        let cli = Cli::try_parse_from(["reference", "serve"]).expect("valid");
        let Command::Serve(args) = cli.command else { panic!("not serve") };
        let (serve, limits, ban) = (
            crate::serve::ServeOptions::default(),
            crate::api::app::RequestLimits::default(),
            crate::domain::rate_limit::BanPolicy::default(),
        );
        assert_eq!((args.ban_after, args.ban_seconds), (ban.after, ban.seconds));
        assert_eq!(args.request_timeout, limits.request_timeout);
        assert_eq!((args.max_connections, args.header_timeout), (serve.max_connections, serve.header_timeout));
        assert_eq!(args.grace, serve.grace);
    }

    #[test]
    fn a_base_path_is_cleaned_or_refused() {
        assert_eq!(
            ["/v1", "/v1/", "/", "", "/a/b"].map(|path| base_path(path).ok()),
            [Some("/v1"), Some("/v1"), Some(""), Some(""), Some("/a/b")].map(|path| path.map(str::to_owned))
        );
        for path in ["v1", "/a//b", "/a b", "/a?b", "/ä", "/<x>"] {
            assert!(base_path(path).is_err(), "{path}");
        }
    }

    #[test]
    fn fixed_plans_refuse_other_figures() {
        let plan = |args: &[&str]| {
            let line = [&["reference", "keys", "issue"], args].concat();
            match Cli::try_parse_from(line).ok()?.command {
                Command::Keys(KeysArgs { command: KeysCommand::Issue(issue) }) => issue.plan().ok(),
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
    fn times_are_more_than_nothing_and_at_most_a_day() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("86400"), Ok(Duration::from_hours(24)));
        for wrong in ["0", "-1", "86401", "NaN", "inf", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert_eq!(not_before_1970("1970-01-01T00:01:00Z").map(Timestamp::as_second), Ok(60));
        assert!(not_before_1970("1969-12-31T23:59:59Z").is_err());
    }
}
