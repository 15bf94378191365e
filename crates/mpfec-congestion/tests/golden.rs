//! Values computed by hand from the papers.

use std::time::{Duration, Instant};

use mpfec_congestion::{
    Ack, Aimd, CodingFeedback, CongestionController, CongestionEvent, ControllerKind, Drains,
    Group, LossVerdicts, RateSample, RttEstimator, Subflow, redundant_cycle, share,
    tcp_friendly_alpha,
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
        idle: Duration::ZERO,
        rtt,
        route: 0,
        way_back: None,
        rate: None,
        coding: CodingFeedback::default(),
        group,
    }
}

fn loss<'a>(now: Instant, rtt: &'a RttEstimator) -> CongestionEvent<'a> {
    CongestionEvent {
        now,
        sent_at: now - ms(1),
        packets: 1,
        runs: 1,
        ecn: false,
        coding: CodingFeedback::default(),
        rtt,
        group: Group::ALONE,
    }
}

fn subflow(packets: u64, srtt: Duration) -> Subflow {
    Subflow {
        cwnd: packets * MSS,
        srtt,
        delivery_rate: 1_000_000,
        drains: Drains::No,
    }
}

/// A controller in congestion avoidance with a window of ten packets.
fn with_ten_packets(kind: ControllerKind, now: Instant) -> Box<dyn CongestionController> {
    let mut controller = kind.build(MSS as u16, now, 20);
    // Half of twenty, whatever the classifier: twenty packets at twice the RTT are a queue, and
    // marks are congestion for those that ask the code about losses.
    let rtt = rtt(now, ms(50), ms(100));
    let marked = CongestionEvent {
        ecn: kind.needs_code(),
        ..loss(now, &rtt)
    };
    controller.on_congestion_event(&marked);
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
    let subflows = [subflow(10, ms(100)), subflow(20, ms(200))];
    for kind in [
        ControllerKind::Lia,
        ControllerKind::LiaDiff,
        ControllerKind::LiaNc,
        ControllerKind::CouplePlus,
        ControllerKind::Acc,
        ControllerKind::MccCoop,
    ] {
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

/// Packets by which a window of ten grows on the first of two paths with windows of 10 and 20
/// packets and RTTs of 0.1 and 0.2 s when one packet is acknowledged.
fn growth(kind: ControllerKind, rho: Option<f64>) -> f64 {
    let now = epoch();
    let subflows = [subflow(10, ms(100)), subflow(20, ms(200))];
    let group = Group {
        subflows: &subflows,
        me: 0,
    };
    let mut controller = with_ten_packets(kind, now);
    if let Some(rho) = rho {
        controller.on_share(rho);
    }
    let before = controller.cwnd();
    controller.on_ack(&ack(now + ms(200), 1, &rtt(now, ms(100), ms(100)), group));
    (controller.cwnd() - before) as f64 / MSS as f64
}

#[test]
fn the_schemes_of_couple_plus_grow_as_its_table_says() {
    // 1 / (sqrt(2) 10) and (20 / 30) / 30 packets.
    for (kind, packets) in [
        (ControllerKind::Ewtcp, 0.0707),
        (ControllerKind::SemiCoupled, 0.0222),
    ] {
        let grown = growth(kind, None);
        assert!((grown - packets).abs() < 1e-3, "{kind}: {grown}");
    }
}

#[test]
fn coupled_cuts_half_of_all_windows_and_grows_by_one_over_all() {
    let now = epoch();
    let queue = rtt(now, ms(50), ms(100));
    let before = [subflow(10, ms(100)), subflow(20, ms(200))];
    let after = [subflow(10, ms(100)), subflow(5, ms(200))];
    let of = |subflows| Group { subflows, me: 1 };
    let mut controller = ControllerKind::Coupled.build(MSS as u16, now, 20);
    controller.on_congestion_event(&CongestionEvent {
        group: of(&before),
        ..loss(now, &queue)
    });
    assert_eq!(controller.cwnd(), 5 * MSS);
    controller.on_ack(&ack(now + ms(200), 3, &queue, of(&after)));
    assert_eq!(controller.cwnd(), 5 * MSS + 3 * MSS / 15);
}

#[test]
fn coupled_leaves_one_packet_of_the_smaller_window() {
    let now = epoch();
    let subflows = [subflow(20, ms(100)), subflow(40, ms(100))];
    let group = Group {
        subflows: &subflows,
        me: 0,
    };
    let queue = rtt(now, ms(50), ms(100));
    let mut controller = ControllerKind::Coupled.build(MSS as u16, now, 20);
    controller.on_congestion_event(&CongestionEvent {
        group,
        ..loss(now, &queue)
    });
    assert_eq!(controller.cwnd(), MSS);
}

#[test]
fn coop_controllers_grow_by_the_share_of_the_relay() {
    let rho = share(3.0, &[0.5, 1.5]);
    assert!((rho - 1.25).abs() < 1e-12);
    for (kind, above) in [
        (ControllerKind::MccCoop, 0.08),
        (ControllerKind::GmccCoop(Aimd::TCP), 0.08),
        (ControllerKind::MpAimd(Aimd::TCP), 0.025),
    ] {
        assert!((growth(kind, None) - 0.025).abs() < 1e-9, "{kind}");
        assert!((growth(kind, Some(rho)) - above).abs() < 1e-9, "{kind}");
    }
    assert!((tcp_friendly_alpha(0.625) - 0.6923).abs() < 1e-4);
}

#[test]
fn gentle_local_flows_are_answered_in_kind() {
    let now = epoch();
    let queue = rtt(now, ms(100), ms(100));
    let subflows = [subflow(10, ms(100)), subflow(20, ms(200))];
    let group = Group {
        subflows: &subflows,
        me: 0,
    };
    for (kind, expected) in [
        (ControllerKind::GmccCoop(Aimd::GENTLE), 0.7 / (1.25 * 12.5)),
        // a = 32.5 x max(1250, 500) / (125 + 100)^2, over 32.5.
        (
            ControllerKind::MpAimd(Aimd::GENTLE),
            0.7 * 1250.0 / 50_625.0,
        ),
    ] {
        let mut controller = kind.build(MSS as u16, now, 20);
        controller.on_congestion_event(&loss(now, &queue));
        // 0.625 of 20.
        assert_eq!(controller.cwnd(), 12_500);
        controller.on_share(1.25);
        controller.on_ack(&ack(now + ms(200), 1, &queue, group));
        let grown = (controller.cwnd() - 12_500) as f64 / MSS as f64;
        assert!((grown - expected).abs() < 1e-3, "{kind}: {grown}");
    }
}

#[test]
fn acc_divides_the_slowest_window_by_the_ratio_of_delays() {
    let start = epoch();
    let slow = rtt(start, ms(100), ms(100));
    let mut controller = ControllerKind::Acc.build(MSS as u16, start, 20);
    let mut widths = Vec::new();
    for second in 1..=14 {
        let subflows = [subflow(20, ms(100)), subflow(20, ms(80))];
        let group = Group {
            subflows: &subflows,
            me: 0,
        };
        // Too little in flight to grow.
        let idle = Ack {
            app_limited: true,
            idle: Duration::ZERO,
            ..ack(start + ms(1000 * second), 1, &slow, group)
        };
        controller.on_ack(&idle);
        widths.push(controller.cwnd());
    }
    // 20 / 1.25 = 16, 12.8, 10.24; then one look is left out.
    let every_two: Vec<_> = widths.iter().skip(1).step_by(2).copied().collect();
    assert_eq!(
        every_two,
        [16_000, 12_800, 10_240, 10_240, 8_192, 6_553, 5_242]
    );
    assert_eq!(controller.ssthresh(), Some(5_242));
}

#[test]
fn acc_leaves_alone_what_is_equal_too_different_fastest_or_new() {
    let start = epoch();
    for (own, other, at) in [
        (ms(100), ms(100), ms(2000)),
        (ms(301), ms(100), ms(2000)),
        (ms(80), ms(100), ms(2000)),
        (ms(1000), ms(500), ms(4900)),
    ] {
        let mut controller = ControllerKind::Acc.build(MSS as u16, start, 20);
        let subflows = [subflow(20, own), subflow(20, other)];
        let group = Group {
            subflows: &subflows,
            me: 0,
        };
        let slow = rtt(start, own, own);
        let idle = Ack {
            app_limited: true,
            idle: Duration::ZERO,
            ..ack(start + at, 1, &slow, group)
        };
        controller.on_ack(&idle);
        assert_eq!(controller.cwnd(), 20 * MSS, "{own:?} beside {other:?}");
    }
}

#[test]
fn a_redundant_cycle_is_five_or_twenty_one_packets() {
    assert!((redundant_cycle(1.25) - 5.0).abs() < 1e-9);
    assert!((redundant_cycle(1.05) - 21.0).abs() < 1e-9);
    assert_eq!(redundant_cycle(1.0), f64::INFINITY);
}

/// A Couple+ controller with a window of twenty packets in the transient state, one loss so far.
fn transient(now: Instant, rtt: &RttEstimator) -> Box<dyn CongestionController> {
    let mut controller = ControllerKind::CouplePlus.build(MSS as u16, now, 20);
    controller.on_congestion_event(&CongestionEvent {
        coding: undecoded(1),
        ..loss(now, rtt)
    });
    assert_eq!(
        (controller.state(), controller.cwnd()),
        ("transient", 17_500)
    );
    assert_eq!(controller.loss_verdicts().unknown, 1);
    controller
}

fn undecoded(undecoded: u32) -> CodingFeedback {
    CodingFeedback {
        undecoded,
        ..CodingFeedback::default()
    }
}

/// An acknowledgement of one packet that brings nothing to a window of slow start.
fn idle_ack<'a>(now: Instant, rtt: &'a RttEstimator, coding: CodingFeedback) -> Ack<'a> {
    Ack {
        app_limited: true,
        idle: Duration::ZERO,
        coding,
        ..ack(now, 1, rtt, Group::ALONE)
    }
}

