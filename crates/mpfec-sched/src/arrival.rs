//! When a symbol may be expected to arrive (FMTCP Eq. 8 to 10).

use std::time::Duration;

/// Expected time to deliver a packet on a path, losses and their resending included (EDT,
/// FMTCP Eq. 8): `p RTO / (1 - p) + RTT / 2`.
#[must_use]
pub fn expected_delivery_time(loss: f64, rtt: Duration, rto: Duration) -> Duration {
    let loss = bounded(loss);
    rto.mul_f64(loss / (1.0 - loss)) + rtt / 2
}

/// Expected time until the fate of a packet is known (RT, FMTCP Eq. 9): `(1 - p) RTT + p RTO`.
#[must_use]
pub fn response_time(loss: f64, rtt: Duration, rto: Duration) -> Duration {
    let loss = bounded(loss);
    rtt.mul_f64(1.0 - loss) + rto.mul_f64(loss)
}

/// Expected arrival of a packet scheduled now (EAT, FMTCP Eq. 10): EDT while the window has
/// room, else `EDT + RT - tau`, where `tau` is the time since the oldest unacknowledged packet
/// left; never below EDT.
#[must_use]
pub fn expected_arriving_time(
    delivery: Duration,
    response: Duration,
    has_window: bool,
    since_oldest: Duration,
) -> Duration {
    if has_window {
        return delivery;
    }
    delivery + response.saturating_sub(since_oldest)
}

fn bounded(loss: f64) -> f64 {
    if loss.is_finite() {
        loss.clamp(0.0, MAX_LOSS)
    } else {
        MAX_LOSS
    }
}

/// A path that loses more is as good as dead, and the formulas stay finite.
const MAX_LOSS: f64 = 0.95;
