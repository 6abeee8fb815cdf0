//! The rows that compare rates: reads against a bare server, a long list against a short one, creates against the disk.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, ensure};

use super::Session;
use super::disk::{self, Place};
use super::load::{self, Extent, Script};
use super::machine::Busy;
use super::reference::{self, PETS, Reference, WRITERS};
use super::server::Server;
use super::stats::{Bound, Summary, percentile};
use super::table::{Row, Unit};

/// How many clients read at once.
const READERS: usize = 32;
/// The size of the short catalogue.
const FEW: u64 = 1_000;
/// How many animals of the long catalogue are read by id.
const READ_OF_MANY: usize = 100_000;
/// Above this share of its core, the load generator is what limits a rate.
const SATURATED: f64 = 0.97;

/// The two catalogues that the reads are measured on.
pub(crate) struct Catalogues {
    few: Reference,
    few_ids: Vec<i64>,
    many: Reference,
    many_ids: Vec<i64>,
}

impl Catalogues {
    /// Starts a server for each and fills both through the API.
    pub(crate) fn prepare(session: &Session, animals: u64) -> anyhow::Result<Catalogues> {
        let few = session.reference("few")?;
        let few_ids = few.fill(&session.runtime, FEW)?;
        let many = session.reference("many")?;
        eprintln!("creating {animals} animals through the API …");
        let many_ids = many.fill(&session.runtime, animals)?;
        Ok(Catalogues { few, few_ids, many, many_ids })
    }

    /// GET by id, of a thousand animals and of all, against a bare server that answers with the same bytes.
    pub(crate) fn read_rows(&self, session: &Session) -> anyhow::Result<Vec<Row>> {
        let few = self.few.learn(&session.runtime, &paths_of(&self.few_ids))?;
        let stride = (self.many_ids.len() / READ_OF_MANY).max(1);
        let sample: Vec<i64> = self.many_ids.iter().copied().step_by(stride).collect();
        let sample = scattered(&sample);
        let many = self.many.learn(&session.runtime, &paths_of(&sample))?;

        let bare = BareServer::like(session, &self.few, &few)?;
        let of_few = bare.compare(session, &self.few, few)?;
        let of_many = bare.compare(session, &self.many, many)?;
        let of_what = format!("{} animals of {}", sample.len(), self.many_ids.len());
        Ok(vec![
            of_few.row(format!("GET {PETS}/{{id}}, {FEW} animals, against bare axum"), Bound::AtLeast(0.80))?,
            of_many.row(format!("GET {PETS}/{{id}}, {of_what}, against bare axum"), Bound::None)?,
        ])
    }

    /// The filtered list of twenty from the long catalogue, against the same from the short one.
    pub(crate) fn list_row(&self, session: &Session) -> anyhow::Result<Row> {
        let path = |status| format!("{PETS}?status={status}&limit=20");
        let paths: Vec<String> = reference::STATUSES.into_iter().map(path).collect();
        let many = Arc::new(checked_lists(self.many.learn(&session.runtime, &paths)?)?);
        let few = Arc::new(checked_lists(self.few.learn(&session.runtime, &paths)?)?);
        let rounds =
            session.interleave(|| session.read(&self.many.server, &many), || session.read(&self.few.server, &few))?;
        let what =
            format!("GET {PETS}?status=…&limit=20 of {} animals, against the same of {FEW}", self.many_ids.len());
        Measured { rounds, notes: Vec::new() }.row(what, Bound::AtLeast(0.90))
    }
}

/// Creates that are durable before they are acknowledged, against single writes that are.
pub(crate) fn create_rows(session: &Session) -> anyhow::Result<Vec<Row>> {
    let subject = session.reference("creates")?;
    let script = subject.create_script();
    let extent = Extent { connections: WRITERS, requests: u64::MAX, duration: session.round };
    let (mut ids, mut answers, mut latencies) = (HashSet::<i64>::new(), 0, Vec::new());
    let disk = |place| disk::serial_sync_rate(session.folder.path(), place, session.round);
    let mut within = Vec::new();
    let rounds = session.interleave(
        || {
            let outcome = session.runtime.block_on(load::send(subject.server.address(), &script, extent))?;
            answers += outcome.answers;
            ids.extend(&outcome.ids);
            latencies.extend_from_slice(&outcome.latencies);
            Ok(outcome.rate())
        },
        || {
            within.push(disk(Place::Within)?);
            disk(Place::End)
        },
    )?;
    ensure!(ids.len() as u64 == answers, "{answers} animals were created, but with {} different ids", ids.len());
    latencies.sort_unstable();
    let milliseconds = |part| f64::from(percentile(&latencies, part)) / 1000.0;
    let notes = vec![format!(
        "creates: half were durable and answered within {:.1} ms, 99 of 100 within {:.1} ms; the yardsticks write 4 KiB \
         and call fdatasync, one at a time, on the disk of the database",
        milliseconds(0.5),
        milliseconds(0.99)
    )];
    // The first yardstick of `within` belongs to the round that warms up.
    let rounds_within = rounds.iter().zip(&within[1..]).map(|(round, &within)| (round.0, within)).collect();
    let what = format!("POST {PETS}, {WRITERS} clients, against serial");
    Ok(vec![
        Measured { rounds, notes }.row(format!("{what} append + fdatasync"), Bound::AtLeast(5.0))?,
        Measured { rounds: rounds_within, notes: Vec::new() }
            .row(format!("{what} overwrite in place + fdatasync"), Bound::None)?,
    ])
}

