//! The RTT of the empty path.

use std::time::{Duration, Instant};

use super::way_back::{HeldUp, WayBack};

/// Smallest RTTs of the last one to two epochs, one for each way on which acknowledgements come
/// back: with the least of all of them, a longer way would pass for a queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Floors {
    routes: Vec<Route>,
    /// By how many seconds the last sample was held up, if it was.
    held_up: Option<f64>,
    /// By how many seconds it came back later than at the least, while nothing was seen to stand there.
    varies: f64,
    /// The mean by which that has become true of its way with it, if it has.
    begins: Option<f64>,
}

#[derive(Debug, Clone)]
struct Route {
    number: u32,
    /// Share of the samples of late, 0..1.
    weight: f64,
    floor: Floor,
    way_back: WayBack,
}

/// An RTT, and on which way the acknowledgement came back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) now: Instant,
    pub(super) route: u32,
    /// How long it came back, as in [`Ack`](crate::Ack).
    pub(super) way_back: Option<i64>,
    /// Without the time the peer says it waited, and with it.
    pub(super) rtt: Duration,
    pub(super) whole: Duration,
    pub(super) smoothed: Duration,
    /// What other ways show of the queue, seconds.
    pub(super) queue: f64,
    /// Somebody else fills the queue: no floor expires.
    pub(super) is_filled: bool,
}

impl Floors {
    /// Returns by how many seconds the sample is above the floor of its route. A new route is taken
    /// for one with the same queue as the others; but for no shorter than the shortest of these,
    /// unless somebody else fills the queue. A floor that is too high is corrected by the next drain.
    pub(super) fn on_sample(&mut self, sample: &Sample) -> f64 {
        let known = self.routes.iter().position(|r| r.number == sample.route);
        let index = known.unwrap_or_else(|| {
            self.add(&Sample {
                rtt: sample.whole,
                ..*sample
            })
        });
        let weight = if self.routes.len() == 1 { 1.0 } else { WEIGHT };
        for (position, route) in self.routes.iter_mut().enumerate() {
            let is_own = f64::from(u8::from(position == index));
            route.weight += weight * (is_own - route.weight);
        }
        let route = &mut self.routes[index];
        let held_up = route.held_up(sample);
        let floor = &mut route.floor;
        let by = Duration::try_from_secs_f64(held_up.by.unwrap_or(0.0)).unwrap_or_default();
        let whole = sample.whole.saturating_sub(by);
        floor.on_sample(&Sample {
            rtt: whole,
            ..*sample
        });
        // RFC 9002 §5.3, of each way by itself: an acknowledgement that waits for the link as well as at
        // the peer is there no sooner without the latter.
        let rtt = sample.rtt.saturating_sub(by).max(whole.min(floor.min));
        self.held_up = held_up.by;
        self.varies = held_up.varies;
        self.begins = held_up
            .by
            .filter(|_| held_up.begins)
            .map(|by| by * route.weight);
        rtt.saturating_sub(floor.min).as_secs_f64()
    }

    /// By how many seconds that sample was held up on its way back, if others are as well.
    pub(super) fn held_up(&self) -> Option<f64> {
        self.held_up
    }

    /// By how many seconds that sample came back later than at the least, while nothing has been seen to
    /// stand there: no queue on the way there made it longer by that.
    pub(super) fn varies(&self) -> f64 {
        self.varies
    }

    /// By how many seconds acknowledgements are held up on average, if the last sample was the first
    /// that shows it of its way.
    pub(super) fn begins_to_hold_up(&self) -> Option<f64> {
        self.begins
    }

    /// Whether nothing is known of this way yet, but of others.
    pub(super) fn is_new_route(&self, number: u32) -> bool {
        !self.routes.is_empty() && self.routes.iter().all(|route| route.number != number)
    }

    fn add(&mut self, sample: &Sample) -> usize {
        let shortest = self.routes.iter().map(|route| route.floor.min).min();
        let most = if sample.is_filled {
            sample.rtt / 2
        } else {
            sample.rtt.saturating_sub(shortest.unwrap_or_default())
        };
        let queue = if self.routes.is_empty() {
            Duration::ZERO
        } else {
            let queue = Duration::try_from_secs_f64(sample.queue).unwrap_or_default();
            queue.min(most)
        };
        let route = Route {
            number: sample.route,
            weight: 0.0,
            floor: Floor::new(sample, queue),
            way_back: WayBack::default(),
        };
        if self.routes.len() < MOST_ROUTES {
            self.routes.push(route);
            return self.routes.len() - 1;
        }
        let least = (0..MOST_ROUTES)
            .min_by(|&a, &b| self.routes[a].weight.total_cmp(&self.routes[b].weight))
            .unwrap_or(0);
        self.routes[least] = route;
        least
    }

