//! The TLS handshake of one connection (RFC 9001 §4).

use std::fmt;

use rustls::quic::{self, ClientConnection, Connection, ServerConnection, Version};
use rustls::{AlertDescription, CertificateError};

use super::keys::Keys;
use super::one_rtt::OneRttKeys;
use super::tls::{ClientTls, ServerTls};
use crate::error::TransportError;

/// Under which keys handshake data travels (RFC 9001 §2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// Short-header packets.
    OneRtt,
}

/// New keys: what TLS writes from now on goes under them.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are two per connection, and each is taken apart at once"
)]
pub(crate) enum KeyChange {
    /// Keys of Handshake packets.
    Handshake(Keys),
    /// Keys of short-header packets.
    OneRtt(OneRttKeys),
}

/// TLS 1.3 on one connection, without records: bytes of CRYPTO frames in and out.
pub(crate) struct Handshake {
    tls: Connection,
    /// The highest level that keys are known for.
    level: Level,
}

impl Handshake {
    /// The client's end, with the transport parameters that it announces.
    pub(crate) fn client(tls: &ClientTls, parameters: Vec<u8>) -> Result<Self, TransportError> {
        let config = tls.config();
        ClientConnection::new(config, Version::V1, tls.server_name(), parameters)
            .map(|client| Self::new(client.into()))
            .map_err(|error| TransportError::internal(error.to_string()))
    }

    /// The server's end, with the transport parameters that it announces.
    pub(crate) fn server(tls: &ServerTls, parameters: Vec<u8>) -> Result<Self, TransportError> {
        ServerConnection::new(tls.config(), Version::V1, parameters)
            .map(|server| Self::new(server.into()))
            .map_err(|error| TransportError::internal(error.to_string()))
    }

    fn new(tls: Connection) -> Self {
        Self {
            tls,
            level: Level::Initial,
        }
    }

    /// Takes what the peer's TLS said under `level`, in order. What [`write`](Self::write)
    /// yields is to be taken before data of another level is given.
    ///
    /// # Errors
    /// The TLS alert that ends the connection, or PROTOCOL_VIOLATION where the peer must use
    /// other keys by now, or not use these yet.
    pub(crate) fn read(&mut self, level: Level, data: &[u8]) -> Result<(), TransportError> {
        if level != self.read_level() {
            return Err(TransportError::protocol_violation(
                "handshake data under wrong keys",
            ));
        }
        self.tls.read_hs(data).map_err(|error| {
            let alert = self.tls.alert().unwrap_or(AlertDescription::InternalError);
            TransportError::crypto(alert.into(), explain(&error))
        })
    }

    /// Appends what TLS has to say under the current keys. To be called again until it
    /// neither appends anything nor returns new keys.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> Option<KeyChange> {
        match self.tls.write_hs(out)? {
            quic::KeyChange::Handshake { keys } => {
                self.level = Level::Handshake;
                Some(KeyChange::Handshake(keys.into()))
            }
            quic::KeyChange::OneRtt { keys, next } => {
                self.level = Level::OneRtt;
                Some(KeyChange::OneRtt(OneRttKeys::new(keys, next)))
            }
        }
    }

    /// The peer's transport parameters, as soon as they came. They are authentic only once
    /// the handshake is complete (RFC 9001 §8.2).
    pub(crate) fn peer_parameters(&self) -> Option<&[u8]> {
        self.tls.quic_transport_parameters()
    }

    /// Whether the handshake is not complete (RFC 9001 §4.1.1).
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Fills `out` with a secret that only the two ends of this connection know (RFC 8446
    /// §7.5).
    ///
    /// # Errors
    /// Before the handshake is complete.
    pub(crate) fn export_keying_material(
        &self,
        out: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), TransportError> {
        self.tls
            .export_keying_material(out, label, Some(context))
            .map(|_| ())
            .map_err(|error| TransportError::internal(error.to_string()))
    }

    /// The level that the peer's next handshake message must come under.
    fn read_level(&self) -> Level {
        // A server writes under 1-RTT keys before it has read the client's Finished.
        if self.is_handshaking() {
            self.level.min(Level::Handshake)
        } else {
            self.level
        }
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("level", &self.level)
            .field("is_handshaking", &self.is_handshaking())
            .finish_non_exhaustive()
    }
}

