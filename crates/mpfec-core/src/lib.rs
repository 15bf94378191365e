//! The mpfec transport as a pure state machine, and its tokio layer.

mod address;
mod block;
mod component;
mod config;
mod crypto;
mod endpoint;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod id;
#[cfg(feature = "tokio")]
pub mod net;
mod profile;
mod recovery;
#[cfg(test)]
mod specification;
mod rng;
mod stream;
mod wire;

pub use self::crypto::{
    ClientTls, Fingerprint, FingerprintError, Identity, IdentityError, ServerTls, TlsError,
};
pub use self::endpoint::{Secret, Ticket, TicketError};
pub use self::error::TransportError;
pub use self::id::{Dir, Side, StreamId};
pub use self::rng::Rng;
pub use self::stream::{ReadError, StreamEvent, StreamStats, WriteError};
