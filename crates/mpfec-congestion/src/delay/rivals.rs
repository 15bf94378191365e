//! How many others an equal share has to be left to, as far as losses tell.
//!
//! What a path carried at best does not tell how many share it now. What their overflows do to a flow
//! does: TCP's law gives every flow the window at which it loses as often as it does, however many
//! there are. So the window of an equal share is the one that a TCP flow would have which met with
//! losses as often as this path does.

/// How often losses are noticed that the link does not explain, while others fill the queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rivals {
    /// Part of the rounds with losses, and the part that the link explains: means.
    lossy: f64,
    of_link: f64,
    /// Rounds that are left until an answer shows: what they lose left before it.
    answering: u32,
}

impl Rivals {
    /// A round has passed with so many packets, `lost` of which were lost, on a path that loses the
    /// part `p0` by itself, in bursts of `burst` packets.
    pub(super) fn on_round(&mut self, packets: f64, lost: f64, p0: f64, burst: f64) {
        let (fewest, of_link) = beyond_chance(DOUBT * p0 * packets / burst);
        let of_link = of_link / (1.0 + f64::from(ANSWERED) * of_link);
        let has_lost = lost >= fewest * burst && self.answering == 0;
        self.answering = if has_lost {
            ANSWERED
        } else {
            self.answering.saturating_sub(1)
        };
        let seen = if has_lost { 1.0 } else { 0.0 };
        self.lossy += (seen - self.lossy) / WATCHED;
        self.of_link += (of_link - self.of_link) / WATCHED;
    }

    /// The window of a TCP flow that meets with losses as often, in packets; `None` if they are too few
    /// to tell. `part` is the path's part of the connection. Its siblings may meet with the same overflows,
    /// or with as many others: what is taken lies between the two.
    pub(super) fn window(&self, rtt: f64, part: f64) -> Option<f64> {
        let chance = |of_rounds: f64| (of_rounds / (2.0 * WATCHED)).sqrt();
        let (seen, of_link) = (self.lossy, self.of_link);
        let lossy = seen - chance(seen) - of_link - chance(of_link);
        if seen < FEWEST || lossy <= 0.0 {
            return None;
        }
        let rounds = part.sqrt() / lossy;
        Some((RENO * rounds).max(CUBIC * (rounds * rtt).powi(3)))
    }
}

/// How many losses in a round are more than chance makes of a link that has `expected` ones, and the
/// probability (Poisson) that it has as many.
///
/// Of hundreds of packets each round has a loss of a link that loses next to nothing; an overflow takes
/// several of so many.
fn beyond_chance(expected: f64) -> (f64, f64) {
    let mut exactly = (-expected).exp();
    let (mut fewest, mut fewer) = (1.0, exactly);
    while 1.0 - fewer > CHANCE && fewest < MOST_BY_CHANCE {
        exactly *= expected / fewest;
        fewer += exactly;
        fewest += 1.0;
    }
    (fewest, (1.0 - fewer).max(0.0))
}

