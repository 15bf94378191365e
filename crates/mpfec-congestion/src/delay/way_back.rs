//! How long acknowledgements are held up on their way back: what somebody uploads may queue there.

use std::time::{Duration, Instant};

/// One way on which acknowledgements come back.
///
/// The round trip does not tell on which of its two ways a queue stands. The peer's clock does, though
/// nobody knows how far it is from ours: what comes back later than at the least was held up. That
/// counts only where a queue stands, which holds up all for nearly as long: delays that vary from
/// acknowledgement to acknowledgement remain part of the round trip (see `noise`).
#[derive(Debug, Clone, Default)]
pub(super) struct WayBack {
    /// The last acknowledgement, and how long it took.
    last: Option<(Instant, f64)>,
    /// The least that it has taken, seconds.
    least: f64,
    seen: Seen,
    /// The most that it has taken beyond that of late while nothing stood; `None` before the first
    /// stretch.
    calm: Option<f64>,
    /// Acknowledgements in a row that took clearly more, and when the first came.
    clearly: Option<(u32, Instant)>,
    is_held_up: bool,
    /// Stretches in a row in which nothing stood.
    clear: u32,
}

/// By how many seconds the acknowledgements of a stretch were above the least.
#[derive(Debug, Clone, Copy)]
struct Seen {
    since: Option<Instant>,
    count: u32,
    least: f64,
    most: f64,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            since: None,
            count: 0,
            least: f64::INFINITY,
            most: 0.0,
        }
    }
}

/// What a sample of the round trip shows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct HeldUp {
    /// Seconds beyond the least; `None` where nothing stands.
    pub(super) by: Option<f64>,
    /// The same while nothing has been seen to stand.
    pub(super) varies: f64,
    /// Nothing stood with the sample before.
    pub(super) begins: bool,
    /// By how many seconds that least is longer than with the sample before, where something stands or
    /// has turned out to be part of the way.
    pub(super) longer: f64,
}

impl WayBack {
    /// An acknowledgement came back in `at` seconds, of a packet that took `rtt` with it, on a path that
    /// takes `floor` when empty and `smoothed` of late.
    pub(super) fn on_sample(
        &mut self,
        now: Instant,
        at: f64,
        rtt: Duration,
        (floor, smoothed): (Duration, Duration),
    ) -> HeldUp {
        let Some((before, _)) = self.last.replace((now, at)) else {
            self.least = at;
            return HeldUp::default();
        };
        let passed = now.saturating_duration_since(before).as_secs_f64();
        let least = (self.least + DRIFT * passed).min(at);
        let longer = least - std::mem::replace(&mut self.least, least);
        let by = at - least;
        // A queue empties no faster than time passes, and makes the round trip as much longer.
        let rise = rtt.as_secs_f64() - floor.as_secs_f64();
        if -longer > passed + JUMP || by > rise + JUMP {
            *self = Self {
                last: self.last,
                least: at,
                ..Self::default()
            };
            return HeldUp::default();
        }
        let was_held_up = self.is_held_up;
        let left = self.judge(now, by, floor.as_secs_f64(), smoothed);
        self.least += left;
        HeldUp {
            by: self.is_held_up.then_some(by),
            varies: if self.is_held_up { 0.0 } else { by - left },
            begins: self.is_held_up && !was_held_up,
            longer: if self.is_held_up { longer } else { left },
        }
    }

