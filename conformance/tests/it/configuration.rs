//! `conform.toml` beside the command line and the environment: which of them holds, and what cannot be used.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::text;
use crate::faults::Fault;

/// A folder that is a repository of its own, so that no file above it counts.
struct Place {
    folder: TempDir,
}

impl Place {
    /// With this configuration file, unless it is empty.
    fn with(file: &str) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join(".git")).expect("a folder");
        std::fs::create_dir_all(folder.path().join("below")).expect("a folder");
        if !file.is_empty() {
            std::fs::write(folder.path().join("conform.toml"), file).expect("a file");
        }
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program in the folder, with these arguments and this environment.
    async fn conform(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        self.conform_in("", args, variables).await
    }

    async fn conform_in(&self, below: &str, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conform"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CONFORM_")) {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied()).args(args).current_dir(self.path(below));
        command.output().await.expect("the program starts")
    }

    /// The options that `--dry-run` prints: the name of each, its value, and its source.
    async fn shown(&self, args: &[&str], variables: &[(&str, &str)]) -> Vec<[String; 3]> {
        let output = self.conform(&[args, &["--dry-run", "--format", "json"]].concat(), variables).await;
        let document = serde_json::from_slice::<Value>(&output.stdout);
        let document = document.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
        let rows = document["options"].as_array().expect("the options");
        let cell = |row: &Value, name: &str| row[name].as_str().expect("a text").to_owned();
        rows.iter().map(|row| ["option", "value", "from"].map(|name| cell(row, name))).collect()
    }

    /// The message of a command line that cannot be used.
    async fn refusal(&self, args: &[&str], variables: &[(&str, &str)]) -> String {
        let output = self.conform(args, variables).await;
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", text(&output.stderr));
        text(&output.stderr)
    }
}

/// The value that is shown of an option.
fn value<'s>(shown: &'s [[String; 3]], option: &str) -> &'s str {
    shown.iter().find(|[name, ..]| name == option).map(|[_, value, _]| value.as_str()).expect("every option is shown")
}

#[tokio::test]
async fn the_nearest_of_four_layers_holds_for_each_kind_of_option() {
    let layers = ["command line", "environment variable CONFORM_", ", [environments.a]", "conform.toml, line "];
    let args = ["--timeout=1", "--only=list", "--strict=false", "--ca-cert=/a", "--report=json=/a"];
    let variables = [
        ("CONFORM_TIMEOUT", "2"),
        ("CONFORM_ONLY", "get,pet"),
        ("CONFORM_STRICT", "1"),
        ("CONFORM_CA_CERT", "/b"),
        ("CONFORM_REPORT", "json=/b"),
    ];
    let place = Place::with(
        "timeout = 4\nonly = ['auth']\nstrict = true\nca_cert = '/d'\nreport = ['json=/d']\n\
         [environments.a]\ntimeout = 3\nonly = ['create', 'list']\nstrict = false\nca_cert = '/c'\nreport = ['json=/c']\n",
    );
    for (nearest, layer) in layers.into_iter().enumerate() {
        let mut line = if nearest == 0 { args.to_vec() } else { Vec::new() };
        line.extend(if nearest < 3 { &["--env", "a"][..] } else { &[] });
        let shown = place.shown(&line, if nearest < 2 { &variables[..] } else { &[] }).await;
        for (option, values) in [
            ("timeout", ["1", "2", "3", "4"]),
            ("only", ["list", "get, pet", "create, list", "auth"]),
            ("strict", ["false", "true", "false", "true"]),
            ("ca_cert", ["/a", "/b", "/c", "/d"]),
            ("report", ["json=/a", "json=/b", "json=/c", "json=/d"]),
        ] {
            let [_, value, from] = shown.iter().find(|[name, ..]| name == option).expect("every option is shown");
            assert_eq!(value, values[nearest], "{layer}: {option}");
            assert!(from.contains(layer), "{layer}: {option} is from {from}");
        }
    }
}

