//! The copy of the demo's file that `--keep` leaves.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::CliError;
use crate::exit::Exit;

/// Where a copy of the file is to be left, in a directory that takes one.
#[derive(Debug)]
pub(super) struct Kept<'a> {
    path: &'a Path,
    file: NamedTempFile,
}

impl<'a> Kept<'a> {
    /// An error at once, and not when the demo is over, if there cannot be one.
    pub(super) fn reserve(path: &'a Path) -> Result<Self, CliError> {
        if path.symlink_metadata().is_ok() {
            return Err(kept(path, &ErrorKind::AlreadyExists.into()));
        }
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let file = NamedTempFile::new_in(dir.unwrap_or(Path::new(".")));
        let file = file.map_err(|error| kept(path, &error))?;
        Ok(Self { path, file })
    }

    pub(super) fn keep(mut self, stored: &Path) -> Result<(), CliError> {
        let written = File::open(stored).and_then(|mut stored| {
            io::copy(&mut stored, &mut self.file)?;
            let permissions = stored.metadata()?.permissions();
            self.file.as_file().set_permissions(permissions)
        });
        written.map_err(|error| kept(self.path, &error))?;
        let renamed = self.file.persist_noclobber(self.path);
        renamed.map_err(|error| kept(self.path, &error.error))?;
        Ok(())
    }
}

fn kept(path: &Path, error: &io::Error) -> CliError {
    let CliError { what, hint, .. } = CliError::destination(path, error);
    let hint = match error.kind() {
        ErrorKind::AlreadyExists => "move it away, or choose another --keep".to_owned(),
        _ => hint.replace("--dir", "--keep"),
    };
    CliError::new(Exit::Destination, what, hint)
}
