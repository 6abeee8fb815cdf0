//! `cargo xtask conform`: the judge, with the reference server inside this process when no other is named.

use std::ffi::OsString;
use std::process::ExitCode;

use animal_store_conform::{self as cli, Invocation};
use animal_store_conformance::Plan as JudgedPlan;
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions, Limits, Plan};
use anyhow::Context;
use jiff::{SignedDuration, Timestamp};

use crate::cargo;

/// How long before the end of a minute the embedded server's clock starts, so that the key recovers after a short wait. The judge
/// goes by the server's `Date`, as with every server whose clock is off.
const BEFORE_THE_MINUTE: SignedDuration = SignedDuration::from_secs(8);

/// Runs the judge, under this name, with these arguments.
pub(crate) fn run(name: &str, args: &[OsString]) -> anyhow::Result<ExitCode> {
    let line = std::iter::once(OsString::from(name)).chain(args.iter().cloned());
    let invocation = match cli::parse(line) {
        Ok(invocation) => invocation,
        Err(code) => return Ok(code.into()),
    };
    if invocation.judges_an_image() {
        // The part that starts containers takes as long to compile as all the rest, so it is only compiled for runs that need it.
        let judge = ["--package", "animal-store-conform", "--features", "containers", "--bin", "conform"];
        return cargo::become_program(&judge, args.iter().cloned());
    }
    let runtime = tokio::runtime::Runtime::new().context("no asynchronous runtime could be started")?;
    let code = runtime.block_on(async {
        if invocation.has_target() {
            Ok(invocation.run().await.into())
        } else {
            Box::pin(judge_embedded(invocation)).await
        }
    });
    // As in `conform`: do not wait for a connection that a hostile server keeps busy.
    runtime.shutdown_background();
    code
}

/// Judges the reference server in this process, over HTTP, with a throw-away database.
async fn judge_embedded(invocation: Invocation) -> anyhow::Result<ExitCode> {
    let judged: JudgedPlan = match invocation.plan() {
        Some(plan) => plan.clone(),
        // A Free key is exhausted quickly, which shows the limits. Where no key is exhausted, a larger plan avoids waiting.
        None if invocation.profile().exhausts() => "free".parse()?,
        None => "pro".parse()?,
    };
    let clock = Clock::starting_at(shortly_before_a_minute()?);
    let server = Embedded::start(EmbeddedOptions::new(plan(&judged), clock))
        .await
        .context("the embedded reference server did not start")?;
    let code = invocation
        .with_target(cli::Embedded {
            base_url: server.base_url().to_owned(),
            api_key: server.api_key().to_owned(),
            plan: judged,
            implementation: ("animal-store-reference".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        })
        .run()
        .await;
    server.shutdown().await;
    Ok(code.into())
}

/// The plan of the reference for that of the judge. The two products share no type on purpose.
fn plan(judged: &JudgedPlan) -> Plan {
    match (Plan::named(judged.name()), judged.plan_limits()) {
        (Some(Plan::Enterprise), Some(agreed)) => {
            Plan::Custom(Limits { per_minute: agreed.per_minute, per_day: agreed.per_day })
        }
        (plan, _) => plan.unwrap_or(Plan::Enterprise),
    }
}

/// The present time, moved late into its minute.
fn shortly_before_a_minute() -> anyhow::Result<Timestamp> {
    let next_minute = Timestamp::from_second(Timestamp::now().as_second() / 60 * 60 + 60);
    Ok(next_minute.context("the clock is far off")? - BEFORE_THE_MINUTE)
}
