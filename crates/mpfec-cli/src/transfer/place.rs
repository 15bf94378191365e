//! Where received files go: first under a temporary name, then under their own.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::{Builder, NamedTempFile};
use walkdir::WalkDir;

use super::name::SafePath;
use crate::clock;

/// A directory that nothing is stored outside of.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    root: PathBuf,
    overwrite: bool,
}

/// A file that is being received.
#[derive(Debug)]
pub(super) struct Pending {
    file: NamedTempFile,
    target: PathBuf,
    overwrite: bool,
}

/// A temporary file that was found.
#[derive(Debug)]
pub(super) struct LeftOver {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// Since it was last written.
    pub(super) age: Option<Duration>,
}

impl Destination {
    /// `root` must be a directory that files can be made in.
    pub(crate) fn new(root: &Path, overwrite: bool) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let destination = Self { root, overwrite };
        // Better now than when somebody sends something.
        Self::temporary(&destination.root, None)?;
        Ok(destination)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes a directory and those above it, as far as they are missing.
    pub(super) fn make_directory(&self, path: &SafePath) -> io::Result<PathBuf> {
        self.descend(path.components())
    }

    /// Starts a file. Nothing is there under its name until it is complete.
    pub(super) fn start(&self, path: &SafePath, is_executable: bool) -> io::Result<Pending> {
        let dir = self.descend(path.parents())?;
        let target = dir.join(path.name());
        let existing = match fs::symlink_metadata(&target) {
            Ok(existing) if existing.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) if !self.overwrite => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            existing => existing.ok().filter(Metadata::is_file),
        };
        Ok(Pending {
            file: Self::temporary(&dir, permissions(is_executable, existing.as_ref()))?,
            target,
            overwrite: self.overwrite,
        })
    }

    fn temporary(dir: &Path, permissions: Option<Permissions>) -> io::Result<NamedTempFile> {
        let mut builder = Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        if let Some(permissions) = permissions {
            builder.permissions(permissions);
        }
        builder.tempfile_in(dir)
    }

    /// Temporary files that are there already: of a receiver that was killed, or of another
    /// one that is at work. Which it is cannot be told for certain, so they stay. Looks at
    /// the root and, in not too many places, below.
    pub(super) fn left_over(&self) -> Vec<LeftOver> {
        let top = WalkDir::new(&self.root).min_depth(1).max_depth(1);
        let below = WalkDir::new(&self.root)
            .min_depth(2)
            .same_file_system(true)
            .into_iter();
        let entries = top.into_iter().chain(below.take(MOST_PLACES));
        let is_ours = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        entries
            .filter_map(Result::ok)
            .filter(|entry| {
                entry.file_type().is_file() && entry.file_name().to_str().is_some_and(is_ours)
            })
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                let written = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok();
                Some(LeftOver {
                    path: entry.into_path(),
                    bytes: metadata.len(),
                    age: written.and_then(|written| clock::since_1970().checked_sub(written)),
                })
            })
            .collect()
    }

    /// Goes down from the root, making what is missing. Links are not followed: they may
    /// lead out of the root.
    fn descend(&self, components: &[impl AsRef<OsStr>]) -> io::Result<PathBuf> {
        let mut dir = self.root.clone();
        for name in components {
            dir.push(name.as_ref());
            match fs::create_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !fs::symlink_metadata(&dir)?.is_dir() {
                        return Err(io::ErrorKind::NotADirectory.into());
                    }
                }
                result => result?,
            }
        }
        Ok(dir)
    }
}

impl Pending {
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(self.file.as_file_mut(), bytes)
    }

    /// Makes sure that the content is on the disk, and gives the file its name. Returns the
    /// directory, whose change is not yet on the disk.
    pub(super) fn finish(self) -> io::Result<PathBuf> {
        self.file.as_file().sync_all()?;
        if self.overwrite {
            self.file
                .persist(&self.target)
                .map_err(|error| error.error)?;
        } else {
            // Also if somebody else has made it in the meantime.
            self.file
                .persist_noclobber(&self.target)
                .map_err(|error| error.error)?;
        }
        Ok(self.target.parent().map(Path::to_owned).unwrap_or_default())
    }
}

