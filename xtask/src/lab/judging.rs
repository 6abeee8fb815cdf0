//! One run of the judge against a variation of the reference.

use std::path::PathBuf;
use std::time::Duration;

use animal_store_conformance::http::Clock;
use anyhow::Context;

use animal_store_conformance::{Event, Judge, Options, Report};
use animal_store_lab::Variation;
use animal_store_reference::address::Address;
use animal_store_reference::rate_limit::BanPolicy;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use animal_store_rules::trace::keys::ApiKey;
use jiff::SignedDuration;

/// The clock that the judge's own tests share with the servers that they judge.
#[path = "../../../conformance/tests/it/laboratory.rs"]
mod laboratory;

/// Late in a minute, so that a run sees one end early.
const START_AT: &str = "2026-06-01T12:00:45Z";

/// The settings of a run.
pub(super) struct Run {
    pub(super) plan: Plan,
    pub(super) seed: u64,
    /// Whether the judge gets a second key.
    pub(super) two_keys: bool,
    /// Whether each request and wait is printed.
    pub(super) verbose: bool,
    /// When the server's clock starts, instead of the time that the variation sets.
    pub(super) start_at: Option<String>,
    /// The file to which the trace is written.
    pub(super) record: Option<PathBuf>,
}

/// Judges a variation strictly. The inner error says why there is no verdict.
pub(super) async fn judge(run: &Run, mut variation: Variation) -> anyhow::Result<Result<Report, String>> {
    let clock = Clock::stepping();
    let start_at = run.start_at.as_deref().unwrap_or(variation.setting.start_at.unwrap_or(START_AT));
    variation.setting.ban.get_or_insert(BanPolicy { after: 0, seconds: 0 });
    let server_clock = laboratory::beside(&clock, start_at);
    // Thousands of runs would fill the connection table of a firewall.
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("socket");
    let listen = Address::Unix(socket.clone());
    let embedded = EmbeddedOptions { listen, ..EmbeddedOptions::new(run.plan, server_clock) };
    let server = Embedded::start_with(embedded, variation).await?;
    let mut options = Options::new(server.base_url(), server.api_key())?;
    options.transport.unix_socket = Some(socket);
    options.quota_key = if run.two_keys { Some(ApiKey::new(server.second_api_key())?) } else { None };
    options.plan = Some(run.plan.name().parse()?);
    options.strict = true;
    options.seed = run.seed;
    // A slow server with a ban takes long, but only on the simulated clock.
    options.max_duration = Duration::from_hours(1);
    let judge = Judge::new(options).clock(clock.clone());
    let begun = clock.now();
    let print = move |event: &Event| print(clock.now().duration_since(begun), event);
    let judge = if run.verbose { judge.listener(print) } else { judge };
    let outcome = judge.run_and_record().await;
    server.shutdown().await;
    let (report, trace) = match outcome {
        Ok(judged) => judged,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if let Some(file) = &run.record {
        std::fs::write(file, trace).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(Ok(report))
}

/// Prints an event of a run, and the time since its beginning.
fn print(elapsed: SignedDuration, event: &Event) {
    let at = elapsed.as_secs_f64();
    match event {
        Event::Probe(name) | Event::Aside(name) => println!("{name}"),
        Event::Exchange { number, method, target, answer, .. } => {
            println!("{at:8.2}  #{number} {method} {target}: {answer}");
        }
        Event::Waiting { time, reason } => println!("{at:8.2}  waits {:.1} s for {reason}", time.as_secs_f64()),
        _ => {}
    }
}
