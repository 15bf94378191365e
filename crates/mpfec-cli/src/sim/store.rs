//! Where a report is written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mpfec_sim::report::ReportFile;
use tempfile::{Builder, NamedTempFile};

use crate::error::CliError;
use crate::exit::Exit;

/// A directory that is there, can be written to, and has room for the files' names.
#[derive(Debug)]
pub(super) struct Store {
    dir: PathBuf,
    overwrite: bool,
}

impl Store {
    /// Makes the directory and looks for what would be in the way, before anything is run.
    pub(super) fn open(dir: &Path, overwrite: bool, names: &[String]) -> Result<Self, CliError> {
        let store = Self {
            dir: dir.to_owned(),
            overwrite,
        };
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(CliError::usage(
                    format!("two scenarios would both write {name}"),
                    "give one of them another name, or run them one after the other",
                ));
            }
        }
        fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
        for name in names {
            let path = dir.join(name);
            // What is no file is in the way even if files may be replaced.
            match fs::symlink_metadata(&path) {
                Ok(found) if !overwrite || found.is_dir() => {
                    return Err(failed(&path, &io::ErrorKind::AlreadyExists.into()));
                }
                _ => {}
            }
        }
        // It vanishes again.
        store.temporary().map_err(|error| failed(dir, &error))?;
        Ok(store)
    }

    /// Writes each file completely or not at all; returns where they are.
    pub(super) fn write(&self, files: &[ReportFile]) -> Result<Vec<PathBuf>, CliError> {
        let mut paths = Vec::new();
        for file in files {
            let path = self.dir.join(&file.name);
            self.put(&path, &file.text)
                .map_err(|error| failed(&path, &error))?;
            paths.push(path);
        }
        Ok(paths)
    }

    fn put(&self, path: &Path, text: &str) -> io::Result<File> {
        let mut file = self.temporary()?;
        file.write_all(text.as_bytes())?;
        let stored = if self.overwrite {
            file.persist(path)
        } else {
            file.persist_noclobber(path)
        };
        stored.map_err(|error| error.error)
    }

    fn temporary(&self) -> io::Result<NamedTempFile> {
        let mut builder = Builder::new();
        builder.prefix(".mpfec-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The user's mask takes some away.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(&self.dir)
    }
}

fn failed(path: &Path, error: &io::Error) -> CliError {
    let error = CliError::destination(path, error);
    let hint = match error.hint.as_str() {
        hint if hint.contains("--dir") => hint.replace("--dir", "--out"),
        hint => hint.to_owned(),
    };
    CliError::new(Exit::Destination, error.what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec!["report.html".to_owned(), "a.csv".to_owned()]
    }

    fn files(text: &str) -> Vec<ReportFile> {
        let file = |name: &String| ReportFile {
            name: name.clone(),
            text: text.to_owned(),
        };
        names().iter().map(file).collect()
    }

    #[test]
    fn what_exists_is_refused_before_anything_is_run() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("new").join("report");
        let store = Store::open(&out, false, &names()).unwrap();
        store.write(&files("first")).unwrap();
        let error = Store::open(&out, false, &names()).unwrap_err();
        assert_eq!(error.exit, Exit::Destination);
        assert!(error.what.contains("report.html"), "{error}");
        assert!(error.hint.contains("--out") && error.hint.contains("--overwrite"));
        let store = Store::open(&out, true, &names()).unwrap();
        store.write(&files("second")).unwrap();
        assert_eq!(fs::read_to_string(out.join("a.csv")).unwrap(), "second");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2, "nothing else");
    }

    #[test]
    fn what_appears_meanwhile_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), false, &names()).unwrap();
        fs::write(dir.path().join("a.csv"), "mine").unwrap();
        let error = store.write(&files("ours")).unwrap_err();
        assert!(error.what.contains("a.csv"), "{error}");
        assert_eq!(
            fs::read_to_string(dir.path().join("a.csv")).unwrap(),
            "mine"
        );
    }

    #[test]
    fn a_file_or_a_directory_in_the_way_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::open(&file, true, &names()).unwrap_err();
        assert_eq!(error.exit, Exit::Destination, "{error}");
        fs::create_dir(dir.path().join("a.csv")).unwrap();
        assert!(Store::open(dir.path(), true, &names()).is_err());
    }
}
