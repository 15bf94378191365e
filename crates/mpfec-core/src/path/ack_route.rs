//! The way on which a path's acknowledgements come back: mostly that of another path, the
//! fastest. When that dies, every other path seems to have become longer.

use std::time::{Duration, Instant};

/// The path on which acknowledgements came back of late.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckRoute(Option<(u32, Instant)>);

impl AckRoute {
    /// An acknowledgement came back on path `via`. Returns whether they no longer come as they
    /// did: one now and then on another path means nothing.
    pub(crate) fn on_ack(&mut self, now: Instant, via: u32, srtt: Duration) -> bool {
        let is_other = match self.0 {
            Some((known, at)) if known != via => {
                if now <= at + (srtt / 2).max(MIN_PAUSE) {
                    return false;
                }
                true
            }
            _ => false,
        };
        self.0 = Some((via, now));
        is_other
    }
}

const MIN_PAUSE: Duration = Duration::from_millis(25);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_changes_when_the_one_before_has_fallen_silent() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let srtt = Duration::from_millis(100);
        let mut route = AckRoute::default();
        assert!(!route.on_ack(at(0), 1, srtt));
        assert!(!route.on_ack(at(10), 2, srtt), "one now and then");
        assert!(!route.on_ack(at(20), 1, srtt));
        assert!(!route.on_ack(at(60), 2, srtt));
        assert!(route.on_ack(at(71), 2, srtt));
        assert!(!route.on_ack(at(80), 2, srtt));
    }
}
