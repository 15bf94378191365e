//! How much repair each policy sends, and what it is good for.

use mpfec_core::{CodecKind, Profile, RedundancyKind, SchedulerKind};
use mpfec_sim::{Change, Direction, Scene, Simulation, scene};

use crate::{kib, mbit, mib, ms, secs};

fn two_paths() -> Scene {
    scene()
        .path("a", mbit(10), ms(40))
        .path("b", mbit(10), ms(80))
}

fn with(redundancy: &str, scheduler: SchedulerKind) -> Profile {
    Profile {
        redundancy: redundancy.parse().expect("a redundancy policy"),
        scheduler,
        ..Profile::AUTO
    }
}

/// Repair symbols per source symbol that the client sent.
fn repair_share(net: &Simulation) -> f64 {
    let sent = net.client_connection().expect("open").stats().streams;
    sent.sent_repair_symbols as f64 / sent.sent_source_symbols as f64
}

#[test]
fn a_fixed_share_is_sent_whatever_the_loss() {
    for scheduler in SchedulerKind::ALL {
        for percent in [10.0, 25.0] {
            let mut net = two_paths()
                .profile(with(&format!("fixed:percent={percent}"), scheduler))
                .connect();
            net.send(mib(1));
            net.deliver(secs(10));
            let share = 100.0 * repair_share(&net);
            assert!(
                (percent - 1.0..percent + 3.0).contains(&share),
                "{scheduler}: {share:.1} % instead of {percent} %"
            );
        }
    }
}

#[test]
fn repair_on_loss_sends_no_more_than_was_lost() {
    for scheduler in SchedulerKind::ALL {
        for (loss, seed) in [(0.0, 1), (0.05, 1), (0.05, 2), (0.05, 3), (0.05, 4)] {
            let mut net = two_paths()
                .with(Direction::Forward, Change::Loss(loss))
                .seed(seed)
                .profile(with("on-loss", scheduler))
                .connect();
            net.send(mib(4));
            net.deliver(secs(60));
            let lost: u64 = ["a", "b"]
                .map(|path| net.path_stats(path).lost_packets)
                .iter()
                .sum();
            let sent = net.client_connection().expect("open").stats().streams;
            let (repair, late) = (sent.sent_repair_symbols, sent.late_symbols);
            assert!(late <= lost, "{scheduler} {seed}: {late} for {lost}");
            assert!(repair <= lost, "{scheduler} {seed}: {repair} for {lost}");
        }
    }
}

#[test]
fn messages_with_repair_ahead_of_loss_do_not_wait_for_feedback() {
    let mean_delay = |redundancy: &str| {
        let mut total = std::time::Duration::ZERO;
        for seed in 0..20 {
            let mut net = two_paths()
                .with(Direction::Forward, Change::Loss(0.05))
                .seed(seed)
                .profile(with(redundancy, SchedulerKind::LowestRtt))
                .connect();
            net.send(kib(28));
            total += net.deliver(secs(5));
        }
        total / 20
    };
    let (fixed, on_loss) = (mean_delay("fixed:percent=50"), mean_delay("on-loss"));
    assert!(fixed + ms(10) < on_loss, "{fixed:?} {on_loss:?}");
}

#[test]
fn every_policy_delivers_over_a_path_that_loses_a_third() {
    for redundancy in RedundancyKind::ALL {
        let coded = Profile {
            redundancy,
            ..Profile::AUTO
        };
        let uncoded = Profile {
            codec: CodecKind::Uncoded,
            ..coded
        };
        let profile = if coded.check().is_ok() {
            coded
        } else {
            uncoded
        };
        let mut net = two_paths()
            .with_on("b", Direction::Both, Change::Loss(0.33))
            .profile(profile)
            .connect();
        net.send(mib(1));
        let took = net.deliver(secs(20));
        assert!(took < secs(8), "{profile}: {took:?}");
    }
}
