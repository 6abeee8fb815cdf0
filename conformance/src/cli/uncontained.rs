//! `--image` in a program that was built without the feature for it.

use std::convert::Infallible;
use std::process::ExitCode;

use super::output::usage;
use super::report_files::ReportFiles;
use super::run::Invocation;
use super::to_options::UsageError;
use crate::container::Image;
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::report::Report;

/// There is none.
pub(super) struct Contained(Infallible);

/// Says how to get a program that can.
#[expect(clippy::unused_async, reason = "the other one waits for an engine")]
pub(super) async fn judge(_: &Invocation, _: Options, _: &ReportFiles<'_>, _: Image) -> ExitCode {
    usage(&UsageError::NoContainers)
}

impl Contained {
    pub(super) async fn start(&mut self, _: &Interrupt) -> Result<Option<String>, Infallible> {
        match self.0 {}
    }

    pub(super) fn removal(&self) -> std::future::Ready<()> {
        match self.0 {}
    }

    pub(super) async fn add_to(&self, _: &mut Report) {
        match self.0 {}
    }

    pub(super) async fn last_words(&self) -> String {
        match self.0 {}
    }
}
