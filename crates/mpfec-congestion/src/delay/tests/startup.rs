//! What a path begins with.

use std::time::Duration;

use super::super::round::Round;
use super::super::steady::Steady;
use super::super::{MIN_WINDOW, Mode};
use super::{Link, MSS, epoch};
use crate::CongestionController;

/// A path with a shorter sibling that delivers `sibling` packets per second, when its first packet has
/// been acknowledged after `rtt` seconds, and two that left together came a millisecond apart.
fn measured(rtt: f64, sibling: f64) -> Link {
    measured_apart(rtt, sibling, 0.001)
}

fn measured_apart(rtt: f64, sibling: f64, apart: f64) -> Link {
    let mut link = Link::new(10_000.0, rtt, 50.0);
    link.sibling_rate = (sibling * f64::from(MSS)) as u64;
    link.sibling_rtt = Some(Duration::from_secs_f64(rtt / 1.4));
    assert!(link.control.begin_packet_pair());
    link.now += Duration::from_secs_f64(rtt);
    link.ack(1, Duration::from_secs_f64(rtt), 1.0, true);
    link.pair(apart);
    link
}

fn window(link: &Link) -> f64 {
    link.control.cwnd() as f64 / f64::from(MSS)
}

#[test]
fn a_long_path_begins_with_twice_the_rate_of_a_slow_sibling() {
    for (rtt, sibling) in [(0.2, 80.0), (0.6, 30.0), (0.6, 190.0), (1.0, 100.0)] {
        let link = measured(rtt, sibling);
        for rate in [window(&link) / rtt, link.pace()] {
            let is_near = (rate / (2.0 * sibling) - 1.0).abs() < 0.06;
            assert!(is_near, "{rtt} s, sibling {sibling}: {rate} packets/s");
        }
    }
}

#[test]
fn beside_a_fast_sibling_a_long_path_begins_with_the_rate_of_a_short_one() {
    for rtt in [0.1, 0.2, 0.6] {
        let link = measured(rtt, 50_000.0);
        for rate in [window(&link) / rtt, link.pace()] {
            assert!((390.0..=411.0).contains(&rate), "{rtt} s: {rate} packets/s");
        }
    }
}

/// 20, 100 and 300 kbit/s.
#[test]
fn a_path_that_is_long_for_being_slow_begins_with_what_two_packets_show() {
    for (rtt, apart, packets) in [(1.0, 0.5, 4.0), (0.3, 0.1, 6.0), (0.1, 0.03, 6.7)] {
        let window = window(&measured_apart(rtt, 1e5, apart));
        assert!(
            (packets - window).abs() < 0.1,
            "{apart} s: {window} packets"
        );
    }
}

/// By a delay that varies, one of them may have come late.
#[test]
fn packets_that_come_closer_than_the_two_show_a_faster_path() {
    let mut link = measured_apart(0.1, 1e5, 0.03);
    for _ in 0..4 {
        link.now += Duration::from_millis(2);
        link.ack(1, Duration::from_millis(100), 6.0, true);
    }
    assert!(
        (20.0..=22.0).contains(&window(&link)),
        "{} packets",
        window(&link)
    );
}

#[test]
fn where_one_of_the_two_gets_lost_the_first_acknowledgement_of_data_lets_twenty_packets_out() {
    let mut link = Link::new(10_000.0, 0.1, 50.0);
    link.sibling_rate = 1_000_000_000;
    assert!(link.control.begin_packet_pair());
    let mss = u64::from(MSS);
    link.control.on_packet_sent(link.now, mss, mss);
    let rtt = Duration::from_millis(100);
    for least in [4.0, 20.0] {
        link.now += rtt;
        link.ack(1, rtt, 1.0, true);
        let window = window(&link);
        assert!((least..=least + 1.0).contains(&window), "{window} packets");
    }
}

/// What two packets show may be chance, and nothing else carries the data meanwhile.
#[test]
fn a_slow_path_beside_one_that_is_hardly_faster_begins_with_twenty_packets() {
    for sibling in [0.0, 30.0, 300.0] {
        let window = window(&measured_apart(0.1, sibling, 0.03));
        assert!(
            (20.0..=21.0).contains(&window),
            "{sibling}: {window} packets"
        );
    }
}

#[test]
fn a_long_path_begins_no_faster_than_two_packets_came() {
    let window = window(&measured_apart(0.6, 1e5, 0.005));
    assert!((119.0..=121.0).contains(&window), "{window} packets");
}

