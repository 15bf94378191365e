//! What does not parse or is not authentic costs no allocation and changes no state. In a
//! binary of its own, because it counts every allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use mpfec_core::{
    ClientConfig, ClientTls, Connection, ConnectionHandle, Datagram, Dir, Endpoint, FourTuple, Rng,
    Routed, ServerConfig, ServerTls, SocketId,
};

/// The system's allocator, and how often a thread has used it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "only an allocator can count allocations")]
// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the pointer came from the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// An endpoint with one connection at most.
struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Where responses are written: a buffer that is used again.
    response: Vec<u8>,
}

/// What became of a datagram.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Connection,
    New,
    Response,
    Ignored,
}

impl Host {
    fn new(now: Instant, server: Option<ServerConfig>, seed: u64) -> Self {
        Self {
            endpoint: Endpoint::new(now, server, Rng::seeded(seed)),
            connection: None,
            response: Vec::with_capacity(2048),
        }
    }

    /// Hands in one datagram. Returns what became of it and the allocations that it cost.
    fn receive(&mut self, now: Instant, data: &[u8]) -> (Outcome, u64) {
        let datagram = Datagram {
            tuple: tuple(),
            ecn: None,
            // As from a socket: a slice of a larger buffer would cost less, not more.
            data: BytesMut::from(data),
        };
        self.response.clear();
        let before = ALLOCATIONS.get();
        let outcome = match self
            .endpoint
            .handle_datagram(now, datagram, &mut self.response)
        {
            Routed::Connection(_, datagram) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_datagram(now, datagram);
                }
                Outcome::Connection
            }
            Routed::New(handle, mut connection, datagram) => {
                connection.handle_datagram(now, datagram);
                self.connection = Some((handle, *connection));
                Outcome::New
            }
            Routed::Response(_) => Outcome::Response,
            Routed::Ignored => Outcome::Ignored,
        };
        (outcome, ALLOCATIONS.get() - before)
    }

    /// Everything that leaves now, datagram by datagram.
    fn transmit(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        if let Some((handle, connection)) = &mut self.connection {
            let mut buffer = Vec::new();
            while connection.poll_transmit(now, 1, &mut buffer).is_some() {
                datagrams.push(std::mem::take(&mut buffer));
            }
            while let Some(event) = connection.poll_endpoint_event() {
                self.endpoint.handle_event(*handle, &event);
            }
        }
        datagrams
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("a connection").1
    }

    /// The whole state of the connection, one field after the other, but for what counts bytes
    /// and packets that came to nothing.
    fn state(&self) -> Vec<String> {
        let (_, connection) = self.connection.as_ref().expect("a connection");
        let fields = format!("{connection:#?}");
        let counts = [
            "received_bytes: ",
            "dropped_packets: ",
            "rejected: ",
            "received: ",
        ];
        let counts = |field: &str| counts.iter().any(|count| field.starts_with(count));
        let fields = fields.lines().map(str::trim);
        fields
            .filter(|field| !counts(field))
            .map(str::to_owned)
            .collect()
    }
}

/// A client and a server, and what the client needs to know.
struct Pair {
    now: Instant,
    client: Host,
    server: Host,
}

impl Pair {
    /// A client that has not sent anything yet.
    fn new() -> Self {
        let now = epoch();
        let tls = ServerTls::self_signed(&mut Rng::seeded(1));
        let config = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
        let mut client = Host::new(now, None, 2);
        let connection = client
            .endpoint
            .connect(now, &config, vec![(tuple(), 0)])
            .expect("there is a route");
        client.connection = Some(connection);
        Self {
            now,
            client,
            server: Host::new(now, Some(ServerConfig::new(tls)), 3),
        }
    }

    /// The same with the handshake done, nothing under way and no timer due for a while.
    fn connected() -> Self {
        let mut pair = Self::new();
        pair.settle();
        for host in [&mut pair.client, &mut pair.server] {
            let connection = host.connection();
            while connection.poll_event().is_some() {}
            assert!(!connection.is_handshaking());
        }
        pair
    }

