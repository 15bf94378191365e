//! Decodes a group: in order at once, the rest when there are as many packets as the group
//! has.

use bytes::{Bytes, BytesMut};

use super::code::{MAX_GROUP, MAX_REDUNDANT, PipelineCode};
use crate::dense::System;
use crate::{
    DecodeError, EncodingSymbolId, OutOfRange, Progress, SourceSymbols, SymbolSize, gf256,
};

/// Decoder of one group.
#[derive(Debug)]
pub struct PipelineDecoder {
    code: PipelineCode,
    packets: SourceSymbols,
    size: SymbolSize,
    /// Coded packets by number; empty where it is not here.
    coded: [Bytes; MAX_GROUP],
    /// How many are here.
    count: usize,
    /// Redundant packets with their index; none once the coded ones are all here.
    redundant: Vec<(u32, Bytes)>,
    /// How many packets were decoded.
    next: usize,
    /// Decoded packets, up to `next`, that were not asked for.
    decoded: Bytes,
    memory: BytesMut,
}

impl PipelineDecoder {
    /// A decoder of a group of `packets` packets of `size` bytes.
    ///
    /// # Errors
    /// If a group cannot have so many.
    pub fn new(
        code: PipelineCode,
        packets: SourceSymbols,
        size: SymbolSize,
    ) -> Result<Self, OutOfRange> {
        if packets.value() as usize > MAX_GROUP {
            return Err(OutOfRange {
                quantity: "packets of a pipeline group",
                got: packets.value(),
                min: 1,
                max: MAX_GROUP as u32,
            });
        }
        Ok(Self {
            code,
            packets,
            size,
            coded: Default::default(),
            count: 0,
            redundant: Vec::new(),
            next: 0,
            decoded: Bytes::new(),
            memory: BytesMut::new(),
        })
    }

    /// Takes one symbol from the network: a coded packet, or from the group's size on a
    /// redundant one. Any bytes are allowed; none panics. Keeps it at most until the group
    /// is decoded or dropped.
    ///
    /// # Errors
    /// If the symbol cannot belong to the group; the decoder is as it was then.
    pub fn push(&mut self, esi: EncodingSymbolId, symbol: Bytes) -> Result<Progress, DecodeError> {
        let packets = self.packets.value();
        let redundant = esi.value().checked_sub(packets);
        if redundant.is_some_and(|index| index >= MAX_REDUNDANT) {
            return Err(DecodeError::NoRepair {
                esi,
                source_symbols: self.packets,
            });
        }
        let (got, want) = (symbol.len(), self.size.bytes());
        if got != want {
            return Err(DecodeError::SymbolSize { esi, got, want });
        }
        if self.missing() == 0 {
            return Ok(Progress::Redundant);
        }
        if let Some(index) = redundant {
            if self.redundant.iter().any(|(here, _)| *here == index) {
                return Ok(Progress::Redundant);
            }
            self.redundant.push((index, symbol));
        } else {
            let place = &mut self.coded[esi.value() as usize];
            if !place.is_empty() {
                return Ok(Progress::Redundant);
            }
            *place = symbol;
            self.count += 1;
        }
        match self.missing() {
            0 => {
                self.recover();
                Ok(Progress::Complete)
            }
            missing => Ok(Progress::Useful { missing }),
        }
    }

    /// Next packet in order, with its number: T bytes. Those of a short last packet are
    /// followed by zeros. Computes all that can be decoded, so asking after several
    /// symbols costs less than after each.
    pub fn poll_decoded(&mut self) -> Option<(u32, Bytes)> {
        if self.decoded.is_empty() {
            self.decode();
        }
        if self.decoded.is_empty() {
            return None;
        }
        let bytes = self.size.bytes();
        let number = self.next - self.decoded.len() / bytes;
        Some((number as u32, self.decoded.split_to(bytes)))
    }

    /// How many distinct further symbols decode the whole group; 0 once complete.
    #[must_use]
    pub fn missing(&self) -> u32 {
        let here = self.count + self.redundant.len();
        self.packets.value().saturating_sub(here as u32)
    }

    /// Computes the coded packets that are not here from as many redundant ones.
    fn recover(&mut self) {
        let packets = self.packets.value() as usize;
        let lost = packets - self.count;
        if lost == 0 {
            self.redundant.clear();
            return;
        }
        let mut system = System::default();
        system.start(lost);
        let mut rows = [[0; MAX_GROUP]; MAX_GROUP];
        for (row, (index, _)) in rows.iter_mut().zip(&self.redundant) {
            *row = PipelineCode::cauchy(*index);
            let places = self.coded[..packets].iter().zip(*row);
            let unknown = places.filter_map(|(symbol, c)| symbol.is_empty().then_some(c));
            system.push(unknown);
        }
        debug_assert_eq!(
            system.missing(),
            0,
            "square parts of a Cauchy matrix are regular"
        );
        let mut factors = Vec::with_capacity(lost * lost);
        system.solve(&mut factors);

        // A lost packet is the sum of its factors times the redundant packets, and of that
        // times their coefficients of the packets that are here.
        let mut coefficients = [[0; 2 * MAX_GROUP]; MAX_GROUP];
        for (all, factors) in coefficients.iter_mut().zip(factors.chunks(lost)) {
            let (here, redundant) = all.split_at_mut(MAX_GROUP);
            gf256::dot(&mut [here], factors, &rows[..lost]);
            redundant[..lost].copy_from_slice(factors);
        }
        let bytes = self.size.bytes();
        let mut memory = BytesMut::with_capacity(lost * bytes);
        let here = self.coded.iter().enumerate();
        let redundant = (MAX_GROUP..).zip(self.redundant.iter().map(|(_, symbol)| symbol));
        let sources = here.chain(redundant).map(|(at, symbol)| (at, &symbol[..]));
        let coefficients = coefficients.as_flattened();
        gf256::append_dot(
            &mut memory,
            lost,
            bytes,
            coefficients,
            2 * MAX_GROUP,
            sources,
        );

        let mut recovered = memory.freeze();
        let places = self.coded[..packets].iter_mut();
        for place in places.filter(|place| place.is_empty()) {
            *place = recovered.split_to(bytes);
        }
        self.count = packets;
        self.redundant.clear();
    }

    /// Decodes as many packets as follow those decoded.
    fn decode(&mut self) {
        let packets = self.packets.value() as usize;
        let here = self.coded[..packets].iter();
        let end = here.take_while(|symbol| !symbol.is_empty()).count();
        if end <= self.next {
            return;
        }
        let bytes = self.size.bytes();
        self.memory.reserve((end - self.next) * bytes);
        let inverse = self.code.inverse(self.next);
        let symbols = self.coded[..end].iter().map(|symbol| &symbol[..]);
        let rows = self.next..end;
        gf256::append_lower(
            &mut self.memory,
            rows,
            bytes,
            inverse,
            MAX_GROUP,
            symbols.enumerate(),
        );
        self.next = end;
        self.decoded = self.memory.split().freeze();
        if end == packets {
            self.coded = Default::default();
        }
    }
}