#[test]
fn a_short_path_and_one_without_a_fast_sibling_begin_with_twenty_packets() {
    let cases = [
        (0.005, 1e5),
        (0.045, 1e5),
        (0.2, 0.0),
        (2.0, 0.0),
        (0.5, 15.0),
    ];
    for (rtt, sibling) in cases {
        let link = measured(rtt, sibling);
        let window = window(&link);
        assert!((20.0..=21.0).contains(&window), "{rtt} s: {window} packets");
        assert!(
            link.pace() > 1.9 * window / rtt,
            "{} packets/s",
            link.pace()
        );
    }
}

#[test]
fn paths_of_equal_length_begin_with_twenty_packets_each() {
    let mut link = Link::new(10_000.0, 0.4, 50.0);
    link.ack(1, Duration::from_millis(400), 1.0, true);
    assert!(window(&link) <= 21.0, "{} packets", window(&link));
}

#[test]
fn no_path_begins_with_more_than_250_packets() {
    for rtt in [0.7, 2.0, 30.0] {
        let window = window(&measured(rtt, 1e5));
        assert!((249.0..=251.0).contains(&window), "{rtt} s: {window}");
    }
}

#[test]
fn what_a_path_has_carried_itself_counts_and_not_its_sibling() {
    let mut link = measured(0.4, 0.0);
    link.round(f64::INFINITY);
    link.sibling_rate = 1_000_000_000;
    let before = window(&link);
    link.round(f64::INFINITY);
    let after = window(&link);
    assert!(
        (1.8..=2.0).contains(&(after / before)),
        "from {before} to {after} packets"
    );
    assert!(link.pace() > 1.9 * after / 0.4, "{} packets/s", link.pace());
}

#[test]
fn a_path_that_lost_everything_does_not_begin_as_a_new_one() {
    let mut link = measured(0.4, 1000.0);
    link.control.on_persistent_congestion(epoch());
    link.now += Duration::from_millis(400);
    link.ack(1, Duration::from_millis(400), 1.0, true);
    assert!(matches!(link.control.mode, Mode::Startup(_)));
    let window = window(&link);
    assert!(window <= 5.0, "{window} packets");
}

#[test]
fn a_known_path_goes_on_with_half_of_its_window_when_all_of_it_was_lost() {
    let mut link = Link::new(1000.0, 0.05, 50.0);
    link.rounds(60, f64::INFINITY);
    let before = link.control.window;
    assert!(before >= 50.0, "{before} packets fill the path");
    link.control.on_persistent_congestion(link.now);
    assert_eq!(link.control.window, before / 2.0);
    assert_eq!(link.control.state(), "steady");
    link.rounds(12, f64::INFINITY);
    let after = link.control.window;
    assert!(after >= 50.0, "{after} packets of {before}");
    for _ in 0..20 {
        link.control.on_persistent_congestion(link.now);
    }
    assert_eq!(link.control.window, MIN_WINDOW);
}

/// Start-up on a path of 1200 bytes a packet at first, after `rounds` of 50 ms.
fn starting(rounds: u32) -> Link {
    let mut link = Link::new(10_000.0, 0.05, 50.0);
    link.resize(1200);
    link.rounds(rounds, f64::INFINITY);
    assert_eq!(link.control.state(), "startup", "{:?}", link.control);
    link
}

#[test]
fn what_a_path_begins_with_is_packets_of_the_size_that_passes() {
    for rounds in 0..4 {
        for mss in [1280, 1464, 1500] {
            let mut link = starting(rounds);
            let before = window(&link);
            link.control.on_mtu_update(mss);
            let after = window(&link) * f64::from(MSS) / f64::from(mss);
            let expected = before * f64::from(MSS) / 1200.0;
            assert!(
                (after / expected - 1.0).abs() < 0.01,
                "{rounds} rounds, {mss} bytes: {after} packets, of {expected} before"
            );
        }
    }
}

#[test]
fn jumbo_frames_are_no_larger_start_than_full_packets() {
    for rounds in 1..4 {
        let mut link = starting(rounds);
        let before = link.control.cwnd() as f64;
        link.resize(9000);
        let after = link.control.cwnd() as f64;
        assert!(
            (after / before / 1.25 - 1.0).abs() < 0.01,
            "{rounds} rounds: {before} bytes, then {after}"
        );
    }
}

#[test]
fn start_up_doubles_its_window_where_packets_have_shrunk_as_well() {
    let mut link = Link::new(10_000.0, 0.05, 50.0);
    link.resize(9000);
    link.rounds(2, f64::INFINITY);
    link.resize(1200);
    let before = window(&link);
    link.round(f64::INFINITY);
    let after = window(&link);
    assert_eq!(link.control.state(), "startup");
    assert!(
        after > 1.8 * before,
        "from {before} packets to {after} in a round trip"
    );
}

