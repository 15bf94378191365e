//! The links of a setup between devices that give and take whole packets.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use socket2::SockRef;
use tokio::io::unix::AsyncFd;

use super::handle::Handle;
use super::worker::{Carrier, Received};
use super::{BATCH, RelayStats};
use crate::{Change, Direction, Link, LinkConfig, PathSetup, Setup, clock};

/// The links of a setup between file descriptors of which each read gives one packet and
/// each write takes one, such as TUN devices or datagram sockets.
///
/// What is read at one end of a path crosses the path's link and is written at the other
/// end as it is, ECN marks included. Packets bring their headers along, so that of a link's
/// [`overhead`](LinkConfig::overhead) only what exceeds IPv4 and UDP is added to each.
///
/// Deliveries are late by up to about a millisecond, the resolution of the timer; rates are
/// exact, as links keep their own time. The relay works on a thread of its own, and stops
/// when dropped.
#[derive(Debug)]
pub struct PacketRelay {
    handle: Handle,
}

/// The two ends of a path.
#[derive(Debug)]
pub struct PacketEnds {
    /// What is read here crosses the forward link.
    pub client: OwnedFd,
    /// What is read here crosses the backward link.
    pub server: OwnedFd,
}

impl PacketRelay {
    /// Starts relaying between `ends`, one pair for each path of `setup` in its order, with
    /// faults that repeat from `seed` as far as the packets do. The times of the setup's
    /// changes count from the first packet of a client.
    ///
    /// # Errors
    /// If the setup is not valid or has another number of paths than there are ends
    /// ([`io::ErrorKind::InvalidInput`]), or the descriptors cannot be polled.
    pub fn start(setup: &Setup, ends: Vec<PacketEnds>, seed: u64) -> io::Result<Self> {
        if ends.len() != setup.paths.len() {
            let what = format!("{} ends for {} paths", ends.len(), setup.paths.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let open = || {
            let paths = setup.paths.iter().zip(ends);
            paths
                .map(|(path, ends)| PacketPath::open(path, ends, seed))
                .collect::<io::Result<Vec<_>>>()
        };
        let (handle, ()) = Handle::start(setup, open, |_| Ok(()))?;
        Ok(Self { handle })
    }

    /// The largest packet, headers included, that a link takes.
    #[must_use]
    pub fn mtu(link: &LinkConfig) -> u32 {
        link.mtu.saturating_sub(further_overhead(link))
    }

    /// Changes a path, by its position, as soon as the relay's thread gets to it. Nothing
    /// happens if there is no such path.
    pub fn apply(&self, path: usize, direction: Direction, change: Change) {
        self.handle.apply(path, direction, change);
    }

    /// What each path has done so far, in the order of the setup. Clients are not told
    /// apart, and nothing is refused.
    #[must_use]
    pub fn stats(&self) -> Vec<RelayStats> {
        self.handle.stats()
    }
}

#[derive(Debug)]
struct PacketPath {
    client: Device,
    server: Device,
    forward: Link<()>,
    backward: Link<()>,
}

#[derive(Debug)]
struct Device {
    file: AsyncFd<File>,
    /// It failed to read, as nothing does that is still there.
    is_gone: bool,
    unsent: u64,
}

impl PacketPath {
    /// Must be called inside the runtime that will use it.
    fn open(setup: &PathSetup, ends: PacketEnds, seed: u64) -> io::Result<Self> {
        let link = |config: &LinkConfig, way| {
            let config = LinkConfig {
                overhead: further_overhead(config),
                ..config.clone()
            };
            Link::named(config, seed, &format!("{} {way}", setup.name))
        };
        Ok(Self {
            client: Device::open(ends.client)?,
            server: Device::open(ends.server)?,
            forward: link(&setup.forward, "forward"),
            backward: link(&setup.backward, "backward"),
        })
    }
}

impl Carrier for PacketPath {
    fn receive(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Received {
        let before = self.forward.counters().submitted;
        let client = self.client.receive(cx, buffer, &mut self.forward);
        let server = self.server.receive(cx, buffer, &mut self.backward);
        Received {
            has_more: client || server,
            is_from_client: self.forward.counters().submitted > before,
        }
    }

    fn deliver(&mut self, now: Instant) {
        self.server.deliver(now, &mut self.forward);
        self.client.deliver(now, &mut self.backward);
    }

    fn apply(&mut self, at: Instant, direction: Direction, change: Change) {
        if direction != Direction::Backward {
            self.forward.apply(at, change);
        }
        if direction != Direction::Forward {
            self.backward.apply(at, change);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let links = [self.forward.poll_timeout(), self.backward.poll_timeout()];
        links.into_iter().flatten().min()
    }

    fn stats(&self) -> RelayStats {
        RelayStats {
            forward: self.forward.counters(),
            backward: self.backward.counters(),
            clients: 0,
            refused: 0,
            unsent: self.client.unsent + self.server.unsent,
        }
    }
}

impl Device {
    #[expect(
        unsafe_code,
        reason = "tokio's only constructor that is not deprecated; it asks for a descriptor that stays"
    )]
    fn open(end: OwnedFd) -> io::Result<Self> {
        // A flag of any descriptor, not of sockets only.
        SockRef::from(&end).set_nonblocking(true)?;
        // SAFETY: the file owns its open descriptor, always returns the same one, and is
        // borrowed but never taken or exchanged until the `AsyncFd` is dropped with it.
        let file = unsafe { AsyncFd::register(File::from(end)) }?;
        Ok(Self {
            file,
            is_gone: false,
            unsent: 0,
        })
    }

    /// Takes up to a batch into a link; true if there may be more.
    fn receive(&mut self, cx: &mut Context<'_>, buffer: &mut [u8], link: &mut Link<()>) -> bool {
        for _ in 0..BATCH {
            if self.is_gone {
                return false;
            }
            let mut ready = match self.file.poll_read_ready(cx) {
                Poll::Ready(Ok(ready)) => ready,
                // The runtime is being shut down.
                Poll::Ready(Err(_)) | Poll::Pending => return false,
            };
            match ready.try_io(|file| file.get_ref().read(buffer)) {
                // Not ready after all: it is asked again, to be woken when it is.
                Err(_) => {}
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Ok(0) | Err(_)) => self.is_gone = true,
                Ok(Ok(length)) => {
                    let packet = buffer.get(..length).unwrap_or_default();
                    // What the link drops, it counts.
                    let _ = link.submit(clock::now(), Bytes::copy_from_slice(packet), ());
                }
            }
        }
        true
    }

    /// Writes what has crossed a link by `now`.
    fn deliver(&mut self, now: Instant, link: &mut Link<()>) {
        while let Some(delivered) = link.poll_delivery(now) {
            // A device takes a packet at once or not at all; one that is switched off, or
            // whose header was corrupted, not at all.
            if self.file.get_ref().write(&delivered.payload).is_err() {
                self.unsent += 1;
            }
        }
    }
}

/// What each packet takes on a link besides its own bytes.
fn further_overhead(link: &LinkConfig) -> u32 {
    link.overhead.saturating_sub(IPV4_AND_UDP)
}

/// Bytes of the two headers, which a link's overhead includes.
const IPV4_AND_UDP: u32 = 28;

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    use super::*;

