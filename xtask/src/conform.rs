//! `cargo xtask conform`: the judge, with the reference server inside this process when no other is named.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use animal_store_conform::{self as cli, Invocation};
use animal_store_conformance::Plan as JudgedPlan;
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions, Limits, Plan};
use anyhow::Context;
use jiff::Timestamp;

use crate::cargo;

/// How long before the end of a minute the embedded server's clock starts, so that the key recovers after a short wait. The judge
/// goes by the server's `Date`, as with every server whose clock is off.
const BEFORE_THE_MINUTE: Duration = Duration::from_secs(8);

/// Runs the judge with the arguments that follow `conform` on the command line.
pub(crate) fn run(args: &[OsString]) -> anyhow::Result<ExitCode> {
    let line = std::iter::once(OsString::from("cargo xtask conform")).chain(args.iter().cloned());
    let invocation = match cli::parse(line) {
        Ok(invocation) => invocation,
        Err(code) => return Ok(code.into()),
    };
    if invocation.judges_an_image() {
        return judge_image(args);
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

/// Becomes the judge with the part that starts containers. That part takes as long to compile as all the rest, so it is only compiled
/// for runs that need it.
fn judge_image(args: &[OsString]) -> anyhow::Result<ExitCode> {
    let mut command = cargo::cargo();
    command.args(["run", "--quiet", "--package", "animal-store-conform", "--features", "containers"]);
    command.args(["--bin", "conform", "--"]).args(args);
    // Paths among the arguments are meant from where the user stands.
    command.current_dir(std::env::current_dir()?);
    cargo::replace_process(command)
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
    match (judged.name(), judged.plan_limits()) {
        ("free", _) => Plan::Free,
        ("pro", _) => Plan::Pro,
        ("business", _) => Plan::Business,
        (_, Some(plan_limits)) => {
            Plan::Custom(Limits { per_minute: plan_limits.per_minute, per_day: plan_limits.per_day })
        }
        (_, None) => Plan::Enterprise,
    }
}

/// The present time, moved late into its minute.
fn shortly_before_a_minute() -> anyhow::Result<Timestamp> {
    let now = Timestamp::now().as_second();
    let next_minute = now - now.rem_euclid(60) + 60;
    Timestamp::from_second(next_minute - BEFORE_THE_MINUTE.as_secs().cast_signed()).context("the clock is far off")
}
