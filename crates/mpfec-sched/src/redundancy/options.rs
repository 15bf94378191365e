//! The text form of kinds with parameters: `kind` or `kind:key=value,key=value`.

use std::ops::RangeInclusive;

/// A text that names no redundancy policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseRedundancyError {
    /// No kind has this name.
    #[error("no redundancy policy is called {name:?}; there are {known}")]
    UnknownKind {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The kind has no such parameter.
    #[error("redundancy {kind} takes {known}, not {key:?}")]
    UnknownKey {
        /// The kind.
        kind: &'static str,
        /// What was given.
        key: String,
        /// What it takes.
        known: &'static str,
    },
    /// A parameter twice.
    #[error("redundancy {kind} is given {key} twice")]
    RepeatedKey {
        /// The kind.
        kind: &'static str,
        /// What was given twice.
        key: &'static str,
    },
    /// A value that is no number or out of its range.
    #[error("redundancy {kind} takes {key} from {range}, not {value:?}")]
    BadValue {
        /// The kind.
        kind: &'static str,
        /// The parameter.
        key: &'static str,
        /// What was given.
        value: String,
        /// What it may be.
        range: String,
    },
    /// A count that is no whole number.
    #[error("redundancy {kind} takes a whole number for {key}, not {value:?}")]
    NotWhole {
        /// The kind.
        kind: &'static str,
        /// The parameter.
        key: &'static str,
        /// What was given.
        value: String,
    },
}

/// A parameter of a kind: a decimal number that is kept in thousandths.
pub(super) struct Key<'a> {
    pub(super) name: &'static str,
    /// What it may be, in thousandths.
    pub(super) range: RangeInclusive<u32>,
    /// Where the value goes; it holds the default.
    pub(super) into: &'a mut u32,
}

/// Reads `key=value,...` into the keys of a kind.
pub(super) fn parse(
    kind: &'static str,
    known: &'static str,
    text: Option<&str>,
    keys: &mut [Key<'_>],
) -> Result<(), ParseRedundancyError> {
    let mut seen = 0u32;
    for item in text.into_iter().flat_map(|text| text.split(',')) {
        let (name, value) = item.split_once('=').unwrap_or((item, ""));
        let Some((index, key)) = keys
            .iter_mut()
            .enumerate()
            .find(|(_, key)| key.name == name)
        else {
            return Err(ParseRedundancyError::UnknownKey {
                kind,
                key: name.to_owned(),
                known,
            });
        };
        if seen & 1 << index != 0 {
            return Err(ParseRedundancyError::RepeatedKey {
                kind,
                key: key.name,
            });
        }
        seen |= 1 << index;
        *key.into = thousandths(value)
            .filter(|value| key.range.contains(value))
            .ok_or_else(|| ParseRedundancyError::BadValue {
                kind,
                key: key.name,
                value: value.to_owned(),
                range: format!(
                    "{} to {}",
                    decimal(*key.range.start()),
                    decimal(*key.range.end())
                ),
            })?;
    }
    Ok(())
}

/// A count that was read in thousandths; `u32::MAX`: it was not given.
pub(super) fn whole(
    kind: &'static str,
    key: &'static str,
    thousandths: u32,
) -> Result<Option<u32>, ParseRedundancyError> {
    if thousandths == u32::MAX {
        Ok(None)
    } else if thousandths.is_multiple_of(1000) {
        Ok(Some(thousandths / 1000))
    } else {
        let value = decimal(thousandths);
        Err(ParseRedundancyError::NotWhole { kind, key, value })
    }
}

/// A number of thousandths as people write it: 330 as `0.33`.
pub(super) fn decimal(thousandths: u32) -> String {
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The other way round: digits, and up to three behind a point.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 3 {
        return None;
    }
    let part: u32 = format!("{part:0<3}").parse().ok()?;
    whole
        .parse::<u32>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_come_back_as_they_were_written() {
        for text in ["0", "25", "0.33", "2.5", "0.001", "1000.25"] {
            assert_eq!(decimal(thousandths(text).unwrap()), text);
        }
        for text in [
            "", "-1", "1e3", "0.0001", ".5", "5.", "1.2.3", "99999999", "∞",
        ] {
            assert_eq!(thousandths(text), None, "{text}");
        }
    }
}
