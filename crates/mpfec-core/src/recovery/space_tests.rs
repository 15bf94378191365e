//! Scenes for the packet space: acknowledgement, loss, silence and lies.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::sent::LossCause;
use super::super::{Burst, Lost, Token, is_persistent_congestion};
use super::*;
use crate::component::Tokens;

const SIZE: u16 = 1200;
const LOSS_DELAY: Duration = Duration::from_millis(45);

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn packet(sent_at: Instant) -> SentPacket<()> {
    SentPacket {
        sent_at,
        size: SIZE,
        eliciting: Eliciting::Soon,
        in_flight: true,
        tokens: Tokens::new(),
        delivery: (),
    }
}

fn quiet(sent_at: Instant) -> SentPacket<()> {
    SentPacket {
        eliciting: Eliciting::No,
        in_flight: false,
        ..packet(sent_at)
    }
}

fn mtu_probe(sent_at: Instant) -> SentPacket<()> {
    let tokens = Tokens::from_iter([Token::MtuProbe { size: 1400 }]);
    SentPacket {
        in_flight: false,
        tokens,
        ..packet(sent_at)
    }
}

/// A space with `count` packets, 1 ms apart.
fn sent(epoch: Instant, count: u32) -> PacketSpace<()> {
    let mut space = PacketSpace::new();
    for index in 0..count {
        send(&mut space, packet(epoch + ms(1) * index));
    }
    space
}

fn send(space: &mut PacketSpace<()>, packet: SentPacket<()>) -> u64 {
    let number = space.next_packet_number(0);
    space.on_sent(number, packet);
    number
}

fn ack(space: &mut PacketSpace<()>, ranges: &[RangeInclusive<u64>]) -> Vec<(u64, bool, u64)> {
    let mut acked = Vec::new();
    let largest = *ranges[0].end();
    space
        .on_ack(ranges.iter().cloned(), largest, &mut acked)
        .unwrap();
    acked
        .into_iter()
        .map(|acked| {
            (
                acked.packet_number,
                acked.was_lost.is_some(),
                acked.overtaken_by,
            )
        })
        .collect()
}

fn detect(space: &mut PacketSpace<()>, now: Instant) -> Vec<(u64, LossCause)> {
    let mut lost = Vec::new();
    space.detect_lost(now, 3, LOSS_DELAY, &mut lost);
    lost.into_iter()
        .map(|lost| (lost.packet_number, lost.cause))
        .collect()
}

#[test]
fn an_acknowledged_packet_leaves_flight_once() {
    let mut space = sent(epoch(), 4);
    assert_eq!(space.bytes_in_flight(), 4 * u64::from(SIZE));
    assert_eq!(ack(&mut space, &[1..=2]), [(1, false, 0), (2, false, 0)]);
    assert_eq!(ack(&mut space, &[2..=2]), []);
    assert_eq!(
        (space.bytes_in_flight(), space.largest_acked()),
        (2 * u64::from(SIZE), Some(2))
    );
}

#[test]
fn a_packet_three_behind_is_lost_and_one_less_far_behind_becomes_so_with_time() {
    let epoch = epoch();
    let mut space = sent(epoch, 6);
    ack(&mut space, &[4..=4]);
    assert_eq!(
        detect(&mut space, epoch + ms(10)),
        [(0, LossCause::Reordering), (1, LossCause::Reordering)]
    );
    assert_eq!(space.loss_time(), Some(epoch + ms(2) + LOSS_DELAY));
    assert_eq!(
        detect(&mut space, epoch + ms(2) + LOSS_DELAY),
        [(2, LossCause::Time)]
    );
    assert_eq!(
        detect(&mut space, epoch + ms(3) + LOSS_DELAY),
        [(3, LossCause::Time)]
    );
    assert_eq!(
        space.loss_time(),
        None,
        "nothing later than 5 is acknowledged"
    );
    assert_eq!(space.bytes_in_flight(), u64::from(SIZE));
}

