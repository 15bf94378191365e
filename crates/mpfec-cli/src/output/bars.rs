//! One bar for the transfer, and one for each path.

use std::collections::BTreeMap;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::event::Progress;
use crate::units;

/// Bars on standard error.
#[derive(Debug)]
pub(super) struct Bars {
    multi: MultiProgress,
    total: ProgressBar,
    paths: BTreeMap<u32, ProgressBar>,
    /// The fastest rate of a path so far: the full width of its bar, in kbit/s.
    fastest: u64,
    colour: bool,
}

impl Bars {
    pub(super) fn new(colour: bool) -> Self {
        let multi = MultiProgress::new();
        let total = multi.add(ProgressBar::new(0));
        total.set_style(style("{msg:>10} {wide_bar} {percent:>3} % {prefix}"));
        Self {
            multi,
            total,
            paths: BTreeMap::new(),
            fastest: 1,
            colour,
        }
    }

    pub(super) fn show(&mut self, progress: &Progress) {
        self.total.set_message(progress.label.clone());
        self.total
            .set_length(progress.total.unwrap_or(progress.bytes).max(1));
        self.total.set_position(progress.bytes);
        let left = progress.seconds_left.map(|seconds| {
            format!(
                " {} left",
                units::time(std::time::Duration::from_secs(seconds.min(8_640_000)))
            )
        });
        self.total.set_prefix(format!(
            "{:>10} {:>12}{}",
            units::size(progress.bytes),
            units::rate(progress.rate_mbps),
            left.unwrap_or_default()
        ));
        for path in &progress.paths {
            let kbit = (path.rate_mbps * 1e3) as u64;
            self.fastest = self.fastest.max(kbit);
            let template = match (self.colour, path.state == "active") {
                (true, true) => "{msg:>10} {bar:30.green} {prefix}",
                (true, false) => "{msg:>10} {bar:30.yellow} {prefix}",
                (false, _) => "{msg:>10} {bar:30} {prefix}",
            };
            let bar = self
                .paths
                .entry(path.id)
                .or_insert_with(|| self.multi.add(ProgressBar::new(1)));
            bar.set_style(style(template));
            bar.set_message(path.name.clone());
            bar.set_length(self.fastest);
            bar.set_position(kbit);
            bar.set_prefix(format!(
                "{:>12} {:>5.0} ms  loss {:>4.1} %  {}",
                units::rate(path.rate_mbps),
                path.srtt_ms,
                100.0 * path.loss,
                path.state
            ));
        }
        let gone: Vec<u32> = self
            .paths
            .keys()
            .copied()
            .filter(|id| progress.paths.iter().all(|path| path.id != *id))
            .collect();
        for id in gone {
            if let Some(bar) = self.paths.remove(&id) {
                bar.finish_and_clear();
                self.multi.remove(&bar);
            }
        }
    }

    /// Runs `write` while the bars are out of the way.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.multi.suspend(write);
    }

    pub(super) fn clear(self) {
        for bar in self.paths.values() {
            bar.finish_and_clear();
        }
        self.total.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸ ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::PathProgress;

    #[test]
    fn bars_follow_paths_that_come_and_go() {
        let mut bars = Bars::new(true);
        let path = |id| PathProgress {
            id,
            name: format!("p{id}"),
            rate_mbps: 1.0,
            srtt_ms: 1.0,
            loss: 0.0,
            state: "active".to_owned(),
        };
        let progress = |paths| Progress {
            label: "x".to_owned(),
            bytes: 1,
            total: Some(2),
            seconds: 1.0,
            rate_mbps: 1.0,
            seconds_left: Some(1),
            paths,
        };
        bars.show(&progress(vec![path(0), path(1)]));
        bars.show(&progress(vec![path(1), path(2)]));
        assert_eq!(bars.paths.keys().copied().collect::<Vec<_>>(), [1, 2]);
        bars.clear();
    }
}
