//! Connection IDs and the stateless reset tokens that belong to them (RFC 9000 §5.1, §10.3).

use std::fmt;

use super::LOCAL_CID_LEN;

/// Names a connection, and in 1-RTT packets the path too; 0 to 20 bytes (RFC 9000 §17.2).
/// Those that this implementation hands out have 8.
#[derive(Clone, Copy)]
pub struct ConnectionId {
    len: u8,
    bytes: [u8; Self::MAX_LEN],
}

impl ConnectionId {
    /// The longest that a long header of this version can hold.
    pub const MAX_LEN: usize = 20;

    /// A copy of `bytes`; `None` if there are more than 20.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = Self {
            len: u8::try_from(bytes.len()).ok()?,
            bytes: [0; Self::MAX_LEN],
        };
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(id)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<[u8; LOCAL_CID_LEN]> for ConnectionId {
    fn from(bytes: [u8; LOCAL_CID_LEN]) -> Self {
        let mut id = Self {
            len: LOCAL_CID_LEN as u8,
            bytes: [0; Self::MAX_LEN],
        };
        id.bytes[..LOCAL_CID_LEN].copy_from_slice(&bytes);
        id
    }
}

impl AsRef<[u8]> for ConnectionId {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for ConnectionId {
    fn eq(&self, other: &Self) -> bool {
        // What lies behind the length is always zero.
        self.len == other.len && self.bytes == other.bytes
    }
}

impl Eq for ConnectionId {}

impl PartialOrd for ConnectionId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ConnectionId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl std::hash::Hash for ConnectionId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice()
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Proves that who sends it knew the connection, although it has lost its state
/// (RFC 9000 §10.3). Compared in a time that does not depend on the bytes.
#[derive(Clone, Copy)]
pub struct ResetToken(pub [u8; 16]);

impl std::hash::Hash for ResetToken {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for ResetToken {
    fn eq(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .fold(0, |differences, (a, b)| differences | (a ^ b))
            == 0
    }
}

impl Eq for ResetToken {}

impl From<[u8; 16]> for ResetToken {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for ResetToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who reads it in a log could end the connection.
        f.write_str("ResetToken(..)")
    }
}

/// A connection ID as its owner hands it out: 8 bytes, and the token that resets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IssuedId {
    /// Where packets for the path go to.
    pub cid: ConnectionId,
    /// Ends a stateless reset in answer to packets with this ID.
    pub reset_token: ResetToken,
}

impl IssuedId {
    /// Bytes on the wire.
    pub(crate) const SIZE: usize = LOCAL_CID_LEN + 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_bytes_are_the_most_a_connection_id_takes() {
        assert_eq!(ConnectionId::new(&[7; 20]).map(|id| id.len()), Some(20));
        assert_eq!(ConnectionId::new(&[7; 21]), None);
        assert_eq!(ConnectionId::new(&[7; 300]), None);
        assert!(ConnectionId::new(&[]).is_some_and(|id| id.is_empty()));
    }

    #[test]
    fn connection_ids_with_the_same_start_differ_by_their_length() {
        assert_ne!(ConnectionId::new(&[0; 7]), ConnectionId::new(&[0; 8]));
        assert_eq!(ConnectionId::new(&[1; 8]), Some(ConnectionId::from([1; 8])));
    }

    #[test]
    fn a_reset_token_is_not_printed() {
        assert_eq!(format!("{:?}", ResetToken([0x5a; 16])), "ResetToken(..)");
        assert_ne!(ResetToken([0; 16]), ResetToken([1; 16]));
    }
}
