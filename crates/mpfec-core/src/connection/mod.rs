//! A connection as a state machine: datagrams, time and commands in, datagrams, timers and
//! events out. It decides nothing itself: it routes to the components that do.

mod acks;
mod address;
mod close;
mod closing;
mod control;
mod data;
mod datagram;
mod dispatch;
mod early;
mod establish;
mod event;
#[cfg(any(test, feature = "fuzzing"))]
mod forge;
mod groups;
mod handshake;
mod last_resort;
mod lost;
mod open;
mod parity;
mod receive;
mod routes;
mod shares;
mod sizes;
mod state;
mod stats;
mod timers;
mod transmit;
mod view;
mod windows;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mpfec_congestion::PacketState;
use mpfec_sched::Scheduler;

use crate::address::{Datagram, FourTuple, Transmit};
use crate::config::TransportConfig;
use crate::crypto::OneRttKeys;
use crate::id::{Dir, Side, StreamId};
use crate::path::PathSet;
use crate::recovery::{Acked, Lost};
use crate::rng::Rng;
use crate::stream::{ReadError, StreamStats, Streams, WriteError};

use self::address::Addresses;
use self::control::Control;
use self::datagram::{Datagrams, NUMBER_ROOM};
use self::groups::Groups;
use self::handshake::HandshakeSpaces;
use self::state::{CloseFrame, State};
use self::view::PathViews;

pub use self::datagram::{DatagramOptions, DatagramRedundancy, SendDatagramError};
pub(crate) use self::establish::parameters;
pub use self::event::{EndpointEvent, Event, PathChange, PathEvent};
pub(crate) use self::handshake::{Authentication, Opening};
pub use self::open::{ClosePathError, OpenPathError};
pub use self::state::CloseReason;
pub use self::stats::{ConnectionStats, ParityStats, PathStats, PathStatus};
pub use self::timers::Timer;

/// One end of a connection.
///
/// Any number of inputs may come before the outputs are drained, but to forget to drain
/// them costs time: after each input call [`poll_transmit`](Self::poll_transmit) until it
/// gives nothing, then the events, then arm a timer with
/// [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Connection {
    side: Side,
    config: Arc<TransportConfig>,
    rng: Rng,
    state: State,
    handshake: HandshakeSpaces,
    keys: Option<OneRttKeys>,
    paths: PathSet,
    path_views: PathViews,
    streams: Streams,
    scheduler: Box<dyn Scheduler>,
    groups: Option<Groups>,
    datagrams: Datagrams,
    addresses: Addresses,
    control: Control,
    /// 1-RTT packets of before the handshake was complete.
    early: Vec<receive::Early>,
    closing: ClosingSend,
    /// Whether the peer's transport parameters are applied.
    peer_known: bool,
    /// The peer wants to know when packets arrived.
    tells_times: bool,
    events: VecDeque<Event>,
    endpoint_events: VecDeque<EndpointEvent>,
    idle_timeout: Duration,
    started: Instant,
    idle_since: Instant,
    /// The peer has closed the last path: until then another one may be opened.
    deserted_until: Option<Instant>,
    /// Whether anything arrived since something was sent that asks for an answer.
    is_answered: bool,
    last_sent: Instant,
    /// Where the next round over the paths starts, so that none is always first.
    next_path: usize,
    totals: Totals,
    scratch: Scratch,
    last_now: Instant,
    /// When the datagram that is taken apart came is not known: its caller read the clock before
    /// others whose times were handed in earlier.
    is_backdated: bool,
}

/// A packet that arrived, with what delivery rate estimation noted when it left.
type AckedPacket = Acked<PacketState>;
/// A packet that did not.
type LostPacket = Lost<PacketState>;

/// Buffers that are used again, so that nothing is allocated per packet.
#[derive(Debug, Default)]
struct Scratch {
    acked: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
}

/// The closing packet, and the paths on which it still has to leave.
#[derive(Debug, Default)]
struct ClosingSend {
    frame: Option<CloseFrame>,
    paths: Vec<usize>,
}

/// Counters that outlive paths.
#[derive(Debug, Default)]
struct Totals {
    sent_bytes: u64,
    received_bytes: u64,
    dropped_packets: u64,
}

impl Connection {
    /// Takes one UDP payload. Whatever it holds, this neither fails nor panics: what cannot
    /// be authenticated is dropped, what an authenticated peer does wrong ends the
    /// connection.
    pub fn handle_datagram(&mut self, now: Instant, datagram: Datagram) {
        self.is_backdated = self.last_now.saturating_duration_since(now) > BACKDATED;
        let now = self.monotonic(now);
        self.receive(now, datagram);
    }

