//! `[[claim]]`: what the paper says, and when it counts as held.

use serde::Deserialize;
use toml::Value;

use super::place::{Trouble, one_line, range};
use super::traffic::Kinds;
use super::{case_called, check_metric, check_variant, count};
use crate::scenario::claim::{Bounds, Condition};
use crate::scenario::error::ScenarioProblem;
use crate::scenario::{Check, Claim, Figure, Scenario};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimTable {
    text: String,
    #[serde(default)]
    remark: String,
    #[serde(rename = "where")]
    only: Option<ConditionTable>,
    check: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionTable {
    metric: String,
    of: String,
    at_least: Option<f64>,
    at_most: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckTable {
    ratio: Option<String>,
    fall: Option<String>,
    bound: Option<String>,
    order: Option<String>,
    of: Option<String>,
    of_case: Option<String>,
    to: Option<String>,
    to_case: Option<String>,
    to_metric: Option<String>,
    variants: Option<Vec<String>>,
    best: Option<Best>,
    slack_percent: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    at_least_percent: Option<f64>,
    below_percent: Option<f64>,
    cases: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Best {
    Highest,
    Lowest,
}

impl ClaimTable {
    pub(super) fn read(&self, scenario: &Scenario) -> Result<Claim, Trouble> {
        let tables = match &self.check {
            Value::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        count("checks", tables.len(), 1, MOST_CHECKS)?;
        let mut checks = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            let check = CheckTable::deserialize(table.clone())
                .map_err(|error| Trouble::new(ScenarioProblem::Syntax(one_line(error.message()))))
                .and_then(|table| table.read(scenario));
            checks.push(check.map_err(|trouble| match &self.check {
                Value::Array(_) => trouble.under("check", index, &format!("check {}", index + 1)),
                _ => trouble.inside("check"),
            })?);
        }
        let only = self.only.as_ref().map(|only| only.read(scenario));
        let only = only
            .transpose()
            .map_err(|trouble| trouble.inside("where"))?;
        Ok(Claim {
            text: self.text.clone(),
            remark: self.remark.clone(),
            only,
            checks,
        })
    }
}

impl ConditionTable {
    fn read(&self, scenario: &Scenario) -> Result<Condition, Trouble> {
        check_metric(scenario, "metric", &self.metric)?;
        check_variant(scenario, &self.of).map_err(|problem| Trouble::at(["of"], problem))?;
        let bounds = CheckTable {
            at_least: self.at_least,
            at_most: self.at_most,
            ..CheckTable::default()
        };
        Ok(Condition {
            of: Figure {
                metric: self.metric.clone(),
                variant: self.of.clone(),
                case: None,
            },
            range: bounds.bounds()?,
        })
    }
}

impl CheckTable {
    fn read(&self, scenario: &Scenario) -> Result<Check, Trouble> {
        match (&self.ratio, &self.fall, &self.bound, &self.order) {
            (Some(metric), None, None, None) => self.ratio(scenario, metric),
            (None, Some(metric), None, None) => self.fall(scenario, metric),
            (None, None, Some(metric), None) => self.bound(scenario, metric),
            (None, None, None, Some(metric)) => self.order(scenario, metric),
            _ => Err(Trouble::new(ScenarioProblem::Other(
                "a check has one of ratio, fall, bound and order".to_owned(),
            ))),
        }
    }

    fn ratio(&self, scenario: &Scenario, metric: &str) -> Result<Check, Trouble> {
        self.check_keys(
            "a ratio",
            &[
                "of",
                "of_case",
                "to",
                "to_case",
                "to_metric",
                "at_least",
                "at_most",
                "cases",
            ],
        )?;
        check_metric(scenario, "ratio", metric)?;
        let of = self.variant(scenario, "of", self.of.as_ref())?;
        let to = match &self.to {
            Some(_) => self.variant(scenario, "to", self.to.as_ref())?,
            None => of.clone(),
        };
        if let Some(metric) = &self.to_metric {
            check_metric(scenario, "to_metric", metric)?;
        }
        let of = Figure {
            metric: metric.to_owned(),
            variant: of,
            case: self.case(scenario, "of_case", self.of_case.as_ref())?,
        };
        let to = Figure {
            metric: self.to_metric.clone().unwrap_or_else(|| metric.to_owned()),
            variant: to,
            case: self.case(scenario, "to_case", self.to_case.as_ref())?,
        };
        if of == to {
            let problem = "a figure is compared with itself: give to, to_case or to_metric";
            return Err(Trouble::new(ScenarioProblem::Other(problem.to_owned())));
        }
        let mut cases = self.cases(scenario)?;
        if of.case.is_some() && to.case.is_some() {
            cases.truncate(1);
        }
        let range = self.bounds()?;
        Ok(Check::Ratio {
            of,
            to,
            range,
            cases,
        })
    }

    fn fall(&self, scenario: &Scenario, metric: &str) -> Result<Check, Trouble> {
        self.check_keys(
            "a fall",
            &["of", "at_least_percent", "below_percent", "cases"],
        )?;
        check_metric(scenario, "fall", metric)?;
        let bounds = Bounds {
            least: percent("at_least_percent", self.at_least_percent)?,
            most: percent("below_percent", self.below_percent)?,
        };
        Ok(Check::Fall {
            metric: metric.to_owned(),
            variant: self.variant(scenario, "of", self.of.as_ref())?,
            range: ordered(bounds, "at_least_percent and below_percent")?,
            cases: self.cases(scenario)?,
        })
    }

    fn bound(&self, scenario: &Scenario, metric: &str) -> Result<Check, Trouble> {
        self.check_keys(
            "a bound",
            &["of", "of_case", "at_least", "at_most", "cases"],
        )?;
        check_metric(scenario, "bound", metric)?;
        let case = self.case(scenario, "of_case", self.of_case.as_ref())?;
        let mut cases = self.cases(scenario)?;
        if case.is_some() {
            cases.truncate(1);
        }
        Ok(Check::Bound {
            of: Figure {
                metric: metric.to_owned(),
                variant: self.variant(scenario, "of", self.of.as_ref())?,
                case,
            },
            range: self.bounds()?,
            cases,
        })
    }

    fn order(&self, scenario: &Scenario, metric: &str) -> Result<Check, Trouble> {
        self.check_keys("an order", &["variants", "best", "slack_percent", "cases"])?;
        check_metric(scenario, "order", metric)?;
        let variants = self.variants.clone().unwrap_or_default();
        count("variants in the order", variants.len(), 2, 32)?;
        for variant in &variants {
            check_variant(scenario, variant)
                .map_err(|problem| Trouble::at(["variants"], problem))?;
        }
        let slack_percent = percent("slack_percent", self.slack_percent)?.unwrap_or(0.0);
        Ok(Check::Order {
            metric: metric.to_owned(),
            variants,
            lowest_first: self.best == Some(Best::Lowest),
            slack_percent,
            cases: self.cases(scenario)?,
        })
    }

    fn check_keys(
        &self,
        what: &'static str,
        allowed: &'static [&'static str],
    ) -> Result<(), Trouble> {
        let kinds = Kinds {
            table: "",
            what,
            allowed,
        };
        kinds.check(&[
            ("of", self.of.is_some()),
            ("of_case", self.of_case.is_some()),
            ("to", self.to.is_some()),
            ("to_case", self.to_case.is_some()),
            ("to_metric", self.to_metric.is_some()),
            ("variants", self.variants.is_some()),
            ("best", self.best.is_some()),
            ("slack_percent", self.slack_percent.is_some()),
            ("at_least", self.at_least.is_some()),
            ("at_most", self.at_most.is_some()),
            ("at_least_percent", self.at_least_percent.is_some()),
            ("below_percent", self.below_percent.is_some()),
            ("cases", self.cases.is_some()),
        ])
    }

    fn variant(
        &self,
        scenario: &Scenario,
        key: &'static str,
        name: Option<&String>,
    ) -> Result<String, Trouble> {
        let name = name.ok_or_else(|| {
            Trouble::new(ScenarioProblem::Missing {
                key,
                why: "the variant that is looked at",
            })
        })?;
        check_variant(scenario, name).map_err(|problem| Trouble::at([key], problem))?;
        Ok(name.clone())
    }

    fn case(
        &self,
        scenario: &Scenario,
        key: &'static str,
        name: Option<&String>,
    ) -> Result<Option<usize>, Trouble> {
        name.map(|name| case_called(scenario, name))
            .transpose()
            .map_err(|problem| Trouble::at([key], problem))
    }

    fn bounds(&self) -> Result<Bounds, Trouble> {
        for (key, value) in [("at_least", self.at_least), ("at_most", self.at_most)] {
            if let Some(value) = value {
                range(key, value, -1e15, 1e15).map_err(|problem| Trouble::at([key], problem))?;
            }
        }
        let bounds = Bounds {
            least: self.at_least,
            most: self.at_most,
        };
        ordered(bounds, "at_least and at_most")
    }

    /// All of them, if none is named; `first..last` are all from the one to the other.
    fn cases(&self, scenario: &Scenario) -> Result<Vec<usize>, Trouble> {
        let Some(names) = &self.cases else {
            return Ok((0..scenario.cases.len()).collect());
        };
        let mut cases = Vec::new();
        for name in names {
            let is_one = scenario.cases.iter().any(|case| case.name == *name);
            let ends = name.split_once("..").filter(|_| !is_one);
            let (first, last) = ends.unwrap_or((name, name));
            let position = |name| {
                case_called(scenario, name).map_err(|problem| Trouble::at(["cases"], problem))
            };
            let (first, last) = (position(first)?, position(last)?);
            if first > last {
                let problem = format!("{name:?} goes backwards");
                return Err(Trouble::at(["cases"], ScenarioProblem::Other(problem)));
            }
            cases.extend(
                (first..=last)
                    .filter(|case| !cases.contains(case))
                    .collect::<Vec<_>>(),
            );
        }
        if cases.is_empty() {
            let problem = "cases names at least one case".to_owned();
            return Err(Trouble::at(["cases"], ScenarioProblem::Other(problem)));
        }
        Ok(cases)
    }
}

fn ordered(bounds: Bounds, keys: &str) -> Result<Bounds, Trouble> {
    match (bounds.least, bounds.most) {
        (None, None) => Err(Trouble::new(ScenarioProblem::Other(format!(
            "it needs one of {keys}"
        )))),
        (Some(least), Some(most)) if least > most => Err(Trouble::new(ScenarioProblem::Other(
            format!("{least} is above {most}: no value lies between {keys}"),
        ))),
        _ => Ok(bounds),
    }
}

fn percent(key: &'static str, value: Option<f64>) -> Result<Option<f64>, Trouble> {
    value
        .map(|value| range(key, value, 0.0, 100.0))
        .transpose()
        .map_err(|problem| Trouble::at([key], problem))
}

const MOST_CHECKS: usize = 64;
