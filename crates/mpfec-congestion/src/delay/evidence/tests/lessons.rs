//! What drains teach, and what they do not.

use super::super::{Count, DEEP_MEMORY, Delays, Evidence, Lesson, Losses};
use super::{Flow, PACKET_TIME, after};

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

/// The queue of 100 ms drops a fiftieth of what others fill it with, after a host has stood still for a
/// quarter of a second, so that this looks like less than half of a full one.
#[test]
fn what_others_overflow_is_no_loss_of_the_link_however_long_a_host_has_stood_still() {
    let taught = |is_filled: bool| {
        let mut evidence = Evidence::new();
        let nothing = (Lesson::None, Lesson::None);
        evidence.on_others();
        evidence.set_filled(is_filled);
        evidence.on_ack(after(0.25), 10.0, Losses::default(), nothing);
        for _ in 0..50 {
            let losses = Losses {
                lost: 1,
                runs: 1,
                ..Losses::default()
            };
            evidence.on_ack(after(0.1), 49.0, losses, nothing);
            evidence.on_round(PACKET_TIME, 1e6, 1e6);
        }
        evidence.baseline()
    };
    assert_eq!(taught(true), 0.0);
    assert!(taught(false) > 0.01, "{}", taught(false));
}

#[test]
fn what_a_drain_loses_where_no_queue_stands_is_the_links_own() {
    let baseline = taught_beside_others(0.01, 0.0).baseline();
    assert!((0.09..0.11).contains(&baseline), "{baseline}");
}

#[test]
fn drains_that_lost_nothing_prove_that_the_link_does_not() {
    let mut evidence = taught_beside_others(0.01, 0.0);
    assert!((0.09..0.11).contains(&evidence.proven_baseline()));
    evidence.deep = Count {
        packets: 300.0,
        lost: 0.0,
    };
    assert!(evidence.baseline() > 0.09 && evidence.proven_baseline() < 0.002);
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
    assert!(flow.evidence.deep.packets >= known.min(0.5 * DEEP_MEMORY));
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
