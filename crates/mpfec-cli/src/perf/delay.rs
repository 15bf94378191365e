//! Delays of any number of blocks in little memory.

use crate::output::BlockDelay;

/// Counts delays in classes of about one percent.
#[derive(Debug)]
pub(super) struct Delays {
    /// By class.
    counts: Vec<u64>,
    count: u64,
    sum_ms: f64,
    max_ms: f64,
    last_ms: Option<f64>,
    /// Of the differences from one to the next.
    sum_differences_ms: f64,
}

impl Delays {
    pub(super) fn new() -> Self {
        Self {
            counts: vec![0; CLASSES],
            count: 0,
            sum_ms: 0.0,
            max_ms: 0.0,
            last_ms: None,
            sum_differences_ms: 0.0,
        }
    }

    /// Adds a delay; one below zero, which only clocks that disagree yield, counts as zero.
    pub(super) fn add(&mut self, ms: f64) {
        let ms = ms.max(0.0);
        if let Some(count) = self.counts.get_mut(class(ms)) {
            *count += 1;
        }
        self.count += 1;
        self.sum_ms += ms;
        self.max_ms = self.max_ms.max(ms);
        if let Some(last) = self.last_ms.replace(ms) {
            self.sum_differences_ms += (ms - last).abs();
        }
    }

    /// `None` if there was none.
    pub(super) fn summary(&self) -> Option<BlockDelay> {
        let rounded = crate::units::rounded;
        (self.count > 0).then(|| BlockDelay {
            mean: rounded(self.sum_ms / self.count as f64),
            p50: rounded(self.quantile(0.5)),
            p99: rounded(self.quantile(0.99)),
            max: rounded(self.max_ms),
            jitter: rounded(self.sum_differences_ms / (self.count - 1).max(1) as f64),
        })
    }

    fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (class, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(class).min(self.max_ms);
            }
        }
        self.max_ms
    }
}

fn class(ms: f64) -> usize {
    let steps = (ms / SMALLEST_MS).max(1.0).ln() / STEP.ln();
    (steps as usize).min(CLASSES - 1)
}

fn middle(class: usize) -> f64 {
    SMALLEST_MS * STEP.powf(class as f64 + 0.5)
}

/// One microsecond.
const SMALLEST_MS: f64 = 1e-3;
/// From one class to the next.
const STEP: f64 = 1.01;
/// Up to 2.8 hours.
const CLASSES: usize = 2320;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_one_percent() {
        let mut delays = Delays::new();
        for ms in 1..=1000 {
            delays.add(f64::from(ms));
        }
        let summary = delays.summary().unwrap();
        assert_eq!((summary.mean, summary.max), (500.5, 1000.0));
        assert!((summary.p50 / 500.0 - 1.0).abs() < 0.011, "{}", summary.p50);
        assert!((summary.p99 / 990.0 - 1.0).abs() < 0.011, "{}", summary.p99);
        assert_eq!(summary.jitter, 1.0);
    }

    #[test]
    fn no_block_no_delay_and_one_block_no_jitter() {
        let mut delays = Delays::new();
        assert_eq!(delays.summary(), None);
        delays.add(-3.0);
        let only = delays.summary().unwrap();
        assert_eq!(
            (only.mean, only.p99, only.max, only.jitter),
            (0.0, 0.0, 0.0, 0.0)
        );
    }
}
