//! The codecs from outside, as the transport uses them.

mod common;
mod hostile;
mod rfc6330;
mod roundtrip;