/// Rounds over which losses are watched.
const WATCHED: f64 = 50.0;
/// Part of them that is more than a loss or two, after which the next one may be far away.
const FEWEST: f64 = 2.5 / WATCHED;
/// Rounds that an answer to losses takes.
const ANSWERED: u32 = 2;
/// Part of the rounds that may have as many losses by chance, and losses that any link may have.
const CHANCE: f64 = 0.1;
const MOST_BY_CHANCE: f64 = 30.0;
/// Times what the link seems to lose that it may lose.
const DOUBT: f64 = 1.5;
/// Largest window of a flow with one loss in so many rounds: Reno grows by half of it meanwhile (RFC 5681),
/// CUBIC by as much as is about as fair to Reno (RFC 9438 §4.3).
const RENO: f64 = 2.0;
/// The same by CUBIC's curve (RFC 9438 §4.2), of which a tenth is taken for the mean: after so many seconds
/// it has made up for the 0.3 of the window that the loss took, 0.4 packets per second cubed.
const CUBIC: f64 = 1.2;

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after 300 rounds of 100 packets, of which every `every`-th has a loss.
    fn after(every: u32, p0: f64) -> Rivals {
        let mut rivals = Rivals::default();
        for round in 1..=300 {
            let lost = if round % every == 0 { 1.0 } else { 0.0 };
            rivals.on_round(100.0, lost, p0, 1.0);
        }
        rivals
    }

    #[test]
    fn losses_in_every_tenth_round_are_those_of_a_window_of_some_20_to_40_packets() {
        let window = after(10, 0.0).window(0.02, 1.0).unwrap();
        assert!((20.0..40.0).contains(&window), "{window}");
    }

    #[test]
    fn more_frequent_losses_show_more_rivals() {
        let windows = [15, 12, 8, 5].map(|every| after(every, 0.0).window(0.02, 1.0).unwrap());
        assert!(windows.is_sorted_by(|a, b| a > b), "{windows:?}");
    }

    #[test]
    fn a_long_time_between_losses_is_that_of_a_large_cubic_window() {
        let rivals = after(12, 0.0);
        let [near, far] = [0.02, 0.5].map(|rtt| rivals.window(rtt, 1.0).unwrap());
        assert!(near < 100.0 && far > 500.0, "{near}, {far}");
    }

    #[test]
    fn nothing_is_known_without_losses_nor_of_those_that_the_link_explains() {
        assert_eq!(Rivals::default().window(0.02, 1.0), None);
        assert_eq!(after(10, 0.01).window(0.02, 1.0), None);
    }

    /// Of 200 packets, a link that loses 0.2 % takes one in every third round.
    #[test]
    fn overflows_of_several_packets_show_rivals_where_each_round_has_a_loss_of_the_link() {
        let window = |of_overflow: f64, burst: f64| {
            let mut rivals = Rivals::default();
            for round in 1..=300 {
                let of_link = if round % 3 == 0 { 1.0 } else { 0.0 };
                let lost = if round % 8 == 0 { of_overflow } else { of_link };
                rivals.on_round(200.0, lost, 0.002, burst);
            }
            rivals.window(0.02, 1.0)
        };
        assert!(window(6.0, 1.0).is_some_and(|window| (16.0..50.0).contains(&window)));
        assert_eq!(window(1.0, 1.0), None, "that many may be the link's");
        assert_eq!(window(6.0, 8.0), None, "of which one burst takes more");
    }

    #[test]
    fn what_is_beyond_chance_is_less_likely_than_a_tenth_and_bounded() {
        assert_eq!(beyond_chance(0.0), (1.0, 0.0));
        for expected in [0.05, 0.4, 3.0, 12.0] {
            let (fewest, probability) = beyond_chance(expected);
            assert!(
                fewest > expected && probability <= CHANCE,
                "{expected}: {fewest}"
            );
        }
        assert_eq!(beyond_chance(1e5), (MOST_BY_CHANCE, 1.0));
    }

    #[test]
    fn two_losses_say_nothing() {
        let mut rivals = Rivals::default();
        for lost in [1.0, 0.0, 0.0, 1.0] {
            rivals.on_round(100.0, lost, 0.0, 1.0);
        }
        assert_eq!(rivals.window(0.02, 1.0), None);
    }

    #[test]
    fn losses_in_rounds_that_follow_each_other_are_one_overflow() {
        let mut rivals = Rivals::default();
        for _ in 0..300 {
            rivals.on_round(100.0, 5.0, 0.0, 1.0);
        }
        let window = rivals.window(0.02, 1.0).unwrap();
        assert!((6.0..9.0).contains(&window), "{window}");
    }

    #[test]
    fn a_path_of_several_loses_for_the_others_too() {
        let rivals = after(10, 0.0);
        let [all, half] = [1.0, 0.5].map(|part| rivals.window(0.02, part).unwrap());
        assert!((0.6..0.8).contains(&(half / all)), "{half} of {all}");
    }
}
