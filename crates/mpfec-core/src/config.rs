//! What an endpoint is told before it starts.

use std::sync::Arc;
use std::time::Duration;

use crate::crypto::{ClientTls, ResetKey, ServerTls};
use crate::endpoint::Secret;
use crate::profile::Profile;

/// How connections behave. Values out of their range are moved into it when a connection
/// starts ([`validated`](Self::validated)). The defaults need no tuning, for windows grow with the
/// links up to their bounds; everything else is for experts.
#[derive(Debug, Clone)]
pub struct TransportConfig {
    /// Codec, scheduler, congestion controller and redundancy policy. With parts that do not
    /// work together ([`Profile::check`]) a client starts no connection and a server takes none.
    pub profile: Profile,
    /// A handshake that takes longer fails; on a server, the proof that the client holds the
    /// secret counts as part of it. 20 s if not set; from 100 ms to a year.
    pub handshake_timeout: Duration,
    /// A connection on which nothing arrives for this long is lost. The smaller of both
    /// ends' values counts. 30 s if not set. Zero: never; at most a year.
    pub idle_timeout: Duration,
    /// A path on which nothing was sent for this long is asked for an answer, so that the
    /// connection stays open and NATs on the way keep its addresses. Zero, which is the
    /// default: never; at most a year.
    pub keep_alive: Duration,
    /// Bytes of one stream that the peer may send beyond what the application has read, at
    /// most: 48 MiB if not set, so that one that is not read leaves the others something; 16 KiB
    /// to 4 GiB. A stream begins with 8 MiB of it, and its window doubles while that is what
    /// holds the peer back. It never shrinks.
    pub stream_window: u64,
    /// The same for all streams together, which bounds what a peer can make this end keep that was not
    /// read: 64 MiB if not set; from `stream_window` to 4 GiB. What was read of a block that is not complete
    /// is kept besides, of one block a stream and 1024 symbols at most. A connection begins with 12 MiB of it: one
    /// stream that nobody reads leaves the others something, two stop them until they are read.
    pub connection_window: u64,
    /// Bytes that writers may be ahead of what the peer has received, per connection, at most:
    /// 64 MiB if not set; 16 KiB to 4 GiB. Of what has not left yet they may write about as
    /// much as the paths carry in the longest round trip and 100 ms. Messages on streams of
    /// their own, and streams with a deadline, may take more: an eighth of all, and 1 MiB of
    /// what has not left.
    pub send_buffer: u64,
    /// Bidirectional streams that the peer may have open at once: 100 if not set; at most 2^20.
    pub max_streams_bidi: u64,
    /// Unidirectional streams that the peer may have open at once: 100 if not set; at most
    /// 2^20.
    pub max_streams_uni: u64,
    /// Source symbols in a block at most (K_max): 64 if not set; 1 to 1024, of which a profile
    /// with the linear code uses 256.
    pub max_block_symbols: u16,
    /// Largest UDP payload to look for on a path: 1472 bytes if not set; 1200 to 9000.
    pub max_mtu: u16,
    /// Bytes of datagrams (unreliable messages) that may wait in each direction: 1 MiB if not
    /// set; at most 1 GiB. Not more than 4096 wait however small they are. Of those that arrive
    /// the oldest give way to others; `ConnectionStats::dropped_datagrams` counts those that
    /// nobody read.
    pub datagram_buffer: usize,
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            profile: Profile::AUTO,
            handshake_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(30),
            keep_alive: Duration::ZERO,
            stream_window: 48 << 20,
            connection_window: 64 << 20,
            send_buffer: 64 << 20,
            max_streams_bidi: 100,
            max_streams_uni: 100,
            max_block_symbols: 64,
            max_mtu: 1472,
            datagram_buffer: 1 << 20,
        }
    }
}

