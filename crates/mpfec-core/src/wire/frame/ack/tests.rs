use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::wire::frame::{Frame, Frames};

fn facts(path: Option<u32>, delay_us: u64) -> AckFacts {
    AckFacts {
        path,
        delay: Duration::from_micros(delay_us),
        received: None,
        ecn: None,
    }
}

fn parse(bytes: &[u8]) -> Ack {
    let mut frames = Frames::new(Bytes::copy_from_slice(bytes));
    let Some(Ok(Frame::Ack(ack))) = frames.next() else {
        panic!("an acknowledgement: {bytes:x?}")
    };
    assert!(frames.next().is_none(), "nothing follows");
    ack
}

fn is_refused(bytes: &[u8]) -> bool {
    Frames::new(Bytes::copy_from_slice(bytes))
        .next()
        .is_some_and(|frame| frame.is_err())
}

#[test]
fn an_acknowledgement_has_the_layout_of_rfc_9000_with_the_path_in_front() {
    let mut out = Vec::new();
    let ranges = [90..=100, 80..=85, 70..=70];
    let told = Ack::encode(&facts(Some(3), 1600), ranges.iter().cloned(), 100, &mut out);
    // type, path, largest 100, delay 1600 / 8, 2 further, 10 below; gap and length twice.
    assert_eq!(out, [0x04, 3, 0x40, 100, 0x40, 200, 2, 10, 3, 5, 8, 0]);
    assert_eq!(told, 3);
    let ack = parse(&out);
    assert_eq!(
        (ack.path, ack.largest, ack.delay),
        (Some(3), 100, Duration::from_micros(1600))
    );
    assert_eq!(ack.ranges().collect::<Vec<_>>(), ranges);
}

#[test]
fn a_timed_acknowledgement_has_the_time_behind_the_delay() {
    let timed = AckFacts {
        received: Some(ArrivalTime::new(Duration::from_micros(0x3_fedc_ba98))),
        ..facts(Some(3), 1600)
    };
    let mut out = Vec::new();
    let told = Ack::encode(&timed, [90..=100].into_iter(), 100, &mut out);
    // The time without its four lowest bits, and of these the 24 lowest.
    let expected = [0x0c, 3, 0x40, 100, 0x40, 200, 0xed, 0xcb, 0xa9, 0, 10];
    assert_eq!(out, expected);
    assert_eq!(told, 1);
    assert_eq!(parse(&out).received, timed.received);
    assert!(is_refused(&out[..8]), "cut off in the time");
}

#[test]
fn acknowledgements_of_the_handshake_have_no_time() {
    let timed = AckFacts {
        received: Some(ArrivalTime::new(Duration::from_secs(7))),
        ..facts(None, 0)
    };
    let mut out = Vec::new();
    Ack::encode(&timed, [9..=9].into_iter(), 100, &mut out);
    assert_eq!(out, [0x02, 9, 0, 0, 0]);
}

#[test]
fn the_oldest_ranges_are_left_out_when_there_is_no_room() {
    let ranges = || (0..50_u64).rev().map(|i| 10 * i..=10 * i + 3);
    for room in 0..120 {
        let mut out = vec![0xaa; 5];
        let told = Ack::encode(&facts(Some(0), 0), ranges(), room, &mut out);
        assert!(out.len() <= 5 + room);
        if told == 0 {
            assert!(room < 7, "the first range takes 7 bytes, {room} are there");
            assert_eq!(out.len(), 5);
            continue;
        }
        let kept: Vec<_> = parse(&out[5..]).ranges().collect();
        assert_eq!(kept.len(), told);
        assert_eq!(told, (1 + (room - 7) / 2).min(Ack::SENT_RANGES));
        assert!(
            kept.into_iter()
                .eq(ranges().take(1 + (room - 7) / 2).take(Ack::SENT_RANGES))
        );
    }
}

#[test]
fn without_ranges_nothing_is_written() {
    let mut out = Vec::new();
    assert_eq!(
        Ack::encode(&facts(None, 0), std::iter::empty(), 100, &mut out),
        0
    );
    assert!(out.is_empty());
}

#[test]
fn ranges_below_zero_and_too_many_ranges_are_refused() {
    assert!(
        is_refused(&[0x02, 5, 0, 0, 6]),
        "first range of 7 packets up to 5"
    );
    assert!(is_refused(&[0x02, 5, 0, 1, 5, 0, 0]), "a gap below 0");
    assert!(is_refused(&[0x02, 5, 0, 1, 2, 1, 1]), "a range below 0");
    assert!(!is_refused(&[0x02, 5, 0, 1, 2, 1, 0]));
    let with_ranges = |count: u64| {
        let mut bytes = vec![0x02, 0x60, 0, 0];
        bytes[1..].copy_from_slice(&[0x80, 0x00, 0xff]);
        bytes.extend_from_slice(&[0xff, 0]);
        varint::encode(count - 1, &mut bytes);
        bytes.push(0);
        bytes.extend(std::iter::repeat_n([0, 0], count as usize - 1).flatten());
        bytes
    };
    assert_eq!(parse(&with_ranges(256)).ranges.len(), Ack::MAX_RANGES);
    assert!(is_refused(&with_ranges(257)));
}

#[test]
fn an_absurd_delay_does_not_overflow() {
    let mut bytes = vec![0x02, 9];
    varint::encode(varint::MAX, &mut bytes);
    bytes.extend_from_slice(&[0, 0]);
    assert_eq!(
        parse(&bytes).delay,
        Duration::from_micros(8 * u64::from(u32::MAX))
    );
}

proptest! {
    #[test]
    fn ranges_arrive_as_they_were_sent(
        path: Option<u32>,
        start in 0_u64..1 << 40,
        steps in proptest::collection::vec((0_u64..3000, 2_u64..3000), 1..60),
        delay in 0_u64..1 << 32,
        received: Option<u32>,
        ecn in proptest::option::of((0_u64..1 << 40, 0_u64..1 << 20, 0_u64..100)),
    ) {
        let mut ranges = Vec::new();
        let mut at = start;
        for (len, gap) in steps {
            ranges.push(at..=at + len);
            at += len + gap;
        }
        ranges.reverse();
        let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
        let time = |micros: u32| ArrivalTime::new(Duration::from_micros(micros.into()));
        let received = received.filter(|_| path.is_some()).map(time);
        let facts = AckFacts { path, delay: Duration::from_micros(delay * 8), received, ecn };
        let mut out = Vec::new();
        let told = Ack::encode(&facts, ranges.iter().cloned(), 1200, &mut out);
        prop_assert_eq!(told, ranges.len().min(Ack::SENT_RANGES));
        let ack = parse(&out);
        prop_assert_eq!((ack.path, ack.delay, ack.ecn), (path, facts.delay, ecn));
        prop_assert_eq!(ack.received, received);
        prop_assert_eq!(ack.largest, *ranges[0].end());
        ranges.truncate(Ack::SENT_RANGES);
        prop_assert_eq!(ack.ranges().collect::<Vec<_>>(), ranges);
    }
}
