//! Reading a scenario from a TOML file's text.

mod application;
mod check;
mod grid;
mod place;
mod plan;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;

use mpfec_core::Profile;
use serde::Deserialize;
use toml::{Table, Value};

use self::application::ApplicationTable;
use self::check::ClaimTable;
use self::grid::GridTable;
use self::place::Trouble;
pub(super) use self::place::ranked;
use self::plan::{ChangeTable, LinkTables, PathTables};
use self::traffic::TrafficTable;
use super::error::{ScenarioError, ScenarioProblem};
use super::{
    Case, Chart, ChartKind, PathChoice, Plan, Plotted, Scenario, Variant, metrics, overrides,
};

/// Largest file that is read, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// Most cases times variants of a scenario.
pub const MOST_CELLS: usize = 1000;

impl Scenario {
    /// Reads a scenario from a TOML file's text ([`format`](mod@super::format)). `file` is
    /// what errors call it.
    ///
    /// # Errors
    /// The first thing that is wrong, and where.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, ScenarioError> {
        read(text).map_err(|trouble| trouble.into_error(text, file))
    }
}

/// Everything that a file may say. What a case changes has the same form, without the rest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioTable {
    name: Option<String>,
    #[serde(default)]
    paper: String,
    #[serde(default)]
    summary: String,
    most_runs: Option<f64>,
    duration_s: Option<f64>,
    warmup_s: Option<f64>,
    start_s: Option<f64>,
    sample_s: Option<f64>,
    recv_buffer_kib: Option<f64>,
    send_buffer_kib: Option<f64>,
    block_symbols: Option<f64>,
    packet_bytes: Option<f64>,
    application: Option<ApplicationTable>,
    #[serde(rename = "link", default)]
    links: Vec<LinkTables>,
    #[serde(rename = "path", default)]
    paths: Vec<PathTables>,
    #[serde(rename = "change", default)]
    changes: Vec<ChangeTable>,
    #[serde(rename = "traffic", default)]
    traffic: Vec<TrafficTable>,
    #[serde(rename = "variant", default)]
    variants: Vec<VariantTable>,
    use_paths: Option<Vec<String>>,
    grid: Option<GridTable>,
    #[serde(rename = "case", default)]
    cases: Vec<CaseTable>,
    #[serde(rename = "chart", default)]
    charts: Vec<ChartTable>,
    #[serde(rename = "claim", default)]
    claims: Vec<ClaimTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseTable {
    name: String,
    x: Option<f64>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantTable {
    name: Option<String>,
    profile: Option<String>,
    codec: Option<String>,
    scheduler: Option<String>,
    congestion: Option<String>,
    redundancy: Option<String>,
    paths: Option<PathsTable>,
    #[serde(default)]
    connections: Connections,
    #[serde(default)]
    set: BTreeMap<String, Value>,
}

/// Names of paths, or `"best"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PathsTable {
    Word(String),
    Names(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Connections {
    #[default]
    One,
    PerPath,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChartTable {
    title: Option<String>,
    metric: Option<String>,
    series: Option<String>,
    case: Option<String>,
    kind: Option<ChartKindName>,
    #[serde(default)]
    log_x: bool,
    #[serde(default)]
    x_label: String,
    #[serde(default)]
    y_label: String,
    #[serde(default)]
    variants: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChartKindName {
    Line,
    Bar,
}

fn read(text: &str) -> Result<Scenario, Trouble> {
    if text.len() > MOST_BYTES {
        return Err(Trouble::new(ScenarioProblem::TooLong {
            got: text.len(),
            most: MOST_BYTES,
        }));
    }
    let mut file: ScenarioTable = toml::from_str(text).map_err(|error| Trouble::syntax(&error))?;
    let mut base: Table = toml::from_str(text).map_err(|error| Trouble::syntax(&error))?;
    base.retain(|key, _| overrides::SETTABLE.contains(&key));

    let name = file.name.clone().ok_or_else(|| {
        Trouble::new(ScenarioProblem::Missing {
            key: "name",
            why: "what the scenario is called",
        })
    })?;
    check_name(&name).map_err(|problem| Trouble::at(["name"], problem))?;
    let base_plan = Arc::new(file.plan()?);
    // It has a point for each of the paths, which are as many as there may be.
    file.take_grid()?;
    let cases = cases(&file)?;
    let variants = variants(&file, &base_plan)?;
    let cells = cases.len() * variants.len();
    if cells > MOST_CELLS {
        return Err(Trouble::new(ScenarioProblem::Count {
            what: "cases times variants",
            got: cells,
            least: 1,
            most: MOST_CELLS,
        }));
    }

    let mut scenario = Scenario {
        name,
        paper: file.paper.clone(),
        summary: file.summary.clone(),
        most_runs: file.most_runs()?,
        cases,
        variants,
        charts: Vec::new(),
        claims: Vec::new(),
        plans: Vec::new(),
        plain: Vec::new(),
    };
    let empty = CaseTable {
        name: String::new(),
        x: None,
        set: BTreeMap::new(),
    };
    for index in 0..scenario.cases.len() {
        let set = &file.cases.get(index).unwrap_or(&empty).set;
        let case = format!("case {:?}", scenario.cases[index].name);
        let (table, plain) = changed(&base, &base_plan, set)
            .map_err(|trouble| trouble.under("case", index, &case))?;
        let mut plans = Vec::new();
        for (position, variant) in file.variants.iter().enumerate() {
            let (_, plan) = changed(&table, &plain, &variant.set).map_err(|trouble| {
                let variant = &scenario.variants[position].name;
                trouble.under("variant", position, &format!("{case}, variant {variant:?}"))
            })?;
            plans.push(plan);
        }
        scenario.plans.push(plans);
        scenario.plain.push(plain);
    }

    count("charts", file.charts.len(), 0, MOST_CHARTS)?;
    for (index, table) in file.charts.iter().enumerate() {
        let chart = table.read(&scenario);
        let place = format!("chart {}", index + 1);
        let chart = chart.map_err(|trouble| trouble.under("chart", index, &place))?;
        scenario.charts.push(chart);
    }
    count("claims", file.claims.len(), 0, MOST_CLAIMS)?;
    for (index, table) in file.claims.iter().enumerate() {
        let claim = table.read(&scenario);
        let place = format!("claim {}", index + 1);
        let claim = claim.map_err(|trouble| trouble.under("claim", index, &place))?;
        scenario.claims.push(claim);
    }
    Ok(scenario)
}

impl ScenarioTable {
    fn most_runs(&self) -> Result<Option<u32>, Trouble> {
        let Some(most) = self.most_runs else {
            return Ok(None);
        };
        place::whole("most_runs", most, 1.0, 1e6)
            .map(|most| Some(most as u32))
            .map_err(|problem| Trouble::at(["most_runs"], problem))
    }
}

/// `base`, of which `plan` was made, with what `set` changes.
fn changed(
    base: &Table,
    plan: &Arc<Plan>,
    set: &BTreeMap<String, Value>,
) -> Result<(Table, Arc<Plan>), Trouble> {
    if set.is_empty() {
        return Ok((base.clone(), Arc::clone(plan)));
    }
    let mut table = base.clone();
    for (key, value) in set {
        overrides::apply(&mut table, key, value)
            .map_err(|problem| Trouble::at(["set", key.as_str()], problem))?;
    }
    let plan = plan_of(&table).map_err(|problem| {
        // What is wrong by itself is the culprit; otherwise it is how keys go together.
        let culprit = set.iter().find(|(key, value)| {
            let mut table = base.clone();
            overrides::apply(&mut table, key, value).is_ok() && plan_of(&table).is_err()
        });
        match culprit {
            Some((key, _)) => {
                Trouble::at(["set", key.as_str()], problem).named(&format!("set {key:?}"))
            }
            None => Trouble::at(["set"], problem),
        }
    })?;
    if !plan.has_paths_of(base) {
        return Err(Trouble::at(
            ["set"],
            ScenarioProblem::Other("the names of paths do not change".to_owned()),
        ));
    }
    Ok((table, Arc::new(plan)))
}

fn plan_of(table: &Table) -> Result<Plan, ScenarioProblem> {
    let file = ScenarioTable::deserialize(table.clone())
        .map_err(|error| ScenarioProblem::Syntax(place::one_line(error.message())))?;
    file.plan().map_err(|trouble| *trouble.problem)
}

fn cases(file: &ScenarioTable) -> Result<Vec<Case>, Trouble> {
    if file.cases.is_empty() {
        return Ok(vec![Case {
            name: "all".to_owned(),
            x: None,
        }]);
    }
    let mut cases: Vec<Case> = Vec::new();
    for (index, table) in file.cases.iter().enumerate() {
        let trouble = |key, problem| {
            Trouble::at([key], problem).under("case", index, &format!("case {}", index + 1))
        };
        check_label(&table.name).map_err(|problem| trouble("name", problem))?;
        if cases.iter().any(|case| case.name == table.name) {
            let name = table.name.clone();
            let what = "cases";
            return Err(trouble("name", ScenarioProblem::Duplicate { what, name }));
        }
        if let Some(x) = table.x {
            place::range("x", x, -1e12, 1e12).map_err(|problem| trouble("x", problem))?;
        }
        cases.push(Case {
            name: table.name.clone(),
            x: table.x,
        });
    }
    Ok(cases)
}

fn variants(file: &ScenarioTable, plan: &Plan) -> Result<Vec<Variant>, Trouble> {
    count("variants", file.variants.len(), 1, MOST_VARIANTS)?;
    let mut variants: Vec<Variant> = Vec::new();
    for (index, table) in file.variants.iter().enumerate() {
        let place = format!("variant {}", index + 1);
        let variant = table.read(plan);
        let variant = variant.map_err(|trouble| trouble.under("variant", index, &place))?;
        if variants.iter().any(|other| other.name == variant.name) {
            let what = "variants";
            let name = variant.name;
            let problem = ScenarioProblem::Duplicate { what, name };
            return Err(Trouble::at(["name"], problem).under("variant", index, &place));
        }
        variants.push(variant);
    }
    Ok(variants)
}

impl VariantTable {
    fn read(&self, plan: &Plan) -> Result<Variant, Trouble> {
        let Some(profile) = self.profile.as_ref().or(self.name.as_ref()) else {
            return Err(Trouble::new(ScenarioProblem::Missing {
                key: "profile",
                why: "what the variant runs",
            }));
        };
        let name = self.name.as_ref().unwrap_or(profile);
        check_label(name).map_err(|problem| Trouble::at(["name"], problem))?;
        let mut parts = profile_called(profile)?;
        if let Some(codec) = &self.codec {
            parts.codec = place::parsed("codec", codec)?;
        }
        if let Some(scheduler) = &self.scheduler {
            parts.scheduler = place::parsed("scheduler", scheduler)?;
        }
        if let Some(congestion) = &self.congestion {
            parts.congestion = place::parsed("congestion", congestion)?;
        }
        if let Some(redundancy) = &self.redundancy {
            parts.redundancy = place::parsed("redundancy", redundancy)?;
        }
        parts
            .check()
            .map_err(|error| Trouble::new(ScenarioProblem::Other(error.to_string())))?;
        Ok(Variant {
            name: name.clone(),
            profile: parts,
            paths: self.paths(plan)?,
            connection_per_path: self.connections == Connections::PerPath,
        })
    }

    fn paths(&self, plan: &Plan) -> Result<PathChoice, Trouble> {
        let names = match &self.paths {
            None => return Ok(PathChoice::All),
            Some(PathsTable::Word(word)) if word == "best" => return Ok(PathChoice::Best),
            Some(PathsTable::Word(word)) => {
                let problem = format!("paths is a list of names or \"best\", not {word:?}");
                return Err(Trouble::at(["paths"], ScenarioProblem::Other(problem)));
            }
            Some(PathsTable::Names(names)) => names,
        };
        plan::paths_called(&plan.setup, names)
            .map(PathChoice::Named)
            .map_err(|problem| Trouble::at(["paths"], problem))
    }
}

impl ChartTable {
    fn read(&self, scenario: &Scenario) -> Result<Chart, Trouble> {
        let (plotted, name) = match (&self.metric, &self.series) {
            (Some(metric), None) => {
                check_metric(scenario, "metric", metric)?;
                if self.case.is_some() {
                    let problem = "a metric is drawn over all cases; case is for a series";
                    return Err(Trouble::at(
                        ["case"],
                        ScenarioProblem::Other(problem.to_owned()),
                    ));
                }
                (Plotted::Metric(metric.clone()), metric)
            }
            (None, Some(series)) => {
                metrics::check_series(scenario, series)
                    .map_err(|problem| Trouble::at(["series"], problem))?;
                let name = series.clone();
                let case = match &self.case {
                    Some(case) => case_called(scenario, case)
                        .map_err(|problem| Trouble::at(["case"], problem))?,
                    None => 0,
                };
                (Plotted::Series { name, case }, series)
            }
            _ => {
                let problem = "a chart has either a metric or a series";
                return Err(Trouble::new(ScenarioProblem::Other(problem.to_owned())));
            }
        };
        for variant in &self.variants {
            check_variant(scenario, variant)
                .map_err(|problem| Trouble::at(["variants"], problem))?;
        }
        Ok(Chart {
            title: self.title.clone().unwrap_or_else(|| name.clone()),
            plotted,
            kind: match self.kind {
                None | Some(ChartKindName::Line) => ChartKind::Line,
                Some(ChartKindName::Bar) => ChartKind::Bar,
            },
            log_x: self.log_x,
            x_label: self.x_label.clone(),
            y_label: self.y_label.clone(),
            variants: self.variants.clone(),
        })
    }
}

/// A profile by its name.
fn profile_called(name: &str) -> Result<Profile, Trouble> {
    let all = Profile::ALL.iter().map(|(known, _)| *known);
    name.parse::<Profile>().map_err(|_| {
        Trouble::at(
            ["profile"],
            ScenarioProblem::Unknown {
                what: "profile",
                name: name.to_owned(),
                known: ranked(name, all),
            },
        )
    })
}

fn case_called(scenario: &Scenario, name: &str) -> Result<usize, ScenarioProblem> {
    let mut cases = scenario.cases.iter();
    cases
        .position(|case| case.name == name)
        .ok_or_else(|| ScenarioProblem::Unknown {
            what: "case",
            name: name.to_owned(),
            known: ranked(name, scenario.cases.iter().map(|case| case.name.as_str())),
        })
}

fn check_variant(scenario: &Scenario, name: &str) -> Result<(), ScenarioProblem> {
    if scenario.variants.iter().any(|variant| variant.name == name) {
        return Ok(());
    }
    let known = scenario
        .variants
        .iter()
        .map(|variant| variant.name.as_str());
    Err(ScenarioProblem::Unknown {
        what: "variant",
        name: name.to_owned(),
        known: ranked(name, known),
    })
}

fn check_metric(scenario: &Scenario, key: &str, name: &str) -> Result<(), Trouble> {
    metrics::check_metric(scenario, name).map_err(|problem| Trouble::at([key], problem))
}

fn count(what: &'static str, got: usize, least: usize, most: usize) -> Result<(), Trouble> {
    if (least..=most).contains(&got) {
        return Ok(());
    }
    Err(Trouble::new(ScenarioProblem::Count {
        what,
        got,
        least,
        most,
    }))
}

/// A name that does in a file name and on a command line.
fn check_name(name: &str) -> Result<(), ScenarioProblem> {
    let is_name = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if is_name {
        return Ok(());
    }
    Err(ScenarioProblem::Other(format!(
        "{name:?} is no name: 1 to 64 ASCII letters, digits, '-', '_' or '.'"
    )))
}

/// A name that does in a table.
fn check_label(name: &str) -> Result<(), ScenarioProblem> {
    let length = name.chars().count();
    if (1..=120).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(ScenarioProblem::Other(format!(
        "{name:?} is no name: 1 to 120 characters, none of them a control character"
    )))
}

const MOST_VARIANTS: usize = 32;
const MOST_CHARTS: usize = 64;
const MOST_CLAIMS: usize = 64;

#[cfg(test)]
mod tests;
