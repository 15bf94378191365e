//! When a flow sends, and packets of which sizes.

use std::time::Duration;

use super::HEADER_SIZE;
use crate::Rng;

/// When a flow sends, and packets of which sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Since the start of the run.
    pub start: Duration,
    /// Since the start of the run; it goes on to the end if absent.
    pub stop: Option<Duration>,
    /// Bytes of its packets on the link.
    pub sizes: PacketSizes,
    /// Bytes of each packet on the link besides the UDP payload.
    pub overhead: u32,
}

impl Pattern {
    /// UDP payload bytes of the next packet.
    pub(super) fn draw(&self, rng: &mut Rng) -> u16 {
        let size = self.sizes.draw(rng);
        u16::try_from(u32::from(size).saturating_sub(self.overhead))
            .unwrap_or(u16::MAX)
            .max(HEADER_SIZE as u16)
    }
}

/// Sizes of packets on the link, headers included, and how likely each is.
#[derive(Debug, Clone, PartialEq)]
pub struct PacketSizes {
    /// Bytes and share; the shares add up to 1. At least one.
    mix: Vec<(u16, f64)>,
}

impl PacketSizes {
    /// All the same.
    #[must_use]
    pub fn fixed(bytes: u16) -> Self {
        Self {
            mix: vec![(bytes, 1.0)],
        }
    }

    /// Sizes with weights, which need not add up to 1. `None` without any, or with weights
    /// that are negative, not finite, or all zero.
    #[must_use]
    pub fn mixed(mut mix: Vec<(u16, f64)>) -> Option<Self> {
        let sum: f64 = mix.iter().map(|(_, weight)| weight).sum();
        let is_valid = mix
            .iter()
            .all(|(_, weight)| weight.is_finite() && *weight >= 0.0);
        if !is_valid || !sum.is_finite() || sum <= 0.0 {
            return None;
        }
        for (_, weight) in &mut mix {
            *weight /= sum;
        }
        Some(Self { mix })
    }

    /// The size at a point of the unit interval: with points equally likely, sizes are as
    /// likely as they should be.
    #[must_use]
    pub fn at(&self, mut point: f64) -> u16 {
        for (bytes, share) in &self.mix {
            if point < *share {
                return *bytes;
            }
            point -= share;
        }
        self.largest()
    }

    /// The size of the next packet.
    pub fn draw(&self, rng: &mut Rng) -> u16 {
        match self.mix[..] {
            [(bytes, _)] => bytes,
            _ => self.at(rng.unit()),
        }
    }

    /// The largest one.
    #[must_use]
    pub fn largest(&self) -> u16 {
        self.mix.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0)
    }

    /// On average, in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mix
            .iter()
            .map(|(bytes, share)| f64::from(*bytes) * share)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_has_its_sizes_as_often_as_it_says() {
        let mix = vec![
            (44, 49.0),
            (576, 1.2),
            (628, 2.1),
            (1300, 1.7),
            (1500, 46.0),
        ];
        let sizes = PacketSizes::mixed(mix).expect("positive weights");
        let mut points = (0..1000).map(|step| f64::from(step) / 1000.0);
        assert_eq!(points.clone().filter(|at| sizes.at(*at) == 44).count(), 490);
        assert_eq!(
            points.clone().filter(|at| sizes.at(*at) == 1500).count(),
            460
        );
        assert!(points.all(|at| [44, 576, 628, 1300, 1500].contains(&sizes.at(at))));
        assert_eq!((sizes.at(1.0), sizes.largest()), (1500, 1500));
        assert!((sizes.mean() - 753.8).abs() < 0.1, "{}", sizes.mean());
    }

    #[test]
    fn weights_that_make_no_sense_are_no_mix() {
        for mix in [
            vec![],
            vec![(40, 0.0)],
            vec![(40, -1.0), (50, 2.0)],
            vec![(40, f64::NAN)],
        ] {
            assert_eq!(PacketSizes::mixed(mix), None);
        }
    }
}
