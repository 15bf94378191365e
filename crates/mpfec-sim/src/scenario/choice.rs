//! Which of a plan's paths a variant uses.

use super::Plan;

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
        let limit = |path: &usize| {
            let is_alone = self.via[*path].is_empty();
            self.setup.paths[*path].limit_mbps().filter(|_| is_alone)
        };
        self.paths.iter().map(limit).sum()
    }
}
