//! A small network in virtual time: paced paths with random loss, blocks that any K symbols
//! decode, acknowledgements per packet on the fastest path.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use mpfec_sched::{
    Assignment, BlockView, MAX_PATHS, PathView, Scheduler, SchedulerKind, SymbolKind, View,
};

use crate::scene::{SYMBOL, epoch, path};

/// A path's facts.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) mbit: f64,
    pub(crate) one_way_ms: u64,
    pub(crate) loss: f64,
}

/// Where the data come from.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    /// As many symbols as the send buffer takes, this many in all.
    Bulk { symbols: u32 },
    /// A flushed message of so many symbols each interval, for so long.
    Messages {
        symbols: u32,
        every: Duration,
        until: Duration,
    },
}

/// What a run showed.
#[derive(Debug)]
pub(crate) struct Report {
    /// When the last block was delivered.
    pub(crate) finished: Duration,
    /// From first sent (bulk) or written (messages) to delivered in order, sorted.
    pub(crate) delays: Vec<Duration>,
    /// Symbols sent per path.
    pub(crate) sent: Vec<u64>,
    /// Source symbols sent.
    pub(crate) source: u64,
    /// Repair symbols sent.
    pub(crate) repair: u64,
    /// Symbols that arrived after their block was decoded.
    pub(crate) useless: u64,
    /// When the last packet left, per path.
    pub(crate) last_sent: Vec<Duration>,
    /// When the last source symbol left, per path.
    pub(crate) last_source: Vec<Duration>,
}

impl Report {
    /// Share of the time until `until` during which the path was sending.
    pub(crate) fn busy(&self, line: usize, lines: &[Line], until: Duration) -> f64 {
        self.sent[line] as f64 * symbol_ns(lines[line]) as f64 / until.as_nanos() as f64
    }

    pub(crate) fn repair_share(&self) -> f64 {
        self.repair as f64 / self.source as f64
    }

    pub(crate) fn percentile(&self, share: f64) -> Duration {
        self.delays[((self.delays.len() - 1) as f64 * share) as usize]
    }
}

/// Sender, receiver and what is between them.
pub(crate) struct Network {
    lines: Vec<Line>,
    scheduler: Box<dyn Scheduler>,
    now: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    random: u64,
    paths: Vec<PathState>,
    /// Views of the blocks that the sender still holds; the first is number `first`.
    blocks: VecDeque<BlockState>,
    first: u64,
    version: u64,
    load: Load,
    /// Symbols that were not yet written (bulk).
    unwritten: u32,
    /// Symbols that flow control allows beyond what was delivered in order.
    pub(crate) window: u32,
    /// Symbols handed to a path at once.
    pub(crate) batch: u32,
    /// Blocks delivered in order at the receiver.
    delivered: u64,
    receiver: Vec<Receiving>,
    report: Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Write,
    Arrive { path: usize, packet: u64 },
    Acked { path: usize, packet: u64 },
    Overdue { path: usize, packet: u64 },
    Slot { path: usize },
}

struct PathState {
    next_free: u64,
    packets: Vec<Packet>,
    oldest: usize,
    in_flight: u64,
}

struct Packet {
    block: u64,
    sent: u64,
    open: bool,
}

struct BlockState {
    view: BlockView,
    complete: bool,
}

struct Receiving {
    wanted: u32,
    held: u32,
    since: u64,
}

const K: u32 = 64;

impl Network {
    pub(crate) fn new(kind: SchedulerKind, lines: &[Line], load: Load, seed: u64) -> Self {
        let mut network = Self {
            lines: lines.to_vec(),
            scheduler: kind.build(),
            now: 0,
            queue: BinaryHeap::new(),
            order: 0,
            random: seed,
            paths: lines
                .iter()
                .map(|_| PathState {
                    next_free: 0,
                    packets: Vec::new(),
                    oldest: 0,
                    in_flight: 0,
                })
                .collect(),
            blocks: VecDeque::new(),
            first: 0,
            version: 0,
            load,
            unwritten: if let Load::Bulk { symbols } = load {
                symbols
            } else {
                0
            },
            window: 5800,
            batch: 4,
            delivered: 0,
            receiver: Vec::new(),
            report: Report {
                finished: Duration::ZERO,
                delays: Vec::new(),
                sent: vec![0; lines.len()],
                source: 0,
                repair: 0,
                useless: 0,
                last_sent: vec![Duration::ZERO; lines.len()],
                last_source: vec![Duration::ZERO; lines.len()],
            },
        };
        network.after(0, Event::Write);
        network
    }

