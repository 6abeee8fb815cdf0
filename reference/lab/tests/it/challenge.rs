//! Somebody's test suite against lawful servers and broken ones. The suite is this program: a test that is otherwise ignored.

use std::process::{Command, Output, Stdio};

use animal_store_reference::Address;

use crate::support::{Folder, ask, eventually};

/// Runs a challenge with one of the suites below.
fn challenge(args: &[&str], suite: &str) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.arg("challenge").args(args).arg("--").arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", &format!("challenge::{suite}"), "--ignored"]).stdin(Stdio::null());
    command
}

fn run(args: &[&str], suite: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = challenge(args, suite).output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// The address of the server under test, and its key.
fn server_under_test() -> (Address, String) {
    let url = std::env::var("CHALLENGE_URL").expect("set by the challenge");
    let address = url.split('/').nth(2).and_then(|address| address.parse().ok()).expect("an address");
    (address, std::env::var("CHALLENGE_KEY").expect("set by the challenge"))
}

#[test]
#[ignore = "a suite for the tests below"]
fn suite_of_page_sizes() {
    let (address, key) = server_under_test();
    for _ in 0..21 {
        let body = br#"{"name":"Rex","categoryId":1}"#;
        ask(&address, "POST", "/v1/pets", &key, Some(("application/json", body)));
    }
    let list = ask(&address, "GET", "/v1/pets", &key, None).json();
    assert_eq!(list.as_array().expect("a list").len(), 20);
}

#[test]
#[ignore = "a suite for the tests below"]
fn suite_that_fails() {
    panic!("this suite knows nothing but itself");
}

#[test]
#[ignore = "a suite for the tests below"]
fn suite_that_takes_for_ever() {
    let (address, key) = server_under_test();
    // The plain reference has no animals at the start.
    if ask(&address, "GET", "/v1/pets", &key, None).json() != serde_json::json!([]) {
        let mark = std::env::var("CHALLENGE_TEST_MARK").expect("set by the test");
        // The mark is whole as soon as it is there.
        std::fs::write(format!("{mark}.new"), format!("{address} {}", std::process::id())).expect("a writable folder");
        std::fs::rename(format!("{mark}.new"), mark).expect("a writable folder");
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn a_suite_is_shown_what_it_notices_what_it_misses_and_whom_it_wrongs() {
    let folder = Folder::new();
    let json = folder.path().join("a.json");
    let report = format!("json={}", json.display());
    let args =
        ["--lawful", "0", "--fault", "list.limit-default", "--fault", "create.success.created-is-200", "--jobs", "2"];
    let (code, stdout, stderr) = run(&[&args[..], &["--report", &report]].concat(), "suite_of_page_sizes");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("2 of 5 faults were missed"), "{stderr}");
    assert!(stdout.contains("list.limit-default.all-by-status\n"), "the suite lists without a status: {stdout}");
    assert!(stdout.contains("create.success.created-is-200\n") && stdout.contains("accepted in"), "{stdout}");
    assert!(stdout.contains("      shown by POST /pets {\"name\""), "{stdout}");
    let read: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
    let noticed = read["faults"].as_array().expect("faults").iter().filter(|fault| fault["noticed"] == true).count();
    assert_eq!(noticed, 3, "{read:#}");
}

#[test]
fn a_suite_that_notices_every_fault_and_wrongs_nobody_is_reported_with_exit_code_0() {
    let (code, stdout, stderr) = run(&["--lawful", "0", "--fault", "list.limit-default.fifty"], "suite_of_page_sizes");
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[test]
fn a_suite_that_fails_on_the_plain_reference_ends_it_at_once_with_its_output() {
    let (code, stdout, stderr) = run(&[], "suite_that_fails");
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("fails with exit code 101 on the plain reference"), "{stderr}");
    assert!(stderr.contains("this suite knows nothing but itself"), "{stderr}");
}

#[test]
#[ignore = "a suite for the tests below"]
fn suite_that_prints_what_it_should_not() {
    let (_, key) = server_under_test();
    println!("{key} key={}", key.replace('_', "%5F"));
    println!("\u{1b}]0;title\u{7}\u{202e}sold\u{200b}\n::error::injected");
    panic!("it failed");
}

#[test]
fn an_output_is_shown_without_keys_and_without_what_acts_on_a_terminal() {
    let mut command = challenge(&["--lawful", "0"], "suite_that_prints_what_it_should_not");
    let output = command.arg("--nocapture").output().expect("the program runs");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(stderr.contains("{key} key={key}\n") && stderr.contains("it failed"), "{stderr:?}");
    for part in ["ask_", "\u{1b}", "\u{7}", "\u{202e}", "\u{200b}", "\n::"] {
        assert!(!stderr.contains(part), "{part:?} is in {stderr:?}");
    }
}

#[test]
fn a_report_shows_the_command_line_without_what_acts_on_a_terminal() {
    let folder = Folder::new();
    let json = folder.path().join("a.json");
    let report = format!("json={}", json.display());
    let args = ["challenge", "--lawful", "0", "--fault", "list.limit-default.fifty", "--report", &report, "--"];
    let command = ["true", "--key", "{key}", "a\u{1b}[2Jb"];
    let output = crate::support::program(&[&args[..], &command].concat());
    let stdout = String::from_utf8(output.stdout).expect("text");
    let read: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
    assert_eq!(read["command"], "true --key {key} 'a\\u{1b}[2Jb'");
    assert!(stdout.contains("true --key {key} 'a\\u{1b}[2Jb'"), "{stdout:?}");
}

#[test]
#[ignore = "a suite for the tests below"]
fn suite_that_expects_an_order() {
    let (address, key) = server_under_test();
    for name in ["Rex", "Ada", "Mia"] {
        let body = format!(r#"{{"name":"{name}","categoryId":1}}"#);
        ask(&address, "POST", "/v1/pets", &key, Some(("application/json", body.as_bytes())));
    }
    let list = ask(&address, "GET", "/v1/pets", &key, None).json();
    assert_eq!(list[0]["name"], "Mia", "the newest first");
}

#[test]
fn each_lawful_choice_is_tried_by_itself_and_a_refused_one_is_shown_with_the_last_lines() {
    let folder = Folder::new();
    let json = folder.path().join("a.json");
    let report = format!("json={}", json.display());
    let args =
        ["--lawful", "0", "--choose", "list.order.by-name", "--choose", "list.order.oldest", "--report", &report];
    let (code, stdout, stderr) = run(&args, "suite_that_expects_an_order");
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stderr.contains("2 of 2 lawful servers were refused"), "{stderr}");
    assert!(stdout.contains("\n  list.order."), "{stdout}");
    assert!(stdout.contains("the last lines of its output:\n") && stdout.contains("      | "), "{stdout}");
    assert!(stdout.contains("test result: FAILED"), "{stdout}");
    let read: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
    assert_eq!(
        read["requirements"],
        serde_json::json!([
            {"requirement": "list.order", "faults": 0, "noticed": 0, "choices": 2, "refused": 2}
        ])
    );
    assert_eq!((&read["choices"][0]["verdict"], &read["faults"]), (&"refused".into(), &serde_json::json!([])));
}

#[test]
fn a_quick_challenge_says_how_long_it_takes_and_succeeds_with_as_many_faults_as_were_asked_for() {
    let folder = Folder::new();
    let text = folder.path().join("missed.txt");
    let report = format!("text={}", text.display());
    let run = |args: &[&str]| {
        let quick = ["challenge", "--quick", "--fault", "list.", "--report", &report];
        let output = crate::support::program(&[&quick[..], args, &["--", "true"]].concat());
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, stdout, stderr) = run(&[]);
    let requirements = stderr.split(" servers to try, ").next().and_then(|count| count.trim().parse::<usize>().ok());
    assert!(requirements.is_some_and(|count| (10..20).contains(&count)), "one fault for each requirement: {stderr}");
    assert_eq!(code, Some(1), "{stderr}");
    let lines = stdout.lines().count() + stderr.lines().count();
    assert!(lines <= 60 && stderr.lines().count() <= 12, "{lines} lines: {stdout}{stderr}");
    let whole = std::fs::read_to_string(&text).expect("a report");
    assert!(whole.contains("list.limit-default") && whole.len() > stdout.len(), "{whole}");
    assert_eq!(run(&["--at-least", "0"]).0, Some(0));
    let (code, _, stderr) = run(&["--at-least", "1"]);
    assert!(code == Some(1) && stderr.contains("faults were noticed, fewer than 1"), "{stderr}");
    let (code, _, stderr) = run(&["--at-least", "90"]);
    assert!(code == Some(2) && stderr.contains("faults are tried"), "{stderr}");
}

#[test]
fn an_earlier_report_stays_where_a_challenge_cannot_start() {
    let folder = Folder::new();
    let (earlier, new) = (folder.path().join("a.json"), folder.path().join("b.json"));
    std::fs::write(&earlier, "an earlier report, which is longer than a new one ".repeat(200)).expect("written");
    let before = std::fs::read_to_string(&earlier).expect("a report");
    let reports = [&earlier, &new].map(|path| format!("json={}", path.display()));
    let args = ["challenge", "--fault", "list.limit-default.fifty", "--lawful", "0"];
    let args = [&args[..], &["--report", &reports[0], "--report", &reports[1], "--"]].concat();
    for (command, code) in [("./no-such-suite", 3), ("false", 1)] {
        let output = crate::support::program(&[&args[..], &[command]].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(std::fs::read_to_string(&earlier).expect("a report"), before, "{command}");
        assert!(!new.exists(), "{command} leaves an empty report");
    }
    crate::support::program(&[&args[..], &["true"]].concat());
    for path in [earlier, new] {
        let read = std::fs::read(path).expect("a report");
        assert!(serde_json::from_slice::<serde_json::Value>(&read).is_ok(), "{}", String::from_utf8_lossy(&read));
    }
}

fn kill(signal: &str, process: &str) -> bool {
    let status = Command::new("sh").args(["-c", &format!("kill -{signal} {process} 2> /dev/null")]).status();
    status.expect("sh runs").success()
}

/// Ends a challenge with a signal while its suite waits. Returns its output, and the address of the server and the process of the suite.
fn killed(folder: &Folder, args: &[&str], signal: &str) -> (Output, (String, String)) {
    let mark = folder.path().join("mark");
    let mut command = challenge(args, "suite_that_takes_for_ever");
    command.env("CHALLENGE_TEST_MARK", &mark).stdout(Stdio::piped()).stderr(Stdio::piped());
    let temporary = folder.path().join("temporary");
    std::fs::create_dir_all(&temporary).expect("a folder");
    let child = command.env("TMPDIR", &temporary).spawn().expect("the program starts");
    let marked = eventually("the suite of the broken server", || std::fs::read_to_string(&mark).ok());
    assert!(kill(signal, &child.id().to_string()));
    let output = child.wait_with_output().expect("it ends");
    let (address, process) = marked.split_once(' ').expect("two words");
    (output, (address.to_owned(), process.to_owned()))
}

#[test]
fn a_killed_challenge_leaves_no_server_and_no_folder_behind() {
    for signal in ["TERM", "HUP", "KILL"] {
        let folder = Folder::new();
        let args = ["--lawful", "0", "--fault", "list.limit-default.fifty"];
        let (_, (address, suite)) = killed(&folder, &args, signal);
        eventually("the end of the suite", || {
            let state = std::fs::read_to_string(format!("/proc/{suite}/stat")).unwrap_or_default();
            // A dead process whose new parent has not collected it yet is gone as well.
            (state.is_empty() || state.contains(") Z ")).then_some(())
        });
        assert!(std::net::TcpStream::connect(&address).is_err(), "{signal}: a server is left at {address}");
        let left: Vec<_> = std::fs::read_dir(folder.path().join("temporary")).expect("a folder").collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
}

#[test]
fn two_reports_in_one_file_are_refused_before_anything_is_tried() {
    let folder = Folder::new();
    let path = folder.path().join("a.json");
    let reports = [format!("json={}", path.display()), format!("json={}/./a.json", folder.path().display())];
    let args = ["challenge", "--lawful", "0", "--report", &reports[0], "--report", &reports[1], "--", "true"];
    let output = crate::support::program(&args);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("two reports would be written to"), "{output:?}");
    assert!(!path.exists(), "an empty report is left");
}

#[test]
fn an_interrupted_challenge_shows_what_is_known() {
    let folder = Folder::new();
    let json = folder.path().join("a.json");
    let report = format!("json={}", json.display());
    // Servers of these faults have animals from the start.
    let args = ["--lawful", "0", "--fault", "list.limit-default.fifty", "--report", &report];
    let (output, _) = killed(&folder, &args, "INT");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("interrupted"), "{output:?}");
    let read: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
    assert_eq!((&read["interrupted"], &read["faults"]), (&true.into(), &serde_json::json!([])));
}
