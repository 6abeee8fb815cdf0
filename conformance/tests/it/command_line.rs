//! The program as people and machines use it: arguments in, exit code and output out.

use std::path::PathBuf;
use std::process::Output;

use tokio::process::Command;

use crate::candidate::{Candidate, KEY, Nature};
use crate::faults::Fault;
use crate::sockets;
use crate::support::check;

/// The program with these arguments, and without whatever the environment says to it.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conform"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CONFORM_")) {
        command.env_remove(name);
    }
    let base_url = args.iter().skip_while(|arg| **arg != "--base-url").nth(1);
    command.args(args).envs(base_url.and_then(|base_url| variable(base_url)));
    command
}

/// The variable that names the Unix socket of a server, if it listens on one.
pub(crate) fn variable(base_url: &str) -> Option<(&'static str, PathBuf)> {
    sockets::of(base_url).map(|path| ("CONFORM_UNIX_SOCKET", path))
}

pub(crate) async fn conform(args: &[&str]) -> Output {
    command(args).output().await.expect("the program starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[tokio::test]
async fn a_conforming_server_gets_exit_code_0_and_json_on_standard_output_alone() {
    let candidate = Candidate::start(Nature::default()).await;
    let args = [
        "--base-url",
        &candidate.base_url,
        "--api-key",
        KEY,
        "--profile",
        "functional",
        "--format",
        "json",
        "--seed",
        "1",
    ];
    let output = conform(&args).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!((&report["schema_version"], &report["verdict"]), (&1.into(), &"conforms".into()));
    assert_eq!(report["seed"], 1);
}

#[tokio::test]
async fn a_broken_server_gets_exit_code_1_with_evidence_that_shows_no_key() {
    let candidate = Candidate::start(Nature { fault: Some(Fault::TakesSuffixes), ..Nature::default() }).await;
    let args = ["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "functional", "-v"];
    let output = conform(&args).await;
    assert_eq!(output.status.code(), Some(1));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("✗ auth.exact-key"), "{out}");
    assert!(out.contains("Authorization: Bearer ${CONFORM_API_KEY}x"), "{out}");
    let toggled = "SK-cANDIDATE-kEY-0001";
    for secret in [KEY, &KEY[..KEY.len() - 1], toggled] {
        assert!(!out.contains(secret) && !err.contains(secret), "{secret} is shown");
    }
}

#[tokio::test]
async fn the_first_screen_has_what_hides_others_first_and_five_findings_with_evidence() {
    let candidate = Candidate::start(Nature { fault: Some(Fault::FailsOnList), ..Nature::default() }).await;
    let args = ["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "functional"];
    let brief = text(&conform(&args).await.stdout);
    let evidence = |out: &str| out.lines().filter(|line| line.trim_start().starts_with("expected ")).count();
    let order = |out: &str| -> Vec<String> {
        let list = out.split("To fix, in this order").nth(1).expect("a list");
        let rows = list.lines().map(str::trim_start).filter_map(|row| row.strip_prefix("✗ "));
        rows.filter_map(|row| row.split_whitespace().next().map(str::to_owned)).collect()
    };
    assert!(evidence(&brief) <= 5 && brief.lines().count() < 80, "{brief}");
    assert_eq!(order(&brief).first().map(String::as_str), Some("list.success"), "{brief}");
    assert!(!brief.contains("Open choices") && brief.contains("-v shows"), "{brief}");
    let verbose = text(&conform(&[&args[..], &["-v"]].concat()).await.stdout);
    assert!(verbose.contains("Open choices") && order(&verbose)[0] == "list.success", "{verbose}");
}

#[tokio::test]
async fn a_plan_that_is_not_that_of_the_key_gets_exit_code_2_and_the_way_on() {
    let candidate = Candidate::start(Nature { limit: 60, ..Nature::default() }).await;
    let output = conform(&["--base-url", &candidate.base_url, "--api-key", KEY, "--plan", "pro"]).await;
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("is this a Free key?") && err.contains("Leave --plan out"), "{err}");
    assert!(output.stdout.is_empty());
}

#[tokio::test]
async fn lines_end_where_columns_says_and_nowhere_when_a_program_reads_them() {
    let candidate = Candidate::start(Nature { fault: Some(Fault::TakesSuffixes), ..Nature::default() }).await;
    let args = ["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "functional", "--quiet"];
    let widest = async |columns: Option<&str>| {
        let mut command = command(&args);
        command.env_remove("COLUMNS").envs(columns.map(|columns| ("COLUMNS", columns)));
        let shown = text(&command.output().await.expect("the program starts").stdout);
        // Commands are whole, so that they can be copied.
        let is_command = |line: &&str| line.contains("curl ") || line.contains("conform --base-url");
        shown.lines().filter(|line| !is_command(line)).map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let narrow = widest(Some("60")).await;
    assert!((40..=60).contains(&narrow), "{narrow}");
    let unwrapped = widest(None).await;
    assert!(unwrapped > 100, "{unwrapped}");
}

#[tokio::test]
async fn a_dry_run_says_what_the_selected_requirements_cost() {
    let args = ["--base-url", "http://127.0.0.1:1/v1", "--api-key", KEY, "--dry-run"];
    let planned = async |more: &[&str]| {
        let output = conform(&[&args[..], more].concat()).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let (one, all) = (planned(&["--only", "get.not-found"]).await, planned(&[]).await);
    let requests = |plan: &str| -> usize {
        let line = plan.lines().find(|line| line.starts_with("About")).expect("a line with their number");
        line.split_whitespace().find_map(|word| word.parse().ok()).expect("a number")
    };
    assert!(requests(&one) <= 8 && requests(&all) > 100, "{one}\n{all}");
    let few = planned(&["--max-requests", "3"]).await;
    assert!(few.contains("\nAt most 3 requests in all (--max-requests), ") && few.contains(" 3 new animals"), "{few}");
}

#[tokio::test]
async fn wrong_usage_gets_exit_code_2_and_says_what_to_type() {
    for (args, hint) in [
        (&["--api-key", "k"][..], "--base-url URL"),
        (&["--base-url", "http://127.0.0.1:1/v1", "--api-key", "k", "--report", "yaml=x"], "json"),
        (&["http://me:sk-1@127.0.0.1:1/v1"], "To judge the server there: --base-url http://(hidden)@127.0.0.1:1/v1"),
        (&["--strict", "https://127.0.0.1:1/v1"], "--base-url https://127.0.0.1:1/v1"),
        (
            &["--base-url", "https://h.test/v1", "--api-key", "k", "--resolve", "h.test:80:127.0.0.1"],
            "applies to no address of the service",
        ),
        (&["--base-url", "http://127.0.0.1:1/v1", "--api-key", "k", "--quota-key", "k"], "issue a second key"),
    ] {
        let output = conform(args).await;
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(hint), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[tokio::test]
async fn one_backend_is_judged_under_the_name_of_the_service() {
    let candidate = Candidate::start_on_port(Nature::default()).await;
    let base_url = candidate.base_url.replace("127.0.0.1", "store.test");
    let port = base_url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port");
    let resolved = format!("store.test:{port}:127.0.0.1");
    let args = ["--base-url", &base_url, "--api-key", KEY, "--only", "list.array", "--resolve", &resolved, "-v"];
    let output = conform(&args).await;
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}{}", text(&output.stderr));
    assert!(out.contains(&format!(" --resolve {resolved} ")), "{out}");
}

#[test]
fn the_help_is_the_reviewed_one() {
    let mut definition = animal_store_conform::command().term_width(100);
    let help = definition.clone().try_get_matches_from(["conform", "--help"]).expect_err("the help").to_string();
    assert!(help.lines().count() <= 150, "it is longer than three screens of 50 lines");
    check("conform-help", &help);
    // Built, so that the usage lines name the whole command.
    definition.build();
    for command in definition.get_subcommands_mut() {
        let name = format!("conform-help-{}", command.get_name());
        check(&name, &command.clone().term_width(100).render_long_help().to_string());
    }
}
