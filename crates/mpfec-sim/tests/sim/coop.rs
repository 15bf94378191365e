//! Flows of relays beside paths through them (UC Fig. 7.1, 7.2).

use mpfec_core::{Aimd as Kind, ControllerKind, MeasuredShare, Profile};
use mpfec_sim::traffic::Aimd;

use crate::bottleneck::{Bottleneck, link};
use crate::{ms, secs};

/// Rates of the relays' own flows in Mbit/s, of links that carry [`LINK`].
const WISHES: [f64; 2] = [1.0, 0.9];
const LINK: f64 = 1.2;

/// UC §7.3.1: two relays whose own flows of the kind `local` want [`WISHES`]. Returns what part
/// of it each of them gets in 100 s beside a connection; the relays announce what that takes
/// of their links every two seconds, as they measure it.
fn kept(profile: Profile, local: Aimd, seed: u64) -> [f64; 2] {
    let mut net = Bottleneck::new(profile, seed, |_| {});
    for wish in WISHES {
        let relay = net.link(link((LINK * 1000.0) as u64, ms(30), 20));
        let back = net.link(link(10_000, ms(30), 1000));
        net.path(&[relay], &[back]);
        net.tcp(&[relay], &[back], local, Some((wish * 1000.0) as u64));
    }
    net.network.run_for(secs(5));
    net.start();
    net.network.run_for(secs(2));
    let mut shares = [MeasuredShare::default(); 2];
    let mut moved = [0.0; 2];
    for round in 0..60 {
        let rates = net.rates(secs(2));
        for (path, share) in shares.iter_mut().enumerate() {
            let rho = share.update(LINK, &[WISHES[path]], rates.paths[path] * ON_LINK);
            net.announce(path, rho);
            if round >= 10 {
                moved[path] += rates.flows[path] * ON_LINK / 50.0;
            }
        }
    }
    [moved[0] / WISHES[0], moved[1] / WISHES[1]]
}

/// Bytes on the link for each byte of payload.
const ON_LINK: f64 = 1500.0 / 1472.0;

/// The same on average over some runs.
fn mean_kept(profile: Profile, local: Aimd) -> [f64; 2] {
    let runs = (1..=3).map(|seed| kept(profile, local, seed));
    runs.fold([0.0; 2], |sum, kept| {
        [sum[0] + kept[0] / 3.0, sum[1] + kept[1] / 3.0]
    })
}

fn assert_spared(kept: [f64; 2]) {
    assert!(kept.iter().all(|kept| *kept >= 0.95), "{kept:?}");
}

fn assert_harmed(kept: [f64; 2]) {
    assert!((kept[0] + kept[1]) / 2.0 < 0.9, "{kept:?}");
}

#[test]
fn tcp_flows_of_relays_keep_their_rate_beside_mcc_coop_and_not_beside_mptcp() {
    assert_spared(mean_kept(Profile::MCC_COOP, Aimd::NEW_RENO));
    assert_harmed(mean_kept(Profile::MPTCP, Aimd::NEW_RENO));
}

#[test]
fn gentle_flows_of_relays_keep_their_rate_beside_gmcc_coop_and_not_beside_mpaimd() {
    let gentle = Aimd {
        increase: Kind::GENTLE.alpha(),
        decrease: Kind::GENTLE.beta(),
    };
    assert_spared(mean_kept(Profile::GMCC_COOP, gentle));
    assert_harmed(mean_kept(Profile::MPAIMD, gentle));
}

#[test]
fn the_receiver_s_word_on_a_share_reaches_the_sender_over_a_lossy_way_back() {
    let profile = Profile {
        congestion: ControllerKind::MccCoop,
        ..Profile::AUTO
    };
    let mut net = Bottleneck::new(profile, 1, |_| {});
    for _ in 0..2 {
        let forth = net.link(link(1000, ms(10), 20));
        let mut back = link(1000, ms(10), 20);
        back.loss = 0.3;
        let back = net.link(back);
        net.path(&[forth], &[back]);
    }
    net.start();
    net.network.run_for(secs(3));
    for rho in [9.0, 1.25] {
        net.announce(0, rho);
        net.announce(1, 2.0 * rho);
    }
    net.network.run_for(secs(2));
    let mut paths = net.client_connection().stats().paths;
    paths.sort_by_key(|path| path.tuple.socket.0);
    let shares: Vec<_> = paths.iter().map(|path| path.share).collect();
    assert_eq!(shares, [Some(1.25), Some(2.5)]);
}
