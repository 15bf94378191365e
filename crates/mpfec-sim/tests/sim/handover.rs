//! What the reader notices of a path that dies silently for a few seconds, and how soon it is used
//! again: two paths of 50 ms, or one alone.

use std::time::Duration;

use mpfec_core::{Dir, PathChange};
use mpfec_sim::{Change, Direction, Scene, Simulation, scene};

use crate::{kib, mbit, ms, secs};

/// 20 and 10 Mbit/s, 50 ms each.
fn two_paths(loss: f64) -> Scene {
    scene()
        .path("fast", mbit(20), ms(50))
        .path("slow", mbit(10), ms(50))
        .with(Direction::Forward, Change::Loss(loss))
}

const DEAD: Duration = Duration::from_secs(5);

/// Has the client write for `time`: as much as it may, or `share` of 30 Mbit/s, every 10 ms.
fn write(net: &mut Simulation, time: Duration, share: Option<f64>) {
    let Some(share) = share else {
        if net.client().outgoing().is_empty() {
            net.send(1 << 40);
        }
        return net.run_for(time);
    };
    let bytes = (share * 30e6 / 8.0 / 100.0) as u64;
    for _ in 0..time.as_millis() / 10 {
        net.with_client(|peer, connection| {
            let first = peer.outgoing().keys().next().copied();
            let stream = first.or_else(|| connection.open_stream(Dir::Uni));
            peer.write(stream.expect("a stream may be opened"), bytes, false);
        });
        net.run_for(ms(10));
    }
}

/// The longest time without anything to read, from the death of a path on, and how long after its
/// return it carried more than probes again, or counted as usable where little is written.
fn handover(seed: u64, path: &str, loss: f64, share: Option<f64>) -> (Duration, Duration) {
    let mut net = two_paths(loss).seed(seed).connect();
    // Deaths fall into any phase of whatever congestion control does in rounds.
    write(&mut net, secs(2) + ms(30 * seed), share);
    net.cut_at(ms(0), path);
    net.restore_at(DEAD, path);
    let now = net.now();
    net.with_server(|peer, _| peer.restart_gap(now));
    write(&mut net, DEAD, share);
    let (returned, before) = (net.now(), net.carried(path));
    let returned_at = net.elapsed();
    // One that nothing was sent on has not been missed.
    let last = net.path_changes(path).pop();
    let was_missed = last.is_some_and(|(_, change)| change == PathChange::Suspected);
    let mut again = (!was_missed).then_some(Duration::ZERO);
    for _ in 0..200 {
        write(&mut net, ms(10), share);
        // Whoever writes less than one path carries needs no second one.
        let changes = net.path_changes(path);
        let is_back = changes
            .iter()
            .any(|(at, change)| *change == PathChange::Back && *at >= returned_at);
        let carries = net.carried(path) > before + kib(20);
        if again.is_none() && (carries || (share.is_some() && is_back)) {
            again = Some(net.now() - returned);
        }
    }
    let gap = net.server().longest_gap(net.now());
    net.check_bytes();
    let again = again.unwrap_or(Duration::MAX);
    (gap, again)
}

/// The worst gap and return of so many seeds in each set-up, printed.
#[expect(clippy::print_stdout, reason = "the figures of a table")]
fn check(seeds: u64) {
    for loss in [0.0, 0.05, 0.2] {
        for share in [None, Some(0.25), Some(0.5)] {
            for path in ["fast", "slow"] {
                let runs = (1..=seeds).map(|seed| handover(seed, path, loss, share));
                let (gaps, again): (Vec<_>, Vec<_>) = runs.unzip();
                let (gap, again) = (gaps.into_iter().max(), again.into_iter().max());
                let scene = format!("loss {loss}, share {share:?}, {path} dies");
                println!("{scene}: gap {gap:?}, used again after {again:?}");
                assert!(gap <= Some(ms(300)), "{scene}: a gap of {gap:?}");
                assert!(
                    again <= Some(secs(1)),
                    "{scene}: used again after {again:?}"
                );
            }
        }
    }
}

#[test]
fn a_path_that_dies_is_hardly_noticed_and_used_again_within_a_second() {
    check(1);
}

#[test]
#[ignore = "takes minutes: run with --release --ignored --nocapture"]
fn the_same_whenever_it_dies() {
    check(5);
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures of a table")]
fn an_only_path_that_returns_after_three_seconds_delivers_within_one() {
    for loss in [0.0, 0.05, 0.2] {
        let after = (1..=5).map(|seed| {
            let mut net = scene()
                .path("only", mbit(20), ms(50))
                .with(Direction::Forward, Change::Loss(loss))
                .seed(seed)
                .connect();
            write(&mut net, secs(1) + ms(30 * seed), None);
            net.cut_at(ms(0), "only");
            net.restore_at(secs(3), "only");
            write(&mut net, secs(3), None);
            let before = net.server().read();
            let took = net.run_until(secs(5), |net| net.server().read() > before);
            net.run_for(secs(1));
            net.check_bytes();
            took.unwrap_or(Duration::MAX)
        });
        let worst = after.max();
        println!("loss {loss}: {worst:?} after the return");
        assert!(worst <= Some(secs(1)), "loss {loss}: {worst:?}");
    }
}
