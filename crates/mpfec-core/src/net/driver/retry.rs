//! Where a connection has no path from, and when one is tried again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::net::places::Place;

/// The places from which a connection tries a path again, or lately did.
#[derive(Debug, Default)]
pub(super) struct Retries {
    places: BTreeMap<Place, Attempt>,
}

#[derive(Debug, Default)]
struct Attempt {
    /// When the next attempt is, unless one is under way.
    due: Option<Instant>,
    /// How long was waited for the last one; zero if it came to something.
    waited: Duration,
}

impl Retries {
    /// Tries again after `at_least`, or twice what was waited the last time if that is longer.
    /// An attempt that is to come already stays as it is.
    pub(super) fn later(&mut self, now: Instant, place: Place, at_least: Duration) {
        let attempt = self.places.entry(place).or_default();
        if attempt.due.is_none() {
            attempt.waited = at_least.max((2 * attempt.waited).min(LONGEST_WAIT));
            attempt.due = Some(now + attempt.waited);
        }
    }

    /// The peer has answered there: what fails from now on begins with a short wait.
    pub(super) fn on_answer(&mut self, place: &Place) {
        if let Some(attempt) = self.places.get_mut(place) {
            attempt.waited = Duration::ZERO;
        }
    }

    /// Whatever was tried there says nothing any more. Returns whether an attempt was to come.
    pub(super) fn forget(&mut self, place: &Place) -> bool {
        let attempt = self.places.remove(place);
        attempt.is_some_and(|attempt| attempt.due.is_some())
    }

    /// When the next attempt is.
    pub(super) fn next(&self) -> Option<Instant> {
        self.places.values().filter_map(|attempt| attempt.due).min()
    }

    /// Where to try now.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Place> {
        let due = self
            .places
            .iter_mut()
            .filter(|(_, attempt)| attempt.due.is_some_and(|at| at <= now));
        due.map(|(place, attempt)| {
            attempt.due = None;
            place.clone()
        })
        .collect()
    }
}

/// Each attempt that nobody answers uses up a path ID, of which there are 65536.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::clock;
    use crate::net::route::LocalAddress;

    const FIRST: Duration = Duration::from_secs(5);

    fn place() -> Place {
        Place {
            local: LocalAddress::Interface("eth0".to_owned()),
            remote: None,
        }
    }

    /// The next attempt, which fails `after` it was made. Returns how long was waited for it.
    fn fail(retries: &mut Retries, now: &mut Instant, after: Duration) -> Duration {
        let due = retries.next().unwrap();
        let waited = due - *now;
        assert!(retries.take_due(due - Duration::from_nanos(1)).is_empty());
        assert_eq!(retries.take_due(due), [place()]);
        assert_eq!(retries.next(), None);
        *now = due + after;
        retries.later(*now, place(), FIRST);
        waited
    }

    #[test]
    fn a_place_that_leads_nowhere_is_tried_for_months_with_the_path_ids_of_one_connection() {
        let (mut retries, mut now) = (Retries::default(), clock::now());
        let (begun, patience) = (now, Duration::from_secs(10));
        retries.later(now, place(), FIRST);
        let mut waits = Vec::new();
        while now < begun + Duration::from_secs(90 * 24 * 3600) {
            waits.push(fail(&mut retries, &mut now, patience).as_secs());
        }
        assert_eq!(waits[..8], [5, 10, 20, 40, 80, 160, 300, 300]);
        // Half of them, for a host with two such interfaces.
        assert!(waits.len() < 1 << 15, "{} attempts", waits.len());
    }

    #[test]
    fn waits_are_short_again_once_the_peer_answered_or_the_interface_changed() {
        let (mut retries, mut now) = (Retries::default(), clock::now());
        retries.later(now, place(), FIRST);
        for _ in 0..10 {
            fail(&mut retries, &mut now, Duration::ZERO);
        }
        assert!(retries.forget(&place()) && !retries.forget(&place()));
        retries.later(now, place(), FIRST);
        assert_eq!(fail(&mut retries, &mut now, Duration::ZERO), FIRST);

        let due = retries.next().unwrap();
        retries.take_due(due);
        retries.on_answer(&place());
        retries.later(due, place(), FIRST);
        assert_eq!(retries.next(), Some(due + FIRST));
    }

    #[test]
    fn an_attempt_that_is_to_come_is_not_put_off() {
        let (mut retries, now) = (Retries::default(), clock::now());
        retries.later(now, place(), Duration::from_millis(200));
        retries.on_answer(&place());
        retries.later(now, place(), FIRST);
        assert_eq!(retries.next(), Some(now + Duration::from_millis(200)));
    }
}
