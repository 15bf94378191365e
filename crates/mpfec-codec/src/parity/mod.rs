//! XOR parity: one repair symbol for a group, with which one lost symbol comes back.
//!
//! The code of dFEC (a parity packet after every `ratio` data packets). The group is a
//! block of K source symbols, the parity is symbol K, and there are no others. The
//! encoder and decoder are separate types, not a [`CodecKind`](crate::CodecKind): who
//! sends with one of those asks for repair symbols without end.
//!
//! ```
//! use bytes::Bytes;
//! use mpfec_codec::{BlockDecoder, BlockEncoder, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};
//! use mpfec_codec::parity::{ParityDecoder, ParityEncoder};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let size = SymbolSize::try_from(5)?;
//! let mut encoder = ParityEncoder::new(size);
//! for symbol in ["three", "sourc", "e"] {
//!     encoder.push_source(Bytes::from(symbol))?;
//! }
//! encoder.close();
//! let mut parity = Vec::new();
//! encoder.encode(EncodingSymbolId::try_from(3)?, &mut parity)?;
//!
//! let mut decoder = ParityDecoder::new(SourceSymbols::try_from(3)?, size);
//! decoder.push(EncodingSymbolId::try_from(0)?, Bytes::from("three"))?;
//! decoder.push(EncodingSymbolId::try_from(3)?, parity.into())?;
//! let progress = decoder.push(EncodingSymbolId::try_from(2)?, Bytes::from("e"))?;
//! assert_eq!(progress, Progress::Complete);
//! assert_eq!(decoder.poll_recovered(), Some((1, Bytes::from("sourc"))));
//! # Ok(())
//! # }
//! ```

mod decoder;
mod encoder;

pub use self::decoder::ParityDecoder;
pub use self::encoder::ParityEncoder;

use crate::gf256;

/// Appends the sum of symbols of `size` bytes, or fewer, to `out`.
fn append_sum<'a>(out: &mut Vec<u8>, size: usize, mut symbols: impl Iterator<Item = &'a [u8]>) {
    let start = out.len();
    out.reserve(size);
    if let Some(first) = symbols.next() {
        out.extend_from_slice(first);
    }
    out.resize(start + size, 0);
    let sum = &mut out[start..];
    let mut together: [&[u8]; AT_ONCE] = [&[]; AT_ONCE];
    let mut count = 0;
    for symbol in symbols {
        if symbol.len() < sum.len() {
            gf256::add(&mut sum[..symbol.len()], symbol);
            continue;
        }
        together[count] = symbol;
        count += 1;
        if count == AT_ONCE {
            gf256::add_all(sum, &together);
            count = 0;
        }
    }
    gf256::add_all(sum, &together[..count]);
}

/// Symbols added in one pass.
const AT_ONCE: usize = 32;
