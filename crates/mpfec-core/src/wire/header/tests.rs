use proptest::prelude::*;

use super::*;

fn cid(bytes: &[u8]) -> ConnectionId {
    ConnectionId::new(bytes).expect("at most 20 bytes")
}

fn any_cid() -> impl Strategy<Value = ConnectionId> {
    proptest::collection::vec(any::<u8>(), 0..=20).prop_map(|bytes| cid(&bytes))
}

/// A long packet with `payload` bytes of payload and room for the tag.
fn long(header: &LongHeader<'_>, payload: usize, out: &mut Vec<u8>) -> Marks {
    let marks = header.encode(out);
    out.resize(out.len() + payload + TAG_LEN, 0xee);
    marks.patch_length(out);
    marks
}

fn initial(token: &[u8]) -> LongHeader<'_> {
    LongHeader {
        kind: LongType::Initial,
        dcid: cid(&[1; 8]),
        scid: cid(&[2; 8]),
        token,
        packet_number: 0x1234,
        largest_acked: None,
    }
}

#[test]
fn an_initial_packet_has_the_layout_of_rfc_9000() {
    let mut out = Vec::new();
    long(&initial(b"tok"), 5, &mut out);
    let mut want = vec![0xc1, 0x6d, 0x70, 0x66, 0x01, 8, 1, 1, 1, 1, 1, 1, 1, 1, 8];
    want.extend_from_slice(&[2; 8]);
    want.extend_from_slice(b"\x03tok\x40\x17\x12\x34");
    assert_eq!(out[..want.len()], want);
    assert_eq!(out.len(), want.len() + 5 + TAG_LEN);
}

#[test]
fn two_packets_of_one_datagram_are_found_one_after_the_other() {
    let mut out = Vec::new();
    long(&initial(&[]), 40, &mut out);
    let first_end = out.len();
    let handshake = LongHeader {
        kind: LongType::Handshake,
        ..initial(&[])
    };
    let marks = long(&handshake, 20, &mut out);
    assert_eq!(marks.start, first_end);
    let Ok(Protected::Long { kind, end, .. }) = parse(&out) else {
        panic!("a long header")
    };
    assert_eq!((kind, end), (LongType::Initial, first_end));
    let Ok(Protected::Long {
        kind,
        end,
        packet_number_at,
        ..
    }) = parse(&out[first_end..])
    else {
        panic!("a long header")
    };
    assert_eq!((kind, end), (LongType::Handshake, out.len() - first_end));
    assert_eq!(packet_number_at, marks.packet_number_at - first_end);
}

#[test]
fn a_short_header_is_ten_to_thirteen_bytes() {
    let header = |packet_number, largest_acked| ShortHeader {
        dcid: cid(&[9; 8]),
        key_phase: true,
        packet_number,
        largest_acked,
    };
    for (packet_number, len) in [(200, 1), (1000, 2), (100_000, 3), (100_000_000, 4)] {
        let mut out = vec![0; 3];
        let marks = header(packet_number, Some(150)).encode(&mut out);
        assert_eq!(marks.start, 3);
        assert_eq!(marks.payload_at - marks.packet_number_at, len);
        assert_eq!(out[3], 0x44 | (len as u8 - 1));
        assert_eq!(out.len(), 3 + 1 + 8 + len);
    }
}

#[test]
fn what_is_too_short_to_be_protected_is_dropped_but_a_reset_is_not() {
    let mut reset = vec![0x40; 21];
    assert!(matches!(
        parse(&reset),
        Ok(Protected::Short {
            packet_number_at: 9,
            ..
        })
    ));
    reset.pop();
    assert_eq!(parse(&reset), Err(HeaderError::CutOff));
    assert_eq!(parse(&[]), Err(HeaderError::CutOff));
    assert_eq!(parse(&[0x00; 40]), Err(HeaderError::FixedBit));

    let mut out = Vec::new();
    long(&initial(&[]), 1, &mut out);
    assert_eq!(
        parse(&out),
        Err(HeaderError::CutOff),
        "2 + 1 + 16 bytes give no sample"
    );
    out.clear();
    long(&initial(&[]), 2, &mut out);
    assert!(parse(&out).is_ok());
    out.pop();
    assert_eq!(parse(&out), Err(HeaderError::CutOff));
}

#[test]
fn a_retry_needs_a_token() {
    let mut out = Vec::new();
    encode_retry_without_tag(cid(&[3; 8]), cid(&[4; 8]), b"token", &mut out);
    out.extend_from_slice(&[7; 16]);
    let Ok(Protected::Retry { dcid, scid, token }) = parse(&out) else {
        panic!("a retry")
    };
    assert_eq!(
        (dcid, scid, &out[token]),
        (cid(&[3; 8]), cid(&[4; 8]), &b"token"[..])
    );
    out.clear();
    encode_retry_without_tag(cid(&[3; 8]), cid(&[4; 8]), &[], &mut out);
    out.extend_from_slice(&[7; 16]);
    assert_eq!(parse(&out), Err(HeaderError::EmptyToken));
}

