//! Verdicts on planted sequences of losses and delays.

mod lessons;
mod queues;

use super::super::tests::Random;
use super::{Delays, Evidence, Lesson, Losses, Runs};

/// Rounds of a flow of 100 packets on a path of 100 ms that carries 1000 packets per second.
struct Flow {
    evidence: Evidence,
    random: Random,
    /// Share of packets lost at random, and mean length of the bursts they come in.
    loss: f64,
    burst: f64,
    /// Packets that the present burst still takes.
    losing: u32,
    /// The delay, seconds, from which on the queue overflows, and what it loses then.
    overflow: Option<(f64, f64)>,
    round: u32,
    /// Packets seen so far, and verdicts of congestion.
    packets: u32,
    verdicts: u32,
    /// Packets until the first verdict.
    first: Option<u32>,
    /// Losses are taken for independent ones.
    ignores_dispersion: bool,
}

const PACKET_TIME: f64 = 0.001;
const WINDOW: u32 = 100;
/// Acknowledgements of a round.
const ACKS: u32 = 10;

/// Of an acknowledgement that many seconds later than on the empty path.
pub(in crate::delay) fn after(own: f64) -> Delays {
    Delays {
        own,
        least: 0.0,
        swing: 0.0,
        packet_time: PACKET_TIME,
        least_packet_time: PACKET_TIME,
        stalled: 0.0,
    }
}

impl Flow {
    fn new(seed: u64, loss: f64) -> Self {
        Self {
            evidence: Evidence::new(),
            random: Random(seed),
            loss,
            burst: 1.0,
            losing: 0,
            overflow: None,
            round: 0,
            packets: 0,
            verdicts: 0,
            first: None,
            ignores_dispersion: false,
        }
    }

    fn bursts(self, burst: f64) -> Self {
        Self { burst, ..self }
    }

    /// A start-up of three rounds that makes no queue, as the controller ends it.
    fn started(mut self) -> Self {
        for _ in 0..3 {
            self.pass(0.0, Lesson::StartingUp);
        }
        self.evidence.forget_start(true);
        self
    }

    fn is_lost(&mut self, delay: f64) -> bool {
        if self.losing > 0 {
            self.losing -= 1;
            return true;
        }
        if self.random.next() < self.loss / (self.burst - self.loss * (self.burst - 1.0)) {
            while self.burst > 1.0 && self.random.next() > 1.0 / self.burst {
                self.losing += 1;
            }
            return true;
        }
        self.overflow
            .is_some_and(|(full, share)| delay >= full && self.random.next() < share)
    }

    /// A round at a queue delay that rises to `delay` and falls again.
    fn pass(&mut self, delay: f64, lesson: Lesson) {
        let per_ack = (WINDOW / ACKS).max(1);
        let (mut acked, mut lost, mut runs, mut was_lost) = (0.0, 0, 0, false);
        for packet in 0..WINDOW {
            self.packets += 1;
            let phase = f64::from(packet) / f64::from(WINDOW);
            let delay = delay * (1.0 - (2.0 * phase - 1.0).abs());
            let is_lost = self.is_lost(delay);
            if is_lost {
                lost += 1;
                runs += u32::from(!was_lost);
            } else {
                acked += 1.0;
            }
            was_lost = is_lost;
            if packet % per_ack != per_ack - 1 {
                continue;
            }
            let (drained, of_lost) = match lesson {
                Lesson::DeeplyDrained | Lesson::Unclear => (lost, lesson),
                Lesson::None | Lesson::StartingUp => (0, Lesson::None),
            };
            self.evidence.on_ack(
                after(delay),
                acked,
                Losses {
                    lost,
                    drained,
                    runs,
                    delay: None,
                },
                (lesson, of_lost),
            );
            (acked, lost, runs) = (0.0, 0, 0);
            if self.ignores_dispersion {
                self.evidence.runs = Runs::default();
            }
        }
        if self.first.is_none() && self.evidence.congestion() > 0.0 {
            self.first = Some(self.packets);
        }
        self.evidence.on_round(PACKET_TIME, 1e6, 1e6);
    }

    /// Rounds with a queue of up to `delay`; every eighth is a deep drain. Verdicts are answered,
    /// with a deep drain as well.
    fn run(&mut self, rounds: u32, delay: f64) {
        for _ in 0..rounds {
            self.round += 1;
            if self.round.is_multiple_of(8) {
                self.pass(0.0, Lesson::DeeplyDrained);
                continue;
            }
            self.pass(delay, Lesson::None);
            if self.evidence.congestion() > 0.0 {
                self.verdicts += 1;
                self.evidence.answer();
                self.pass(0.0, Lesson::DeeplyDrained);
                self.evidence.forget_recent();
            }
        }
    }
}

