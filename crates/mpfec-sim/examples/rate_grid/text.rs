//! What the text of every cell has, and what its figures are measured in.

use mpfec_sim::scenario::RunResult;

/// Text of a bottleneck link towards the server and back.
pub(crate) fn link(rate: f64, rtt: f64, queue: f64, loss: &str) -> String {
    let packets = (queue * rate * rtt / 12.0).max(5.0);
    link_of(rate, rtt, packets.round(), loss)
}

pub(crate) fn link_of(rate: f64, rtt: f64, packets: f64, loss: &str) -> String {
    let delay = rtt / 2.0;
    format!(
        "forward = {{ rate_mbps = {rate}, delay_ms = {delay}, queue_packets = {packets}{loss} }}\n\
         backward = {{ rate_mbps = {rate}, delay_ms = {delay} }}\n"
    )
}

/// What a TCP flow of this kind is given besides.
pub(crate) fn sack(rival: &str) -> &'static str {
    if rival == "newreno" {
        "sack = true\n"
    } else {
        ""
    }
}

pub(crate) const HEAD: &str = "summary = \"a cell\"\nsample_s = 0.5\n";

pub(crate) const VARIANT: &str = "[[variant]]\nprofile = \"auto\"\n";

/// Share of `metric` in an equal part of a link of `rate`, headers counted as payload.
pub(crate) fn share(result: &RunResult, metric: &str, rate: f64, flows: f64) -> f64 {
    result.metric(metric).unwrap_or(0.0) * 1500.0 / 1472.0 / rate * flows
}

/// Percent of what was sent that the queue of path A has dropped.
pub(crate) fn overflow(result: &RunResult) -> f64 {
    result.metric("overflow_percent.A").unwrap_or(0.0)
}

/// The names of what is so.
pub(crate) fn named(misses: &[(bool, &'static str)]) -> Vec<&'static str> {
    let so = misses.iter().filter(|(is_so, _)| *is_so);
    so.map(|(_, name)| *name).collect()
}

/// Percent that a queue may drop.
pub(crate) const MOST_OVERFLOW: f64 = 5.0;
