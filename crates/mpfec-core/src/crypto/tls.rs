//! Whom the two ends trust: what a handshake starts from.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{self, cipher_suite};
use rustls::pki_types::ServerName;
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::identity::{Fingerprint, Identity, IdentityError};
use super::pin::PinnedCertificate;
use crate::rng::Rng;

/// Why a client cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The name of the server is neither a DNS name nor an IP address.
    #[error("{name:?} is no name of a server")]
    ServerName {
        /// What was given.
        name: String,
    },
    /// The trusted roots cannot be used.
    #[error("no server can be trusted: {reason}")]
    Roots {
        /// What TLS says about it.
        reason: String,
    },
}

/// A server's certificate and private key, ready for handshakes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    fingerprint: Fingerprint,
}

impl ServerTls {
    /// A new Ed25519 key and its self-signed certificate, which clients trust by its
    /// [`fingerprint`](Self::fingerprint).
    #[must_use]
    pub fn self_signed(rng: &mut Rng) -> Self {
        Self::from_identity(&Identity::from_rng(rng))
    }

    /// With a certificate and key that were kept.
    #[must_use]
    pub fn from_identity(identity: &Identity) -> Self {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .expect("every suite is one of TLS 1.3")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(identity.certified_key()));
        config.alpn_protocols = vec![ALPN.to_vec()];
        // Without resumption every handshake proves everything.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        // The client goes first, unless this machine lacks what makes its choice fast.
        config.ignore_client_order = !has_fast_aes();
        Self {
            config: Arc::new(config),
            fingerprint: identity.fingerprint(),
        }
    }

    /// With certificates (the server's own first) and the private key in PEM.
    ///
    /// # Errors
    /// If one of them is missing or damaged, or they do not belong together.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, IdentityError> {
        Identity::from_parts(certificates, key).map(|identity| Self::from_identity(&identity))
    }

    /// What clients can know this server by.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// Which server a client trusts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
}

impl ClientTls {
    /// Trusts the one server that has the private key of the certificate with this
    /// fingerprint; names and dates in the certificate do not matter.
    #[must_use]
    pub fn pinned(fingerprint: Fingerprint) -> Self {
        let provider = provider();
        let verifier =
            PinnedCertificate::new(fingerprint, provider.signature_verification_algorithms);
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .expect("every suite is one of TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.enable_sni = false;
        let server_name = ServerName::try_from("mpfec.invalid").expect("a DNS name");
        Self::new(config, server_name)
    }

    /// Trusts a server with a certificate for `server_name` (a DNS name or an IP address)
    /// that leads to one of `roots`.
    ///
    /// # Errors
    /// If there are no roots, or the name is none.
    pub fn roots(roots: RootCertStore, server_name: &str) -> Result<Self, TlsError> {
        let name =
            ServerName::try_from(server_name.to_owned()).map_err(|_| TlsError::ServerName {
                name: server_name.to_owned(),
            })?;
        let provider = provider();
        let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::clone(&provider),
        )
        .build()
        .map_err(|error| TlsError::Roots {
            reason: error.to_string(),
        })?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .expect("every suite is one of TLS 1.3")
            .with_webpki_verifier(verifier)
            .with_no_client_auth();
        Ok(Self::new(config, name))
    }

    fn new(mut config: ClientConfig, server_name: ServerName<'static>) -> Self {
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        Self {
            config: Arc::new(config),
            server_name,
        }
    }

    pub(super) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    pub(super) fn server_name(&self) -> ServerName<'static> {
        self.server_name.clone()
    }
}

/// Suites of TLS 1.3 only, the fastest here first.
fn provider() -> Arc<CryptoProvider> {
    let mut cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    if !has_fast_aes() {
        cipher_suites.rotate_right(1);
    }
    Arc::new(CryptoProvider {
        cipher_suites,
        ..ring::default_provider()
    })
}

/// Whether the processor has instructions for AES; without them ChaCha20 is faster.
fn has_fast_aes() -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    let has = std::arch::is_x86_feature_detected!("aes")
        && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    let has = std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    let has = false;
    has
}

