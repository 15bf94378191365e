use proptest::prelude::*;

use super::*;
use crate::crypto::pair::connected;

const PTO: Duration = Duration::from_millis(100);

#[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
fn epoch() -> Instant {
    Instant::now()
}

/// A packet with an eight-byte connection ID and a four-byte number.
fn sealed(keys: &mut OneRttKeys, path: u32, number: u64, payload: &[u8]) -> Vec<u8> {
    let mut buf = vec![0xee; 5];
    let marks = Marks {
        start: 5,
        packet_number_at: 14,
        payload_at: 18,
        is_long: false,
    };
    buf.push(0x43);
    buf.extend_from_slice(&[7; 8]);
    buf.extend_from_slice(&u32::try_from(number).expect("small numbers").to_be_bytes());
    buf.extend_from_slice(payload);
    keys.seal_packet(path, number, &marks, &mut buf)
        .expect("far from the limit");
    buf.split_off(5)
}

fn open(
    keys: &mut OneRttKeys,
    now: Instant,
    path: u32,
    packet: &[u8],
) -> Result<Vec<u8>, OpenError> {
    let mut packet = packet.to_vec();
    let opened = keys.open_packet(now, path, &mut packet, 9, None, PTO)?;
    assert!(opened.reserved_ok);
    Ok(packet[opened.payload].to_vec())
}

/// One packet each way arrives and is acknowledged.
fn confirm(one: &mut OneRttKeys, other: &mut OneRttKeys, now: Instant, number: u64) {
    let packet = sealed(one, 0, number, b"ping");
    open(other, now, 0, &packet).expect("authentic");
    let packet = sealed(other, 0, number, b"pong");
    open(one, now, 0, &packet).expect("authentic");
    one.on_acked(0, number);
    other.on_acked(0, number);
}

#[test]
fn packets_of_every_path_open_on_that_path_only() {
    let (mut client, mut server) = connected();
    let now = epoch();
    for path in [0, 1, 7, u32::MAX] {
        let packet = sealed(&mut client, path, 3, b"hello");
        assert_eq!(open(&mut server, now, path, &packet), Ok(b"hello".to_vec()));
        let elsewhere = open(&mut server, now, path ^ 1, &packet);
        assert_eq!(elsewhere, Err(OpenError::Authentication));
    }
}

#[test]
fn a_change_of_any_byte_is_noticed() {
    let (mut client, mut server) = connected();
    let packet = sealed(&mut client, 1, 3, b"a payload of some length");
    for at in 0..packet.len() {
        let mut packet = packet.clone();
        packet[at] ^= 0x01;
        let opened = open(&mut server, epoch(), 1, &packet);
        assert_eq!(opened, Err(OpenError::Authentication), "byte {at}");
    }
    assert_eq!(server.rejected, packet.len() as u64);
}

#[test]
fn our_own_packets_reflected_do_not_open() {
    let (mut client, _) = connected();
    let packet = sealed(&mut client, 0, 3, b"hello");
    assert_eq!(
        open(&mut client, epoch(), 0, &packet),
        Err(OpenError::Authentication)
    );
}

#[test]
fn both_sides_follow_a_key_update_and_late_packets_still_open() {
    let (mut client, mut server) = connected();
    let now = epoch();
    confirm(&mut client, &mut server, now, 0);
    let late = sealed(&mut client, 0, 1, b"late");
    let late_on_two = sealed(&mut client, 2, 1, b"late on path 2");

    assert!(client.initiate_update());
    let first = sealed(&mut client, 0, 2, b"new");
    assert_eq!(open(&mut server, now, 0, &first), Ok(b"new".to_vec()));
    assert!(server.key_phase());
    assert_eq!(open(&mut server, now, 0, &late), Ok(b"late".to_vec()));
    assert_eq!(
        open(&mut server, now, 2, &late_on_two),
        Ok(b"late on path 2".to_vec())
    );

    let answer = sealed(&mut server, 0, 1, b"answer");
    assert_eq!(open(&mut client, now, 0, &answer), Ok(b"answer".to_vec()));
    assert_eq!(client.next_timeout(), Some(now + 3 * PTO));
}

