//! Links whose rates wander, as those of mobile networks do.

use std::fmt::Write as _;

use mpfec_core::Rng;
use mpfec_sim::scenario::Scenario;

const WARM_UP: f64 = 5.0;
const DURATION: f64 = 40.0;
/// Seconds between two changes.
const STEP: f64 = 0.5;

/// A link whose rate is multiplied by something within `most` of 1 at every step.
struct Wandering {
    name: &'static str,
    delay_ms: u32,
    queue_packets: u32,
    loss_percent: f64,
    /// Mbit/s.
    range: (f64, f64),
    most: f64,
}

const LTE: Wandering = Wandering {
    name: "lte",
    delay_ms: 25,
    queue_packets: 150,
    loss_percent: 0.0,
    range: (1.0, 20.0),
    most: 1.8,
};
const WIFI: Wandering = Wandering {
    name: "wifi",
    delay_ms: 8,
    queue_packets: 60,
    loss_percent: 1.0,
    range: (4.0, 40.0),
    most: 2.4,
};

impl Wandering {
    /// The path and its changes as TOML, and Mbit/s of data that it lets through while it is
    /// measured.
    fn written(&self, rng: &mut Rng) -> (String, f64) {
        let (least, most) = self.range;
        let mut rate = (least * most).sqrt();
        let mut text = format!(
            "[[path]]\nname = \"{}\"\nboth = {{ rate_mbps = {rate:.2}, delay_ms = {} }}\n\
             forward = {{ queue_packets = {}, loss_percent = {} }}\n",
            self.name, self.delay_ms, self.queue_packets, self.loss_percent
        );
        let mut carried = 0.0;
        let steps = ((WARM_UP + DURATION) / STEP) as u32;
        for step in 0..steps {
            let at = STEP * f64::from(step);
            if step > 0 {
                let uniform = rng.next_u64() as f64 / u64::MAX as f64;
                rate = (rate * self.most.powf(2.0 * uniform - 1.0)).clamp(least, most);
                let _ = write!(
                    text,
                    "[[change]]\nat_s = {at}\npath = \"{}\"\nset = {{ rate_mbps = {rate:.2} }}\n",
                    self.name
                );
            }
            if at >= WARM_UP {
                carried += rate * STEP;
            }
        }
        let payload = 0.957 * (1.0 - self.loss_percent / 100.0);
        (text, payload * carried / DURATION)
    }
}

/// Share of what the links let through, and milliseconds of queue in front of the slower one.
fn carried(seed: u64) -> (f64, f64) {
    let mut rng = Rng::seeded(seed);
    let written = [LTE, WIFI].map(|link| link.written(&mut rng));
    let limit: f64 = written.iter().map(|(_, carried)| carried).sum();
    let paths = written.map(|(text, _)| text).concat();
    let text = format!(
        "name = \"wandering\"\nwarmup_s = {WARM_UP}\nduration_s = {DURATION}\n\
         application = {{ kind = \"bulk\" }}\n{paths}[[variant]]\nprofile = \"auto\"\n"
    );
    let scenario = Scenario::from_toml(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    let result = scenario.run(0, 0, seed);
    assert_eq!(result.failure, None, "seed {seed}");
    let metric = |name| result.metric(name).expect("it is measured");
    (metric("goodput_mbps") / limit, metric("queue_ms.lte"))
}

#[test]
#[expect(clippy::print_stdout, reason = "a measurement, for --nocapture")]
fn a_mobile_link_is_used_well_and_its_deep_queue_is_not_kept_full() {
    let runs = [1, 2, 3, 4, 5, 6].map(|seed| (seed, carried(seed)));
    println!("seed, share, ms of queue: {runs:.2?}");
    for (seed, (share, _)) in runs {
        assert!(
            share >= 0.85,
            "seed {seed}: {share:.2} of what the links let through"
        );
    }
    let queue = runs.map(|(_, (_, queue))| queue).iter().sum::<f64>() / runs.len() as f64;
    assert!(
        queue <= 50.0,
        "{queue:.0} ms of queue in the mean: {runs:.2?}"
    );
}
