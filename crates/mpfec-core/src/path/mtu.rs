//! How large a datagram a path carries: packetisation-layer path MTU discovery
//! (RFC 8899, RFC 9000 §14.3), and noticing that it shrank (RFC 8899 §4.3).

use std::time::{Duration, Instant};

/// The datagram size every path must carry (RFC 9000 §14).
pub(crate) const MIN_MTU: u16 = 1200;

/// The search for one path: the largest size first, which most paths carry, then halving.
#[derive(Debug)]
pub(crate) struct MtuDiscovery {
    current: u16,
    /// The smallest size known to fail, or one more than the largest wanted.
    ceiling: u16,
    largest: u16,
    attempts: u8,
    in_flight: Option<u16>,
    next_search: Option<Instant>,
    /// Large packets get lost at [`MIN_MTU`] as well: nothing that must fit passes.
    is_narrow: bool,
    /// Losses of large packets since one of that size arrived, few for each time that some
    /// were noticed: all at once may be lost for other reasons.
    large_lost: u32,
    /// The same that nothing arrived after so far: the path may have been dead.
    large_silent: u32,
}

impl MtuDiscovery {
    /// Starts at [`MIN_MTU`] and searches up to `largest`.
    pub(crate) fn new(largest: u16) -> Self {
        let largest = largest.max(MIN_MTU);
        Self {
            current: MIN_MTU,
            ceiling: largest.saturating_add(1),
            largest,
            attempts: 0,
            in_flight: None,
            next_search: None,
            is_narrow: false,
            large_lost: 0,
            large_silent: 0,
        }
    }

    /// UDP payload bytes that the path is known to carry.
    pub(crate) fn current(&self) -> u16 {
        self.current
    }

    /// Whether the path does not even carry [`MIN_MTU`], as far as is known. It must not be used
    /// then, but may be asked whether that has changed (RFC 9000 §14.2).
    pub(crate) fn is_narrow(&self) -> bool {
        self.is_narrow
    }

    /// Whether a packet of `size` tells that the path carries what is sent now: above [`MIN_MTU`],
    /// or nearly as large where nothing above it is sent.
    pub(crate) fn is_large(&self, size: u16) -> bool {
        if self.current > MIN_MTU {
            size > MIN_MTU
        } else {
            // Larger ones left before that.
            (MIN_MTU - NEARLY..=MIN_MTU).contains(&size)
        }
    }

    /// The size to try now, if any.
    pub(crate) fn probe_due(&self, now: Instant) -> Option<u16> {
        if self.in_flight.is_some() {
            return None;
        }
        if let Some(at) = self.next_search {
            return (now >= at && self.current < self.largest).then_some(self.largest);
        }
        let size = self.candidate();
        (size > self.current).then_some(size)
    }

    /// A probe of this size left.
    pub(crate) fn on_probe_sent(&mut self, size: u16) {
        if self.next_search.take().is_some() {
            self.ceiling = self.largest.saturating_add(1);
            self.attempts = 0;
        }
        self.in_flight = Some(size);
    }

    /// A probe arrived. Returns whether the path MTU grew.
    pub(crate) fn on_probe_acked(&mut self, size: u16, now: Instant) -> bool {
        if self.in_flight == Some(size) {
            self.in_flight = None;
            self.attempts = 0;
        }
        let grew = size > self.current;
        if grew {
            self.current = size;
            self.is_narrow = false;
            (self.large_lost, self.large_silent) = (0, 0);
        }
        // One that was given up for lost may still arrive.
        self.ceiling = self.ceiling.max(size.saturating_add(1));
        self.finish_search(now);
        grew
    }

    /// A probe did not arrive. After `attempts` of a size, that size is what is wrong.
    pub(crate) fn on_probe_lost(&mut self, size: u16, attempts: u32, now: Instant) {
        if self.in_flight != Some(size) {
            return;
        }
        self.in_flight = None;
        if size <= self.current {
            // A larger one has arrived meanwhile.
            return;
        }
        self.attempts += 1;
        if u32::from(self.attempts) >= attempts {
            self.attempts = 0;
            self.ceiling = size;
            self.finish_search(now);
        }
    }

