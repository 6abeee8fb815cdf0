//! A service with several addresses: what only several replicas get wrong is caught and attributed, and no lawful fleet is accused.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use animal_store_conform::formats::{html, json, markdown};
use animal_store_conformance::UnusableTarget;
use animal_store_conformance::recorded::{Terms, judge as judge_recorded};
use animal_store_conformance::report::text::Detail;
use animal_store_conformance::report::{Evidence, Replica, Report};
use animal_store_conformance::{Judge, Options, RunError};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::verdict::{Status, Verdict};
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixStream};
use tokio::process::Command;

use crate::candidate::{Candidate, KEY, Nature, PER_DAY};
use crate::command_line::{text, variable};
use crate::faults::Fault;
use crate::sockets::Socket;
use crate::{broken, options};

/// A limit that the tour nearly exhausts, late enough in a window to see it end.
pub(crate) fn small() -> Nature {
    Nature { limit: 90, first_window: 15, ..Nature::default() }
}

/// Options for these addresses.
fn options_for(addresses: &[&str], profile: Profile) -> Options {
    let mut options = options(addresses[0], profile);
    addresses[1..].iter().for_each(|replica| options.add_replica(replica).expect("another address"));
    options.judging.plan = Some(format!("enterprise=90,{PER_DAY}").parse().expect("a plan"));
    options.judging.strict = true;
    options.budget.max_duration = Options::MAX_DURATION;
    options
}

fn addresses(fleet: &[Candidate]) -> Vec<&str> {
    fleet.iter().map(|candidate| candidate.base_url.as_str()).collect()
}

/// Judges a fleet by a full run.
pub(crate) async fn report_on(natures: &[Nature]) -> Report {
    let fleet = Candidate::start_fleet(natures).await;
    let report = fleet[0].judge(options_for(&addresses(&fleet), Profile::Full)).await.expect("a verdict");
    let listed: Vec<&str> = report.replicas.iter().map(|replica| replica.base_url.as_str()).collect();
    assert_eq!(listed, addresses(&fleet));
    assert_eq!(report.replicas.iter().map(|replica| replica.requests).sum::<usize>(), report.requests);
    report
}

fn assert_conforms(report: &Report) {
    let missed: Vec<_> =
        report.requirements.iter().filter(|r| r.status == Status::NotExercised).map(|r| (&r.id, &r.reason)).collect();
    assert_eq!(report.verdict, Verdict::Conforms, "broken: {:#?}, not exercised: {missed:#?}", broken(report));
}

/// The findings of a requirement.
fn evidence<'r>(report: &'r Report, id: &str) -> &'r [Evidence] {
    let requirement = report.requirements.iter().find(|requirement| requirement.id == id).expect("a requirement");
    assert!(!requirement.evidence.is_empty(), "{id} holds; broken: {:#?}", broken(report));
    &requirement.evidence
}

/// Returns the attribution of each finding of a requirement, in words.
fn attributed<'r>(report: &'r Report, id: &str) -> Vec<&'r str> {
    let sentence = |evidence: &'r Evidence| evidence.attribution.as_ref().map_or("", |found| found.sentence());
    evidence(report, id).iter().map(sentence).collect()
}

fn with_whom(replica: &Replica) -> Option<usize> {
    replica.counts_with.as_ref().map(Vec::len)
}

#[tokio::test]
async fn replicas_that_share_all_conform_and_cost_no_more_requests_than_one() {
    let alone = Candidate::start(small()).await;
    let mut one = options_for(&[&alone.base_url], Profile::Full);
    one.seed = 7;
    let one = alone.judge(one).await.expect("a verdict");
    assert!(one.replicas.is_empty() && !json::render(&one).contains("replica"), "one address is no fleet");
    for replicas in [2, 5] {
        let report = report_on(&vec![small(); replicas]).await;
        assert_conforms(&report);
        let [several, single] = [&report, &one].map(|report| report.requests_with_key);
        assert!(several <= single, "{replicas}: {several} with the key, and not {single}");
        for replica in &report.replicas {
            let fair = report.requests / replicas;
            assert!((fair / 2..fair * 2).contains(&replica.requests), "{replicas}: {:#?}", report.replicas);
            assert_eq!((replica.findings.len(), with_whom(replica)), (0, Some(replicas - 1)), "{replica:#?}");
            assert!(replica.reads.shown > 0 && replica.reads.missing_ms.is_none(), "{replica:#?}");
        }
    }
}