    /// Lets both talk until they have nothing more to say.
    fn settle(&mut self) {
        for _ in 0..50 {
            self.now += Duration::from_millis(30);
            pass(self.now, &mut self.client, &mut self.server);
            pass(self.now, &mut self.server, &mut self.client);
        }
    }

    /// Datagrams with data that the client has just sent.
    fn data(&mut self) -> Vec<Vec<u8>> {
        let connection = self.client.connection();
        let stream = connection.open_stream(Dir::Uni).expect("room for a stream");
        connection.write(stream, &[7; 3000]).expect("room for data");
        let datagrams = self.client.transmit(self.now);
        assert!(datagrams.len() >= 2, "several packets");
        datagrams
    }
}

/// Lets time pass for a host, and hands what it sends to the other.
fn pass(now: Instant, from: &mut Host, to: &mut Host) {
    if let Some((_, connection)) = &mut from.connection {
        connection.handle_timeout(now);
    }
    for datagram in from.transmit(now) {
        to.receive(now, &datagram);
    }
}

fn assert_same(before: &[String], after: &[String]) {
    assert_eq!(before.len(), after.len());
    for (one, other) in before.iter().zip(after) {
        assert_eq!(one, other);
    }
}

fn tuple() -> FourTuple {
    FourTuple {
        socket: SocketId(0),
        local_ip: None,
        remote: SocketAddr::from(([192, 0, 2, 1], 4433)),
    }
}

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

/// Of `datagram`: with any byte changed, cut off anywhere, and longer than it was.
fn spoilt(datagram: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let changed = (0..datagram.len()).map(|at| {
        let mut changed = datagram.to_vec();
        changed[at] ^= 0x21;
        changed
    });
    let cut = (0..datagram.len()).map(|length| datagram[..length].to_vec());
    let longer = [datagram, &[0; 7]].concat();
    changed.chain(cut).chain([longer])
}

/// Bytes of any length that begin as packets of each kind do, with connection IDs `dcid`.
fn garbage(dcid: &[u8; 8]) -> Vec<Vec<u8>> {
    let mut rng = Rng::seeded(4);
    let mut all = Vec::new();
    for length in (0..1500).step_by(7) {
        for first in [0x00, 0x40, 0x5f, 0x80, 0xc0, 0xd0, 0xe3, 0xf0] {
            for version in [[0x6d, 0x70, 0x66, 0x01], [0, 0, 0, 0], [1, 2, 3, 4]] {
                let mut datagram = vec![0; length];
                rng.fill(&mut datagram);
                let header: Vec<u8> = if first & 0x80 == 0 {
                    [&[first], &dcid[..]].concat()
                } else {
                    [&[first], &version[..], &[8], dcid, &[8], dcid, &[0]].concat()
                };
                let end = header.len().min(length);
                datagram[..end].copy_from_slice(&header[..end]);
                if first & 0xb0 == 0x80 && length > 1200 {
                    // The length of an Initial packet, so that it is tried.
                    let rest = (length - end - 2) as u16;
                    datagram[end..end + 2].copy_from_slice(&(0x4000 | rest).to_be_bytes());
                }
                all.push(datagram);
            }
        }
    }
    all
}

#[test]
fn a_server_keeps_nothing_of_strangers() {
    let mut pair = Pair::new();
    let first = pair.client.transmit(pair.now).remove(0);
    let (mut tried, mut answered) = (0, 0);
    for datagram in garbage(&[9; 8]).into_iter().chain(spoilt(&first)) {
        let (outcome, allocations) = pair.server.receive(pair.now, &datagram);
        // What follows the first packet in its datagram is looked at by itself.
        if outcome == Outcome::New && datagram.starts_with(&first) {
            assert!(allocations > 0, "a connection is kept");
            continue;
        }
        assert_eq!(
            allocations,
            0,
            "{outcome:?} of {} bytes: {:x?}",
            datagram.len(),
            &datagram[..datagram.len().min(32)]
        );
        assert!(matches!(outcome, Outcome::Ignored | Outcome::Response));
        tried += 1;
        answered += u32::from(outcome == Outcome::Response);
    }
    assert!(tried > 7000 && answered > 100, "{answered} of {tried}");
    assert_eq!(pair.server.endpoint.connections(), 1, "the longer one");
}

