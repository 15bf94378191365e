//! How streams begin and end.

use mpfec_codec::CodecKind;

use super::harness::{Faults, Net, assert_empty, config};
use crate::config::TransportConfig;
use crate::id::{Dir, Side, StreamId};
use crate::stream::{ReadError, StreamEvent, WriteError};

fn net() -> Net {
    Net::new(&config(CodecKind::RaptorQ), Faults::default(), 1)
}

fn steps(net: &mut Net, count: usize) {
    for _ in 0..count {
        net.step();
    }
}

fn events_of(net: &Net, side: Side) -> Vec<StreamEvent> {
    net.events
        .iter()
        .filter(|(of, _)| *of == side)
        .map(|(_, event)| *event)
        .collect()
}

#[test]
fn a_request_and_its_answer_leave_nothing_behind() {
    let mut net = net();
    let id = net.client.open(Dir::Bi).unwrap();
    net.client.write(id, b"question").unwrap();
    net.client.finish(id).unwrap();
    steps(&mut net, 3);
    assert_eq!(net.server.accept(Dir::Bi), Some(id));
    assert_eq!(net.server.accept(Dir::Bi), None);
    assert_eq!(net.server.read(id, 100).unwrap().unwrap(), "question");
    assert_eq!(net.server.read(id, 100), Ok(None));
    net.server.write(id, b"answer").unwrap();
    net.server.finish(id).unwrap();
    steps(&mut net, 3);
    assert_eq!(net.client.read(id, 100).unwrap().unwrap(), "answer");
    assert_eq!(net.client.read(id, 100), Ok(None));
    steps(&mut net, 5);
    assert_empty(&net.client);
    assert_empty(&net.server);
    let stream = id;
    assert_eq!(
        events_of(&net, Side::Client),
        [
            StreamEvent::Finished { stream },
            StreamEvent::Delivered { stream },
            StreamEvent::Readable { stream }
        ]
    );
    assert_eq!(net.client.write(id, b"x"), Err(WriteError::UnknownStream));
    assert_eq!(net.client.read(id, 1), Err(ReadError::UnknownStream));
}

#[test]
fn a_stream_without_a_byte_ends_as_well() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    net.client.finish(id).unwrap();
    steps(&mut net, 2);
    assert_eq!(net.server.read(id, 1), Ok(None));
    steps(&mut net, 4);
    let stream = id;
    assert_eq!(
        events_of(&net, Side::Client),
        [
            StreamEvent::Finished { stream },
            StreamEvent::Delivered { stream }
        ]
    );
    assert_empty(&net.client);
    assert_empty(&net.server);
}

#[test]
fn nothing_is_delivered_before_the_application_has_read_it() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    net.client.write(id, &[1; 5000]).unwrap();
    net.client.finish(id).unwrap();
    steps(&mut net, 20);
    let stream = id;
    assert_eq!(
        events_of(&net, Side::Client),
        [StreamEvent::Finished { stream }]
    );
    assert!(
        net.client.blocks().is_empty(),
        "the peer has it, so it need not be kept"
    );
    while net.server.read(id, 1000).unwrap().is_some() {}
    steps(&mut net, 4);
    assert_eq!(
        events_of(&net, Side::Client).last(),
        Some(&StreamEvent::Delivered { stream })
    );
}

#[test]
fn an_end_that_comes_after_all_data_were_sent_is_told_by_itself() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    net.client.write(id, &[1; 100]).unwrap();
    steps(&mut net, 4);
    assert_eq!(net.server.read(id, 1000).unwrap().unwrap().len(), 100);
    assert_eq!(net.server.read(id, 1000), Err(ReadError::Blocked));
    net.client.finish(id).unwrap();
    steps(&mut net, 4);
    assert_eq!(
        events_of(&net, Side::Server).last(),
        Some(&StreamEvent::Readable { stream: id })
    );
    assert_eq!(net.server.read(id, 1000), Ok(None));
    steps(&mut net, 4);
    assert_empty(&net.client);
    assert_empty(&net.server);
}

