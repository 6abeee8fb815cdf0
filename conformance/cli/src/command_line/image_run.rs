//! A run against a container image: the container is started before the run, its log is added to a report that needs it, and
//! it is removed whatever happens.

use std::future::Future;
use std::pin::pin;

use super::output::{could_not_run, say};
use crate::container::{Candidate, Image, Running, StartError};
use crate::exit_code::ExitCode;
use animal_store_conformance::Interrupt;
use animal_store_conformance::Options;
use animal_store_conformance::redaction::{HIDDEN, Redactor, printable, redactor};
use animal_store_conformance::report::Report;
use animal_store_rules::secrets::{LEAST_SECRET, is_credential};
use animal_store_rules::verdict::Verdict;

/// The container of a run.
pub(super) struct ImageRun {
    candidate: Candidate,
    image: Image,
    redactor: Redactor,
    running: Option<Running>,
}

impl ImageRun {
    /// Finds a container engine. Without one, prints an error message and returns the exit code.
    pub(super) async fn prepare(options: &Options, image: Image) -> Result<ImageRun, ExitCode> {
        let candidate = Candidate::prepare().await.map_err(|error| could_not_run(&error))?;
        let mut redactor = redactor(options);
        hide_credentials(&mut redactor, &image.env);
        Ok(ImageRun { candidate, image, redactor, running: None })
    }

    /// Starts the container, waits until it is ready, and returns the base URL of its API, or `None` when interrupted.
    pub(super) async fn start(&mut self, interrupt: &Interrupt) -> Result<Option<String>, StartError> {
        let clean = |text: &str| printable(&self.redactor.redact(text));
        let mut creation = pin!(self.candidate.create(&self.image, clean));
        let created = tokio::select! {
            () = interrupt.raised() => {
                // A pull may take minutes and ends with its request; a container that is being created is waited for.
                if self.candidate.has(&self.image.name).await {
                    drop(creation.await);
                }
                return Ok(None);
            }
            created = &mut creation => created?,
        };
        let running = tokio::select! {
            () = interrupt.raised() => return Ok(None),
            running = self.candidate.wait(created, &self.image, clean) => running?,
        };
        let base_url = running.base_url.clone();
        self.running = Some(running);
        Ok(Some(base_url))
    }

    /// Removes the container, or prints a warning. It does not borrow `self`.
    pub(super) fn removal(&self) -> impl Future<Output = ()> + Send + 'static {
        let candidate = self.candidate.clone();
        async move {
            if let Err(warning) = candidate.remove().await {
                say(format!("warning: {warning}"));
            }
        }
    }

    /// Names the image in a report, and adds the end of the container's log unless the verdict is `conforms`.
    pub(super) async fn add_to(&self, report: &mut Report) {
        report.target.image = Some(self.image.name.to_string());
        let mut learnt = self.candidate.identity(&self.image.name).await;
        for text in [&mut learnt.name, &mut learnt.version].into_iter().flatten() {
            *text = printable(&self.redactor.redact(text));
        }
        let given = std::mem::take(&mut report.target.implementation);
        report.target.implementation = given.or(learnt);
        if report.verdict != Verdict::Conforms {
            report.candidate_log = Some(printable(&self.redactor.redact(&self.candidate.log().await)));
        }
    }

    /// The end of the container's log, for a message.
    pub(super) async fn log_tail(&self) -> String {
        let log = printable(&self.redactor.redact(&self.candidate.log().await));
        log.lines().fold("  The last lines of its log:".to_owned(), |text, line| text + "\n  | " + line)
    }
}

/// Hides the values of variables whose names indicate a credential.
fn hide_credentials(redactor: &mut Redactor, variables: &[(String, String)]) {
    for (name, value) in variables {
        if value.len() >= LEAST_SECRET && is_credential(name) {
            redactor.hide(value, HIDDEN);
        }
    }
}
