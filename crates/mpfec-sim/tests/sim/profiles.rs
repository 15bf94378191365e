//! Every combination of codec, scheduler and congestion controller does its work.

use mpfec_core::{CodecKind, ControllerKind, Profile, SchedulerKind};
use mpfec_sim::{Change, Direction, Scene, scene};

use crate::{kib, mbit, ms, secs};

fn lossy() -> Scene {
    scene()
        .path("a", mbit(10), ms(30))
        .path("b", mbit(5), ms(90))
        .with_on("a", Direction::Both, Change::Loss(0.03))
        .with_on("b", Direction::Both, Change::Loss(0.10))
}

fn combinations() -> impl Iterator<Item = Profile> {
    let all = CodecKind::ALL.iter().flat_map(|&codec| {
        SchedulerKind::ALL.iter().flat_map(move |&scheduler| {
            ControllerKind::ALL.iter().map(move |&congestion| Profile {
                codec,
                scheduler,
                congestion,
                ..Profile::AUTO
            })
        })
    });
    all.filter(|profile| profile.check().is_ok())
}

#[test]
fn every_combination_completes_a_transfer_under_loss() {
    for profile in combinations() {
        let mut net = lossy().profile(profile).connect();
        net.send(kib(700));
        net.send_back(kib(100));
        let took = net.deliver(secs(60));
        assert!(took <= secs(12), "{profile}: {took:?}");
    }
}

#[test]
fn every_combination_survives_the_death_of_a_path() {
    for profile in combinations() {
        for path in ["a", "b"] {
            let mut net = lossy().profile(profile).connect();
            net.send(kib(700));
            net.cut_at(ms(200), path);
            let took = net.deliver(secs(120));
            assert!(took <= secs(30), "{profile}, {path}: {took:?}");
        }
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
