//! `reference serve`: starts the server, prints its address, and waits for the signal to stop.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

use clap::ValueEnum;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::config::{MEMORY, ServeArgs};
use super::{Failure, print, start_log, stopping};
use crate::api::keys::{self, StartKey};
use crate::api::{app::AppOptions, extension::Extension};
use crate::domain::{clock::Clock, plan::Plan};
use crate::serve::{LAST_SAVE, Server, Settings, build, listener::Address};
use crate::store;

/// The greatest number of open files that are neither connections nor the database: standard streams, the listener, two runtimes, the
/// signals, and files that are open briefly.
const OTHER_FILES: usize = 32;

/// Serves until the process is asked to stop, with an extension. `program` is the name of the calling program, for messages.
///
/// # Errors
///
/// [`Failure`] when the server could not be started, or ended by itself.
pub fn serve(program: &'static str, args: &ServeArgs, extension: impl Extension) -> Result<(), Failure> {
    start_log(args);
    // Signals are received from the start, so that an early one is not lost.
    let stopped = stopping::listen(program, args.app.grace + LAST_SAVE).map_err(Failure::cannot_start)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;

    let given = keys::parse_given(&args.keys).map_err(Failure::Usage)?;
    let dev = if args.dev { Plan::value_variants() } else { &[] };
    let keys: Vec<_> = dev.iter().map(|plan| StartKey { plan: *plan, given: None }).chain(given).collect();
    let mut app = AppOptions { clock: args.now.map_or_else(Clock::system, Clock::starting_at), ..args.app.clone() };
    // Before the database opens the first file, so that a lack of files is reported as such.
    app.max_connections = possible_connections(app.max_connections)?;
    let db = (args.db != MEMORY).then(|| args.db.clone().into());
    let settings = Settings { db, app, listen: args.listen.clone(), tls: args.tls.clone(), keys: keys.clone() };

    runtime.block_on(async {
        let server = build(settings, extension).await.map_err(Failure::cannot_start)?;
        for exposure in exposures(args) {
            tracing::warn!("{exposure}");
        }
        print(&notice(args, &keys, &server)?)?;
        tracing::info!(base_url = server.started.base_url, "serving");
        let writer_ended = server.started.app.store.writer.ended();
        let stop = async {
            tokio::select! {
                // The thread that listens for signals lasts as long as the process.
                Ok(signal) = stopped => {
                    tracing::info!("stopping on {signal}");
                    Ok(())
                }
                // A server that cannot store anything is of no use; a service manager can start another.
                () = writer_ended => Err("the thread that writes the database ended; see the log"),
            }
        };
        server.run(stop).await.map_err(Failure::failed)?;
        tracing::info!("stopped");
        Ok(())
    })
}

/// Raises the limit of open files as far as `wanted` connections need and the system allows, and returns the number of connections that
/// are possible. Fewer connections are better than clients that are lost when the process has no file left for them.
fn possible_connections(wanted: u32) -> Result<u32, Failure> {
    let reserved = (store::open_files() + OTHER_FILES) as u64;
    let needed = u64::from(wanted) + reserved;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = maximum.map_or(needed, |maximum| maximum.min(needed));
    if current.is_some_and(|current| current < raised) {
        // A limit that cannot be raised shows below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
    }
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Ok(wanted) };
    let possible = limit.saturating_sub(reserved).min(wanted.into()) as u32;
    let allowed = format!("the process may open {limit} files (ulimit -n)");
    if possible == 0 {
        let message = format!("{allowed}, which leaves none for connections: raise it, for example to {needed}");
        return Err(Failure::CannotStart(message));
    }
    if possible < wanted {
        tracing::warn!("{allowed}, too few for --max-connections {wanted}: it serves {possible} connections at a time");
    }
    Ok(possible)
}

/// Returns the lines that are printed before the server accepts connections: how to reach it, and with which keys.
fn notice(args: &ServeArgs, keys: &[StartKey], server: &Server) -> Result<String, Failure> {
    let base_url = &server.started.base_url;
    let (mut notice, mut curl) = (String::new(), "curl -i ".to_owned());
    // The last line says that the server listens, because scripts wait for it.
    let mut end = format!("listening on {base_url}");
    if let Some(authority) = &server.authority {
        notice += &format!("trust this authority: {}\n", authority.display());
        curl += &format!("--cacert {} ", authority.display());
    }
    if let Address::Unix(path) = &args.listen {
        let path = path.display();
        curl += &format!("--unix-socket {path} ");
        end = format!(
            "judge it with: conform --unix-socket {path} --base-url {base_url}\n{end} at the Unix socket {path}"
        );
    }
    for (StartKey { plan, given }, (number, key)) in keys.iter().zip(&server.started.keys) {
        notice += &match (given, key.reveal()) {
            // The user knows the key, and this output may be the log of a continuous integration job.
            (Some(_), _) => format!("{plan:<10}  key {number}, as given\n"),
            (None, key) => format!("{plan:<10}  {key}\n  {curl}-H 'Authorization: Bearer {key}' {base_url}/pets\n"),
        };
    }
    if !server.started.app.store.has_keys().map_err(Failure::cannot_start)? {
        let issue = format!("reference keys issue --db {} --plan free --name me", args.db);
        let issue = if args.db == MEMORY { "give some with --key" } else { &issue };
        notice += &format!("no key is in force yet: start with --dev to get some, or {issue}\n");
    }
    Ok(notice + &server.extended.notice + &end + "\n")
}

/// Returns a warning for each option that lets other users or networks read secrets.
fn exposures(args: &ServeArgs) -> Vec<String> {
    let mut exposures = Vec::new();
    let everybody_reads = |path: &PathBuf| path.metadata().is_ok_and(|file| file.permissions().mode() & 0o004 != 0);
    if let Some(key) = args.tls.tls_key.as_ref().filter(|key| everybody_reads(key)) {
        let key = key.display();
        exposures.push(format!("every user of this machine can read the private key {key}: run chmod 600 {key}"));
    }
    let has_tls = args.tls.tls_self_signed || args.tls.tls_cert.is_some();
    if args.dev && !has_tls && args.listen.ip().is_some_and(|ip| !ip.is_loopback()) {
        let risk = "API keys travel unencrypted where others may read them: use TLS or 127.0.0.1";
        exposures.push(format!("with --dev on {}, {risk}", args.listen));
    }
    exposures
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::config::{Cli, Command};

    fn serve_args(line: &str) -> Box<ServeArgs> {
        let Command::Serve(args) =
            Cli::parse_from(["reference", "serve"].into_iter().chain(line.split_whitespace())).command
        else {
            panic!("not serve")
        };
        args
    }

    #[test]
    fn development_keys_on_an_address_that_others_reach_are_warned_about_unless_encrypted() {
        for (line, count) in [
            ("--dev", 0),
            ("--dev --listen [::1]:80", 0),
            ("--listen 0.0.0.0:80", 0),
            ("--dev --listen 0.0.0.0:80", 1),
            ("--dev --listen 192.0.2.7:80", 1),
            ("--dev --listen 0.0.0.0:80 --tls-self-signed", 0),
            ("--dev --listen unix:/run/a.sock", 0),
        ] {
            assert_eq!(exposures(&serve_args(line)).len(), count, "{line}");
        }
    }
}
