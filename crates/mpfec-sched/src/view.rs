//! What a scheduler may know: paths and blocks as plain values.

use std::fmt;
use std::time::{Duration, Instant};

use crate::delta::LossProcess;
use crate::redundancy::LossEstimate;

/// Most paths that a connection uses at once.
pub const MAX_PATHS: usize = 8;

/// Names a path within its connection; never used again for another path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One path as the scheduler sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathView {
    /// Which path it is.
    pub id: PathId,
    /// Index of its counter in [`BlockView::in_flight`], below [`MAX_PATHS`].
    pub slot: usize,
    /// Smoothed round-trip time (RFC 9002 §5.3).
    pub srtt: Duration,
    /// Mean deviation of the round-trip time (RFC 9002 §5.3).
    pub rttvar: Duration,
    /// Time after which an unanswered packet is given up (`RTO_f` of FMTCP Eq. 8).
    pub rto: Duration,
    /// Estimated time from leaving here to arriving at the receiver.
    pub one_way: Duration,
    /// Share of packets lost, from 0 to below 1, all causes (`p_f`).
    pub loss: f64,
    /// The same over so many packets that chance hardly shows.
    pub loss_long: f64,
    /// Mean number of packets lost in a row; 1 where each is lost on its own.
    pub loss_burst: f64,
    /// Packets that have arrived since one was lost, or took a quarter longer than usual.
    pub punctual: u64,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Bytes in flight that hold a place in the window.
    pub in_flight: u64,
    /// Bytes on the wire of a packet with one full symbol.
    pub symbol_bytes: u64,
    /// Bytes per second that the pacer lets out; 0 if it does not pace.
    pub pacing_rate: u64,
    /// Bytes per second that the path is expected to carry, though something, such as a drain of
    /// its queue, lets less out for a round trip or two; 0 if that is not known.
    pub lasting_rate: u64,
    /// When window and pacer let the next packet out.
    pub next_send: Instant,
    /// Time since the oldest unacknowledged packet left (`tau_f`, FMTCP Eq. 10).
    pub since_oldest: Duration,
    /// Fell silent: carries nothing but probes now.
    pub suspected: bool,
    /// To be used only if no other path is usable.
    pub backup: bool,
    /// Bytes per second that it delivers; 0 while unknown (`BW_i` of PNC Eq. 9, 12).
    pub bandwidth: u64,
    /// What it loses from group to group (`PL_i`, `sigma_i` of PNC Eq. 10, 11) where blocks are
    /// groups; else [`loss`](Self::loss).
    pub loss_estimate: LossEstimate,
}

impl PathView {
    /// Whether the window has room for one more full symbol.
    #[must_use]
    pub fn has_window(&self) -> bool {
        self.in_flight + self.symbol_bytes <= self.cwnd
    }

    /// Time between two symbols at the path's rate: the pacer's, else a window per round trip.
    #[must_use]
    pub fn symbol_time(&self) -> Duration {
        Duration::from_secs_f64(self.symbol_seconds())
    }

    pub(crate) fn symbol_seconds(&self) -> f64 {
        let rate = if self.pacing_rate > 0 {
            self.pacing_rate as f64
        } else {
            self.cwnd as f64 / self.srtt.as_secs_f64().max(MIN_SECONDS)
        };
        (self.symbol_bytes as f64 / rate.max(1.0)).clamp(MIN_SECONDS, MAX_SECONDS)
    }

    /// The least [`symbol_seconds`](Self::symbol_seconds) that are to be expected later.
    pub(crate) fn lasting_symbol_seconds(&self) -> f64 {
        let now = self.symbol_seconds();
        if self.lasting_rate == 0 {
            return now;
        }
        let lasting = self.symbol_bytes as f64 / self.lasting_rate as f64;
        now.min(lasting.max(MIN_SECONDS))
    }

    /// The loss rate within bounds that every formula survives.
    pub(crate) fn loss_bounded(&self) -> f64 {
        bounded(self.loss)
    }

