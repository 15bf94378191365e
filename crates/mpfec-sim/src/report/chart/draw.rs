//! From a chart to SVG.

use std::fmt::Write as _;

use super::axis::Scale;
use super::legend::{self, class, is_dashed, mark};
use super::svg::{escaped, width_of};
use super::{Chart, Curve, Marks, Point, STYLE};

/// Where a chart is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings {
    /// By itself.
    File,
    /// Within a page that has a heading and the style sheet.
    Page,
}

pub(super) fn draw(chart: &Chart, surroundings: Surroundings) -> String {
    let is_file = surroundings == Surroundings::File;
    let top = if is_file && !chart.title.is_empty() {
        MARGIN + 22.0
    } else {
        MARGIN
    };
    let mut legend = String::new();
    let legend_height = legend::draw(&mut legend, chart, MARGIN, WIDTH - MARGIN, top);
    let frame = Frame::new(chart, top + legend_height);
    let height = frame.total_height(chart);

    let mut out = String::new();
    let xmlns = if is_file {
        "xmlns=\"http://www.w3.org/2000/svg\" "
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "<svg {xmlns}class=\"chart\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">",
        escaped(&chart.title)
    );
    if is_file {
        let _ = writeln!(
            out,
            "<style>{STYLE}.chart .ground {{ fill: var(--ground); }}</style>\n\
             <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n\
             <text class=\"title\" x=\"{MARGIN}\" y=\"{:.0}\">{}</text>",
            MARGIN + 12.0,
            escaped(&chart.title)
        );
    }
    out.push_str(&legend);
    frame.draw(&mut out, chart);
    let is_alone = has_bars_of_their_own(chart);
    for (index, curve) in chart.curves.iter().enumerate() {
        let _ = writeln!(out, "<g class=\"{}\">", class(curve.style));
        match chart.marks {
            Marks::Points => frame.points(&mut out, curve, index),
            Marks::Band => frame.band(&mut out, curve),
            Marks::Bars if is_alone => frame.bars(&mut out, curve, 0, 1),
            Marks::Bars => frame.bars(&mut out, curve, index, chart.curves.len()),
        }
        out.push_str("</g>\n");
    }
    if chart.curves.iter().all(|curve| curve.points.is_empty()) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">nothing was measured</text>",
            (frame.left + frame.right) / 2.0,
            frame.top + HEIGHT / 2.0
        );
    }
    out.push_str("</svg>\n");
    out
}

/// The rectangle that the curves are in.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    x: Scale,
    y: Scale,
    x_labels: Vec<String>,
    /// Labels of the x axis are slanted: side by side they would overlap.
    is_slanted: bool,
}

impl Frame {
    fn new(chart: &Chart, above: f64) -> Self {
        let points = || chart.curves.iter().flat_map(|curve| &curve.points);
        let ends = points().flat_map(|point| [point.low(), point.high()]);
        // An error bar that reaches below zero does not move the axis there.
        let is_positive = points().all(|point| point.y >= 0.0);
        let ends = ends.map(|end| if is_positive { end.max(0.0) } else { end });
        let y = if chart.y.is_log {
            Scale::over(points().map(|point| point.y), true, true)
        } else {
            Scale::over(ends, false, true)
        };
        let x = if chart.categories.is_empty() {
            Scale::over(points().map(|point| point.x), chart.x.is_log, false)
        } else {
            Scale::categories(chart.categories.len())
        };
        let y_labels = y.labels();
        let widest = y_labels.iter().map(|label| width_of(label));
        let beside = if chart.y.label.is_empty() { 0.0 } else { 18.0 };
        let left = MARGIN + beside + widest.fold(0.0, f64::max) + 8.0;
        let right = WIDTH - MARGIN - 8.0;
        let x_labels = if chart.categories.is_empty() {
            x.labels()
        } else {
            chart.categories.clone()
        };
        let room = (right - left) / x_labels.len().max(1) as f64;
        let is_slanted = !chart.categories.is_empty()
            && x_labels.iter().any(|label| width_of(label) + 6.0 > room);
        let shortened = |label: String| match label.chars().count() {
            count if count > LONGEST_LABEL => {
                let start: String = label.chars().take(LONGEST_LABEL - 1).collect();
                format!("{}…", start.trim_end())
            }
            _ => label,
        };
        Self {
            left,
            right,
            top: above + 10.0,
            x,
            y,
            x_labels: x_labels.into_iter().map(shortened).collect(),
            is_slanted,
        }
    }

    fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    fn total_height(&self, chart: &Chart) -> f64 {
        let label = if chart.x.label.is_empty() { 0.0 } else { 20.0 };
        self.bottom() + self.labels_height() + label + MARGIN
    }

    fn labels_height(&self) -> f64 {
        let widest = self.x_labels.iter().map(|label| width_of(label));
        if self.is_slanted {
            14.0 + SLANT.to_radians().sin() * widest.fold(0.0, f64::max)
        } else {
            20.0
        }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.x.at(value) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom() - self.y.at(value) * HEIGHT
    }

