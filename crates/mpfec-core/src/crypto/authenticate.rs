//! How a client proves that it holds the secret of a ticket: a MAC over what only this TLS
//! connection can export, so that the proof is of no use on another one.

use ring::hmac;

use super::handshake::Handshake;
use crate::endpoint::Secret;
use crate::error::TransportError;

/// The proof that the client sends in AUTHENTICATE: HMAC-SHA-256 with the secret as its
/// key (RFC 2104) over 32 bytes of exported keying material (RFC 8446 §7.5).
///
/// # Errors
/// Before the handshake is complete.
pub(crate) fn authenticate(tls: &Handshake, secret: &Secret) -> Result<[u8; 32], TransportError> {
    let (key, exported) = (key(secret), export(tls)?);
    let tag = hmac::sign(&key, &exported);
    Ok(tag.as_ref().try_into().expect("HMAC-SHA-256 has 32 bytes"))
}

/// Checks a client's proof, in a time that does not depend on what is wrong with it.
///
/// # Errors
/// AUTHENTICATION_FAILED if the client does not hold the secret.
pub(crate) fn verify_authentication(
    tls: &Handshake,
    secret: &Secret,
    mac: &[u8; 32],
) -> Result<(), TransportError> {
    let (key, exported) = (key(secret), export(tls)?);
    hmac::verify(&key, &exported, mac)
        .map_err(|_| TransportError::authentication_failed("the client does not hold the secret"))
}

fn key(secret: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())
}

fn export(tls: &Handshake) -> Result<[u8; 32], TransportError> {
    let mut exported = [0; 32];
    tls.export_keying_material(&mut exported, LABEL, b"")?;
    Ok(exported)
}

const LABEL: &[u8] = b"EXPORTER-mpfec-authenticate";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::pair::handshakes;

    #[test]
    fn the_proof_of_a_client_with_the_secret_is_accepted() {
        let (client, server) = handshakes();
        let secret = Secret::from_bytes([7; 16]);
        let mac = authenticate(&client, &secret).expect("the handshake is complete");
        assert_eq!(verify_authentication(&server, &secret, &mac), Ok(()));
    }

    #[test]
    fn a_proof_with_another_secret_is_refused() {
        let (client, server) = handshakes();
        let mac =
            authenticate(&client, &Secret::from_bytes([7; 16])).expect("the handshake is complete");
        let error = verify_authentication(&server, &Secret::from_bytes([8; 16]), &mac);
        assert_eq!(
            error.expect_err("another secret").code,
            TransportError::AUTHENTICATION_FAILED
        );
    }

    #[test]
    fn a_proof_of_another_connection_is_refused() {
        let secret = Secret::from_bytes([7; 16]);
        let (client, _) = handshakes();
        let (_, server) = handshakes();
        let mac = authenticate(&client, &secret).expect("the handshake is complete");
        assert!(verify_authentication(&server, &secret, &mac).is_err());
    }
}
