//! Against the `raptorq` crate, both ways, for every row of table 2 that a transport uses
//! and some beyond.

use ::raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder,
};
use bytes::Bytes;

use super::{RaptorQDecoder, RaptorQEncoder};
use crate::{BlockDecoder, BlockEncoder, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

/// A block, and both encoders of it.
struct Scene {
    k: u32,
    size: usize,
    data: Vec<u8>,
    theirs: SourceBlockEncoder,
}

impl Scene {
    fn new(k: u32, size: usize) -> Self {
        let mut random = Random(u64::from(k) << 16 | size as u64);
        let data: Vec<u8> = (0..k as usize * size)
            .map(|_| random.next() as u8)
            .collect();
        let theirs = SourceBlockEncoder::new(0, &information(k, size), &data);
        Self {
            k,
            size,
            data,
            theirs,
        }
    }

    fn source(&self, position: u32) -> Bytes {
        Bytes::copy_from_slice(&self.data[position as usize * self.size..][..self.size])
    }

    fn their_repair(&self, esi: u32) -> Bytes {
        let packets = self.theirs.repair_packets(esi - self.k, 1);
        Bytes::copy_from_slice(packets[0].data())
    }

    /// Our encoder, told to expect `expected` repair symbols.
    fn ours(&self, expected: u32) -> RaptorQEncoder {
        let mut encoder = RaptorQEncoder::new(size(self.size));
        for position in 0..self.k {
            encoder
                .push_source(self.source(position))
                .expect("a symbol of the block");
        }
        encoder.close();
        encoder.expect_repair(expected);
        encoder
    }

    fn encoders_agree(&self) {
        let last = (1 << 24) - 1;
        let esis = [0, 1, 2, 63, 64, 65, 500, 1 << 20].map(|further| self.k + further);
        // One by one, and by way of the intermediate symbols.
        for expected in [1, 100_000] {
            let mut ours = self.ours(expected);
            for esi in esis.into_iter().chain([last]) {
                let (got, want) = (encode(&mut ours, esi), self.their_repair(esi));
                assert_eq!(got, want, "K = {}, T = {}, ESI = {esi}", self.k, self.size);
            }
        }
    }

    /// The source symbols that are kept and their repair symbols give the block.
    fn we_decode_theirs(&self, is_kept: impl Fn(u32) -> bool) {
        self.we_decode_from(is_kept, self.k + 3..);
    }

    /// The source symbols that are kept and these repair symbols give the block.
    fn we_decode_from(&self, is_kept: impl Fn(u32) -> bool, repairs: impl Iterator<Item = u32>) {
        let mut decoder = RaptorQDecoder::new(source_symbols(self.k), size(self.size));
        let kept = (0..self.k).filter(|&position| is_kept(position));
        let mut symbols = kept.map(|position| (position, self.source(position)));
        let mut repairs = repairs.map(|esi| (esi, self.their_repair(esi)));
        let mut pushed = 0;
        loop {
            let (value, symbol) = symbols.next().or_else(|| repairs.next()).expect("endless");
            pushed += 1;
            let progress = decoder.push(esi(value), symbol).expect("a valid symbol");
            if progress == Progress::Complete {
                break;
            }
        }
        assert!(pushed <= self.k + 3, "{pushed} symbols of K = {}", self.k);
        for position in (0..self.k).filter(|&position| !is_kept(position)) {
            let want = (position, self.source(position));
            assert_eq!(decoder.poll_recovered(), Some(want), "K = {}", self.k);
        }
        assert_eq!(decoder.poll_recovered(), None);
    }

    fn they_decode_ours(&self, is_kept: impl Fn(u32) -> bool, expected: u32) {
        let mut ours = self.ours(expected);
        let length = self.data.len() as u64;
        let mut decoder = SourceBlockDecoder::new(0, &information(self.k, self.size), length);
        let packet =
            |esi, symbol: Bytes| EncodingPacket::new(PayloadId::new(0, esi), symbol.to_vec());
        let kept: Vec<u32> = (0..self.k).filter(|&position| is_kept(position)).collect();
        let lost = self.k - kept.len() as u32;
        let repairs: Vec<u32> = (self.k..self.k + lost + 4).collect();
        let kept = kept
            .into_iter()
            .map(|position| packet(position, self.source(position)));
        let repairs = repairs
            .into_iter()
            .map(|esi| packet(esi, encode(&mut ours, esi)));
        let block = decoder.decode(kept.chain(repairs));
        assert!(
            block.is_some_and(|block| block == self.data),
            "K = {}, T = {}",
            self.k,
            self.size
        );
    }

    fn all_agree(&self) {
        self.encoders_agree();
        let every = |n: u32| move |position: u32| position % n != n - 1;
        self.we_decode_theirs(every(10));
        self.we_decode_theirs(every(2));
        self.they_decode_ours(every(3), 1);
        self.they_decode_ours(every(3), 100_000);
    }
}

#[test]
fn symbols_are_interchangeable_at_every_row_of_table_2_up_to_1024() {
    let rows = super::table::all_extended().filter(|&extended| extended <= 1032);
    for extended in rows {
        for k in extended - 1..=extended + 1 {
            Scene::new(k.clamp(1, 1033), 8).all_agree();
        }
    }
}

#[test]
fn symbols_are_interchangeable_when_blocks_are_small() {
    for k in 1..=40 {
        Scene::new(k, 4).all_agree();
        let scene = Scene::new(k, 1);
        scene.we_decode_theirs(|_| false);
        scene.they_decode_ours(|_| false, 1);
    }
}

#[test]
fn symbols_of_any_size_are_interchangeable() {
    for k in [1, 10, 27, 101, 250, 600] {
        for size in [1, 4, 8, 13, 64, 65, 1280] {
            Scene::new(k, size).all_agree();
        }
    }
}

#[test]
fn symbols_are_interchangeable_when_blocks_are_large() {
    for k in [2000, 4000, 10_000] {
        let scene = Scene::new(k, 4);
        scene.encoders_agree();
        scene.we_decode_theirs(|position| position % 5 != 0);
        scene.they_decode_ours(|position| position % 2 == 0, 1);
    }
}

#[test]
fn few_losses_of_large_blocks_are_replaced_by_any_repair_symbols() {
    for k in [2048, 2049, 3500, 10_000] {
        let scene = Scene::new(k, 20);
        let lost = |count: u32| move |position: u32| position % (k / count) != 5 % (k / count);
        for count in [1, 4, 30, 100, 200] {
            scene.we_decode_theirs(lost(count));
        }
        // The first repair symbols, identifiers far away, and one after the other.
        let near = || k..k + 12;
        let far = || (k + 1000..).step_by(12_345);
        scene.we_decode_from(lost(10), near());
        scene.we_decode_from(lost(10), far());
        scene.we_decode_from(lost(10), near().take(5).chain(far()));
        scene.we_decode_from(lost(10), far().take(5).chain(near()));
    }
}

#[test]
fn the_first_repair_symbols_of_large_blocks_are_those_of_the_rfc() {
    for k in [2049, 4001, 10_000] {
        let scene = Scene::new(k, 20);
        let mut ours = scene.ours(40);
        for esi in k..k + 64 {
            assert_eq!(encode(&mut ours, esi), scene.their_repair(esi), "K = {k}");
        }
        // Across the end of those whose coefficients are kept.
        let mut ours = scene.ours(20);
        for esi in k + 250..k + 262 {
            assert_eq!(encode(&mut ours, esi), scene.their_repair(esi), "K = {k}");
        }
    }
}

#[test]
fn the_largest_block_is_interchangeable() {
    let scene = Scene::new(56_403, 1);
    let mut ours = scene.ours(1);
    for esi in [56_403, 56_404, 60_000, (1 << 24) - 1] {
        assert_eq!(
            encode(&mut ours, esi),
            scene.their_repair(esi),
            "ESI = {esi}"
        );
    }
    scene.we_decode_theirs(|position| position % 4 != 0);
}

/// RFC 6330 promises about 1 failure in 256 with K symbols, 256 times less with each
/// further one.
#[test]
fn few_blocks_need_more_than_k_symbols() {
    let mut failures = [0; 3];
    let mut random = Random(1);
    for (k, trials) in [(10, 2000), (27, 2000), (130, 300)] {
        let scene = Scene::new(k, 1);
        let mut encoder = scene.ours(100_000);
        for _ in 0..trials {
            let needed = symbols_needed(&mut encoder, k, &mut random);
            failures
                .iter_mut()
                .take(needed - k as usize)
                .for_each(|count| *count += 1);
        }
    }
    let [with_k, with_one_more, with_two_more] = failures;
    assert!((4..60).contains(&with_k), "{with_k} of 4300");
    assert!(with_one_more <= 2 && with_two_more == 0, "{failures:?}");
}

/// Pushes random symbols of a block, half of them repair symbols, until it is decoded.
fn symbols_needed(encoder: &mut RaptorQEncoder, k: u32, random: &mut Random) -> usize {
    let mut decoder = RaptorQDecoder::new(source_symbols(k), size(1));
    let first = k + random.next() as u32 % (1 << 23);
    let source = (0..k).filter(|position| position % 2 == 0);
    for (pushed, value) in (1..).zip(source.chain(first..)) {
        let symbol = encode(encoder, value);
        if decoder.push(esi(value), symbol) == Ok(Progress::Complete) {
            return pushed;
        }
    }
    unreachable!("identifiers do not end so soon")
}

fn encode(encoder: &mut RaptorQEncoder, value: u32) -> Bytes {
    let mut out = Vec::new();
    encoder
        .encode(esi(value), &mut out)
        .expect("a closed block has it");
    out.into()
}

fn information(k: u32, size: usize) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(u64::from(k) * size as u64, size as u16, 1, 1, 1)
}

fn source_symbols(k: u32) -> SourceSymbols {
    SourceSymbols::new(k).expect("a valid K")
}

fn size(bytes: usize) -> SymbolSize {
    SymbolSize::new(bytes as u32).expect("a valid T")
}

fn esi(value: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(value).expect("24 bits")
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
