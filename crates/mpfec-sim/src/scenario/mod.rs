//! Experiments: what is compared, under which conditions, and what a paper says comes out.
//!
//! A [`Scenario`] has cases (points on an x axis) and variants (curves). Each pair of them is
//! run with several seeds ([`run_all`]), which gives metrics and time series
//! ([`RunResult`]); a [`Claim`] holds or does not hold for the results ([`Claim::evaluate`]).
//! The TOML form of a scenario is described in [`mod@format`].
//!
//! ```
//! use mpfec_sim::scenario::Scenario;
//!
//! let scenario = Scenario::from_toml(
//!     r#"
//!     name = "two-paths"
//!     summary = "what a second path adds"
//!     duration_s = 2
//!     application = { kind = "bulk" }
//!
//!     [[path]]
//!     name = "wifi"
//!     both = { rate_mbps = 10, delay_ms = 10 }
//!
//!     [[path]]
//!     name = "lte"
//!     both = { rate_mbps = 10, delay_ms = 30 }
//!
//!     [[variant]]
//!     profile = "auto"
//!
//!     [[variant]]
//!     name = "alone"
//!     profile = "auto"
//!     paths = ["wifi"]
//!     "#,
//!     "two-paths.toml",
//! )?;
//! let goodput = |variant| scenario.run(0, variant, 1).metrics["goodput_mbps"];
//! assert!(goodput(0) > 1.5 * goodput(1));
//! # Ok::<(), mpfec_sim::scenario::ScenarioError>(())
//! ```

mod application;
mod built_in;
mod chart;
mod choice;
mod claim;
mod error;
mod file;
pub mod format;
mod metrics;
mod number;
mod overrides;
mod pauses;
mod pool;
mod run;
mod statistics;
mod topology;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mpfec_core::Profile;

pub use self::application::Application;
pub use self::chart::{Chart, ChartKind, Plotted};
pub use self::choice::PathChoice;
pub use self::claim::{Bounds, Check, Claim, Condition, Figure, Outcome, Verdict};
pub use self::error::{ScenarioError, ScenarioProblem};
pub use self::file::{MOST_BYTES, MOST_CELLS};
pub use self::number::Short;
pub use self::pauses::Pauses;
pub use self::pool::{Progress, run_all};
pub use self::statistics::Summary;
pub use self::topology::{Lent, LinkChange, SharedLink};
pub use self::traffic::{Route, Traffic, TrafficKind};

use crate::Setup;

/// An experiment. Made by [`from_toml`](Self::from_toml), so that every name in it leads
/// somewhere and every figure is in its range.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// How it is called on the command line and in reports.
    pub name: String,
    /// The figure or table that it repeats; may be empty.
    pub paper: String,
    /// One line for people.
    pub summary: String,
    /// It is run with so many seeds at most; `None` for as many as are asked for.
    pub most_runs: Option<u32>,
    /// Points on the x axis; at least one.
    pub cases: Vec<Case>,
    /// What is compared; at least one.
    pub variants: Vec<Variant>,
    /// What to draw.
    pub charts: Vec<Chart>,
    /// What the paper says comes out.
    pub claims: Vec<Claim>,
    /// By case, then by variant.
    plans: Vec<Vec<Arc<Plan>>>,
    /// By case: what a variant without changes of its own runs.
    plain: Vec<Arc<Plan>>,
}

/// A point on the x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique within the scenario; `all` if the file names none.
    pub name: String,
    /// Where it lies, if cases are numbers.
    pub x: Option<f64>,
}

/// What is compared: a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Unique within the scenario.
    pub name: String,
    /// Codec, scheduler, congestion controller and redundancy.
    pub profile: Profile,
    /// The paths that it uses.
    pub paths: PathChoice,
    /// Whether each path has a connection of its own instead of one over all paths; their
    /// figures are added up.
    pub connection_per_path: bool,
}

/// Conditions of a run: everything but the [`Variant`] and the seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The paths, and what happens to them.
    pub setup: Setup,
    /// Those of them that there are in this case, by their positions.
    pub paths: Vec<usize>,
    /// Links that several paths cross.
    pub links: Vec<SharedLink>,
    /// For each path, the shared links it crosses after its own one on the way from client to
    /// server, as positions in `links`. The way back crosses them in the opposite order.
    pub via: Vec<Vec<usize>>,
    /// What happens to the shared links.
    pub link_changes: Vec<LinkChange>,
    /// What else uses the links.
    pub traffic: Vec<Traffic>,
    /// What the server tells about paths through relays that have traffic of their own.
    pub lent: Vec<Lent>,
    /// What the client sends to the server.
    pub application: Application,
    /// When the client starts to connect.
    pub start: Duration,
    /// Time after `start` that does not count.
    pub warmup: Duration,
    /// Measured time, at most: a run ends when the application has nothing more to do.
    pub duration: Duration,
    /// Width of the steps of a time series.
    pub sample: Duration,
    /// Bytes that the receiver may have to hold (`stream_window` and `connection_window`).
    pub recv_buffer: Option<u64>,
    /// Bytes that the sender may be ahead of what has been received.
    pub send_buffer: Option<u64>,
    /// Source symbols in a block at most.
    pub block_symbols: Option<u16>,
    /// Largest UDP payload in bytes.
    pub max_mtu: Option<u16>,
    /// How often both ends of the connections under test stand still, if they do.
    pub pauses: Option<Pauses>,
}

