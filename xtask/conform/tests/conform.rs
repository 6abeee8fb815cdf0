//! `cargo xtask conform`: which server it judges.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the judge in a folder, as someone there would.
fn conform(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask-conform"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CONFORM_")) {
        command.env_remove(name);
    }
    command.arg("cargo xtask conform").args(args).current_dir(folder).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with this configuration file.
fn with_file(file: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("conform.toml"), file).expect("a file");
    folder
}

#[test]
fn a_file_that_names_no_server_tells_how_to_judge_the_embedded_one() {
    let folder = with_file("profile = 'functional'\nplan = 'business'\nquiet = true\n");
    let output = conform(folder.path(), &["--only", "list.array"]);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", text(&output.stderr));
    assert!(stdout.contains("profile functional") && stdout.contains("plan business"), "{stdout}");
}

#[test]
fn a_server_that_the_file_names_is_judged_instead_of_the_embedded_one() {
    let folder = with_file("base_url = 'http://127.0.0.1:1/v1'\n");
    let output = conform(folder.path(), &["--api-key", "k"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("http://127.0.0.1:1/v1"), "{}", text(&output.stderr));
}

#[test]
fn a_file_whose_servers_wait_to_be_picked_is_not_passed_over() {
    let folder = with_file("profile = 'functional'\n[environments.staging]\nbase_url = 'http://127.0.0.1:1/v1'\n");
    let output = conform(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("no environment of conform.toml is selected"), "{}", text(&output.stderr));
    assert_eq!(
        conform(folder.path(), &["--no-config", "--profile", "functional", "--only", "list.array"]).status.code(),
        Some(0)
    );
}

/// Parts of commands that cannot run as printed: placeholders, programs that are not part of the project, and builds that take minutes.
#[cfg(unix)]
const PLACEHOLDERS: [&str; 12] = [
    "…",
    "YOUR_ORG",
    "example.com",
    "10.0.0.",
    "localhost:8080",
    "reports/*.json",
    "A.json",
    "./run-client-tests",
    "st --config-file ",
    "docker ",
    "--image ",
    "cargo install",
];

/// The commands of a page that need no placeholder, a block each.
#[cfg(unix)]
fn blocks(page: &str) -> Vec<String> {
    let fenced = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let is_runnable = |block: &&str| !PLACEHOLDERS.iter().any(|placeholder| block.contains(placeholder));
    fenced.filter(is_runnable).map(str::to_owned).collect()
}

/// The script of a block: a line that says `# exit code 1` must end with that one, every other with 0. Servers listen on ports that are free.
#[cfg(unix)]
fn script(block: &str) -> String {
    let mut script = block.to_owned();
    for port in ["8080", "8081", "8082"] {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        script = script.replace(&format!(":{port}"), &format!(":{}", free.port()));
        if port == "8080" {
            script = script.replace("xtask serve ", &format!("xtask serve --listen 127.0.0.1:{} ", free.port()));
        }
    }
    let line = |line: &str| match line.split_once("# exit code ") {
        Some((command, code)) => format!("{command}|| [ $? = {} ]\n", &code[..1]),
        None => format!("{line}\n"),
    };
    script.lines().map(line).collect()
}

/// A folder of programs that are called as readers call them.
#[cfg(unix)]
fn programs(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;

    let judge = env!("CARGO_BIN_EXE_xtask-conform");
    let reference = Path::new(judge).with_file_name("reference");
    let reference = reference.display();
    let serve = format!("if [ \"$2\" = serve ]; then shift 2; exec {reference} serve --dev --db :memory: \"$@\"; fi");
    for (name, commands) in [
        (
            "cargo",
            format!(
                "{serve}\nshift\nif [ \"$1\" = conform ]; then shift; fi\nexec {judge} 'cargo xtask conform' \"$@\""
            ),
        ),
        ("conform", format!("exec {judge} conform \"$@\"")),
        ("reference", format!("exec {reference} \"$@\"")),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{commands}\n")).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    }
}

#[cfg(unix)]
#[test]
fn the_commands_of_the_pages_run_as_they_are_printed_and_leave_no_process_behind() {
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;
    use std::sync::mpsc;
    use std::time::Duration;

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    let docs =
        std::fs::read_dir(root.join("conformance/docs")).expect("a folder").map(|page| page.expect("a page").path());
    let is_built = Path::new(env!("CARGO_BIN_EXE_xtask-conform")).with_file_name("reference").exists();
    let has_programs = is_built && Command::new("curl").arg("--version").output().is_ok();
    let mut run = 0;
    for page in docs.chain([root.join("README.md")]) {
        for block in blocks(&std::fs::read_to_string(&page).expect("a page")) {
            let starts_server = block.contains(" serve ");
            if starts_server && !has_programs {
                eprintln!("skipped, because curl is not installed or the reference not built: {block}");
                continue;
            }
            let folder = tempfile::tempdir().expect("a folder");
            std::os::unix::fs::symlink(root.join("fixtures"), folder.path().join("fixtures")).expect("a link");
            programs(folder.path());
            let path = std::env::join_paths(
                [folder.path().to_owned()]
                    .into_iter()
                    .chain(std::env::split_paths(&std::env::var_os("PATH").expect("a path"))),
            );
            let mut command = Command::new("sh");
            command.args(["-e", "-c", &script(&block)]).current_dir(folder.path()).process_group(0);
            command.env("PATH", path.expect("a path")).env("HOME", folder.path()).env("CONFORM_PROFILE", "functional");
            if !starts_server {
                // Of the server that the judge brings along: nothing has to wait for a window.
                command.env("CONFORM_PLAN", "business");
            }
            let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let child = child.expect("a shell");
            let group = format!("-{}", child.id());
            let (done, ended) = mpsc::channel();
            // The output ends when the last process ends that the block has started.
            std::thread::spawn(move || done.send(child.wait_with_output()));
            let Ok(output) = ended.recv_timeout(Duration::from_mins(3)) else {
                let _ended_meanwhile = Command::new("kill").args(["--", &group]).status();
                panic!("a process of {} is still there:\n{block}", page.display());
            };
            let output = output.expect("the output");
            let shown = format!("{}{}", text(&output.stdout), text(&output.stderr));
            assert!(output.status.success(), "{}: {}\n{block}\n{shown}", page.display(), output.status);
            run += 1;
        }
    }
    assert!(run >= 5, "{run} blocks ran");
}

/// A limiter of five requests a minute, as the page on vectors asks for one.
#[cfg(unix)]
const LIMITER: &str = "exports.Limiter = class {
    constructor(limit) { this.limit = limit; this.minute = this.used = 0; }
    take(ms) {
        const minute = Math.floor(ms / 60000);
        if (minute !== this.minute) { this.minute = minute; this.used = 0; }
        return this.used < this.limit ? this.limit - ++this.used : -1;
    }
};";

#[cfg(unix)]
#[test]
fn the_unit_tests_of_the_page_on_vectors_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    let page = std::fs::read_to_string(root.join("conformance/docs/vectors.md")).expect("the page");
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a block");
        rest.split_once("```").expect("its end").0.to_owned()
    };
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(root.join("fixtures"), folder.path().join("fixtures")).expect("a link");
    let run = |program: &str, args: &[&str]| {
        Command::new(program).args(args).current_dir(folder.path()).output().expect("it starts")
    };
    let is_installed = |program: &str| {
        let is_there = Command::new(program).arg("--version").output().is_ok();
        if !is_there {
            eprintln!("skipped, because {program} is not installed");
        }
        is_there
    };

    if is_installed("node") {
        std::fs::write(folder.path().join("limiter.js"), LIMITER).expect("a file");
        std::fs::write(folder.path().join("limits.test.js"), block("js")).expect("a file");
        let output = run("node", &["--test", "limits.test.js"]);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
    let reference = Path::new(env!("CARGO_BIN_EXE_xtask-conform")).with_file_name("reference");
    if is_installed("python3") && reference.exists() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let address = free.to_string();
        let mut serve = Command::new(reference);
        serve.args(["serve", "--db", ":memory:", "--key", "enterprise=Vector-Key-1", "--listen", &address]);
        serve.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut server = serve.spawn().expect("the reference starts");
        while std::net::TcpStream::connect(free).is_err() {
            assert!(server.try_wait().expect("a state").is_none(), "the reference ended");
            std::thread::yield_now();
        }
        let test = block("python").replace("127.0.0.1:8080", &address) + "\ntest_creations()\n";
        let output = run("python3", &["-c", &test]);
        server.kill().and_then(|()| server.wait()).expect("the reference ends");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}