#[test]
fn a_plateau_is_one_of_bytes_where_packets_change_their_size() {
    /// The state after a round of `acked` packets of `mss` bytes that followed one of 200 of 1500.
    fn after(mss: u16, acked: f64) -> &'static str {
        let mut link = Link::new(10_000.0, 0.05, 50.0);
        let mut round = Round::new();
        for acked in [50.0, 100.0, 200.0] {
            round.acked = acked;
            link.control.startup_on_round(&round, true);
        }
        link.control.on_mtu_update(mss);
        round.acked = acked;
        link.control.startup_on_round(&round, true);
        link.control.state()
    }
    for mss in [300, 750, MSS, 3000] {
        let same = 200.0 * f64::from(MSS) / f64::from(mss);
        assert_ne!(after(mss, 1.2 * same), "startup", "{mss} bytes");
        assert_eq!(after(mss, 1.4 * same), "startup", "{mss} bytes");
    }
}

#[test]
fn bursts_that_lose_a_seventh_end_start_up_though_the_window_is_never_full() {
    /// The state after rounds of bursts of `burst` packets at most, of which `lost` of `acked` and
    /// lost ones are lost, and the window.
    fn after(burst: f64, acked: f64, lost: f64) -> (&'static str, f64) {
        let mut link = Link::new(10_000.0, 0.05, 50.0);
        link.round(20.0);
        let mut round = Round::new();
        (round.acked, round.lost, round.app_limited) = (acked, lost, true);
        round.in_flight_max = burst;
        for _ in 0..3 {
            if link.control.state() == "startup" {
                link.control.startup_on_round(&round, false);
            }
        }
        (link.control.state(), link.control.window)
    }
    let (state, before) = after(12.0, 20.0, 2.0);
    assert_eq!(state, "startup", "a tenth");
    assert_eq!(after(12.0, 3.0, 1.0).0, "startup", "one packet of four");
    let few = after(5.0, 3.0, 5.0).0;
    assert_eq!(few, "startup", "what validates a path that loses half");
    // Noticed when bulk has begun.
    let mut link = Link::new(10_000.0, 0.05, 50.0);
    let packets = |count: u64| count * u64::from(MSS);
    let validated = link.now;
    link.control
        .on_packet_sent(validated, packets(1), packets(4));
    link.now += Duration::from_millis(10);
    link.control
        .on_packet_sent(link.now, packets(1), packets(25));
    link.lose(8, validated);
    let mut round = Round::new();
    (round.in_flight_max, round.acked, round.lost) = (25.0, 2.0, 8.0);
    link.control.startup_on_round(&round, false);
    assert_eq!(link.control.state(), "startup", "what had validated it");
    let sent_at = link.now;
    link.lose(8, sent_at);
    link.control.startup_on_round(&round, false);
    assert_eq!(link.control.state(), "steady", "those of the burst");
    let (state, window) = after(12.0, 20.0, 5.0);
    assert_eq!(state, "steady", "a fifth");
    assert!(window <= before, "{window} of {before} packets");
}

#[test]
fn the_first_round_after_start_up_bounds_the_window_by_what_it_delivers() {
    // 1000 packets per second over 200 ms, of which start-up's bursts left the queue empty at times.
    let mut link = Link::new(1000.0, 0.2, 50.0);
    link.control.set_floor(0.2);
    link.control.srtt = 0.2;
    link.control.mode = Mode::Steady(Steady::after_startup(260.0));
    link.control.window = 260.0;
    let mut round = Round::new();
    (round.acked, round.rise_min, round.rise_max) = (250.0, 0.0, 0.05);
    link.control.on_round(&round, 0.25);
    let after = link.control.window;
    assert!((200.0..=255.0).contains(&after), "{after} of 260 packets");
    link.control.on_round(&round, 0.25);
    let later = link.control.window;
    assert!(later > 255.0, "from {after} to {later}: a queue is missing");
}

/// The state of start-up on a path of 600 ms after twenty acknowledgements of two packets, which
/// came in bunches, so long after one another, and left 4 ms after one another, the first of them
/// 700 ms before.
fn state_when_late(bunch: u32, apart: Duration) -> &'static str {
    let mut link = Link::new(10_000.0, 0.6, 50.0);
    link.rounds(3, f64::INFINITY);
    assert_eq!(link.control.state(), "startup", "{:?}", link.control);
    let sent = link.now;
    link.now += Duration::from_millis(700);
    for nth in 0..20 {
        let rtt = link.now - (sent + nth * Duration::from_millis(4));
        link.ack(2, rtt, window(&link), false);
        if (nth + 1) % bunch == 0 {
            link.now += apart;
        }
    }
    link.control.state()
}

