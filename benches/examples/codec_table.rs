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

    let mut lines = Vec::new();
    for (colour, what, loss) in [
        ("#1b6ca8", "encode", 5),
        ("#59a5d8", "encode", 20),
        ("#c0392b", "decode", 5),
        ("#e59866", "decode", 20),
    ] {
        let kernels = [(best, false)].into_iter().chain(avx2.map(|it| (it, true)));
        for (kernel, is_dashed) in kernels {
            let ratio = |k| Some((f64::from(k), results.ratio(kernel, what, k, loss)?));
            lines.push(Line {
                name: format!("{what} {loss} %, {kernel}"),
                colour,
                is_dashed,
                points: KS.into_iter().filter_map(ratio).collect(),
            });
        }
    }
    let ratios = Chart {
        title: "Speed of RaptorQ, times that of the raptorq crate",
        x: "K, T = 1280",
        ticks: &[10, 27, 64, 128, 256, 512, 1000, 4000, 10_000],
        lines,
    };
    fs::write("docs/codec-ratio.svg", ratios.to_svg())?;

    let mut lines = Vec::new();
    for (colour, k) in [("#1b6ca8", 64), ("#c0392b", 256), ("#2e8b57", 1000)] {
        for (way, is_dashed) in [("dense", false), ("replay", true)] {
            let micros = |count| {
                let nanos = results.nanos(best, "crossover", k, way, count)?;
                Some((f64::from(count), nanos / 1e3))
            };
            lines.push(Line {
                name: format!("K = {k}, {way}"),
                colour,
                is_dashed,
                points: COUNTS.into_iter().filter_map(micros).collect(),
            });
        }
    }
    let crossover = Chart {
        title: "Time to encode a block, in microseconds",
        x: "repair symbols made, T = 1280",
        ticks: &[1, 4, 8, 16, 32, 64, 128],
        lines,
    };
    fs::write("docs/codec-crossover.svg", crossover.to_svg())?;
    Ok(())
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

/// Lines over logarithmic axes.
struct Chart {
    title: &'static str,
    x: &'static str,
    ticks: &'static [u32],
    lines: Vec<Line>,
}

struct Line {
    name: String,
    colour: &'static str,
    is_dashed: bool,
    points: Vec<(f64, f64)>,
}

impl Chart {
    fn to_svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let lowest = points().fold(f64::MAX, |low, point| low.min(point.1));
        let highest = points().fold(f64::MIN, |high, point| high.max(point.1));
        let first = f64::from(self.ticks[0]);
        let last = f64::from(self.ticks[self.ticks.len() - 1]);
        let x = |value: f64| LEFT + (value / first).ln() / (last / first).ln() * WIDTH;
        let y =
            |value: f64| TOP + HEIGHT - (value / lowest).ln() / (highest / lowest).ln() * HEIGHT;

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 460\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"800\" height=\"460\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
            self.title
        );
        for &tick in self.ticks {
            let at = x(f64::from(tick));
            let bottom = TOP + HEIGHT;
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
                bottom + 18.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            LEFT + WIDTH / 2.0,
            TOP + HEIGHT + 38.0,
            self.x
        );
        let decades = (-2..6).map(|power| 10_f64.powi(power));
        let values = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * decade));
        for value in values.filter(|value| (lowest..=highest).contains(value)) {
            let (at, right) = (y(value), LEFT + WIDTH);
            let colour = if value == 1.0 { "#888" } else { "#ddd" };
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                LEFT - 6.0,
                at + 4.0
            );
        }
        for (nth, line) in (0_u8..).zip(&self.lines) {
            let dash = if line.is_dashed { "5 3" } else { "none" };
            let style = format!(
                "fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"",
                line.colour
            );
            let points = line.points.iter();
            let points = points.map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1)));
            let points = points.collect::<Vec<_>>().join(" ");
            let _ = writeln!(svg, "<polyline points=\"{points}\" {style}/>");
            let (start, at) = (LEFT + WIDTH + 14.0, TOP + 10.0 + f64::from(nth) * 20.0);
            let _ = writeln!(
                svg,
                "<path d=\"M{start} {at}h24\" {style}/><text x=\"{}\" y=\"{}\">{}</text>",
                start + 30.0,
                at + 4.0,
                line.name
            );
        }
        svg.push_str("</svg>\n");
        svg
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
/// Where a chart's lines are.
const LEFT: f64 = 50.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 360.0;
