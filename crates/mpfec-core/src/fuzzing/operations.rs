//! What may happen to a connection, read from bytes: applications that do what they like, a
//! network that does what it likes, attackers with and without keys.

use std::time::Duration;

use super::scene::{CLIENT, InFlight, SERVER, Scene};
use crate::address::Ecn;
use crate::config::TransportConfig;
use crate::crypto::{self, Keys};
use crate::id::{Dir, Side};
use crate::profile::Profile;
use crate::wire::ConnectionId;
use crate::wire::header::{self, LongHeader, LongType, Protected};

/// Runs a client and a server through what `bytes` say: one byte of conditions, and then
/// operations of one byte and what they need. At the end both run on a good network.
///
/// # Panics
/// If an end goes round in circles; or, where no packet was forged with keys, if a byte arrives
/// that was not sent, or something is still undelivered at the end of a connection that lives.
pub fn connection(bytes: &[u8]) {
    let mut input = Input(bytes);
    let conditions = input.byte();
    let mut scene = scene(conditions);
    let mut known = first_initial(&scene);
    for _ in 0..MAX_OPERATIONS {
        if input.0.is_empty() {
            break;
        }
        operate(&mut scene, &mut input, &mut known);
    }
    heal(&mut scene);
}

pub(super) fn scene(conditions: u8) -> Scene {
    let has = |bit: u8| conditions & 1 << bit != 0;
    let mut transport = TransportConfig {
        idle_timeout: Duration::from_secs(if has(0) { 3 } else { 30 }),
        ..TransportConfig::default()
    };
    transport.profile = match (has(1), has(2), has(3), has(4)) {
        (false, false, ..) => Profile::AUTO,
        (true, false, _, false) => Profile::MPTCP,
        (true, false, _, true) => Profile::DFEC,
        (false, true, ..) => Profile::FMTCP,
        (true, true, false, false) => Profile::PNC,
        (true, true, true, false) => Profile::CMT_NC,
        (true, true, _, true) => Profile::NC_MPTCP,
    };
    if has(3) {
        transport.stream_window = 16 << 10;
        transport.connection_window = 20 << 10;
        transport.send_buffer = 16 << 10;
        transport.max_streams_bidi = 2;
        transport.max_streams_uni = 1;
    }
    if has(4) {
        transport.max_block_symbols = 4;
    }
    Scene::new(transport, has(5), has(6), if has(7) { 1 } else { 2 })
}

/// What anybody who sees the client's first datagram knows.
struct Known {
    dcid: ConnectionId,
    client: ConnectionId,
    /// For numbers of forged packets.
    forged: u64,
}

fn first_initial(scene: &Scene) -> Known {
    let first = scene.wire.front().map(|datagram| &datagram.data[..]);
    let Some(Ok(Protected::Long { dcid, scid, .. })) = first.map(header::parse) else {
        panic!("a client begins with an Initial packet");
    };
    Known {
        dcid,
        client: scid,
        forged: 0,
    }
}

fn operate(scene: &mut Scene, input: &mut Input<'_>, known: &mut Known) {
    match input.byte() % 32 {
        operation @ 0..=9 => on_wire(scene, input, operation),
        10 => {
            let end = input.end();
            let (from, to) = (input.byte().into(), input.byte().into());
            let length = input.short() % 1500;
            let data = input.take(length).to_vec();
            inject(scene, end, from, to, data);
        }
        11 => {
            let (end, path) = (input.end(), input.byte().into());
            let length = input.short() % 1200;
            forge_data(scene, end, path, input.take(length));
        }
        12 => {
            let (to, length) = (input.end(), input.short() % 1100);
            forge_initial(scene, to, input.take(length), known);
        }
        13 => {
            let (socket, length) = (input.byte().into(), input.short() % 300);
            forge_retry(scene, socket, input.take(length), known);
        }
        14 => {
            let until = scene.now + Duration::from_millis(1 << (input.byte() % 14));
            scene.wait_until(until);
        }
        15 => scene.run(Duration::from_millis(input.byte().into()), |_| false),
        16 => {
            let end = input.end();
            scene.ends[end].reads ^= true;
            scene.flush();
        }
        17 => {
            // What a NAT does when it forgets: the client is seen under another address.
            let socket = usize::from(input.byte() % 2);
            let port = &mut scene.ends[CLIENT].sockets[socket];
            port.set_port(1000 + (port.port() + 1) % 1000);
        }
        operation => on_connection(scene, input, operation),
    }
}

