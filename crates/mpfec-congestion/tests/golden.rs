//! Values computed by hand from the papers.

use std::time::{Duration, Instant};

use mpfec_congestion::{
    Ack, CongestionController, CongestionEvent, ControllerKind, Group, LossVerdicts, RateSample,
    RttEstimator, Subflow,
};

const MSS: u64 = 1000;

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// An estimator whose minimum is `min` and whose smoothed value is `smoothed`.
fn rtt(now: Instant, min: Duration, smoothed: Duration) -> RttEstimator {
    let mut rtt = RttEstimator::new(ms(333));
    rtt.update(now, min, Duration::ZERO);
    for _ in 0..200 {
        rtt.update(now, smoothed, Duration::ZERO);
    }
    rtt
}

fn ack<'a>(now: Instant, packets: u32, rtt: &'a RttEstimator, group: Group<'a>) -> Ack<'a> {
    Ack {
        now,
        sent_at: now - ms(1),
        bytes: u64::from(packets) * MSS,
        packets,
        in_flight: 0,
        app_limited: false,
        rtt,
        rate: None,
        group,
    }
}

fn loss<'a>(now: Instant, rtt: &'a RttEstimator) -> CongestionEvent<'a> {
    CongestionEvent {
        now,
        sent_at: now - ms(1),
        bytes: MSS,
        packets: 1,
        in_flight: 0,
        ecn: false,
        rtt,
        group: Group::ALONE,
    }
}

/// A controller in congestion avoidance with a window of ten packets.
fn with_ten_packets(kind: ControllerKind, now: Instant) -> Box<dyn CongestionController> {
    let mut controller = kind.build(MSS as u16, now, 20);
    // Half of twenty, whatever the classifier: twenty packets at twice the RTT are a queue.
    controller.on_congestion_event(&loss(now, &rtt(now, ms(50), ms(100))));
    assert_eq!(
        (controller.cwnd(), controller.ssthresh()),
        (10 * MSS, Some(10 * MSS))
    );
    controller
}

#[test]
fn lia_grows_by_a_fortieth_of_a_packet_in_the_example_of_couple_plus() {
    // w = (10, 20), RTT = (0.1, 0.2) s: a = 30 x 1000 / 200^2 = 0.75 and
    // min(0.75 / 30, 1 / 10) = 0.025 packets for one packet acknowledged on path 1.
    let now = epoch();
    let subflow = |packets, srtt| Subflow {
        cwnd: packets * MSS,
        srtt,
        delivery_rate: 0,
        mss: MSS as u16,
    };
    let subflows = [subflow(10, ms(100)), subflow(20, ms(200))];
    for kind in [ControllerKind::Lia, ControllerKind::LiaDiff] {
        let mut controller = with_ten_packets(kind, now);
        let later = now + ms(200);
        let group = Group {
            subflows: &subflows,
            me: 0,
        };
        controller.on_ack(&ack(later, 1, &rtt(now, ms(100), ms(100)), group));
        assert_eq!(controller.cwnd(), 10 * MSS + MSS / 40, "{kind}");
    }
}

#[test]
fn new_reno_grows_by_a_packet_per_window() {
    let now = epoch();
    let mut controller = with_ten_packets(ControllerKind::NewReno, now);
    let later = now + ms(200);
    controller.on_ack(&ack(later, 10, &rtt(now, ms(100), ms(100)), Group::ALONE));
    assert_eq!(controller.cwnd(), 11 * MSS);
}

#[test]
fn one_loss_episode_is_answered_once() {
    let now = epoch();
    for kind in [
        ControllerKind::NewReno,
        ControllerKind::Lia,
        ControllerKind::LiaDiff,
    ] {
        let mut controller = with_ten_packets(kind, now);
        // Found later, but sent before the window was cut.
        let queue = rtt(now, ms(50), ms(100));
        let event = CongestionEvent {
            sent_at: now - ms(5),
            ..loss(now + ms(50), &queue)
        };
        controller.on_congestion_event(&event);
        assert_eq!(controller.cwnd(), 10 * MSS, "{kind}");
    }
}

#[test]
fn pnc_takes_a_loss_without_a_queue_for_noise() {
    // diff = 20 (1 - 100 / 104) = 0.77 packets: at most 1 (Eq. 20).
    let now = epoch();
    let mut controller = ControllerKind::LiaDiff.build(MSS as u16, now, 20);
    controller.on_congestion_event(&loss(now, &rtt(now, ms(100), ms(104))));
    assert_eq!(controller.cwnd(), 20 * MSS);
    assert_eq!(
        controller.loss_verdicts(),
        LossVerdicts {
            wireless: 1,
            ..Default::default()
        }
    );
}

#[test]
fn pnc_keeps_its_verdict_between_the_thresholds() {
    // diff = 20 (1 - 100 / 110) = 1.8 packets: whatever was said before.
    let now = epoch();
    let unclear = rtt(now, ms(100), ms(110));
    let mut controller = ControllerKind::LiaDiff.build(MSS as u16, now, 20);
    controller.on_congestion_event(&loss(now, &rtt(now, ms(100), ms(100))));
    controller.on_congestion_event(&loss(now, &unclear));
    assert_eq!(controller.cwnd(), 20 * MSS);
    let mut controller = ControllerKind::LiaDiff.build(MSS as u16, now, 20);
    controller.on_congestion_event(&loss(now, &unclear));
    assert_eq!(controller.cwnd(), 10 * MSS);
}

#[test]
fn pnc_never_cuts_below_the_bandwidth_delay_product() {
    // 150 kB/s x 100 ms = 15 packets, more than half of 20 (Eq. 21).
    let now = epoch();
    let queue = rtt(now, ms(100), ms(120));
    let mut controller = ControllerKind::LiaDiff.build(MSS as u16, now, 20);
    let sample = RateSample {
        bytes_per_second: 150_000,
        app_limited: false,
        delivered: 15_000,
        prior_delivered: 0,
        interval: ms(100),
    };
    let nothing = Ack {
        rate: Some(sample),
        ..ack(now, 0, &queue, Group::ALONE)
    };
    controller.on_ack(&nothing);
    controller.on_congestion_event(&loss(now, &queue));
    assert_eq!(controller.cwnd(), 15 * MSS);
    assert_eq!(
        controller.loss_verdicts(),
        LossVerdicts {
            congestion: 1,
            ..Default::default()
        }
    );
}

#[test]
fn pnc_starts_again_after_the_second_timeout() {
    let now = epoch();
    let mut controller = ControllerKind::LiaDiff.build(MSS as u16, now, 20);
    controller.on_timeout(now, 1);
    assert_eq!(controller.cwnd(), 20 * MSS);
    controller.on_timeout(now, 2);
    assert_eq!(
        (controller.cwnd(), controller.ssthresh()),
        (2 * MSS, Some(10 * MSS))
    );
}
