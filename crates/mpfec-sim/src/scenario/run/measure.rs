//! From what the hosts and links count to metrics and time series.

mod record;
mod share;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpfec_core::{ConnectionStats, PathStats};

use self::record::{Average, Counter, ParityRecord, PathRecord};
use self::share::Shares;
use super::peer::Page;
use super::world::{IP_AND_UDP, Pair, World, path_of};
use crate::scenario::metrics::goodput_of;
use crate::scenario::{Application, Plan, RunResult};
use crate::{LinkCounters, LinkId};

/// Follows a run from the end of its warm-up on.
pub(super) struct Measurement<'a> {
    plan: &'a Plan,
    began: Instant,
    /// When the series have their next point.
    next_sample: Instant,
    at_start: Totals,
    at_sample: Totals,
    paths: Vec<PathRecord>,
    /// Of each link of each path towards the server, when the measurement began.
    links_at_start: Vec<Vec<LinkCounters>>,
    out_of_order: Average,
    series: BTreeMap<String, Vec<(f64, f64)>>,
}

/// What has been counted since the run began.
#[derive(Debug, Clone, Default)]
struct Totals {
    read: u64,
    sent_bytes: u64,
    stream_bytes: u64,
    source_symbols: u64,
    repair_symbols: u64,
    resent_symbols: u64,
    late_symbols: u64,
    coefficient_bytes: u64,
    received_symbols: u64,
    redundant_symbols: u64,
    /// Of each flow: bytes received, packets sent and received.
    flows: Vec<(u64, u64, u64)>,
}

impl<'a> Measurement<'a> {
    pub(super) fn start(world: &World, plan: &'a Plan) -> Self {
        let totals = Totals::of(world);
        let began = world.network.now();
        let mut measurement = Self {
            plan,
            began,
            next_sample: began + plan.sample,
            at_start: totals.clone(),
            at_sample: totals,
            paths: plan
                .setup
                .paths
                .iter()
                .map(|_| PathRecord::default())
                .collect(),
            links_at_start: links(world),
            out_of_order: Average::default(),
            series: BTreeMap::new(),
        };
        measurement.look_at_paths(world);
        for path in &mut measurement.paths {
            // What was counted before does not count.
            path.forget();
        }
        measurement
    }

    /// Looks at the world after a short time.
    pub(super) fn step(&mut self, world: &World) {
        self.look_at_paths(world);
        let held: u64 = world
            .pairs
            .iter()
            .filter_map(|pair| pair.server(&world.network).connection())
            .map(|connection| held_bytes(&connection.stats()))
            .sum();
        self.out_of_order.add(held as f64);
        if world.network.now() >= self.next_sample {
            self.sample(world);
        }
    }

    fn look_at_paths(&mut self, world: &World) {
        for pair in &world.pairs {
            let stats = pair
                .client(&world.network)
                .connection()
                .map(|client| client.stats());
            for path in stats.iter().flat_map(|stats| &stats.paths) {
                let Some(&index) = pair.paths.get(path.tuple.socket.0 as usize) else {
                    continue;
                };
                self.paths[index].add(path);
                self.sample_window(index, path, world);
            }
            let stats = pair
                .server(&world.network)
                .connection()
                .map(|server| server.stats());
            for path in stats.iter().flat_map(|stats| &stats.paths) {
                let index = path_of(path.tuple.remote);
                if let Some(record) = index.and_then(|index| self.paths.get_mut(index)) {
                    record.received_bytes.update(path.id, path.received_bytes);
                    record
                        .received_packets
                        .update(path.id, path.received_packets);
                }
            }
        }
        for (record, links) in self.paths.iter_mut().zip(&world.forward) {
            let ms: f64 = links
                .iter()
                .map(|link| {
                    let link = world.network.link(*link);
                    let rate = link.config().rate.unwrap_or(u64::MAX) as f64;
                    link.queued_bytes() as f64 * 8000.0 / rate
                })
                .sum();
            record.queue_ms.add(ms);
            record.queue_in_sample.add(ms);
        }
    }

    /// Window and parity ratio are matters of the moment: the last value in a sample counts.
    fn sample_window(&mut self, index: usize, path: &PathStats, world: &World) {
        if world.network.now() >= self.next_sample {
            let name = &self.plan.setup.paths[index].name;
            self.put(world, format!("cwnd.{name}"), path.cwnd_bytes as f64);
            if let Some(ratio) = path.parity.ratio {
                self.put(world, format!("ratio.{name}"), ratio);
            }
        }
    }

