//! Reference servers in processes of their own, judged as the replicas of one service. Such a process is this program: a test that is
//! otherwise ignored.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use animal_store_conformance::Options;
use animal_store_conformance::report::Report;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::verdict::Verdict;

use crate::support::KEY;
use crate::{broken, judge, options};

const DATABASE: &str = "TEST_DATABASE";

#[test]
#[ignore = "a server for the tests below"]
fn server() {
    let database = std::env::var_os(DATABASE).expect("set by the tests below");
    let key = format!("enterprise={KEY}");
    let args = ["reference", "serve", "--listen", "127.0.0.1:0", "--key", &key, "--db"].map(OsString::from);
    let code = animal_store_reference::cli::run(args.into_iter().chain([database]));
    assert_eq!(code, ExitCode::SUCCESS);
}

/// The command that serves a database.
fn serve(database: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "processes::server", "--ignored", "--nocapture"]).env(DATABASE, database);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running server. It is killed when dropped.
struct Server {
    process: Child,
    port: String,
}

impl Server {
    fn start(database: &Path) -> Server {
        let mut process = serve(database).stderr(Stdio::null()).spawn().expect("the program starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let base_url = lines.find_map(|line| Some(line.split_once("listening on ")?.1.to_owned())).expect("a server");
        let port = base_url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port");
        Server { process, port: port.to_owned() }
    }

    fn at(&self, host: &str) -> String {
        format!("http://{host}:{}/v1", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

fn options_for([one, other]: [String; 2]) -> Options {
    let mut options = options(&one, Profile::Functional);
    options.add_replica(&other).expect("another address");
    options.plan = "enterprise".parse().ok();
    options.cases = Some(0);
    options
}

/// With how many others each replica was seen to count.
fn counting_with(report: &Report) -> Vec<Option<usize>> {
    report.replicas.iter().map(|replica| replica.counts_with.as_ref().map(Vec::len)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_has_one_server_and_its_addresses_are_one_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("animals.sqlite");
    let server = Server::start(&database);
    let second = serve(&database).output().expect("the program starts");
    let reason = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && reason.contains("another server already serves"), "{reason}");

    let report = judge(options_for(["127.0.0.1", "localhost"].map(|host| server.at(host)))).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
    assert_eq!(counting_with(&report), [Some(1), Some(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_with_databases_of_their_own_are_not_one_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = ["one", "other"].map(|name| Server::start(&folder.path().join(name)));
    let mut options = options_for([&one, &other].map(|server| server.at("127.0.0.1")));
    options.scope.only = ["get", "pet.unique-id", "headers.remaining-never-rises"].map(String::from).to_vec();
    let report = judge(options).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Violates);
    assert_eq!(counting_with(&report), [Some(0), Some(0)]);
    let causes: Vec<&str> = report.causes.iter().map(|cause| cause.id.as_str()).collect();
    assert_eq!(causes, ["catalogue-per-replica", "counter-per-replica"], "{:#?}", report.causes);
}
