//! `reference keys`: issuing, listing and revoking keys, also while a server runs on the same database.

use std::fmt::Write;
use std::io::Write as _;

use jiff::Timestamp;

use super::outcome::{Failure, print};
use crate::api::keys;
use crate::cli::config::{DbArgs, IssueArgs, KeysCommand, RevokeArgs};
use crate::domain::clock::Clock;
use crate::store::{KeyStore, Location};

pub(crate) fn run(command: &KeysCommand) -> Result<(), Failure> {
    match command {
        KeysCommand::Issue(args) => issue(args),
        KeysCommand::List(args) => list(args),
        KeysCommand::Revoke(args) => revoke(args),
    }
}

fn issue(args: &IssueArgs) -> Result<(), Failure> {
    let plan = args.plan().map_err(|message| Failure::Usage(message.to_owned()))?;
    let store = open(&args.db)?;
    let (number, key) = keys::issue(&store, &args.name, plan, Clock::system().now()).map_err(Failure::failed)?;
    // Only the key goes to standard output, for scripts. It is issued, whether or not standard error can be written.
    let _ = writeln!(std::io::stderr(), "key {number} for plan {plan}; it is shown this once:");
    print(&format!("{}\n", key.reveal()))
}

fn list(args: &DbArgs) -> Result<(), Failure> {
    let keys = open_existing(args)?.list().map_err(Failure::failed)?;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>6}  {:<10}  {:>20}  {:>20}  {:<20}  {:<20}  NAME",
        "NUMBER", "PLAN", "PER MINUTE", "PER DAY", "ISSUED", "REVOKED"
    );
    for key in keys {
        let revoked = key.revoked_at.map_or_else(|| "-".to_owned(), time);
        let (issued, limits) = (time(key.created_at), key.limits);
        // A name is any text, so it is escaped: it must not send control sequences to a terminal.
        let _ = writeln!(
            out,
            "{:>6}  {:<10}  {:>20}  {:>20}  {issued:<20}  {revoked:<20}  {}",
            key.id,
            key.plan,
            limits.per_minute,
            limits.per_day,
            key.name.escape_debug()
        );
    }
    print(&out)
}

fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    match open_existing(&args.db)?.revoke(args.number, Clock::system().now()) {
        Ok(true) => print(&format!("key {} is revoked\n", args.number)),
        Ok(false) => Err(Failure::Failed(format!("no key in force has the number {}", args.number))),
        Err(error) => Err(Failure::failed(error)),
    }
}

fn open(args: &DbArgs) -> Result<KeyStore, Failure> {
    match Location::parse(&args.db) {
        Location::File(path) => KeyStore::open(&path).map_err(Failure::cannot_start),
        Location::Scratch => {
            Err(Failure::Usage("a temporary database is private to its server: start the server with --dev".to_owned()))
        }
    }
}

/// Opens a database that exists. Only issuing a key may create one; for the other commands a missing file is a mistyped name.
fn open_existing(args: &DbArgs) -> Result<KeyStore, Failure> {
    match Location::parse(&args.db) {
        Location::File(path) if !path.exists() => {
            Err(Failure::CannotStart(format!("there is no database {}: name another file with --db", path.display())))
        }
        _ => open(args),
    }
}

fn time(unix_seconds: i64) -> String {
    Timestamp::from_second(unix_seconds).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}
