//! `--image` in a program that was built without the feature `containers`.

use std::convert::Infallible;

use super::output::usage;
use super::usage_error::UsageError;
use crate::container::Image;
use crate::exit_code::ExitCode;
use animal_store_conformance::Interrupt;
use animal_store_conformance::Options;
use animal_store_conformance::report::Report;

/// The container of a run: there is never one.
pub(super) struct ImageRun(Infallible);

impl ImageRun {
    /// The exit code, after an error message with the way to build a program that runs images.
    #[expect(clippy::unused_async, reason = "with the feature, it waits for an engine")]
    pub(super) async fn prepare(_: &Options, _: Image) -> Result<ImageRun, ExitCode> {
        Err(usage(&UsageError::NoContainers))
    }

    pub(super) async fn start(&mut self, _: &Interrupt) -> Result<Option<String>, Infallible> {
        match self.0 {}
    }

    pub(super) fn removal(&self) -> std::future::Ready<()> {
        match self.0 {}
    }

    pub(super) async fn add_to(&self, _: &mut Report) {
        match self.0 {}
    }

    pub(super) async fn log_tail(&self) -> String {
        match self.0 {}
    }
}
