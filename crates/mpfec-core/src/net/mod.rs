//! The tokio layer: sockets, clocks and handles around the state machine.

mod clock;
mod connection;
mod driver;
mod endpoint;
mod interface;
mod interface_kind;
mod path_events;
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

pub use self::connection::{Connecting, ConnectingError, Connection};
pub use self::endpoint::Endpoint;
pub use self::interface::{Interface, WhyNot, interfaces, usable_interfaces};
pub use self::interface_kind::InterfaceKind;
pub use self::path_events::PathEvents;
pub use self::route::{LocalAddress, Paths};
pub use self::sockets::LocalSocket;
pub use self::stream::{ReadError, ReadExactError, RecvStream, SendStream, WriteError};
pub use self::watch::{InterfaceChange, InterfaceWatch};