#[test]
fn the_pseudo_packet_of_a_retry_starts_with_the_original_connection_id() {
    assert_eq!(
        retry_pseudo_packet(cid(&[5, 6]), &[0xf0, 1]).as_slice(),
        [2, 5, 6, 0xf0, 1]
    );
}

#[test]
fn version_negotiation_offers_this_version_and_keeps_the_form_of_rfc_8999() {
    for random in [0, 0x3f, 0xff] {
        let mut out = Vec::new();
        encode_version_negotiation(cid(&[3; 20]), cid(&[]), random, &mut out);
        let Ok(Protected::VersionNegotiation {
            dcid,
            scid,
            versions,
        }) = parse(&out)
        else {
            panic!("version negotiation")
        };
        assert_eq!((dcid, scid), (cid(&[3; 20]), cid(&[])));
        assert_eq!(out[versions], VERSION.to_be_bytes());
        out.pop();
        assert_eq!(parse(&out), Err(HeaderError::Versions(3)));
    }
}

#[test]
fn a_version_of_others_is_told_with_its_connection_ids() {
    let mut out = Vec::new();
    long(&initial(&[]), 40, &mut out);
    out[4] = 0x02;
    assert_eq!(
        parse(&out),
        Ok(Protected::UnknownVersion {
            version: 0x6d70_6602,
            dcid: cid(&[1; 8]),
            scid: cid(&[2; 8])
        })
    );
    out[4] = 0x01;
    out[0] |= 0x10;
    assert_eq!(parse(&out), Err(HeaderError::Type(1)), "there is no 0-RTT");
    out[5] = 21;
    assert_eq!(parse(&out), Err(HeaderError::ConnectionId(21)));
}

proptest! {
    #[test]
    fn any_bytes_parse_without_a_panic_and_within_bounds(mut bytes: Vec<u8>, ours: bool) {
        if ours && bytes.len() > 5 {
            bytes[1..5].copy_from_slice(&VERSION.to_be_bytes());
        }
        match parse(&bytes) {
            Ok(Protected::Long { token, packet_number_at, end, .. }) => {
                prop_assert!(token.end <= packet_number_at && packet_number_at + 20 <= end);
                prop_assert!(end <= bytes.len());
            }
            Ok(Protected::Short { packet_number_at, .. }) => prop_assert!(packet_number_at < bytes.len()),
            Ok(Protected::Retry { token, .. }) => prop_assert!(token.end + TAG_LEN == bytes.len()),
            Ok(Protected::VersionNegotiation { versions, .. }) => prop_assert!(versions.end == bytes.len()),
            Ok(Protected::UnknownVersion { version, .. }) => prop_assert!(version != VERSION && version != 0),
            Err(_) => {}
        }
    }

    #[test]
    fn a_long_header_comes_back_as_it_was(
        dcid in any_cid(),
        scid in any_cid(),
        token in proptest::collection::vec(any::<u8>(), 0..300),
        is_initial: bool,
        packet_number in 0_u64..(1 << 31),
        payload in 4_usize..1100,
    ) {
        let kind = if is_initial { LongType::Initial } else { LongType::Handshake };
        let header = LongHeader { kind, dcid, scid, token: &token, packet_number, largest_acked: None };
        let mut out = Vec::new();
        let marks = long(&header, payload, &mut out);
        let token_len = if is_initial { token.len() } else { 0 };
        let Ok(Protected::Long { kind: k, dcid: d, scid: s, token: t, packet_number_at, end }) = parse(&out) else {
            return Err(TestCaseError::fail("not a long header"));
        };
        prop_assert_eq!((k, d, s), (kind, dcid, scid));
        prop_assert_eq!(&out[t], &token[..token_len]);
        prop_assert_eq!((packet_number_at, end), (marks.packet_number_at, out.len()));
        let truncated = out[packet_number_at..marks.payload_at].iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let number_len = marks.payload_at - packet_number_at;
        prop_assert_eq!(usize::from(out[0] & 3) + 1, number_len);
        prop_assert_eq!(packet_number::expand(truncated, number_len, None), packet_number);
    }

    #[test]
    fn a_short_header_comes_back_as_it_was(dcid: [u8; 8], key_phase: bool, packet_number in 0_u64..(1 << 62)) {
        let header = ShortHeader {
            dcid: ConnectionId::from(dcid),
            key_phase,
            packet_number,
            largest_acked: packet_number.checked_sub(1000),
        };
        let mut out = Vec::new();
        let marks = header.encode(&mut out);
        out.resize(marks.payload_at + 20, 0);
        prop_assert_eq!(
            parse(&out),
            Ok(Protected::Short { dcid: header.dcid, packet_number_at: marks.packet_number_at })
        );
        prop_assert_eq!(out[0] & 0x04 != 0, key_phase);
        prop_assert_eq!(out[0] & 0xf8, 0x40);
    }
}
