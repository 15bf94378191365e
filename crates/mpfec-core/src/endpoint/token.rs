//! Tokens by which a client shows that it receives at its address (RFC 9000 §8.1.2): the
//! server remembers nothing about it, and reads here what it must know.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

use crate::rng::Rng;
use crate::wire::{ConnectionId, TAG_LEN};

/// Seals and opens the tokens of one endpoint.
#[derive(Clone)]
pub(crate) struct TokenKey(hmac::Key);

impl TokenKey {
    /// A new key; tokens of another one mean nothing to it.
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &rng.bytes::<32>()))
    }

    /// A token of at most [`MAX_TOKEN`] bytes for the client at `address`, whose Initial
    /// was sent to `original_dcid`. `issued` is the time now, in milliseconds since an epoch
    /// of the endpoint.
    pub(crate) fn seal(
        &self,
        rng: &mut Rng,
        address: SocketAddr,
        original_dcid: ConnectionId,
        issued: u64,
    ) -> Vec<u8> {
        let salt: [u8; SALT_LEN] = rng.bytes();
        let mut token = Vec::with_capacity(MAX_TOKEN);
        token.extend_from_slice(&salt);
        token.extend_from_slice(&issued.to_be_bytes());
        token.extend_from_slice(original_dcid.as_slice());
        let tag = self
            .key(&salt)
            .seal_in_place_separate_tag(nonce(), associated(address), &mut token[SALT_LEN..])
            .expect("a token is far below the longest message of AES-GCM");
        token.extend_from_slice(tag.as_ref());
        token
    }

    /// The destination of the Initial that made this endpoint send `token`, if it was sent
    /// to the client at `address` no longer than `lifetime` before `now`, in milliseconds.
    pub(crate) fn open(
        &self,
        token: &[u8],
        address: SocketAddr,
        now: u64,
        lifetime: Duration,
    ) -> Option<ConnectionId> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let (salt, sealed) = token.split_first_chunk::<SALT_LEN>()?;
        let mut plain = [0; MAX_TOKEN - SALT_LEN];
        let plain = &mut plain[..sealed.len()];
        plain.copy_from_slice(sealed);
        let plain = self
            .key(salt)
            .open_in_place(nonce(), associated(address), plain)
            .ok()?;
        let (issued, original_dcid) = plain.split_first_chunk()?;
        let age = now.checked_sub(u64::from_be_bytes(*issued))?;
        if Duration::from_millis(age) > lifetime {
            return None;
        }
        ConnectionId::new(original_dcid)
    }

    /// Every token has a key of its own, so that no number of tokens repeats a nonce.
    fn key(&self, salt: &[u8; SALT_LEN]) -> LessSafeKey {
        let key = hmac::sign(&self.0, salt);
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).expect("the key has 32 bytes"))
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

/// A key is used once: [`TokenKey::key`].
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

/// The address as the network knows it, however the socket shows it.
fn associated(address: SocketAddr) -> Aad<[u8; 18]> {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&ip.octets());
    bytes[16..].copy_from_slice(&address.port().to_be_bytes());
    Aad::from(bytes)
}

/// The longest token, in bytes.
pub(crate) const MAX_TOKEN: usize = SALT_LEN + 8 + ConnectionId::MAX_LEN + TAG_LEN;
const SALT_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::Rng;

    const LIFETIME: Duration = Duration::from_secs(10);

    fn address() -> SocketAddr {
        "192.0.2.1:4433".parse().expect("an address")
    }

    fn dcid() -> ConnectionId {
        ConnectionId::from([1, 2, 3, 4, 5, 6, 7, 8])
    }

    fn key() -> (TokenKey, Rng) {
        let mut rng = Rng::seeded(5);
        (TokenKey::new(&mut rng), rng)
    }

    #[test]
    fn a_token_opens_for_its_address_within_its_lifetime() {
        let (key, mut rng) = key();
        let token = key.seal(&mut rng, address(), dcid(), 1_000);
        assert_eq!(key.open(&token, address(), 1_000, LIFETIME), Some(dcid()));
        assert_eq!(key.open(&token, address(), 11_000, LIFETIME), Some(dcid()));
        assert_eq!(key.open(&token, address(), 11_001, LIFETIME), None);
        assert_eq!(
            key.open(&token, address(), 999, LIFETIME),
            None,
            "from the future"
        );
    }

    #[test]
    fn a_token_does_not_open_for_another_address_or_with_another_key() {
        let (key, mut rng) = key();
        let token = key.seal(&mut rng, address(), dcid(), 0);
        for other in ["192.0.2.1:4434", "192.0.2.2:4433", "[2001:db8::1]:4433"] {
            let other = other.parse().expect("an address");
            assert_eq!(key.open(&token, other, 0, LIFETIME), None, "{other}");
        }
        assert_eq!(
            TokenKey::new(&mut rng).open(&token, address(), 0, LIFETIME),
            None
        );
    }

    #[test]
    fn an_address_is_the_same_on_a_socket_for_both_families() {
        let (key, mut rng) = key();
        let token = key.seal(&mut rng, address(), dcid(), 0);
        let mapped = "[::ffff:192.0.2.1]:4433".parse().expect("an address");
        assert_eq!(key.open(&token, mapped, 0, LIFETIME), Some(dcid()));
    }

    #[test]
    fn two_tokens_for_the_same_client_differ() {
        let (key, mut rng) = key();
        let mut seal = || key.seal(&mut rng, address(), dcid(), 0);
        assert_ne!(seal(), seal());
    }

    proptest! {
        #[test]
        fn a_token_is_bounded_and_any_change_is_noticed(
            cid in proptest::collection::vec(any::<u8>(), 0..=20),
            at in any::<proptest::sample::Index>(),
            flip in 1..=255_u8,
        ) {
            let (key, mut rng) = key();
            let cid = ConnectionId::new(&cid).expect("at most 20 bytes");
            let mut token = key.seal(&mut rng, address(), cid, 77);
            prop_assert!(token.len() <= MAX_TOKEN);
            prop_assert_eq!(key.open(&token, address(), 77, LIFETIME), Some(cid));
            let at = at.index(token.len());
            token[at] ^= flip;
            prop_assert_eq!(key.open(&token, address(), 77, LIFETIME), None);
        }

        #[test]
        fn anything_else_is_no_token(token in proptest::collection::vec(any::<u8>(), 0..100)) {
            let (key, _) = key();
            prop_assert_eq!(key.open(&token, address(), 0, LIFETIME), None);
        }
    }
}
