//! From results to charts.

use std::collections::{BTreeMap, BTreeSet};

use super::chart::{Axis, Chart, Curve, Marks, Point};
use crate::scenario::{
    self, CaseResult, ChartKind, Plotted, ScenarioResult, Short, Summary, VariantResult,
};

/// What a scenario's chart shows of these results.
pub(super) fn of(result: &ScenarioResult, wanted: &scenario::Chart) -> Chart {
    match &wanted.plotted {
        Plotted::Metric(metric) => of_metric(result, wanted, metric),
        Plotted::Series { name, case } => of_series(result, wanted, name, *case),
    }
}

/// The heading of a chart: of a time series, with the case unless there is only one.
pub(super) fn title(result: &ScenarioResult, wanted: &scenario::Chart) -> String {
    match &wanted.plotted {
        Plotted::Series { case, .. } if result.cases.len() > 1 => match result.cases.get(*case) {
            Some(case) => format!("{} ({})", wanted.title, case.name),
            None => wanted.title.clone(),
        },
        _ => wanted.title.clone(),
    }
}

fn of_metric(result: &ScenarioResult, wanted: &scenario::Chart, metric: &str) -> Chart {
    let has_numbers = result.cases.iter().all(|case| case.x.is_some());
    let is_bars = wanted.kind == ChartKind::Bar;
    if let [case] = &result.cases[..] {
        return of_only_case(result, wanted, metric, case);
    }
    let is_numeric = has_numbers && !is_bars;
    let curves = shown(result, wanted).map(|(style, name)| {
        let cases = result.cases.iter().enumerate();
        let points = cases.filter_map(|(index, case)| {
            let summary = case.summary(name, metric)?;
            Some(Point {
                x: case.x.filter(|_| is_numeric).unwrap_or(index as f64),
                y: summary.mean,
                half_width: summary.half_width,
                words: told(name, &case.name, &summary),
            })
        });
        let mut points: Vec<Point> = points.collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve::new(name, points).with_style(style)
    });
    Chart {
        title: title(result, wanted),
        x: Axis {
            label: wanted.x_label.clone(),
            is_log: wanted.log_x && is_numeric,
        },
        y: Axis::linear(&wanted.y_label),
        categories: match is_numeric {
            true => Vec::new(),
            false => result.cases.iter().map(|case| case.name.clone()).collect(),
        },
        marks: if is_bars { Marks::Bars } else { Marks::Points },
        curves: curves.collect(),
    }
}

/// A bar for each variant, with its name below: a line through a single point is none.
fn of_only_case(
    result: &ScenarioResult,
    wanted: &scenario::Chart,
    metric: &str,
    case: &CaseResult,
) -> Chart {
    let shown = shown(result, wanted)
        .filter_map(|(style, name)| Some((style, name, case.summary(name, metric)?)));
    let mut categories = Vec::new();
    let mut curves = Vec::new();
    for (style, name, summary) in shown {
        let bar = Point {
            x: categories.len() as f64,
            y: summary.mean,
            half_width: summary.half_width,
            words: told(name, &case.name, &summary),
        };
        categories.push(name.to_owned());
        curves.push(Curve::new("", [bar]).with_style(style));
    }
    Chart {
        title: title(result, wanted),
        // What it says is about cases.
        x: Axis::default(),
        y: Axis::linear(&wanted.y_label),
        categories,
        marks: Marks::Bars,
        curves,
    }
}

fn of_series(
    result: &ScenarioResult,
    wanted: &scenario::Chart,
    series: &str,
    case: usize,
) -> Chart {
    let variants = result.cases.get(case).map(|case| case.variants.as_slice());
    let variants = variants.unwrap_or_default();
    let curves = shown(result, wanted).filter_map(|(style, name)| {
        let variant = variants.iter().find(|variant| variant.name == name)?;
        let points = thinned(&mean_series(variant, series));
        let points = points.into_iter().map(|(time, summary)| Point {
            x: time,
            y: summary.mean,
            half_width: summary.half_width,
            words: told(name, &format!("{} s", Short(time)), &summary),
        });
        Some(Curve::new(name, points).with_style(style))
    });
    Chart {
        title: title(result, wanted),
        x: Axis {
            label: match wanted.x_label.as_str() {
                "" => "time, s".to_owned(),
                label => label.to_owned(),
            },
            is_log: wanted.log_x,
        },
        y: Axis::linear(&wanted.y_label),
        categories: Vec::new(),
        marks: Marks::Band,
        curves: curves.collect(),
    }
}

/// Names of the variants that a chart shows, with their positions: a variant has the same
/// colour in all charts of a scenario.
fn shown<'a>(
    result: &'a ScenarioResult,
    wanted: &'a scenario::Chart,
) -> impl Iterator<Item = (usize, &'a str)> {
    let names = result
        .scenario
        .variants
        .iter()
        .map(|variant| variant.name.as_str());
    names.enumerate().filter(|(_, name)| {
        // Where none of them was run, others took their place.
        let has = |name: &str| wanted.variants.iter().any(|wanted| wanted == name);
        let is_any_run = || {
            result
                .scenario
                .variants
                .iter()
                .any(|variant| has(&variant.name))
        };
        wanted.variants.is_empty() || has(name) || !is_any_run()
    })
}

fn told(variant: &str, place: &str, summary: &Summary) -> String {
    match summary.count {
        1 => format!("{variant}, {place}: {summary}"),
        count => format!("{variant}, {place}: {summary} ({count} runs)"),
    }
}

/// Time series that some run of a variant has.
pub(super) fn series_names(variant: &VariantResult) -> BTreeSet<&str> {
    let names = variant.runs.iter().flat_map(|run| run.series.keys());
    names.map(String::as_str).collect()
}

/// The mean of a time series at each point in time over those runs that got there.
pub(super) fn mean_series(variant: &VariantResult, name: &str) -> Vec<(f64, Summary)> {
    let mut values: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    let points = variant.runs.iter().filter_map(|run| run.series.get(name));
    for (time, value) in points.flatten() {
        // Points that are a rounding error apart are the same.
        let micros = (time * 1e6).round() as i64;
        values.entry(micros).or_default().push(*value);
    }
    let summary =
        |(micros, values): (i64, Vec<f64>)| Some((micros as f64 / 1e6, Summary::of(values)?));
    values.into_iter().filter_map(summary).collect()
}

/// As many points as can be told apart: means of neighbours.
fn thinned(points: &[(f64, Summary)]) -> Vec<(f64, Summary)> {
    let size = points.len().div_ceil(MOST_POINTS).max(1);
    let mean = |group: &[(f64, Summary)], value: fn(&(f64, Summary)) -> f64| {
        group.iter().map(value).sum::<f64>() / group.len() as f64
    };
    points
        .chunks(size)
        .map(|group| {
            let summary = Summary {
                mean: mean(group, |point| point.1.mean),
                half_width: mean(group, |point| point.1.half_width),
                ..group[0].1
            };
            (mean(group, |point| point.0), summary)
        })
        .collect()
}

/// Points of a curve of a time series.
const MOST_POINTS: usize = 300;
