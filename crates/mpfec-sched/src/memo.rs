//! Remembers how many further symbols a block needs: blocks in flight look alike.

use crate::delta::{LossProcess, further};
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

/// How the paths lose symbols, by slot, in steps, so that small drift changes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossClasses {
    seen: [Option<LossProcess>; MAX_PATHS],
    classes: [LossClass; MAX_PATHS],
}

impl LossClasses {
    /// Follows the paths.
    pub(crate) fn refresh(&mut self, paths: &[PathView], loss: impl Fn(&PathView) -> LossProcess) {
        for path in paths {
            let loss = loss(path);
            let Some(seen) = self.seen.get_mut(path.slot) else {
                continue;
            };
            if *seen != Some(loss) {
                *seen = Some(loss);
                self.classes[path.slot] = LossClass::of(loss);
            }
        }
    }

    /// Whether the path of `slot` loses anything that a symbol should make up for.
    pub(crate) fn loses(&self, slot: usize) -> bool {
        self.of(slot) != LossClass::default()
    }

    fn of(&self, slot: usize) -> LossClass {
        self.classes.get(slot).copied().unwrap_or_default()
    }
}

/// A step of loss rates, and one of bursts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LossClass {
    /// 0 for no loss worth a symbol, else a step of a tenth above [`LEAST`].
    rate: u8,
    /// Half octaves above the runs of independent losses.
    burst: u8,
}

impl LossClass {
    fn of(loss: LossProcess) -> Self {
        if loss.rate < LEAST / 2.0 {
            return Self::default();
        }
        let steps = ((loss.rate / LEAST).ln() / STEP.ln()).round().max(0.0);
        let octaves = (loss.burst * (1.0 - loss.rate)).max(1.0).log2();
        Self {
            rate: (1.0 + steps).min(254.0) as u8,
            burst: (BURST_STEPS * octaves).round().min(MOST_BURST) as u8,
        }
    }

    fn process(self) -> LossProcess {
        let Some(steps) = self.rate.checked_sub(1) else {
            return LossProcess::independent(0.0);
        };
        let rate = (LEAST * STEP.powi(i32::from(steps))).min(0.95);
        if self.burst == 0 {
            return LossProcess::independent(rate);
        }
        LossProcess {
            rate,
            burst: (f64::from(self.burst) / BURST_STEPS).exp2() / (1.0 - rate),
        }
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
                *class = LossClass::default();
            }
        }
        let key = Key {
            missing,
            flights: *flights,
            classes,
            own: if flights.get(slot).is_some_and(|&count| count > 0) {
                slot
            } else {
                MAX_PATHS
            },
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
    classes: [LossClass; MAX_PATHS],
    /// The slot that is asked, if it has symbols on its way.
    own: usize,
    new: LossClass,
    target: Target,
}

impl Key {
    fn index(&self) -> usize {
        let together = |all: u128, part: u16| all << 16 | u128::from(part);
        let flights = self.flights.into_iter().fold(0, together);
        let classes = self
            .classes
            .map(|class| u16::from_le_bytes([class.rate, class.burst]));
        let classes = classes.into_iter().fold(0, together);
        let asked = [self.new.rate, self.new.burst, self.target.0, self.own as u8];
        let mut hash = flights as u64;
        for word in [
            (flights >> 64) as u64,
            classes as u64,
            (classes >> 64) as u64,
            u64::from(self.missing) << 32 | u64::from(u32::from_le_bytes(asked)),
        ] {
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        (hash >> (64 - ENTRY_BITS)) as usize
    }

    fn compute(&self) -> u32 {
        let mut others = [(0, LossProcess::independent(0.0)); MAX_PATHS];
        let mut own = 0;
        for (slot, other) in others.iter_mut().enumerate() {
            if slot == self.own {
                own = u32::from(self.flights[slot]);
            } else {
                *other = (u32::from(self.flights[slot]), self.classes[slot].process());
            }
        }
        let own = (own, self.new.process());
        further(self.missing, 0, &others, own, self.target.probability())
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Key,
    further: u32,
}

/// The smallest loss rate told from none.
const LEAST: f64 = 0.0005;
const STEP: f64 = 1.1;

/// Steps of bursts to an octave, and the most of them: 32 times the runs of independent losses.
const BURST_STEPS: f64 = 2.0;
const MOST_BURST: f64 = 10.0;

const ENTRY_BITS: u32 = 11;
const ENTRIES: usize = 1 << ENTRY_BITS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_rate_comes_back_within_a_twentieth() {
        for loss in [0.0005, 0.001, 0.01, 0.02, 0.05, 0.2, 0.5, 0.9] {
            let back = LossClass::of(LossProcess::independent(loss)).process().rate;
            assert!((back / loss - 1.0).abs() < 0.051, "{loss} {back}");
        }
        let none = LossClass::of(LossProcess::independent(0.0));
        assert_eq!(none.process().rate, 0.0);
    }

    #[test]
    fn the_length_of_bursts_comes_back_within_a_fifth() {
        for burst in [1.0, 1.3, 2.0, 3.3, 7.0, 20.0, 32.0] {
            let process = LossProcess { rate: 0.1, burst };
            // Less than what single losses have is taken for that.
            let back = LossClass::of(process).process().burst.max(1.0 / 0.9);
            assert!((back / burst - 1.0).abs() < 0.2, "{burst} {back}");
        }
        for rate in [0.02, 0.2, 0.5] {
            let burst = 1.0 / (1.0 - rate);
            let class = LossClass::of(LossProcess { rate, burst });
            assert_eq!(class, LossClass::of(LossProcess::independent(rate)));
        }
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
        let mut losses = LossClasses::default();
        for (slot, rate, burst) in [(0, 0.02, 1.0), (1, 0.001, 6.0)] {
            losses.classes[slot] = LossClass::of(LossProcess { rate, burst });
        }
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
