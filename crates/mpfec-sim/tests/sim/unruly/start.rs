//! How a run begins.

use std::collections::BTreeMap;

use mpfec_core::{Profile, Side, TransportConfig};
use mpfec_sim::{LinkConfig, QueueLimit, Rng, scene};

use super::World;
use crate::drawn::{is_connected, names, setup, spoil};
use crate::{mbit, ms, secs};

impl World {
    pub(super) fn start(seed: u64) -> Self {
        let mut rng = Rng::named(seed, "unruly");
        let setup = setup("unruly", &mut rng, link);
        let paths = names(&setup);
        let profile = match rng.chance(0.3) {
            true => Profile::AUTO,
            false => Profile::ALL[rng.up_to(Profile::ALL.len() as u64 - 1) as usize].1,
        };
        let mut scene = scene().setup(setup).seed(seed).profile(profile);
        let is_long = rng.chance(0.3);
        let idle = match rng.up_to(2) {
            0 => secs(0),
            1 => secs(3600),
            _ if is_long => secs(7200),
            _ => secs(120),
        };
        let mut most_window = 0;
        for side in [Side::Client, Side::Server] {
            let drawn = transport(&mut rng);
            most_window = most_window.max(drawn.connection_window);
            let change = |config: &mut TransportConfig| {
                let profile = config.profile;
                *config = drawn;
                config.profile = profile;
                config.idle_timeout = idle;
                config.handshake_timeout = secs(3600);
            };
            scene = match side {
                Side::Client => scene.client(change),
                Side::Server => scene.server(change),
            };
        }
        let rebinds = rng.chance(0.5);
        if rebinds {
            let keep = secs(1 + rng.up_to(4));
            scene = scene.client(|config| config.keep_alive = keep);
        }
        let server_closes = rng.chance(0.3);
        let narrow = rng.chance(0.5);
        let tracks_flight = rng.chance(0.05);
        let mut world = Self {
            net: scene.start(),
            rng,
            paths,
            removed: Vec::new(),
            server_closes,
            rebinds,
            narrow,
            is_long,
            most_window,
            next_port: 51_000,
            next_datagram: 0,
            sent: [BTreeMap::new(), BTreeMap::new()],
            tracks_flight,
            flight: BTreeMap::new(),
            addresses: Vec::new(),
        };
        for host in [world.net.client_host(), world.net.server_host()] {
            let node = world.net.network().host_mut(host);
            node.application_mut().answer_with(5);
        }
        if world.rng.chance(0.5) {
            // Most of it happens to a connection.
            let connected =
                |net: &_| [Side::Client, Side::Server].map(|side| is_connected(net, side));
            world
                .net
                .run_until(secs(60), |net| connected(net) == [true; 2]);
        }
        world
    }
}

/// Limits and sizes, small ones often.
fn transport(rng: &mut Rng) -> TransportConfig {
    let small = if rng.chance(0.5) { 1 } else { 8 };
    let stream_window = 16 << (10 + rng.up_to(small));
    let connection_window = stream_window + (stream_window >> rng.up_to(4));
    let small = if rng.chance(0.5) { 1 } else { 8 };
    let send_buffer = 16 << (10 + rng.up_to(small));
    let max_block_symbols = 1 << rng.up_to(10);
    let keep_alive = match rng.chance(0.5) {
        true => secs(1 + rng.up_to(4)),
        false => secs(0),
    };
    let (max_streams_uni, max_streams_bidi) = (1 + rng.up_to(10), 1 + rng.up_to(10));
    let max_mtu = match rng.chance(0.3) {
        true => 1200 + rng.up_to(3000) as u16,
        false => 1472,
    };
    let datagram_buffer = 1 << (10 + rng.up_to(10));
    TransportConfig {
        stream_window,
        connection_window,
        send_buffer,
        max_block_symbols,
        max_streams_uni,
        max_streams_bidi,
        keep_alive,
        max_mtu,
        datagram_buffer,
        ..TransportConfig::default()
    }
}

/// A link that may be slow, have a short queue, and spoil what it carries.
pub(super) fn link(rng: &mut Rng) -> LinkConfig {
    let rate = match rng.chance(0.2) {
        true => 50_000 + rng.up_to(500_000),
        false => mbit(1 + rng.up_to(20)),
    };
    let rtt = ms(1 + rng.up_to(150));
    let mut link = LinkConfig::new(rate, rtt / 2);
    link.queue = QueueLimit::bandwidth_delay(rate, rtt.max(ms(20)), 1.0);
    if rng.chance(0.2) {
        link.queue = QueueLimit::Packets(1 + rng.up_to(5));
    }
    let is_clean = rng.chance(0.3);
    if !is_clean {
        link.jitter = ms(rng.up_to(10));
        link.jitter_reorders = rng.chance(0.3);
        spoil(&mut link, rng);
    }
    link
}
