//! The judge, with the reference server inside this process when no other is named: the program of `cargo xtask conform`.
//!
//! The reference shares a simulated clock with the judge. All requests go over HTTP as always, and no wait takes real time.

use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use animal_store_conform::{self as cli, Invocation};
use animal_store_conformance::Plan as JudgedPlan;
use animal_store_conformance::http::Clock;
use animal_store_reference::clock::{Clock as ServerClock, TimeSource};
use animal_store_reference::{Embedded, EmbeddedOptions, Limits, Plan};
use anyhow::Context;
use jiff::Timestamp;

/// Judges with the arguments of this program; the first one is the name of the command in messages.
fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    run(arguments).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        cli::ExitCode::CouldNotRun.into()
    })
}

fn run(arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let images = arguments.iter().skip(1).cloned().collect::<Vec<_>>();
    let invocation = match cli::parse(arguments) {
        Ok(invocation) => invocation,
        Err(code) => return Ok(code.into()),
    };
    if invocation.judges_an_image() {
        // Programs that start containers take as long to compile as all the rest, so only runs that need one compile it.
        let mut judge = xtask::cargo();
        judge.args(["run", "--quiet", "--package", "animal-store-containers", "--"]).args(images);
        // Paths among the arguments are those of the user.
        judge.current_dir(std::env::current_dir()?);
        return Ok(xtask::replace_process(&mut judge)?);
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
        // A Free key is exhausted with few requests, which shows the limits. Where no key is exhausted, a larger plan shows more.
        None if invocation.profile().exhausts() => "free".parse()?,
        None => "pro".parse()?,
    };
    let clock = Clock::stepping();
    let server = Embedded::start(EmbeddedOptions::new(plan(&judged), ServerClock::controlled(Shared(clock.clone()))))
        .await
        .context("the embedded reference server did not start")?;
    let code = invocation
        .with_target(cli::Embedded {
            base_url: server.base_url().to_owned(),
            api_key: server.api_key().to_owned(),
            plan: judged,
            implementation: ("animal-store-reference".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            clock,
        })
        .run()
        .await;
    server.shutdown().await;
    Ok(code.into())
}

/// The plan of the reference for that of the judge. The two products share no type on purpose.
fn plan(judged: &JudgedPlan) -> Plan {
    judged.plan_limits().map_or(Plan::Enterprise, |judged| {
        Plan::Custom(Limits { per_minute: judged.per_minute, per_day: judged.per_day })
    })
}

/// The clock of the judge as the clock of the server.
#[derive(Debug)]
struct Shared(Clock);

impl TimeSource for Shared {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.sleep(duration))
    }
}