    /// No test waits longer for a packet.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn setup(path: PathSetup) -> Setup {
        Setup {
            name: "test".into(),
            summary: String::new(),
            paths: vec![path],
            changes: Vec::new(),
        }
    }

    fn start(setup: &Setup) -> (PacketRelay, UnixDatagram, UnixDatagram) {
        let (client, near) = UnixDatagram::pair().expect("a pair of sockets");
        let (server, far) = UnixDatagram::pair().expect("a pair of sockets");
        for end in [&client, &server] {
            end.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        }
        let ends = PacketEnds {
            client: near.into(),
            server: far.into(),
        };
        let relay = PacketRelay::start(setup, vec![ends], 1).expect("pollable");
        (relay, client, server)
    }

    fn receive(end: &UnixDatagram) -> Vec<u8> {
        let mut buffer = [0; 2048];
        let length = end.recv(&mut buffer).expect("a packet");
        buffer[..length].to_vec()
    }

    #[test]
    fn packets_cross_in_both_directions_as_they_are_and_late_by_the_delay() {
        let delay = Duration::from_millis(30);
        let path = PathSetup::symmetric("a", 10_000_000, 2 * delay, 0.0);
        let (relay, client, server) = start(&setup(path));
        let began = clock::now();
        client.send(b"there").expect("sent");
        assert_eq!(receive(&server), b"there");
        assert!(clock::now() - began >= delay);
        server.send(b"and back").expect("sent");
        assert_eq!(receive(&client), b"and back");
        assert!(clock::now() - began >= 2 * delay);
        drop(relay);
        assert!(client.send(b"nobody").is_err(), "the relay has ended");
    }

    #[test]
    fn a_full_packet_fits_and_one_more_byte_does_not() {
        let path = PathSetup::symmetric("a", 10_000_000, Duration::ZERO, 0.0);
        let mut setup = setup(path);
        setup.paths[0].forward.overhead = 68;
        setup.paths[0].forward.queue = crate::QueueLimit::Unlimited;
        let mtu = PacketRelay::mtu(&setup.paths[0].forward) as usize;
        assert_eq!(mtu, 1460, "40 bytes more than IPv4 and UDP");
        let (relay, client, server) = start(&setup);
        client.send(&vec![1; mtu + 1]).expect("sent");
        client.send(&vec![2; mtu]).expect("sent");
        assert_eq!(receive(&server), vec![2; mtu]);
        assert_eq!(relay.stats()[0].forward.dropped_too_big, 1);
    }

    #[test]
    fn an_end_that_goes_away_does_not_keep_the_relay_busy_or_stop_the_other_direction() {
        let path = PathSetup::symmetric("a", 10_000_000, Duration::ZERO, 0.0);
        let (relay, client, server) = start(&setup(path));
        drop(client);
        server.send(b"lost").expect("sent");
        while relay.stats()[0].unsent == 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn each_path_needs_its_ends() {
        let path = PathSetup::symmetric("a", 10_000_000, Duration::ZERO, 0.0);
        let error = PacketRelay::start(&setup(path), Vec::new(), 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
