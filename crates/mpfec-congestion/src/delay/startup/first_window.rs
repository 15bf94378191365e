//! What a path begins with, before it is known what it carries.
//!
//! What a first window puts at stake is its rate for a round trip, and twenty packets are the less
//! the longer that is. So a long path beside a shorter one that is under way begins with
//! `min(2 x rate of the sibling, 400 packets/s) x RTT`, at most 250 packets, which take the whole
//! round trip to leave: the sibling's rate is a round trip old, in which it may have doubled. But a
//! path may be long because it is slow: at 20 kbit/s a full packet takes half a second. So it begins no
//! faster than two packets came that left together, and few leave before their answers have; and
//! beside a sibling of ten times its rate, which hardly misses it, a path begins with what it carries
//! in two round trips, or in 0.2 s if that is more.

use std::time::{Duration, Instant};

use super::super::MIN_WINDOW;
use crate::{Ack, Group, RttEstimator};

/// What a path begins with.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstWindow {
    /// Nothing is known yet of what the path carries.
    pub(super) is_open: bool,
    /// The answers of two packets that left together are waited for.
    awaits_pair: bool,
    /// When the first packet left.
    since: Option<Instant>,
    /// Packets per second that the two showed.
    paired: Option<f64>,
    /// When the last acknowledgements came, the newest first.
    came: [Option<Instant>; 3],
    /// The most packets per second that four of them in a row have shown.
    shown: f64,
    /// It was made smaller for a slow path.
    was_lowered: bool,
}

/// The window to begin with, in packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Chosen {
    pub(super) window: f64,
    /// It takes a whole round trip to leave, for it is long rather than safe.
    pub(super) is_long: bool,
}

impl FirstWindow {
    /// That of a path of which nothing is known.
    pub(super) fn open() -> Self {
        Self {
            is_open: true,
            ..Self::default()
        }
    }

    pub(super) fn on_packet_sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Two packets leave together.
    pub(super) fn await_pair(&mut self) {
        self.awaits_pair = true;
    }

    /// The two came `apart` of each other.
    pub(super) fn note_pair(&mut self, apart: Duration) {
        self.awaits_pair = false;
        self.paired = Some(1.0 / apart.as_secs_f64());
    }

    /// Whether this is about a packet that left once the address had answered, so that one of the two
    /// answers got lost. Says so once.
    pub(super) fn misses_pair(&mut self, ack: &Ack<'_>) -> bool {
        let since = self.since.filter(|_| self.awaits_pair);
        let is_missed = since.is_some_and(|since| ack.sent_at >= since + ack.rtt.min() / 2);
        self.awaits_pair &= !is_missed;
        is_missed
    }

    /// Where delays vary, two packets may have come far apart by chance: four that come closer after
    /// one another show a faster path. (Of two, the first may have waited for the peer's
    /// acknowledgement.)
    pub(super) fn note_pace(&mut self, ack: &Ack<'_>) {
        let [last, second, first] = self.came;
        self.came = [Some(ack.now), last, second];
        if let Some(first) = first {
            let taken = ack.now.saturating_duration_since(first).as_secs_f64();
            self.shown = self.shown.max(3.0 / taken);
        }
    }

    /// The window to go on with in place of `window`, where `usual` is that of most paths, in packets
    /// of `mss` bytes; `None` if that is what it is, or nothing is known.
    pub(super) fn choose(
        &mut self,
        window: f64,
        usual: f64,
        mss: f64,
        rtt: &RttEstimator,
        group: &Group<'_>,
    ) -> Option<Chosen> {
        let paired = self.paired.filter(|_| self.is_open && rtt.has_sample())?;
        let rtt = rtt.min().as_secs_f64();
        let siblings = || {
            let others = group.subflows.iter().enumerate();
            others
                .filter(|(index, _)| *index != group.me)
                .map(|(_, sibling)| sibling)
        };
        let most = |rate: Option<u64>| rate.unwrap_or(0) as f64 / mss;
        let shorter = siblings().filter(|sibling| rtt > SLOWER * sibling.srtt.as_secs_f64());
        let shorter = most(shorter.map(|sibling| sibling.delivery_rate).max());
        let fastest = most(siblings().map(|sibling| sibling.delivery_rate).max());
        let rate = (2.0 * shorter).min(FIRST_RATE).min(paired);
        let long = (rate * rtt).min(MOST_FIRST);
        let carried = paired.max(self.shown);
        let short = if fastest > DISPENSABLE * carried {
            usual.min(carried * (2.0 * rtt).max(SHORT_WHILE))
        } else {
            usual
        };
        let chosen = Chosen {
            window: short.max(long).max(MIN_WINDOW),
            is_long: long > window.max(short),
        };
        // Only once, for what is acknowledged meanwhile makes it grow again.
        let is_lowered =
            chosen.window < window.min(usual) && !std::mem::replace(&mut self.was_lowered, true);
        (is_lowered || chosen.window > window).then_some(chosen)
    }
}

/// Packets per second: a first window of 20 packets in 50 ms.
const FIRST_RATE: f64 = 400.0;
/// Seconds that a first window may take to leave a slow path.
const SHORT_WHILE: f64 = 0.2;
/// Times the rate of a slow path that a sibling carries who hardly misses it.
const DISPENSABLE: f64 = 10.0;
/// Packets in a first window, however long the path is.
const MOST_FIRST: f64 = 250.0;
/// By how much a path is longer than a sibling that was under way when it began.
const SLOWER: f64 = 1.25;
