//! How much may be in flight on a path, and how fast it may leave (RFC 9002, RFC 6356).
//!
//! The crate has no clock, no I/O and no randomness: time comes in as arguments. A path owns
//! one value of each of
//!
//! - [`RttEstimator`], the round-trip time (RFC 9002 §5);
//! - [`DeliveryRate`], how fast its packets really arrive;
//! - [`Pacer`], which spreads packets over time at a rate it is given;
//! - a [`CongestionController`], built by [`ControllerKind::build`].
//!
//! Coupled controllers see their siblings as values ([`Group`]); none holds another.

mod controller;
mod delay;
mod delivery_rate;
mod kind;
mod lia;
mod lia_diff;
mod new_reno;
mod pacer;
mod rtt;
mod slow_start;
mod window;

pub use self::controller::{
    Ack, CongestionController, CongestionEvent, Group, LossVerdicts, Subflow,
};
pub use self::delivery_rate::{DeliveryRate, PacketState, RateSample};
pub use self::kind::{ControllerKind, UnknownController};
pub use self::pacer::Pacer;
pub use self::rtt::RttEstimator;
