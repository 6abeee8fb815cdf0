//! `proxy`: passes traffic on to a server, and judges it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::OptionFuture;
use rustix::process::Signal;

use super::commanded::Commanded;
use super::output::{could_not_run, say, usage};
use super::report_files::ReportFiles;
use super::selection::certificates;
use super::signals::Signals;
use super::traffic::TrafficArguments;
use super::values::{self, Printed};
use crate::exit_code::ExitCode;
use crate::proxy::{MOST_CONNECTIONS, Outcome, Proxy, ProxyEvent, Settings};
use animal_store_conformance::http::Clock;
use animal_store_conformance::recorded::Terms;
use animal_store_conformance::report::shell_command;
use animal_store_conformance::{Interrupt, normal_base_url};
use animal_store_rules::catalogue::scope::Side;

/// The variable in which the command finds the base URL to use.
const URL: &str = "CONFORM_PROXY_URL";

/// Pass traffic on to a server, and judge it
///
/// Clients use the base URL that the proxy prints, or COMMAND finds in the variable CONFORM_PROXY_URL. Requests and responses are passed
/// on unchanged and judged meanwhile: the server, its clients, or both. Each new finding gets a line on standard error, unless --quiet. The
/// proxy ends with COMMAND, with Ctrl-C or at a limit. Other clients may use the same keys, so rate limits are judged only as far
/// as requests of other clients cannot explain the responses. A requirement that the traffic does not show is not exercised.
///
/// Exit codes: 0 conforms · 1 violates · 2 usage error · 3 no request was answered, COMMAND failed although nothing was violated, or a
/// report could not be written · 4 incomplete: nothing failed, but a stated requirement of servers, or everything, was not exercised.
/// With --side client, inferred requirements count (--strict=false: they do not), and one exercised requirement is enough for exit code 0.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// Base URL of the server, with the version segment
    #[arg(long, value_name = "URL", value_parser = normal_base_url)]
    pub to: String,

    /// Address to listen on; port 0 is a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,

    /// A command to run; the proxy ends with it
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,

    /// Side to judge
    #[arg(long, value_parser = values::side(), env = "CONFORM_SIDE", default_value = "both")]
    pub side: Side,

    /// Write the traffic to the service to this file, without keys; `conform judge` reads it
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// End after this number of requests
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_requests: Option<u32>,

    /// End after this number of seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_duration: Option<u64>,

    /// Maximum time for the server to accept a connection, and to begin a response, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,

    /// PEM file with certificates to trust in addition to the system's
    #[arg(long, value_name = "FILE")]
    pub ca_cert: Option<PathBuf>,

    /// The selection of requirements, and the reports.
    #[command(flatten)]
    pub traffic: TrafficArguments,
}

