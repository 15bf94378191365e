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
//!
//! ```
//! use std::time::{Duration, Instant};
//! use mpfec_congestion::{Ack, CodingFeedback, ControllerKind, Drains, Group, RttEstimator, Subflow};
//!
//! let start = Instant::now();
//! let mut rtt = RttEstimator::new(Duration::from_millis(100));
//! let mut controller = ControllerKind::NewReno.build(1200, start, 10);
//! assert_eq!(controller.cwnd(), 12_000);
//!
//! // One full window leaves, and is acknowledged 50 ms later: slow start doubles it.
//! controller.on_packet_sent(start, 12_000, 12_000);
//! let now = start + Duration::from_millis(50);
//! rtt.update(now, now - start, Duration::ZERO);
//! let me = Subflow { cwnd: 12_000, srtt: rtt.smoothed(), delivery_rate: 0, drains: Drains::No };
//! controller.on_ack(&Ack {
//!     now,
//!     sent_at: start,
//!     bytes: 12_000,
//!     packets: 10,
//!     in_flight: 0,
//!     app_limited: false,
//!     idle: Duration::ZERO,
//!     rtt: &rtt,
//!     route: 0,
//!     way_back: None,
//!     rate: None,
//!     coding: CodingFeedback::default(),
//!     group: Group { subflows: &[me], me: 0 },
//! });
//! assert_eq!(controller.cwnd(), 24_000);
//! ```

mod acc;
mod aimd;
mod controller;
mod coop;
mod couple_plus;
mod coupled;
mod coupling;
mod delay;
mod delivery_rate;
mod differentiation;
mod ewtcp;
mod group;
mod kind;
mod lia;
mod lia_diff;
mod loss_evidence;
mod new_reno;
mod pacer;
mod rtt;
mod semi_coupled;
mod share;
mod slow_start;
mod window;

pub use self::aimd::{Aimd, AimdError, tcp_friendly_alpha};
pub use self::controller::{
    Ack, CodingFeedback, CongestionController, CongestionEvent, Drains, Group, LossVerdicts,
    Overdue, Subflow,
};
pub use self::couple_plus::redundant_cycle;
pub use self::delivery_rate::{DeliveryRate, PacketState, RateSample};
pub use self::differentiation::queued_packets;
pub use self::kind::{ControllerKind, UnknownController};
pub use self::loss_evidence::{LossEvidence, LossVerdict, RateTrend};
pub use self::pacer::Pacer;
pub use self::rtt::RttEstimator;
pub use self::share::{MeasuredShare, share};