#[test]
fn packets_of_the_phase_before_open_for_three_probe_timeouts() {
    let (mut client, mut server) = connected();
    let now = epoch();
    confirm(&mut client, &mut server, now, 0);
    let late = sealed(&mut client, 0, 1, b"late");
    assert!(client.initiate_update());
    let first = sealed(&mut client, 0, 2, b"new");
    open(&mut server, now, 0, &first).expect("authentic");

    server.on_timeout(now + 3 * PTO - Duration::from_millis(1));
    assert_eq!(open(&mut server, now, 0, &late), Ok(b"late".to_vec()));
    server.on_timeout(now + 3 * PTO);
    assert_eq!(
        open(&mut server, now, 0, &late),
        Err(OpenError::Authentication)
    );
    assert_eq!(server.next_timeout(), None);
}

#[test]
fn updates_that_both_sides_start_at_once_are_one_update() {
    let (mut client, mut server) = connected();
    let now = epoch();
    confirm(&mut client, &mut server, now, 0);
    assert!(client.initiate_update());
    assert!(server.initiate_update());

    confirm(&mut client, &mut server, now, 1);

    assert!(client.key_phase() && server.key_phase());
}

#[test]
fn a_hundred_updates_in_a_row_from_either_side() {
    let (mut client, mut server) = connected();
    let mut now = epoch();
    confirm(&mut client, &mut server, now, 0);
    for number in 1..=100 {
        now += 3 * PTO;
        client.on_timeout(now);
        server.on_timeout(now);
        let updates = if number % 3 == 0 {
            &mut server
        } else {
            &mut client
        };
        assert!(updates.initiate_update(), "update {number}");
        if number % 3 == 0 {
            confirm(&mut server, &mut client, now, number);
        } else {
            confirm(&mut client, &mut server, now, number);
        }
        assert_eq!(client.key_phase(), number % 2 == 1);
        assert_eq!(server.key_phase(), number % 2 == 1);
    }
}

#[test]
fn an_update_waits_for_an_acknowledgement_in_the_phase_and_for_late_packets() {
    let (mut client, mut server) = connected();
    let now = epoch();
    assert!(!client.initiate_update());
    sealed(&mut client, 3, 10, b"");
    client.on_acked(0, 11);
    assert!(
        !client.initiate_update(),
        "an acknowledgement on a path that nothing was sent on"
    );
    confirm(&mut client, &mut server, now, 11);
    assert!(client.initiate_update());
    client.on_acked(0, 11);
    assert!(
        !client.initiate_update(),
        "an acknowledgement of the phase before"
    );
    confirm(&mut client, &mut server, now, 12);
    assert!(!client.initiate_update(), "late packets may still come");
    client.on_timeout(now + 3 * PTO);
    assert!(client.initiate_update());
}

#[test]
fn a_peer_that_updates_twice_without_an_answer_is_an_error() {
    let (mut client, mut server) = connected();
    let now = epoch();
    confirm(&mut client, &mut server, now, 0);
    client.roll();
    let first = sealed(&mut client, 0, 1, b"first");
    open(&mut server, now, 0, &first).expect("authentic");
    client.roll();
    let second = sealed(&mut client, 0, 2, b"second");

    let opened = open(&mut server, now, 0, &second);

    let Err(OpenError::Limit(error)) = opened else {
        panic!("opened: {opened:?}")
    };
    assert_eq!(error.code, TransportError::KEY_UPDATE_ERROR);
}

#[test]
fn a_key_is_replaced_before_it_is_used_up() {
    let (mut client, mut server) = connected();
    client.limits = Limits {
        confidentiality: 20,
        update: 10,
        ..client.limits
    };
    let now = epoch();
    confirm(&mut client, &mut server, now, 0);
    for number in 1..=10 {
        let packet = sealed(&mut client, 0, number, b"data");
        open(&mut server, now, 0, &packet).expect("authentic");
    }
    assert!(client.key_phase() && server.key_phase());
}

