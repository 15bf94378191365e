use std::net::SocketAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::id::StreamId;
use crate::wire::{ConnectionId, IssuedId, ResetToken};

fn number() -> impl Strategy<Value = u64> {
    (0_u32..=62, any::<u64>()).prop_map(|(bits, raw)| raw & ((1 << bits) - 1))
}

fn stream() -> impl Strategy<Value = StreamId> {
    number().prop_map(StreamId)
}

fn dir() -> impl Strategy<Value = Dir> {
    prop_oneof![Just(Dir::Bi), Just(Dir::Uni)]
}

fn data() -> impl Strategy<Value = Bytes> {
    proptest::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from)
}

fn address() -> impl Strategy<Value = SocketAddr> {
    let port = 1_u16..;
    prop_oneof![
        ([1_u8..224, 0_u8..255, 0..255, 0..255], port.clone()).prop_map(SocketAddr::from),
        (any::<[u8; 15]>(), port).prop_map(|(tail, port)| {
            let mut ip = [0x20; 16];
            ip[1..].copy_from_slice(&tail);
            SocketAddr::from((ip, port))
        }),
    ]
}

fn issued() -> impl Strategy<Value = IssuedId> {
    any::<([u8; 8], [u8; 16])>().prop_map(|(cid, token)| IssuedId {
        cid: ConnectionId::from(cid),
        reset_token: ResetToken(token),
    })
}

fn symbol() -> impl Strategy<Value = Frame> {
    (
        stream(),
        number(),
        0_u64..1 << 50,
        1_u16..300,
        0_u32..3000,
        1_u32..1 << 18,
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(stream, sbn, offset, symbol_size, esi, length, (closed, fin))| {
                let size = u32::from(symbol_size);
                let closed = closed || fin || esi >= 1024;
                let block_length = closed.then(|| length.min(1024 * size));
                let len = match block_length {
                    Some(length) if esi + 1 == length.div_ceil(size) => length - esi * size,
                    _ => size,
                };
                let is_repair = block_length.is_some_and(|length| esi >= length.div_ceil(size));
                let count = block_length.map(|length| length.div_ceil(size));
                let code = match (is_repair, offset % 3) {
                    (false, _) | (_, 0) => SymbolCode::RaptorQ,
                    (_, 1) if count.is_some_and(|count| count <= 32) => SymbolCode::Batch,
                    _ => SymbolCode::Linear,
                };
                let coefficients = count.filter(|_| code == SymbolCode::Batch).unwrap_or(0);
                let payload = Bytes::from(vec![0x5a; (coefficients + len) as usize]);
                Frame::Symbol(Symbol {
                    stream,
                    sbn,
                    offset,
                    symbol_size,
                    esi,
                    block_length,
                    fin,
                    code,
                    payload,
                })
            },
        )
}

fn ack() -> impl Strategy<Value = Frame> {
    let ranges = proptest::collection::vec((0_u64..500, 2_u64..500), 1..=Ack::MAX_RANGES);
    (
        any::<Option<u32>>(),
        ranges,
        0_u64..1 << 32,
        any::<Option<u32>>(),
        any::<Option<u32>>(),
    )
        .prop_map(|(path, steps, delay, received, ecn)| {
            let mut at = 0;
            let mut ranges: Vec<_> = steps
                .into_iter()
                .map(|(len, gap)| {
                    let range = at..=at + len;
                    at += len + gap;
                    range
                })
                .collect();
            ranges.reverse();
            Frame::Ack(Ack {
                path,
                largest: *ranges[0].end(),
                delay: Duration::from_micros(delay * 8),
                received: received
                    .filter(|_| path.is_some())
                    .map(|micros| ArrivalTime::new(Duration::from_micros(micros.into()))),
                ranges: ranges.into(),
                ecn: ecn.map(|n| EcnCounts {
                    ect0: n.into(),
                    ect1: 0,
                    ce: 1,
                }),
            })
        })
}

fn close() -> impl Strategy<Value = Frame> {
    (number(), number(), ".{0,80}", any::<bool>()).prop_map(|(code, frame, reason, application)| {
        if application {
            ApplicationClose::within(code, &reason, 1000)
        } else {
            ConnectionClose::within(&TransportError::new(code, reason).in_frame(frame), 1000)
        }
    })
}

