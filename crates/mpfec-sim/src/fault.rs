//! What a link does to packets besides losing and delaying them.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::Rng;

/// How often a link reorders, duplicates and corrupts. Nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Faults {
    /// Share of packets held back by `reorder_delay` while later ones pass, 0..=1.
    pub reorder: f64,
    /// How long a reordered packet is held back.
    pub reorder_delay: Duration,
    /// Share of packets that arrive twice, 0..=1.
    pub duplicate: f64,
    /// Share of packets of which one bit is flipped, 0..=1.
    pub corrupt: f64,
}

/// The generators of a link's faults, one for each kind.
#[derive(Debug, Clone)]
pub(crate) struct FaultDraws {
    reorder: Rng,
    duplicate: Rng,
    corrupt: Rng,
}

/// What happens to one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) is_reordered: bool,
    pub(crate) is_duplicated: bool,
    pub(crate) is_corrupted: bool,
}

impl FaultDraws {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self {
            reorder: rng.fork(),
            duplicate: rng.fork(),
            corrupt: rng.fork(),
        }
    }

    pub(crate) fn draw(&mut self, faults: &Faults) -> Fate {
        Fate {
            is_reordered: self.reorder.chance(faults.reorder),
            is_duplicated: self.duplicate.chance(faults.duplicate),
            is_corrupted: self.corrupt.chance(faults.corrupt),
        }
    }

    /// `payload` with one bit flipped, anywhere. An empty one stays as it is.
    pub(crate) fn corrupt(&mut self, payload: &Bytes) -> Bytes {
        let Some(last_bit) = (payload.len() as u64 * 8).checked_sub(1) else {
            return payload.clone();
        };
        let bit = self.corrupt.up_to(last_bit);
        let mut bytes = BytesMut::from(&payload[..]);
        bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        bytes.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corruption_flips_exactly_one_bit() {
        let mut draws = FaultDraws::new(&mut Rng::new(4));
        let payload = Bytes::from(vec![0u8; 100]);
        for _ in 0..200 {
            let ones: u32 = draws
                .corrupt(&payload)
                .iter()
                .map(|byte| byte.count_ones())
                .sum();
            assert_eq!(ones, 1);
        }
        assert_eq!(draws.corrupt(&Bytes::new()), Bytes::new());
    }
}
