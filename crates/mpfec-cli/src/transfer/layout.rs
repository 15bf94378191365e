//! The data stream, byte by byte. Numbers are big-endian.
//!
//! ```text
//! entry     = file | directory | end
//! file      = 1, flags (1 byte: 1 executable), path, size (8 bytes, all ones: unknown), chunk*, last
//! directory = 2, path
//! end       = 0, and the stream ends
//! path      = number of components (2 bytes), for each its length (2 bytes) and its bytes
//! chunk     = length (4 bytes, 1 to 1 MiB), bytes
//! last      = 0 (4 bytes), BLAKE3 of the file (32 bytes) | all ones (4 bytes): the sender gave up on it
//! ```

use super::name::{MAX_DEPTH, MAX_NAME, NameError, SafePath};
use super::pull::Pull;
use crate::error::CliError;

/// No entry follows.
pub(super) const END: u8 = 0;
const FILE: u8 = 1;
const DIRECTORY: u8 = 2;
/// Flag of a file.
const EXECUTABLE: u8 = 1;
/// In place of a chunk's length: the file is complete, its hash follows.
pub(super) const COMPLETE: u32 = 0;
/// In place of a chunk's length: the rest of the file will not come.
pub(super) const ABANDONED: u32 = u32::MAX;
/// Bytes in a chunk at most.
pub(super) const MAX_CHUNK: u32 = 1 << 20;
const UNKNOWN: u64 = u64::MAX;

/// Appends the head of a file.
pub(super) fn put_file(
    out: &mut Vec<u8>,
    path: &[Vec<u8>],
    is_executable: bool,
    size: Option<u64>,
) {
    out.push(FILE);
    out.push(if is_executable { EXECUTABLE } else { 0 });
    put_path(out, path);
    out.extend_from_slice(&size.unwrap_or(UNKNOWN).to_be_bytes());
}

/// Appends a directory.
pub(super) fn put_directory(out: &mut Vec<u8>, path: &[Vec<u8>]) {
    out.push(DIRECTORY);
    put_path(out, path);
}

/// The path was checked (`SafePath`), so that its lengths fit.
fn put_path(out: &mut Vec<u8>, path: &[Vec<u8>]) {
    out.extend_from_slice(&(path.len() as u16).to_be_bytes());
    for name in path {
        out.extend_from_slice(&(name.len() as u16).to_be_bytes());
        out.extend_from_slice(name);
    }
}

/// The next entry.
#[derive(Debug)]
pub(super) enum Head {
    /// Its chunks follow. A path that cannot be taken does not end the transfer.
    File {
        path: Result<SafePath, NameError>,
        is_executable: bool,
    },
    /// Nothing else of it follows.
    Directory { path: Result<SafePath, NameError> },
    /// There are no more.
    End,
}

/// Reads the head of an entry.
pub(super) fn take_head(pull: &mut Pull) -> Result<Head, CliError> {
    let [kind] = pull.array()?;
    match kind {
        END => Ok(Head::End),
        FILE => {
            let [flags] = pull.array()?;
            let path = take_path(pull)?;
            let _size = u64::from_be_bytes(pull.array()?);
            Ok(Head::File {
                path,
                is_executable: flags & EXECUTABLE != 0,
            })
        }
        DIRECTORY => Ok(Head::Directory {
            path: take_path(pull)?,
        }),
        kind => Err(CliError::protocol(&format!(
            "an entry of unknown kind {kind}"
        ))),
    }
}

/// Reads a path, and bounds what it may take before it is checked.
fn take_path(pull: &mut Pull) -> Result<Result<SafePath, NameError>, CliError> {
    let count = usize::from(u16::from_be_bytes(pull.array()?));
    let mut components = Vec::new();
    let mut too_long = None;
    for index in 0..count {
        let length = usize::from(u16::from_be_bytes(pull.array()?));
        if index < MAX_DEPTH && length <= MAX_NAME {
            let mut name = vec![0; length];
            pull.fill(&mut name)?;
            components.push(name);
        } else {
            pull.skip(length)?;
            if length > MAX_NAME {
                too_long = Some(length);
            }
        }
    }
    Ok(match too_long {
        Some(got) => Err(NameError::Length { got }),
        None if count > MAX_DEPTH => Err(NameError::Depth { got: count }),
        None => SafePath::new(&components),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_of(bytes: Vec<u8>) -> Result<Head, CliError> {
        take_head(&mut Pull::of(bytes))
    }

    #[test]
    fn what_is_written_is_read() {
        let path = [b"a".to_vec(), b"b c".to_vec()];
        let mut bytes = Vec::new();
        put_file(&mut bytes, &path, true, Some(7));
        let Ok(Head::File {
            path: Ok(read),
            is_executable: true,
        }) = head_of(bytes)
        else {
            panic!("a file")
        };
        assert_eq!(read.components(), ["a", "b c"]);
    }

    #[test]
    fn a_path_that_is_not_taken_does_not_end_the_transfer() {
        let mut bytes = Vec::new();
        put_directory(&mut bytes, &[b"..".to_vec()]);
        assert!(matches!(
            head_of(bytes),
            Ok(Head::Directory {
                path: Err(NameError::NotPlain { .. })
            })
        ));
        let mut bytes = Vec::new();
        put_directory(&mut bytes, &vec![b"d".to_vec(); 1000]);
        assert!(matches!(
            head_of(bytes),
            Ok(Head::Directory {
                path: Err(NameError::Depth { got: 1000 })
            })
        ));
    }

    #[test]
    fn unknown_kinds_and_missing_ends_are_errors() {
        assert!(head_of(vec![9]).is_err());
        assert!(head_of(vec![FILE, 0, 0, 1, 0]).is_err());
        assert!(head_of(Vec::new()).is_err());
    }
}
