//! What the default reaches in the set-ups of the papers: scenario `limits`, one seed.

use mpfec_sim::scenario::{RunResult, Scenario};

fn run(scenario: &Scenario, case: &str, variant: &str) -> RunResult {
    let case = scenario.cases.iter().position(|found| found.name == case);
    let variant = scenario
        .variants
        .iter()
        .position(|found| found.name == variant);
    scenario.run(
        case.expect("a case of limits"),
        variant.expect("a variant of limits"),
        3,
    )
}

/// 32 KiB blocks at 70 % of the limit: almost all of them arrive as if nothing were lost, for
/// idle slots carry repair symbols ahead of loss. Bounds are 1.5 times the least possible delay,
/// for `pnc` four times.
#[test]
fn paced_blocks_hardly_wait_for_what_is_lost() {
    let scenario = Scenario::named("limits").expect("built in");
    for (case, most) in [
        ("fmtcp-1", 171.0),
        ("fmtcp-3", 171.0),
        ("fmtcp-6", 302.0),
        ("fmtcp-8", 752.0),
        ("dfec-l3-r25", 33.0),
        ("dfec-l5-r400", 302.0),
        ("pnc", 484.0),
    ] {
        let p99 = run(&scenario, case, "blocks").metrics["block_delay_ms.p99"];
        assert!(p99 <= most, "{case}: {p99:.0} ms, at most {most}");
    }
}

/// 10 MB, handshake included, within 1.25 times the time at the limit and two round trips of the
/// fastest path, although the second path has two and three times its delay.
#[test]
fn a_long_path_has_its_part_in_a_short_transfer() {
    let scenario = Scenario::named("limits").expect("built in");
    for case in ["fmtcp-6", "fmtcp-7"] {
        let ratio = run(&scenario, case, "10 MB").metrics["completion_ratio"];
        assert!(ratio <= 1.25, "{case}: {ratio:.3} times the least time");
    }
}

/// A receive buffer of 128 KiB is a fraction of what is under way: it stays full although a
/// lost symbol holds back everything behind it.
#[test]
fn a_small_receive_buffer_carries_what_fits_through_it() {
    let scenario = Scenario::named("limits").expect("built in");
    for (case, least) in [("fmtcp-1", 85.0), ("fmtcp-3", 85.0), ("fmtcp-8", 85.0)] {
        let share = run(&scenario, case, "128 KiB").metrics["window_limit_percent"];
        assert!(share >= least, "{case}: {share:.0} %, at least {least}");
    }
}

/// Paths of which one holds back a small window carry no less than the better one alone.
#[test]
fn a_path_that_a_small_receive_buffer_has_no_room_for_is_left_out() {
    let scenario = Scenario::named("limits").expect("built in");
    for case in ["fmtcp-4", "dfec-l0-r400", "dfec-l5-r100"] {
        let [both, alone] = ["128 KiB", "128 KiB, best path"]
            .map(|variant| run(&scenario, case, variant).metrics["goodput_mbps"]);
        assert!(
            both >= 0.98 * alone,
            "{case}: {both:.2} Mbit/s instead of {alone:.2}"
        );
    }
}

/// Bulk data pay about the loss itself in repair, and bring 97 % of the limit, over paths so short
/// that a block takes about a round trip to leave.
#[test]
fn bulk_over_short_paths_is_repaired_for_hardly_more_than_its_loss() {
    let scenario = Scenario::named("limits").expect("built in");
    for case in ["dfec-l3-r25", "dfec-l5-r25", "dfec-l5-r100"] {
        let metrics = run(&scenario, case, "bulk").metrics;
        let redundant = metrics["redundant_percent"];
        assert!(redundant <= 1.0, "{case}: {redundant:.2} % for nothing");
        let share = metrics["limit_percent"];
        assert!(share >= 97.0, "{case}: {share:.2} % of the limit");
    }
}
