//! Tokens of stateless resets (RFC 9000 §10.3).

use std::fmt;

use ring::hmac;

use crate::rng::Rng;

/// From this an endpoint derives the reset token of any of its connection IDs, also of
/// connections that it has forgotten (RFC 9000 §10.3.2).
#[derive(Clone)]
pub struct ResetKey(hmac::Key);

impl ResetKey {
    /// A new key; tokens of another one mean nothing to it.
    #[must_use]
    pub fn generate(rng: &mut Rng) -> Self {
        Self::from_bytes(rng.bytes())
    }

    /// From its bytes, which must come from a generator of good randomness and be kept
    /// secret: whoever knows them can end every connection.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
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
        let key = ResetKey::generate(&mut Rng::seeded(1));
        let other = ResetKey::generate(&mut Rng::seeded(2));
        assert_eq!(key.token(b"one"), key.clone().token(b"one"));
        assert_ne!(key.token(b"one"), key.token(b"two"));
        assert_ne!(key.token(b"one"), other.token(b"one"));
    }
}