impl TransportConfig {
    /// The same with every value moved into its range.
    #[must_use]
    pub fn validated(mut self) -> Self {
        self.handshake_timeout = self
            .handshake_timeout
            .clamp(Duration::from_millis(100), LONGEST);
        self.idle_timeout = self.idle_timeout.min(LONGEST);
        self.keep_alive = self.keep_alive.min(LONGEST);
        self.max_block_symbols = self.max_block_symbols.clamp(1, 1024);
        self.max_mtu = self.max_mtu.clamp(1200, 9000);
        self.stream_window = self.stream_window.clamp(16 << 10, 1 << 32);
        self.connection_window = self.connection_window.clamp(self.stream_window, 1 << 32);
        self.send_buffer = self.send_buffer.clamp(16 << 10, 1 << 32);
        self.max_streams_bidi = self.max_streams_bidi.min(1 << 20);
        self.max_streams_uni = self.max_streams_uni.min(1 << 20);
        self.datagram_buffer = self.datagram_buffer.min(1 << 30);
        self
    }

    /// The window that a stream begins with.
    pub(crate) fn first_stream_window(&self) -> u64 {
        self.stream_window.min(FIRST_STREAM_WINDOW)
    }

    /// The window that all streams together begin with.
    pub(crate) fn first_connection_window(&self) -> u64 {
        self.connection_window.min(FIRST_CONNECTION_WINDOW)
    }
}

/// What a server needs.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Certificate and key.
    pub tls: ServerTls,
    /// How connections behave.
    pub transport: Arc<TransportConfig>,
    /// If set, clients must prove that they hold this secret before anything else.
    pub secret: Option<Secret>,
    /// Handshakes under way above which clients must first prove their address (Retry): 64 if
    /// not set.
    pub retry_above: usize,
    /// Connections at most, 4096 if not set; further ones are refused.
    pub max_connections: usize,
    /// What stateless resets are made from. A server that is given the same key when it
    /// starts again can tell the clients of before that it has forgotten them; with a new
    /// one, which is the default, they wait for their idle timeout. It counts from the start
    /// of an endpoint on.
    pub reset_key: Option<ResetKey>,
}

impl ServerConfig {
    /// A server that accepts anybody who trusts its certificate.
    #[must_use]
    pub fn new(tls: ServerTls) -> Self {
        Self {
            tls,
            transport: Arc::default(),
            secret: None,
            retry_above: 64,
            max_connections: 4096,
            reset_key: None,
        }
    }

    /// The same, with a key for stateless resets that was kept.
    #[must_use]
    pub fn with_reset_key(mut self, key: ResetKey) -> Self {
        self.reset_key = Some(key);
        self
    }

    /// The same, for clients that hold `secret` only.
    #[must_use]
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// The same with other transport settings; values out of range are moved into it.
    #[must_use]
    pub fn with_transport(mut self, transport: TransportConfig) -> Self {
        self.transport = Arc::new(transport.validated());
        self
    }
}

/// What a client needs.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Whom to trust.
    pub tls: ClientTls,
    /// How connections behave.
    pub transport: Arc<TransportConfig>,
    /// The secret that the server asks for.
    pub secret: Option<Secret>,
}

impl ClientConfig {
    /// A client that trusts what `tls` says.
    #[must_use]
    pub fn new(tls: ClientTls) -> Self {
        Self {
            tls,
            transport: Arc::default(),
            secret: None,
        }
    }

    /// The same, proving to the server that it holds `secret`.
    #[must_use]
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// The same with other transport settings; values out of range are moved into it.
    #[must_use]
    pub fn with_transport(mut self, transport: TransportConfig) -> Self {
        self.transport = Arc::new(transport.validated());
        self
    }
}

/// 100 Mbit/s at 200 ms, lost symbols included, take so much.
const FIRST_STREAM_WINDOW: u64 = 8 << 20;
/// A stream that is not read leaves the others a third.
const FIRST_CONNECTION_WINDOW: u64 = 12 << 20;
/// No wait is longer: a year, which can be added to any instant.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_at_most_a_year_and_may_be_for_ever() {
        let for_ages = TransportConfig {
            idle_timeout: Duration::MAX,
            keep_alive: Duration::MAX,
            ..TransportConfig::default()
        };
        let validated = for_ages.validated();
        assert_eq!(
            (validated.idle_timeout, validated.keep_alive),
            (LONGEST, LONGEST)
        );
        let never = TransportConfig {
            idle_timeout: Duration::ZERO,
            ..TransportConfig::default()
        };
        assert_eq!(never.validated().idle_timeout, Duration::ZERO);
    }
}
