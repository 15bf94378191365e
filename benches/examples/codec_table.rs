//! Tables and charts of docs/benchmarks.md from what the bench `codec` left in
//! target/criterion: prints the tables and writes docs/codec-*.svg.
//!
//! `cargo run -p mpfec-benches --example codec_table`, at the root of the repository. On a
//! machine that does other work, run the bench more than once, with `--save-baseline NAME`.
#![expect(clippy::print_stdout, reason = "prints the tables")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mpfec_sim::report::chart::{Axis, COLOURS, Chart, Curve, Marks, Point};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let results = Results::read(&Path::new(&target).join("criterion"))?;
    let [best, avx2] = [&["avx512+gfni", "avx2+gfni"][..], &["avx2"]]
        .map(|names| names.iter().find(|name| results.has(name)).copied());
    let best = best.ok_or("no results: run the bench codec first")?;

    println!("Ratios to the crate, {best}:\n");
    println!("{}", ratios(&results, best));
    if let Some(avx2) = avx2 {
        println!("The same, {avx2}:\n");
        println!("{}", ratios(&results, avx2));
    }
    println!("GB/s of source data, {best}:\n");
    println!("{}", speeds(&results, best));

    let mut curves = Vec::new();
    for (colour, what, loss) in [
        (0, "encode", 5),
        (5, "encode", 20),
        (1, "decode", 5),
        (4, "decode", 20),
    ] {
        let kernels = [(best, 0)].into_iter().chain(avx2.map(|it| (it, COLOURS)));
        for (kernel, dashes) in kernels {
            let points = KS.into_iter().filter_map(|k| {
                let ratio = results.ratio(kernel, what, k, loss)?;
                Some(Point::new(f64::from(k), ratio))
            });
            let name = format!("{what} {loss} %, {kernel}");
            curves.push(Curve::new(name, points).with_style(colour + dashes));
        }
    }
    let title = "Speed of RaptorQ, times that of the raptorq crate";
    fs::write("docs/codec-ratio.svg", svg(title, "K, T = 1280", curves))?;

    let mut curves = Vec::new();
    for (colour, k) in [(0, 64), (1, 256), (2, 1000)] {
        for (way, dashes) in [("dense", 0), ("replay", COLOURS)] {
            let points = COUNTS.into_iter().filter_map(|count| {
                let nanos = results.nanos(best, "crossover", k, way, count)?;
                Some(Point::new(f64::from(count), nanos / 1e3))
            });
            let name = format!("K = {k}, {way}");
            curves.push(Curve::new(name, points).with_style(colour + dashes));
        }
    }
    let title = "Time to encode a block, in microseconds";
    fs::write(
        "docs/codec-crossover.svg",
        svg(title, "repair symbols made, T = 1280", curves),
    )?;
    Ok(())
}

/// Curves over logarithmic axes.
fn svg(title: &str, x: &str, curves: Vec<Curve>) -> String {
    let chart = Chart {
        title: title.to_owned(),
        x: Axis::log(x),
        y: Axis::log(""),
        categories: Vec::new(),
        marks: Marks::Points,
        curves,
    };
    chart.to_svg()
}

/// Ours to the crate's, by K and loss.
fn ratios(results: &Results, kernel: &str) -> String {
    let mut table = head("");
    for what in ["encode", "decode"] {
        for loss in [0, 1, 5, 20, 50] {
            let ratio = |k| results.ratio(kernel, what, k, loss);
            row(&mut table, &format!("{what} {loss} %"), ratio);
        }
    }
    table
}

/// All codes, by K and loss.
fn speeds(results: &Results, kernel: &str) -> String {
    let mut table = head("");
    for what in ["copy", "xor"] {
        let name = format!("memory: {what}");
        row(&mut table, &name, |k| {
            results.speed(kernel, "memory", k, what, 0)
        });
    }
    for what in ["encode", "decode"] {
        for loss in [0, 1, 5, 20, 50] {
            for codec in CODECS {
                let name = format!("{what} {loss} %, {codec}");
                row(&mut table, &name, |k| {
                    results.speed(kernel, what, k, codec, loss)
                });
            }
        }
    }
    table
}

