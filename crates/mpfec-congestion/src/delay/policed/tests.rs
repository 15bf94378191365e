//! A sender behind a policer, and behind links that only look like one.

use super::*;
use crate::delay::tests::{Random, epoch};

/// A path of 20 ms and who sends over it: nothing waits, whatever is sent.
struct Scene {
    policed: Policed,
    random: Random,
    /// Packets per second that pass, and how many at once; infinite without a policer.
    passes: f64,
    at_once: f64,
    /// Share that the link loses of these.
    loses: f64,
    now: f64,
    tokens: f64,
    /// Since the last acknowledgement.
    acked: u32,
    lost: u32,
    /// Since the last question.
    sent: u32,
    arrived: u32,
}

impl Scene {
    fn new(passes: f64, at_once: f64, loses: f64, seed: u64) -> Self {
        Self {
            policed: Policed::default(),
            random: Random(seed),
            passes,
            at_once,
            loses,
            now: 0.0,
            tokens: at_once,
            acked: 0,
            lost: 0,
            sent: 0,
            arrived: 0,
        }
    }

    /// A packet leaves, `after` seconds behind the one before.
    fn send(&mut self, after: f64) {
        self.now += after;
        self.policed.on_sent(self.at(0.0));
        self.tokens = (self.tokens + self.passes.min(1e9) * after).min(self.at_once);
        let is_dropped = self.passes.is_finite() && self.tokens < 1.0;
        if !is_dropped {
            self.tokens -= 1.0;
        }
        self.sent += 1;
        if is_dropped || self.random.next() < self.loses {
            self.lost += 1;
        } else {
            self.acked += 1;
            self.arrived += 1;
        }
        if self.acked == 2 {
            self.policed.on_ack(&Acked {
                now: self.at(0.02),
                sent_at: self.at(0.0),
                packets: 2.0,
                lost: f64::from(self.lost),
                delay: 0.0,
                rtt: 0.02,
            });
            (self.acked, self.lost) = (0, 0);
        }
    }

    fn at(&self, later: f64) -> Instant {
        start() + Duration::from_secs_f64(self.now + later)
    }

    /// So many seconds of somebody who would send so many packets per second.
    fn bulk(&mut self, seconds: f64, wanted: f64) {
        let end = self.now + seconds;
        (self.sent, self.arrived) = (0, 0);
        while self.now < end {
            let rate = self.policed.pace().unwrap_or(f64::INFINITY).min(wanted);
            self.send(1.0 / rate);
        }
    }

    /// Bursts of so many packets, twenty per second.
    fn bursts(&mut self, seconds: f64, packets: u32) {
        let end = self.now + seconds;
        (self.sent, self.arrived) = (0, 0);
        while self.now < end {
            let mut took = 0.0;
            for _ in 0..packets {
                let gap = 1.0 / self.policed.pace().unwrap_or(20_000.0);
                self.send(gap);
                took += gap;
            }
            self.now += (0.05_f64 - took).max(0.0);
            self.tokens =
                (self.tokens + self.passes * (0.05_f64 - took).max(0.0)).min(self.at_once);
        }
    }

    /// Share of what was sent since the last question that did not arrive.
    fn lost(&self) -> f64 {
        1.0 - f64::from(self.arrived) / f64::from(self.sent)
    }

    fn limit(&self) -> f64 {
        self.policed.limit().expect("a policer is seen")
    }
}

fn start() -> Instant {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(epoch)
}

#[test]
fn what_a_policer_lets_pass_is_found_and_hardly_exceeded() {
    for (at_once, loses) in [(5.0, 0.0), (100.0, 0.0), (20.0, 0.02), (20.0, 0.2)] {
        let mut scene = Scene::new(1000.0, at_once, loses, 3);
        scene.bulk(40.0, 1500.0);
        scene.bulk(60.0, 1500.0);
        let (limit, lost) = (scene.limit(), scene.lost());
        assert!(
            (950.0 * (1.0 - loses)..1200.0).contains(&limit),
            "{at_once} {loses}: {limit:.0}"
        );
        assert!(lost < loses + 0.05, "{at_once} {loses}: {lost:.3} are lost");
        let passed = f64::from(scene.arrived) / 60.0;
        assert!(
            passed > 0.95 * 1000.0 * (1.0 - loses),
            "{at_once} {loses}: {passed:.0}"
        );
    }
}

#[test]
fn a_noisy_link_is_no_policer_and_seldom_tried_as_one() {
    let mut tried = 0;
    for loses in [0.02, 0.1, 0.3, 0.5] {
        for seed in 1..=10 {
            let mut scene = Scene::new(f64::INFINITY, 1.0, loses, seed);
            scene.bulk(120.0, 1000.0);
            assert_eq!(scene.policed.limit(), None, "{loses}, seed {seed}");
            tried += u32::from(scene.policed.rests_until.is_some());
        }
    }
    assert!(tried <= 4, "in {tried} of 40 runs");
}

#[test]
fn where_the_losses_stay_the_limit_goes_and_is_not_tried_again_for_half_a_minute() {
    let mut scene = Scene::new(1000.0, 5.0, 0.0, 3);
    scene.bulk(1.0, 1500.0);
    while scene.policed.limit().is_none() {
        scene.bulk(0.01, 1500.0);
    }
    // It was none: a third of the packets is lost at any rate.
    (scene.passes, scene.loses) = (f64::INFINITY, 0.33);
    scene.bulk(1.0, 1500.0);
    assert_eq!(scene.policed.limit(), None);
    (scene.passes, scene.loses) = (1000.0, 0.0);
    scene.bulk(28.0, 1500.0);
    assert_eq!(scene.policed.limit(), None);
    scene.bulk(30.0, 1500.0);
    scene.limit();
}

