//! What a server is: a certificate and the private key that goes with it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::rng::Rng;

/// The SHA-256 of a server's certificate (of its DER encoding): what a client can know it by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// From its bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(super) fn of(certificate: &CertificateDer<'_>) -> Self {
        let digest = digest(&SHA256, certificate);
        Self(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 64 hexadecimal digits")]
pub struct FingerprintError;

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = HEXLOWER_PERMISSIVE
            .decode(text.as_bytes())
            .map_err(|_| FingerprintError)?;
        bytes.try_into().map(Self).map_err(|_| FingerprintError)
    }
}

/// Why a certificate and key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// There is no certificate, or it is not PEM.
    #[error("no certificate: {reason}")]
    Certificate {
        /// What is wrong with the text.
        reason: String,
    },
    /// There is no private key, or it is not PEM.
    #[error("no private key: {reason}")]
    Key {
        /// What is wrong with the text.
        reason: String,
    },
    /// The certificate or the key cannot be used, or they do not belong together.
    #[error("certificate and private key cannot be used: {reason}")]
    Unusable {
        /// What TLS says about them.
        reason: String,
    },
}

/// A certificate and its private key, to be kept where a server must be known again.
#[derive(Clone)]
pub struct Identity {
    certified: Arc<CertifiedKey>,
    /// PKCS #8, PKCS #1 or SEC 1.
    key: Arc<PrivateKeyDer<'static>>,
}

impl Identity {
    /// A new Ed25519 key and its self-signed certificate, which never expires and names
    /// nobody.
    #[must_use]
    pub fn generate() -> Self {
        Self::from_rng(&mut Rng::system())
    }

    /// The same with randomness handed in: a seeded generator yields the same key again,
    /// and anybody can guess it.
    #[must_use]
    pub fn from_rng(rng: &mut Rng) -> Self {
        let mut pkcs8 = PKCS8_ED25519.to_vec();
        pkcs8.extend_from_slice(&rng.bytes::<32>());
        let key = PrivatePkcs8KeyDer::from(pkcs8);
        let pair = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_ED25519)
            .expect("any 32 bytes are an Ed25519 key");
        let mut parameters =
            rcgen::CertificateParams::new([SUBJECT.to_owned()]).expect("a DNS name");
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters
            .distinguished_name
            .push(rcgen::DnType::CommonName, SUBJECT);
        let certificate = parameters.self_signed(&pair).expect("Ed25519 can sign");
        Self::new(vec![certificate.into()], key.into())
            .expect("the certificate was made of the key")
    }

    /// What [`to_pem`](Self::to_pem) wrote: certificates, the server's own first, and the
    /// private key, in any order.
    ///
    /// # Errors
    /// If one of them is missing or damaged, or they do not belong together.
    pub fn from_pem(pem: &str) -> Result<Self, IdentityError> {
        Self::from_parts(pem, pem)
    }

    pub(super) fn from_parts(certificates: &str, key: &str) -> Result<Self, IdentityError> {
        let certificates = CertificateDer::pem_slice_iter(certificates.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| IdentityError::Certificate {
                reason: error.to_string(),
            })?;
        if certificates.is_empty() {
            let reason = "the text has none".to_owned();
            return Err(IdentityError::Certificate { reason });
        }
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| IdentityError::Key {
                reason: error.to_string(),
            })?;
        Self::new(certificates, key)
    }

    pub(super) fn new(
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, IdentityError> {
        let unusable = |error: rustls::Error| IdentityError::Unusable {
            reason: error.to_string(),
        };
        let certified =
            CertifiedKey::new(certificates, any_supported_type(&key).map_err(unusable)?);
        certified.keys_match().map_err(unusable)?;
        Ok(Self {
            certified: Arc::new(certified),
            key: Arc::new(key),
        })
    }

    /// Certificates and private key as text. Whoever reads it can be this server: keep it
    /// where only its owner can.
    #[must_use]
    pub fn to_pem(&self) -> String {
        let mut text = String::new();
        for certificate in &self.certified.cert {
            push_pem(&mut text, "CERTIFICATE", certificate);
        }
        let label = match &*self.key {
            PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
            PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
            _ => "PRIVATE KEY",
        };
        push_pem(&mut text, label, self.key.secret_der());
        text
    }

    /// What clients can know the server by.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let own = self
            .certified
            .end_entity_cert()
            .expect("there is at least one: Identity::from_parts");
        Fingerprint::of(own)
    }

    pub(super) fn certified_key(&self) -> SingleCertAndKey {
        SingleCertAndKey::from(Arc::clone(&self.certified))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

/// One section of RFC 7468.
fn push_pem(text: &mut String, label: &str, der: &[u8]) {
    text.push_str(&format!("-----BEGIN {label}-----\n"));
    let encoded = BASE64.encode(der);
    for (index, digit) in encoded.char_indices() {
        if index != 0 && index % 64 == 0 {
            text.push('\n');
        }
        text.push(digit);
    }
    text.push_str(&format!("\n-----END {label}-----\n"));
}

/// A name that no certificate authority can vouch for (RFC 6761 §6.4).
const SUBJECT: &str = "mpfec.invalid";

/// A PKCS #8 private key of Ed25519 up to its 32 bytes (RFC 8410 §7).
const PKCS8_ED25519: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_as_text() {
        let identity = Identity::generate();
        let again = Identity::from_pem(&identity.to_pem()).expect("the text is whole");
        assert_eq!(again.fingerprint(), identity.fingerprint());
        assert_eq!(again.to_pem(), identity.to_pem());
    }

    #[test]
    fn a_seed_yields_the_same_identity_again_and_the_system_never_does() {
        let seeded = |seed| Identity::from_rng(&mut Rng::seeded(seed)).fingerprint();
        assert_eq!(seeded(1), seeded(1));
        assert_ne!(seeded(1), seeded(2));
        assert_ne!(
            Identity::generate().fingerprint(),
            Identity::generate().fingerprint()
        );
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let (one, other) = (Identity::generate().to_pem(), Identity::generate().to_pem());
        let error = Identity::from_parts(&one, &other).expect_err("they do not belong together");
        assert!(matches!(error, IdentityError::Unusable { .. }), "{error}");
    }

    #[test]
    fn text_without_a_certificate_or_a_key_is_refused() {
        let whole = Identity::generate().to_pem();
        let (certificate, key) = whole.split_at(whole.find("-----BEGIN PRIVATE").expect("a key"));
        assert!(matches!(
            Identity::from_pem(""),
            Err(IdentityError::Certificate { .. })
        ));
        assert!(matches!(
            Identity::from_pem(key),
            Err(IdentityError::Certificate { .. })
        ));
        assert!(matches!(
            Identity::from_pem(certificate),
            Err(IdentityError::Key { .. })
        ));
    }

    #[test]
    fn nothing_printed_for_debugging_shows_the_key() {
        let identity = Identity::from_rng(&mut Rng::seeded(3));
        let secret = BASE64.encode(identity.key.secret_der());
        let shown = format!("{identity:?}");
        assert!(
            !shown.contains(&secret[24..]) && shown.len() < 120,
            "{shown}"
        );
    }

    #[test]
    fn a_fingerprint_survives_as_text_in_either_case() {
        let fingerprint = Identity::generate().fingerprint();
        let text = fingerprint.to_string();
        assert_eq!(text.parse(), Ok(fingerprint));
        assert_eq!(text.to_uppercase().parse(), Ok(fingerprint));
        assert_eq!(text[1..].parse::<Fingerprint>(), Err(FingerprintError));
    }
}
