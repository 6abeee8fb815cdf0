//! The rows that compare rates: reads against a bare server, a long list against a short one, creates against the disk.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::disk::{self, Place};
use super::load::{self, Extent, Outcome, Script};
use super::machine::{Cores, Work};
use super::reference::{self, PETS, Reference, WRITERS};
use super::rounds::{Rounds, Sample};
use super::server::Server;
use super::stats::{Bound, percentile};
use super::table::Row;
use super::{READERS, Session};

/// The size of the short catalogue.
const FEW: u64 = 1_000;
/// How many animals of the long catalogue are read by id.
const READ_OF_MANY: usize = 100_000;
/// Above this percentage of its core, the load generator is what limits a rate.
const SATURATED: f64 = 97.0;

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
        let few = session.reference("few", Cores::Server)?;
        let few_ids = few.fill(&session.runtime, FEW)?;
        let many = session.reference("many", Cores::Server)?;
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
        let note =
            |which: &str, rounds: &Rounds| Ok::<_, anyhow::Error>(vec![format!("{which}: {}", rounds.work_note()?)]);
        Ok(vec![
            of_few.row(
                1,
                format!("GET {PETS}/{{id}}, {FEW} animals, against bare axum"),
                Bound::AtLeast(0.65),
                note("read", &of_few)?,
            )?,
            of_many.row(
                1,
                format!("GET {PETS}/{{id}}, {} animals of {}, the same", sample.len(), self.many_ids.len()),
                Bound::AtLeast(0.60),
                note("read of many", &of_many)?,
            )?,
        ])
    }

    /// The filtered list of twenty from the long catalogue, against the same from the short one.
    pub(crate) fn list_row(&self, session: &Session) -> anyhow::Result<Row> {
        let path = |status| format!("{PETS}?status={status}&limit=20");
        let paths: Vec<String> = reference::STATUSES.into_iter().map(path).collect();
        let many = Arc::new(checked_lists(self.many.learn(&session.runtime, &paths)?)?);
        let few = Arc::new(checked_lists(self.few.learn(&session.runtime, &paths)?)?);
        let rounds = Rounds::measure(
            session,
            &mut [&mut |turn| session.read(&self.many.server, &many, turn), &mut |turn| {
                session.read(&self.few.server, &few, turn)
            }],
        )?;
        let what =
            format!("GET {PETS}?status=…&limit=20 of {} animals, against the same of {FEW}", self.many_ids.len());
        let notes = vec![format!("list: {}", rounds.work_note()?)];
        rounds.row(1, what, Bound::AtLeast(0.90), notes)
    }
}

/// Creates that are durable before they are acknowledged, against single writes that are.
pub(crate) fn create_rows(session: &Session) -> anyhow::Result<Vec<Row>> {
    let subject = session.reference("creates", Cores::All)?;
    let script = subject.create_script();
    let (mut ids, mut answers, mut latencies) = (HashSet::<i64>::new(), 0, Vec::new());
    let folder = session.folder.path();
    let rounds = Rounds::measure(
        session,
        &mut [
            &mut |turn| {
                let extent = Extent { connections: WRITERS, requests: u64::MAX, duration: turn };
                let (outcome, sample) = session.send(&subject.server, &script, extent)?;
                answers += outcome.answers;
                ids.extend(&outcome.ids);
                latencies.extend_from_slice(&outcome.latencies);
                Ok(sample)
            },
            &mut |turn| disk::serial_syncs(folder, Place::End, turn),
            &mut |turn| disk::serial_syncs(folder, Place::Within, turn),
        ],
    )?;
    ensure!(ids.len() as u64 == answers, "{answers} animals were created, but with {} different ids", ids.len());
    latencies.sort_unstable();
    let milliseconds = |part| f64::from(percentile(&latencies, part)) / 1000.0;
    let notes = vec![format!(
        "create: half were durable and answered within {:.1} ms, 99 of 100 within {:.1} ms; the server, bound to no core, used {:.0} % of \
         a core; {}; the yardsticks write 4 KiB and call fdatasync, one at a time, on the disk of the database",
        milliseconds(0.5),
        milliseconds(0.99),
        rounds.side(0, Sample::server_share)?.median * 100.0,
        rounds.others_note()
    )];
    let what = format!("POST {PETS}, {WRITERS} clients, against serial");
    Ok(vec![
        rounds.row(1, format!("{what} append + fdatasync"), Bound::AtLeast(5.0), notes)?,
        rounds.row(2, format!("{what} overwrite in place + fdatasync"), Bound::None, Vec::new())?,
    ])
}

/// The yardstick of reads, as a process of its own.
struct BareServer(Server);

impl BareServer {
    /// Starts a bare server that answers with the body and the headers of an answer of `reference`.
    fn like(session: &Session, reference: &Reference, script: &Script) -> anyhow::Result<BareServer> {
        let request = script.requests.first().context("nothing to read")?;
        let answer = session.runtime.block_on(load::once(reference.server.address(), request))?;
        let mut command = session.machine.command(std::env::current_exe()?.as_os_str(), Cores::Server);
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
    fn compare(&self, session: &Session, reference: &Reference, script: Script) -> anyhow::Result<Rounds> {
        let request = script.requests.first().context("nothing to read")?;
        let answer = session.runtime.block_on(load::once(self.0.address(), request))?;
        let constant = Arc::new(Script {
            expect: load::Expect::Bodies(vec![answer.body; script.requests.len()]),
            requests: script.requests.clone(),
        });
        let script = Arc::new(script);
        Rounds::measure(
            session,
            &mut [&mut |turn| session.read(&reference.server, &script, turn), &mut |turn| {
                session.read(&self.0, &constant, turn)
            }],
        )
    }
}

impl Rounds {
    /// How hard both servers and the load generator worked, and the ratio without the time in which other programs had
    /// the server's core.
    fn work_note(&self) -> anyhow::Result<String> {
        let percent = |side, pick| Ok::<f64, anyhow::Error>(self.side(side, pick)?.median * 100.0);
        let load = percent(1, Sample::load_share)?;
        let limit = if load > SATURATED { ", which limits that rate" } else { "" };
        Ok(format!(
            "the server used {:.0} % of its core and the yardstick {:.0} %; the load generator used {load:.0} % of its own \
             on the yardstick{limit}; for each second of a server's own work the ratio is {}; {}",
            percent(0, Sample::server_share)?,
            percent(1, Sample::server_share)?,
            self.ratio(1, Sample::rate_at_work)?.show(|ratio| format!("{ratio:.2}")),
            self.others_note()
        ))
    }
}

impl Session {
    /// Lets the readers loose on `server`.
    pub(super) fn read(&self, server: &Server, script: &Arc<Script>, turn: Duration) -> anyhow::Result<Sample> {
        let extent = Extent { connections: READERS, requests: u64::MAX, duration: turn };
        Ok(self.send(server, script, extent)?.1)
    }

    /// Sends the script, and meters what it costs both processes.
    fn send(&self, server: &Server, script: &Arc<Script>, extent: Extent) -> anyhow::Result<(Outcome, Sample)> {
        let (subject, own) = (Work::start(server.process()), Work::start(std::process::id()));
        let outcome = self.runtime.block_on(load::send(server.address(), script, extent))?;
        let sample =
            Sample { count: outcome.answers, elapsed: outcome.elapsed, server: subject.so_far(), load: own.so_far() };
        Ok((outcome, sample))
    }
}

/// Where these animals are.
pub(super) fn paths_of(ids: &[i64]) -> Vec<String> {
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
