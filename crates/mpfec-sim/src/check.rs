//! Whether a setup makes sense: what a file or a program asked for, before it runs.

use std::time::Duration;

use thiserror::Error;

use crate::{Change, GilbertElliott, LinkConfig, MAX_DELAY, QueueLimit, Setup};

/// What is wrong with a [`Setup`].
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SetupError {
    /// None, or more than [`MAX_PATHS`].
    #[error("a setup has 1 to {MAX_PATHS} paths, not {0}")]
    PathCount(usize),
    /// A name that would not do in a table or on a command line.
    #[error("{0:?} is no name: 1 to 32 ASCII letters, digits, '-', '_' or '.'")]
    Name(String),
    /// A name used twice.
    #[error("two paths are called {0:?}")]
    DuplicateName(String),
    /// A change of a path that is not there.
    #[error("change {change} is for path {path}, and there are {paths}")]
    NoSuchPath {
        /// Position among the changes, from 1.
        change: usize,
        /// Position of the path, from 1.
        path: usize,
        /// How many there are.
        paths: usize,
    },
    /// A figure out of its range.
    #[error("{place}: {what} is {got}, which is not from {least} to {most}")]
    Range {
        /// The path and direction, or the change.
        place: String,
        /// The figure, with its unit.
        what: &'static str,
        /// Its value.
        got: f64,
        /// The least that is allowed.
        least: f64,
        /// The most that is allowed.
        most: f64,
    },
}

/// A setup has at most this many paths.
pub const MAX_PATHS: usize = 8;

impl Setup {
    /// Checks names and ranges: shares 0..=1, rates 1 bit/s..=1 Tbit/s, delays up to [`MAX_DELAY`],
    /// MTU 29..=65563 bytes, overhead up to 256 bytes.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), SetupError> {
        if !(1..=MAX_PATHS).contains(&self.paths.len()) {
            return Err(SetupError::PathCount(self.paths.len()));
        }
        check_name(&self.name)?;
        for (index, path) in self.paths.iter().enumerate() {
            check_name(&path.name)?;
            if self.paths[..index]
                .iter()
                .any(|other| other.name == path.name)
            {
                return Err(SetupError::DuplicateName(path.name.clone()));
            }
            link(&format!("path {}, forward", path.name), &path.forward)?;
            link(&format!("path {}, backward", path.name), &path.backward)?;
        }
        for (index, timed) in self.changes.iter().enumerate() {
            let (change, path, paths) = (index + 1, timed.path + 1, self.paths.len());
            if path > paths {
                return Err(SetupError::NoSuchPath {
                    change,
                    path,
                    paths,
                });
            }
            let place = Place(&format!("change {change}"));
            place.duration("at, seconds", timed.at)?;
            place.change(&timed.change)?;
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), SetupError> {
    let is_name = (1..=32).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if is_name {
        Ok(())
    } else {
        Err(SetupError::Name(name.to_owned()))
    }
}

/// Checks a change of the link that errors call `place`.
pub(crate) fn change(place: &str, change: &Change) -> Result<(), SetupError> {
    Place(place).change(change)
}

/// Checks all figures of the link that errors call `place`.
pub(crate) fn link(place: &str, link: &LinkConfig) -> Result<(), SetupError> {
    let place = Place(place);
    let figures = [
        Change::Rate(link.rate),
        Change::Delay(link.delay),
        Change::Jitter(link.jitter),
        Change::Policer(link.policer),
        Change::Queue(link.queue),
        Change::Codel(link.codel),
        Change::Slot(link.slot),
        Change::Loss(link.loss),
        Change::Bursts(link.bursts),
        Change::Reorder {
            share: link.faults.reorder,
            delay: link.faults.reorder_delay,
        },
        Change::Duplicate(link.faults.duplicate),
        Change::Corrupt(link.faults.corrupt),
        Change::Mtu(link.mtu),
    ];
    figures.iter().try_for_each(|figure| place.change(figure))?;
    place.range("overhead, bytes", f64::from(link.overhead), 0.0, 256.0)
}

/// Where a figure stands, for the error.
struct Place<'a>(&'a str);

