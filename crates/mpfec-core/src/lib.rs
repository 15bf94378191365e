//! The mpfec transport: streams over several network paths at once, encrypted, with lost
//! symbols made up for by fresh ones on whichever path delivers first.
//!
//! Applications use the tokio layer [`net`] (feature `tokio`, on by default): an endpoint,
//! connections, streams, with the names and habits of quinn.
//!
//! Beneath it is a pure state machine without sockets, clocks, tasks or randomness of its
//! own, for other runtimes and for simulations. An [`Endpoint`] finds out which
//! [`Connection`] a datagram is for; a connection takes datagrams, the time and what the
//! application wants, and gives datagrams, events and the time at which it wants to be asked
//! again:
//!
//! | | in | out |
//! | --- | --- | --- |
//! | network | [`Endpoint::handle_datagram`], [`Connection::handle_datagram`] | [`Connection::poll_transmit`] |
//! | time | [`Connection::handle_timeout`] | [`Connection::poll_timeout`] |
//! | application | [`Connection::open_stream`], [`Connection::write`], … | [`Connection::poll_event`] |
//!
//! ```
//! use std::time::Instant;
//! use mpfec_core::{
//!     ClientConfig, ClientTls, Endpoint, FourTuple, Rng, ServerTls, SocketId,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tls = ServerTls::self_signed(&mut Rng::system());
//! let config = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
//!
//! let now = Instant::now();
//! let mut endpoint = Endpoint::new(now, None, Rng::system());
//! let route = FourTuple { socket: SocketId(0), local_ip: None, remote: "192.0.2.1:47800".parse()? };
//! let (_, mut connection) = endpoint.connect(now, &config, vec![(route, 0)])?;
//!
//! let mut datagram = Vec::new();
//! let transmit = connection.poll_transmit(now, 1, &mut datagram).expect("a first flight");
//! assert_eq!((transmit.tuple.remote, transmit.size), (route.remote, 1200));
//! let _ = connection.poll_timeout(); // when to call handle_timeout if nothing arrives
//! # Ok(())
//! # }
//! ```

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
mod parity;
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
    ClosePathError, CloseReason, Connection, ConnectionStats, DatagramOptions, DatagramRedundancy,
    EndpointEvent, Event, OpenPathError, ParityStats, PathChange, PathEvent, PathStats, PathStatus,
    SendDatagramError, Timer,
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
pub use self::profile::{ImpossibleProfile, Profile, UnknownProfile};
pub use self::rng::Rng;
pub use self::stream::{ReadError, StreamEvent, StreamStats, WriteError};
pub use mpfec_codec::CodecKind;
pub use mpfec_congestion::{
    Aimd, ControllerKind, LossEvidence, LossVerdict, MeasuredShare, UnknownController,
    share as relay_share,
};
pub use mpfec_sched::{ParseRedundancyError, RedundancyKind, SchedulerKind};

/// The example in the README, which must compile and run.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
