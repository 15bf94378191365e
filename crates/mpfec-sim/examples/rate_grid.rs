//! Grids of congestion control: who gets how much of a bottleneck, how full it is, what its
//! queue drops and how long the queue is, cell by cell.
//!
//! `cargo run --release -p mpfec-sim --example rate_grid -- [fair] [self] [balance] [fill] [deep]
//! [change] [--wide] [--seed N] [--only TEXT] [--all]`: the grids named (all of them if none
//! is), the wide ones with other points, the points whose name contains a text only, and not
//! only the points that miss.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpfec_sim::scenario::{RunResult, Scenario};

/// One run and what it should give.
struct Cell {
    grid: &'static str,
    name: String,
    toml: String,
    seed: u64,
    judge: Box<dyn Fn(&RunResult) -> Verdict + Send + Sync>,
}

/// What a run gave.
struct Verdict {
    text: String,
    /// What it missed, by name; none if it counts as met.
    missed: Vec<&'static str>,
    /// The figure that fairness is judged by.
    share: f64,
}

struct Options {
    grids: Vec<String>,
    wide: bool,
    seed: u64,
    only: String,
    all: bool,
}

fn main() -> std::io::Result<()> {
    let mut options = Options {
        grids: Vec::new(),
        wide: false,
        seed: 1,
        only: String::new(),
        all: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--wide" => options.wide = true,
            "--all" => options.all = true,
            "--seed" => {
                let number = arguments.next().and_then(|text| text.parse().ok());
                options.seed = number.expect("--seed has a number");
            }
            "--only" => options.only = arguments.next().expect("--only has a text"),
            _ => options.grids.push(argument),
        }
    }
    let mut cells = Vec::new();
    for (name, make) in GRIDS {
        if options.grids.is_empty() || options.grids.iter().any(|grid| grid == name) {
            cells.extend(make(&options));
        }
    }
    cells.retain(|cell| cell.name.contains(&options.only));
    let verdicts = run(&cells);
    report(&options, &cells, &verdicts)
}

type Grid = (&'static str, fn(&Options) -> Vec<Cell>);

const GRIDS: &[Grid] = &[
    ("fair", fair),
    ("self", with_itself),
    ("balance", balance),
    ("fill", fill),
    ("deep", deep),
    ("change", change),
];

fn run(cells: &[Cell]) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let verdicts: Vec<Mutex<Option<Verdict>>> = cells.iter().map(|_| Mutex::default()).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let index = cells.iter().position(|other| std::ptr::eq(other, cell));
                    let scenario = Scenario::from_toml(&cell.toml, &cell.name)
                        .unwrap_or_else(|error| panic!("{error}"));
                    let result = scenario.run(0, 0, cell.seed);
                    let verdict = match &result.failure {
                        Some(failure) => Verdict {
                            text: failure.clone(),
                            missed: vec!["failed"],
                            share: 0.0,
                        },
                        None => (cell.judge)(&result),
                    };
                    let place = index.and_then(|index| verdicts.get(index));
                    *place
                        .expect("a cell has a place")
                        .lock()
                        .expect("nothing panics with this lock") = Some(verdict);
                }
            });
        }
    });
    verdicts
        .into_iter()
        .filter_map(|verdict| verdict.into_inner().expect("nothing panics with this lock"))
        .collect()
}