#[test]
fn couple_plus_takes_what_is_made_up_for_within_a_cycle_for_noise() {
    let now = epoch();
    let queue = rtt(now, ms(50), ms(100));
    let mut controller = transient(now, &queue);
    for _ in 0..3 {
        controller.on_ack(&idle_ack(now, &queue, undecoded(1)));
    }
    assert_eq!(controller.state(), "transient");
    controller.on_ack(&idle_ack(now, &queue, undecoded(0)));
    assert_eq!(controller.cwnd(), 20 * MSS);
    assert_eq!(controller.loss_verdicts().wireless, 1);
}

#[test]
fn couple_plus_takes_what_stays_open_at_twice_the_rtt_for_congestion() {
    let now = epoch();
    let queue = rtt(now, ms(50), ms(101));
    let mut controller = transient(now, &queue);
    // The loss counts, so four more make a cycle of five.
    for _ in 0..3 {
        controller.on_ack(&idle_ack(now, &queue, undecoded(1)));
        assert_eq!(controller.state(), "transient");
    }
    controller.on_ack(&idle_ack(now, &queue, undecoded(1)));
    assert_eq!(controller.cwnd(), 8_750);
    assert_eq!(controller.loss_verdicts().congestion, 1);
}

#[test]
fn couple_plus_waits_three_cycles_where_no_queue_shows() {
    let now = epoch();
    let empty = rtt(now, ms(50), ms(99));
    let mut controller = transient(now, &empty);
    for _ in 0..13 {
        controller.on_ack(&idle_ack(now, &empty, undecoded(1)));
        assert_eq!(controller.state(), "transient");
    }
    controller.on_ack(&idle_ack(now, &empty, undecoded(1)));
    assert_eq!(controller.loss_verdicts().congestion, 1);
}

