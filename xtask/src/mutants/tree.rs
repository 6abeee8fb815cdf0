//! A copy of the workspace, in which changes are made.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// Makes `to` a copy of what git knows or would know of `from`. Files that are the same already are not touched, so that what was
/// built of them stays good.
pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let mut git = Command::new("git");
    git.current_dir(from).args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let listed = git.output().context("could not start git")?;
    anyhow::ensure!(listed.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).context("a file whose name is no text")?;
    let names: HashSet<&str> = listed.split_terminator('\0').collect();
    for name in &names {
        // One that was removed and is not committed yet is still listed.
        let Ok(bytes) = std::fs::read(from.join(name)) else { continue };
        let path = to.join(name);
        if std::fs::read(&path).is_ok_and(|old| old == bytes) {
            continue;
        }
        let folder = path.parent().unwrap_or(to);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    for path in files(to)? {
        let name = path.strip_prefix(to).unwrap_or(&path).to_string_lossy().into_owned();
        if !names.contains(name.as_str()) || !from.join(&name).is_file() {
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Every file below a folder.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_gains_what_is_new_and_loses_what_is_gone() {
        let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let write = |name: &str, text: &str| std::fs::write(from.path().join(name), text).expect("a file");
        let git = Command::new("git").args(["init", "-q"]).current_dir(from.path()).status().expect("git");
        assert!(git.success());
        write(".gitignore", "target");
        write("a", "1");
        write("b", "1");
        write("target", "large");
        copy(from.path(), to.path()).expect("a copy");
        std::fs::write(to.path().join("a"), "changed").expect("a file");
        std::fs::remove_file(from.path().join("b")).expect("it was there");
        write("c", "1");
        copy(from.path(), to.path()).expect("a copy");
        let read = |name: &str| std::fs::read_to_string(to.path().join(name)).ok();
        assert_eq!([read("a"), read("b"), read("c"), read("target")], [Some("1".into()), None, Some("1".into()), None]);
    }
}