    /// Axes, grid and labels.
    fn draw(&self, out: &mut String, chart: &Chart) {
        let (left, right, bottom) = (self.left, self.right, self.bottom());
        for (tick, label) in self.y.ticks.iter().zip(self.y.labels()) {
            let y = self.y(*tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        let mut free_from = f64::NEG_INFINITY;
        for (tick, label) in self.x.ticks.iter().zip(&self.x_labels) {
            let x = self.x(*tick);
            let half = width_of(label) / 2.0;
            if chart.categories.is_empty() {
                let _ = write!(out, "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v4\"/>");
                // A label that would touch the one before it is left out; its tick stays.
                if x - half < free_from {
                    continue;
                }
                free_from = x + half + 4.0;
            }
            let label = escaped(label);
            let _ = if self.is_slanted {
                let y = bottom + 14.0;
                writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" \
                     transform=\"rotate(-{SLANT} {x:.1} {y:.1})\">{label}</text>"
                )
            } else {
                writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                    bottom + 17.0
                )
            };
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{left:.1} {:.1}V{bottom:.1}H{right:.1}\"/>",
            self.top
        );
        let middle = (left + right) / 2.0;
        if !chart.x.label.is_empty() {
            let _ = writeln!(
                out,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + self.labels_height() + 15.0,
                escaped(&chart.x.label)
            );
        }
        if !chart.y.label.is_empty() {
            let (x, y) = (MARGIN + 10.0, self.top + HEIGHT / 2.0);
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" \
                 transform=\"rotate(-90 {x:.1} {y:.1})\">{}</text>",
                escaped(&chart.y.label)
            );
        }
    }

    fn line(&self, out: &mut String, curve: &Curve) {
        let points: Vec<String> = self
            .visible(curve)
            .map(|point| format!("{:.1},{:.1}", self.x(point.x), self.y(point.y)))
            .collect();
        let dashed = if is_dashed(curve.style) {
            " dashed"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "<polyline class=\"line{dashed}\" points=\"{}\"><title>{}</title></polyline>",
            points.join(" "),
            escaped(&curve.name)
        );
    }

    fn points(&self, out: &mut String, curve: &Curve, index: usize) {
        self.line(out, curve);
        for point in self.visible(curve) {
            let (x, y) = (self.x(point.x), self.y(point.y));
            out.push_str("<g>");
            out.push_str(&self.error_bar(point, x, "error"));
            let _ = writeln!(
                out,
                "{}<title>{}</title></g>",
                mark(index, x, y),
                words(curve, point)
            );
        }
    }

    fn band(&self, out: &mut String, curve: &Curve) {
        let points: Vec<&Point> = self.visible(curve).collect();
        if points.iter().any(|point| point.half_width > 0.0) {
            let above = points.iter().map(|point| (point.x, point.high()));
            let below = points.iter().rev().map(|point| (point.x, point.low()));
            let outline: Vec<String> = above
                .chain(below)
                .map(|(x, y)| format!("{:.1},{:.1}", self.x(x), self.y(y)))
                .collect();
            let _ = writeln!(
                out,
                "<polygon class=\"band\" points=\"{}\"/>",
                outline.join(" ")
            );
        }
        self.line(out, curve);
        let every = points.len().div_ceil(MOST_SPOTS).max(1);
        for point in points.iter().step_by(every) {
            let _ = writeln!(
                out,
                "<circle class=\"spot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"6\"><title>{}</title></circle>",
                self.x(point.x),
                self.y(point.y),
                words(curve, point)
            );
        }
    }

    fn bars(&self, out: &mut String, curve: &Curve, index: usize, count: usize) {
        let room = (self.right - self.left) / self.x.ticks.len().max(1) as f64 * 0.8;
        let width = (room / count as f64).min(WIDEST_BAR);
        let floor = self.y(0.0);
        let shift = (index as f64 - count as f64 / 2.0) * width;
        let striped = if is_dashed(curve.style) {
            " striped"
        } else {
            ""
        };
        for point in self.visible(curve) {
            let x = self.x(point.x) + shift;
            let y = self.y(point.y);
            let _ = writeln!(
                out,
                "<g><rect class=\"bar{striped}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>{}<title>{}</title></g>",
                x + 0.05 * width,
                y.min(floor),
                0.9 * width,
                (y - floor).abs(),
                self.error_bar(point, x + width / 2.0, "over"),
                words(curve, point)
            );
        }
    }

    fn error_bar(&self, point: &Point, x: f64, class: &str) -> String {
        let (low, high) = (self.y(point.low()), self.y(point.high()));
        if point.half_width <= 0.0 || low - high < 1.0 {
            return String::new();
        }
        format!(
            "<path class=\"{class}\" d=\"M{:.1} {high:.1}h6m-3 0V{low:.1}m-3 0h6\"/>",
            x - 3.0
        )
    }

    /// Points that have a place on both axes.
    fn visible<'a>(&self, curve: &'a Curve) -> impl Iterator<Item = &'a Point> + use<'a> {
        let (log_x, log_y) = (self.x.is_log(), self.y.is_log());
        curve.points.iter().filter(move |point| {
            let numbers = [point.x, point.y, point.half_width];
            numbers.iter().all(|number| number.is_finite())
                && (!log_x || point.x > 0.0)
                && (!log_y || point.y > 0.0)
        })
    }
}

/// Whether no two curves have a bar in the same category: then each bar is in the middle.
fn has_bars_of_their_own(chart: &Chart) -> bool {
    let points = chart.curves.iter().flat_map(|curve| &curve.points);
    let mut places: Vec<u64> = points.map(|point| point.x.to_bits()).collect();
    let count = places.len();
    places.sort_unstable();
    places.dedup();
    places.len() == count
}

fn words(curve: &Curve, point: &Point) -> String {
    if point.words.is_empty() {
        return format!("{}: {}, {}", escaped(&curve.name), point.x, point.y);
    }
    escaped(&point.words).into_owned()
}

/// In pixels, if the chart is shown in its own size: little more than a phone has, so that its
/// text can be read there.
const WIDTH: f64 = 460.0;
/// Of the rectangle that the curves are in.
const HEIGHT: f64 = 210.0;
const MARGIN: f64 = 8.0;
const WIDEST_BAR: f64 = 44.0;
/// Of labels that have no room side by side, in degrees.
const SLANT: f64 = 35.0;
/// Letters of a category's name.
const LONGEST_LABEL: usize = 28;
/// Points of a line that tell their values.
const MOST_SPOTS: usize = 60;
