//! When answers on a path are overdue, and what is done about it (RFC 9002 §6.2).

use std::time::{Duration, Instant};

use super::Path;
use crate::recovery::{Eliciting, LATE_ACK_DELAY};

impl Path {
    /// How long an acknowledgement may take before the path counts as silent.
    pub(crate) fn pto_base(&self) -> Duration {
        self.rtt.pto_base() + self.peer_ack_delay
    }

    /// How long the peer may hold back the acknowledgement of such a packet.
    pub(crate) fn peer_ack_delay(&self, eliciting: Eliciting) -> Duration {
        if eliciting == Eliciting::Late && self.late_answers > OFTEN {
            self.peer_ack_delay.max(LATE_ACK_DELAY)
        } else {
            self.peer_ack_delay
        }
    }

    /// One acknowledgement was the first of packets that may be acknowledged late, of which the one
    /// that left first had waited so long for it.
    pub(crate) fn on_late_answer(&mut self, held_back: Duration) {
        let is_late = held_back > self.peer_ack_delay * 3 / 2;
        self.late_answers += (f64::from(u8::from(is_late)) - self.late_answers) / 8.0;
    }

    /// When the path counts as silent if nothing is acknowledged until then: the answer to
    /// the oldest packet is overdue, and answers to others, if there were any lately, have
    /// stopped.
    pub(crate) fn silent_at(&self) -> Option<Instant> {
        let overdue = self.space.oldest_unacked()? + self.patience();
        let pause = (4 * self.rtt.var()).max(self.srtt() / 2).max(MIN_PAUSE);
        let stopped = self
            .last_answer
            .map(|at| at + pause.div_f64(1.0 - self.loss.get()));
        Some(stopped.map_or(overdue, |stopped| overdue.max(stopped)))
    }

    /// When packets left whose answers are overdue by now.
    pub(crate) fn overdue_since(&self, now: Instant) -> Option<Instant> {
        now.checked_sub(self.patience())
    }

    /// How long the oldest packet's answer may take.
    fn patience(&self) -> Duration {
        let delay = self.peer_ack_delay(self.space.oldest_eliciting());
        let sent_at = self.space.oldest_unacked();
        self.stalls.patience(sent_at, self.usual_wait(delay))
    }

    /// The same as far as round trips tell. Samples of one flight agree so well that their variance
    /// says little about the next.
    fn usual_wait(&self, peer_ack_delay: Duration) -> Duration {
        self.rtt.pto_base().max(self.srtt() * 9 / 8) + peer_ack_delay
    }

    /// Something was acknowledged, the oldest of it that had not been overtaken sent at `oldest`, and
    /// the oldest of what had been given up in silence at `given_up`. To be told of before the round
    /// trip.
    pub(crate) fn on_waited(
        &mut self,
        now: Instant,
        oldest: Option<Instant>,
        given_up: Option<Instant>,
    ) {
        let age = |sent_at: Instant| now.saturating_duration_since(sent_at);
        // Where many packets get lost either way, it is those behind them that answers waited for.
        let is_lossy = self.loss.get().max(self.incoming.get()) > LOSSY;
        if let Some(oldest) = oldest.filter(|_| !is_lossy) {
            let usual = self.usual_wait(self.peer_ack_delay(Eliciting::Late));
            let given_up = given_up.map(age);
            self.stalls.on_answer(now, age(oldest), given_up, usual);
        }
    }

    /// Whether so many packets have been overdue since the last answer that random loss does
    /// not explain it, or a probe as well.
    pub(crate) fn is_silence_certain(&self) -> bool {
        let run = self.loss.inexplicable_run(&self.incoming);
        self.pto.count() > 0 || self.unanswered >= u64::from(run)
    }

    /// Whether the next probe is a small one, which passes whatever became of the MTU. What a
    /// suspected path is asked with is of no use beyond the answer.
    pub(crate) fn probes_small(&self) -> bool {
        self.liveness.is_suspected() || (self.pto.count() >= 2 && self.probes == 1)
    }

    /// How many probes leave when a PTO fires and there is no other path: a large and a small one.
    /// Where no round trip was ever measured, it may be that of a link which takes seconds for a
    /// large one. These get rarer then, up to every sixteenth; small ones do not.
    pub(crate) fn probes_at_once(&self) -> u8 {
        let count = self.pto.count();
        let is_large = count <= 4 || count.is_power_of_two() || count.is_multiple_of(16);
        1 + u8::from(is_large || self.rtt.has_sample())
    }
}

/// Answers that come in bursts have pauses between them.
const MIN_PAUSE: Duration = Duration::from_millis(25);
/// Share of packets lost above which late answers show no stalls.
const LOSSY: f64 = 0.1;
/// Share of late answers that the loss of some acknowledgements does not explain.
const OFTEN: f64 = 0.25;

#[cfg(test)]
mod tests {
    use mpfec_congestion::ControllerKind;

