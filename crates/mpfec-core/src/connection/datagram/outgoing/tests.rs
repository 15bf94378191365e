use std::time::Duration;

use super::*;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn who_waits_for_room_hears_of_it_although_another_message_made_it() {
    let now = Instant::now();
    let mut outgoing = Outgoing::new(10);
    let options = |milliseconds| DatagramOptions {
        deadline: Some(Duration::from_millis(milliseconds)),
        redundancy: DatagramRedundancy::Never,
    };
    let mut send = |now, bytes: &'static [u8], milliseconds| {
        outgoing.send(now, Bytes::from_static(bytes), &options(milliseconds))
    };
    assert_eq!(send(now, &[0; 10], 1), Ok(()));
    assert_eq!(send(now, &[0; 5], 1), Err(SendDatagramError::Blocked));
    let later = now + Duration::from_millis(10);
    assert_eq!(send(later, &[0; 2], 1000), Ok(()));
    assert!(outgoing.drop_late(later));
    assert!(!outgoing.drop_late(later), "once is enough");
}

fn way(path: u32, largest: usize) -> Way {
    Way {
        path,
        wait: 0.0,
        delay: 0.01,
        answer: 0.03,
        seconds_per_byte: 1e-6,
        loss: 0.0,
        largest,
    }
}

fn send(outgoing: &mut Outgoing, data: &'static [u8], redundancy: DatagramRedundancy) {
    let options = DatagramOptions {
        deadline: None,
        redundancy,
    };
    let sent = outgoing.send(epoch(), Bytes::from_static(data), &options);
    assert_eq!(sent, Ok(()));
}

/// Bytes that leave in a packet on the first way.
fn leave(outgoing: &mut Outgoing, ways: &[Way]) -> usize {
    let mut packet = Vec::new();
    let room = ways[0].largest + 3;
    let mut writer = FrameWriter::new(&mut packet, room);
    outgoing.write(epoch(), ways[0].path, ways, true, &mut writer);
    packet.len()
}

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

#[test]
fn a_message_that_fits_only_without_its_number_holds_up_no_other() {
    let mut outgoing = Outgoing::new(1000);
    send(&mut outgoing, &[1; 95], DatagramRedundancy::InTime);
    send(&mut outgoing, &[2; 60], DatagramRedundancy::Never);
    // The other path has room for it.
    let ways = [way(0, 100), way(1, 200)];
    assert!((60..95).contains(&leave(&mut outgoing, &ways)));
    assert_eq!(outgoing.counters.dropped, 0);
    send(&mut outgoing, &[2; 60], DatagramRedundancy::Never);
    assert!((60..95).contains(&leave(&mut outgoing, &ways[..1])));
    assert_eq!(outgoing.counters.dropped, 1);
}

#[test]
fn a_copy_takes_the_path_of_the_first_if_no_other_has_room_any_more() {
    let mut outgoing = Outgoing::new(1000);
    send(&mut outgoing, &[1; 80], DatagramRedundancy::Always);
    assert!(leave(&mut outgoing, &[way(0, 100), way(1, 200)]) > 80);
    assert!(leave(&mut outgoing, &[way(0, 100), way(1, 50)]) > 80);
    assert_eq!(outgoing.counters.repeated, 1);
    assert!(!outgoing.has_waiting());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn empty_messages_wait_in_bounded_number_as_well() {
    let now = Instant::now();
    let mut outgoing = Outgoing::new(1 << 20);
    let options = DatagramOptions {
        deadline: Some(Duration::from_millis(1)),
        redundancy: DatagramRedundancy::Never,
    };
    let mut send = |now| outgoing.send(now, Bytes::new(), &options);
    let sent = (0..=MAX_WAITING).take_while(|_| send(now).is_ok()).count();
    assert_eq!(sent, MAX_WAITING);
    let later = now + Duration::from_millis(10);
    assert_eq!(send(later), Ok(()), "what is late makes room");
    assert!(outgoing.drop_late(later));
}
