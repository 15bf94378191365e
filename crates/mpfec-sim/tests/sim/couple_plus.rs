//! Couple+: a coded subflow beside a TCP flow, and alone (Couple+ Fig. 8).

use std::time::Duration;

use mpfec_core::{ControllerKind, Profile};
use mpfec_sim::traffic::Aimd;

use crate::bottleneck::{Bottleneck, Rates, link};
use crate::{ms, secs};

/// Couple+ Fig. 8: every link carries 1 Mbit/s, every round trip takes 60 ms. The second path
/// shares its second link with a TCP flow, and loses packets on its third.
fn fig_8(
    congestion: ControllerKind,
    percent: &str,
    loss: f64,
    queue: u64,
    has_tcp: bool,
    seed: u64,
) -> Rates {
    let profile = Profile {
        congestion,
        redundancy: format!("fixed:percent={percent}").parse().unwrap(),
        ..Profile::COUPLE_PLUS
    };
    let mut net = Bottleneck::new(profile, seed, |_| {});
    let mut hop = |net: &mut Bottleneck| net.link(link(1000, ms(10), queue));
    let own: Vec<_> = (0..3).map(|_| hop(&mut net)).collect();
    let (access, shared) = (hop(&mut net), hop(&mut net));
    let mut wireless = link(1000, ms(10), queue);
    wireless.loss = loss;
    let wireless = net.link(wireless);
    let back: Vec<_> = (0..3).map(|_| net.link(link(1000, ms(30), 1000))).collect();
    net.path(&own, &back[..1]);
    net.path(&[access, shared, wireless], &back[1..2]);
    if has_tcp {
        let (enter, leave) = (hop(&mut net), hop(&mut net));
        net.tcp(
            &[enter, shared, leave],
            &back[2..],
            Aimd::NEW_RENO,
            None,
            secs(0),
        );
    }
    net.start();
    net.network.run_for(secs(20));
    net.rates(secs(100))
}

#[test]
#[ignore]
fn explore() {
    for queue in [10, 15, 20] {
        for loss in [0.01, 0.05, 0.10] {
            for percent in ["5", "10", "25", "34", "50", "100"] {
                let (mut ratio, mut sub) = (0.0, (0.0, 0.0, 0.0));
                for seed in 1..=2 {
                    let with = fig_8(ControllerKind::CouplePlus, percent, loss, queue, true, seed);
                    ratio += with.flows[0] / with.paths[1] / 2.0;
                    sub.0 += with.goodput / 2.0;
                    sub.1 += with.paths[1] / 2.0;
                    sub.2 += with.flows[0] / 2.0;
                }
                println!(
                    "q {queue} loss {loss} percent {percent}: tcp/sub1 {ratio:.2} (goodput {:.3} sub1 {:.3} tcp {:.3})",
                    sub.0, sub.1, sub.2
                );
            }
        }
    }
}

#[expect(dead_code, reason = "exploration")]
const fn unused() -> Duration {
    ms(1)
}