/// The application protocol in TLS (RFC 7301): both ends must offer it.
const ALPN: &[u8] = b"mpfec/1";

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use rustls::AlertDescription;
    use rustls::crypto::ring::sign::any_supported_type;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::sign::{CertifiedKey, SingleCertAndKey};

    use super::*;
    use crate::crypto::pair::complete;
    use crate::error::TransportError;

    /// An authority, and a server with a certificate of it for `name`.
    fn authority(name: &str) -> (RootCertStore, ServerTls) {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("the system has randomness");
        let authority = CertifiedIssuer::self_signed(parameters, key).expect("a good key");
        let mut roots = RootCertStore::empty();
        roots
            .add(authority.der().clone())
            .expect("a good certificate");

        let key = KeyPair::generate().expect("the system has randomness");
        let parameters = CertificateParams::new([name.to_owned()]).expect("a good name");
        let certificate = parameters.signed_by(&key, &authority).expect("a good key");
        let identity =
            Identity::new(vec![certificate.into()], key.into()).expect("they belong together");
        let pem = identity.to_pem();
        (
            roots,
            ServerTls::from_pem(&pem, &pem).expect("the text is whole"),
        )
    }

    fn alert(client: &ClientTls, server: &ServerTls) -> Option<u64> {
        let error = complete(client, server).err()?;
        Some(error.code)
    }

    fn code(alert: AlertDescription) -> Option<u64> {
        Some(TransportError::crypto(alert.into(), "").code)
    }

    #[test]
    fn a_server_that_an_authority_vouches_for_is_trusted_under_its_name_only() {
        let (roots, server) = authority("files.example");
        let client = |name| ClientTls::roots(roots.clone(), name).expect("a good name");
        assert_eq!(alert(&client("files.example"), &server), None);
        assert_eq!(
            alert(&client("other.example"), &server),
            code(AlertDescription::BadCertificate)
        );
        let nobody = ServerTls::self_signed(&mut Rng::seeded(1));
        assert!(alert(&client("files.example"), &nobody).is_some());
    }

    #[test]
    fn a_server_is_trusted_under_its_address() {
        let (roots, server) = authority("192.0.2.1");
        let client = ClientTls::roots(roots, "192.0.2.1").expect("a good address");
        assert_eq!(alert(&client, &server), None);
    }

    #[test]
    fn a_client_needs_a_name_and_a_root() {
        let (roots, _) = authority("files.example");
        let error = ClientTls::roots(roots, "not a name").expect_err("spaces");
        assert_eq!(
            error,
            TlsError::ServerName {
                name: "not a name".into()
            }
        );
        let error =
            ClientTls::roots(RootCertStore::empty(), "files.example").expect_err("no roots");
        assert!(matches!(error, TlsError::Roots { .. }));
    }

    #[test]
    fn the_right_certificate_without_its_key_is_refused() {
        let honest = ServerTls::self_signed(&mut Rng::seeded(1));
        let mut thief = ServerTls::self_signed(&mut Rng::seeded(2));
        let pem = |seed| Identity::from_rng(&mut Rng::seeded(seed)).to_pem();
        let stolen = CertificateDer::from_pem_slice(pem(1).as_bytes()).expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(pem(2).as_bytes()).expect("a key");
        let key = any_supported_type(&key).expect("an Ed25519 key");
        let mut config = ServerConfig::clone(&thief.config);
        config.cert_resolver =
            Arc::new(SingleCertAndKey::from(CertifiedKey::new(vec![stolen], key)));
        thief.config = Arc::new(config);

        let client = ClientTls::pinned(honest.fingerprint());
        assert_eq!(alert(&client, &honest), None);
        assert_eq!(alert(&client, &thief), code(AlertDescription::DecryptError));
    }

    #[test]
    fn an_end_that_speaks_another_protocol_is_refused() {
        let server = ServerTls::self_signed(&mut Rng::seeded(1));
        for protocols in [vec![], vec![b"h3".to_vec()]] {
            let mut client = ClientTls::pinned(server.fingerprint());
            let mut config = ClientConfig::clone(&client.config);
            config.alpn_protocols = protocols;
            client.config = Arc::new(config);
            let error = complete(&client, &server).expect_err("no common protocol");
            let no_protocol = code(AlertDescription::NoApplicationProtocol);
            assert_eq!(Some(error.code), no_protocol, "{error}");
            assert_eq!(error.reason, "the peer does not speak mpfec");
        }
    }
}
