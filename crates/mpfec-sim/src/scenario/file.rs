//! Reading a scenario from a TOML file's text.

mod application;
mod axis;
mod change;
mod chart;
mod check;
mod grid;
mod pauses;
mod place;
mod plan;
mod traffic;
mod variant;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use toml::{Table, Value};

use self::application::ApplicationTable;
use self::axis::AxisTable;
use self::change::ChangeTable;
use self::chart::ChartTable;
use self::check::ClaimTable;
use self::grid::GridTable;
use self::pauses::PausesTable;
use self::place::Trouble;
pub(super) use self::place::ranked;
use self::plan::{LinkTables, PathTables};
use self::traffic::TrafficTable;
use self::variant::{VariantTable, variants};
use super::error::{ScenarioError, ScenarioProblem};
use super::{Case, Plan, Scenario, metrics, overrides};

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
    pauses: Option<PausesTable>,
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
    #[serde(rename = "axis", default)]
    axes: Vec<AxisTable>,
    #[serde(rename = "case", default)]
    cases: Vec<CaseTable>,
    #[serde(rename = "chart", default)]
    charts: Vec<ChartTable>,
    #[serde(rename = "claim", default)]
    claims: Vec<ClaimTable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseTable {
    name: String,
    x: Option<f64>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
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
    file.take_axes()?;
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

const MOST_CHARTS: usize = 64;
const MOST_CLAIMS: usize = 64;

#[cfg(test)]
mod tests;
