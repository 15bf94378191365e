use bytes::Bytes;

use super::*;
use crate::error::TransportError;
use crate::id::{Dir, Side};
use crate::wire::frame::{Frame, Frames};

/// A source symbol in the middle of an open block.
fn header() -> SymbolHeader {
    SymbolHeader {
        stream: StreamId::new(Side::Client, Dir::Uni, 0),
        sbn: 5,
        offset: 6000,
        symbol_size: 100,
        esi: 3,
        block_length: None,
        fin: false,
        code: SymbolCode::RaptorQ,
        payload_len: 100,
        with_length: false,
    }
}

fn parse(header: &SymbolHeader) -> Result<Symbol, TransportError> {
    let mut out = Vec::new();
    header.encode(&mut out);
    assert_eq!(out.len(), header.size());
    out.resize(out.len() + header.payload_len, 0xab);
    parse_frame(out)
}

fn parse_frame(out: Vec<u8>) -> Result<Symbol, TransportError> {
    match Frames::new(Bytes::from(out)).next() {
        Some(Ok(Frame::Symbol(symbol))) => Ok(symbol),
        Some(Err(error)) => Err(error),
        other => panic!("a symbol and not {other:?}"),
    }
}

fn is_refused(header: &SymbolHeader) -> bool {
    parse(header).is_err_and(|error| error.code == TransportError::FRAME_ENCODING_ERROR)
}

#[test]
fn a_symbol_of_an_open_block_says_no_more_than_it_must() {
    let mut out = Vec::new();
    header().encode(&mut out);
    assert_eq!(out, [0x38, 2, 5, 0x57, 0x70, 3]);
    let symbol = parse(&header()).expect("a valid symbol");
    assert_eq!(symbol.payload.len(), 100);
    assert_eq!((symbol.sbn, symbol.offset, symbol.esi), (5, 6000, 3));
    assert_eq!(
        (symbol.block_length, symbol.source_symbols(), symbol.fin),
        (None, None, false)
    );
}

#[test]
fn all_flags_together_are_type_3f() {
    let last = SymbolHeader {
        block_length: Some(350),
        fin: true,
        payload_len: 50,
        with_length: true,
        ..header()
    };
    let mut out = Vec::new();
    last.encode(&mut out);
    assert_eq!(out, [0x3f, 2, 5, 0x57, 0x70, 3, 4, 50, 50]);
    let symbol = parse(&last).expect("a valid symbol");
    assert_eq!((symbol.source_symbols(), symbol.fin), (Some(4), true));
}

/// Type, stream, SBN, offset and ESI as given, what follows them, and a payload.
fn raw(ty: u8, esi: u8, rest: &[u8], payload: usize) -> Result<Symbol, TransportError> {
    let mut out = vec![ty, 2, 5, 0x57, 0x70, esi];
    out.extend_from_slice(rest);
    out.resize(out.len() + payload, 0xab);
    parse_frame(out)
}

