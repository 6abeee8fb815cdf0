//! The comparisons of rates: reads with a bare server, a long list with a short one, a proxy with a bare proxy, creations with the disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hyper::Response;
use hyper::body::Bytes;
use serde_json::Value;

use super::load::{self, Server, Spent};
use super::{Bench, Part, median};

/// The size of the short catalogue.
const FEW: usize = 1_000;
/// How many animals of the long catalogue are read by id.
const READ_OF_MANY: usize = 100_000;
/// How many clients read at once.
const READERS: usize = 32;
/// How many clients create at once.
const WRITERS: usize = 64;
/// How many times the sides take turns in a round.
const TURNS: usize = 8;
/// How many requests are sent in a turn.
const REQUESTS: usize = 5_000;
/// The disk, which is slow, makes one write for this number of requests.
const WRITE_EVERY: u32 = 100;
/// Each status belongs to a third of the animals.
const STATUSES: [&str; 3] = ["available", "pending", "sold"];

/// Paths, and the bodies of the responses.
struct Pages(Vec<(String, Bytes)>);

impl Pages {
    /// Reads each path once. Also returns the header fields of a response, as arguments of the bare server.
    fn learn(server: &Server, paths: Vec<String>) -> anyhow::Result<(Pages, Vec<String>)> {
        let request = |number: usize| (paths[number].clone(), String::new());
        let (_, responses) = server.load(1, 0..paths.len(), request, |_, response| {
            ensure!(response.status() == 200, "unexpected response: {response:?}");
            Ok(response)
        })?;
        let mut arguments = Vec::new();
        for (name, value) in responses.first().context("nothing to read")?.headers() {
            // hyper adds these two itself, in both servers.
            if name != "date" && name != "content-length" {
                arguments.extend([name.to_string(), value.to_str()?.to_owned()]);
            }
        }
        Ok((Pages(paths.into_iter().zip(responses.into_iter().map(Response::into_body)).collect()), arguments))
    }

    fn read(&self, server: &Server, numbers: Range<usize>) -> anyhow::Result<Spent> {
        let page = |number: usize| &self.0[number % self.0.len()];
        let request = |number| (page(number).0.clone(), String::new());
        let (spent, _) = server.load(READERS, numbers, request, |number, response| {
            let expected = response.status() == 200 && *response.body() == page(number).1;
            ensure!(expected, "unexpected response to {}: {response:?}", page(number).0);
            Ok(())
        })?;
        Ok(spent)
    }
}

