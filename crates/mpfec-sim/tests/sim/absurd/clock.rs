//! A host whose clock is not that of the network, and which counts what it is asked to do.

use std::time::{Duration, Instant};

use mpfec_sim::{Host, Packet, Rng};

/// What a host's clock does that the network's does not.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    /// At these times since the start it goes forwards by so much, in order of time.
    pub(super) jumps: Vec<(Duration, Duration)>,
    /// Callers hand in times that are up to this older than what others handed in before.
    pub(super) backwards: Duration,
}

/// A host with a clock of its own.
#[derive(Debug)]
pub(super) struct Clocked<H> {
    host: H,
    clock: Clock,
    rng: Rng,
    started: Instant,
    /// How far the clock has jumped.
    ahead: Duration,
    /// When a timer fired last; `None` if anything came or left since.
    idle_since: Option<Instant>,
    pub(super) counts: Counts,
}

/// What a host did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Times that its timer fired.
    pub(super) wakes: u64,
    /// Those after which nothing left until the next one.
    pub(super) idle_wakes: u64,
    /// Those at the very time of the one before, with nothing between.
    pub(super) repeated_wakes: u64,
    /// Datagrams that left.
    pub(super) sent: u64,
    /// Datagrams that arrived.
    pub(super) received: u64,
    /// When the last of them did, since the start.
    pub(super) last_received: Duration,
}

impl Counts {
    /// What was done since `before`.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            wakes: self.wakes - before.wakes,
            idle_wakes: self.idle_wakes - before.idle_wakes,
            repeated_wakes: self.repeated_wakes - before.repeated_wakes,
            sent: self.sent - before.sent,
            received: self.received - before.received,
            last_received: self.last_received,
        }
    }
}

impl<H> Clocked<H> {
    pub(super) fn new(started: Instant, host: H, clock: Clock, seed: u64) -> Self {
        Self {
            host,
            clock,
            rng: Rng::new(seed),
            started,
            ahead: Duration::ZERO,
            idle_since: None,
            counts: Counts::default(),
        }
    }

    /// The host, and what its clock says at the network's `now`.
    pub(super) fn at(&mut self, now: Instant) -> (Instant, &mut H) {
        let now = self.time(now);
        (now, &mut self.host)
    }

    pub(super) fn host(&self) -> &H {
        &self.host
    }

    fn time(&mut self, now: Instant) -> Instant {
        while let Some(&(at, by)) = self.clock.jumps.first()
            && now >= self.started + at
        {
            self.clock.jumps.remove(0);
            self.ahead += by;
        }
        now + self.ahead
    }

    /// What a caller hands in that read the clock a while ago, now and then.
    fn stale(&mut self, now: Instant) -> Instant {
        let now = self.time(now);
        let back = self.rng.up_to(self.clock.backwards.as_nanos() as u64);
        match self.rng.chance(0.5) {
            true => now - Duration::from_nanos(back),
            false => now,
        }
    }
}

impl<H: Host> Host for Clocked<H> {
    fn handle_datagram(&mut self, now: Instant, packet: Packet) {
        self.counts.received += 1;
        self.counts.last_received = now.saturating_duration_since(self.started);
        self.idle_since = None;
        let now = self.stale(now);
        self.host.handle_datagram(now, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.counts.wakes += 1;
        match self.idle_since.replace(now) {
            Some(before) if before == now => self.counts.repeated_wakes += 1,
            Some(_) => self.counts.idle_wakes += 1,
            None => {}
        }
        let now = self.time(now);
        self.host.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let now = self.stale(now);
        let packet = self.host.poll_transmit(now)?;
        self.counts.sent += 1;
        self.idle_since = None;
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = self.host.poll_timeout()?;
        let due = due.checked_sub(self.ahead).unwrap_or(self.started);
        let jump = self.clock.jumps.first().map(|(at, _)| self.started + *at);
        Some(jump.map_or(due, |jump| due.min(jump)))
    }

    fn next_timer(&self) -> String {
        self.host.next_timer()
    }
}
