//! XOR parity over packets of one path (dFEC §III, TCP-IR): a lost packet comes back without a
//! round trip, whatever it carried.

mod receiver;
mod sender;

pub(crate) use self::receiver::{ParityReceiver, Rebuilt};
pub(crate) use self::sender::{HEADER_ROOM, ParityCounters, ParitySender};
