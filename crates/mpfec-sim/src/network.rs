//! Hosts, links between them, and a time that jumps from event to event.

mod address;
mod event_loop;
mod join;
mod pause;
mod way;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::address::Addresses;
pub use self::join::PathEnds;
use self::pause::Pauses;
use self::way::{Receiver, Way, Ways};
use crate::{Change, Host, Link, LinkConfig, Packet, clock};

/// A host of a [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(usize);

/// A link of a [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(usize);

/// A simulated network in virtual time. A run is a function of the hosts, the links, the
/// scheduled changes and the seed; nothing sleeps.
///
/// Two addresses may be joined by a chain of links, and several pairs may share a link.
///
/// Every call that lets time pass panics on a livelock: a thousand turns at one instant
/// in which nothing but timers happened. The message names host, timer, time and seed.
#[derive(Debug)]
pub struct Network<H> {
    seed: u64,
    epoch: Instant,
    now: Instant,
    hosts: Vec<Named<H>>,
    pauses: Pauses,
    links: Vec<Named<Link<Transit>>>,
    addresses: Addresses,
    routes: BTreeMap<(SocketAddr, SocketAddr), Arc<[LinkId]>>,
    /// Of each host, by its position.
    ways: Vec<Ways>,
    /// How often addresses and routes have changed.
    generation: u32,
    actions: BTreeMap<(Instant, u64), Action>,
    next_action: u64,
    joined: u8,
    idle_turns: u32,
    recorded: VecDeque<Packet>,
    most_recorded: usize,
    counters: NetworkCounters,
    digest: u64,
}

/// What a network did besides what its links count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetworkCounters {
    /// Datagrams handed to a host.
    pub delivered: u64,
    /// Datagrams dropped because no route leads from their sender's address to their
    /// receiver's, or nobody has the receiver's address any more.
    pub unroutable: u64,
    /// Turns of the event loop.
    pub turns: u64,
}

/// Something that happens to a network at a certain time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// A link changes.
    Link(LinkId, Change),
    /// A NAT in front of the address `inside` forgets its mapping: from now on others see
    /// `outside`, and what is sent to the address they saw before vanishes.
    Rebind {
        /// The address the host itself uses.
        inside: SocketAddr,
        /// The address others see.
        outside: SocketAddr,
    },
    /// A host stands still for so long: what arrives waits in its sockets, and its timers are late.
    Pause(HostId, Duration),
}

/// A host or a link, and when it has something to do.
#[derive(Debug)]
struct Named<V> {
    name: String,
    value: V,
    /// Of a host, unless it is `touched`; of a link, always.
    due: Option<Instant>,
    /// Whether something happened to a host since it was last asked what it wants.
    touched: bool,
}

/// What travels with a payload.
#[derive(Debug, Clone)]
struct Transit {
    way: Arc<Way>,
    ecn: u8,
    /// How many of the links on the way it has crossed.
    hop: usize,
}

