//! Couple+: a coded subflow beside a TCP flow, and alone (Couple+ Fig. 8 to 10, 14).

use mpfec_core::{ControllerKind, Profile};
use mpfec_sim::traffic::Aimd;

use crate::bottleneck::{Bottleneck, Rates, link};
use crate::{ms, secs};

/// Wireless loss, and redundancy in percent that makes a redundant cycle (51, 11 and 4 packets) so
/// short that at most one in ten loses two packets, as Couple+ §IV-C wants it.
const LOSSES: [(f64, u32); 3] = [(0.01, 2), (0.05, 10), (0.10, 33)];

fn with_redundancy(congestion: ControllerKind, percent: u32) -> Profile {
    Profile {
        congestion,
        redundancy: format!("fixed:percent={percent}")
            .parse()
            .expect("a kind of redundancy"),
        ..Profile::COUPLE_PLUS
    }
}

/// Couple+ Fig. 8: every link carries 1 Mbit/s, every round trip takes 60 ms. The second path
/// crosses a link that a TCP flow may use as well, and then one that loses packets. Packets take
/// up to a packet's time longer on the first hop of each sender, or of two flows of equal packets
/// over links of equal rates one would always find room in the queue and the other one never.
fn fig_8(profile: Profile, loss: f64, has_tcp: bool, seed: u64) -> Rates {
    let mut net = Bottleneck::new(profile, seed, |_| {});
    let hop = |net: &mut Bottleneck| net.link(link(1000, ms(10), 10));
    let first_hop = |net: &mut Bottleneck| {
        let mut access = link(1000, ms(10), 10);
        access.jitter = ms(12);
        net.link(access)
    };
    let own = [first_hop(&mut net), hop(&mut net), hop(&mut net)];
    let (access, shared) = (first_hop(&mut net), hop(&mut net));
    let mut wireless = link(1000, ms(10), 10);
    wireless.loss = loss;
    let wireless = net.link(wireless);
    let back: Vec<_> = (0..3).map(|_| net.link(link(1000, ms(30), 1000))).collect();
    net.path(&own, &back[..1]);
    net.path(&[access, shared, wireless], &back[1..2]);
    if has_tcp {
        let (enter, leave) = (first_hop(&mut net), hop(&mut net));
        let through = [enter, shared, leave];
        net.tcp(&through, &back[2..], Aimd::NEW_RENO, None);
    }
    net.start();
    net.network.run_for(secs(20));
    net.rates(secs(80))
}

/// What the TCP flow gets for each bit that the coded subflow gets, over some runs.
fn tcp_to_subflow(profile: Profile, loss: f64) -> f64 {
    let runs = (1..=8).map(|seed| fig_8(profile, loss, true, seed));
    let (tcp, subflow) = runs.fold((0.0, 0.0), |(tcp, subflow), rates| {
        (tcp + rates.flows[0], subflow + rates.paths[1])
    });
    tcp / subflow
}

#[test]
fn a_tcp_flow_beside_a_coded_subflow_gets_about_the_same_rate() {
    for (loss, percent) in LOSSES {
        let profile = with_redundancy(ControllerKind::CouplePlus, percent);
        let ratio = tcp_to_subflow(profile, loss);
        assert!((0.7..=1.4).contains(&ratio), "{loss}: {ratio:.2}");
    }
}

#[test]
fn behind_a_code_the_rtt_compensator_takes_more_than_a_tcp_flow_gets() {
    for (loss, percent) in &LOSSES[..2] {
        let profile = with_redundancy(ControllerKind::LiaNc, *percent);
        let ratio = tcp_to_subflow(profile, *loss);
        assert!(ratio < 0.7, "{loss}: {ratio:.2}");
    }
}

#[test]
fn alone_couple_plus_keeps_what_the_code_gains() {
    for (loss, percent) in LOSSES {
        let goodput = |congestion| {
            let profile = with_redundancy(congestion, percent);
            fig_8(profile, loss, false, 1).goodput
        };
        let kept = goodput(ControllerKind::CouplePlus) / goodput(ControllerKind::LiaNc);
        assert!(kept >= 0.9, "{loss}: {kept:.3}");
    }
}

#[test]
fn loss_of_the_link_is_told_from_loss_of_the_queue() {
    let verdicts = |loss, queue| {
        let profile = with_redundancy(ControllerKind::CouplePlus, 25);
        let mut net = Bottleneck::new(profile, 1, |_| {});
        let mut forth = link(4000, ms(10), queue);
        forth.loss = loss;
        let (forth, back) = (net.link(forth), net.link(link(4000, ms(10), 100)));
        net.path(&[forth], &[back]);
        net.start();
        net.network.run_for(secs(30));
        net.client_connection().stats().paths[0].clone()
    };
    let noisy = verdicts(0.02, 200);
    let [congestion, unknown, wireless] = noisy.loss_verdicts;
    assert!(wireless > 2 * (congestion + unknown), "{noisy:?}");
    let short = verdicts(0.0, 5);
    let [congestion, unknown, wireless] = short.loss_verdicts;
    assert!(congestion > wireless + unknown, "{short:?}");
    let evidence = short.loss_evidence.expect("there were losses");
    assert!(evidence.min_rtt >= ms(20), "{evidence}");
}
