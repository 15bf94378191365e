//! Which of a plan's paths a variant uses.

use std::time::Duration;

use super::{Application, Plan};

/// The paths that a variant uses, in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathChoice {
    /// All that the case has.
    All,
    /// The one that carries most alone ([`PathSetup::limit_mbps`](crate::PathSetup::limit_mbps)).
    Best,
    /// These, as positions in [`Setup::paths`](crate::Setup::paths).
    Named(Vec<usize>),
}

impl PathChoice {
    /// Positions in [`Setup::paths`](crate::Setup::paths).
    #[must_use]
    pub fn of(&self, plan: &Plan) -> Vec<usize> {
        let limit = |path: &usize| plan.setup.paths[*path].limit_mbps().unwrap_or(0.0);
        match self {
            Self::All => plan.paths.clone(),
            // The first one, if several are the best.
            Self::Best => plan
                .paths
                .iter()
                .copied()
                .rev()
                .max_by(|a, b| limit(a).total_cmp(&limit(b)))
                .into_iter()
                .collect(),
            Self::Named(paths) => paths.clone(),
        }
    }
}

impl Plan {
    /// What all paths of the case can carry together from client to server, in Mbit/s of payload
    /// ([`Setup::limit_mbps`](crate::Setup::limit_mbps)). `None` if they cross shared links.
    #[must_use]
    pub fn limit_mbps(&self) -> Option<f64> {
        self.paths.iter().map(|path| self.path_limit(*path)).sum()
    }

    /// The same of the path that carries most.
    #[must_use]
    pub fn best_path_limit_mbps(&self) -> Option<f64> {
        let limits: Option<Vec<f64>> = self.paths.iter().map(|p| self.path_limit(*p)).collect();
        limits?.into_iter().reduce(f64::max)
    }

    fn path_limit(&self, path: usize) -> Option<f64> {
        let is_alone = self.via[path].is_empty();
        self.setup.paths[path].limit_mbps().filter(|_| is_alone)
    }

    /// What the receive buffer lets through on the path of the smallest round trip, in Mbit/s.
    /// `None` if the buffer is that of the defaults.
    #[must_use]
    pub fn window_mbps(&self) -> Option<f64> {
        let bits = self.recv_buffer? as f64 * 8.0;
        Some(bits / self.least_rtt()?.as_secs_f64() / 1e6)
    }

    /// The time that a bulk transfer takes at the limit, and two of the smallest round trips for
    /// the handshake and the way. `None` if nothing of that kind is transferred.
    #[must_use]
    pub fn least_completion(&self) -> Option<Duration> {
        let Application::Bulk { bytes: Some(bytes) } = self.application else {
            return None;
        };
        let seconds = bytes as f64 * 8e-6 / self.limit_mbps()?;
        Some(Duration::from_secs_f64(seconds) + 2 * self.least_rtt()?)
    }

    fn least_rtt(&self) -> Option<Duration> {
        let paths = self.paths.iter().map(|path| self.setup.paths[*path].rtt());
        paths.min().filter(|rtt| !rtt.is_zero())
    }
}
