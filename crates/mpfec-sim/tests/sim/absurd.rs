//! Links and clocks that nobody should have: they slow a transfer down, and that is all.

mod bound;
mod clock;
mod links;
mod world;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use self::links::Case;
use self::world::run;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        max_shrink_iters: 0,
        rng_seed: RngSeed::Fixed(5),
        ..ProptestConfig::default()
    })]

    #[test]
    fn absurd_links_and_clocks_slow_a_transfer_down_and_no_more(seed: u64) {
        let case = Case::drawn(seed);
        if let Err(fault) = run(&case).check(&case) {
            return Err(TestCaseError::fail(format!("{fault}\n{case:#?}")));
        }
    }
}

#[test]
#[ignore = "takes minutes: run with --release --ignored --nocapture"]
fn thousands_of_absurd_links_and_clocks_do_no_more_either() {
    let mut faults = Vec::new();
    for seed in 0..5_000 {
        let case = Case::drawn(seed);
        match std::panic::catch_unwind(|| run(&case).check(&case)) {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => faults.push(format!("{seed}: {fault}")),
            Err(_) => faults.push(format!("{seed}: a panic")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