/// Verdicts in ten thousand packets over twenty flows with random loss only.
fn false_verdicts(loss: f64, burst: f64, ignores_dispersion: bool) -> f64 {
    let (mut verdicts, mut packets) = (0, 0);
    for seed in 1..=20 {
        let mut flow = Flow::new(seed, loss).bursts(burst).started();
        flow.ignores_dispersion = ignores_dispersion;
        flow.run(400, 0.03);
        verdicts += flow.verdicts;
        packets += flow.packets;
    }
    1e4 * f64::from(verdicts) / f64::from(packets)
}

#[test]
fn random_loss_is_hardly_ever_taken_for_congestion() {
    for (loss, most) in [
        (0.0, 0.0),
        (0.001, 2.0),
        (0.01, 0.2),
        (0.05, 0.2),
        (0.2, 0.2),
        (0.5, 0.5),
    ] {
        let verdicts = false_verdicts(loss, 1.0, false);
        assert!(
            verdicts <= most,
            "loss {loss}: {verdicts:.2} in 10 000 packets"
        );
    }
}

#[test]
fn bursts_of_random_loss_are_hardly_ever_taken_for_an_overflow() {
    for (loss, burst, most) in [
        (0.01, 5.0, 3.0),
        (0.05, 5.0, 0.6),
        (0.2, 5.0, 0.3),
        (0.05, 10.0, 2.0),
    ] {
        let verdicts = false_verdicts(loss, burst, false);
        assert!(
            verdicts <= most,
            "loss {loss}, bursts of {burst}: {verdicts:.2} in 10 000 packets"
        );
    }
}

#[test]
fn without_the_measured_dispersion_bursts_would_be_taken_for_overflows() {
    let (with, without) = (
        false_verdicts(0.05, 5.0, false),
        false_verdicts(0.05, 5.0, true),
    );
    assert!(
        without > 4.0 * with.max(0.1),
        "{without:.2}, with {with:.2}"
    );
}

#[test]
fn the_baseline_is_the_loss_of_the_link() {
    for loss in [0.01, 0.05, 0.2, 0.5] {
        let mut sum = 0.0;
        for seed in 1..=20 {
            let mut flow = Flow::new(seed, loss).started();
            flow.run(100, 0.03);
            sum += flow.evidence.baseline();
        }
        let ratio = sum / 20.0 / loss;
        assert!(
            (0.85..1.15).contains(&ratio),
            "loss {loss}: {ratio:.3} of it"
        );
    }
}

/// What a path of which a deep drain of `drained` packets has shown half of the loss of a link,
/// takes for it after some rounds with a queue of up to `delay`.
fn learned(loss: f64, drained: u32, delay: f64) -> f64 {
    let mut sum = 0.0;
    for seed in 1..=20 {
        let mut flow = Flow::new(seed, 0.5 * loss);
        for _ in 0..drained / WINDOW {
            flow.pass(0.0, Lesson::DeeplyDrained);
        }
        flow.loss = loss;
        for _ in 0..30 {
            flow.pass(delay, Lesson::None);
        }
        sum += flow.evidence.baseline() / 20.0;
    }
    sum / loss
}

#[test]
fn a_mistake_of_one_drain_is_corrected_by_what_is_lost_far_below_a_full_queue() {
    let corrected = learned(0.2, 100, 0.05);
    assert!((0.75..1.1).contains(&corrected), "{corrected:.2} of it");
    let known = learned(0.2, 300, 0.05);
    assert!(known < 0.65, "three drains are believed: {known:.2} of it");
    // A burst of others fills a queue of twenty packets at once: that is nobody's lesson.
    let short = learned(0.2, 100, 0.02);
    assert!(short < 0.65, "{short:.2} of it");
}

#[test]
fn a_full_queue_on_a_clean_link_is_found_within_a_round() {
    for share in [0.2, 0.5] {
        for seed in 1..=20 {
            let mut flow = Flow::new(seed, 0.0).started();
            flow.run(40, 0.03);
            assert_eq!(flow.verdicts, 0);
            let before = flow.packets;
            flow.overflow = Some((0.05, share));
            flow.pass(0.1, Lesson::None);
            let found = flow.first.map(|at| at - before);
            assert!(found.is_some(), "overflow {share}, seed {seed}");
        }
    }
}

#[test]
fn a_full_queue_on_a_noisy_link_is_found_within_three_rounds() {
    for (loss, share) in [(0.01, 0.2), (0.05, 0.4), (0.2, 0.6)] {
        for seed in 1..=20 {
            let mut flow = Flow::new(seed, loss).started();
            flow.run(80, 0.03);
            flow.evidence.forget_recent();
            (flow.verdicts, flow.first) = (0, None);
            let before = flow.packets;
            flow.overflow = Some((0.05, share));
            flow.run(3, 0.1);
            let found = flow.first.map(|at| at - before);
            assert!(
                found.is_some_and(|packets| packets <= 3 * WINDOW),
                "loss {loss}, overflow {share}, seed {seed}: {found:?}"
            );
        }
    }
}

