//! How many blocks of 100 000 need more than K symbols with RaptorQ, at 20 % loss and when
//! no source symbol arrives. Of a code of random coefficients one in 256 does, and 256
//! times fewer with each further symbol.
//!
//! `cargo run --release -p mpfec-codec --example failures`
#![expect(clippy::print_stdout, reason = "reports")]

use bytes::Bytes;
use mpfec_codec::{BlockEncoder, CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

fn main() {
    println!(
        "{:>6} {:>12} {:>8} {:>8} {:>8} of {TRIALS}",
        "K", "lost", "at +0", "+1", "+2"
    );
    for k in [10, 27, 64, 128, 256] {
        for percent in [20, 100] {
            let mut trials = Trials::new(k);
            let mut failures = [0; 3];
            for _ in 0..TRIALS {
                let further = trials.needed(percent) - k;
                failures
                    .iter_mut()
                    .take(further as usize)
                    .for_each(|count| *count += 1);
            }
            let [none, one, two] = failures;
            println!("{k:6} {percent:11}% {none:8} {one:8} {two:8}");
        }
    }
}

/// One block and its encoder; what is lost and sent instead is random.
struct Trials {
    k: u32,
    encoder: Box<dyn BlockEncoder>,
    random: u64,
    order: Vec<u32>,
}

impl Trials {
    fn new(k: u32) -> Self {
        let mut encoder = CodecKind::RaptorQ.encoder(size());
        for position in 0..k {
            let symbol = Bytes::from(vec![position as u8]);
            encoder.push_source(symbol).expect("a symbol of the block");
        }
        encoder.close();
        encoder.expect_repair(TRIALS);
        Self {
            k,
            encoder,
            random: 1,
            order: (0..k).collect(),
        }
    }

    /// Symbols that it took to decode, `percent` of the source symbols lost.
    fn needed(&mut self, percent: u32) -> u32 {
        let lost = self.k * percent / 100;
        for at in 0..lost as usize {
            let other = at + self.below(self.k - at as u32) as usize;
            self.order.swap(at, other);
        }
        let first = self.k + self.below(1 << 23);
        let k = SourceSymbols::new(self.k).expect("a valid K");
        let mut decoder = CodecKind::RaptorQ.decoder(k, size());
        let kept = self.order[lost as usize..].iter().copied();
        let mut symbol = Vec::new();
        for (pushed, esi) in (1..).zip(kept.chain(first..)) {
            let esi = EncodingSymbolId::new(esi).expect("24 bits");
            symbol.clear();
            self.encoder
                .encode(esi, &mut symbol)
                .expect("a closed block");
            let progress = decoder.push(esi, Bytes::copy_from_slice(&symbol));
            if progress == Ok(Progress::Complete) {
                return pushed;
            }
        }
        unreachable!("identifiers do not end so soon")
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % u64::from(bound)) as u32
    }
}

fn size() -> SymbolSize {
    SymbolSize::new(1).expect("a valid size")
}

const TRIALS: u32 = 100_000;
