//! Names that came from a peer: none leads out of the directory they are to be stored in.

use std::ffi::OsString;
use std::path::PathBuf;

/// A relative path of plain names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SafePath {
    components: Vec<OsString>,
}

/// Why a path is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    /// No component, or too many.
    #[error("a path of {got} components; there may be 1 to {MAX_DEPTH}")]
    Depth { got: usize },
    /// An empty component, or one that is too long.
    #[error("a name of {got} bytes; there may be 1 to {MAX_NAME}")]
    Length { got: usize },
    /// The whole is too long.
    #[error("a path of {got} bytes; there may be {MAX_PATH}")]
    Path { got: usize },
    /// `.`, `..`, or a name with a separator or NUL.
    #[error("{name:?} is no plain name")]
    NotPlain { name: String },
    /// The name means something else, or cannot exist, on this system.
    #[error("{name:?} cannot be a name on this system")]
    Reserved { name: String },
}

impl SafePath {
    /// Checks each component for this system.
    pub(crate) fn new(components: &[Vec<u8>]) -> Result<Self, NameError> {
        Self::with_rules(components, cfg!(windows))
    }

    /// The same for a system with or without Windows' rules.
    fn with_rules(components: &[Vec<u8>], windows: bool) -> Result<Self, NameError> {
        if !(1..=MAX_DEPTH).contains(&components.len()) {
            return Err(NameError::Depth {
                got: components.len(),
            });
        }
        let bytes: usize = components.iter().map(|name| name.len() + 1).sum();
        if bytes > MAX_PATH {
            return Err(NameError::Path { got: bytes });
        }
        let components = components
            .iter()
            .map(|name| component(name, windows))
            .collect::<Result<_, _>>()?;
        Ok(Self { components })
    }

    /// All but the last component.
    pub(crate) fn parents(&self) -> &[OsString] {
        self.components
            .split_last()
            .map(|(_, parents)| parents)
            .unwrap_or_default()
    }

    /// All of them.
    pub(crate) fn components(&self) -> &[OsString] {
        &self.components
    }

    /// The last one.
    pub(crate) fn name(&self) -> OsString {
        self.components.last().cloned().unwrap_or_default()
    }

    /// For people: on one line, whatever the peer put into it.
    pub(crate) fn display(&self) -> String {
        let path: PathBuf = self.components.iter().collect();
        plain_text(&path.to_string_lossy())
    }
}

/// Text from a peer without what would move a terminal's cursor, or show its letters in another order.
pub(crate) fn plain_text(text: &str) -> String {
    const ORDER: &[char] = &[
        '\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202b}',
        '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
    ];
    text.chars()
        .map(|letter| {
            if letter.is_control() || ORDER.contains(&letter) {
                '\u{fffd}'
            } else {
                letter
            }
        })
        .collect()
}

fn component(name: &[u8], windows: bool) -> Result<OsString, NameError> {
    if !(1..=MAX_NAME).contains(&name.len()) {
        return Err(NameError::Length { got: name.len() });
    }
    let text = String::from_utf8_lossy(name).into_owned();
    if name == b"." || name == b".." || name.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return Err(NameError::NotPlain { name: text });
    }
    if windows && !is_windows_name(&text) {
        return Err(NameError::Reserved { name: text });
    }
    from_bytes(name).ok_or(NameError::Reserved { name: text })
}

/// Neither a device, a drive, a stream nor a path, and kept as it is.
fn is_windows_name(name: &str) -> bool {
    const FORBIDDEN: &[char] = &['<', '>', ':', '"', '/', '\\', '|', '?', '*', '\u{fffd}'];
    const DEVICES: &[&str] = &["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];
    const NUMBERS: &[char] = &[
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '\u{b9}', '\u{b2}', '\u{b3}',
    ];
    let stem = name
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_ascii_uppercase();
    let is_port = ["COM", "LPT"]
        .iter()
        .filter_map(|port| stem.strip_prefix(port)?.strip_prefix(NUMBERS))
        .any(str::is_empty);
    !is_port
        && !DEVICES.contains(&stem.as_str())
        && !name.ends_with(['.', ' '])
        && !name.contains(FORBIDDEN)
        && !name.chars().any(|letter| letter < ' ')
}

#[cfg(unix)]
fn from_bytes(name: &[u8]) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(name.to_vec()))
}

#[cfg(not(unix))]
fn from_bytes(name: &[u8]) -> Option<OsString> {
    String::from_utf8(name.to_vec()).ok().map(OsString::from)
}

/// The bytes that stand for a local name on the wire: as they are on Unix, else UTF-8.
#[cfg(unix)]
pub(crate) fn to_bytes(name: &std::ffi::OsStr) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    name.as_bytes().to_vec()
}

/// The bytes that stand for a local name on the wire: as they are on Unix, else UTF-8.
#[cfg(not(unix))]
pub(crate) fn to_bytes(name: &std::ffi::OsStr) -> Vec<u8> {
    name.to_string_lossy().into_owned().into_bytes()
}

/// Directories within directories.
pub(crate) const MAX_DEPTH: usize = 64;
/// Bytes in a component.
pub(crate) const MAX_NAME: usize = 255;
/// Bytes in a path with its separators.
const MAX_PATH: usize = 4096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(components: &[&str], windows: bool) -> Result<SafePath, NameError> {
        let bytes: Vec<Vec<u8>> = components
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        SafePath::with_rules(&bytes, windows)
    }

    #[test]
    fn nothing_leads_out_of_the_directory() {
        for bad in [
            &[".."][..],
            &["."],
            &[""],
            &["a", "..", "b"],
            &["/etc"],
            &["a/b"],
            &["a\0b"],
            &[],
        ] {
            assert!(path(bad, false).is_err(), "{bad:?}");
        }
        let long = "x".repeat(256);
        assert!(path(&[&long], false).is_err());
        assert!(path(&["d"; 65], false).is_err());
        assert!(path(&[&long[..255]; 17], false).is_err());
    }

    #[test]
    fn windows_refuses_devices_drives_and_streams() {
        for bad in [
            "CON", "nul.txt", "com1", "LPT9.log", "C:", "a:b", "a\\b", "..\\x", "x.", "x ", "a|b",
            "a\u{1}",
        ] {
            assert!(path(&[bad], true).is_err(), "{bad:?}");
        }
        for good in ["console", "com10", "a.b.c", "lpt", "Ünïcode", "nulls"] {
            assert!(path(&[good], true).is_ok(), "{good:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn unix_takes_every_name_that_is_one() {
        for good in ["a\\b", "CON", "a:b", " ", "...", "..a", "-"] {
            assert!(path(&[good], false).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn names_are_shown_on_one_line() {
        assert_eq!(
            path(&["a\n\u{1b}[2Jb"], false).unwrap().display(),
            "a\u{fffd}\u{fffd}[2Jb"
        );
    }

    proptest! {
        #[test]
        fn whatever_is_taken_stays_below_the_root(
            components in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6)
        ) {
            if let Ok(path) = SafePath::new(&components) {
                let joined: PathBuf = path.components().iter().collect();
                prop_assert!(joined.is_relative());
                prop_assert_eq!(joined.components().count(), components.len());
                prop_assert!(joined.components().all(|one| matches!(one, std::path::Component::Normal(_))));
            }
        }
    }

    #[test]
    fn letters_stay_in_the_order_in_which_they_are() {
        assert_eq!(plain_text("photo\u{202e}gpj.exe"), "photo\u{fffd}gpj.exe");
        assert_eq!(plain_text("ü → 写真"), "ü → 写真");
    }
}
