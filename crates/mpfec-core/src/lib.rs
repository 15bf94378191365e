//! The mpfec transport as a pure state machine, and its tokio layer.

mod address;
mod component;
mod crypto;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod id;
mod recovery;
mod stream;
mod wire;

pub use self::error::TransportError;
pub use self::id::{Dir, Side, StreamId};
