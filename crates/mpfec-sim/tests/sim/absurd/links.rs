//! Links nobody should have, drawn from a seed, and how long they may make a transfer take.

use std::time::Duration;

use mpfec_core::{Profile, TransportConfig};
use mpfec_sim::{
    Change, Direction, Faults, GilbertElliott, LinkConfig, PathSetup, QueueLimit, Rng, Setup,
    TimedChange,
};

use super::clock::Clock;
use crate::{ms, secs};

/// One simulated transfer: all of it follows from `seed`.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) setup: Setup,
    pub(super) config: TransportConfig,
    pub(super) client_clock: Clock,
    pub(super) server_clock: Clock,
    /// Bytes that the client sends.
    pub(super) up: u64,
    /// Bytes that the server sends.
    pub(super) down: u64,
}

impl Case {
    pub(super) fn drawn(seed: u64) -> Self {
        let mut draw = Draw(Rng::named(seed, "absurd"));
        let (_, profile) = Profile::ALL[draw.below(Profile::ALL.len() as u64) as usize];
        let profile = match draw.one_in(3) {
            true => Profile::AUTO,
            false => profile,
        };
        let paths = 1 + draw.below(4) as usize;
        let mut setup = Setup {
            name: "absurd".to_owned(),
            summary: String::new(),
            paths: (0..paths).map(|index| draw.path(index)).collect(),
            changes: Vec::new(),
        };
        for path in 0..paths {
            if draw.one_in(4) {
                draw.death(path, &mut setup.changes);
            }
        }
        let config = draw.config(profile);
        let both_ways = draw.one_in(3);
        let (bytes, up) = (draw.log(1.0, 200e3) as u64, draw.one_in(2));
        Self {
            seed,
            setup,
            config,
            client_clock: draw.clock(),
            server_clock: draw.clock(),
            up: if up || both_ways { bytes } else { 0 },
            down: if !up || both_ways { bytes } else { 0 },
        }
    }

    /// How far the clocks jump, all in all.
    pub(super) fn jumps(&self) -> Duration {
        let clocks = [&self.client_clock, &self.server_clock];
        clocks
            .iter()
            .flat_map(|clock| &clock.jumps)
            .map(|(_, by)| *by)
            .sum()
    }

    /// How often they do.
    pub(super) fn times_jumped(&self) -> u64 {
        (self.client_clock.jumps.len() + self.server_clock.jumps.len()) as u64
    }

    /// For how long paths are dead, all in all; those that never return are not usable anyway.
    pub(super) fn deaths(&self) -> Duration {
        let restored = self.setup.changes.iter();
        restored
            .filter(|timed| timed.change == Change::Restore)
            .map(|timed| timed.at)
            .sum()
    }
}

