//! Hosts, links between them, and a time that jumps from event to event.

mod address;
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

    /// When something will happen next, not counting what hosts want to send now.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let hosts = self.hosts.iter().enumerate().filter_map(|(index, host)| {
            let resumes = self.pauses.until(index);
            resumes.or_else(|| host.host_due())
        });
        let links = self.links.iter().filter_map(|link| link.due);
        let action = self.actions.first_key_value().map(|(&(at, _), _)| at);
        hosts.chain(links).chain(action).min()
    }

    /// Lets everything happen that is due in the next `time`, which then is over.
    pub fn run_for(&mut self, time: Duration) {
        let _ = self.run_while(time, |_| true);
    }

    /// Lets things happen as long as `goes_on` says, which is asked after every turn, and at
    /// most for `time`. True if `goes_on` ended it: then the time is that of the turn.
    pub fn run_while(
        &mut self,
        time: Duration,
        mut goes_on: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let deadline = self.now + time;
        loop {
            self.flush();
            if !goes_on(self) {
                self.advance_links();
                return true;
            }
            // What it commanded the hosts to do may be due at once.
            self.flush();
            if !self.turn(deadline) {
                self.now = deadline;
                self.advance_links();
                return false;
            }
        }
    }

    /// Jumps to the next event and lets all of that time happen; false if there is none by
    /// `deadline`.
    fn turn(&mut self, deadline: Instant) -> bool {
        let Some(next) = self.poll_timeout().filter(|&at| at <= deadline) else {
            return false;
        };
        if next > self.now {
            self.now = next;
            self.idle_turns = 0;
        }
        self.counters.turns += 1;
        let has_moved = self.fire_actions() | self.end_pauses() | self.deliver();
        self.fire_timers();
        self.idle_turns = if has_moved { 0 } else { self.idle_turns + 1 };
        if self.idle_turns > MOST_IDLE_TURNS {
            self.report_livelock();
        }
        true
    }

    /// Moves on what is being transmitted, for those who look at a link between two events.
    fn advance_links(&mut self) {
        for link in &mut self.links {
            link.value.advance(self.now);
        }
    }

    /// Puts what hosts want to send on its way. A host to which nothing happened wants nothing
    /// new.
    fn flush(&mut self) {
        for index in 0..self.hosts.len() {
            if !self.hosts[index].touched || self.pauses.until(index).is_some() {
                continue;
            }
            let mut sent = 0;
            while let Some(packet) = self.hosts[index].value.poll_transmit(self.now) {
                self.send(index, packet);
                sent += 1;
                assert!(
                    sent < MOST_SENT_AT_ONCE,
                    "livelock: {} at {:?} (seed {}) does not stop sending",
                    self.hosts[index].name,
                    self.elapsed(),
                    self.seed
                );
            }
            let host = &mut self.hosts[index];
            host.touched = false;
            host.due = host.value.poll_timeout();
        }
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

    fn end_pauses(&mut self) -> bool {
        let (now, mut has_ended) = (self.now, false);
        while let Some((host, waiting)) = self.pauses.end(now) {
            has_ended = true;
            for packet in waiting {
                self.host_mut(HostId(host)).handle_datagram(now, packet);
            }
        }
        has_ended
    }

    fn fire_actions(&mut self) -> bool {
        let mut has_acted = false;
        while let Some(entry) = self
            .actions
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let action = entry.remove();
            self.act(action);
            has_acted = true;
        }
        has_acted
    }

    fn deliver(&mut self) -> bool {
        let mut has_delivered = false;
        for index in 0..self.links.len() {
            if self.links[index].due.is_none_or(|due| due > self.now) {
                continue;
            }
            while let Some(delivered) = self.links[index].value.poll_delivery(self.now) {
                self.forward(delivered.tag, delivered.payload);
                has_delivered = true;
            }
            let link = &mut self.links[index];
            link.due = link.value.poll_timeout();
        }
        has_delivered
    }

    fn fire_timers(&mut self) {
        for (index, host) in self.hosts.iter_mut().enumerate() {
            if self.pauses.until(index).is_some() {
                continue;
            }
            // One that has just got something says anew when it is due, once it has sent what
            // it wants: that may be now.
            if !host.touched && host.due.is_some_and(|at| at <= self.now) {
                host.touched = true;
                host.value.handle_timeout(self.now);
            }
        }
    }

    fn report_livelock(&self) -> ! {
        let culprit = self
            .hosts
            .iter()
            .find(|host| host.value.poll_timeout().is_some_and(|at| at <= self.now));
        let (name, timer) = culprit.map_or(("a link", "nothing".to_owned()), |host| {
            (host.name.as_str(), host.value.next_timer())
        });
        panic!(
            "livelock: {name} at {:?} (seed {}) wants {timer} again and again",
            self.elapsed(),
            self.seed
        );
    }
}

impl<H: Host> Named<H> {
    fn host_due(&self) -> Option<Instant> {
        if self.touched {
            self.value.poll_timeout()
        } else {
            self.due
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

/// Turns at one instant in which only timers fired.
const MOST_IDLE_TURNS: u32 = 1000;

/// Datagrams of one host at one instant.
const MOST_SENT_AT_ONCE: u32 = 1_000_000;

#[cfg(test)]
mod tests;
