//! `reference serve`: brings the server up, prints its address, and waits for the signal to stop.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::mock;
use super::outcome::{Failure, print};
use crate::address::Address;
use crate::app::{App, AppOptions, RequestLimits};
use crate::clock::Clock;
use crate::config::ServeArgs;
use crate::keys::given::{self, GivenKey};
use crate::keys::{self, ApiKey};
use crate::lab::Lab;
use crate::lab::vector::Vector;
use crate::logging;
use crate::mock::animals::Animals;
use crate::mock::control::{Control, Parts};
use crate::plan::Plan;
use crate::rate_limit::BanPolicy;
use crate::serve::files::{self, Capacity};
use crate::serve::{ServeOptions, Server, stopping, tls};
use crate::store::{Catalogue, KeyStore, Location, Store};

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let _log = logging::start(args.log, args.log_format).map_err(Failure::cannot_start)?;
    // Listened for from the start, so that a stop that comes early is not lost.
    let stopped = stopping::listen(args.grace).map_err(Failure::cannot_start)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;
    runtime.block_on(serve(args, stopped))
}

async fn serve(args: &ServeArgs, stopped: oneshot::Receiver<&'static str>) -> Result<(), Failure> {
    // Before the first file of the database is opened, so that a lack of files is reported as what it is.
    let max_connections = possible_connections(args.max_connections)?;
    let vector = Vector::new(&args.lab.wish()).map_err(|error| Failure::Usage(error.to_string()))?;
    let given = given::parse(&args.mock.keys).map_err(|error| Failure::Usage(error.to_string()))?;
    let control_listener = mock::listen(&args.mock).await?;
    let animals = args.mock.animals.as_ref().map(Animals::read).transpose().map_err(Failure::cannot_start)?;
    let variation = vector.variation();
    let setting = variation.setting.clone();
    // The time that was asked for holds.
    let start = args.now.or_else(|| setting.start_at.and_then(|time| time.parse().ok()));
    let (clock, test_clock) = mock::clock(&args.mock, start);
    let location = Location::parse(&args.db.db);
    let store = Store::open(&location, args.write_queue).map_err(Failure::cannot_start)?;
    let writer_ended = store.writer_ended();
    let stocked = match animals {
        Some(animals) => Some(mock::stock(&store, animals).await.map_err(Failure::cannot_start)?),
        None => None,
    };
    let adopted = mock::adopt_keys(&store, &given, &clock)?;
    let dev_keys = if args.dev { issue_dev_keys(&store, &clock)? } else { Vec::new() };
    let app = App::new(
        store,
        AppOptions {
            base_path: setting.base_path.unwrap_or(&args.base_path).to_owned(),
            clock,
            ban: setting.ban.unwrap_or(BanPolicy { after: args.ban_after, seconds: args.ban_seconds }),
            limits: RequestLimits { max_body: args.max_body, request_timeout: args.request_timeout },
        },
    )
    .map_err(Failure::cannot_start)?;
    let without_keys = app.keys().is_empty();
    let app = Arc::new(if test_clock.is_some() { app.changing() } else { app });
    let catalogue = match &test_clock {
        // What the laboratory adds to it, it adds again after a reset.
        Some(_) => app.store().catalogue().map_err(Failure::cannot_start)?,
        None => Catalogue::default(),
    };
    let lab = if vector.is_plain() {
        None
    } else {
        let lab = Lab::start(Arc::clone(&app), variation).await.map_err(Failure::cannot_start)?;
        lab.introduce(dev_keys.iter().map(|(_, key)| key).chain(given.iter().map(|given| &given.key)));
        Some(Arc::new(lab))
    };
    let (tls, authority) = tls(args, &location)?;
    let options = ServeOptions { max_connections, ..options(args) };
    let server = Server::bind(&args.listen, Arc::clone(&app), lab.clone(), tls, options)
        .map_err(|error| Failure::CannotStart(format!("cannot listen on {}: {error}", args.listen)))?;
    let base_url = server.base_url().map_err(Failure::cannot_start)?;
    let mut mock = mock::around(&args.mock, args.lab.lawful);
    mock.control = test_clock.map(|clock| {
        let (delay, base_url) = (mock.delay.clone(), base_url.clone());
        Arc::new(Control::new(Parts { app, lab, clock, delay, start: catalogue, base_url }))
    });
    let control = control_listener.zip(mock.control.clone());
    let control = control.map(|(listener, control)| mock::Controlled::start(listener, control)).transpose()?;
    let server = server.with_mock(mock);
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
        // The key itself is known to whoever gave it, and this may be the log of a continuous integration job.
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
    notice += stocked.as_deref().unwrap_or_default();
    notice += &vector.to_string();
    if let Some(control) = &control {
        notice += &format!("control on http://{}\n", control.address);
    }
    if let Address::Unix(path) = &args.listen {
        notice += &format!("judge it with: conform --unix-socket {} --base-url {base_url}\n", path.display());
    }
    // Last, because scripts wait for it.
    notice += &match &args.listen {
        Address::Tcp(_) => format!("listening on {base_url}\n"),
        Address::Unix(path) => format!("listening on {base_url} at the Unix socket {}\n", path.display()),
    };
    print(&notice)?;
    tracing::info!(%base_url, "serving");

    let mut broken = false;
    server
        .run(async {
            tokio::select! {
                // The thread that listens for signals lasts as long as the process.
                Ok(signal) = stopped => tracing::info!("stopping on {signal}"),
                () = writer_ended => broken = true,
            }
        })
        .await;
    drop(control);
    if let (Location::Scratch, Some(path)) = (&location, &authority) {
        // It was for this run only; it may have been removed already.
        let _ = std::fs::remove_file(path);
    }
    if broken {
        // A server that cannot store anything is of no use; a service manager can start another.
        return Err(Failure::Failed("the thread that writes the database ended; see the log".to_owned()));
    }
    tracing::info!("stopped");
    Ok(())
}

