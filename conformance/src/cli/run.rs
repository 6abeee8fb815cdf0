//! From arguments to an exit code.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use futures_util::future::OptionFuture;

use super::arguments::Arguments;
use super::contained::{self, Contained};
use super::dry_run;
use super::output::exit::{COULD_NOT_RUN, USAGE};
use super::output::{print, say, usage};
use super::progress::{Talk, Teller};
use super::report_files::ReportFiles;
use super::signals::Signals;
use super::values::{Color, Printed};
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::report::text::Detail;
use crate::report::{self, Report};
use crate::run::judge::{Judge, RunError};
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::Profile;

/// A server that stands in when no target is named.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// Its base address.
    pub base_url: String,
    /// A key for it.
    pub api_key: String,
    /// The plan of the key.
    pub plan: Plan,
}

/// A command line, understood.
#[derive(Debug)]
pub struct Invocation {
    program: String,
    arguments: Arguments,
    embedded: bool,
}

impl Invocation {
    /// What the arguments ask for.
    pub(super) fn new(program: String, arguments: Arguments) -> Invocation {
        Invocation { program, arguments, embedded: false }
    }

    /// Whether a server is named.
    #[must_use]
    pub fn has_target(&self) -> bool {
        self.arguments.base_url.is_some() || self.is_contained()
    }

    /// Whether the server is to be started from a container image, which needs the feature `containers`.
    #[must_use]
    pub fn is_contained(&self) -> bool {
        self.arguments.container.image.is_some()
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.arguments.profile
    }

    /// The plan, if one is named.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.arguments.plan.as_ref()
    }

    /// Judges this server.
    #[must_use]
    pub fn with_target(mut self, embedded: Embedded) -> Invocation {
        self.arguments.base_url = Some(embedded.base_url);
        self.arguments.api_key = Some(embedded.api_key.into());
        self.arguments.quota_key = None;
        self.arguments.plan = Some(embedded.plan);
        self.embedded = true;
        self
    }

    /// Runs the judge, prints and writes what was asked for, and tells the exit code.
    pub async fn run(mut self) -> ExitCode {
        match self.arguments.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        let image = match self.arguments.container.image() {
            Ok(image) => image,
            Err(error) => return usage(&error),
        };
        if let Some(image) = &image {
            // A stand-in: the port is known when the container runs.
            self.arguments.base_url = Some(format!("http://127.0.0.1{}", image.path));
        }
        let mut options = match self.arguments.options() {
            Ok(options) => options,
            Err(error) => return usage(&error),
        };
        options.invoked.program.clone_from(&self.program);
        options.invoked.embedded = self.embedded;
        options.invoked.container = self.arguments.container.told();
        if self.arguments.dry_run {
            let target =
                image.map_or_else(|| options.transport.base_url.clone(), |image| format!("image {}", image.name));
            let _nobody_reads = write!(anstream::stdout(), "{}", dry_run::describe(&options, &target));
            return ExitCode::SUCCESS;
        }
        // Before anything is sent: a verdict that cannot be kept is not worth a key's requests.
        let files = match ReportFiles::check(&self.arguments.report) {
            Ok(files) => files,
            Err(error) => {
                say(&format!("error: {error}"));
                return ExitCode::from(COULD_NOT_RUN);
            }
        };
        match image {
            Some(image) => contained::judge(&self, options, &files, image).await,
            None => self.judge(options, &files, None).await,
        }
    }

    /// Judges with these options; a candidate in a container is started first, and its address taken.
    pub(super) async fn judge(
        &self,
        mut options: Options,
        files: &ReportFiles<'_>,
        mut contained: Option<Contained>,
    ) -> ExitCode {
        let (teller, interrupt) = (Arc::new(Teller::begin(self.talk())), Interrupt::default());
        let (tells, hears) = (Arc::clone(&teller), Arc::clone(&teller));
        let removal = contained.as_ref().map(Contained::removal);
        let last = async { OptionFuture::from(removal).await.unwrap_or_default() };
        let signals = Signals::watch(interrupt.clone(), move || tells.interrupted(), last);
        let interrupted = |code: ExitCode| signals.code().map_or(code, ExitCode::from);
        if let Some(contained) = &mut contained {
            match contained.start(&interrupt).await {
                Ok(Some(base_url)) => options.transport.base_url = base_url,
                Ok(None) => return interrupted(ExitCode::from(COULD_NOT_RUN)),
                Err(error) => {
                    teller.end();
                    say(&format!("error: {error}"));
                    return ExitCode::from(COULD_NOT_RUN);
                }
            }
        }
        let judge = Judge::new(options).listener(move |event| hears.tell(event)).interrupted_by(interrupt);
        let outcome = judge.run().await;
        teller.end();
        interrupted(match outcome {
            Ok(mut report) => {
                if let Some(contained) = &contained {
                    contained.add_to(&mut report).await;
                }
                self.deliver(&report, files)
            }
            Err(error) => {
                say(&format!("error: {error}"));
                if let Some(contained) = &contained {
                    say(&contained.last_words().await);
                }
                ExitCode::from(if matches!(error, RunError::Client(_)) { USAGE } else { COULD_NOT_RUN })
            }
        })
    }

    /// How much is told while the run goes on.
    fn talk(&self) -> Talk {
        match self.arguments.format {
            _ if self.arguments.quiet => Talk::Nothing,
            _ if self.arguments.verbose => Talk::Exchanges,
            Printed::Text => Talk::Probes,
            // A program reads: nothing but the report, also where both streams go to one place.
            Printed::Report(_) => Talk::LiveOnly,
        }
    }

    fn deliver(&self, report: &Report, files: &ReportFiles<'_>) -> ExitCode {
        let detail = match (self.arguments.quiet, self.arguments.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        };
        let text = match self.arguments.format {
            Printed::Text => report::text::render(report, detail, columns()),
            Printed::Report(format) => (format.render)(report),
        };
        let code = print(&text, ExitCode::from(report.verdict.exit_code()));
        let missing = files.write(report);
        missing.iter().for_each(|problem| say(&format!("error: {problem}")));
        if missing.is_empty() { code } else { ExitCode::from(COULD_NOT_RUN) }
    }
}

/// How wide the terminal is, up to what is still easy to read; what reads the output elsewhere gets the classical width.
fn columns() -> usize {
    const CLASSICAL: usize = 80;
    const WIDEST: usize = 100;
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(CLASSICAL, |(width, _)| usize::from(width.0).min(WIDEST))
}
