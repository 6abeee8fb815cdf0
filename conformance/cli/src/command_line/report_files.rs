//! Report files: checked before anything is sent, and written atomically.

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
    files: Vec<(&'f ReportFile, WriteMode)>,
    /// The file of the trace.
    trace: Option<(&'f Path, WriteMode)>,
}

/// The way in which a file is written.
#[derive(Debug)]
enum WriteMode {
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
#[derive(Debug, thiserror::Error)]
#[error("cannot write {file}: {obstacle}\n  Nothing was sent. {}", .obstacle.remedy())]
pub(super) struct Unwritable {
    file: String,
    obstacle: Obstacle,
}

/// The reason why a file cannot be written.
#[derive(Debug, thiserror::Error)]
enum Obstacle {
    #[error("{0} is written to the same file")]
    SameFile(String),
    #[error("it is a directory")]
    Directory(PathBuf),
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("{}", of_file(.0))]
    Io(#[from] io::Error),
}

impl Obstacle {
    fn remedy(&self) -> String {
        match self {
            Obstacle::SameFile(_) => "Write each report, and the trace, to its own file.".to_owned(),
            Obstacle::Directory(path) => format!("Name a file in it, such as {}.", path.join("report").display()),
            Obstacle::NotADirectory(_) | Obstacle::Io(_) => "Choose a file in a writable directory.".to_owned(),
        }
    }
}

impl<'f> ReportFiles<'f> {
    /// Checks that the reports and the trace can be written, without changing any file.
    pub(super) fn check(files: &'f [ReportFile], trace: Option<&'f Path>) -> Result<ReportFiles<'f>, Unwritable> {
        let mut checked = ReportFiles { files: Vec::new(), trace: None };
        for file in files {
            let mode = checked.probe(&file.path, || format!("the report {file}"))?;
            checked.files.push((file, mode));
        }
        if let Some(path) = trace {
            checked.trace = Some((path, checked.probe(path, || format!("the trace {}", path.display()))?));
        }
        Ok(checked)
    }

    /// Returns the way to write one more file.
    fn probe(&self, path: &Path, name: impl Fn() -> String) -> Result<WriteMode, Unwritable> {
        let mode = match self.files.iter().find(|(other, _)| other.path == path) {
            Some((other, _)) => Err(Obstacle::SameFile(other.to_string())),
            None => WriteMode::probe(path),
        };
        mode.map_err(|obstacle| Unwritable { file: name(), obstacle })
    }

    /// Returns true if a trace is to be written.
    pub(super) fn want_trace(&self) -> bool {
        self.trace.is_some()
    }

    /// Opens the file of the trace, to be written while there is traffic. Returns an error message if that is not possible.
    pub(super) fn open_trace(&self) -> Result<Option<Box<dyn Write + Send>>, String> {
        let Some((path, mode)) = &self.trace else { return Ok(None) };
        let file = match mode {
            WriteMode::StandardOutput => return Ok(Some(Box::new(io::stdout()))),
            WriteMode::Replace { path, .. } => fs::create_dir_all(folder(path)).and_then(|()| File::create(path)),
            WriteMode::Append => appended(path),
            WriteMode::InPlace => File::create(path),
        };
        let file = file.map_err(|error| format!("cannot write the trace {}: {error}", path.display()))?;
        Ok(Some(Box::new(file)))
    }

    /// Writes the trace, and returns an error message if it could not be written.
    pub(super) fn write_trace(&self, text: &str) -> Option<String> {
        let (path, mode) = self.trace.as_ref()?;
        let error = write(path, mode, &Printable::json(text)).err()?;
        Some(format!("cannot write the trace {}: {error}", path.display()))
    }

    /// The files, each with its format: `json=report.json`.
    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().map(|(file, _)| file.to_string()).collect()
    }

    fn modes(&self) -> impl Iterator<Item = &WriteMode> {
        self.files.iter().map(|(_, mode)| mode).chain(self.trace.iter().map(|(_, mode)| mode))
    }

    /// Returns true if a report or the trace is written to standard output.
    pub(super) fn use_standard_output(&self) -> bool {
        self.modes().any(|mode| matches!(mode, WriteMode::StandardOutput))
    }

    /// Removes the reports and the trace of an earlier run. Files of other programs stay, and so does the report that was to be repeated.
    pub(super) fn remove_earlier(&self, repeated: Option<&Path>) {
        let repeated = repeated.and_then(|path| fs::canonicalize(path).ok());
        for mode in self.modes() {
            if let WriteMode::Replace { path, permissions: Some(_) } = mode
                && repeated.as_ref() != Some(path)
                && is_own(path)
            {
                let _best_effort = fs::remove_file(path);
            }
        }
    }

    /// Writes every report, and returns an error message for each that could not be written.
    pub(super) fn write(&self, report: &Report) -> Vec<String> {
        let written = self.files.iter().map(|(file, mode)| {
            write(&file.path, mode, &file.format.render(report))
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
    let mode = WriteMode::probe(path).map_err(|obstacle| obstacle.to_string())?;
    write(path, &mode, text).map_err(|error| error.to_string())
}

fn write(path: &Path, mode: &WriteMode, text: &Printable) -> io::Result<()> {
    match mode {
        WriteMode::Replace { path, permissions } => {
            fs::create_dir_all(folder(path)).and_then(|()| replace(path, permissions.as_ref(), text.as_str()))
        }
        WriteMode::StandardOutput => match io::stdout().write_all(text.as_str().as_bytes()) {
            // A reader that closed the pipe is no failure.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        },
        WriteMode::Append => appended(path)?.write_all(text.as_str().as_bytes()),
        WriteMode::InPlace => fs::write(path, text.as_str()),
    }
}

impl WriteMode {
    /// Returns the way to write a file at this path, without changing any file. `-` is standard output.
    fn probe(path: &Path) -> Result<WriteMode, Obstacle> {
        if path.as_os_str() == "-" {
            return Ok(WriteMode::StandardOutput);
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(Obstacle::Directory(path.to_owned())),
            Ok(found) if found.is_file() => {
                OpenOptions::new().append(true).open(path)?;
                if is_job_summary(path) {
                    return Ok(WriteMode::Append);
                }
                // The file itself, should the path be a link to it.
                let path = fs::canonicalize(path)?;
                let permissions = Some(found.permissions());
                let is_replaceable = try_temporary(&path).is_ok();
                Ok(if is_replaceable { WriteMode::Replace { path, permissions } } else { WriteMode::InPlace })
            }
            Ok(_) => Ok(WriteMode::InPlace),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                // Missing directories are made when the report is written, in the nearest directory that exists.
                let nearest = folder(path).ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
                if !nearest.is_dir() {
                    return Err(Obstacle::NotADirectory(nearest.to_owned()));
                }
                try_temporary(&nearest.join("report"))?;
                Ok(WriteMode::Replace { path: path.to_owned(), permissions: None })
            }
            Err(error) => Err(error.into()),
        }
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
        assert!(matches!(WriteMode::probe(&new), Ok(WriteMode::Replace { permissions: None, .. })));
        assert!(matches!(WriteMode::probe(&old), Ok(WriteMode::Replace { permissions: Some(_), .. })));
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
            let Ok(WriteMode::Replace { path, permissions }) = WriteMode::probe(&path) else { panic!("writable") };
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
        let obstacle = WriteMode::probe(&folder).unwrap_err();
        assert!(obstacle.to_string().contains("a directory") && obstacle.remedy().contains("Name a file in it"));
        let file = folder.join("file");
        fs::write(&file, "").unwrap();
        for inside in ["r.json", "below/r.json"] {
            let obstacle = WriteMode::probe(&file.join(inside)).unwrap_err();
            assert!(obstacle.to_string().contains("file is not a directory"), "{obstacle}");
            assert!(obstacle.remedy().contains("writable directory"), "{}", obstacle.remedy());
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn missing_directories_are_made_when_a_report_is_written_and_not_before() {
        let folder = scratch("missing");
        let path = folder.join("a/b/r.json");
        let Ok(WriteMode::Replace { path, permissions }) = WriteMode::probe(&path) else { panic!("writable") };
        assert!(names(&folder).is_empty());
        assert!(permissions.is_none() && matches!(WriteMode::probe(Path::new("-")), Ok(WriteMode::StandardOutput)));
        fs::create_dir_all(path.parent().unwrap()).and_then(|()| replace(&path, None, "text")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_device_is_written_in_place_and_a_link_is_kept() {
        assert!(matches!(WriteMode::probe(Path::new("/dev/null")), Ok(WriteMode::InPlace)));
        let folder = scratch("link");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let Ok(WriteMode::Replace { path, .. }) = WriteMode::probe(&link) else { panic!("writable") };
        assert_eq!(path, fs::canonicalize(&file).unwrap());
        fs::remove_dir_all(folder).unwrap();
    }
}
