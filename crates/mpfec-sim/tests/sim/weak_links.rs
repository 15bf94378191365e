//! A good link is not held up by one that is next to nothing.

use mpfec_sim::scenario::Scenario;

/// The metric of the good link alone, and of both, in one run.
fn alone_and_both(case: &str, variant: &str, metric: &str) -> (f64, f64) {
    let scenario = Scenario::named("weak-link").expect("a scenario that is built in");
    let mut cases = scenario.cases.iter();
    let case = cases.position(|found| found.name == case).expect("a case");
    let value = |variant: &str| {
        let mut variants = scenario.variants.iter();
        let variant = variants.position(|found| found.name == variant);
        let run = scenario.run(case, variant.expect("a variant"), 1);
        assert_eq!(run.failure, None);
        run.metric(metric).expect("it is measured")
    };
    (value(&format!("{variant}, best path")), value(variant))
}

#[test]
fn bulk_is_no_slower_for_a_link_of_which_the_queue_takes_a_minute() {
    for case in [
        "20 kbit/s, 40 ms, 100 packets, no loss",
        "20 kbit/s, 400 ms, 100 packets, 10 %",
        "50 kbit/s, 400 ms, 3 packets, 10 %",
    ] {
        let (alone, both) = alone_and_both(case, "bulk", "goodput_mbps");
        assert!(
            both >= 0.98 * alone,
            "{case}: {both:.2} of {alone:.2} Mbit/s"
        );
    }
}

#[test]
fn a_short_transfer_does_not_wait_for_what_a_slow_link_begins_with() {
    for case in [
        "100 kbit/s, 40 ms, 100 packets, no loss",
        "300 kbit/s, 40 ms, 100 packets, no loss",
        "20 kbit/s, 40 ms, 3 packets, no loss",
    ] {
        let (alone, both) = alone_and_both(case, "1 MB", "completion_s");
        assert!(both <= 1.1 * alone, "{case}: {both:.2} s, {alone:.2} alone");
    }
}