    /// The path itself has become longer by so many seconds.
    pub(super) fn rise(&mut self, delay: f64) {
        let delay = Duration::try_from_secs_f64(delay).unwrap_or_default();
        for route in &mut self.routes {
            let floor = &mut route.floor;
            floor.min = floor.min.saturating_add(delay);
            floor.epoch_min = floor.min;
        }
    }

    /// Seconds, the mean of the ways that acknowledgements took of late; `None` before the first
    /// sample.
    pub(super) fn get(&self) -> Option<f64> {
        let all: f64 = self.routes.iter().map(|route| route.weight).sum();
        let weighted = |route: &Route| route.weight * route.floor.min.as_secs_f64();
        (all > 0.0).then(|| self.routes.iter().map(weighted).sum::<f64>() / all)
    }
}

impl Route {
    /// For how long the acknowledgement was held up, as far as that made its round trip longer: no
    /// clock makes one shorter than the path has shown (RFC 9002 §5.3 has the same of delays that a
    /// peer tells). The floor is one of the least that the way back has taken.
    fn held_up(&mut self, sample: &Sample) -> HeldUp {
        let Some(micros) = sample.way_back else {
            return HeldUp::default();
        };
        let known = (self.floor.min, sample.smoothed);
        let took = 1e-6 * micros as f64;
        let mut held_up = self.way_back.on_sample(sample.now, took, sample.rtt, known);
        self.floor.shift(held_up.longer);
        let longer = sample.rtt.saturating_sub(self.floor.min).as_secs_f64();
        held_up.by = held_up.by.map(|by| by.min(longer));
        held_up
    }
}

/// Unlike the estimator's own minimum it can be moved when a drained queue shows that the path
/// itself got longer.
#[derive(Debug, Clone)]
struct Floor {
    min: Duration,
    epoch_min: Duration,
    epoch_ends: Instant,
    /// It was never that short: the sample was taken for one with a queue.
    is_assumed: bool,
}

impl Floor {
    /// Of a sample in a queue of so much delay.
    fn new(sample: &Sample, queue: Duration) -> Self {
        let is_assumed = queue > Duration::ZERO;
        let ends_after = if is_assumed {
            sample.rounds()
        } else {
            sample.epoch()
        };
        Self {
            min: sample.rtt.saturating_sub(queue),
            epoch_min: sample.rtt,
            epoch_ends: sample.now + ends_after,
            is_assumed,
        }
    }

    /// What it stands for has become longer by so many seconds, or shorter.
    fn shift(&mut self, longer: f64) {
        let by = Duration::try_from_secs_f64(longer.abs()).unwrap_or_default();
        for least in [&mut self.min, &mut self.epoch_min] {
            *least = if longer > 0.0 {
                least.saturating_add(by)
            } else {
                least.saturating_sub(by).max(SHORTEST.min(*least))
            };
        }
    }

    /// Nothing expires while somebody else may keep the queue from ever being empty.
    fn on_sample(&mut self, sample: &Sample) {
        let rtt = sample.rtt;
        self.epoch_min = self.epoch_min.min(rtt);
        self.min = self.min.min(rtt);
        if sample.now < self.epoch_ends {
            return;
        }
        if sample.is_filled {
            self.epoch_min = self.min;
        } else if std::mem::take(&mut self.is_assumed) {
            // Drains in all these rounds have shown none as short.
            self.min = self.epoch_min;
            self.epoch_min = rtt;
        } else {
            // A queue that several flows keep full for an epoch must not pass for the path.
            self.min = self.epoch_min.min(self.min.mul_f64(MOST_RISE));
            self.epoch_min = rtt;
        }
        self.epoch_ends = sample.now + sample.epoch();
    }
}

impl Sample {
    fn epoch(&self) -> Duration {
        EPOCH.max(self.rounds())
    }

    /// In which the queue is drained several times.
    fn rounds(&self) -> Duration {
        self.smoothed.saturating_mul(40)
    }
}

#[cfg(test)]
mod tests;

/// By how much the floor rises in an epoch at most.
const MOST_RISE: f64 = 1.1;
const EPOCH: Duration = Duration::from_secs(10);
/// Shorter than this no path becomes because of what a clock says.
const SHORTEST: Duration = Duration::from_micros(100);
/// Of one sample in the share of its route.
const WEIGHT: f64 = 1.0 / 16.0;
/// More than a path's acknowledgements take at a time.
const MOST_ROUTES: usize = 8;