    fn sample(&mut self, world: &World) {
        let totals = Totals::of(world);
        let seconds = self.plan.sample.as_secs_f64();
        let mbps = |now: u64, before: u64| (now - before) as f64 * 8e-6 / seconds;
        let goodput = mbps(totals.read, self.at_sample.read);
        self.put(world, "goodput_mbps".to_owned(), goodput);
        for index in 0..self.plan.traffic.len() {
            let name = goodput_of("traffic", &self.plan.traffic[index].name);
            let rate = mbps(totals.flows[index].0, self.at_sample.flows[index].0);
            self.put(world, name, rate);
        }
        for index in 0..self.paths.len() {
            let path = &self.plan.setup.paths[index].name;
            let record = &mut self.paths[index];
            let received = record.received_bytes.total;
            let rate = mbps(
                received,
                std::mem::replace(&mut record.received_at_sample, received),
            );
            let srtt = std::mem::take(&mut record.srtt_in_sample).mean();
            let queue = std::mem::take(&mut record.queue_in_sample).mean();
            self.put(world, goodput_of("path", path), rate);
            for (name, value) in [("srtt_ms", srtt), ("queue_ms", queue)] {
                if let Some(value) = value {
                    self.put(world, format!("{name}.{path}"), value);
                }
            }
        }
        self.at_sample = totals;
        self.next_sample += self.plan.sample;
    }

    /// A point of a time series: at the end of the sample.
    fn put(&mut self, _world: &World, name: String, value: f64) {
        let at = (self.next_sample - self.began).as_secs_f64();
        self.series.entry(name).or_default().push((at, value));
    }

    pub(super) fn finish(mut self, world: &World) -> RunResult {
        let done_at = world
            .pairs
            .iter()
            .map(|pair| pair.server(&world.network).application().done_at())
            .max()
            .flatten();
        let is_done = world.is_done();
        let now = world.network.now();
        let ended = done_at.filter(|_| is_done).unwrap_or(now).max(self.began);
        let mut metrics = BTreeMap::new();
        let mut put = |name: &str, value: f64| {
            metrics.insert(name.to_owned(), value);
        };
        if self.plan.application.has_end() {
            put("completion_s", (ended - world.connected_at()).as_secs_f64());
            put("completed_percent", if is_done { 100.0 } else { 0.0 });
            if let Some(least) = self.plan.least_completion() {
                let took = ended - world.connected_at();
                put("completion_ratio", took.as_secs_f64() / least.as_secs_f64());
            }
        }
        let totals = Totals::of(world);
        let seconds = (ended - self.began).as_secs_f64();
        let mbps = |bytes: u64| {
            if seconds > 0.0 {
                bytes as f64 * 8e-6 / seconds
            } else {
                0.0
            }
        };
        let goodput = mbps(totals.read - self.at_start.read);
        put("goodput_mbps", goodput);
        if let Some(limit) = self.plan.limit_mbps() {
            put("limit_percent", 100.0 * goodput / limit);
            let in_window = self
                .plan
                .window_mbps()
                .map_or(limit, |mbps| mbps.min(limit));
            put("window_limit_percent", 100.0 * goodput / in_window);
        }
        let parity = |count: fn(&ParityRecord) -> &Counter| -> u64 {
            let paths = self.paths.iter();
            paths.map(|path| count(&path.parity).total).sum()
        };
        for (name, value) in totals.shares_since(&self.at_start, parity(|parity| &parity.sent)) {
            put(name, value);
        }
        put("parity.useful", parity(|parity| &parity.useful) as f64);
        put("parity.useless", parity(|parity| &parity.useless) as f64);
        if let Some(mean) = self.out_of_order.mean() {
            put("out_of_order_bytes.mean", mean);
            put("out_of_order_bytes.max", self.out_of_order.most);
        }
        // Other flows go on until the run ends.
        let whole = (now - self.began).as_secs_f64().max(f64::MIN_POSITIVE);
        for (index, traffic) in self.plan.traffic.iter().enumerate() {
            let (bytes, sent, arrived) = totals.flows[index];
            let before = self.at_start.flows[index];
            let rate = (bytes - before.0) as f64 * 8e-6 / whole;
            put(&goodput_of("traffic", &traffic.name), rate);
            let sent = sent - before.1;
            if sent > 0 {
                let lost = sent.saturating_sub(arrived - before.2);
                let name = format!("traffic.{}.lost_percent", traffic.name);
                put(&name, percent(lost, sent));
            }
        }
        let links = links(world).into_iter().zip(&self.links_at_start);
        let mut overflow = 0.0_f64;
        for (path, (links, before)) in self.plan.setup.paths.iter().zip(links) {
            let shares = links.iter().zip(before).map(|(now, before)| {
                let dropped = now.dropped_queue - before.dropped_queue;
                percent(dropped, now.submitted - before.submitted)
            });
            let most = shares.fold(0.0, f64::max);
            put(&format!("overflow_percent.{}", path.name), most);
            overflow = overflow.max(most);
        }
        put("overflow_percent", overflow);
        for (path, record) in self.plan.setup.paths.iter().zip(&self.paths) {
            put(
                &goodput_of("path", &path.name),
                mbps(record.received_bytes.total),
            );
            let lost = percent(record.lost_packets.total, record.sent_packets.total);
            put(&format!("loss_percent.{}", path.name), lost);
            let parity = percent(record.parity.sent_bytes.total, record.sent_bytes.total);
            put(&format!("parity_percent.{}", path.name), parity);
            for (name, average) in [("srtt_ms", &record.srtt_ms), ("queue_ms", &record.queue_ms)] {
                if let Some(mean) = average.mean() {
                    put(&format!("{name}.{}", path.name), mean);
                }
            }
        }
        self.put_shares(world, seconds, &mut metrics);
        self.put_blocks(world, now, &mut metrics);
        self.put_pages(world, &mut metrics);
        RunResult {
            metrics,
            series: self.series,
            failure: None,
        }
    }

