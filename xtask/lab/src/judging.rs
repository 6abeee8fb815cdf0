//! One run of the judge against a variation of the reference.

use std::time::Duration;

use animal_store_conformance::http::Clock;
use animal_store_conformance::{self as conformance, Event, Judge, Report};
use animal_store_lab::Variation;
use animal_store_reference::Address;
use animal_store_reference::rate_limit::BanPolicy;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use animal_store_rules::trace::keys::ApiKey;
use anyhow::Context;
use jiff::SignedDuration;

use super::Options;

/// The clock that the judge's own tests share with the servers that they judge.
#[path = "../../../conformance/tests/it/laboratory.rs"]
mod laboratory;

/// Late in a minute, so that a run sees one end early.
const START_AT: &str = "2026-06-01T12:00:45Z";

impl Options {
    /// Judges a variation strictly, by a seed of the judge and with a key of this plan; the name of the trace file begins with `name`.
    /// The inner error says why there is no verdict.
    pub(super) async fn judge(
        &self,
        plan: Plan,
        seed: u64,
        name: &str,
        mut variation: Variation,
    ) -> anyhow::Result<Result<Report, String>> {
        let clock = Clock::stepping();
        let chosen = self.start_at.map(|start| start.time(seed));
        let start_at = chosen.as_deref().or(variation.setting.start_at).unwrap_or(START_AT);
        variation.setting.ban.get_or_insert(BanPolicy { after: 0, seconds: 0 });
        let server_clock = laboratory::beside(&clock, start_at);
        // Thousands of runs would fill the connection table of a firewall.
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("socket");
        let listen = Address::Unix(socket.clone());
        let embedded = EmbeddedOptions { listen, ..EmbeddedOptions::new(plan, server_clock) };
        let server = Embedded::start_with(embedded, variation).await?;
        let mut options = conformance::Options::new(server.base_url(), server.api_key())?;
        options.transport.unix_socket = Some(socket);
        options.quota_key = if self.two_keys { Some(ApiKey::new(server.second_api_key())?) } else { None };
        options.judging.plan = Some(plan.name().parse()?);
        options.judging.strict = true;
        options.seed = seed;
        // A slow server with a ban takes long, but only on the simulated clock.
        options.budget.max_duration = Duration::from_hours(1);
        let judge = Judge::new(options).clock(clock.clone());
        let begun = clock.now();
        let print = move |event: &Event| print(clock.now().duration_since(begun), event);
        let judge = if self.verbose { judge.listener(print) } else { judge };
        let outcome = judge.run_and_record().await;
        server.shutdown().await;
        if let (Some(folder), Ok((_, trace))) = (&self.record, &outcome) {
            let file = folder.join(format!("{name}-{seed}.jsonl"));
            std::fs::write(&file, trace).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(outcome.map(|(report, _)| report).map_err(|error| error.to_string()))
    }
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
