//! What a scheduling decision costs: four paths, 64 pending blocks, feedback every ten
//! packets, batches of up to 16.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_sched::{BlockView, LossEstimate, PathId, PathView, SchedulerKind, SymbolKind, View};

/// A sender in mid-transfer whose blocks move as it sends and gets feedback.
struct Sender {
    now: Instant,
    paths: Vec<PathView>,
    blocks: Vec<BlockView>,
    version: u64,
    writer_blocked: bool,
    /// Symbols that make up a block.
    symbols: u32,
    since_feedback: u32,
}

impl Sender {
    fn new(symbols: u32, blocks: usize, writer_blocked: bool) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a benchmark needs an epoch")]
        let now = Instant::now();
        let lines = [
            (20.0, 20, 0.02),
            (20.0, 50, 0.05),
            (10.0, 100, 0.1),
            (10.0, 300, 0.01),
        ];
        let path = |(slot, (mbit, rtt, loss)): (usize, (f64, u64, f64))| PathView {
            id: PathId(slot as u32),
            slot,
            srtt: Duration::from_millis(rtt),
            rttvar: Duration::from_millis(rtt / 8),
            rto: Duration::from_millis(rtt * 2),
            one_way: Duration::from_millis(rtt / 2),
            loss,
            loss_long: loss,
            loss_burst: 1.0,
            punctual: 0,
            cwnd: (mbit * 125.0 * rtt as f64) as u64 + 20_000,
            in_flight: 20_000,
            symbol_bytes: 1428,
            pacing_rate: (mbit * 125_000.0) as u64,
            lasting_rate: 0,
            next_send: now,
            since_oldest: Duration::from_millis(rtt / 2),
            suspected: false,
            backup: false,
            bandwidth: (mbit * 125_000.0) as u64,
            loss_estimate: LossEstimate {
                rate: loss,
                deviation: 0.0,
            },
        };
        let mut sender = Self {
            now,
            paths: lines.into_iter().enumerate().map(path).collect(),
            blocks: Vec::new(),
            version: 0,
            writer_blocked,
            symbols,
            since_feedback: 0,
        };
        // The first half is on its way, each block a little differently.
        for index in 0..blocks {
            let mut block = sender.fresh();
            if index < blocks / 2 {
                block.unsent = 0;
                block.first_sent = Some(now);
                for symbol in 0..symbols as usize {
                    block.in_flight[(symbol + index) % 4] += 1;
                }
            }
            sender.blocks.push(block);
        }
        sender.blocks[0].head = true;
        sender
    }

    fn fresh(&self) -> BlockView {
        BlockView {
            source_symbols: self.symbols,
            closed: true,
            unsent: self.symbols,
            ..BlockView::default()
        }
    }

    fn view(&self) -> View<'_> {
        View {
            now: self.now,
            paths: &self.paths,
            blocks: &self.blocks,
            has_repair: true,
            may_protect: true,
            version: self.version,
            writer_blocked: self.writer_blocked,
            window_closed: false,
            window: 10_000,
        }
    }

    fn sent(&mut self, path: usize, block: usize, symbol: SymbolKind, count: u32) {
        let state = &mut self.blocks[block];
        state.in_flight[path] += count as u16;
        if symbol == SymbolKind::Source {
            state.unsent -= count;
        }
        self.paths[path].next_send = self.now + Duration::from_micros(500);
        self.since_feedback += count;
        self.now += Duration::from_micros(100) * count;
    }

    /// Ten packets of the first blocks are acknowledged, one in 32 is lost; finished blocks
    /// make room for new ones.
    fn feedback(&mut self) {
        self.version += 1;
        let mut left = self.since_feedback;
        self.since_feedback = 0;
        for block in &mut self.blocks {
            for flight in &mut block.in_flight {
                let settled = u32::from(*flight).min(left).min(4);
                *flight -= settled as u16;
                left -= settled;
                let lost = settled > 0 && self.version.is_multiple_of(3);
                block.held += settled - u32::from(lost);
                block.lost_once += u32::from(lost);
            }
            if left == 0 {
                break;
            }
        }
        let before = self.blocks.len();
        self.blocks
            .retain(|block| block.held < block.source_symbols);
        while self.blocks.len() < before {
            let fresh = self.fresh();
            self.blocks.push(fresh);
        }
        self.blocks[0].head = true;
    }
}

fn schedule(c: &mut Criterion) {
    let mut group = c.benchmark_group("schedule");
    group.throughput(Throughput::Elements(1));
    let scenes = [
        ("bulk", 64, 64, true),
        ("bulk-4096-blocks", 24, 4096, true),
        ("paced", 24, 8, false),
    ];
    for (name, symbols, blocks, writer_blocked) in scenes {
        for kind in SchedulerKind::ALL {
            let mut sender = Sender::new(symbols, blocks, writer_blocked);
            let mut scheduler = kind.build();
            let mut path = 0;
            group.bench_function(BenchmarkId::new(name, kind), |bencher| {
                bencher.iter_custom(|wanted| {
                    let mut sent = 0u64;
                    let mut spent = Duration::ZERO;
                    while sent < wanted {
                        path = (path + 1) % 4;
                        #[expect(
                            clippy::disallowed_methods,
                            reason = "a benchmark reads the clock"
                        )]
                        let start = Instant::now();
                        let chosen = black_box(scheduler.select(path, 16, &sender.view()));
                        if let Some(chosen) = &chosen {
                            scheduler.on_sent(path, chosen, &sender.view());
                        }
                        spent += start.elapsed();
                        match chosen {
                            Some(chosen) => {
                                sender.sent(path, chosen.block, chosen.symbol, chosen.count);
                                sent += u64::from(chosen.count);
                            }
                            None => sender.since_feedback += 1,
                        }
                        if sender.since_feedback >= 10 {
                            sender.feedback();
                        }
                    }
                    spent.mul_f64(wanted as f64 / sent as f64)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, schedule);
criterion_main!(benches);