impl Place<'_> {
    /// The ranges of all figures, once for links and for changes of them.
    fn change(&self, change: &Change) -> Result<(), SetupError> {
        match *change {
            Change::Rate(Some(rate)) => self.range("rate, bit/s", rate as f64, 1.0, 1e12),
            Change::Delay(delay) => self.duration("delay, seconds", delay),
            Change::Jitter(jitter) => self.duration("jitter, seconds", jitter),
            Change::Queue(QueueLimit::Bytes(bytes)) => {
                self.range("queue, bytes", bytes as f64, 0.0, MOST_QUEUED)
            }
            Change::Queue(QueueLimit::Packets(packets)) => {
                self.range("queue, packets", packets as f64, 0.0, MOST_QUEUED)
            }
            Change::Policer(Some(policer)) => {
                self.range("policer's rate, bit/s", policer.rate as f64, 1.0, 1e12)?;
                self.range(
                    "policer's burst, bytes",
                    policer.burst as f64,
                    0.0,
                    MOST_QUEUED,
                )
            }
            Change::Codel(Some(target)) => self.duration("CoDel's target, seconds", target),
            Change::Slot(slot) => self.duration("slot, seconds", slot),
            Change::Loss(loss) => self.share("loss", loss),
            Change::Bursts(Some(bursts)) => self.bursts(&bursts),
            Change::Reorder { share, delay } => {
                self.share("reordering", share)?;
                self.duration("reordering delay, seconds", delay)
            }
            Change::Duplicate(share) => self.share("duplication", share),
            Change::Corrupt(share) => self.share("corruption", share),
            Change::Mtu(mtu) => self.range("mtu, bytes", f64::from(mtu), 29.0, 65_563.0),
            Change::Rate(None)
            | Change::Policer(None)
            | Change::Queue(QueueLimit::Unlimited)
            | Change::Codel(None)
            | Change::Bursts(None)
            | Change::JitterReorders(_)
            | Change::Cut
            | Change::Restore => Ok(()),
        }
    }

    fn bursts(&self, bursts: &GilbertElliott) -> Result<(), SetupError> {
        self.share("share of entering the bad state", bursts.enter)?;
        self.share("share of leaving the bad state", bursts.leave)?;
        self.share("loss in the good state", bursts.good_loss)?;
        self.share("loss in the bad state", bursts.bad_loss)
    }

    fn share(&self, what: &'static str, got: f64) -> Result<(), SetupError> {
        self.range(what, got, 0.0, 1.0)
    }

    fn duration(&self, what: &'static str, got: Duration) -> Result<(), SetupError> {
        self.range(what, got.as_secs_f64(), 0.0, MAX_DELAY.as_secs_f64())
    }

    fn range(&self, what: &'static str, got: f64, least: f64, most: f64) -> Result<(), SetupError> {
        // Not a number is in no range.
        if (least..=most).contains(&got) {
            return Ok(());
        }
        Err(SetupError::Range {
            place: self.0.to_owned(),
            what,
            got,
            least,
            most,
        })
    }
}

/// Bytes or packets; what a relay really holds is bounded besides.
const MOST_QUEUED: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, PathSetup, TimedChange};

    fn two_paths() -> Setup {
        let path = |name| PathSetup::symmetric(name, 1_000_000, Duration::from_millis(10), 0.0);
        Setup {
            name: "two".into(),
            summary: String::new(),
            paths: vec![path("a"), path("b")],
            changes: Vec::new(),
        }
    }

    fn check(spoil: impl FnOnce(&mut Setup)) -> Result<(), SetupError> {
        let mut setup = two_paths();
        spoil(&mut setup);
        setup.check()
    }

    #[test]
    fn every_built_in_setup_is_valid() {
        assert!(
            Setup::built_in()
                .iter()
                .all(|setup| setup.check() == Ok(()))
        );
    }

    #[test]
    fn mistakes_are_named_with_their_facts() {
        let timed = |path, change| TimedChange {
            at: Duration::ZERO,
            path,
            direction: Direction::Both,
            change,
        };
        assert_eq!(
            check(|setup| setup.paths.clear()),
            Err(SetupError::PathCount(0))
        );
        assert_eq!(
            check(|setup| setup.paths[1].name = "a".into()),
            Err(SetupError::DuplicateName("a".into()))
        );
        assert_eq!(
            check(|setup| setup.paths[1].name = "a b".into()),
            Err(SetupError::Name("a b".into()))
        );
        assert_eq!(
            check(|setup| setup.changes = vec![timed(0, Change::Cut), timed(2, Change::Cut)]),
            Err(SetupError::NoSuchPath {
                change: 2,
                path: 3,
                paths: 2
            })
        );
        let error = check(|setup| setup.paths[0].forward.loss = 1.5).unwrap_err();
        assert_eq!(
            error.to_string(),
            "path a, forward: loss is 1.5, which is not from 0 to 1"
        );
        let error =
            check(|setup| setup.changes = vec![timed(0, Change::Loss(f64::NAN))]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "change 1: loss is NaN, which is not from 0 to 1"
        );
    }
}
