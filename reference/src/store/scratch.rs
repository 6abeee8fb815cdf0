//! A folder for a temporary database.

use std::path::{Path, PathBuf};

/// A folder that only this user can read, removed with everything in it when dropped.
pub(super) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(super) fn create() -> std::io::Result<Self> {
        let mut random = [0_u8; 8];
        let provider = rustls::crypto::ring::default_provider();
        provider.secure_random.fill(&mut random).map_err(|_failed| std::io::Error::other("no random numbers"))?;
        let path = std::env::temp_dir().join(format!("animal-store-{:016x}", u64::from_ne_bytes(random)));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "a temporary folder was left behind");
        }
    }
}