impl Plan {
    /// How long a run takes at most, what comes before the measurement included.
    fn time(&self) -> Duration {
        self.start + self.warmup + self.duration
    }
}

/// What came out of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunResult {
    /// Figures by name ([`format`](mod@format#metrics) lists them).
    pub metrics: BTreeMap<String, f64>,
    /// Points (time in seconds since the measurement began, value) by name.
    pub series: BTreeMap<String, Vec<(f64, f64)>>,
    /// Why there is nothing: what the engine panicked with, or why a connection failed.
    pub failure: Option<String>,
}

/// All results of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioResult {
    /// What was run.
    pub scenario: Scenario,
    /// In the order of [`Scenario::cases`].
    pub cases: Vec<CaseResult>,
}

/// All results of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// [`Case::name`].
    pub name: String,
    /// [`Case::x`].
    pub x: Option<f64>,
    /// Those variants that were run, in the order of [`Scenario::variants`].
    pub variants: Vec<VariantResult>,
}

/// All results of a variant in a case.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantResult {
    /// [`Variant::name`].
    pub name: String,
    /// One for each seed, in the order of the seeds.
    pub runs: Vec<RunResult>,
}

impl Scenario {
    /// The built-in scenarios, in the order of a listing.
    ///
    /// # Panics
    /// Never: that each of them can be read is tested.
    #[must_use]
    pub fn built_in() -> Vec<Self> {
        built_in::all()
    }

    /// The built-in scenario called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::built_in()
            .into_iter()
            .find(|scenario| scenario.name == name)
    }

    /// Those of `seeds` that it is run with.
    #[must_use]
    pub fn seeds<'a>(&self, seeds: &'a [u64]) -> &'a [u64] {
        let most = self.most_runs.map_or(seeds.len(), |most| most as usize);
        &seeds[..seeds.len().min(most)]
    }

    /// The conditions of a variant in a case, by their positions.
    #[must_use]
    pub fn plan(&self, case: usize, variant: usize) -> Option<&Plan> {
        self.plans.get(case)?.get(variant).map(|plan| &**plan)
    }

    /// Adds a curve for a profile that the scenario does not compare by itself: over all paths
    /// and in the conditions of each case. Nothing happens if a variant has that name.
    pub fn add_profile(&mut self, name: &str, profile: Profile) {
        if self.variants.iter().any(|variant| variant.name == name) {
            return;
        }
        self.variants.push(Variant {
            name: name.to_owned(),
            profile,
            paths: PathChoice::All,
            connection_per_path: false,
        });
        for (plans, plain) in self.plans.iter_mut().zip(&self.plain) {
            plans.push(Arc::clone(plain));
        }
    }

    /// Keeps only the variants that `keep` wants; at least one stays.
    ///
    /// # Errors
    /// If none would stay; then nothing changes.
    pub fn retain_variants(&mut self, keep: impl Fn(&Variant) -> bool) -> Result<(), NoVariant> {
        let kept: Vec<bool> = self.variants.iter().map(keep).collect();
        if !kept.contains(&true) {
            return Err(NoVariant);
        }
        fn pick<T>(list: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            list.retain(|_| *kept.next().unwrap_or(&true));
        }
        pick(&mut self.variants, &kept);
        for plans in &mut self.plans {
            pick(plans, &kept);
        }
        Ok(())
    }
}

/// No variant of a scenario is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("none of the scenario's variants is wanted")]
pub struct NoVariant;

impl RunResult {
    /// A metric, or with `name@from-to` the mean of the time series `name` over the points
    /// from `from` to `to` seconds. `None` if the run has no such figure.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        if let Some(value) = self.metrics.get(name) {
            return Some(*value);
        }
        let (series, from, to) = metrics::window(name)?;
        let points = self.series.get(series)?;
        let mut inside = points
            .iter()
            .filter(|(at, _)| (from..=to).contains(at))
            .peekable();
        inside.peek()?;
        let (count, sum) = inside.fold((0u32, 0.0), |(count, sum), (_, value)| {
            (count + 1, sum + value)
        });
        Some(sum / f64::from(count))
    }
}

impl ScenarioResult {
    /// Mean and confidence interval of a metric ([`RunResult::metric`]) over the seeds of a
    /// variant in a case. `None` if it was not run, or no run has that metric.
    #[must_use]
    pub fn summary(&self, case: usize, variant: &str, metric: &str) -> Option<Summary> {
        self.cases.get(case)?.summary(variant, metric)
    }
}

impl CaseResult {
    /// As [`ScenarioResult::summary`].
    #[must_use]
    pub fn summary(&self, variant: &str, metric: &str) -> Option<Summary> {
        let variant = self.variants.iter().find(|found| found.name == variant)?;
        Summary::of(variant.runs.iter().filter_map(|run| run.metric(metric)))
    }
}