#[tokio::test]
async fn every_seed_spreads_a_lawful_fleet_without_an_accusation_and_shows_the_common_counter() {
    let odd = Nature { odd: true, ..small() };
    for (seed, fleet) in (0..4).flat_map(|seed| [(seed, vec![small(); 3]), (seed, vec![odd; 5])]) {
        let others = fleet.len() - 1;
        let fleet = Candidate::start_fleet(&fleet).await;
        let mut options = options_for(&addresses(&fleet), Profile::Full);
        options.seed = seed;
        let report = fleet[0].judge(options).await.expect("a verdict");
        assert_conforms(&report);
        let counters: Vec<_> = report.replicas.iter().map(with_whom).collect();
        assert!(counters.iter().all(|with| *with == Some(others)), "seed {seed}: {counters:?}");
    }
}

#[tokio::test]
async fn replicas_that_count_for_themselves_are_caught_and_named_as_such() {
    for replicas in [2, 3] {
        let report = report_on(&vec![Nature { counts_apart: true, ..small() }; replicas]).await;
        assert_eq!(report.verdict, Verdict::Violates);
        for id in ["quota.not-exceeded", "headers.remaining-never-rises"] {
            let attributed = attributed(&report, id);
            assert!(
                attributed.iter().all(|at| *at == "only across replicas: each replica counts requests separately"),
                "{attributed:?}"
            );
        }
        assert!(report.replicas.iter().all(|replica| with_whom(replica) == Some(0)), "{:#?}", report.replicas);
        let cause = report.causes.first().expect("a cause");
        assert_eq!(cause.id, "counter-per-replica", "{:#?}", report.causes);
        assert!(
            broken(&report).iter().all(|line| line.starts_with("quota.") || line.starts_with("headers.")),
            "{:#?}",
            broken(&report)
        );
    }
}

#[tokio::test]
async fn one_replica_that_counts_or_stores_by_itself_is_named() {
    let apart = Nature { counts_apart: true, ..small() };
    let report = report_on(&[small(), small(), apart]).await;
    let third = &report.replicas[2];
    let expected = format!("only across replicas: {} counts requests separately", third.base_url);
    for id in ["quota.not-exceeded", "headers.remaining-never-rises"] {
        assert!(attributed(&report, id).iter().all(|at| *at == expected), "{:?}", attributed(&report, id));
    }
    assert_eq!(with_whom(third), Some(0));
    let apart = Nature { stores_apart: true, ids_after: 1_000_000, ..small() };
    let report = report_on(&[small(), small(), apart]).await;
    let third = &report.replicas[2];
    let expected =
        format!("only between {} and the other replicas: no replica shows this failure alone", third.base_url);
    assert!(attributed(&report, "get.success").iter().all(|at| *at == expected), "{:?}", broken(&report));
    assert!(report.causes[0].sentence.contains(&format!("{} shows no animal", third.base_url)), "{:?}", report.causes);
}

#[tokio::test]
async fn a_catalogue_for_each_replica_is_caught_whatever_its_ids_are() {
    for ids_after in [0, 1_000_000] {
        let first = Nature { stores_apart: true, ..small() };
        let report = report_on(&[first, Nature { ids_after, ..first }]).await;
        assert_eq!(report.verdict, Verdict::Violates);
        for id in ["get.success", "list.complete"] {
            let is_broken = report.requirements.iter().any(|r| r.id == id && r.failures > 0);
            if is_broken || ids_after > 0 {
                let attributed = attributed(&report, id);
                assert!(
                    attributed.iter().all(|at| *at == "only across replicas: no replica shows this failure alone"),
                    "{attributed:?}"
                );
            }
        }
        assert!(report.causes.iter().any(|cause| cause.id == "catalogue-per-replica"), "{:#?}", report.causes);
        assert!(report.replicas.iter().all(|replica| replica.reads.shown == 0), "{:#?}", report.replicas);
        assert!(report.replicas.iter().all(|replica| replica.lag_shown().starts_with("missing after")));
    }
}

#[tokio::test]
async fn one_broken_replica_of_three_is_named_with_how_often_it_shows() {
    let report = report_on(&[small(), small(), Nature { fault: Some(Fault::NoReset), ..small() }]).await;
    assert_eq!(report.verdict, Verdict::Violates);
    let third = &report.replicas[2];
    for evidence in evidence(&report, "headers.reset") {
        let sentence = evidence.attribution.as_ref().map_or("", |found| found.sentence());
        let (named, counted) = sentence.split_once(", in ").unwrap_or((sentence, ""));
        assert_eq!(named, format!("only at {}", third.base_url), "{evidence:#?}");
        let numbers: Vec<usize> = counted.split(' ').filter_map(|word| word.parse().ok()).collect();
        assert!(numbers[0] == numbers[1] && numbers[2] > 0, "{sentence}");
        assert!(evidence.finding().ends_with(sentence) && evidence.intermittent.is_none());
        assert_eq!(evidence.exchanges[0].replica.as_deref(), Some(third.base_url.as_str()));
        assert!(evidence.exchanges[0].curl.contains(&third.base_url), "{}", evidence.exchanges[0].curl);
    }
    assert!(third.only_here.contains(&"headers.reset".to_owned()), "{third:#?}");
    assert!(report.replicas[..2].iter().all(|replica| replica.findings.is_empty()), "{:#?}", report.replicas);
}