fn report(options: &Options, cells: &[Cell], verdicts: &[Verdict]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    // A cell of `fair` counts if the reference pair of its conditions shares evenly.
    let is_even = |cell: &Cell| {
        let Some((_, place)) = cell.name.split_once(" @ ") else {
            return true;
        };
        let Some(rival) = cell.name.split_whitespace().last() else {
            return true;
        };
        let reference = format!("pair @ {place}");
        cells.iter().zip(verdicts).all(|(other, verdict)| {
            let is_reference = other.grid == "fair" && other.name == reference;
            !is_reference || !rival.is_empty() && (0.8..=1.2).contains(&verdict.share)
        })
    };
    for (grid, _) in GRIDS {
        let (mut count, mut excused) = (0, 0);
        let mut missed: Vec<(&str, usize)> = Vec::new();
        for (cell, verdict) in cells.iter().zip(verdicts) {
            if cell.grid != *grid {
                continue;
            }
            let is_reference = cell.name.starts_with("pair");
            let counts = !is_reference && (*grid != "fair" || is_even(cell));
            if options.all || counts && !verdict.missed.is_empty() {
                let what = verdict.missed.join(" ");
                let note = if counts { &what } else { "not judged" };
                writeln!(out, "{grid:7} {:44} {} {note}", cell.name, verdict.text)?;
            }
            if is_reference {
                continue;
            }
            count += 1;
            excused += usize::from(!counts);
            for what in verdict.missed.iter().filter(|_| counts) {
                match missed.iter_mut().find(|(known, _)| known == what) {
                    Some((_, times)) => *times += 1,
                    None => missed.push((what, 1)),
                }
            }
        }
        if count > 0 {
            let missed: Vec<String> = (missed.iter())
                .map(|(what, times)| format!("{what} {times}"))
                .collect();
            let judged = count - excused;
            writeln!(
                out,
                "{grid}: {judged} of {count} judged; missed: {}",
                missed.join(", ")
            )?;
        }
    }
    Ok(())
}

/// Text of a bottleneck link towards the server and back.
fn link(rate: f64, rtt: f64, queue: f64, loss: &str) -> String {
    let packets = (queue * rate * rtt / 12.0).max(5.0);
    link_of(rate, rtt, packets.round(), loss)
}

fn link_of(rate: f64, rtt: f64, packets: f64, loss: &str) -> String {
    let delay = rtt / 2.0;
    format!(
        "forward = {{ rate_mbps = {rate}, delay_ms = {delay}, queue_packets = {packets}{loss} }}\n\
         backward = {{ rate_mbps = {rate}, delay_ms = {delay} }}\n"
    )
}

const HEAD: &str = "summary = \"a cell\"\nsample_s = 0.5\n";

const VARIANT: &str = "[[variant]]\nprofile = \"auto\"\n";

/// Share of `metric` in an equal part of a link of `rate`, headers counted as payload.
fn share(result: &RunResult, metric: &str, rate: f64, flows: f64) -> f64 {
    result.metric(metric).unwrap_or(0.0) * 1500.0 / 1472.0 / rate * flows
}

