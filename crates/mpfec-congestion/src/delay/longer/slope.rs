//! By how much the delay follows the window.

/// A line through the windows and delays of rounds, older ones fading.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slope {
    rounds: f64,
    window: f64,
    delay: f64,
    window_squared: f64,
    delay_squared: f64,
    product: f64,
    /// The delay of the round before, and the mean of what it changes by, squared.
    last: Option<f64>,
    changes_squared: f64,
}

impl Slope {
    /// A round whose packets left with `window` of them in flight met `delay`, in packets as well.
    pub(super) fn add(&mut self, window: f64, delay: f64) {
        self.rounds = FADING * self.rounds + 1.0;
        let weight = 1.0 / self.rounds;
        // Moments around the means, which large windows do not drown.
        let (by_window, by_delay) = (window - self.window, delay - self.delay);
        self.window += weight * by_window;
        self.delay += weight * by_delay;
        let kept = 1.0 - weight;
        self.window_squared = kept * (self.window_squared + weight * by_window * by_window);
        self.delay_squared = kept * (self.delay_squared + weight * by_delay * by_delay);
        self.product = kept * (self.product + weight * by_window * by_delay);
        let change = delay - self.last.replace(delay).unwrap_or(delay);
        self.changes_squared += weight * (change * change - self.changes_squared);
    }

    /// Standard deviation of the windows, packets.
    pub(super) fn spread(&self) -> f64 {
        self.window_squared.sqrt()
    }

    /// Packets of delay per packet of window, 1 for a queue, its standard error, and the variance of the
    /// delays around the line.
    fn line(&self) -> Option<(f64, f64, f64)> {
        if self.rounds < ENOUGH || self.window_squared <= 0.0 {
            return None;
        }
        let slope = self.product / self.window_squared;
        let left = (self.delay_squared - slope * self.product).max(0.0);
        let error = (left / self.window_squared / (self.rounds - 2.0)).sqrt();
        Some((slope, error, left))
    }

    /// Standard deviation of the delays around the line, packets.
    pub(super) fn off(&self) -> f64 {
        self.line().map_or(0.0, |(_, _, left)| left.sqrt())
    }

    /// Packets of delay that nearly all rounds had at least, if it does not follow the window and what it is
    /// off the line by has nothing to do with the round before: then the square of that is half of that of the
    /// change, on average. A queue that others fill and cut goes up and down in many rounds.
    pub(super) fn level(&self) -> Option<f64> {
        let (slope, error, left) = self.line()?;
        let is_noise = self.changes_squared >= INDEPENDENT * left;
        let is_level = is_noise && slope.abs() < FOLLOWS && error < UNSURE;
        is_level.then(|| self.delay - 2.0 * left.sqrt())
    }
}

/// Rounds that tell anything.
const ENOUGH: f64 = 12.0;
/// Part of the window's moves that a delay follows less of if it is no queue, and how sure that has to be.
const FOLLOWS: f64 = 0.25;
const UNSURE: f64 = 0.1;
/// Between 2 of noise and next to nothing of what goes up and down slowly.
const INDEPENDENT: f64 = 1.2;
/// What remains of a round's weight a round later.
const FADING: f64 = 0.96;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::tests::Random;

    /// A line through 24 rounds in which the window falls by four packets a round, and the delay by
    /// `follows` of that, but for noise of up to so many packets.
    fn after(follows: f64, noise: f64) -> Slope {
        let mut random = Random(3);
        let mut slope = Slope::default();
        for round in 0..24 {
            let fallen = 4.0 * f64::from(round);
            let delay = 60.0 - follows * fallen + noise * random.next();
            slope.add(300.0 - fallen, delay);
        }
        slope
    }

    #[test]
    fn a_delay_that_follows_the_window_has_its_slope_and_no_error() {
        for follows in [0.0, 0.4, 1.0] {
            let (slope, error, _) = after(follows, 0.0).line().unwrap();
            assert!((slope - follows).abs() < 1e-6 && error < 1e-3, "{slope}");
        }
    }

    #[test]
    fn a_delay_that_follows_the_window_has_no_level() {
        assert!(after(0.0, 0.0).level().is_some());
        for follows in [0.4, 1.0] {
            assert_eq!(after(follows, 5.0).level(), None);
        }
    }

    #[test]
    fn noise_makes_an_error_that_the_slope_is_within() {
        for follows in [0.0, 1.0] {
            let (slope, error, _) = after(follows, 20.0).line().unwrap();
            assert!((slope - follows).abs() < 2.5 * error, "{slope} {error}");
            assert!((0.02..0.1).contains(&error), "{error}");
        }
    }

    #[test]
    fn what_others_fill_and_cut_is_no_noise() {
        let mut random = Random(3);
        let (mut noise, mut others) = (Slope::default(), Slope::default());
        for round in 0..60 {
            let window = 300.0 - f64::from(round);
            noise.add(window, 40.0 + 12.0 * random.next());
            others.add(window, 40.0 + 12.0 * f64::from(round % 20) / 20.0);
        }
        assert!(noise.level().is_some(), "{noise:?}");
        assert_eq!(others.level(), None, "{others:?}");
    }

    #[test]
    fn the_least_is_what_noise_leaves_of_the_delays() {
        let (mut random, mut slope) = (Random(3), Slope::default());
        for round in 0..60 {
            slope.add(300.0 - f64::from(round), 40.0 + 12.0 * random.next());
        }
        let level = slope.level().unwrap();
        assert!((37.0..42.0).contains(&level), "{level}");
    }

    #[test]
    fn windows_that_are_all_the_same_have_none() {
        let mut slope = Slope::default();
        for round in 0..30 {
            slope.add(40.0, f64::from(round));
        }
        assert_eq!(slope.line(), None);
        assert_eq!(slope.level(), None);
    }
}
