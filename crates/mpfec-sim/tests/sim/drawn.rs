//! What random runs have in common: links, what happens to them, and either end by its side.

use std::time::Duration;

use mpfec_core::{Connection, Side};
use mpfec_sim::{
    Change, Direction, GilbertElliott, LinkConfig, PathSetup, Peer, Rng, Setup, Simulation,
};

use crate::{mbit, ms};

/// One to four paths of such links.
pub(crate) fn setup(name: &str, rng: &mut Rng, link: impl Fn(&mut Rng) -> LinkConfig) -> Setup {
    let paths = (0..=rng.up_to(3)).map(|index| PathSetup {
        name: format!("p{index}"),
        forward: link(rng),
        backward: link(rng),
    });
    Setup {
        name: name.to_owned(),
        summary: String::new(),
        paths: paths.collect(),
        changes: Vec::new(),
    }
}

pub(crate) fn names(setup: &Setup) -> Vec<String> {
    setup.paths.iter().map(|path| path.name.clone()).collect()
}

/// The link loses, reorders, repeats and spoils packets.
pub(crate) fn spoil(link: &mut LinkConfig, rng: &mut Rng) {
    link.loss = rng.up_to(150) as f64 / 1000.0;
    link.bursts = rng.chance(0.3).then(|| GilbertElliott::bursts(0.02, 5.0));
    link.faults.reorder = rng.up_to(100) as f64 / 1000.0;
    link.faults.reorder_delay = ms(rng.up_to(60));
    link.faults.duplicate = rng.up_to(50) as f64 / 1000.0;
    link.faults.corrupt = rng.up_to(50) as f64 / 1000.0;
    link.mtu = mtu(rng);
}

/// Of IP packets: at least what the protocol asks for.
pub(crate) fn mtu(rng: &mut Rng) -> u32 {
    1228 + rng.up_to(272) as u32
}

pub(crate) fn direction(rng: &mut Rng) -> Direction {
    let directions = [Direction::Both, Direction::Forward, Direction::Backward];
    directions[rng.up_to(2) as usize]
}

/// What happens to a link, for kinds below 9.
pub(crate) fn change(kind: u64, rng: &mut Rng) -> Option<Change> {
    Some(match kind {
        0 | 1 => Change::Cut,
        2..=4 => Change::Restore,
        5 => Change::Rate(Some(mbit(1 + rng.up_to(20)))),
        6 => Change::Delay(ms(rng.up_to(200))),
        7 => Change::Loss(rng.up_to(300) as f64 / 1000.0),
        8 => Change::Mtu(mtu(rng)),
        _ => return None,
    })
}

/// The least that must pass again when all heals.
pub(crate) fn heal(net: &mut Simulation, path: &str) {
    net.restore_at(Duration::ZERO, path);
    for change in [
        Change::Corrupt(0.0),
        Change::Loss(0.01),
        Change::Bursts(None),
    ] {
        net.at(Duration::ZERO, path, Direction::Both, change);
    }
}

pub(crate) fn side(rng: &mut Rng) -> Side {
    match rng.chance(0.5) {
        true => Side::Client,
        false => Side::Server,
    }
}

pub(crate) fn is_connected(net: &Simulation, side: Side) -> bool {
    match side {
        Side::Client => net.client().connected_at().is_some(),
        Side::Server => net.server().connected_at().is_some(),
    }
}

/// An application acts, once it is connected.
pub(crate) fn with(net: &mut Simulation, side: Side, act: impl FnOnce(&mut Peer, &mut Connection)) {
    match side {
        _ if !is_connected(net, side) => {}
        Side::Client => net.with_client(act),
        Side::Server => net.with_server(act),
    }
}
