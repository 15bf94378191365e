//! Packets of another size: the bytes go on as before.

use super::{Link, MSS};
use crate::CongestionController;

/// Down to a half, and up to jumbo frames.
const SIZES: [u16; 4] = [750, 1250, 3000, 9000];

/// A path of 15 Mbyte/s and 50 ms whose queue holds half as much.
fn link() -> Link {
    Link::new(10_000.0, 0.05, 250.0)
}

fn steady() -> Link {
    let mut link = link();
    link.rounds(200, f64::INFINITY);
    assert_eq!(link.control.state(), "steady", "{:?}", link.control);
    link
}

/// The controller's state with what it lets out, at once and in a second, and what arrives in a
/// second: bytes.
type Figures = (&'static str, [(&'static str, f64); 3]);

fn figures(link: &Link) -> Figures {
    let delivered = link.control.delivered_max * f64::from(link.mss);
    let pace = link.control.pacing_rate().expect("its RTT is known");
    let figures = [
        ("window", link.control.cwnd() as f64),
        ("pace", pace as f64),
        ("delivered", delivered),
    ];
    (link.control.state(), figures)
}

/// The figures once packets have become some of `mss` bytes, and after each of `rounds`.
fn course(mut link: Link, mss: u16, rounds: u32) -> Vec<Figures> {
    if mss != MSS {
        link.resize(mss);
    }
    let mut all = vec![figures(&link)];
    for _ in 0..rounds {
        link.round(f64::INFINITY);
        all.push(figures(&link));
    }
    all
}

/// All figures remain within `percent` of what they are where packets stay as they are.
#[track_caller]
fn goes_on(scene: impl Fn() -> Link, rounds: u32, percent: f64) {
    let expected = course(scene(), MSS, rounds);
    for mss in SIZES {
        let found = course(scene(), mss, rounds);
        let steps = expected.iter().zip(&found).enumerate();
        for (step, ((state, expected), (found_state, found))) in steps {
            // Rounded to whole packets, a round may end later, and with it a drain.
            if step > 0 && state != found_state {
                continue;
            }
            assert_eq!(state, found_state, "to {mss} bytes, step {step}");
            for ((name, expected), (_, found)) in expected.iter().zip(found) {
                let off = 100.0 * (found / expected - 1.0);
                assert!(
                    off.abs() < percent,
                    "to {mss} bytes, step {step}: {name} is off by {off:.1} %, {found:.0} and not {expected:.0}"
                );
            }
        }
    }
}

#[test]
fn the_steady_state_goes_on_ordinary_drains_included() {
    for rounds in 0..12 {
        let scene = || {
            let mut link = steady();
            link.rounds(rounds, f64::INFINITY);
            link
        };
        goes_on(scene, 3, 10.0);
    }
}

#[test]
fn a_deep_drain_goes_on() {
    let scene = || {
        let mut link = steady();
        link.control.marked = true;
        link.round(f64::INFINITY);
        assert!(link.control.drains().is_held(), "{:?}", link.control);
        // A queue that is not short for packets of any size.
        link.control.target_cap = f64::INFINITY;
        link
    };
    goes_on(scene, 1, 10.0);
}

#[test]
fn the_cautious_return_after_a_loss_goes_on() {
    let scene = || {
        let mut link = steady();
        for _ in 0..2 {
            link.control.marked = true;
            link.rounds(6, f64::INFINITY);
        }
        link
    };
    goes_on(scene, 12, 10.0);
}

#[test]
fn competing_goes_on_tests_included() {
    for rounds in 1..12 {
        let scene = || {
            let mut link = steady();
            link.control.compete_after_cut();
            link.rounds(rounds, f64::INFINITY);
            assert_eq!(link.control.state(), "compete");
            link
        };
        goes_on(scene, 6, 10.0);
    }
}

#[test]
fn a_short_queue_remains_one_of_so_many_bytes() {
    for mss in SIZES {
        let mut link = steady();
        link.control.target_cap = 24.0;
        link.resize(mss);
        let bytes = link.control.target_cap * f64::from(mss);
        let limit = (24.0 * f64::from(MSS)).max(2.0 * f64::from(mss));
        assert!((bytes / limit - 1.0).abs() < 1e-6, "{mss}: {bytes} bytes");
    }
}

#[test]
fn a_path_that_got_longer_is_found_as_soon() {
    /// Rounds until start-up begins anew; packets are resized `at` one of them.
    fn found(at: Option<u32>, mss: u16) -> u32 {
        let mut link = steady();
        link.floor *= 2.0;
        for round in 0..40 {
            if Some(round) == at {
                link.resize(mss);
            }
            link.round(f64::INFINITY);
            if link.control.state() == "startup" {
                return round;
            }
        }
        panic!("{:?}", link.control);
    }
    let rounds = found(None, MSS);
    for mss in SIZES {
        for at in 0..rounds {
            let resized = found(Some(at), mss);
            assert!(
                resized.abs_diff(rounds) <= 1,
                "{mss} bytes from round {at} on: after {resized} rounds, not {rounds}"
            );
        }
    }
}

/// Data that were cut up before, or that have to pass another path as well, remain small.
#[test]
fn packets_smaller_than_the_path_takes_pass_as_so_many_full_ones() {
    let mut link = link();
    link.resize(1200);
    link.control.on_mtu_update(MSS);
    link.rounds(100, f64::INFINITY);
    let carried = link.control.carried_full.own();
    let full = link.capacity * 1200.0 / f64::from(MSS);
    assert!(
        (carried / full - 1.0).abs() < 0.06,
        "{carried:.0} and not {full:.0} packets per second"
    );
}
