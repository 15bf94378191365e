//! Small messages and data with a deadline beside bulk data: what they wait for.

use std::time::Duration;

use mpfec_core::{Dir, Side, StreamId};
use mpfec_sim::{Change, Direction, Simulation, scene};

use crate::{kib, mbit, ms, secs};

/// 20 Mbit/s and 10 Mbit/s, 25 and 60 ms each way; the first loses that share of packets. Bulk
/// data have filled everything for a while, the send buffer too.
fn full(loss: f64, seed: u64) -> Simulation {
    let mut net = scene()
        .path("a", mbit(20), ms(50))
        .path("b", mbit(10), ms(120))
        .with_on("a", Direction::Forward, Change::Loss(loss))
        .seed(seed)
        .connect();
    net.send(1 << 40);
    net.run_for(secs(5));
    net
}

fn stream(index: u64) -> StreamId {
    StreamId::new(Side::Client, Dir::Uni, index)
}

/// Times from the writing of a message of `bytes` to the reading of its end, in order: each on
/// a stream of its own, one each 47 ms.
fn messages(net: &mut Simulation, count: u64, bytes: u64) -> Vec<Duration> {
    let first = net.client().outgoing().len() as u64;
    let mut delays = Vec::new();
    for index in first..first + count {
        net.send(bytes);
        let took = net.run_until(secs(5), |net| {
            let incoming = net.server().incoming();
            incoming
                .get(&stream(index))
                .is_some_and(|stream| stream.has_ended)
        });
        let took = took.expect("a message is delivered within 5 s");
        delays.push(took);
        net.run_for(ms(47).saturating_sub(took));
    }
    delays.sort_unstable();
    delays
}

/// The same for parts of `bytes` of one stream, each written 100 ms after the one before, with
/// this deadline.
fn parts(
    net: &mut Simulation,
    count: u64,
    bytes: u64,
    deadline: Option<Duration>,
) -> Vec<Duration> {
    let id = net.with_client(|_, connection| {
        let id = connection
            .open_stream(Dir::Uni)
            .expect("the peer allows it");
        connection.set_deadline(id, deadline);
        id
    });
    let mut delays = Vec::new();
    for part in 1..=count {
        net.with_client(|peer, _| peer.write(id, bytes, false));
        let took = net.run_until(secs(5), |net| {
            let incoming = net.server().incoming();
            incoming
                .get(&id)
                .is_some_and(|stream| stream.read == part * bytes)
        });
        let took = took.expect("a part is delivered within 5 s");
        delays.push(took);
        net.run_for(ms(100).saturating_sub(took));
    }
    delays.sort_unstable();
    delays
}

fn p99(delays: &[Duration]) -> Duration {
    delays[delays.len() * 99 / 100]
}

/// The least delay there can be is 25.5 ms; what bulk data keep in the queue adds 8 ms.
#[test]
fn small_messages_on_streams_of_their_own_do_not_wait_behind_bulk() {
    for (loss, most, longest) in [(0.03, ms(40), ms(50)), (0.05, ms(45), ms(100))] {
        let delays = messages(&mut full(loss, 3), 200, 1000);
        let (late, last) = (p99(&delays), delays[199]);
        assert!(late <= most, "{loss}: {late:?}, at most {most:?}");
        assert!(last <= longest, "{loss}: {last:?}, at most {longest:?}");
    }
}

/// 48 KiB each 100 ms: more than a message, and with a deadline that leaves no time to repair
/// after feedback.
#[test]
fn data_with_a_deadline_are_read_within_it_beside_bulk() {
    let within = parts(&mut full(0.03, 3), 150, kib(48), Some(ms(80)));
    let without = parts(&mut full(0.03, 3), 150, kib(48), None);
    panic!(
        "{:?} {:?} {:?}   {:?} {:?} {:?}",
        within[75],
        p99(&within),
        within[149],
        without[75],
        p99(&without),
        without[149]
    );
}
