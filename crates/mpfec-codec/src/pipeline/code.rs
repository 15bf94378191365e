//! The matrices of a connection.

use std::fmt;
use std::sync::Arc;

use crate::{SymbolSize, gf256};

/// The coefficients that a seed stands for. Clones share them.
#[derive(Clone)]
pub struct PipelineCode(Arc<Matrices>);

struct Matrices {
    seed: u64,
    /// L.
    lower: [Row; MAX_GROUP],
    /// Its inverse.
    inverse: [Row; MAX_GROUP],
}

/// Bytes of packet `m` of a group; `None` if it has none.
fn length_of(packets: &[u8], size: SymbolSize, m: usize) -> Option<usize> {
    let rest = packets.len().checked_sub(m * size.bytes())?;
    (rest > 0 && m < MAX_GROUP).then_some(rest.min(size.bytes()))
}

/// Coefficients of the packets, or coded packets, of a group.
pub(super) type Row = [u8; MAX_GROUP];

impl PipelineCode {
    /// The code of `seed`. The coefficients are the bytes of SplitMix64 that are not 0, row
    /// by row.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut lower = [[0; MAX_GROUP]; MAX_GROUP];
        let mut random = Nonzero::new(seed);
        for (m, row) in lower.iter_mut().enumerate() {
            row[..m].fill_with(|| random.next());
            row[m] = 1;
        }
        Self(Arc::new(Matrices {
            seed,
            lower,
            inverse: invert(&lower),
        }))
    }

    /// Appends coded packet `m` (from 0) of a group whose packets lie one behind the other in
    /// `packets`, of `size` bytes each but the last: as many bytes as packet `m` has. Nothing
    /// if there is no such packet.
    pub fn code(&self, packets: &[u8], size: SymbolSize, m: usize, out: &mut Vec<u8>) {
        let Some(length) = length_of(packets, size, m) else {
            return;
        };
        let row = &self.0.lower[m];
        out.reserve(length);
        let sources = packets.chunks(size.bytes()).take(m + 1);
        let sources = sources.map(|packet| &packet[..length]).enumerate();
        gf256::append_dot(out, 1, length, row, MAX_GROUP, sources);
    }

    /// Turns coded packets `decoded` and later into packets where they lie, as many as there
    /// are in `packets`; those before are packets already. Laid out as for
    /// [`code`](Self::code).
    pub fn decode(&self, packets: &mut [u8], size: SymbolSize, decoded: usize) {
        let bytes = size.bytes();
        for m in decoded..MAX_GROUP {
            let Some(length) = length_of(packets, size, m) else {
                return;
            };
            let (before, packet) = packets.split_at_mut(m * bytes);
            let mut sources: [&[u8]; MAX_GROUP] = [&[]; MAX_GROUP];
            for (place, source) in sources.iter_mut().zip(before.chunks(bytes)) {
                *place = &source[..length];
            }
            let coefficients = &self.0.lower[m][..m];
            gf256::dot(&mut [&mut packet[..length]], coefficients, &sources[..m]);
        }
    }

    /// Rows of L, all of its columns one behind the other, from `first` on. Of a smaller
    /// group, the first rows and columns count.
    pub(super) fn lower(&self, first: usize) -> &[u8] {
        self.0.lower[first..].as_flattened()
    }

    /// The same of its inverse.
    pub(super) fn inverse(&self, first: usize) -> &[u8] {
        self.0.inverse[first..].as_flattened()
    }

    /// Coefficients of the coded packets of a group in redundant packet `index`, below
    /// [`MAX_REDUNDANT`].
    pub(super) fn cauchy(index: u32) -> Row {
        std::array::from_fn(|column| {
            let sum = (index as usize + MAX_GROUP) ^ column;
            gf256::inverse(sum as u8).expect("a redundant packet is not a coded one")
        })
    }

    /// Coefficients of the packets of a group of `size` in redundant packet `index`, below
    /// [`MAX_REDUNDANT`]: a row of RPCM.
    pub(super) fn redundant(&self, index: u32, size: usize) -> Row {
        let mut row = [0; MAX_GROUP];
        let cauchy = Self::cauchy(index);
        gf256::dot(&mut [&mut row], &cauchy[..size], &self.0.lower[..size]);
        row
    }
}

impl fmt::Debug for PipelineCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PipelineCode({:#x})", self.0.seed)
    }
}

/// The inverse of a lower triangular matrix with ones on the diagonal. That of its first
/// rows and columns is the first rows and columns of its inverse.
fn invert(lower: &[Row; MAX_GROUP]) -> [Row; MAX_GROUP] {
    let mut inverse = [[0; MAX_GROUP]; MAX_GROUP];
    for m in 0..MAX_GROUP {
        let (above, row) = inverse.split_at_mut(m);
        row[0][m] = 1;
        gf256::dot(&mut row[..1], &lower[m][..m], above);
    }
    inverse
}

/// Random numbers from 1 to 255: SplitMix64, whose bytes are used from the lowest on.
struct Nonzero {
    state: u64,
    bytes: [u8; 8],
    used: usize,
}

impl Nonzero {
    fn new(seed: u64) -> Self {
        Self {
            state: seed,
            bytes: [0; 8],
            used: 8,
        }
    }

    fn next(&mut self) -> u8 {
        loop {
            if self.used == self.bytes.len() {
                self.bytes = self.word().to_le_bytes();
                self.used = 0;
            }
            self.used += 1;
            let byte = self.bytes[self.used - 1];
            if byte != 0 {
                return byte;
            }
        }
    }

    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The most packets of a group. The paper's groups have 20 at most; a transport that cuts such
/// a group into smaller packets finds room here.
pub const MAX_GROUP: usize = 32;

/// Redundant packets that exist: coded and redundant ones have different numbers of 8 bits.
/// The paper has 10.
pub(super) const MAX_REDUNDANT: u32 = 256 - MAX_GROUP as u32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_is_inverse() {
        let code = PipelineCode::new(7);
        for (m, row) in code.0.lower.iter().enumerate() {
            assert!(row[..m].iter().all(|&c| c != 0) && row[m] == 1);
            assert!(row[m + 1..].iter().all(|&c| c == 0));
            let mut product = [0; MAX_GROUP];
            gf256::dot(&mut [&mut product], row, &code.0.inverse);
            assert!((0..MAX_GROUP).all(|at| product[at] == u8::from(at == m)));
        }
    }

    /// Both ends must compute the same, today and in the next version.
    #[test]
    fn coefficients_do_not_change() {
        let code = PipelineCode::new(1);
        assert_eq!(code.0.lower[4][..5], [10, 145, 103, 236, 1]);
        assert_eq!(code.redundant(0, 4)[..4], [191, 144, 113, 81]);
    }
}
