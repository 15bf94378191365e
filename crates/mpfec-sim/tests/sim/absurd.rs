//! Links and clocks that nobody should have: they slow a transfer down, and that is all.

mod bound;
mod clock;
mod links;
mod world;

use mpfec_core::TransportConfig;
use mpfec_sim::{Change, Direction, PathSetup, Setup, TimedChange};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use self::clock::Clock;
use self::links::Case;
use self::world::run;
use crate::{mbit, ms, secs};

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

/// Among them: a server that closed its only path, a handshake in which neither end thought it had
/// to speak, an answer of a server's second connection, paths closed by a jump of the clock,
/// keep-alives that filled a link, start-ups that went on into a queue of three packets,
/// challenges every few milliseconds to an address that is seconds away, windows of packets over and
/// over for paths that carried small ones only, a jump of the clock taken for a round trip, and
/// answers taken for immediate because whoever handed them in had read the clock long before.
#[test]
fn seeds_that_brought_up_a_fault_do_not_any_more() {
    for seed in [
        91, 173, 187, 198, 390, 1032, 1799, 2896, 3661, 4715, 5229, 5643, 5888, 7031, 7215, 7862,
        9203, 11_692, 12_466, 13_032, 13_741, 15_881, 16_004, 16_544, 17_176, 17_317, 17_807,
        23_169, 23_193, 141_804,
    ] {
        let case = Case::drawn(seed);
        let checked = run(&case).check(&case);
        assert!(checked.is_ok(), "{seed}: {checked:?}");
    }
}

/// Two paths of which `dies` loses what comes back from a certain time on, and clocks that jump.
fn two_paths(dies: Option<(usize, u64)>, client_clock: Clock, server_clock: Clock) -> Case {
    let change = |(path, at): (usize, u64)| TimedChange {
        at: ms(at),
        path,
        direction: Direction::Backward,
        change: Change::Cut,
    };
    Case {
        seed: 1,
        setup: Setup {
            name: "jumps".to_owned(),
            summary: String::new(),
            paths: vec![
                PathSetup::symmetric("near", mbit(10), ms(30), 0.0),
                PathSetup::symmetric("far", mbit(10), ms(140), 0.0),
            ],
            changes: dies.map(change).into_iter().collect(),
        },
        config: TransportConfig {
            handshake_timeout: secs(3600),
            idle_timeout: secs(7200),
            ..TransportConfig::default()
        },
        client_clock,
        server_clock,
        up: 20_000,
        down: 20_000,
    }
}

/// Time that passed in no time is no time in which an address did not answer.
#[test]
fn a_clock_that_jumps_while_a_path_opens_does_not_close_it() {
    let jumps = Clock {
        jumps: vec![(ms(100), secs(800))],
        ..Clock::default()
    };
    for dies_at in [45, 60, 75] {
        let case = two_paths(Some((0, dies_at)), jumps.clone(), Clock::default());
        let outcome = run(&case);
        assert!(outcome.delivered, "dies after {dies_at} ms: {outcome:?}");
        assert!(
            outcome.took <= secs(5),
            "dies after {dies_at} ms: {outcome:?}"
        );
    }
}

/// A host that sleeps finds answers when it wakes up. How long it slept is no round trip, after
/// which a lost packet would be waited for as long again.
#[test]
fn a_clock_that_jumps_while_answers_are_awaited_makes_no_round_trip_longer() {
    for jumps_at in (5..200).step_by(5) {
        let jump = Clock {
            jumps: vec![(ms(jumps_at), secs(800))],
            ..Clock::default()
        };
        let clocks = [
            (jump.clone(), Clock::default()),
            (Clock::default(), jump.clone()),
            (jump.clone(), jump),
        ];
        for (client, server) in clocks {
            let mut case = two_paths(None, client, server);
            case.setup.paths.truncate(1);
            for link in case
                .setup
                .paths
                .iter_mut()
                .flat_map(|path| [&mut path.forward, &mut path.backward])
            {
                link.loss = 0.3;
            }
            case.seed = jumps_at;
            let outcome = run(&case);
            let took = outcome.took;
            assert!(
                outcome.delivered && took <= secs(5),
                "jumps after {jumps_at} ms: {outcome:?}"
            );
        }
    }
}

/// A server whose clock jumps beyond the handshake's timeout forgets the connection and makes
/// another of the next copy of the client's first packet: the client speaks with one of them.
#[test]
fn a_server_that_makes_two_connections_of_one_first_packet_is_no_error() {
    for jumps_at in (20..400).step_by(10) {
        let jump = Clock {
            jumps: vec![(ms(jumps_at), secs(30))],
            ..Clock::default()
        };
        let mut case = two_paths(None, Clock::default(), jump);
        case.config = TransportConfig::default();
        for path in &mut case.setup.paths {
            path.backward.delay = ms(900);
            path.forward.loss = 0.3;
            path.backward.loss = 0.3;
        }
        case.seed = jumps_at;
        let outcome = run(&case);
        let checked = outcome.check(&case);
        assert!(checked.is_ok(), "jumps after {jumps_at} ms: {checked:?}");
    }
}
