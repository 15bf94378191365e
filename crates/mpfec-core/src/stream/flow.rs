//! Flow control (RFC 9000 §4): how far the peer may go, and how far we may.

use std::time::{Duration, Instant};

use crate::error::TransportError;

/// What we may send, of a stream or of all. Data count when they are written into blocks, so
/// everything in a block may leave.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SendCredit {
    used: u64,
    limit: u64,
}

impl SendCredit {
    pub(super) fn new(limit: u64) -> Self {
        Self { used: 0, limit }
    }

    /// Bytes that may still be written.
    pub(super) fn left(&self) -> u64 {
        self.limit - self.used
    }

    /// Bytes written.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn take(&mut self, bytes: u64) {
        self.used = self.limit.min(self.used + bytes);
    }

    /// Takes a new limit unless it is lower than the known one. Returns whether it rose.
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        let rose = limit > self.limit;
        self.limit = self.limit.max(limit);
        rose
    }
}

/// What the peer may send, of a stream or of all: a window beyond what was read, which doubles
/// while it is what holds the peer back.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveCredit {
    window: u64,
    /// The window never becomes larger.
    most: u64,
    /// The limit that the peer was told.
    limit: u64,
    /// Bytes up to the furthest that the peer has used.
    received: u64,
    /// Bytes that the application has read or that were thrown away.
    consumed: u64,
    /// What the size of the window is judged by.
    epoch: Option<Epoch>,
    /// The window is what holds the peer back, about: it waits for each update.
    holds_back: bool,
    /// The peer said that it waits for more than the limit that it was told.
    is_awaited: bool,
}

/// Round trips without queues, of the paths on which something arrived of late.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    /// In these a window that holds the peer back passes.
    shortest: Duration,
    /// In these a window must not be used up.
    longest: Duration,
}

impl Rounds {
    /// Those of paths that are alike.
    pub(crate) const fn even(round: Duration) -> Self {
        Self {
            shortest: round,
            longest: round,
        }
    }

    /// With those of more paths.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            shortest: self.shortest.min(more.shortest),
            longest: self.longest.max(more.longest),
        }
    }
}

/// A time of about a round trip in which a window is watched.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    began: Instant,
    /// Bytes that had been consumed by then.
    consumed: u64,
    /// Bytes at most that waited for something lost or late before them.
    waited: u64,
}

impl ReceiveCredit {
    pub(super) fn new(window: u64, most: u64) -> Self {
        Self {
            window,
            most,
            limit: window,
            received: 0,
            consumed: 0,
            epoch: None,
            holds_back: false,
            is_awaited: false,
        }
    }

    /// Bytes that the peer may be ahead of the application.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Something arrived: doubles the window, once in the longest round, if it is too small for
    /// what the paths bring and the application takes. `ready` are bytes that the application
    /// could read.
    ///
    /// Read at its rate, a window is to last for two rounds, one on the way and one for a
    /// repair. Where that is not enough, most of the window waits for repairs. What is merely
    /// not read says nothing: the application is the limit then.
    ///
    /// A window that does not last for two of the shortest rounds is as good as closed: the peer
    /// hears of what is read in smaller steps then.
    pub(super) fn tune(&mut self, now: Instant, rounds: Rounds, ready: u64) -> bool {
        let unread = self.received - self.consumed;
        let is_behind = ready > self.window / 8;
        let waits = if is_behind { 0 } else { unread };
        let consumed = self.consumed;
        let epoch = self.epoch.get_or_insert(Epoch {
            began: now,
            consumed,
            waited: 0,
        });
        epoch.waited = epoch.waited.max(waits);
        let elapsed = now.saturating_duration_since(epoch.began);
        let longest = rounds.longest.max(SHORTEST_ROUND);
        if elapsed < longest {
            return false;
        }
        let read = u128::from(consumed - epoch.consumed);
        let lasts_for_two = |round: Duration| {
            read * 2 * round.as_nanos() < u128::from(self.window) * elapsed.as_nanos()
        };
        let is_read_fast = !lasts_for_two(longest);
        self.holds_back = !lasts_for_two(rounds.shortest);
        let is_full_of_gaps = epoch.waited >= self.window / 4 * 3;
        self.epoch = Some(Epoch {
            began: now,
            consumed,
            waited: 0,
        });
        if is_read_fast || is_full_of_gaps {
            self.widen(self.window.saturating_mul(2))
        } else {
            false
        }
    }

    /// Makes the window at least `window`, as far as it may grow. Returns whether it grew.
    pub(super) fn widen(&mut self, window: u64) -> bool {
        let before = self.window;
        self.window = window.min(self.most).max(before);
        self.window > before
    }

    /// Bytes up to the furthest that the peer has used.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Bytes that were read or thrown away.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The peer went `bytes` further.
    pub(super) fn receive(&mut self, bytes: u64) -> Result<(), TransportError> {
        if bytes > self.limit - self.received {
            return Err(TransportError::flow_control("data beyond what was allowed"));
        }
        self.received += bytes;
        Ok(())
    }

    /// The application took `bytes`. Returns whether the peer should be told by now.
    pub(super) fn consume(&mut self, bytes: u64) -> bool {
        self.consumed = self.received.min(self.consumed + bytes);
        self.is_update_due()
    }

    /// Whether the peer should be told a higher limit by now.
    pub(super) fn is_update_due(&self) -> bool {
        let mut step = self.window / UPDATES_PER_WINDOW;
        if self.holds_back {
            step = step
                .min(LEAST_STEP)
                .max(self.window / UPDATES_PER_CLOSED_WINDOW);
        }
        self.next_limit() - self.limit >= step
    }

    /// Whether the peer can be told a higher limit.
    pub(super) fn has_more(&self) -> bool {
        self.next_limit() > self.limit
    }