/// What went wrong, for people.
fn explain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
            "the server's certificate does not have the expected fingerprint".into()
        }
        rustls::Error::NoApplicationProtocol => "the peer does not speak mpfec".into(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::mem;

    use super::*;
    use crate::crypto::pair::{complete, handshakes, pair, trusting_pair};
    use crate::rng::Rng;

    #[test]
    fn two_ends_that_trust_each_other_agree_on_keys_and_parameters() {
        let (client, server) = trusting_pair();
        let (client, server) = complete(&client, &server).expect("they trust each other");

        assert!(!client.tls.is_handshaking() && !server.tls.is_handshaking());
        assert_eq!(
            client.tls.peer_parameters(),
            Some(&b"server parameters"[..])
        );
        assert_eq!(
            server.tls.peer_parameters(),
            Some(&b"client parameters"[..])
        );
        assert!(client.handshake.is_some() && server.handshake.is_some());
        assert!(client.one_rtt.is_some() && server.one_rtt.is_some());
        let (mut one, mut other) = ([0; 32], [0; 32]);
        client
            .tls
            .export_keying_material(&mut one, b"EXPORTER-test", b"")
            .expect("complete");
        server
            .tls
            .export_keying_material(&mut other, b"EXPORTER-test", b"")
            .expect("complete");
        assert_eq!(one, other);
        assert_ne!(one, [0; 32]);
    }

    #[test]
    fn nothing_can_be_exported_before_the_handshake_is_complete() {
        let (client, server) = trusting_pair();
        let (client, _) = pair(&client, &server);
        let exported = client
            .tls
            .export_keying_material(&mut [0; 32], b"EXPORTER-test", b"");
        assert_eq!(
            exported.expect_err("too early").code,
            TransportError::INTERNAL_ERROR
        );
    }

    #[test]
    fn a_certificate_with_another_fingerprint_is_refused() {
        let (client, _) = trusting_pair();
        let impostor = ServerTls::self_signed(&mut Rng::seeded(2));

        let error = complete(&client, &impostor).expect_err("another certificate");

        assert_eq!(
            error.code,
            0x100 + u64::from(u8::from(AlertDescription::AccessDenied))
        );
        assert_eq!(
            error.reason,
            "the server's certificate does not have the expected fingerprint"
        );
    }

    #[test]
    fn handshake_data_byte_by_byte_is_the_same() {
        let (client, server) = trusting_pair();
        let (mut client, mut server) = pair(&client, &server);
        let mut from_client = client.flight();
        while !from_client.is_empty() {
            let mut from_server = Vec::new();
            for (level, bytes) in mem::take(&mut from_client) {
                for byte in bytes {
                    server.tls.read(level, &[byte]).expect("an honest client");
                    from_server.extend(server.flight());
                }
            }
            for (level, bytes) in from_server {
                for byte in bytes {
                    client.tls.read(level, &[byte]).expect("an honest server");
                    from_client.extend(client.flight());
                }
            }
        }
        assert!(!client.tls.is_handshaking() && !server.tls.is_handshaking());
    }

    #[test]
    fn data_under_wrong_keys_is_a_violation() {
        let (mut client, mut server) = handshakes();
        for level in [Level::Initial, Level::Handshake] {
            for end in [&mut client, &mut server] {
                let error = end
                    .read(level, b"\x04\x00\x00\x00")
                    .expect_err("the level is over");
                assert_eq!(error.code, TransportError::PROTOCOL_VIOLATION);
            }
        }
    }

    #[test]
    fn a_tls_key_update_is_refused() {
        // RFC 9001 §6: unexpected_message, alert 10.
        let (mut client, _) = handshakes();
        let error = client
            .read(Level::OneRtt, b"\x18\x00\x00\x01\x00")
            .expect_err("not in QUIC");
        assert_eq!(error.code, 0x10a);
    }

    #[test]
    fn nonsense_is_an_alert() {
        let (client, server) = trusting_pair();
        let (_, mut server) = pair(&client, &server);
        let error = server
            .tls
            .read(Level::Initial, &[0xff; 200])
            .expect_err("not a ClientHello");
        assert_eq!(error.code & !0xff, 0x100);
    }

    #[test]
    fn a_forged_initial_after_the_first_flight_is_refused() {
        let (client, server) = trusting_pair();
        let (mut client, mut server) = pair(&client, &server);
        for (level, bytes) in client.flight() {
            server.tls.read(level, &bytes).expect("an honest client");
        }
        for (level, bytes) in server.flight() {
            if level == Level::Initial {
                client.tls.read(level, &bytes).expect("an honest server");
                client.flight();
            } else {
                // EncryptedExtensions must not come in the clear (RFC 9001 §4.1.3).
                let error = client
                    .tls
                    .read(Level::Initial, &bytes)
                    .expect_err("wrong level");
                assert_eq!(error.code, TransportError::PROTOCOL_VIOLATION);
            }
        }
    }
}
