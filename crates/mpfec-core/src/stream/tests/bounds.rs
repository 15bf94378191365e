//! What must never grow beyond its limit, and what must be kept to.

use std::time::Duration;

use bytes::Bytes;
use mpfec_codec::CodecKind;
use mpfec_sched::SymbolKind;
use proptest::collection::vec;
use proptest::prelude::*;

use super::harness::{Faults, Flow, Net, config, limits, now, write_data};
use super::hostile::{server, uni};
use crate::component::{FrameWriter, Tokens};
use crate::config::TransportConfig;
use crate::id::{Dir, Side, StreamId};
use crate::stream::{FIRST_SYMBOL_SIZE, ReadError, Rounds, StreamEvent, StreamLimits, Streams};
use crate::wire::frame::{Frame, Frames, Symbol, SymbolCode};
use crate::wire::varint;

/// All frames that `streams` has to send, without feedback.
fn drain(streams: &mut Streams) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let mut payload = Vec::new();
        let mut writer = FrameWriter::new(&mut payload, 1400);
        streams.write_control(&mut writer);
        write_data(streams, now(), 0, &mut writer);
        if payload.is_empty() {
            return frames;
        }
        frames.extend(Frames::new(payload.into()).map(Result::unwrap));
    }
}

#[test]
fn nothing_leaves_beyond_the_windows_of_stream_and_connection() {
    let config = TransportConfig {
        stream_window: 20_000,
        connection_window: 50_000,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    let mut taken = Vec::new();
    for _ in 0..4 {
        let id = net.client.open(Dir::Uni).unwrap();
        taken.push(net.client.write(id, &[1; 100_000]).unwrap_or(0));
    }
    assert_eq!(taken, [20_000, 20_000, 10_000, 0]);
    assert!(net.client.window_closed());
    let frames = drain(&mut net.client);
    assert_eq!(
        frames
            .iter()
            .filter(|frame| matches!(frame, Frame::DataBlocked(50_000)))
            .count(),
        1
    );
    assert_eq!(
        frames
            .iter()
            .filter(|frame| matches!(frame, Frame::StreamDataBlocked(_)))
            .count(),
        2
    );
    for frame in frames {
        net.server.on_frame(now(), frame).unwrap();
    }
}

#[test]
fn a_reader_that_does_not_read_stops_the_writer_at_the_window() {
    let config = TransportConfig {
        stream_window: 100_000,
        connection_window: 100_000,
        send_buffer: 1 << 20,
        ..config(CodecKind::RaptorQ)
    };
    let faults = Faults {
        loss: 5,
        reordering: 30,
        ..Faults::default()
    };
    let mut net = Net::new(&config, faults, 1);
    let id = net.client.open(Dir::Uni).unwrap();
    let mut written = 0;
    for _ in 0..200 {
        written += net.client.write(id, &[1; 10_000]).unwrap_or(0);
        net.step();
    }
    assert_eq!(written, 100_000);
    let mut read = 0;
    while let Ok(Some(chunk)) = net.server.read(id, usize::MAX) {
        read += chunk.len();
    }
    assert_eq!(read, 100_000);
}

#[test]
fn a_writer_never_has_more_blocks_under_way_than_the_peer_keeps() {
    let config = config(CodecKind::RaptorQ);
    let mut net = Net::new(&config, Faults::default(), 1);
    let mut limits = super::harness::limits(&config);
    limits.max_pending_blocks = 10;
    net.client.set_peer_limits(&limits);
    let id = net.client.open(Dir::Uni).unwrap();
    let mut written = 0;
    while net.client.write(id, b"x").is_ok() {
        net.client.flush(id);
        written += 1;
    }
    assert_eq!(written, 10);
    assert!(net.client.writer_blocked());
    net.step();
    net.step();
    assert!(net.client.write(id, b"x").is_ok());
}

/// A packet of at most `room` bytes with a symbol of 500 bytes, if it fits, and how many more bytes
/// it takes then. `is_padded`: it is to be padded in the end.
fn symbol_within(room: usize, is_padded: bool) -> Option<(Vec<u8>, usize)> {
    let mut net = Net::new(&config(CodecKind::RaptorQ), Faults::default(), 1);
    let id = net.client.open(Dir::Uni).unwrap();
    net.client.write(id, &[1; 500]).unwrap();
    let mut payload = Vec::new();
    let mut writer = FrameWriter::new(&mut payload, room);
    if is_padded {
        writer.set_padded();
    }
    let source = mpfec_sched::SymbolKind::Source;
    net.client.write_symbol(now(), 0, source, 0, &mut writer)?;
    let left = writer.room();
    Some((payload, left))
}

#[test]
fn a_symbol_is_written_wherever_it_fits_and_nowhere_else() {
    let least = (0..600)
        .find(|room| symbol_within(*room, false).is_some())
        .unwrap();
    assert_eq!(
        least,
        500 + 8,
        "type, stream, SBN, offset, ESI, K and what the last symbol is short of (2), no payload length"
    );
    for (room, is_padded) in (least..least + 80).flat_map(|room| [(room, false), (room, true)]) {
        let (payload, left) = symbol_within(room, is_padded).expect("what fits into less fits");
        let is_last = room < least + 2 + 64;
        let size = match (is_last, is_padded) {
            (true, true) => room,
            (true, false) => least,
            (false, _) => least + 2,
        };
        assert_eq!(payload.len(), size, "in {room} bytes, padded: {is_padded}");
        assert_eq!(left, if is_last { 0 } else { room - size });
        let frames: Vec<_> = Frames::new(payload.into()).map(Result::unwrap).collect();
        assert!(
            matches!(frames.last(), Some(Frame::Symbol(symbol)) if symbol.payload.len() == 500),
            "in {room} bytes: {frames:?}"
        );
    }
}

#[test]
fn data_of_which_nothing_left_are_cut_anew_when_symbols_become_smaller() {
    let mut net = Net::new(&config(CodecKind::RaptorQ), Faults::default(), 1);
    net.client.set_symbol_size(1300);
    let id = net.client.open(Dir::Uni).unwrap();
    let mut flow = Flow::new(id, Side::Client, 20_000);
    net.client.write(id, &flow.data[..10_000]).unwrap();
    flow.written = 10_000;
    net.client.set_symbol_size(800);
    net.room = 900;
    for _ in 0..40 {
        flow.work(&mut net);
        net.step();
    }
    assert_eq!(flow.received, flow.data);
}

#[test]
fn a_block_of_which_one_symbol_is_missing_waits_in_its_bytes_and_little_more() {
    let mut net = Net::new(&config(CodecKind::RaptorQ), Faults::default(), 1);
    let id = net.client.open(Dir::Uni).unwrap();
    net.client.write(id, &vec![1; 4 << 20]).unwrap();
    net.client.finish(id).unwrap();
    let frames = drain(&mut net.client);
    let buffer = vec![0_u8; 64 << 10];
    drop(buffer);
    for frame in frames.into_iter().filter(
        |frame| !matches!(frame, Frame::Symbol(symbol) if symbol.sbn == 0 && symbol.esi == 0),
    ) {
        net.server.on_frame(now(), frame).unwrap();
    }
    assert_eq!(net.server.read(id, 100), Err(ReadError::Blocked));
    assert_eq!(
        net.server.receiving.pending_blocks,
        (4_usize << 20).div_ceil(64 * 1100)
    );
}

#[test]
fn ten_thousand_gaps_in_a_stream_cost_what_their_blocks_cost() {
    let config = TransportConfig {
        stream_window: 64 << 20,
        connection_window: 64 << 20,
        send_buffer: 64 << 20,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    net.client.set_symbol_size(330);
    let id = net.client.open(Dir::Uni).unwrap();
    let total = 8_000_000;
    assert_eq!(net.client.write(id, &vec![7; total]), Ok(total));
    net.client.finish(id).unwrap();
    let frames = drain(&mut net.client);
    let (even, odd): (Vec<_>, Vec<_>) = frames
        .into_iter()
        .filter(|frame| matches!(frame, Frame::Symbol(_)))
        .enumerate()
        .partition(|(index, _)| index % 2 == 0);
    assert!(odd.len() > 10_000, "{} gaps", odd.len());
    let blocks = (even.len() + odd.len()).div_ceil(config.max_block_symbols.into());
    for (_, frame) in even {
        net.server.on_frame(now(), frame).unwrap();
    }
    assert!(net.server.receiving.pending_blocks <= blocks + 1);
    let mut read = 0;
    for (_, frame) in odd {
        net.server.on_frame(now(), frame).unwrap();
        while let Ok(Some(chunk)) = net.server.read(id, usize::MAX) {
            assert!(chunk.iter().all(|byte| *byte == 7));
            read += chunk.len();
        }
    }
    assert_eq!((read, net.server.receiving.pending_blocks), (total, 0));
}

/// A peer whose first symbol never arrives makes the window grow, to its bound and no further.
#[test]
fn a_peer_that_leaves_a_gap_makes_this_end_keep_no_more_than_the_bound() {
    let bound = 20 << 20;
    let config = TransportConfig {
        stream_window: bound,
        connection_window: bound,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    let id = net.client.open(Dir::Uni).unwrap();
    net.server
        .set_rounds(Rounds::even(Duration::from_millis(200)));
    let written = leave_a_gap(&mut net, id, 5);
    assert_eq!((written, net.server.receive_window()), (bound, bound));
    assert_eq!(net.server.read(id, 1), Err(ReadError::Blocked));
}

/// Writers are let go on by what leaves, not by what arrives: so little waits to leave that
/// nothing waits for long.
#[test]
fn a_bulk_writer_is_as_far_ahead_of_the_paths_as_they_need_and_messages_pass_it() {
    let mut net = Net::new(&config(CodecKind::RaptorQ), Faults::default(), 1);
    net.client.set_lead(500_000);
    let bulk = net.client.open(Dir::Uni).unwrap();
    let mut written = 0;
    while let Ok(bytes) = net.client.write(bulk, &[1; 10_000]) {
        written += bytes;
    }
    assert!((500_000..=580_000).contains(&written), "{written} bytes");
    assert!(net.client.writer_blocked());
    let message = net.client.open(Dir::Uni).unwrap();
    assert_eq!(net.client.write(message, &[2; 10_000]), Ok(10_000));
    drain(&mut net.client);
    assert!(net.client.write(bulk, &[1; 10_000]).is_ok());
}

/// A buffer that follows the paths grows byte by byte: a writer is not called for each.
#[test]
fn a_writer_goes_on_when_a_growing_buffer_has_room_that_is_worth_it() {
    let mut net = Net::new(&config(CodecKind::RaptorQ), Faults::default(), 1);
    net.client.set_buffer(800_000);
    let id = net.client.open(Dir::Uni).unwrap();
    while net.client.write(id, &[1; 10_000]).is_ok() {}
    let mut woken_at = Vec::new();
    for bytes in 800_000..1_000_000 {
        net.client.set_buffer(bytes);
        if net.client.poll_event() == Some(StreamEvent::Writable { stream: id }) {
            woken_at.push(bytes);
            while net.client.write(id, &[1; 10_000]).is_ok() {}
        }
    }
    assert!(
        (1..=2).contains(&woken_at.len()) && woken_at[0] < 920_000,
        "{} times, {:?}",
        woken_at.len(),
        woken_at.first()
    );
    // What there is room for is to be had before, and by those who are called for other reasons.
    net.client.set_buffer(1_010_000);
    assert_eq!(net.client.poll_event(), None);
    assert!(net.client.write(id, &[1; 1]).is_ok());
}

/// However many messages there are, each on a stream of its own: they do not wait here for longer
/// than what is in a hurry may.
#[test]
fn messages_pass_bulk_data_by_a_mebibyte_and_no_more() {
    let config = TransportConfig {
        max_streams_uni: 1000,
        ..config(CodecKind::RaptorQ)
    };
    let mut net = Net::new(&config, Faults::default(), 1);
    net.client.set_lead(500_000);
    let bulk = net.client.open(Dir::Uni).unwrap();
    while net.client.write(bulk, &[1; 10_000]).is_ok() {}
    let mut taken = 0;
    for _ in 0..900 {
        let message = net.client.open(Dir::Uni).unwrap();
        taken += net.client.write(message, &[2; 10_000]).unwrap_or(0);
    }
    assert!((900_000..=1_100_000).contains(&taken), "{taken} bytes");
    drain(&mut net.client);
    let message = net.client.open(Dir::Uni).unwrap();
    assert_eq!(net.client.write(message, &[2; 10_000]), Ok(10_000));
}

/// What a peer says of windows to come allows nothing, and counts as far as the send buffer goes.
#[test]
fn a_peer_that_promises_the_largest_window_is_sent_what_its_limits_allow() {
    let config = config(CodecKind::RaptorQ);
    let mut client = Streams::new(Side::Client, &config);
    client.set_peer_limits(&StreamLimits {
        max_data: 30_000,
        uni: 20_000,
        max_window: varint::MAX,
        ..limits(&config)
    });
    let taken = [(); 3].map(|()| {
        let id = client.open(Dir::Uni).unwrap();
        client.write(id, &[1; 100_000]).unwrap_or(0)
    });
    assert_eq!(taken, [20_000, 10_000, 0]);
    assert_eq!(client.window_symbols(), 3 * config.send_buffer / 1100);
}

/// Its window is as large as it becomes when its reader is gone.
#[test]
fn a_stream_that_is_not_read_leaves_the_others_a_part_of_the_largest_window() {
    let config = config(CodecKind::RaptorQ);
    let mut net = Net::new(&config, Faults::default(), 1);
    let unread = net.client.open(Dir::Uni).unwrap();
    net.server
        .set_rounds(Rounds::even(Duration::from_millis(200)));
    let written = leave_a_gap(&mut net, unread, 8);
    assert_eq!(written, config.stream_window);
    assert_eq!(net.server.receive_window(), config.connection_window);
    let other = net.client.open(Dir::Uni).unwrap();
    assert_eq!(net.client.write(other, &[1; 1 << 20]), Ok(1 << 20));
}

/// Writes what the windows allow, `rounds` times, of which all but the first symbol arrives.
/// Returns how much that was.
fn leave_a_gap(net: &mut Net, id: StreamId, rounds: usize) -> u64 {
    let (mut written, mut now) = (0, now());
    for _ in 0..rounds {
        while let Ok(bytes) = net.client.write(id, &[1; 100_000]) {
            written += bytes as u64;
        }
        for frame in drain(&mut net.client) {
            now += Duration::from_millis(1);
            let is_first =
                matches!(&frame, Frame::Symbol(symbol) if symbol.sbn + u64::from(symbol.esi) == 0);
            if !is_first {
                net.server.on_frame(now, frame).unwrap();
            }
        }
        for frame in drain(&mut net.server) {
            net.client.on_frame(now, frame).unwrap();
        }
    }
    written
}

/// Sends all source symbols that there are, each in a packet of its own, and forgets the packets
/// but the last.
fn send_sources(streams: &mut Streams) -> Option<Tokens> {
    let mut last = None;
    while let Some(block) = streams.blocks().iter().position(|view| view.unsent > 0) {
        let mut payload = Vec::new();
        let mut writer = FrameWriter::new(&mut payload, 1400);
        let kind = SymbolKind::Source;
        streams.write_symbol(now(), block, kind, 0, &mut writer)?;
        last = Some(writer.finish().0);
    }
    last
}

/// Whether the only block is closed.
fn is_closed(streams: &Streams) -> bool {
    let [view] = streams.blocks() else {
        panic!("one block");
    };
    view.closed
}

#[test]
fn a_block_that_the_next_credit_fills_stays_open_for_a_moment() {
    let patience = Duration::from_millis(25);
    let window = 8 * FIRST_SYMBOL_SIZE.bytes() as u64;
    let config = TransportConfig {
        stream_window: window,
        connection_window: window,
        ..config(CodecKind::RaptorQ)
    };
    let data = vec![1; 2 * window as usize];
    let scene = |len: usize| {
        let mut net = Net::new(&config, Faults::default(), 1);
        let id = net.client.open(Dir::Uni).unwrap();
        assert_eq!(net.client.write(id, &data[..len]), Ok(window as usize));
        let last = send_sources(&mut net.client).unwrap();
        (net.client, last)
    };
    let start = now();

    let (mut streams, last) = scene(data.len());
    let (early, late) = (start + patience / 2, now() + patience);
    assert!(!streams.close_idle_blocks(early, patience) && !is_closed(&streams));
    let until = streams.next_block_close().unwrap();
    assert!(
        (start + patience..=late).contains(&until),
        "it is closed in time"
    );
    for token in &last {
        streams.on_lost(early, token, 0);
    }
    assert!(is_closed(&streams), "what was lost is repaired");
    assert!(!streams.close_idle_blocks(early, patience));
    assert_eq!(streams.next_block_close(), None);

    let (mut streams, _) = scene(data.len());
    assert!(streams.close_idle_blocks(now() + patience, patience) && is_closed(&streams));

    let (mut streams, _) = scene(window as usize);
    let closes = streams.close_idle_blocks(start, patience);
    assert!(closes && is_closed(&streams), "no more data wait");
}

/// A symbol of the first block of a stream.
fn sized(stream: StreamId, symbol_size: u16, esi: u32) -> Frame {
    Frame::Symbol(Symbol {
        stream,
        sbn: 0,
        offset: 0,
        symbol_size,
        esi,
        block_length: None,
        fin: false,
        code: SymbolCode::RaptorQ,
        payload: Bytes::from(vec![7; usize::from(symbol_size)]),
    })
}

#[test]
fn a_block_that_is_cut_twice_after_it_was_read_does_not_panic() {
    let mut server = server();
    let id = uni(0);
    server.on_frame(now(), sized(id, 1000, 0)).unwrap();
    assert_eq!(server.read(id, usize::MAX).unwrap().unwrap().len(), 1000);
    server.on_frame(now(), sized(id, 600, 5)).unwrap();
    server.on_frame(now(), sized(id, 200, 3)).unwrap();
}

proptest! {
    /// Whatever sizes a peer gives to the symbols of one block, and whenever it is read.
    #[test]
    fn symbols_of_all_sizes_are_refused_or_read_once(
        mut symbols in vec((1..12_u16, 0..6_u32, any::<bool>()), 1..12)
    ) {
        // Packets shrink and do not grow again, or the block is refused.
        symbols.sort_by_key(|&(size, ..)| std::cmp::Reverse(size));
        let mut server = server();
        let id = uni(0);
        let mut read = 0;
        for (size, esi, is_read) in symbols {
            if server.on_frame(now(), sized(id, 100 * size, esi)).is_err() {
                break;
            }
            while is_read && let Ok(Some(chunk)) = server.read(id, usize::MAX) {
                read += chunk.len();
            }
        }
        prop_assert!(read <= 6 * 1100, "{read} bytes");
    }
}
