//! The codecs from outside, as the transport uses them.

mod common;
mod hostile;
mod linear;
mod parity;
mod pipeline;
mod rfc6330;
mod roundtrip;
