//! `[[axis]]`: cases as every point of one axis with every point of the others.

use serde::Deserialize;

use super::place::Trouble;
use super::{CaseTable, MOST_CELLS, ScenarioTable, count};
use crate::scenario::error::ScenarioProblem;

/// Points along one axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AxisTable {
    points: Vec<CaseTable>,
}

impl ScenarioTable {
    /// The cases of the file, or of its axes: the last axis changes first.
    pub(super) fn take_axes(&mut self) -> Result<(), Trouble> {
        let axes = std::mem::take(&mut self.axes);
        if axes.is_empty() {
            return Ok(());
        }
        if !self.cases.is_empty() {
            let problem = "a file has only one of cases, a grid and axes".to_owned();
            return Err(Trouble::at(["axis"], ScenarioProblem::Other(problem)));
        }
        let points = axes.iter().map(|axis| axis.points.len());
        let cells = points.fold(1, usize::saturating_mul);
        count("points of all axes together", cells, 1, MOST_CELLS)?;
        for axis in axes {
            self.cases = if self.cases.is_empty() {
                axis.points
            } else {
                let cases = self.cases.iter();
                cases
                    .flat_map(|case| axis.points.iter().map(|point| case.and(point)))
                    .collect()
            };
        }
        Ok(())
    }
}

impl CaseTable {
    /// What both say; where they say the same key, `point` is right.
    fn and(&self, point: &Self) -> Self {
        let mut set = self.set.clone();
        set.extend(point.set.clone());
        Self {
            name: format!("{}, {}", self.name, point.name),
            x: point.x.or(self.x),
            set,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    const FILE: &str = r#"
        name = "axes"
        [[path]]
        name = "a"
        both = { rate_mbps = 1, delay_ms = 1 }
        [[variant]]
        profile = "auto"
        [[axis]]
        points = [
            { name = "1 Mbit/s", set = { "path.a.both.rate_mbps" = 1 } },
            { name = "2 Mbit/s", set = { "path.a.both.rate_mbps" = 2 } },
        ]
        [[axis]]
        points = [
            { name = "20 ms", x = 20, set = { "path.a.both.delay_ms" = 10 } },
            { name = "60 ms", x = 60, set = { "path.a.both.delay_ms" = 30 } },
            { name = "80 ms", x = 80, set = { "path.a.both.delay_ms" = 40 } },
        ]
    "#;

    #[test]
    fn every_point_of_an_axis_goes_with_every_point_of_the_others() {
        let scenario = Scenario::from_toml(FILE, "axes.toml").expect("axes");
        let names: Vec<&str> = scenario.cases.iter().map(|case| &*case.name).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(
            [names[0], names[2], names[3]],
            ["1 Mbit/s, 20 ms", "1 Mbit/s, 80 ms", "2 Mbit/s, 20 ms"]
        );
        assert_eq!(scenario.cases[4].x, Some(60.0));
        let path = &scenario.plan(5, 0).expect("planned").setup.paths[0];
        assert_eq!(path.forward.rate, Some(2_000_000));
        assert_eq!(path.rtt().as_millis(), 80);
    }

    #[test]
    fn axes_exclude_cases_and_have_points() {
        for (extra, message) in [
            (
                "[[case]]\nname = \"x\"",
                "only one of cases, a grid and axes",
            ),
            ("[[axis]]\npoints = []", "points of all axes together"),
            (
                "[[axis]]\npoints = [{ name = \"x\" }, { name = \"x\" }]",
                "1 Mbit/s, 20 ms, x",
            ),
        ] {
            let text = format!("{FILE}\n{extra}\n");
            let error = Scenario::from_toml(&text, "axes.toml").expect_err(extra);
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
