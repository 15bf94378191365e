//! Flows with selective acknowledgements, which others are measured against: their rates are
//! those of the closed forms, they share evenly among their kind, and they send nothing twice
//! that has arrived.

use super::*;

const NEW_RENO: WindowLaw = WindowLaw::Aimd(Aimd::NEW_RENO);
const LAWS: [WindowLaw; 2] = [NEW_RENO, WindowLaw::Cubic];

impl Dumbbell {
    fn add_sack(&mut self, law: WindowLaw, start: Duration, bytes: Option<u64>) {
        let config = TcpConfig {
            law,
            pattern: Pattern {
                start,
                ..full_packets()
            },
            rate: None,
            bytes,
        };
        self.add_sack_tcp(config);
    }

    fn sack(&self, index: usize) -> &SackTcp {
        let Peer::SackTcp(flow) = self.network.host(self.senders[index]) else {
            unreachable!("a flow with selective acknowledgements")
        };
        flow
    }
}

/// Packets per second of a flow whose link is never full, but loses this share.
fn packets_per_second(law: WindowLaw, loss: f64, rtt: Duration, time: Duration) -> f64 {
    let link = LinkConfig {
        delay: rtt / 2,
        ..LinkConfig::default()
    };
    let mut net = Dumbbell::new(link.with_loss(loss));
    net.add_sack(law, Duration::ZERO, None);
    net.network.run_for(secs(30));
    net.rates(time)[0] * 1e6 / 8.0 / 1472.0
}

/// Mathis et al. 1997: 1.22 / (RTT sqrt p), with an acknowledgement for each packet.
#[test]
fn newreno_under_random_loss_has_the_rate_of_the_square_root_law() {
    for (loss, rtt, time) in [
        (0.001_f64, ms(100), secs(600)),
        (0.005, ms(200), secs(600)),
        (0.02, ms(40), secs(200)),
    ] {
        let law = 1.22 / (rtt.as_secs_f64() * loss.sqrt());
        let ratio = packets_per_second(NEW_RENO, loss, rtt, time) / law;
        assert!(
            (0.75..=1.25).contains(&ratio),
            "{loss} {rtt:?}: {ratio:.2} of {law:.0} packets/s"
        );
    }
}

/// RFC 9438 §5.1: an average window of (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4), that
/// is 1.054 (RTT / p)^(3/4), where every 1/p-th packet is lost. Losses at random come in uneven
/// distances, which costs a concave law something.
#[test]
fn cubic_under_random_loss_has_the_window_of_its_response_function() {
    for (loss, rtt) in [(3e-4_f64, ms(300)), (1e-4, ms(100))] {
        let seconds = rtt.as_secs_f64();
        let window = 1.054 * (seconds / loss).powf(0.75);
        let measured = packets_per_second(WindowLaw::Cubic, loss, rtt, secs(900)) * seconds;
        let ratio = measured / window;
        assert!(
            (0.75..=1.25).contains(&ratio),
            "{loss} {rtt:?}: {ratio:.2} of {window:.0} packets"
        );
    }
}

#[test]
fn two_flows_of_a_kind_split_a_bottleneck_evenly() {
    for law in LAWS {
        for (mbps, rtt) in [(10.0, ms(40)), (20.0, ms(80))] {
            let rate = (mbps * 1e6) as u64;
            let queue = QueueLimit::bandwidth_delay(rate, rtt, 1.0);
            let mut net = Dumbbell::new(LinkConfig::new(rate, rtt / 2).with_queue(queue));
            net.add_sack(law, Duration::ZERO, None);
            net.add_sack(law, secs(3), None);
            net.network.run_for(secs(60));
            let rates = net.rates(secs(240));
            for rate in &rates {
                let share = rate * 2.0 / (mbps * 1472.0 / 1500.0);
                assert!(
                    (0.8..=1.2).contains(&share),
                    "{law:?}, {mbps} Mbit/s, {rtt:?}: {rates:?}"
                );
            }
        }
    }
}

#[test]
fn a_flow_that_loses_nothing_sends_nothing_twice() {
    for law in LAWS {
        for rtt in [ms(10), ms(200)] {
            // Its queue grows as long as the flow has something to send.
            let mut net = Dumbbell::new(LinkConfig::new(10_000_000, rtt / 2));
            net.add_sack(law, Duration::ZERO, Some(1472 * 4000));
            net.network.run_for(secs(60));
            assert!(net.sack(0).finished_at().is_some(), "{law:?} {rtt:?}");
            assert_eq!(net.sack(0).sent(), 4000, "{law:?} {rtt:?}");
        }
    }
}

#[test]
fn a_flow_sends_again_what_its_queue_drops_and_no_more() {
    for law in LAWS {
        let mut net = Dumbbell::new(bottleneck());
        net.add_sack(law, Duration::ZERO, Some(1472 * 20_000));
        net.network.run_for(secs(120));
        let dropped = net.network.link(net.bottleneck).counters().dropped_queue;
        let again = net.sack(0).sent() - 20_000;
        assert!(
            net.sack(0).finished_at().is_some() && dropped > 0,
            "{law:?}"
        );
        assert_eq!(again, dropped, "{law:?}");
    }
}
