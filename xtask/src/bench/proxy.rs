//! The row of the proxy: the rate of reads through it, against the same through a bare proxy. Each client sends its next request when it
//! has its answer, so the mean time of an answer is the inverse of the rate.

use std::sync::Arc;

use super::machine::Cores;
use super::rates::paths_of;
use super::rounds::{Rounds, Sample};
use super::server::Server;
use super::stats::Bound;
use super::table::Row;
use super::{READERS, Session};

/// How many animals are read.
const ANIMALS: u64 = 1_000;

/// GET by id through the proxy that judges, against the same through one that does nothing.
pub(crate) fn proxy_row(session: &Session) -> anyhow::Result<Row> {
    let reference = session.reference("proxied", Cores::Server)?;
    let ids = reference.fill(&session.runtime, ANIMALS)?;
    let script = Arc::new(reference.learn(&session.runtime, &paths_of(&ids))?);
    let address = reference.server.address().to_string();
    // The judge has a thread of its own, so both may use every core.
    let own = |arguments: &[&str]| {
        let mut command = session.machine.command(std::env::current_exe()?.as_os_str(), Cores::Two);
        command.args(arguments);
        Server::start(command)
    };
    let judging = own(&["conform", "proxy", "--to", &format!("http://{address}/v1")])?;
    let bare = own(&["bench-proxy", "--to", &address])?;
    let rounds = Rounds::measure(
        session,
        &mut [&mut |turn| session.read(&judging, &script, turn), &mut |turn| session.read(&bare, &script, turn)],
    )?;
    let mean = |side| {
        let rate = rounds.side(side, |sample: &Sample| sample.rate())?.median;
        Ok::<f64, anyhow::Error>(1_000_000.0 * READERS as f64 / rate)
    };
    let note = format!(
        "proxy: {READERS} clients waited {:.0} µs for an answer through the proxy, and {:.0} µs through the bare one; {}",
        mean(0)?,
        mean(1)?,
        rounds.others_note()
    );
    rounds.row(
        1,
        "GET through the judging proxy, against a bare hyper proxy".to_owned(),
        Bound::AtLeast(0.70),
        vec![note],
    )
}
