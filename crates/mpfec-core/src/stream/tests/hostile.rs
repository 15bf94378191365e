//! A peer that lies gets an error, and never more memory than its window.

use bytes::Bytes;
use mpfec_codec::CodecKind;
use proptest::prelude::*;

use super::harness::{config, limits, now};
use crate::config::TransportConfig;
use crate::error::TransportError;
use crate::id::{Dir, Side, StreamId};
use crate::stream::{MAX_PENDING_BLOCKS, ReadError, StreamLimits, Streams};
use crate::wire::frame::Frame;
use crate::wire::frame::{
    BlockAck, MaxStreamData, MaxStreams, ResetStream, StopSending, StreamDataBlocked,
    StreamDelivered, StreamFin, StreamsBlocked, Symbol, SymbolCode,
};

/// A server that allows 10 000 bytes on a stream and 15 000 on all.
pub(super) fn server() -> Streams {
    let config = TransportConfig {
        stream_window: 10_000,
        connection_window: 15_000,
        max_streams_uni: 4,
        max_streams_bidi: 4,
        ..config(CodecKind::RaptorQ)
    };
    let mut server = Streams::new(Side::Server, &config);
    server.set_peer_limits(&limits(&config));
    server
}

pub(super) fn uni(index: u64) -> StreamId {
    StreamId::new(Side::Client, Dir::Uni, index)
}

/// A source symbol of 100 bytes of an open block.
fn open(stream: StreamId, sbn: u64, offset: u64, esi: u32) -> Frame {
    symbol(stream, sbn, offset, esi, None)
}

fn symbol(stream: StreamId, sbn: u64, offset: u64, esi: u32, block_length: Option<u32>) -> Frame {
    let len = match block_length {
        Some(length) if esi + 1 == length.div_ceil(100) => length - esi * 100,
        _ => 100,
    };
    Frame::Symbol(Symbol {
        stream,
        sbn,
        offset,
        symbol_size: 100,
        esi,
        block_length,
        fin: false,
        code: SymbolCode::RaptorQ,
        payload: Bytes::from(vec![7; len as usize]),
    })
}

fn fin(mut frame: Frame) -> Frame {
    if let Frame::Symbol(symbol) = &mut frame {
        symbol.fin = true;
    }
    frame
}

/// The same of the linear code, if it is a repair symbol.
fn linear(mut frame: Frame) -> Frame {
    if let Frame::Symbol(symbol) = &mut frame
        && symbol
            .source_symbols()
            .is_some_and(|count| symbol.esi >= count)
    {
        symbol.code = SymbolCode::Linear;
    }
    frame
}

/// The same as a combination whose coefficients are all `coefficient` or 1, if it is a repair
/// symbol.
fn combined(mut frame: Frame, coefficient: u8) -> Frame {
    if let Frame::Symbol(symbol) = &mut frame
        && let Some(count) = symbol.source_symbols()
        && symbol.esi >= count
    {
        symbol.code = SymbolCode::Batch;
        let row = vec![coefficient.max(1); count as usize];
        symbol.payload = [&row[..], &symbol.payload].concat().into();
    }
    frame
}

/// A server whose peer codes packets as a pipeline.
fn pipeline_server() -> Streams {
    let mut server = server();
    server.set_peer_limits(&StreamLimits {
        pipeline_seed: Some(5),
        ..limits(&config(CodecKind::Pipeline))
    });
    server
}

/// The code with which `streams` refuses the last of `frames`; it takes the others.
fn refused(streams: &mut Streams, frames: impl IntoIterator<Item = Frame>) -> u64 {
    let mut frames = frames.into_iter().peekable();
    while let Some(frame) = frames.next() {
        let ty = frame.ty();
        let result = streams.on_frame(now(), frame);
        if frames.peek().is_none() {
            let error = result.expect_err("the last frame is wrong");
            assert_eq!(error.frame, ty);
            return error.code;
        }
        result.expect("only the last frame is wrong");
    }
    panic!("no frames");
}

