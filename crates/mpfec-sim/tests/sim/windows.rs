//! Windows and buffers that follow what the paths carry.

use std::time::Duration;

use mpfec_sim::{PathSetup, Setup, Simulation, scene};

use crate::{mbit, mib, ms, secs};

/// Two paths of `mbps` each with a round trip of 200 ms, of which one loses 1 % and one 5 %.
fn long_paths(mbps: u64) -> Setup {
    let path = |name, loss| PathSetup::symmetric(name, mbit(mbps), ms(200), loss);
    Setup {
        name: "long".to_owned(),
        summary: String::new(),
        paths: vec![path("a", 0.01), path("b", 0.05)],
        changes: Vec::new(),
    }
}

fn windows(net: &Simulation) -> (u64, u64) {
    let server = net.server_connection().expect("open").stats();
    let client = net.client_connection().expect("open").stats();
    (server.receive_window, client.send_lead)
}

/// The windows that a connection begins with hold back all that is above 150 Mbit/s here: what
/// is lost is there again three round trips later if the repair is lost as well.
#[test]
fn long_and_fast_paths_are_filled_without_being_told_of() {
    let setup = long_paths(100);
    let limit = setup.limit_mbps().expect("every path has a rate");
    let mut net = scene().setup(setup).connect();
    net.send(1 << 40);
    net.run_for(secs(5));
    let mbps = net.bytes_read_in(secs(5)) as f64 * 8e-6 / 5.0;
    assert!(mbps >= 0.95 * limit, "{mbps:.0} of {limit:.0} Mbit/s");
    let (window, _) = windows(&net);
    assert!((mib(16)..=mib(64)).contains(&window), "{window}");
}

/// Of some 90 blocks a round trip one loses a repair now and then. A third attempt that got lost
/// as well would hold back 16 MB.
#[test]
fn what_waits_behind_a_lost_repair_is_what_two_more_round_trips_carry() {
    let setup = long_paths(100);
    let limit = setup.limit_mbps().expect("every path has a rate");
    let mut net = scene().setup(setup).connect();
    net.send(1 << 40);
    net.run_for(secs(10));
    let mut most = 0;
    for _ in 0..500 {
        net.run_for(ms(20));
        let streams = net.server_connection().expect("open").stats().streams;
        most = most.max(streams.received_bytes - streams.delivered_bytes);
    }
    let carried = |round_trips: f64| limit / 8.0 * 1e6 * 0.2 * round_trips;
    assert!((most as f64) < carried(2.75), "{most}");
}

#[test]
fn windows_stay_as_they_are_where_the_paths_do_not_need_more() {
    let mut net = scene().setup(long_paths(10)).connect();
    net.send(1 << 40);
    net.run_for(secs(10));
    assert_eq!(windows(&net).0, mib(12));
}

/// It reads for 10 ms in a second, in which the paths could fill its window three times.
#[test]
fn a_reader_that_is_slower_than_the_paths_does_not_make_its_window_grow() {
    let mut net = scene()
        .path("a", mbit(100), ms(200))
        .path("b", mbit(100), ms(200))
        .connect();
    net.send(1 << 40);
    for _ in 0..20 {
        net.with_server(|peer, _| peer.pause());
        net.run_for(ms(990));
        net.with_server(|peer, _| peer.resume());
        net.run_for(ms(10));
    }
    assert_eq!(windows(&net).0, mib(12));
    net.check_bytes();
}

/// What is lost holds back what follows, so that a reader may get nothing for a while: what the
/// writer was allowed meanwhile is little.
#[test]
fn a_bulk_writer_is_less_than_a_second_ahead_of_the_reader() {
    let setup = Setup::named("fmtcp-1").expect("built in");
    let rate = setup.limit_mbps().expect("every path has a rate") * 1e6 / 8.0;
    let mut net = scene().setup(setup).connect();
    net.send(1 << 40);
    net.run_for(secs(3));
    let mut longest = Duration::ZERO;
    for _ in 0..100 {
        net.run_for(ms(100));
        let written: u64 = net.client().outgoing().values().map(|s| s.written).sum();
        let ahead = (written - net.server().read()) as f64 / rate;
        longest = longest.max(Duration::from_secs_f64(ahead));
    }
    assert!(longest <= ms(1000), "{longest:?}");
}

/// Through a window of 128 KiB. What the reader takes is told of in small steps, and what one
/// such step lets out is no block of its own: that is protected worse than a larger one.
#[test]
fn a_small_window_passes_nearly_whole_in_each_round_trip_of_one_path_and_of_two() {
    let window = 128 << 10;
    let setup = |paths: &[(&str, f64)]| Setup {
        name: "small".to_owned(),
        summary: String::new(),
        paths: paths
            .iter()
            .map(|&(name, loss)| PathSetup::symmetric(name, mbit(10), ms(200), loss))
            .collect(),
        changes: Vec::new(),
    };
    for paths in [&[("a", 0.001)][..], &[("a", 0.001), ("b", 0.2)]] {
        let mut shares = Vec::new();
        for seed in 1..=3 {
            let mut net = scene()
                .setup(setup(paths))
                .both(|config| {
                    config.stream_window = window;
                    config.connection_window = window;
                })
                .seed(seed)
                .connect();
            net.send(1 << 40);
            net.run_for(secs(5));
            shares.push(net.bytes_read_in(secs(10)) as f64 / (10.0 / 0.2 * window as f64));
        }
        let mean = shares.iter().sum::<f64>() / 3.0;
        assert!(mean >= 0.95, "{} paths: {shares:.3?}", paths.len());
    }
}
