//! Everything that keeps a connection secret and authentic: TLS 1.3 through rustls,
//! packet protection (RFC 9001), and what is derived from secrets of our own.

mod authenticate;
mod handshake;
mod identity;
mod keys;
mod one_rtt;
#[cfg(any(test, feature = "fuzzing"))]
mod pair;
mod pin;
mod protection;
mod reset;
mod retry;
mod stranger;
mod tls;

pub(crate) use self::authenticate::{authenticate, verify_authentication};
pub(crate) use self::handshake::{Handshake, KeyChange, Level};
pub use self::identity::{Fingerprint, FingerprintError, Identity, IdentityError};
pub(crate) use self::keys::Keys;
pub(crate) use self::one_rtt::OneRttKeys;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::pair::connected;
pub(crate) use self::protection::{OpenError, Opened};
pub use self::reset::ResetKey;
pub(crate) use self::retry::{retry_tag, verify_retry_tag};
pub(crate) use self::stranger::is_authentic_initial;
pub use self::tls::{ClientTls, ServerTls, TlsError};
