//! Tokens of stateless resets (RFC 9000 §10.3).

use std::fmt;

use ring::hmac;

use crate::rng::Rng;

/// From this an endpoint derives the reset token of any of its connection IDs, also of
/// connections that it has forgotten (RFC 9000 §10.3.2).
#[derive(Clone)]
pub(crate) struct ResetKey(hmac::Key);

impl ResetKey {
    /// A new key; tokens of another one mean nothing to it.
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &rng.bytes::<32>()))
    }

    /// The token that goes with a connection ID.
    pub(crate) fn token(&self, cid: &[u8]) -> [u8; 16] {
        let tag = hmac::sign(&self.0, cid);
        *tag.as_ref()
            .first_chunk()
            .expect("HMAC-SHA-256 has 32 bytes")
    }
}

impl fmt::Debug for ResetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResetKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_depends_on_the_key_and_the_connection_id_only() {
        let key = ResetKey::new(&mut Rng::seeded(1));
        let other = ResetKey::new(&mut Rng::seeded(2));
        assert_eq!(key.token(b"one"), key.clone().token(b"one"));
        assert_ne!(key.token(b"one"), key.token(b"two"));
        assert_ne!(key.token(b"one"), other.token(b"one"));
    }
}
