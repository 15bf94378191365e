//! Many streams at once, and what applications do to them.

use bytes::Bytes;
use mpfec_core::{Dir, Side, StreamId};
use mpfec_sim::{Change, Direction, Scene, scene};

use crate::{kib, mbit, mib, ms, secs};

fn lossy() -> Scene {
    scene()
        .path("a", mbit(20), ms(30))
        .path("b", mbit(10), ms(80))
        .with(Direction::Both, Change::Loss(0.02))
}

fn client_stream(dir: Dir, index: u64) -> StreamId {
    StreamId::new(Side::Client, dir, index)
}

#[test]
fn many_streams_both_ways_arrive_whole_and_by_themselves() {
    let mut net = lossy().connect();
    net.with_server(|peer, _| {
        peer.answer_with(kib(7));
        for index in 0..50 {
            peer.send(Dir::Uni, 1 + index * 777);
        }
    });
    net.with_client(|peer, _| {
        for index in 0..50 {
            peer.send(Dir::Uni, index * 1001);
            peer.send(Dir::Bi, index * 333);
        }
    });
    net.deliver(secs(10));
    assert_eq!(net.server().incoming().len(), 100);
    assert!(
        net.client()
            .incoming()
            .values()
            .all(|stream| stream.has_ended)
    );
}

#[test]
fn empty_streams_are_delivered_too() {
    let mut net = lossy().connect();
    net.with_client(|peer, _| {
        peer.send(Dir::Uni, 0);
        peer.send(Dir::Bi, 0);
    });
    net.with_server(|peer, _| peer.answer_with(0));
    let took = net.deliver(secs(2));
    assert!(took <= ms(500), "{took:?}");
    assert!(
        net.server()
            .incoming()
            .values()
            .all(|stream| stream.has_ended && stream.read == 0)
    );
}

#[test]
fn thousands_of_short_streams_pass_through_a_limit_of_a_hundred() {
    let mut net = lossy().connect();
    net.with_client(|peer, _| {
        for index in 0..5000 {
            peer.send(Dir::Uni, index % 100);
        }
    });
    let took = net.deliver(secs(30));
    assert_eq!(net.server().incoming().len(), 5000);
    assert!(took <= secs(10), "{took:?}");
}

#[test]
fn a_high_priority_overtakes_a_long_queue() {
    let mut net = lossy().connect();
    net.send(mib(8));
    net.run_for(secs(1));
    net.send(kib(50));
    let urgent = client_stream(Dir::Uni, 1);
    net.with_client(|_, connection| connection.set_priority(urgent, 1));
    let took = net.run_until(secs(5), |net| net.client().outgoing()[&urgent].is_settled());
    assert!(took.is_some_and(|took| took <= ms(400)), "{took:?}");
    let bulk = net.server().incoming()[&client_stream(Dir::Uni, 0)];
    assert!(!bulk.has_ended);
    net.deliver(secs(10));
}

#[test]
fn streams_of_one_priority_share_alike() {
    let mut net = lossy().both(|config| config.send_buffer = mib(1)).connect();
    for _ in 0..4 {
        net.send(1 << 30);
    }
    net.run_for(secs(5));
    let reads: Vec<u64> = net
        .server()
        .incoming()
        .values()
        .map(|stream| stream.read)
        .collect();
    let (least, most) = (reads.iter().min(), reads.iter().max());
    assert!(
        reads.len() == 4 && most < least.map(|least| least * 5 / 4).as_ref(),
        "{reads:?}"
    );
}

#[test]
fn a_reset_is_seen_by_the_reader_and_harms_no_other_stream() {
    let mut net = lossy().connect();
    net.send(mib(20));
    net.send(mib(2));
    net.run_for(ms(500));
    let gone = client_stream(Dir::Uni, 0);
    net.with_client(|peer, connection| peer.reset(connection, gone, 77));
    net.deliver(secs(10));
    net.run_for(secs(1));
    assert_eq!(net.server().incoming()[&gone].reset, Some(77));
    assert!(net.server().incoming()[&client_stream(Dir::Uni, 1)].has_ended);
}

#[test]
fn a_stop_is_seen_by_the_writer_and_harms_no_other_stream() {
    let mut net = lossy().connect();
    net.send(mib(20));
    net.send(mib(2));
    net.run_for(ms(500));
    let unwanted = client_stream(Dir::Uni, 0);
    net.with_server(|peer, connection| peer.stop(connection, unwanted, 78));
    net.deliver(secs(10));
    assert_eq!(net.client().outgoing()[&unwanted].stopped, Some(78));
    assert!(net.server().incoming()[&client_stream(Dir::Uni, 1)].has_ended);
}

#[test]
fn resets_and_stops_of_all_streams_give_their_window_back() {
    let mut net = lossy()
        .both(|config| {
            config.stream_window = kib(64);
            config.connection_window = kib(128);
        })
        .connect();
    for round in 0..100 {
        net.send(mib(1));
        net.run_for(ms(100));
        let stream = client_stream(Dir::Uni, round);
        if round % 2 == 0 {
            net.with_client(|peer, connection| peer.reset(connection, stream, 1));
        } else {
            net.with_server(|peer, connection| peer.stop(connection, stream, 2));
        }
    }
    net.send(kib(500));
    net.deliver(secs(10));
}

