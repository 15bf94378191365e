//! What people and scripts see: text on standard error, data and JSON on standard output.

mod bars;
mod event;
mod losses;
mod parity;

use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::bars::Bars;
pub(crate) use self::event::{
    BlockDelay, Done, Event, LeftOverReport, LinkReport, PathChangeReport, PathProgress,
    PathReport, PerfResult, Progress, RunsProgress, Silence, SkippedReport, TicketReport,
};
pub(crate) use self::losses::LossReport;
pub(crate) use self::parity::ParityCounts;
use crate::clock;
use crate::error::CliError;
use crate::units;

/// Where output goes; clones write to the same place.
#[derive(Debug, Clone)]
pub(crate) struct Output(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    json: bool,
    quiet: bool,
    /// Standard error is a terminal that can redraw lines.
    terminal: bool,
    colour: bool,
    state: Mutex<State>,
    /// The program is being stopped: what follows from that is told to nobody.
    stopped: AtomicBool,
    /// Why standard output did not take all, though somebody reads it.
    lost: Mutex<Option<io::Error>>,
}

#[derive(Debug, Default)]
struct State {
    /// When the first progress was reported.
    began: Option<Instant>,
    bars: Option<Bars>,
    last_plain: Option<Instant>,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = stderr().is_terminal() && !dumb;
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self(Arc::new(Inner {
            json,
            quiet,
            terminal,
            colour: terminal && !no_colour,
            state: Mutex::default(),
            stopped: AtomicBool::new(false),
            lost: Mutex::default(),
        }))
    }

    /// Whether scripts read what we say.
    pub(crate) fn is_json(&self) -> bool {
        self.0.json
    }

    /// Whether standard error may be coloured: a terminal shows it, and nobody minds.
    pub(crate) fn has_colour(&self) -> bool {
        self.0.colour
    }

    /// Whether somebody could answer a question.
    pub(crate) fn can_ask(&self) -> bool {
        !self.0.json && !self.0.quiet && self.0.terminal && std::io::stdin().is_terminal()
    }

    /// One JSON object on a line; nothing without `--json`.
    pub(crate) fn event(&self, event: &Event) {
        if self.0.json
            && !self.is_stopped()
            && let Ok(line) = serde_json::to_string(event)
        {
            self.data(&line);
        }
    }

    /// A line of data for standard output, whatever the flags say.
    pub(crate) fn data(&self, line: &str) {
        self.raw(format!("{line}\n").as_bytes());
    }

    /// Data for standard output as they are.
    pub(crate) fn raw(&self, data: &[u8]) {
        self.wrote(stdout().lock().write_all(data));
    }

    /// What became of something written to standard output.
    pub(crate) fn wrote(&self, result: io::Result<()>) {
        match result.and_then(|()| stdout().flush()) {
            // If nobody reads it any more, nothing is to be done about that.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                *self.0.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            _ => {}
        }
    }

    /// An error if standard output did not take all that it was given.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        let lost = self.0.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.as_ref().map_or(Ok(()), |error| {
            let mut error = CliError::destination(Path::new("standard output"), error);
            "make room where it goes".clone_into(&mut error.hint);
            Err(error)
        })
    }

    /// A line for people.
    pub(crate) fn say(&self, line: &str) {
        if !self.0.json && !self.0.quiet && !self.is_stopped() {
            self.print(line);
        }
    }

    /// A line for people even with `--quiet`: what the command was run for.
    pub(crate) fn result(&self, line: &str) {
        if !self.0.json {
            self.print(line);
        }
    }

    /// How far a transfer is: bars on a terminal after half a second, else a line now and then.
    pub(crate) fn progress(&self, progress: &Progress) {
        if self.0.json {
            return self.event(&Event::Progress(progress.clone()));
        }
        self.show(
            PLAIN_INTERVAL,
            |bars| bars.show(progress),
            || plain(progress),
        );
    }

    /// How far scenarios are: a bar on a terminal, else a line now and then.
    pub(crate) fn runs(&self, progress: &RunsProgress) {
        if self.0.json {
            return self.event(&Event::Runs(progress.clone()));
        }
        self.show(
            RUNS_INTERVAL,
            |bars| bars.show_runs(progress),
            || plain_runs(progress),
        );
    }

    /// Shows how far something is to people, if there are any.
    fn show(&self, interval: Duration, bar: impl FnOnce(&mut Bars), line: impl FnOnce() -> String) {
        if self.0.quiet || self.is_stopped() {
            return;
        }
        let now = clock::now();
        let mut state = self.state();
        let began = *state.began.get_or_insert(now);
        if self.0.terminal {
            if now - began >= PATIENCE {
                bar(state.bars.get_or_insert_with(|| Bars::new(self.0.colour)));
            }
            return;
        }
        let last = *state.last_plain.get_or_insert(began);
        if now - last >= interval {
            state.last_plain = Some(now);
            drop(state);
            self.print(&line());
        }
    }

    /// No more progress: the bars vanish.
    pub(crate) fn end_progress(&self) {
        let mut state = self.state();
        if let Some(bars) = state.bars.take() {
            bars.clear();
        }
        state.began = None;
        state.last_plain = None;
    }

    /// From now on only the last error is told: the program is being stopped, and whatever
    /// else goes wrong follows from that.
    pub(crate) fn stop(&self) {
        self.end_progress();
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// What is wrong and what to try, on two lines.
    pub(crate) fn error(&self, error: &CliError) {
        if !self.is_stopped() {
            self.last_error(error);
        }
    }

    /// The error that ends the program.
    pub(crate) fn last_error(&self, error: &CliError) {
        self.0.stopped.store(false, Ordering::Relaxed);
        self.end_progress();
        self.event(&Event::Error {
            code: error.exit.code(),
            kind: error.exit.name(),
            message: error.what.clone(),
            hint: error.hint.clone(),
        });
        let (red, plain) = if self.0.colour {
            ("\u{1b}[31m", "\u{1b}[0m")
        } else {
            ("", "")
        };
        self.print(&format!("{red}{}{plain}\n{}", error.what, error.hint));
    }

    fn print(&self, text: &str) {
        let state = self.state();
        let write = || {
            // Standard error is gone: there is nobody to tell.
            let _ = writeln!(stderr().lock(), "{text}");
        };
        match &state.bars {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Progress as one line.
fn plain(progress: &Progress) -> String {
    let share = progress
        .total
        .filter(|total| *total > 0)
        .map(|total| format!("{:>3.0} %  ", 100.0 * progress.bytes as f64 / total as f64))
        .unwrap_or_default();
    if let Some(silence) = &progress.silence {
        return format!("{share}{}  {silence}", units::size(progress.bytes));
    }
    let paths = progress
        .paths
        .iter()
        .map(|path| format!("{} {}", path.name, units::rate(path.rate_mbps)))
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "{share}{}  {}  ({paths})",
        units::size(progress.bytes),
        units::rate(progress.rate_mbps)
    )
}

/// Progress of scenarios as one line.
fn plain_runs(progress: &RunsProgress) -> String {
    let left = progress.seconds_left.map(|seconds| {
        let left = units::countdown(Duration::from_secs(seconds));
        format!(", {left} left")
    });
    format!(
        "{} of {} runs{}  ({})",
        progress.done,
        progress.total,
        left.unwrap_or_default(),
        progress.scenario
    )
}

/// What is over sooner needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between lines where nothing can be redrawn.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);
/// The same for scenarios, which take minutes.
const RUNS_INTERVAL: Duration = Duration::from_secs(10);