fn head(corner: &str) -> String {
    let names = KS.map(|k| format!("K = {k} |")).join(" ");
    let lines = ["---: |"; KS.len()].join(" ");
    format!("| {corner} | {names}\n| --- | {lines}\n")
}

/// A row of numbers, unless there are none.
fn row(table: &mut String, name: &str, value: impl Fn(u32) -> Option<f64>) {
    let values = KS.map(value);
    if values.iter().any(Option::is_some) {
        let values = values.map(|value| value.map_or("-".to_owned(), significant));
        let _ = writeln!(table, "| {name} | {} |", values.join(" | "));
    }
}

/// Two digits, or all before the point.
fn significant(value: f64) -> String {
    let digits = if value < 1.0 {
        2
    } else {
        usize::from(value < 10.0)
    };
    format!("{value:.digits$}")
}

/// Nanoseconds of the fastest sample of all runs that were kept, by group, function and value: whatever else the machine
/// does only makes others slower.
struct Results(BTreeMap<(String, String, String), f64>);

impl Results {
    fn read(criterion: &Path) -> Result<Self, Box<dyn Error>> {
        let mut results = BTreeMap::new();
        let mut directories = vec![criterion.to_owned()];
        while let Some(directory) = directories.pop() {
            if directory.join("sample.json").exists() {
                let read = |name| -> Result<Value, Box<dyn Error>> {
                    Ok(serde_json::from_slice(&fs::read(directory.join(name))?)?)
                };
                let (id, sample) = (read("benchmark.json")?, read("sample.json")?);
                let text = |name: &str| id[name].as_str().unwrap_or_default().to_owned();
                let numbers = |name: &str| {
                    let numbers = sample[name].as_array().into_iter().flatten();
                    numbers.filter_map(Value::as_f64)
                };
                let times = numbers("times").zip(numbers("iters"));
                let fastest = times
                    .map(|(nanos, iterations)| nanos / iterations)
                    .min_by(f64::total_cmp);
                let key = (text("group_id"), text("function_id"), text("value_str"));
                let fastest = fastest.ok_or("no samples")?;
                let known = results.entry(key).or_insert(fastest);
                *known = fastest.min(*known);
                continue;
            }
            for entry in fs::read_dir(&directory)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    directories.push(entry.path());
                }
            }
        }
        Ok(Self(results))
    }

    fn has(&self, kernel: &str) -> bool {
        self.nanos(kernel, "encode", 10, "raptorq", 5).is_some()
    }

    fn nanos(&self, kernel: &str, what: &str, k: u32, codec: &str, value: u32) -> Option<f64> {
        let key = (
            format!("codec {kernel} {what}"),
            format!("{k}:{codec}"),
            value.to_string(),
        );
        self.0.get(&key).copied()
    }

    /// GB/s of source data.
    fn speed(&self, kernel: &str, what: &str, k: u32, codec: &str, loss: u32) -> Option<f64> {
        let nanos = self.nanos(kernel, what, k, codec, loss)?;
        Some(f64::from(k) * T / nanos)
    }

    fn ratio(&self, kernel: &str, what: &str, k: u32, loss: u32) -> Option<f64> {
        let theirs = self.nanos(kernel, what, k, "raptorq-crate", loss)?;
        Some(theirs / self.nanos(kernel, what, k, "raptorq", loss)?)
    }
}

const KS: [u32; 9] = [10, 27, 64, 128, 256, 512, 1000, 4000, 10_000];
const COUNTS: [u32; 10] = [1, 4, 8, 16, 24, 32, 48, 64, 96, 128];
const CODECS: [&str; 5] = [
    "raptorq",
    "raptorq-crate",
    "linear",
    "reed-solomon-simd",
    "rlnc",
];
/// Bytes of a symbol.
const T: f64 = 1280.0;
