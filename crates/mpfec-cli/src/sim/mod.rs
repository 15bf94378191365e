//! `mpfec sim`: scenarios in virtual time, and whether what the papers say holds.

mod report;
mod run;
mod select;
mod show;
mod store;

use mpfec_sim::report::Report;
use mpfec_sim::scenario::Scenario;

pub(crate) use self::report::{
    ClaimReport, FailureReport, RunReport, ScenarioReport, SimulatedReport,
};
use self::select::Selection;
use self::store::Store;
use crate::args::{SimCommand, SimRunArgs};
use crate::clock;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Event, Output};

pub(crate) async fn run(context: Context, command: SimCommand) -> Result<(), CliError> {
    match command {
        SimCommand::List => {
            list(&context.output);
            Ok(())
        }
        SimCommand::Run(args) => run_scenarios(context, args).await,
    }
}

/// Prints the built-in scenarios.
fn list(output: &Output) {
    let scenarios = Scenario::built_in();
    if output.is_json() {
        for scenario in &scenarios {
            output.event(&Event::Scenario(scenario.into()));
        }
        output.event(&Event::Complete {
            ok: true,
            from: None,
        });
        return;
    }
    for line in show::listing(&scenarios) {
        output.data(&line);
    }
}

async fn run_scenarios(context: Context, args: SimRunArgs) -> Result<(), CliError> {
    let began = clock::now();
    let output = &context.output;
    let selection = Selection::new(&args, &context.expert)?;
    let names = Report::file_names(selection.scenarios().map(|scenario| scenario.name.as_str()));
    let store = match &args.out {
        Some(dir) => Some(Store::open(dir, args.overwrite, &names)?),
        None => None,
    };

    let origin = selection.origin(&args);
    let results = run::run(output, &selection, args.threads).await?;
    let report = Report::new(origin, results);

    let files = match store {
        Some(store) => store.write(&report.files())?,
        None => Vec::new(),
    };
    if !output.is_json() {
        for line in show::results(&report) {
            output.data(&line);
        }
        if let Some(page) = files.first() {
            output.say(&format!("report: {}", page.display()));
        }
        return failures(&selection, &report);
    }
    for event in report::events(&report) {
        output.event(&event);
    }
    failures(&selection, &report)?;
    let seconds = (clock::now() - began).as_secs_f64();
    output.event(&Event::Simulated(SimulatedReport::new(
        &report, &files, seconds,
    )));
    Ok(())
}

/// The error if some runs gave nothing.
fn failures(selection: &Selection, report: &Report) -> Result<(), CliError> {
    let failures = report.failures();
    let Some(first) = failures.first() else {
        return Ok(());
    };
    let total: usize = report
        .results()
        .iter()
        .flat_map(|result| &result.cases)
        .flat_map(|case| &case.variants)
        .map(|variant| variant.runs.len())
        .sum();
    Err(CliError::new(
        Exit::Other,
        format!(
            "{} of {total} runs gave nothing; the first is {}, case {}, variant {}, seed {}: {}",
            failures.len(),
            first.scenario,
            first.case,
            first.variant,
            first.seed,
            first.reason
        ),
        format!(
            "repeat it with {} -v",
            selection.repeating(first.scenario, first.seed)
        ),
    ))
}