impl Arguments {
    /// Passes traffic on, prints the report and writes the report files, and returns the exit code.
    pub(super) async fn run(&self, program: String) -> Result<ExitCode, ExitCode> {
        self.traffic.color.apply();
        let terms = self.traffic.terms(None, Some(self.side), program).map_err(|error| usage(&error))?;
        let ca_certificates = certificates("--ca-cert", self.ca_cert.as_deref()).map_err(|error| usage(&error))?;
        let files = ReportFiles::check(&self.traffic.report, self.record.as_deref());
        let files = files.map_err(|error| could_not_run(&error))?;
        let record = files.open_trace().map_err(|problem| could_not_run(&problem))?;
        let quiet = self.traffic.quiet;
        let settings = Settings {
            to: self.to.clone(),
            ca_certificates,
            timeout: Duration::from_secs(self.timeout),
            max_requests: self.max_requests.map(|requests| requests as usize),
            max_connections: MOST_CONNECTIONS,
            rerun_command: self.rerun_command(&terms),
            terms,
            record,
            on_event: Arc::new(move |event| match event {
                ProxyEvent::Finding(_) | ProxyEvent::Notice(_) if quiet => {}
                ProxyEvent::Finding(line) => say(format!("finding: {line}")),
                ProxyEvent::Notice(line) => say(line),
                ProxyEvent::Unwritten(error) => say(format!(
                    "error: cannot write the trace: {error}\n  What was written can be judged; what follows is not recorded."
                )),
            }),
            clock: Clock::system(),
        };
        let proxy = Proxy::listen(self.listen, settings).await.map_err(|error| usage(&error))?;
        let base_url = proxy.base_url();
        say(format!("proxy: {base_url} passes requests on to {}", self.to));
        if !self.listen.ip().is_loopback() {
            say(format!(
                "warning: every machine that can reach {} can send requests through this proxy; without --listen, only this machine can",
                self.listen
            ));
        }
        let is_output_taken = files.use_standard_output() || !matches!(self.traffic.format, Printed::Text);
        let child = Commanded::start(&self.command, (URL, &base_url), is_output_taken).map_err(|error| {
            let program = self.command.first().map(|program| program.display().to_string()).unwrap_or_default();
            usage(&format!("cannot run {program}: {error}"))
        })?;
        let (outcome, status, signal) = self.until_ended(proxy, child).await;
        let unwritten = outcome.unwritten.map(|error| format!("cannot write the trace: {error}"));
        let mut report = outcome.report;
        report.notes.extend(status.map(|status| format!("the command ended with {}", described(status))));
        let unused = (report.requests == 0).then(|| {
            format!(
                "no request went through the proxy, so nothing was judged\n  Configure the client to use {base_url}; COMMAND finds this \
                 URL in the variable {URL}."
            )
        });
        if let Some(reason) = outcome.unreached.or(unused) {
            report.notes.push(reason.clone());
            self.traffic.deliver(&report, &files);
            return Err(could_not_run(&format!("{}: {reason}", self.to)));
        }
        let code = self.traffic.deliver(&report, &files);
        Ok(match (unwritten, signal, status) {
            (Some(problem), ..) => could_not_run(&problem),
            // The signal ended a command that would have run to its own end.
            (_, Some(signal), Some(_)) => signal,
            (_, _, Some(status)) if !status.success() && code != ExitCode::Violation => {
                could_not_run(&format!("the command ended with {}", described(status)))
            }
            _ => code,
        })
    }

    /// Runs the proxy until the command ends, a signal arrives or a limit is reached. Returns the outcome, the status of the command and
    /// the exit code of the signal.
    async fn until_ended(
        &self,
        proxy: Proxy,
        child: Option<Commanded>,
    ) -> (Outcome, Option<ExitStatus>, Option<ExitCode>) {
        let interrupt = Interrupt::default();
        let group = child.as_ref().map(|child| child.group);
        let signals =
            Signals::watch(interrupt.clone(), || say("interrupted: the traffic until now is judged"), async move {
                group.into_iter().for_each(|group| group.signal(Signal::KILL));
            });
        let proxying = async {
            let outcome = proxy.run(&interrupt).await;
            interrupt.raise();
            outcome
        };
        let commanded = OptionFuture::from(child.map(|child| async {
            let status = child.wait(&interrupt, || signals.code().is_some()).await;
            interrupt.raise();
            status
        }));
        let limit = self.max_duration.map(Duration::from_secs);
        let timed = OptionFuture::from(limit.map(|limit| {
            let interrupt = &interrupt;
            async move {
                tokio::select! {
                    () = tokio::time::sleep(limit) => interrupt.raise(),
                    () = interrupt.raised() => {}
                }
            }
        }));
        let (outcome, status, _) = tokio::join!(proxying, commanded, timed);
        (outcome, status.flatten(), signals.code())
    }

    /// The command that judges the recorded traffic again, or without a recording passes the same traffic on once more. The keys that
    /// COMMAND sends are replaced when they are known.
    fn rerun_command(&self, terms: &Terms) -> String {
        if let Some(file) = self.record.as_ref().filter(|file| file.as_os_str() != "-") {
            return terms.rerun_command(std::slice::from_ref(file));
        }
        let mut words = vec!["proxy".to_owned(), "--to".to_owned(), self.to.clone()];
        words.extend(terms.words());
        if let Some(path) = &self.ca_cert {
            words.extend(["--ca-cert".to_owned(), path.display().to_string()]);
        }
        if !self.command.is_empty() {
            words.push("--".to_owned());
            words.extend(self.command.iter().map(|part| part.to_string_lossy().into_owned()));
        }
        shell_command(&terms.program, words)
    }
}

fn described(status: ExitStatus) -> String {
    status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"))
}
