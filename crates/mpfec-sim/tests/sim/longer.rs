//! A path that becomes longer while nobody else is there: what it takes longer is no queue of others.

use mpfec_sim::scenario::Scenario;

use super::metric;

fn share(text: &str, seed: u64) -> f64 {
    let scenario = Scenario::from_toml(text, "test").unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(0, 0, seed);
    assert_eq!(result.failure, None, "seed {seed}");
    metric(&result, "share")
}

/// It passed for a queue of others, beside whom the path then competed for good, with four fifths of its
/// rate.
#[test]
fn a_path_that_becomes_a_little_longer_is_soon_full_again() {
    for longer_ms in [4, 10, 15, 25] {
        let text = format!(
            "name = \"longer\"\nwarmup_s = 12\nduration_s = 8\napplication = {{ kind = \"bulk\" }}\n\
             [[path]]\nname = \"A\"\nboth = {{ rate_mbps = 50, delay_ms = 50 }}\n\
             forward = {{ queue_bdp = 0.1 }}\n\
             [[change]]\nat_s = 8\npath = \"A\"\ndirection = \"forward\"\n\
             set = {{ delay_ms = {} }}\n[[variant]]\nprofile = \"auto\"\n",
            50 + longer_ms
        );
        let shares = [1, 2].map(|seed| share(&text, seed));
        assert!(
            shares.iter().all(|share| *share >= 0.97),
            "{longer_ms} ms: {shares:.3?}"
        );
    }
}

/// As by way of a satellite that hands over, with both ways at once.
#[test]
fn a_path_whose_length_changes_every_few_seconds_is_full_most_of_the_time() {
    for (more, least) in [
        ("", 0.95),
        (", jitter_ms = 4", 0.9),
        (", loss_percent = 0.5", 0.9),
    ] {
        let mut text = format!(
            "name = \"handovers\"\nwarmup_s = 5\nduration_s = 35\n\
             application = {{ kind = \"bulk\" }}\n[[path]]\nname = \"A\"\n\
             both = {{ rate_mbps = 40, delay_ms = 20{more} }}\nforward = {{ queue_bdp = 0.3 }}\n\
             [[variant]]\nprofile = \"auto\"\n"
        );
        for (at, delay) in [(5, 15), (12, 27), (19, 30), (26, 17), (33, 21)] {
            text +=
                &format!("[[change]]\nat_s = {at}\npath = \"A\"\nset = {{ delay_ms = {delay} }}\n");
        }
        for seed in [1, 2] {
            let share = share(&text, seed);
            assert!(share >= least, "{more}: seed {seed}: {share:.3}");
        }
    }
}

/// Its rate of before made what a path that has become slower carries look like half of one that others
/// use, and its own queue like theirs: when it was faster again, and longer, losses of the link were
/// answered as those of a crowd.
#[test]
fn a_path_that_is_faster_again_is_full_although_its_delay_varies_and_packets_get_lost() {
    let text = "name = \"faster\"\nwarmup_s = 14\nduration_s = 10\napplication = { kind = \"bulk\" }\n\
         [[path]]\nname = \"A\"\nboth = { rate_mbps = 40, delay_ms = 20, jitter_ms = 4 }\n\
         forward = { queue_bdp = 0.3, loss_percent = 0.5 }\n\
         [[change]]\nat_s = 6\npath = \"A\"\nset = { rate_mbps = 24 }\n\
         [[change]]\nat_s = 14\npath = \"A\"\nset = { rate_mbps = 40, delay_ms = 24 }\n\
         [[variant]]\nprofile = \"auto\"\n";
    let shares = [1, 2, 3, 4].map(|seed| share(text, seed));
    let mean = shares.iter().sum::<f64>() / 4.0;
    assert!(mean >= 0.85, "{shares:.3?}");
}
