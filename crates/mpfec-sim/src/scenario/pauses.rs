//! Hosts that stand still now and then, as on a machine that has other work to do.

use std::time::Duration;

use crate::{Action, Host, HostId, Network, Rng};

/// How often hosts stand still, and for how long: what arrives meanwhile waits in their sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// Mean time from one pause of a host to its next one; it is exponentially distributed.
    pub every: Duration,
    /// The longest of them: each lasts for a random part of it, all equally likely.
    pub most: Duration,
}

impl Pauses {
    /// Schedules the pauses of `hosts` in the next `time`, each host's by itself.
    pub(super) fn schedule<H: Host>(
        self,
        network: &mut Network<H>,
        hosts: impl Iterator<Item = HostId>,
        time: Duration,
        seed: u64,
    ) {
        for (index, host) in hosts.enumerate() {
            let mut rng = Rng::named(seed, &format!("pauses of host {index}"));
            let mut at = Duration::ZERO;
            loop {
                // Never infinite: the unit is below 1.
                at += self.every.mul_f64(-(1.0 - rng.unit()).ln());
                if at >= time {
                    break;
                }
                let pause = Action::Pause(host, self.most.mul_f64(rng.unit()));
                network.schedule(at, pause);
            }
        }
    }
}
