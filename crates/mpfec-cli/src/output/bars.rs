//! One bar for the transfer, and one for each path.

use std::time::Duration;

use console::{Term, measure_text_width, truncate_str};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::event::{PathProgress, Progress, RunsProgress};
use crate::units;

/// Bars on standard error, drawn as one so that all of them belong to the same moment.
#[derive(Debug)]
pub(super) struct Bars {
    drawn: ProgressBar,
    /// The fastest rate of a path so far in Mbit/s: the full width of its bar.
    fastest: f64,
    colour: bool,
}

impl Bars {
    pub(super) fn new(colour: bool) -> Self {
        let drawn = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        drawn.set_style(
            ProgressStyle::with_template("{msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self {
            drawn,
            fastest: 0.0,
            colour,
        }
    }

    pub(super) fn show(&mut self, progress: &Progress) {
        let rates = progress.paths.iter().map(|path| path.rate_mbps);
        self.fastest = rates.fold(self.fastest, f64::max);
        self.redraw(render(progress, self.fastest, width(), self.colour));
    }

    pub(super) fn show_runs(&mut self, progress: &RunsProgress) {
        self.redraw(render_runs(progress, width()));
    }

    fn redraw(&self, text: String) {
        self.drawn.set_message(text);
        if self.drawn.is_hidden() {
            self.drawn.set_draw_target(ProgressDrawTarget::stderr());
            self.drawn.tick();
        }
    }

    /// Runs `write` while the bars are out of the way.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.drawn.suspend(write);
    }

    pub(super) fn clear(self) {
        self.drawn.finish_and_clear();
    }
}

/// Letters in a line.
fn width() -> usize {
    // A line as wide as the terminal would wrap on some of them.
    usize::from(Term::stderr().size().1).saturating_sub(1)
}

/// One line, not wider than `width`.
fn render_runs(progress: &RunsProgress, width: usize) -> String {
    let left = progress.seconds_left.map(|seconds| {
        let time = Duration::from_secs(seconds.min(LONGEST_LEFT));
        format!("  {} left", units::countdown(time))
    });
    let failed = match progress.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let line_of_all = Line {
        name: &progress.scenario,
        share: share(progress.done as u64, Some(progress.total as u64)),
        most: width,
        figures: format!(
            "{} of {} runs{failed}{}",
            progress.done,
            progress.total,
            left.unwrap_or_default()
        ),
        colour: "",
    };
    let column = measure_text_width(&progress.scenario).min(WIDEST_SCENARIO);
    line(&line_of_all, column, width)
}

/// All lines, none wider than `width`.
fn render(progress: &Progress, fastest: f64, width: usize, colour: bool) -> String {
    let names = progress.paths.iter().map(|path| path.name.as_str());
    let names = names.chain([progress.label.as_str()]);
    let column = names.map(measure_text_width).max().unwrap_or_default();
    let column = column.min(WIDEST_NAME);
    let mut lines = vec![line(
        &Line {
            name: &progress.label,
            share: share(progress.bytes, progress.total),
            most: width,
            figures: whole(progress),
            colour: "",
        },
        column,
        width,
    )];
    let has_room = width >= ROOMY;
    let figured = progress.paths.iter().map(|path| figures(path, has_room));
    let figured: Vec<String> = figured.collect();
    let longest = figured.iter().map(|text| measure_text_width(text)).max();
    // Of the same width, so that they can be compared.
    let most = width.saturating_sub(column + 2 + longest.unwrap_or_default());
    for (path, figures) in progress.paths.iter().zip(figured) {
        let ink = match (colour, path.state == "active") {
            (false, _) => "",
            (true, true) => GREEN,
            (true, false) => YELLOW,
        };
        let path_line = Line {
            name: &path.name,
            share: Some((path.rate_mbps / fastest.max(f64::MIN_POSITIVE)).min(1.0)),
            most: most.min(PATH_BAR),
            figures,
            colour: ink,
        };
        lines.push(line(&path_line, column, width));
    }
    lines.join("\n")
}

/// A line in its parts.
struct Line<'a> {
    name: &'a str,
    /// How much of the bar is filled; no bar if that is not known.
    share: Option<f64>,
    /// The bar's width at most.
    most: usize,
    figures: String,
    /// What switches the bar's colour on, if there is one.
    colour: &'a str,
}

fn line(parts: &Line<'_>, column: usize, width: usize) -> String {
    let name = truncate_str(parts.name, column, "…");
    let gap = column.saturating_sub(measure_text_width(&name));
    let taken = column + 2 + measure_text_width(&parts.figures);
    let room = width.saturating_sub(taken).min(parts.most);
    let bar = match parts.share {
        Some(share) if room >= NARROWEST_BAR => bar(share, room),
        _ => String::new(),
    };
    let reset = if parts.colour.is_empty() { "" } else { RESET };
    let text = format!(
        "{:gap$}{name} {}{bar}{reset} {}",
        "", parts.colour, parts.figures
    );
    truncate_str(&text, width, "").into_owned()
}

fn bar(share: f64, width: usize) -> String {
    let halves = (share * 2.0 * width as f64).round() as usize;
    let mut bar = "━".repeat(halves / 2);
    bar.push_str(if halves % 2 == 1 { "╸" } else { "" });
    bar.push_str(&" ".repeat(width - halves.div_ceil(2)));
    bar
}