#[test]
fn couple_plus_takes_a_full_receiver_and_bursts_for_congestion_at_once() {
    let now = epoch();
    let empty = rtt(now, ms(50), ms(50));
    let mut controller = transient(now, &empty);
    let full = CodingFeedback {
        receive_window_nearly_full: true,
        ..undecoded(1)
    };
    controller.on_ack(&idle_ack(now, &empty, full));
    assert_eq!(controller.cwnd(), 8_750);

    let mut controller = ControllerKind::CouplePlus.build(MSS as u16, now, 20);
    controller.on_congestion_event(&CongestionEvent {
        packets: 4,
        runs: 1,
        coding: undecoded(0),
        ..loss(now, &empty)
    });
    assert_eq!(controller.cwnd(), 8_750);
    assert_eq!(controller.loss_verdicts().congestion, 4);
}

#[test]
fn a_loss_that_the_code_has_made_up_for_costs_nothing() {
    let now = epoch();
    let queue = rtt(now, ms(50), ms(100));
    for kind in [ControllerKind::LiaNc, ControllerKind::CouplePlus] {
        let mut controller = kind.build(MSS as u16, now, 20);
        controller.on_congestion_event(&loss(now, &queue));
        controller.on_ack(&idle_ack(now, &queue, undecoded(0)));
        assert_eq!(controller.cwnd(), 20 * MSS, "{kind}");
        assert_eq!(controller.loss_verdicts().wireless, 1, "{kind}");
    }
}
