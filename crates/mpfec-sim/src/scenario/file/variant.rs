//! `[[variant]]`: what is compared.

use std::collections::BTreeMap;

use mpfec_core::Profile;
use serde::Deserialize;
use toml::Value;

use super::place::{self, Trouble, ranked};
use super::{ScenarioTable, check_label, count, plan};
use crate::scenario::error::ScenarioProblem;
use crate::scenario::{PathChoice, Plan, Variant};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VariantTable {
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
    pub(super) set: BTreeMap<String, Value>,
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

pub(super) fn variants(file: &ScenarioTable, plan: &Plan) -> Result<Vec<Variant>, Trouble> {
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

/// A profile by its name.
pub(super) fn profile_called(name: &str) -> Result<Profile, Trouble> {
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

const MOST_VARIANTS: usize = 32;
