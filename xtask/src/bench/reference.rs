//! The reference as its users run it: the release binary, a database file, a key.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::runtime::Runtime;

use super::load::{self, Expect, Extent, Script};
use super::message;
use super::server::Server;

/// Where the operations are.
pub(crate) const PETS: &str = "/v1/pets";
/// One third of the animals has each status.
pub(crate) const STATUSES: [&str; 3] = ["available", "pending", "sold"];
/// How many clients create at once.
pub(crate) const WRITERS: usize = 64;
/// A key that no load of this program exhausts.
const ALLOWANCE: &str = "1000000000";

/// A running reference server and a key for it.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) server: Server,
    pub(crate) key: String,
}

impl Reference {
    /// Starts the server, by `command`, on a database of its own.
    pub(crate) fn start(program: &Path, mut command: Command, database: &Path) -> anyhow::Result<Reference> {
        let key = issue_key(program, database)?;
        command.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(database);
        Ok(Reference { server: Server::start(command)?, key })
    }

    /// What it takes to create animals, one third of them with each status.
    pub(crate) fn create_script(&self) -> Arc<Script> {
        let requests = (0..999)
            .map(|number| {
                let status = STATUSES[number % STATUSES.len()];
                let body = format!(r#"{{"name":"Animal {number:03}","categoryId":{number},"status":"{status}"}}"#);
                message::post(PETS, &self.key, &body)
            })
            .collect();
        Arc::new(Script { requests, expect: Expect::Created })
    }

    /// Creates `count` animals through the API, as any client would; returns their ids.
    pub(crate) fn fill(&self, runtime: &Runtime, count: u64) -> anyhow::Result<Vec<i64>> {
        let extent = Extent { connections: WRITERS, requests: count, duration: Duration::from_mins(10) };
        let outcome = runtime.block_on(load::send(self.server.address(), &self.create_script(), extent))?;
        ensure!(outcome.answers == count, "only {} of {count} animals could be created in time", outcome.answers);
        let mut ids = outcome.ids;
        ids.sort_unstable();
        ids.dedup();
        ensure!(ids.len() as u64 == count, "{count} animals were created, but with {} different ids", ids.len());
        Ok(ids)
    }

    /// Asks each path once, so that each later answer can be compared with the first.
    pub(crate) fn learn(&self, runtime: &Runtime, paths: &[String]) -> anyhow::Result<Script> {
        let requests: Vec<Vec<u8>> = paths.iter().map(|path| message::get(path, &self.key)).collect();
        let answers = runtime.block_on(load::each_once(self.server.address(), &requests))?;
        let mut bodies = Vec::with_capacity(answers.len());
        for (path, answer) in paths.iter().zip(answers) {
            ensure!(answer.status == 200, "GET {path} was answered with {}", answer.status);
            bodies.push(answer.body);
        }
        Ok(Script { requests, expect: Expect::Bodies(bodies) })
    }
}

/// Issues a key as an operator does: it is all that the command writes to standard output.
fn issue_key(program: &Path, database: &Path) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(["keys", "issue", "--plan", "enterprise", "--rpm", ALLOWANCE, "--rpd", ALLOWANCE, "--name", "bench"])
        .arg("--db")
        .arg(database)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "no key could be issued: {said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(said.trim().to_owned())
}

/// The file of a database in the measurement's folder.
pub(crate) fn database(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.sqlite"))
}
