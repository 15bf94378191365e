//! Messages that wait to leave, and those of which nobody knows yet whether they arrived.

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;

use super::{DatagramOptions, DatagramRedundancy, MAX_WAITING, SendDatagramError};
use crate::component::FrameWriter;
use crate::recovery::Token;
use crate::wire::frame::DatagramFrame;

/// Messages on their way out, those that are due first in front.
#[derive(Debug)]
pub(crate) struct Outgoing {
    limit: usize,
    waiting: BTreeMap<Turn, Message>,
    bytes: usize,
    /// Left, and worth sending again if it is lost: by number.
    left: BTreeMap<u64, Left>,
    next_turn: u64,
    next_number: u64,
    blocked: bool,
    /// Bytes that copies may take from other data.
    budget: usize,
    pub(crate) counters: DatagramCounters,
}

/// What became of messages.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DatagramCounters {
    /// Dropped because they fit into no packet any more.
    pub(crate) dropped: u64,
    /// Dropped because it was too late.
    pub(crate) late: u64,
    /// Sent again, or a second time.
    pub(crate) repeated: u64,
}

/// Those without a deadline after those that have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    is_timeless: bool,
    deadline: Option<Instant>,
    number: u64,
}

#[derive(Debug)]
struct Message {
    data: Bytes,
    redundancy: DatagramRedundancy,
    /// It has left before.
    number: Option<u64>,
    /// Not on this path, where a copy of it is, if another has room for it.
    avoid: Option<u32>,
}

impl Message {
    /// Whether a packet of the way has room for it, with its number.
    fn fits(&self, way: &Way) -> bool {
        self.data.len() + self.number_room() <= way.largest
    }

    /// Bytes of its number at most.
    fn number_room(&self) -> usize {
        match self.redundancy {
            DatagramRedundancy::Never => 0,
            DatagramRedundancy::InTime | DatagramRedundancy::Always => NUMBER_ROOM,
        }
    }
}

#[derive(Debug)]
struct Left {
    data: Bytes,
    deadline: Instant,
    /// Copies that wait, or of which nobody knows yet whether they arrived.
    open: u8,
    /// Copies so far.
    copies: u8,
}

/// A path as far as it matters here: times in seconds from now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// Number of the path.
    pub(crate) path: u32,
    /// Until the next packet can leave.
    pub(crate) wait: f64,
    /// From leaving here to arriving.
    pub(crate) delay: f64,
    /// From leaving here to knowing that it was lost.
    pub(crate) answer: f64,
    pub(crate) seconds_per_byte: f64,
    /// Share of packets lost.
    pub(crate) loss: f64,
    /// Bytes of the largest message that fits into a packet.
    pub(crate) largest: usize,
}

impl Way {
    fn arrival(&self, bytes: usize) -> f64 {
        self.wait + bytes as f64 * self.seconds_per_byte + self.delay
    }
}

