//! The end that sends parity over its own packets.

use std::time::{Duration, Instant};

use mpfec_codec::gf256;
use mpfec_sched::AdaptiveRatio;

use crate::component::FrameWriter;
use crate::recovery::Token;
use crate::wire::frame::{Covered, Parity};

/// The running XOR over what was sent on a path since the last parity, and when the next one is
/// due.
#[derive(Debug)]
pub(crate) struct ParitySender {
    rule: Rule,
    covered: Covered,
    /// XOR of the lengths, and of the payloads.
    lengths: u16,
    sum: Vec<u8>,
    /// When the first of the covered packets left.
    since: Option<Instant>,
    /// A packet did not fit into the parity any more.
    is_full: bool,
    /// Packets that share a parity, as last told to people.
    told: u32,
    pub(crate) counters: ParityCounters,
}

/// When a parity is due.
#[derive(Debug)]
enum Rule {
    /// After so many data packets (dFEC).
    Adaptive(AdaptiveRatio),
    /// A quarter of an RTT after the first packet, whatever was sent (TCP-IR).
    Timed,
}

/// What a path's parity was good for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ParityCounters {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) acked: u64,
    pub(crate) lost: u64,
    /// Packets that the peer rebuilt, as it says.
    pub(crate) useful: u64,
}

impl ParitySender {
    /// Parity as dFEC sends it.
    pub(crate) fn adaptive(tolerance: f64, delta: f64) -> Self {
        Self::new(Rule::Adaptive(AdaptiveRatio::new(tolerance, delta)))
    }

    /// Parity as TCP-IR sends it.
    pub(crate) fn timed() -> Self {
        Self::new(Rule::Timed)
    }

    fn new(rule: Rule) -> Self {
        Self {
            rule,
            covered: Covered::default(),
            lengths: 0,
            sum: Vec::new(),
            since: None,
            is_full: false,
            told: AdaptiveRatio::START as u32,
            counters: ParityCounters::default(),
        }
    }

    /// A data packet with this payload left, where a parity may hold `room` bytes in all.
    pub(crate) fn on_sent(&mut self, now: Instant, number: u64, payload: &[u8], room: usize) {
        if let Rule::Adaptive(ratio) = &mut self.rule {
            ratio.on_sent(1);
        }
        let mut covered = self.covered.clone();
        let longest = self.sum.len().max(payload.len());
        if self.is_full || !covered.push(number) || Parity::header_size(&covered) + longest > room {
            self.is_full = !self.covered.is_empty();
            return;
        }
        self.covered = covered;
        self.since.get_or_insert(now);
        self.lengths ^= payload.len() as u16;
        self.sum.resize(longest, 0);
        if let Some(sum) = self.sum.get_mut(..payload.len()) {
            gf256::add(sum, payload);
        }
    }

    /// Whether a parity should leave now.
    pub(crate) fn is_due(&self, now: Instant, rtt: Duration) -> bool {
        self.is_full
            || self.covered.len() >= self.group()
            || self.due_at(rtt).is_some_and(|at| now >= at)
    }

    /// When a parity becomes due whatever else is sent.
    pub(crate) fn due_at(&self, rtt: Duration) -> Option<Instant> {
        match self.rule {
            Rule::Adaptive(_) => None,
            Rule::Timed => self.since.map(|since| since + self.interval(rtt)),
        }
    }

    /// The longest time from a packet to the parity over it, where time is what decides.
    pub(crate) fn interval(&self, rtt: Duration) -> Duration {
        rtt / PER_RTT
    }

    /// Packets may be larger, or must be smaller, from now on: a parity may hold `room` bytes in
    /// all. What would not fit is covered no longer.
    pub(crate) fn on_mtu_update(&mut self, room: usize) {
        if self.size() > room {
            self.begin();
        }
    }

    /// Bytes of a parity over what is covered so far.
    fn size(&self) -> usize {
        Parity::header_size(&self.covered) + self.sum.len()
    }

