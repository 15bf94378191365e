//! What a link is like, and how it may change while it is used.

use std::time::Duration;

use crate::{Faults, GilbertElliott, Policer, QueueLimit};

/// One direction of a path. The default carries everything at once: no rate, no delay,
/// no loss, 1500-byte packets.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Bits per second on the link, overhead included; `None` is infinitely fast. 0 counts as 1.
    pub rate: Option<u64>,
    /// Propagation delay after the last bit left the transmitter, at most [`MAX_DELAY`].
    pub delay: Duration,
    /// Extra delay, each value from 0 to this equally likely, at most [`MAX_DELAY`].
    pub jitter: Duration,
    /// Whether packets may overtake each other through jitter.
    pub jitter_reorders: bool,
    /// What passes before the queue; more is dropped.
    pub policer: Option<Policer>,
    /// What may wait for the transmitter.
    pub queue: QueueLimit,
    /// How long packets may wait for good before the queue drops some (CoDel's target, RFC 8289);
    /// the interval is twenty times that.
    pub codel: Option<Duration>,
    /// What the transmitter finishes within so long leaves together, at the end, as aggregates of
    /// Wi-Fi and grants of LTE do; at most [`MAX_DELAY`], and not at all if zero.
    pub slot: Duration,
    /// Share of packets lost independently of each other after the transmitter, so that a
    /// lost packet has used its share of the rate, 0..=1.
    pub loss: f64,
    /// Loss in bursts on top of `loss`.
    pub bursts: Option<GilbertElliott>,
    /// Reordering, duplication and corruption.
    pub faults: Faults,
    /// Largest packet, overhead included, in bytes; larger ones vanish as on a path that
    /// drops them without a word.
    pub mtu: u32,
    /// Bytes that each datagram takes on the link besides its payload: 28 for IPv4 and UDP.
    pub overhead: u32,
}

/// No link is slower to deliver than this: 100 days.
pub const MAX_DELAY: Duration = Duration::from_secs(100 * 24 * 60 * 60);

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            jitter_reorders: false,
            policer: None,
            queue: QueueLimit::Unlimited,
            codel: None,
            slot: Duration::ZERO,
            loss: 0.0,
            bursts: None,
            faults: Faults::default(),
            mtu: 1500,
            overhead: 28,
        }
    }
}

impl LinkConfig {
    /// A link of `rate_bps` bits per second and `delay` one way, with an unlimited queue.
    #[must_use]
    pub fn new(rate_bps: u64, delay: Duration) -> Self {
        Self {
            rate: Some(rate_bps),
            delay,
            ..Self::default()
        }
    }

    /// The same with another queue.
    #[must_use]
    pub fn with_queue(self, queue: QueueLimit) -> Self {
        Self { queue, ..self }
    }

    /// The same with independent loss of `loss`, 0..=1.
    #[must_use]
    pub fn with_loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }

    /// Bits per second that pass in the long run, lost ones included: the lesser of the
    /// transmitter's and the policer's.
    #[must_use]
    pub fn carried_rate(&self) -> Option<u64> {
        let policed = self.policer.map(|policer| policer.rate);
        self.rate.into_iter().chain(policed).min()
    }

    /// The share of packets that does not arrive intact even without congestion, 0..=1.
    #[must_use]
    pub fn mean_loss(&self) -> f64 {
        let bursts = self.bursts.map_or(0.0, |bursts| bursts.mean_loss());
        1.0 - (1.0 - self.loss) * (1.0 - bursts) * (1.0 - self.faults.corrupt)
    }
}

/// What changes on a link while it is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Bits per second; the packet being transmitted goes on at the new rate.
    Rate(Option<u64>),
    /// Propagation delay of the packets that leave the transmitter from now on. A shorter
    /// one does not let them overtake.
    Delay(Duration),
    /// Largest extra delay.
    Jitter(Duration),
    /// Whether jitter may reorder.
    JitterReorders(bool),
    /// What passes before the queue.
    Policer(Option<Policer>),
    /// Limit of the queue; what waits stays.
    Queue(QueueLimit),
    /// How long packets may wait for good before some are dropped.
    Codel(Option<Duration>),
    /// Within how long what is transmitted leaves together.
    Slot(Duration),
    /// Share lost independently.
    Loss(f64),
    /// Loss in bursts.
    Bursts(Option<GilbertElliott>),
    /// Which share of packets is held back, and for how long.
    Reorder {
        /// 0..=1.
        share: f64,
        /// At most [`MAX_DELAY`].
        delay: Duration,
    },
    /// Share of packets that arrive twice.
    Duplicate(f64),
    /// Share of packets with a flipped bit.
    Corrupt(f64),
    /// Largest packet in bytes.
    Mtu(u32),
    /// From now on everything vanishes without a word, also what waits in the queue. What
    /// has passed the transmitter still arrives.
    Cut,
    /// The end of a cut.
    Restore,
}

impl Change {
    /// Changes the figures of `config`; a cut and its end are no figures.
    pub fn apply_to(&self, config: &mut LinkConfig) {
        match *self {
            Self::Rate(rate) => config.rate = rate,
            Self::Delay(delay) => config.delay = delay,
            Self::Jitter(jitter) => config.jitter = jitter,
            Self::JitterReorders(reorders) => config.jitter_reorders = reorders,
            Self::Policer(policer) => config.policer = policer,
            Self::Queue(queue) => config.queue = queue,
            Self::Codel(target) => config.codel = target,
            Self::Slot(slot) => config.slot = slot,
            Self::Loss(loss) => config.loss = loss,
            Self::Bursts(bursts) => config.bursts = bursts,
            Self::Reorder { share, delay } => {
                config.faults.reorder = share;
                config.faults.reorder_delay = delay;
            }
            Self::Duplicate(share) => config.faults.duplicate = share,
            Self::Corrupt(share) => config.faults.corrupt = share,
            Self::Mtu(mtu) => config.mtu = mtu,
            Self::Cut | Self::Restore => {}
        }
    }
}