#[test]
fn a_key_that_cannot_be_replaced_is_not_overused() {
    let (mut client, _) = connected();
    client.limits = Limits {
        confidentiality: 20,
        update: 10,
        ..client.limits
    };
    for number in 0..20 {
        sealed(&mut client, 0, number, b"data");
    }
    let mut buf = vec![0x43; 40];
    let marks = Marks {
        start: 0,
        packet_number_at: 9,
        payload_at: 13,
        is_long: false,
    };
    let error = client
        .seal_packet(0, 20, &marks, &mut buf)
        .expect_err("the limit is reached");
    assert_eq!(error.code, TransportError::AEAD_LIMIT_REACHED);
    assert_eq!(buf, [0x43; 40]);
}

#[test]
fn the_connection_ends_when_too_many_packets_were_forged() {
    let (_, mut server) = connected();
    server.limits.integrity = 5;
    let mut results = (0..5).map(|_| open(&mut server, epoch(), 0, &[0x40; 60]));
    assert!(
        results
            .by_ref()
            .take(4)
            .all(|result| result == Err(OpenError::Authentication))
    );
    let Some(Err(OpenError::Limit(error))) = results.next() else {
        panic!("still open")
    };
    assert_eq!(error.code, TransportError::AEAD_LIMIT_REACHED);
}

#[test]
fn a_crowd_of_paths_takes_no_more_room() {
    let (mut client, mut server) = connected();
    for path in 0..1000 {
        let packet = sealed(&mut client, path, 0, b"hello");
        open(&mut server, epoch(), path, &packet).expect("authentic");
    }
    assert_eq!(client.paths.len(), MAX_PATHS);
    assert_eq!(server.paths.len(), MAX_PATHS);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The client sends on a path.
    Send { path: u32 },
    /// One of the packets under way arrives, however late; the server answers, and the
    /// answer arrives.
    Deliver { which: usize },
    /// One of the packets under way is lost.
    Lose { which: usize },
    /// Either end wants new keys.
    Update { server: bool },
    /// Time passes.
    Wait { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_u32).prop_map(|path| Step::Send { path }),
        4 => any::<usize>().prop_map(|which| Step::Deliver { which }),
        1 => any::<usize>().prop_map(|which| Step::Lose { which }),
        1 => any::<bool>().prop_map(|server| Step::Update { server }),
        1 => (0..400_u64).prop_map(|ms| Step::Wait { ms }),
    ]
}

struct Sent {
    path: u32,
    number: u64,
    packet: Vec<u8>,
    at: Instant,
}

proptest! {
    /// Whatever is lost, late or overtaken while both ends update their keys: each packet
    /// that arrives within three probe timeouts opens, as what was sealed, and neither
    /// end ever has a reason to close.
    #[test]
    fn key_updates_cost_no_packet_that_is_on_time(steps in proptest::collection::vec(step(), 1..200)) {
        let (mut client, mut server) = connected();
        let mut now = epoch();
        let mut under_way: Vec<Sent> = Vec::new();
        for (number, step) in (0..).zip(steps) {
            client.on_timeout(now);
            server.on_timeout(now);
            match step {
                Step::Send { path } => {
                    let packet = sealed(&mut client, path, number, &number.to_be_bytes());
                    under_way.push(Sent { path, number, packet, at: now });
                }
                Step::Deliver { which } if !under_way.is_empty() => {
                    let Sent { path, number, packet, at } = under_way.remove(which % under_way.len());
                    let opened = open(&mut server, now, path, &packet);
                    if opened == Err(OpenError::Authentication) {
                        prop_assert!(now - at >= 3 * PTO, "a packet on time was dropped");
                        continue;
                    }
                    prop_assert_eq!(opened, Ok(number.to_be_bytes().to_vec()));
                    let answer = sealed(&mut server, path, number, b"answer");
                    prop_assert_eq!(open(&mut client, now, path, &answer), Ok(b"answer".to_vec()));
                    client.on_acked(path, number);
                    server.on_acked(path, number);
                }
                Step::Lose { which } if !under_way.is_empty() => {
                    under_way.remove(which % under_way.len());
                }
                Step::Update { server: true } => {
                    server.initiate_update();
                }
                Step::Update { server: false } => {
                    client.initiate_update();
                }
                Step::Wait { ms } => now += Duration::from_millis(ms),
                Step::Deliver { .. } | Step::Lose { .. } => {}
            }
        }
    }
}
