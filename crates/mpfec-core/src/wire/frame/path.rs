//! Connection IDs of paths, whether a path works, and how it is to be used.

use super::field::plain_frame;
use super::{
    ADD_ADDRESS, AUTHENTICATE, PATH_ABANDON, PATH_CHALLENGE, PATH_CONNECTION_ID, PATH_RESPONSE,
    PATH_STATUS, REMOVE_ADDRESS,
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
        /// Why: 0 or an application's code.
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