#[test]
fn a_link_that_begins_to_lose_more_keeps_its_limit() {
    let mut scene = Scene::new(1000.0, 20.0, 0.0, 3);
    scene.bulk(40.0, 1500.0);
    scene.loses = 0.1;
    scene.bulk(60.0, 1500.0);
    let limit = scene.limit();
    assert!((900.0..1150.0).contains(&limit), "{limit:.0}");
}

#[test]
fn a_policer_that_lets_ten_times_as_much_pass_is_found_out_within_half_a_minute() {
    let mut scene = Scene::new(1000.0, 20.0, 0.0, 3);
    scene.bulk(60.0, 1500.0);
    scene.passes = 10_000.0;
    scene.bulk(30.0, 8000.0);
    assert_eq!(scene.policed.limit(), None);
}

#[test]
fn losses_ahead_of_a_busy_bottleneck_are_none_of_a_policer_where_packets_wait() {
    let mut policed = Policed::default();
    for index in 0..200_000_u32 {
        let sent_at = start() + index * Duration::from_millis(2);
        policed.on_ack(&Acked {
            now: sent_at + Duration::from_millis(30),
            sent_at,
            packets: 2.0,
            lost: 1.0,
            delay: 0.01,
            rtt: 0.03,
        });
    }
    assert_eq!(policed.limit(), None);
}

#[test]
fn who_pauses_sends_at_once_what_passes_at_once() {
    let mut scene = Scene::new(1000.0, 30.0, 0.0, 3);
    // More than passes, so that the policer shows; then 400 packets per second.
    scene.bulk(40.0, 1500.0);
    scene.limit();
    scene.bursts(60.0, 20);
    scene.bursts(20.0, 20);
    assert!(scene.limit() > 900.0, "{:.0}", scene.limit());
    assert!(scene.lost() < 0.03, "{:.3} are lost", scene.lost());
    assert!(scene.policed.limit.is_some_and(|limit| limit.burst >= 20.0));
}

#[test]
fn who_pauses_sends_no_more_at_once_than_passes() {
    let mut scene = Scene::new(1000.0, 5.0, 0.0, 3);
    scene.bulk(40.0, 1500.0);
    scene.bursts(60.0, 20);
    assert!(scene.limit() > 900.0, "{:.0}", scene.limit());
    assert!(scene.lost() < 0.05, "{:.3} are lost", scene.lost());
}

#[test]
fn packets_of_half_the_size_pass_twice_as_fast() {
    let mut scene = Scene::new(1000.0, 20.0, 0.0, 3);
    scene.bulk(40.0, 1500.0);
    let before = scene.limit();
    scene.policed.resize(2.0);
    assert_eq!(scene.limit(), 2.0 * before);
}

#[test]
fn a_limit_is_kept_in_bursts_of_losses() {
    for seed in 1..=5 {
        let mut scene = Scene::new(1000.0, 20.0, 0.0, seed);
        scene.bulk(40.0, 1500.0);
        let mut arrived = 0;
        for _ in 0..300 {
            scene.bulk(0.9, 1500.0);
            arrived += scene.arrived;
            scene.loses = 0.3;
            scene.bulk(0.1, 1500.0);
            arrived += scene.arrived;
            scene.loses = 0.0;
        }
        // Of 970 packets per second that such a link lets through.
        let rate = f64::from(arrived) / 300.0;
        assert!(rate > 850.0, "seed {seed}: {rate:.0}");
        assert!(scene.limit() > 700.0, "seed {seed}: {:.0}", scene.limit());
    }
}

#[test]
fn losses_of_who_sends_less_than_the_limit_do_not_take_it_down() {
    let mut scene = Scene::new(1000.0, 20.0, 0.0, 3);
    scene.bulk(40.0, 1500.0);
    let limit = scene.limit();
    scene.loses = 0.05;
    scene.bulk(120.0, 100.0);
    assert!(
        scene.limit() > 0.9 * limit,
        "{limit:.0} {:.0}",
        scene.limit()
    );
}

#[test]
fn a_policer_of_a_gigabit_per_second_is_seen() {
    let mut scene = Scene::new(80_000.0, 1000.0, 0.0, 3);
    scene.bulk(10.0, 120_000.0);
    let limit = scene.limit();
    assert!((78_000.0..86_000.0).contains(&limit), "{limit:.0}");
}

#[test]
fn packets_that_counted_as_lost_and_have_arrived_show_none() {
    let mut scene = Scene::new(1000.0, 20.0, 0.0, 3);
    for _ in 0..400 {
        scene.bulk(0.1, 1500.0);
        scene.policed.on_spurious_loss();
    }
    assert_eq!(scene.policed.limit(), None);
}

/// A bucket that has filled in a pause passes more for a while, which is as long as it takes to believe it. Who
/// then wants less than that, but more than passes, loses what exceeds, and took it for the link's own.
#[test]
fn what_was_saved_up_does_not_raise_the_limit_for_good() {
    for seed in 0..6 {
        let mut scene = Scene::new(1650.0, 400.0, 0.01, seed);
        scene.bulk(20.0, 1900.0);
        let before = scene.limit();
        for _ in 0..3 {
            scene.bulk(1.0, 1000.0);
            scene.bulk(10.0, 1900.0);
        }
        scene.bulk(10.0, 1900.0);
        let (limit, lost) = (scene.limit(), scene.lost());
        let passes = 1590.0..=1850.0;
        assert!(
            passes.contains(&limit),
            "seed {seed}: {before:.0}, then {limit:.0} packets per second"
        );
        assert!(lost <= 0.06, "seed {seed}: {lost:.3} lost");
    }
}