impl<H: Host> Network<H> {
    /// An empty network whose links repeat from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let epoch = clock::now();
        Self {
            seed,
            epoch,
            now: epoch,
            hosts: Vec::new(),
            pauses: Pauses::default(),
            links: Vec::new(),
            addresses: Addresses::default(),
            routes: BTreeMap::new(),
            ways: Vec::new(),
            generation: 0,
            actions: BTreeMap::new(),
            next_action: 0,
            joined: 0,
            idle_turns: 0,
            recorded: VecDeque::new(),
            most_recorded: 0,
            counters: NetworkCounters::default(),
            digest: 0,
        }
    }

    /// Adds a host; `name` is for reports.
    pub fn add_host(&mut self, name: &str, host: H) -> HostId {
        self.hosts.push(Named {
            name: name.to_owned(),
            value: host,
            due: None,
            touched: true,
        });
        self.ways.push(Ways::default());
        self.pauses.add_host();
        HostId(self.hosts.len() - 1)
    }

    /// Gives `host` an address.
    ///
    /// # Panics
    /// If a host has that address already.
    pub fn add_address(&mut self, host: HostId, address: SocketAddr) {
        self.generation += 1;
        let is_new = self.addresses.add(host, address);
        assert!(is_new, "two hosts have the address {address}");
    }

    /// Adds a link; its faults depend on the seed and its name only.
    pub fn add_link(&mut self, name: &str, config: LinkConfig) -> LinkId {
        let link = Link::named(config, self.seed, name);
        self.links.push(Named {
            name: name.to_owned(),
            value: link,
            due: None,
            touched: false,
        });
        LinkId(self.links.len() - 1)
    }

    /// Leads what is sent from the one address to the other through `links` in this order,
    /// in this direction only. Addresses are those the hosts use themselves, inside of a
    /// NAT. No links mean a delivery at once.
    pub fn add_route(&mut self, from: SocketAddr, to: SocketAddr, links: &[LinkId]) {
        self.generation += 1;
        self.routes.insert((from, to), links.into());
    }

    /// Lets `action` happen `after` this time from now; at the same time, in the order of
    /// these calls, and before anything arrives.
    pub fn schedule(&mut self, after: Duration, action: Action) {
        self.actions
            .insert((self.now + after, self.next_action), action);
        self.next_action += 1;
    }

    /// Lets `action` happen now.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Link(link, change) => {
                let link = &mut self.links[link.0];
                link.value.apply(self.now, change);
                link.due = link.value.poll_timeout();
            }
            Action::Rebind { inside, outside } => {
                self.generation += 1;
                self.addresses.rebind(inside, outside);
            }
            Action::Pause(host, time) => self.pauses.begin(host.0, self.now + time),
        }
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The virtual time since the start: what to print.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.now - self.epoch
    }

    /// A host.
    #[must_use]
    pub fn host(&self, host: HostId) -> &H {
        &self.hosts[host.0].value
    }

    /// A host, to be given commands; what it then wants to send leaves when time passes
    /// next, at the time of now.
    pub fn host_mut(&mut self, host: HostId) -> &mut H {
        let host = &mut self.hosts[host.0];
        host.touched = true;
        &mut host.value
    }

    /// A link.
    #[must_use]
    pub fn link(&self, link: LinkId) -> &Link<impl Clone + std::fmt::Debug> {
        &self.links[link.0].value
    }

    /// Name and id of every link, in the order they were added.
    pub fn links(&self) -> impl Iterator<Item = (&str, LinkId)> {
        self.links
            .iter()
            .enumerate()
            .map(|(index, link)| (link.name.as_str(), LinkId(index)))
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> NetworkCounters {
        self.counters
    }

    /// Keeps a copy of the last so many datagrams handed to a host, but for those injected.
    pub fn record(&mut self, datagrams: usize) {
        self.most_recorded = datagrams;
        self.recorded.truncate(datagrams);
    }

    /// What an observer beside the hosts has seen of late, the oldest first, with the
    /// addresses that receivers saw.
    #[must_use]
    pub fn recorded(&self) -> &VecDeque<Packet> {
        &self.recorded
    }

    /// Delivers a datagram that no host has sent: an attacker may write any address as its
    /// source.
    pub fn inject(&mut self, packet: Packet) {
        let way = Way {
            from: packet.from,
            to: packet.to,
            outside: packet.from,
            route: Arc::new([]),
            receiver: None,
        };
        let transit = Transit {
            way: Arc::new(way),
            ecn: packet.ecn,
            hop: 0,
        };
        let most_recorded = std::mem::take(&mut self.most_recorded);
        self.forward(transit, packet.payload);
        self.most_recorded = most_recorded;
    }

    /// A hash of every delivery to a host so far: when, to whom, how large. Two runs that
    /// agree in it have been the same but for what was in the packets: TLS takes its keys
    /// from the system.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    fn send(&mut self, host: usize, packet: Packet) {
        let Packet {
            from,
            to,
            ecn,
            payload,
        } = packet;
        let generation = self.generation;
        let (addresses, routes) = (&self.addresses, &self.routes);
        let way = self.ways[host].find((from, to), generation, || {
            let address = addresses.inside_of(to)?;
            Some(Way {
                from,
                to,
                outside: addresses.outside_of(from),
                route: Arc::clone(routes.get(&(from, address))?),
                receiver: Some(Receiver {
                    address,
                    host: addresses.owner(address)?,
                    generation,
                }),
            })
        });
        let Some(way) = way else {
            self.counters.unroutable += 1;
            return;
        };
        self.forward(Transit { way, ecn, hop: 0 }, payload);
    }

    /// Hands a payload to the next link on its way, or to its receiver.
    fn forward(&mut self, mut transit: Transit, payload: bytes::Bytes) {
        let Some(&link) = transit.way.route.get(transit.hop) else {
            self.arrive(transit, payload);
            return;
        };
        transit.hop += 1;
        let link = &mut self.links[link.0];
        // What the link drops, it counts.
        let _ = link.value.submit(self.now, payload, transit);
        link.due = link.value.poll_timeout();
    }

    fn arrive(&mut self, transit: Transit, payload: bytes::Bytes) {
        let Transit { way, ecn, .. } = transit;
        let now = self.now;
        let receiver = way
            .receiver
            .filter(|receiver| receiver.generation == self.generation)
            .map(|receiver| (receiver.address, receiver.host))
            .or_else(|| {
                let inside = self.addresses.inside_of(way.to)?;
                Some((inside, self.addresses.owner(inside)?))
            });
        let Some((to, host)) = receiver else {
            self.counters.unroutable += 1;
            return;
        };
        self.counters.delivered += 1;
        self.digest = digest(self.digest, self.elapsed(), host, payload.len());
        let packet = Packet {
            from: way.outside,
            to,
            ecn,
            payload,
        };
        if self.most_recorded > 0 {
            if self.recorded.len() >= self.most_recorded {
                self.recorded.pop_front();
            }
            self.recorded.push_back(packet.clone());
        }
        if let Some(packet) = self.pauses.hold(host.0, packet) {
            self.host_mut(host).handle_datagram(now, packet);
        }
    }
}

/// Folds a delivery into the digest of a run.
fn digest(digest: u64, elapsed: Duration, host: HostId, size: usize) -> u64 {
    let mix =
        |digest: u64, word: u64| (digest.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let digest = mix(digest, elapsed.as_nanos() as u64);
    mix(digest, (host.0 << 32 | size) as u64)
}

#[cfg(test)]
mod tests;