/// The yardstick of reads, as a process of its own.
struct BareServer(Server);

impl BareServer {
    /// Starts a bare server that answers with the body and the headers of an answer of `reference`.
    fn like(session: &Session, reference: &Reference, script: &Script) -> anyhow::Result<BareServer> {
        let request = script.requests.first().context("nothing to read")?;
        let answer = session.runtime.block_on(load::once(reference.server.address(), request))?;
        let mut command = session.machine.server_command(std::env::current_exe()?.as_os_str());
        command.args(["bench-bare", "--path", &format!("{PETS}/{{id}}"), "--body"]);
        command.arg(String::from_utf8(answer.body)?);
        for (name, value) in &answer.headers {
            // The HTTP library writes these two by itself, in both servers.
            if name != "date" && name != "content-length" {
                command.arg("--header").arg(format!("{name}: {value}"));
            }
        }
        Ok(BareServer(Server::start(command)?))
    }

    /// Runs `script` on `reference`, and the same requests on the bare server.
    fn compare(&self, session: &Session, reference: &Reference, script: Script) -> anyhow::Result<Measured> {
        let request = script.requests.first().context("nothing to read")?;
        let answer = session.runtime.block_on(load::once(self.0.address(), request))?;
        let constant = Arc::new(Script {
            expect: load::Expect::Bodies(vec![answer.body; script.requests.len()]),
            requests: script.requests.clone(),
        });
        let script = Arc::new(script);
        let own = std::process::id();
        let (mut busy_server, mut busy_load) = (Vec::new(), Vec::new());
        let rounds = session.interleave(
            || {
                let busy = Busy::start(reference.server.process());
                let rate = session.read(&reference.server, &script)?;
                busy_server.extend(busy.share());
                Ok(rate)
            },
            || {
                let busy = Busy::start(own);
                let rate = session.read(&self.0, &constant)?;
                busy_load.extend(busy.share());
                Ok(rate)
            },
        )?;
        let mut notes = Vec::new();
        if let (Some(server), Some(load)) = (Summary::of(&busy_server), Summary::of(&busy_load)) {
            let limit = if load.median > SATURATED { ": the load generator limits the yardstick's rate" } else { "" };
            notes.push(format!(
                "GET {PETS}/{{id}}: the server kept its core {:.0} % busy; the load generator its own {:.0} % on the \
                 faster bare server{limit}",
                server.median * 100.0,
                load.median * 100.0
            ));
        }
        Ok(Measured { rounds, notes })
    }
}

/// The rounds of a comparison: each a rate of the subject and one of its yardstick.
struct Measured {
    rounds: Vec<(f64, f64)>,
    notes: Vec<String>,
}

impl Measured {
    fn row(self, what: String, bound: Bound) -> anyhow::Result<Row> {
        let side = |pick: fn(&(f64, f64)) -> f64| Summary::of(&self.rounds.iter().map(pick).collect::<Vec<f64>>());
        let subject = side(|round| round.0).context("no round was measured")?;
        let yardstick = side(|round| round.1).context("no round was measured")?;
        let figure = Summary::of_ratios(&self.rounds).context("no round was measured")?;
        Ok(Row { what, measured: Some((subject, yardstick)), figure, unit: Unit::Ratio, bound, notes: self.notes })
    }
}

impl Session {
    /// Answers a second that `server` gives the readers.
    fn read(&self, server: &Server, script: &Arc<Script>) -> anyhow::Result<f64> {
        let extent = Extent { connections: READERS, requests: u64::MAX, duration: self.round };
        Ok(self.runtime.block_on(load::send(server.address(), script, extent))?.rate())
    }
}

fn paths_of(ids: &[i64]) -> Vec<String> {
    ids.iter().map(|id| format!("{PETS}/{id}")).collect()
}

/// The same ids, so that neighbours in the sequence are not neighbours in the database.
fn scattered(ids: &[i64]) -> Vec<i64> {
    // A prime larger than any catalogue measured here: its multiples reach every place once.
    const STEP: usize = 15_485_863;
    (0..ids.len()).map(|place| ids[place * STEP % ids.len()]).collect()
}

/// The lists as they were learnt, when each is what was asked for: twenty animals, no other status.
fn checked_lists(script: Script) -> anyhow::Result<Script> {
    let load::Expect::Bodies(bodies) = &script.expect else { return Ok(script) };
    for (body, status) in bodies.iter().zip(reference::STATUSES) {
        let animals: Vec<serde_json::Value> = serde_json::from_slice(body).context("a list is no JSON array")?;
        let right = animals.iter().filter(|animal| animal["status"] == status).count();
        ensure!(animals.len() == 20 && right == 20, "of 20 {status} animals, {right} came ({} in all)", animals.len());
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_keeps_every_id() {
        for count in [1_usize, 2, 1_000, 1_024] {
            let ids: Vec<i64> = (0..count as i64).collect();
            let mut after = scattered(&ids);
            after.sort_unstable();
            assert_eq!(after, ids);
        }
    }
}
