//! Data in a packet: what window, pacer and scheduler let the path carry now.

use std::time::Instant;

use mpfec_sched::{Assignment, MAX_PATHS, SymbolKind, View};
use smallvec::SmallVec;

use super::datagram::Way;
use super::timers::Timer;
use super::{Connection, Event};
use crate::block::MIN_SYMBOL_ROOM;
use crate::component::FrameWriter;

/// A batch of packets for one path that is being built.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) segments: usize,
    /// Bytes of each datagram but the last.
    pub(super) segment_size: usize,
    /// What the scheduler chose, and how many of its symbols are written.
    assignment: Option<(Assignment, u32)>,
    /// It chose what the path cannot carry and nothing is known to lack: now it is asked only for
    /// what is needed.
    needed_only: bool,
}

impl Connection {
    /// Whether cwnd and pacer let a data packet out on the path now.
    pub(super) fn may_send_data(&self, now: Instant, index: usize) -> bool {
        if !self.has_data() {
            return false;
        }
        self.paths.at(index).is_some_and(|path| path.may_send(now))
    }

    /// Whether there may be something to send besides control frames: the scheduler is asked
    /// only then.
    fn has_data(&self) -> bool {
        let has_symbols = self.streams.has_work()
            || (self.scheduler.sends_ahead() && !self.streams.blocks().is_empty());
        self.handshake.is_usable() && (has_symbols || self.datagrams.outgoing.has_waiting())
    }

    /// When paths that have data to send may do so, as far as the pacer decides that, or a window
    /// that is full of what nobody answers.
    pub(super) fn sending_deadlines(&self) -> impl Iterator<Item = (Instant, Timer)> {
        let now = self.last_now;
        // A parity is due while there is nothing else to send as well.
        let has_data = self.has_data();
        self.paths
            .iter()
            .filter(move |path| (has_data && path.is_usable()) || path.is_parity_due(now))
            .filter_map(move |path| {
                let size = u64::from(path.mtu.current());
                if !path.has_room(now, size) {
                    return Some((path.next_unheld(now)?, Timer::Overdue(path.id)));
                }
                let at = path.pacer.leaves_at(now, path.pacing_rate(), size)?;
                Some((at, Timer::Pacing(path.id)))
            })
    }

    /// Datagrams first, then what the scheduler chooses, until the packet is full.
    pub(super) fn write_data(
        &mut self,
        now: Instant,
        index: usize,
        budget: usize,
        batch: &mut Batch,
        writer: &mut FrameWriter<'_>,
    ) {
        let Some((path, slot)) = self.paths.at(index).map(|path| (path.id, path.slot)) else {
            return;
        };
        self.path_views.refresh(&self.paths, now);
        if self.datagrams.outgoing.has_waiting() {
            let ways = self.ways(now);
            let is_idle = !self.streams.has_work();
            let outgoing = &mut self.datagrams.outgoing;
            if outgoing.write(now, path, &ways, is_idle, writer) {
                self.events.push_back(Event::DatagramsUnblocked);
            }
        }
        let before = writer.written();
        self.write_symbols(now, index, slot, budget, batch, writer);
        self.datagrams
            .outgoing
            .on_other_data(writer.written() - before);
    }

    fn write_symbols(
        &mut self,
        now: Instant,
        index: usize,
        slot: usize,
        budget: usize,
        batch: &mut Batch,
        writer: &mut FrameWriter<'_>,
    ) {
        while writer.room() >= MIN_SYMBOL_ROOM {
            let Some(assignment) = self.next_assignment(now, index, budget, batch) else {
                return;
            };
            let written =
                self.streams
                    .write_symbol(now, assignment.block, assignment.symbol, slot, writer);
            match &mut batch.assignment {
                Some((_, used)) if written.is_some() => *used += 1,
                _ => {
                    self.finish_assignment(now, index, batch);
                    if !self.is_too_large(index, assignment.block) {
                        return;
                    }
                    let goes_on = if self.is_ahead(&assignment) {
                        !std::mem::replace(&mut batch.needed_only, true)
                    } else {
                        self.cut_to_fit(index, assignment.block)
                    };
                    if !goes_on {
                        return;
                    }
                }
            }
        }
    }

    /// Whether all that the block lacks is on its way or has still to leave: to cut it anew would
    /// make that useless, for the sake of a symbol that may not be needed.
    fn is_ahead(&self, assignment: &Assignment) -> bool {
        let block = self.streams.blocks().get(assignment.block);
        assignment.symbol != SymbolKind::Source && block.is_some_and(|block| block.deficit() == 0)
    }

