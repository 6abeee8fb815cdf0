//! The products as container images, judged and judging. It needs an engine: without one it is skipped, and says so; where
//! `CONFORM_REQUIRE_DOCKER` is 1, the lack of an engine is a failure.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a busy machine; nothing here waits for it unless something is wrong.
const PATIENCE: Duration = Duration::from_mins(2);

#[test]
fn images_of_the_products_judge_and_are_judged_and_leave_nothing_behind() {
    if !engine_answers() {
        let required = std::env::var("CONFORM_REQUIRE_DOCKER").is_ok_and(|value| value == "1");
        assert!(!required, "CONFORM_REQUIRE_DOCKER is 1, and no engine answers `docker info`");
        // Not by eprintln, which the test harness hides.
        let _nobody_reads =
            writeln!(std::io::stderr(), "SKIPPED: no container engine answers, so no image was built or judged");
        return;
    }
    let site = Site::build();
    site.the_reference_image_conforms();
    site.a_sabotaged_image_violates_and_its_log_is_reported();
    site.an_image_that_never_gets_ready_ends_with_code_3();
    site.an_image_whose_program_exits_is_reported_with_its_last_output();
    site.an_interrupted_run_leaves_no_container();
    site.the_judges_image_judges_the_references_on_a_private_network();
    site.the_image_gets_healthy_as_the_compose_file_runs_it();
}

fn engine_answers() -> bool {
    let info = Command::new("docker").arg("info").stdout(Stdio::null()).stderr(Stdio::null()).status();
    cfg!(all(target_os = "linux", target_env = "gnu")) && info.is_ok_and(|status| status.success())
}

/// The packages of the images, and those that CI tests together with this one: with the same features, nothing is compiled twice.
const PACKAGES: [&str; 7] = [
    "animal-store-containers",
    "animal-store-conform",
    "animal-store-reference",
    "animal-store-lab",
    "xtask-bench",
    "xtask-dist",
    "xtask-lab",
];

/// Images that were built from the tree. Their names contain the process id, because others may test on this machine.
struct Site {
    programs: PathBuf,
    judge: String,
    reference: String,
    laboratory: String,
    /// The reference with a database in which the key is known.
    seeded: String,
    key: String,
    network: String,
}

impl Site {
    /// Builds images of the programs that the tests have built: these images are judged, not shipped.
    fn build() -> Site {
        let tag = format!("test-{}", std::process::id());
        let image = |name: &str| format!("animal-store-{name}:{tag}");
        let (judge, reference, laboratory, seeded) =
            (image("conform"), image("reference"), image("lab"), image("seeded"));
        let xtask = Path::new(env!("CARGO_BIN_EXE_xtask-dist"));
        let programs = xtask.parent().expect("target/debug").to_owned();
        let mut build = xtask::cargo();
        build.args(["build", "--locked", "--bins"]);
        succeed(build.args(PACKAGES.iter().flat_map(|package| ["--package", package])));
        let mut image_command = Command::new(xtask);
        image_command.args(["image", "--tag", &tag, "--programs"]).arg(&programs).env_remove("CONTAINER_ENGINE");
        succeed(&mut image_command);
        let context = tempfile::tempdir().expect("a folder");
        let database = context.path().join("animals.sqlite");
        let mut issue = Command::new(programs.join("reference"));
        // A plan on which no run waits for a window to end.
        let agreed = ["keys", "issue", "--plan", "enterprise", "--rpm", "100000", "--rpd", "1000000", "--db"];
        let key = succeed(issue.args(agreed).arg(&database));
        // The server in the container is another user.
        let dockerfile =
            format!("FROM {reference}\nCOPY --chown=65532:65532 animals.sqlite /data/animal-store.sqlite\n");
        std::fs::write(context.path().join("Dockerfile"), dockerfile).expect("a file");
        docker(["build", "--quiet", "--tag", &seeded].map(OsStr::new).into_iter().chain([context.path().as_os_str()]));
        Site {
            programs,
            judge,
            reference,
            laboratory,
            seeded,
            key: key.trim().to_owned(),
            network: format!("animal-store-{tag}"),
        }
    }

    /// The judge, about to judge the seeded image with these settings in the table `[container]` and these further options.
    fn judge(&self, settings: &str, options: &[&str]) -> Command {
        self.judge_image(&self.seeded, settings, options)
    }

