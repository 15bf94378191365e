//! What is to be sent.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::name::{SafePath, plain_text, to_bytes};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Event, Output, SkippedReport};

/// A file or directory to send.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Its path at the receiver.
    pub(super) path: Vec<Vec<u8>>,
    pub(super) content: Content,
}

/// What an item is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    File {
        source: PathBuf,
        size: u64,
        is_executable: bool,
    },
    Directory,
    /// Standard input, up to its end.
    Stdin,
}

impl Item {
    fn new(path: Vec<Vec<u8>>, content: Content) -> Result<Self, CliError> {
        let item = Self { path, content };
        SafePath::new(&item.path).map_err(|error| {
            CliError::new(
                Exit::Source,
                format!("cannot send {}: {error}", item.display()),
                "rename it, or pack it: tar -c DIRECTORY | mpfec send TICKET -",
            )
        })?;
        Ok(item)
    }

    /// Its path, for people.
    pub(super) fn display(&self) -> String {
        let names: Vec<_> = self
            .path
            .iter()
            .map(|name| String::from_utf8_lossy(name))
            .collect();
        plain_text(&names.join("/"))
    }
}

/// Bytes in all of them, if known.
pub(super) fn total(items: &[Item]) -> Option<u64> {
    items
        .iter()
        .map(|item| match &item.content {
            Content::File { size, .. } => Some(*size),
            Content::Directory => Some(0),
            Content::Stdin => None,
        })
        .sum()
}

/// What they are called together, for people.
pub(super) fn label(items: &[Item]) -> String {
    let files = items
        .iter()
        .filter(|item| !matches!(item.content, Content::Directory))
        .count();
    match items {
        [only] => only.display(),
        [first, ..] => {
            let name = first
                .path
                .first()
                .map(|name| String::from_utf8_lossy(name))
                .unwrap_or_default();
            let what = if files == 1 { "file" } else { "files" };
            format!("{} ({files} {what})", plain_text(&name))
        }
        [] => "nothing".to_owned(),
    }
}

/// Everything under `sources`, directories before what is in them, in the order of names.
/// `-` is standard input, called `stdin_name` at the receiver.
pub(crate) fn scan(
    sources: &[OsString],
    stdin_name: &str,
    output: &Output,
) -> Result<Vec<Item>, CliError> {
    let mut items = Vec::new();
    let mut has_stdin = false;
    for source in sources {
        if source == "-" {
            if std::mem::replace(&mut has_stdin, true) {
                return Err(CliError::usage(
                    "standard input can be sent only once",
                    "give - only once",
                ));
            }
            let named = Item::new(vec![stdin_name.as_bytes().to_vec()], Content::Stdin);
            items.push(named.map_err(|error| {
                CliError::usage(error.what, "take a name without directories with --name")
            })?);
        } else {
            add(Path::new(source), output, &mut items)?;
        }
    }
    let mut sorted: Vec<&Item> = items.iter().collect();
    sorted.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    let twice = sorted
        .iter()
        .zip(sorted.iter().skip(1))
        .find(|(one, next)| one.path == next.path);
    if let Some((item, _)) = twice {
        return Err(CliError::usage(
            format!("two sources would both be stored as {}", item.display()),
            "send them one after the other, into different directories",
        ));
    }
    Ok(items)
}

fn add(source: &Path, output: &Output, items: &mut Vec<Item>) -> Result<(), CliError> {
    let unreadable = |error: io::Error| CliError::source(source, &error);
    let metadata = std::fs::metadata(source).map_err(unreadable)?;
    let name = name_of(source)?;
    if metadata.is_dir() {
        return add_directory(source, &name, output, items);
    }
    if !metadata.is_file() {
        return Err(CliError::new(
            Exit::Source,
            format!(
                "cannot send {}: neither a file nor a directory",
                source.display()
            ),
            "pipe it in: mpfec send TICKET - < it",
        ));
    }
    // Whether it can be opened is found out before anybody waits for it.
    File::open(source).map_err(unreadable)?;
    items.push(Item::new(vec![to_bytes(&name)], file(source, &metadata))?);
    Ok(())
}

