//! `[[change]]`: what becomes different at some time.

use std::time::Duration;

use serde::Deserialize;

use super::place::{Trouble, range};
use super::plan::{link_called, path_called};
use super::traffic::{LONGEST_S, MOST_MBPS};
use crate::scenario::Plan;
use crate::scenario::error::ScenarioProblem;
use crate::scenario::topology::LinkChange;
use crate::toml::link::LinkTable;
use crate::toml::{DirectionName, ParseError};
use crate::{Change, Direction, SetupError, TimedChange, check};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeTable {
    at_s: f64,
    path: Option<String>,
    link: Option<String>,
    #[serde(default)]
    direction: DirectionName,
    cut: Option<bool>,
    set: Option<LinkTable>,
}

impl ChangeTable {
    pub(super) fn read(&self, plan: &mut Plan) -> Result<(), Trouble> {
        let of_set = |error: ParseError| Trouble::of_key(["set"], error.into());
        let mut changes = match self.set {
            Some(table) => table.changes("set").map_err(of_set)?,
            None => Vec::new(),
        };
        for change in &changes {
            if let Change::Rate(rate) = change {
                let mbps = rate.map_or(f64::INFINITY, |rate| rate as f64 / 1e6);
                check_rate("set", mbps).map_err(|error| of_set(error.into()))?;
            }
            check::change("set", change).map_err(|error| of_set(error.into()))?;
        }
        changes.extend(
            self.cut
                .map(|cut| if cut { Change::Cut } else { Change::Restore }),
        );
        if changes.is_empty() {
            let problem = "it neither cuts nor sets anything".to_owned();
            return Err(Trouble::new(ScenarioProblem::Other(problem)));
        }
        let at = range("at_s", self.at_s, 0.0, LONGEST_S)
            .map_err(|problem| Trouble::at(["at_s"], problem))?;
        let at = Duration::from_secs_f64(at);
        let direction: Direction = self.direction.into();
        match (&self.path, &self.link) {
            (Some(path), None) => {
                let path = path_called(&plan.setup, path)
                    .map_err(|problem| Trouble::at(["path"], problem))?;
                let timed = |change| TimedChange {
                    at,
                    path,
                    direction,
                    change,
                };
                plan.setup.changes.extend(changes.into_iter().map(timed));
            }
            (None, Some(link)) => {
                let link = link_called(&plan.links, link)
                    .map_err(|problem| Trouble::at(["link"], problem))?;
                let timed = |change| LinkChange {
                    at,
                    link,
                    direction,
                    change,
                };
                plan.link_changes.extend(changes.into_iter().map(timed));
            }
            _ => {
                let problem = "a change has either a path or a link".to_owned();
                return Err(Trouble::new(ScenarioProblem::Other(problem)));
            }
        }
        Ok(())
    }
}

/// Whether a rate in Mbit/s is one at which a run ends some day.
pub(super) fn check_rate(place: &str, got: f64) -> Result<(), SetupError> {
    let (least, most) = (1e-6, MOST_MBPS);
    if (least..=most).contains(&got) {
        return Ok(());
    }
    Err(SetupError::Range {
        place: place.to_owned(),
        what: "rate_mbps",
        got,
        least,
        most,
    })
}
