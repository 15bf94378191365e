//! A stream goes through a lossy channel in blocks: source symbols leave before their block
//! is closed and are delivered at once if in order, repair symbols are made when the
//! receiver lacks something, and decode as they arrive.
//!
//! `cargo run --release -p mpfec-codec --example streaming_blocks [BYTES [LOSS_PERCENT]]`
#![expect(clippy::print_stdout, reason = "says what it did")]

use std::collections::BTreeMap;
use std::error::Error;

use bytes::Bytes;
use mpfec_codec::{BlockDecoder, CodecKind, EncodingSymbolId, SourceSymbols, SymbolSize};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let length: usize = arguments.next().map_or(Ok(1_000_000), |it| it.parse())?;
    let loss_percent = arguments.next().map_or(Ok(10), |it| it.parse())?;
    let stream: Bytes = (0..length).map(|at| (at * 7 + at / 256) as u8).collect();
    let (delivered, repair) = transmit(stream.clone(), loss_percent)?;
    println!(
        "{} of {length} bytes delivered, {repair} repair symbols",
        delivered.len()
    );
    if delivered == stream {
        Ok(())
    } else {
        Err("other bytes were delivered".into())
    }
}

/// Sends a stream block by block; returns what was delivered, and how many repair symbols
/// that took.
fn transmit(mut stream: Bytes, loss_percent: u64) -> Result<(Vec<u8>, u32), Box<dyn Error>> {
    let mut channel = Channel {
        loss_percent: loss_percent.min(99),
        state: 1,
    };
    let (mut delivered, mut repair) = (Vec::new(), 0);
    while !stream.is_empty() {
        let mut encoder = CodecKind::RaptorQ.encoder(SymbolSize::try_from(T as u32)?);
        let mut receiver = Receiver::default();
        let mut bytes = 0;
        while !stream.is_empty() && encoder.source_symbols() < MAX_K {
            // Encoder and receiver share the application's memory.
            let symbol = stream.split_to(T.min(stream.len()));
            bytes += symbol.len();
            let esi = EncodingSymbolId::try_from(encoder.source_symbols())?;
            encoder.push_source(symbol.clone())?;
            if channel.delivers() {
                receiver.handle(esi, symbol, None)?;
                receiver.deliver(&mut delivered);
            }
        }
        encoder.close();
        for esi in encoder.source_symbols().. {
            if receiver.has_all(bytes) {
                break;
            }
            let mut symbol = Vec::with_capacity(T);
            let esi = EncodingSymbolId::try_from(esi)?;
            encoder.encode(esi, &mut symbol)?;
            repair += 1;
            if channel.delivers() {
                receiver.handle(esi, symbol.into(), Some(bytes))?;
                receiver.deliver(&mut delivered);
            }
        }
    }
    Ok((delivered, repair))
}

/// The receiver of one block.
#[derive(Default)]
struct Receiver {
    /// Once K is known.
    decoder: Option<Box<dyn BlockDecoder>>,
    /// What came before.
    early: Vec<(EncodingSymbolId, Bytes)>,
    /// Source symbols that were not delivered.
    waiting: BTreeMap<u32, Bytes>,
    /// How many were.
    next: u32,
    delivered: usize,
}

impl Receiver {
    /// Takes a symbol. Repair symbols say how many bytes the closed block has.
    fn handle(
        &mut self,
        esi: EncodingSymbolId,
        symbol: Bytes,
        bytes: Option<usize>,
    ) -> Result<(), Box<dyn Error>> {
        let Some(bytes) = bytes else {
            self.waiting.insert(esi.value(), symbol.clone());
            self.early.push((esi, symbol));
            return Ok(());
        };
        let mut decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => {
                let k = SourceSymbols::try_from(bytes.div_ceil(T) as u32)?;
                CodecKind::RaptorQ.decoder(k, SymbolSize::try_from(T as u32)?)
            }
        };
        for (esi, symbol) in self.early.drain(..) {
            decoder.push(esi, symbol)?;
        }
        decoder.push(esi, symbol)?;
        while let Some((position, symbol)) = decoder.poll_recovered() {
            // Of T bytes: the last may have been shorter.
            let end = T.min(bytes - position as usize * T);
            self.waiting.insert(position, symbol.slice(..end));
        }
        self.decoder = Some(decoder);
        Ok(())
    }

    /// Moves what is in order to the application.
    fn deliver(&mut self, to: &mut Vec<u8>) {
        while let Some(symbol) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.delivered += symbol.len();
            to.extend_from_slice(&symbol);
        }
    }

    /// What it tells the sender, which stops then.
    fn has_all(&self, bytes: usize) -> bool {
        self.delivered == bytes
    }
}

/// Loses symbols as if by chance.
struct Channel {
    loss_percent: u64,
    state: u64,
}

impl Channel {
    fn delivers(&mut self) -> bool {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.state >> 33) % 100 >= self.loss_percent
    }
}

/// T: bytes of a symbol.
const T: usize = 1280;
/// Symbols of a block. The fewer, the sooner a loss is repaired.
const MAX_K: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_comes_through() {
        for (length, loss_percent) in [(0, 0), (1, 50), (64 * T, 0), (64 * T * 3 + 5, 30)] {
            let stream: Bytes = (0..length).map(|at| (at * 7 + at / 256) as u8).collect();
            let (delivered, repair) = transmit(stream.clone(), loss_percent).unwrap();
            assert!(delivered == stream, "{length} bytes, {loss_percent} % lost");
            assert!(loss_percent > 0 || repair == 0, "nothing was lost");
        }
    }
}