    fn judge_image(&self, image: &str, settings: &str, options: &[&str]) -> Command {
        let config = Path::new(env!("CARGO_TARGET_TMPDIR")).join("container.toml");
        std::fs::write(&config, format!("[container]\n{settings}\n")).expect("a file");
        let mut command = Command::new(self.programs.join("conform-containers"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CONFORM_")) {
            command.env_remove(name);
        }
        command.env("CONFORM_API_KEY", &self.key);
        command.arg("--config").arg(config).args(["--image", image]);
        command.args(["--profile", "functional", "--cases", "0"]).args(options);
        command
    }

    /// Judges the seeded image with these settings and options.
    fn judge_with(&self, settings: &str, options: &[&str]) -> Output {
        let output = self.judge(settings, options).output().expect("the judge starts");
        assert_eq!(self.candidates(), "", "a container was left behind: {}", both_streams(&output));
        output
    }

    fn the_reference_image_conforms(&self) {
        for ready in [&[][..], &["--ready", "/healthz"], &["--ready", "log:listening on"]] {
            let output = self.judge_with("", ready);
            assert_eq!(output.status.code(), Some(0), "{}", both_streams(&output));
            let report = String::from_utf8_lossy(&output.stdout);
            assert!(
                report.starts_with("CONFORMS (")
                    && report.lines().next().is_some_and(|line| line.ends_with(&self.seeded)),
                "{report}"
            );
            assert!(!report.contains("candidate's log"), "{report}");
        }
    }

    fn a_sabotaged_image_violates_and_its_log_is_reported(&self) {
        let settings = format!(
            r#"args = ["serve", "--listen=0.0.0.0:8080", "--db=:memory:", "--key=pro={}", "--fault=create.success.created-is-200"]"#,
            self.key
        );
        let output = self
            .judge_image(&self.laboratory, &settings, &["--format", "json", "--only", "create.success"])
            .output()
            .expect("the judge starts");
        assert_eq!(output.status.code(), Some(1), "{}", both_streams(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["target"]["image"], self.laboratory);
        let log = report["candidate_log"].as_str().expect("a log");
        assert!(log.contains("listening on http://0.0.0.0:8080/v1"), "{log}");
    }

    fn an_image_that_never_gets_ready_ends_with_code_3(&self) {
        // The server listens where only its own container can reach it.
        let output = self.judge_with("args = [\"serve\"]\nready_timeout = 2", &[]);
        let text = both_streams(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("was not ready within 2 s") && text.contains("0.0.0.0"), "{text}");
        assert!(text.contains("| listening on http://127.0.0.1:8080/v1"), "{text}");
    }

    fn an_image_whose_program_exits_is_reported_with_its_last_output(&self) {
        for ready in [&[][..], &["--ready", "log:listening"]] {
            let output = self.judge_with(r#"args = ["serve", "--no-such-option"]"#, ready);
            let text = both_streams(&output);
            assert_eq!(output.status.code(), Some(3), "{text}");
            assert!(text.contains("exited with code 2") && text.contains("--no-such-option"), "{text}");
        }
    }

    fn an_interrupted_run_leaves_no_container(&self) {
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut judge = self.judge(r#"args = ["serve"]"#, &[]);
            let mut judge = judge.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the judge starts");
            wait_until("the candidate has started", || !self.candidates().is_empty());
            succeed(Command::new("kill").args([signal, &judge.id().to_string()]));
            assert_eq!(judge.wait().expect("it ends").code(), Some(code));
            assert_eq!(self.candidates(), "", "{signal} left a container behind");
        }
    }

    fn the_judges_image_judges_the_references_on_a_private_network(&self) {
        let (network, seeded) = (self.network.as_str(), self.seeded.as_str());
        docker(["network", "create", "--internal", network]);
        let server =
            docker(["run", "--detach", "--read-only", "--network", network, "--network-alias", "pets", seeded]);
        let server = server.trim();
        wait_until("its health check passes", || {
            docker(["inspect", "--format", "{{.State.Health.Status}}", server]).trim() == "healthy"
        });
        let line = ["run", "--rm", "--read-only", "--network", network, "--env", "CONFORM_API_KEY", &self.judge];
        let options = ["--base-url", "http://pets:8080/v1", "--profile", "functional", "--cases", "0"];
        let mut judge = Command::new("docker");
        let output = judge.args(line).args(options).env("CONFORM_API_KEY", &self.key).output().expect("docker starts");
        assert_eq!(output.status.code(), Some(0), "{}", both_streams(&output));
        // After SIGTERM it ends in good order; killed, it would leave another code.
        docker(["stop", "--time", "60", server]);
        assert_eq!(docker(["inspect", "--format", "{{.State.ExitCode}}", server]).trim(), "0");
    }

    fn the_image_gets_healthy_as_the_compose_file_runs_it(&self) {
        let yaml = include_str!("../../../fixtures/compose.yaml");
        let lines: Vec<(&str, &str)> = yaml.lines().filter_map(|line| line.trim().split_once(": ")).collect();
        let member = |name: &str| lines.iter().find(|(known, _)| *known == name).expect(name).1;
        let words = |name: &str| serde_json::from_str::<Vec<String>>(member(name)).expect("an array in one line");
        assert_eq!(member("read_only"), "true");
        let mut line = vec!["run".to_owned(), "--detach".to_owned(), "--read-only".to_owned()];
        line.extend(words("tmpfs").into_iter().map(|folder| format!("--tmpfs={folder}")));
        line.extend(
            ["TMPDIR", "ANIMAL_STORE_KEYS"].map(|name| format!("--env={name}={}", member(name).trim_matches('"'))),
        );
        line.push(self.laboratory.clone());
        line.extend(words("command"));
        let server = docker(line);
        wait_until("the service of the compose file is healthy", || {
            docker(["inspect", "--format", "{{.State.Health.Status}}", server.trim()]).trim() == "healthy"
        });
        docker(["rm", "--force", "--volumes", server.trim()]);
    }

    /// The containers that judges have started here and not removed.
    fn candidates(&self) -> String {
        let ours = format!("ancestor={}", self.seeded);
        docker(["ps", "--all", "--quiet", "--filter", "label=animal-store.candidate", "--filter", &ours])
    }
}

impl Drop for Site {
    /// Takes everything away again. What is not there any more is no matter.
    fn drop(&mut self) {
        let quietly = |line: &[&str]| Command::new("docker").args(line).output();
        let ours = format!("ancestor={}", self.seeded);
        if let Ok(containers) = quietly(&["ps", "--all", "--quiet", "--filter", &ours]) {
            for container in String::from_utf8_lossy(&containers.stdout).lines() {
                let _gone = quietly(&["rm", "--force", "--volumes", container]);
            }
        }
        let _gone = quietly(&["network", "rm", &self.network]);
        let _gone = quietly(&["rmi", "--force", &self.seeded, &self.reference, &self.laboratory, &self.judge]);
    }
}

fn docker(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    succeed(Command::new("docker").args(args))
}

/// Runs a command, which must succeed, and returns its output.
fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    assert!(output.status.success(), "{command:?}: {}", both_streams(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Standard output and standard error of a process.
fn both_streams(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
