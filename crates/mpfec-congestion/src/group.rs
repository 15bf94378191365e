//! Congestion control of coded groups: what the code makes up for costs nothing (PNC §V).

use std::time::Instant;

use crate::{Ack, CongestionController, CongestionEvent, LossVerdicts};

/// A controller that hears of a loss only when the group needs a retransmission: when neither
/// what arrived of it nor what is on its way decodes it. What it does then, `inner` says.
///
/// How the paper's terms appear here:
///
/// - *Lost Report > 3*: a packet counts as lost when three later ones of its path arrived; the
///   group is retransmitted when redundant packets do not make up for its losses.
/// - *the path with most outstanding data* adjusts its window, whichever lost the packet
///   ([`blames_fullest`](CongestionController::blames_fullest)).
/// - *GTO*: the path's probe timer, at its second expiry.
/// - *group level*: acknowledgements count when a group was decoded, *packet level*: at once.
#[derive(Debug)]
pub(crate) struct GroupControl<C> {
    inner: C,
    level: Level,
    /// Losses that the code made up for.
    covered: u64,
    /// What was acknowledged of groups that are not decoded.
    waiting: Amount,
    /// What was acknowledged of groups that are decoded, and has not counted yet.
    due: Amount,
}

/// What makes the window grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// A decoded group, as in the systems MPTCP-PNC is compared with.
    Group,
    /// An acknowledged packet as well (PNC).
    Packet,
}

#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    bytes: u64,
    packets: u32,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.packets = self.packets.saturating_add(other.packets);
    }
}

impl<C> GroupControl<C> {
    pub(crate) fn new(inner: C, level: Level) -> Self {
        Self {
            inner,
            level,
            covered: 0,
            waiting: Amount::default(),
            due: Amount::default(),
        }
    }
}

impl<C: CongestionController> CongestionController for GroupControl<C> {
    fn on_packet_sent(&mut self, now: Instant, bytes: u64, in_flight: u64) {
        self.inner.on_packet_sent(now, bytes, in_flight);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.waiting.add(Amount {
            bytes: ack.bytes,
            packets: ack.packets,
        });
        if self.level == Level::Packet {
            self.on_group_decoded();
        }
        let Amount { bytes, packets } = std::mem::take(&mut self.due);
        self.inner.on_ack(&Ack {
            bytes,
            packets,
            ..*ack
        });
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent<'_>) {
        if event.ecn || event.coding.retransmits {
            self.inner.on_congestion_event(event);
        } else {
            self.covered += u64::from(event.packets);
        }
    }

    fn on_group_decoded(&mut self) {
        let decoded = std::mem::take(&mut self.waiting);
        self.due.add(decoded);
    }

    fn on_timeout(&mut self, now: Instant, count: u32) {
        self.inner.on_timeout(now, count);
    }

    fn on_return(&mut self, now: Instant) {
        self.inner.on_return(now);
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        self.inner.on_persistent_congestion(now);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.inner.on_mtu_update(mtu);
    }

    fn wants_coding_feedback(&self) -> bool {
        true
    }

    fn blames_fullest(&self) -> bool {
        true
    }

    fn cwnd(&self) -> u64 {
        self.inner.cwnd()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.inner.ssthresh()
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.inner.pacing_rate()
    }

    fn lasting_rate(&self) -> u64 {
        self.inner.lasting_rate()
    }

    fn state(&self) -> &'static str {
        self.inner.state()
    }

    fn loss_verdicts(&self) -> LossVerdicts {
        let verdicts = self.inner.loss_verdicts();
        LossVerdicts {
            wireless: verdicts.wireless + self.covered,
            ..verdicts
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::new_reno::{self, NewReno};
    use crate::{CodingFeedback, Group, RttEstimator};

    struct Bench {
        control: GroupControl<NewReno>,
        rtt: RttEstimator,
        now: Instant,
    }

    fn bench(level: Level) -> Bench {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let now = Instant::now();
        let mut rtt = RttEstimator::new(Duration::from_millis(100));
        rtt.update(now, Duration::from_millis(100), Duration::ZERO);
        Bench {
            control: GroupControl::new(NewReno::new(1000, 10, new_reno::increase), level),
            rtt,
            now,
        }
    }

    impl Bench {
        fn ack(&mut self, packets: u32) -> u64 {
            self.now += Duration::from_millis(10);
            self.control.on_ack(&Ack {
                now: self.now,
                sent_at: self.now - Duration::from_millis(100),
                bytes: u64::from(packets) * 1000,
                packets,
                in_flight: 10_000,
                app_limited: false,
                idle: Duration::ZERO,
                rtt: &self.rtt,
                route: 0,
                way_back: None,
                rate: None,
                coding: CodingFeedback::default(),
                group: Group::ALONE,
            });
            self.control.cwnd()
        }

        fn lose(&mut self, retransmits: bool) -> u64 {
            self.control.on_congestion_event(&CongestionEvent {
                now: self.now,
                sent_at: self.now,
                packets: 1,
                runs: 1,
                ecn: false,
                coding: CodingFeedback {
                    retransmits,
                    ..CodingFeedback::default()
                },
                rtt: &self.rtt,
                group: Group::ALONE,
            });
            self.control.cwnd()
        }
    }

    #[test]
    fn at_group_level_the_window_grows_when_a_group_is_decoded() {
        let mut bench = bench(Level::Group);
        assert_eq!((bench.ack(2), bench.ack(1)), (10_000, 10_000));
        bench.control.on_group_decoded();
        assert_eq!(bench.ack(0), 13_000);
    }

    #[test]
    fn at_packet_level_it_grows_with_every_packet() {
        let mut bench = bench(Level::Packet);
        assert_eq!((bench.ack(2), bench.ack(1)), (12_000, 13_000));
    }

    #[test]
    fn only_losses_that_need_a_retransmission_cost_anything() {
        let mut bench = bench(Level::Packet);
        assert_eq!(bench.lose(false), 10_000);
        assert_eq!(bench.control.loss_verdicts().wireless, 1);
        assert_eq!(bench.lose(true), 5000);
        assert_eq!(bench.control.loss_verdicts().congestion, 1);
    }
}
