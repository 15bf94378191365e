//! What must hold whatever happened.

use std::collections::BTreeSet;
use std::time::Duration;

use mpfec_core::{Dir, Side};

use super::World;
use super::applications::datagram;
use crate::drawn::{is_connected, with};
use crate::secs;

impl World {
    /// Time passes; what is in flight does not grow beyond the congestion window, what is overdue aside.
    pub(super) fn pass(&mut self, time: Duration) {
        if !self.tracks_flight {
            return self.net.run_for(time);
        }
        let mut flight = std::mem::take(&mut self.flight);
        let mut wrong = None;
        self.net.run_until(time, |net| {
            let ends = [net.client_connection(), net.server_connection()];
            for (end, connection) in ends.into_iter().enumerate() {
                for path in connection.iter().flat_map(|open| open.stats().paths) {
                    let now = path.in_flight_bytes;
                    let before = flight.insert((end, path.id), now).unwrap_or(now);
                    let most = path.cwnd_bytes + path.overdue_bytes;
                    let grown = now.saturating_sub(before.max(most));
                    if grown > MOST_PROBES {
                        wrong.get_or_insert((end, before, path));
                    }
                }
            }
            wrong.is_some()
        });
        self.flight = flight;
        assert!(wrong.is_none(), "in flight: {wrong:?}");
    }

    /// Everything arrives within a minute. A client opens paths again over the interfaces that
    /// it had lost.
    pub(super) fn deliver(&mut self, what: &str) {
        let deadline = self.net.now() + secs(60);
        loop {
            for name in &self.removed {
                if self.net.client_connection().is_some() {
                    // It may be open, or the next try may do it.
                    drop(self.net.open_path(name));
                }
            }
            let left = deadline - self.net.now();
            let done = self.net.run_until(secs(1).min(left), |net| {
                net.client().is_delivered() && net.server().is_delivered()
            });
            self.net.check_bytes();
            if done.is_some() {
                return;
            }
            self.check_open(what);
            assert!(
                self.net.now() < deadline,
                "{what} is not delivered: {:?}",
                self.undelivered()
            );
        }
    }

    /// Limits were given back: more can be written than they allow at once.
    pub(super) fn write_more(&mut self, side: Side) {
        let (count, bytes) = (self.rng.up_to(30), self.rng.up_to(3000));
        let bulk = match self.most_window <= 1 << 19 {
            true => 2 * self.most_window,
            false => 1000,
        };
        with(&mut self.net, side, |peer, _| {
            peer.answer_with(10);
            peer.send(Dir::Uni, bulk);
            for _ in 0..count {
                peer.send(Dir::Bi, bytes);
                peer.send(Dir::Uni, bytes);
            }
        });
    }

    /// Datagrams may get lost, but each arrives as it was, once.
    pub(super) fn check_datagrams(&self) {
        for (sent, peer) in [
            (&self.sent[0], self.net.server()),
            (&self.sent[1], self.net.client()),
        ] {
            let mut seen = BTreeSet::new();
            for data in peer.datagrams() {
                let number = data.first_chunk().map(|number| u64::from_be_bytes(*number));
                let number = number.expect("all datagrams begin with a number");
                assert_eq!(*data, datagram(number, sent[&number]));
                assert!(seen.insert(number), "datagram {number} twice");
            }
        }
    }

    /// With nothing left to do both ends stay open and are quiet, and in the end both are gone.
    pub(super) fn finish(&mut self) {
        self.clear();
        if self.net.client_connection().is_none() {
            return;
        }
        self.net.run_for(secs(70));
        self.check_open("nothing");
        let before = self.net.view().counters().turns;
        self.net.run_for(secs(40));
        let turns = self.net.view().counters().turns - before;
        let ends = [self.net.client_connection(), self.net.server_connection()];
        let paths: usize = ends
            .iter()
            .flatten()
            .map(|end| end.stats().paths.len())
            .sum();
        let most = 40 * MOST_TURNS * (1 + paths as u64);
        assert!(turns <= most, "{turns} turns with {paths} paths");
        self.check_open("nothing");
        for side in [Side::Client, Side::Server] {
            assert!(is_connected(&self.net, side), "{side:?}");
        }
        self.end();
        self.net.run_for(secs(300));
        let hosts = [self.net.client_host(), self.net.server_host()];
        let left = hosts.map(|host| self.net.view().host(host).connections());
        assert_eq!(left, [0, 0], "connections are left");
    }

    /// Either end closes the connection, or the server forgets it.
    fn end(&mut self) {
        let now = self.net.now();
        match self.rng.up_to(2) {
            0 => {
                self.net.restart_server();
                self.net.send(1000);
                self.net.run_for(secs(60));
                assert!(self.net.client_closed().is_some(), "no reset");
            }
            1 => self
                .net
                .with_client(|_, client| client.close(now, 3, "enough")),
            _ => self
                .net
                .with_server(|_, server| server.close(now, 4, "enough")),
        }
    }

    fn check_open(&self, what: &str) {
        let ends = (self.net.client_closed(), self.net.server_closed());
        assert_eq!(ends, (None, None), "{what} is to be delivered");
    }

    /// Streams of both ends of which something is missing.
    fn undelivered(&self) -> Vec<String> {
        let ends = [self.net.client(), self.net.server()];
        let streams = ends.into_iter().flat_map(|peer| peer.outgoing());
        let left = streams.filter(|(_, stream)| !stream.is_settled());
        left.map(|left| format!("{left:?}")).collect()
    }
}

/// Bytes of probes that may leave beyond the window at a time.
const MOST_PROBES: u64 = 4 * 1500;
/// Steps of the simulation in a second, for each path and as many for the rest.
const MOST_TURNS: u64 = 12;
