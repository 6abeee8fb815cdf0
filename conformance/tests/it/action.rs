//! The steps of the GitHub action, run as a runner runs them, and the examples for other CI systems.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use animal_store_conform::command;
use animal_store_conformance::Report;
use tempfile::TempDir;
use tokio::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::text;
use crate::faults::Fault;
use crate::support::{read, root};

/// A YAML file of the repository.
fn yaml(name: &str) -> Yaml {
    let documents = YamlLoader::load_from_str(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    documents.into_iter().next().expect("a document")
}

/// The names of the members of a mapping.
fn names(mapping: &Yaml) -> Vec<String> {
    let names = mapping.as_hash().expect("a mapping").keys().map(|name| name.as_str().expect("a name").to_owned());
    names.collect()
}

/// The step that judges, in a workspace of its own.
struct Step {
    workspace: TempDir,
    runner: TempDir,
    command: Command,
}

/// What the step left.
struct Left {
    output: Output,
    outputs: BTreeMap<String, String>,
    summary: String,
    _runner: TempDir,
    workspace: TempDir,
}

impl Step {
    /// Every input is a variable, and those that were not given are empty.
    fn new() -> Step {
        let (workspace, runner) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CONFORM_")) {
            command.env_remove(name);
        }
        command
            .arg(root().join(".ci/action"))
            .arg("judge")
            .current_dir(workspace.path())
            .envs(inputs().into_iter().map(|input| (variable(&input), "")))
            .env("INPUT_BINARY", env!("CARGO_BIN_EXE_conform"))
            .env("RUNNER_TEMP", runner.path())
            .env("GITHUB_OUTPUT", runner.path().join("outputs"))
            .env("GITHUB_STEP_SUMMARY", runner.path().join("summary"));
        Step { workspace, runner, command }
    }

    /// A step that judges this server, except for what exhausts its key.
    fn functional(candidate: &Candidate) -> Step {
        let step = Step::new().variable("CONFORM_UNIX_SOCKET", &socket_of(candidate));
        step.input("base-url", &candidate.base_url).input("api-key", KEY).input("profile", "functional")
    }

    /// A step in a repository with this `conform.toml`, whose environment `staging` is this server.
    fn configured(candidate: &Candidate, settings: &str) -> Step {
        let step = Step::new().variable("STAGING_KEY", KEY);
        let environment = format!(
            "[environments.staging]\nbase_url = \"{}\"\nunix_socket = \"{}\"\napi_key_env = \"STAGING_KEY\"\n",
            candidate.base_url,
            socket_of(candidate)
        );
        std::fs::write(step.workspace.path().join("conform.toml"), format!("{settings}\n{environment}"))
            .expect("a file");
        step
    }

    fn input(self, name: &str, value: &str) -> Step {
        self.variable(&variable(name), value)
    }

    fn variable(mut self, name: &str, value: &str) -> Step {
        self.command.env(name, value);
        self
    }

    async fn run(mut self) -> Left {
        let output = self.command.output().await.expect("bash starts");
        let read = |name: &str| std::fs::read_to_string(self.runner.path().join(name)).unwrap_or_default();
        let outputs: BTreeMap<String, String> = read("outputs")
            .lines()
            .map(|line| line.split_once('=').expect("a name and a value"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (name, value) in outputs.iter().filter(|(name, _)| *name != "verdict") {
            assert!(Path::new(value).exists(), "the output {name} names {value}, which does not exist");
        }
        Left { output, outputs, summary: read("summary"), _runner: self.runner, workspace: self.workspace }
    }
}

impl Left {
    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn printed(&self) -> String {
        text(&self.output.stdout) + &text(&self.output.stderr)
    }

    fn report(&self) -> Report {
        let path = self.outputs.get("report").unwrap_or_else(|| panic!("no report:\n{}", self.printed()));
        serde_json::from_str(&std::fs::read_to_string(path).expect("a report")).expect("a JSON report")
    }
}

fn socket_of(candidate: &Candidate) -> String {
    candidate.own_socket().expect("a socket").display().to_string()
}

/// The names of the inputs in `action.yml`.
fn inputs() -> Vec<String> {
    names(&yaml("action.yml")["inputs"])
}

/// The variable that an input reaches the script in.
fn variable(input: &str) -> String {
    format!("INPUT_{}", input.replace('-', "_").to_uppercase())
}

#[tokio::test]
async fn the_action_reports_a_good_verdict_in_outputs_summary_and_exit_code() {
    let candidate = Candidate::start(Nature::default()).await;
    let left = Step::functional(&candidate).input("html", "page.html").run().await;
    assert_eq!(left.code(), Some(0), "{}", left.printed());
    assert_eq!(left.outputs["verdict"], "conforms");
    let named: Vec<&str> = left.outputs.keys().map(String::as_str).collect();
    assert_eq!(named, ["html", "junit", "markdown", "report", "reports", "verdict"]);
    let names = std::fs::read_dir(&left.outputs["reports"]).expect("a folder").count();
    assert_eq!(names, 4, "the folder contains the reports and nothing else");
    assert!(left.summary.to_lowercase().contains("conforms"), "{}", left.summary);
    assert!(left.workspace.path().join("page.html").exists());
    let printed = left.printed();
    assert!(!printed.contains("::error"), "{printed}");
    let (run, report) = printed.split_once("\n::endgroup::\n").expect("a group");
    assert!(run.starts_with("::group::Run\n") && report.contains("CONFORMS"), "the verdict is not folded:\n{printed}");
}

#[tokio::test]
async fn the_action_annotates_what_is_broken_outside_of_what_a_server_says() {
    let candidate = Candidate::start(Nature { fault: Some(Fault::TakesSuffixes), ..Nature::default() }).await;
    let left = Step::functional(&candidate).run().await;
    assert_eq!(left.code(), Some(1), "{}", left.printed());
    assert!(left.outputs["verdict"] == "violates" && left.summary.contains("auth.exact-key"), "{}", left.summary);
    // What the judge prints, in the group and after it, stands between a token and its repetition.
    let printed = text(&left.output.stdout);
    let (mut outside, mut token) = (String::new(), None);
    for line in printed.lines() {
        match (&token, line.strip_prefix("::stop-commands::")) {
            (None, Some(new)) => token = Some(format!("::{new}::")),
            (Some(end), _) if line == end => token = None,
            (None, None) => outside.push_str(&format!("{line}\n")),
            (Some(_), _) => {}
        }
    }
    assert_eq!(token, None, "{printed}");
    let commands = outside.strip_prefix("::group::Run\n::endgroup::\n").expect("a group");
    assert!(commands.starts_with("::error title=auth.exact-key"), "{commands}");
    assert!(commands.lines().all(|line| line.starts_with("::")), "{commands}");
    assert!(printed.contains("✗ auth.exact-key"), "{printed}");
}

#[tokio::test]
async fn the_action_says_so_when_there_is_no_verdict() {
    let step = Step::new().input("base-url", "http://127.0.0.1:1/v1").input("api-key", KEY).input("wait", "0");
    // A report of an earlier run in the same job.
    let stale = step.runner.path().join("conformance/reports");
    std::fs::create_dir_all(&stale).expect("a folder");
    std::fs::write(stale.join("conform.json"), "{\n  \"verdict\": \"conforms\",\n}\n").expect("a file");
    let left = step.run().await;
    assert_eq!((left.code(), left.summary.as_str()), (Some(3), ""));
    assert_eq!(left.outputs, BTreeMap::from([("verdict".to_owned(), "could-not-run".to_owned())]));
    let printed = left.printed();
    let (_, after) = printed.split_once("::endgroup::").expect("a group");
    assert!(
        after.contains("::error title=") && after.contains("http://127.0.0.1:1/v1"),
        "the reason is folded:\n{printed}"
    );
    let annotation = after.lines().find(|line| line.starts_with("::error ")).expect("an annotation");
    assert!(
        annotation.contains("::no verdict, exit code 3: error: cannot connect to http://127.0.0.1:1/v1"),
        "{annotation}"
    );
    assert!(annotation.contains("%0A") && !annotation.contains("the log"), "{annotation}");
}

#[tokio::test]
async fn a_runner_without_a_summary_gets_the_verdict_all_the_same() {
    let candidate = Candidate::start(Nature::default()).await;
    let mut step = Step::functional(&candidate);
    step.command.env_remove("GITHUB_STEP_SUMMARY");
    let left = step.run().await;
    assert_eq!((left.code(), left.outputs["verdict"].as_str()), (Some(0), "conforms"), "{}", left.printed());
}

#[tokio::test]
async fn the_settings_of_a_repository_hold_where_no_input_is_given() {
    let candidate = Candidate::start(Nature::default()).await;
    let settings =
        "strict = true\nprofile = \"read-only\"\nonly = [\"auth\", \"list\"]\nskip = [\"list.complete\"]\nwait = 5";
    let report = Step::configured(&candidate, settings).input("env", "staging").run().await.report();
    assert!(report.strict && report.profile.as_str() == "read-only" && report.created == 0);
    assert!(
        report.requirements.iter().all(|requirement| !requirement.selected || requirement.id.starts_with(['a', 'l']))
    );
    assert!(report.rerun_command.contains(" --wait 5 "), "{}", report.rerun_command);
}

#[tokio::test]
async fn an_input_overrides_the_file_and_a_variable_of_the_job_holds_where_no_input_is_given() {
    let candidate = Candidate::start(Nature::default()).await;
    let settings = "env = \"staging\"\nprofile = \"read-only\"\nstrict = true\nonly = [\"auth\"]";
    let step = Step::configured(&candidate, settings).input("strict", "false").variable("CONFORM_ONLY", "errors");
    let left = step.input("profile", "functional").input("category-id", "7").run().await;
    let report = left.report();
    assert!(!report.strict && report.profile.as_str() == "functional", "{}", left.printed());
    let selected = |prefix: &str| report.requirements.iter().any(|r| r.selected && r.id.starts_with(prefix));
    assert!(selected("errors") && !selected("auth"));
    assert!(report.rerun_command.contains(" --category-id 7 "), "{}", report.rerun_command);
    assert!(report.rerun_command.contains(" --wait 60 "), "nothing else sets it: {}", report.rerun_command);
}

#[tokio::test]
async fn further_arguments_are_split_as_in_a_shell_and_not_expanded() {
    let candidate = Candidate::start(Nature::default()).await;
    let args = "--only 'auth' --implementation \"$(id) * `id`\"\n --wait=4 --category-id 3";
    let report = Step::functional(&candidate).input("args", args).run().await.report();
    for option in [" --only auth ", " --implementation '$(id) * `id`' ", " --wait 4 ", " --category-id 3 "] {
        assert!(report.rerun_command.contains(option), "{option}: {}", report.rerun_command);
    }
    let left = Step::functional(&candidate).input("args", "--only 'auth").run().await;
    assert_eq!((left.code(), left.outputs["verdict"].as_str()), (Some(2), "could-not-run"));
}

#[tokio::test]
async fn a_step_that_judges_nothing_is_never_green() {
    let candidate = Candidate::start(Nature::default()).await;
    for step in [
        Step::functional(&candidate).input("args", "--dry-run"),
        Step::functional(&candidate).input("args", "--help"),
        Step::functional(&candidate).variable("CONFORM_DRY_RUN", "true"),
        Step::configured(&candidate, "env = \"staging\"\ndry_run = true"),
    ] {
        let left = step.run().await;
        assert_eq!((left.code(), left.outputs["verdict"].as_str()), (Some(3), "could-not-run"), "{}", left.printed());
        assert!(left.printed().contains("::error title="), "{}", left.printed());
    }
}

/// A folder of releases, with a release v1.2.3 for this machine, and the step that downloads from it.
struct Releases {
    folder: TempDir,
}

impl Releases {
    /// Archives, as `cargo xtask dist` packs them, for every machine that the test may run on.
    fn new() -> Releases {
        let releases = Releases { folder: tempfile::tempdir().expect("a folder") };
        let script = "mkdir -p acme/judge/releases/download/v1.2.3; cd acme/judge/releases/download/v1.2.3
            for target in {x86_64,aarch64}-{unknown-linux-gnu,apple-darwin}; do
                name=conform-1.2.3-$target
                mkdir \"$name\"; echo \"echo $target\" >\"$name/conform\"; chmod +x \"$name/conform\"
                tar -czf \"$name.tar.gz\" \"$name\"; rm -r \"$name\"
            done
            { sha256sum -- * || shasum -a 256 -- *; } >../sums 2>/dev/null; mv ../sums SHA256SUMS";
        let mut command = std::process::Command::new("bash");
        assert!(command.args(["-ec", script]).current_dir(releases.folder.path()).status().expect("bash").success());
        releases
    }

    /// The output of the step for a tag or a branch, and the program that it installed.
    fn download(&self, reference: &str) -> (Output, Option<String>) {
        let path = self.folder.path();
        let mut command = std::process::Command::new("bash");
        command.arg(root().join(".ci/action")).arg("download").env("RUNNER_TEMP", path.join("runner"));
        command.env("GITHUB_OUTPUT", path.join("outputs")).env("ACTION_REF", reference);
        command.env("GITHUB_SERVER_URL", format!("file://{}", path.display())).env("ACTION_REPOSITORY", "acme/judge");
        let output = command.output().expect("bash starts");
        let found = std::fs::read_to_string(path.join("outputs")).is_ok_and(|text| text == "found=true\n");
        let program = std::fs::read_to_string(path.join("runner/animal-store-conform/bin/conform")).ok();
        assert_eq!(found, program.is_some(), "{output:?}");
        (output, program)
    }
}

#[test]
fn the_program_of_the_actions_own_tag_is_downloaded_and_anything_else_is_built() {
    let releases = Releases::new();
    for reference in ["main", "", "v1", "v1.2.4", "0123456789abcdef0123456789abcdef01234567"] {
        let (output, program) = releases.download(reference);
        assert!(output.status.success() && program.is_none(), "{reference}: {output:?}");
    }
    let (output, program) = releases.download("v1.2.3");
    assert!(output.status.success(), "{output:?}");
    let machine = std::env::consts::ARCH;
    assert!(program.is_some_and(|program| program.starts_with(&format!("echo {machine}-"))), "{output:?}");
}

#[test]
fn a_download_that_differs_from_its_checksum_ends_the_action() {
    let releases = Releases::new();
    let sums = releases.folder.path().join("acme/judge/releases/download/v1.2.3/SHA256SUMS");
    let lines = std::fs::read_to_string(&sums).expect("checksums");
    let wrong = lines.lines().filter_map(|line| Some(format!("{}{}\n", "0".repeat(64), line.get(64..)?)));
    std::fs::write(&sums, wrong.collect::<String>()).expect("a file");
    let (output, program) = releases.download("v1.2.3");
    assert!(output.status.code() == Some(3) && program.is_none(), "{output:?}");
}

#[tokio::test]
async fn the_program_is_cached_by_the_source_that_it_is_built_from() {
    let source = tempfile::tempdir().expect("a folder");
    for name in [".ci/action", "Cargo.toml", "Cargo.lock", "conformance/src/a.rs", "fixtures/b", "snapshots/c"] {
        let path = source.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, if name == ".ci/action" { read(name) } else { name.to_owned() }).expect("a file");
    }
    let key = async || {
        let outputs = source.path().join("outputs");
        let _not_there = std::fs::remove_file(&outputs);
        let mut command = Command::new("bash");
        command.arg(source.path().join(".ci/action")).arg("key").current_dir(std::env::temp_dir());
        command.env("RUNNER_TEMP", source.path()).env("GITHUB_OUTPUT", &outputs);
        assert!(command.status().await.expect("bash starts").success());
        std::fs::read_to_string(outputs).expect("outputs")
    };
    let first = key().await;
    assert!(first.starts_with("key=") && first.trim_end().len() > 40, "{first}");
    assert_eq!(key().await, first);
    std::fs::write(source.path().join("conformance/src/a.rs"), "changed").expect("a file");
    let second = key().await;
    assert_ne!(second, first);
    std::fs::rename(source.path().join("fixtures/b"), source.path().join("fixtures/d")).expect("a file");
    assert_ne!(key().await, second);
}

#[tokio::test]
async fn a_build_installs_the_toolchain_that_the_source_names_first() {
    let source = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(source.path().join(".ci")).expect("a folder");
    for name in [".ci/action", "rust-toolchain.toml"] {
        std::fs::write(source.path().join(name), read(name)).expect("a file");
    }
    let programs = tempfile::tempdir().expect("a folder");
    for name in ["rustup", "cargo"] {
        let program = programs.path().join(name);
        std::fs::write(&program, "#!/bin/sh\necho \"$(basename \"$0\") $*\"\n").expect("a file");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.arg(source.path().join(".ci/action")).arg("build").current_dir(std::env::temp_dir());
    let output = command.env("RUNNER_TEMP", source.path()).env("PATH", path).output().await.expect("bash starts");
    let (printed, toolchain) = (text(&output.stdout), read("rust-toolchain.toml"));
    let lines: Vec<&str> = printed.lines().filter(|line| !line.starts_with("::")).collect();
    let [first, second] = lines[..] else { panic!("{printed}{}", text(&output.stderr)) };
    let channel = first.strip_prefix("rustup toolchain install ").and_then(|rest| rest.split(' ').next());
    assert!(channel.is_some_and(|name| toolchain.contains(&format!("channel = \"{name}\""))), "{first}: {toolchain}");
    assert!(second.starts_with("cargo install --path conformance/cli --locked "), "{second}");
}

#[test]
fn the_inputs_of_the_action_have_no_defaults_and_all_reach_the_script() {
    let (action, script) = (yaml("action.yml"), read(".ci/action"));
    let steps = action["runs"]["steps"].as_vec().expect("steps");
    let judge = steps.last().expect("a step");
    assert_eq!(names(&judge["env"]).len(), inputs().len());
    for input in inputs() {
        let default = &action["inputs"][input.as_str()]["default"];
        assert!(default.is_badvalue(), "the default of {input} would override the conform.toml of a repository");
        let variable = variable(&input);
        let value = judge["env"][variable.as_str()].as_str();
        assert_eq!(value, Some(format!("${{{{ inputs.{input} }}}}").as_str()), "{variable}");
        let name = variable.trim_start_matches("INPUT_");
        assert!(script.contains(&variable) || script.contains(&format!(" {name}")), "{input} is not read");
    }
}

#[test]
fn the_action_and_the_examples_name_only_options_that_exist() {
    let definition = command();
    let options: Vec<&str> = definition.get_arguments().filter_map(clap::Arg::get_long).collect();
    let variables = options.iter().map(|option| format!("CONFORM_{}", option.replace('-', "_").to_uppercase()));
    let variables: Vec<String> = variables.collect();
    for name in ["action.yml", ".ci/action", "fixtures/ci/gitlab.yml", "fixtures/ci/kubernetes-job.yaml"] {
        let file = read(name);
        let words = file.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        for variable in words.filter(|word| word.starts_with("CONFORM_") && *word != "CONFORM_") {
            assert!(variables.iter().any(|known| known == variable), "{name}: {variable}");
        }
        let judging = file.split("/conform ").skip(1).filter_map(|rest| rest.lines().next());
        for option in judging.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix("--")) {
            let option = option.split('=').next().unwrap_or_default();
            assert!(options.contains(&option), "{name}: --{option}");
        }
    }
}

#[test]
fn the_arguments_of_the_kubernetes_job_are_accepted() {
    let job = yaml("fixtures/ci/kubernetes-job.yaml");
    let args = job["spec"]["template"]["spec"]["containers"][0]["args"].as_vec().expect("arguments");
    let line = ["conform"].into_iter().chain(args.iter().filter_map(Yaml::as_str));
    let matches = command().try_get_matches_from(line).expect("arguments of the judge");
    // The report is the log of the pod: it would be lost with the pod's files.
    assert_eq!(matches.get_raw("format").expect("a value").collect::<Vec<_>>(), ["json"]);
    let number = |name: &str| *matches.get_one::<u64>(name).expect("a number");
    let deadline = job["spec"]["activeDeadlineSeconds"].as_i64().expect("a deadline");
    assert!((number("wait") + number("max_duration")).cast_signed() < deadline);
}

#[test]
fn the_inputs_are_named_as_the_options_of_the_judge() {
    let definition = command();
    for input in inputs().iter().filter(|input| !["html", "args", "binary"].contains(&input.as_str())) {
        let known = definition.get_arguments().any(|arg| arg.get_long() == Some(input));
        assert!(known, "the input {input} has another name than the option");
    }
}
