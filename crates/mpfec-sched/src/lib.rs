//! Which symbol goes on which path now, and how much repair.
//!
//! A [`Scheduler`] is asked by a path that may send ("pull") and answers with symbols of one
//! block. All it knows is a [`View`]: plain values that the connection keeps up to date. It
//! owns no clock, no socket and no randomness.
//!
//! - [`EarliestArrival`] is the default: symbols go where they arrive when they are needed,
//!   repair follows feedback, and slots that would stay idle protect against loss.
//! - [`Fmtcp`] is Algorithm 1 of the FMTCP paper over expected arrival times.
//! - [`LowestRtt`] is what multipath TCP does by default, as a reference.

pub mod arrival;
pub mod delta;
mod earliest;
mod fmtcp;
mod kind;
mod lowest_rtt;
mod memo;
mod offer;
mod scheduler;
mod view;
mod worth;

pub use earliest::EarliestArrival;
pub use fmtcp::Fmtcp;
pub use kind::{ParseSchedulerError, SchedulerKind};
pub use lowest_rtt::LowestRtt;
pub use scheduler::{Assignment, Scheduler, SymbolKind};
pub use view::{BlockView, MAX_PATHS, PathId, PathView, View};
