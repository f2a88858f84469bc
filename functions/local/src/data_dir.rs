//! The folder that holds everything of a local Reverie, and its lock: one process at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The lock's file in the folder. The operating system drops the lock with the process, however it ends.
const FILE: &str = "lock";

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process uses it.
    #[error("{} is in use by another reverie{}", path.display(), process.as_ref().map_or_else(String::new, |id| format!(" (process {id})")))]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The other process, if it left its number.
        process: Option<u32>,
    },
    /// It cannot be created or written to.
    #[error("cannot use {} as data directory", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// A folder that is ours until this is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Takes a folder, creating it if there is none; readable by its owner only, for it holds what people said.
    pub fn claim(path: &Path) -> Result<Self, DataDirError> {
        let unusable = |source| DataDirError::Unusable {
            path: path.to_owned(),
            source,
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(unusable)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(FILE))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Only for the message.
                let _ = lock.read_to_string(&mut text);
                return Err(DataDirError::InUse {
                    path: path.to_owned(),
                    process: text.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        let note = |lock: &mut File| {
            lock.set_len(0)?;
            lock.rewind()?;
            writeln!(lock, "{}", std::process::id())
        };
        note(&mut lock).map_err(unusable)?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_and_free_again_afterwards() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new/data");
        let first = DataDir::claim(&path).unwrap();
        let second = DataDir::claim(&path).unwrap_err().to_string();
        assert!(second.contains("in use"), "{second}");
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        drop(first);
        DataDir::claim(&path).unwrap();
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = DataDir::claim(&file.path().join("data")).unwrap_err();
        assert!(matches!(error, DataDirError::Unusable { .. }));
    }
}
