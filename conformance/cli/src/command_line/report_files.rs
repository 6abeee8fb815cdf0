//! Report files: checked before anything is sent, and written atomically.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::values::ReportFile;
use animal_store_conformance::http::errors::of_file;
use animal_store_conformance::redaction::Printable;
use animal_store_conformance::report::{Report, TOOL};

/// Report files that can be written, as far as can be checked beforehand.
#[derive(Debug)]
pub(super) struct ReportFiles<'f> {
    files: Vec<(&'f ReportFile, Way)>,
    /// The file of the trace.
    trace: Option<(&'f Path, Way)>,
}

/// The way in which a file is written.
#[derive(Debug)]
enum Way {
    /// A temporary file in the same directory is written and then renamed, so that nobody reads a partial file, and a failure
    /// leaves the previous content.
    Replace { path: PathBuf, permissions: Option<Permissions> },
    /// Standard output.
    StandardOutput,
    /// The text is appended to the file: the summary of a job of GitHub Actions.
    Append,
    /// The file is written in place: it is not a regular file, such as a pipe, or its directory is not writable.
    InPlace,
}

/// A report, or a trace, that cannot be written.
#[derive(Debug)]
pub(super) struct Unwritable {
    file: String,
    problem: String,
    remedy: String,
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unwritable { file, problem, remedy } = self;
        write!(f, "cannot write {file}: {problem}\n  Nothing was sent. {remedy}")
    }
}