#[test]
fn what_later_packets_overtook_in_a_silence_is_lost_and_told_of_once() {
    let epoch = epoch();
    let mut space = sent(epoch, 10);
    let silent = epoch + ms(200);
    let mut lost = Vec::new();
    space.declare_all_lost(silent, &mut lost);
    assert_eq!(lost.len(), 10);
    send(&mut space, packet(silent));
    let mut acked = Vec::new();
    // 0 to 3, 5 and 6 did not arrive; 8 and 9 may be on their way still.
    space
        .on_ack([4..=4, 7..=7].into_iter(), 7, &mut acked)
        .unwrap();
    let burst = Burst {
        given_up_from: silent,
        sent_before: epoch + ms(6),
    };
    let (packets, runs) = space.take_lost_in_silence(burst, 7);
    assert_eq!((packets, runs), (5, 2), "6 left too late");
    assert_eq!(space.take_lost_in_silence(burst, 7), (0, 0));
    space.on_ack([9..=10].into_iter(), 10, &mut acked).unwrap();
    let all = Burst {
        sent_before: silent,
        ..burst
    };
    let later = Burst {
        given_up_from: silent + ms(1),
        ..all
    };
    assert_eq!(space.take_lost_in_silence(all, 3), (0, 0), "an old answer");
    assert_eq!(space.take_lost_in_silence(all, 9), (1, 1));
    assert_eq!(space.take_lost_in_silence(later, 10), (0, 0));
}

#[test]
fn without_any_acknowledgement_nothing_is_lost_but_by_silence() {
    let epoch = epoch();
    let mut space = sent(epoch, 3);
    send(&mut space, quiet(epoch + ms(3)));
    assert_eq!(detect(&mut space, epoch + ms(5000)), []);
    let mut lost = Vec::new();
    space.declare_all_lost(epoch + ms(5000), &mut lost);
    assert_eq!(
        lost.iter()
            .map(|lost| lost.packet_number)
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(lost.iter().all(|lost| lost.cause == LossCause::Silence));
    assert_eq!(
        (
            space.bytes_in_flight(),
            space.ack_eliciting_in_flight(),
            space.oldest_unacked()
        ),
        (0, false, None)
    );
}

#[test]
fn a_late_acknowledgement_of_a_lost_packet_is_reported_once_until_it_is_forgotten() {
    let epoch = epoch();
    let mut space = sent(epoch, 10);
    ack(&mut space, &[9..=9]);
    assert_eq!(detect(&mut space, epoch + ms(10)).len(), 7);
    assert_eq!(ack(&mut space, &[4..=5]), [(4, true, 5), (5, true, 4)]);
    assert_eq!(ack(&mut space, &[4..=5]), []);
    space.forget_lost(epoch + ms(109), ms(100));
    assert_eq!(ack(&mut space, &[0..=0]), [(0, true, 9)]);
    space.forget_lost(epoch + ms(110), ms(100));
    assert_eq!(ack(&mut space, &[1..=3]), []);
}

#[test]
fn acknowledging_what_was_never_sent_is_an_error() {
    let mut space = sent(epoch(), 3);
    for range in [3..=3, 0..=3, 7..=9] {
        let error = space
            .on_ack([range.clone()].into_iter(), *range.end(), &mut Vec::new())
            .unwrap_err();
        assert_eq!(error.code, TransportError::PROTOCOL_VIOLATION);
    }
}

#[test]
fn acknowledging_a_skipped_number_is_an_error() {
    let mut space = sent(epoch(), 200);
    let skipped: Vec<u64> = (0..space.end())
        .filter(|number| space.get(*number).is_none())
        .collect();
    assert_eq!(skipped, [32, 64, 128]);
    assert_eq!(
        ack(&mut space, &[129..=150, 65..=127, 33..=63, 0..=31]).len(),
        148
    );
    for range in [32..=32, 60..=70, 0..=150] {
        let error = space
            .on_ack([range.clone()].into_iter(), *range.end(), &mut Vec::new())
            .unwrap_err();
        assert_eq!(error.code, TransportError::PROTOCOL_VIOLATION);
    }
}

#[test]
fn a_number_asked_for_but_not_used_is_given_out_again() {
    let mut space = PacketSpace::<()>::new();
    for expected in 0..1000 {
        let number = space.next_packet_number(expected * 7919);
        assert_eq!(space.next_packet_number(1), number);
        space.on_sent(number, packet(epoch()));
    }
}

#[test]
fn the_oldest_awaited_packet_is_neither_quiet_nor_a_probe() {
    let epoch = epoch();
    let mut space = PacketSpace::new();
    send(&mut space, quiet(epoch));
    send(&mut space, mtu_probe(epoch + ms(1)));
    assert_eq!(
        (space.oldest_unacked(), space.last_ack_eliciting_sent()),
        (None, None)
    );
    for index in 2..5 {
        send(&mut space, packet(epoch + ms(index)));
    }
    assert_eq!(space.oldest_unacked(), Some(epoch + ms(2)));
    ack(&mut space, &[2..=2]);
    assert_eq!(space.oldest_unacked(), Some(epoch + ms(3)));
    ack(&mut space, &[3..=4]);
    assert_eq!(
        (space.oldest_unacked(), space.last_ack_eliciting_sent()),
        (None, Some(epoch + ms(4)))
    );
}

#[test]
fn a_host_that_only_acknowledges_keeps_bounded_records() {
    let epoch = epoch();
    let mut space = sent(epoch, 1);
    ack(&mut space, &[0..=0]);
    for index in 0..50_000 {
        send(&mut space, quiet(epoch + ms(index)));
    }
    assert!(
        space.slots.len() <= MAX_QUIET + 1,
        "{} records",
        space.slots.len()
    );
}

#[test]
fn an_unanswered_mtu_probe_before_nothing_but_acknowledgements_is_lost_in_the_end() {
    let epoch = epoch();
    let mut space = PacketSpace::new();
    let probe = send(&mut space, mtu_probe(epoch));
    let mut lost = Vec::new();
    for index in 1..3000 {
        let now = epoch + ms(index);
        send(&mut space, quiet(now));
        if space.loss_time().is_some_and(|at| now >= at) {
            lost.extend(detect(&mut space, now));
        }
    }
    assert_eq!(lost, [(probe, LossCause::Time)]);
    assert!(
        space.slots.len() <= MAX_QUIET + 1,
        "{} records",
        space.slots.len()
    );
}

#[test]
fn losses_that_span_the_period_are_persistent_congestion_unless_one_arrived_between() {
    let epoch = epoch();
    let lost = |numbers: &[u64]| -> Vec<Lost<()>> {
        let lost = |&number: &u64| Lost {
            packet_number: number,
            packet: packet(epoch + ms(100 * number)),
            cause: LossCause::Time,
        };
        numbers.iter().map(lost).collect()
    };
    assert!(is_persistent_congestion(
        &lost(&[1, 2, 3, 4]),
        Some(epoch),
        ms(300)
    ));
    assert!(!is_persistent_congestion(
        &lost(&[1, 2, 3, 4]),
        None,
        ms(300)
    ));
    assert!(!is_persistent_congestion(
        &lost(&[1, 2, 3, 4]),
        Some(epoch + ms(150)),
        ms(300)
    ));
    assert!(!is_persistent_congestion(
        &lost(&[1, 2, 4, 5]),
        Some(epoch),
        ms(300)
    ));
    assert!(is_persistent_congestion(
        &lost(&[1, 3, 4, 5, 6]),
        Some(epoch),
        ms(300)
    ));
}

/// What each packet that was sent is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Lost,
    Acked,
}

