//! Whatever a path and a host do, the controller stays within its limits.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::super::{Delay, MAX_WINDOW, MIN_WINDOW, Mode};
use super::{MSS, epoch};
use crate::{
    Ack, CodingFeedback, CongestionController, CongestionEvent, Drains, Group, RateSample,
    RttEstimator, Subflow,
};

#[derive(Debug, Clone)]
pub(in crate::delay) enum Event {
    /// Packets of a round trip of `rtt_us` are acknowledged; the clock moves on by `wait_us`.
    Ack {
        rtt_us: u64,
        wait_us: u64,
        packets: u32,
        rate: Option<u64>,
        app_limited: bool,
        sibling_drains: Drains,
    },
    /// Rounds of a path of 20 ms and what comes back later, with a queue, some packets of which are lost.
    Rounds {
        count: u8,
        queue_ms: u64,
        lost: u32,
    },
    Loss {
        packets: u32,
        age_us: u64,
        ecn: bool,
    },
    Timeout,
    Return,
    /// Acknowledgements come back another way.
    Route(u32),
    /// How long they are on their way, microseconds beyond the first.
    WayBack(Option<i64>),
    Persistent,
    Mtu(u16),
    /// The controller finds a competitor.
    Compete,
}

fn drains() -> impl Strategy<Value = Drains> {
    prop_oneof![
        Just(Drains::No),
        Just(Drains::WithOthers),
        Just(Drains::Now),
        Just(Drains::Overrun),
    ]
}

pub(in crate::delay) fn event() -> impl Strategy<Value = Event> {
    let micros = || {
        prop_oneof![
            Just(0_u64),
            0..200_000_u64,
            any::<u64>().prop_map(|us| us >> 20)
        ]
    };
    prop_oneof![
        8 => (
            micros(), prop_oneof![Just(0_u64), 0..50_000_u64, 0..100_000_000_u64],
            prop_oneof![1..50_u32, any::<u32>()], any::<Option<u64>>(), any::<bool>(), drains(),
        ).prop_map(|(rtt_us, wait_us, packets, rate, app_limited, sibling_drains)| {
            Event::Ack { rtt_us, wait_us, packets, rate, app_limited, sibling_drains }
        }),
        8 => (1..20_u8, 0..100_u64, 0..20_u32)
            .prop_map(|(count, queue_ms, lost)| Event::Rounds { count, queue_ms, lost }),
        3 => (prop_oneof![1..20_u32, any::<u32>()], micros(), any::<bool>())
            .prop_map(|(packets, age_us, ecn)| Event::Loss { packets, age_us, ecn }),
        1 => Just(Event::Timeout),
        1 => Just(Event::Return),
        2 => (0..12_u32).prop_map(Event::Route),
        4 => prop_oneof![
            Just(None),
            any::<Option<i64>>(),
            (0..500_000_i64).prop_map(Some),
        ].prop_map(Event::WayBack),
        1 => Just(Event::Persistent),
        1 => any::<u16>().prop_map(Event::Mtu),
        1 => Just(Event::Compete),
    ]
}

struct World {
    control: Delay,
    now: Instant,
    rtt: RttEstimator,
    mss: u16,
    route: u32,
    way_back: Option<i64>,
}

impl World {
    fn ack(&mut self, rtt: Duration, packets: u32, rate: Option<u64>, flags: (bool, Drains)) {
        self.rtt.update(self.now, rtt, Duration::ZERO);
        let own = Subflow {
            cwnd: self.control.cwnd(),
            srtt: rtt,
            delivery_rate: rate.unwrap_or(0),
            drains: self.control.drains(),
        };
        let sibling = Subflow {
            drains: flags.1,
            ..own
        };
        self.control.on_ack(&Ack {
            now: self.now,
            sent_at: self.now.checked_sub(rtt).unwrap_or(self.now),
            bytes: u64::from(packets) * u64::from(self.mss),
            packets,
            in_flight: self.control.cwnd(),
            app_limited: flags.0,
            idle: if flags.0 { rtt } else { Duration::ZERO },
            rtt: &self.rtt,
            route: self.route,
            way_back: self.way_back,
            rate: rate.map(|bytes_per_second| RateSample {
                bytes_per_second,
                app_limited: flags.0,
                delivered: bytes_per_second,
                prior_delivered: 0,
                interval: rtt,
            }),
            coding: CodingFeedback::default(),
            group: Group {
                subflows: &[own, sibling],
                me: 0,
            },
        });
    }