    /// Fires what is due; harmless when nothing is.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.monotonic(now);
        self.on_timeout(now);
    }

    /// This host would not send a datagram of `size` bytes of payload from `tuple` because
    /// its interface takes none so large (EMSGSIZE; RFC 8899 §3): packets of that path are
    /// smaller from now on, without waiting until they count as lost.
    pub fn datagram_too_big(&mut self, now: Instant, tuple: &FourTuple, size: usize) {
        let now = self.monotonic(now);
        let size = u16::try_from(size).unwrap_or(u16::MAX);
        let mut index = 0;
        while let Some(path) = self.paths.at_mut(index) {
            if path.tuple.is_same_route(tuple) && path.mtu.on_too_big(size, now) {
                self.on_mtu_changed(index);
            }
            index += 1;
        }
    }

    /// Writes the next datagram, or up to `max_segments` datagrams of equal size to the same
    /// peer, to the end of `buf`, which should be empty. `None`: nothing to send now.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        max_segments: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let now = self.monotonic(now);
        self.streams.date_blocks(now);
        self.drop_late_datagrams(now);
        let mut transmit = self.transmit(now, max_segments.max(1), buf)?;
        if self.side == Side::Client {
            // A source that this host no longer has would be refused.
            transmit.tuple.local_ip = None;
        }
        Some(transmit)
    }

    /// When to call [`handle_timeout`](Self::handle_timeout); what was said before no longer
    /// holds. `None`: only when something else happens.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next_timer().map(|(at, _)| at)
    }

    /// What the application should know next.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if self.handshake.is_usable() {
            self.streams.poll_event().map(Event::Stream)
        } else {
            None
        }
    }

    /// What the endpoint should know next.
    pub fn poll_endpoint_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    /// Which end this is.
    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }

    /// Whether the TLS handshake is still going on.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.state.is_handshaking()
    }

    /// Whether the connection is over; datagrams that end it may still have to leave.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        !self.state.is_open()
    }

    /// Whether there is nothing left to do, not even to answer late packets.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.state.is_drained()
    }

    /// Opens a stream, unless the peer's limit is reached; then `Available` tells when it
    /// has risen.
    pub fn open_stream(&mut self, dir: Dir) -> Option<StreamId> {
        if self.state.is_open() {
            self.streams.open(dir)
        } else {
            None
        }
    }

    /// Takes the next stream that the peer opened.
    pub fn accept_stream(&mut self, dir: Dir) -> Option<StreamId> {
        self.streams.accept(dir)
    }

    /// Whether the application has had a stream: it opened it, or took it with [`Self::accept_stream`].
    pub fn is_taken(&self, stream: StreamId) -> bool {
        self.streams.is_taken(stream)
    }

    /// Hands bytes to a stream. Returns how many it took.
    ///
    /// # Errors
    /// See [`WriteError`]; `Blocked` is followed by a `Writable` event.
    pub fn write(&mut self, stream: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        if !self.state.is_open() {
            return Err(WriteError::Closed);
        }
        self.streams.write(stream, data)
    }

    /// Takes the next bytes of a stream, at most `max`; `None` at its end.
    ///
    /// # Errors
    /// See [`ReadError`]; `Blocked` is followed by a `Readable` event.
    pub fn read(&mut self, stream: StreamId, max: usize) -> Result<Option<Bytes>, ReadError> {
        self.streams.read(stream, max)
    }

    /// Whether there is news for the peer about streams, for example that more was read.
    #[must_use]
    pub fn has_stream_news(&self) -> bool {
        self.streams.has_control()
    }

    /// Ends the open block, so that it can be repaired without waiting for more data.
    pub fn flush(&mut self, stream: StreamId) {
        self.streams.flush(stream);
    }

    /// Says that nothing more will be written to a stream.
    ///
    /// # Errors
    /// If the peer stopped the stream, or it was ended before.
    pub fn finish(&mut self, stream: StreamId) -> Result<(), WriteError> {
        self.streams.finish(stream)
    }

    /// Abandons what was written to a stream; the peer's reader sees `code`, or 2^62 - 1 if that
    /// is less.
    pub fn reset(&mut self, stream: StreamId, code: u64) {
        self.streams.reset(stream, code);
    }

    /// Says that nothing more will be read from a stream; the peer's writer sees `code`, or
    /// 2^62 - 1 if that is less.
    pub fn stop(&mut self, stream: StreamId, code: u64) {
        self.streams.stop(stream, code);
    }

    /// Data of streams with a higher priority go first; 0 from the start.
    pub fn set_priority(&mut self, stream: StreamId, priority: i32) {
        self.streams.set_priority(stream, priority);
    }

    /// What is written to the stream from now on should be read by the peer within `deadline`;
    /// `None`, as from the start: nobody waits for it. It goes before what streams of the same
    /// priority have queued, on paths that arrive in time, and is protected ahead of loss where a
    /// repair after feedback would come too late, within a budget. What is late is delivered all
    /// the same.
    pub fn set_deadline(&mut self, stream: StreamId, deadline: Option<Duration>) {
        self.streams.set_deadline(stream, deadline);
    }

    /// Sends an unreliable message once, on the path where it arrives first.
    ///
    /// # Errors
    /// See [`SendDatagramError`].
    pub fn send_datagram(&mut self, data: Bytes) -> Result<(), SendDatagramError> {
        self.send_datagram_with(self.last_now, data, &DatagramOptions::default())
    }

    /// Sends an unreliable message that should be with the peer within `deadline`: it leaves
    /// again if it is lost and time is left, or twice at once if there will be none, and is
    /// dropped if it is too late before it has left. 8 bytes less fit than without a deadline.
    ///
    /// # Errors
    /// See [`SendDatagramError`].
    pub fn send_datagram_by(
        &mut self,
        now: Instant,
        data: Bytes,
        deadline: Duration,
    ) -> Result<(), SendDatagramError> {
        let options = DatagramOptions {
            deadline: Some(deadline),
            redundancy: DatagramRedundancy::InTime,
        };
        self.send_datagram_with(now, data, &options)
    }

    /// Sends an unreliable message as `options` say. 8 bytes less than
    /// [`max_datagram_size`](Self::max_datagram_size) fit if it may leave more than once.
    ///
    /// # Errors
    /// See [`SendDatagramError`].
    pub fn send_datagram_with(
        &mut self,
        now: Instant,
        data: Bytes,
        options: &DatagramOptions,
    ) -> Result<(), SendDatagramError> {
        let now = self.monotonic(now);
        if !self.state.is_open() {
            return Err(SendDatagramError::Closed);
        }
        let max = self
            .max_datagram_size()
            .ok_or(SendDatagramError::Unsupported)?;
        let max = match options.redundancy {
            DatagramRedundancy::Never => max,
            _ => max.saturating_sub(NUMBER_ROOM),
        };
        if data.len() > max {
            return Err(SendDatagramError::TooLarge {
                size: data.len(),
                max,
            });
        }
        self.datagrams.outgoing.send(now, data, options)
    }

    /// Takes the oldest unread message.
    pub fn recv_datagram(&mut self) -> Option<Bytes> {
        self.datagrams.recv()
    }

    /// Ends the connection, telling the peer's application `code`, or 2^62 - 1 if that is less,
    /// and 256 characters of `reason`, or fewer where the packet has no room for so many. What
    /// was written and not yet delivered is lost.
    pub fn close(&mut self, now: Instant, code: u64, reason: &str) {
        let now = self.monotonic(now);
        self.close_locally(now, code, reason);
    }

    /// Uses new keys from the next packet on (RFC 9001 §6).
    pub fn update_keys(&mut self) {
        if let Some(keys) = &mut self.keys {
            keys.initiate_update();
        }
    }

    /// Counters, and paths as they are now.
    #[must_use]
    pub fn stats(&self) -> ConnectionStats {
        ConnectionStats {
            streams: self.streams.stats(),
            paths: self
                .paths
                .iter()
                .map(|path| {
                    let left_out = self.scheduler.leaves_out(path.slot);
                    PathStats::of(self.last_now, path, left_out)
                })
                .collect(),
            sent_bytes: self.totals.sent_bytes,
            received_bytes: self.totals.received_bytes,
            dropped_packets: self.totals.dropped_packets,
            dropped_datagrams: self.datagrams.dropped + self.datagrams.outgoing.counters.dropped,
            late_datagrams: self.datagrams.outgoing.counters.late,
            repeated_datagrams: self.datagrams.outgoing.counters.repeated,
            receive_window: self.streams.receive_window(),
            send_lead: self.streams.lead(),
        }
    }

    /// Bytes of a stream that the peer has acknowledged of those written here, in whatever order
    /// they arrived; repair symbols count for what they make up for. It may fall where packets
    /// become smaller. `None` once all of the stream is delivered, or it was reset or stopped.
    #[must_use]
    pub fn acknowledged_bytes(&self, stream: StreamId) -> Option<u64> {
        self.streams.acknowledged(stream)
    }

    /// [`ConnectionStats::streams`] alone, which costs nothing.
    #[must_use]
    pub fn stream_stats(&self) -> StreamStats {
        self.streams.stats()
    }

    /// Where the handshake is tried, or where the peer is reached on each open path.
    #[must_use]
    pub fn tuples(&self) -> Vec<FourTuple> {
        if self.paths.len() == 0 {
            self.handshake.routes.tuples()
        } else {
            self.paths.iter().map(|path| path.tuple).collect()
        }
    }

    /// A clock that stands still rather than going back: callers on several threads may
    /// hand in times in another order than they took them.
    fn monotonic(&mut self, now: Instant) -> Instant {
        let has_slept = now.saturating_duration_since(self.last_now) > LATE
            && self.poll_timeout().is_some_and(|at| now > at + LATE);
        self.last_now = self.last_now.max(now);
        if has_slept {
            self.on_wake();
        }
        self.last_now
    }

    /// A timer is so late that the host slept, or its clock jumped.
    fn on_wake(&mut self) {
        self.handshake.on_wake(self.last_now);
        for path in self.paths.iter_mut() {
            path.rtt.on_wake(self.last_now);
        }
    }
}

/// No host is so busy that a timer fires so late.
const LATE: Duration = Duration::from_secs(1);
/// By how much callers on several threads may differ and times still be good for measurements.
const BACKDATED: Duration = Duration::from_millis(1);
