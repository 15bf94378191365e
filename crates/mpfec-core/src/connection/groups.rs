//! Groups of coded packets, as MPTCP-PNC and the systems it is compared with form them
//! (PNC §IV-C, D): their size, what paths lose from one to the next, and on which paths a batch
//! is coded.

use mpfec_codec::CodecKind;
use mpfec_sched::{PathEstimates, PathView, RedundancyKind, group_size};

use super::Connection;
use crate::profile::Profile;

/// What a profile says of groups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Groups {
    /// Of loss estimates, 0.7 to 0.99.
    confidence: f64,
    /// Packets of a group, if that does not follow from the paths.
    size: Option<u32>,
    /// Whether paths are coded or not.
    is_mixed: bool,
}

impl Groups {
    /// `None`: the profile knows no groups.
    pub(super) fn of(profile: &Profile) -> Option<Self> {
        let is_mixed = profile.codec == CodecKind::BatchMixed;
        match profile.redundancy {
            RedundancyKind::Group {
                milli_confidence,
                size,
                ..
            } => Some(Self {
                confidence: f64::from(milli_confidence) / 1000.0,
                size,
                is_mixed,
            }),
            _ if is_mixed => Some(Self {
                confidence: 0.95,
                size: profile.codec.max_group(),
                is_mixed,
            }),
            _ => None,
        }
    }

    /// For a path that begins.
    pub(super) fn estimates(&self) -> PathEstimates {
        PathEstimates::new(self.confidence)
    }

    /// Packets of the next group.
    fn size(&self, paths: &[PathView]) -> u32 {
        self.size.unwrap_or_else(|| group_size(paths))
    }
}

impl Connection {
    /// The views of the paths are new: groups that begin from now on follow them.
    pub(super) fn update_groups(&mut self) {
        let Some(groups) = self.groups else {
            return;
        };
        let paths = self.path_views.as_slice();
        // Always enough for a round trip of all paths.
        let windows = paths.iter().map(|path| path.cwnd).sum();
        self.streams.set_groups(groups.size(paths), windows);
        if groups.is_mixed {
            self.streams.set_coded_slots(coded_slots(paths));
        }
    }

    /// Groups may have been decoded.
    pub(super) fn on_feedback(&mut self) {
        if !self.streams.take_completed() {
            return;
        }
        for path in self.paths.iter_mut() {
            if let Some(estimates) = &mut path.estimates {
                estimates.on_group();
            }
            path.controller.on_group_decoded();
        }
    }
}

/// Paths that carry combinations where some carry source symbols, as bits of their slots
/// (NC-MPTCP). **Reading.** Neither paper says which; the path with the smallest round-trip time
/// carries data as they are, and the others what makes up for the lost and the late.
fn coded_slots(paths: &[PathView]) -> u8 {
    let usable = paths.iter().filter(|path| !path.suspected);
    let regular = usable.min_by_key(|path| path.srtt).map(|path| path.slot);
    let coded = paths.iter().map(|path| path.slot);
    coded
        .filter(|slot| Some(*slot) != regular && *slot < 8)
        .fold(0, |bits, slot| bits | 1 << slot)
}
