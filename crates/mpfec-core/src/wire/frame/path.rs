//! Connection IDs of paths, whether a path works, and how it is to be used.

use super::field::plain_frame;
use super::{
    ADD_ADDRESS, AUTHENTICATE, PATH_ABANDON, PATH_CHALLENGE, PATH_CONNECTION_ID, PATH_RESPONSE,
    PATH_SHARE, PATH_STATUS, REMOVE_ADDRESS,
};
use crate::wire::IssuedId;

plain_frame! {
    /// Where packets for a path that may be opened go to.
    PathConnectionId = PATH_CONNECTION_ID => {
        path: u32,
        issued: IssuedId,
    }
}

plain_frame! {
    /// A path is closed for good.
    PathAbandon = PATH_ABANDON => {
        path: u32,
        /// Why: 0 is the only code so far.
        code: u64,
    }
}

plain_frame! {
    /// Does the peer receive at this address (RFC 9000 §19.17)?
    PathChallenge = PATH_CHALLENGE => {
        /// Unpredictable.
        data: [u8; 8],
    }
}

plain_frame! {
    /// It does (RFC 9000 §19.18).
    PathResponse = PATH_RESPONSE => {
        /// That of the challenge.
        data: [u8; 8],
    }
}

plain_frame! {
    /// Whether a path is to be used only when no other works.
    PathStatus = PATH_STATUS => {
        path: u32,
        /// Later statuses of the path have higher numbers.
        sequence: u64,
        backup: bool,
    }
}

plain_frame! {
    /// How much more the path would take of a relay's link under standard control than the
    /// relay's own flows leave unused (`rho_r`, UC Eq. 7.3).
    PathShare = PATH_SHARE => {
        path: u32,
        /// Later shares of the path have higher numbers.
        sequence: u64,
        /// In units of 2^-16; 0 says nothing.
        share: u32,
    }
}

impl PathShare {
    /// `rho` as it is written: at least one unit, and what is too large for it is the largest.
    pub(crate) fn of(rho: f64) -> u32 {
        (rho * UNITS).clamp(1.0, f64::from(u32::MAX)).round() as u32
    }

    /// The number that the share stands for, unless it says nothing.
    pub(crate) fn rho(&self) -> Option<f64> {
        (self.share > 0).then(|| f64::from(self.share) / UNITS)
    }
}

/// Units of a share in 1.
const UNITS: f64 = 65_536.0;

plain_frame! {
    /// The sender can be reached here as well (after RFC 8684 §3.4.1).
    AddAddress = ADD_ADDRESS => {
        /// Never used again for another address.
        id: u64,
        address: std::net::SocketAddr,
    }
}

plain_frame! {
    /// The sender can no longer be reached there (after RFC 8684 §3.4.2).
    RemoveAddress = REMOVE_ADDRESS => {
        id: u64,
    }
}

plain_frame! {
    /// The client's proof that it holds the ticket's secret.
    Authenticate = AUTHENTICATE => {
        /// HMAC-SHA256 with the secret as key over the TLS exporter's value.
        mac: [u8; 32],
    }
}
