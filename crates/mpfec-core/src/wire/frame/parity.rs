//! XOR parity over packets of a path, and what became of it.

use bytes::Bytes;
use smallvec::SmallVec;

use super::field::plain_frame;
use super::{PARITY, PARITY_REPORT, PARITY_WITH_LENGTH};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::varint;

/// The XOR of the payloads of several packets of the path that carries it: gives back one of
/// them where the others are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parity {
    pub(crate) covered: Covered,
    /// XOR of the lengths of the payloads.
    pub(crate) lengths: u16,
    /// XOR of the payloads, as long as the longest of them.
    pub(crate) data: Bytes,
}

impl Parity {
    /// Bytes in front of the data of a PARITY that fills its packet and covers `covered`.
    pub(crate) fn header_size(covered: &Covered) -> usize {
        1 + covered.size() + LENGTHS
    }

    /// Appends what goes in front of the data, which the caller appends and which fill the
    /// packet.
    pub(crate) fn encode_header(covered: &Covered, lengths: u16, out: &mut Vec<u8>) {
        out.push(PARITY);
        covered.write(out);
        out.extend_from_slice(&lengths.to_be_bytes());
    }

    pub(super) fn parse(
        ty: u8,
        payload: &Bytes,
        reader: &mut Reader<'_>,
    ) -> Result<Self, Malformed> {
        let covered = Covered::read(reader)?;
        let lengths = u16::from_be_bytes(reader.array()?);
        let len = if ty == PARITY {
            reader.remaining() as u64
        } else {
            reader.varint()?
        };
        Ok(Self {
            covered,
            lengths,
            data: payload.slice(reader.span(len)?),
        })
    }

    /// Bytes that [`encode`](Self::encode) appends.
    pub(crate) fn size(&self) -> usize {
        Self::header_size(&self.covered) + varint::size(self.data.len() as u64) + self.data.len()
    }

    /// Appends the frame, with its length.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(PARITY_WITH_LENGTH);
        self.covered.write(out);
        out.extend_from_slice(&self.lengths.to_be_bytes());
        varint::encode(self.data.len() as u64, out);
        out.extend_from_slice(&self.data);
    }
}

plain_frame! {
    /// What parity has given back on a path so far.
    ParityReport = PARITY_REPORT => {
        path: u32,
        /// Packets of the path that were rebuilt.
        rebuilt: u64,
        /// The number of the one rebuilt last.
        latest: u64,
    }
}

/// Numbers of packets that one parity covers: ascending, at least one, at most 256, from the
/// first to the last fewer than 512 apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Covered {
    /// First number of each run, and how many follow it without a gap. Runs do not touch.
    runs: SmallVec<[(u64, u16); 4]>,
    count: u16,
}

impl Covered {
    /// Numbers that one parity may cover.
    pub(crate) const MAX: usize = 256;
    /// The last number is less than this above the first.
    pub(crate) const MAX_SPAN: u64 = 512;

    /// Adds a number above all others. Returns false, having changed nothing, where the limits
    /// forbid it.
    pub(crate) fn push(&mut self, number: u64) -> bool {
        let fits = self
            .first()
            .is_none_or(|first| number < first + Self::MAX_SPAN);
        if !fits || self.len() >= Self::MAX || number > varint::MAX {
            return false;
        }
        match self.runs.last_mut() {
            Some((first, further)) if *first + u64::from(*further) + 1 == number => *further += 1,
            Some((first, further)) if *first + u64::from(*further) >= number => return false,
            _ => self.runs.push((number, 0)),
        }
        self.count += 1;
        true
    }

