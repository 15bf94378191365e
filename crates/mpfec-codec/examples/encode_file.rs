//! A file becomes source blocks, these become symbols in a second file, some symbols are
//! lost, and the file comes back from the rest.
//!
//! `cargo run --release -p mpfec-codec --example encode_file [FILE [LOSS_PERCENT]]`;
//! without a file, it takes its own program.
#![expect(clippy::print_stdout, reason = "says what it did")]

use std::error::Error;
use std::ops::Range;

use bytes::Bytes;
use mpfec_codec::{BlockDecoder, CodecKind, EncodingSymbolId, SourceSymbols, SymbolSize};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = match arguments.next() {
        Some(path) => path.into(),
        None => std::env::current_exe()?,
    };
    let loss_percent = arguments.next().map_or(Ok(10), |loss| loss.parse())?;
    let file = Bytes::from(std::fs::read(&path)?);

    let directory = tempfile::tempdir()?;
    let symbols = directory.path().join("symbols");
    std::fs::write(&symbols, encode(&file, loss_percent)?)?;

    let mut records = std::fs::read(&symbols)?;
    let sent = records.len() / RECORD;
    lose(&mut records, loss_percent);
    let arrived = records.len() / RECORD;
    let decoded = decode(&records.into(), file.len())?;
    println!("{} bytes, {sent} symbols, {arrived} arrived", file.len());
    if decoded.as_deref() == Some(&file[..]) {
        println!("the file is the same");
        Ok(())
    } else {
        Err("too many symbols of a block were lost".into())
    }
}

/// All symbols of a file as records: block number, ESI, T bytes.
fn encode(file: &Bytes, loss_percent: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut records = Vec::new();
    for (number, block) in (0_u32..).zip(blocks(file.len())) {
        let mut encoder = CodecKind::RaptorQ.encoder(SymbolSize::try_from(T as u32)?);
        for start in block.clone().step_by(T) {
            // Slices of one buffer: nothing is copied.
            encoder.push_source(file.slice(start..block.end.min(start + T)))?;
        }
        encoder.close();

        let k = encoder.source_symbols();
        // For as many as will be lost on average, and some more.
        let repair = k * loss_percent / (100 - loss_percent.min(90)) + k / 5 + 10;
        // Knowing the number, the encoder takes the cheaper way.
        encoder.expect_repair(repair);
        for esi in 0..k + repair {
            let end = records.len() + RECORD;
            records.extend_from_slice(&number.to_be_bytes());
            records.extend_from_slice(&esi.to_be_bytes());
            encoder.encode(EncodingSymbolId::try_from(esi)?, &mut records)?;
            // The last source symbol may be shorter; for coding that means zeros.
            records.resize(end, 0);
        }
    }
    Ok(records)
}

/// The file of `length` bytes; `None` if too little arrived.
fn decode(records: &Bytes, length: usize) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
    let mut file = vec![0; length];
    let mut decoders: Vec<Box<dyn BlockDecoder>> = Vec::new();
    for block in blocks(length) {
        let k = SourceSymbols::try_from(block.len().div_ceil(T) as u32)?;
        decoders.push(CodecKind::RaptorQ.decoder(k, SymbolSize::try_from(T as u32)?));
    }
    for start in (0..records.len()).step_by(RECORD) {
        let number = u32::from_be_bytes(records[start..start + 4].try_into()?) as usize;
        let esi = u32::from_be_bytes(records[start + 4..start + 8].try_into()?);
        let symbol = records.slice(start + 8..start + RECORD);
        let block = blocks(length).nth(number).ok_or("no such block")?;
        // Source symbols are parts of the file as they are, whether decoding works or not.
        put(&mut file[block], esi, &symbol);
        decoders[number].push(EncodingSymbolId::try_from(esi)?, symbol)?;
    }
    for (decoder, block) in decoders.iter_mut().zip(blocks(length)) {
        if decoder.missing() > 0 {
            return Ok(None);
        }
        while let Some((position, symbol)) = decoder.poll_recovered() {
            put(&mut file[block.clone()], position, &symbol);
        }
    }
    Ok(Some(file))
}

/// Copies a source symbol to its place.
fn put(block: &mut [u8], position: u32, symbol: &[u8]) {
    if let Some(place) = block.chunks_mut(T).nth(position as usize) {
        place.copy_from_slice(&symbol[..place.len()]);
    }
}

/// The bytes of each block: the layout follows from the length alone.
fn blocks(length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length)
        .step_by(MAX_K * T)
        .map(move |start| start..length.min(start + MAX_K * T))
}

/// Takes some records away, as if by chance.
fn lose(records: &mut Vec<u8>, loss_percent: u32) {
    let mut state = 1_u64;
    let kept = records.chunks(RECORD).filter(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % 100 >= u64::from(loss_percent)
    });
    *records = kept.flatten().copied().collect();
}

/// T: bytes of a symbol.
const T: usize = 1280;
/// Symbols of a block. The more, the less chance decides; the later the last of it decodes.
const MAX_K: usize = 256;
/// Bytes of a record.
const RECORD: usize = 8 + T;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_back() {
        for (length, loss_percent) in [(1, 0), (T, 30), (3 * MAX_K * T / 2 + 17, 20)] {
            let file: Bytes = (0..length).map(|at| (at * 7 + at / 256) as u8).collect();
            let mut records = encode(&file, loss_percent).unwrap();
            lose(&mut records, loss_percent);
            let decoded = decode(&records.into(), length).unwrap();
            assert!(
                decoded.as_deref() == Some(&file[..]),
                "{length} bytes, {loss_percent} % lost"
            );
        }
    }
}
