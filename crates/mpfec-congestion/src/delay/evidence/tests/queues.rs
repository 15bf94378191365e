//! Which queue a loss has met.

use super::super::{Delays, Evidence, Lesson, Losses};
use super::{Flow, PACKET_TIME, after};

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
        least_packet_time: PACKET_TIME,
        stalled: 0.0,
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
fn what_a_host_that_stood_still_made_late_is_no_queue_unless_delays_vary_by_much_of_one() {
    // The queue is 5 ms long.
    let cases = [
        (0.06, 0.0, 0),
        (0.06, 0.0004, 0),
        (0.06, 0.0006, 3),
        (0.0, 0.0, 3),
    ];
    for (stalled, swing, wireless) in cases {
        let mut flow = Flow::new(9, 0.0).started();
        flow.run(50, 0.005);
        let mut evidence = flow.evidence;
        let varying = Delays {
            swing,
            ..after(0.004)
        };
        let late = Delays {
            own: 0.064,
            stalled,
            ..varying
        };
        let nothing = (Lesson::None, Lesson::None);
        evidence.on_ack(late, 20.0, Losses::default(), nothing);
        evidence.on_ack(varying, 10.0, Losses::default(), nothing);
        let before = evidence.verdicts();
        let lost = Losses {
            lost: 3,
            runs: 3,
            ..Losses::default()
        };
        evidence.on_ack(varying, 100.0, lost, nothing);
        let after = evidence.verdicts();
        let scene = format!("{stalled} s late, delays vary by {swing} s");
        assert_eq!(after.wireless, before.wireless + wireless, "{scene}");
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
