//! Paths that nobody uses stay open.

use mpfec_sim::scene;

use crate::{mbit, ms, secs};

#[test]
fn every_idle_path_is_asked_for_an_answer_at_the_interval_given() {
    let mut net = scene()
        .path("wifi", mbit(20), ms(20))
        .path("lte", mbit(10), ms(60))
        .client(|config| config.keep_alive = secs(5))
        .both(|config| config.idle_timeout = secs(8))
        .connect();
    net.run_for(secs(2));
    for _ in 0..10 {
        let before = ["wifi", "lte"].map(|path| net.carried(path));
        net.run_for(secs(6));
        let sent = ["wifi", "lte"].map(|path| net.carried(path));
        for (before, after) in before.into_iter().zip(sent) {
            // One or two small packets and their like.
            assert!((1..200).contains(&(after - before)), "{}", after - before);
        }
    }
    assert_eq!((net.client_closed(), net.server_closed()), (None, None));
}

#[test]
fn a_connection_without_keep_alive_is_silent_and_ends_after_the_idle_timeout() {
    let mut net = scene()
        .path("wifi", mbit(20), ms(20))
        .both(|config| config.idle_timeout = secs(8))
        .connect();
    net.run_for(secs(2));
    let before = net.carried("wifi");
    net.run_for(secs(5));
    assert_eq!(net.carried("wifi"), before);
    net.run_for(secs(3));
    assert!(net.client_closed().is_some() && net.server_closed().is_some());
}
