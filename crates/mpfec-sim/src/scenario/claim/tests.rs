use std::collections::BTreeMap;

use super::*;
use crate::scenario::{RunResult, Scenario, VariantResult};

const FILE: &str = r#"
name = "t"
[[path]]
name = "A"
both = { rate_mbps = 10 }
[[variant]]
name = "a"
profile = "auto"
[[variant]]
name = "b"
profile = "auto"
[[variant]]
name = "c"
profile = "auto"
[[case]]
name = "1"
[[case]]
name = "2"
[[case]]
name = "3"
"#;

/// Goodputs of the variants in each case, and a claim about them.
fn verdict(goodputs: &[[f64; 3]; 3], checks: &str) -> Verdict {
    verdict_of(goodputs, &format!("check = [{checks}]"))
}

fn verdict_of(goodputs: &[[f64; 3]; 3], claim: &str) -> Verdict {
    let text = format!("{FILE}[[claim]]\ntext = \"t\"\n{claim}\n");
    let scenario = Scenario::from_toml(&text, "t.toml").expect("valid");
    let cases = scenario.cases.iter().zip(goodputs).map(|(case, goodputs)| {
        let variants = scenario.variants.iter().zip(goodputs);
        let variants = variants.map(|(variant, goodput)| VariantResult {
            name: variant.name.clone(),
            // Two seeds around the mean.
            runs: vec![run(goodput - 0.5), run(goodput + 0.5)],
        });
        CaseResult {
            name: case.name.clone(),
            x: case.x,
            variants: variants.collect(),
        }
    });
    let result = ScenarioResult {
        cases: cases.collect(),
        scenario,
    };
    result.scenario.claims[0].evaluate(&result)
}

fn run(goodput: f64) -> RunResult {
    let metrics = [("goodput_mbps".to_owned(), goodput)];
    RunResult {
        metrics: if goodput.is_nan() {
            BTreeMap::new()
        } else {
            metrics.into()
        },
        ..RunResult::default()
    }
}

const GOODPUTS: [[f64; 3]; 3] = [[10.0, 8.0, 5.0], [9.0, 8.0, 4.0], [8.0, 9.0, 2.0]];

#[test]
fn a_ratio_holds_in_every_case_in_some_or_in_none() {
    let ratio = |of, to, least| {
        let check = format!(
            "{{ ratio = \"goodput_mbps\", of = \"{of}\", to = \"{to}\", at_least = {least} }}"
        );
        verdict(&GOODPUTS, &check).to_string()
    };
    assert_eq!(
        ratio("a", "c", 2.0),
        "reproduced (1: goodput_mbps 10.0 of a to 5.00 of c is 2.00, at least 2.00)"
    );
    assert_eq!(
        ratio("a", "b", 1.0),
        "partly (in 2 of 3 cases; the worst: 3: goodput_mbps 8.00 of a to 9.00 of b is 0.889, not at least 1.00)"
    );
    assert_eq!(
        ratio("b", "a", 2.0),
        "not reproduced (1: goodput_mbps 8.00 of b to 10.0 of a is 0.800, not at least 2.00)"
    );
}

#[test]
fn a_fall_is_from_the_best_case_to_the_worst() {
    let fall = |of, range| {
        let check = format!("{{ fall = \"goodput_mbps\", of = \"{of}\", {range} }}");
        verdict(&GOODPUTS, &check)
    };
    let slight = fall("a", "below_percent = 25");
    assert_eq!(
        slight.to_string(),
        "reproduced (goodput_mbps of a falls by 20.0 %, from 10.0 (1) to 8.00 (3), at most 25.0 %)"
    );
    assert_eq!(
        fall("c", "at_least_percent = 60").outcome,
        Outcome::Reproduced
    );
    assert_eq!(
        fall("c", "below_percent = 59").outcome,
        Outcome::NotReproduced
    );
    // The worst case may come before the best one.
    assert_eq!(
        fall("b", "at_least_percent = 11").outcome,
        Outcome::Reproduced
    );
}