#[test]
fn a_newcomer_without_a_baseline_forgives_some_losses_but_not_a_third_of_its_packets() {
    let mut evidence = Evidence::new();
    let delays = after(0.05);
    let lost = |lost: u32| Losses {
        lost: lost.into(),
        drained: 0,
        runs: lost,
        delay: None,
    };
    let nothing = (Lesson::None, Lesson::None);
    evidence.on_ack(delays, 10.0, lost(4), nothing);
    assert!(!evidence.knows_baseline());
    assert_eq!(evidence.congestion(), 0.0);
    assert!(!evidence.shows_clear_congestion());
    for _ in 0..10 {
        evidence.on_ack(delays, 8.0, lost(2), nothing);
        assert_eq!(evidence.congestion(), 0.0);
    }
    evidence.on_ack(delays, 10.0, lost(40), nothing);
    assert!(evidence.congestion() > 0.3, "{}", evidence.congestion());
    assert!(evidence.shows_clear_congestion());
}

#[test]
fn a_newcomer_to_a_queue_that_others_fill_answers_a_tenth_of_its_packets() {
    let found = |is_told: bool, loss: f64| {
        let mut flow = Flow::new(1, loss);
        flow.pass(0.1, Lesson::None);
        if is_told {
            flow.evidence.on_others();
        }
        flow.overflow = Some((0.05, 0.1));
        flow.pass(0.1, Lesson::None);
        flow.first.is_some()
    };
    assert!(found(true, 0.0));
    assert!(!found(false, 0.0), "it may be the link");
}

#[test]
fn what_drains_have_shown_of_a_link_is_known_beside_others_as_well() {
    let mut flow = Flow::new(1, 0.1).started();
    flow.run(40, 0.03);
    let before = flow.evidence.baseline();
    flow.evidence.on_others();
    assert_eq!(flow.evidence.baseline(), before);
    assert!((0.05..0.15).contains(&before), "{before}");
}

#[test]
fn what_overflows_a_queue_of_five_packets_is_no_loss_of_the_link() {
    // The whole queue is 5 ms long, so a fifth is lost before the delay would show it; what is
    // sent in deep drains overflows nothing.
    for seed in 1..=20 {
        let mut flow = Flow::new(seed, 0.0);
        flow.overflow = Some((0.001, 0.2));
        flow = flow.started();
        flow.pass(0.0, Lesson::DeeplyDrained);
        for _ in 0..100 {
            flow.run(1, 0.005);
            let p0 = flow.evidence.baseline();
            assert!(p0 < 0.005, "seed {seed}: {p0:.4}");
        }
        assert!(flow.verdicts > 20, "seed {seed}: {}", flow.verdicts);
    }
}

#[test]
fn an_overflow_that_no_delay_shows_is_found_by_comparison_with_deep_drains() {
    for (loss, share) in [(0.0, 0.2), (0.05, 0.2), (0.2, 0.3)] {
        for seed in 1..=20 {
            let mut flow = Flow::new(seed, loss).started();
            flow.run(32, 0.0);
            let before = flow.packets;
            flow.first = None;
            flow.overflow = Some((0.0, share));
            for _ in 0..4 {
                flow.pass(0.0, Lesson::None);
            }
            assert!(
                flow.first.is_some_and(|at| at - before <= 4 * WINDOW),
                "loss {loss}, overflow {share}, seed {seed}: {:?}",
                flow.first
            );
        }
    }
}

/// In how many of fifty seeds a link that loses `loss`, and whose queue drops `dropped` besides, was seen
/// to lose more than its own share, two percent and chance, in forty rounds.
fn beyond_chance(loss: f64, burst: f64, dropped: f64) -> usize {
    let shows = |seed: u64| {
        let mut flow = Flow::new(seed, loss).bursts(burst).started();
        flow.overflow = Some((0.004, dropped));
        (0..40).any(|_| {
            flow.pass(0.005, Lesson::None);
            flow.evidence.loses_beyond_chance(0.02)
        })
    };
    (1..=50).filter(|&seed| shows(seed)).count()
}

#[test]
fn what_a_queue_drops_for_good_is_told_from_what_a_link_loses() {
    for (loss, burst) in [(0.0, 1.0), (0.01, 1.0), (0.02, 1.0), (0.01, 4.0)] {
        let seen = beyond_chance(loss, burst, 0.0);
        assert!(seen <= 1, "{loss} in bursts of {burst}: {seen}");
    }
    // A fifth of the packets meet a queue of 4 ms.
    assert_eq!(beyond_chance(0.0, 1.0, 0.5), 50);
    assert_eq!(beyond_chance(0.01, 4.0, 0.5), 50);
}
