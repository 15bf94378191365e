//! Which scenarios are run, with what.

use std::path::Path;

use mpfec_core::Profile;
use mpfec_sim::report::Origin;
use mpfec_sim::scenario::{MOST_BYTES, Scenario, Variant};

use crate::args::{Expert, RUNS, SimRunArgs};
use crate::choice;
use crate::engine;
use crate::error::CliError;
use crate::input;

/// What is run.
#[derive(Debug)]
pub(super) struct Selection {
    /// Each with what it is called on the command line.
    chosen: Vec<(String, Scenario)>,
    /// What else has to be said to get the same results.
    options: Vec<String>,
    pub(super) first_seed: u64,
    pub(super) runs: u32,
}

impl Selection {
    /// What the command line asks for.
    pub(super) fn new(args: &SimRunArgs, expert: &Expert) -> Result<Self, CliError> {
        refuse_sizes(expert)?;
        let profiles = profiles(args, expert)?;
        let mut chosen = Vec::new();
        for word in &args.scenarios {
            for scenario in scenarios(word)? {
                add(&mut chosen, word, scenario)?;
            }
        }
        for (_, scenario) in &mut chosen {
            replace_variants(scenario, &profiles);
        }
        let first_seed = expert.seed.unwrap_or(FIRST_SEED);
        Ok(Self {
            chosen,
            options: options(args, expert),
            first_seed,
            runs: args.runs,
        })
    }

    pub(super) fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        self.chosen.iter().map(|(_, scenario)| scenario)
    }

    pub(super) fn seeds(&self) -> Vec<u64> {
        let later = 0..u64::from(self.runs);
        later
            .map(|index| self.first_seed.wrapping_add(index))
            .collect()
    }

    /// How the results are made.
    pub(super) fn origin(&self, args: &SimRunArgs) -> Origin {
        let all: Vec<&str> = args.scenarios.iter().map(String::as_str).collect();
        let words = self.chosen.iter().map(|(word, _)| word.as_str());
        Origin {
            command: format!(
                "{} --out DIR",
                self.command(&all, self.first_seed, self.runs)
            ),
            commands: words
                .map(|word| self.command(&[word], self.first_seed, self.runs))
                .collect(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            first_seed: self.first_seed,
            runs: self.runs,
        }
    }

    /// What repeats a run of a scenario, and those of the same seed.
    pub(super) fn repeating(&self, scenario: &str, seed: u64) -> String {
        let chosen = self.chosen.iter().find(|(_, other)| other.name == scenario);
        let word = chosen.map_or(scenario, |(word, _)| word);
        self.command(&[word], seed, 1)
    }

    fn command(&self, words: &[&str], first_seed: u64, runs: u32) -> String {
        let mut command = "mpfec sim run".to_owned();
        for word in words {
            command.push(' ');
            command.push_str(&quoted(word));
        }
        for option in &self.options {
            command.push(' ');
            command.push_str(option);
        }
        if first_seed != FIRST_SEED {
            command.push_str(&format!(" --seed {first_seed}"));
        }
        if runs != RUNS {
            command.push_str(&format!(" --runs {runs}"));
        }
        command
    }
}

/// Sizes are for a scenario to say: with others its claims are about something else.
fn refuse_sizes(expert: &Expert) -> Result<(), CliError> {
    let flag = if expert.recv_buffer.is_some() {
        ("--recv-buffer", "recv_buffer_kib")
    } else if expert.block_symbols.is_some() {
        ("--block-symbols", "block_symbols")
    } else {
        return Ok(());
    };
    Err(CliError::usage(
        format!("mpfec sim run takes no {}: a scenario says that", flag.0),
        format!(
            "write a scenario file with {}: see mpfec sim run --help",
            flag.1
        ),
    ))
}

