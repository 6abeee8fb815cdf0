//! The options by which recorded traffic is judged.

use std::path::PathBuf;

use animal_store_diagnose::known_failing::KnownFailing;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Scope, Side};

use crate::options::{Judging, Options};
use crate::report::shell_command;

/// The terms on which recorded traffic is judged. A recorded run keeps its own options where no term is given.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The base URL of the service, where an archive has requests to several.
    pub base_url: Option<String>,
    /// The plan of the keys.
    pub plan: Option<Plan>,
    /// The requirements to judge.
    pub scope: Option<Scope>,
    /// The side to judge: the server, its clients, or both; without it, the server.
    pub side: Option<Side>,
    /// Whether a broken inferred requirement is a violation; without it, if only clients are judged.
    pub strict: Option<bool>,
    /// The requirements that are known to fail, and the file that lists them.
    pub known_failing: Option<(KnownFailing, PathBuf)>,
    /// The program, for the rerun command.
    pub program: String,
}

impl Terms {
    /// The terms of judging with those that are given here.
    pub(super) fn over(&self, judging: Judging) -> Judging {
        let side = self.side.unwrap_or(judging.scope.side);
        Judging {
            scope: Scope { side, ..self.scope.clone().unwrap_or(judging.scope) },
            strict: self.strict.unwrap_or(judging.strict),
            plan: self.plan.clone().or(judging.plan),
            known_failing: self.known_failing.as_ref().map_or(judging.known_failing, |(list, _)| list.clone()),
            ..judging
        }
    }

    /// Replaces the options of a run by the terms that are given.
    pub(super) fn apply_to(&self, options: &mut Options) {
        options.judging = self.over(std::mem::take(&mut options.judging));
        if let Some((_, path)) = &self.known_failing {
            let given = &mut options.invoked.given;
            given.retain(|(option, _)| option != "--known-failing");
            given.push(("--known-failing".to_owned(), path.display().to_string()));
        }
    }

    /// The `judge` command, for a POSIX shell, that judges these files by these terms.
    pub fn rerun_command(&self, files: &[PathBuf]) -> String {
        let files = files.iter().map(|file| file.display().to_string());
        shell_command(&self.program, std::iter::once("judge".to_owned()).chain(files).chain(self.words()))
    }

    /// These terms as options of a command: `--side client --strict`.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        if let Some(base_url) = &self.base_url {
            add("--base-url", base_url.clone());
        }
        if let Some(side) = self.side {
            add("--side", side.as_str().to_owned());
        }
        if let Some(plan) = &self.plan {
            add("--plan", plan.to_string());
        }
        if let Some(scope) = &self.scope {
            scope.only.iter().for_each(|only| add("--only", only.clone()));
            scope.skip.iter().for_each(|skip| add("--skip", skip.clone()));
        }
        if let Some((_, path)) = &self.known_failing {
            add("--known-failing", path.display().to_string());
        }
        words.extend(self.strict.map(|strict| if strict { "--strict" } else { "--strict=false" }.to_owned()));
        words
    }
}
