//! Anything may happen: what was written and not abandoned arrives as it was, in time.

use std::time::Duration;

use mpfec_core::{Dir, Profile, Side, StreamId};
use mpfec_sim::{
    Change, Direction, GilbertElliott, LinkConfig, PathSetup, QueueLimit, Rng, Setup, Simulation,
    scene,
};

use crate::{mbit, ms, secs};

/// A run that is all drawn from one number, and its digest.
fn run(seed: u64) -> u64 {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let setup = setup(rng);
    let paths: Vec<String> = setup.paths.iter().map(|path| path.name.clone()).collect();
    let profile = Profile::ALL[rng.up_to(Profile::ALL.len() as u64 - 1) as usize].1;
    let (window, buffer) = (16 << (10 + rng.up_to(8)), 16 << (10 + rng.up_to(8)));
    let symbols = 1 << rng.up_to(8);
    let mut net = scene()
        .setup(setup)
        .seed(seed)
        .profile(profile)
        .both(|config| {
            config.stream_window = window;
            config.connection_window = 2 * window;
            config.send_buffer = buffer;
            config.max_block_symbols = symbols;
            config.max_streams_uni = 10;
        })
        .start();
    for _ in 0..rng.up_to(40) {
        net.run_for(Duration::from_micros(rng.up_to(400_000)));
        let path = &paths[rng.up_to(paths.len() as u64 - 1) as usize];
        disturb(&mut net, rng, path);
        act(&mut net, rng);
    }
    // All heals, and then all arrives.
    for path in &paths {
        net.restore_at(Duration::ZERO, path);
        for change in [
            Change::Corrupt(0.0),
            Change::Loss(0.01),
            Change::Bursts(None),
        ] {
            net.at(Duration::ZERO, path, Direction::Both, change);
        }
    }
    resume(&mut net);
    net.deliver(secs(60));
    net.view().digest()
}

/// Seeds that found a fault.
const FAILED_ONCE: [u64; 4] = [2633, 11_637, 21_010, 163_438];

fn setup(rng: &mut Rng) -> Setup {
    let paths = (0..=rng.up_to(3)).map(|index| {
        let mut link = || {
            let rate = mbit(1 + rng.up_to(20));
            let rtt = ms(1 + rng.up_to(150));
            let mut link = LinkConfig::new(rate, rtt / 2);
            link.queue = QueueLimit::bandwidth_delay(rate, rtt.max(ms(20)), 1.0);
            link.jitter = ms(rng.up_to(10));
            link.loss = rng.up_to(150) as f64 / 1000.0;
            link.bursts = rng.chance(0.3).then(|| GilbertElliott::bursts(0.02, 5.0));
            link.faults.reorder = rng.up_to(100) as f64 / 1000.0;
            link.faults.reorder_delay = ms(rng.up_to(60));
            link.faults.duplicate = rng.up_to(50) as f64 / 1000.0;
            link.faults.corrupt = rng.up_to(50) as f64 / 1000.0;
            link.mtu = 1228 + rng.up_to(272) as u32;
            link
        };
        PathSetup {
            name: format!("p{index}"),
            forward: link(),
            backward: link(),
        }
    });
    Setup {
        name: "drawn".to_owned(),
        summary: String::new(),
        paths: paths.collect(),
        changes: Vec::new(),
    }
}

/// Something happens to a path.
fn disturb(net: &mut Simulation, rng: &mut Rng, path: &str) {
    let directions = [Direction::Both, Direction::Forward, Direction::Backward];
    let direction = directions[rng.up_to(2) as usize];
    let change = match rng.up_to(9) {
        0 | 1 => Change::Cut,
        2..=4 => Change::Restore,
        5 => Change::Rate(Some(mbit(1 + rng.up_to(20)))),
        6 => Change::Delay(ms(rng.up_to(200))),
        7 => Change::Loss(rng.up_to(300) as f64 / 1000.0),
        8 => Change::Mtu(1228 + rng.up_to(272) as u32),
        _ => return,
    };
    net.at(Duration::ZERO, path, direction, change);
}

/// An application does something.
fn act(net: &mut Simulation, rng: &mut Rng) {
    let side = if rng.chance(0.5) {
        Side::Client
    } else {
        Side::Server
    };
    let is_connected = |net: &Simulation| match side {
        Side::Client => net.client().connected_at().is_some(),
        Side::Server => net.server().connected_at().is_some(),
    };
    if !is_connected(net) {
        return;
    }
    let dir = if rng.chance(0.3) { Dir::Bi } else { Dir::Uni };
    let magnitude = rng.up_to(18);
    let bytes = rng.up_to(1 << magnitude);
    let stream = StreamId::new(side, Dir::Uni, rng.up_to(4));
    let (action, code) = (rng.up_to(9), rng.up_to(100));
    let act = |peer: &mut mpfec_sim::Peer, connection: &mut mpfec_core::Connection| match action {
        0..=4 => peer.send(dir, bytes),
        5 => peer.answer_with(bytes / 4),
        6 => peer.pause(),
        7 => peer.resume(),
        8 if peer.outgoing().contains_key(&stream) => peer.reset(connection, stream, code),
        9 => connection.update_keys(),
        _ => {}
    };
    match side {
        Side::Client => net.with_client(act),
        Side::Server => net.with_server(act),
    }
}

fn resume(net: &mut Simulation) {
    if net.client().connected_at().is_some() {
        net.with_client(|peer, _| peer.resume());
    }
    if net.server().connected_at().is_some() {
        net.with_server(|peer, _| peer.resume());
    }
}

#[test]
fn whatever_happens_what_was_written_arrives() {
    for seed in (1..=200).chain(FAILED_ONCE) {
        run(seed);
    }
}

#[test]
#[ignore = "takes minutes: run with --release --ignored"]
fn whatever_happens_what_was_written_arrives_at_length() {
    for seed in 1000..11_000 {
        run(seed);
    }
}

#[test]
fn a_run_repeats_from_its_seed() {
    for seed in 1..=5 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}
