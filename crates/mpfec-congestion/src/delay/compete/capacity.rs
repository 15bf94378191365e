//! What a path that others use as well carries.

/// What the path carries, our own packets and others', by how far the queue falls when some of
/// ours are taken away. Tests are sums, for the quotient of a single one may be anything while
/// the others' windows change as well.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Capacity {
    /// Packets taken away, and seconds by which the queue fell.
    removed: f64,
    fell: f64,
    tests: u32,
}

impl Capacity {
    pub(super) fn learn(&mut self, removed: f64, fell: f64) {
        self.removed = REMEMBERS * self.removed + removed;
        self.fell = REMEMBERS * self.fell + fell;
        self.tests = self.tests.saturating_add(1);
    }

    /// Packets per second, no more than a few times the `peak` that the path, or all of the
    /// connection, has carried for us; none without tests.
    pub(super) fn get(&self, peak: f64) -> Option<f64> {
        let least = self.removed / (MOST_CAPACITY * peak);
        (self.removed > 0.0).then(|| self.removed / self.fell.max(least))
    }

    /// Whether there was more than one test: others may move the queue by more than ours.
    pub(super) fn is_confirmed(&self) -> bool {
        self.tests > 1
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        self.removed *= scale;
    }
}

/// Part of a test that counts in the next one's result.
const REMEMBERS: f64 = 0.6;
/// A path is not taken for more than this many times what it has carried for us.
const MOST_CAPACITY: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_without_a_test() {
        let mut capacity = Capacity::default();
        assert_eq!(capacity.get(100.0), None);
        capacity.learn(50.0, 0.05);
        assert!(!capacity.is_confirmed());
        capacity.learn(50.0, 0.05);
        assert!(capacity.is_confirmed());
    }

    #[test]
    fn tests_that_others_disturb_cancel_out() {
        let mut capacity = Capacity::default();
        // 1000 packets per second; the others' windows move by 30 packets in turn.
        for round in 0..20 {
            let others = if round % 2 == 0 { 0.03 } else { -0.03 };
            capacity.learn(50.0, 0.05 + others);
        }
        let seen = capacity.get(600.0).unwrap();
        assert!((800.0..1200.0).contains(&seen), "{seen}");
    }

    #[test]
    fn a_queue_that_others_fill_meanwhile_counts_as_a_path_of_three_times_what_it_carried() {
        let mut capacity = Capacity::default();
        capacity.learn(50.0, -0.02);
        assert_eq!(capacity.get(200.0), Some(600.0));
    }

    #[test]
    fn packets_of_half_the_size_pass_twice_as_fast() {
        let mut capacity = Capacity::default();
        capacity.learn(50.0, 0.1);
        let before = capacity.get(400.0).unwrap();
        capacity.resize(2.0);
        assert_eq!(capacity.get(800.0), Some(2.0 * before));
    }
}
