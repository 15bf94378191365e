//! Remembers how many further symbols a block needs: blocks in flight look alike.

use crate::delta::further;
use crate::view::{MAX_PATHS, PathView};

/// A failure probability to stay below, in steps of an eighth of an octave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target(u8);

impl Target {
    /// No protection: repair on feedback only.
    pub(crate) const FEEDBACK: Self = Self(0);
    /// One in a thousand.
    pub(crate) const SPARE: Self = Self(80);
    /// The paper's delta-hat, exactly 5 %.
    pub(crate) const FMTCP: Self = Self(u8::MAX);
    /// 5 % to the nearest step.
    pub(crate) const REPEATED: Self = Self(35);

    /// [`REPEATED`](Self::REPEATED) to the power of one more than `times`, thrice at most.
    pub(crate) fn repeated(times: u32) -> Self {
        let steps = u32::from(Self::REPEATED.0) * (1 + times.min(2));
        Self(steps as u8)
    }

    /// The step at or above `2^-octaves`.
    pub(crate) fn from_octaves(octaves: f64) -> Self {
        Self((octaves * 8.0).clamp(0.0, 254.0) as u8)
    }

    /// The step at or below so many thousandths of a percent; 5 % exactly.
    pub(crate) fn from_milli_percent(milli_percent: u32) -> Self {
        if milli_percent == 5_000 {
            return Self::FMTCP;
        }
        let octaves = -(f64::from(milli_percent.max(1)) / 1e5).log2();
        Self((octaves * 8.0).ceil().clamp(1.0, 254.0) as u8)
    }

    fn probability(self) -> f64 {
        if self == Self::FMTCP {
            0.05
        } else {
            (-f64::from(self.0) / 8.0).exp2()
        }
    }
}

/// Loss rates of the paths by slot, in steps of a tenth, so that small drift changes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossClasses {
    rates: [f64; MAX_PATHS],
    classes: [u8; MAX_PATHS],
}

impl LossClasses {
    /// Follows the paths' `loss` rates.
    pub(crate) fn refresh(&mut self, paths: &[PathView], loss: impl Fn(&PathView) -> f64) {
        for path in paths {
            let loss = loss(path);
            let Some(rate) = self.rates.get_mut(path.slot) else {
                continue;
            };
            if *rate != loss {
                *rate = loss;
                self.classes[path.slot] = class_of(loss);
            }
        }
    }

    fn of(&self, slot: usize) -> u8 {
        self.classes.get(slot).copied().unwrap_or(0)
    }
}

/// Answers of [`further`] by what went in.
#[derive(Debug)]
pub(crate) struct Memo {
    entries: Vec<Option<Entry>>,
}

impl Memo {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Further symbols on the path of `slot` for a block that still lacks `missing` symbols
    /// if everything `flights` has on its way is lost.
    pub(crate) fn further(
        &mut self,
        missing: u32,
        flights: &[u16; MAX_PATHS],
        losses: &LossClasses,
        slot: usize,
        target: Target,
    ) -> u32 {
        let flying: u32 = flights.iter().map(|&n| u32::from(n)).sum();
        if target == Target::FEEDBACK || missing == 0 {
            return missing.saturating_sub(flying);
        }
        let mut classes = losses.classes;
        for (class, &count) in classes.iter_mut().zip(flights) {
            if count == 0 {
                *class = 0;
            }
        }
        let key = Key {
            missing,
            flights: *flights,
            classes,
            new: losses.of(slot),
            target,
        };
        if self.entries.is_empty() {
            self.entries.resize(ENTRIES, None);
        }
        let entry = &mut self.entries[key.index()];
        if let Some(entry) = entry
            && entry.key == key
        {
            return entry.further;
        }
        let further = key.compute();
        *entry = Some(Entry { key, further });
        further
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Key {
    missing: u32,
    flights: [u16; MAX_PATHS],
    classes: [u8; MAX_PATHS],
    new: u8,
    target: Target,
}

impl Key {
    fn index(&self) -> usize {
        let flights = self
            .flights
            .iter()
            .fold(0u128, |all, &n| all << 16 | u128::from(n));
        let mut hash = flights as u64;
        for word in [
            (flights >> 64) as u64,
            u64::from_le_bytes(self.classes),
            u64::from(self.missing) << 16 | u64::from(self.new) << 8 | u64::from(self.target.0),
        ] {
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        (hash >> (64 - ENTRY_BITS)) as usize
    }

    fn compute(&self) -> u32 {
        let mut flights = [(0, 0.0); MAX_PATHS];
        for (flight, (&count, &class)) in flights
            .iter_mut()
            .zip(self.flights.iter().zip(&self.classes))
        {
            *flight = (u32::from(count), rate_of(class));
        }
        further(
            self.missing,
            0,
            &flights,
            rate_of(self.new),
            self.target.probability(),
        )
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Key,
    further: u32,
}

/// 0 for no loss worth a symbol, else a step of a tenth above [`LEAST`].
fn class_of(loss: f64) -> u8 {
    if loss < LEAST / 2.0 {
        return 0;
    }
    (1.0 + ((loss / LEAST).ln() / STEP.ln()).round().max(0.0)).min(254.0) as u8
}

fn rate_of(class: u8) -> f64 {
    match class.checked_sub(1) {
        Some(steps) => (LEAST * STEP.powi(i32::from(steps))).min(0.95),
        None => 0.0,
    }
}

/// The smallest loss rate told from none.
const LEAST: f64 = 0.0005;
const STEP: f64 = 1.1;

const ENTRY_BITS: u32 = 11;
const ENTRIES: usize = 1 << ENTRY_BITS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_rate_comes_back_within_a_twentieth() {
        for loss in [0.0005, 0.001, 0.01, 0.02, 0.05, 0.2, 0.5, 0.9] {
            let back = rate_of(class_of(loss));
            assert!((back / loss - 1.0).abs() < 0.051, "{loss} {back}");
        }
        assert_eq!(rate_of(class_of(0.0)), 0.0);
    }

    #[test]
    fn a_target_in_percent_is_met_within_a_step() {
        for milli_percent in [1, 10, 500, 1_000, 5_000, 20_000, 50_000] {
            let asked = f64::from(milli_percent) / 1e5;
            let taken = Target::from_milli_percent(milli_percent).probability();
            assert!(
                taken <= asked * 1.000_001 && taken > asked / 1.1,
                "{asked} {taken}"
            );
        }
    }

    #[test]
    fn what_is_remembered_is_what_was_computed() {
        let mut memo = Memo::new();
        let losses = LossClasses {
            rates: [0.0; 8],
            classes: [40, 10, 0, 0, 0, 0, 0, 0],
        };
        for missing in 0..200u32 {
            let mut flights = [0; MAX_PATHS];
            flights[0] = (missing / 2) as u16;
            flights[1] = (missing / 3) as u16;
            let first = memo.further(missing, &flights, &losses, 1, Target::SPARE);
            assert_eq!(
                memo.further(missing, &flights, &losses, 1, Target::SPARE),
                first
            );
            assert!(first >= memo.further(missing, &flights, &losses, 1, Target::FEEDBACK));
        }
    }
}