/// What a network does to the oldest datagram on its way, whether it means to or not.
fn on_wire(scene: &mut Scene, input: &mut Input<'_>, operation: u8) {
    if operation <= 2 {
        for _ in 0..=input.byte() % 32 {
            let Some(datagram) = scene.wire.pop_front() else {
                return;
            };
            scene.deliver(datagram);
        }
        return;
    }
    let Some(mut datagram) = scene.wire.pop_front() else {
        return;
    };
    match operation {
        3 => return,
        4 => return scene.wire.push_back(datagram),
        5 => scene.wire.push_back(datagram.clone()),
        6 => {
            let at = input.short() % datagram.data.len().max(1);
            if let Some(byte) = datagram.data.get_mut(at) {
                *byte ^= input.byte();
            }
        }
        7 => {
            let length = input.short() % datagram.data.len().max(1);
            datagram.data.truncate(length);
        }
        8 => {
            let at = input.short() % datagram.data.len().max(1);
            let length = usize::from(input.byte());
            for (byte, new) in datagram.data.iter_mut().skip(at).zip(input.take(length)) {
                *byte = *new;
            }
        }
        _ => {
            // A copy from another address, and the congestion mark of a router.
            let mut copy = datagram.clone();
            copy.from.set_port(1 + u16::from(input.byte()));
            copy.ecn = Some(Ecn::Ce);
            scene.deliver(copy);
        }
    }
    scene.honest &= !speaks_for_server(&datagram.data);
    scene.deliver(datagram);
}

/// A datagram of an attacker's, who sees neither packets nor keys.
fn inject(scene: &mut Scene, end: usize, from: usize, to: usize, data: Vec<u8>) {
    scene.honest &= !speaks_for_server(&data);
    let datagram = InFlight {
        from: scene.ends[1 - end].sockets[from % 2],
        to: scene.ends[end].sockets[to % 2],
        ecn: None,
        data,
    };
    scene.deliver(datagram);
}

/// Whether a client may believe the datagram without keys: then the end of its attempt to
/// connect is nobody's fault.
fn speaks_for_server(data: &[u8]) -> bool {
    matches!(
        header::parse(data),
        Ok(Protected::VersionNegotiation { .. } | Protected::Retry { .. })
    )
}

/// An authentic packet with any payload, as from a peer that breaks the rules.
pub(super) fn forge_data(scene: &mut Scene, end: usize, path: usize, payload: &[u8]) {
    let now = scene.now;
    let Some(party) = scene.ends[end].parties.values_mut().next() else {
        return;
    };
    let mut data = Vec::new();
    let Some(tuple) = party.connection.forge(now, path, payload, &mut data) else {
        return;
    };
    scene.honest = false;
    let datagram = InFlight {
        from: scene.ends[end].sockets[tuple.socket.0 as usize],
        to: tuple.remote,
        ecn: None,
        data,
    };
    scene.deliver(datagram);
}

/// An Initial packet with any payload: its keys are no secret from those who saw the first one.
fn forge_initial(scene: &mut Scene, to: usize, payload: &[u8], known: &mut Known) {
    scene.honest = false;
    let (side, dcid, scid) = if to == SERVER {
        (Side::Client, known.dcid, known.client)
    } else {
        (Side::Server, known.client, known.dcid)
    };
    let packet = LongHeader {
        kind: LongType::Initial,
        dcid,
        scid,
        token: &[],
        packet_number: known.forged,
        largest_acked: known.forged.checked_sub(1),
    };
    known.forged += 1;
    let mut data = Vec::new();
    let marks = packet.encode(&mut data);
    data.extend_from_slice(payload);
    data.resize(data.len().max(1200 - 16), 0);
    Keys::initial(known.dcid.as_slice(), side).seal_packet(packet.packet_number, &marks, &mut data);
    inject(scene, to, 0, 0, data);
}

/// A Retry with any token: its integrity tag is no secret either.
fn forge_retry(scene: &mut Scene, socket: usize, token: &[u8], known: &Known) {
    let mut data = Vec::new();
    header::encode_retry_without_tag(known.client, ConnectionId::from([9; 8]), token, &mut data);
    let tag = crypto::retry_tag(known.dcid, &data);
    data.extend_from_slice(&tag);
    inject(scene, CLIENT, socket, socket, data);
}