#[tokio::test]
async fn reads_that_lag_by_three_seconds_are_lawful_and_reported() {
    for natures in [&[true, true][..], &[false, true, false]] {
        let lagging = |lags: &bool| Nature { lag_of_others: Duration::from_secs(if *lags { 3 } else { 0 }), ..small() };
        let fleet: Vec<Nature> = natures.iter().map(lagging).collect();
        let report = report_on(&fleet).await;
        assert_conforms(&report);
        for (replica, lags) in report.replicas.iter().zip(natures) {
            assert_eq!(replica.reads.missing_ms.is_some(), *lags, "{replica:#?}");
            assert!(!lags || replica.reads.shown_ms.is_some_and(|time| time >= 3_000), "{replica:#?}");
        }
    }
}

#[tokio::test]
async fn a_replica_that_lags_too_long_is_named() {
    let slow = Nature { lag_of_others: Duration::from_mins(10), ..small() };
    let report = report_on(&[small(), small(), slow]).await;
    assert_eq!(report.verdict, Verdict::Violates);
    let third = &report.replicas[2];
    let is_named = |id: &str| {
        let start = format!("only at {}, in ", third.base_url);
        attributed(&report, id).iter().all(|sentence| sentence.starts_with(&start))
    };
    let broken: Vec<&str> = report.requirements.iter().filter(|r| r.failures > 0).map(|r| r.id.as_str()).collect();
    assert!(!broken.is_empty() && broken.iter().all(|id| is_named(id)), "{:#?}", self::broken(&report));
    assert!(third.lag_shown().starts_with("missing after"), "{}", third.lag_shown());
}

/// How a balancer picks the server of a connection.
#[derive(Clone, Copy, Debug)]
enum Balance {
    /// Each in turn.
    RoundRobin,
    /// All connections of a client go to one.
    Sticky,
}

/// A balancer before these servers, which passes connections on. It is a socket, and has any number of names.
struct Balancer(Socket);

