//! Figures that miss their bounds, each with the bound that it does keep.

use std::fs;

use super::table::{Figure, Row, Table, case_and_rest, file};

/// An entry of a list that is to shrink: who keeps the bound must not be in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Missed {
    case: String,
    scenario: String,
    figure: String,
    side: Side,
    bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Least,
    Most,
}

impl Missed {
    pub(super) fn committed() -> Vec<Self> {
        let text = fs::read_to_string(file(FILE)).expect("the list of misses");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(HEAD));
        lines.map(Self::read).collect()
    }

    pub(super) fn write(list: &[Self]) {
        let lines = list.iter().map(Self::line);
        let lines: Vec<String> = std::iter::once(HEAD.to_owned()).chain(lines).collect();
        fs::write(file(FILE), lines.join("\n") + "\n").expect("the list can be written");
    }

    fn read(line: &str) -> Self {
        let (case, rest) = case_and_rest(line);
        let fields: Vec<&str> = rest.split(',').collect();
        let [scenario, figure, side, bound] = fields[..] else {
            panic!("{line:?} has other fields than {HEAD}");
        };
        Self {
            case: case.to_owned(),
            scenario: scenario.to_owned(),
            figure: figure.to_owned(),
            side: match side {
                "at least" => Side::Least,
                "at most" => Side::Most,
                _ => panic!("{line:?} is neither at least nor at most"),
            },
            bound: bound.parse().expect("a bound is a number"),
        }
    }

    pub(super) fn line(&self) -> String {
        let Self {
            case,
            scenario,
            figure,
            bound,
            ..
        } = self;
        let side = match self.side {
            Side::Least => "at least",
            Side::Most => "at most",
        };
        format!("\"{case}\",{scenario},{figure},{side},{bound}")
    }

    /// What a row has to be listed with, if it misses the bound of a figure.
    pub(super) fn of(table: &Table, row: &Row, figure: &Figure) -> Option<Self> {
        let (least, most) = (figure.range)(row)?;
        let value = (figure.value)(row);
        // Two digits behind the point, on the safe side.
        let (side, bound) = if value < least {
            (Side::Least, (value * 100.0).floor() / 100.0)
        } else if value > most {
            (Side::Most, (value * 100.0).ceil() / 100.0)
        } else {
            return None;
        };
        Some(Self {
            case: row.case.clone(),
            scenario: table.scenario.to_owned(),
            figure: figure.name.to_owned(),
            side,
            bound,
        })
    }

    pub(super) fn is_of(&self, table: &Table, case: &str, figure: &str) -> bool {
        self.scenario == table.scenario && self.case == case && self.figure == figure
    }

    pub(super) fn allows(&self, value: f64) -> bool {
        match self.side {
            Side::Least => value >= self.bound,
            Side::Most => value <= self.bound,
        }
    }

    /// Whether it is no worse than `listed`.
    pub(super) fn is_within(&self, listed: &Self) -> bool {
        self.side == listed.side && listed.allows(self.bound)
    }
}

const FILE: &str = "missed.csv";
const HEAD: &str = "case,scenario,figure,side,bound";
