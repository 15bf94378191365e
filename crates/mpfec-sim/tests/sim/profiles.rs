//! Every combination of codec, scheduler, congestion controller and redundancy policy does its
//! work.

use std::time::Duration;

use mpfec_core::{CodecKind, ControllerKind, Profile, RedundancyKind, SchedulerKind};
use mpfec_sim::{Change, Direction, Scene, scene};

use crate::{kib, mbit, mib, ms, secs};

fn lossy() -> Scene {
    scene()
        .path("a", mbit(10), ms(30))
        .path("b", mbit(5), ms(90))
        .with_on("a", Direction::Both, Change::Loss(0.03))
        .with_on("b", Direction::Both, Change::Loss(0.10))
}

/// Every scheduler with every part of each other sort, the rest as it is by default.
fn pairs() -> Vec<Profile> {
    let mut pairs = Vec::new();
    for scheduler in SchedulerKind::ALL {
        let base = Profile {
            scheduler,
            ..Profile::AUTO
        };
        pairs.extend(
            CodecKind::ALL
                .iter()
                .map(|&codec| Profile { codec, ..base }),
        );
        pairs.extend(
            ControllerKind::ALL
                .iter()
                .map(|&congestion| Profile { congestion, ..base }),
        );
        pairs.extend(
            RedundancyKind::ALL
                .iter()
                .map(|&redundancy| Profile { redundancy, ..base }),
        );
    }
    pairs.retain(|profile| profile.check().is_ok());
    pairs
}

/// Whatever can be combined.
fn combinations() -> impl Iterator<Item = Profile> {
    let codecs = CodecKind::ALL.iter().copied();
    let schedulers = move |codec| {
        SchedulerKind::ALL
            .iter()
            .map(move |&scheduler| (codec, scheduler))
    };
    let controllers = |(codec, scheduler)| {
        ControllerKind::ALL.iter().map(move |&congestion| Profile {
            codec,
            scheduler,
            congestion,
            redundancy: RedundancyKind::Auto,
        })
    };
    let policies = |profile: Profile| {
        RedundancyKind::ALL.iter().map(move |&redundancy| Profile {
            redundancy,
            ..profile
        })
    };
    codecs
        .flat_map(schedulers)
        .flat_map(controllers)
        .flat_map(policies)
        .filter(|profile| profile.check().is_ok())
}

fn assert_transfer(profile: Profile, limit: Duration) {
    let mut net = lossy().profile(profile).connect();
    net.send(kib(700));
    net.send_back(kib(100));
    let took = net.deliver(secs(60));
    assert!(took <= limit, "{profile}: {took:?}");
}

fn assert_survival(profile: Profile, limit: Duration) {
    for path in ["a", "b"] {
        let mut net = lossy().profile(profile).connect();
        net.send(kib(700));
        net.cut_at(ms(200), path);
        let took = net.deliver(secs(120));
        assert!(took <= limit, "{profile}, {path}: {took:?}");
    }
}

#[test]
fn every_profile_delivers_over_two_lossy_paths() {
    for (name, profile) in Profile::ALL {
        for seed in 1..=3 {
            let mut net = lossy().seed(seed).profile(*profile).connect();
            net.send(mib(2));
            net.send_back(kib(300));
            let took = net.deliver(secs(120));
            assert!(took <= secs(40), "{name}: {took:?}");
        }
    }
}

#[test]
fn every_pair_of_parts_completes_a_transfer_under_loss() {
    for profile in pairs() {
        assert_transfer(profile, secs(12));
    }
}

#[test]
fn every_profile_and_scheduler_survives_the_death_of_a_path() {
    for (_, profile) in Profile::ALL {
        assert_survival(*profile, secs(30));
    }
    for scheduler in SchedulerKind::ALL {
        assert_survival(
            Profile {
                scheduler,
                ..Profile::AUTO
            },
            secs(30),
        );
    }
}

#[test]
#[ignore = "takes minutes: run with --release --ignored"]
fn every_combination_transfers_and_survives_the_death_of_a_path() {
    for profile in combinations() {
        assert_transfer(profile, secs(40));
        // Coupled windows without a code, cut by every parity that fails, take 13 to 53 s.
        let is_slow = profile.codec == CodecKind::Uncoded
            && profile.congestion == ControllerKind::Coupled
            && matches!(profile.redundancy, RedundancyKind::ParityAdaptive { .. });
        assert_survival(profile, secs(if is_slow { 60 } else { 30 }));
    }
}

#[test]
fn ends_with_different_profiles_understand_each_other() {
    for (_, ours) in Profile::ALL {
        for (_, theirs) in Profile::ALL {
            let mut net = lossy()
                .client(|config| config.profile = *ours)
                .server(|config| config.profile = *theirs)
                .connect();
            net.send(kib(50));
            net.send_back(kib(50));
            net.deliver(secs(20));
        }
    }
}

#[test]
fn one_path_carries_all_data_of_the_profile_tcp() {
    let mut net = scene()
        .path("a", mbit(10), ms(60))
        .path("b", mbit(10), ms(20))
        .profile(Profile::TCP)
        .connect();
    net.send(mib(2));
    net.deliver(secs(20));
    let mut sent = ["a", "b"].map(|path| net.path_stats(path).sent_bytes);
    sent.sort_unstable();
    assert!(sent[1] > mib(2) && sent[0] < kib(20), "{sent:?}");
}