impl Outgoing {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            waiting: BTreeMap::new(),
            bytes: 0,
            left: BTreeMap::new(),
            next_turn: 0,
            next_number: 0,
            blocked: false,
            budget: MOST_BUDGET,
            counters: DatagramCounters::default(),
        }
    }

    /// Queues a message that fits into a packet and into the queue.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        data: Bytes,
        options: &DatagramOptions,
    ) -> Result<(), SendDatagramError> {
        if !self.has_room(data.len()) {
            self.expire(now);
        }
        if !self.has_room(data.len()) {
            self.blocked = true;
            return Err(SendDatagramError::Blocked);
        }
        let message = Message {
            data,
            redundancy: options.redundancy,
            number: None,
            avoid: None,
        };
        let deadline = options
            .deadline
            .and_then(|deadline| now.checked_add(deadline));
        self.push(deadline, message);
        Ok(())
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes <= self.limit && self.waiting.len() < MAX_WAITING
    }

    fn push(&mut self, deadline: Option<Instant>, message: Message) {
        let turn = Turn {
            is_timeless: deadline.is_none(),
            deadline,
            number: self.next_turn,
        };
        self.next_turn += 1;
        self.bytes += message.data.len();
        self.waiting.insert(turn, message);
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Drops what is of no use at `earliest` any more. Returns whether a blocked sender should
    /// hear of it.
    pub(crate) fn drop_late(&mut self, earliest: Instant) -> bool {
        self.expire(earliest);
        self.take_unblocked()
    }

    fn expire(&mut self, earliest: Instant) {
        while let Some((turn, _)) = self.waiting.first_key_value()
            && turn.deadline.is_some_and(|deadline| deadline < earliest)
        {
            let Some((_, message)) = self.waiting.pop_first() else {
                break;
            };
            self.bytes -= message.data.len();
            let Some(number) = message.number else {
                self.counters.late += 1;
                continue;
            };
            if let Some(left) = self.left.get_mut(&number) {
                left.open = left.open.saturating_sub(1);
            }
        }
        while let Some((number, left)) = self.left.first_key_value()
            && left.deadline < earliest
        {
            let number = *number;
            self.left.remove(&number);
        }
    }

    /// Other data of so many bytes left.
    pub(crate) fn on_other_data(&mut self, bytes: usize) {
        self.budget = (self.budget + bytes / BUDGET_SHARE).min(MOST_BUDGET);
    }

    /// Writes messages that arrive first on the path `asking` of `ways`, as many as fit; drops
    /// those that fit on no path any more. Copies are free where `is_idle`: nobody else has data.
    /// Returns whether a blocked sender should hear of it.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        asking: u32,
        ways: &[Way],
        is_idle: bool,
        writer: &mut FrameWriter<'_>,
    ) -> bool {
        let mut ahead = [0; mpfec_sched::MAX_PATHS];
        let (mut chosen, mut misfits) = (Vec::new(), Vec::new());
        let mut room = writer.room();
        for (turn, message) in self.waiting.iter().take(LOOK_AHEAD) {
            let len = message.data.len();
            let is_copy = |way: &Way| message.avoid == Some(way.path);
            let may_avoid = ways.iter().any(|way| message.fits(way) && !is_copy(way));
            let first = ways
                .iter()
                .zip(&mut ahead)
                .filter(|(way, _)| message.fits(way) && !(may_avoid && is_copy(way)))
                .min_by(|(a, before_a), (b, before_b)| {
                    let arrival = |way: &Way, before: usize| way.arrival(before + len);
                    arrival(a, **before_a).total_cmp(&arrival(b, **before_b))
                });
            let Some((way, before)) = first else {
                misfits.push(*turn);
                continue;
            };
            *before += len;
            if way.path != asking {
                continue;
            }
            let size = DatagramFrame::header_size(len, message.number_room()) + len;
            if size > room {
                break;
            }
            room -= size;
            chosen.push(*turn);
        }
        for turn in misfits {
            if let Some(message) = self.waiting.remove(&turn) {
                self.bytes -= message.data.len();
                self.counters.dropped += 1;
            }
        }
        for turn in chosen {
            if let Some(message) = self.waiting.remove(&turn) {
                self.bytes -= message.data.len();
                self.leave(now, turn.deadline, message, asking, ways, is_idle, writer);
            }
        }
        self.take_unblocked()
    }

    #[expect(clippy::too_many_arguments, reason = "one step of `write`")]
    fn leave(
        &mut self,
        now: Instant,
        deadline: Option<Instant>,
        mut message: Message,
        path: u32,
        ways: &[Way],
        is_idle: bool,
        writer: &mut FrameWriter<'_>,
    ) {
        let is_first = message.number.is_none();
        if is_first && message.redundancy != DatagramRedundancy::Never {
            message.number = Some(self.next_number);
            self.next_number += 1;
        }
        let (data, number) = (&message.data, message.number);
        DatagramFrame::encode_header(data.len(), number, writer.buf());
        writer.buf().extend_from_slice(data);
        writer.wrote(number.map(|number| Token::Datagram { number }));
        let Some(number) = number else {
            return;
        };
        if !is_first {
            self.counters.repeated += 1;
            return;
        }
        if let Some(deadline) = deadline {
            while self.left.len() >= MOST_LEFT {
                self.left.pop_first();
            }
            let data = message.data.clone();
            self.left.insert(
                number,
                Left {
                    data,
                    deadline,
                    open: 1,
                    copies: 0,
                },
            );
        }
        let left = deadline.map(|at| at.saturating_duration_since(now).as_secs_f64());
        if !self.is_worth_copying(message.redundancy, left, path, ways) {
            return;
        }
        let len = message.data.len();
        if !is_idle {
            if self.budget < len {
                return;
            }
            self.budget -= len;
        }
        let in_time = |way: &Way| {
            way.path != path
                && message.fits(way)
                && left.is_none_or(|left| way.arrival(len) <= left)
        };
        message.avoid = ways.iter().any(in_time).then_some(path);
        if let Some(left) = self.left.get_mut(&number) {
            left.open += 1;
            left.copies += 1;
        }
        self.push(deadline, message);
    }

    /// Whether a message that leaves on `path`, with `left` seconds to arrive, should leave a
    /// second time at once.
    fn is_worth_copying(
        &self,
        redundancy: DatagramRedundancy,
        left: Option<f64>,
        path: u32,
        ways: &[Way],
    ) -> bool {
        match (redundancy, left) {
            (DatagramRedundancy::Always, _) => true,
            (DatagramRedundancy::InTime, Some(left)) => {
                let way = ways.iter().find(|way| way.path == path);
                let soonest = ways
                    .iter()
                    .map(|way| way.delay)
                    .fold(f64::INFINITY, f64::min);
                way.is_some_and(|way| {
                    way.loss >= LEAST_LOSS && SPARE_TIME * (way.answer + soonest) > left
                })
            }
            _ => false,
        }
    }

    /// A message arrived.
    pub(crate) fn on_acked(&mut self, number: u64) {
        self.left.remove(&number);
    }

    /// A copy of a message was lost: it leaves again if no other is under way and it may be in
    /// time.
    pub(crate) fn on_lost(&mut self, now: Instant, number: u64) {
        let Some(left) = self.left.get_mut(&number) else {
            return;
        };
        left.open = left.open.saturating_sub(1);
        if left.open > 0 {
            return;
        }
        if left.copies >= MOST_COPIES || left.deadline < now {
            self.left.remove(&number);
            return;
        }
        left.open = 1;
        left.copies += 1;
        let (data, deadline) = (left.data.clone(), left.deadline);
        let message = Message {
            data,
            redundancy: DatagramRedundancy::InTime,
            number: Some(number),
            avoid: None,
        };
        self.push(Some(deadline), message);
    }

    fn take_unblocked(&mut self) -> bool {
        let is_half_empty = self.bytes * 2 <= self.limit && self.waiting.len() * 2 <= MAX_WAITING;
        let unblocked = self.blocked && is_half_empty;
        self.blocked &= !unblocked;
        unblocked
    }
}

/// Bytes that the number of a message takes at most.
pub(crate) const NUMBER_ROOM: usize = 8;

/// So many messages are placed on paths at a time.
const LOOK_AHEAD: usize = 64;

/// Messages that are kept until it is known whether they arrived.
const MOST_LEFT: usize = 4096;

/// So often a message leaves again.
const MOST_COPIES: u8 = 4;

/// No second copy is worth it below.
const LEAST_LOSS: f64 = 0.001;

/// Queues grow and shrink between an estimate and what comes of it.
const SPARE_TIME: f64 = 1.2;

/// One of so many bytes of other data may be a copy.
const BUDGET_SHARE: usize = 8;

/// What copies may take at once, in bytes.
const MOST_BUDGET: usize = 64 << 10;

#[cfg(test)]
mod tests;
