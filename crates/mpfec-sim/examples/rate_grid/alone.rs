//! A connection alone: how full its link is, how long its queue, and how soon it follows changes.

use mpfec_sim::scenario::RunResult;

use crate::text::{HEAD, MOST_OVERFLOW, VARIANT, link, link_of, named, overflow, share};
use crate::{Cell, Options, Verdict};

/// A connection alone on a link of some loss.
pub(crate) fn fill(options: &Options) -> Vec<Cell> {
    let places: &[(f64, f64)] = if options.wide {
        &[
            (2.0, 30.0),
            (5.0, 80.0),
            (20.0, 40.0),
            (8.0, 300.0),
            (50.0, 20.0),
            (50.0, 150.0),
        ]
    } else {
        &[
            (1.0, 20.0),
            (1.0, 100.0),
            (10.0, 10.0),
            (10.0, 50.0),
            (10.0, 200.0),
            (100.0, 10.0),
            (100.0, 60.0),
        ]
    };
    let mut cells = Vec::new();
    for &(rate, rtt) in places {
        for queue in [0.0, 0.25, 1.0, 4.0] {
            for (loss, length) in [
                (0.0, 1.0),
                (1.0, 1.0),
                (5.0, 1.0),
                (20.0, 1.0),
                (50.0, 1.0),
                (5.0, 5.0),
                (20.0, 10.0),
            ] {
                let text = if length > 1.0 {
                    format!(", burst = {{ percent = {loss}, length = {length} }}")
                } else {
                    format!(", loss_percent = {loss}")
                };
                let core = link(rate, rtt, queue, &text);
                let (warmup, duration) = if rate > 40.0 {
                    (5.0, 8.0)
                } else {
                    (10.0, 20.0)
                };
                let toml = format!(
                    "name = \"cell\"\n{HEAD}warmup_s = {warmup}\nduration_s = {duration}\n\
                     [[path]]\nname = \"A\"\n{core}{VARIANT}"
                );
                cells.push(Cell {
                    grid: "fill",
                    name: format!("{rate} Mbit/s {rtt} ms {queue} BDP {loss} % x{length}"),
                    toml,
                    judge: Box::new(move |result| judge_fill(result, rate, rtt, loss, length)),
                });
            }
        }
    }
    cells
}

fn judge_fill(result: &RunResult, rate: f64, rtt: f64, loss: f64, length: f64) -> Verdict {
    let limit = rate * (1.0 - loss / 100.0);
    let full = share(result, "path.A.goodput_mbps", limit, 1.0);
    let goodput = share(result, "goodput_mbps", limit, 1.0);
    let overflow = overflow(result);
    let longer = result.metric("srtt_ms.A").unwrap_or(0.0) / rtt;
    // What the loss of so many packets may deviate by: two standard deviations.
    let packets = limit / 0.012 * if rate > 40.0 { 8.0 } else { 20.0 };
    let slack = (length * loss / 100.0 / packets).sqrt() * 2.0;
    let least = if loss <= 5.0 { 0.97 } else { 0.95 } - slack;
    Verdict {
        text: format!(
            "full {full:5.3}  goodput {goodput:5.3}  dropped {overflow:4.1} %  srtt x {longer:4.2}"
        ),
        missed: named(&[
            (full < least, "idle"),
            (overflow > MOST_OVERFLOW, "overflow"),
        ]),
        share: full,
    }
}

/// A queue of two seconds.
pub(crate) fn deep(options: &Options) -> Vec<Cell> {
    let places: &[(f64, f64)] = if options.wide {
        &[(2.0, 40.0), (8.0, 80.0), (30.0, 60.0)]
    } else {
        &[(1.0, 50.0), (4.0, 50.0), (10.0, 100.0), (50.0, 30.0)]
    };
    let mut cells = Vec::new();
    for &(rate, rtt) in places {
        for loss in [0.0, 2.0] {
            let packets = (2000.0 * rate / 12.0).round();
            let core = link_of(rate, rtt, packets, &format!(", loss_percent = {loss}"));
            let toml = format!(
                "name = \"cell\"\n{HEAD}warmup_s = 3\nduration_s = 20\n[[path]]\nname = \"A\"\n{core}{VARIANT}"
            );
            cells.push(Cell {
                grid: "deep",
                name: format!("{rate} Mbit/s {rtt} ms {loss} %"),
                toml,
                judge: Box::new(move |result| {
                    let mut verdict = judge_fill(result, rate, rtt, loss, 1.0);
                    let longer = result.metric("srtt_ms.A").unwrap_or(0.0) / rtt;
                    if longer > 3.0 {
                        verdict.missed.push("bloat");
                    }
                    verdict
                }),
            });
        }
    }
    cells
}

