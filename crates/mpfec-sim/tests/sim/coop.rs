//! Flows of relays beside paths through them (UC Fig. 7.1, 7.2).

use mpfec_core::{Aimd as Kind, ControllerKind, MeasuredShare, Profile, relay_share};
use mpfec_sim::traffic::Aimd;

use crate::bottleneck::{Bottleneck, Rates, link};
use crate::{ms, secs};

/// UC §7.3.1: two relays with links of 1.2 Mbit/s, whose own flows send 1.0 and 0.9 Mbit/s.
fn relays(
    congestion: ControllerKind,
    local: Aimd,
    rho: Option<[f64; 2]>,
    queue: u64,
    seed: u64,
) -> Rates {
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
    let mut shares = [MeasuredShare::default(); 2];
    let mut sum: Option<Rates> = None;
    for round in 0..60 {
        let rates = net.rates(secs(2));
        for path in 0..2 {
            let wish = [1.0, 0.9][path];
            match rho {
                Some(rho) if rho[path] > 0.0 => net.announce(path, rho[path]),
                Some(_) => {
                    let rho =
                        shares[path].update(1.2, &[wish], rates.paths[path] * 1500.0 / 1472.0);
                    net.announce(path, rho);
                    if std::env::var("V").is_ok() {
                        println!(
                            "  {round} path {path} rho {rho:.1} {:.3} local {:.3}",
                            rates.paths[path], rates.flows[path]
                        );
                    }
                }
                None => {}
            }
        }
        if round >= 10 {
            sum = Some(match sum {
                None => rates,
                Some(mut sum) => {
                    for i in 0..2 {
                        sum.paths[i] += rates.paths[i];
                        sum.flows[i] += rates.flows[i];
                    }
                    sum.goodput += rates.goodput;
                    sum
                }
            });
        }
    }
    let mut sum = sum.unwrap();
    for i in 0..2 {
        sum.paths[i] /= 50.0;
        sum.flows[i] /= 50.0;
    }
    sum.goodput /= 50.0;
    sum
}

#[test]
#[ignore]
fn explore() {
    let gentle = Aimd {
        increase: 0.7,
        decrease: 0.625,
    };
    let eq = [relay_share(1.2, &[1.0]), relay_share(1.2, &[0.9])];
    let _ = (gentle, eq, Kind::GENTLE);
    for queue in [10, 20, 50] {
        for (name, kind, local, rho) in [
            ("lia", ControllerKind::Lia, Aimd::NEW_RENO, None),
            (
                "mcc measured",
                ControllerKind::MccCoop,
                Aimd::NEW_RENO,
                Some([0.0, 0.0]),
            ),
            ("mpaimd", ControllerKind::MpAimd(Kind::GENTLE), gentle, None),
            (
                "gmcc measured",
                ControllerKind::GmccCoop(Kind::GENTLE),
                gentle,
                Some([0.0, 0.0]),
            ),
        ] {
            let mut sums = [0.0; 4];
            for seed in 1..=3 {
                let rates = relays(kind, local, rho, queue, seed);
                for (sum, rate) in sums.iter_mut().zip([
                    rates.flows[0],
                    rates.flows[1] / 0.9,
                    rates.paths[0],
                    rates.paths[1],
                ]) {
                    *sum += rate * 1500.0 / 1472.0 / 3.0;
                }
            }
            println!(
                "q {queue} {name}: local kept {:.3} {:.3}, paths {:.3} {:.3}",
                sums[0], sums[1], sums[2], sums[3]
            );
        }
    }
}
