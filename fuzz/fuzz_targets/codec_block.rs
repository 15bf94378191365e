//! A true block whose symbols are lost, doubled and reordered, among symbols that are
//! corrupted, of another block, of the wrong length or beyond the last: what decodes from
//! true ones alone is the block.

#![no_main]

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mpfec_fuzz::codec::{Code, Encoder, Watched, noise, symbol_bytes};

#[derive(Debug, Arbitrary)]
struct Input {
    code: Code,
    source_symbols: u16,
    bytes: u8,
    /// Bytes that the last source symbol has less.
    short: u16,
    steps: Vec<Step>,
    /// At last all source symbols arrive.
    finishes: bool,
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// Symbols one after the other, of which those with a one in `lost` are lost.
    True { first: u16, count: u8, lost: u8 },
    /// A symbol from anywhere.
    Far { esi: u32 },
    /// One that was there, again.
    Again { nth: u8 },
    /// A bit is wrong.
    Corrupted { esi: u16, at: u16, bit: u8 },
    /// The same symbol of another block.
    Foreign { esi: u16 },
    /// Too long or too short.
    Cut { esi: u16, length: u16 },
}

fuzz_target!(|input: Input| {
    let k = input.code.source_symbols(input.source_symbols);
    let bytes = symbol_bytes(input.bytes);
    let mut source: Vec<Bytes> = (0..k).map(|position| noise(position, bytes)).collect();
    let other: Vec<Bytes> = (k..2 * k).map(|position| noise(position, bytes)).collect();
    if let Some(last) = source.last_mut() {
        *last = Bytes::copy_from_slice(&last[..bytes - usize::from(input.short) % bytes]);
    }
    let mut encoder = Encoder::new(input.code, bytes, &source);
    let mut foreign = Encoder::new(input.code, bytes, &other);
    let mut decoder = Watched::new(input.code, k, bytes);

    let mut pushed: Vec<(u32, Bytes, bool)> = Vec::new();
    for step in &input.steps {
        let start = pushed.len();
        match *step {
            Step::True { first, count, lost } => {
                for nth in 0..=u32::from(count) {
                    if lost >> (nth % 8) & 1 == 0 {
                        let esi = near(first, k) + nth;
                        pushed.extend(encoder.encode(esi).map(|symbol| (esi, symbol, true)));
                    }
                }
            }
            Step::Far { esi } => {
                let esi = esi % (1 << 24);
                let symbol = encoder.encode(esi);
                // A symbol that does not exist.
                let symbol = symbol.unwrap_or_else(|| noise(esi, bytes));
                pushed.push((esi, symbol, true));
            }
            Step::Again { nth } => {
                if let Some(again) = pushed.len().checked_sub(1 + usize::from(nth)) {
                    pushed.push(pushed[again].clone());
                }
            }
            Step::Corrupted { esi, at, bit } => {
                let esi = near(esi, k);
                if let Some(symbol) = encoder.encode(esi) {
                    let mut symbol = symbol.to_vec();
                    let at = usize::from(at) % symbol.len();
                    symbol[at] ^= 1 << (bit % 8);
                    pushed.push((esi, symbol.into(), false));
                }
            }
            Step::Foreign { esi } => {
                let esi = near(esi, k);
                pushed.extend(foreign.encode(esi).map(|symbol| (esi, symbol, false)));
            }
            Step::Cut { esi, length } => {
                let esi = near(esi, k);
                pushed.push((esi, noise(0, usize::from(length) % (2 * bytes)), false));
            }
        }
        for (esi, symbol, is_true) in &pushed[start..] {
            decoder.push(*esi, symbol.clone(), *is_true);
        }
        if pushed.len() > MOST_PUSHES {
            break;
        }
    }
    if input.finishes {
        for esi in 0..k {
            let symbol = encoder.encode(esi).expect("a source symbol");
            decoder.push(esi, symbol, true);
        }
        assert!(decoder.is_complete(), "all source symbols were there");
    }
    decoder.finish(&source);
});

/// An identifier among those that are used first.
fn near(esi: u16, k: u32) -> u32 {
    u32::from(esi) % (2 * k + 80)
}

const MOST_PUSHES: usize = 1500;
