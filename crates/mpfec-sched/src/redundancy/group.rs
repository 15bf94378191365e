//! Groups of MPTCP-PNC: how large they are and how many redundant packets follow them
//! (PNC §IV-C).

use super::RedundancyPolicy;
use crate::view::{BlockView, PathView};

/// Packets of a group: as many as let all paths finish it at once (`N`, PNC Eq. 9), from 2 to
/// 20. With equal round-trip times the formula gives 0. While nothing is known of any path, they
/// are 10, which is what the paper has seen most.
#[must_use]
pub fn group_size(paths: &[PathView]) -> u32 {
    let usable = || paths.iter().filter(|path| !path.suspected);
    if usable().all(|path| path.bandwidth == 0) {
        return FIRST_GROUP;
    }
    let slowest = usable().map(|path| path.srtt).max().unwrap_or_default();
    let packets: f64 = usable()
        .map(|path| {
            let rate = path.bandwidth as f64 / path.symbol_bytes.max(1) as f64;
            rate * (slowest - path.srtt).as_secs_f64() / 2.0
        })
        .sum();
    (packets.ceil() as u32).clamp(LEAST_GROUP, LARGEST_GROUP)
}

/// Redundant packets of a group of which path i carried `coded` packets, loses `rate` and
/// deviates from that by `deviation` (`R`, PNC Eq. 10): at most 10, as many as the paper's matrix
/// has rows.
pub fn redundant_packets(paths: impl IntoIterator<Item = (f64, f64, f64)>) -> u32 {
    let wanted: f64 = paths
        .into_iter()
        .map(|(coded, rate, deviation)| {
            let x = (rate * (1.0 + deviation)).clamp(0.0, MOST_LOSS);
            coded * x / (1.0 - x)
        })
        .sum();
    (wanted.ceil() as u32).min(MOST_REDUNDANT)
}

/// Redundant packets behind each group, ahead of loss.
#[derive(Debug, Clone, Copy)]
pub struct GroupRedundancy {
    fixed: Option<u32>,
}

impl GroupRedundancy {
    /// As many as PNC Eq. 10 says, or always `fixed`.
    #[must_use]
    pub fn new(fixed: Option<u32>) -> Self {
        Self { fixed }
    }
}

impl RedundancyPolicy for GroupRedundancy {
    fn repair_due(&mut self, block: &BlockView, paths: &[PathView]) -> u32 {
        let wanted = self.fixed.unwrap_or_else(|| {
            redundant_packets(paths.iter().map(|path| {
                let coded = block.sources_on.get(path.slot).copied().unwrap_or(0);
                let loss = path.loss_estimate;
                (f64::from(coded), loss.rate, loss.deviation)
            }))
        });
        wanted.saturating_sub(block.repairs_sent())
    }
}

/// Packets of a group before paths are measured.
const FIRST_GROUP: u32 = 10;
/// Packets of a group at least: of one, nothing is coded.
const LEAST_GROUP: u32 = 2;
/// Packets of a group at most, as many as the paper's matrix has rows.
const LARGEST_GROUP: u32 = 20;
/// Rows of the paper's matrix of redundant packets.
const MOST_REDUNDANT: u32 = 10;
/// Loss that is reckoned with at most.
const MOST_LOSS: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_packets_on_two_lossy_paths_get_three_redundant_ones() {
        // x = (0.055, 0.3): 0.3492 + 1.7143.
        assert_eq!(redundant_packets([(6.0, 0.05, 0.1), (4.0, 0.2, 0.5)]), 3);
        assert_eq!(redundant_packets([(6.0, 0.0, 0.0), (4.0, 0.0, 0.0)]), 0);
        assert_eq!(redundant_packets([(20.0, 1.0, 1.0)]), 10, "bounded");
    }
}