    /// The peer has more to send than `limit` lets it. Returns whether it can be told a higher one.
    pub(super) fn on_blocked(&mut self, limit: u64) -> bool {
        self.is_awaited |= limit >= self.limit;
        self.has_more()
    }

    /// The application has read what it could: whether the peer is to be told of it although a
    /// step is not full. It never will be where what nobody reads fills the rest of the window.
    pub(super) fn owes_rest(&self) -> bool {
        self.is_awaited && self.has_more()
    }

    /// The limit to tell the peer now.
    pub(super) fn advertise(&mut self) -> u64 {
        self.is_awaited = false;
        self.limit = self.next_limit();
        self.limit
    }

    fn next_limit(&self) -> u64 {
        self.limit
            .max((self.consumed + self.window).min(MAX_OFFSET))
    }
}

/// The peer hears of a new limit when it has risen by this part of the window.
const UPDATES_PER_WINDOW: u64 = 8;
/// By this one if that is what the peer waits for. Each is answered with an acknowledgement.
const UPDATES_PER_CLOSED_WINDOW: u64 = 32;
/// But not by less than two symbols or so.
const LEAST_STEP: u64 = 3000;
/// No epoch is shorter.
const SHORTEST_ROUND: Duration = Duration::from_millis(1);
/// Offsets have 62 bits (RFC 9000 §16).
const MAX_OFFSET: u64 = (1 << 62) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_is_told_when_an_eighth_of_the_window_was_read() {
        let mut credit = ReceiveCredit::new(800, 800);
        credit.receive(800).unwrap();
        assert_eq!(
            credit.receive(1).unwrap_err().code,
            TransportError::FLOW_CONTROL_ERROR
        );
        assert!(!credit.consume(99));
        assert!(credit.consume(1));
        assert_eq!(credit.advertise(), 900);
        credit.receive(100).unwrap();
        assert!(credit.receive(1).is_err());
    }

    const ROUNDS: Rounds = Rounds::even(Duration::from_millis(200));

    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn start() -> Instant {
        Instant::now()
    }

    /// Sends `bytes` every 10 ms for a second, of which `read` are read and `ready` could be;
    /// returns the window at the end.
    fn window_after(credit: &mut ReceiveCredit, bytes: u64, read: u64, ready: u64) -> u64 {
        let start = start();
        for step in 0..100 {
            let taken = bytes.min(credit.limit - credit.received);
            credit.receive(taken).unwrap();
            credit.consume(read);
            credit.tune(start + 10 * step * MS, ROUNDS, ready);
            credit.advertise();
        }
        credit.window()
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_window_that_is_read_in_two_round_trips_doubles_until_it_is_not() {
        // 100 bytes a millisecond are 40 000 in two round trips.
        for (first, last) in [(10_000, 80_000), (41_000, 41_000)] {
            let mut credit = ReceiveCredit::new(first, 1_000_000);
            assert_eq!(window_after(&mut credit, 1000, 1000, 0), last);
        }
    }

    #[test]
    fn the_peer_is_told_in_smaller_steps_of_a_window_that_two_round_trips_use_up() {
        // 1000 bytes a millisecond are 400 000 in two round trips.
        for (window, step) in [
            (390_000, 390_000 / 32),
            (410_000, 410_000 / 8),
            (50_000, LEAST_STEP),
            (16_000, 2000),
        ] {
            let mut credit = ReceiveCredit::new(window, window);
            window_after(&mut credit, 10_000, 10_000, 0);
            credit.receive(step).unwrap();
            assert!(!credit.consume(step - 1), "{window}");
            assert!(credit.consume(1), "{window}");
        }
    }

    #[test]
    fn a_slow_path_in_use_does_not_make_steps_smaller() {
        let rounds = ROUNDS.and(Rounds::even(2 * ROUNDS.longest));
        assert_eq!(rounds.shortest, ROUNDS.shortest);
        let mut credit = ReceiveCredit::new(41_000, 41_000);
        let start = start();
        for step in 0..100 {
            credit.receive(1000).unwrap();
            credit.consume(1000);
            credit.tune(start + 10 * step * MS, rounds, 0);
            credit.advertise();
        }
        credit.receive(41_000 / 8).unwrap();
        assert!(!credit.consume(41_000 / 8 - 1));
    }

    #[test]
    fn a_window_never_exceeds_its_bound_and_one_at_its_bound_does_not_change() {
        for most in [10_000, 15_000] {
            let mut credit = ReceiveCredit::new(10_000, most);
            assert_eq!(window_after(&mut credit, 1000, 1000, 0), most);
        }
    }

    #[test]
    fn a_reader_that_is_slow_keeps_its_window() {
        let mut credit = ReceiveCredit::new(10_000, 1_000_000);
        assert_eq!(window_after(&mut credit, 1000, 100, u64::MAX), 10_000);
    }

    #[test]
    fn a_window_full_of_data_behind_a_gap_doubles_once_in_a_round_trip() {
        let mut credit = ReceiveCredit::new(10_000, 1_000_000);
        let start = start();
        let mut windows = Vec::new();
        for step in 0..100 {
            let room = credit.limit - credit.received;
            credit.receive(room).unwrap();
            credit.tune(start + 10 * step * MS, ROUNDS, 0);
            credit.advertise();
            windows.push(credit.window());
        }
        windows.dedup();
        assert_eq!(windows, [10_000, 20_000, 40_000, 80_000, 160_000]);
    }

    #[test]
    fn a_limit_never_goes_down() {
        let mut credit = SendCredit::new(100);
        credit.take(60);
        assert!(!credit.raise(50));
        assert_eq!(credit.left(), 40);
        assert!(credit.raise(101));
        assert_eq!(credit.left(), 41);
    }
}