    /// Forgets all numbers.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.count = 0;
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.count)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The numbers in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let runs = self.runs.iter();
        runs.flat_map(|(first, further)| *first..=first + u64::from(*further))
    }

    fn first(&self) -> Option<u64> {
        self.runs.first().map(|(first, _)| *first)
    }

    /// The largest number.
    pub(crate) fn last(&self) -> Option<u64> {
        let (first, further) = self.runs.last()?;
        Some(first + u64::from(*further))
    }

    /// Gap and length, each less one, of every run but the first.
    fn further(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.runs.windows(2).map(|runs| {
            let before_end = runs[0].0 + u64::from(runs[0].1);
            (runs[1].0 - before_end - 2, u64::from(runs[1].1))
        })
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let first = reader.varint()?;
        let further = reader.varint()?;
        let count = reader.varint()?;
        let mut covered = Self::default();
        covered.add_run(first, further)?;
        for _ in 0..count {
            let (gap, further) = (reader.varint()?, reader.varint()?);
            let last = covered.last().unwrap_or(first);
            covered.add_run(last.saturating_add(gap).saturating_add(2), further)?;
        }
        Ok(covered)
    }

    fn add_run(&mut self, first: u64, further: u64) -> Result<(), Malformed> {
        let count = usize::from(self.count) as u64 + further + 1;
        let last = first.saturating_add(further);
        let span = last - self.first().unwrap_or(first);
        if count > Self::MAX as u64 || span >= Self::MAX_SPAN || last > varint::MAX {
            return Err(Malformed("parity over more packets than it may cover"));
        }
        self.runs.push((first, further as u16));
        self.count = count as u16;
        Ok(())
    }

    fn size(&self) -> usize {
        let Some((first, further)) = self.runs.first() else {
            return 0;
        };
        let runs: usize = self
            .further()
            .map(|(gap, further)| varint::size(gap) + varint::size(further))
            .sum();
        varint::size(*first)
            + varint::size(u64::from(*further))
            + varint::size(self.runs.len() as u64 - 1)
            + runs
    }

    fn write(&self, out: &mut Vec<u8>) {
        let Some((first, further)) = self.runs.first() else {
            return;
        };
        varint::encode(*first, out);
        varint::encode(u64::from(*further), out);
        varint::encode(self.runs.len() as u64 - 1, out);
        for (gap, further) in self.further() {
            varint::encode(gap, out);
            varint::encode(further, out);
        }
    }
}

/// The XOR of the lengths.
const LENGTHS: usize = 2;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn covered(numbers: &[u64]) -> Covered {
        let mut covered = Covered::default();
        for number in numbers {
            assert!(covered.push(*number), "{number}");
        }
        covered
    }

    fn read(bytes: &[u8]) -> Result<Covered, Malformed> {
        Covered::read(&mut Reader::new(bytes, 0))
    }

    #[test]
    fn numbers_without_a_gap_take_three_fields() {
        let mut out = Vec::new();
        covered(&[5, 6, 7, 8]).write(&mut out);
        assert_eq!(out, [5, 3, 0]);
        out.clear();
        covered(&[5, 6, 8, 20]).write(&mut out);
        assert_eq!(out, [5, 1, 2, 0, 0, 10, 0]);
    }

    #[test]
    fn more_than_256_numbers_or_a_span_of_512_are_refused() {
        let mut many = Covered::default();
        assert_eq!((0..300).filter(|number| many.push(*number)).count(), 256);
        let mut far = covered(&[10]);
        assert!(!far.push(10) && !far.push(3) && !far.push(522) && far.push(521));
        assert_eq!(read(&[0, 0x40, 0xff, 0]).map(|c| c.len()), Ok(256));
        assert!(read(&[0, 0x41, 0x00, 0]).is_err(), "257 numbers");
        assert!(read(&[0, 0, 1, 0x41, 0xfd, 0]).is_ok(), "0 and 511");
        assert!(read(&[0, 0, 1, 0x41, 0xfe, 0]).is_err(), "0 and 512");
        let huge = [0xff; 8];
        assert!(read(&[&huge[..], &[0, 0]].concat()).is_ok());
        assert!(read(&[&huge[..], &[1, 0]].concat()).is_err(), "beyond 2^62");
        assert!(read(&[&[0, 0, 1], &huge[..], &huge[..]].concat()).is_err());
        assert!(read(&[0, 0, 0x3f]).is_err(), "runs that are not there");
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(
            first in 0_u64..1 << 61,
            steps in proptest::collection::vec(1_u64..4, 0..256),
        ) {
            let mut numbers = vec![first];
            let mut written = covered(&numbers);
            for step in steps {
                let next = numbers[numbers.len() - 1] + step;
                if written.push(next) {
                    numbers.push(next);
                }
            }
            let mut out = Vec::new();
            written.write(&mut out);
            prop_assert_eq!(out.len(), written.size());
            prop_assert_eq!(written.iter().collect::<Vec<_>>(), numbers.clone());
            prop_assert_eq!((written.len(), written.last()), (numbers.len(), numbers.last().copied()));
            prop_assert_eq!(read(&out), Ok(written));
        }

        #[test]
        fn any_bytes_are_read_within_the_limits(bytes: Vec<u8>) {
            if let Ok(read) = read(&bytes) {
                let numbers: Vec<_> = read.iter().collect();
                prop_assert!(numbers.len() == read.len() && read.len() <= Covered::MAX);
                prop_assert!(numbers.is_sorted_by(|a, b| a < b));
                prop_assert!(numbers[numbers.len() - 1] - numbers[0] < Covered::MAX_SPAN);
            }
        }
    }
}