/// Creates animals through the API. Returns their ids.
fn create_animals(server: &Server, numbers: Range<usize>) -> anyhow::Result<(Spent, Vec<i64>)> {
    let animal = |number: usize| {
        let status = STATUSES[number % STATUSES.len()];
        ("/v1/pets".to_owned(), format!(r#"{{"name":"Animal {number:07}","categoryId":{number},"status":"{status}"}}"#))
    };
    let (spent, ids) = server.load(WRITERS, numbers.clone(), animal, |_, response| {
        let id = serde_json::from_slice::<Value>(response.body())?["id"].as_i64();
        id.filter(|_| response.status() == 201).with_context(|| format!("unexpected response: {response:?}"))
    })?;
    let ids: BTreeSet<i64> = ids.into_iter().collect();
    ensure!(ids.len() == numbers.len(), "{numbers:?} were created, but with {} different ids", ids.len());
    Ok((spent, ids.into_iter().collect()))
}

/// The paths of animals, in an order in which neighbours are not neighbours in the database.
fn paths(ids: &[i64]) -> Vec<String> {
    // A prime larger than any catalogue measured here: its multiples reach every place once.
    const STEP: usize = 15_485_863;
    (0..ids.len().min(READ_OF_MANY)).map(|place| format!("/v1/pets/{}", ids[place * STEP % ids.len()])).collect()
}

/// GET of one animal relative to a bare server that sends the same bytes, and of a list relative to that of a short catalogue.
pub(super) fn reads(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let (few, many) = (Server::reference(&bench.folder.join("few"))?, Server::reference(&bench.folder.join("many"))?);
    eprintln!("creating {} animals through the API …", bench.options.animals);
    let (_, few_ids) = create_animals(&few, 0..FEW)?;
    let (_, many_ids) = create_animals(&many, 0..bench.options.animals)?;
    for (reference, ids, least) in [(&few, &few_ids, 0.62), (&many, &many_ids, 0.60)] {
        if !bench.wants(Part::Read) {
            continue;
        }
        let (pages, headers) = Pages::learn(reference, paths(ids))?;
        let body = &pages.0[0].1;
        let constant = Pages(pages.0.iter().map(|(path, _)| (path.clone(), body.clone())).collect());
        let mut bare = Command::new(std::env::current_exe()?);
        bare.args(["server", str::from_utf8(body)?]).args(headers);
        let bare = Server::start(&mut bare, "")?;
        bench.compare(
            &format!("read: GET /pets/{{id}} by processor time, {} animals, relative to bare axum", ids.len()),
            least,
            &|numbers| Ok(pages.read(reference, numbers)?.processor),
            &|numbers| Ok(constant.read(&bare, numbers)?.processor),
        )?;
    }
    if bench.wants(Part::List) {
        let lists = |server| {
            let paths = STATUSES.map(|status| format!("/v1/pets?status={status}&limit=20"));
            let (lists, _) = Pages::learn(server, paths.to_vec())?;
            for ((_, body), status) in lists.0.iter().zip(STATUSES) {
                let shown = String::from_utf8_lossy(body).matches(&format!("\"{status}\"")).count();
                ensure!(shown == 20, "not 20 {status} animals: {body:?}");
            }
            Ok(lists)
        };
        let (of_few, of_many) = (lists(&few)?, lists(&many)?);
        bench.compare(
            &format!(
                "list: GET /pets?status=…&limit=20 by processor time, {} animals, relative to {FEW}",
                many_ids.len()
            ),
            0.95,
            &|numbers| Ok(of_many.read(&many, numbers)?.processor),
            &|numbers| Ok(of_few.read(&few, numbers)?.processor),
        )?;
    }
    Ok(())
}

/// GET by id through the proxy that judges, relative to one that does nothing.
pub(super) fn proxy(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let reference = Server::reference(&bench.folder.join("proxied"))?;
    let (pages, _) = Pages::learn(&reference, paths(&create_animals(&reference, 0..FEW)?.1))?;
    let start =
        |program: PathBuf, to: &str| Server::start(Command::new(program).args(["proxy", "--to", to]), &reference.key);
    let judging = start(load::program("conform")?, &format!("http://{}/v1", reference.address))?;
    let bare = start(std::env::current_exe()?, &reference.address.to_string())?;
    bench.compare(
        &format!("proxy: GET through the judging proxy, {READERS} clients, relative to a bare hyper proxy"),
        0.70,
        &|numbers| Ok(pages.read(&judging, numbers)?.elapsed),
        &|numbers| Ok(pages.read(&bare, numbers)?.elapsed),
    )
}

/// Creations that are durable before they are acknowledged, relative to single writes that are.
pub(super) fn create(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let reference = Server::reference(&bench.folder.join("creates"))?;
    let file = File::create(bench.folder.join("yardstick"))?;
    bench.compare(
        &format!("create: POST /pets, {WRITERS} clients, relative to serial append of 4 KiB + fdatasync"),
        6.0,
        &|numbers| Ok(create_animals(&reference, numbers)?.0.elapsed),
        &|numbers| {
            let start = Instant::now();
            for _ in numbers.step_by(WRITE_EVERY as usize) {
                (&file).write_all(&[0x5a; 4096])?;
                file.sync_data()?;
            }
            Ok(start.elapsed() * WRITE_EVERY)
        },
    )
}

/// Sends the requests with these numbers. Returns the time that counts.
type Side<'a> = &'a dyn Fn(Range<usize>) -> anyhow::Result<Duration>;

impl Bench<'_> {
    /// Lets two sides take turns, so that other load on the machine affects both alike, and relates their rates in each round.
    fn compare(&mut self, what: &str, least: f64, subject: Side<'_>, baseline: Side<'_>) -> anyhow::Result<()> {
        let mut rates = [Vec::new(), Vec::new()];
        for round in 0..=self.options.rounds {
            let mut times = [Duration::ZERO; 2];
            for turn in round * TURNS..(round + 1) * TURNS {
                // Neither side is always the first one: a drift of the machine must favour neither.
                for side in [turn % 2, 1 - turn % 2] {
                    times[side] += [subject, baseline][side](turn * REQUESTS..(turn + 1) * REQUESTS)?;
                }
            }
            for (rates, time) in rates.iter_mut().zip(times) {
                rates.push((TURNS * REQUESTS) as f64 / time.as_secs_f64());
            }
        }
        // The first round warms both sides up.
        let [subject, baseline] = rates.each_ref().map(|rates| &rates[1..]);
        let ratios: Vec<f64> = subject.iter().zip(baseline).map(|(subject, baseline)| subject / baseline).collect();
        let note = format!("({:.0} against {:.0} a second)", median(subject), median(baseline));
        self.show(what, &ratios, least..f64::INFINITY, &note);
        Ok(())
    }
}
