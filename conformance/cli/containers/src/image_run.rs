//! A run against a container image: the container is started before the run, its log is added to a report that needs it, and
//! it is removed whatever happens.

use std::pin::pin;

use animal_store_conform::image::{Container, Image};
use animal_store_conformance::redaction::{HIDDEN, Redactor, printable, redactor};
use animal_store_conformance::report::Report;
use animal_store_conformance::{Interrupt, Options, Verdict};
use animal_store_secrets::{LEAST_SECRET, is_credential};

use crate::candidate::{Candidate, Running, StartError};

/// The container of a run.
pub(crate) struct ImageRun {
    candidate: Candidate,
    image: Image,
    redactor: Redactor,
    running: Option<Running>,
}

impl Container for ImageRun {
    async fn prepare(options: &Options, image: Image) -> Result<ImageRun, String> {
        let candidate = Candidate::prepare().await.map_err(|error| error.to_string())?;
        let mut redactor = redactor(options);
        hide_credentials(&mut redactor, &image.env);
        Ok(ImageRun { candidate, image, redactor, running: None })
    }

    async fn start(&mut self, interrupt: &Interrupt) -> Result<Option<String>, String> {
        self.run_until_ready(interrupt).await.map_err(|error| error.to_string())
    }

    fn removal(&self) -> impl Future<Output = Result<(), String>> + Send + 'static {
        let candidate = self.candidate.clone();
        async move { candidate.remove().await }
    }

    async fn add_to(&self, report: &mut Report) {
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

    async fn log_tail(&self) -> String {
        let log = printable(&self.redactor.redact(&self.candidate.log().await));
        log.lines().fold("  The last lines of its log:".to_owned(), |text, line| text + "\n  | " + line)
    }
}

impl ImageRun {
    /// Starts the container and waits until it is ready. Returns the base URL of its API, or `None` when interrupted.
    async fn run_until_ready(&mut self, interrupt: &Interrupt) -> Result<Option<String>, StartError> {
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
}

/// Hides the values of variables whose names indicate a credential.
fn hide_credentials(redactor: &mut Redactor, variables: &[(String, String)]) {
    for (name, value) in variables {
        if value.len() >= LEAST_SECRET && is_credential(name) {
            redactor.hide(value, HIDDEN);
        }
    }
}
