//! Report files: checked before anything is sent, written whole or not at all.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::values::ReportFile;
use crate::report::Report;

/// Report files that can be written, as far as can be told beforehand.
#[derive(Debug)]
pub(super) struct ReportFiles<'f> {
    files: Vec<(&'f ReportFile, Way)>,
}

/// How a file gets its content.
#[derive(Debug)]
enum Way {
    /// A file beside it is written and then renamed, so that nobody ever reads a half, and a failure leaves what was there.
    Replace { path: PathBuf, permissions: Option<Permissions> },
    /// It is written in place: it is no regular file, such as a pipe, or stands in a folder that takes no further file.
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
        write!(f, "the report {report} cannot be written: {problem}\n  Nothing was sent. {remedy}")
    }
}

impl ReportFiles<'_> {
    /// Makes sure that the files can be written, and leaves everything as it is.
    pub(super) fn check(files: &[ReportFile]) -> Result<ReportFiles<'_>, Unwritable> {
        let mut checked: Vec<(&ReportFile, Way)> = Vec::new();
        for file in files {
            if let Some((other, _)) = checked.iter().find(|(other, _)| other.path == file.path) {
                return Err(Unwritable {
                    report: file.to_string(),
                    problem: format!("{other} goes to the same file"),
                    remedy: "Give each report a file of its own.".to_owned(),
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

    /// Writes every report; what went wrong, a line for each that is missing now.
    pub(super) fn write(&self, report: &Report) -> Vec<String> {
        let written = self.files.iter().map(|(file, way)| {
            let text = (file.format.render)(report);
            let outcome = match way {
                Way::Replace { path, permissions } => replace(path, permissions.as_ref(), &text),
                Way::InPlace => fs::write(&file.path, text),
            };
            outcome.map_err(|error| format!("the report {file} was not written: {error}"))
        });
        written.filter_map(Result::err).collect()
    }
}

/// How a file at this path can be written; else the problem, and what to type instead.
fn way(path: &Path) -> Result<Way, (String, String)> {
    let elsewhere =
        |error: io::Error| (error.to_string(), "Choose a file in a folder that is yours to write.".to_owned());
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            let inside = path.join("report");
            Err(("it is a folder".to_owned(), format!("Name a file in it, such as {}.", inside.display())))
        }
        Ok(found) if found.is_file() => {
            OpenOptions::new().append(true).open(path).map_err(elsewhere)?;
            // The file itself, should the path be a link to it.
            let path = fs::canonicalize(path).map_err(elsewhere)?;
            let permissions = Some(found.permissions());
            Ok(if try_beside(&path).is_ok() { Way::Replace { path, permissions } } else { Way::InPlace })
        }
        Ok(_) => Ok(Way::InPlace),
        Err(error) if error.kind() == ErrorKind::NotFound => match folder(path) {
            folder if !folder.exists() => {
                let shown = folder.display();
                Err((format!("there is no folder {shown}"), format!("Make it first: mkdir -p {shown}")))
            }
            _ => {
                try_beside(path).map_err(elsewhere)?;
                Ok(Way::Replace { path: path.to_owned(), permissions: None })
            }
        },
        Err(error) => Err(elsewhere(error)),
    }
}

/// The folder that a file stands in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a file beside the path, under a name that nobody else has.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder(path).join(format!(".{name}.{}.part", std::process::id()));
    File::create_new(&beside).map(|file| (file, beside))
}

fn try_beside(path: &Path) -> io::Result<()> {
    let (_, beside) = beside(path)?;
    fs::remove_file(beside)
}

fn replace(path: &Path, permissions: Option<&Permissions>, text: &str) -> io::Result<()> {
    let (mut file, beside) = beside(path)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions.clone())))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _gone_or_nothing_more_to_do = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of the test's own, in which nothing stands.
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
    fn checking_leaves_nothing_behind_and_keeps_what_is_there() {
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
    fn a_report_replaces_what_was_there_and_leaves_nothing_beside_it() {
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
    fn what_cannot_be_written_is_said_with_what_to_type() {
        let folder = scratch("refuse");
        let (problem, remedy) = way(&folder).unwrap_err();
        assert!(problem.contains("a folder") && remedy.contains("Name a file in it"), "{problem}; {remedy}");
        let (problem, remedy) = way(&folder.join("missing/r.json")).unwrap_err();
        assert!(problem.contains("no folder") && remedy.contains("mkdir -p"), "{problem}; {remedy}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_in_place_and_a_link_keeps_leading_to_its_file() {
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