    /// Runs until everything was delivered.
    pub(crate) fn run(mut self) -> Report {
        while let Some(Reverse((at, _, event))) = self.queue.pop() {
            assert!(
                at < 300_000_000_000,
                "stalled: {:?} blocks open",
                self.blocks.len()
            );
            self.now = at;
            self.handle(event);
            while self
                .queue
                .peek()
                .is_some_and(|Reverse((next, _, _))| *next == at)
            {
                let Some(Reverse((_, _, event))) = self.queue.pop() else {
                    break;
                };
                self.handle(event);
            }
            self.transmit();
        }
        assert!(
            self.blocks.is_empty(),
            "nothing moves any more, and {} blocks wait",
            self.blocks.len()
        );
        self.report.delays.sort();
        self.report
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Write => self.write(),
            Event::Arrive { path, packet } => self.arrive(path, packet),
            Event::Acked { path, packet } => self.acked(path, packet),
            Event::Overdue { path, packet } => self.lost(path, packet),
            Event::Slot { .. } => {}
        }
    }

    fn write(&mut self) {
        match self.load {
            Load::Bulk { .. } => {
                let held: u32 = self
                    .blocks
                    .iter()
                    .map(|block| block.view.source_symbols)
                    .sum();
                let mut room = self.window.saturating_sub(held);
                while self.unwritten > 0 && room >= K.min(self.unwritten) {
                    let symbols = K.min(self.unwritten);
                    self.push_block(symbols);
                    self.unwritten -= symbols;
                    room -= symbols;
                }
            }
            Load::Messages {
                symbols,
                every,
                until,
            } => {
                let mut left = symbols;
                while left > 0 {
                    self.push_block(left.min(K));
                    left -= left.min(K);
                }
                let next = self.now + every.as_nanos() as u64;
                if next < until.as_nanos() as u64 {
                    self.after(every.as_nanos() as u64, Event::Write);
                }
            }
        }
    }

    fn push_block(&mut self, symbols: u32) {
        let view = BlockView {
            source_symbols: symbols,
            closed: true,
            unsent: symbols,
            ..BlockView::default()
        };
        self.blocks.push_back(BlockState {
            view,
            complete: false,
        });
        self.receiver.push(Receiving {
            wanted: symbols,
            held: 0,
            since: self.now,
        });
        self.version += 1;
    }

    fn transmit(&mut self) {
        loop {
            let mut any = false;
            for index in 0..self.lines.len() {
                while self.paths[index].next_free <= self.now && self.send(index) {
                    any = true;
                }
            }
            if !any {
                return;
            }
        }
    }

    fn send(&mut self, index: usize) -> bool {
        let paths: Vec<PathView> = (0..self.lines.len()).map(|j| self.path_view(j)).collect();
        let blocks: Vec<BlockView> = self.block_views();
        let unsent = self.blocks.iter().any(|block| block.view.unsent > 0);
        let view = View {
            now: epoch() + Duration::from_nanos(self.now),
            paths: &paths,
            blocks: &blocks,
            has_repair: true,
            may_protect: true,
            version: self.version,
            writer_blocked: self.unwritten > 0,
            window_closed: self.unwritten > 0 && !unsent,
            window: u64::from(self.window),
        };
        let Some(assignment) = self.scheduler.select(index, self.batch, &view) else {
            return false;
        };
        assert!((1..=self.batch).contains(&assignment.count));
        self.put(index, &assignment);
        let paths: Vec<PathView> = (0..self.lines.len()).map(|j| self.path_view(j)).collect();
        let blocks = self.block_views();
        self.scheduler.on_sent(
            index,
            &assignment,
            &View {
                paths: &paths,
                blocks: &blocks,
                ..view
            },
        );
        true
    }

    fn put(&mut self, index: usize, assignment: &Assignment) {
        let line = self.lines[index];
        let number = self.first + assignment.block as u64;
        let state = &mut self.blocks[assignment.block].view;
        if state.first_sent.is_none() {
            state.first_sent = Some(epoch() + Duration::from_nanos(self.now));
            if matches!(self.load, Load::Bulk { .. }) {
                self.receiver[number as usize].since = self.now;
            }
        }
        state.in_flight[index] += assignment.count as u16;
        match assignment.symbol {
            SymbolKind::Source => {
                assert!(assignment.count <= state.unsent);
                state.unsent -= assignment.count;
                self.report.last_source[index] = Duration::from_nanos(self.now);
                self.report.source += u64::from(assignment.count);
            }
            SymbolKind::Repair
            | SymbolKind::Retransmission { .. }
            | SymbolKind::Reinjection { .. } => {
                assert!(state.closed);
                self.report.repair += u64::from(assignment.count);
            }
        }
        for _ in 0..assignment.count {
            self.paths[index].next_free =
                self.paths[index].next_free.max(self.now) + symbol_ns(line);
            self.paths[index].in_flight += 1;
            let packet = self.paths[index].packets.len() as u64;
            self.paths[index].packets.push(Packet {
                block: number,
                sent: self.now,
                open: true,
            });
            let left = self.paths[index].next_free - self.now;
            let lost = self.chance() < line.loss;
            if !lost {
                self.after(
                    left + line.one_way_ms * 1_000_000,
                    Event::Arrive {
                        path: index,
                        packet,
                    },
                );
            }
            let timeout = left + (line.one_way_ms + self.way_back_ms()) * 1_125_000 + 5_000_000;
            self.after(
                timeout,
                Event::Overdue {
                    path: index,
                    packet,
                },
            );
        }
        self.report.sent[index] += u64::from(assignment.count);
        self.report.last_sent[index] = Duration::from_nanos(self.now);
        let free = self.paths[index].next_free - self.now;
        self.after(free, Event::Slot { path: index });
    }

    fn arrive(&mut self, path: usize, packet: u64) {
        let number = self.paths[path].packets[packet as usize].block as usize;
        let block = &mut self.receiver[number];
        self.report.useless += u64::from(block.held >= block.wanted);
        block.held += 1;
        while let Some(block) = self.receiver.get(self.delivered as usize)
            && block.held >= block.wanted
        {
            self.report
                .delays
                .push(Duration::from_nanos(self.now - block.since));
            self.report.finished = Duration::from_nanos(self.now);
            self.delivered += 1;
        }
        self.after(
            self.way_back_ms() * 1_000_000,
            Event::Acked { path, packet },
        );
    }

    fn acked(&mut self, path: usize, packet: u64) {
        if let Some(block) = self.settle(path, packet) {
            block.view.held += 1;
            block.complete = block.view.held >= block.view.source_symbols;
        }
        for earlier in self.paths[path].oldest as u64..packet.saturating_sub(2) {
            self.lost(path, earlier);
        }
        while self.blocks.front().is_some_and(|block| block.complete) {
            self.blocks.pop_front();
            self.first += 1;
        }
        self.version += 1;
        if matches!(self.load, Load::Bulk { .. }) {
            self.write();
        }
    }

    fn lost(&mut self, path: usize, packet: u64) {
        if let Some(block) = self.settle(path, packet) {
            block.view.lost_once += 1;
            self.version += 1;
        }
    }

    /// Takes a packet out of flight; its block if that is still needed.
    fn settle(&mut self, path: usize, packet: u64) -> Option<&mut BlockState> {
        let state = &mut self.paths[path];
        let sent = &mut state.packets[packet as usize];
        if !sent.open {
            return None;
        }
        sent.open = false;
        state.in_flight -= 1;
        let number = sent.block;
        while state
            .packets
            .get(state.oldest)
            .is_some_and(|packet| !packet.open)
        {
            state.oldest += 1;
        }
        let block = self
            .blocks
            .get_mut(number.checked_sub(self.first)? as usize)?;
        block.view.in_flight[path] -= 1;
        Some(block)
    }

    fn path_view(&self, index: usize) -> PathView {
        let line = self.lines[index];
        let state = &self.paths[index];
        let rtt = Duration::from_millis(line.one_way_ms + self.way_back_ms())
            + Duration::from_nanos(symbol_ns(line));
        let mut view = path(index, line.mbit, rtt, line.loss.max(0.0005));
        view.one_way = Duration::from_millis(line.one_way_ms);
        view.in_flight = state.in_flight * SYMBOL;
        view.cwnd = view.cwnd * 5 / 4 + 8 * SYMBOL;
        view.next_send = epoch() + Duration::from_nanos(state.next_free);
        let oldest = state
            .packets
            .get(state.oldest)
            .map_or(self.now, |packet| packet.sent);
        view.since_oldest = Duration::from_nanos(self.now.saturating_sub(oldest));
        view
    }

    /// Complete blocks behind an incomplete one stay, with nothing to do.
    fn block_views(&self) -> Vec<BlockView> {
        let count = self.blocks.len();
        let views = self.blocks.iter().enumerate().map(|(index, block)| {
            let mut view = block.view.clone();
            view.head = index == 0;
            view.last = index + 1 == count && self.unwritten == 0;
            if block.complete {
                view.held = view.source_symbols;
            }
            view
        });
        views.collect()
    }

    fn way_back_ms(&self) -> u64 {
        self.lines
            .iter()
            .map(|line| line.one_way_ms)
            .min()
            .unwrap_or(0)
    }

    fn after(&mut self, delay: u64, event: Event) {
        self.order += 1;
        self.queue
            .push(Reverse((self.now + delay, self.order, event)));
    }

    /// SplitMix64, from 0 to 1.
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }
}

fn symbol_ns(line: Line) -> u64 {
    (SYMBOL as f64 * 8.0 * 1e3 / line.mbit) as u64
}

const _: () = assert!(MAX_PATHS >= 4);
