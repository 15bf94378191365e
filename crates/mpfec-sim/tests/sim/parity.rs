//! Parity over the packets of a path: what dFEC brings, what it costs, and what TCP-IR does not.

use std::time::Duration;

use mpfec_core::Profile;
use mpfec_sim::{Change, Direction, PathSetup, Scene, Setup, Simulation, scene};

use crate::{kib, mbit, mib, ms, secs};

/// One path of 20 Mbit/s that loses packets of data.
fn single(rtt: Duration, loss: f64) -> Scene {
    let setup = Setup {
        name: "single".to_owned(),
        summary: String::new(),
        paths: vec![PathSetup::symmetric("b1", mbit(20), rtt, loss)],
        changes: Vec::new(),
    };
    scene().setup(setup)
}

/// How long a transfer takes, and the run.
fn transfer(scene: &Scene, profile: Profile, bytes: u64) -> (Duration, Simulation) {
    let mut net = scene.clone().profile(profile).connect();
    net.send(bytes);
    let took = net.deliver(secs(600));
    (took, net)
}

/// The time with one profile as a share of the time with another, over three seeds.
fn ratio(scene: &Scene, of: Profile, to: Profile, bytes: u64) -> f64 {
    let total = |profile| -> f64 {
        let seeds = 1..=3;
        seeds
            .map(|seed| {
                transfer(&scene.clone().seed(seed), profile, bytes)
                    .0
                    .as_secs_f64()
            })
            .sum()
    };
    total(of) / total(to)
}

#[test]
fn at_2_percent_loss_fewer_than_half_as_many_packets_are_sent_again() {
    // So wide that nothing but the link loses packets.
    let scene = scene()
        .path("wide", mbit(200), ms(100))
        .with(Direction::Forward, Change::Loss(0.02));
    let lost = [Profile::TCP, Profile::TCP_DFEC].map(|profile| {
        let (_, net) = transfer(&scene, profile, mib(8));
        let path = net.path_stats("wide");
        path.lost_packets - path.parity.lost
    });
    assert!(2 * lost[1] < lost[0], "{lost:?}");
}

#[test]
fn a_path_that_loses_nothing_carries_hardly_any_parity() {
    let mut net = single(ms(25), 0.0).profile(Profile::TCP_DFEC).connect();
    net.send(1 << 40);
    net.run_for(secs(30));
    let path = net.path_stats("b1");
    let overhead = path.parity.sent_bytes as f64 / path.sent_bytes as f64;
    assert!(overhead <= 0.02, "{overhead:.4}");
    net.run_for(secs(5));
    let ratio = net.path_stats("b1").parity.ratio;
    assert!(ratio.is_some_and(|ratio| ratio >= 100.0), "{ratio:?}");
}

#[test]
fn a_lossy_path_alone_is_a_third_faster_with_adaptive_parity() {
    for (rtt, loss) in [(25, 0.01), (25, 0.05), (100, 0.01), (100, 0.03)] {
        let ratio = ratio(
            &single(ms(rtt), loss),
            Profile::TCP_DFEC,
            Profile::TCP,
            mib(4),
        );
        assert!(ratio <= 0.75, "{rtt} ms, {loss}: {ratio:.2}");
    }
}

#[test]
fn parity_at_fixed_intervals_gains_nothing_as_the_paper_says() {
    for (rtt, loss) in [(25, 0.02), (100, 0.02)] {
        let ratio = ratio(
            &single(ms(rtt), loss),
            Profile::TCP_IR,
            Profile::TCP,
            mib(4),
        );
        assert!((0.8..1.2).contains(&ratio), "{rtt} ms: {ratio:.2}");
    }
}

#[test]
fn counts_of_parity_add_up_at_both_ends() {
    for profile in [Profile::TCP_DFEC, Profile::TCP_IR, Profile::DFEC] {
        let (_, mut net) = transfer(&single(ms(25), 0.03), profile, mib(2));
        net.run_for(secs(2));
        let sender = net.path_stats("b1").parity;
        let receiver = net.server_connection().expect("open").stats().paths[0].parity;
        assert!(sender.useful > 20, "{profile}: {sender:?}");
        let arrived = sender.useful + sender.useless;
        assert!(
            sender.lost > 0 && arrived + sender.lost <= sender.sent,
            "{profile}: {sender:?}"
        );
        // The last report may have been lost.
        assert!(
            receiver.rebuilt - sender.useful <= 1,
            "{profile}: {sender:?}, {receiver:?}"
        );
        assert_eq!(sender.rebuilt, 0, "nothing is lost on the way back");
    }
}

#[test]
fn what_is_late_doubled_or_lost_in_either_direction_arrives_as_it_was() {
    for profile in [Profile::TCP_DFEC, Profile::TCP_IR, Profile::DFEC] {
        for seed in 1..=5 {
            let mut setup = Setup::named("demo").expect("built in");
            for path in &mut setup.paths {
                for link in [&mut path.forward, &mut path.backward] {
                    link.loss = 0.04;
                    link.jitter = ms(5);
                    link.faults.reorder = 0.05;
                    link.faults.reorder_delay = ms(30);
                    link.faults.duplicate = 0.02;
                    link.faults.corrupt = 0.01;
                }
            }
            let mut net = scene().setup(setup).profile(profile).seed(seed).connect();
            net.send(mib(1));
            net.send_back(kib(600));
            net.deliver(secs(120));
            let rebuilt: u64 = [net.client_connection(), net.server_connection()]
                .iter()
                .flatten()
                .flat_map(|connection| connection.stats().paths)
                .map(|path| path.parity.rebuilt)
                .sum();
            assert!(rebuilt > 10, "{profile}, seed {seed}: {rebuilt}");
        }
    }
}

#[test]
fn one_end_may_send_parity_and_the_other_not() {
    for (client, server) in [
        (Profile::DFEC, Profile::AUTO),
        (Profile::AUTO, Profile::DFEC),
        (Profile::TCP_IR, Profile::TCP_DFEC),
    ] {
        let mut net = single(ms(25), 0.03)
            .client(|config| config.profile = client)
            .server(|config| config.profile = server)
            .connect();
        net.send(mib(1));
        net.send_back(mib(1));
        net.deliver(secs(60));
        let sends = |profile: Profile| profile.redundancy.is_parity();
        let counts = net.path_stats("b1").parity;
        assert_eq!(counts.sent > 0, sends(client), "{client}");
        assert_eq!(counts.rebuilt > 0, sends(server), "{server}");
    }
}
