//! The end to which parity is sent: keeps what arrived, and gives back what did not.

use std::collections::VecDeque;

use bytes::Bytes;
use mpfec_codec::gf256;
use smallvec::SmallVec;

use crate::error::TransportError;
use crate::wire::frame::{Covered, Parity};

/// Payloads of a path that a parity may still cover, and parities that lack more than one.
///
/// Each payload goes into one parity at most and is dropped with it, so that the work is bounded
/// by what arrived, whatever the parities of a hostile peer claim.
#[derive(Debug)]
pub(crate) struct ParityReceiver {
    /// The payload of packet `n` at `n % SPAN`.
    payloads: Box<[Option<(u64, Bytes)>]>,
    /// Bytes of all payloads.
    bytes: usize,
    /// No payload of a smaller number is kept.
    oldest: u64,
    /// No payload of this number or a larger one is kept.
    end: u64,
    waiting: VecDeque<Waiting>,
    rebuilt: u64,
    latest: u64,
    /// How many acknowledgements still have to tell of the last change.
    untold: u8,
}

/// A parity that lacks more than one packet, some of which may just be late.
#[derive(Debug)]
struct Waiting {
    missing: SmallVec<[u64; 4]>,
    lengths: u16,
    /// XOR of the parity's data and of the payloads that are there.
    sum: Vec<u8>,
}

/// A packet that did not arrive but is there all the same.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rebuilt {
    pub(crate) packet_number: u64,
    pub(crate) payload: Bytes,
}

impl ParityReceiver {
    pub(crate) fn new() -> Self {
        Self {
            payloads: (0..SPAN).map(|_| None).collect(),
            bytes: 0,
            oldest: 0,
            end: 0,
            waiting: VecDeque::new(),
            rebuilt: 0,
            latest: 0,
            untold: 0,
        }
    }

    /// A packet that a parity may cover arrived for the first time. It may
    /// complete a parity that came before it.
    ///
    /// # Errors
    /// The parity and what it covers contradict each other.
    pub(crate) fn on_packet(
        &mut self,
        number: u64,
        payload: &Bytes,
    ) -> Result<Option<Rebuilt>, TransportError> {
        let waiting = self.waiting.iter().position(|waiting| {
            let missing = &waiting.missing;
            missing.contains(&number)
        });
        let Some(index) = waiting else {
            self.keep(number, payload);
            return Ok(None);
        };
        let waiting = &mut self.waiting[index];
        waiting.missing.retain(|missing| *missing != number);
        waiting.add(payload)?;
        if waiting.missing.len() > 1 {
            return Ok(None);
        }
        self.waiting
            .remove(index)
            .map_or(Ok(None), |waiting| self.rebuild(waiting))
    }

    /// A parity arrived in packet `carrier`; `is_known` tells which packets did, or are too old
    /// to tell.
    ///
    /// # Errors
    /// It covers packets that were sent after it, or contradicts what it covers.
    pub(crate) fn on_parity(
        &mut self,
        carrier: u64,
        parity: &Parity,
        is_known: impl Fn(u64) -> bool,
    ) -> Result<Option<Rebuilt>, TransportError> {
        if parity.covered.last().is_none_or(|last| last >= carrier) {
            return Err(TransportError::protocol_violation(
                "parity over packets that were sent after it",
            ));
        }
        let mut missing = SmallVec::<[u64; 4]>::new();
        let mut is_useless = false;
        for number in parity.covered.iter() {
            if self.has(number) {
                continue;
            }
            if is_known(number) {
                // Too old, or it went into another parity: its bytes are gone.
                is_useless = true;
            } else {
                missing.push(number);
            }
        }
        if is_useless || missing.is_empty() {
            for number in parity.covered.iter() {
                self.take(number);
            }
            return Ok(None);
        }
        let mut waiting = Waiting {
            missing,
            lengths: parity.lengths,
            sum: parity.data.to_vec(),
        };
        for number in parity.covered.iter() {
            if let Some(payload) = self.take(number) {
                waiting.add(&payload)?;
            }
        }
        if waiting.missing.len() == 1 {
            return self.rebuild(waiting);
        }
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(waiting);
        Ok(None)
    }

    /// How many packets were rebuilt, and the number of the last of them, if the peer is to be
    /// told with the next acknowledgement.
    pub(crate) fn report(&mut self) -> Option<(u64, u64)> {
        self.untold = self.untold.checked_sub(1)?;
        Some((self.rebuilt, self.latest))
    }

    /// Packets that were rebuilt.
    pub(crate) fn rebuilt(&self) -> u64 {
        self.rebuilt
    }

    fn rebuild(&mut self, waiting: Waiting) -> Result<Option<Rebuilt>, TransportError> {
        let [packet_number] = waiting.missing[..] else {
            return Ok(None);
        };
        let (length, mut sum) = (usize::from(waiting.lengths), waiting.sum);
        let padding = sum.get(length..);
        if length == 0 || padding.is_none_or(|padding| padding.iter().any(|byte| *byte != 0)) {
            return Err(contradiction());
        }
        sum.truncate(length);
        self.rebuilt += 1;
        self.latest = packet_number;
        self.untold = TELLINGS;
        Ok(Some(Rebuilt {
            packet_number,
            payload: Bytes::from(sum),
        }))
    }

    fn keep(&mut self, number: u64, payload: &Bytes) {
        if number < self.oldest || number + SPAN < self.end {
            return;
        }
        if number >= self.end {
            if number - self.end >= SPAN {
                // Nothing that is kept is near enough.
                self.payloads.fill(None);
                (self.bytes, self.oldest) = (0, number);
            }
            self.end = number + 1;
            self.drop_below(self.end.saturating_sub(SPAN));
        }
        self.payloads[slot(number)] = Some((number, payload.clone()));
        self.bytes += payload.len();
        while self.bytes > MAX_BYTES {
            self.drop_below(self.oldest + 1);
        }
    }

    fn drop_below(&mut self, number: u64) {
        while self.oldest < number {
            self.take(self.oldest);
            self.oldest += 1;
        }
    }

    fn has(&self, number: u64) -> bool {
        let kept = self.payloads[slot(number)].as_ref();
        kept.is_some_and(|(kept, _)| *kept == number)
    }

    fn take(&mut self, number: u64) -> Option<Bytes> {
        let kept = &mut self.payloads[slot(number)];
        let (_, payload) = kept.take_if(|(kept, _)| *kept == number)?;
        self.bytes -= payload.len();
        Some(payload)
    }
}

impl Waiting {
    fn add(&mut self, payload: &[u8]) -> Result<(), TransportError> {
        let sum = self.sum.get_mut(..payload.len());
        let sum = sum.ok_or_else(contradiction)?;
        gf256::add(sum, payload);
        self.lengths ^= payload.len() as u16;
        Ok(())
    }
}

fn slot(number: u64) -> usize {
    (number % SPAN) as usize
}

fn contradiction() -> TransportError {
    TransportError::protocol_violation("parity that contradicts what it covers")
}

/// Numbers that a parity may span.
const SPAN: u64 = Covered::MAX_SPAN;
/// Bytes of payloads of a path: as many packets as one parity may cover, at 1500 bytes each.
/// Larger packets leave fewer.
const MAX_BYTES: usize = 256 * 1500;
/// Parities of a path that lack more than one packet.
const MAX_WAITING: usize = 4;
/// Reports may get lost; later ones say the same.
const TELLINGS: u8 = 2;

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
