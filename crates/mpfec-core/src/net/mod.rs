//! The tokio layer: sockets, clocks and handles around the state machine. This is what
//! applications use; [`Connection`], [`ReadError`] and the like of the crate's root are the
//! state machine's own.
//!
//! - [`Endpoint`] makes connections, or takes them if it is a server.
//! - [`Connection`] has streams, unreliable messages and paths.
//! - [`SendStream`] and [`RecvStream`] are the ends of a stream; they are also
//!   `tokio::io::AsyncWrite` and `AsyncRead`.
//!
//! **At the end.** What was written is on its way, not there. Call
//! [`SendStream::finish`], await [`SendStream::delivered`], and only then close the connection
//! or drop its last handle: closing throws away what is under way. Await
//! [`Endpoint::wait_idle`] before the process ends, so that the peer hears of it.
//!
//! **Giving up waiting.** All `async` methods may be dropped before they are done, for example
//! by a timeout, and called again: nothing gets lost. Two say less than one might wish then:
//! [`SendStream::write_all`] does not tell how much it wrote, and [`RecvStream::read_exact`]
//! not how much of the buffer it filled.
//!
//! **In tests.** Time is tokio's: where it is paused, connections wait in that time, and an idle one
//! whose [`keep_alive`](crate::TransportConfig::keep_alive) is shorter than its idle timeout stays
//! open through its jumps.

mod clock;
mod connection;
mod driver;
mod endpoint;
mod interface;
mod interface_kind;
mod io_error;
mod path_events;
mod places;
mod recv_buffers;
mod route;
mod send_error;
mod shared;
mod socket;
mod sockets;
mod stream;
#[cfg(all(test, target_os = "linux"))]
mod test_link;
mod watch;

pub use self::connection::{Connecting, ConnectingError, Connection, PathError};
pub use self::endpoint::Endpoint;
pub use self::interface::{Interface, WhyNot, interfaces, usable_interfaces};
pub use self::interface_kind::InterfaceKind;
pub use self::path_events::PathEvents;
pub use self::route::{LocalAddress, Paths};
pub use self::sockets::LocalSocket;
pub use self::stream::{ReadError, ReadExactError, RecvStream, SendStream, WriteError};
pub use self::watch::{InterfaceChange, InterfaceWatch};
