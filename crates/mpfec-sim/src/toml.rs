//! Setups as TOML files.
//!
//! ```toml
//! name = "kitchen"                  # 1 to 32 letters, digits, '-', '_', '.'; or the caller's
//! summary = "Wi-Fi behind a wall, and a phone"
//!
//! [[path]]                          # 1 to 8 of them
//! name = "wifi"
//! both = { rate_mbps = 20, delay_ms = 12.5 }     # each way; the round trip is 25 ms
//! forward = { loss_percent = 3 }                 # client to server, on top of `both`
//! backward = { queue_packets = 100 }             # server to client, on top of `both`
//!
//! [[path]]
//! name = "phone"
//! both = { rate_mbps = 10, delay_ms = 30, jitter_ms = 5 }
//!
//! [[change]]                        # at most 10000
//! at_s = 5                          # after the start
//! path = "wifi"
//! direction = "both"                # or "forward", "backward"; both if absent
//! cut = true                        # everything vanishes; `cut = false` ends it
//!
//! [[change]]
//! at_s = 10
//! path = "wifi"
//! cut = false
//! set = { rate_mbps = 5 }           # any figure of a link, except its overhead
//! ```
//!
//! The figures of a link, each optional:
//!
//! | key | meaning | if absent |
//! | --- | --- | --- |
//! | `rate_mbps` | Mbit/s on the link; `inf` for no limit | `inf` |
//! | `delay_ms` | propagation one way | 0 |
//! | `jitter_ms` | extra delay, 0 to this | 0 |
//! | `jitter_reorders` | whether jitter lets packets overtake | false |
//! | `queue_bdp` | drop-tail queue in bandwidth-delay products of this rate and the path's round trip; `inf` for no limit but 256 MiB, what a link holds in all | 1, or no limit without a rate |
//! | `queue_bytes`, `queue_packets` | the same in bytes on the link, or packets; one of the three | |
//! | `queue_packets_least` | packets of full size that a queue in `queue_bdp` holds at least | 0 |
//! | `codel_ms` | how long packets may wait for good before the queue drops some (CoDel's target, RFC 8289); 0 for never | 0 |
//! | `police` | `{ rate_mbps, burst_bytes }`: what passes before the queue, a burst at once; more is dropped | none |
//! | `slot_ms` | what is transmitted within so long arrives together, as aggregates of Wi-Fi and grants of LTE do | 0 |
//! | `loss_percent` | packets lost independently, 0 to 100 | 0 |
//! | `burst` | `{ percent, length }`: packets lost in bursts, and how many in a row on average | none |
//! | `gilbert` | `{ enter, leave, good_loss, bad_loss }`: the same as probabilities, 0 to 1 | none |
//! | `reorder_percent`, `reorder_ms` | packets held back, and for how long | 0 |
//! | `duplicate_percent` | packets that arrive twice | 0 |
//! | `corrupt_percent` | packets with a flipped bit | 0 |
//! | `mtu` | largest packet in bytes, overhead included | 1500 |
//! | `overhead` | bytes of each packet besides the UDP payload | 28 |
//!
//! Unknown keys are errors: a misspelt figure must not be ignored.

pub(crate) mod link;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::link::LinkTable;
use crate::{Change, Direction, PathSetup, Setup, SetupError, TimedChange};

