//! Applications do whatever their interface allows, at any time, while paths come, go and change:
//! what was written and not abandoned arrives, limits are given back, and connections end.

mod applications;
mod checks;
mod network;
mod paths;
mod start;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use mpfec_core::Side;
use mpfec_sim::{Rng, Simulation};

/// A run that is all drawn from one number.
struct World {
    net: Simulation,
    rng: Rng,
    paths: Vec<String>,
    /// Those whose interfaces were taken away once.
    removed: Vec<String>,
    /// Whether the server closes paths, and not the client: if both may, they may close all.
    server_closes: bool,
    /// Whether NATs forget their mappings.
    rebinds: bool,
    /// Whether links may become narrower than the protocol can use.
    narrow: bool,
    /// Whether it may take minutes.
    is_long: bool,
    /// The larger connection window of both ends.
    most_window: u64,
    next_port: u16,
    next_datagram: u64,
    /// Sizes of datagrams by number, from the client and from the server.
    sent: [BTreeMap<u64, usize>; 2],
    /// Whether what is in flight is looked at after every step.
    tracks_flight: bool,
    /// By end and path.
    flight: BTreeMap<(usize, u32), u64>,
    /// Further ones of the server.
    addresses: Vec<SocketAddr>,
}

fn run(seed: u64) {
    let mut world = World::start(seed);
    let most = world.rng.up_to(60);
    for _ in 0..most {
        let is_pause = world.is_long && world.rng.chance(0.2);
        let most = if is_pause { 8_000_000 } else { 400_000 };
        let time = Duration::from_micros(world.rng.up_to(most));
        world.pass(time);
        if world.rng.chance(0.6) {
            world.disturb();
        }
        for _ in 0..=world.rng.up_to(2) {
            world.act();
        }
    }
    world.heal();
    world.deliver("what was written");
    for side in [Side::Client, Side::Server] {
        world.write_more(side);
    }
    world.deliver("more");
    world.check_datagrams();
    world.finish();
}

/// Seeds that found a fault.
const FAILED_ONCE: [u64; 4] = [5168, 25_785, 31_208, 102_397];

#[test]
fn whatever_applications_do_meanwhile_what_was_written_arrives() {
    for seed in (0..SEEDS).chain(FAILED_ONCE) {
        run(seed);
    }
}

#[test]
#[ignore = "takes minutes: run with --release --ignored"]
fn whatever_applications_do_meanwhile_what_was_written_arrives_at_length() {
    for seed in 100_000..110_000 {
        run(seed);
    }
}

/// What takes some seconds.
const SEEDS: u64 = 200;
