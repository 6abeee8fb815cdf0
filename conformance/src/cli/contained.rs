//! A run against a candidate in a container: it is started before, its log is added when something is wrong, and it is
//! removed whatever happens.

use std::future::Future;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::ExitCode;

use futures_util::FutureExt;

use super::output::exit::COULD_NOT_RUN;
use super::output::say;
use super::report_files::ReportFiles;
use super::run::Invocation;
use crate::container::{Candidate, Image, Running, StartError};
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::redaction::Redactor;
use crate::redaction::{hide_credentials, redactor};
use crate::report::{Report, printable};
use animal_store_rules::verdict::Verdict;

/// What an invocation needs of the candidate that it judges.
pub(super) struct Contained {
    candidate: Candidate,
    image: Image,
    redactor: Redactor,
    running: Option<Running>,
}

/// Judges an image. The container is gone afterwards, also when a panic goes through here.
pub(super) async fn judge(
    invocation: &Invocation,
    options: Options,
    files: &ReportFiles<'_>,
    image: Image,
) -> ExitCode {
    let candidate = match Candidate::prepare().await {
        Ok(candidate) => candidate,
        Err(error) => {
            say(&format!("error: {error}"));
            return ExitCode::from(COULD_NOT_RUN);
        }
    };
    let mut redactor = redactor(&options);
    hide_credentials(&mut redactor, &image.env);
    let contained = Contained { candidate: candidate.clone(), image, redactor, running: None };
    let ended = AssertUnwindSafe(invocation.judge(options, files, Some(contained))).catch_unwind().await;
    removed(candidate).await;
    ended.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Removes a container, or says that it could not.
async fn removed(candidate: Candidate) {
    if let Err(sentence) = candidate.remove().await {
        say(&format!("warning: {sentence}"));
    }
}

impl Contained {
    /// Starts the candidate and waits until it is ready; the base address of its API, or nothing when interrupted.
    pub(super) async fn start(&mut self, interrupt: &Interrupt) -> Result<Option<String>, StartError> {
        let clean = |text: &str| printable(&self.redactor.redact(text));
        let running = tokio::select! {
            () = interrupt.raised() => return Ok(None),
            running = self.candidate.start(&self.image, clean) => running?,
        };
        let base_url = running.base_url.clone();
        self.running = Some(running);
        Ok(Some(base_url))
    }

    /// What must be done before the process may end early.
    pub(super) fn removal(&self) -> impl Future<Output = ()> + Send + 'static {
        removed(self.candidate.clone())
    }

    /// Names the image in a report, and adds the end of the candidate's log when it did not conform.
    pub(super) async fn add_to(&self, report: &mut Report) {
        report.target.image = Some(self.image.name.to_string());
        if report.verdict != Verdict::Conforms {
            report.candidate_log = Some(printable(&self.redactor.redact(&self.candidate.log().await)));
        }
    }

    /// The end of the candidate's log, for a message.
    pub(super) async fn last_words(&self) -> String {
        let log = printable(&self.redactor.redact(&self.candidate.log().await));
        log.lines().fold("  The last lines of its log:".to_owned(), |text, line| text + "\n  | " + line)
    }
}