#[test]
fn data_beyond_a_window_are_refused() {
    let code = refused(
        &mut server(),
        [open(uni(0), 0, 0, 99), open(uni(0), 0, 0, 100)],
    );
    assert_eq!(code, TransportError::FLOW_CONTROL_ERROR);
    let code = refused(
        &mut server(),
        [
            open(uni(0), 0, 0, 99),
            open(uni(1), 0, 0, 49),
            open(uni(2), 0, 0, 0),
        ],
    );
    assert_eq!(code, TransportError::FLOW_CONTROL_ERROR);
    let code = refused(&mut server(), [symbol(uni(0), 0, 0, 0, Some(10_001))]);
    assert_eq!(
        code,
        TransportError::FLOW_CONTROL_ERROR,
        "a block counts from its announcement on"
    );
    let code = refused(
        &mut server(),
        [Frame::StreamFin(StreamFin {
            stream: uni(0),
            final_size: 10_001,
        })],
    );
    assert_eq!(code, TransportError::FLOW_CONTROL_ERROR);
    let reset = ResetStream {
        stream: uni(0),
        code: 0,
        final_size: 10_001,
    };
    assert_eq!(
        refused(&mut server(), [Frame::ResetStream(reset)]),
        TransportError::FLOW_CONTROL_ERROR
    );
}

#[test]
fn data_of_a_stopped_stream_count_as_well() {
    let mut server = server();
    server.on_frame(now(), open(uni(0), 0, 0, 0)).unwrap();
    server.stop(uni(0), 0);
    let code = refused(
        &mut server,
        [open(uni(0), 0, 0, 98), open(uni(0), 0, 0, 100)],
    );
    assert_eq!(code, TransportError::FLOW_CONTROL_ERROR);
}

#[test]
fn blocks_that_do_not_lie_end_to_end_are_refused() {
    let violation = TransportError::PROTOCOL_VIOLATION;
    let id = uni(0);
    let cases: [(&str, Vec<Frame>); 13] = [
        (
            "the first block starts elsewhere",
            vec![open(id, 0, 100, 0)],
        ),
        (
            "a gap behind a known length",
            vec![symbol(id, 0, 0, 1, Some(200)), open(id, 1, 300, 0)],
        ),
        (
            "overlap behind a known length",
            vec![symbol(id, 0, 0, 1, Some(200)), open(id, 1, 100, 0)],
        ),
        (
            "overlap with symbols that are here",
            vec![open(id, 0, 0, 3), open(id, 1, 300, 0)],
        ),
        (
            "overlap, later block first",
            vec![open(id, 1, 300, 0), open(id, 0, 0, 3)],
        ),
        (
            "length that the next block contradicts",
            vec![open(id, 1, 300, 0), symbol(id, 0, 0, 0, Some(400))],
        ),
        (
            "two lengths",
            vec![
                symbol(id, 0, 0, 0, Some(400)),
                symbol(id, 0, 0, 1, Some(399)),
            ],
        ),
        ("two places", vec![open(id, 1, 300, 0), open(id, 1, 400, 0)]),
        (
            "no room for the blocks between",
            vec![open(id, 0, 0, 2), open(id, 3, 301, 0)],
        ),
        ("no room from the start", vec![open(id, 5, 4, 0)]),
        ("backwards", vec![open(id, 5, 1000, 0), open(id, 7, 900, 0)]),
        (
            "backwards, later block first",
            vec![open(id, 7, 900, 0), open(id, 5, 1000, 0)],
        ),
        (
            "a source symbol beyond the length",
            vec![open(id, 0, 0, 5), symbol(id, 0, 0, 0, Some(300))],
        ),
    ];
    for (case, frames) in cases {
        assert_eq!(refused(&mut server(), frames), violation, "{case}");
    }
    let smaller = |size: u16| {
        let mut frame = open(id, 0, 0, 1);
        if let Frame::Symbol(symbol) = &mut frame {
            symbol.symbol_size = size;
            symbol.payload.truncate(size.into());
        }
        frame
    };
    let frames = (80..=100).rev().map(smaller);
    assert_eq!(
        refused(&mut server(), frames.take(10)),
        violation,
        "cut anew nine times"
    );
}

