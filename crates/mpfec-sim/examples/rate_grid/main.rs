//! Grids of congestion control: who gets how much of a bottleneck, how full it is, what its
//! queue drops and how long the queue is, cell by cell.
//!
//! `cargo run --release -p mpfec-sim --example rate_grid -- [fair] [self] [balance] [fill] [deep]
//! [change] [--wide] [--seed N] [--only TEXT] [--all]`: the grids named (all of them if none
//! is), the wide ones with other points, the points whose name contains a text only, and not
//! only the points that miss.

mod alone;
mod beside;
mod text;

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpfec_sim::scenario::{RunResult, Scenario};

/// One run and what it should give.
struct Cell {
    grid: &'static str,
    name: String,
    toml: String,
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
    let verdicts = run(&cells, options.seed);
    report(&options, &cells, &verdicts)
}

type Grid = (&'static str, fn(&Options) -> Vec<Cell>);

const GRIDS: &[Grid] = &[
    ("fair", beside::fair),
    ("self", beside::with_itself),
    ("balance", beside::balance),
    ("fill", alone::fill),
    ("deep", alone::deep),
    ("change", alone::change),
];

fn run(cells: &[Cell], seed: u64) -> Vec<Verdict> {
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
                    let result = scenario.run(0, 0, seed);
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
