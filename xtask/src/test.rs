//! `cargo xtask test`: the tests of every package, several test programs at a time.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use xtask::{cargo, exit_code, text_of, workspace_root};

const HELP: &str = "Run the tests of every package

Usage: cargo xtask test [--all] | [ARGS OF cargo test]

  --all  also the tests that take long or need other programs (a container engine, other languages), and those of the
         tools of this command; without it, they are counted at the end

Examples:
  cargo xtask test
  cargo xtask test --package animal-store-reference
  cargo xtask test list_limit -- --nocapture";

/// The variable that sets how many tests of a program run at a time. A value of the user stays.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// The number of tests of a program that run at a time, for each processor. Many tests wait for servers and programs that they have started.
const TESTS_PER_PROCESSOR: usize = 2;

/// Programs that take long, by package and name. They are started first, so that no processor waits for them at the end.
const LONGEST: [&str; 4] = ["conformance/cli it", "conformance/cli servers", "xtask/conform conform", "reference it"];

/// The number of programs that run at a time beyond one for each processor, because a program that waits uses none.
const MORE_PROGRAMS: usize = 1;

/// Parts of the names of tests that only other tests or people start: suites of a challenge, and what writes fixtures.
const STARTED_BY_OTHERS: [&str; 2] = ["::suite_", "::record_the_"];

/// Runs all tests, or passes the arguments on to `cargo test`.
pub(crate) fn run(arguments: &[OsString]) -> io::Result<ExitCode> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    match arguments[..] {
        [] => run_everything(false),
        [all] if all == "--all" => run_everything(true),
        [help] if help == "--help" || help == "-h" => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        _ => Ok(exit_code(cargo().args(["test", "--locked", "--no-fail-fast"]).args(arguments).status()?)),
    }
}

/// Something that tests: a test program, or the documentation's examples.
struct Job {
    name: String,
    command: Command,
}

/// The result of a job.
struct Done {
    name: String,
    passed: bool,
    ignored: usize,
}

/// Builds all tests, and runs one test program more at a time than there are processors. With `heavy`, also those that take long.
fn run_everything(heavy: bool) -> io::Result<ExitCode> {
    let selection: &[&str] = if heavy { &["--workspace"] } else { &[] };
    let mut jobs = programs(selection)?;
    let mut examples = cargo();
    examples.args(["test", "--locked", "--quiet", "--doc"]).args(selection);
    jobs.push(Job { name: "examples of the documentation".to_owned(), command: examples });
    let processors = thread::available_parallelism().map_or(1, usize::from);
    for job in &mut jobs {
        if env::var_os(TEST_THREADS).is_none() {
            job.command.env(TEST_THREADS, (TESTS_PER_PROCESSOR * processors).to_string());
        }
        if heavy && job.command.get_program() != cargo().get_program() {
            job.command.arg("--include-ignored").args(STARTED_BY_OTHERS.iter().flat_map(|name| ["--skip", name]));
        }
    }
    let (begun, count) = (Instant::now(), jobs.len());
    let (waiting, done) = (Mutex::new(jobs.into_iter()), Mutex::new(Vec::new()));
    let workers = processors + MORE_PROGRAMS;
    let next = || waiting.lock().ok()?.next();
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let result = run_job(job);
                    if let Ok(mut done) = done.lock() {
                        done.push(result);
                    }
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_default();
    let failed: Vec<&str> = done.iter().filter(|done| !done.passed).map(|done| done.name.as_str()).collect();
    let ignored: usize = done.iter().map(|done| done.ignored).sum();
    println!("\n{} of {count} test programs passed in {} s", count - failed.len(), begun.elapsed().as_secs());
    if ignored > 0 {
        println!("SKIPPED: {ignored} tests that take long or need other programs: cargo xtask test --all");
    }
    if failed.is_empty() && done.len() == count {
        return Ok(ExitCode::SUCCESS);
    }
    println!("FAILED: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Runs a job and prints its result, with its whole output if it failed.
fn run_job(mut job: Job) -> Done {
    let begun = Instant::now();
    let output = job.command.stdin(Stdio::null()).output();
    let took = begun.elapsed().as_secs_f32();
    let Ok(output) = output else {
        println!("FAILED: {} could not be started", job.name);
        return Done { name: job.name, passed: false, ignored: 0 };
    };
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let results: Vec<&str> = text.lines().filter(|line| line.starts_with("test result:")).collect();
    let passed = output.status.success();
    // One call prints all of it, so that the lines of two jobs are not mixed.
    if passed {
        let skipped = text.lines().filter(|line| line.starts_with("SKIPPED"));
        let lines: Vec<&str> = skipped.chain(results.iter().copied()).collect();
        println!("{} ({took:.1} s)\n{}", job.name, lines.join("\n"));
    } else {
        println!("FAILED: {} ({took:.1} s)\n{text}", job.name);
    }
    Done { name: job.name, passed, ignored: results.iter().filter_map(|line| ignored(line)).sum() }
}

/// The number of ignored tests in a line such as `test result: ok. 12 passed; 0 failed; 2 ignored; …`.
fn ignored(result: &str) -> Option<usize> {
    let counted = result.split(';').find_map(|part| part.trim().strip_suffix(" ignored"))?;
    counted.parse().ok()
}

/// Builds the test programs of the selected packages, and returns them, those that take long first.
fn programs(selection: &[&str]) -> io::Result<Vec<Job>> {
    let mut build = cargo();
    build.args(["test", "--locked", "--no-run", "--message-format", "json-render-diagnostics"]).args(selection);
    let built = build.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err(io::Error::other("the tests could not be built"));
    }
    let mut jobs: Vec<Job> = String::from_utf8_lossy(&built.stdout).lines().filter_map(job).collect();
    jobs.sort_by_key(|job| LONGEST.iter().position(|long| job.name == *long).unwrap_or(LONGEST.len()));
    Ok(jobs)
}

/// The job of a message of cargo that names a test program.
fn job(message: &str) -> Option<Job> {
    // A target says as well whether it has tests.
    let (_, profile) = message.split_once(r#""profile":{"#)?;
    if !profile.split('}').next()?.contains(r#""test":true"#) {
        return None;
    }
    let program = PathBuf::from(text_of(message, "executable")?);
    let folder = PathBuf::from(text_of(message, "manifest_path")?).parent()?.to_owned();
    let target = text_of(message.split_once(r#""target":"#)?.1, "name")?;
    let package = folder.strip_prefix(workspace_root()).unwrap_or(&folder).display().to_string();
    let mut command = Command::new(&program);
    // As cargo runs it.
    command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
    Some(Job { name: format!("{package} {target}"), command })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_message_of_cargo_names_a_test_program_and_its_package() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/w/conformance/cli/Cargo.toml","target":{"kind":["test"],"name":"it","test":true},"profile":{"test":true},"executable":"/t/deps/it-1"}"#;
        let job = job(message).expect("a job");
        assert!(job.name.ends_with("conformance/cli it"), "{}", job.name);
        assert_eq!(job.command.get_program(), "/t/deps/it-1");
        assert_eq!(job.command.get_current_dir(), Some(Path::new("/w/conformance/cli")));
        let program = message.replace(r#""profile":{"test":true"#, r#""profile":{"test":false"#);
        assert!(super::job(&program).is_none());
    }

    #[test]
    fn ignored_tests_are_counted() {
        assert_eq!(ignored("test result: ok. 12 passed; 0 failed; 2 ignored; 0 measured; 1 filtered out"), Some(2));
        assert_eq!(ignored("test result: FAILED"), None);
    }
}