#[test]
fn an_end_that_moves_is_refused() {
    let final_size = TransportError::FINAL_SIZE_ERROR;
    let id = uni(0);
    let stream_fin = |final_size| {
        Frame::StreamFin(StreamFin {
            stream: id,
            final_size,
        })
    };
    let reset = |final_size| {
        Frame::ResetStream(ResetStream {
            stream: id,
            code: 0,
            final_size,
        })
    };
    let cases = [
        vec![stream_fin(500), stream_fin(501)],
        vec![open(id, 0, 0, 5), stream_fin(599)],
        vec![stream_fin(500), open(id, 0, 0, 5)],
        vec![fin(symbol(id, 0, 0, 0, Some(300))), open(id, 1, 300, 0)],
        vec![fin(symbol(id, 0, 0, 0, Some(300))), stream_fin(400)],
        vec![stream_fin(400), fin(symbol(id, 0, 0, 0, Some(300)))],
        vec![stream_fin(400), reset(401)],
        vec![open(id, 0, 0, 5), reset(599)],
        vec![reset(100), reset(101)],
    ];
    for frames in cases {
        assert_eq!(
            refused(&mut server(), frames.clone()),
            final_size,
            "{frames:?}"
        );
    }
}

#[test]
fn frames_for_streams_that_cannot_take_them_are_refused() {
    let state = TransportError::STREAM_STATE_ERROR;
    let ours = StreamId::new(Side::Server, Dir::Uni, 0);
    let stream = ours;
    let mut with_ours = server();
    with_ours.open(Dir::Uni).unwrap();
    for frame in [
        open(ours, 0, 0, 0),
        Frame::StreamFin(StreamFin {
            stream,
            final_size: 0,
        }),
        Frame::ResetStream(ResetStream {
            stream,
            code: 0,
            final_size: 0,
        }),
        Frame::StreamDataBlocked(StreamDataBlocked { stream, limit: 0 }),
    ] {
        assert_eq!(
            refused(&mut with_ours, [frame]),
            state,
            "only we write there"
        );
    }
    for stream in [
        uni(0),
        StreamId::new(Side::Server, Dir::Bi, 0),
        StreamId::new(Side::Server, Dir::Uni, 1),
    ] {
        for frame in [
            Frame::StopSending(StopSending { stream, code: 0 }),
            Frame::MaxStreamData(MaxStreamData { stream, limit: 9 }),
            Frame::BlockAck(BlockAck {
                stream,
                sbn: 0,
                missing: 0,
            }),
            Frame::StreamDelivered(StreamDelivered { stream }),
        ] {
            assert_eq!(
                refused(&mut with_ours, [frame]),
                state,
                "we do not write there, or not yet"
            );
        }
    }
    assert_eq!(
        refused(&mut server(), [open(uni(4), 0, 0, 0)]),
        TransportError::STREAM_LIMIT_ERROR
    );
    let bidi = StreamId::new(Side::Client, Dir::Bi, 4);
    assert_eq!(
        refused(&mut server(), [open(bidi, 0, 0, 0)]),
        TransportError::STREAM_LIMIT_ERROR
    );
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_refused() {
    let violation = TransportError::PROTOCOL_VIOLATION;
    let mut server = server();
    let stream = server.open(Dir::Uni).unwrap();
    let block_ack = |sbn, missing| {
        Frame::BlockAck(BlockAck {
            stream,
            sbn,
            missing,
        })
    };
    let delivered = Frame::StreamDelivered(StreamDelivered { stream });
    assert_eq!(refused(&mut server, [block_ack(0, 0)]), violation);
    assert_eq!(
        refused(&mut server, [delivered.clone()]),
        violation,
        "it has not ended"
    );
    server.write(stream, &[1; 3000]).unwrap();
    assert_eq!(
        refused(&mut server, [block_ack(0, 0)]),
        violation,
        "nothing left"
    );
    server.finish(stream).unwrap();
    assert_eq!(
        refused(&mut server, [block_ack(0, 1)]),
        violation,
        "nothing left"
    );
    assert_eq!(refused(&mut server, [delivered]), violation, "nothing left");
}

#[test]
fn many_tiny_blocks_are_bounded_by_their_number_and_cost_little_once_complete() {
    let config = config(CodecKind::RaptorQ);
    let mut server = Streams::new(Side::Server, &config);
    for sbn in 1..=u64::from(MAX_PENDING_BLOCKS) {
        server
            .on_frame(now(), symbol(uni(0), sbn, sbn, 0, Some(1)))
            .unwrap();
    }
    let next = u64::from(MAX_PENDING_BLOCKS) + 1;
    assert_eq!(
        refused(&mut server, [symbol(uni(0), next, next, 0, Some(1))]),
        TransportError::PROTOCOL_VIOLATION
    );
    let mut server = Streams::new(Side::Server, &config);
    for sbn in 0..100_000 {
        server
            .on_frame(now(), symbol(uni(0), sbn, sbn, 0, Some(1)))
            .unwrap();
    }
    assert_eq!(server.receiving.pending_blocks, 0);
    let mut chunks = 0;
    while let Ok(Some(_)) = server.read(uni(0), usize::MAX) {
        chunks += 1;
    }
    assert!(chunks < 10, "{chunks} chunks");
}

#[test]
fn repair_symbols_that_never_repair_are_refused_after_a_few() {
    let config = config(CodecKind::RaptorQ);
    let mut server = Streams::new(Side::Server, &config);
    let mut stored = 0;
    for esi in 10..2000 {
        if server
            .on_frame(now(), symbol(uni(0), 0, 0, esi, Some(1000)))
            .is_err()
        {
            return;
        }
        stored += 1;
        if let Ok(Some(_)) = server.read(uni(0), 9000) {
            assert!(stored <= 18, "{stored} symbols to decode a block of 10");
            return;
        }
    }
    panic!("2000 symbols of a block of 10 were kept");
}

#[test]
fn late_frames_of_streams_that_are_over_change_nothing() {
    let mut server = server();
    server
        .on_frame(now(), fin(symbol(uni(0), 0, 0, 0, Some(50))))
        .unwrap();
    assert_eq!(server.read(uni(0), 100).unwrap().unwrap().len(), 50);
    assert_eq!(server.read(uni(0), 100), Ok(None));
    server.on_acked(
        now(),
        &crate::recovery::Token::StreamDelivered { stream: uni(0) },
        0,
        false,
    );
    assert_eq!(server.read(uni(0), 100), Err(ReadError::UnknownStream));
    let stream = uni(0);
    for frame in [
        open(stream, 9, 900, 0),
        Frame::StreamFin(StreamFin {
            stream,
            final_size: 7,
        }),
        Frame::ResetStream(ResetStream {
            stream,
            code: 0,
            final_size: 7,
        }),
        Frame::StreamDataBlocked(StreamDataBlocked { stream, limit: 0 }),
    ] {
        server.on_frame(now(), frame).unwrap();
    }
    assert!(server.recv.is_empty());
    assert_eq!(server.stats().redundant_symbols, 1);
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let stream = (any::<bool>(), any::<bool>(), 0_u64..3).prop_map(|(client, uni, index)| {
        let side = if client { Side::Client } else { Side::Server };
        StreamId::new(side, if uni { Dir::Uni } else { Dir::Bi }, index)
    });
    let symbol = (
        stream.clone(),
        0_u64..4,
        0_u64..12,
        0_u32..14,
        prop::option::of(1_u32..1000),
        any::<bool>(),
        0_u8..4,
        0_u8..6,
    )
        .prop_filter_map(
            "repair symbols tell the length",
            |(stream, sbn, start, esi, length, is_last, odd, code)| {
                let frame = symbol(stream, sbn, start * 100 + u64::from(odd / 3), esi, length);
                let frame = match code {
                    0 => linear(frame),
                    1 => combined(frame, odd),
                    _ => frame,
                };
                (length.is_some() || esi < 10).then(|| {
                    if is_last && length.is_some() {
                        fin(frame)
                    } else {
                        frame
                    }
                })
            },
        );
    prop_oneof![
        8 => symbol,
        1 => (stream.clone(), 0_u64..3, 0_u32..3).prop_map(|(stream, sbn, missing)| Frame::BlockAck(BlockAck { stream, sbn, missing })),
        1 => (stream.clone(), 0_u64..12).prop_map(|(stream, size)| Frame::StreamFin(StreamFin { stream, final_size: size * 100 })),
        1 => (stream.clone(), 0_u64..12).prop_map(|(stream, size)| Frame::ResetStream(ResetStream { stream, code: 1, final_size: size * 100 })),
        1 => stream.clone().prop_map(|stream| Frame::StopSending(StopSending { stream, code: 1 })),
        1 => stream.clone().prop_map(|stream| Frame::StreamDelivered(StreamDelivered { stream })),
        1 => (stream.clone(), any::<u32>()).prop_map(|(stream, limit)| Frame::MaxStreamData(MaxStreamData { stream, limit: limit.into() })),
        1 => (stream, any::<u32>()).prop_map(|(stream, limit)| Frame::StreamDataBlocked(StreamDataBlocked { stream, limit: limit.into() })),
        1 => any::<u32>().prop_map(|limit| Frame::MaxData(limit.into())),
        1 => any::<u32>().prop_map(|limit| Frame::DataBlocked(limit.into())),
        1 => any::<u32>().prop_map(|limit| Frame::MaxStreams(MaxStreams { dir: Dir::Bi, limit: limit.into() })),
        1 => any::<u32>().prop_map(|limit| Frame::StreamsBlocked(StreamsBlocked { dir: Dir::Uni, limit: limit.into() })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_of_frames_panics_or_holds_more_than_the_window(
        frames in prop::collection::vec(any_frame(), 0..60),
        commands in prop::collection::vec((0_u8..7, 0_u64..3), 60),
        is_pipeline: bool,
    ) {
        let fresh = || if is_pipeline { pipeline_server() } else { server() };
        let mut server = fresh();
        for (frame, (command, index)) in frames.into_iter().zip(commands) {
            if server.on_frame(now(), frame).is_err() {
                // The connection is closed now; the state must still be sound.
                server = fresh();
            }
            for id in [uni(index), StreamId::new(Side::Server, Dir::Bi, index)] {
                match command {
                    0 => drop(server.read(id, 150)),
                    1 => server.stop(id, 2),
                    2 => drop(server.write(id, &[3; 250])),
                    3 => drop(server.finish(id)),
                    4 => server.reset(id, 4),
                    5 => drop(server.open(Dir::Bi)),
                    _ => {}
                }
            }
            let mut payload = Vec::new();
            let mut writer = crate::component::FrameWriter::new(&mut payload, 2000);
            server.write_control(&mut writer);
            super::harness::write_data(&mut server, now(), 1, &mut writer);
            prop_assert!(server.receiving.pending_blocks <= 24);
            prop_assert!(server.receiving.credit.received() - server.receiving.credit.consumed() <= 15_000);
        }
    }
}

#[test]
fn a_block_is_of_one_code() {
    let mut server = server();
    let repair = |esi| symbol(uni(0), 0, 0, esi, Some(1000));
    server.on_frame(now(), linear(repair(10))).unwrap();
    server.on_frame(now(), linear(repair(11))).unwrap();
    assert_eq!(refused(&mut server, [repair(12)]), 0x0a);
}

#[test]
fn combinations_are_not_mixed_with_repair_symbols_of_another_code() {
    let repair = |esi| symbol(uni(0), 0, 0, esi, Some(1000));
    for other in [repair(12), linear(repair(12))] {
        let mut server = server();
        server.on_frame(now(), combined(repair(10), 1)).unwrap();
        server.on_frame(now(), repair(3)).unwrap();
        assert_eq!(refused(&mut server, [other]), 0x0a);
    }
}

#[test]
fn combinations_that_follow_from_others_are_counted_and_end_in_an_error() {
    let mut server = server();
    let same = |esi| combined(symbol(uni(0), 0, 0, esi, Some(1000)), 3);
    for esi in 10..27 {
        server.on_frame(now(), same(esi)).unwrap();
    }
    let many: Vec<Frame> = (27..60).map(same).collect();
    assert_eq!(refused_any(&mut server, many), 0x0a);
}

#[test]
fn a_pipeline_group_has_few_packets_and_redundant_ones_of_its_own_code() {
    let repair = |esi| symbol(uni(0), 0, 0, esi, Some(1000));
    for wrong in [repair(12), combined(repair(12), 1)] {
        let mut server = pipeline_server();
        assert_eq!(refused(&mut server, [linear(repair(11)), wrong]), 0x0a);
    }
    let too_long = symbol(uni(0), 0, 0, 3, Some(3300));
    for wrong in [too_long, open(uni(0), 0, 0, 32)] {
        assert_eq!(refused(&mut pipeline_server(), [wrong]), 0x0a);
    }
}

/// The code with which one of `frames` is refused.
fn refused_any(streams: &mut Streams, frames: Vec<Frame>) -> u64 {
    let mut results = frames
        .into_iter()
        .map(|frame| streams.on_frame(now(), frame));
    results.find_map(Result::err).expect("one is refused").code
}
