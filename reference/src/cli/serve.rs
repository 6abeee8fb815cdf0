//! `reference serve`: starts the server, prints its address, and waits for the signal to stop.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::outcome::{Failure, print};
use super::{logging, stopping};
use crate::api::app::{App, AppOptions, RequestLimits};
use crate::api::extension::{Extended, Extension, Started};
use crate::api::keys::given::{self, GivenKey};
use crate::api::keys::{self, ApiKey};
use crate::cli::config::ServeArgs;
use crate::domain::clock::Clock;
use crate::domain::plan::Plan;
use crate::domain::rate_limit::BanPolicy;
use crate::serve::address::Address;
use crate::serve::{LAST_SAVE, ServeOptions, Server, open_files, tls};
use crate::store::{KeyStore, Location, Store};

/// Serves until the process is asked to stop, with an extension. `program` is the name of the calling program, for messages.
///
/// # Errors
///
/// [`Failure`] when the server could not be started, or ended by itself.
pub fn serve(program: &'static str, args: &ServeArgs, extension: impl Extension) -> Result<(), Failure> {
    logging::start(args.log, args.log_format);
    // Signals are received from the start, so that an early one is not lost.
    let stopped = stopping::listen(program, args.grace + LAST_SAVE).map_err(Failure::cannot_start)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;
    runtime.block_on(run(args, extension, stopped))
}

async fn run(
    args: &ServeArgs,
    mut extension: impl Extension,
    stopped: oneshot::Receiver<&'static str>,
) -> Result<(), Failure> {
    // The limit of open files is checked before the database opens the first one, so that a lack of files is reported as such.
    let max_connections = possible_connections(args.max_connections)?;
    let given = given::parse(&args.keys).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut app_options = AppOptions {
        base_path: args.base_path.clone(),
        clock: Clock::from_start(args.now),
        ban: BanPolicy { after: args.ban_after, seconds: args.ban_seconds },
        limits: RequestLimits { request_timeout: args.request_timeout, ..RequestLimits::default() },
    };
    extension.set_up(&mut app_options);
    let location = Location::parse(&args.db);
    let store = Store::open(&location).map_err(Failure::cannot_start)?;
    let writer_ended = store.writer_ended();
    let app = Arc::new(App::new(store, app_options));
    let (tls, authority) = tls(args, &location, &app.store)?;
    let options = ServeOptions { max_connections, header_timeout: args.header_timeout, grace: args.grace };
    let server = Server::bind(&args.listen, Arc::clone(&app), tls, options)
        .map_err(|error| Failure::CannotStart(format!("cannot listen on {}: {error}", args.listen)))?;
    let base_url = server.base_url().map_err(Failure::cannot_start)?;
    // Keys are adopted only now, so that a start that fails changes none.
    let adopted = adopt_keys(&app.store, &given, &app.clock)?;
    let dev_keys = if args.dev { issue_dev_keys(&app.store, &app.clock)? } else { Vec::new() };
    let without_keys = !app.store.has_keys().map_err(Failure::cannot_start)?;
    let keys = dev_keys.iter().map(|(_, key)| key).chain(given.iter().map(|given| &given.key)).cloned().collect();
    let started = Started { app, keys, base_url: base_url.clone() };
    let Extended { layer, notice: extended } = extension.start(started).await.map_err(Failure::cannot_start)?;
    for exposure in exposures(args) {
        tracing::warn!("{exposure}");
    }

    let mut notice = String::new();
    if let Some(path) = &authority {
        notice += &format!("trust this authority: {}\n", path.display());
    }
    for (plan, key) in &dev_keys {
        let mut reach = authority.as_ref().map_or_else(String::new, |path| format!("--cacert {} ", path.display()));
        if let Address::Unix(path) = &args.listen {
            reach += &format!("--unix-socket {} ", path.display());
        }
        notice += &format!(
            "{plan:<10}  {0}\n  curl -i {reach}-H 'Authorization: Bearer {0}' {base_url}/pets\n",
            key.reveal()
        );
    }
    for (number, GivenKey { plan, .. }) in adopted.iter().zip(&given) {
        // The user knows the key, and this output may be the log of a continuous integration job.
        notice += &format!("{plan:<10}  key {number}, as given\n");
    }
    if without_keys {
        notice += &match &location {
            Location::File(path) => format!(
                "no key is in force yet; issue one: reference keys issue --db {} --plan free --name me\n",
                path.display()
            ),
            Location::Scratch => {
                "a temporary database has no keys: start with --dev to get some, or give some with --key\n".to_owned()
            }
        };
    }
    notice += &extended;
    if let Address::Unix(path) = &args.listen {
        notice += &format!("judge it with: conform --unix-socket {} --base-url {base_url}\n", path.display());
    }
    // This line is the last one, because scripts wait for it.
    notice += &match &args.listen {
        Address::Tcp(_) => format!("listening on {base_url}\n"),
        Address::Unix(path) => format!("listening on {base_url} at the Unix socket {}\n", path.display()),
    };
    print(&notice)?;
    tracing::info!(%base_url, "serving");

    let mut broken = false;
    server
        .run(layer, async {
            tokio::select! {
                // The thread that listens for signals lasts as long as the process.
                Ok(signal) = stopped => tracing::info!("stopping on {signal}"),
                () = writer_ended => broken = true,
            }
        })
        .await;
    if broken {
        // A server that cannot store anything is of no use; a service manager can start another.
        return Err(Failure::Failed("the thread that writes the database ended; see the log".to_owned()));
    }
    tracing::info!("stopped");
    Ok(())
}