/// What an application does.
fn on_connection(scene: &mut Scene, input: &mut Input<'_>, operation: u8) {
    let end = input.end();
    let now = scene.now;
    let tuple = scene.tuple(usize::from(input.byte() % 2), usize::from(end == SERVER));
    let Some(party) = scene.ends[end].parties.values_mut().next() else {
        return;
    };
    let connection = &mut party.connection;
    match operation {
        18 | 19 => {
            let dir = if input.byte().is_multiple_of(2) {
                Dir::Uni
            } else {
                Dir::Bi
            };
            if let Some(stream) = connection.open_stream(dir) {
                party.write(stream, input.short());
            }
        }
        20 | 21 => {
            if let Some(stream) = party.stream(input.byte().into()) {
                party.write(stream, input.short());
            }
        }
        22 => {
            if let Some(stream) = party.stream(input.byte().into()) {
                party.finish(stream);
            }
        }
        23 => {
            if let Some(stream) = party.stream(input.byte().into()) {
                party.connection.reset(stream, input.byte().into());
                party.settle_stream(stream);
            }
        }
        24 => {
            if let Some(stream) = party.stream(input.byte().into()) {
                party.connection.stop(stream, input.byte().into());
            }
        }
        25 => {
            if let Some(stream) = party.stream(input.byte().into()) {
                party.connection.flush(stream);
                let priority = i32::from(input.byte()) - 128;
                party.connection.set_priority(stream, priority);
                let deadline = Duration::from_millis(input.byte().into());
                party
                    .connection
                    .set_deadline(stream, (priority % 2 == 0).then_some(deadline));
            }
        }
        26 => {
            let message = vec![0; input.short() % 2000];
            // Too large, or the buffer is full: as an application may find out.
            let _ = connection.send_datagram(message.into());
        }
        27 => {
            // Refused at the server, and beyond the number of paths.
            let _ = connection.open_path(now, tuple);
        }
        28 => {
            let path = u32::from(input.byte() % 8);
            match input.byte() % 4 {
                0 => {
                    // It may be the last one.
                    let _ = connection.close_path(now, path);
                }
                1 => connection.set_backup(path, true),
                3 => {
                    connection.set_path_share(path, f64::from(input.byte()) / 16.0);
                }
                _ => connection.set_backup(path, false),
            }
        }
        29 => connection.update_keys(),
        30 => match input.byte() % 4 {
            0 => connection.socket_gone(now, tuple.socket),
            1 => {
                connection.advertise_address(tuple.remote);
            }
            2 => {
                let size = 1000 + 4 * usize::from(input.byte());
                connection.datagram_too_big(now, &tuple, size);
            }
            _ => connection.withdraw_address(tuple.remote),
        },
        _ => connection.close(now, input.byte().into(), "enough"),
    }
    scene.flush();
}

/// A good network and applications that finish what they began: now everything must arrive, or
/// the connection must be over.
fn heal(scene: &mut Scene) {
    for end in &mut scene.ends {
        end.reads = true;
        for party in end.parties.values_mut() {
            let streams: Vec<_> = party.streams.keys().copied().collect();
            for stream in streams {
                party.finish(stream);
            }
        }
    }
    scene.flush();
    let at_rest = |scene: &Scene| {
        let mut parties = scene.ends.iter().flat_map(|end| end.parties.values());
        parties.all(|party| party.is_at_rest())
    };
    scene.run(PATIENCE, at_rest);
    if scene.honest && !at_rest(scene) {
        let stalled: Vec<_> = scene
            .ends
            .iter()
            .flat_map(|end| end.parties.values())
            .map(|party| (party.connected, &party.streams, party.connection.stats()))
            .collect();
        panic!("neither delivered nor closed: {stalled:#?}");
    }
}