fn plain_frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        Just(Frame::Ping),
        Just(Frame::HandshakeDone),
        (number(), data()).prop_map(|(n, data)| Frame::Crypto(Crypto {
            offset: n >> 1,
            data
        })),
        (stream(), number(), number()).prop_map(|(stream, code, final_size)| Frame::ResetStream(
            ResetStream {
                stream,
                code,
                final_size
            }
        )),
        (stream(), number())
            .prop_map(|(stream, code)| Frame::StopSending(StopSending { stream, code })),
        (stream(), number())
            .prop_map(|(stream, final_size)| Frame::StreamFin(StreamFin { stream, final_size })),
        stream().prop_map(|stream| Frame::StreamDelivered(StreamDelivered { stream })),
        number().prop_map(Frame::MaxData),
        number().prop_map(Frame::DataBlocked),
        (stream(), number())
            .prop_map(|(stream, limit)| Frame::MaxStreamData(MaxStreamData { stream, limit })),
        (stream(), number()).prop_map(|(stream, limit)| Frame::StreamDataBlocked(
            StreamDataBlocked { stream, limit }
        )),
        (dir(), 0..=1_u64 << 60)
            .prop_map(|(dir, limit)| Frame::MaxStreams(MaxStreams { dir, limit })),
        (dir(), 0..=1_u64 << 60)
            .prop_map(|(dir, limit)| Frame::StreamsBlocked(StreamsBlocked { dir, limit })),
        (any::<u32>(), issued())
            .prop_map(|(path, issued)| Frame::PathConnectionId(PathConnectionId { path, issued })),
        (any::<u32>(), number())
            .prop_map(|(path, code)| Frame::PathAbandon(PathAbandon { path, code })),
        any::<[u8; 8]>().prop_map(|data| Frame::PathChallenge(PathChallenge { data })),
        any::<[u8; 8]>().prop_map(|data| Frame::PathResponse(PathResponse { data })),
        (number(), address())
            .prop_map(|(id, address)| Frame::AddAddress(AddAddress { id, address })),
        number().prop_map(|id| Frame::RemoveAddress(RemoveAddress { id })),
        any::<[u8; 32]>().prop_map(|mac| Frame::Authenticate(Authenticate { mac })),
        (any::<u32>(), number(), any::<bool>()).prop_map(|(path, sequence, backup)| {
            Frame::PathStatus(PathStatus {
                path,
                sequence,
                backup,
            })
        }),
        (any::<u32>(), number(), any::<u32>()).prop_map(|(path, sequence, share)| {
            Frame::PathShare(PathShare {
                path,
                sequence,
                share,
            })
        }),
        (stream(), number(), 0_u32..=1024).prop_map(|(stream, sbn, missing)| Frame::BlockAck(
            BlockAck {
                stream,
                sbn,
                missing
            }
        )),
        (prop::option::of(number()), data())
            .prop_map(|(number, data)| Frame::Datagram(DatagramFrame { number, data })),
        (number(), any::<u16>(), data()).prop_map(|(first, lengths, data)| {
            let mut covered = Covered::default();
            // At least one of them is below 2^62.
            for number in [first, first + 1, first + 3] {
                covered.push(number);
            }
            Frame::Parity(Parity {
                covered,
                lengths,
                data,
            })
        }),
        (any::<u32>(), number(), number()).prop_map(|(path, rebuilt, latest)| {
            Frame::ParityReport(ParityReport {
                path,
                rebuilt,
                latest,
            })
        }),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![6 => plain_frame(), 1 => symbol(), 1 => ack(), 1 => close()]
}

/// What `frames` look like in a packet.
fn encode(frames: &[Frame]) -> Bytes {
    let mut out = Vec::new();
    frames.iter().for_each(|frame| frame.encode(&mut out));
    Bytes::from(out)
}

fn parse(bytes: &[u8]) -> Result<Vec<Frame>, TransportError> {
    Frames::new(Bytes::copy_from_slice(bytes)).collect()
}

#[test]
fn a_run_of_padding_is_one_step_wherever_it_is() {
    let mut bytes = vec![0; 700];
    bytes.push(PING);
    bytes.extend_from_slice(&[0; 400]);
    assert_eq!(
        parse(&bytes),
        Ok(vec![Frame::Padding, Frame::Ping, Frame::Padding])
    );
    assert_eq!(parse(&[]), Ok(vec![]));
}

#[test]
fn nothing_follows_a_frame_that_cannot_be_read() {
    let mut frames = Frames::new(Bytes::from_static(&[PING, 0x07, PING, PING]));
    assert_eq!(frames.next(), Some(Ok(Frame::Ping)));
    let error = frames
        .next()
        .and_then(Result::err)
        .expect("type 7 does not exist");
    assert_eq!(
        (error.code, error.frame),
        (TransportError::FRAME_ENCODING_ERROR, 7)
    );
    assert_eq!(frames.next(), None);
}

#[test]
fn types_that_do_not_exist_are_refused() {
    let known: Vec<u8> = (0..=255)
        .filter(|ty| {
            let mut bytes = vec![*ty];
            bytes.resize(80, 1);
            parse(&bytes)
                .err()
                .is_none_or(|error| error.reason != "unknown frame type")
        })
        .collect();
    let mut want: Vec<u8> = vec![0, 1, 2, 3, 4, 5, 6, 8, 9, 0xa, 0xb, 0xc, 0xd];
    want.extend(0x10..=0x23);
    want.extend([0x24, 0x26, 0x27, 0x28, 0x30, 0x31, 0x32]);
    want.extend((0x38..=0x3f).chain(0x7a..=0x7f).chain(0xba..=0xbf));
    assert_eq!(known, want);
}

