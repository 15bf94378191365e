//! The randomness of a simulation: short, fast, and a function of its seed alone.

/// A seeded pseudo-random generator (SplitMix64; Steele, Lea, Flood 2014).
///
/// Each link draws loss, jitter and every other fault from a generator of its own, so
/// that turning one knob does not change what the others do.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator that repeats from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of the thing called `name` in a simulation with `seed`: adding
    /// another thing does not disturb it.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a tells names apart; a SplitMix64 step spreads what it tells.
        let mut hash = FNV_OFFSET;
        for &byte in name.as_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
        let mut rng = Self(seed);
        Self(rng.next_u64() ^ hash).fork()
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        // 53 bits are what a double holds exactly.
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`: never for 0 and below, always for 1 and above. Draws
    /// exactly one number, so what is true at a small `p` is true at a larger one too.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A number in `0..=max`, each equally likely (up to one part in 2^64).
    pub fn up_to(&mut self, max: u64) -> u64 {
        let range = u128::from(max) + 1;
        ((u128::from(self.next_u64()) * range) >> 64) as u64
    }

    /// An independent generator, seeded from this one.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next_u64())
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_names_differ() {
        let draw = |mut rng: Rng| [rng.next_u64(), rng.next_u64()];
        assert_eq!(draw(Rng::named(7, "wifi")), draw(Rng::named(7, "wifi")));
        assert_ne!(draw(Rng::named(7, "wifi")), draw(Rng::named(7, "lte")));
        assert_ne!(draw(Rng::named(7, "wifi")), draw(Rng::named(8, "wifi")));
    }

    #[test]
    fn chances_at_the_ends_are_certain() {
        let mut rng = Rng::new(1);
        assert!((0..1000).all(|_| !rng.chance(0.0) && rng.chance(1.0) && !rng.chance(f64::NAN)));
    }

    #[test]
    fn numbers_up_to_a_bound_reach_both_ends_evenly() {
        let mut rng = Rng::new(3);
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[rng.up_to(4) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&count| (9_500..10_500).contains(&count)),
            "{counts:?}"
        );
        assert_eq!(rng.up_to(0), 0);
        let _ = rng.up_to(u64::MAX);
    }
}