/// One connection, with one and with two subflows, against one TCP flow.
fn fair(options: &Options) -> Vec<Cell> {
    let places: &[(f64, f64)] = if options.wide {
        &[
            (15.0, 30.0),
            (10.0, 150.0),
            (25.0, 50.0),
            (60.0, 80.0),
            (100.0, 20.0),
        ]
    } else {
        &[
            (10.0, 20.0),
            (10.0, 60.0),
            (10.0, 200.0),
            (40.0, 40.0),
            (40.0, 120.0),
        ]
    };
    let mut cells = Vec::new();
    for &(rate, rtt) in places {
        for queue in [0.25, 1.0, 4.0] {
            for rival in ["newreno", "cubic"] {
                let place = format!("{rate} Mbit/s {rtt} ms {queue} BDP {rival}");
                let sack = if rival == "newreno" {
                    "sack = true"
                } else {
                    ""
                };
                let first = options.seed % 2 == 1;
                let (start, rival_start) = if first { (0.0, 3.0) } else { (3.0, 0.0) };
                let length = 80.0;
                let measured = format!(
                    "start_s = {start}\nwarmup_s = {}\nduration_s = {length}\n",
                    20.0 - start
                );
                let core = link(rate, rtt, queue, "");
                let flow = |start: f64, name: &str| {
                    format!(
                        "[[traffic]]\nkind = \"{rival}\"\nname = \"{name}\"\nvia = [\"core\"]\n{sack}\n\
                         start_s = {start}\n"
                    )
                };
                let text = |paths: usize, flows: &str, application: &str| {
                    let mut text = format!(
                        "name = \"cell\"\n{HEAD}{measured}{application}\n[[link]]\nname = \"core\"\n{core}"
                    );
                    for path in ["A", "B"].iter().take(paths) {
                        text += &format!(
                            "[[path]]\nname = \"{path}\"\nboth = {{ rate_mbps = 1000, delay_ms = 0, queue_packets = 10000 }}\n\
                             via = [\"core\"]\n"
                        );
                    }
                    text + flows + VARIANT
                };
                for paths in [1, 2] {
                    cells.push(Cell {
                        grid: "fair",
                        name: format!("{paths} @ {place}"),
                        toml: text(paths, &flow(rival_start, "tcp"), ""),
                        seed: options.seed,
                        judge: Box::new(move |result| {
                            let names = ["path.A.goodput_mbps", "path.B.goodput_mbps"];
                            let own: f64 = names
                                .iter()
                                .map(|name| share(result, name, rate, 2.0))
                                .sum();
                            let tcp = share(result, "traffic.tcp.goodput_mbps", rate, 2.0);
                            let overflow = result.metric("overflow_percent.A").unwrap_or(0.0);
                            let mut missed = Vec::new();
                            if own < 0.6 {
                                missed.push("weak");
                            }
                            if own > 1.4 {
                                missed.push("strong");
                            }
                            if overflow > 5.0 {
                                missed.push("overflow");
                            }
                            Verdict {
                                text: format!("{own:5.2} : {tcp:4.2}  dropped {overflow:4.1} %"),
                                missed,
                                share: own,
                            }
                        }),
                    });
                }
                let flows = flow(0.0, "first") + &flow(3.0, "second");
                let idle =
                    "application = { kind = \"blocks\", block_bytes = 1000, rate_mbps = 0.001 }\n";
                cells.push(Cell {
                    grid: "fair",
                    name: format!("pair @ {place}"),
                    toml: text(1, &flows, idle),
                    seed: options.seed,
                    judge: Box::new(move |result| {
                        let first = share(result, "traffic.first.goodput_mbps", rate, 2.0);
                        let second = share(result, "traffic.second.goodput_mbps", rate, 2.0);
                        Verdict {
                            text: format!("{first:5.2} : {second:4.2}"),
                            missed: Vec::new(),
                            share: first,
                        }
                    }),
                });
            }
        }
    }
    cells
}

/// A connection against another one that started ten seconds before.
fn with_itself(options: &Options) -> Vec<Cell> {
    let places: &[(f64, f64)] = if options.wide {
        &[(15.0, 30.0), (8.0, 150.0), (30.0, 80.0), (100.0, 40.0)]
    } else {
        &[(10.0, 20.0), (10.0, 100.0), (10.0, 200.0), (50.0, 50.0)]
    };
    let mut cells = Vec::new();
    for &(rate, rtt) in places {
        for queue in [0.25, 1.0, 4.0] {
            for loss in [0.0, 5.0] {
                let core = link(rate, rtt, queue, &format!(", loss_percent = {loss}"));
                let toml = format!(
                    "name = \"cell\"\n{HEAD}start_s = 10\nwarmup_s = 20\nduration_s = 60\n\
                     [[path]]\nname = \"A\"\n{core}\
                     [[traffic]]\nkind = \"connection\"\nname = \"other\"\npath = \"A\"\n{VARIANT}"
                );
                cells.push(Cell {
                    grid: "self",
                    name: format!("{rate} Mbit/s {rtt} ms {queue} BDP {loss} %"),
                    toml,
                    seed: options.seed,
                    judge: Box::new(move |result| {
                        let limit = rate * (1.0 - loss / 100.0);
                        let own = share(result, "goodput_mbps", limit, 2.0);
                        let other = share(result, "traffic.other.goodput_mbps", limit, 2.0);
                        let part = 2.0 * own / (own + other);
                        let queue = result.metric("queue_ms.A").unwrap_or(0.0);
                        let overflow = result.metric("overflow_percent.A").unwrap_or(0.0);
                        let mut missed = Vec::new();
                        if !(0.85..=1.15).contains(&part) {
                            missed.push("uneven");
                        }
                        if overflow > 5.0 {
                            missed.push("overflow");
                        }
                        Verdict {
                            text: format!(
                                "{own:5.2} : {other:4.2}  queue {queue:5.1} ms  dropped {overflow:4.1} %"
                            ),
                            missed,
                            share: part,
                        }
                    }),
                });
            }
        }
    }
    cells
}

