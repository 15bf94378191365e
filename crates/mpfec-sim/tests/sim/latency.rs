//! Small messages and data with a deadline beside bulk data: what they wait for.

use std::time::Duration;

use mpfec_core::{DatagramOptions, DatagramRedundancy, Dir, Side, StreamId};
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

/// 48 KiB each 100 ms, more than a message: the least possible is 46 ms, and where something is
/// lost feedback and repair come too late.
#[test]
fn data_with_a_deadline_are_read_within_it_beside_bulk() {
    let within = parts(&mut full(0.03, 3), 150, kib(48), Some(ms(80)));
    let without = parts(&mut full(0.03, 3), 150, kib(48), None);
    assert!(p99(&within) <= ms(80), "{:?}", p99(&within));
    assert!(
        within[75] * 3 <= without[75] * 2,
        "{:?} {:?}",
        within[75],
        without[75]
    );
}

/// What becomes of messages of 200 bytes that should arrive within `deadline`, one each 20 ms
/// beside bulk: how many arrived, and how many of them in time; each only once.
fn datagrams(net: &mut Simulation, count: u32, options: DatagramOptions) -> (usize, usize) {
    let deadline = options.deadline.unwrap_or(secs(1));
    let mut sent = Vec::new();
    let mut arrived = vec![None; count as usize];
    let mut known = net.server().datagrams().len();
    for number in 0..count {
        let mut data = number.to_be_bytes().to_vec();
        data.resize(200, 7);
        let now = net.now();
        sent.push(now);
        net.with_client(|_, connection| connection.send_datagram_with(now, data.into(), &options))
            .expect("the buffer has room");
        let pause = if number + 1 == count { secs(1) } else { ms(20) };
        let end = now + pause;
        while net.now() < end {
            let before = known;
            net.run_until(end - net.now(), |net| {
                net.server().datagrams().len() > before
            });
            known = net.server().datagrams().len();
            for datagram in &net.server().datagrams()[before..] {
                let number = u32::from_be_bytes(datagram[..4].try_into().expect("4 bytes"));
                let first = arrived[number as usize].replace(net.now());
                assert!(first.is_none(), "twice: {number}");
            }
        }
    }
    let in_time = sent.iter().zip(&arrived).filter(|(sent, arrived)| {
        arrived.is_some_and(|arrived| arrived <= **sent + deadline + ms(1))
    });
    (arrived.iter().flatten().count(), in_time.count())
}

/// There is no time to send again what is lost: it leaves twice at once.
#[test]
fn datagrams_with_a_short_deadline_survive_loss_by_leaving_twice() {
    let options = |redundancy| DatagramOptions {
        deadline: Some(ms(90)),
        redundancy,
    };
    let mut net = full(0.05, 3);
    let (_, once) = datagrams(&mut net, 500, options(DatagramRedundancy::Never));
    assert!((455..=490).contains(&once), "{once} of 500 at 5 % loss");
    let before = net.client_connection().expect("open").stats();
    let (_, twice) = datagrams(&mut net, 500, options(DatagramRedundancy::InTime));
    assert!(twice >= 498, "{twice} of 500");
    let copies = net
        .client_connection()
        .expect("open")
        .stats()
        .repeated_datagrams;
    assert_eq!(before.repeated_datagrams, 0);
    assert!(copies >= 450, "{copies} copies");
}

/// A round trip after it was lost there is time left: hardly anything leaves twice.
#[test]
fn datagrams_with_a_long_deadline_leave_again_when_they_are_lost() {
    let mut net = full(0.05, 4);
    let options = DatagramOptions {
        deadline: Some(ms(400)),
        redundancy: DatagramRedundancy::InTime,
    };
    let (_, in_time) = datagrams(&mut net, 500, options);
    assert!(in_time >= 499, "{in_time} of 500");
    let copies = net
        .client_connection()
        .expect("open")
        .stats()
        .repeated_datagrams;
    assert!(
        (10..=60).contains(&copies),
        "{copies} copies of 500 at 5 % loss"
    );
}

#[test]
fn datagrams_that_cannot_leave_in_time_are_dropped_and_counted() {
    let mut net = full(0.0, 5);
    for path in ["a", "b"] {
        net.cut_at(ms(0), path);
        net.restore_at(secs(2), path);
    }
    net.run_for(secs(1));
    let before = net.server().datagrams().len();
    for _ in 0..20 {
        let now = net.now();
        net.with_client(|_, connection| {
            connection.send_datagram_by(now, vec![1; 100].into(), ms(50))
        })
        .expect("the buffer has room");
    }
    net.run_for(secs(5));
    let late = net
        .client_connection()
        .expect("open")
        .stats()
        .late_datagrams;
    let arrived = net.server().datagrams().len() - before;
    assert_eq!(
        late as usize + arrived,
        20,
        "{late} late, {arrived} arrived"
    );
    assert!(late >= 18, "{late} late");
}

/// The second path is slower by far: nothing goes there that would be late.
#[test]
fn datagrams_take_the_path_where_they_arrive_first() {
    let mut net = scene()
        .path("a", mbit(10), ms(30))
        .path("b", mbit(50), ms(400))
        .connect();
    net.run_for(secs(2));
    let (_, in_time) = datagrams(
        &mut net,
        200,
        DatagramOptions {
            deadline: Some(ms(25)),
            redundancy: DatagramRedundancy::Never,
        },
    );
    assert_eq!(in_time, 200);
}