    /// Returns what is left of a way that has become longer: all of a stretch that ends what stood were
    /// held up by as many seconds, which no queue is.
    fn judge(&mut self, now: Instant, by: f64, floor: f64, smoothed: Duration) -> f64 {
        let enough = LEAST.max(PART * floor);
        self.clearly = self
            .calm
            .filter(|calm| by > enough + CLEARLY * calm)
            .map(|_| {
                let (count, since) = self.clearly.unwrap_or((0, now));
                (count.saturating_add(1), since)
            });
        // What a host that stood still lets go at once is nothing that stands.
        if self.clearly.is_some_and(|(count, since)| {
            count >= ENOUGH / 2 && 4 * now.saturating_duration_since(since) >= smoothed
        }) {
            self.is_held_up = true;
            self.clear = 0;
        }
        let seen = &mut self.seen;
        let since = *seen.since.get_or_insert(now);
        seen.count += 1;
        seen.least = seen.least.min(by);
        seen.most = seen.most.max(by);
        if seen.count < ENOUGH || now.saturating_duration_since(since) < smoothed {
            return 0.0;
        }
        let Seen { least, most, .. } = std::mem::take(seen);
        if least > enough && least > STEADY * most {
            self.is_held_up = true;
            self.clear = 0;
        } else if least < 0.5 * enough {
            self.clear = self.clear.saturating_add(1);
            let ends = self.is_held_up && self.clear >= CLEAR;
            self.is_held_up &= !ends;
            if !self.is_held_up {
                self.calm = Some(most.max(FADES * self.calm.unwrap_or(0.0)));
            }
            if ends {
                return least.min(by);
            }
        } else {
            self.clear = 0;
        }
        0.0
    }
}