#[test]
fn a_reader_that_pauses_blocks_the_writer_and_both_go_on_later() {
    let mut net = lossy()
        .both(|config| {
            config.stream_window = kib(256);
            config.connection_window = kib(256);
            config.send_buffer = kib(256);
        })
        .connect();
    net.with_server(|peer, _| peer.pause());
    net.send(mib(4));
    net.run_for(secs(10));
    let written = net.client().outgoing()[&client_stream(Dir::Uni, 0)].written;
    assert!(
        written <= kib(256),
        "{written} bytes taken while nobody reads"
    );
    let sent = net.client_connection().expect("open").stats().sent_bytes;
    net.run_for(secs(10));
    let idle = net.client_connection().expect("open").stats().sent_bytes - sent;
    assert!(idle <= kib(16), "{idle} bytes sent in 10 s of waiting");
    net.with_server(|peer, _| peer.resume());
    let took = net.deliver(secs(20));
    assert!(took <= secs(5), "{took:?}");
}

#[test]
fn a_blocked_stream_does_not_hold_back_the_others() {
    let mut net = lossy()
        .both(|config| config.stream_window = kib(64))
        .connect();
    // The first stream is opened, but its reader never comes.
    net.send(mib(1));
    net.run_for(ms(200));
    net.with_server(|peer, _| peer.pause());
    net.run_for(ms(500));
    let stuck = client_stream(Dir::Uni, 0);
    let read = net.server().incoming()[&stuck].read;
    for _ in 0..10 {
        net.send(kib(20));
    }
    net.run_for(secs(1));
    let others = |net: &mpfec_sim::Simulation| {
        let outgoing = net.client().outgoing().iter();
        outgoing
            .filter(|(id, stream)| **id != stuck && stream.received_at.is_some())
            .count()
    };
    assert_eq!(
        others(&net),
        10,
        "received although the first stream is full"
    );
    assert_eq!(net.server().incoming()[&stuck].read, read);
    net.with_server(|peer, _| peer.resume());
    net.deliver(secs(10));
}

#[test]
fn a_stream_that_is_being_repaired_does_not_delay_the_next() {
    let mut net = scene().path("a", mbit(20), ms(100)).connect();
    net.run_for(secs(1));
    net.send(kib(10));
    net.run_for(ms(0));
    // More packets of the first stream are lost than it has repair, and it takes a round trip to
    // find out.
    net.cut_at(ms(0), "a");
    net.restore_at(ms(5), "a");
    net.run_for(ms(5));
    net.send(kib(5));
    net.run_for(ms(98));
    let [first, second] = [0, 1].map(|index| client_stream(Dir::Uni, index));
    let incoming = net.server().incoming();
    assert!(incoming.get(&first).is_none_or(|stream| !stream.has_ended));
    assert!(incoming.get(&second).is_some_and(|stream| stream.has_ended));
    let took = net.deliver(secs(2));
    assert!(took <= ms(400), "{took:?}");
}

#[test]
fn datagrams_arrive_at_most_once_and_as_they_were() {
    let mut net = lossy()
        .with(Direction::Both, Change::Duplicate(0.2))
        .connect();
    for number in 0_u32..500 {
        let size = 4 + number as usize * 2;
        let mut data = number.to_be_bytes().to_vec();
        data.resize(size, number as u8);
        net.with_client(|_, connection| connection.send_datagram(Bytes::from(data)))
            .expect("the buffer has room");
        net.run_for(ms(2));
    }
    net.run_for(secs(1));
    let mut seen = vec![false; 500];
    for datagram in net.server().datagrams() {
        let number = u32::from_be_bytes(datagram[..4].try_into().expect("4 bytes"));
        assert_eq!(datagram.len(), 4 + number as usize * 2);
        assert!(datagram[4..].iter().all(|byte| *byte == number as u8));
        assert!(
            !std::mem::replace(&mut seen[number as usize], true),
            "twice: {number}"
        );
    }
    let arrived = net.server().datagrams().len();
    assert!(
        (470..500).contains(&arrived),
        "{arrived} of 500 at 2 % loss"
    );
}

#[test]
fn datagrams_pass_beside_bulk_data_without_waiting_for_it() {
    let mut net = lossy().connect();
    net.send(1 << 40);
    net.run_for(secs(2));
    for _ in 0..50 {
        net.with_client(|_, connection| connection.send_datagram(Bytes::from_static(b"now")))
            .expect("the buffer has room");
        net.run_for(ms(20));
    }
    net.run_for(ms(200));
    let arrived = net.server().datagrams().len();
    assert!(arrived >= 45, "{arrived} of 50");
}

#[test]
fn a_stream_that_is_over_at_one_end_is_forgotten_by_the_other_that_stops_it() {
    let mut net = scene()
        .path("wifi", mbit(10), ms(40))
        .both(|config| config.max_streams_uni = 1)
        .connect();
    net.with_server(|peer, _| peer.pause());
    net.send(10_000);
    net.run_for(secs(1));
    let id = client_stream(Dir::Uni, 0);
    net.with_client(|peer, connection| peer.reset(connection, id, 7));
    net.run_for(secs(1));
    net.with_server(|peer, connection| peer.stop(connection, id, 9));
    net.run_for(secs(1));
    let next = net.with_client(|_, connection| connection.open_stream(Dir::Uni));
    assert_eq!(next, Some(client_stream(Dir::Uni, 1)));
}
