//! `perf --explain`: what was measured on each path and what was chosen, a line per decision.

use std::collections::BTreeMap;
use std::time::Duration;

use mpfec_core::{ConnectionStats, LossEvidence, LossVerdict, PathStats, StreamStats};

use crate::units::{mbps, ms, rate};

/// Remembers what was told, and tells what has changed.
#[derive(Debug, Default)]
pub(crate) struct Explainer {
    paths: BTreeMap<u32, Told>,
    repair: Option<Repair>,
    counted: Counts,
    /// The receive window, and how far writers may be ahead, as told last.
    window: u64,
    lead: u64,
}

/// What was said of a path last.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    controller: Option<&'static str>,
    left_out: bool,
    bursts: Bursts,
    held_up: HeldUp,
    verdict: Option<String>,
}

/// What repair symbols are sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    None,
    OnFeedback,
    AheadOfLoss,
}

/// Symbols when repair was looked at last.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    source: u64,
    repair: u64,
    late: u64,
}

impl Explainer {
    /// Lines about what has changed since the last call. `name` says what a path is called.
    pub(crate) fn look(
        &mut self,
        stats: &ConnectionStats,
        mut name: impl FnMut(&PathStats) -> String,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for path in &stats.paths {
            let told = self.paths.entry(path.id).or_default();
            let reasons = told.update(path);
            lines.extend(
                reasons
                    .into_iter()
                    .map(|reason| format!("{}: {reason}", name(path))),
            );
        }
        lines.extend(self.look_at_repair(&stats.streams));
        lines.extend(self.look_at_windows(stats));
        lines
    }

    /// What may wait at either end, when it has changed much.
    fn look_at_windows(&mut self, stats: &ConnectionStats) -> Option<String> {
        let (window, lead) = (stats.receive_window, stats.send_lead);
        let is_far = |now: u64, told: u64| now != told && (now >= 2 * told || told >= 2 * now);
        if stats.streams.sent_source_symbols + stats.streams.received_symbols < SYMBOLS
            || !(window > self.window || is_far(lead, self.lead))
        {
            return None;
        }
        (self.window, self.lead) = (window, lead);
        Some(format!(
            "windows: the peer may be {} kB ahead of the reader here, writers {} kB ahead of the paths",
            window / 1000,
            lead / 1000
        ))
    }

    fn look_at_repair(&mut self, streams: &StreamStats) -> Option<String> {
        let source = streams.sent_source_symbols - self.counted.source;
        let repair = streams.sent_repair_symbols - self.counted.repair;
        let late = streams.late_symbols - self.counted.late;
        if source + repair < SYMBOLS {
            return None;
        }
        self.counted = Counts {
            source: streams.sent_source_symbols,
            repair: streams.sent_repair_symbols,
            late: streams.late_symbols,
        };
        let percent = |part: u64| 100.0 * part as f64 / (source + repair) as f64;
        let ahead = repair.saturating_sub(late);
        let (what, why) = if percent(ahead) > 1.0 {
            let why = "slots that would be idle protect blocks ahead of loss";
            (Repair::AheadOfLoss, why)
        } else if percent(repair) > 0.1 {
            let why = "bulk is repaired when a loss is known";
            (Repair::OnFeedback, why)
        } else {
            (Repair::None, "nothing is lost")
        };
        (self.repair.replace(what) != Some(what)).then(|| {
            format!(
                "repair: {:.1} % of the symbols, {:.1} % after a loss: {why}",
                percent(repair),
                percent(late.min(repair))
            )
        })
    }
}

impl Told {
    fn update(&mut self, path: &PathStats) -> Vec<String> {
        let mut lines = Vec::new();
        // Drains are part of the steady state.
        if path.delivery_rate > 0
            && path.controller != "drain"
            && self.controller.replace(path.controller) != Some(path.controller)
        {
            lines.push(format!(
                "rate control {}: {} arrive, RTT {:.0} ms (least {:.0}), {:.1} % lost, window {} kB",
                path.controller,
                rate(mbps(path.delivery_rate, Duration::from_secs(1))),
                ms(path.srtt),
                ms(path.min_rtt),
                100.0 * path.loss,
                path.cwnd_bytes / 1000,
            ));
        }
        if self.left_out != path.left_out {
            self.left_out = path.left_out;
            lines.push(if path.left_out {
                format!(
                    "carries no data for now: with RTT {:.0} ms and {:.1} % lost it would hold the receive window back",
                    ms(path.srtt),
                    100.0 * path.loss
                )
            } else {
                "carries data again: the receive window has room for it".to_owned()
            });
        }
        lines.extend(self.bursts.look(path.loss_burst, path.loss));
        lines.extend(self.held_up.look(path.held_up));
        // What is undecided changes nothing.
        let decided = |evidence: &LossEvidence| evidence.verdict != LossVerdict::Unknown;
        if let Some(evidence) = path.loss_evidence.filter(decided) {
            let verdict = evidence.verdict.to_string();
            if self.verdict.as_ref() != Some(&verdict) {
                lines.push(format!(
                    "losses are taken for {verdict}: {} at once, RTT {:.0} ms (least {:.0}), {:.0} packets queued",
                    evidence.burst,
                    ms(evidence.srtt),
                    ms(evidence.min_rtt),
                    evidence.queued_packets
                ));
                self.verdict = Some(verdict);
            }
        }
        lines
    }
}