/// Two paths: one busy with one or three TCP flows, the other free.
fn balance(options: &Options) -> Vec<Cell> {
    let (rate, rtts) = if options.wide {
        (20.0, [30.0, 80.0])
    } else {
        (10.0, [50.0, 100.0])
    };
    let mut cells = Vec::new();
    for rtt in rtts {
        for rival in ["newreno", "cubic"] {
            for flows in [1, 3] {
                for queue in [0.5, 1.0, 4.0] {
                    let core = link(rate, rtt, queue, "");
                    let sack = if rival == "newreno" {
                        "sack = true\n"
                    } else {
                        ""
                    };
                    let toml = format!(
                        "name = \"cell\"\n{HEAD}warmup_s = 20\nduration_s = 60\n\
                         [[path]]\nname = \"A\"\n{core}[[path]]\nname = \"B\"\n{core}\
                         [[traffic]]\nkind = \"{rival}\"\nname = \"tcp\"\npath = \"A\"\nstart_s = 2\n\
                         flows = {flows}\n{sack}{VARIANT}"
                    );
                    cells.push(Cell {
                        grid: "balance",
                        name: format!("{rate} Mbit/s {rtt} ms {queue} BDP {flows} {rival}"),
                        toml,
                        seed: options.seed,
                        judge: Box::new(move |result| {
                            let busy = share(result, "path.A.goodput_mbps", rate, 1.0);
                            let free = share(result, "path.B.goodput_mbps", rate, 1.0);
                            let mut missed = Vec::new();
                            if busy > 1.0 / f64::from(flows + 1) {
                                missed.push("busy");
                            }
                            if free < 0.97 {
                                missed.push("free");
                            }
                            Verdict {
                                text: format!("busy {busy:4.2}  free {free:4.2}"),
                                missed,
                                share: busy,
                            }
                        }),
                    });
                }
            }
        }
    }
    cells
}

/// A connection alone on a link of some loss.
fn fill(options: &Options) -> Vec<Cell> {
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
                    seed: options.seed,
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
    let overflow = result.metric("overflow_percent.A").unwrap_or(0.0);
    let longer = result.metric("srtt_ms.A").unwrap_or(0.0) / rtt;
    let mut missed = Vec::new();
    // What the loss of so many packets may deviate by: two standard deviations.
    let packets = limit / 0.012 * if rate > 40.0 { 8.0 } else { 20.0 };
    let slack = (length * loss / 100.0 / packets).sqrt() * 2.0;
    if full < if loss <= 5.0 { 0.97 } else { 0.95 } - slack {
        missed.push("idle");
    }
    if overflow > 5.0 {
        missed.push("overflow");
    }
    Verdict {
        text: format!(
            "full {full:5.3}  goodput {goodput:5.3}  dropped {overflow:4.1} %  srtt x {longer:4.2}"
        ),
        missed,
        share: full,
    }
}

/// A queue of two seconds.
fn deep(options: &Options) -> Vec<Cell> {
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
                seed: options.seed,
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
fn change(options: &Options) -> Vec<Cell> {
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
                seed: options.seed,
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
    let overflow = result.metric("overflow_percent.A").unwrap_or(0.0);
    let mut missed = Vec::new();
    if took > allowed {
        missed.push("slow");
    }
    if overflow > 5.0 {
        missed.push("overflow");
    }
    Verdict {
        text: format!("{took:4.1} s  dropped {overflow:4.1} %"),
        missed,
        share: took,
    }
}