/// Makes sure that the names in a directory are on the disk.
#[cfg(unix)]
pub(super) fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Makes sure that the names in a directory are on the disk.
#[cfg(not(unix))]
pub(super) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// As a program that makes a file asks for them; the user's mask takes some away. Whoever may not read
/// or write the file that is replaced may not do so afterwards either.
#[cfg(unix)]
fn permissions(is_executable: bool, replaced: Option<&Metadata>) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let all = replaced.map_or(0o666, |replaced| replaced.permissions().mode() & 0o666);
    // Whoever may read it may run it.
    let runs = if is_executable { (all & 0o444) >> 2 } else { 0 };
    Some(Permissions::from_mode(all | runs))
}

#[cfg(not(unix))]
fn permissions(_: bool, _: Option<&Metadata>) -> Option<Permissions> {
    None
}

/// What files are called until they are complete.
const PREFIX: &str = ".mpfec-";
const SUFFIX: &str = ".part";
/// Where else to look for them: a directory may hold any number of others.
const MOST_PLACES: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn path(components: &[&str]) -> SafePath {
        let bytes: Vec<Vec<u8>> = components
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        SafePath::new(&bytes).unwrap()
    }

    fn store(
        destination: &Destination,
        components: &[&str],
        content: &[u8],
    ) -> io::Result<PathBuf> {
        let mut pending = destination.start(&path(components), false)?;
        pending.write(content)?;
        pending.finish()
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing_behind() {
        let root = tempfile::tempdir().unwrap();
        let destination = Destination::new(root.path(), false).unwrap();
        let mut pending = destination.start(&path(&["x"]), false).unwrap();
        pending.write(b"half").unwrap();
        assert!(!root.path().join("x").exists());
        drop(pending);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_that_a_killed_receiver_left_are_found_and_kept() {
        let root = tempfile::tempdir().unwrap();
        let destination = Destination::new(root.path(), false).unwrap();
        assert_eq!(destination.left_over().len(), 0, "its own probe is gone");
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        for name in [
            ".mpfec-Ab12Cd.part",
            "a/b/.mpfec-x.part",
            "a/film.part",
            "b",
        ] {
            fs::write(root.path().join(name), "half").unwrap();
        }
        let left = destination.left_over();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].path.ends_with(".mpfec-Ab12Cd.part"), "{left:?}");
        assert!(
            left.iter().all(|one| one.bytes == 4 && one.age.is_some()),
            "{left:?}"
        );
        assert_eq!(destination.left_over().len(), 2);
    }

    #[test]
    fn what_exists_is_replaced_only_if_that_was_asked_for() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("x"), "old").unwrap();
        let careful = Destination::new(root.path(), false).unwrap();
        assert_eq!(
            store(&careful, &["x"], b"new").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        let bold = Destination::new(root.path(), true).unwrap();
        store(&bold, &["x"], b"new").unwrap();
        assert_eq!(fs::read(root.path().join("x")).unwrap(), b"new");
        fs::create_dir(root.path().join("d")).unwrap();
        assert!(store(&bold, &["d"], b"new").is_err());
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let destination = Destination::new(root.path(), false).unwrap();
        let pending = destination.start(&path(&["x"]), false).unwrap();
        fs::write(root.path().join("x"), "theirs").unwrap();
        assert_eq!(
            pending.finish().unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read(root.path().join("x")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn links_that_lead_out_are_not_followed() {
        use std::os::unix::fs::PermissionsExt;
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), root.path().join("way-out")).unwrap();
        let destination = Destination::new(root.path(), true).unwrap();
        assert!(store(&destination, &["way-out", "x"], b"1").is_err());
        assert!(
            destination
                .make_directory(&path(&["way-out", "d"]))
                .is_err()
        );
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        // A link in place of a file is replaced, and what it leads to stays.
        fs::write(outside.path().join("target"), "kept").unwrap();
        std::os::unix::fs::symlink(outside.path().join("target"), root.path().join("link"))
            .unwrap();
        store(&destination, &["link"], b"new").unwrap();
        assert_eq!(fs::read(outside.path().join("target")).unwrap(), b"kept");
        let pending = destination.start(&path(&["run"]), true).unwrap();
        pending.finish().unwrap();
        let mode = fs::metadata(root.path().join("run"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o100, 0o100);
    }
}
