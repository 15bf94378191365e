//! Where randomness comes from: handed in, so that a simulation repeats from its seed.

use ring::rand::{SecureRandom, SystemRandom};

/// A source of random bytes for connection IDs, path challenges and skipped packet
/// numbers.
#[derive(Debug, Clone)]
pub struct Rng(Source);

#[derive(Debug, Clone)]
enum Source {
    System(SystemRandom),
    Seeded(u64),
}

impl Rng {
    /// Unpredictable: what every connection over a real network must use.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System(SystemRandom::new()))
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
            Source::System(system) => {
                system
                    .fill(out)
                    .expect("the operating system provides randomness");
            }
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
            Source::System(system) => Self(Source::System(system.clone())),
            Source::Seeded(state) => Self(Source::Seeded(split_mix(state))),
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): short, and good enough for a simulation.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