fn whole(progress: &Progress) -> String {
    let percent = share(progress.bytes, progress.total);
    let percent = percent.map(|share| format!("{:>3.0} % ", 100.0 * share));
    if let Some(silence) = &progress.silence {
        return format!("{}{silence}", percent.unwrap_or_default());
    }
    let left = progress.seconds_left.map(|seconds| {
        let time = Duration::from_secs(seconds.min(LONGEST_LEFT));
        format!("  {} left", units::countdown(time))
    });
    format!(
        "{}{:>10} {:>12}{}",
        percent.unwrap_or_default(),
        units::size(progress.bytes),
        units::rate(progress.rate_mbps),
        left.unwrap_or_default()
    )
}

/// Of the same width whatever the state is.
fn figures(path: &PathProgress, has_room: bool) -> String {
    let loss = if has_room {
        format!("loss {:>4.1} %  ", 100.0 * path.loss)
    } else {
        String::new()
    };
    format!(
        "{:>12} {:>5.0} ms  {loss}{:9}",
        units::rate(path.rate_mbps),
        path.srtt_ms,
        path.state
    )
}

fn share(bytes: u64, total: Option<u64>) -> Option<f64> {
    let total = total?;
    Some((bytes as f64 / total.max(1) as f64).min(1.0))
}

const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const RESET: &str = "\u{1b}[0m";
const WIDEST_NAME: usize = 16;
const WIDEST_SCENARIO: usize = 28;
const PATH_BAR: usize = 30;
/// Below this width losses make room for the bars.
const ROOMY: usize = 72;
const NARROWEST_BAR: usize = 4;
/// A hundred days.
const LONGEST_LEFT: u64 = 8_640_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Silence;

    fn progress(total: Option<u64>) -> Progress {
        let path = |id, name: &str, state: &str| PathProgress {
            id,
            name: name.to_owned(),
            rate_mbps: 10.0 / f64::from(id + 1),
            srtt_ms: 25.0,
            loss: 0.031,
            state: state.to_owned(),
        };
        Progress {
            label: "film.mkv".to_owned(),
            bytes: 1 << 20,
            total,
            seconds: 1.0,
            rate_mbps: 15.0,
            seconds_left: total.map(|_| 61),
            silence: None,
            paths: vec![path(0, "wifi", "active"), path(1, "lte", "suspected")],
        }
    }

    #[test]
    fn each_path_has_a_bar_with_its_rate() {
        let text = render(&progress(Some(4 << 20)), 10.0, 80, false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("film.mkv ━━"), "{text}");
        assert!(
            lines[0].contains(" 25 % ") && lines[0].ends_with("1:01 left"),
            "{text}"
        );
        assert!(lines[1].starts_with("    wifi ━━"), "{text}");
        assert!(
            lines[1].contains("10.0 Mbit/s    25 ms  loss  3.1 %  active"),
            "{text}"
        );
        assert!(lines[2].ends_with("suspected"), "{text}");
        let filled = |line: &str| line.chars().filter(|letter| *letter == '━').count();
        assert_eq!((filled(lines[1]), filled(lines[2])), (25, 12), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 0..120 {
            for colour in [false, true] {
                let text = render(&progress(Some(4 << 20)), 10.0, width, colour);
                for line in text.lines() {
                    assert!(measure_text_width(line) <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn without_a_total_there_is_no_share() {
        let text = render(&progress(None), 10.0, 80, false);
        let first = text.lines().next().unwrap();
        assert!(
            !first.contains('%') && !first.contains('━') && !first.contains("left"),
            "{text}"
        );
        assert!(first.contains("1.0 MiB"), "{text}");
    }

    #[test]
    fn runs_are_counted_beside_their_bar() {
        let progress = RunsProgress {
            scenario: "fmtcp-table2".to_owned(),
            done: 40,
            total: 160,
            failed: 1,
            seconds: 5.0,
            seconds_left: Some(15),
        };
        let text = render_runs(&progress, 80);
        assert!(text.starts_with("fmtcp-table2 ━━"), "{text}");
        assert!(
            text.ends_with("40 of 160 runs, 1 failed  0:15 left"),
            "{text}"
        );
        for width in 0..120 {
            assert!(measure_text_width(&render_runs(&progress, width)) <= width);
        }
    }

    #[test]
    fn silence_is_told_in_place_of_the_rate() {
        let silent = Progress {
            silence: Some(Silence {
                peer: "the receiver",
                silent_seconds: 3,
                gives_up_in_seconds: 7,
            }),
            ..progress(Some(4 << 20))
        };
        let text = render(&silent, 10.0, 80, false);
        let first = text.lines().next().unwrap();
        assert!(
            first.ends_with("25 % nothing from the receiver for 3 s, giving up in 7 s"),
            "{text}"
        );
    }

    #[test]
    fn colours_are_switched_off_again_and_absent_if_unwanted() {
        let text = render(&progress(Some(4 << 20)), 10.0, 80, true);
        assert!(text.contains(GREEN) && text.contains(YELLOW), "{text}");
        assert_eq!(text.matches(RESET).count(), 2, "{text}");
        assert!(!render(&progress(Some(4 << 20)), 10.0, 80, false).contains('\u{1b}'));
    }
}