#[test]
fn the_handshake_takes_only_what_it_needs() {
    let ack = |path| {
        let largest = 0;
        Frame::Ack(Ack {
            path,
            largest,
            delay: Duration::ZERO,
            received: None,
            ranges: [0..=0].into_iter().collect(),
            ecn: None,
        })
    };
    for space in [Space::Initial, Space::Handshake] {
        assert!(Frame::Ping.is_allowed_in(space) && ack(None).is_allowed_in(space));
        assert!(!ack(Some(0)).is_allowed_in(space));
        assert!(
            !Frame::MaxData(1).is_allowed_in(space) && !Frame::HandshakeDone.is_allowed_in(space)
        );
        assert!(!ApplicationClose::within(0, "", 20).is_allowed_in(space));
        assert!(ConnectionClose::within(&TransportError::internal(""), 20).is_allowed_in(space));
    }
    assert!(ack(Some(0)).is_allowed_in(Space::Data) && !ack(None).is_allowed_in(Space::Data));
    assert!(!ack(None).is_ack_eliciting() && Frame::Ping.is_ack_eliciting());
}

#[test]
fn addresses_that_no_host_has_are_refused() {
    let refused = |address: &[u8]| {
        let mut bytes = vec![ADD_ADDRESS, 0];
        bytes.extend_from_slice(address);
        parse(&bytes).is_err()
    };
    assert!(!refused(&[4, 192, 0, 2, 1, 0x11, 0x51]));
    assert!(refused(&[4, 192, 0, 2, 1, 0, 0]), "port 0");
    assert!(refused(&[4, 0, 0, 0, 0, 0x11, 0x51]));
    assert!(refused(&[4, 224, 0, 0, 1, 0x11, 0x51]));
    assert!(refused(&[4, 255, 255, 255, 255, 0x11, 0x51]));
    assert!(refused(&[5, 192, 0, 2, 1, 0x11, 0x51]));
    assert!(refused(&[4, 192, 0, 2, 1, 0x11]));
}

#[test]
fn counts_and_flags_out_of_range_are_refused() {
    assert!(
        parse(&encode(&[Frame::MaxStreams(MaxStreams {
            dir: Dir::Bi,
            limit: (1 << 60) + 1
        })]))
        .is_err()
    );
    let block = BlockAck {
        stream: StreamId(0),
        sbn: 0,
        missing: 1025,
    };
    assert!(parse(&encode(&[Frame::BlockAck(block)])).is_err());
    assert!(parse(&[PATH_STATUS, 0, 0, 2]).is_err());
    let mut path = vec![PATH_ABANDON];
    varint::encode(1 << 32, &mut path);
    path.push(0);
    assert!(parse(&path).is_err(), "path IDs have 32 bits");
}

#[test]
fn payloads_are_slices_of_the_packet() {
    let packet = encode(&[Frame::Datagram(DatagramFrame {
        number: None,
        data: Bytes::from_static(b"zero copies"),
    })]);
    let Some(Ok(Frame::Datagram(datagram))) = Frames::new(packet.clone()).next() else {
        panic!("a datagram")
    };
    assert_eq!(datagram.data.as_ptr(), packet[2..].as_ptr());
}

proptest! {
    #[test]
    fn frames_arrive_as_they_were_sent(frames in proptest::collection::vec(frame(), 0..12)) {
        let bytes = encode(&frames);
        prop_assert_eq!(bytes.len(), frames.iter().map(Frame::size).sum::<usize>());
        prop_assert_eq!(parse(&bytes), Ok(frames));
    }

    #[test]
    fn the_type_of_a_frame_is_its_first_byte(frame in frame()) {
        prop_assert_eq!(frame.ty(), u64::from(encode(&[frame])[0]));
    }

    #[test]
    fn a_frame_that_is_cut_off_is_no_frame(frame in frame(), cut: prop::sample::Index) {
        let bytes = encode(&[frame]);
        let end = cut.index(bytes.len());
        prop_assert!(end == 0 || parse(&bytes[..end]).is_err());
    }

    #[test]
    fn any_bytes_parse_without_a_panic_and_write_again(bytes: Vec<u8>) {
        let frames: Vec<Frame> = Frames::new(Bytes::from(bytes)).map_while(Result::ok).collect();
        prop_assert_eq!(parse(&encode(&frames)), Ok(frames));
    }

    #[test]
    fn a_changed_byte_parses_without_a_panic_and_writes_again(
        frames in proptest::collection::vec(frame(), 1..4),
        at: prop::sample::Index,
        byte: u8,
    ) {
        let mut bytes = encode(&frames).to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let frames: Vec<Frame> = Frames::new(Bytes::from(bytes)).map_while(Result::ok).collect();
        prop_assert_eq!(parse(&encode(&frames)), Ok(frames));
    }
}

#[test]
fn shares_are_kept_to_a_65536th() {
    for (rho, share) in [
        (1.25, 0x1_4000),
        (1e-9, 1),
        (0.0, 1),
        (f64::INFINITY, u32::MAX),
    ] {
        assert_eq!(PathShare::of(rho), share, "{rho}");
    }
    let frame = PathShare {
        path: 0,
        sequence: 1,
        share: 0x1_4000,
    };
    assert_eq!(frame.rho(), Some(1.25));
    assert_eq!(PathShare { share: 0, ..frame }.rho(), None);
}
