//! Writers that wait for the peer's permission, and readers that do not know of them.

use mpfec_codec::CodecKind;

use super::harness::{Faults, Net, config};
use crate::component::FrameWriter;
use crate::config::TransportConfig;
use crate::id::{Dir, Side, StreamId};
use crate::stream::{ReadError, StreamEvent};
use crate::wire::frame::{Frame, Frames, MaxStreamData};

/// Windows of which others may fill so much that the rest is less than the step in which limits
/// are told.
fn net() -> Net {
    let config = TransportConfig {
        stream_window: 16_000,
        connection_window: 160_000,
        ..config(CodecKind::RaptorQ)
    };
    Net::new(&config, Faults::default(), 1)
}

/// Writes all of the streams' window on each of nine streams that nobody reads.
fn fill(net: &mut Net) {
    for _ in 0..9 {
        let id = net.client.open(Dir::Uni).unwrap();
        assert_eq!(net.client.write(id, &[2; 16_000]), Ok(16_000));
    }
}

fn steps(net: &mut Net, count: usize) {
    for _ in 0..count {
        net.step();
    }
}

/// Reads what is there; returns how much that is.
fn read(net: &mut Net, id: StreamId) -> usize {
    let mut bytes = 0;
    loop {
        match net.server.read(id, usize::MAX) {
            Ok(Some(chunk)) => bytes += chunk.len(),
            other => {
                assert_eq!(other, Err(ReadError::Blocked));
                return bytes;
            }
        }
    }
}

/// Whether the stream's writer has been told that it can go on; forgets it.
fn is_woken(net: &mut Net, stream: StreamId) -> bool {
    let events = std::mem::take(&mut net.events);
    events.contains(&(Side::Client, StreamEvent::Writable { stream }))
}

#[test]
fn a_stream_that_is_read_goes_on_although_others_fill_nearly_all_of_the_window() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    fill(&mut net);
    // What is left is all that the stream may have, and less than an eighth of the window.
    let mut left: usize = 200_000;
    let mut sent = net.client.write(id, &vec![1; left]).unwrap();
    assert_eq!(sent, 16_000);
    left -= sent;
    for round in 0..20 {
        // It has been heard by then that the writer waits.
        steps(&mut net, 20);
        assert_eq!(read(&mut net, id), sent, "round {round}");
        steps(&mut net, 20);
        if left == 0 {
            return;
        }
        assert!(is_woken(&mut net, id), "round {round}, {left} left");
        sent = net.client.write(id, &vec![1; left]).unwrap();
        left -= sent;
    }
    panic!("{left} bytes were not written");
}

#[test]
fn who_waits_for_room_still_does_after_an_empty_write() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    assert_eq!(net.client.write(id, &[1; 20_000]), Ok(16_000));
    assert_eq!(net.client.write(id, &[]), Ok(0));
    steps(&mut net, 10);
    assert_eq!(read(&mut net, id), 16_000);
    steps(&mut net, 10);
    assert!(is_woken(&mut net, id));
}

#[test]
fn who_comes_up_against_another_window_says_so() {
    let mut net = net();
    let id = net.client.open(Dir::Uni).unwrap();
    assert_eq!(net.client.write(id, &[1; 20_000]), Ok(16_000));
    fill(&mut net);
    let raised = Frame::MaxStreamData(MaxStreamData {
        stream: id,
        limit: 32_000,
    });
    let mut payload = Vec::new();
    net.client
        .write_control(&mut FrameWriter::new(&mut payload, 1400));
    net.client.on_frame(super::harness::now(), raised).unwrap();
    payload.clear();
    net.client
        .write_control(&mut FrameWriter::new(&mut payload, 1400));
    let frames: Vec<_> = Frames::new(payload.into()).map(Result::unwrap).collect();
    assert_eq!(frames, [Frame::DataBlocked(160_000)]);
}

#[test]
fn what_arrives_of_a_stopped_stream_makes_room_for_who_waits() {
    let mut net = net();
    let gone = net.client.open(Dir::Uni).unwrap();
    let id = net.client.open(Dir::Uni).unwrap();
    fill(&mut net);
    steps(&mut net, 60);
    // The rest of the window is that of a stream that nobody wants.
    assert_eq!(net.client.write(gone, &[1; 16_000]), Ok(16_000));
    assert!(net.client.write(id, &[1; 100]).is_err());
    net.server.stop(gone, 0);
    steps(&mut net, 60);
    assert!(is_woken(&mut net, id));
}
