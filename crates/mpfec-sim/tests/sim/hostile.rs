//! Strangers who can send datagrams, and see some, but have no keys.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use mpfec_core::PathStats;
use mpfec_sim::{Packet, Rng, Scene, scene};

use crate::{kib, mbit, mib, ms, secs};

fn two_paths() -> Scene {
    scene()
        .path("wifi", mbit(20), ms(20))
        .path("lte", mbit(10), ms(60))
}

const STRANGER: ([u8; 4], u16) = ([192, 0, 2, 66], 666);

/// Runs a transfer while `attack` makes something of each packet seen of late, and returns
/// how many bytes were read when, every hundredth of a second. At no time does a path lead to the
/// stranger.
fn transfer(seed: u64, attack: impl Fn(&mut Rng, &Packet) -> Option<Packet>) -> Vec<u64> {
    let mut net = two_paths().seed(seed).connect();
    net.network().record(8);
    let mut rng = Rng::new(9);
    net.send(mib(4));
    net.send_back(mib(1));
    let mut read = Vec::new();
    for _ in 0..200 {
        net.run_for(ms(10));
        let seen: Vec<Packet> = net.view().recorded().iter().cloned().collect();
        for packet in seen {
            if let Some(forged) = attack(&mut rng, &packet) {
                net.network().inject(forged);
            }
        }
        read.push(net.server().read());
        for connection in [net.client_connection(), net.server_connection()] {
            let paths = connection.expect("open").stats().paths;
            let leads_elsewhere = |path: &PathStats| path.tuple.remote == STRANGER.into();
            assert!(!paths.iter().any(leads_elsewhere), "{paths:?}");
        }
    }
    net.deliver(secs(5));
    assert!(net.client_closed().is_none() && net.server_closed().is_none());
    read
}

fn garbage(rng: &mut Rng, size: u64) -> Bytes {
    (0..size).map(|_| rng.up_to(255) as u8).collect()
}

/// What both paths carry in the 20 ms by which the ways there differ.
const SPREAD: u64 = 30_000_000 / 8 / 50;

/// Means of so many runs are held to the bounds, for which path a packet takes hangs on chance.
const SEEDS: u64 = 4;

#[test]
fn garbage_copies_and_spoilt_packets_change_nothing() {
    let attacks: [fn(&mut Rng, &Packet) -> Option<Packet>; 5] = [
        // Garbage of any size.
        |rng, seen| {
            let size = rng.up_to(1500);
            let payload = garbage(rng, size);
            Some(Packet {
                payload,
                ..seen.clone()
            })
        },
        // Garbage behind an honest header.
        |rng, seen| {
            let head = seen.payload.slice(..seen.payload.len().min(9));
            let size = rng.up_to(1400);
            let payload = [head, garbage(rng, size)].concat().into();
            Some(Packet {
                payload,
                ..seen.clone()
            })
        },
        // The same again.
        |_, seen| Some(seen.clone()),
        // Cut off.
        |rng, seen| {
            let size = rng.up_to(seen.payload.len() as u64 - 1) as usize;
            Some(Packet {
                payload: seen.payload.slice(..size),
                ..seen.clone()
            })
        },
        // One bit flipped.
        |rng, seen| {
            let mut payload = BytesMut::from(&seen.payload[..]);
            let bit = rng.up_to(payload.len() as u64 * 8 - 1) as usize;
            payload[bit / 8] ^= 1 << (bit % 8);
            Some(Packet {
                payload: payload.freeze(),
                ..seen.clone()
            })
        },
    ];
    let unharmed: Vec<_> = (1..=SEEDS)
        .map(|seed| transfer(seed, |_, _| None))
        .collect();
    for (number, attack) in attacks.iter().enumerate() {
        // What a server answers to strangers takes a little of the links, so that other packets
        // take the slower one, and the reader waits for them at other times.
        let (mut longest, mut behind) = (0, 0);
        for (seed, unharmed) in (1..=SEEDS).zip(&unharmed) {
            let read = transfer(seed, attack);
            let lags = read.iter().zip(unharmed);
            let lags = lags.map(|(got, want)| want.saturating_sub(*got));
            longest += lags.clone().max().unwrap_or(0) / SEEDS;
            behind += lags.sum::<u64>() / unharmed.len() as u64 / SEEDS;
        }
        assert!(
            longest <= SPREAD && behind <= kib(16),
            "attack {number}: {longest} bytes behind at most, {behind} in the mean"
        );
    }
}

#[test]
fn copies_from_elsewhere_move_no_path() {
    let stranger = SocketAddr::from(STRANGER);
    transfer(1, |_, seen| {
        Some(Packet {
            from: stranger,
            ..seen.clone()
        })
    });
}

#[test]
fn a_packet_that_overtakes_itself_from_elsewhere_moves_the_path_for_moments_only() {
    // Somebody on the path sends copies ahead of the originals from another address: the
    // server must believe that the client moved, until the address does not answer.
    let stranger = SocketAddr::from(STRANGER);
    let mut net = two_paths().connect();
    net.send(mib(4));
    net.run_for(ms(500));
    let ends = net.ends("wifi");
    for _ in 0..5 {
        // The client's next packet is caught before it is delivered, and sent from elsewhere.
        let host = net.client_host();
        let now = net.now();
        let caught = mpfec_sim::Host::poll_transmit(net.network().host_mut(host), now);
        if let Some(packet) = caught {
            net.network().inject(Packet {
                from: stranger,
                ..packet
            });
        }
        net.run_for(ms(100));
    }
    net.deliver(secs(10));
    net.run_for(secs(4));
    let paths = net.server_connection().expect("open").stats().paths;
    assert!(paths.iter().any(|path| path.tuple.remote == ends.client));
    assert!(paths.iter().all(|path| path.tuple.remote != stranger));
}

#[test]
fn a_flood_of_first_packets_costs_a_busy_server_nothing_that_lasts() {
    let mut net = two_paths().retry_above(4).connect();
    net.network().record(1);
    // A real first packet, seen on the way, from a thousand invented addresses.
    net.connect_again();
    net.run_until(ms(50), |net| {
        net.view()
            .recorded()
            .front()
            .is_some_and(|seen| seen.payload[0] & 0xf0 == 0xc0)
    });
    let initial = net.view().recorded()[0].clone();
    let before = net.view().host(net.server_host()).connections();
    for number in 0..1000_u16 {
        let from = SocketAddr::from(([198, 51, 100, (number % 250) as u8], 1024 + number));
        net.network().inject(Packet {
            from,
            ..initial.clone()
        });
    }
    net.run_for(ms(100));
    let after = net.view().host(net.server_host()).connections();
    assert!(after <= before + 4, "{after} connections after {before}");
    net.send(kib(100));
    net.deliver(secs(2));
}