/// Whether a path was said to lose packets in bursts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bursts(bool);

impl Bursts {
    /// What there is to say of so many packets lost in a row, in the mean, and such a share of all.
    fn look(&mut self, mean: f64, loss: f64) -> Option<String> {
        let of_single_losses = 1.0 / (1.0 - loss);
        let are_bursts = mean / of_single_losses >= if self.0 { SINGLE } else { BURST };
        (std::mem::replace(&mut self.0, are_bursts) != are_bursts).then(|| {
            if are_bursts {
                format!(
                    "loses {mean:.1} packets in a row: data that come at a pace are protected against that"
                )
            } else {
                "loses packets one by one again".to_owned()
            }
        })
    }
}

/// Whether acknowledgements of a path were said to be held up.
#[derive(Debug, Default, PartialEq, Eq)]
struct HeldUp(bool);

impl HeldUp {
    fn look(&mut self, by: Duration) -> Option<String> {
        let is_held_up = by >= if self.0 { NOTHING } else { MUCH };
        (std::mem::replace(&mut self.0, is_held_up) != is_held_up).then(|| {
            if is_held_up {
                format!(
                    "acknowledgements are held up by {:.0} ms on their way back: that is no queue of ours, and the window makes up for it",
                    ms(by)
                )
            } else {
                "acknowledgements are no longer held up".to_owned()
            }
        })
    }
}

/// What is worth a line, and what is no longer.
const MUCH: Duration = Duration::from_millis(10);
const NOTHING: Duration = Duration::from_millis(2);

/// Packets lost in a row, as a multiple of what single losses have, that are called a burst, and
/// no burst any more.
const BURST: f64 = 2.0;
const SINGLE: f64 = 1.5;

/// Shares of fewer symbols say little.
const SYMBOLS: u64 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(source: u64, repair: u64, late: u64) -> ConnectionStats {
        ConnectionStats {
            streams: StreamStats {
                sent_source_symbols: source,
                sent_repair_symbols: repair,
                late_symbols: late,
                ..StreamStats::default()
            },
            ..ConnectionStats::default()
        }
    }

    #[test]
    fn windows_are_told_when_they_grow() {
        let mut explainer = Explainer::default();
        let mut look = |receive_window, send_lead| {
            let stats = ConnectionStats {
                receive_window,
                send_lead,
                ..streams(400, 0, 0)
            };
            let stats = ConnectionStats {
                streams: StreamStats {
                    received_symbols: 100,
                    ..stats.streams
                },
                ..stats
            };
            explainer.look(&stats, |_| String::new())
        };
        assert_eq!(
            look(12_000_000, 700_000),
            [
                "windows: the peer may be 12000 kB ahead of the reader here, writers 700 kB ahead of the paths"
            ]
        );
        assert_eq!(look(12_000_000, 1_300_000), [""; 0]);
        assert_eq!(look(24_000_000, 1_300_000).len(), 1);
        assert_eq!(look(24_000_000, 600_000).len(), 1);
    }

    #[test]
    fn bursts_are_told_when_they_begin_and_when_they_end() {
        let mut bursts = Bursts::default();
        assert_eq!(bursts.look(1.0, 0.0), None);
        assert_eq!(bursts.look(1.9, 0.0), None);
        assert_eq!(bursts.look(2.1, 0.5), None, "half of all are lost");
        let begin = bursts.look(2.1, 0.0).expect("bursts are new");
        assert!(begin.starts_with("loses 2.1 packets in a row"), "{begin}");
        assert_eq!(bursts.look(1.6, 0.0), None);
        let end = bursts.look(1.4, 0.0).expect("they are over");
        assert_eq!(end, "loses packets one by one again");
    }

    #[test]
    fn what_holds_up_acknowledgements_is_told_when_it_begins_and_when_it_ends() {
        let mut held_up = HeldUp::default();
        let mut look = |ms| held_up.look(Duration::from_millis(ms));
        assert_eq!(look(9), None);
        let begin = look(200).expect("it is much");
        assert!(
            begin.starts_with("acknowledgements are held up by 200 ms"),
            "{begin}"
        );
        assert_eq!((look(40), look(5)), (None, None));
        let end = look(1).expect("it is over");
        assert_eq!(end, "acknowledgements are no longer held up");
    }

    #[test]
    fn repair_is_told_when_its_purpose_changes() {
        let mut explainer = Explainer::default();
        let mut look = |source, repair, late| {
            explainer.look(&streams(source, repair, late), |_| String::new())
        };
        assert_eq!(look(100, 0, 0), [""; 0], "too few to tell");
        assert!(look(1000, 0, 0)[0].ends_with("nothing is lost"));
        assert_eq!(look(2000, 0, 0), [""; 0]);
        assert_eq!(
            look(2970, 30, 30),
            [
                "repair: 3.0 % of the symbols, 3.0 % after a loss: bulk is repaired when a loss is known"
            ]
        );
        assert_eq!(look(3960, 60, 60), [""; 0]);
        assert!(look(4800, 260, 80)[0].contains("ahead of loss"));
    }
}