#[tokio::test]
async fn a_run_takes_all_it_needs_from_the_environment_that_is_picked() {
    let candidate = Candidate::start(Nature::default()).await;
    let place = Place::with(&format!(
        "profile = 'functional'\nreport = ['json=report.json']\n\
         [environments.here]\nbase_url = '{}'\nunix_socket = '{}'\napi_key_env = 'HERE_KEY'\n\
         [environments.elsewhere]\nbase_url = 'http://127.0.0.1:1/v1'\n",
        candidate.base_url,
        candidate.own_socket().expect("a socket").display()
    ));
    let output = place.conform_in("below", &["--env", "here"], &[("HERE_KEY", KEY)]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = std::fs::read_to_string(place.path("report.json")).expect("a report beside the file");
    assert!(report.contains(&candidate.base_url), "{report}");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let rerun = report["rerun_command"].as_str().expect("a command");
    assert!(rerun.contains(" --env here ") && !rerun.contains("API_KEY"), "{rerun}");
    let output = place.conform_in("below", &["--env", "here"], &[("HERE_KEY", "sk-of-another")]).await;
    let refused = text(&output.stderr);
    assert!(output.status.code() == Some(3) && refused.contains("Check that HERE_KEY is complete"), "{refused}");
    let output = place.conform(&["--env", "elsewhere"], &[("CONFORM_API_KEY", KEY)]).await;
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}

#[tokio::test]
async fn an_environment_is_picked_by_hand_by_variable_or_by_the_file() {
    let place =
        Place::with("env = 'a'\n[environments.a]\nseed = 1\n[environments.b]\nseed = 2\n[environments.c]\nseed = 3\n");
    for (args, variables, seed) in
        [(&["--env", "b"][..], &[("CONFORM_ENV", "c")][..], "2"), (&[], &[("CONFORM_ENV", "c")], "3"), (&[], &[], "1")]
    {
        assert_eq!(value(&place.shown(args, variables).await, "seed"), seed);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_told_with_its_place_and_nothing_is_sent() {
    let place = Place::with("timeout = 3\n\n[environments.staging]\nbase-url = 'http://h/v1'\n");
    let target = ["--base-url", "http://127.0.0.1:1/v1", "--api-key", "k"];
    let error = place.refusal(&target, &[]).await;
    assert!(error.contains("conform.toml, line 4, column 1: unknown option `base-url`"), "{error}");
    let output = place.conform(&[&target[..], &["--no-config", "--dry-run"]].concat(), &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let error = place.refusal(&["--config", "other.toml"], &[]).await;
    assert!(
        error.contains("cannot read the configuration file other.toml") && error.contains("conform init other.toml"),
        "{error}"
    );
    assert_eq!(place.conform(&["rules", "list"], &[]).await.status.code(), Some(0), "the rules need no file");
}

#[tokio::test]
async fn an_environment_that_is_not_there_is_told_with_those_that_are() {
    let place = Place::with("[environments.production]\n[environments.staging]\n");
    let error = place.refusal(&["--env", "stagin"], &[]).await;
    assert!(
        error.contains("has no environment stagin: did you mean staging? (defined: production, staging)"),
        "{error}"
    );
    let error = Place::with("timeout = 3").refusal(&["--env", "staging"], &[]).await;
    assert!(error.contains("it defines none. Add a table [environments.staging]"), "{error}");
    // Else a variable and a wrong folder would judge something else, and that is likely to conform.
    for (args, variables) in [(&["--env", "staging"][..], &[][..]), (&[], &[("CONFORM_ENV", "staging")])] {
        let error = Place::with("").refusal(args, variables).await;
        assert!(error.contains("--env staging needs a configuration file"), "{error}");
        assert!(error.contains("conform init"), "{error}");
    }
}

#[tokio::test]
async fn a_file_with_servers_of_which_none_is_picked_is_not_left_aside() {
    let place = Place::with("[environments.staging]\nbase_url = 'http://127.0.0.1:1/v1'\n[environments.production]\n");
    let error = place.refusal(&[], &[]).await;
    assert!(
        error.contains("no environment of conform.toml is selected") && error.contains("production, staging"),
        "{error}"
    );
    let error = place.refusal(&["--env", "production"], &[]).await;
    assert!(error.contains("has no base_url: add base_url = "), "{error}");
}

#[tokio::test]
async fn a_key_comes_from_the_variable_that_the_file_names_and_it_must_be_there() {
    let place = Place::with("base_url = 'http://127.0.0.1:1/v1'\n\napi_key_env = 'STORE_KEY'\n");
    let error = place.refusal(&[], &[]).await;
    assert!(error.contains("conform.toml, line 3: api_key_env names the environment variable STORE_KEY"), "{error}");
    let error = place.refusal(&[], &[("STORE_KEY", "sk-04 51")]).await;
    assert!(
        error.contains("environment variable STORE_KEY, named in conform.toml, line 3': the key holds")
            && !error.contains("51"),
        "{error}"
    );
    for variables in [[("STORE_KEY", "sk-1")], [("CONFORM_API_KEY", "sk-1")]] {
        assert_eq!(place.conform(&["--dry-run"], &variables).await.status.code(), Some(0));
    }
}

#[tokio::test]
async fn a_dry_run_shows_the_options_also_where_a_key_or_a_target_is_missing() {
    for (file, value, problem) in [
        ("base_url = 'http://h/v1'\napi_key_env = 'STORE_KEY'\n", "http://h/v1", "which is not set"),
        ("base_url = 'http://h/v1'\n", "http://h/v1", "no API key"),
        ("[environments.a]\n", "not set", "no environment of conform.toml is selected"),
    ] {
        let output = Place::with(file).conform(&["--dry-run"], &[]).await;
        let (shown, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{error}");
        let row = shown.lines().find_map(|line| line.trim_start().strip_prefix("base_url ")).expect("a row");
        assert!(row.trim_start().starts_with(value) && error.contains(problem), "{shown}{error}");
    }
}

#[tokio::test]
async fn no_secret_is_shown() {
    let file = "base_url = 'http://127.0.0.1:1/v1'\nquota_key_env = 'STORE_KEY'\nproxy = 'http://me:sk-0451@h:1'\n";
    let variables = [("STORE_KEY", "sk-0451"), ("CONFORM_API_KEY", "sk-0452"), ("CONFORM_HEADER", "X-Pass: sk-0451")];
    for format in ["text", "json"] {
        let output = Place::with(file).conform(&["--dry-run", "--seed", "1", "--format", format], &variables).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let shown = text(&output.stdout);
        assert!(
            !shown.contains("045") && shown.contains("X-Pass: …") && shown.contains("http://(hidden)@h:1"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn a_key_comes_from_a_file_and_is_hidden_as_any_other() {
    let candidate = Candidate::start(Nature { fault: Some(Fault::TakesSuffixes), ..Nature::default() }).await;
    let place = Place::with("");
    std::fs::write(place.path("key"), format!("{KEY}\r\n")).expect("a file");
    let socket = candidate.own_socket().expect("a socket").display().to_string();
    let target = ["--base-url", &candidate.base_url, "--unix-socket", &socket, "--profile", "functional", "-v"];
    let output = place.conform(&[&target[..], &["--api-key-file", "key"]].concat(), &[]).await;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(!out.contains(KEY) && !err.contains(KEY), "{out}{err}");
    let rerun = out.lines().find(|line| line.contains("--seed") && line.contains("--base-url")).expect("a command");
    assert!(rerun.contains("--api-key-file key") && !rerun.contains("--api-key "), "{rerun}");
}

#[tokio::test]
async fn a_file_without_a_key_is_named_and_the_nearer_source_of_a_key_holds() {
    let place = Place::with("base_url = 'http://127.0.0.1:1/v1'\napi_key_file = 'none'\n");
    std::fs::write(place.path("empty"), "\n").expect("a file");
    for (args, expected) in [
        (&[][..], "--api-key-file none: no such file"),
        (&["--api-key-file", "empty"], "--api-key-file: the key is empty"),
        (&["--api-key", "sk-1", "--quota-key-file", "empty"], "--quota-key-file: the key is empty"),
        (&["--api-key", "sk-1", "--api-key-file", "empty"], "api_key and api_key_file are mutually exclusive"),
    ] {
        let error = place.refusal(args, &[]).await;
        assert!(error.contains(expected), "{error}");
    }
    for (args, variables) in [(&["--api-key", "sk-1"][..], &[][..]), (&[], &[("CONFORM_API_KEY", "sk-1")])] {
        let output = place.conform(&[args, &["--dry-run"]].concat(), variables).await;
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    }
}

#[tokio::test]
async fn a_variable_may_be_empty_or_have_spaces_and_line_breaks_around_its_values() {
    let variables = [
        ("CONFORM_API_KEY", "sk-1\r\n"),
        ("CONFORM_BASE_URL", " http://127.0.0.1:1/v1\n"),
        ("CONFORM_ONLY", "list, get ,\n"),
        ("CONFORM_REPORT", "json=a.json\r\nhtml=b.html\r\n"),
        ("CONFORM_PLAN", ""),
        ("CONFORM_STRICT", "\n"),
        ("CONFORM_TIMEOUT", "30\n"),
        ("CONFORM_VERBOSE", "Off"),
        ("CONFORM_ENV", ""),
        ("CONFORM_CONFIG", ""),
    ];
    let place = Place::with("strict = true\n");
    let shown = place.shown(&[], &variables).await;
    for (option, expected) in [
        ("base_url", "http://127.0.0.1:1/v1"),
        ("only", "list, get"),
        ("report", "json=a.json, html=b.html"),
        ("plan", "not set"),
        ("strict", "true"),
        ("timeout", "30"),
        ("verbose", "false"),
    ] {
        assert_eq!(value(&shown, option), expected, "{option}");
    }
}

#[tokio::test]
async fn a_variable_that_belongs_to_no_option_is_named() {
    let place = Place::with("base_url = 'http://127.0.0.1:1/v1'\napi_key_env = 'CONFORM_STAGING_KEY'\n");
    let variables = [("CONFORM_STAGING_KEY", "sk-1"), ("CONFORM_TIMOUT", "3"), ("CONFORM_SIDE", "both")];
    let output = place.conform(&["--dry-run"], &variables).await;
    let note = "note: the environment variable CONFORM_TIMOUT belongs to no option: did you mean CONFORM_TIMEOUT?\n";
    assert_eq!(text(&output.stderr), note);
}

#[tokio::test]
async fn of_an_address_and_an_image_the_nearer_is_judged() {
    let place = Place::with("env = 'a'\nimage = 'pets'\n[environments.a]\nbase_url = 'http://a/v1'\n");
    for (args, variables, target) in [
        (&[][..], &[][..], "base_url"),
        (&["--image", "cats"], &[("CONFORM_BASE_URL", "http://b/v1")], "image"),
        (&["--base-url", "http://b/v1"], &[("CONFORM_IMAGE", "cats")], "base_url"),
        (&[], &[("CONFORM_IMAGE", "cats")], "image"),
    ] {
        let shown = place.shown(args, variables).await;
        let other = if target == "image" { "base_url" } else { "image" };
        assert_eq!(value(&shown, other), "not set", "{args:?} {variables:?}: {shown:?}");
        assert_ne!(value(&shown, target), "not set", "{args:?} {variables:?}: {shown:?}");
    }
    let error = place.refusal(&["--image", "cats", "--base-url", "http://b/v1"], &[]).await;
    assert!(error.contains("base_url and image are mutually exclusive (command line)"), "{error}");
}

#[tokio::test]
async fn replicas_are_those_of_the_base_url_beside_them() {
    let place = Place::with("env = 'a'\n[environments.a]\nbase_url = 'http://a/v1'\nreplica = ['http://b/v1']\n");
    for (args, variables, replicas) in [
        (&[][..], &[][..], "http://b/v1"),
        (&["--replica", "http://c/v1", "--replica", "http://d/v1"], &[], "http://c/v1, http://d/v1"),
        (&[], &[("CONFORM_REPLICA", "http://c/v1\nhttp://d/v1")], "http://c/v1, http://d/v1"),
        // The key must not go to the servers of an environment that is not judged.
        (&["--base-url", "http://x/v1"], &[], "not set"),
        (&["--base-url", "http://x/v1"], &[("CONFORM_REPLICA", "http://c/v1")], "not set"),
        (&["--image", "cats"], &[], "not set"),
    ] {
        let shown = place.shown(args, variables).await;
        assert_eq!(value(&shown, "replica"), replicas, "{args:?} {variables:?}");
    }
}

/// A report with broken requirements, and with these options.
fn report_with(options: &[(&str, &str)]) -> String {
    let snapshot = include_str!("../../../snapshots/report-json.snap");
    let json = &snapshot[snapshot.find('{').expect("a report")..];
    let mut report: Value = serde_json::from_str(json).expect("JSON");
    report["options"] = options.iter().map(|(name, value)| serde_json::json!({"name": name, "value": value})).collect();
    report["target"]["environment"] = "b".into();
    report.to_string()
}

#[tokio::test]
async fn a_report_names_no_file_no_command_no_header_and_no_key_of_a_rerun() {
    let taken = [("seed", "7"), ("profile", "functional"), ("skip", "list"), ("plan", "pro"), ("category_id", "5")];
    let place = Place::with("");
    let every_option = place.shown(&[], &[]).await;
    let mut options: Vec<(String, &str)> =
        every_option.iter().map(|[option, ..]| (format!("--{}", option.replace('_', "-")), "sh -c evil")).collect();
    options.retain(|(option, _)| !["--strict", "--cases", "--base-url", "--replica"].contains(&option.as_str()));
    for (option, value) in taken {
        let long = format!("--{}", option.replace('_', "-"));
        options.iter_mut().filter(|(known, _)| *known == long).for_each(|(_, known)| *known = value);
    }
    let options: Vec<(&str, &str)> = options.iter().map(|(option, value)| (option.as_str(), *value)).collect();
    std::fs::write(place.path("report.json"), report_with(&options)).expect("a file");
    let (args, key) = (["--rerun", "report.json", "--base-url", "http://a/v1"], [("CONFORM_API_KEY", "k")]);
    let shown = place.shown(&args, &key).await;
    let notes = text(&place.conform(&[&args[..], &["--dry-run"]].concat(), &key).await.stderr);
    let note = |beginning: &str| notes.lines().find_map(|line| line.strip_prefix(beginning)).expect("a note");
    let [in_use, left_out] =
        ["note: taken from report report.json: ", "note: left out of report report.json: "].map(note);
    for [option, value, from] in &shown {
        let expected = taken.iter().find(|(taken, _)| taken == option).map(|(_, value)| *value);
        assert_eq!(from == "report report.json", expected.is_some(), "{option} = {value} from {from}");
        assert!(expected.is_none_or(|expected| expected == value), "{option} = {value}");
        let long = format!("--{}", option.replace('_', "-"));
        let is_in = |note: &str| note.split("; ").any(|part| part.split(' ').next() == Some(long.as_str()));
        let is_reported =
            options.iter().any(|(name, _)| *name == long) && !["rerun", "dry_run"].contains(&option.as_str());
        assert_eq!(
            [is_in(in_use), is_in(left_out)],
            [expected.is_some(), expected.is_none() && is_reported],
            "{option}"
        );
    }
}

#[tokio::test]
async fn the_address_of_a_report_counts_only_where_nothing_else_names_a_server() {
    let report = report_with(&[("--base-url", "http://evil/v1"), ("--replica", "http://evil/2/v1")]);
    let args = ["--rerun", "report.json"];
    let key = ("CONFORM_API_KEY", "k");
    for (file, variables, base_url) in [
        ("", &[key][..], "http://evil/v1"),
        ("", &[key, ("CONFORM_BASE_URL", "http://a/v1")], "http://a/v1"),
        ("base_url = 'http://a/v1'", &[key], "http://a/v1"),
        // The report selects no environment, and its address is not judged in place of one.
        ("[environments.b]\nbase_url = 'http://b/v1'", &[key], "not set"),
        ("env = 'a'\n[environments.a]\nbase_url = 'http://a/v1'\n[environments.b]", &[key], "http://a/v1"),
        ("[environments.a]\nbase_url = 'http://a/v1'\n[environments.b]", &[key, ("CONFORM_ENV", "a")], "http://a/v1"),
    ] {
        let place = Place::with(file);
        std::fs::write(place.path("report.json"), &report).expect("a file");
        let shown = place.shown(&args, variables).await;
        assert_eq!(value(&shown, "base_url"), base_url, "{file}");
        assert_eq!(value(&shown, "replica") == "not set", base_url != "http://evil/v1", "{file}");
        let said = text(&place.conform(&[&args[..], &["--dry-run"]].concat(), variables).await.stderr);
        let note = "note: taken from report report.json: --base-url http://evil/v1; --replica http://evil/2/v1\n";
        assert_eq!(said.contains(note), base_url == "http://evil/v1", "{file}: {said}");
        assert_eq!(said.contains("Select one with --env"), base_url == "not set", "{file}: {said}");
    }
}

#[tokio::test]
async fn the_choices_of_a_report_rank_below_variables_and_the_file_and_its_selection_above() {
    let options = [("--profile", "functional"), ("--plan", "pro"), ("--category-id", "5"), ("--seed", "7")];
    let variables = [("CONFORM_PLAN", "free"), ("CONFORM_API_KEY", "k")];
    let place = Place::with("base_url = 'http://a/v1'\nprofile = 'read-only'\nseed = 1");
    std::fs::write(place.path("report.json"), report_with(&options)).expect("a file");
    let shown = place.shown(&["--rerun", "report.json"], &variables).await;
    for (option, expected) in [("profile", "read-only"), ("plan", "free"), ("category_id", "5"), ("seed", "7")] {
        assert_eq!(value(&shown, option), expected, "{option}");
    }
}

#[tokio::test]
async fn a_variable_that_cannot_be_used_is_named() {
    let error = Place::with("").refusal(&[], &[("CONFORM_TIMEOUT", "soon")]).await;
    assert!(error.contains("from environment variable CONFORM_TIMEOUT': invalid digit"), "{error}");
}

#[tokio::test]
async fn a_value_that_cannot_be_used_is_told_with_its_line_and_without_secrets() {
    for (file, problems) in [
        ("seed = 1\nplan = 'gold'", ["'--plan <PLAN> from conform.toml, line 2'", "use free, pro, business"]),
        ("timeout = 1.5", ["invalid value '1.5'", "conform.toml, line 1'"]),
        ("profile = 'deeper'", ["line 1'", "possible values: deep"]),
        ("strict = 'perhaps'", ["line 1'", "--strict"]),
        ("only = [\n'list',\n'list.aray']", ["'list.aray' for '--only <ID> from conform.toml, line 1'", "list.array?"]),
        ("base_url = 'localhost/v1'", ["line 1'", "http://localhost:8080/v1"]),
        ("header = ['Authorization: Bearer sk-0451']", ["line 1'", "Authorization is set by the judge"]),
        ("report = ['json=']", ["line 1'", "the path is missing"]),
        ("env = 'a'\n[environments.a]\nwait = -1", ["'-1'", "conform.toml, line 3, [environments.a]'"]),
    ] {
        let error = Place::with(file).refusal(&[], &[]).await;
        assert!(problems.iter().all(|problem| error.contains(problem)) && !error.contains("0451"), "{error}");
    }
}

#[tokio::test]
async fn init_writes_the_example_and_never_over_a_file_unasked() {
    let example = include_str!("../../../fixtures/conform.example.toml");
    let place = Place::with("");
    for (args, file) in [(&["init"][..], "conform.toml"), (&["init", "below"], "below/conform.toml")] {
        let output = place.conform(args, &[]).await;
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(std::fs::read_to_string(place.path(file)).expect("a file"), example, "{file}");
    }
    std::fs::write(place.path("conform.toml"), "seed = 1").expect("a file");
    let error = place.refusal(&["init"], &[]).await;
    assert!(error.contains("conform.toml already exists") && error.contains("--force"), "{error}");
    assert_eq!(std::fs::read_to_string(place.path("conform.toml")).expect("a file"), "seed = 1");
    assert_eq!(place.conform(&["init", "--force"], &[]).await.status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(place.path("conform.toml")).expect("a file"), example);
}
