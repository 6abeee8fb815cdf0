//! Report files: checked before anything is sent, and written atomically.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::values::ReportFile;
use crate::report::Report;

/// Report files that can be written, as far as can be checked beforehand.
#[derive(Debug)]
pub(super) struct ReportFiles<'f> {
    files: Vec<(&'f ReportFile, Way)>,
}

/// How a file gets its content.
#[derive(Debug)]
enum Way {
    /// A temporary file in the same directory is written and then renamed, so that nobody reads a partial file, and a failure
    /// leaves the previous content.
    Replace { path: PathBuf, permissions: Option<Permissions> },
    /// The file is written in place: it is not a regular file, such as a pipe, or its directory is not writable.
    InPlace,
}

/// A report that cannot be written.
#[derive(Debug)]
pub(super) struct Unwritable {
    report: String,
    problem: String,
    remedy: String,
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unwritable { report, problem, remedy } = self;
        write!(f, "cannot write the report {report}: {problem}\n  Nothing was sent. {remedy}")
    }
}

impl ReportFiles<'_> {
    /// Checks that the files can be written, without changing any.
    pub(super) fn check(files: &[ReportFile]) -> Result<ReportFiles<'_>, Unwritable> {
        let mut checked: Vec<(&ReportFile, Way)> = Vec::new();
        for file in files {
            if let Some((other, _)) = checked.iter().find(|(other, _)| other.path == file.path) {
                return Err(Unwritable {
                    report: file.to_string(),
                    problem: format!("{other} is written to the same file"),
                    remedy: "Write each report to its own file.".to_owned(),
                });
            }
            let way = way(&file.path).map_err(|(problem, remedy)| Unwritable {
                report: file.to_string(),
                problem,
                remedy,
            })?;
            checked.push((file, way));
        }
        Ok(ReportFiles { files: checked })
    }

    /// Writes every report; an error message for each that could not be written.
    pub(super) fn write(&self, report: &Report) -> Vec<String> {
        let written = self.files.iter().map(|(file, way)| {
            let text = (file.format.render)(report);
            let outcome = match way {
                Way::Replace { path, permissions } => replace(path, permissions.as_ref(), &text),
                Way::InPlace => fs::write(&file.path, text),
            };
            outcome.map_err(|error| format!("cannot write the report {file}: {error}"))
        });
        written.filter_map(Result::err).collect()
    }
}

/// How a file at this path can be written; else the problem and a remedy.
fn way(path: &Path) -> Result<Way, (String, String)> {
    let elsewhere = |error: io::Error| (error.to_string(), "Choose a file in a writable directory.".to_owned());
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            let inside = path.join("report");
            Err(("it is a directory".to_owned(), format!("Name a file in it, such as {}.", inside.display())))
        }
        Ok(found) if found.is_file() => {
            OpenOptions::new().append(true).open(path).map_err(elsewhere)?;
            // The file itself, should the path be a link to it.
            let path = fs::canonicalize(path).map_err(elsewhere)?;
            let permissions = Some(found.permissions());
            Ok(if try_temporary(&path).is_ok() { Way::Replace { path, permissions } } else { Way::InPlace })
        }
        Ok(_) => Ok(Way::InPlace),
        Err(error) if error.kind() == ErrorKind::NotFound => match folder(path) {
            folder if !folder.exists() => {
                let shown = folder.display();
                Err((format!("directory {shown} does not exist"), format!("Create it first: mkdir -p {shown}")))
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
    let temporary = folder(path).join(format!(".{name}.{}.part", std::process::id()));
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
        let (problem, remedy) = way(&folder.join("missing/r.json")).unwrap_err();
        assert!(problem.contains("does not exist") && remedy.contains("mkdir -p"), "{problem}; {remedy}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
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
