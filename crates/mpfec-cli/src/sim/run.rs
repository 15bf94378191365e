//! Scenarios on all cores, with their progress.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mpfec_sim::scenario::{Scenario, ScenarioResult, run_all};

use super::select::Selection;
use crate::clock;
use crate::error::CliError;
use crate::output::{Output, RunsProgress};

/// Runs everything that was selected and tells how far it is.
pub(super) async fn run(
    output: &Output,
    selection: &Selection,
    threads: Option<u16>,
) -> Result<Vec<ScenarioResult>, CliError> {
    let scenarios: Vec<Scenario> = selection.scenarios().cloned().collect();
    let seeds = selection.seeds();
    let state = Arc::new(Mutex::new(State::new(&scenarios, &seeds)));
    let threads = match threads.and_then(|threads| NonZeroUsize::new(threads.into())) {
        Some(threads) => threads,
        None => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    quieten_panics();
    let mut running = {
        let state = Arc::clone(&state);
        tokio::task::spawn_blocking(move || {
            run_all(&scenarios, &seeds, threads, &|progress| {
                let mut state = lock(&state);
                state.done += 1;
                state.failed += usize::from(progress.result.failure.is_some());
                state.work_done += work(progress.scenario, progress.case, progress.variant);
            })
        })
    };
    let mut ticks = tokio::time::interval(INTERVAL);
    let results = loop {
        tokio::select! {
            results = &mut running => break results,
            _ = ticks.tick() => {
                let progress = lock(&state).progress(clock::now());
                output.runs(&progress);
            }
        }
    };
    output.end_progress();
    // What a run panics with is its result; anything else that panics is a bug in what runs it.
    results.map_err(|error| CliError::other("the scenarios could not be run", error))
}

/// How far it is.
#[derive(Debug)]
struct State {
    began: Instant,
    /// Names of the scenarios, each with the runs up to its last one: they are run in order.
    scenarios: Vec<(String, usize)>,
    done: usize,
    failed: usize,
    /// In simulated seconds, by which runs differ in what they cost.
    work_done: f64,
    work: f64,
}

impl State {
    fn new(scenarios: &[Scenario], seeds: &[u64]) -> Self {
        let mut total = 0;
        let mut all_work = 0.0;
        let mut ends = Vec::new();
        for scenario in scenarios {
            let seeds = scenario.seeds(seeds).len();
            for case in 0..scenario.cases.len() {
                for variant in 0..scenario.variants.len() {
                    total += seeds;
                    all_work += seeds as f64 * work(scenario, case, variant);
                }
            }
            ends.push((scenario.name.clone(), total));
        }
        Self {
            began: clock::now(),
            scenarios: ends,
            done: 0,
            failed: 0,
            work_done: 0.0,
            work: all_work,
        }
    }

    fn progress(&self, now: Instant) -> RunsProgress {
        let seconds = (now - self.began).as_secs_f64();
        let current = self.scenarios.iter().find(|(_, end)| self.done < *end);
        let current = current.or(self.scenarios.last());
        let left = (self.done > 0 && self.work_done > 0.0)
            .then(|| seconds * (self.work - self.work_done).max(0.0) / self.work_done);
        RunsProgress {
            scenario: current.map(|(name, _)| name.clone()).unwrap_or_default(),
            done: self.done,
            total: self.scenarios.last().map_or(0, |(_, end)| *end),
            failed: self.failed,
            seconds: crate::units::rounded(seconds),
            seconds_left: left.map(|left| left.ceil() as u64),
        }
    }
}

/// Simulated seconds of a run at most.
fn work(scenario: &Scenario, case: usize, variant: usize) -> f64 {
    scenario.plan(case, variant).map_or(0.0, |plan| {
        (plan.start + plan.warmup + plan.duration).as_secs_f64()
    })
}

/// What a run panics with is told with its seed when all are over; where it did, with `-v`.
fn quieten_panics() {
    std::panic::set_hook(Box::new(|panic| tracing::info!("{panic}")));
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Between reports of progress.
const INTERVAL: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_goes_by_simulated_time() {
        let mut scenarios = Scenario::built_in();
        scenarios.truncate(2);
        let mut state = State::new(&scenarios, &[1, 2]);
        let first = scenarios[0].cases.len() * scenarios[0].variants.len() * 2;
        let at =
            |state: &State, seconds| state.progress(state.began + Duration::from_secs(seconds));
        assert_eq!(at(&state, 5).seconds_left, None);
        assert_eq!(at(&state, 5).scenario, scenarios[0].name);
        state.done = first;
        state.work_done = state.work / 4.0;
        let progress = at(&state, 10);
        assert_eq!(progress.seconds_left, Some(30));
        assert_eq!(progress.scenario, scenarios[1].name);
        assert_eq!(progress.done, first);
    }
}
