//! Any bytes as a scenario file: no panic, and every name in what can be read leads somewhere.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mpfec_sim::scenario::Scenario;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let scenario = match Scenario::from_toml(text, "file") {
        Ok(scenario) => scenario,
        Err(error) => {
            let lines = 1 + text.matches('\n').count();
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)));
            assert!(error.to_string().starts_with("file"));
            return;
        }
    };
    for case in 0..scenario.cases.len() {
        for (index, variant) in scenario.variants.iter().enumerate() {
            let plan = scenario.plan(case, index).expect("every cell has a plan");
            assert_eq!(plan.setup.check(), Ok(()));
            assert_eq!(plan.via.len(), plan.setup.paths.len());
            assert!(
                variant
                    .paths
                    .of(plan)
                    .iter()
                    .all(|path| *path < plan.via.len())
            );
            let via = plan.via.iter().flatten();
            assert!(via.into_iter().all(|link| *link < plan.links.len()));
        }
    }
});