/// Why a file is not a setup.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ParseError {
    /// Neither the file nor the caller gives a name.
    #[error("the setup has no name: it begins with name = \"...\"")]
    NoName,
    /// Larger than any sensible setup.
    #[error("a setup file has at most {MOST_BYTES} bytes, not {0}")]
    TooLong(usize),
    /// Not TOML, an unknown or missing key, or a value of the wrong type; the message names
    /// the line.
    #[error("{0}")]
    Syntax(#[from] ::toml::de::Error),
    /// More changes than [`MOST_CHANGES`].
    #[error("a setup has at most {MOST_CHANGES} changes, not {0}")]
    TooManyChanges(usize),
    /// A change of a path that is not there.
    #[error("change {change}: there is no path {path:?}")]
    NoSuchPath {
        /// Position among the changes, from 1.
        change: usize,
        /// The name it gives.
        path: String,
    },
    /// A change that changes nothing.
    #[error("change {0} neither cuts nor sets anything")]
    EmptyChange(usize),
    /// Figures of a link that exclude each other, or cannot be had there.
    #[error("{place}: {problem}")]
    Link {
        /// The path and direction, or the change.
        place: String,
        /// What is wrong and what would be right.
        problem: &'static str,
    },
    /// A figure or a name that is out of range.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// Largest file that is read.
pub const MOST_BYTES: usize = 1 << 20;

/// Most changes in a file.
pub const MOST_CHANGES: usize = 10_000;

impl Setup {
    /// Reads a setup from a TOML file's text, which names it. The result passes
    /// [`check`](Self::check).
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, ParseError> {
        Self::read_toml(text, None)
    }

    /// The same for a text that need not name it: then it is called `name`, such as the file is.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_toml_named(text: &str, name: &str) -> Result<Self, ParseError> {
        Self::read_toml(text, Some(name))
    }

    fn read_toml(text: &str, name: Option<&str>) -> Result<Self, ParseError> {
        if text.len() > MOST_BYTES {
            return Err(ParseError::TooLong(text.len()));
        }
        let file: SetupTable = ::toml::from_str(text)?;
        if file.changes.len() > MOST_CHANGES {
            return Err(ParseError::TooManyChanges(file.changes.len()));
        }
        let paths = file
            .paths
            .into_iter()
            .map(PathTable::read)
            .collect::<Result<Vec<_>, _>>()?;
        let name = file.name.or_else(|| name.map(str::to_owned));
        let mut setup = Self {
            name: name.ok_or(ParseError::NoName)?,
            summary: file.summary,
            paths,
            changes: Vec::new(),
        };
        // Names first: changes refer to them.
        setup.check()?;
        for (index, change) in file.changes.into_iter().enumerate() {
            change.read(index + 1, &mut setup)?;
        }
        setup.check()?;
        Ok(setup)
    }

    /// Writes the setup as a TOML file that [`from_toml`](Self::from_toml) reads back, with every
    /// figure spelt out: a starting point for a file of one's own.
    ///
    /// # Errors
    /// If it does not pass [`check`](Self::check): not every such setup could be read back.
    pub fn to_toml(&self) -> Result<String, SetupError> {
        self.check()?;
        let paths = self.paths.iter().map(|path| PathTable {
            name: path.name.clone(),
            both: None,
            forward: Some(LinkTable::of(&path.forward)),
            backward: Some(LinkTable::of(&path.backward)),
        });
        let file = SetupTable {
            name: Some(self.name.clone()),
            summary: self.summary.clone(),
            paths: paths.collect(),
            changes: self
                .changes
                .iter()
                .map(|timed| ChangeTable::of(timed, &self.paths[timed.path].name))
                .collect(),
        };
        Ok(::toml::to_string(&file).expect("tables of numbers and strings have a TOML form"))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default)]
    summary: String,
    #[serde(rename = "path", default)]
    paths: Vec<PathTable>,
    #[serde(rename = "change", default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangeTable>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathTable {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) both: Option<LinkTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forward: Option<LinkTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backward: Option<LinkTable>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeTable {
    at_s: f64,
    path: String,
    #[serde(default, skip_serializing_if = "DirectionName::is_both")]
    direction: DirectionName,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<LinkTable>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DirectionName {
    Forward,
    Backward,
    #[default]
    Both,
}

impl PathTable {
    fn read(self) -> Result<PathSetup, ParseError> {
        let what = format!("path {}", self.name);
        self.read_as(&what)
    }

    /// The same for something that errors call `what`.
    pub(crate) fn read_as(self, what: &str) -> Result<PathSetup, ParseError> {
        let both = self.both.unwrap_or_default();
        let mut place = format!("{what}, forward");
        let mut forward = self.forward.unwrap_or_default().over(&both).read(&place)?;
        place = format!("{what}, backward");
        let mut backward = self.backward.unwrap_or_default().over(&both).read(&place)?;
        let rtt = forward.config.delay + backward.config.delay;
        Ok(PathSetup {
            name: self.name,
            forward: forward.with_queue(rtt),
            backward: backward.with_queue(rtt),
        })
    }
}

impl ChangeTable {
    /// Appends what it says to the changes of `setup`; `number` counts from 1.
    fn read(self, number: usize, setup: &mut Setup) -> Result<(), ParseError> {
        let place = format!("change {number}");
        let Some(path) = setup.path(&self.path) else {
            return Err(ParseError::NoSuchPath {
                change: number,
                path: self.path,
            });
        };
        let mut changes = match self.set {
            Some(table) => table.changes(&place)?,
            None => Vec::new(),
        };
        changes.extend(
            self.cut
                .map(|cut| if cut { Change::Cut } else { Change::Restore }),
        );
        if changes.is_empty() {
            return Err(ParseError::EmptyChange(number));
        }
        let at = link::duration(&place, "at_s", self.at_s, link::SECOND)?;
        let direction = self.direction.into();
        setup
            .changes
            .extend(changes.into_iter().map(|change| TimedChange {
                at,
                path,
                direction,
                change,
            }));
        Ok(())
    }

    fn of(timed: &TimedChange, path: &str) -> Self {
        let (cut, set) = match timed.change {
            Change::Cut => (Some(true), None),
            Change::Restore => (Some(false), None),
            change => (None, Some(LinkTable::default().with(change))),
        };
        Self {
            at_s: timed.at.as_secs_f64(),
            path: path.to_owned(),
            direction: timed.direction.into(),
            cut,
            set,
        }
    }
}

impl DirectionName {
    fn is_both(&self) -> bool {
        *self == Self::Both
    }
}

impl From<DirectionName> for Direction {
    fn from(name: DirectionName) -> Self {
        match name {
            DirectionName::Forward => Self::Forward,
            DirectionName::Backward => Self::Backward,
            DirectionName::Both => Self::Both,
        }
    }
}

impl From<Direction> for DirectionName {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Forward,
            Direction::Backward => Self::Backward,
            Direction::Both => Self::Both,
        }
    }
}

#[cfg(test)]
mod tests;
