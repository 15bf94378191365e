//! What is asked of a transfer over given links, as formulas of these links.

use std::time::Duration;

use mpfec_core::CloseReason;
use mpfec_sim::{LinkConfig, QueueLimit};

use super::links::{Case, SMALLEST_PACKET, never_dies, returns};
use super::world::Outcome;
use crate::secs;

/// What one path can do in a transfer over it alone.
#[derive(Debug, Clone, Copy)]
struct Reach {
    /// There and back with full queues and everything late.
    round_trip: Duration,
    /// Attempts until a packet has got there, and word of it back, but for one time in a million.
    attempts: f64,
}

/// What may be asked of a transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// It is over by then, where it must succeed.
    success: Option<Duration>,
    /// An end that has heard nothing for so long gives up.
    silence: Option<Duration>,
}

impl Bound {
    pub(super) fn of(case: &Case) -> Self {
        let paths: Vec<(usize, Reach)> = (0..case.setup.paths.len())
            .filter_map(|index| Some((index, Reach::of(case, index)?)))
            .collect();
        let alone = case.setup.paths.len() == 1;
        // Of several paths, those that cannot be opened in time are closed.
        let reliable = |(index, reach): &&(usize, Reach)| {
            alone || (never_dies(case, *index) && reach.again(secs(3)) <= OPENING)
        };
        let others: Duration = paths.iter().map(|(_, reach)| reach.again(secs(1))).sum();
        let needed = paths.iter().filter(reliable).map(|(index, reach)| {
            let handshake = 3 * reach.again(secs(2));
            let silence = 3 * reach.again(secs(1)) + case.deaths();
            let data = reach.transfer(case, *index);
            (handshake, silence, handshake + data)
        });
        let needed = needed.min_by_key(|(_, _, all)| *all);
        let (handshake_timeout, idle_timeout) =
            (case.config.handshake_timeout, case.config.idle_timeout);
        let never = idle_timeout.is_zero();
        let success = needed.and_then(|(handshake, silence, all)| {
            let extra = case.deaths() + case.jumps();
            let in_time = handshake + extra <= handshake_timeout
                && (never || silence + extra <= idle_timeout);
            in_time.then_some(all + 2 * extra + others)
        });
        let slowest = paths.iter().map(|(_, reach)| reach.round_trip).max();
        let silence = (!never).then(|| {
            handshake_timeout.max(idle_timeout) + 20 * slowest.unwrap_or_default() + secs(10)
        });
        Self { success, silence }
    }

    /// For how long it is worth waiting.
    pub(super) fn longest(&self) -> Duration {
        let needed = self.success.into_iter().chain(self.silence).max();
        needed.unwrap_or_default() + secs(20_000)
    }
}

impl Reach {
    /// `None` if the path carries no connection: it is too narrow, or dies for good.
    fn of(case: &Case, index: usize) -> Option<Self> {
        let path = &case.setup.paths[index];
        let (forward, backward) = (&path.forward, &path.backward);
        if forward.mtu.min(backward.mtu) < SMALLEST_PACKET || !returns(case, index) {
            return None;
        }
        let failure = 1.0 - arrival(forward) * arrival(backward);
        let burst = burst(forward).max(burst(backward));
        Some(Self {
            round_trip: one_way(forward) + one_way(backward),
            attempts: burst * 1e-6_f64.ln() / failure.max(1e-6).ln(),
        })
    }

    /// Until something has arrived that is sent again after each round trip and `pause`.
    fn again(&self, pause: Duration) -> Duration {
        (self.round_trip + pause).mul_f64(self.attempts)
    }

    /// The data of both directions, one after the other: at the rate of the link, in rounds of
    /// as many packets as a window has under such loss, each of which may wait for a timeout.
    fn transfer(&self, case: &Case, index: usize) -> Duration {
        let path = &case.setup.paths[index];
        let (forward, backward) = (&path.forward, &path.backward);
        let one = |bytes: u64, there: &LinkConfig, back: &LinkConfig| {
            let packets = (bytes as f64 / 1100.0 + 1.0) / arrival(there);
            let window = (1.0 / (there.mean_loss() + back.mean_loss())).clamp(1.0, 10.0);
            let rounds = packets / window;
            transmission(there, packets)
                + (self.round_trip + secs(1)).mul_f64(rounds)
                + self.again(secs(1))
        };
        one(case.up, forward, backward) + one(case.down, backward, forward)
    }
}