/// The profiles that take the place of what scenarios compare; none if they are as they are.
fn profiles(args: &SimRunArgs, expert: &Expert) -> Result<Vec<Profile>, CliError> {
    let mut profiles = args.profile.clone();
    if profiles.is_empty() && engine::has_parts(expert) {
        profiles.push(Profile::default());
    }
    let mut found: Vec<Profile> = Vec::new();
    for profile in profiles {
        let profile = engine::with_parts(profile, expert);
        engine::check_profile(&profile)?;
        if !found.contains(&profile) {
            found.push(profile);
        }
    }
    Ok(found)
}

fn scenarios(word: &str) -> Result<Vec<Scenario>, CliError> {
    if word == ALL {
        return Ok(Scenario::built_in());
    }
    let built_in = Scenario::built_in();
    let known: Vec<String> = built_in.iter().map(|one| one.name.clone()).collect();
    if let Some(scenario) = built_in.into_iter().find(|one| one.name == word) {
        return Ok(vec![scenario]);
    }
    let file = Path::new(word);
    let text = input::read_text(file, MOST_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CliError::usage(
            format!(
                "there is no file {word}, and {}",
                choice::unknown("scenario", word, known)
            ),
            "see mpfec sim list, or mpfec sim run --help for what a file says",
        ),
        _ => CliError::source(file, &error),
    })?;
    let scenario = Scenario::from_toml(&text, word).map_err(|error| {
        CliError::usage(
            error.to_string(),
            "see mpfec sim run --help for an example and what a file may say",
        )
    })?;
    Ok(vec![scenario])
}

/// Adds a scenario unless it is there already.
fn add(
    chosen: &mut Vec<(String, Scenario)>,
    word: &str,
    scenario: Scenario,
) -> Result<(), CliError> {
    let named = chosen.iter().find(|(_, other)| other.name == scenario.name);
    match named {
        Some((_, other)) if *other == scenario => return Ok(()),
        Some((other, _)) => {
            return Err(CliError::usage(
                format!(
                    "two scenarios are called {:?}: {other} and {word}",
                    scenario.name
                ),
                "give one of them another name, or run them one after the other",
            ));
        }
        None => {}
    }
    let word = match word {
        ALL => scenario.name.clone(),
        word => word.to_owned(),
    };
    chosen.push((word, scenario));
    Ok(())
}

/// Leaves these profiles and nothing else, each under its name.
fn replace_variants(scenario: &mut Scenario, profiles: &[Profile]) {
    if profiles.is_empty() {
        return;
    }
    let mut names = Vec::new();
    for profile in profiles {
        let mut name = profile.to_string();
        let is_other =
            |name: &str, variant: &Variant| variant.name == name && variant.profile != *profile;
        while scenario
            .variants
            .iter()
            .any(|variant| is_other(&name, variant))
        {
            name = format!("plain {name}");
        }
        scenario.add_profile(&name, *profile);
        names.push(name);
    }
    scenario
        .retain_variants(|variant| names.contains(&variant.name))
        .expect("each of the names was added if it was not there");
}

