//! Verdicts on planted sequences of losses and delays.

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
fn after(own: f64) -> Delays {
    Delays {
        own,
        least: 0.0,
        swing: 0.0,
        packet_time: PACKET_TIME,
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
                Lesson::DeeplyDrained => (lost, lesson),
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

/// What a hundred deep drains of 30 packets teach that all come while others have filled the queue
/// of 100 ms, and lose a tenth of what is sent into it.
fn taught_beside_others(lesson_delay: f64, least: f64) -> Evidence {
    let mut evidence = Evidence::new();
    let nothing = (Lesson::None, Lesson::None);
    for _ in 0..100 {
        evidence.on_ack(after(0.1), 10.0, Losses::default(), nothing);
        let delays = Delays {
            least,
            ..after(lesson_delay)
        };
        for _ in 0..3 {
            let losses = Losses {
                lost: 1,
                drained: 1,
                runs: 1,
                delay: None,
            };
            let lessons = (Lesson::DeeplyDrained, Lesson::DeeplyDrained);
            evidence.on_ack(delays, 9.0, losses, lessons);
        }
        evidence.on_round(PACKET_TIME, 1e6, 1e6);
    }
    evidence
}

#[test]
fn what_a_drain_loses_in_a_queue_that_others_fill_is_not_the_links_own() {
    let evidence = taught_beside_others(0.09, 0.0);
    assert_eq!(evidence.baseline(), 0.0);
    assert!(!evidence.knows_baseline());
}

#[test]
fn what_a_drain_loses_where_no_queue_stands_is_the_links_own() {
    let baseline = taught_beside_others(0.01, 0.0).baseline();
    assert!((0.09..0.11).contains(&baseline), "{baseline}");
}

/// A path that holds one packet: four of them make a queue whatever one does.
#[test]
fn the_queue_of_the_fewest_packets_does_not_count_as_others() {
    let baseline = taught_beside_others(0.06, 0.055).baseline();
    assert!((0.09..0.11).contains(&baseline), "{baseline}");
}

/// A path whose drains have shown a loss of 20 %.
fn noisy() -> Flow {
    let mut flow = Flow::new(1, 0.2).started();
    flow.run(80, 0.03);
    flow
}

/// Packets of a drain of which `acked` are acknowledged and `lost` noticed as lost now.
fn drained(flow: &mut Flow, acked: f64, lost: u64) {
    let losses = Losses {
        lost,
        drained: lost,
        runs: u32::from(lost > 0),
        delay: None,
    };
    let lesson = Lesson::DeeplyDrained;
    let evidence = &mut flow.evidence;
    evidence.on_ack(after(0.0), acked, losses, (lesson, lesson));
    evidence.on_round(PACKET_TIME, 1e6, 1e6);
}

#[test]
fn a_drain_whose_losses_are_noticed_a_round_before_the_rest_is_one_lesson() {
    let mut flow = noisy();
    let known = flow.evidence.deep.packets;
    drained(&mut flow, 0.0, 20);
    drained(&mut flow, 80.0, 0);
    flow.pass(0.03, Lesson::None);
    assert!(!flow.evidence.take_repeat());
    assert!(flow.evidence.deep.packets >= known.min(0.5 * super::DEEP_MEMORY));
    let baseline = flow.evidence.baseline();
    assert!((0.15..0.25).contains(&baseline), "{baseline:.2}");
}

#[test]
fn a_drain_that_loses_far_more_than_those_before_is_to_be_confirmed() {
    let mut flow = noisy();
    drained(&mut flow, 20.0, 80);
    flow.pass(0.03, Lesson::None);
    assert!(flow.evidence.take_repeat());
    let misled = flow.evidence.baseline();
    // It was a burst.
    drained(&mut flow, 80.0, 20);
    flow.pass(0.03, Lesson::None);
    assert!(!flow.evidence.take_repeat());
    let baseline = flow.evidence.baseline();
    assert!(baseline < 0.8 * misled, "{baseline:.2} after {misled:.2}");
}

#[test]
fn drains_that_show_nothing_are_not_repeated_for_ever() {
    let mut flow = noisy();
    drained(&mut flow, 20.0, 80);
    flow.pass(0.03, Lesson::None);
    let repeats = (0..20).filter(|_| {
        flow.pass(0.03, Lesson::None);
        flow.evidence.take_repeat()
    });
    assert_eq!(repeats.count(), 3);
}

/// Blocks of 24 packets, each of which makes a queue of 12 while it leaves, over a link that loses
/// the packets that `is_lost` names by their places in the block. A loss is found three packets
/// later. Returns what counts as lost at high delay.
fn lost_at_high_delay_of_blocks(is_judged_where_it_was: bool, is_lost: fn(u32) -> bool) -> f64 {
    let mut evidence = Evidence::new();
    let delay = |place: u32| 0.5 * PACKET_TIME * f64::from(place);
    for block in 0..10 {
        // The first one shows how long the queue may be.
        let is_lost = |place| block > 0 && is_lost(place);
        for place in 0..24u32 {
            let found = place.checked_sub(3).filter(|&at| is_lost(at));
            let losses = Losses {
                lost: u64::from(found.is_some()),
                drained: 0,
                runs: u32::from(found.is_some()),
                delay: found
                    .filter(|_| is_judged_where_it_was)
                    .map(|at| delay(at + 1)),
            };
            let acked = f64::from(u8::from(!is_lost(place)));
            let nothing = (Lesson::None, Lesson::None);
            evidence.on_ack(after(delay(place)), acked, losses, nothing);
        }
    }
    evidence.lost_at_high_delay()
}

#[test]
fn a_loss_is_judged_by_the_queue_that_it_met_not_by_the_one_when_it_was_found() {
    let in_front = |place| matches!(place, 9 | 10);
    assert_eq!(lost_at_high_delay_of_blocks(true, in_front), 0.0);
    assert!(lost_at_high_delay_of_blocks(false, in_front) > 0.05);
    let at_the_end = |place| matches!(place, 17 | 18);
    assert!(lost_at_high_delay_of_blocks(true, at_the_end) > 0.1);
}

/// What shows as congestion to an application that pauses, over a link whose drains have lost
/// nothing, when `lost` packets of 120 get lost in a long queue, in so many runs.
fn shown_by_a_pause(lost: u32, runs: u32) -> f64 {
    let mut evidence = Evidence::new();
    let drained = (Lesson::DeeplyDrained, Lesson::DeeplyDrained);
    evidence.on_ack(after(0.0), 400.0, Losses::default(), drained);
    let nothing = (Lesson::None, Lesson::None);
    // The queue may be long.
    evidence.on_ack(after(0.05), 1.0, Losses::default(), nothing);
    evidence.on_round(PACKET_TIME, 1e6, 1e6);
    let losses = Losses {
        lost: lost.into(),
        drained: 0,
        runs,
        delay: None,
    };
    let acked = f64::from(120 - lost);
    evidence.on_ack(after(0.045), acked, losses, nothing);
    evidence.at_high_delay_of_pauses()
}

#[test]
fn a_burst_of_the_link_that_meets_a_queue_is_no_overflow_of_it() {
    for lost in 6..30 {
        assert_eq!(shown_by_a_pause(lost, 1), 0.0, "{lost}");
    }
}

#[test]
fn a_queue_that_overflows_here_and_there_is_noticed_though_the_application_pauses() {
    for runs in [6, 4] {
        assert!(shown_by_a_pause(6, runs) > 0.03, "{runs} runs");
    }
}

#[test]
fn a_loss_far_below_the_largest_delay_of_long_ago_is_no_overflow_unless_data_pause() {
    // A queue of 40 ms was full once; since then 5 ms of it stand, and one packet of 1000 is lost.
    let mut flow = Flow::new(9, 0.0).started();
    flow.run(1, 0.04);
    flow.run(150, 0.005);
    let mut evidence = flow.evidence;
    let delays = Delays {
        own: 0.005,
        least: 0.0,
        swing: 0.0,
        packet_time: PACKET_TIME,
    };
    let lost = Losses {
        lost: 3,
        runs: 3,
        ..Losses::default()
    };
    for (pauses, wireless) in [(false, 3), (true, 0)] {
        evidence.set_pauses(pauses);
        let before = evidence.verdicts();
        evidence.on_ack(delays, 100.0, lost, (Lesson::None, Lesson::None));
        let after = evidence.verdicts();
        assert_eq!(after.wireless, before.wireless + wireless, "{pauses}");
    }
}

#[test]
fn two_losses_where_delays_vary_by_a_queue_are_no_overflow_and_four_are() {
    let shows = |swing: f64, delay: f64, lost: u64| {
        let mut evidence = Evidence::new();
        let empty = after(0.0);
        let drained = (Lesson::DeeplyDrained, Lesson::None);
        evidence.on_ack(empty, 400.0, Losses::default(), drained);
        let full = Delays {
            swing,
            ..after(delay)
        };
        let losses = Losses {
            lost,
            runs: lost as u32,
            ..Losses::default()
        };
        evidence.on_ack(full, 20.0, losses, (Lesson::None, Lesson::None));
        evidence.at_high_delay() > 0.0
    };
    assert!(shows(0.0, 0.02, 2), "nothing but a queue is as late");
    assert!(!shows(0.02, 0.02, 2), "others were as late without a loss");
    assert!(shows(0.02, 0.02, 4));
    assert!(shows(0.02, 0.2, 2), "no delay varies by as much");
    assert!(shows(0.006, 0.01, 2), "half a short queue");
}
