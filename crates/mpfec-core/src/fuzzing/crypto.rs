//! Tickets, and packet protection between two ends in memory.

use std::time::{Duration, Instant};

use crate::crypto::{OneRttKeys, connected};
use crate::endpoint::Ticket;
use crate::wire::header::ShortHeader;
use crate::wire::{ConnectionId, LOCAL_CID_LEN};

/// Reads bytes as the text of a ticket and, given a right checksum, as what the text of a
/// ticket stands for; writes what is a ticket, and reads the same.
///
/// # Panics
/// If what was written reads differently.
pub fn ticket(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_ticket(text);
    }
    check_ticket(&Ticket::text_of(bytes));
}

fn check_ticket(text: &str) {
    if let Ok(ticket) = text.parse::<Ticket>() {
        let again = ticket.to_string();
        assert_eq!(
            again.to_lowercase(),
            text.trim().to_lowercase(),
            "tickets have one form only"
        );
        assert_eq!(again.parse(), Ok(ticket));
    }
}

/// The 1-RTT keys of both ends of a connection.
#[derive(Debug)]
pub struct Link {
    client: OneRttKeys,
    server: OneRttKeys,
}

impl Default for Link {
    fn default() -> Self {
        let (client, server) = connected();
        Self { client, server }
    }
}

impl Link {
    /// Appends a packet with `payload` from the client, sealed for `path`.
    ///
    /// # Panics
    /// If the key has been used as often as it may.
    pub fn seal(&mut self, path: u32, packet_number: u64, payload: &[u8], out: &mut Vec<u8>) {
        let header = ShortHeader {
            dcid: ConnectionId::from([0x5c; LOCAL_CID_LEN]),
            key_phase: self.client.key_phase(),
            packet_number,
            largest_acked: packet_number.checked_sub(200),
        };
        let marks = header.encode(out);
        out.extend_from_slice(payload);
        self.client
            .seal_packet(path, packet_number, &marks, out)
            .expect("far from the limit");
    }

    /// Opens one packet at the server. Returns the length of its payload, if it is authentic.
    pub fn open(
        &mut self,
        now: Instant,
        path: u32,
        packet: &mut [u8],
        largest: Option<u64>,
    ) -> Option<usize> {
        let (at, pto) = (1 + LOCAL_CID_LEN, Duration::from_millis(100));
        let opened = self
            .server
            .open_packet(now, path, packet, at, largest, pto)
            .ok()?;
        Some(opened.payload.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
    fn what_one_end_seals_the_other_opens() {
        let (mut link, mut packet) = (Link::default(), Vec::new());
        link.seal(2, 1000, &[7; 1200], &mut packet);
        assert_eq!(
            link.open(Instant::now(), 2, &mut packet, Some(990)),
            Some(1200)
        );
    }

    proptest! {
        #[test]
        fn no_bytes_fail_the_checks(bytes: Vec<u8>, addresses in 0..4_u8) {
            ticket(&bytes);
            let mut made = vec![1; 58];
            made[57] = addresses;
            made.extend((0..addresses).flat_map(|_| [4, 192, 0, 2, 1, 17, 81]));
            ticket(&made);
        }
    }
}
