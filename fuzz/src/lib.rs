//! What several targets share.

pub mod codec;