    /// Nothing is covered yet.
    fn begin(&mut self) {
        self.covered.clear();
        self.sum.clear();
        (self.lengths, self.since, self.is_full) = (0, None, false);
    }

    /// Writes the parity that is due, and begins anew. Writes nothing if it does not fit.
    pub(crate) fn write(&mut self, writer: &mut FrameWriter<'_>) {
        if !self.covered.is_empty() && self.size() <= writer.room() {
            Parity::encode_header(&self.covered, self.lengths, writer.buf());
            writer.buf().extend_from_slice(&self.sum);
            writer.wrote(Some(Token::Parity));
            self.counters.sent += 1;
        }
        self.begin();
    }

    /// Packets of the path were lost without being rebuilt.
    pub(crate) fn on_lost(&mut self, packets: u64) {
        if let Rule::Adaptive(ratio) = &mut self.rule {
            ratio.on_retransmit(packets);
        }
    }

    /// Time goes on. Returns the number of packets that share a parity if it has become half or
    /// twice what it was when that was last told.
    pub(crate) fn update(&mut self, now: Instant, rtt: Duration) -> Option<u32> {
        let Rule::Adaptive(ratio) = &mut self.rule else {
            return None;
        };
        if !ratio.update(now, rtt) {
            return None;
        }
        let packets = ratio.packets();
        let is_news = packets >= 2 * self.told || 2 * packets <= self.told;
        is_news.then(|| {
            self.told = packets;
            packets
        })
    }

    /// The peer says that so many packets were rebuilt so far. Returns whether that is news;
    /// `None` if it cannot be true.
    pub(crate) fn on_report(&mut self, rebuilt: u64) -> Option<bool> {
        if rebuilt > self.counters.sent {
            return None;
        }
        let is_news = rebuilt > self.counters.useful;
        self.counters.useful = self.counters.useful.max(rebuilt);
        Some(is_news)
    }

    /// Whether parity counts in flight and waits for room in the window.
    pub(crate) fn respects_window(&self) -> bool {
        matches!(self.rule, Rule::Adaptive(_))
    }

    /// Data packets per parity, where that is what decides.
    pub(crate) fn ratio(&self) -> Option<f64> {
        match &self.rule {
            Rule::Adaptive(ratio) => Some(ratio.ratio()),
            Rule::Timed => None,
        }
    }

    /// Data packets that share a parity at most.
    pub(crate) fn group(&self) -> usize {
        match &self.rule {
            Rule::Adaptive(ratio) => ratio.packets() as usize,
            Rule::Timed => Covered::MAX,
        }
    }

    /// Data packets that may still leave before the next parity.
    pub(crate) fn left(&self) -> usize {
        self.group().saturating_sub(self.covered.len())
    }
}

/// Bytes in front of the data of a parity that covers up to 256 packets without a gap. Gaps make
/// it longer, which packets that are not quite full leave room for.
pub(crate) const HEADER_ROOM: u16 = 1 + 4 + 2 + 1 + 2;
/// Parities per RTT (TCP-IR).
const PER_RTT: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn nothing_is_due_that_would_not_fit_when_packets_become_smaller() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let now = Instant::now();
        for mut parity in [ParitySender::adaptive(0.01, 0.25), ParitySender::timed()] {
            let group = parity.group();
            for number in 0..group {
                parity.on_sent(now, number as u64, &[7; 1400], 1440);
            }
            assert!(parity.is_due(now + RTT, RTT));
            parity.on_mtu_update(1440);
            assert!(parity.is_due(now + RTT, RTT));
            parity.on_mtu_update(1200);
            assert!(!parity.is_due(now + RTT, RTT));
            assert_eq!(parity.left(), group);
            parity.on_sent(now, group as u64, &[7; 1100], 1200);
            assert_eq!(parity.left(), group - 1);
        }
    }
}
