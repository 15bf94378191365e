//! What goes wrong: on the wire, and as the application sees it.

use std::borrow::Cow;
use std::fmt;

/// An error that closes the connection and is sent to the peer in CONNECTION_CLOSE
/// (RFC 9000 §20.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportError {
    /// The code on the wire.
    pub code: u64,
    /// Type of the frame that caused it, 0 where none did.
    pub frame: u64,
    /// What was wrong, for people.
    pub reason: Cow<'static, str>,
}

impl TransportError {
    /// An error with any code.
    pub fn new(code: u64, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            frame: 0,
            reason: reason.into(),
        }
    }

    /// The same error, naming the frame type that caused it.
    #[must_use]
    pub fn in_frame(mut self, frame: u64) -> Self {
        self.frame = frame;
        self
    }
}

macro_rules! transport_errors {
    ($($(#[$meta:meta])* $constructor:ident $constant:ident = $code:literal;)*) => {
        impl TransportError {
            $(
                $(#[$meta])*
                pub const $constant: u64 = $code;

                $(#[$meta])*
                pub fn $constructor(reason: impl Into<Cow<'static, str>>) -> Self {
                    Self::new(Self::$constant, reason)
                }
            )*
        }
    };
}

transport_errors! {
    /// Closed without an error.
    no_error NO_ERROR = 0x0;
    /// We are at fault.
    internal INTERNAL_ERROR = 0x1;
    /// The server does not want this connection.
    connection_refused CONNECTION_REFUSED = 0x2;
    /// More data than was allowed.
    flow_control FLOW_CONTROL_ERROR = 0x3;
    /// More streams than were allowed.
    stream_limit STREAM_LIMIT_ERROR = 0x4;
    /// A frame for a stream that cannot take it.
    stream_state STREAM_STATE_ERROR = 0x5;
    /// The end of a stream moved.
    final_size FINAL_SIZE_ERROR = 0x6;
    /// A frame that cannot be read.
    frame_encoding FRAME_ENCODING_ERROR = 0x7;
    /// Transport parameters that cannot be read or are out of range.
    transport_parameter TRANSPORT_PARAMETER_ERROR = 0x8;
    /// More connection IDs than were allowed.
    connection_id_limit CONNECTION_ID_LIMIT_ERROR = 0x9;
    /// Something that the protocol forbids.
    protocol_violation PROTOCOL_VIOLATION = 0xa;
    /// A Retry token that this server did not make.
    invalid_token INVALID_TOKEN = 0xb;
    /// The peer's application closed during the handshake.
    application APPLICATION_ERROR = 0xc;
    /// More handshake data than is buffered.
    crypto_buffer CRYPTO_BUFFER_EXCEEDED = 0xd;
    /// A key update that came too early.
    key_update KEY_UPDATE_ERROR = 0xe;
    /// A key has protected or rejected as many packets as it may.
    aead_limit AEAD_LIMIT_REACHED = 0xf;
    /// No path is left.
    no_viable_path NO_VIABLE_PATH = 0x10;
    /// The client does not hold the ticket's secret.
    authentication_failed AUTHENTICATION_FAILED = 0x4d01;
}

impl TransportError {
    /// A TLS alert (RFC 9001 §4.8).
    pub fn crypto(alert: u8, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(0x100 + u64::from(alert), reason)
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match &*self.reason {
            "" => "no reason is given",
            reason => reason,
        };
        write!(f, "{reason} (code {:#x}", self.code)?;
        if self.frame != 0 {
            write!(f, ", frame {:#04x}", self.frame)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for TransportError {}
