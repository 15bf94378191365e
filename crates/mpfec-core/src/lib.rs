//! The mpfec transport as a pure state machine, and its tokio layer.

mod address;
mod block;
mod component;
mod config;
mod connection;
mod crypto;
mod endpoint;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod id;
#[cfg(feature = "tokio")]
pub mod net;
mod path;
mod profile;
mod recovery;
mod rng;
#[cfg(test)]
mod specification;
mod stream;
mod wire;

pub use self::address::{Datagram, Ecn, FourTuple, SocketId, Transmit};
pub use self::config::{ClientConfig, ServerConfig, TransportConfig};
pub use self::connection::{
    CloseReason, Connection, ConnectionStats, EndpointEvent, Event, OpenPathError, PathChange,
    PathEvent, PathStats, PathStatus, SendDatagramError, Timer,
};
pub use self::crypto::{
    ClientTls, Fingerprint, FingerprintError, Identity, IdentityError, ResetKey, ServerTls,
    TlsError,
};
pub use self::endpoint::{
    ConnectError, ConnectionHandle, Endpoint, Routed, Secret, Ticket, TicketError,
};
pub use self::error::TransportError;
pub use self::id::{Dir, Side, StreamId};
pub use self::path::PathReason;
pub use self::profile::{Profile, UnknownProfile};
pub use self::rng::Rng;
pub use self::stream::{ReadError, StreamEvent, StreamStats, WriteError};
pub use mpfec_codec::CodecKind;
pub use mpfec_congestion::ControllerKind;
pub use mpfec_sched::SchedulerKind;

/// The example in the README, which must compile and run.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
