//! After the first blocks, coding allocates nothing per symbol.
#![expect(unsafe_code, reason = "counts what the allocator is asked for")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use mpfec_codec::{CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        let in_use = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(in_use, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn coding_takes_little_more_than_two_blocks_and_allocates_nothing_per_symbol() {
    // Before any other block has left its memory; only what depends on K is at hand.
    for (k, repairs) in [(1000, 200), (1000, 500), (1000, 1000)] {
        let mut block = Block::new(k);
        let mut out = Vec::with_capacity(repairs as usize * T);
        block.encode(1, &mut out);
        let encode = count(|| block.encode(repairs, &mut out));
        block.receive(&out);
        let decode = count(|| block.decode());
        // The source or received symbols are there besides. Where nothing but repair
        // symbols came, there is the whole block once more.
        let bytes = k as usize * T;
        assert!(
            encode.peak <= bytes * 12 / 10,
            "{encode:?}, K = {k}, {repairs}"
        );
        let room = bytes * if repairs == k { 18 } else { 12 } / 10;
        assert!(decode.peak <= room, "{decode:?}, K = {k}, {repairs}");
    }
    for (k, repairs) in [
        (27, 2),
        (27, 13),
        (128, 6),
        (256, 128),
        (1000, 50),
        (1000, 200),
    ] {
        let mut block = Block::new(k);
        let mut out = Vec::with_capacity(repairs as usize * T);
        for _ in 0..3 {
            block.encode(repairs, &mut out);
            block.receive(&out);
            block.decode();
        }
        let encode = count(|| block.encode(repairs, &mut out));
        let decode = count(|| block.decode());
        // The encoder, or decoder, itself; and what it hands out.
        assert!(
            encode.allocations <= 2,
            "{encode:?} to encode, K = {k}, {repairs}"
        );
        assert!(
            decode.allocations <= 2,
            "{decode:?} to decode, K = {k}, {repairs}"
        );
    }
}

struct Block {
    source: Vec<Bytes>,
    received: Vec<(EncodingSymbolId, Bytes)>,
}

impl Block {
    fn new(k: u32) -> Self {
        let symbol = |position: u32| -> Bytes {
            (0..T as u32)
                .map(|at| (position * 31 + at * 7 + at / 251) as u8)
                .collect()
        };
        Self {
            source: (0..k).map(symbol).collect(),
            received: Vec::new(),
        }
    }

    fn encode(&self, repairs: u32, out: &mut Vec<u8>) {
        let mut encoder = CodecKind::RaptorQ.encoder(size());
        for symbol in &self.source {
            encoder
                .push_source(symbol.clone())
                .expect("a symbol of the block");
        }
        encoder.close();
        encoder.expect_repair(repairs);
        out.clear();
        let k = self.source.len() as u32;
        for esi in k..k + repairs {
            encoder.encode(id(esi), out).expect("a closed block");
        }
    }

    /// These repair symbols arrive, and as many of the first source symbols do not.
    fn receive(&mut self, repairs: &[u8]) {
        let repairs = repairs.chunks(T).map(Bytes::copy_from_slice);
        // A buffer that is shared for the first time allocates.
        let repairs = repairs.inspect(|symbol| drop(symbol.clone()));
        let kept = (0..)
            .map(id)
            .zip(self.source.iter().cloned())
            .skip(repairs.len());
        let k = self.source.len() as u32;
        self.received = kept.chain((k..).map(id).zip(repairs)).collect();
    }

    fn decode(&self) {
        let source_symbols = SourceSymbols::new(self.source.len() as u32).expect("a valid K");
        let mut decoder = CodecKind::RaptorQ.decoder(source_symbols, size());
        let mut is_complete = false;
        for (esi, symbol) in &self.received {
            is_complete = decoder.push(*esi, symbol.clone()) == Ok(Progress::Complete);
        }
        assert!(is_complete, "these symbols give the block");
        while let Some((position, symbol)) = decoder.poll_recovered() {
            assert_eq!(symbol, self.source[position as usize]);
        }
    }
}

#[derive(Debug)]
struct Count {
    allocations: usize,
    peak: usize,
}

/// What `run` allocates, and how much of it at once.
fn count(run: impl FnOnce()) -> Count {
    let (before, in_use) = (ALLOCATIONS.load(Relaxed), IN_USE.load(Relaxed));
    PEAK.store(in_use, Relaxed);
    run();
    Count {
        allocations: ALLOCATIONS.load(Relaxed) - before,
        peak: PEAK.load(Relaxed) - in_use,
    }
}

fn id(esi: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(esi).expect("identifiers here are small")
}

fn size() -> SymbolSize {
    SymbolSize::new(T as u32).expect("a valid size")
}

const T: usize = 1280;
