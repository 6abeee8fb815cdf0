//! Archives and checksums that depend on nothing but their content.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

/// Packs a folder under its own name, with sorted names, this time everywhere, and no owner.
pub(crate) fn pack(folder: &Path, archive: &Path, unix_time: u64) -> anyhow::Result<()> {
    let root = folder.file_name().context("the folder has no name")?;
    let file = File::create(archive).with_context(|| format!("cannot write {}", archive.display()))?;
    // The archive's own header names no time and no file.
    let mut tar = Builder::new(GzEncoder::new(file, Compression::best()));
    for path in files(folder)? {
        let content = std::fs::read(folder.join(&path))?;
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(content.len() as u64);
        header.set_mode(if is_program(&path) { 0o755 } else { 0o644 });
        header.set_mtime(unix_time);
        tar.append_data(&mut header, Path::new(root).join(&path), content.as_slice())?;
    }
    tar.into_inner()?.finish()?;
    Ok(())
}

/// The sums of all files below a folder in the form that `sha256sum --check` reads.
pub(crate) fn sums(folder: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    for path in files(folder)? {
        let sum = Sha256::digest(std::fs::read(folder.join(&path))?);
        let digits: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("{digits}  {}\n", path.display());
    }
    Ok(text)
}

/// The files below a folder, sorted, as paths from it.
pub(crate) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))? {
            let path = entry?.path();
            if path.is_dir() { open.push(path) } else { found.push(path.strip_prefix(folder)?.to_owned()) }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a packed file is the program: the only file at the top in small letters and without an extension.
fn is_program(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_depends_on_nothing_but_its_content() {
        let archives = ["b a", "a b"].map(|order| {
            let dir = tempfile::tempdir().expect("a folder");
            let folder = dir.path().join("thing-1.0");
            std::fs::create_dir_all(folder.join("man")).expect("a folder");
            for name in order.split(' ').chain(["thing", "man/thing.1", "LICENSE"]) {
                std::fs::write(folder.join(name), name.repeat(2_000)).expect("written");
            }
            let archive = dir.path().join("thing.tar.gz");
            pack(&folder, &archive, 1_780_000_000).expect("packed");
            (std::fs::read(archive).expect("an archive"), sums(&folder).expect("sums"))
        });
        assert_eq!(archives[0], archives[1]);
        assert!(archives[0].1.ends_with("  thing\n"), "{}", archives[0].1);
    }

    #[test]
    fn programs_can_be_run_and_the_rest_cannot() {
        assert!(is_program(Path::new("conform")));
        assert!(["LICENSE", "man/conform.1", "THIRD-PARTY.txt"].iter().all(|path| !is_program(Path::new(path))));
    }
}
