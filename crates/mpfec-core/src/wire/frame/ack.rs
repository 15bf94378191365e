//! Which packets arrived (RFC 9000 §19.3), of the packet's own number space or of a path.

use std::ops::RangeInclusive;
use std::time::Duration;

use smallvec::SmallVec;

use super::{ACK, ACK_ECN, PATH_ACK, PATH_ACK_ECN, TIMED_PATH_ACK, TIMED_PATH_ACK_ECN};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

/// Packets that arrived, by their ECN mark (RFC 9000 §19.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EcnCounts {
    pub(crate) ect0: u64,
    pub(crate) ect1: u64,
    /// Congestion experienced.
    pub(crate) ce: u64,
}

impl EcnCounts {
    /// Whether any packet was marked.
    pub(crate) fn any(&self) -> bool {
        self.ect0 | self.ect1 | self.ce != 0
    }
}

/// What an acknowledgement says beside its ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AckFacts {
    /// The path whose packets it is about; `None` in Initial and Handshake packets.
    pub(crate) path: Option<u32>,
    /// How long the largest packet waited for it; sent in steps of 8 µs.
    pub(crate) delay: Duration,
    /// When the largest packet arrived: in acknowledgements of a path, to a peer that asks for it.
    pub(crate) received: Option<ArrivalTime>,
    pub(crate) ecn: Option<EcnCounts>,
}

impl AckFacts {
    /// Type on the wire.
    fn ty(&self) -> u8 {
        let ty = match (self.path, self.received) {
            (None, _) => ACK,
            (Some(_), None) => PATH_ACK,
            (Some(_), Some(_)) => TIMED_PATH_ACK,
        };
        ty + u8::from(self.ecn.is_some())
    }

    /// The time as it is sent: acknowledgements of the handshake have none.
    fn time(&self) -> Option<[u8; 3]> {
        let time = self.received.filter(|_| self.path.is_some());
        time.map(ArrivalTime::to_bytes)
    }
}

/// A time of a clock that nobody else knows, in units of 16 µs modulo 2^24: 268 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArrivalTime(u32);

impl ArrivalTime {
    /// So long after the clock began.
    pub(crate) fn new(after: Duration) -> Self {
        Self((after.as_micros() >> TIME_EXPONENT) as u32 & TIME_MASK)
    }

    fn to_bytes(self) -> [u8; 3] {
        let [_, bytes @ ..] = self.0.to_be_bytes();
        bytes
    }

    fn from_bytes([high, middle, low]: [u8; 3]) -> Self {
        Self(u32::from_be_bytes([0, high, middle, low]))
    }

    pub(crate) fn later_by(self, duration: Duration) -> Self {
        Self(self.0.wrapping_add(Self::new(duration).0) & TIME_MASK)
    }

    /// The time from `earlier` to this one, by whatever their clocks are apart too many.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self(self.0.wrapping_sub(earlier.0) & TIME_MASK)
    }

    /// By how many microseconds it is later than `other`, 134 s at most, or earlier.
    pub(crate) fn beyond(self, other: Self) -> i64 {
        let difference = i64::from(self.since(other).0);
        let wrapped = i64::from(TIME_MASK) + 1;
        let nearest = if difference >= wrapped / 2 {
            difference - wrapped
        } else {
            difference
        };
        nearest << TIME_EXPONENT
    }
}

/// ACK or PATH_ACK as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The path whose packets it is about; `None` for those of the packet's own space.
    pub(crate) path: Option<u32>,
    /// End of the first range.
    pub(crate) largest: u64,
    pub(crate) delay: Duration,
    pub(crate) received: Option<ArrivalTime>,
    /// Descending, apart from each other by at least one packet; 1 to [`Self::MAX_RANGES`].
    pub(crate) ranges: Ranges,
    pub(crate) ecn: Option<EcnCounts>,
}

/// Of most acknowledgements.
pub(crate) type Ranges = SmallVec<[RangeInclusive<u64>; 2]>;

impl Ack {
    /// Ranges that a frame may have; more are an error.
    pub(crate) const MAX_RANGES: usize = 256;
    /// Ranges that are ever sent: enough for the packets of several round trips at any loss
    /// at which paths are of use, few enough to cost little.
    pub(crate) const SENT_RANGES: usize = 32;

    /// Appends an acknowledgement of `ranges`, which descend and do not touch, to `out`:
    /// the first 32 of them, or as many as fit into `room` bytes. Returns how many it tells of:
    /// none if not even the first one fits, and then nothing is appended.
    pub(crate) fn encode(
        facts: &AckFacts,
        ranges: impl Iterator<Item = RangeInclusive<u64>> + Clone,
        room: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        Self::encode_at_most(facts, ranges, Self::SENT_RANGES, room, out)
    }