    /// Packets arrived, `has_large` if one of them [was large](Self::is_large): the path still
    /// carries that size. Otherwise large packets that were lost in silence before count.
    /// Returns whether the path turned out to be a black hole for large packets and went back
    /// to [`MIN_MTU`]. If it was there already, it [is narrow](Self::is_narrow).
    pub(crate) fn on_acked(&mut self, has_large: bool, now: Instant) -> bool {
        let silent = std::mem::take(&mut self.large_silent);
        if has_large {
            self.large_lost = 0;
            self.is_narrow = false;
            return false;
        }
        self.count(silent, now)
    }

    /// So many large packets were lost, while others arrived. Returns whether the path turned out
    /// to be a black hole for them and went back to [`MIN_MTU`]. If it was there already, it
    /// [is narrow](Self::is_narrow).
    pub(crate) fn on_lost(&mut self, large: u32, now: Instant) -> bool {
        self.count(large.min(MOST_AT_ONCE), now)
    }

    /// So many large packets count as lost because nothing arrives at all.
    pub(crate) fn on_silence(&mut self, large: u32) {
        self.large_silent = (self.large_silent + large).min(MOST_AT_ONCE);
    }

    /// This host would not send a datagram of `size` bytes, since its interface takes none so
    /// large: the search goes on below. Returns whether packets must be smaller from now on.
    pub(crate) fn on_too_big(&mut self, size: u16, now: Instant) -> bool {
        if size <= MIN_MTU {
            return false;
        }
        self.ceiling = self.ceiling.min(size);
        self.attempts = 0;
        self.next_search = None;
        if self.in_flight.is_some_and(|probe| probe >= size) {
            self.in_flight = None;
        }
        let fell = self.current >= size;
        if fell {
            self.current = MIN_MTU;
            self.large_lost = 0;
            self.large_silent = 0;
        }
        self.finish_search(now);
        fell
    }

    fn count(&mut self, lost: u32, now: Instant) -> bool {
        self.large_lost += lost;
        if self.large_lost < BLACK_HOLE_LOSSES {
            return false;
        }
        self.large_lost = 0;
        if self.current == MIN_MTU {
            self.is_narrow = true;
            return false;
        }
        self.current = MIN_MTU;
        self.next_search = Some(now + SEARCH_AGAIN);
        true
    }

    fn candidate(&self) -> u16 {
        if self.ceiling > self.largest {
            return self.largest;
        }
        if self.ceiling - self.current <= RESOLUTION {
            self.current
        } else {
            self.current.midpoint(self.ceiling)
        }
    }

    fn finish_search(&mut self, now: Instant) {
        if self.candidate() <= self.current && self.current < self.largest {
            self.next_search = Some(now + SEARCH_AGAIN);
        }
    }
}

