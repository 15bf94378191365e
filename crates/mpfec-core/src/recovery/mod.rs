//! Which packets arrived and which did not (RFC 9002).

mod ack_policy;
mod crypto_receive;
mod crypto_send;
mod duplicates;
mod loss;
mod pto;
mod range_set;
mod received;
mod reordering;
mod sent;
mod skipped;
mod space;
mod token;

pub(crate) use self::ack_policy::{Eliciting, LATE_ACK_DELAY};
pub(crate) use self::crypto_receive::CryptoReceive;
pub(crate) use self::crypto_send::CryptoSend;
pub(crate) use self::duplicates::Duplicates;
pub(crate) use self::loss::{Burst, is_persistent_congestion};
pub(crate) use self::pto::Pto;
pub(crate) use self::received::ReceivedPackets;
pub(crate) use self::reordering::Reordering;
pub(crate) use self::sent::{Acked, LossCause, Lost, SentPacket};
pub(crate) use self::space::PacketSpace;
pub(crate) use self::token::Token;
