//! One run: conditions, variant and seed in, figures out.

mod measure;
mod peer;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::measure::{Measurement, SHORTEST_STEP, STEPS_PER_SAMPLE};
use self::world::World;
use super::{Plan, RunResult, Scenario, Variant};

impl Scenario {
    /// Runs a variant in a case, both by their positions. What comes out depends on the
    /// scenario and these three numbers alone.
    ///
    /// If the engine panics or a connection fails, the result says so and has no figures.
    ///
    /// # Panics
    /// If there is no such case or variant.
    #[must_use]
    pub fn run(&self, case: usize, variant: usize, seed: u64) -> RunResult {
        let plan = &self.plans[case][variant];
        let variant = &self.variants[variant];
        // Nothing that was built before a panic is looked at after it.
        let run = catch_unwind(AssertUnwindSafe(|| run(plan, variant, seed)));
        run.unwrap_or_else(|panic| {
            let what = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("something that is no text");
            RunResult {
                failure: Some(format!("the engine panicked: {what}")),
                ..RunResult::default()
            }
        })
    }
}

fn run(plan: &Plan, variant: &Variant, seed: u64) -> RunResult {
    let mut world = World::new(plan, variant, seed);
    world.run_for(plan.start);
    world.connect();
    world.run_for(plan.warmup);
    let mut measurement = Measurement::start(&world, plan);
    let mut elapsed = std::time::Duration::ZERO;
    while elapsed < plan.duration && !world.is_done() {
        // A step is short enough to see how queues grow and drain.
        let step = (plan.sample / STEPS_PER_SAMPLE)
            .max(SHORTEST_STEP)
            .min(plan.duration - elapsed);
        world.run_for(step);
        elapsed += step;
        if let Some(failure) = world.failure() {
            return RunResult {
                failure: Some(failure),
                ..RunResult::default()
            };
        }
        measurement.step(&world);
    }
    measurement.finish(&world)
}