/// What was said about profiles, as it is said on the command line.
fn options(args: &SimRunArgs, expert: &Expert) -> Vec<String> {
    let profiles = args
        .profile
        .iter()
        .map(|profile| format!("--profile {profile}"));
    let parts = [
        expert.codec.map(|codec| format!("--codec {codec}")),
        expert
            .scheduler
            .map(|scheduler| format!("--scheduler {scheduler}")),
        expert
            .congestion
            .map(|congestion| format!("--congestion {congestion}")),
        expert
            .redundancy
            .map(|redundancy| format!("--redundancy {redundancy}")),
    ];
    profiles.chain(parts.into_iter().flatten()).collect()
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./+=:,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Every built-in scenario.
const ALL: &str = "all";
const FIRST_SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::args::{self, Cli, Command, SimCommand};

    fn select(words: &str) -> Result<(Selection, Origin), CliError> {
        let words = format!("mpfec sim run {words}");
        let matches = args::command()
            .try_get_matches_from(words.split(' '))
            .unwrap();
        let cli = Cli::from_arg_matches(&matches).unwrap();
        let Command::Sim(SimCommand::Run(args)) = cli.command else {
            panic!("{words} is something else");
        };
        let selection = Selection::new(&args, &cli.global.expert)?;
        let origin = selection.origin(&args);
        Ok((selection, origin))
    }

    fn variants(selection: &Selection) -> Vec<&str> {
        let scenario = selection.scenarios().next().unwrap();
        scenario
            .variants
            .iter()
            .map(|variant| variant.name.as_str())
            .collect()
    }

    #[test]
    fn the_command_is_told_as_short_as_it_can_be() {
        let (selection, origin) = select("fmtcp-table2 --seed 1 --runs 10 --threads 3").unwrap();
        assert_eq!(origin.command, "mpfec sim run fmtcp-table2 --out DIR");
        assert_eq!(origin.commands, ["mpfec sim run fmtcp-table2"]);
        assert_eq!(selection.seeds(), (1..=10).collect::<Vec<u64>>());
        let (selection, origin) =
            select("all --profile auto --codec uncoded --redundancy none --seed 7 --runs 2")
                .unwrap();
        let options = "--profile auto --codec uncoded --redundancy none --seed 7 --runs 2";
        assert_eq!(
            origin.command,
            format!("mpfec sim run all {options} --out DIR")
        );
        assert_eq!(origin.commands.len(), selection.scenarios().count());
        assert!(origin.commands[0].ends_with(options), "{origin:?}");
        assert_eq!(selection.seeds(), [7, 8]);
        let repeating = selection.repeating("shared-bottleneck", 8);
        assert!(repeating.ends_with("none --seed 8 --runs 1"), "{repeating}");
        assert_eq!(quoted("it's here.toml"), "'it'\\''s here.toml'");
    }

    #[test]
    fn profiles_take_the_place_of_variants() {
        let (selection, _) = select("fmtcp-table2 --profile auto --profile fmtcp").unwrap();
        assert_eq!(variants(&selection), ["fmtcp", "auto"]);
        let (selection, _) = select("fmtcp-table2 --scheduler lowest-rtt").unwrap();
        assert_eq!(variants(&selection).len(), 1);
        let error = select("fmtcp-table2 --profile mptcp --redundancy fixed").unwrap_err();
        assert!(error.what.contains("uncoded"), "{error}");
        let error = select("fmtcp-table2 --recv-buffer 64k").unwrap_err();
        assert!(error.what.contains("--recv-buffer"), "{error}");
    }

    #[test]
    fn a_name_that_a_variant_has_for_something_else_is_not_mistaken() {
        let text = args::SCENARIO_EXAMPLE.replace(
            "profile = \"fmtcp\"",
            "name = \"mptcp\"\nprofile = \"fmtcp\"",
        );
        let text = text.replacen("  profile = \"mptcp\"", "  profile = \"auto\"", 1);
        let text = text.split("[[claim]]").next().unwrap();
        let mut scenario = Scenario::from_toml(text, "odd").unwrap();
        replace_variants(&mut scenario, &[Profile::MPTCP]);
        let names = scenario
            .variants
            .iter()
            .map(|variant| variant.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["plain mptcp"]);
    }

    #[test]
    fn a_scenario_named_twice_is_run_once_and_two_of_a_name_are_refused() {
        let (selection, _) = select("all fmtcp-table2").unwrap();
        assert_eq!(selection.scenarios().count(), Scenario::built_in().len());
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = args::SCENARIO_EXAMPLE.replace("\"kitchen\"", "\"fmtcp-table2\"");
        std::fs::write(file.path(), text).unwrap();
        let file = file.path().to_str().unwrap();
        let error = select(&format!("fmtcp-table2 {file}")).unwrap_err();
        assert!(error.what.contains("two scenarios are called"), "{error}");
    }

    #[test]
    fn the_example_in_the_help_is_a_scenario() {
        let scenario = Scenario::from_toml(args::SCENARIO_EXAMPLE, "help").unwrap();
        assert_eq!((scenario.cases.len(), scenario.claims.len()), (2, 1));
    }
}