/// The number of connections that the limit of open files allows, up to the number that is wanted. Fewer connections are better than
/// clients that are lost when the process has no file left for them.
fn possible_connections(wanted: usize) -> Result<usize, Failure> {
    let (possible, limit) = open_files::make_room(wanted);
    let limit = limit.map_or_else(|| "no".to_owned(), |limit| limit.to_string());
    if possible == 0 {
        return Err(Failure::CannotStart(format!(
            "the process may open {limit} files (ulimit -n), which leaves none for connections: raise it, for example \
             to {}",
            wanted + 64
        )));
    }
    if possible < wanted {
        tracing::warn!(
            "the process may open {limit} files (ulimit -n), too few for --max-connections {wanted}: it serves {possible} \
             connections at a time"
        );
    }
    Ok(possible)
}

/// Puts the given keys in force and returns their numbers.
fn adopt_keys(store: &Store, given: &[GivenKey], clock: &Clock) -> Result<Vec<i64>, Failure> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let key_store = KeyStore::open_for(store).map_err(Failure::cannot_start)?;
    let numbers = given.iter().map(|given| given::adopt(&key_store, given, clock.now()));
    numbers.collect::<Result<_, _>>().map_err(Failure::cannot_start)
}

fn issue_dev_keys(store: &Store, clock: &Clock) -> Result<Vec<(Plan, ApiKey)>, Failure> {
    let key_store = KeyStore::open_for(store).map_err(Failure::cannot_start)?;
    let plans = [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise];
    let issued =
        plans.into_iter().map(|plan| keys::issue(&key_store, "dev", plan, clock.now()).map(|(_, key)| (plan, key)));
    issued.collect::<Result<_, _>>().map_err(Failure::cannot_start)
}

/// Warnings about options that let other users or networks read secrets.
fn exposures(args: &ServeArgs) -> Vec<String> {
    let mut exposures = Vec::new();
    if let Some(key) = args.tls_key.as_ref().filter(|key| tls::is_world_readable(key)) {
        let key = key.display();
        exposures.push(format!("every user of this machine can read the private key {key}: run chmod 600 {key}"));
    }
    let with_tls = args.tls_self_signed || args.tls_cert.is_some();
    if args.dev && !with_tls && args.listen.ip().is_some_and(|ip| !ip.is_loopback()) {
        exposures.push(format!(
            "with --dev on {}, API keys travel unencrypted where others may read them: listen on 127.0.0.1 or use TLS",
            args.listen
        ));
    }
    exposures
}

/// The acceptor for TLS, if the options ask for TLS, and the path of the authority's certificate, if one was made.
fn tls(
    args: &ServeArgs,
    location: &Location,
    store: &Store,
) -> Result<(Option<TlsAcceptor>, Option<PathBuf>), Failure> {
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        return Ok((Some(tls::from_files(certificate, key).map_err(Failure::cannot_start)?), None));
    }
    if !args.tls_self_signed {
        return Ok((None, None));
    }
    // In a folder that other users can write, a link could stand in place of the file.
    let authority = match (location, store.scratch_folder()) {
        (Location::File(path), _) => path.with_extension("ca.pem"),
        (Location::Scratch, folder) => folder.unwrap_or(Path::new(".")).join("ca.pem"),
    };
    let acceptor = tls::self_signed(args.listen.ip(), &authority).map_err(Failure::cannot_start)?;
    Ok((Some(acceptor), Some(authority)))
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