    /// [`loss_bounded`](Self::loss_bounded) as losses that have nothing to do with one another.
    pub(crate) fn single_losses(&self) -> LossProcess {
        LossProcess::independent(self.loss_bounded())
    }

    /// What protection ahead of loss has to reckon with: a path that happened to lose little
    /// of late may lose its share again, and what it loses in a row it loses of one block.
    pub(crate) fn losses_to_expect(&self) -> LossProcess {
        LossProcess {
            rate: bounded(self.loss).max(bounded(self.loss_long)),
            burst: self.loss_burst,
        }
    }
}

#[cfg(test)]
impl PathView {
    /// A path of 1000 symbols a second with room in its window, for tests.
    pub(crate) fn example(slot: usize, loss: f64, rtt: Duration, now: Instant) -> Self {
        Self {
            id: PathId(slot as u32),
            slot,
            srtt: rtt,
            rttvar: rtt / 8,
            rto: 2 * rtt,
            one_way: rtt / 2,
            loss,
            loss_long: loss,
            loss_burst: 1.0,
            punctual: 0,
            cwnd: 300_000,
            in_flight: 0,
            symbol_bytes: 1000,
            pacing_rate: 1_000_000,
            lasting_rate: 0,
            next_send: now,
            since_oldest: Duration::ZERO,
            suspected: false,
            backup: false,
            bandwidth: 1_000_000,
            loss_estimate: LossEstimate {
                rate: loss,
                deviation: 0.0,
            },
        }
    }
}

/// One source block that the peer does not fully have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockView {
    /// Source symbols so far (`K`).
    pub source_symbols: u32,
    /// `K` is final: repair symbols can be made.
    pub closed: bool,
    /// Source symbols never sent that flow control lets out: a path may take those of the
    /// last block first.
    pub unsent: u32,
    /// Distinct symbols known to have arrived.
    pub held: u32,
    /// Symbols on their way, by path slot. A symbol declared lost is in none.
    pub in_flight: [u16; MAX_PATHS],
    /// Source symbols that left on each path for the first time, by slot (`N_i` of PNC Eq. 10).
    pub sources_on: [u16; MAX_PATHS],
    /// Symbols declared lost so far.
    pub lost_once: u32,
    /// Of these, repair symbols.
    pub repairs_lost: u32,
    /// Of a block without repair code: source symbols that were lost on each path and not sent
    /// again yet, by slot. The symbol of a block that has only one is not counted.
    pub lost_on: [u16; MAX_PATHS],
    /// Nothing is queued behind it.
    pub last: bool,
    /// When its first symbol left.
    pub first_sent: Option<Instant>,
    /// First undelivered block of its stream: it holds back delivery.
    pub head: bool,
    /// When the peer should be able to read it, if its stream has a deadline.
    pub due: Option<Instant>,
}

impl BlockView {
    /// Symbols on their way on all paths.
    #[must_use]
    pub fn total_in_flight(&self) -> u32 {
        self.in_flight.iter().map(|&n| u32::from(n)).sum()
    }

    /// Symbols that nobody will deliver unless they are sent again or replaced:
    /// `K - held - in flight - unsent`, at least 0.
    #[must_use]
    pub fn deficit(&self) -> u32 {
        self.source_symbols
            .saturating_sub(self.held)
            .saturating_sub(self.total_in_flight())
            .saturating_sub(self.unsent)
    }

    /// Whether somebody may be waiting for it: it has a deadline, or it is short and all that
    /// its stream has.
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        let is_message = self.last && self.closed && self.source_symbols <= MESSAGE_SYMBOLS;
        self.due.is_some() || is_message
    }

    /// Whether a [repair](crate::SymbolKind::Repair) of it can be made at all.
    #[must_use]
    pub fn is_repairable(&self, has_repair: bool) -> bool {
        if has_repair {
            self.closed
        } else {
            self.deficit() > 0
        }
    }

    /// Symbols sent beyond the source symbols that were sent.
    pub(crate) fn repairs_sent(&self) -> u32 {
        let sent = self.held + self.total_in_flight() + self.lost_once;
        (sent + self.unsent).saturating_sub(self.source_symbols)
    }
}

