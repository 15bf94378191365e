//! What a path that dies, and returns, costs those who use it.

use mpfec_sim::{Change, Direction, Scene, scene};

use crate::{kib, mbit, mib, ms, secs};

/// 20 Mbit/s at 20 ms and 10 Mbit/s at 60 ms.
fn two_paths() -> Scene {
    scene()
        .path("wifi", mbit(20), ms(20))
        .path("lte", mbit(10), ms(60))
}

const DIRECTIONS: [Direction; 3] = [Direction::Both, Direction::Forward, Direction::Backward];

#[test]
fn silent_death_of_either_path_costs_less_than_a_second() {
    for seed in 1..=3 {
        for direction in DIRECTIONS {
            for path in ["wifi", "lte"] {
                let mut net = two_paths().seed(seed).connect();
                net.at(secs(1), path, direction, Change::Cut);
                let gap = net.longest_gap(mib(6));
                assert!(gap <= ms(300), "{path} {direction:?}: {gap:?}");
                // Acknowledgements take the other path, so that data still may take this one.
                let survives = direction == Direction::Backward;
                assert!(
                    survives || net.times_suspected(path) == 1,
                    "{path} {direction:?}"
                );
            }
        }
    }
}

#[test]
fn a_path_that_returns_carries_data_within_two_seconds() {
    for direction in DIRECTIONS {
        for path in ["wifi", "lte"] {
            let mut net = two_paths().connect();
            net.send(1 << 40);
            net.at(secs(2), path, direction, Change::Cut);
            net.at(secs(9), path, direction, Change::Restore);
            net.run_for(secs(9));
            let before = net.carried(path);
            let took = net.run_until(secs(1), |net| net.carried(path) > before + kib(200));
            assert!(took.is_some(), "{path} {direction:?}");
            net.check_bytes();
        }
    }
}

#[test]
fn everything_arrives_after_five_seconds_without_any_path() {
    for seed in 1..=5 {
        let mut net = two_paths().seed(seed).connect();
        for path in ["wifi", "lte"] {
            net.cut_at(secs(1), path);
            net.restore_at(secs(6), path);
        }
        net.send(mib(8));
        net.send_back(mib(2));
        net.run_for(secs(6));
        let before = net.server().read();
        let took = net.run_until(secs(2), |net| net.server().read() > before);
        assert!(
            took.is_some(),
            "seed {seed}: nothing within 2 s of the return"
        );
        net.deliver(secs(6));
    }
}

#[test]
fn an_only_path_that_returns_is_used_again_within_two_seconds() {
    for dead in [1, 3, 7, 20] {
        let mut net = scene().path("only", mbit(20), ms(40)).connect();
        net.cut_at(secs(1), "only");
        net.restore_at(secs(1 + dead), "only");
        net.send(mib(8));
        net.run_for(secs(1 + dead));
        let before = net.server().read();
        let took = net.run_until(secs(2), |net| net.server().read() > before);
        assert!(took.is_some(), "dead for {dead} s");
        net.deliver(secs(6));
    }
}

#[test]
fn a_path_that_comes_and_goes_costs_less_than_it_carries() {
    let alone = scene().path("lte", mbit(10), ms(60)).connect();
    let mut both = two_paths().connect();
    for second in 0..10 {
        both.cut_at(ms(2000 * second + 500), "wifi");
        both.restore_at(ms(2000 * second + 1500), "wifi");
    }
    let read = [alone, both].map(|mut net| {
        net.send(1 << 40);
        net.bytes_read_in(secs(20))
    });
    assert!(read[1] > read[0] * 5 / 4, "{read:?}");
}

#[test]
fn death_in_slow_start_costs_less_than_a_second() {
    for after in [0, 5, 15, 30, 60, 100, 200] {
        for path in ["wifi", "lte"] {
            let mut net = two_paths().connect();
            net.cut_at(ms(after), path);
            let gap = net.longest_gap(mib(1));
            assert!(gap <= ms(500), "{path} after {after} ms: {gap:?}");
        }
    }
}

