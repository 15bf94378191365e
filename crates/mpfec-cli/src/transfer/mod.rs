//! Files over a connection.
//!
//! The sender opens a bidirectional stream for control and says what it is about to send.
//! All entries follow one another on one unidirectional stream (`layout`), without waiting
//! for answers, so that many small files cost no round trips. On the control stream the
//! receiver tells how far it is, what became of each file, and at last that all is done.

mod layout;
mod message;
mod name;
mod place;
mod produce;
mod pull;
mod receiver;
mod recv;
mod send;
mod sender;
mod sink;
mod source;

pub(crate) use self::message::TransferHello;
pub(crate) use self::place::Destination;
pub(crate) use self::receiver::{Counters, Received, receive};
pub(crate) use self::recv::run as recv;
pub(crate) use self::send::run as send;
pub(crate) use self::sender::{Sent, send_all};
pub(crate) use self::source::{Item, scan};
