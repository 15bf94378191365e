//! The worked examples of docs/protocol.md against the code.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::crypto::Keys;
use crate::id::{Dir, Side, StreamId};
use crate::wire::frame::{Ack, AckFacts, SymbolCode, SymbolHeader};
use crate::wire::header::{LongHeader, LongType, ShortHeader};
use crate::wire::{ConnectionId, IssuedId, ResetToken, TransportParameters};

/// The bytes of the example of this name: those at the start of each of its lines, up to two
/// spaces in a row.
fn example(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    let text = fs::read_to_string(path).expect("the specification is part of the repository");
    let start = format!("```hex {name}\n");
    let (_, example) = text.split_once(&start).expect("an example of this name");
    let (example, _) = example.split_once("```").expect("the end of the example");
    example
        .lines()
        .filter_map(|line| line.split("  ").next())
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits"))
        .collect()
}

/// As an example shows them, so that a failure can be copied.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}

#[test]
fn a_data_packet_is_as_specified() {
    let mut out = Vec::new();
    let header = ShortHeader {
        dcid: ConnectionId::from([0x5c, 1, 2, 3, 4, 5, 6, 7]),
        key_phase: false,
        packet_number: 1000,
        largest_acked: Some(800),
    };
    header.encode(&mut out);
    let facts = AckFacts {
        path: Some(1),
        delay: Duration::from_micros(1600),
        received: None,
        ecn: None,
    };
    Ack::encode(&facts, [90..=100, 80..=85].into_iter(), 100, &mut out);
    let (text, size) = (b"a fountain never dies", 16);
    let symbol = SymbolHeader {
        stream: StreamId::new(Side::Client, Dir::Uni, 0),
        sbn: 0,
        offset: 0,
        symbol_size: size as u16,
        esi: 1,
        block_length: Some(text.len() as u32),
        fin: true,
        code: SymbolCode::RaptorQ,
        payload_len: text.len() - size,
        with_length: true,
    };
    symbol.encode(&mut out);
    out.extend_from_slice(&text[size..]);
    assert_eq!(hex(&out), hex(&example("data")));
}

#[test]
fn an_initial_packet_is_protected_as_specified() {
    let dcid = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
    let header = LongHeader {
        kind: LongType::Initial,
        dcid: ConnectionId::from(dcid),
        scid: ConnectionId::new(&[]).expect("0 bytes are few enough"),
        token: &[],
        packet_number: 2,
        largest_acked: None,
    };
    let mut plain = Vec::new();
    let marks = header.encode(&mut plain);
    plain.extend_from_slice(&[1, 0, 0, 0]);
    let mut sealed = plain.clone();
    plain.resize(plain.len() + 16, 0);
    marks.patch_length(&mut plain);
    plain.truncate(sealed.len());
    assert_eq!(hex(&plain), hex(&example("plain")));
    Keys::initial(&dcid, Side::Client).seal_packet(2, &marks, &mut sealed);
    assert_eq!(hex(&sealed), hex(&example("sealed")));
}

#[test]
fn transport_parameters_are_as_specified() {
    let issued = IssuedId {
        cid: ConnectionId::from([0x5c, 1, 2, 3, 4, 5, 6, 7]),
        reset_token: ResetToken([0xee; 16]),
    };
    let parameters = TransportParameters {
        initial_source_connection_id: ConnectionId::new(&[0x11, 0x12, 0x13, 0x14]),
        max_idle_timeout: Duration::from_secs(30),
        initial_max_stream_data_uni: 1 << 20,
        path_connection_ids: vec![issued],
        ..TransportParameters::default()
    };
    let mut out = Vec::new();
    parameters.encode(&mut out);
    assert_eq!(hex(&out), hex(&example("parameters")));
    assert_eq!(
        TransportParameters::parse(&out, Side::Client),
        Ok(parameters)
    );
}
