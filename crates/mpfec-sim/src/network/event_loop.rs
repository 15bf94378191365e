//! How time passes in a network: from event to event, and no further while hosts want to send.

use std::time::{Duration, Instant};

use super::{HostId, Named, Network};
use crate::Host;

impl<H: Host> Network<H> {
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

/// Turns at one instant in which only timers fired.
const MOST_IDLE_TURNS: u32 = 1000;

/// Datagrams of one host at one instant.
const MOST_SENT_AT_ONCE: u32 = 1_000_000;
