//! What a burst of losses has taken holds no place in the window.
//!
//! A lost packet holds its place for a round trip, as one that arrives does: by then an acknowledgement
//! would have let the next one out. That it is lost shows only when later ones are acknowledged. Where a
//! path holds few packets a burst leaves none of these, and the path would stand still until a PTO.

use std::time::Duration;

use super::steady::LOSS_FREE;
use super::{Delay, Mode};
use crate::Overdue;

impl Delay {
    /// Packets that waited for longer than any of late, when acknowledgements have stopped. Not where the
    /// link itself loses none: what a full queue drops in a row calls for less, not for more. Nor where
    /// packets arrive together, for there acknowledgements stop all the time. A drain is no time to send
    /// more, and start-up sends twice as much by itself.
    pub(super) fn overdue_packets(&self) -> Option<Overdue> {
        let is_steady = matches!(self.mode, Mode::Steady(_)) && !self.is_held;
        let burst = self.evidence.burst();
        let is_of_link = self.evidence.baseline() >= LOSS_FREE && burst > SHORT;
        if !is_steady || !is_of_link || self.aggregate().is_some() {
            return None;
        }
        let packets = (BURSTS * (burst - 1.0)).min(self.window);
        let packet_time = 1.0 / self.rate.max(1.0);
        let slowest = self.delay_max.max(self.round.delay_max());
        let age = self.floor_seconds() + self.held_up + slowest + packet_time + SLACK;
        let together = self.batch.max(self.round.batch);
        let pause = (1.0 + together) * packet_time + SLACK;
        Some(Overdue {
            age: Duration::try_from_secs_f64(age).ok()?,
            pause: Duration::try_from_secs_f64(pause).ok()?,
            bytes: (packets * self.mss) as u64,
        })
    }
}

/// Times what a usual burst takes beyond one packet. What takes more is perhaps no burst, but the end of
/// the path.
const BURSTS: f64 = 8.0;
/// Mean of what a full queue drops in a row.
const SHORT: f64 = 1.5;
/// Seconds by which what is on time may seem late, for timers of hosts.
const SLACK: f64 = 0.0005;

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::after;
    use super::super::evidence::{Lesson, Losses};
    use super::super::startup::Startup;
    use super::super::tests::{Link, MSS};
    use super::*;
    use crate::CongestionController;

    /// A path of 10 ms that carries 1000 packets per second, of which 100 have got lost in so many runs.
    fn path(runs: u32) -> Delay {
        path_taught(runs, Lesson::StartingUp)
    }

    /// The same, and what that says about what the link itself loses.
    fn path_taught(runs: u32, lesson: Lesson) -> Delay {
        let mut link = Link::new(1000.0, 0.01, 40.0);
        link.rounds(60, 1e9);
        while link.control.is_held {
            link.round(1e9);
        }
        let mut control = link.control;
        assert_eq!(control.state(), "steady");
        let delays = after(0.0);
        let losses = Losses {
            lost: 100,
            drained: 0,
            runs,
            delay: None,
        };
        let lessons = (lesson, Lesson::None);
        control.evidence.on_ack(delays, 800.0, losses, lessons);
        control
    }

    fn packets(control: &Delay) -> Option<f64> {
        Some(control.overdue()?.bytes as f64 / f64::from(MSS))
    }

    #[test]
    fn as_many_packets_hold_no_place_as_bursts_may_take_and_no_more_than_the_window() {
        assert_eq!(packets(&path(100)), None);
        assert_eq!(packets(&path(60)), None);
        let short = packets(&path(40)).expect("bursts of two and a half");
        assert!((4.0..10.0).contains(&short), "{short:.1} packets");
        let control = path(10);
        let long = packets(&control).expect("bursts of ten");
        assert!((long - control.window).abs() < 0.01, "{long:.1} packets");
        assert!(long > 1.2 * short, "{long:.1} and {short:.1} packets");
    }

    #[test]
    fn they_are_those_later_than_any_of_late_when_acknowledgements_have_stopped() {
        let control = path(10);
        let overdue = control.overdue().expect("bursts of ten");
        let (age, pause) = (overdue.age.as_secs_f64(), overdue.pause.as_secs_f64());
        let slowest = control.floor_seconds() + control.delay_max;
        assert!(slowest > 0.012, "{slowest:.4} s");
        assert!(age > slowest + 0.001 && age < slowest + 0.002, "{age:.4} s");
        // One or two packets are acknowledged at a time.
        assert!((0.002..0.004).contains(&pause), "{pause:.4} s");
    }

    #[test]
    fn what_is_lost_in_a_row_on_a_link_that_loses_nothing_by_itself_calls_for_no_more() {
        assert_eq!(packets(&path_taught(10, Lesson::None)), None);
    }

    /// Where packets arrive together, acknowledgements stop all the time.
    #[test]
    fn neither_start_up_nor_a_drain_nor_a_path_of_aggregates_sends_more_for_them() {
        let mut control = path(10);
        control.is_held = true;
        assert_eq!(packets(&control), None);
        control.is_held = false;
        assert!(packets(&control).is_some());
        for _ in 0..9 {
            control.batch = 14.0;
            control.note_batch();
        }
        assert!(control.aggregate().is_some());
        assert_eq!(packets(&control), None);
        let mut control = path(10);
        control.mode = Mode::Startup(Startup::first(20.0));
        assert_eq!(packets(&control), None);
    }
}
