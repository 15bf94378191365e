//! Any symbols, with any identifiers, at every decoder: no panic, and answers that agree
//! with one another.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use mpfec_fuzz::codec::{Code, Watched, noise, symbol_bytes};

#[derive(Debug, Arbitrary)]
struct Input {
    code: Code,
    source_symbols: u16,
    bytes: u8,
    pushes: Vec<Push>,
}

/// Symbols with identifiers at equal distances.
#[derive(Debug, Arbitrary)]
struct Push {
    first: Identifier,
    stride: u16,
    count: u8,
    /// Instead of the right length.
    length: Option<u16>,
    seed: u8,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Identifier {
    Near(u16),
    Far(u32),
}

fuzz_target!(|input: Input| {
    let k = input.code.source_symbols(input.source_symbols);
    let bytes = symbol_bytes(input.bytes);
    let mut decoder = Watched::new(input.code, k, bytes);
    let symbols = input.pushes.iter().flat_map(|push| {
        let first = match push.first {
            Identifier::Near(esi) => u32::from(esi) % (2 * k),
            Identifier::Far(esi) => esi,
        };
        (0..=u32::from(push.count)).map(move |nth| {
            let esi = first.wrapping_add(nth * u32::from(push.stride)) % (1 << 24);
            let length = push
                .length
                .map_or(input.code.symbol_length(k, bytes, esi), |length| {
                    usize::from(length) % 1000
                });
            (esi, noise(u32::from(push.seed) + nth, length))
        })
    });
    for (esi, symbol) in symbols.take(MOST_PUSHES) {
        decoder.push(esi, symbol, false);
    }
    // They are wrong, but of the right number and size.
    let source = vec![noise(0, bytes); k as usize];
    decoder.finish(&source);
});

const MOST_PUSHES: usize = 1500;
