//! Names that are chosen from a list: an unknown one is told the nearest and all there are.

use std::fmt::{self, Display};

use mpfec_core::{
    CodecKind, ControllerKind, Profile, RedundancyKind, SchedulerKind, UnknownController,
};

/// A profile by its name.
pub(crate) fn profile(text: &str) -> Result<Profile, String> {
    text.parse()
        .map_err(|_| unknown("profile", text, profiles()))
}

/// The names of all profiles.
pub(crate) fn profiles() -> impl Iterator<Item = String> {
    Profile::ALL.iter().map(|(name, _)| (*name).to_owned())
}

/// A codec by its name.
pub(crate) fn codec(text: &str) -> Result<CodecKind, String> {
    text.parse()
        .map_err(|_| unknown("codec", text, names(&CodecKind::ALL)))
}

/// A scheduler by its name.
pub(crate) fn scheduler(text: &str) -> Result<SchedulerKind, String> {
    text.parse()
        .map_err(|_| unknown("scheduler", text, names(&SchedulerKind::ALL)))
}

/// A congestion controller by its name, with its settings.
pub(crate) fn congestion(text: &str) -> Result<ControllerKind, String> {
    text.parse().map_err(|error| match error {
        UnknownController::Name { name } => {
            unknown("congestion controller", &name, names(&ControllerKind::ALL))
        }
        error => error.to_string(),
    })
}

/// What `--redundancy` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redundancy {
    /// A policy.
    Policy(RedundancyKind),
    /// No repair symbols at all: lost symbols are sent again.
    None,
}

impl fmt::Display for Redundancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::None => f.write_str(NO_REDUNDANCY),
        }
    }
}

/// A redundancy policy with its parameters, or `none`.
pub(crate) fn redundancy(text: &str) -> Result<Redundancy, String> {
    if text == NO_REDUNDANCY {
        return Ok(Redundancy::None);
    }
    text.parse()
        .map(Redundancy::Policy)
        .map_err(|error| match error {
            mpfec_core::ParseRedundancyError::UnknownKind { name, .. } => {
                let kinds = RedundancyKind::ALL
                    .iter()
                    .map(|kind| kind.name().to_owned());
                let names = kinds.chain([NO_REDUNDANCY.to_owned()]);
                unknown("redundancy policy", &name, names)
            }
            error => error.to_string(),
        })
}

/// All redundancy policies with their parameters, and `none`.
pub(crate) fn redundancies() -> impl Iterator<Item = String> {
    names(&RedundancyKind::ALL).chain([NO_REDUNDANCY.to_owned()])
}

/// That no `what` is called `name`, with the nearest names and all of them.
pub(crate) fn unknown(what: &str, name: &str, known: impl IntoIterator<Item = String>) -> String {
    let known: Vec<String> = known.into_iter().collect();
    let near = nearest(name, &known);
    let guess = if near.is_empty() {
        String::new()
    } else {
        format!(", perhaps {}", near.join(" or "))
    };
    format!(
        "no {what} is called {name:?}{guess}; there are {}",
        known.join(", ")
    )
}

/// The known names with the fewest edits from `name`, if those are few for its length.
fn nearest<'a>(name: &str, known: &'a [String]) -> Vec<&'a str> {
    let distances: Vec<usize> = known.iter().map(|one| edits(name, one)).collect();
    let Some(&least) = distances.iter().min() else {
        return Vec::new();
    };
    if least > 1 + name.chars().count() / 4 {
        return Vec::new();
    }
    let near = known.iter().zip(&distances);
    near.filter(|&(_, &distance)| distance == least)
        .map(|(one, _)| one.as_str())
        .collect()
}

/// Letters to insert, delete or replace, or neighbours to swap, to make one word of the other
/// (optimal string alignment), whatever their case.
fn edits(one: &str, other: &str) -> usize {
    let letters = |word: &str| -> Vec<char> {
        word.chars()
            .take(LONGEST_NAME)
            .flat_map(char::to_lowercase)
            .collect()
    };
    let (one, other) = (letters(one), letters(other));
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, wanted) in other.iter().enumerate() {
            let mut least = (above[j] + usize::from(letter != wanted))
                .min(above[j + 1] + 1)
                .min(row[j] + 1);
            let is_swap = i > 0 && j > 0 && one[i - 1] == *wanted && other[j - 1] == *letter;
            if is_swap {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[other.len()]
}

/// What kinds are called.
pub(crate) fn names<T: Display>(kinds: &[T]) -> impl Iterator<Item = String> {
    kinds.iter().map(ToString::to_string)
}

/// Says that codes are not to be used.
const NO_REDUNDANCY: &str = "none";
/// No name is longer; what is longer is as far from all of them.
const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_those_with_the_fewest_edits() {
        let known = ["mptcp", "tcp", "fmtcp", "ewtcp"].map(str::to_owned);
        assert_eq!(nearest("MPTPC", &known), ["mptcp"]);
        assert_eq!(nearest("mtcp", &known), ["mptcp", "tcp", "fmtcp"]);
        assert_eq!(nearest("quantum", &known), Vec::<&str>::new());
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
    }

    #[test]
    fn every_unknown_name_is_told_the_nearest_and_all() {
        let errors = [
            profile("mptpc").unwrap_err(),
            codec("raptor").unwrap_err(),
            scheduler("fmtcpp").unwrap_err(),
            congestion("newrenno").unwrap_err(),
            redundancy("on-los").unwrap_err(),
        ];
        let told = ["mptcp", "", "fmtcp", "newreno", "on-loss"];
        for (error, near) in errors.iter().zip(told) {
            assert!(error.contains("; there are "), "{error}");
            if !near.is_empty() {
                assert!(error.contains(&format!("perhaps {near};")), "{error}");
            }
        }
        assert!(
            redundancy("fixed:percent=x")
                .unwrap_err()
                .contains("0.001 to 400")
        );
        assert_eq!(redundancy("none"), Ok(Redundancy::None));
    }
}
