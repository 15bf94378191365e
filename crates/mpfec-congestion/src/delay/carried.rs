//! What a path has carried, at best and of late.

/// The most that was delivered in each of two rounds in a row, on this path and on all paths of
/// the connection, fading by a third in two minutes: a path that others use as well carries more
/// than it carries for us, and what it carried before they came tells how much.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried {
    /// Packets per second.
    own: f64,
    all: f64,
    /// The same on this path, fading by 3 % in each round that the application does not limit.
    lately: f64,
    last: f64,
    /// Packets per second at which bursts came that did not fill the path.
    bursts: f64,
}

impl Carried {
    /// A round of `length` seconds has delivered so many packets per second, and this path had
    /// that part of the connection's rate. Unless the path `limited`, it shows no limit of it.
    pub(super) fn on_round(&mut self, delivered: f64, part: f64, length: f64, limited: bool) {
        let fading = (-length / FADES).exp();
        let borne_out = delivered.min(std::mem::replace(&mut self.last, delivered));
        let kept = if limited { KEPT_LATELY } else { 1.0 };
        self.lately = (self.lately * kept).max(borne_out);
        self.own = (self.own * fading).max(borne_out);
        self.all = (self.all * fading).max(borne_out / part);
        self.bursts *= fading;
    }

    /// Bursts of an application that does not fill the path arrive at so many packets per second.
    pub(super) fn on_bursts(&mut self, rate: f64) {
        self.bursts = self.bursts.max(rate);
    }

    /// Packets per second at which bursts came, no more than a few times what was carried for a round: a
    /// burst may show the rate of a faster link, or of a shaper that saves up. 0 if none came.
    pub(super) fn bursts(&self) -> f64 {
        self.bursts.min(MOST_OF_BURSTS * self.own)
    }

    /// As [`Self::part`], of what bursts have shown as well: what others may share with us.
    pub(super) fn shared(&self, part: f64) -> f64 {
        self.part(part).max(part * self.bursts())
    }

    /// Packets per second on this path.
    pub(super) fn own(&self) -> f64 {
        self.own
    }

    /// Packets per second on this path of late.
    pub(super) fn lately(&self) -> f64 {
        self.lately
    }

    /// Packets per second on all paths of the connection.
    pub(super) fn all(&self) -> f64 {
        self.all
    }

    /// Packets per second that this path's part of the connection could have: all paths may share
    /// one bottleneck, of which each has its part.
    pub(super) fn part(&self, part: f64) -> f64 {
        self.own.min(part * self.all)
    }

    /// A packet of before is `scale` packets now.
    pub(super) fn resize(&mut self, scale: f64) {
        self.own *= scale;
        self.all *= scale;
        self.lately *= scale;
        self.last *= scale;
        self.bursts *= scale;
    }
}

/// Seconds in which what is known fades to `1 / e`.
const FADES: f64 = 300.0;
/// Times what was carried for a round that bursts may show. With half of it, an equal share is still
/// more than what the application writes.
const MOST_OF_BURSTS: f64 = 3.0;
/// What a round leaves of what is known of late.
pub(super) const KEPT_LATELY: f64 = 0.97;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_that_come_in_a_bunch_once_are_not_believed() {
        let mut carried = Carried::default();
        for delivered in [100.0, 100.0, 900.0, 100.0, 100.0] {
            carried.on_round(delivered, 1.0, 0.05, true);
        }
        assert!((99.0..=100.0).contains(&carried.own()), "{carried:?}");
    }

    #[test]
    fn what_was_carried_before_others_came_is_known_a_minute_later() {
        let mut carried = Carried::default();
        for _ in 0..20 {
            carried.on_round(1000.0, 1.0, 0.05, true);
        }
        for _ in 0..1200 {
            carried.on_round(200.0, 1.0, 0.05, true);
        }
        assert!((800.0..850.0).contains(&carried.own()), "{carried:?}");
    }

    #[test]
    fn one_of_two_subflows_in_a_bottleneck_could_have_half_of_what_both_carried() {
        let mut carried = Carried::default();
        for _ in 0..20 {
            carried.on_round(900.0, 0.9, 0.05, true);
        }
        let part = carried.part(0.5);
        assert!((490.0..=500.0).contains(&part), "{part}");
        let most = carried.part(1.0);
        assert!((890.0..=900.0).contains(&most), "{most}");
    }

    #[test]
    fn bursts_show_what_others_may_share_three_times_what_was_carried_at_most() {
        let mut carried = Carried::default();
        for _ in 0..2 {
            carried.on_round(100.0, 1.0, 0.05, false);
        }
        carried.on_bursts(250.0);
        assert_eq!((carried.shared(1.0), carried.shared(0.5)), (250.0, 125.0));
        assert_eq!(carried.part(1.0), 100.0, "what was carried is as before");
        carried.on_bursts(5000.0);
        assert_eq!(carried.shared(1.0), 300.0);
    }

    #[test]
    fn packets_of_half_the_size_pass_twice_as_fast() {
        let mut carried = Carried::default();
        carried.on_round(100.0, 1.0, 0.05, true);
        carried.on_round(100.0, 1.0, 0.05, true);
        let before = carried.part(1.0);
        carried.resize(2.0);
        assert_eq!(carried.part(1.0), 2.0 * before);
    }

    #[test]
    fn what_was_carried_of_late_is_half_gone_after_23_rounds_unless_the_application_limits() {
        let mut carried = Carried::default();
        for _ in 0..20 {
            carried.on_round(1000.0, 1.0, 0.05, true);
        }
        for _ in 0..100 {
            carried.on_round(300.0, 1.0, 0.05, false);
        }
        assert_eq!(carried.lately(), 1000.0);
        for _ in 0..23 {
            carried.on_round(300.0, 1.0, 0.05, true);
        }
        assert!((490.0..510.0).contains(&carried.lately()), "{carried:?}");
    }
}