fn options(args: &ServeArgs) -> ServeOptions {
    ServeOptions {
        max_connections: args.max_connections,
        max_connections_per_address: args.max_connections_per_address,
        header_timeout: args.header_timeout,
        idle_timeout: args.idle_timeout,
        send_timeout: args.send_timeout,
        grace: args.grace,
    }
}

/// How many connections there can be of those that are wanted: better fewer than wanted than clients who are lost
/// when the process has no file left for them.
fn possible_connections(wanted: usize) -> Result<usize, Failure> {
    match files::make_room(wanted) {
        Capacity::Enough => Ok(wanted),
        Capacity::Fewer { connections, limit } => {
            tracing::warn!(
                "the process may open {limit} files (ulimit -n), too few for --max-connections {wanted}: it serves \
                 {connections} connections at a time"
            );
            Ok(connections)
        }
        Capacity::None { limit } => Err(Failure::CannotStart(format!(
            "the process may open {limit} files (ulimit -n), which leaves none for connections: raise it, for example \
             to {}",
            wanted + 64
        ))),
    }
}

fn issue_dev_keys(store: &Store, clock: &Clock) -> Result<Vec<(Plan, ApiKey)>, Failure> {
    let key_store = KeyStore::open_for(store).map_err(Failure::cannot_start)?;
    let plans = [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise];
    let issue = |plan| keys::issue(&key_store, "dev", plan, clock.now()).map(|(_, key)| (plan, key));
    plans.into_iter().map(issue).collect::<Result<_, _>>().map_err(Failure::cannot_start)
}

/// What the options allow to others, and hardly anybody means to.
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
    if let Some(address) = mock::exposed(&args.mock) {
        exposures.push(format!(
            "with --control on {address}, whoever reaches it reads requests and replaces animals without a key: only tests \
             may reach it"
        ));
    }
    exposures
}

/// How to speak TLS, if at all, and the certificate of the authority that was made for it.
fn tls(args: &ServeArgs, location: &Location) -> Result<(Option<TlsAcceptor>, Option<PathBuf>), Failure> {
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        return Ok((Some(tls::from_files(certificate, key).map_err(Failure::cannot_start)?), None));
    }
    if !args.tls_self_signed {
        return Ok((None, None));
    }
    let authority = match location {
        Location::File(path) => path.with_extension("ca.pem"),
        Location::Scratch => std::env::temp_dir().join(format!("animal-store-{}.ca.pem", std::process::id())),
    };
    let acceptor = tls::self_signed(args.listen.ip(), &authority).map_err(Failure::cannot_start)?;
    Ok((Some(acceptor), Some(authority)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Cli, Command};

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
            ("--control 9090", 0),
            ("--control [::1]:9090", 0),
            ("--control 0.0.0.0:9090", 1),
        ] {
            assert_eq!(exposures(&serve_args(line)).len(), count, "{line}");
        }
    }

    #[test]
    fn what_the_command_line_says_reaches_the_server() {
        let line = "--max-connections 3 --max-connections-per-address 2 --header-timeout 4 --idle-timeout 5 --send-timeout 6 --grace 7";
        let options = options(&serve_args(line));
        assert_eq!((options.max_connections, options.max_connections_per_address), (3, 2));
        let times = [options.header_timeout, options.idle_timeout, options.send_timeout, options.grace];
        assert_eq!(times.map(|time| time.as_secs()), [4, 5, 6, 7]);
    }
}
