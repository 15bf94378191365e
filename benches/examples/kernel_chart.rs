//! Goodput beside the kernel's transports, from the table that `benches/kernel/compare.py goodput`
//! left in docs/benchmarks.md: writes docs/kernel-goodput.svg.
//!
//! `cargo run -p mpfec-benches --example kernel_chart`, at the root of the repository.

use std::error::Error;
use std::fs;

use mpfec_sim::report::chart::{Axis, Chart, Curve, Marks, Point};

/// A few of many, and what their paths lose: four of FMTCP's cases, four of dFEC's, and PNC's.
const SHOWN: [(&str, &str); 9] = [
    ("fmtcp-1", "0.1, 2 %"),
    ("fmtcp-2", "0.1, 5 %"),
    ("fmtcp-3", "0.1, 20 %"),
    ("fmtcp-4", "0.1, 50 %"),
    ("dfec-l0-r100", "0, 0 %"),
    ("dfec-l1-r100", "1, 0 %"),
    ("dfec-l3-r100", "3, 0 %"),
    ("dfec-l5-r100", "5, 0 %"),
    ("pnc", "2.5, 6, 16 %"),
];
/// Columns of the table.
const LIMIT: usize = 1;
const CONTENDERS: [(&str, usize); 4] = [
    ("mpfec", 2),
    ("MPTCP, BBR", 4),
    ("MPTCP, CUBIC", 5),
    ("best path, BBR", 6),
];

fn main() -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string("docs/benchmarks.md")?;
    let table: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("| set-up | limit | mpfec | share | MPTCP, BBR"))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let mut curves: Vec<Curve> = (0..)
        .zip(CONTENDERS)
        .map(|(style, (name, _))| Curve::new(name, []).with_style(style))
        .collect();
    for (x, (set_up, _)) in (0..).zip(SHOWN) {
        let row = table
            .iter()
            .find(|row| row[0] == set_up)
            .ok_or_else(|| format!("no row of {set_up} in docs/benchmarks.md"))?;
        let limit = most(row, LIMIT)?;
        for (curve, (_, column)) in curves.iter_mut().zip(CONTENDERS) {
            let share = 100.0 * most(row, column)? / limit;
            curve.points.push(Point::new(f64::from(x), share));
        }
    }
    let chart = Chart {
        title: "Goodput, percent of what the links carry".to_owned(),
        x: Axis::linear("loss on each path"),
        y: Axis::linear(""),
        categories: SHOWN.map(|(_, loss)| loss.to_owned()).into(),
        marks: Marks::Bars,
        curves,
    };
    fs::write("docs/kernel-goodput.svg", chart.to_svg())?;
    Ok(())
}

/// The largest figure of a cell, which may have one for each path.
fn most(row: &[&str], column: usize) -> Result<f64, Box<dyn Error>> {
    let cell = row.get(column).ok_or("a row is too short")?;
    let figures = cell.split(", ").map(str::parse::<f64>);
    let figures: Vec<f64> = figures.collect::<Result<_, _>>()?;
    Ok(figures.into_iter().fold(0.0, f64::max))
}
