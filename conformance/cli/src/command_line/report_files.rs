//! Report files: checked before anything is sent, and written atomically.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
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
    Replace { path: PathBuf, permissions: Permissions },
    /// Standard output.
    StandardOutput,
    /// The text is appended: to the summary of a job of GitHub Actions, or to a pipe or device.
    Append,
}

impl<'f> ReportFiles<'f> {
    /// Checks that the reports and the trace can be written, without changing any file. The error is a message for people.
    pub(super) fn check(files: &'f [ReportFile], trace: Option<&'f Path>) -> Result<ReportFiles<'f>, String> {
        let mut checked: Vec<(&ReportFile, WriteMode)> = Vec::new();
        let probe = |checked: &[(&ReportFile, WriteMode)], path: &Path, name: String| {
            let mode = match checked.iter().find(|(other, _)| other.path == path) {
                Some((other, _)) => Err(format!("{other} is written to the same file")),
                None => WriteMode::probe(path),
            };
            let remedy = "Name a file of its own in a writable directory.";
            mode.map_err(|problem| format!("cannot write {name}: {problem}\n  Nothing was sent. {remedy}"))
        };
        for file in files {
            let mode = probe(&checked, &file.path, format!("the report {file}"))?;
            checked.push((file, mode));
        }
        let trace = match trace {
            Some(path) => Some((path, probe(&checked, path, format!("the trace {}", path.display()))?)),
            None => None,
        };
        Ok(ReportFiles { files: checked, trace })
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
            if let WriteMode::Replace { path, .. } = mode
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

fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Writes a file as a report is written: completely or not at all.
pub(super) fn replace_file(path: &Path, text: &Printable) -> Result<(), String> {
    write(path, &WriteMode::probe(path)?, text).map_err(|error| error.to_string())
}

fn write(path: &Path, mode: &WriteMode, text: &Printable) -> io::Result<()> {
    let text = text.as_str().as_bytes();
    match mode {
        WriteMode::Replace { path, permissions } => {
            fs::create_dir_all(folder(path))?;
            let mut builder = tempfile::Builder::new();
            let mut file = builder.permissions(permissions.clone()).tempfile_in(folder(path))?;
            file.write_all(text)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        }
        WriteMode::StandardOutput => match io::stdout().write_all(text) {
            // A reader that closed the pipe is no failure.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        },
        WriteMode::Append => appended(path)?.write_all(text),
    }
}

impl WriteMode {
    /// Returns the way to write a file at this path, without changing any file. `-` is standard output. The error is a message for people.
    fn probe(path: &Path) -> Result<WriteMode, String> {
        if path.as_os_str() == "-" {
            return Ok(WriteMode::StandardOutput);
        }
        let problem = |error: io::Error| of_file(&error);
        let found = match fs::metadata(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                // Missing directories are made when the report is written, in the nearest directory that exists.
                let nearest = folder(path).ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
                if !nearest.is_dir() {
                    return Err(format!("{} is not a directory", nearest.display()));
                }
                tempfile::tempfile_in(nearest).map_err(problem)?;
                return Ok(WriteMode::Replace { path: path.to_owned(), permissions: Permissions::from_mode(0o666) });
            }
            found => found.map_err(problem)?,
        };
        if found.is_dir() {
            return Err("it is a directory".to_owned());
        }
        if !found.is_file() {
            return Ok(WriteMode::Append);
        }
        appended(path).map_err(problem)?;
        if std::env::var_os("GITHUB_STEP_SUMMARY").is_some_and(|summary| summary == *path) {
            return Ok(WriteMode::Append);
        }
        // The file itself, should the path be a link to it.
        let path = fs::canonicalize(path).map_err(problem)?;
        tempfile::tempfile_in(folder(&path)).map_err(problem)?;
        Ok(WriteMode::Replace { path, permissions: found.permissions() })
    }
}

/// The directory of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn checking_changes_nothing_and_writing_leaves_the_file_alone_with_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/r.json");
        let new = WriteMode::probe(&path).unwrap();
        assert!(names(folder.path()).is_empty());
        write(&path, &new, &Printable::json("1")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let old = WriteMode::probe(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1");
        write(&path, &old, &Printable::json("2")).unwrap();
        assert_eq!(
            (names(&folder.path().join("a")), fs::read_to_string(&path).unwrap()),
            (vec!["r.json".to_owned()], "2".to_owned())
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_path_that_cannot_be_written_gets_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(WriteMode::probe(folder.path()).unwrap_err(), "it is a directory");
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for inside in ["r.json", "below/r.json"] {
            let problem = WriteMode::probe(&file.join(inside)).unwrap_err();
            assert!(problem.ends_with("file is not a directory"), "{problem}");
        }
    }

    #[test]
    fn a_device_is_written_in_place_and_a_link_is_kept() {
        assert!(matches!(WriteMode::probe(Path::new("/dev/null")), Ok(WriteMode::Append)));
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let Ok(WriteMode::Replace { path, .. }) = WriteMode::probe(&link) else { panic!("writable") };
        assert_eq!(path, fs::canonicalize(&file).unwrap());
    }
}
