//! Which curve is which.

use std::fmt::Write as _;

use super::svg::{escaped, width_of};
use super::{COLOURS, Chart, Marks};

/// Names of all curves in rows, from the top left corner; nothing for a curve without a name.
/// Returns how high the rows are together.
pub(super) fn draw(out: &mut String, chart: &Chart, left: f64, right: f64, top: f64) -> f64 {
    let (mut x, mut y) = (left, top + ROW / 2.0);
    let mut has_names = false;
    for (index, curve) in chart.curves.iter().enumerate() {
        if curve.name.is_empty() {
            continue;
        }
        let width = SAMPLE + 6.0 + width_of(&curve.name) + GAP;
        if x > left && x + width - GAP > right {
            x = left;
            y += ROW;
        }
        let _ = write!(out, "<g class=\"{}\">", class(curve.style));
        match chart.marks {
            Marks::Bars => {
                let class = if is_dashed(curve.style) {
                    "bar striped"
                } else {
                    "bar"
                };
                let _ = write!(
                    out,
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"10\"/>",
                    x + SAMPLE - 16.0,
                    y - 5.0
                );
            }
            Marks::Points | Marks::Band => {
                let class = if is_dashed(curve.style) {
                    "line dashed"
                } else {
                    "line"
                };
                let _ = write!(
                    out,
                    "<path class=\"{class}\" d=\"M{x:.1} {y:.1}h{SAMPLE}\"/>"
                );
                if chart.marks == Marks::Points {
                    out.push_str(&mark(index, x + SAMPLE / 2.0, y));
                }
            }
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            x + SAMPLE + 6.0,
            y + 4.0,
            escaped(&curve.name)
        );
        has_names = true;
        x += width;
    }
    if has_names { y + ROW / 2.0 - top } else { 0.0 }
}

/// The class with a style's colour.
pub(super) fn class(style: usize) -> String {
    format!("s{}", style % COLOURS)
}

/// Whether a style differs from another one in dashes only.
pub(super) fn is_dashed(style: usize) -> bool {
    (style / COLOURS) % 2 == 1
}

/// The mark of a curve by its position: shapes tell apart what colours do not.
pub(super) fn mark(index: usize, x: f64, y: f64) -> String {
    match index % 4 {
        0 => format!("<circle class=\"mark\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
        1 => format!(
            "<rect class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" width=\"7.4\" height=\"7.4\"/>",
            x - 3.7,
            y - 3.7
        ),
        2 => format!(
            "<path class=\"mark\" d=\"M{x:.1} {:.1}l4.9 8.4h-9.8z\"/>",
            y - 5.2
        ),
        _ => format!(
            "<path class=\"mark\" d=\"M{x:.1} {:.1}l5 5 -5 5 -5 -5z\"/>",
            y - 5.0
        ),
    }
}

/// Height of a row.
const ROW: f64 = 19.0;
/// Length of a sample of a line.
const SAMPLE: f64 = 24.0;
/// Between a name and the next sample.
const GAP: f64 = 16.0;
