//! What the delay-based controller makes of links, in virtual time.

mod support;

use std::time::Duration;

use mpfec_congestion::ControllerKind;

use self::support::{Report, Scene};

fn link(mbit: f64, one_way_ms: f64) -> Scene {
    Scene::new(
        ControllerKind::Delay,
        mbit,
        Duration::from_secs_f64(one_way_ms / 1000.0),
    )
}

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Runs a scene with several seeds and checks the worst.
fn check(name: &str, scene: &Scene, seconds: f64, wanted: impl Fn(&Report) -> Result<(), String>) {
    for seed in SEEDS {
        let report = scene.clone().seed(seed).run(secs(seconds));
        if let Err(problem) = wanted(&report) {
            panic!("{name}, seed {seed}: {problem}");
        }
    }
}

/// At least `share` of the link used between `from` and `to`, with a mean queue of at most
/// `queue` seconds and no more than 1 % of the packets sent into a full queue.
fn is_full(from: f64, to: f64, share: f64, queue: f64) -> impl Fn(&Report) -> Result<(), String> {
    move |report| {
        let used = report.utilisation(from, to);
        let waits = report.mean_queue(from, to);
        let overflow = report.overflow(from, to);
        if used < share || waits > queue || overflow > 0.01 {
            return Err(format!(
                "used {used:.3}, queue {waits:.4} s, overflow {overflow:.4}"
            ));
        }
        Ok(())
    }
}

#[test]
fn the_fmtcp_paths_are_full_with_a_short_queue_whatever_the_loss() {
    for (one_way, loss) in [(100.0, 0.001), (100.0, 0.02), (100.0, 0.05), (100.0, 0.2)] {
        let scene = link(10.0, one_way).loss(loss);
        check(
            &format!("{one_way} ms, {loss}"),
            &scene,
            20.0,
            is_full(5.0, 20.0, 0.97, 0.03),
        );
    }
    check(
        "100 ms, 0.5",
        &link(10.0, 100.0).loss(0.5),
        20.0,
        is_full(5.0, 20.0, 0.96, 0.03),
    );
    for (one_way, share) in [(200.0, 0.97), (300.0, 0.97), (500.0, 0.95)] {
        let scene = link(10.0, one_way).loss(0.01);
        check(
            &format!("{one_way} ms"),
            &scene,
            25.0,
            is_full(5.0, 25.0, share, 0.15),
        );
    }
}

#[test]
fn the_dfec_paths_are_full_with_a_short_queue() {
    for loss in [0.0, 0.01, 0.02, 0.03, 0.05] {
        let scene = link(20.0, 12.5).loss(loss);
        check(
            &format!("loss {loss}"),
            &scene,
            20.0,
            is_full(5.0, 20.0, 0.96, 0.01),
        );
    }
    for (rtt, queue) in [(25.0, 0.015), (100.0, 0.025), (400.0, 0.04)] {
        let scene = link(10.0, rtt / 2.0);
        check(
            &format!("RTT {rtt} ms"),
            &scene,
            20.0,
            is_full(5.0, 20.0, 0.97, queue),
        );
    }
}

#[test]
fn the_pnc_paths_are_full_through_bursts_of_loss_and_queues_of_fifty_packets() {
    for (mbit, one_way, loss) in [(4.0, 220.0, 0.015), (10.0, 120.0, 0.05), (8.0, 70.0, 0.15)] {
        let mut scene = link(mbit, one_way).loss(loss).queue(50);
        scene.burst_loss = 0.01;
        check(
            &format!("{mbit} Mbit/s"),
            &scene,
            25.0,
            is_full(5.0, 25.0, 0.96, 0.08),
        );
    }
}

/// Packets that leave at the pace of a round trip ago make a queue swing around its target, and a
/// drain that is paced for the queue before it costs twice what it holds back.
#[test]
fn the_queue_stays_where_it_is_aimed_at_and_drains_take_no_more_than_it() {
    for (mbit, one_way, loss, used, queue) in [
        (10.0, 100.0, 0.0, 0.998, 0.021),
        (10.0, 100.0, 0.001, 0.99, 0.021),
        (20.0, 12.5, 0.05, 0.98, 0.0075),
    ] {
        check(
            &format!("{mbit} Mbit/s, {loss}"),
            &link(mbit, one_way).loss(loss),
            25.0,
            is_full(5.0, 25.0, used, queue),
        );
    }
}

#[test]
fn a_path_that_is_a_small_part_of_the_connection_is_full_too() {
    for (mbit, one_way, loss, part) in [(4.0, 220.0, 0.015, 0.2), (10.0, 100.0, 0.2, 0.3)] {
        let mut scene = link(mbit, one_way).loss(loss);
        scene.part = part;
        check(
            &format!("{mbit} Mbit/s"),
            &scene,
            25.0,
            is_full(5.0, 25.0, 0.95, 0.05),
        );
    }
}

#[test]
fn the_rate_of_the_link_is_reached_within_a_few_round_trips() {
    for (mbit, one_way, loss, round_trips) in [
        (20.0, 12.5, 0.03, 14.0),
        (10.0, 50.0, 0.0, 5.0),
        (10.0, 100.0, 0.0, 5.0),
        (10.0, 100.0, 0.05, 5.0),
        (10.0, 100.0, 0.5, 7.0),
        (10.0, 300.0, 0.01, 6.0),
        (10.0, 500.0, 0.01, 6.0),
    ] {
        let limit = round_trips * 2.0 * one_way / 1000.0;
        let scene = link(mbit, one_way).loss(loss);
        check(
            &format!("{mbit} Mbit/s, {one_way} ms, {loss}"),
            &scene,
            limit + 2.0,
            |report| {
                let reached = report.reaches(0.9, 0.0, 0.2);
                if reached > limit {
                    Err(format!("took {reached} s"))
                } else {
                    Ok(())
                }
            },
        );
    }
}