    fn put_shares(&self, world: &World, seconds: f64, metrics: &mut BTreeMap<String, f64>) {
        let pairs = world.pairs.iter().map(|pair| pair.paths.as_slice());
        let shares = Shares::new(self.plan, pairs.collect());
        let arrived = self.paths.iter().map(|path| {
            let headers = IP_AND_UDP * path.received_packets.total;
            (path.received_bytes.total + headers) as f64 * 8e-6 / seconds.max(f64::MIN_POSITIVE)
        });
        shares.of_paths(&arrived.collect::<Vec<f64>>(), metrics);
        for traffic in &self.plan.traffic {
            let goodput = metrics.get(&goodput_of("traffic", &traffic.name)).copied();
            if let Some(share) = goodput.and_then(|goodput| shares.of_traffic(traffic, goodput)) {
                metrics.insert(format!("traffic.{}.share", traffic.name), share);
            }
        }
    }

    fn put_blocks(&mut self, world: &World, now: Instant, metrics: &mut BTreeMap<String, f64>) {
        let mut delays = Vec::new();
        let mut jitter = Average::default();
        let mut by_sample: BTreeMap<u64, Average> = BTreeMap::new();
        let (mut frames, mut in_time) = (0u64, 0u64);
        for pair in &world.pairs {
            let (began, ended) = pair.blocks(world);
            let mut last = None;
            for (&began, &ended) in began.iter().zip(ended) {
                if ended <= self.began {
                    continue;
                }
                let ms = (ended - began).as_secs_f64() * 1e3;
                delays.push(ms);
                if let Some(last) = last.replace(ms) {
                    jitter.add(f64::abs(ms - last));
                }
                let sample = (ended - self.began).as_nanos() / self.plan.sample.as_nanos().max(1);
                by_sample.entry(sample as u64).or_default().add(ms);
            }
            if let Application::Video { deadline, .. } = self.plan.application {
                let due = began
                    .iter()
                    .enumerate()
                    .filter(|(_, began)| **began >= self.began && **began + deadline <= now);
                for (index, began) in due {
                    frames += 1;
                    let is_in_time = ended.get(index).is_some_and(|at| *at <= *began + deadline);
                    in_time += u64::from(is_in_time);
                }
            }
        }
        if frames > 0 {
            metrics.insert(
                "frames_complete_percent".to_owned(),
                percent(in_time, frames),
            );
        }
        if delays.is_empty() {
            return;
        }
        delays.sort_by(f64::total_cmp);
        let count = delays.len() as f64;
        let mean = delays.iter().sum::<f64>() / count;
        let variance = delays.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / count;
        let quantile = |share: f64| delays[((share * count).ceil() as usize).max(1) - 1];
        for (name, value) in [
            ("mean", mean),
            ("p50", quantile(0.5)),
            ("p99", quantile(0.99)),
            ("max", quantile(1.0)),
            ("jitter", jitter.mean().unwrap_or(0.0)),
            ("deviation", variance.sqrt()),
        ] {
            metrics.insert(format!("block_delay_ms.{name}"), value);
        }
        let sample = self.plan.sample.as_secs_f64();
        let points = by_sample
            .into_iter()
            .filter_map(|(index, average)| Some(((index + 1) as f64 * sample, average.mean()?)));
        self.series
            .insert("block_delay_ms".to_owned(), points.collect());
    }

