//! Flows of relays beside paths through them (UC Fig. 7.1, 7.2).

use mpfec_core::{Aimd as Kind, ControllerKind, Profile, relay_share};
use mpfec_sim::traffic::Aimd;

use crate::bottleneck::{Bottleneck, Rates, link};
use crate::{ms, secs};

/// UC §7.3.1: two relays with links of 1.2 Mbit/s, whose own flows send 1.0 and 0.9 Mbit/s.
fn relays(congestion: ControllerKind, local: Aimd, rho: Option<[f64; 2]>, queue: u64, seed: u64) -> Rates {
    let profile = Profile {
        congestion,
        ..Profile::MPTCP
    };
    let mut net = Bottleneck::new(profile, seed, |_| {});
    for kbit in [1000, 900] {
        let relay = net.link(link(1200, ms(30), queue));
        let back = net.link(link(10_000, ms(30), 1000));
        net.path(&[relay], &[back]);
        net.tcp(&[relay], &[back], local, Some(kbit), secs(0));
    }
    net.network.run_for(secs(5));
    net.start();
    net.network.run_for(secs(2));
    for (path, rho) in rho.into_iter().flatten().enumerate() {
        net.announce(path, rho);
    }
    net.network.run_for(secs(20));
    net.rates(secs(100))
}

#[test]
#[ignore]
fn explore() {
    let gentle = Aimd { increase: 0.7, decrease: 0.625 };
    let eq = [relay_share(1.2, &[1.0]), relay_share(1.2, &[0.9])];
    for queue in [10, 20, 50] {
        for (name, kind, local, rho) in [
            ("lia", ControllerKind::Lia, Aimd::NEW_RENO, None),
            ("mcc eq7.3", ControllerKind::MccCoop, Aimd::NEW_RENO, Some(eq)),
            ("mcc 5,3", ControllerKind::MccCoop, Aimd::NEW_RENO, Some([5.0, 3.0])),
            ("mpaimd", ControllerKind::MpAimd(Kind::GENTLE), gentle, Some(eq)),
            ("gmcc eq7.3", ControllerKind::GmccCoop(Kind::GENTLE), gentle, Some(eq)),
            ("gmcc 5,3", ControllerKind::GmccCoop(Kind::GENTLE), gentle, Some([5.0, 3.0])),
        ] {
            let mut sums = [0.0; 4];
            for seed in 1..=3 {
                let rates = relays(kind, local, rho, queue, seed);
                for (sum, rate) in sums.iter_mut().zip([rates.flows[0], rates.flows[1] / 0.9, rates.paths[0], rates.paths[1]]) {
                    *sum += rate * 1500.0 / 1472.0 / 3.0;
                }
            }
            println!("q {queue} {name}: local kept {:.3} {:.3}, paths {:.3} {:.3}", sums[0], sums[1], sums[2], sums[3]);
        }
    }
}
