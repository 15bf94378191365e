use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::component::FrameWriter;
use crate::parity::ParitySender;
use crate::wire::frame::{Frame, Frames};

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

/// A payload as a packet may have it: no two are alike.
fn payload(number: u64, length: usize) -> Bytes {
    let bytes = (0..length).map(|at| ((number % 1009) as usize * 31 + at * 7 + at / 251) as u8);
    bytes.collect::<Vec<_>>().into()
}

fn parity(numbers: &[(u64, usize)]) -> Parity {
    let mut sender = ParitySender::adaptive(0.01, 0.33);
    for (number, length) in numbers {
        sender.on_sent(epoch(), *number, &payload(*number, *length), 9000);
    }
    take(&mut sender).expect("packets were covered")
}

fn take(sender: &mut ParitySender) -> Option<Parity> {
    let mut buf = Vec::new();
    sender.write(&mut FrameWriter::new(&mut buf, 9000));
    match Frames::new(Bytes::from(buf)).next()? {
        Ok(Frame::Parity(parity)) => Some(parity),
        other => panic!("{other:?} in place of a parity"),
    }
}

/// One end that receives, and what it has.
#[derive(Default)]
struct End {
    receiver: Option<ParityReceiver>,
    has: BTreeMap<u64, Bytes>,
}

impl End {
    fn receiver(&mut self) -> &mut ParityReceiver {
        self.receiver.get_or_insert_with(ParityReceiver::new)
    }

    fn packet(&mut self, number: u64, length: usize) {
        let payload = payload(number, length);
        if let Entry::Vacant(entry) = self.has.entry(number) {
            entry.insert(payload.clone());
            let rebuilt = self.receiver().on_packet(number, &payload);
            self.note(rebuilt.expect("honest packets"));
        }
    }

    fn parity(&mut self, carrier: u64, parity: &Parity) -> Result<(), TransportError> {
        let known: BTreeSet<u64> = self.has.keys().copied().collect();
        let rebuilt = self
            .receiver()
            .on_parity(carrier, parity, |number| known.contains(&number))?;
        self.note(rebuilt);
        Ok(())
    }

    fn note(&mut self, rebuilt: Option<Rebuilt>) {
        if let Some(rebuilt) = rebuilt {
            let was = self.has.insert(rebuilt.packet_number, rebuilt.payload);
            assert_eq!(was, None, "a packet rebuilt that was there");
        }
    }
}

const GROUP: [(u64, usize); 5] = [(3, 900), (4, 20), (6, 1400), (7, 1400), (8, 1)];

#[test]
fn any_one_missing_packet_comes_back_bit_for_bit() {
    for (missing, length) in GROUP {
        let mut end = End::default();
        for (number, length) in GROUP {
            if number != missing {
                end.packet(number, length);
            }
        }
        end.parity(9, &parity(&GROUP)).expect("an honest parity");
        assert_eq!(end.has.get(&missing), Some(&payload(missing, length)));
        assert_eq!(end.receiver().report(), Some((1, missing)));
    }
}

#[test]
fn two_missing_packets_come_back_when_one_of_them_was_only_late() {
    let mut end = End::default();
    for (number, length) in &GROUP[2..] {
        end.packet(*number, *length);
    }
    end.parity(9, &parity(&GROUP)).expect("an honest parity");
    assert_eq!(end.has.len(), 3);
    assert_eq!(end.receiver().report(), None);
    end.packet(4, 20);
    assert_eq!(end.has.get(&3), Some(&payload(3, 900)));
}

#[test]
fn parity_that_comes_first_of_all_waits_for_the_packets() {
    let mut end = End::default();
    end.parity(9, &parity(&GROUP)).expect("an honest parity");
    for (number, length) in &GROUP[1..] {
        end.packet(*number, *length);
    }
    assert_eq!(end.has.get(&3), Some(&payload(3, 900)));
}

#[test]
fn parity_over_what_is_there_changes_nothing() {
    let mut end = End::default();
    for (number, length) in GROUP {
        end.packet(number, length);
    }
    end.parity(9, &parity(&GROUP)).expect("an honest parity");
    end.parity(10, &parity(&GROUP)).expect("the same again");
    assert_eq!((end.has.len(), end.receiver().rebuilt()), (5, 0));
    assert_eq!(end.receiver().bytes, 0, "what was covered is dropped");
}

#[test]
fn the_report_is_written_twice_after_each_change() {
    let mut end = End::default();
    end.packet(1, 10);
    end.parity(3, &parity(&[(1, 10), (2, 10)])).expect("honest");
    assert_eq!(end.receiver().report(), Some((1, 2)));
    assert_eq!(end.receiver().report(), Some((1, 2)));
    assert_eq!(end.receiver().report(), None);
}

