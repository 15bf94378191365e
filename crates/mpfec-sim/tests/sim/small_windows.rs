//! A receive window that is too small for the delay of the slowest path.

use mpfec_core::{Profile, SchedulerKind};
use mpfec_sim::Simulation;
use mpfec_sim::scene;

use crate::{kib, mbit, ms, secs};

/// Wi-Fi and 3G as Raiciu et al. have them (NSDI 2012, section 4.2), in a bulk transfer.
fn wifi_and_3g(scheduler: SchedulerKind, window: u64) -> (f64, Simulation) {
    let profile = Profile {
        scheduler,
        ..Profile::MPTCP
    };
    let mut net = scene()
        .path("wifi", mbit(8), ms(20))
        .path("3g", mbit(2), ms(150))
        .profile(profile)
        .both(|config| {
            config.stream_window = window;
            config.connection_window = window;
        })
        .connect();
    net.send(1 << 40);
    net.run_for(secs(5));
    let bytes = net.bytes_read_in(secs(20));
    net.check_bytes();
    (bytes as f64 * 8e-6 / 20.0, net)
}

#[test]
fn opportunistic_retransmission_and_penalisation_pay_where_the_slow_path_fills_the_window() {
    for (window, gain) in [(64, 1.05), (128, 1.1)] {
        let (plain, _) = wifi_and_3g(SchedulerKind::LowestRtt, kib(window));
        let (helped, net) = wifi_and_3g(SchedulerKind::Opportunistic, kib(window));
        assert!(
            helped >= gain * plain,
            "{window} KiB: {helped:.2} instead of {plain:.2} Mbit/s"
        );
        let sent = net.client_connection().expect("open").stats().streams;
        assert!(
            sent.resent_symbols > 50,
            "{} sent again",
            sent.resent_symbols
        );
    }
}

#[test]
fn a_penalised_path_keeps_a_small_window_and_the_fast_one_carries_on() {
    let (_, plain) = wifi_and_3g(SchedulerKind::LowestRtt, kib(64));
    let (_, helped) = wifi_and_3g(SchedulerKind::Opportunistic, kib(64));
    let slow = [plain, helped].map(|net| net.path_stats("3g").cwnd_bytes);
    assert!(slow[1] * 4 < slow[0], "{slow:?}");
}

#[test]
fn nothing_is_sent_twice_where_the_window_is_large_enough() {
    let (plain, _) = wifi_and_3g(SchedulerKind::LowestRtt, kib(1024));
    let (helped, net) = wifi_and_3g(SchedulerKind::Opportunistic, kib(1024));
    assert!(helped >= 0.98 * plain, "{helped:.2} {plain:.2} Mbit/s");
    let lost: u64 = ["wifi", "3g"]
        .map(|path| net.path_stats(path).lost_packets)
        .iter()
        .sum();
    let sent = net.client_connection().expect("open").stats().streams;
    assert!(
        sent.resent_symbols <= lost,
        "{} sent again, {lost} lost",
        sent.resent_symbols
    );
}
