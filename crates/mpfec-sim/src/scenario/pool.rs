//! All runs of several scenarios, on several cores.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CaseResult, RunResult, Scenario, ScenarioResult, VariantResult};

/// A run that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Its scenario.
    pub scenario: &'a Scenario,
    /// Position of its case.
    pub case: usize,
    /// Position of its variant.
    pub variant: usize,
    /// Its seed.
    pub seed: u64,
    /// What came out.
    pub result: &'a RunResult,
    /// Runs that have ended, this one included, in whatever order.
    pub done: usize,
    /// Runs, all in all.
    pub total: usize,
}

/// Runs every variant of every case of `scenarios` with every one of `seeds` (unless a scenario
/// wants [fewer](Scenario::most_runs)), so many at a time.
/// The results do not depend on `threads`. `progress` is called from all threads.
///
/// To leave variants out or add some, see [`Scenario::retain_variants`] and
/// [`Scenario::add_profile`].
pub fn run_all(
    scenarios: &[Scenario],
    seeds: &[u64],
    threads: NonZeroUsize,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Vec<ScenarioResult> {
    let jobs = jobs(scenarios, seeds);
    let results: Vec<Mutex<RunResult>> = jobs.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let work = || {
        while let Some((index, job)) = take(&jobs, &next) {
            let scenario = &scenarios[job.scenario];
            let result = scenario.run(job.case, job.variant, job.seed);
            progress(Progress {
                scenario,
                case: job.case,
                variant: job.variant,
                seed: job.seed,
                result: &result,
                done: 1 + done.fetch_add(1, Ordering::Relaxed),
                total: jobs.len(),
            });
            *results[index]
                .lock()
                .expect("nothing panics with this lock") = result;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(jobs.len()) {
            scope.spawn(work);
        }
    });
    let results = results
        .into_iter()
        .map(|result| result.into_inner().expect("nothing panics with this lock"));
    gather(scenarios, seeds, results)
}

#[derive(Debug, Clone, Copy)]
struct Job {
    scenario: usize,
    case: usize,
    variant: usize,
    seed: u64,
}

fn take<'a>(jobs: &'a [Job], next: &AtomicUsize) -> Option<(usize, &'a Job)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

/// In the order in which [`gather`] wants their results.
fn jobs(scenarios: &[Scenario], seeds: &[u64]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (scenario, what) in scenarios.iter().enumerate() {
        for case in 0..what.cases.len() {
            for variant in 0..what.variants.len() {
                jobs.extend(what.seeds(seeds).iter().map(|&seed| Job {
                    scenario,
                    case,
                    variant,
                    seed,
                }));
            }
        }
    }
    jobs
}

fn gather(
    scenarios: &[Scenario],
    seeds: &[u64],
    mut results: impl Iterator<Item = RunResult>,
) -> Vec<ScenarioResult> {
    let mut gathered = Vec::new();
    for scenario in scenarios {
        let runs = scenario.seeds(seeds).len();
        let mut cases = Vec::new();
        for case in &scenario.cases {
            let variants = scenario.variants.iter().map(|variant| VariantResult {
                name: variant.name.clone(),
                runs: results.by_ref().take(runs).collect(),
            });
            cases.push(CaseResult {
                name: case.name.clone(),
                x: case.x,
                variants: variants.collect(),
            });
        }
        gathered.push(ScenarioResult {
            scenario: scenario.clone(),
            cases,
        });
    }
    gathered
}