impl Balancer {
    fn start(servers: &[Candidate], balance: Balance) -> Balancer {
        let backends: Vec<PathBuf> = servers.iter().map(|server| server.own_socket().expect("a socket")).collect();
        let socket = Socket::new();
        let listener = UnixListener::bind(socket.path()).expect("a socket");
        let next = Arc::new(AtomicUsize::new(0));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let place = match balance {
                    Balance::RoundRobin => next.fetch_add(1, Ordering::Relaxed),
                    Balance::Sticky => 1,
                };
                let backend = backends[place % backends.len()].clone();
                tokio::spawn(async move {
                    if let Ok(mut server) = UnixStream::connect(backend).await {
                        let _ended = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        Balancer(socket)
    }

    /// One of its addresses.
    fn address(&self, name: &str) -> String {
        format!("http://{name}.{}/v1", self.0.host())
    }
}

#[tokio::test]
async fn a_balancer_before_replicas_that_share_all_is_one_lawful_server() {
    for balance in [Balance::RoundRobin, Balance::Sticky] {
        let fleet = Candidate::start_fleet(&[small(); 2]).await;
        let balancer = Balancer::start(&fleet, balance);
        let (address, other) = (balancer.address("one"), balancer.address("other"));
        let report = fleet[0].judge(options_for(&[&address], Profile::Full)).await.expect("a verdict");
        assert_conforms(&report);
        // Several names of balancers before one service are addresses of it as well.
        let report = fleet[0].judge(options_for(&[&address, &other], Profile::Functional)).await.expect("a verdict");
        assert_conforms(&report);
    }
}

#[tokio::test]
async fn behind_a_balancer_only_what_can_be_seen_is_held_against_replicas() {
    let (counting, storing) = (Nature { counts_apart: true, ..small() }, Nature { stores_apart: true, ..small() });
    for (nature, id) in [(counting, "quota.not-exceeded"), (storing, "pet.unique-id")] {
        let fleet = Candidate::start_fleet(&[nature; 2]).await;
        let balancer = Balancer::start(&fleet, Balance::RoundRobin);
        let address = balancer.address("one");
        let report = fleet[0].judge(options_for(&[&address], Profile::Full)).await.expect("a verdict");
        assert!(evidence(&report, id).iter().all(|evidence| evidence.attribution.is_none()), "there is one address");
        let fleet = Candidate::start_fleet(&[nature; 2]).await;
        let balancer = Balancer::start(&fleet, Balance::Sticky);
        let address = balancer.address("one");
        assert_conforms(&fleet[0].judge(options_for(&[&address], Profile::Full)).await.expect("a verdict"));
    }
}

#[tokio::test]
async fn a_replica_that_cannot_be_reached_ends_the_run_and_is_named() {
    let fleet = Candidate::start_fleet_on_ports(&[small(); 2]).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
    let silent = format!("http://{}/v1", socket.local_addr().expect("an address"));
    let mut addresses = addresses(&fleet);
    addresses.push(&silent);
    let error = fleet[0].judge(options_for(&addresses, Profile::Full)).await.expect_err("one does not listen");
    assert!(matches!(error, RunError::Unusable(UnusableTarget::Replica(_))), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(&format!("cannot connect to {silent}: connection refused")), "{text}");
    assert!(text.contains("the host and port of --replica") && !text.contains("--base-url"), "{text}");
}

#[tokio::test]
async fn a_replica_that_redirects_ends_the_run_and_no_key_goes_where_it_points() {
    let fleet = Candidate::start_fleet_on_ports(&[small()]).await;
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let place = elsewhere.local_addr().expect("an address");
    let redirect = move || async move {
        let location = format!("http://{place}/v1/pets");
        (axum::http::StatusCode::TEMPORARY_REDIRECT, [("location", location)])
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let replica = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(redirect)).await });
    let options = options_for(&[&fleet[0].base_url, &replica], Profile::Full);
    let error = fleet[0].judge(options).await.expect_err("a redirect is no answer").to_string();
    assert!(error.starts_with(&format!("{replica} is not the base URL of the API")), "{error}");
    let elsewhere = elsewhere.into_std().expect("a listener that does not block");
    assert!(elsewhere.accept().is_err(), "the redirect was followed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_run_of_a_fleet_gives_the_same_report() {
    let broken = Nature { fault: Some(Fault::NoReset), ..small() };
    let fleet = Candidate::start_fleet(&[small(), broken]).await;
    let options = options_for(&addresses(&fleet), Profile::Full);
    let (report, trace) = Judge::new(options).clock(fleet[0].clock()).run_and_record().await.expect("a verdict");
    assert!(!trace.contains(KEY) && trace.contains(r#""replica":1"#));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    std::fs::write(&path, trace).expect("a writable folder");
    let again = judge_recorded(&[path], &Terms::default()).expect("a report");
    assert_eq!(json::render(&again), json::render(&report));
}

#[tokio::test]
async fn every_format_has_the_table_of_the_replicas_and_names_the_one_that_is_broken() {
    let broken = Nature { fault: Some(Fault::NoReset), ..small() };
    let report = report_on(&[small(), broken]).await;
    let second = &report.replicas[1].base_url;
    let attribution = format!("only at {second}, in ");
    let plain = animal_store_conformance::report::text::render(&report, Detail::Normal, usize::MAX).to_string();
    assert!(plain.contains("Replicas") && plain.contains(&attribution) && plain.contains("shared by all"), "{plain}");
    let page = html::render(&report);
    assert!(page.contains("id=\"replicas-title\"") && page.contains("(only here)") && page.contains(&attribution));
    let summary = markdown::render(&report);
    assert!(summary.contains("### Replicas") && summary.contains("1 finding, only here"), "{summary}");
    let document: serde_json::Value = serde_json::from_str(&json::render(&report)).expect("JSON");
    assert_eq!(document["replicas"][1]["only_here"][0], "headers.reset", "{}", document["replicas"]);
    assert!(report.rerun_command.contains(&format!(" --replica {second} ")), "{}", report.rerun_command);
}

#[tokio::test]
async fn the_program_takes_replicas_and_refuses_one_address_twice() {
    let nature = Nature::default();
    let fleet = Candidate::start_fleet(&[nature; 2]).await;
    let [first, second] = [0, 1].map(|at| fleet[at].base_url.as_str());
    let conform = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conform"));
        command.args(["--no-config", "--profile", "functional", "--cases", "0", "--seed", "7"]).args(args);
        command.envs(variable(first)).env("CONFORM_API_KEY", KEY).output()
    };
    let output = conform(&["--base-url", first, "--replica", second]).await.expect("the program starts");
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("Replicas") && shown.contains(second) && !shown.contains(KEY), "{shown}");
    for (args, problem) in [
        (&["--base-url", first, "--replica", first][..], "is given twice"),
        (&["--replica", second], "--replica needs --base-url"),
        (&["--base-url", first, "--replica", "127.0.0.1"], "is not a base URL"),
    ] {
        let output = conform(args).await.expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(problem), "{}", text(&output.stderr));
    }
    let output = conform(&["--base-url", first, "--replica", second, "--dry-run"]).await.expect("the program starts");
    assert!(text(&output.stdout).contains(&format!("\n{first} and 1 replica · ")), "{}", text(&output.stdout));
}
