//! Where randomness comes from: handed in, so that a simulation repeats from its seed.

use std::fmt;

use ring::rand::{SecureRandom, SystemRandom};

/// A source of random bytes for connection IDs, path challenges and skipped packet
/// numbers.
#[derive(Debug, Clone)]
pub struct Rng(Source);

#[derive(Debug, Clone)]
enum Source {
    System(Box<Reserve>),
    Seeded(u64),
}

/// Random bytes of the system's, fetched some at a time: a system call per packet would cost
/// as much as encrypting it.
struct Reserve {
    bytes: [u8; RESERVE],
    /// How many at the end of `bytes` were not handed out yet.
    left: usize,
}

impl Rng {
    /// Unpredictable: what every connection over a real network must use.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System(Box::new(Reserve::empty())))
    }

    /// Repeats from its seed and can be predicted: for simulations and tests only.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(seed))
    }

    /// Fills `out`.
    ///
    /// # Panics
    /// If the operating system has no randomness to give: nothing secure can follow.
    pub fn fill(&mut self, out: &mut [u8]) {
        match &mut self.0 {
            Source::System(reserve) => reserve.fill(out),
            Source::Seeded(state) => {
                for chunk in out.chunks_mut(8) {
                    chunk.copy_from_slice(&split_mix(state).to_le_bytes()[..chunk.len()]);
                }
            }
        }
    }

    /// `N` random bytes.
    #[must_use]
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        self.fill(&mut out);
        out
    }

    /// A random number.
    #[must_use]
    pub fn next_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// An independent source: seeded from this one if this one is seeded.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        match &mut self.0 {
            Source::System(_) => Self::system(),
            Source::Seeded(state) => Self(Source::Seeded(split_mix(state))),
        }
    }
}

impl Reserve {
    fn empty() -> Self {
        Self {
            bytes: [0; RESERVE],
            left: 0,
        }
    }

    fn fill(&mut self, out: &mut [u8]) {
        if out.len() > RESERVE / 4 {
            return from_system(out);
        }
        if self.left < out.len() {
            from_system(&mut self.bytes);
            self.left = RESERVE;
        }
        let start = RESERVE - self.left;
        let taken = &mut self.bytes[start..start + out.len()];
        out.copy_from_slice(taken);
        // What became a secret stays nowhere else.
        taken.fill(0);
        self.left -= out.len();
    }
}

impl Clone for Reserve {
    /// Without what is in reserve: no two sources hand out the same bytes.
    fn clone(&self) -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Reserve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

fn from_system(out: &mut [u8]) {
    SystemRandom::new()
        .fill(out)
        .expect("the operating system provides randomness");
}

/// Bytes fetched from the system at once.
const RESERVE: usize = 256;

/// SplitMix64 (Steele, Lea, Flood 2014): short, and good enough for a simulation.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn clones_and_forks_of_the_system_source_hand_out_different_bytes() {
        let mut first = Rng::system();
        let mut seen = BTreeSet::from([first.bytes::<16>()]);
        let mut second = first.clone();
        let mut third = first.fork();
        for _ in 0..100 {
            for rng in [&mut first, &mut second, &mut third] {
                assert!(seen.insert(rng.bytes()), "the same 16 bytes twice");
            }
        }
    }

    #[test]
    fn every_length_is_filled() {
        let mut rng = Rng::system();
        for length in 32..=2 * RESERVE {
            let mut out = vec![0; length];
            rng.fill(&mut out);
            let zeros = out.iter().filter(|byte| **byte == 0).count();
            assert!(zeros < length / 2, "{zeros} zeros of {length}");
        }
    }
}
