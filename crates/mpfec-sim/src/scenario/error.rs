//! What is wrong with a scenario file.

use std::fmt;

use thiserror::Error;

use crate::SetupError;
use crate::toml::ParseError;

/// Why a file is not a scenario: which file, where in it, and what.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{file}{}: {}{problem}", Line(*.line), Within(.place))]
pub struct ScenarioError {
    /// The file, as it was called.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// The case, claim or table; may be empty.
    pub place: String,
    /// What is wrong there.
    pub problem: Box<ScenarioProblem>,
}

/// What is wrong with a value or a table of a scenario file.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ScenarioProblem {
    /// Larger than any sensible scenario.
    #[error("a scenario file has at most {most} bytes, not {got}")]
    TooLong {
        /// Bytes of the file.
        got: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("{0}")]
    Syntax(String),
    /// A number out of its range.
    #[error("{key} is {got}, which is not from {least} to {most}")]
    Range {
        /// The key.
        key: String,
        /// Its value.
        got: f64,
        /// The least that is allowed.
        least: f64,
        /// The most that is allowed.
        most: f64,
    },
    /// Too many, or none.
    #[error("there are {got} {what}, and {least} to {most} are allowed")]
    Count {
        /// What is counted, in the plural.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// The fewest that are allowed.
        least: usize,
        /// The most that are allowed.
        most: usize,
    },
    /// A reference to something that is not there.
    #[error("there is no {what} {name:?}{}", Known(.known))]
    Unknown {
        /// What it should be the name of.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that there are, the most similar first.
        known: Vec<String>,
    },
    /// A name used twice.
    #[error("two {what} are called {name:?}")]
    Duplicate {
        /// What they are, in the plural.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A key that is needed there.
    #[error("{key} is missing: {why}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What it is for.
        why: &'static str,
    },
    /// A key that means nothing there.
    #[error("{what} has no {key}; its keys are {}", .known.join(", "))]
    NoSuchKey {
        /// What has it not.
        what: String,
        /// The key.
        key: &'static str,
        /// The keys that it has.
        known: Vec<&'static str>,
    },
    /// Paths, their figures and changes: the part that a scenario has in common with a set-up.
    #[error(transparent)]
    Setup(#[from] ParseError),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl ScenarioProblem {
    /// The keys that lead from its table to the culprit, as far as the problem says so.
    pub(super) fn keys(&self) -> Vec<&str> {
        match self {
            Self::Range { key, .. } => vec![key],
            Self::Setup(ParseError::Setup(SetupError::Range { place, what, .. })) => {
                // "loss_percent", or "burst length".
                let key = what.split([' ', ',']).next();
                direction(place).into_iter().chain(key).collect()
            }
            Self::Setup(ParseError::Link { place, .. }) => direction(place).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// The table of a path that a place such as "path A, forward" is about.
fn direction(place: &str) -> Option<&str> {
    place.rsplit_once(", ").map(|(_, direction)| direction)
}

struct Line(Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, ", line {line}"),
            None => Ok(()),
        }
    }
}

struct Within<'a>(&'a str);

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "{}: ", self.0)
    }
}

struct Known<'a>(&'a [String]);

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "; there are {}", self.0.join(", "))
    }
}
