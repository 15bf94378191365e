//! How many repair symbols a block is given, and when.
//!
//! A scheduler may decide that itself ([`RedundancyKind::Auto`]). Any other kind takes the
//! decision away from it: the scheduler sees a [`View`](crate::View) that asks for repair on
//! feedback only, and what is sent ahead of loss is what a [`RedundancyPolicy`] says.

mod adaptive_ratio;
mod delta_hat;
mod estimate;
mod fixed;
mod group;
mod kind;
mod on_loss;
mod options;
mod planned;

use std::fmt::Debug;

use crate::view::{BlockView, PathView};

pub use adaptive_ratio::AdaptiveRatio;
pub use delta_hat::DeltaHat;
pub use estimate::{BandwidthFilter, GroupLoss, LossEstimate, PathEstimates};
pub use fixed::Fixed;
pub use group::{GroupRedundancy, group_size, redundant_packets};
pub use kind::RedundancyKind;
pub use on_loss::OnLoss;
pub use options::ParseRedundancyError;
pub use planned::Planned;

/// Decides how many repair symbols a block gets ahead of loss.
pub trait RedundancyPolicy: Debug + Send {
    /// Repair symbols that `block` should be given now in addition to all that was sent of
    /// it. It is asked about closed blocks whose source symbols have all left; what is lost is
    /// made up for besides.
    fn repair_due(&mut self, block: &BlockView, paths: &[PathView]) -> u32;
}