fn add_directory(
    source: &Path,
    name: &OsStr,
    output: &Output,
    items: &mut Vec<Item>,
) -> Result<(), CliError> {
    for entry in WalkDir::new(source).sort_by_file_name() {
        let entry = entry.map_err(|error| unwalkable(source, error))?;
        let below = entry.path().strip_prefix(source).unwrap_or(Path::new(""));
        let path = std::iter::once(name)
            .chain(below.iter())
            .map(to_bytes)
            .collect();
        let kind = entry.file_type();
        // The directory itself may be named by a link.
        let content = if kind.is_dir() || entry.depth() == 0 {
            Content::Directory
        } else if kind.is_file() {
            file(
                entry.path(),
                &entry
                    .metadata()
                    .map_err(|error| unwalkable(source, error))?,
            )
        } else {
            let reason = if kind.is_symlink() {
                "a symbolic link"
            } else {
                "neither a file nor a directory"
            };
            let path = entry.path().display().to_string();
            output.say(&format!("skipped {}: {reason}", plain_text(&path)));
            output.event(&Event::Skipped(SkippedReport {
                path,
                reason: reason.to_owned(),
            }));
            continue;
        };
        items.push(Item::new(path, content)?);
    }
    Ok(())
}

fn unwalkable(source: &Path, error: walkdir::Error) -> CliError {
    let path = error.path().unwrap_or(source).to_owned();
    let error = error
        .into_io_error()
        .unwrap_or_else(|| io::Error::other("links lead in a circle"));
    CliError::source(&path, &error)
}

fn file(source: &Path, metadata: &Metadata) -> Content {
    Content::File {
        source: source.to_owned(),
        size: metadata.len(),
        is_executable: is_executable(metadata),
    }
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

/// The last component, also of `.` and `..`.
fn name_of(source: &Path) -> Result<OsString, CliError> {
    if let Some(name) = source.file_name() {
        return Ok(name.to_owned());
    }
    let full = source
        .canonicalize()
        .map_err(|error| CliError::source(source, &error))?;
    full.file_name().map(OsStr::to_owned).ok_or_else(|| {
        CliError::usage(
            format!("{} has no name to be stored under", source.display()),
            "name directories in it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Output {
        Output::new(false, true)
    }

    #[test]
    fn a_directory_comes_with_its_name_and_before_what_is_in_it() {
        let root = tempfile::tempdir().unwrap();
        let tree = root.path().join("tree");
        std::fs::create_dir_all(tree.join("b/empty")).unwrap();
        std::fs::write(tree.join("b/file"), "12345").unwrap();
        std::fs::write(tree.join("a"), "1").unwrap();
        let items = scan(&[tree.join(".").into_os_string()], "stdin", &quiet()).unwrap();
        let shown: Vec<String> = items.iter().map(Item::display).collect();
        assert_eq!(
            shown,
            ["tree", "tree/a", "tree/b", "tree/b/empty", "tree/b/file"]
        );
        assert_eq!(total(&items), Some(6));
    }

    #[test]
    fn a_missing_source_is_told_before_anything_is_sent() {
        let error = scan(&["/nonexistent/x".into()], "stdin", &quiet()).unwrap_err();
        assert_eq!(error.exit, Exit::Source);
        assert!(error.what.contains("/nonexistent/x"));
    }

    #[test]
    fn sources_of_the_same_name_are_refused() {
        let root = tempfile::tempdir().unwrap();
        for dir in ["one", "two"] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
            std::fs::write(root.path().join(dir).join("x"), "").unwrap();
        }
        let sources = ["one/x", "two/x"].map(|name| root.path().join(name).into_os_string());
        assert_eq!(
            scan(&sources, "stdin", &quiet()).unwrap_err().exit,
            Exit::Usage
        );
        assert_eq!(
            scan(&["-".into(), "-".into()], "stdin", &quiet())
                .unwrap_err()
                .exit,
            Exit::Usage
        );
    }
}