    use super::*;
    use crate::address::{FourTuple, SocketId};
    use crate::component::Tokens;
    use crate::path::{PathStart, Validation};
    use crate::recovery::SentPacket;

    const RTT: Duration = Duration::from_millis(40);
    const MAX_ACK_DELAY: Duration = Duration::from_millis(5);

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn epoch() -> Instant {
        Instant::now()
    }

    fn path(now: Instant) -> Path {
        let tuple = FourTuple {
            socket: SocketId(0),
            local_ip: None,
            remote: "192.0.2.1:4433".parse().expect("an address"),
        };
        let start = PathStart {
            now,
            congestion: ControllerKind::Delay,
            max_mtu: 1472,
            rtt: RTT,
            peer_ack_delay: MAX_ACK_DELAY,
        };
        let mut path = Path::new(0, 0, tuple, Validation::validated(), &start, None);
        path.rtt.update(now, RTT, Duration::ZERO);
        path
    }

    fn send(path: &mut Path, sent_at: Instant, eliciting: Eliciting) {
        let number = path.space.next_packet_number(1);
        let delivery = path.delivery.on_sent(sent_at, 0);
        let packet = SentPacket {
            sent_at,
            size: 60,
            eliciting,
            in_flight: true,
            tokens: Tokens::new(),
            delivery,
        };
        path.space.on_sent(number, packet);
    }

    #[test]
    fn what_was_lost_in_a_silence_does_not_hide_later_losses_that_were_none() {
        let now = epoch();
        let mut path = path(now);
        path.loss.update(2000, 0);
        path.on_given_up(now, 100);
        path.on_answer(now);
        let before = path.loss.get();
        path.loss.update(0, 20);
        path.on_spurious(20, 0);
        assert!(path.loss.get() <= before, "{}", path.loss.get());
        path.on_spurious(0, 100);
        assert_eq!(path.counters.lost_packets, 0);
    }

    /// Packets overtake each other there by up to 16 numbers.
    #[test]
    fn what_is_overtaken_after_a_silence_is_a_burst_only_if_the_path_does_not_reorder_as_much() {
        let now = epoch();
        let (mut path, mut lost, mut acked) = (path(now), Vec::new(), Vec::new());
        path.loss.update(2000, 0);
        path.on_order(true, 16, RTT);
        for _ in 0..40 {
            send(&mut path, now, Eliciting::Soon);
        }
        let (silent, answered) = (now + 2 * RTT, now + 3 * RTT);
        path.space.declare_all_lost(silent, &mut lost);
        path.on_given_up(silent, 40);
        for (largest, bursts) in [(10, false), (18, false), (39, true)] {
            let only = std::iter::once(largest..=largest);
            let known = path.space.on_ack(only, largest, &mut acked);
            known.expect("it was sent");
            path.count_burst(answered, largest);
            assert_eq!(path.loss.long() > 0.001, bursts, "up to {largest}");
        }
    }

    /// The peer has promised 5 ms.
    #[test]
    fn what_may_be_acknowledged_late_is_overdue_later_where_that_is_late_more_than_once() {
        let (now, ms) = (epoch(), Duration::from_millis);
        for (eliciting, held_back) in [(Eliciting::Soon, 5), (Eliciting::Late, 25)] {
            let mut path = path(now);
            let base = path.rtt.pto_base();
            send(&mut path, now, eliciting);
            send(&mut path, now, Eliciting::Soon);
            for held_back in [1, 5, 20, 5] {
                path.on_late_answer(ms(held_back));
                assert_eq!(path.silent_at(), Some(now + base + MAX_ACK_DELAY));
            }
            for _ in 0..3 {
                path.on_late_answer(ms(20));
            }
            let overdue = now + base + ms(held_back);
            assert_eq!(path.silent_at(), Some(overdue), "{eliciting:?}");
            for _ in 0..20 {
                path.on_late_answer(ms(5));
            }
            assert_eq!(path.silent_at(), Some(now + base + MAX_ACK_DELAY));
        }
    }

    /// The RTT is 40 ms; twice, what had been given up is answered after 100.
    #[test]
    fn stalls_are_waited_for_but_where_losses_explain_late_answers() {
        let ms = Duration::from_millis;
        for (lost, waited) in [(0, true), (20, false)] {
            let start = epoch();
            let mut path = path(start);
            for at in 1..50 {
                path.rtt.update(start + RTT * at, RTT, Duration::ZERO);
            }
            path.loss.update(100 - lost, lost);
            let usual = path.usual_wait(MAX_ACK_DELAY);
            assert!(usual < ms(60), "{usual:?}");
            for at in [2_000, 2_200] {
                let sent_at = Some(start + ms(at));
                path.on_waited(start + ms(at + 100), sent_at, sent_at);
            }
            let sent_at = start + ms(2_400);
            send(&mut path, sent_at, Eliciting::Soon);
            let patience = if waited { ms(100) * 9 / 8 } else { usual };
            assert_eq!(path.silent_at(), Some(sent_at + patience), "{lost} lost");
        }
    }
}
