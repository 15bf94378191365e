//! What a report draws.

/// A chart of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub plotted: Plotted,
    /// How it shows it.
    pub kind: ChartKind,
    /// Whether the x axis is logarithmic.
    pub log_x: bool,
    /// Under the x axis; may be empty.
    pub x_label: String,
    /// Beside the y axis; may be empty.
    pub y_label: String,
    /// Which variants, by name; all of them if empty.
    pub variants: Vec<String>,
}

/// What a chart shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plotted {
    /// A metric over the cases.
    Metric(String),
    /// A time series in one case.
    Series {
        /// Its name.
        name: String,
        /// Position of the case.
        case: usize,
    },
}

/// How a chart shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChartKind {
    /// A curve for each variant.
    #[default]
    Line,
    /// A group of bars for each case.
    Bar,
}
