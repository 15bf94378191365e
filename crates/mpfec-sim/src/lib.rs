//! Emulated networks for the mpfec transport.
//!
//! A [`Link`] is one direction of a path: a queue, a transmitter of a certain rate, a
//! wire of a certain length, and its faults. It is sans-IO, so the very same link serves
//! a simulation in virtual time and a relay between real sockets. A [`Setup`] names the
//! links of several paths and what happens to them when.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use bytes::Bytes;
//! use mpfec_sim::{Link, LinkConfig};
//!
//! let mut link = Link::new(LinkConfig::new(20_000_000, Duration::from_millis(10)), 1);
//! let start = Instant::now();
//! link.submit(start, Bytes::from(vec![0; 1472]), "hello").unwrap();
//! // 1500 bytes at 20 Mbit/s take 0.6 ms, and then they travel for 10 ms.
//! let due = link.poll_timeout().unwrap();
//! assert_eq!(due - start, Duration::from_micros(10_600));
//! assert_eq!(link.poll_delivery(due).unwrap().tag, "hello");
//! ```
//!
//! A [`scene`] puts the transport itself into such a network, in virtual time: the state
//! machine that ships, and an application at each end that checks every byte. What happens
//! is a function of the scene and its seed.
//!
//! ```
//! use std::time::Duration;
//! use mpfec_sim::scene;
//!
//! let ms = Duration::from_millis;
//! let mut net = scene()
//!     .path("wifi", 20_000_000, ms(20))
//!     .path("lte", 10_000_000, ms(60))
//!     .seed(7)
//!     .connect();
//! net.cut_at(ms(500), "wifi");
//! let gap = net.longest_gap(2 << 20);
//! assert!(gap < Duration::from_secs(1), "the death of a path costs {gap:?}");
//! ```

mod check;
mod clock;
mod codel;
mod config;
mod counters;
mod fault;
mod host;
mod link;
mod loss;
mod network;
mod node;
mod peer;
mod policer;
mod queue;
#[cfg(feature = "tokio")]
mod relay;
pub mod report;
mod rng;
pub mod scenario;
mod scene;
mod setup;
mod simulation;
pub mod toml;
pub mod traffic;

pub use self::check::{MAX_PATHS, SetupError};
pub use self::config::{Change, LinkConfig, MAX_DELAY};
pub use self::counters::{DropReason, LinkCounters};
pub use self::fault::Faults;
pub use self::host::{Host, Packet};
pub use self::link::{Delivered, Link, MOST_HELD_BYTES};
pub use self::loss::GilbertElliott;
pub use self::network::{Action, HostId, LinkId, Network, NetworkCounters, PathEnds};
pub use self::node::{Application, Node};
pub use self::peer::{Incoming, Outgoing, Peer};
pub use self::policer::Policer;
pub use self::queue::QueueLimit;
#[cfg(all(feature = "tokio", unix))]
pub use self::relay::{PacketEnds, PacketRelay};
#[cfg(feature = "tokio")]
pub use self::relay::{RelayStats, UdpRelay};
pub use self::rng::Rng;
pub use self::scene::{Scene, scene};
pub use self::setup::{Direction, PathSetup, Setup, TimedChange};
pub use self::simulation::Simulation;
