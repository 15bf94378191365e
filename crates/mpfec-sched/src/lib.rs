//! Which symbol goes on which path now, and how much repair.
//!
//! A [`Scheduler`] is asked by a path that may send ("pull") and answers with symbols of one
//! block. All it knows is a [`View`]: plain values that the connection keeps up to date. It
//! owns no clock, no socket and no randomness.
//!
//! - [`EarliestArrival`] is the default: symbols go where they arrive when they are needed,
//!   repair follows feedback, and slots that would stay idle protect against loss.
//! - [`Fmtcp`] is Algorithm 1 of the FMTCP paper over expected arrival times.
//! - [`Quality`] is Algorithm 4 of the MPTCP-PNC paper: data in order to the path of best quality.
//! - [`LowestRtt`] is what multipath TCP does by default, as a reference; [`RtxSame`] is that
//!   with subflows that send again themselves what they lost, [`Opportunistic`] in addition
//!   with what it does against slow paths, and [`Single`] uses one path only.
//!
//! How much repair is sent is the scheduler's choice, or that of a [`RedundancyPolicy`] around
//! it ([`RedundancyKind`]).
//!
//! ```
//! use std::time::{Duration, Instant};
//! use mpfec_sched::{BlockView, LossEstimate, PathId, PathView, SchedulerKind, SymbolKind, View};
//!
//! let now = Instant::now();
//! let path = |id: u32, one_way: u64, loss: f64| {
//!     let one_way = Duration::from_millis(one_way);
//!     PathView {
//!         id: PathId(id),
//!         slot: id as usize,
//!         srtt: 2 * one_way,
//!         rttvar: one_way / 10,
//!         rto: 4 * one_way,
//!         one_way,
//!         loss,
//!         loss_long: loss,
//!         loss_burst: 1.0,
//!         punctual: 0,
//!         cwnd: 120_000,
//!         in_flight: 0,
//!         symbol_bytes: 1200,
//!         pacing_rate: 1_000_000,
//!         lasting_rate: 1_000_000,
//!         next_send: now,
//!         since_oldest: Duration::ZERO,
//!         suspected: false,
//!         backup: false,
//!         bandwidth: 1_000_000,
//!         loss_estimate: LossEstimate::default(),
//!     }
//! };
//! let paths = [path(0, 12, 0.03), path(1, 150, 0.0)];
//! let block = BlockView {
//!     source_symbols: 64,
//!     closed: true,
//!     unsent: 64,
//!     head: true,
//!     last: true,
//!     ..BlockView::default()
//! };
//! let view = View {
//!     now,
//!     paths: &paths,
//!     blocks: &[block],
//!     has_repair: true,
//!     may_protect: true,
//!     version: 1,
//!     writer_blocked: false,
//!     window_closed: false,
//!     window: 1000,
//! };
//! // The fast path takes source symbols of the block, up to a batch at once.
//! let mut scheduler = SchedulerKind::EarliestArrival.build();
//! let assignment = scheduler.select(0, 16, &view).expect("there is something to send");
//! assert_eq!((assignment.block, assignment.symbol), (0, SymbolKind::Source));
//! ```

mod allocate;
pub mod arrival;
pub mod delta;
mod earliest;
mod fmtcp;
mod in_order;
mod kind;
mod lowest_rtt;
mod memo;
mod offer;
mod opportunistic;
pub mod quality;
mod redundancy;
mod rtx_same;
mod scheduler;
mod single;
mod view;
mod worth;

pub use earliest::EarliestArrival;
pub use fmtcp::Fmtcp;
pub use kind::{ParseSchedulerError, SchedulerKind};
pub use lowest_rtt::LowestRtt;
pub use opportunistic::Opportunistic;
pub use quality::Quality;
pub use redundancy::{
    AdaptiveRatio, BandwidthFilter, DeltaHat, Fixed, GroupLoss, GroupRedundancy, LossEstimate,
    OnLoss, ParseRedundancyError, PathEstimates, Planned, RedundancyKind, RedundancyPolicy,
    group_size, redundant_packets,
};
pub use rtx_same::RtxSame;
pub use scheduler::{Assignment, Scheduler, SymbolKind};
pub use single::Single;
pub use view::{BlockView, MAX_PATHS, PathId, PathView, View};