    /// The usable paths as far as they matter to messages.
    fn ways(&self, now: Instant) -> SmallVec<[Way; MAX_PATHS]> {
        let view = view(
            now,
            &self.path_views,
            &self.streams,
            self.config.profile.codec,
        );
        let ways = view.usable().map(|(index, path)| {
            let wait = path.next_send.saturating_duration_since(now);
            let mtu = self.paths.at(index).map(|path| path.mtu.current());
            Way {
                path: path.id.0,
                wait: wait.as_secs_f64(),
                delay: path.one_way.as_secs_f64(),
                answer: path.srtt.as_secs_f64() * LOSS_DELAY + 4.0 * path.rttvar.as_secs_f64(),
                seconds_per_byte: path.symbol_time().as_secs_f64()
                    / path.symbol_bytes.max(1) as f64,
                loss: path.loss,
                largest: self.datagram_room(mtu),
            }
        });
        ways.collect()
    }

    /// Drops messages that would be too late if they left on the fastest path at once.
    pub(super) fn drop_late_datagrams(&mut self, now: Instant) {
        if !self.datagrams.outgoing.has_waiting() || !self.handshake.is_usable() {
            return;
        }
        let paths = self.paths.iter().filter(|path| path.is_usable());
        let fastest = paths.map(|path| path.rtt.min()).min().unwrap_or_default();
        if self.datagrams.outgoing.drop_late(now + fastest / 2) {
            self.events.push_back(Event::DatagramsUnblocked);
        }
    }

    /// The rest of what the scheduler chose before, or its next choice.
    fn next_assignment(
        &mut self,
        now: Instant,
        index: usize,
        budget: usize,
        batch: &mut Batch,
    ) -> Option<Assignment> {
        if let Some((assignment, used)) = batch.assignment {
            if used < assignment.count {
                return Some(assignment);
            }
            self.finish_assignment(now, index, batch);
        }
        let budget = self.symbol_budget(now, index, budget)?;
        let all = view(
            now,
            &self.path_views,
            &self.streams,
            self.config.profile.codec,
        );
        let view = View {
            may_protect: !batch.needed_only,
            ..all
        };
        let assignment = self.scheduler.select(index, budget, &view)?;
        batch.assignment = Some((assignment, 0));
        Some(assignment)
    }

    /// Tells the scheduler how much of its choice left.
    pub(super) fn finish_assignment(&mut self, now: Instant, index: usize, batch: &mut Batch) {
        let Some((assignment, used)) = batch.assignment.take() else {
            return;
        };
        if used > 0 {
            let view = view(
                now,
                &self.path_views,
                &self.streams,
                self.config.profile.codec,
            );
            self.scheduler.on_sent(
                index,
                &Assignment {
                    count: used,
                    ..assignment
                },
                &view,
            );
            if assignment.symbol.is_again() {
                while let Some(slow) = self.scheduler.poll_penalty() {
                    self.penalise(now, slow);
                }
            }
        }
    }

    /// How many packets the window and the pacer let out now, at most `budget`.
    fn symbol_budget(&self, now: Instant, index: usize, budget: usize) -> Option<u32> {
        let path = self.paths.at(index)?;
        let size = u64::from(path.mtu.current());
        let window = path.window_room(now) / size;
        let paced = path.pacer.budget(now, path.pacing_rate()) / size;
        let budget = budget.min(path.packets_to_parity());
        Some(window.min(paced).min(budget as u64).max(1) as u32)
    }
}

/// What the scheduler sees, from those parts of the connection that it does not change.
fn view<'a>(
    now: Instant,
    paths: &'a super::view::PathViews,
    streams: &'a crate::stream::Streams,
    codec: mpfec_codec::CodecKind,
) -> View<'a> {
    View {
        now,
        paths: paths.as_slice(),
        blocks: streams.blocks(),
        has_repair: codec.has_repair(),
        may_protect: true,
        version: streams.version(),
        writer_blocked: streams.writer_blocked(),
        // What is in a block has its credit already; only then does the window hold it back.
        window_closed: streams.window_closed() && !streams.has_unsent(),
        window: streams.window_symbols(),
    }
}

/// RFC 9002 §6.1.2: a packet is lost this many round trips after it left.
const LOSS_DELAY: f64 = 9.0 / 8.0;
