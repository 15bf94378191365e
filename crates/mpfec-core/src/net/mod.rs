//! Everything that touches the operating system: clock, sockets and interfaces.

mod clock;
mod interface;
mod interface_kind;
mod recv_buffers;
mod send_error;
mod socket;
#[cfg(all(test, target_os = "linux"))]
mod test_link;
mod watch;

pub use self::interface::{Interface, WhyNot, interfaces, usable_interfaces};
pub use self::interface_kind::InterfaceKind;
pub use self::watch::{InterfaceChange, InterfaceWatch};