/// Draws from ranges.
struct Draw(Rng);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0.up_to(end - 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// Each power of ten in the range is equally likely.
    fn log(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.unit())
    }

    fn time(&mut self, least: Duration, most: Duration) -> Duration {
        Duration::from_secs_f64(self.log(least.as_secs_f64(), most.as_secs_f64()))
    }

    /// Both directions by themselves: rate, delay, loss and queue have nothing to do with those
    /// of the other one, but for the half of paths that are symmetric.
    fn path(&mut self, index: usize) -> PathSetup {
        let forward = self.link();
        let backward = match self.one_in(2) {
            true => forward.clone(),
            false => self.link(),
        };
        PathSetup {
            name: format!("p{index}"),
            forward,
            backward,
        }
    }

    fn link(&mut self) -> LinkConfig {
        let rate = self.log(1e3, 1e9) as u64;
        let delay = match self.one_in(8) {
            true => Duration::ZERO,
            false => self.time(ms(1), secs(5)),
        };
        let mut link = LinkConfig::new(rate, delay);
        link.queue = match self.below(3) {
            0 => QueueLimit::Packets(1 + self.below(5)),
            1 => QueueLimit::Packets(self.log(1.0, 1000.0) as u64),
            _ => {
                let holds = self.time(ms(10), secs(4)).as_secs_f64();
                QueueLimit::Bytes((rate as f64 / 8.0 * holds).max(9000.0) as u64)
            }
        };
        link.mtu = match self.below(4) {
            0 => 576 + self.below(9000 - 576 + 1) as u32,
            1 => 1228 + self.below(300) as u32,
            _ => 1500,
        };
        match self.below(3) {
            0 => {}
            1 => link.loss = 0.9 * self.unit(),
            _ => link.loss = self.log(0.001, 0.5),
        }
        if self.one_in(4) {
            let (share, length) = (self.log(0.001, 0.5), self.log(2.0, 50.0));
            link.bursts = Some(GilbertElliott::bursts(share, length));
        }
        if self.one_in(4) {
            link.jitter = self.time(ms(1), secs(1));
            link.jitter_reorders = self.one_in(2);
        }
        if self.one_in(4) {
            link.faults = Faults {
                reorder: self.log(0.001, 0.5),
                reorder_delay: self.time(ms(1), secs(2)),
                duplicate: self.log(0.001, 1.0),
                corrupt: self.log(0.001, 0.2),
            };
        }
        link
    }

    /// A path goes silent, in one direction or both, and returns as a rule.
    fn death(&mut self, path: usize, changes: &mut Vec<TimedChange>) {
        let direction = match self.below(4) {
            0 => Direction::Forward,
            1 => Direction::Backward,
            _ => Direction::Both,
        };
        let dies = match self.one_in(4) {
            true => Duration::ZERO,
            false => self.time(ms(10), secs(20)),
        };
        let mut change = |at, change| {
            changes.push(TimedChange {
                at,
                path,
                direction,
                change,
            });
        };
        change(dies, Change::Cut);
        if !self.one_in(5) {
            change(dies + self.time(ms(10), secs(20)), Change::Restore);
        }
    }

    fn config(&mut self, profile: Profile) -> TransportConfig {
        let mut config = TransportConfig {
            profile,
            ..TransportConfig::default()
        };
        if self.one_in(2) {
            // Whoever has such links has patience.
            config.handshake_timeout = secs(3600);
            config.idle_timeout = secs(3600 * self.below(3));
        }
        if self.one_in(3) {
            config.stream_window = self.log(16e3, 8e6) as u64;
            config.connection_window = self.log(16e3, 8e6) as u64;
            config.send_buffer = self.log(16e3, 8e6) as u64;
        }
        if self.one_in(4) {
            config.max_mtu = 1200 + self.below(7801) as u16;
        }
        if self.one_in(4) {
            config.keep_alive = self.time(ms(100), secs(20));
        }
        config.validated()
    }

    fn clock(&mut self) -> Clock {
        let mut clock = Clock::default();
        if self.one_in(4) {
            clock.backwards = self.time(ms(1), secs(3600));
        }
        if self.one_in(4) {
            for _ in 0..1 + self.below(3) {
                let (at, by) = (self.time(ms(1), secs(30)), self.time(ms(1), secs(4 * 3600)));
                clock.jumps.push((at, by));
            }
            clock.jumps.sort();
        }
        clock
    }
}

/// Whether a path never dies.
pub(super) fn never_dies(case: &Case, path: usize) -> bool {
    !changes(case, path, Change::Cut)
}

/// Whether a path returns if it dies.
pub(super) fn returns(case: &Case, path: usize) -> bool {
    never_dies(case, path) || changes(case, path, Change::Restore)
}

fn changes(case: &Case, path: usize, change: Change) -> bool {
    let mut changes = case.setup.changes.iter();
    changes.any(|timed| timed.path == path && timed.change == change)
}

/// A datagram of 1200 bytes with its headers: what every path must carry.
pub(super) const SMALLEST_PACKET: u32 = 1228;