/// Bytes that are read as far as they go; behind them there are zeros.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    fn short(&mut self) -> usize {
        u16::from_be_bytes(self.array()).into()
    }

    fn end(&mut self) -> usize {
        usize::from(self.byte() % 2)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let taken = self.take(N);
        out[..taken.len()].copy_from_slice(taken);
        out
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// More would only take time.
const MAX_OPERATIONS: usize = 256;
/// Longer than any idle timeout and all probes before it.
const PATIENCE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::address::SocketId;

    /// Open a unidirectional stream and write to it, and the same at the server.
    const EXCHANGE: &[u8] = &[15, 50, 18, 0, 0, 0, 0x20, 0, 18, 1, 0, 1, 0x40, 0, 15, 200];

    #[test]
    fn both_ends_deliver_under_any_conditions() {
        for conditions in 0..=255 {
            let mut scene = scene(conditions);
            let mut known = first_initial(&scene);
            let mut input = Input(EXCHANGE);
            while !input.0.is_empty() {
                operate(&mut scene, &mut input, &mut known);
            }
            heal(&mut scene);
            assert!(scene.honest);
            for end in &scene.ends {
                let party = end.parties.values().next().expect("a connection");
                assert!(
                    party.connected && !party.closed,
                    "conditions {conditions:#x}"
                );
                let read: u64 = party.streams.values().map(|stream| stream.read).sum();
                assert!(read > 0, "conditions {conditions:#x}");
            }
        }
    }

    #[test]
    fn forged_packets_are_opened() {
        let mut scene = scene(0);
        scene.run(Duration::from_millis(200), |_| false);
        // HANDSHAKE_DONE, which clients must not send.
        forge_data(&mut scene, CLIENT, 0, &[0x1e]);
        let server = scene.ends[SERVER]
            .parties
            .values()
            .next()
            .expect("a connection");
        assert!(server.closed);
    }

    #[test]
    fn a_retry_whose_token_leaves_no_room_for_a_handshake_is_no_end_of_it() {
        for length in [513, 1125, 1161] {
            let mut scene = scene(0);
            let known = first_initial(&scene);
            forge_retry(&mut scene, 0, &vec![1; length], &known);
            scene.run(Duration::from_secs(1), |_| false);
            let client = scene.ends[CLIENT].parties.values().next();
            assert!(client.expect("a connection").connected, "{length} bytes");
        }
    }

    #[test]
    fn acknowledging_more_than_was_received_ends_the_connection() {
        // PATH_ACK of path 0: largest, delay, no further ranges, and all below the largest.
        for (largest, is_honest) in [(0, true), (60, false)] {
            let mut scene = scene(0);
            scene.run(Duration::from_millis(200), |_| false);
            forge_data(&mut scene, CLIENT, 0, &[0x04, 0, largest, 0, 0, 0]);
            let server = scene.ends[SERVER].parties.values().next();
            assert_eq!(server.expect("a connection").closed, !is_honest);
        }
    }

    #[test]
    fn a_client_without_routes_waits_quietly_for_its_end() {
        let mut scene = scene(0x80);
        let now = scene.now;
        let client = scene.ends[CLIENT].parties.values_mut().next();
        client
            .expect("a connection")
            .connection
            .socket_gone(now, SocketId(0));
        scene.wire.clear();
        // Panics if a timer that nothing can answer is due again and again.
        scene.run(Duration::from_secs(40), |_| false);
        assert!(scene.ends[CLIENT].parties.is_empty());
    }

    #[test]
    fn a_client_that_nobody_hears_any_more_does_not_keep_the_server_busy() {
        let mut scene = scene(0);
        scene.run(Duration::from_millis(500), |_| false);
        let server = scene.ends[SERVER]
            .parties
            .values_mut()
            .next()
            .expect("a connection");
        let stream = server
            .connection
            .open_stream(Dir::Uni)
            .expect("room for a stream");
        server.write(stream, 60_000);
        // One packet of each path arrives from another address, which never answers.
        for path in [0, 1] {
            let mut data = Vec::new();
            let now = scene.now;
            let client = scene.ends[CLIENT]
                .parties
                .values_mut()
                .next()
                .expect("a connection");
            let tuple = client
                .connection
                .forge(now, path, &[1], &mut data)
                .expect("a path");
            let mut from = scene.ends[CLIENT].sockets[path];
            from.set_port(4);
            scene.deliver(InFlight {
                from,
                to: tuple.remote,
                ecn: None,
                data,
            });
        }
        for _ in 0..200 {
            let until = scene.now + Duration::from_millis(200);
            scene.wait_until(until);
            scene.wire.clear();
        }
        assert!(scene.ends[SERVER].parties.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn whatever_happens_both_ends_keep_the_rules(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            connection(&bytes);
        }
    }
}