    fn put_pages(&self, world: &World, metrics: &mut BTreeMap<String, f64>) {
        let mut pages = Average::default();
        for pair in &world.pairs {
            let read = pair.server(&world.network).application().pages().iter();
            for Page { took, .. } in read.filter(|page| page.ended > self.began) {
                pages.add(took.as_secs_f64());
            }
        }
        if let Some(mean) = pages.mean() {
            metrics.insert("page_s".to_owned(), mean);
        }
    }
}

impl Pair {
    /// When blocks began and ended.
    fn blocks<'a>(&self, world: &'a World) -> (&'a [Instant], &'a [Instant]) {
        let began = self.client(&world.network).application().began();
        (began, self.server(&world.network).application().ended())
    }
}

impl Totals {
    fn of(world: &World) -> Self {
        let mut totals = Self::default();
        for pair in &world.pairs {
            let server = pair.server(&world.network);
            totals.read += server.application().read();
            if let Some(connection) = pair.client(&world.network).connection() {
                let stats = connection.stats();
                totals.sent_bytes += stats.sent_bytes;
                totals.stream_bytes += stats.streams.sent_stream_bytes;
                totals.source_symbols += stats.streams.sent_source_symbols;
                totals.repair_symbols += stats.streams.sent_repair_symbols;
                totals.resent_symbols += stats.streams.resent_symbols;
                totals.late_symbols += stats.streams.late_symbols;
                totals.coefficient_bytes += stats.streams.sent_coefficient_bytes;
            }
            if let Some(connection) = server.connection() {
                let stats = connection.stats().streams;
                totals.received_symbols += stats.received_symbols;
                totals.redundant_symbols += stats.redundant_symbols;
            }
        }
        totals.flows = world
            .flows
            .iter()
            .map(|flow| {
                let (sent, arrived) = flow.packets(&world.network);
                (flow.received(&world.network), sent, arrived)
            })
            .collect();
        totals
    }

    /// What became of the packets since `before`, in percent; among them so many of parity.
    fn shares_since(&self, before: &Self, parity: u64) -> [(&'static str, f64); 6] {
        let source = self.source_symbols - before.source_symbols;
        let repair = self.repair_symbols - before.repair_symbols;
        let resent = self.resent_symbols - before.resent_symbols;
        let sent = source + repair + resent;
        let stream_bytes = (self.stream_bytes - before.stream_bytes) as f64;
        // Symbols of one connection are about equally large.
        let payload = stream_bytes / source.max(1) as f64 * sent as f64;
        let bytes = (self.sent_bytes - before.sent_bytes) as f64;
        let received = self.received_symbols - before.received_symbols;
        let redundant = self.redundant_symbols - before.redundant_symbols;
        [
            ("repair_percent", percent(repair + parity, sent + parity)),
            ("retransmitted_percent", percent(resent, sent)),
            (
                "late_percent",
                percent(self.late_symbols - before.late_symbols, sent),
            ),
            (
                "coefficient_percent",
                percent(
                    self.coefficient_bytes - before.coefficient_bytes,
                    self.sent_bytes - before.sent_bytes,
                ),
            ),
            ("redundant_percent", percent(redundant, received)),
            (
                "header_overhead_percent",
                if bytes > 0.0 {
                    (100.0 * (bytes - payload) / bytes).max(0.0)
                } else {
                    0.0
                },
            ),
        ]
    }
}

/// What has become of the packets on each link of each path towards the server.
fn links(world: &World) -> Vec<Vec<LinkCounters>> {
    let counters = |link: &LinkId| world.network.link(*link).counters();
    let paths = world.forward.iter();
    paths
        .map(|links| links.iter().map(counters).collect())
        .collect()
}

/// Bytes that the receiver holds because something before them is missing.
fn held_bytes(stats: &ConnectionStats) -> u64 {
    let streams = &stats.streams;
    streams
        .received_bytes
        .saturating_sub(streams.redundant_bytes)
        .saturating_sub(streams.delivered_bytes)
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Of a sample, at most.
pub(super) const STEPS_PER_SAMPLE: u32 = 50;

/// What happens in less is not looked at.
pub(super) const SHORTEST_STEP: Duration = Duration::from_millis(10);
