//! Any symbols, in any order, at a decoder: no panic, consistent answers, and where
//! only true symbols were pushed, the true block.

#![no_main]

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mpfec_codec::{BlockEncoder, CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

#[derive(Debug, Arbitrary)]
struct Input {
    uncoded: bool,
    source_symbols: u8,
    bytes: u8,
    pushes: Vec<Push>,
}

#[derive(Debug, Arbitrary)]
enum Push {
    /// A symbol as the sender makes it, near the beginning of its symbols.
    True { esi: u8 },
    /// A symbol as the sender makes it, anywhere.
    TrueFar { esi: u32 },
    /// Anything.
    Forged { esi: u32, length: u8, byte: u8 },
}

fuzz_target!(|input: Input| {
    let kind = if input.uncoded {
        CodecKind::Uncoded
    } else {
        CodecKind::RaptorQ
    };
    // Small numbers reach every state of the decoder; large ones only take time.
    let k = u32::from(input.source_symbols % 40) + 1;
    let bytes = u32::from(input.bytes % 16) + 1;
    let size = SymbolSize::new(bytes).expect("1 to 16 bytes");
    let source_symbols = SourceSymbols::new(k).expect("1 to 40 symbols");

    let source: Vec<Bytes> = (0..k)
        .map(|position| {
            (0..bytes)
                .map(|at| (position * 37 + at * 11 + 1) as u8)
                .collect()
        })
        .collect();
    let mut encoder = kind.encoder(size);
    for symbol in &source {
        encoder
            .push_source(symbol.clone())
            .expect("symbols of a valid block");
    }
    encoder.close();

    let mut decoder = kind.decoder(source_symbols, size);
    let mut only_true = true;
    let mut is_complete = false;
    for push in &input.pushes {
        let (esi, symbol, is_true) = symbol(push, encoder.as_mut());
        let before = decoder.missing();
        let result = decoder.push(esi, symbol);
        let after = decoder.missing();
        match result {
            Ok(Progress::Complete) => {
                assert!(!is_complete, "completion is said once");
                is_complete = true;
            }
            Ok(Progress::Useful { missing }) => assert!(!is_complete && missing == after),
            Ok(Progress::Redundant) | Err(_) => assert_eq!(before, after, "nothing changed"),
        }
        only_true &= is_true || result.is_err();
        assert_eq!(after == 0, is_complete);
    }

    let mut next = 0;
    while let Some((position, symbol)) = decoder.poll_recovered() {
        assert!(is_complete && position >= next && position < k && symbol.len() == bytes as usize);
        assert!(
            !only_true || symbol == source[position as usize],
            "symbol {position} came out wrong"
        );
        next = position + 1;
    }
});

/// The symbol to push, and whether it is what the sender would send.
fn symbol(push: &Push, encoder: &mut dyn BlockEncoder) -> (EncodingSymbolId, Bytes, bool) {
    let (esi, forged) = match *push {
        Push::True { esi } => (u32::from(esi), None),
        Push::TrueFar { esi } => (esi, None),
        Push::Forged { esi, length, byte } => (esi, Some(vec![byte; usize::from(length)])),
    };
    let esi = EncodingSymbolId::new(esi & EncodingSymbolId::MAX.value()).expect("24 bits");
    if let Some(forged) = forged {
        return (esi, forged.into(), false);
    }
    let mut symbol = Vec::new();
    match encoder.encode(esi, &mut symbol) {
        Ok(()) => (esi, symbol.into(), true),
        // An uncoded block has no such symbol.
        Err(_) => (esi, Bytes::new(), false),
    }
}