impl Outcome {
    /// Whether all is as it may be.
    pub(super) fn check(&self, case: &Case) -> Result<(), String> {
        let bound = Bound::of(case);
        let ends = &self.ends;
        if !self.delivered {
            if let Some(success) = bound.success {
                return Err(format!("not delivered within {success:?}, but {ends:?}"));
            }
            let silence = [0, 1].map(|end: usize| match self.ends[end] {
                None if self.left[end] > 0 => {
                    self.took.saturating_sub(self.counts[end].last_received)
                }
                _ => Duration::ZERO,
            });
            if bound
                .silence
                .is_some_and(|most| silence.iter().any(|silence| *silence > most))
            {
                return Err(format!("nothing arrives for {silence:?}, and nothing ends"));
            }
        }
        if let Some(success) = bound.success.filter(|success| self.took > *success) {
            return Err(format!("took {:?} instead of {success:?}", self.took));
        }
        for reason in ends.iter().flatten() {
            if !matches!(reason, CloseReason::TimedOut | CloseReason::Reset) {
                return Err(format!("ended with {reason:?}"));
            }
        }
        self.check_work(case)?;
        let most_ahead = case.config.send_buffer * 9 / 8 + case.config.stream_window;
        if self.most_ahead > most_ahead {
            return Err(format!(
                "{} bytes are buffered, {most_ahead} may be",
                self.most_ahead
            ));
        }
        Ok(())
    }

    /// No timer fires for nothing, and datagrams are as many as data and probes need.
    fn check_work(&self, case: &Case) -> Result<(), String> {
        let paths = case.setup.paths.len() as u64;
        let loss = case
            .setup
            .paths
            .iter()
            .flat_map(|path| [&path.forward, &path.backward]);
        let arrives = loss.map(arrival).fold(1.0, f64::min);
        let packets = ((case.up + case.down) as f64 / 1100.0 + 10.0) / arrives.powi(2);
        let seconds = self.took.as_secs_f64();
        for counts in &self.counts {
            if counts.repeated_wakes > case.times_jumped() + 1 {
                return Err(format!("timers fire again at once: {counts:?}"));
            }
            if counts.idle_wakes > 20 + counts.sent + counts.received {
                return Err(format!("timers fire for nothing: {counts:?}"));
            }
            let per_second = PROBES_PER_SECOND + keep_alives(case);
            let most = 10.0 * packets + per_second * paths as f64 * (seconds + 10.0);
            if counts.sent as f64 > most {
                return Err(format!(
                    "{most:.0} datagrams would do: {counts:?} in {seconds} s"
                ));
            }
        }
        for quiet in self.quiet.iter().flatten() {
            // One that died before goes on being probed.
            let per_second = PROBES_PER_SECOND + 3.0 * keep_alives(case);
            let most = 60.0 * paths as f64 * per_second;
            if quiet.wakes as f64 > most {
                return Err(format!("nothing is left to do in a minute: {quiet:?}"));
            }
        }
        Ok(())
    }
}

/// Packets per second and path that keep addresses alive.
fn keep_alives(case: &Case) -> f64 {
    match case.config.keep_alive {
        interval if interval.is_zero() => 0.0,
        interval => 2.0 / interval.as_secs_f64(),
    }
}

/// How long a packet travels at the most.
fn one_way(link: &LinkConfig) -> Duration {
    let queued = match link.queue {
        QueueLimit::Unlimited => f64::INFINITY,
        QueueLimit::Bytes(bytes) => bytes as f64 / 1500.0,
        QueueLimit::Packets(packets) => packets as f64,
    };
    // A handshake and first windows of two ends are all that ever waits.
    link.delay
        + link.jitter
        + link.faults.reorder_delay
        + transmission(link, 1.0 + queued.min(FIRST_WINDOW))
}

/// The share of packets that arrives intact.
fn arrival(link: &LinkConfig) -> f64 {
    1.0 - link.mean_loss()
}

/// Packets that are lost together.
fn burst(link: &LinkConfig) -> f64 {
    link.bursts.map_or(1.0, |bursts| 1.0 / bursts.leave)
}

/// How long so many full packets take at the link's rate.
fn transmission(link: &LinkConfig, packets: f64) -> Duration {
    let rate = link.rate.unwrap_or(u64::MAX) as f64;
    Duration::from_secs_f64(packets * 1500.0 * 8.0 / rate)
}

/// An address that has not answered for so long is given up where there are others.
const OPENING: Duration = Duration::from_secs(10);
/// Packets.
const FIRST_WINDOW: f64 = 30.0;
/// A suspected path gets five, another one in trouble two.
const PROBES_PER_SECOND: f64 = 6.0;