#[test]
fn parity_that_contradicts_itself_or_what_it_covers_is_refused() {
    let honest = parity(&[(1, 10), (2, 30)]);
    let with = |change: &dyn Fn(&mut Parity)| {
        let mut parity = honest.clone();
        change(&mut parity);
        let mut end = End::default();
        end.packet(1, 10);
        end.parity(3, &parity).map(|()| end.has.len())
    };
    assert_eq!(with(&|_| {}), Ok(2));
    let lies: [&dyn Fn(&mut Parity); 4] = [
        // Longer than its data; nothing at all; padding that is none; shorter than what it covers.
        &|parity| parity.lengths = 10 ^ 31,
        &|parity| parity.lengths = 10,
        &|parity| parity.lengths = 10 ^ 29,
        &|parity| parity.data = parity.data.slice(..9),
    ];
    for (index, lie) in lies.into_iter().enumerate() {
        assert!(with(lie).is_err(), "lie {index}");
    }
    let mut end = End::default();
    assert!(end.parity(2, &honest).is_err(), "it covers itself");
}

#[test]
fn memory_stays_bounded_whatever_arrives() {
    let mut end = End::default();
    for number in 0..5000 {
        end.packet(number, if number % 7 == 0 { 9000 } else { 60 });
        assert!(end.receiver().bytes <= MAX_BYTES);
    }
    for group in 0..100 {
        let first = 10_000 + 4 * group;
        let covered = [(first, 1400), (first + 1, 1400), (first + 2, 1400)];
        end.parity(first + 3, &parity(&covered)).expect("honest");
        assert!(end.receiver().waiting.len() <= MAX_WAITING);
    }
    // Numbers far apart, and back again.
    for number in [1 << 40, 1 << 61, 9, (1 << 61) - 600, (1 << 61) - 100] {
        end.packet(number, 1000);
    }
    let kept = end.receiver().payloads.iter().flatten();
    assert_eq!(
        kept.map(|(_, payload)| payload.len()).sum::<usize>(),
        end.receiver().bytes
    );
}

#[test]
fn a_payload_goes_into_one_parity_only() {
    // Parities that all cover the same 255 packets and one that never was would otherwise cost
    // 255 times what they bring.
    let mut end = End::default();
    for number in 0..200 {
        end.packet(number, 100);
    }
    let all: Vec<_> = (0..201).map(|number| (number, 100)).collect();
    end.parity(300, &parity(&all)).expect("honest");
    assert_eq!((end.has.len(), end.receiver().bytes), (201, 0));
    for number in 201..210 {
        let mut again = all.clone();
        again[200].0 = number;
        end.parity(301, &parity(&again)).expect("not wrong");
    }
    assert_eq!(
        end.has.len(),
        201,
        "the rest is gone and not added up again"
    );
}

/// What happens to packets on their way: lost, or late by so many packets.
fn fates() -> impl Strategy<Value = Vec<(bool, u64)>> {
    let fate = (
        prop::bool::weighted(0.08),
        prop_oneof![5 => Just(0), 1 => 0_u64..12],
    );
    proptest::collection::vec(fate, 1..300)
}

proptest! {
    /// Whatever is lost and however late the rest, what comes back is what was sent; and where
    /// one packet of a group is missing and the parity is there, it does come back.
    #[test]
    fn every_single_loss_of_a_group_is_repaired(
        fates in fates(),
        lengths in proptest::collection::vec(1_usize..1400, 300),
        skips in proptest::collection::vec(prop::bool::weighted(0.03), 300),
    ) {
        let mut sender = ParitySender::adaptive(0.01, 0.33);
        let (mut number, mut group) = (0, Vec::new());
        // Arrival time, number, length or parity; and what must be there in the end.
        let mut arrivals: Vec<(u64, u64, usize, Option<Parity>)> = Vec::new();
        let (mut groups, mut sent) = (Vec::new(), BTreeMap::new());
        for (at, (is_lost, late)) in fates.iter().enumerate() {
            number += 1 + u64::from(skips[at]);
            if sender.is_due(epoch(), Duration::ZERO) {
                let parity = take(&mut sender).expect("it is due");
                let covered: Vec<u64> = parity.covered.iter().collect();
                prop_assert_eq!(&covered, &group);
                groups.push((std::mem::take(&mut group), !is_lost));
                if !is_lost {
                    arrivals.push((number + late, number, 0, Some(parity)));
                }
                continue;
            }
            let length = lengths[at];
            sender.on_sent(epoch(), number, &payload(number, length), 9000);
            group.push(number);
            sent.insert(number, length);
            if !is_lost {
                arrivals.push((number + late, number, length, None));
            }
        }
        arrivals.sort_by_key(|arrival| (arrival.0, arrival.1));
        let arrived: BTreeSet<u64> = arrivals.iter().map(|arrival| arrival.1).collect();
        let mut end = End::default();
        for (_, number, length, parity) in arrivals {
            match parity {
                Some(parity) => end.parity(number, &parity).expect("an honest parity"),
                None => end.packet(number, length),
            }
        }
        for (number, bytes) in &end.has {
            prop_assert_eq!(bytes, &payload(*number, sent[number]), "packet {}", number);
        }
        for (group, has_parity) in groups {
            let missing: Vec<_> = group.iter().filter(|number| !arrived.contains(number)).collect();
            if has_parity && missing.len() == 1 {
                prop_assert!(end.has.contains_key(missing[0]), "{:?} of {:?}", missing, group);
            }
        }
    }
}
