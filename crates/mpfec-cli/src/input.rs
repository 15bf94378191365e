//! Files that are read as a whole: no more of them than makes sense, for a name may lead to a
//! device without an end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A file, or as much of it as tells that it is longer than `most` bytes.
pub(crate) fn read(file: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?
        .take(most as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same of a text.
pub(crate) fn read_text(file: &Path, most: usize) -> io::Result<String> {
    String::from_utf8(read(file, most)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}
