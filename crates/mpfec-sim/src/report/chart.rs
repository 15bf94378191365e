//! Charts as SVG, by themselves or within a page.

mod axis;
mod draw;
mod legend;
mod svg;

pub(in crate::report) use self::svg::escaped;

/// Curves or bars over two axes.
///
/// ```
/// use mpfec_sim::report::chart::{Axis, Chart, Curve, Marks, Point};
///
/// let curve = Curve::new("fmtcp", [Point::new(1.0, 9.1), Point::new(5.0, 8.2)]);
/// let chart = Chart {
///     title: "Goodput".to_owned(),
///     x: Axis::linear("loss, percent"),
///     y: Axis::linear("Mbit/s"),
///     categories: Vec::new(),
///     marks: Marks::Points,
///     curves: vec![curve],
/// };
/// assert!(chart.to_svg().starts_with("<svg xmlns="));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// For those who cannot see it, and the heading of a chart by itself.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What the positions 0, 1, 2, … of the x axis are called; it is an axis of numbers if
    /// empty.
    pub categories: Vec<String>,
    /// How points are drawn.
    pub marks: Marks,
    /// What is drawn.
    pub curves: Vec<Curve>,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Each with a mark and an error bar, joined by lines.
    Points,
    /// A line in a band: many points, such as those of a time series.
    Band,
    /// A group of bars for each category.
    Bars,
}

/// What an axis measures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axis {
    /// Beside it; may be empty.
    pub label: String,
    /// Whether equal distances are equal ratios. Values that are not positive are then left
    /// out.
    pub is_log: bool,
}

/// The points of a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// Position in the palette of [`COLOURS`] colours; the next round of it is dashed.
    pub style: usize,
    /// From left to right. Those that are not finite are left out.
    pub points: Vec<Point>,
}

/// A value and how sure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Where, or which category.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Half of its error bar.
    pub half_width: f64,
    /// What is told about it where it is pointed at; its coordinates if empty.
    pub words: String,
}

impl Chart {
    /// An SVG file with its colours in it, for light and dark surroundings.
    #[must_use]
    pub fn to_svg(&self) -> String {
        draw::draw(self, draw::Surroundings::File)
    }

    /// An `svg` element for a page that has [`STYLE`] in its style sheet.
    #[must_use]
    pub fn to_element(&self) -> String {
        draw::draw(self, draw::Surroundings::Page)
    }
}

impl Axis {
    /// Equal distances are equal differences.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            is_log: false,
        }
    }

    /// Equal distances are equal ratios.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            is_log: true,
        }
    }
}

impl Curve {
    /// In the first colour.
    #[must_use]
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self {
            name: name.into(),
            style: 0,
            points: points.into_iter().collect(),
        }
    }

    /// The same in another colour.
    #[must_use]
    pub fn with_style(self, style: usize) -> Self {
        Self { style, ..self }
    }
}

impl Point {
    /// A value without an error bar.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            half_width: 0.0,
            words: String::new(),
        }
    }

    fn low(&self) -> f64 {
        self.y - self.half_width
    }

    fn high(&self) -> f64 {
        self.y + self.half_width
    }
}

/// How many colours there are before curves are told apart by dashes.
pub const COLOURS: usize = 8;

/// Style sheet of all charts: Okabe and Ito's colours, which people with any colour vision
/// tell apart, with those that are too faint on white or black made darker or lighter.
pub const STYLE: &str = include_str!("chart/style.css");

#[cfg(test)]
mod tests;