#[test]
fn a_connection_keeps_nothing_of_what_is_not_authentic() {
    let mut pair = Pair::connected();
    let datagrams = pair.data();
    let dcid = *datagrams[0][1..].first_chunk().expect("a short header");
    let before = pair.server.state();
    let timeout = pair.server.connection().poll_timeout();
    let bad = garbage(&dcid);
    for datagram in bad.into_iter().chain(spoilt(&datagrams[0])) {
        let (outcome, allocations) = pair.server.receive(pair.now, &datagram);
        if outcome == Outcome::Response {
            // A change in the connection ID makes it another one's: it is told so.
            continue;
        }
        assert_eq!(allocations, 0, "{:x?}", &datagram[..datagram.len().min(32)]);
        assert_eq!(pair.server.connection().poll_timeout(), timeout);
    }
    assert!(pair.server.transmit(pair.now).is_empty());
    assert!(pair.server.connection().poll_event().is_none());
    assert_same(&before, &pair.server.state());

    // The packets themselves are as good as before.
    let received = pair.server.connection().stats().streams.received_bytes;
    for datagram in &datagrams {
        pair.server.receive(pair.now, datagram);
    }
    assert!(pair.server.connection().stats().streams.received_bytes > received);
}

#[test]
fn a_packet_that_comes_again_costs_nothing_and_changes_nothing() {
    let mut pair = Pair::connected();
    let datagrams = pair.data();
    for datagram in &datagrams {
        pair.server.receive(pair.now, datagram);
    }
    let before = pair.server.state();
    for datagram in &datagrams {
        let (outcome, allocations) = pair.server.receive(pair.now, datagram);
        assert_eq!((outcome, allocations), (Outcome::Connection, 0));
    }
    assert_same(&before, &pair.server.state());
}

#[test]
fn a_client_in_its_handshake_keeps_nothing_of_what_is_not_authentic() {
    let mut pair = Pair::new();
    let first = pair.client.transmit(pair.now);
    let scid_at = 1 + 4 + 1 + 8 + 1;
    let ours = *first[0][scid_at..].first_chunk().expect("an Initial");
    let mut answers = Vec::new();
    for datagram in &first {
        pair.server.receive(pair.now, datagram);
        answers.extend(pair.server.transmit(pair.now));
    }
    let timeout = pair.client.connection().poll_timeout();
    // A list of versions without ours ends the attempt, as RFC 9000 §6.2 has it.
    let is_version_negotiation = |datagram: &[u8]| {
        datagram.first().is_some_and(|first| first & 0x80 != 0)
            && datagram.get(1..5) == Some(&[0; 4])
    };
    let with_ours = [
        &[0xc0, 0, 0, 0, 0, 8][..],
        &ours,
        &[0, 1, 2, 3, 4, 0x6d, 0x70, 0x66, 1],
    ]
    .concat();
    let bad = garbage(&ours)
        .into_iter()
        .filter(|datagram| !is_version_negotiation(datagram));
    // Changes of the first packet only: what is behind it may be authentic by itself.
    let length_at = scid_at + 8 + 1;
    let changed = (length_at + 2..400).map(|at| {
        let mut changed = answers[0].clone();
        changed.truncate(1200);
        changed[at] ^= 0x21;
        changed
    });
    let mut tried = 0;
    for datagram in bad.chain(changed.take(30)).chain([with_ours]) {
        // Short headers cannot be told from early 1-RTT packets; ten of them are kept.
        if datagram.first().is_some_and(|first| first & 0x80 == 0) {
            continue;
        }
        let (_, allocations) = pair.client.receive(pair.now, &datagram);
        assert_eq!(allocations, 0, "{:x?}", &datagram[..datagram.len().min(32)]);
        assert_eq!(pair.client.connection().poll_timeout(), timeout);
        tried += 1;
    }
    assert!(tried > 1000);
    assert!(pair.client.transmit(pair.now).is_empty());

    for datagram in answers {
        pair.client.receive(pair.now, &datagram);
    }
    pair.settle();
    assert!(!pair.client.connection().is_handshaking());
}
