//! `pauses`: how often hosts stand still.

use std::time::Duration;

use serde::Deserialize;

use super::place::{Trouble, range};
use super::traffic::LONGEST_S;
use crate::scenario::Pauses;
use crate::scenario::error::ScenarioProblem;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PausesTable {
    every_s: f64,
    most_ms: f64,
}

impl PausesTable {
    /// Of a run that takes `time`.
    pub(super) fn read(&self, time: Duration) -> Result<Pauses, Trouble> {
        let every = range("every_s", self.every_s, LEAST_EVERY_S, LONGEST_S)
            .map_err(|problem| Trouble::at(["pauses", "every_s"], problem))?;
        let most = range("most_ms", self.most_ms, 0.0, LONGEST_MS)
            .map_err(|problem| Trouble::at(["pauses", "most_ms"], problem))?;
        let pauses = time.as_secs_f64() / every;
        if pauses > MOST_PAUSES {
            let problem = format!(
                "a host stands still at most {MOST_PAUSES} times in a run, and in this one {pauses:.0} times"
            );
            return Err(Trouble::at(
                ["pauses", "every_s"],
                ScenarioProblem::Other(problem),
            ));
        }
        Ok(Pauses {
            every: Duration::from_secs_f64(every),
            most: Duration::from_secs_f64(most / 1e3),
        })
    }
}

const LEAST_EVERY_S: f64 = 0.1;
const LONGEST_MS: f64 = 10_000.0;
/// All of a run are kept from its start.
const MOST_PAUSES: f64 = 100_000.0;
