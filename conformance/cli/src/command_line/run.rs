//! From arguments to an exit code.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::OptionFuture;

use super::arguments::Arguments;
use super::config::ShownOptions;
use super::delivery::deliver;
use super::output::{could_not_run, say, usage};
use super::progress::{Progress, Verbosity};
use super::report_files::ReportFiles;
use super::signals::Signals;
use super::usage_error::UsageError;
use super::values::Printed;
use super::{dry_run, known_failing};
use crate::exit_code::ExitCode;
use crate::image::{Container, Prepare};
use animal_store_conformance::http::Clock;
use animal_store_conformance::{Interrupt, Judge, Options, RunError};
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;

/// The server to judge when no target is named.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// The base URL of the server.
    pub base_url: String,
    /// A key for it.
    pub api_key: String,
    /// The plan of the key.
    pub plan: Plan,
    /// The name and the version of the implementation.
    pub implementation: (String, String),
    /// The clock that the server shares with the judge.
    pub clock: Clock,
}

/// A parsed command line.
#[derive(Debug)]
pub struct Invocation {
    pub(super) program: String,
    pub(super) arguments: Arguments,
    /// The options with their sources, for a dry run.
    pub(super) shown: Option<ShownOptions>,
    /// The clock of an embedded server.
    pub(super) clock: Option<Clock>,
}

impl Invocation {
    /// Returns true if the command line names a target.
    pub fn has_target(&self) -> bool {
        self.arguments.base_url.is_some() || self.judges_an_image()
    }

    /// Returns true if the target is a container image to start, which only a program with [`Prepare`] does.
    pub fn judges_an_image(&self) -> bool {
        self.arguments.container.image.is_some()
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.arguments.profile
    }

    /// The plan, if one is named.
    pub fn plan(&self) -> Option<&Plan> {
        self.arguments.plan.as_ref()
    }

    /// Judges this server.
    #[must_use]
    pub fn with_target(mut self, embedded: Embedded) -> Invocation {
        let (name, version) = embedded.implementation;
        self.arguments.implementation.get_or_insert(name);
        self.arguments.implementation_version.get_or_insert(version);
        self.arguments.base_url = Some(embedded.base_url);
        self.arguments.api_key = ApiKey::new(embedded.api_key).ok();
        self.arguments.exclusive_key = true;
        self.arguments.quota_key = None;
        self.arguments.plan = Some(embedded.plan);
        self.clock = Some(embedded.clock);
        self
    }

    /// Runs the judge, prints the output and writes the report files, and returns the exit code.
    pub async fn run(self) -> ExitCode {
        self.run_with(None).await.unwrap_or_else(|code| code)
    }