const RESOLUTION: u16 = 20;
/// A packet of data is full up to so many bytes.
const NEARLY: u16 = 100;
/// Chance does not lose so many large packets in a row.
const BLACK_HOLE_LOSSES: u32 = 32;
/// What one loss of many packets counts for.
const MOST_AT_ONCE: u32 = 4;
const SEARCH_AGAIN: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    fn search(carries: u16) -> u16 {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        while let Some(size) = mtu.probe_due(now) {
            mtu.on_probe_sent(size);
            if size <= carries {
                mtu.on_probe_acked(size, now);
            } else {
                mtu.on_probe_lost(size, 3, now);
            }
        }
        mtu.current()
    }

    trait TestEpoch {
        fn now_for_test() -> Instant;
    }

    impl TestEpoch for Instant {
        fn now_for_test() -> Instant {
            #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
            Instant::now()
        }
    }

    #[test]
    fn a_full_ethernet_path_is_found_with_one_probe() {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        assert_eq!(mtu.probe_due(now), Some(1472));
        mtu.on_probe_sent(1472);
        assert_eq!(mtu.probe_due(now), None, "one probe at a time");
        assert!(mtu.on_probe_acked(1472, now));
        assert_eq!(
            mtu.probe_due(now + SEARCH_AGAIN * 2),
            None,
            "nothing larger is wanted"
        );
    }

    #[test]
    fn a_tunnel_is_found_within_the_resolution() {
        for carries in [1200, 1252, 1280, 1392, 1420, 1471] {
            let found = search(carries);
            assert!(
                found <= carries && carries - found <= RESOLUTION,
                "{found} of {carries}"
            );
        }
    }

    #[test]
    fn an_interface_that_takes_less_is_found_without_waiting_for_losses() {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        while let Some(size) = mtu.probe_due(now) {
            mtu.on_probe_sent(size);
            if size <= 1400 {
                mtu.on_probe_acked(size, now);
            } else {
                assert!(!mtu.on_too_big(size, now), "data fit all the time");
            }
        }
        assert!((1380..=1400).contains(&mtu.current()), "{}", mtu.current());

        // Now it takes even less, and data do not fit.
        assert!(mtu.on_too_big(mtu.current(), now));
        assert_eq!(mtu.current(), MIN_MTU);
        assert!(mtu.probe_due(now).is_some_and(|size| size < 1400));
        // What left before that is refused, too, and tells nothing new.
        assert!(!mtu.on_too_big(1472, now));
        assert!(!mtu.on_too_big(MIN_MTU, now), "every path must carry it");
        assert!(mtu.probe_due(now).is_some_and(|size| size < 1400));
    }

    #[test]
    fn a_black_hole_brings_the_minimum_back() {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        mtu.on_probe_sent(1472);
        mtu.on_probe_acked(1472, now);
        let losses = (0..BLACK_HOLE_LOSSES)
            .filter(|_| mtu.on_lost(1, now))
            .count();
        assert_eq!(losses, 1);
        assert_eq!(mtu.current(), MIN_MTU);
        assert_eq!(mtu.probe_due(now), None, "not again at once");
        assert_eq!(mtu.probe_due(now + SEARCH_AGAIN), Some(1472));
    }

    #[test]
    fn a_probe_that_arrives_after_it_was_given_up_counts_and_smaller_ones_no_longer_matter() {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        mtu.on_probe_sent(1472);
        mtu.on_probe_lost(1472, 1, now);
        let smaller = mtu.probe_due(now).expect("the search goes on below");
        mtu.on_probe_sent(smaller);
        assert!(mtu.on_probe_acked(1472, now));
        assert_eq!(mtu.current(), 1472);
        mtu.on_probe_lost(smaller, 1, now);
        assert_eq!((mtu.current(), mtu.probe_due(now)), (1472, None));
    }

    #[test]
    fn a_path_that_swallows_the_minimum_as_well_is_narrow_until_it_no_longer_does() {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        mtu.on_probe_sent(1472);
        mtu.on_probe_acked(1472, now);
        assert!((0..100).any(|_| mtu.on_lost(4, now)));
        assert!(!mtu.is_large(1472), "it left before");
        assert!(mtu.is_large(1150) && mtu.is_large(MIN_MTU) && !mtu.is_large(1000));
        assert!(!mtu.is_narrow());
        for _ in 0..BLACK_HOLE_LOSSES {
            assert!(
                !mtu.is_narrow() && !mtu.on_lost(1, now),
                "nothing is smaller"
            );
        }
        assert!(mtu.is_narrow());
        mtu.on_acked(false, now);
        assert!(mtu.is_narrow(), "a small one arrived");
        mtu.on_acked(true, now);
        assert!(!mtu.is_narrow());
    }

    /// Nothing so large is sent on a narrow path, so nothing else could tell.
    #[test]
    fn a_path_is_not_narrow_that_carried_a_probe_after_all() {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        mtu.on_probe_sent(1300);
        assert!((0..BLACK_HOLE_LOSSES).all(|_| !mtu.on_lost(1, now)));
        assert!(mtu.is_narrow());
        assert!(mtu.on_probe_acked(1300, now));
        assert!(!mtu.is_narrow());
        assert_eq!(mtu.current(), 1300);
        assert!(
            !mtu.on_lost(1, now),
            "what was lost before no longer counts"
        );
    }

    #[test]
    fn the_death_of_a_path_is_no_black_hole_until_small_packets_pass() {
        let now = Instant::now_for_test();
        let mut mtu = MtuDiscovery::new(1472);
        mtu.on_probe_sent(1472);
        mtu.on_probe_acked(1472, now);
        for _ in 0..100 {
            mtu.on_silence(1000);
        }
        assert!(!mtu.on_acked(false, now) && !mtu.on_acked(true, now));
        let silences = (1..=100).find(|_| {
            mtu.on_silence(1000);
            mtu.on_acked(false, now)
        });
        assert_eq!(silences, Some(BLACK_HOLE_LOSSES / MOST_AT_ONCE));
    }
}