#[derive(Debug, Clone)]
enum Step {
    Send(u8),
    /// Acknowledge numbers back from the newest: pairs of how many to leave out and to take.
    Ack(Vec<(u64, u64)>),
    Detect,
    Silence,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1_u8..20).prop_map(Step::Send),
        6 => prop::collection::vec((1_u64..6, 1_u64..6), 1..5).prop_map(Step::Ack),
        4 => Just(Step::Detect),
        1 => Just(Step::Silence),
    ]
}

proptest! {
    #[test]
    fn every_packet_is_lost_at_most_once_and_acknowledged_at_most_once(
        steps in prop::collection::vec(step(), 1..80),
        threshold in 3_u64..10,
        seed in any::<u64>(),
    ) {
        let epoch = epoch();
        let (mut space, mut now) = (PacketSpace::new(), epoch);
        let mut model: BTreeMap<u64, (Instant, Fate)> = BTreeMap::new();
        let mut largest_acked = None;
        for step in steps {
            now += ms(7);
            let (mut acked, mut lost) = (Vec::new(), Vec::new());
            match step {
                Step::Send(count) => for _ in 0..count {
                    let number = space.next_packet_number(seed);
                    space.on_sent(number, packet(now));
                    prop_assert!(model.insert(number, (now, Fate::Open)).is_none());
                },
                Step::Ack(pairs) => {
                    let (mut end, mut ranges) = (space.end(), Vec::new());
                    for (gap, length) in pairs {
                        let Some(high) = end.checked_sub(gap) else { break };
                        end = high.saturating_sub(length - 1);
                        // An honest peer: only numbers that were used.
                        ranges.extend((end..=high).rev().filter(|number| model.contains_key(number)).map(|n| n..=n));
                    }
                    let Some(largest) = ranges.first().map(|range| *range.end()) else { continue };
                    space.on_ack(ranges.iter().cloned(), largest, &mut acked).unwrap();
                    let mut expected: Vec<_> = ranges.iter().map(|range| *range.end())
                        .filter_map(|number| Some((number, model.insert(number, (now, Fate::Acked))?.1)))
                        .filter(|(_, before)| *before != Fate::Acked)
                        .map(|(number, before)| {
                            (number, before == Fate::Lost, largest_acked.map_or(0, |l: u64| l.saturating_sub(number)))
                        })
                        .collect();
                    expected.sort_unstable();
                    let mut got: Vec<_> =
                        acked.iter().map(|acked| (acked.packet_number, acked.was_lost.is_some(), acked.overtaken_by)).collect();
                    got.sort_unstable();
                    prop_assert_eq!(got, expected);
                    largest_acked = largest_acked.max(Some(largest));
                }
                Step::Detect | Step::Silence => {
                    let silence = matches!(step, Step::Silence);
                    if silence {
                        space.declare_all_lost(now, &mut lost);
                    } else {
                        space.detect_lost(now, threshold, LOSS_DELAY, &mut lost);
                    }
                    let mut loss_time = None;
                    let expected: Vec<u64> = model.iter_mut().filter_map(|(number, (sent_at, fate))| {
                        let behind = largest_acked.map_or(0, |largest| largest.saturating_sub(*number));
                        if *fate != Fate::Open || (behind == 0 && !silence) {
                            return None;
                        }
                        if silence || behind >= threshold || *sent_at + LOSS_DELAY <= now {
                            *fate = Fate::Lost;
                            return Some(*number);
                        }
                        loss_time.get_or_insert(*sent_at + LOSS_DELAY);
                        None
                    }).collect();
                    prop_assert_eq!(lost.iter().map(|lost| lost.packet_number).collect::<Vec<_>>(), expected);
                    prop_assert_eq!(space.loss_time(), loss_time);
                }
            }
            let open = || model.values().filter(|(_, fate)| *fate == Fate::Open);
            prop_assert_eq!(space.bytes_in_flight(), open().count() as u64 * u64::from(SIZE));
            prop_assert_eq!(space.ack_eliciting_in_flight(), open().count() > 0);
            prop_assert_eq!(space.oldest_unacked(), open().next().map(|(sent_at, _)| *sent_at));
            prop_assert_eq!(space.largest_acked(), largest_acked);
        }
    }
}