/// A path that changes after ten seconds: until four samples in a row are above 90 %.
pub(crate) fn change(options: &Options) -> Vec<Cell> {
    // Rate, RTT and loss before, and after.
    let changes: &[(&str, [f64; 3], [f64; 3], f64)] = &[
        ("10 to 40 Mbit/s", [10.0, 50.0, 0.0], [40.0, 50.0, 0.0], 2.0),
        ("40 to 10 Mbit/s", [40.0, 50.0, 0.0], [10.0, 50.0, 0.0], 2.0),
        ("10 to 2 Mbit/s", [10.0, 50.0, 0.0], [2.0, 50.0, 0.0], 2.0),
        ("20 to 200 ms", [10.0, 20.0, 0.0], [10.0, 200.0, 0.0], 3.0),
        ("200 to 20 ms", [10.0, 200.0, 0.0], [10.0, 20.0, 0.0], 2.0),
        (
            "50 Mbit/s, 20 ms to 5, 100",
            [50.0, 20.0, 0.0],
            [5.0, 100.0, 0.0],
            3.0,
        ),
        (
            "5 Mbit/s, 100 ms to 50, 20",
            [5.0, 100.0, 0.0],
            [50.0, 20.0, 0.0],
            2.0,
        ),
        ("1 to 35 %", [10.0, 100.0, 1.0], [10.0, 100.0, 35.0], 3.0),
        ("35 to 1 %", [10.0, 100.0, 35.0], [10.0, 100.0, 1.0], 2.0),
        (
            "10 to 40 Mbit/s, 10 % loss",
            [10.0, 50.0, 10.0],
            [40.0, 50.0, 10.0],
            2.0,
        ),
    ];
    let mut cells = Vec::new();
    for &(name, [rate, rtt, loss], [to_rate, to_rtt, to_loss], allowed) in changes {
        for queue in if options.wide {
            [0.5, 3.0]
        } else {
            [0.25, 1.0]
        } {
            let packets = (queue * rate * rtt / 12.0).max(20.0).round();
            let core = link_of(rate, rtt, packets, &format!(", loss_percent = {loss}"));
            let (delay, warmup) = (to_rtt / 2.0, 10.0);
            let toml = format!(
                "name = \"cell\"\n{HEAD}warmup_s = {warmup}\nduration_s = 14\n[[path]]\nname = \"A\"\n{core}\
                 [[change]]\nat_s = {warmup}\npath = \"A\"\n\
                 set = {{ rate_mbps = {to_rate}, delay_ms = {delay} }}\n\
                 [[change]]\nat_s = {warmup}\npath = \"A\"\ndirection = \"forward\"\n\
                 set = {{ loss_percent = {to_loss} }}\n{VARIANT}"
            );
            cells.push(Cell {
                grid: "change",
                name: format!("{name}, {queue} BDP"),
                toml,
                judge: Box::new(move |result| {
                    judge_change(result, to_rate * (1.0 - to_loss / 100.0), allowed)
                }),
            });
        }
    }
    cells
}

fn judge_change(result: &RunResult, limit: f64, allowed: f64) -> Verdict {
    let points = &result.series["path.A.goodput_mbps"];
    let enough = |value: f64| value * 1500.0 / 1472.0 > 0.9 * limit;
    let took = points
        .windows(4)
        .find(|window| window.iter().all(|(_, value)| enough(*value)))
        .map_or(99.0, |window| window[0].0);
    let overflow = overflow(result);
    Verdict {
        text: format!("{took:4.1} s  dropped {overflow:4.1} %"),
        missed: named(&[
            (took > allowed, "slow"),
            (overflow > MOST_OVERFLOW, "overflow"),
        ]),
        share: took,
    }
}
