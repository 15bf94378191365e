//! What a path that others use as well carries.

/// What the path carries, our own packets and others', by how far the queue falls when some of
/// ours are taken away. That is a regression through the origin, for others move the queue as well,
/// and by as much however few packets a test takes away: it counts by their square.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Capacity {
    /// Sum of the squares of the packets taken away.
    squares: f64,
    /// Sum of these packets times the seconds by which the queue fell.
    products: f64,
    tests: u32,
}

impl Capacity {
    pub(super) fn learn(&mut self, removed: f64, fell: f64) {
        self.squares = REMEMBERS * self.squares + removed * removed;
        self.products = REMEMBERS * self.products + removed * fell;
        self.tests = self.tests.saturating_add(1);
    }

    /// Packets per second, no more than a few times the `known` ones that the path, or all of the
    /// connection, has carried for us; none without tests. `assumed` is what the path is taken to
    /// carry as far as tests do not tell, with a weight that grows with its `rtt` in seconds.
    pub(super) fn get(&self, known: f64, assumed: f64, rtt: f64) -> Option<f64> {
        let noise = (NOISE * known * rtt).powi(2);
        let squares = self.squares + noise;
        let products = self.products + noise / assumed.max(1.0);
        let least = squares / (MOST_CAPACITY * known);
        (self.squares > 0.0).then(|| squares / products.max(least))
    }

    /// Whether there was more than one test: others may move the queue by more than ours.
    pub(super) fn is_confirmed(&self) -> bool {
        self.tests > 1
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        self.squares *= scale * scale;
        self.products *= scale;
    }
}

/// Part of a test that counts in the next one's result.
const REMEMBERS: f64 = 0.6;
/// A path is not taken for more than this many times what it has carried for us.
const MOST_CAPACITY: f64 = 3.0;
/// Part of the packets that the path holds by which others move the queue during a test.
const NOISE: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_without_a_test() {
        let mut capacity = Capacity::default();
        assert_eq!(capacity.get(100.0, 100.0, 0.1), None);
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
        let seen = capacity.get(600.0, 600.0, 0.1).unwrap();
        assert!((800.0..1200.0).contains(&seen), "{seen}");
    }

    #[test]
    fn a_queue_that_others_fill_meanwhile_counts_as_a_path_of_three_times_what_it_carried() {
        let mut capacity = Capacity::default();
        capacity.learn(50.0, -0.02);
        let seen = capacity.get(200.0, 200.0, 0.1).unwrap();
        assert!((599.0..601.0).contains(&seen), "{seen}");
    }

    #[test]
    fn packets_of_half_the_size_pass_twice_as_fast() {
        let mut capacity = Capacity::default();
        capacity.learn(50.0, 0.1);
        let before = capacity.get(400.0, 400.0, 0.1).unwrap();
        capacity.resize(2.0);
        assert_eq!(capacity.get(800.0, 800.0, 0.1), Some(2.0 * before));
    }

    #[test]
    fn tests_that_take_few_packets_away_hardly_count_on_a_path_that_holds_many() {
        // 200 packets; by ten of them the queue rises, as others grow, in three tests of two each.
        let mut capacity = Capacity::default();
        for _ in 0..3 {
            capacity.learn(2.0, -0.01);
        }
        let seen = capacity.get(1000.0, 1000.0, 0.2).unwrap();
        assert!((1000.0..1200.0).contains(&seen), "{seen}");
        // The same of fifty packets each is believed.
        for _ in 0..3 {
            capacity.learn(50.0, -0.01);
        }
        let seen = capacity.get(1000.0, 1000.0, 0.2).unwrap();
        assert!(seen > 2500.0, "{seen}");
    }
}