/// Packets leave 1 ms apart, and so many bytes at most are asked for.
#[test]
fn packets_awaited_for_too_long_are_counted_from_the_oldest_and_when_there_is_one_more() {
    let epoch = epoch();
    let mut space = sent(epoch, 6);
    send(&mut space, quiet(epoch + ms(6)));
    send(&mut space, mtu_probe(epoch + ms(7)));
    let all = u64::MAX;
    let counted = |space: &PacketSpace<()>, now: u64, from: u64, bytes: u64| {
        let overdue = Overdue {
            age: ms(40),
            pause: Duration::ZERO,
            bytes,
        };
        let (bytes, next) = space.overdue(epoch + ms(now), &overdue, epoch + ms(from));
        (
            bytes / u64::from(SIZE),
            next.map(|at| (at - epoch).as_millis()),
        )
    };
    assert_eq!(counted(&space, 39, 0, all), (0, Some(40)));
    assert_eq!(counted(&space, 42, 0, all), (3, Some(43)));
    assert_eq!(counted(&space, 42, 50, all), (0, Some(50)));
    assert_eq!(counted(&space, 50, 50, all), (6, None));
    ack(&mut space, &[3..=3, 1..=1]);
    assert_eq!(counted(&space, 42, 0, all), (2, Some(44)));
    assert_eq!(counted(&space, 44, 0, 2 * u64::from(SIZE)), (2, None));
    assert_eq!(counted(&space, 42, 0, 2 * u64::from(SIZE)), (2, None));
    ack(&mut space, &[4..=5, 2..=2, 0..=0]);
    assert_eq!(counted(&space, 60, 0, all), (0, None));
}
