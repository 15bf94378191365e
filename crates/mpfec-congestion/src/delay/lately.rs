//! What the last few rounds have shown.

/// The last values, none of them below 0, and what they say: acknowledgements ask more often than
/// rounds add.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lately {
    values: [f64; 9],
    median: f64,
    large: f64,
}

impl Lately {
    pub(super) fn add(&mut self, value: f64) {
        self.values.rotate_right(1);
        self.values[0] = value.max(0.0);
        let [a, b, c, ..] = self.values;
        self.median = a.min(b).max(a.max(b).min(c));
        let mut sorted = self.values;
        sorted.sort_by(|a, b| b.total_cmp(a));
        self.large = sorted[2];
    }

    /// Of the last three.
    pub(super) fn median(&self) -> f64 {
        self.median
    }

    /// What three of all were at least: one or two may have been chance.
    pub(super) fn large(&self) -> f64 {
        self.large
    }
}