#[test]
fn starting_does_not_flood_the_queue() {
    for (mbit, one_way) in [(20.0, 12.5), (10.0, 50.0), (10.0, 100.0), (10.0, 300.0)] {
        check(
            &format!("{mbit} Mbit/s, {one_way} ms"),
            &link(mbit, one_way),
            5.0,
            |report| {
                let overflow = report.overflow(0.0, 5.0);
                if overflow > 0.01 {
                    Err(format!("overflow {overflow:.4}"))
                } else {
                    Ok(())
                }
            },
        );
    }
}

#[test]
fn a_fast_short_path_is_full_although_hosts_stall_for_milliseconds() {
    let quiet = link(5000.0, 0.05).queue(200);
    check("quiet", &quiet, 0.6, is_full(0.1, 0.6, 0.95, 0.002));
    // The stalls themselves take 13 % of the time of each host.
    for (mbit, one_way, queue) in [
        (5000.0, 0.05, 200),
        (5000.0, 0.05, 2000),
        (1000.0, 0.5, 400),
    ] {
        let mut scene = link(mbit, one_way).queue(queue);
        scene.stalls = true;
        check(
            &format!("{mbit} Mbit/s, {queue}"),
            &scene,
            1.0,
            is_full(0.4, 1.0, 0.8, 0.003),
        );
    }
}

#[test]
fn stalls_of_the_hosts_do_not_slow_an_ordinary_path() {
    for mbit in [20.0, 100.0] {
        let mut scene = link(mbit, 10.0).loss(0.02);
        scene.stalls = true;
        check(
            &format!("{mbit} Mbit/s"),
            &scene,
            15.0,
            is_full(5.0, 15.0, 0.95, 0.015),
        );
    }
}

#[test]
fn lost_acknowledgements_cost_nothing() {
    let mut scene = link(10.0, 50.0).loss(0.02);
    scene.ack_loss = 0.2;
    check("a fifth lost", &scene, 15.0, is_full(5.0, 15.0, 0.97, 0.03));
}

#[test]
fn a_short_queue_under_loss_is_not_flooded() {
    for loss in [0.0, 0.05, 0.2] {
        let scene = link(10.0, 25.0).loss(loss).queue(20);
        check(
            &format!("20 packets, {loss}"),
            &scene,
            20.0,
            is_full(5.0, 20.0, 0.95, 0.02),
        );
    }
    check("5 packets", &link(10.0, 25.0).queue(5), 20.0, |report| {
        let (used, overflow) = (report.utilisation(5.0, 20.0), report.overflow(5.0, 20.0));
        if used < 0.85 || overflow > 0.05 {
            return Err(format!("used {used:.3}, overflow {overflow:.4}"));
        }
        Ok(())
    });
}

#[test]
fn a_rate_that_changes_is_followed_within_seconds() {
    let mut faster = link(10.0, 50.0).loss(0.02);
    faster.changes = vec![(secs(8.0), 40.0, secs(0.05))];
    check(
        "10 to 40 Mbit/s",
        &faster,
        20.0,
        is_full(11.5, 20.0, 0.95, 0.03),
    );
    let mut slower = link(40.0, 50.0).loss(0.02);
    slower.changes = vec![(secs(8.0), 10.0, secs(0.05))];
    check(
        "40 to 10 Mbit/s",
        &slower,
        20.0,
        is_full(10.0, 20.0, 0.95, 0.035),
    );
}

#[test]
fn a_path_that_gets_longer_is_recognised() {
    let mut scene = link(10.0, 10.0).loss(0.02).queue(100);
    scene.changes = vec![(secs(8.0), 10.0, secs(0.1))];
    check(
        "20 to 200 ms",
        &scene,
        25.0,
        is_full(12.0, 25.0, 0.95, 0.05),
    );
}

#[test]
fn a_path_that_gets_shorter_is_recognised() {
    let mut scene = link(10.0, 100.0).loss(0.02).queue(100);
    scene.changes = vec![(secs(8.0), 10.0, secs(0.01))];
    check(
        "200 to 20 ms",
        &scene,
        20.0,
        is_full(10.0, 20.0, 0.95, 0.04),
    );
}

#[test]
fn a_path_that_returns_resumes_its_rate_at_once() {
    for sibling in [true, false] {
        let mut scene = link(20.0, 10.0);
        scene.dead = Some((secs(5.0), secs(10.0)));
        scene.sibling = sibling;
        check(&format!("sibling: {sibling}"), &scene, 14.0, |report| {
            // A probe every 200 ms, or every second without a sibling, finds it.
            let reached = report.reaches(0.9, 10.0, 0.1);
            let limit = if sibling { 0.3 } else { 1.1 };
            if reached > limit {
                Err(format!("took {reached} s"))
            } else {
                Ok(())
            }
        });
    }
}

#[test]
fn an_application_slower_than_the_path_leaves_no_queue_and_keeps_the_window() {
    let mut scene = link(10.0, 100.0).loss(0.05);
    scene.app_rate = Some(0.7 * 10e6 / 8.0);
    check("paced at 70 %", &scene, 20.0, |report| {
        let (used, waits) = (report.utilisation(5.0, 20.0), report.mean_queue(5.0, 20.0));
        if used < 0.69 || waits > 0.005 {
            return Err(format!("used {used:.3}, queue {waits:.4} s"));
        }
        Ok(())
    });
}

const SEEDS: [u64; 3] = [11, 12, 13];
