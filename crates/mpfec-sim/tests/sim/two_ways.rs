//! Data both ways over one connection: what one direction sends delays the acknowledgements of the
//! other, and these take some of its place.

use std::time::Duration;

use mpfec_sim::{Change, Direction, QueueLimit, Scene, scene};

use crate::{mbit, ms, secs};

/// Payload in full packets.
const PAYLOAD: f64 = 0.957;

/// One path of so many bits per second up, from the client, and down, and a queue of a bandwidth-delay
/// product each way.
fn access(up: u64, down: u64, rtt: Duration) -> Scene {
    scene()
        .path("access", up, rtt)
        .with(Direction::Backward, Change::Rate(Some(down)))
        .with(
            Direction::Backward,
            Change::Queue(QueueLimit::bandwidth_delay(down, rtt, 1.0)),
        )
}

/// What arrives up and down in ten seconds after five, as parts of the payload that links of `up` and
/// `down` bits per second carry, losses included.
fn shares(scene: Scene, seed: u64, up: u64, down: u64) -> [f64; 2] {
    let mut net = scene.seed(seed).connect();
    net.send(1 << 40);
    net.send_back(1 << 40);
    net.run_for(secs(5));
    let before = [net.server().read(), net.client().read()];
    net.run_for(secs(10));
    let after = [net.server().read(), net.client().read()];
    net.check_bytes();
    let share = |way: usize, rate: u64| {
        8.0 * (after[way] - before[way]) as f64 / (10.0 * PAYLOAD * rate as f64)
    };
    [share(0, up), share(1, down)]
}

fn check(name: &str, scene: &Scene, up: u64, down: u64, least: [f64; 2]) {
    for seed in 1..=2 {
        let shares = shares(scene.clone(), seed, up, down);
        let [up, down] = shares;
        assert!(
            up >= least[0] && down >= least[1],
            "{name}, seed {seed}: {up:.3} up, {down:.3} down"
        );
    }
}

#[test]
fn paths_are_full_both_ways() {
    let rate = mbit(20);
    let one = access(rate, rate, ms(40));
    check("one path", &one, rate, rate, [0.95; 2]);
    let two = scene()
        .path("short", mbit(20), ms(30))
        .path("long", mbit(10), ms(80));
    check("two paths", &two, mbit(30), mbit(30), [0.95; 2]);
    let lossy = two
        .with(Direction::Forward, Change::Loss(0.02))
        .with(Direction::Backward, Change::Loss(0.02));
    check("two lossy paths", &lossy, mbit(30), mbit(30), [0.92; 2]);
}

/// At ten times the rate a download's acknowledgements are some of what is sent up.
#[test]
fn an_access_with_a_slow_way_up_is_full_both_ways() {
    for (up, down, rtt) in [(10, 100, 20), (10, 30, 60)] {
        let (up, down) = (mbit(up), mbit(down));
        let name = format!("{rtt} ms");
        check(&name, &access(up, down, ms(rtt)), up, down, [0.93, 0.93]);
    }
    let (up, down) = (mbit(2), mbit(20));
    check(
        "2 Mbit/s up",
        &access(up, down, ms(40)),
        up,
        down,
        [0.8, 0.93],
    );
}