#[test]
fn death_at_the_tail_delays_the_end_by_less_than_a_second() {
    let mut unharmed = two_paths().connect();
    unharmed.send(mib(2));
    let whole = unharmed.deliver(secs(10));
    for before_end in [0, 5, 10, 20, 30, 50] {
        for path in ["wifi", "lte"] {
            let mut net = two_paths().connect();
            net.cut_at(whole.saturating_sub(ms(before_end)), path);
            net.send(mib(2));
            let took = net.deliver(secs(10));
            assert!(
                took <= whole + ms(500),
                "{path}, {before_end} ms before: {took:?} for {whole:?}"
            );
        }
    }
}

#[test]
fn death_during_the_handshake_costs_less_than_a_second() {
    for after in (0..=100).step_by(5) {
        for path in ["wifi", "lte"] {
            for direction in DIRECTIONS {
                let mut net = two_paths().start();
                net.at(ms(after), path, direction, Change::Cut);
                net.send(kib(100));
                let took = net.deliver(secs(10));
                assert!(
                    took <= secs(1),
                    "{path} {direction:?} after {after} ms: {took:?}"
                );
            }
        }
    }
}

#[test]
fn loss_alone_makes_no_path_suspect() {
    for seed in 1..=25 {
        for loss in [0.1, 0.3, 0.5] {
            let mut net = scene()
                .path("near", mbit(10), ms(100))
                .path("far", mbit(10), ms(500))
                .with_on("far", Direction::Forward, Change::Loss(loss))
                .seed(seed)
                .connect();
            net.send(1 << 40);
            net.run_for(secs(3));
            for path in ["near", "far"] {
                assert_eq!(net.times_suspected(path), 0, "{path}, loss {loss}");
            }
        }
    }
}

/// The receiver hears nothing on the near path and acknowledges on the far one, which takes 90 ms
/// longer. Copies on the near one, which only loses what is sent to the receiver, fill the gap.
#[test]
fn the_far_path_is_not_suspected_for_carrying_acknowledgements_that_the_near_one_carried() {
    for seed in 1..=4 {
        let mut net = scene()
            .path("near", mbit(5), ms(16))
            .path("far", mbit(25), ms(200))
            .seed(seed)
            .connect();
        net.at(secs(3), "near", Direction::Forward, Change::Cut);
        net.at(ms(3120), "near", Direction::Forward, Change::Restore);
        for _ in 0..200 {
            net.send(kib(16));
            net.run_for(ms(20));
        }
        assert_eq!(net.times_suspected("near"), 1, "seed {seed}");
        assert_eq!(net.times_suspected("far"), 0, "seed {seed}");
    }
}

#[test]
fn a_transfer_without_faults_suspects_nobody() {
    for seed in 1..=5 {
        for bytes in [1, kib(10), kib(100), mib(1), mib(5)] {
            let mut net = two_paths().seed(seed).connect();
            net.send(bytes);
            net.deliver(secs(10));
            net.run_for(secs(1));
            for path in ["wifi", "lte"] {
                assert_eq!(net.times_suspected(path), 0, "{path}, {bytes} bytes");
            }
        }
    }
}

#[test]
fn the_survivor_carries_all_it_can_within_half_a_second() {
    for direction in [Direction::Both, Direction::Backward] {
        let mut net = two_paths().connect();
        net.send(1 << 40);
        net.run_for(secs(4));
        // Acknowledgements took this path: the other one's RTT grows from 40 to 60 ms.
        net.at(ms(0), "wifi", direction, Change::Cut);
        net.run_for(ms(500));
        let bytes = net.bytes_read_in(secs(2));
        let share = bytes as f64 * 8e-6 / 2.0 / (10.0 * 0.957);
        assert!(
            share >= 0.9,
            "{direction:?}: {share:.2} of what the path carries"
        );
    }
}

/// Acknowledgements of the far path came back on the near one, and take longer from then on.
#[test]
fn a_far_path_is_not_given_up_when_a_near_one_dies() {
    for seed in 1..=4 {
        for direction in DIRECTIONS {
            let mut net = scene()
                .path("near", mbit(20), ms(13))
                .path("far", mbit(29), ms(92))
                .seed(seed)
                .connect();
            net.at(secs(2), "near", direction, Change::Cut);
            net.send(mib(20));
            net.run_for(secs(4));
            assert_eq!(net.times_suspected("near"), 1, "{seed} {direction:?}");
            assert_eq!(net.times_suspected("far"), 0, "{seed} {direction:?}");
        }
    }
}
