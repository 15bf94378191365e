//! Many connections behind a few sockets.

mod ticket;
mod token;

pub use self::ticket::{Secret, Ticket, TicketError};
pub(crate) use self::token::TokenKey;
