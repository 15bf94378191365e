//! The end of a transfer, told to people and scripts.

use std::time::Duration;

use blake3::Hash;
use mpfec_core::StreamStats;

use crate::output::{Done, Event, Output, PathReport};
use crate::units::{self, mbps, ms, rounded};

/// A transfer that is complete and verified.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) hash: Hash,
    pub(crate) elapsed: Duration,
    pub(crate) longest_pause: Duration,
    /// What the best path could carry alone, where that is known.
    pub(crate) best_mbps: Option<f64>,
}

/// Reports it; `sent` are the counters of an end that sent.
pub(crate) fn done(
    output: &Output,
    finished: &Finished,
    sent: Option<&StreamStats>,
    paths: Vec<PathReport>,
) {
    let done = Done {
        ok: true,
        bytes: finished.bytes,
        files: finished.files,
        seconds: rounded(finished.elapsed.as_secs_f64()),
        goodput_mbps: rounded(mbps(finished.bytes, finished.elapsed)),
        blake3: finished.hash.to_hex().to_string(),
        gain_over_best_path: (finished.bytes >= TELLING_BYTES)
            .then(|| rounded(gain(finished, sent.is_some(), &paths))),
        longest_pause_ms: rounded(ms(finished.longest_pause)),
        repair_ratio: sent.map(|stats| rounded(repair_ratio(stats))),
        coefficient_bytes: sent.and_then(coefficient_bytes),
        paths,
    };
    for line in lines(&done, finished.elapsed) {
        output.result(&line);
    }
    output.event(&Event::Done(done));
}

/// Repair symbols and source symbols sent again, per source symbol.
pub(crate) fn repair_ratio(stats: &StreamStats) -> f64 {
    let extra = stats.sent_repair_symbols + stats.resent_symbols;
    extra as f64 / stats.sent_source_symbols.max(1) as f64
}

/// Bytes of coefficients in the headers of symbols, if there were any.
pub(crate) fn coefficient_bytes(stats: &StreamStats) -> Option<u64> {
    Some(stats.sent_coefficient_bytes).filter(|bytes| *bytes > 0)
}

fn lines(done: &Done, elapsed: Duration) -> Vec<String> {
    let used = done
        .paths
        .iter()
        .filter(|path| path.delivered_bytes.max(path.received_bytes) > 0)
        .count();
    let is_telling = done.bytes >= TELLING_BYTES && elapsed >= TELLING_TIME;
    let gain = done.gain_over_best_path.filter(|_| is_telling);
    let repair = done.repair_ratio.filter(|_| is_telling);
    let mut facts = Vec::new();
    facts.extend(gain.map(|gain| format!("{gain:.2}x the best single link")));
    facts.extend(repair.map(|ratio| format!("repair {:.1} %", 100.0 * ratio)));
    facts.push(format!("longest pause {:.0} ms", done.longest_pause_ms));
    facts.push(if used == 1 {
        "1 path".to_owned()
    } else {
        format!("{used} paths")
    });
    let files = if done.files == 1 {
        String::new()
    } else {
        format!(" in {} files", done.files)
    };
    let summary = format!(
        "done: {}{files} in {}, {}, BLAKE3 {} verified",
        units::size(done.bytes),
        units::time(elapsed),
        units::rate(done.goodput_mbps),
        done.blake3.get(..16).unwrap_or_default(),
    );
    vec![facts.join(", "), summary]
}

/// Goodput against what the best path could carry alone, or, where that is not known, all
/// that was carried against what the best path carried.
fn gain(finished: &Finished, is_sender: bool, paths: &[PathReport]) -> f64 {
    if let Some(best) = finished.best_mbps.filter(|best| *best > 0.0) {
        return mbps(finished.bytes, finished.elapsed) / best;
    }
    let carried = |path: &PathReport| {
        if is_sender {
            path.delivered_bytes
        } else {
            path.received_bytes
        }
    };
    let all: u64 = paths.iter().map(carried).sum();
    match paths.iter().map(carried).max() {
        Some(best) if best > 0 => all as f64 / best as f64,
        _ => 1.0,
    }
}

/// Of less than this, in bytes and time, gain and repair say nothing: a few packets decide.
const TELLING_BYTES: u64 = 1 << 20;
const TELLING_TIME: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::LossReport;

    fn path(id: u32, delivered_bytes: u64) -> PathReport {
        PathReport {
            id,
            name: String::new(),
            local: String::new(),
            remote: String::new(),
            interface: None,
            srtt_ms: 0.0,
            min_rtt_ms: 0.0,
            sent_packets: 0,
            lost_packets: 0,
            delivered_bytes,
            sent_bytes: 0,
            received_bytes: 0,
            cwnd_bytes: 0,
            losses: LossReport::default(),
            parity: None,
            state: "active".to_owned(),
        }
    }

    fn finished(best_mbps: Option<f64>) -> Finished {
        Finished {
            files: 1,
            bytes: 2_500_000,
            hash: Hash::from_bytes([0; 32]),
            elapsed: Duration::from_secs(1),
            longest_pause: Duration::ZERO,
            best_mbps,
        }
    }

    #[test]
    fn the_gain_is_against_the_best_link_alone_where_that_is_known() {
        assert_eq!(gain(&finished(Some(10.0)), true, &[]), 2.0);
        assert_eq!(
            gain(&finished(None), true, &[path(0, 300), path(1, 150)]),
            1.5
        );
        assert_eq!(gain(&finished(None), true, &[]), 1.0);
    }

    #[test]
    fn gain_and_repair_of_next_to_nothing_are_left_out() {
        let lines = |bytes, millis| {
            let done = Done {
                ok: true,
                bytes,
                files: 1,
                seconds: 1.0,
                goodput_mbps: 1.0,
                blake3: "0".repeat(64),
                gain_over_best_path: Some(1.51),
                longest_pause_ms: 0.0,
                repair_ratio: Some(1.0),
                coefficient_bytes: None,
                paths: vec![path(0, 3)],
            };
            super::lines(&done, Duration::from_millis(millis))
        };
        assert_eq!(lines(3, 5000)[0], "longest pause 0 ms, 1 path");
        assert_eq!(lines(1 << 30, 999)[0], "longest pause 0 ms, 1 path");
        assert_eq!(
            lines(1 << 20, 1000)[0],
            "1.51x the best single link, repair 100.0 %, longest pause 0 ms, 1 path"
        );
    }

    #[test]
    fn lost_symbols_that_were_sent_again_count_as_repair() {
        let stats = StreamStats {
            sent_source_symbols: 100,
            sent_repair_symbols: 3,
            resent_symbols: 2,
            ..StreamStats::default()
        };
        assert_eq!(repair_ratio(&stats), 0.05);
    }
}