/// Seconds by which clocks may drift apart in a second.
const DRIFT: f64 = 2e-4;
/// Seconds by which what is measured may be off: beyond that a host has slept, and its clock with it.
const JUMP: f64 = 0.05;
/// Acknowledgements that a stretch takes, and a round trip besides.
const ENOUGH: u32 = 16;
/// Seconds, and part of the path's own round trip, by which all of them are held up.
const LEAST: f64 = 0.004;
const PART: f64 = 1.0 / 16.0;
/// Times what varies while nothing stands that is clearly more.
const CLEARLY: f64 = 1.5;
/// What remains of it after a stretch of less.
const FADES: f64 = 0.98;
/// Part of what one of them was held up that all others were at least: a queue stands, noise does
/// not.
const STEADY: f64 = 0.5;
/// Stretches in which nothing stood that end it: an upload empties its queue now and then.
const CLEAR: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::tests::{Random, epoch};

    const FLOOR_MS: u64 = 40;

    /// Acknowledgements of a path of 40 ms, one every so many milliseconds.
    struct Acks {
        way_back: WayBack,
        now: Instant,
        every_ms: f64,
        /// Seconds by which the peer's clock has fallen behind.
        behind: f64,
        drift: f64,
    }

    impl Acks {
        fn every(every_ms: f64) -> Self {
            Self {
                way_back: WayBack::default(),
                now: epoch(),
                every_ms,
                behind: 0.0,
                drift: 0.0,
            }
        }

        /// One more, `there_ms` and `back_ms` longer on its ways than at the least.
        fn next(&mut self, there_ms: f64, back_ms: f64) -> HeldUp {
            let passed = 1e-3 * self.every_ms;
            self.now += Duration::from_secs_f64(passed);
            self.behind += self.drift * passed;
            let floor = Duration::from_millis(FLOOR_MS);
            let rtt = floor + Duration::from_secs_f64(1e-3 * (there_ms + back_ms));
            let took = 1e-3 * back_ms + self.behind;
            let known = (floor, rtt);
            self.way_back.on_sample(self.now, took, rtt, known)
        }

        /// For so long: by how many milliseconds the last was held up.
        fn run(&mut self, ms: u32, mut ways: impl FnMut(f64) -> (f64, f64)) -> Option<f64> {
            let mut last = HeldUp::default();
            let count = (f64::from(ms) / self.every_ms) as u32;
            for index in 0..count {
                let (there, back) = ways(f64::from(index) * self.every_ms);
                last = self.next(there, back);
            }
            last.by.map(|by| (1e5 * by).round() / 100.0)
        }
    }

    #[test]
    fn a_queue_that_stands_on_the_way_back_is_seen_within_a_round_trip() {
        let mut acks = Acks::every(2.0);
        assert_eq!(acks.run(500, |_| (3.0, 0.0)), None);
        let held_up = acks.run(60, |_| (3.0, 50.0));
        assert!(
            held_up.is_some_and(|by| (49.5..=50.0).contains(&by)),
            "{held_up:?}"
        );
    }

    #[test]
    fn a_queue_on_the_way_there_is_none_of_it() {
        let mut acks = Acks::every(2.0);
        acks.run(500, |_| (0.0, 0.0));
        assert_eq!(acks.run(2000, |at| (0.05 * at, 0.0)), None);
    }

    #[test]
    fn a_queue_that_is_gone_is_forgotten() {
        let mut acks = Acks::every(2.0);
        acks.run(500, |_| (3.0, 0.0));
        assert!(acks.run(500, |_| (3.0, 50.0)).is_some());
        assert_eq!(acks.run(1000, |_| (3.0, 0.0)), None);
    }

    /// As a path's own noise does; a queue has its delay for all.
    #[test]
    fn delays_that_vary_from_one_acknowledgement_to_the_next_stay_part_of_the_round_trip() {
        for seed in 1..=20 {
            let (mut acks, mut random) = (Acks::every(2.0), Random(seed));
            for _ in 0..4000 {
                let ways = (15.0 * random.next(), 15.0 * random.next());
                let held_up = acks.next(ways.0, ways.1).by;
                assert_eq!(held_up, None, "seed {seed}");
            }
        }
    }

    /// A queue of others is empty at times; a way that has become longer is passed for held up until
    /// clocks might have drifted apart by so much.
    #[test]
    fn what_a_longer_way_still_holds_up_when_it_no_longer_counts_becomes_part_of_the_way() {
        let mut acks = Acks::every(2.0);
        acks.run(500, |_| (0.0, 0.0));
        let (mut longer, mut was_held_up) = (0.0, false);
        for _ in 0..20_000 {
            let shown = acks.next(0.0, 6.0);
            longer += shown.longer;
            assert!(!was_held_up || shown.by.is_some() || shown.varies < 1e-3);
            was_held_up |= shown.by.is_some();
        }
        assert!(was_held_up);
        assert!((0.0055..=0.006).contains(&longer), "{longer:.4} s");
    }

    #[test]
    fn it_tells_what_of_a_round_trip_was_on_the_way_back_where_nothing_stands() {
        let mut acks = Acks::every(2.0);
        acks.run(100, |_| (3.0, 0.0));
        for back in [2.0, 8.0, 0.5] {
            let varies = 1e3 * acks.next(4.0, back).varies;
            assert!((varies - back).abs() < 0.1, "{varies:.2} of {back} ms");
        }
        assert!(acks.run(60, |_| (3.0, 50.0)).is_some());
        assert_eq!(acks.next(3.0, 50.0).varies, 0.0, "it is held up");
    }

    #[test]
    fn what_a_host_that_stood_still_takes_at_once_was_not_held_up() {
        let mut acks = Acks::every(2.0);
        acks.run(500, |_| (0.0, 0.0));
        for _ in 0..20 {
            acks.every_ms = 0.01;
            for late in (0..15).rev() {
                assert_eq!(acks.next(0.0, 2.0 * f64::from(late)).by, None);
            }
            acks.every_ms = 2.0;
            assert_eq!(acks.run(200, |_| (0.0, 0.0)), None);
        }
    }

    #[test]
    fn clocks_that_drift_apart_hold_up_nothing() {
        for drift in [-1e-4, 1e-4] {
            let mut acks = Acks::every(2.0);
            acks.drift = drift;
            assert_eq!(acks.run(600_000, |_| (3.0, 0.0)), None, "{drift}");
            let held_up = acks.run(60, |_| (3.0, 50.0));
            assert!(held_up.is_some_and(|by| by > 45.0), "{drift}: {held_up:?}");
        }
    }

    /// Either host has slept for some seconds, which no clock of it has counted.
    #[test]
    fn a_clock_that_jumps_holds_up_nothing_for_longer_than_a_sample() {
        for jump in [-5.0, -0.2, 0.2, 5.0] {
            let mut acks = Acks::every(2.0);
            acks.run(500, |_| (3.0, 0.0));
            acks.run(500, |_| (3.0, 30.0));
            acks.behind += jump;
            assert_eq!(acks.next(3.0, 30.0), HeldUp::default(), "{jump}");
            assert_eq!(acks.run(500, |_| (3.0, 30.0)), None, "the least is new");
            let held_up = acks.run(100, |_| (3.0, 80.0));
            assert!(held_up.is_some_and(|by| by > 49.0), "{jump}: {held_up:?}");
        }
    }
}