    /// [`Invocation::run`] in a program that starts containers if it can prepare them.
    pub(super) async fn run_with(mut self, prepare: Option<Prepare>) -> Result<ExitCode, ExitCode> {
        self.arguments.color.apply();
        let image = self.arguments.container.image().map_err(|error| self.refuse(&error))?;
        if let Some(image) = &image {
            // A placeholder: the port is known once the container runs.
            self.arguments.base_url = Some(format!("http://127.0.0.1{}", image.path));
        }
        let mut options = self.arguments.options().map_err(|error| self.refuse(&error))?;
        options.invoked.program.clone_from(&self.program);
        options.invoked.embedded = self.clock.is_some();
        if let Some(shown) = &self.shown {
            let target = image.map_or_else(|| dry_run::target(&options), |image| format!("image {}", image.name));
            return Ok(dry_run::show(shown, &options, &target, self.arguments.format));
        }
        // The files are checked before anything is sent: without a report, the requests would be wasted.
        let files = ReportFiles::check(&self.arguments.report, self.arguments.record.as_deref());
        let files = files.map_err(|error| could_not_run(&error))?;
        let Some(image) = image else { return Ok(Box::pin(self.judge(options, &files, None)).await) };
        let Some(prepare) = prepare else { return Err(usage(&UsageError::NoContainers)) };
        let container = prepare(&options, image).await.map_err(|error| could_not_run(&error))?;
        let removal = remove(container.as_ref());
        // The container is removed also when the judge panics.
        let ended = AssertUnwindSafe(Box::pin(self.judge(options, &files, Some(container)))).catch_unwind().await;
        removal.await;
        Ok(ended.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Judges with these options. The container of an image run is started first, and its address judged.
    async fn judge(
        &self,
        mut options: Options,
        files: &ReportFiles<'_>,
        mut container: Option<Box<dyn Container>>,
    ) -> ExitCode {
        let verbosity = match self.arguments.format {
            _ if self.arguments.quiet => Verbosity::Silent,
            _ if self.arguments.verbose => Verbosity::Exchanges,
            Printed::Text => Verbosity::Probes,
            // Standard output is for a program: nothing but the report, also where both streams go to one place.
            Printed::Report(_) => Verbosity::LiveOnly,
        };
        let (progress, interrupt) = (Arc::new(Progress::begin(verbosity)), Interrupt::default());
        let (at_signal, listener) = (Arc::clone(&progress), Arc::clone(&progress));
        let removal = container.as_deref().map(remove);
        let last = async { OptionFuture::from(removal).await.unwrap_or_default() };
        let signals = Signals::watch(interrupt.clone(), move || at_signal.interrupted(), last);
        let unless_interrupted = |code: ExitCode| signals.code().unwrap_or(code);
        if let Some(container) = &mut container {
            match container.start(&interrupt).await {
                Ok(Some(base_url)) => options.transport.base_url = base_url,
                Ok(None) => return unless_interrupted(ExitCode::CouldNotRun),
                Err(error) => {
                    progress.end();
                    return could_not_run(&error);
                }
            }
        }
        let listed = options.judging.known_failing.clone();
        let (clock, begun) = (self.clock.clone().unwrap_or_default(), Instant::now());
        let is_simulated = clock.is_simulated();
        let judge =
            Judge::new(options).clock(clock).listener(move |event| listener.show(event)).interrupted_by(interrupt);
        let outcome = if files.want_trace() {
            judge.run_and_record().await.map(|(report, trace)| (report, files.write_trace(&trace)))
        } else {
            judge.run().await.map(|report| (report, None))
        };
        progress.end();
        unless_interrupted(match outcome {
            Ok((mut report, unwritten)) => {
                if is_simulated {
                    report.real_duration_ms = u64::try_from(begun.elapsed().as_millis()).ok();
                }
                if let Some(container) = &container {
                    container.add_to(&mut report).await;
                }
                let Arguments { format, quiet, verbose, .. } = self.arguments;
                let mut code = deliver(&report, format, (quiet, verbose), files);
                if let Some(path) = &self.arguments.write_known_failing {
                    let list = self.arguments.known_failing.as_deref();
                    match known_failing::update(path, list, &report, &listed) {
                        Ok(changes) => say(changes),
                        Err(problem) => code = could_not_run(&problem),
                    }
                }
                unwritten.map_or(code, |problem| could_not_run(&problem))
            }
            Err(error) => {
                // A report on an earlier run must not be taken for a report on this run.
                files.remove_earlier(self.arguments.rerun.as_deref());
                let is_usage =
                    matches!(error, RunError::Client(_) | RunError::NothingSelected | RunError::AnotherPlan(_));
                let code = if is_usage { usage(&error) } else { could_not_run(&error) };
                if let Some(container) = &container {
                    say(container.log_tail().await);
                }
                code
            }
        })
    }

    /// Prints an error in the options, and returns the exit code.
    fn refuse(&self, error: &UsageError) -> ExitCode {
        dry_run::refuse(self.shown.as_ref(), self.arguments.format, error)
    }
}

/// Removes a container, or prints a warning. The future does not borrow the container.
fn remove(container: &dyn Container) -> impl Future<Output = ()> + Send + use<> {
    let removal = container.removal();
    async move {
        if let Err(problem) = removal.await {
            say(format!("warning: {problem}"));
        }
    }
}