    fn encode_at_most(
        facts: &AckFacts,
        ranges: impl Iterator<Item = RangeInclusive<u64>> + Clone,
        most: usize,
        room: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut rest = ranges.clone();
        let Some(first) = rest.next() else { return 0 };
        let ecn = facts
            .ecn
            .map(|counts| [counts.ect0, counts.ect1, counts.ce]);
        let delay = u64::try_from(facts.delay.as_micros()).unwrap_or(u64::MAX) >> DELAY_EXPONENT;
        let delay = delay.min(MAX_DELAY);
        let head = [*first.end(), delay];
        let first_len = first.end() - first.start();
        let count_size = varint::size(most as u64 - 1);
        let mut size = 1 + facts.path.map_or(0, |path| varint::size(u64::from(path))) + count_size;
        size +=
            head.iter().map(|value| varint::size(*value)).sum::<usize>() + varint::size(first_len);
        size += facts.time().map_or(0, |time| time.len());
        size += ecn.map_or(0, |counts| {
            counts.iter().map(|count| varint::size(*count)).sum()
        });
        if size > room {
            return 0;
        }
        let further = gaps(*first.start(), rest)
            .take(most - 1)
            .take_while(|(gap, len)| {
                size += varint::size(*gap) + varint::size(*len);
                size <= room
            })
            .count();

        out.push(facts.ty());
        if let Some(path) = facts.path {
            varint::encode(u64::from(path), out);
        }
        head.iter().for_each(|value| varint::encode(*value, out));
        out.extend(facts.time().iter().flatten());
        varint::encode(further as u64, out);
        varint::encode(first_len, out);
        for (gap, len) in gaps(*first.start(), ranges.skip(1)).take(further) {
            varint::encode(gap, out);
            varint::encode(len, out);
        }
        ecn.iter()
            .flatten()
            .for_each(|count| varint::encode(*count, out));
        1 + further
    }

    pub(super) fn parse(ty: u8, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let path = match ty {
            PATH_ACK | PATH_ACK_ECN | TIMED_PATH_ACK | TIMED_PATH_ACK_ECN => {
                Some(u32::try_from(reader.varint()?).map_err(|_| Malformed("path ID too large"))?)
            }
            _ => None,
        };
        let largest = reader.varint()?;
        let delay = reader.varint()?.min(MAX_DELAY) << DELAY_EXPONENT;
        let received = match ty {
            TIMED_PATH_ACK | TIMED_PATH_ACK_ECN => Some(ArrivalTime::from_bytes(reader.array()?)),
            _ => None,
        };
        let further = reader.varint()?;
        if further >= Self::MAX_RANGES as u64 {
            return Err(Malformed("more ranges than an acknowledgement may have"));
        }
        let first_len = reader.varint()?;
        let mut smallest = largest.checked_sub(first_len).ok_or(BELOW_ZERO)?;
        let mut ranges = Ranges::new();
        // Each takes two bytes, so the count cannot claim more than the packet holds.
        ranges.reserve(1 + (further as usize).min(reader.remaining() / 2));
        ranges.push(smallest..=largest);
        for _ in 0..further {
            let (gap, len) = (reader.varint()?, reader.varint()?);
            let end = smallest.checked_sub(gap + 2).ok_or(BELOW_ZERO)?;
            smallest = end.checked_sub(len).ok_or(BELOW_ZERO)?;
            ranges.push(smallest..=end);
        }
        let ecn = match ty {
            ACK_ECN | PATH_ACK_ECN | TIMED_PATH_ACK_ECN => Some(EcnCounts {
                ect0: reader.varint()?,
                ect1: reader.varint()?,
                ce: reader.varint()?,
            }),
            _ => None,
        };
        Ok(Self {
            path,
            largest,
            delay: Duration::from_micros(delay),
            received,
            ranges,
            ecn,
        })
    }

    /// The ranges, newest first.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u64>> + Clone + '_ {
        self.ranges.iter().cloned()
    }

    /// Bytes that [`write`](Self::write) appends.
    pub(super) fn size(&self) -> usize {
        let mut out = Vec::new();
        self.write(&mut out);
        out.len()
    }

    /// Appends the frame again as it was, with all of its ranges: for tests of what
    /// arrived. Who sends uses [`encode`](Self::encode).
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        Self::encode_at_most(
            &self.facts(),
            self.ranges(),
            Self::MAX_RANGES,
            usize::MAX,
            out,
        );
    }

    /// Type on the wire.
    pub(super) fn ty(&self) -> u8 {
        self.facts().ty()
    }

    fn facts(&self) -> AckFacts {
        AckFacts {
            path: self.path,
            delay: self.delay,
            received: self.received,
            ecn: self.ecn,
        }
    }
}

/// Gap and length of each range below a first one that starts at `smallest`, until ranges
/// no longer descend.
fn gaps(
    mut smallest: u64,
    ranges: impl Iterator<Item = RangeInclusive<u64>>,
) -> impl Iterator<Item = (u64, u64)> {
    ranges.map_while(move |range| {
        let gap = smallest.checked_sub(*range.end())?.checked_sub(2)?;
        smallest = *range.start();
        Some((gap, range.end() - range.start()))
    })
}

/// ACK delays are sent in units of 2^3 µs (RFC 9000 §18.2).
pub(crate) const DELAY_EXPONENT: u32 = 3;
/// Times are sent in units of 2^4 µs, as 24 bits.
const TIME_EXPONENT: u32 = 4;
const TIME_MASK: u32 = (1 << 24) - 1;
/// Longer delays, of nine hours and more, are taken for this one: nobody adds them to a time.
const MAX_DELAY: u64 = u32::MAX as u64;
const BELOW_ZERO: Malformed = Malformed("acknowledgement of packets below zero");

#[cfg(test)]
mod tests;
