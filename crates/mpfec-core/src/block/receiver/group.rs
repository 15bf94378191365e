//! A pipeline-coded group as it arrives (PNC §IV-A).

use bytes::Bytes;
use mpfec_codec::SymbolSize;
use mpfec_codec::pipeline::PipelineCode;

/// The packets of a group in one piece: those from the first on are decoded where they lie, the
/// others coded, with zeros where none arrived.
#[derive(Debug)]
pub(super) struct Group {
    code: PipelineCode,
    packets: Vec<u8>,
    /// Packets decoded.
    decoded: usize,
}

impl Group {
    pub(super) fn new(code: PipelineCode) -> Self {
        Self {
            code,
            packets: Vec::new(),
            decoded: 0,
        }
    }

    /// Keeps a coded packet that was not here, at `start` bytes from the group's.
    pub(super) fn insert(&mut self, start: usize, packet: &[u8]) {
        let end = start + packet.len();
        if end > self.packets.len() {
            self.packets.resize(end, 0);
        }
        self.packets[start..end].copy_from_slice(packet);
    }

    /// Decodes all up to `end` bytes, where every packet is here. Returns those bytes.
    pub(super) fn decode(&mut self, end: usize, size: SymbolSize) -> &[u8] {
        let end = end.min(self.packets.len());
        let here = &mut self.packets[..end];
        self.code.decode(here, size, self.decoded);
        self.decoded = self.decoded.max(end.div_ceil(size.bytes()));
        here
    }

    /// All packets as they were sent.
    pub(super) fn coded(&self, size: SymbolSize) -> Bytes {
        let mut coded = Vec::with_capacity(self.packets.len());
        for packet in 0..self.decoded {
            self.code.code(&self.packets, size, packet, &mut coded);
        }
        coded.extend_from_slice(self.packets.get(coded.len()..).unwrap_or_default());
        coded.into()
    }

    /// Puts coded packets that were recovered to their places in a group of `length` bytes.
    pub(super) fn fill(&mut self, recovered: &[(u32, Bytes)], length: usize, size: SymbolSize) {
        self.packets.resize(length, 0);
        for (number, packet) in recovered {
            let start = *number as usize * size.bytes();
            let end = length.min(start + packet.len());
            if let Some(place) = self.packets.get_mut(start..end) {
                place.copy_from_slice(&packet[..end - start]);
            }
        }
    }

    /// The group is cut into packets of `size` bytes; `end` bytes are decoded.
    pub(super) fn cut(&mut self, end: usize, size: SymbolSize) {
        self.packets.truncate(end);
        self.decoded = end / size.bytes();
    }
}