#[test]
fn a_reset_reaches_the_reader_and_gives_the_window_back() {
    let config = TransportConfig {
        stream_window: 20_000,
        connection_window: 20_000,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    for round in 0..10 {
        let id = net.client.open(Dir::Uni).unwrap();
        assert_eq!(
            net.client.write(id, &[1; 30_000]),
            Ok(20_000),
            "round {round}"
        );
        assert!(net.client.window_closed());
        if round % 2 == 0 {
            steps(&mut net, 4);
        }
        net.client.reset(id, 7);
        assert!(!net.client.has_work() && !net.client.window_closed());
        assert_eq!(net.client.write(id, b"x"), Err(WriteError::Closed));
        steps(&mut net, 4);
        assert_eq!(net.server.read(id, 100), Err(ReadError::Reset(7)));
        steps(&mut net, 4);
        assert_empty(&net.client);
        assert_empty(&net.server);
    }
}

#[test]
fn a_stopped_stream_is_reset_by_its_writer_and_gives_the_window_back() {
    let config = TransportConfig {
        stream_window: 20_000,
        connection_window: 20_000,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    for _ in 0..10 {
        let id = net.client.open(Dir::Uni).unwrap();
        let taken = net.client.write(id, &[1; 30_000]).unwrap();
        assert!(
            taken >= 17_500,
            "no more than an eighth of the window is still to be told"
        );
        steps(&mut net, 2);
        net.server.stop(id, 9);
        assert_eq!(net.server.read(id, 100), Err(ReadError::Closed));
        let stopped = (
            Side::Client,
            StreamEvent::Stopped {
                stream: id,
                code: 9,
            },
        );
        while !net.events.contains(&stopped) {
            net.step();
        }
        assert_eq!(net.client.write(id, b"x"), Err(WriteError::Stopped(9)));
        steps(&mut net, 6);
        assert_empty(&net.client);
        assert_empty(&net.server);
    }
}

#[test]
fn a_stream_that_is_stopped_after_all_arrived_leaves_nothing_behind() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    net.client.write(id, &[1; 3000]).unwrap();
    net.client.finish(id).unwrap();
    steps(&mut net, 6);
    net.server.stop(id, 0);
    steps(&mut net, 6);
    assert_empty(&net.client);
    assert_empty(&net.server);
}

#[test]
fn a_reset_that_comes_after_all_arrived_takes_nothing_away() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    net.client.write(id, &[1; 3000]).unwrap();
    net.client.finish(id).unwrap();
    steps(&mut net, 6);
    net.client.reset(id, 1);
    steps(&mut net, 2);
    assert_eq!(net.server.read(id, 9000).unwrap().unwrap().len(), 3000);
    assert_eq!(net.server.read(id, 9000), Ok(None));
    steps(&mut net, 4);
    assert_empty(&net.client);
    assert_empty(&net.server);
}

#[test]
fn further_streams_become_available_as_old_ones_end() {
    let config = TransportConfig {
        max_streams_uni: 2,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    let first = net.client.open(Dir::Uni).unwrap();
    net.client.open(Dir::Uni).unwrap();
    assert_eq!(net.client.open(Dir::Uni), None);
    net.client.finish(first).unwrap();
    steps(&mut net, 3);
    assert_eq!(net.server.read(first, 1), Ok(None));
    steps(&mut net, 5);
    assert!(
        net.events
            .contains(&(Side::Client, StreamEvent::Available { dir: Dir::Uni }))
    );
    assert_eq!(
        net.client.open(Dir::Uni),
        Some(StreamId::new(Side::Client, Dir::Uni, 2))
    );
    assert_eq!(net.client.open(Dir::Uni), None);
}

#[test]
fn a_small_write_leaves_although_another_stream_has_much_to_send() {
    let mut net = net();
    let bulk = net.client.open(Dir::Uni).unwrap();
    let small = net.client.open(Dir::Uni).unwrap();
    net.client.write(bulk, &vec![1; 4 << 20]).unwrap();
    net.step();
    net.client.write(small, b"now").unwrap();
    steps(&mut net, 12);
    assert!(net.client.has_unsent(), "the other stream still has data");
    assert_eq!(net.server.read(small, 100).unwrap().unwrap(), "now");
}

#[test]
fn a_blocked_writer_hears_when_it_can_go_on() {
    let config = TransportConfig {
        send_buffer: 50_000,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    let id = net.client.open(Dir::Uni).unwrap();
    assert_eq!(net.client.write(id, &[1; 80_000]), Ok(50_000));
    assert_eq!(net.client.write(id, &[1; 30_000]), Err(WriteError::Blocked));
    assert!(net.client.writer_blocked() && !net.client.window_closed());
    steps(&mut net, 8);
    assert!(
        net.events
            .contains(&(Side::Client, StreamEvent::Writable { stream: id }))
    );
    assert_eq!(net.client.write(id, &[1; 30_000]), Ok(30_000));
    assert!(!net.client.writer_blocked());
}

#[test]
fn a_whole_stream_that_both_ends_gave_up_gives_the_window_back() {
    let config = TransportConfig {
        stream_window: 20_000,
        connection_window: 20_000,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    for _ in 0..3 {
        let id = net.client.open(Dir::Uni).unwrap();
        assert_eq!(net.client.write(id, &[1; 20_000]), Ok(20_000));
        net.client.finish(id).unwrap();
        steps(&mut net, 6);
        net.client.reset(id, 7);
        steps(&mut net, 4);
        net.server.stop(id, 0);
        steps(&mut net, 4);
    }
    assert_empty(&net.client);
    assert_empty(&net.server);
}
