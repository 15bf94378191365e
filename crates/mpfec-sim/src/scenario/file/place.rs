//! Where in a file something is wrong.

use std::str::FromStr;

use toml::de::{DeTable, DeValue};

use crate::scenario::error::{ScenarioError, ScenarioProblem};

/// What is wrong, and the keys that lead there.
#[derive(Debug)]
pub(super) struct Trouble {
    /// From the root of the file; as far as it leads, it gives the line.
    path: Vec<String>,
    /// For people.
    place: String,
    pub(super) problem: Box<ScenarioProblem>,
    /// Where a syntax error is, in bytes.
    offset: Option<usize>,
}

impl Trouble {
    pub(super) fn new(problem: ScenarioProblem) -> Self {
        Self {
            path: Vec::new(),
            place: String::new(),
            problem: Box::new(problem),
            offset: None,
        }
    }

    pub(super) fn at<'a>(
        path: impl IntoIterator<Item = &'a str>,
        problem: ScenarioProblem,
    ) -> Self {
        Self {
            path: path.into_iter().map(str::to_owned).collect(),
            ..Self::new(problem)
        }
    }

    /// The same for a table whose problem names the key.
    pub(super) fn of_key<'a>(
        table: impl IntoIterator<Item = &'a str>,
        problem: ScenarioProblem,
    ) -> Self {
        let mut trouble = Self::at(table, problem);
        let keys = trouble.problem.keys().into_iter().map(str::to_owned);
        trouble.path.extend(keys);
        trouble
    }

    pub(super) fn syntax(error: &toml::de::Error) -> Self {
        Self {
            offset: error.span().map(|span| span.start),
            ..Self::new(ScenarioProblem::Syntax(one_line(error.message())))
        }
    }

    /// The same in the table at position `index` of the array `array`, which people know as
    /// `place`.
    pub(super) fn under(mut self, array: &str, index: usize, place: &str) -> Self {
        self.path
            .splice(0..0, [array.to_owned(), index.to_string()]);
        self.named(place)
    }

    /// The same in the table called `key`.
    pub(super) fn inside(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_owned());
        self
    }

    /// The same with `place` in front of what people are told about where it is.
    pub(super) fn named(mut self, place: &str) -> Self {
        self.place = if self.place.is_empty() {
            place.to_owned()
        } else {
            format!("{place}, {}", self.place)
        };
        self
    }

    pub(super) fn into_error(self, text: &str, file: &str) -> ScenarioError {
        let offset = self.offset.or_else(|| offset_of(text, &self.path));
        // Lines count from 1.
        let line = offset
            .and_then(|offset| text.as_bytes().get(..offset))
            .map(|before| 1 + before.iter().filter(|&&byte| byte == b'\n').count());
        ScenarioError {
            file: file.to_owned(),
            line,
            place: self.place,
            problem: self.problem,
        }
    }
}

/// Where the value that `path` leads to begins, or the last one on the way to it.
fn offset_of(text: &str, path: &[String]) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let (key, mut value) = root.get_ref().get_key_value(first.as_str())?;
    let mut offset = key.span().start;
    for (depth, step) in rest.iter().enumerate() {
        let next = match value.get_ref() {
            DeValue::Table(table) => {
                let next = rest.get(depth + 1).map(String::as_str);
                let step = inherited(table, step, next);
                let found = table.get_key_value(step);
                found.map(|(key, value)| (key.span().start, value))
            }
            DeValue::Array(array) => step
                .parse::<usize>()
                .ok()
                .and_then(|index| array.get(index))
                .map(|value| (value.span().start, value)),
            _ => None,
        };
        let Some(next) = next else { break };
        (offset, value) = next;
    }
    Some(offset)
}

/// The key of `table` that `step` means: what a direction of a path does not say itself, `both`
/// says for it.
fn inherited<'a>(table: &DeTable<'_>, step: &'a str, next: Option<&str>) -> &'a str {
    if !["forward", "backward"].contains(&step) {
        return step;
    }
    let says = |name: &str| {
        let table = table.get(name).and_then(|value| value.get_ref().as_table());
        table.is_some_and(|table| next.is_none_or(|next| table.contains_key(next)))
    };
    if says(step) || table.contains_key(step) && !says("both") {
        step
    } else {
        "both"
    }
}

/// A value that is in its range.
pub(super) fn range(key: &str, got: f64, least: f64, most: f64) -> Result<f64, ScenarioProblem> {
    // Not a number is in no range.
    if (least..=most).contains(&got) {
        return Ok(got);
    }
    Err(ScenarioProblem::Range {
        key: key.to_owned(),
        got,
        least,
        most,
    })
}

/// The same for a value that must be a whole number.
pub(super) fn whole(key: &str, got: f64, least: f64, most: f64) -> Result<u64, ScenarioProblem> {
    let value = range(key, got, least, most)?;
    if value.fract() != 0.0 {
        return Err(ScenarioProblem::Other(format!(
            "{key} is {value}, which is not a whole number from {least} to {most}"
        )));
    }
    Ok(value as u64)
}

/// A value that has a text form of its own, such as the name of a scheduler.
pub(super) fn parsed<T: FromStr<Err: std::fmt::Display>>(
    key: &str,
    text: &str,
) -> Result<T, Trouble> {
    text.parse()
        .map_err(|error: T::Err| Trouble::at([key], ScenarioProblem::Other(error.to_string())))
}

/// A message without the lines that quote the file.
pub(super) fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Names in the order of their likeness to `name`.
pub(in crate::scenario) fn ranked<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut known: Vec<&str> = known.collect();
    known.sort_by_key(|other| distance(name, other));
    known.into_iter().map(str::to_owned).collect()
}

/// How many letters must be put in, taken out or changed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (index, letter) in a.chars().take(LONGEST).enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Letters that are compared.
const LONGEST: usize = 64;
