//! `reference keys`: issuing, listing and revoking keys, also while a server runs on the same database.

use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;

use super::config::{KeysArgs, KeysCommand, MEMORY};
use super::{Failure, print};
use crate::api::keys;
use crate::domain::{clock::Clock, plan::Limits};
use crate::store::{KeyStore, StoredKey};

/// Issues, lists or revokes keys.
pub(super) fn run(args: &KeysArgs) -> Result<(), Failure> {
    let path = Path::new(&args.db);
    if args.db == MEMORY {
        let message = "a temporary database is private to its server: start the server with --dev";
        return Err(Failure::Usage(message.to_owned()));
    }
    // Only issuing a key may create a database; for the other commands a missing file is a mistyped name.
    if !matches!(args.command, KeysCommand::Issue(_)) && !path.exists() {
        let message = format!("there is no database {}: name another file with --db", path.display());
        return Err(Failure::CannotStart(message));
    }
    let open = || KeyStore::open(path).map_err(Failure::cannot_start);
    let now = Clock::system().now();
    match &args.command {
        KeysCommand::Issue(issue) => {
            let plan = issue.plan().map_err(|message| Failure::Usage(message.to_owned()))?;
            let (number, key) = keys::issue(&open()?, &issue.name, plan, now).map_err(Failure::failed)?;
            // Only the key goes to standard output, for scripts. It is issued, whether or not standard error can be written.
            let _ = writeln!(io::stderr(), "key {number} for plan {plan}; it is shown this once:");
            print(&format!("{}\n", key.reveal()))
        }
        KeysCommand::List => {
            let mut table = format!(
                "NUMBER  PLAN        {:>20}  {:>20}  {:20}  {:20}  NAME\n",
                "PER MINUTE", "PER DAY", "ISSUED", "REVOKED"
            );
            for StoredKey { id, name, plan, limits: Limits { per_minute, per_day }, issued_at, revoked_at } in
                open()?.list().map_err(Failure::failed)?
            {
                let (issued, revoked) = (time(issued_at), revoked_at.map_or_else(|| "-".to_owned(), time));
                // A name is any text, so it is escaped: it must not send control sequences to a terminal.
                let name = name.escape_debug();
                table += &format!(
                    "{id:>6}  {plan:<10}  {per_minute:>20}  {per_day:>20}  {issued:20}  {revoked:20}  {name}\n"
                );
            }
            print(&table)
        }
        KeysCommand::Revoke { number } if open()?.revoke(*number, now).map_err(Failure::failed)? => {
            print(&format!("key {number} is revoked\n"))
        }
        KeysCommand::Revoke { number } => Err(Failure::Failed(format!("no key in force has the number {number}"))),
    }
}

fn time(unix_seconds: i64) -> String {
    Timestamp::from_second(unix_seconds).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}