#[test]
fn a_queue_ends_start_up_and_not_what_a_host_lets_go_at_once_that_stood_still() {
    let ms = Duration::from_millis;
    assert_eq!(state_when_late(1, Duration::from_micros(50)), "startup");
    assert_eq!(state_when_late(1, ms(4)), "steady");
    assert_eq!(
        state_when_late(5, ms(20)),
        "steady",
        "as of aggregated frames"
    );
}

#[test]
fn a_first_packet_acknowledged_long_after_it_left_hides_no_queue() {
    let mut link = Link::new(10_000.0, 0.2, 50.0);
    let ms = Duration::from_millis;
    link.ack(1, ms(8000), 1.0, false);
    link.rounds(3, f64::INFINITY);
    assert_eq!(link.control.state(), "startup", "{:?}", link.control);
    for _ in 0..60 {
        link.ack(8, ms(300), window(&link), false);
        link.now += ms(4);
    }
    assert_eq!(link.control.state(), "steady", "a queue of 100 ms");
}

/// The state of start-up with 20 packets, `in_flight` of them on their way, after acknowledgements
/// that come so many milliseconds after one another, with so many of RTT, of 200 without a queue.
fn state_of_few(in_flight: f64, app_limited: bool, late: &[(u64, u64)]) -> &'static str {
    let mut link = measured(0.2, 0.0);
    let pass = |link: &mut Link, apart, rtt| {
        link.now += Duration::from_millis(apart);
        link.ack(1, Duration::from_millis(rtt), in_flight, app_limited);
    };
    while link.control.round.acked > 0.0 {
        pass(&mut link, 50, 200);
    }
    for (apart, rtt) in late {
        pass(&mut link, *apart, *rtt);
    }
    link.control.state()
}

#[test]
fn two_late_acknowledgements_end_start_up_with_a_small_window_that_is_full() {
    let late = [(20, 245), (20, 245)];
    assert_eq!(state_of_few(2.0, true, &late), "startup");
    assert_eq!(state_of_few(20.0, false, &late), "steady");
}

#[test]
fn one_that_a_host_held_up_or_two_that_it_let_go_at_once_do_not() {
    assert_eq!(state_of_few(20.0, false, &[(20, 245)]), "startup");
    for second in [245, 225] {
        let at_once = [(20, 245), (0, second)];
        assert_eq!(state_of_few(20.0, false, &at_once), "startup", "{second}");
    }
    let in_a_hurry = [(20, 300), (2, 282)];
    assert_eq!(state_of_few(20.0, false, &in_a_hurry), "startup");
    let then_in_time = [(20, 245), (0, 225), (5, 210), (15, 200), (20, 200)];
    assert_eq!(state_of_few(20.0, false, &then_in_time), "startup");
}

#[test]
fn a_long_path_that_was_only_kept_begins_as_a_new_one() {
    let mut link = Link::new(10_000.0, 0.6, 50.0);
    link.sibling_rate = 0;
    link.sibling_rtt = Some(Duration::from_millis(200));
    link.pair(0.001);
    link.rounds(4, 1.0);
    link.sibling_rate = 400 * u64::from(MSS);
    link.now += Duration::from_millis(600);
    link.ack(1, Duration::from_millis(600), 20.0, false);
    let window = window(&link);
    assert!((230.0..=250.0).contains(&window), "{window} packets");
}

#[test]
fn a_mark_ends_start_up() {
    let mut link = Link::new(10_000.0, 0.05, 1000.0);
    link.rounds(2, f64::INFINITY);
    assert_eq!(link.control.state(), "startup");
    link.control.marked = true;
    link.round(f64::INFINITY);
    assert_ne!(link.control.state(), "startup");
    assert!(!link.control.marked, "answered");
}

/// The first packets of a burst leave while there is more to send, so that nothing says of them that the
/// application limits.
#[test]
fn bursts_of_an_application_that_pauses_do_not_open_a_window_that_they_do_not_fill() {
    let mut link = Link::new(1000.0, 0.2, 500.0);
    for _ in 0..40 {
        for (in_flight, app_limited) in [(10.0, false), (5.0, true)] {
            link.now += Duration::from_millis(100);
            link.ack(5, Duration::from_millis(200), in_flight, app_limited);
        }
    }
    assert_eq!(link.control.state(), "startup");
    assert!(window(&link) <= 40.0, "{} packets", window(&link));
}