#[test]
fn the_size_of_symbols_follows_from_the_payload() {
    let size = |symbol: Result<Symbol, _>| symbol.map(|s| (s.symbol_size, s.block_length)).ok();
    assert_eq!(size(raw(0x38, 3, &[], 100)), Some((100, None)));
    assert_eq!(size(raw(0x38, 3, &[], 9000)), Some((9000, None)));
    assert_eq!(size(raw(0x38, 3, &[], 9001)), None, "T is 9000 at most");
    assert_eq!(size(raw(0x38, 3, &[], 0)), None);
    assert_eq!(size(raw(0x39, 3, &[0], 0)), None);
    // K = 4 and a last symbol of T - 50 bytes.
    let end = &[4, 50];
    assert_eq!(size(raw(0x3a, 2, end, 100)), Some((100, Some(350))));
    assert_eq!(size(raw(0x3a, 3, end, 50)), Some((100, Some(350))), "last");
    assert_eq!(
        size(raw(0x3a, 4, end, 100)),
        Some((100, Some(350))),
        "repair"
    );
    assert_eq!(size(raw(0x3a, 3, end, 8950)), Some((9000, Some(35_950))));
    assert_eq!(size(raw(0x3a, 3, end, 8951)), None);
    assert_eq!(size(raw(0x3a, 3, end, 0)), None, "a last symbol of no byte");
    assert_eq!(size(raw(0x3a, 2, end, 51)), Some((51, Some(154))));
    assert_eq!(size(raw(0x3a, 2, end, 50)), None, "as long as it is short");
    assert_eq!(size(raw(0x3a, 0, &[0, 0], 100)), None, "K is 1 at least");
    assert_eq!(
        size(raw(0x3a, 0, &[0x44, 0x01, 0], 9)),
        None,
        "1024 at most"
    );
    let longest = Some((9, Some(9 * 1024)));
    assert_eq!(size(raw(0x3a, 0, &[0x44, 0x00, 0], 9)), longest);
    // 2^62 - 1 bytes behind a last symbol.
    let endless = [1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(size(raw(0x3a, 0, &endless, 1)), None);
}

#[test]
fn numbers_out_of_range_are_refused() {
    let closed = SymbolHeader {
        block_length: Some(400),
        ..header()
    };
    let symbol = |esi, offset, header| SymbolHeader {
        esi,
        offset,
        ..header
    };
    assert!(parse(&symbol((1 << 24) - 1, 0, closed)).is_ok());
    assert!(is_refused(&symbol(1 << 24, 0, closed)));
    for header in [closed, header()] {
        assert!(parse(&symbol(3, varint::MAX - 400, header)).is_ok());
        assert!(is_refused(&symbol(3, varint::MAX - 399, header)));
    }
}

#[test]
fn repair_and_fin_need_the_length_of_the_block() {
    assert!(
        parse(&SymbolHeader {
            esi: 1023,
            ..header()
        })
        .is_ok()
    );
    assert!(is_refused(&SymbolHeader {
        esi: 1024,
        ..header()
    }));
    let mut out = Vec::new();
    header().encode(&mut out);
    out[0] |= FIN;
    out.resize(out.len() + 100, 0);
    let error = Frames::new(Bytes::from(out))
        .next()
        .and_then(Result::err)
        .expect("FIN without CLOSED");
    assert_eq!(
        (error.code, error.frame),
        (TransportError::FRAME_ENCODING_ERROR, 0x3c)
    );
}

#[test]
fn only_repair_symbols_are_of_a_code() {
    let repair = SymbolHeader {
        esi: 7,
        block_length: Some(700),
        code: SymbolCode::Linear,
        ..header()
    };
    assert_eq!(parse(&repair).unwrap().code, SymbolCode::Linear);
    for source in [
        SymbolHeader { esi: 6, ..repair },
        SymbolHeader {
            block_length: None,
            ..repair
        },
    ] {
        assert_eq!(parse(&source).unwrap_err().code, 0x07);
    }
}

/// A combination of a batch of seven symbols.
fn combination() -> SymbolHeader {
    SymbolHeader {
        esi: 7,
        block_length: Some(700),
        code: SymbolCode::Batch,
        payload_len: 107,
        ..header()
    }
}

#[test]
fn a_combination_has_a_coefficient_for_each_symbol_of_its_batch() {
    let mut out = Vec::new();
    combination().encode(&mut out);
    assert_eq!(out[0], 0xba);
    let symbol = parse(&combination()).expect("a valid symbol");
    assert_eq!(symbol.code, SymbolCode::Batch);
    assert_eq!(symbol.coefficients(), Some(&[0xab; 7][..]));
    for wrong in [
        SymbolHeader {
            payload_len: 7,
            ..combination()
        },
        SymbolHeader {
            payload_len: 9008,
            ..combination()
        },
        SymbolHeader {
            esi: 6,
            ..combination()
        },
        SymbolHeader {
            block_length: None,
            ..combination()
        },
        SymbolHeader {
            esi: 40,
            block_length: Some(3300),
            payload_len: 133,
            ..combination()
        },
    ] {
        assert!(is_refused(&wrong), "{wrong:?}");
    }
    let largest = SymbolHeader {
        esi: 40,
        block_length: Some(3200),
        payload_len: 132,
        ..combination()
    };
    assert!(parse(&largest).is_ok());
}

#[test]
fn a_combination_of_nothing_is_refused() {
    let mut out = Vec::new();
    combination().encode(&mut out);
    out.resize(out.len() + 7, 0);
    out.resize(out.len() + 100, 0xab);
    let result = Frames::new(Bytes::from(out)).next();
    assert!(result.is_some_and(|frame| frame.is_err()));
}