#[test]
fn a_fall_and_another_one_are_two_comparisons() {
    let verdict = verdict(
        &GOODPUTS,
        "{ fall = \"goodput_mbps\", of = \"a\", below_percent = 25 }, { fall = \"goodput_mbps\", of = \"b\", at_least_percent = 40 }",
    );
    assert_eq!(verdict.outcome, Outcome::Partly);
    assert!(
        verdict
            .reason
            .starts_with("in 1 of 2 comparisons; the worst: goodput_mbps of b falls by 11.1 %"),
        "{verdict}"
    );
}

#[test]
fn a_claim_is_about_the_cases_that_its_condition_names() {
    let among = |range: &str| {
        let only = format!("where = {{ metric = \"goodput_mbps\", of = \"c\", {range} }}");
        let check = "check = { bound = \"goodput_mbps\", of = \"b\", at_most = 8.5 }";
        verdict_of(&GOODPUTS, &format!("{only}\n{check}"))
    };
    // In the third case, where c has 2, b has 9.
    assert_eq!(among("at_least = 4").outcome, Outcome::Reproduced);
    assert_eq!(among("at_most = 2").outcome, Outcome::NotReproduced);
    let some = among("at_most = 4").to_string();
    assert!(some.starts_with("partly (in 1 of 2 cases;"), "{some}");
    assert_eq!(
        among("at_least = 6").to_string(),
        "not measured (there is nothing to compare)"
    );
}

#[test]
fn a_bound_counts_its_ends_in() {
    let bound = |range| {
        let check = format!("{{ bound = \"goodput_mbps\", of = \"a\", {range} }}");
        verdict(&GOODPUTS, &check).outcome
    };
    assert_eq!(bound("at_least = 8, at_most = 10"), Outcome::Reproduced);
    assert_eq!(bound("at_least = 8.1"), Outcome::Partly);
    assert_eq!(bound("at_most = 7"), Outcome::NotReproduced);
    assert_eq!(
        bound("at_least = 9, cases = [\"1..2\"]"),
        Outcome::Reproduced
    );
}

#[test]
fn an_order_allows_what_its_slack_allows() {
    let order = |extra| {
        let check =
            format!("{{ order = \"goodput_mbps\", variants = [\"a\", \"b\", \"c\"]{extra} }}");
        verdict(&GOODPUTS, &check)
    };
    assert_eq!(
        order("").to_string(),
        "partly (in 2 of 3 cases; the worst: 3: goodput_mbps: a 8.00, b 9.00, c 2.00)"
    );
    assert_eq!(order(", slack_percent = 12").outcome, Outcome::Reproduced);
    assert_eq!(order(", best = \"lowest\"").outcome, Outcome::NotReproduced);
}

#[test]
fn a_case_may_be_compared_with_another_one() {
    let verdict = verdict(
        &GOODPUTS,
        "{ ratio = \"goodput_mbps\", of = \"c\", of_case = \"3\", to_case = \"1\", at_most = 0.5 }",
    );
    assert_eq!(
        verdict.to_string(),
        "reproduced (1: goodput_mbps 2.00 of c in 3 to 5.00 of c in 1 is 0.400, at most 0.500)"
    );
}

#[test]
fn what_a_run_does_not_have_does_not_hold() {
    let mut goodputs = GOODPUTS;
    goodputs[1][0] = f64::NAN;
    let check = "{ bound = \"goodput_mbps\", of = \"a\", at_least = 1 }";
    assert_eq!(
        verdict(&goodputs, check).to_string(),
        "partly (in 2 of 3 cases; the worst: 2: a has no goodput_mbps)"
    );
}

#[test]
fn a_variant_that_was_not_run_proves_nothing() {
    let text = format!(
        "{FILE}[[claim]]\ntext = \"t\"\ncheck = {{ bound = \"goodput_mbps\", of = \"a\", at_least = 1 }}\n"
    );
    let scenario = Scenario::from_toml(&text, "t.toml").expect("valid");
    let claim = scenario.claims[0].clone();
    let cases = scenario.cases.iter().map(|case| CaseResult {
        name: case.name.clone(),
        x: None,
        variants: Vec::new(),
    });
    let cases = cases.collect();
    let verdict = claim.evaluate(&ScenarioResult { scenario, cases });
    assert_eq!(verdict.to_string(), "not measured (a was not run)");
}