    fn lose(&mut self, packets: u32, age: Duration, ecn: bool) {
        self.control.on_congestion_event(&CongestionEvent {
            now: self.now,
            sent_at: self.now.checked_sub(age).unwrap_or(self.now),
            packets,
            runs: 1,
            ecn,
            coding: CodingFeedback::default(),
            rtt: &self.rtt,
            group: Group::ALONE,
        });
    }
}

/// Lets `events` happen; `check` sees the controller after each step.
pub(in crate::delay) fn run(
    events: &[Event],
    mut check: impl FnMut(&Delay) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut world = World {
        control: Delay::new(MSS, 20),
        now: epoch() + Duration::from_secs(1),
        rtt: RttEstimator::new(Duration::from_millis(100)),
        mss: MSS,
        route: 0,
        way_back: None,
    };
    for event in events {
        match *event {
            Event::Ack {
                rtt_us,
                wait_us,
                packets,
                rate,
                app_limited,
                sibling_drains,
            } => {
                world.now += Duration::from_micros(wait_us);
                let rtt = Duration::from_micros(rtt_us);
                world.ack(rtt, packets, rate, (app_limited, sibling_drains));
            }
            Event::Rounds {
                count,
                queue_ms,
                lost,
            } => {
                let later = world.way_back.unwrap_or(0).clamp(0, 1_000_000) as u64;
                for _ in 0..count {
                    let rtt = Duration::from_millis(20 + queue_ms);
                    let rtt = rtt + Duration::from_micros(later);
                    for _ in 0..4 {
                        world.now += rtt / 4;
                        if lost > 0 {
                            world.lose(lost, rtt, false);
                        }
                        world.ack(rtt, 10, Some(1_000_000), (false, Drains::No));
                        check(&world.control)?;
                    }
                }
            }
            Event::Loss {
                packets,
                age_us,
                ecn,
            } => world.lose(packets, Duration::from_micros(age_us), ecn),
            Event::Timeout => world.control.on_timeout(world.now, 1),
            Event::Return => world.control.on_return(world.now),
            Event::Route(route) => world.route = route,
            Event::WayBack(micros) => world.way_back = micros,
            Event::Persistent => world.control.on_persistent_congestion(world.now),
            Event::Mtu(mtu) => {
                world.mss = mtu.max(1);
                world.control.on_mtu_update(mtu);
            }
            Event::Compete => {
                if !matches!(world.control.mode, Mode::Compete(_)) {
                    let window = world.control.window;
                    world.control.compete(window);
                }
            }
        }
        check(&world.control)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::with_cases(500) })]

    #[test]
    fn window_and_pace_stay_within_their_limits(
        events in prop::collection::vec(event(), 1..200),
    ) {
        run(&events, |control| {
            let packets = control.cwnd() as f64 / control.mss;
            // Of siblings that overflow the same place unseen, each paces out a part of that.
            let is_one_of_several = control.overflows_unseen() && control.part < 1.0;
            let least = if is_one_of_several { 1.0 } else { MIN_WINDOW };
            prop_assert!((least..=MAX_WINDOW).contains(&control.window), "{:?}", control);
            prop_assert!(!is_one_of_several || packets >= 3.99, "{:?}", control);
            // An eighth to a quarter more leaves room for acknowledgements that come together.
            prop_assert!((2.0..=1.25 * MAX_WINDOW + 1.0).contains(&packets), "{:?}", control);
            for value in [
                control.rate, control.rate_max, control.delivered_max, control.delivered_mean,
                control.queue_delay, control.srtt, control.held_up, control.evidence.baseline(),
            ] {
                prop_assert!(value.is_finite() && value >= 0.0, "{:?}", control);
            }
            prop_assert!(control.evidence.baseline() <= 1.0, "{:?}", control);
            prop_assert!((0.0..=1.0).contains(&control.evidence.congestion()), "{:?}", control);
            if let Some(rate) = control.pacing_rate() {
                prop_assert!((1..u64::MAX).contains(&rate), "{:?}", control);
            }
            Ok(())
        })?;
    }

    #[test]
    fn packets_are_held_back_for_three_rounds_at_most(
        events in prop::collection::vec(event(), 1..200),
    ) {
        let (mut rounds, mut start) = (0, None);
        run(&events, |control| {
            if !control.holds_back() {
                rounds = 0;
            } else if start.is_some() && control.round.started_at() != start {
                rounds += 1;
            }
            start = control.round.started_at();
            prop_assert!(rounds <= 3, "{:?}", control);
            prop_assert!(!matches!(control.mode, Mode::Startup(_)) || rounds == 0);
            Ok(())
        })?;
    }
}