/// All that a decision is based on.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The present.
    pub now: Instant,
    /// All paths that have ever been usable and are not closed.
    pub paths: &'a [PathView],
    /// Blocks that need symbols or acknowledgements, in delivery order, urgent streams first.
    pub blocks: &'a [BlockView],
    /// Whether the code makes repair symbols; without, a repair is a lost symbol again.
    pub has_repair: bool,
    /// Whether the scheduler may send repair symbols ahead of loss as it likes; else only those
    /// that feedback asks for.
    pub may_protect: bool,
    /// Changes with every change of blocks by feedback, loss or new data, not by sending.
    pub version: u64,
    /// More data wait for room in the send buffer.
    pub writer_blocked: bool,
    /// Flow control stops new source symbols.
    pub window_closed: bool,
    /// Symbols that flow control and the send buffer let be on their way at once.
    pub window: u64,
}

impl View<'_> {
    /// Whether `paths[path]` may carry symbols: it is not suspected, and not a backup while
    /// another path works.
    #[must_use]
    pub fn is_usable(&self, path: usize) -> bool {
        let Some(path) = self.paths.get(path) else {
            return false;
        };
        !path.suspected && (!path.backup || !self.has_regular_path())
    }

    /// The usable paths with their indices.
    pub fn usable(&self) -> impl Iterator<Item = (usize, &PathView)> {
        let backups = !self.has_regular_path();
        self.paths
            .iter()
            .enumerate()
            .filter(move |(_, path)| !path.suspected && (!path.backup || backups))
    }

    /// The longest smoothed round-trip time of the usable paths.
    pub(crate) fn slowest_rtt(&self) -> Duration {
        let times = self.usable().map(|(_, path)| path.srtt);
        times.max().unwrap_or_default()
    }

    /// How long so many symbols take to leave if the usable paths carry nothing else; none without
    /// paths.
    pub(crate) fn leaving_time(&self, symbols: u32) -> Duration {
        let per_second: f64 = self
            .usable()
            .map(|(_, path)| path.symbol_seconds().recip())
            .sum();
        let seconds = f64::from(symbols) / per_second;
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    fn has_regular_path(&self) -> bool {
        self.paths
            .iter()
            .any(|path| !path.suspected && !path.backup)
    }
}

/// Source symbols of a message at most; more are bulk data unless there is a deadline.
const MESSAGE_SYMBOLS: u32 = 16;

fn bounded(loss: f64) -> f64 {
    if loss.is_finite() {
        loss.clamp(0.0, MAX_LOSS)
    } else {
        MAX_LOSS
    }
}

const MAX_LOSS: f64 = 0.95;
pub(crate) const MIN_SECONDS: f64 = 1e-8;
const MAX_SECONDS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_that_is_neither_held_nor_on_its_way_nor_unsent_is_a_deficit() {
        let mut block = BlockView {
            source_symbols: 10,
            unsent: 2,
            held: 3,
            ..BlockView::default()
        };
        block.in_flight[0] = 2;
        block.in_flight[3] = 1;
        assert_eq!(block.deficit(), 2);
        block.in_flight[3] = 9;
        assert_eq!(block.deficit(), 0);
    }

    #[test]
    fn repairs_sent_are_what_was_sent_beyond_the_source_symbols() {
        let mut block = BlockView {
            source_symbols: 10,
            unsent: 4,
            held: 2,
            lost_once: 1,
            ..BlockView::default()
        };
        block.in_flight[0] = 3;
        assert_eq!(block.repairs_sent(), 0);
        block.in_flight[1] = 2;
        assert_eq!(block.repairs_sent(), 2);
    }
}
