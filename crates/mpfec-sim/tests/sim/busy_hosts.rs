//! Hosts that stand still now and then, on links whose delay varies.

use mpfec_sim::scenario::Scenario;

/// A stall of tens of milliseconds looks like a queue several times as long as the one that there is,
/// and what varies by 2 ms hides the delay of that one, which is 5 ms when full.
#[test]
fn what_a_short_queue_drops_is_answered_where_delays_hide_it() {
    let scenario = Scenario::named("fairness-busy").expect("a scenario that is built in");
    let mut cases = scenario.cases.iter();
    let case = cases.position(|case| case.name == "30 Mbit/s, 20 ms, 0.25 BDP, varies by 2 ms");
    let mut variants = scenario.variants.iter();
    let variant = variants.position(|variant| variant.name == "one subflow");
    for seed in 1..=2 {
        let run = scenario.run(case.expect("a case"), variant.expect("a variant"), seed);
        assert_eq!(run.failure, None);
        let share = run.metric("share").expect("there is a flow beside it");
        assert!((0.7..1.1).contains(&share), "seed {seed}: {share:.2}");
    }
}