impl<'f> ReportFiles<'f> {
    /// Checks that the files can be written, without changing any.
    pub(super) fn check(files: &'f [ReportFile]) -> Result<ReportFiles<'f>, Unwritable> {
        let mut checked: Vec<(&ReportFile, Way)> = Vec::new();
        for file in files {
            if let Some((other, _)) = checked.iter().find(|(other, _)| other.path == file.path) {
                return Err(Unwritable {
                    file: format!("the report {file}"),
                    problem: format!("{other} is written to the same file"),
                    remedy: "Write each report to its own file.".to_owned(),
                });
            }
            let way = way(&file.path).map_err(|(problem, remedy)| Unwritable {
                file: format!("the report {file}"),
                problem,
                remedy,
            })?;
            checked.push((file, way));
        }
        Ok(ReportFiles { files: checked, trace: None })
    }

    /// Checks that the file of the trace can be written, too.
    pub(super) fn with_trace(mut self, path: Option<&'f Path>) -> Result<ReportFiles<'f>, Unwritable> {
        let Some(path) = path else { return Ok(self) };
        let unwritable =
            |(problem, remedy)| Unwritable { file: format!("the trace {}", path.display()), problem, remedy };
        if let Some((other, _)) = self.files.iter().find(|(other, _)| other.path == path) {
            let remedy = "Write the trace to its own file.".to_owned();
            return Err(unwritable((format!("{other} is written to the same file"), remedy)));
        }
        self.trace = Some((path, way(path).map_err(unwritable)?));
        Ok(self)
    }

    /// Returns true if a trace is to be written.
    pub(super) fn want_trace(&self) -> bool {
        self.trace.is_some()
    }

    /// Opens the file of the trace, to be written while there is traffic. Returns an error message if that is not possible.
    pub(super) fn open_trace(&self) -> Result<Option<Box<dyn Write + Send>>, String> {
        let Some((path, way)) = &self.trace else { return Ok(None) };
        let file = match way {
            Way::StandardOutput => return Ok(Some(Box::new(io::stdout()))),
            Way::Replace { path, .. } => fs::create_dir_all(folder(path)).and_then(|()| File::create(path)),
            Way::Append => appended(path),
            Way::InPlace => File::create(path),
        };
        let file = file.map_err(|error| format!("cannot write the trace {}: {error}", path.display()))?;
        Ok(Some(Box::new(file)))
    }

    /// Writes the trace, and returns an error message if it could not be written.
    pub(super) fn write_trace(&self, text: &str) -> Option<String> {
        let (path, way) = self.trace.as_ref()?;
        let error = write(path, way, &Printable::json(text)).err()?;
        Some(format!("cannot write the trace {}: {error}", path.display()))
    }

    /// The files, each with its format: `json=report.json`.
    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(|(file, _)| file.to_string()).collect()
    }

    fn ways(&self) -> impl Iterator<Item = &Way> {
        self.files.iter().map(|(_, way)| way).chain(self.trace.iter().map(|(_, way)| way))
    }

    /// Returns true if a report or the trace is written to standard output.
    pub(super) fn use_standard_output(&self) -> bool {
        self.ways().any(|way| matches!(way, Way::StandardOutput))
    }

    /// Removes the reports and the trace of an earlier run. Files of other programs stay, and so does the report that was to be repeated.
    pub(super) fn remove_earlier(&self, repeated: Option<&Path>) {
        let repeated = repeated.and_then(|path| fs::canonicalize(path).ok());
        for way in self.ways() {
            if let Way::Replace { path, permissions: Some(_) } = way
                && repeated.as_ref() != Some(path)
                && is_own(path)
            {
                let _best_effort = fs::remove_file(path);
            }
        }
    }

    /// Writes every report, and returns an error message for each that could not be written.
    pub(super) fn write(&self, report: &Report) -> Vec<String> {
        let written = self.files.iter().map(|(file, way)| {
            write(&file.path, way, &file.format.render(report))
                .map_err(|error| format!("cannot write the report {file}: {error}"))
        });
        written.filter_map(Result::err).collect()
    }
}

/// Returns true if this program wrote a file: a report or a trace, which names the program, or annotations, of any number.
fn is_own(path: &Path) -> bool {
    const MARKS: [&str; 3] = [TOOL, "animal-store-trace/", "Animal Store API"];
    let Ok(bytes) = fs::read(path) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    text.is_empty() || MARKS.iter().any(|mark| text.contains(mark))
}

/// Returns true if this is the file in which GitHub Actions collects the summary of a job.
fn is_job_summary(path: &Path) -> bool {
    std::env::var_os("GITHUB_STEP_SUMMARY").is_some_and(|summary| !summary.is_empty() && Path::new(&summary) == path)
}

fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Writes a file as a report is written: completely or not at all.
pub(super) fn replace_file(path: &Path, text: &Printable) -> Result<(), String> {
    let way = way(path).map_err(|(problem, _)| problem)?;
    write(path, &way, text).map_err(|error| error.to_string())
}

fn write(path: &Path, way: &Way, text: &Printable) -> io::Result<()> {
    match way {
        Way::Replace { path, permissions } => {
            fs::create_dir_all(folder(path)).and_then(|()| replace(path, permissions.as_ref(), text.as_str()))
        }
        Way::StandardOutput => printed(text),
        Way::Append => appended(path)?.write_all(text.as_str().as_bytes()),
        Way::InPlace => fs::write(path, text.as_str()),
    }
}

/// Prints a file on standard output. A reader that closed the pipe is no failure.
fn printed(text: &Printable) -> io::Result<()> {
    match io::stdout().write_all(text.as_str().as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// The way in which a file at this path can be written, or else the problem and a remedy. `-` is standard output.
fn way(path: &Path) -> Result<Way, (String, String)> {
    if path.as_os_str() == "-" {
        return Ok(Way::StandardOutput);
    }
    let elsewhere = |error: io::Error| (of_file(&error), "Choose a file in a writable directory.".to_owned());
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            let inside = path.join("report");
            Err(("it is a directory".to_owned(), format!("Name a file in it, such as {}.", inside.display())))
        }
        Ok(found) if found.is_file() => {
            OpenOptions::new().append(true).open(path).map_err(elsewhere)?;
            if is_job_summary(path) {
                return Ok(Way::Append);
            }
            // The file itself, should the path be a link to it.
            let path = fs::canonicalize(path).map_err(elsewhere)?;
            let permissions = Some(found.permissions());
            Ok(if try_temporary(&path).is_ok() { Way::Replace { path, permissions } } else { Way::InPlace })
        }
        Ok(_) => Ok(Way::InPlace),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => match folder(path) {
            file if file.exists() && !file.is_dir() => Err((
                format!("{} is not a directory", file.display()),
                "Choose a file in a writable directory.".to_owned(),
            )),
            // The directory is made when the report is written, in the nearest directory that exists.
            missing if !missing.exists() => {
                let nearest = missing.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
                let nearest = if nearest.as_os_str().is_empty() { Path::new(".") } else { nearest };
                try_temporary(&nearest.join("report")).map_err(elsewhere)?;
                Ok(Way::Replace { path: path.to_owned(), permissions: None })
            }
            _ => {
                try_temporary(path).map_err(elsewhere)?;
                Ok(Way::Replace { path: path.to_owned(), permissions: None })
            }
        },
        Err(error) => Err(elsewhere(error)),
    }
}

/// The directory of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a temporary file with a unique name in the directory of the path.
fn temporary(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // In containers, processes have the same number again and again, and one that was killed leaves its file behind.
    let temporary = folder(path).join(format!(".{name}.{:016x}.part", fastrand::u64(..)));
    File::create_new(&temporary).map(|file| (file, temporary))
}

fn try_temporary(path: &Path) -> io::Result<()> {
    let (_, temporary) = temporary(path)?;
    fs::remove_file(temporary)
}

fn replace(path: &Path, permissions: Option<&Permissions>, text: &str) -> io::Result<()> {
    let (mut file, temporary) = temporary(path)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions.clone())))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _best_effort = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory for a test.
    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("conform-report-files-{name}-{}", std::process::id()));
        let _not_there = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn checking_creates_no_file_and_keeps_existing_content() {
        let folder = scratch("check");
        let (new, old) = (folder.join("new.json"), folder.join("old.json"));
        fs::write(&old, "before").unwrap();
        assert!(matches!(way(&new), Ok(Way::Replace { permissions: None, .. })));
        assert!(matches!(way(&old), Ok(Way::Replace { permissions: Some(_), .. })));
        assert_eq!(
            (names(&folder), fs::read_to_string(&old).unwrap().as_str()),
            (vec!["old.json".to_owned()], "before")
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_report_replaces_the_file_and_leaves_no_temporary_file() {
        let folder = scratch("replace");
        let path = folder.join("r.json");
        for text in ["first", "second"] {
            let Ok(Way::Replace { path, permissions }) = way(&path) else { panic!("writable") };
            replace(&path, permissions.as_ref(), text).unwrap();
            assert_eq!(
                (names(&folder), fs::read_to_string(&path).unwrap().as_str()),
                (vec!["r.json".to_owned()], text)
            );
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_path_that_cannot_be_written_gets_a_problem_and_a_remedy() {
        let folder = scratch("refuse");
        let (problem, remedy) = way(&folder).unwrap_err();
        assert!(problem.contains("a directory") && remedy.contains("Name a file in it"), "{problem}; {remedy}");
        let file = folder.join("file");
        fs::write(&file, "").unwrap();
        let (problem, remedy) = way(&file.join("r.json")).unwrap_err();
        assert!(!problem.is_empty() && remedy.contains("writable directory"), "{problem}; {remedy}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn missing_directories_are_made_when_a_report_is_written_and_not_before() {
        let folder = scratch("missing");
        let path = folder.join("a/b/r.json");
        let Ok(Way::Replace { path, permissions }) = way(&path) else { panic!("writable") };
        assert!(names(&folder).is_empty());
        assert!(permissions.is_none() && matches!(way(Path::new("-")), Ok(Way::StandardOutput)));
        fs::create_dir_all(path.parent().unwrap()).and_then(|()| replace(&path, None, "text")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_device_is_written_in_place_and_a_link_is_kept() {
        assert!(matches!(way(Path::new("/dev/null")), Ok(Way::InPlace)));
        let folder = scratch("link");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let Ok(Way::Replace { path, .. }) = way(&link) else { panic!("writable") };
        assert_eq!(path, fs::canonicalize(&file).unwrap());
        fs::remove_dir_all(folder).unwrap();
    }
}
