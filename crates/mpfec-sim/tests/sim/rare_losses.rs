//! Links that lose a packet now and then.

use mpfec_sim::scenario::Scenario;

/// At first packets are smaller than what the path turns out to take. As many of them as pass in a
/// second are more than it ever carries of full ones, so that others seemed to have the rest, and each
/// loss to be one of a queue that they fill.
#[test]
fn a_link_that_loses_a_packet_now_and_then_is_not_taken_for_one_that_others_fill() {
    for loss_percent in [0.1, 0.3] {
        let text = format!(
            "name = \"rare\"\nwarmup_s = 5\nduration_s = 10\napplication = {{ kind = \"bulk\" }}\n\
             [[path]]\nname = \"A\"\nboth = {{ rate_mbps = 40, delay_ms = 5 }}\n\
             forward = {{ queue_packets = 33, loss_percent = {loss_percent} }}\n\
             [[variant]]\nprofile = \"auto\"\n"
        );
        let scenario = Scenario::from_toml(&text, "test").unwrap_or_else(|error| panic!("{error}"));
        let shares: Vec<f64> = (1..=6)
            .map(|seed| {
                let result = scenario.run(0, 0, seed);
                assert_eq!(result.failure, None, "seed {seed}");
                result.metric("limit_percent").expect("it is measured")
            })
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!(
            mean >= 96.0,
            "{loss_percent} %: {mean:.1} % of {shares:.1?}"
        );
        let least = shares
            .iter()
            .fold(f64::INFINITY, |least, &share| least.min(share));
        assert!(least >= 92.0, "{loss_percent} %: {shares:.1?}");
    }
}
