//! Many connections behind a few sockets.

mod cid;
mod incoming;
mod reset;
mod routing;
mod ticket;
mod token;

pub use self::cid::ConnectionHandle;
pub use self::routing::{ConnectError, Endpoint, Routed};
pub use self::ticket::{Secret, Ticket, TicketError};
