//! How likely a block is not to decode, and how many symbols make it likely enough
//! (FMTCP Eq. 4, read for several paths).
//!
//! A block decodes once `want` distinct symbols arrived. The sender knows how many are `held`
//! and how many are in flight on each path; these are lost as the path loses, one by one or in
//! bursts. The number of losses is convolved exactly as long as it can be small, and taken
//! as normal with continuity correction above about 200 symbols.

mod losses;

pub use self::losses::LossProcess;
use self::losses::Losses;

/// Probability that fewer than `want` symbols are there in the end, of `held` ones and of the
/// `flights`: (symbols in flight, loss rate) per path.
#[must_use]
pub fn failure(want: u32, held: u32, flights: &[(u32, f64)]) -> f64 {
    let mut losses = Losses::new(LossProcess::independent(0.0));
    for &(count, loss) in flights {
        losses.add(count, LossProcess::independent(loss));
    }
    let sent = u64::from(held) + u64::from(losses.count);
    match sent.checked_sub(u64::from(want)) {
        Some(spare) => losses.exceed(spare as f64),
        None => 1.0,
    }
}

/// The fewest further symbols on a path that loses like `process`, and has `own` symbols of the
/// block in flight, so that the block fails with probability `target` at most. `others` are the
/// symbols in flight on other paths. A `target` of 1 or more asks for as many as are missing if
/// nothing in flight is lost.
#[must_use]
pub fn further(
    want: u32,
    held: u32,
    others: &[(u32, LossProcess)],
    (own, process): (u32, LossProcess),
    target: f64,
) -> u32 {
    let flying = own + others.iter().map(|&(count, _)| count).sum::<u32>();
    let missing = want.saturating_sub(held).saturating_sub(flying);
    if target >= 1.0 {
        return missing;
    }
    let mut losses = Losses::new(process);
    for &(count, process) in others {
        losses.add(count, process);
    }
    losses.add_own(own + missing);
    // What may be lost without harm.
    let spare = (u64::from(held) + u64::from(flying) + u64::from(missing))
        .saturating_sub(u64::from(want)) as f64;
    let mut more = 0;
    while !losses.is_normal() {
        if more == MOST_EXACT || losses.exceed(spare + f64::from(more)) <= target {
            return missing + more;
        }
        losses.add_own(1);
        more += 1;
    }
    let enough = |extra: u32| losses.exceed_with(extra, spare + f64::from(more + extra)) <= target;
    let mut step = 1;
    while !enough(step) && step < MOST_FURTHER {
        step *= 2;
    }
    let (mut low, mut high) = (0, step);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    missing + more + low
}

/// `l*` of FMTCP Eq. 4: packets to append to a window of `window` packets so that more than
/// that many are lost with probability `target` at most.
#[must_use]
pub fn extra_packets(window: u32, loss: f64, target: f64) -> u32 {
    further(window, 0, &[], (0, LossProcess::independent(loss)), target).saturating_sub(window)
}

/// Where the search gives up as long as it is exact: more single symbols would not help.
const MOST_EXACT: u32 = 1024;

/// Where the search for more symbols gives up: no block needs as many.
const MOST_FURTHER: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_symbol_in_flight_fails_as_often_as_it_is_lost() {
        assert!((failure(1, 0, &[(1, 0.3)]) - 0.3).abs() < 1e-12);
        assert!((failure(1, 0, &[(1, 0.3), (1, 0.5)]) - 0.15).abs() < 1e-12);
        assert_eq!(failure(3, 1, &[(1, 0.0)]), 1.0);
        assert_eq!(failure(3, 3, &[]), 0.0);
    }

    #[test]
    fn paths_of_equal_loss_fail_like_one_path_with_all_symbols() {
        let split = failure(40, 4, &[(20, 0.1), (11, 0.1), (12, 0.1)]);
        let whole = failure(40, 4, &[(43, 0.1)]);
        assert!((split - whole).abs() < 1e-12, "{split} {whole}");
    }

    #[test]
    fn the_answer_is_the_smallest_that_meets_the_target() {
        for (want, flights, loss) in [
            (24, vec![(20, 0.02)], 0.02),
            (64, vec![(30, 0.2), (30, 0.01)], 0.2),
            (6, vec![], 0.1),
            (300, vec![(250, 0.1)], 0.05),
            (1024, vec![(900, 0.3), (10, 0.5)], 0.5),
            (190, vec![(150, 0.05)], 0.4),
        ] {
            for target in [0.05, 1e-3] {
                let others: Vec<_> = flights
                    .iter()
                    .map(|&(count, loss)| (count, LossProcess::independent(loss)))
                    .collect();
                let own = (0, LossProcess::independent(loss));
                let more = further(want, 0, &others, own, target);
                let fails = |more: u32| {
                    let mut all = flights.clone();
                    all.push((more, loss));
                    failure(want, 0, &all)
                };
                assert!(fails(more) <= target, "{want} {more} {}", fails(more));
                assert!(
                    more == 0 || fails(more - 1) > target,
                    "{want} {more} {}",
                    fails(more - 1)
                );
            }
        }
    }

    #[test]
    fn what_a_burst_takes_is_made_up_for_on_another_path_with_fewer_symbols() {
        let bursts = LossProcess {
            rate: 0.02,
            burst: 5.0,
        };
        let clean = LossProcess::independent(0.001);
        let single = LossProcess::independent(0.02);
        let same = further(24, 0, &[(20, clean)], (4, bursts), 1e-3);
        let other = further(24, 0, &[(4, bursts)], (20, clean), 1e-3);
        let singles = further(24, 0, &[(20, clean)], (4, single), 1e-3);
        assert!(other <= 5 && singles == 2, "{other} {singles}");
        assert!(same > 2 * other, "{same} {other}");
    }

    #[test]
    fn the_longest_bursts_cost_no_more_than_they_take() {
        for (rate, burst, flying) in [(0.005, 8.0, 24), (0.002, 32.0, 60), (0.0005, 64.0, 200)] {
            let bursts = LossProcess { rate, burst };
            for clean in [0.0, 0.0005, 0.01] {
                let own = (0, LossProcess::independent(clean));
                let more = further(flying, 0, &[(flying, bursts)], own, 1e-4);
                assert!(more <= flying + 6, "{rate} {burst} {clean}: {more}");
            }
            let more = further(flying, 0, &[], (flying, bursts), 1e-4);
            assert!(more <= 12 * burst as u32, "{rate} {burst}: {more}");
        }
    }

    #[test]
    fn a_path_that_loses_nearly_everything_gets_a_finite_answer() {
        assert!(further(1024, 0, &[], (0, LossProcess::independent(0.95)), 1e-4) < 40_000);
    }
}
