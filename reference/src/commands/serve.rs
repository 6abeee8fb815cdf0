//! `reference serve`: brings the server up, prints its address, and waits for the signal to stop.

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use super::outcome::{Failure, print};
use crate::app::{App, AppOptions, RequestLimits};
use crate::clock::Clock;
use crate::config::ServeArgs;
use crate::keys::{self, ApiKey};
use crate::logging;
use crate::plan::Plan;
use crate::rate_limit::BanPolicy;
use crate::serve::{ServeOptions, Server, tls};
use crate::store::{KeyStore, Location, Store};

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let _log = logging::start(args.log, args.log_format).map_err(Failure::cannot_start)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;
    runtime.block_on(serve(args))
}

async fn serve(args: &ServeArgs) -> Result<(), Failure> {
    // Listened for from the start, so that a stop that comes early is not lost.
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::cannot_start)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::cannot_start)?;

    let clock = Clock::from_start(args.now);
    let location = Location::parse(&args.db.db);
    let store = Store::open(&location, args.write_queue).map_err(Failure::cannot_start)?;
    let writer_ended = store.writer_ended();
    let dev_keys = if args.dev { issue_dev_keys(&store, &clock)? } else { Vec::new() };
    let app = App::new(
        store,
        AppOptions {
            base_path: args.base_path.clone(),
            clock,
            ban: BanPolicy { after: args.ban_after, seconds: args.ban_seconds },
            limits: RequestLimits { max_body: args.max_body, request_timeout: args.request_timeout },
        },
    )
    .map_err(Failure::cannot_start)?;
    let without_keys = app.keys().is_empty();
    let (tls, authority) = tls(args, &location)?;
    let server = Server::bind(args.listen, app, tls, options(args))
        .map_err(|error| Failure::CannotStart(format!("cannot listen on {}: {error}", args.listen)))?;
    let base_url = server.base_url().map_err(Failure::cannot_start)?;

    let mut notice = String::new();
    if let Some(path) = &authority {
        notice += &format!("trust this authority: {}\n", path.display());
    }
    for (plan, key) in &dev_keys {
        let trust = authority.as_ref().map_or_else(String::new, |path| format!("--cacert {} ", path.display()));
        notice += &format!(
            "{plan:<10}  {0}\n  curl -i {trust}-H 'Authorization: Bearer {0}' {base_url}/pets\n",
            key.reveal()
        );
    }
    if without_keys {
        notice += &match &location {
            Location::File(path) => format!(
                "no key is in force yet; issue one: reference keys issue --db {} --plan free --name me\n",
                path.display()
            ),
            Location::Scratch => "a temporary database has no keys: start with --dev to get some\n".to_owned(),
        };
    }
    // Last, because scripts wait for it.
    notice += &format!("listening on {base_url}\n");
    print(&notice)?;
    tracing::info!(%base_url, "serving");

    let mut broken = false;
    server
        .run(async {
            tokio::select! {
                _ = terminate.recv() => tracing::info!("stopping on SIGTERM"),
                _ = interrupt.recv() => tracing::info!("stopping on Ctrl-C"),
                () = writer_ended => broken = true,
            }
        })
        .await;
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
        header_timeout: args.header_timeout,
        idle_timeout: args.idle_timeout,
        send_timeout: args.send_timeout,
        grace: args.grace,
    }
}

fn issue_dev_keys(store: &Store, clock: &Clock) -> Result<Vec<(Plan, ApiKey)>, Failure> {
    let key_store = KeyStore::beside(store).map_err(Failure::cannot_start)?;
    let plans = [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise];
    let issue = |plan| keys::issue(&key_store, "dev", plan, clock.now()).map(|(_, key)| (plan, key));
    plans.into_iter().map(issue).collect::<Result<_, _>>().map_err(Failure::cannot_start)
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

    #[test]
    fn what_the_command_line_says_reaches_the_server() {
        let line = "reference serve --max-connections 3 --header-timeout 4 --idle-timeout 5 --send-timeout 6 --grace 7";
        let Command::Serve(args) = Cli::parse_from(line.split(' ')).command else { panic!("not serve") };
        let options = options(&args);
        assert_eq!(options.max_connections, 3);
        let times = [options.header_timeout, options.idle_timeout, options.send_timeout, options.grace];
        assert_eq!(times.map(|time| time.as_secs()), [4, 5, 6, 7]);
    }
}
