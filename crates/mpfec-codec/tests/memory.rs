//! How much memory a block takes at most, whatever is lost.
#![expect(unsafe_code, reason = "counts what the allocator is asked for")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use mpfec_codec::{CodecKind, EncodingSymbolId, Progress, SourceSymbols, SymbolSize};

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
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

/// Every block in a process of its own, where no other has left memory to use again.
///
/// Counted is all that is allocated while a block is coded, and its K source symbols, or as
/// many that are received; not what depends on K alone and is kept. That is up to
/// 2.2 x K x T bytes, and besides [`PER_SYMBOL`] bytes for each symbol and [`FURTHER`]
/// symbols.
#[test]
fn a_block_takes_little_more_than_2_2_times_its_size_whatever_is_lost() {
    if let Ok(block) = std::env::var(BLOCK) {
        let (k, lost) = block.split_once(' ').expect("two numbers");
        return measure(k.parse().expect("K"), lost.parse().expect("a count"));
    }
    for k in [10_u32, 27, 64, 128, 256, 1000] {
        for percent in [5, 50, 75, 100] {
            let lost = (k * percent).div_ceil(100);
            let status = Command::new(std::env::current_exe().expect("this test"))
                .env(BLOCK, format!("{k} {lost}"))
                .status();
            let is_within = status.is_ok_and(|status| status.success());
            assert!(is_within, "K = {k}, {lost} lost");
        }
    }
}

fn measure(k: u32, lost: u32) {
    // What depends on K alone is kept; the rest goes with the thread.
    let prepare = move || {
        let source = source(k, 1);
        for expected in [1, 100_000] {
            encode(&source, expected, 1, &mut Vec::new());
        }
    };
    std::thread::spawn(prepare).join().expect("a block");
    let source = source(k, T);
    let repairs = lost + 2;
    let mut out = Vec::with_capacity(repairs as usize * T);
    assert_within(
        k,
        "to encode",
        peak_of(|| encode(&source, repairs, repairs, &mut out)),
    );
    let repairs = out.chunks(T).map(Bytes::copy_from_slice);
    // A buffer that is shared for the first time allocates.
    let repairs = repairs.inspect(|symbol| drop(symbol.clone()));
    let kept = (0..).zip(source).skip(lost as usize);
    let received = kept.chain((k..).zip(repairs)).collect();
    assert_within(k, "to decode", peak_of(|| decode(k, received)));
}

fn assert_within(k: u32, what: &str, peak: usize) {
    let k = k as usize;
    let all = k * T + peak;
    let most = k * T * 22 / 10 + k * PER_SYMBOL + FURTHER * T;
    assert!(all <= most, "{all} of {most} bytes {what} {k} symbols");
}

fn source(k: u32, size: usize) -> Vec<Bytes> {
    let symbol = |position: u32| -> Bytes {
        (0..size as u32)
            .map(|at| (position * 31 + at * 7 + at / 251) as u8)
            .collect()
    };
    (0..k)
        .map(symbol)
        .inspect(|symbol| drop(symbol.clone()))
        .collect()
}

fn encode(source: &[Bytes], expected: u32, repairs: u32, out: &mut Vec<u8>) {
    let size = SymbolSize::new(source[0].len() as u32).expect("a valid size");
    let mut encoder = CodecKind::RaptorQ.encoder(size);
    for symbol in source {
        encoder
            .push_source(symbol.clone())
            .expect("a symbol of the block");
    }
    encoder.close();
    encoder.expect_repair(expected);
    let k = source.len() as u32;
    for esi in k..k + repairs {
        encoder.encode(id(esi), out).expect("a closed block");
    }
}

fn decode(k: u32, received: Vec<(u32, Bytes)>) {
    let size = SymbolSize::new(T as u32).expect("a valid size");
    let mut decoder = CodecKind::RaptorQ.decoder(SourceSymbols::new(k).expect("a valid K"), size);
    let is_complete = received
        .into_iter()
        .any(|(esi, symbol)| decoder.push(id(esi), symbol) == Ok(Progress::Complete));
    assert!(is_complete, "these symbols give the block");
    while let Some((_, symbol)) = decoder.poll_recovered() {
        assert_eq!(symbol.len(), T);
    }
}

/// The most that `run` has allocated at once.
fn peak_of(run: impl FnOnce()) -> usize {
    let in_use = IN_USE.load(Relaxed);
    PEAK.store(in_use, Relaxed);
    run();
    PEAK.load(Relaxed) - in_use
}

fn id(esi: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(esi).expect("identifiers here are small")
}

const T: usize = 1280;

/// Bytes for each symbol, whatever its size: coefficients and schedules.
const PER_SYMBOL: usize = 300;

/// Symbols that there are besides those of the block: what constrains the intermediate
/// symbols, and what is not kept of the sums that lead to them.
const FURTHER: usize = 45;

/// Names the variable that says which block to measure, as K and symbols lost.
const BLOCK: &str = "MPFEC_TEST_BLOCK";
