//! The life of a connection. Only this file changes the state.

use std::time::{Duration, Instant};

use crate::error::TransportError;

/// Why a connection ended, or could not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// This end's application closed it.
    #[error("closed by this application (code {0})")]
    LocallyClosed(u64),
    /// The peer's application closed it, with a code and a reason of its own.
    #[error("closed by the peer (code {code}): {reason}")]
    ApplicationClosed {
        /// The application's code.
        code: u64,
        /// The application's words.
        reason: String,
    },
    /// The peer found an error of ours, or refused.
    #[error("the peer ended the connection: {0}")]
    PeerError(TransportError),
    /// We found an error of the peer's.
    #[error("{0}")]
    TransportError(TransportError),
    /// Nothing arrived for too long on any path.
    #[error("nothing arrived from the peer for too long")]
    TimedOut,
    /// The peer lost its state, for example because it was restarted.
    #[error("the peer no longer knows this connection")]
    Reset,
    /// What moved its datagrams is gone, for example with the runtime it ran in.
    #[error("the endpoint of the connection is gone")]
    EndpointGone,
    /// The peer speaks none of our versions.
    #[error("the peer speaks no version of the protocol that we know; it offers {offered:x?}")]
    VersionMismatch {
        /// What it speaks.
        offered: Vec<u32>,
    },
}

impl CloseReason {
    /// Whether the peer's or our proof of identity failed: certificate or secret.
    #[must_use]
    pub fn is_authentication(&self) -> bool {
        let (Self::PeerError(error) | Self::TransportError(error)) = self else {
            return false;
        };
        // TLS alerts 42 to 51 are about certificates and signatures, 116 asks for one.
        error.code == TransportError::AUTHENTICATION_FAILED
            || matches!(error.code.checked_sub(0x100), Some(42..=51 | 116))
    }

    /// Whether the peer's endpoint would not take the connection.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::PeerError(error) => error.code == TransportError::CONNECTION_REFUSED,
            Self::VersionMismatch { .. } => true,
            _ => false,
        }
    }
}

/// What goes into the closing packet (RFC 9000 §19.19).
#[derive(Debug, Clone)]
pub(crate) enum CloseFrame {
    Transport(TransportError),
    Application { code: u64, reason: String },
}

/// Where the connection is in its life (RFC 9000 §10.2).
#[derive(Debug)]
pub(crate) enum State {
    /// Until the TLS handshake is complete at this end.
    Handshaking,
    Established,
    /// We said that it is over; packets that still arrive are answered with the same.
    Closing {
        until: Instant,
        period: Duration,
        frame: CloseFrame,
        send: bool,
        /// The first of these packets has had its chance to leave.
        said: bool,
        arrived: u32,
        /// When it is said again to a peer that has nothing to say, or is not heard.
        repeat_at: Option<Instant>,
    },
    /// The peer said that it is over.
    Draining {
        until: Instant,
    },
    Drained,
}

impl State {
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self, Self::Handshaking)
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Handshaking | Self::Established)
    }

    /// Whether nothing that arrives matters any more.
    pub(crate) fn is_draining(&self) -> bool {
        matches!(self, Self::Draining { .. } | Self::Drained)
    }

    pub(crate) fn is_drained(&self) -> bool {
        matches!(self, Self::Drained)
    }

    pub(crate) fn establish(&mut self) {
        if self.is_handshaking() {
            *self = Self::Established;
        }
    }

    /// We end it: `period` later it is over. Returns false if it had ended before.
    pub(crate) fn close(&mut self, now: Instant, period: Duration, frame: CloseFrame) -> bool {
        let open = self.is_open();
        if open {
            *self = Self::Closing {
                until: now + period,
                period,
                frame,
                send: true,
                said: false,
                arrived: 0,
                repeat_at: Some(now + period / CLOSES),
            };
        }
        open
    }

    /// The peer ended it. Returns false if we knew.
    pub(crate) fn drain(&mut self, until: Instant) -> bool {
        let known = matches!(self, Self::Draining { .. } | Self::Drained);
        if !known {
            *self = Self::Draining { until };
        }
        !known
    }

    /// It is over at once: nobody is there to talk to.
    pub(crate) fn end(&mut self) {
        *self = Self::Drained;
    }

    /// A packet arrived while closing: repeat the close for the 1st, 2nd, 4th, 8th …
    pub(crate) fn on_packet_while_closing(&mut self) {
        if let Self::Closing { send, arrived, .. } = self {
            *arrived += 1;
            *send |= arrived.is_power_of_two();
        }
    }

    /// The frame that is to be sent now.
    pub(crate) fn take_close_frame(&mut self) -> Option<CloseFrame> {
        match self {
            Self::Closing {
                frame, send, said, ..
            } if *send => {
                *send = false;
                *said = true;
                Some(frame.clone())
            }
            _ => None,
        }
    }

    pub(crate) fn wants_to_send_close(&self) -> bool {
        matches!(self, Self::Closing { send: true, .. })
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Closing {
                until, repeat_at, ..
            } => Some(repeat_at.map_or(*until, |at| at.min(*until))),
            Self::Draining { until } => Some(*until),
            _ => None,
        }
    }

    /// Says the close again, or ends the closing or draining period. Returns whether the
    /// period ended just now.
    ///
    /// On a busy machine nothing may have been sent since the application closed the
    /// connection. Then the period begins again, once, for the peer is to hear of it.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        let Some(due) = self.next_timeout().filter(|due| now >= *due) else {
            return false;
        };
        if let Self::Closing {
            until,
            period,
            send,
            said,
            repeat_at,
            ..
        } = self
        {
            let step = *period / CLOSES;
            if due < *until && now < *until {
                *send = true;
                *repeat_at = Some(now + step).filter(|at| *at + step / 2 < *until);
                return false;
            }
            if !*said {
                *said = true;
                *until = now + *period;
                *repeat_at = Some(now + step);
                return false;
            }
        }
        *self = Self::Drained;
        true
    }
}

/// How often a close is said unasked for: at once, and after one and two thirds of the closing period,
/// which is three PTO as a rule.
const CLOSES: u32 = 3;
