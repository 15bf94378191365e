//! Whatever happens to a path, every controller stays within its limits.

use std::time::{Duration, Instant};

use mpfec_congestion::{
    Ack, CodingFeedback, CongestionEvent, ControllerKind, DeliveryRate, Drains, Group, Pacer,
    PacketState, RttEstimator, Subflow,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Operation {
    Wait {
        micros: u64,
    },
    /// Packets that leave, as far as the window allows.
    Send {
        packets: u8,
    },
    /// The oldest packets in flight are acknowledged.
    Ack {
        packets: u8,
        delay_ms: u8,
        app_limited: bool,
    },
    Lose {
        packets: u8,
        ecn: bool,
    },
    Timeout {
        count: u32,
    },
    Return,
    PersistentCongestion,
    Mtu {
        mtu: u16,
    },
    Siblings {
        cwnd: u64,
        srtt_us: u64,
        delivery_rate: u64,
    },
    AppLimited,
    Share {
        rho: f64,
    },
    /// What the code makes up for from now on.
    Coding {
        undecoded: u32,
        nearly_full: bool,
    },
    Redundancy {
        redundancy: f64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => prop_oneof![0..100_u64, 0..50_000_u64, 0..100_000_000_u64]
            .prop_map(|micros| Operation::Wait { micros }),
        6 => any::<u8>().prop_map(|packets| Operation::Send { packets }),
        8 => (any::<u8>(), any::<u8>(), any::<bool>()).prop_map(
            |(packets, delay_ms, app_limited)| Operation::Ack { packets, delay_ms, app_limited }
        ),
        3 => (any::<u8>(), prop::bool::weighted(0.2))
            .prop_map(|(packets, ecn)| Operation::Lose { packets, ecn }),
        1 => any::<u32>().prop_map(|count| Operation::Timeout { count }),
        1 => Just(Operation::Return),
        1 => Just(Operation::PersistentCongestion),
        1 => (1200..=9000_u16).prop_map(|mtu| Operation::Mtu { mtu }),
        1 => (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(
            |(cwnd, srtt_us, delivery_rate)| Operation::Siblings { cwnd, srtt_us, delivery_rate }
        ),
        1 => Just(Operation::AppLimited),
        1 => any::<f64>().prop_map(|rho| Operation::Share { rho }),
        2 => (0..9_u32, prop::bool::weighted(0.1))
            .prop_map(|(undecoded, nearly_full)| Operation::Coding { undecoded, nearly_full }),
        1 => prop_oneof![any::<f64>(), 1.0..2.0_f64]
            .prop_map(|redundancy| Operation::Redundancy { redundancy }),
    ]
}

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

fn run(kind: ControllerKind, operations: &[Operation]) -> Result<(), TestCaseError> {
    let mut now = epoch();
    let mut mss = 1200_u16;
    let mut controller = kind.build(mss, now, 20);
    let mut pacer = Pacer::new(mss, now);
    let mut rtt = RttEstimator::new(Duration::from_millis(333));
    let mut delivery = DeliveryRate::new(now);
    let mut in_flight: Vec<(Instant, u64, PacketState)> = Vec::new();
    let mut sibling = Subflow {
        cwnd: 0,
        srtt: Duration::ZERO,
        delivery_rate: 0,
        drains: Drains::No,
    };
    let mut coding = CodingFeedback::default();
    // COUPLED gives a path up but for one packet (Couple+ Table I).
    let least_packets = if kind == ControllerKind::Coupled {
        1
    } else {
        2
    };
    let mut verdicts = 0;
    for operation in operations {
        let own = Subflow {
            cwnd: controller.cwnd(),
            srtt: rtt.smoothed(),
            delivery_rate: 1_000_000,
            drains: Drains::No,
        };
        let subflows = [own, sibling];
        let group = Group {
            subflows: &subflows,
            me: 0,
        };
        match *operation {
            Operation::Wait { micros } => now += Duration::from_micros(micros),
            Operation::Send { packets } => {
                for _ in 0..packets {
                    let bytes: u64 = in_flight.iter().map(|packet| packet.1).sum();
                    if bytes + u64::from(mss) > controller.cwnd() {
                        break;
                    }
                    let state = delivery.on_sent(now, bytes);
                    let rate = controller.pacing_rate().unwrap_or(1_000_000);
                    pacer.on_sent(now, u64::from(mss), rate);
                    in_flight.push((now, u64::from(mss), state));
                    controller.on_packet_sent(now, u64::from(mss), bytes + u64::from(mss));
                }
            }
            Operation::Ack {
                packets,
                delay_ms,
                app_limited,
            } => {
                let count = usize::from(packets).min(in_flight.len());
                let acked: Vec<_> = in_flight.drain(..count).collect();
                let Some((sent_at, ..)) = acked.last().copied() else {
                    continue;
                };
                for (_, bytes, state) in &acked {
                    delivery.on_acked(now, state, *bytes);
                }
                rtt.update(
                    now,
                    now - sent_at,
                    Duration::from_millis(u64::from(delay_ms)),
                );
                controller.on_ack(&Ack {
                    now,
                    sent_at,
                    bytes: acked.iter().map(|packet| packet.1).sum(),
                    packets: count as u32,
                    in_flight: in_flight.iter().map(|packet| packet.1).sum(),
                    app_limited,
                    idle: Duration::ZERO,
                    rtt: &rtt,
                    route: 0,
                    way_back: None,
                    rate: delivery.sample(now, rtt.min()),
                    coding,
                    group,
                });
            }
            Operation::Lose { packets, ecn } => {
                let count = usize::from(packets).min(in_flight.len());
                let lost: Vec<_> = in_flight.drain(..if ecn { 0 } else { count }).collect();
                controller.on_congestion_event(&CongestionEvent {
                    now,
                    sent_at: lost.last().map_or(now, |packet| packet.0),
                    packets: u32::from(packets),
                    runs: 1,
                    ecn,
                    coding,
                    rtt: &rtt,
                    group,
                });
            }
            Operation::Timeout { count } => controller.on_timeout(now, count),
            Operation::Return => controller.on_return(now),
            Operation::PersistentCongestion => controller.on_persistent_congestion(now),
            Operation::Mtu { mtu } => {
                mss = mtu;
                controller.on_mtu_update(mtu);
                pacer.on_mtu_update(mtu);
            }
            Operation::Siblings {
                cwnd,
                srtt_us,
                delivery_rate,
            } => {
                let srtt = Duration::from_micros(srtt_us);
                sibling = Subflow {
                    cwnd,
                    srtt,
                    delivery_rate,
                    drains: Drains::No,
                };
            }
            Operation::AppLimited => {
                delivery.on_app_limited(in_flight.iter().map(|packet| packet.1).sum());
            }
            Operation::Share { rho } => controller.on_share(rho),
            Operation::Coding {
                undecoded,
                nearly_full,
            } => {
                coding = CodingFeedback {
                    undecoded,
                    retransmits: undecoded > 0,
                    receive_window_nearly_full: nearly_full,
                };
            }
            Operation::Redundancy { redundancy } => controller.set_redundancy(redundancy),
        }
        prop_assert!(
            controller.cwnd() >= least_packets * u64::from(mss),
            "{controller:?}"
        );
        prop_assert!(controller.cwnd() <= 1 << 33, "{controller:?}");
        if let Some(rate) = controller.pacing_rate() {
            prop_assert!(rate > 0 && rate < u64::MAX, "{controller:?}");
            // Something leaves within a second, however odd the rate.
            prop_assert!(
                pacer
                    .next_send(now, rate, u64::from(mss))
                    .is_none_or(|at| at <= now + Duration::from_secs(1))
            );
        }
        prop_assert!(!controller.state().is_empty());
        let seen = controller.loss_verdicts();
        let all = seen.congestion + seen.unknown + seen.wireless;
        prop_assert!(all >= verdicts, "verdicts are counters: {controller:?}");
        verdicts = all;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn every_controller_stays_within_its_limits(
        kind in prop::sample::select(ControllerKind::ALL.to_vec()),
        operations in prop::collection::vec(operation(), 1..200),
    ) {
        run(kind, &operations)?;
    }
}
