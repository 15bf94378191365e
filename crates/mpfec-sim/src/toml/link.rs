//! The figures of a link in a setup file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ParseError;
use crate::{
    Change, Faults, GilbertElliott, LinkConfig, MAX_DELAY, Policer, QueueLimit, SetupError,
};

/// Every figure of a link; what is absent is inherited or has its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_mbps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter_reorders: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_bdp: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_packets_least: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codel_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reorder_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reorder_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    corrupt_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    police: Option<PoliceTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<BurstTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gilbert: Option<GilbertTable>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PoliceTable {
    rate_mbps: f64,
    burst_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BurstTable {
    percent: f64,
    length: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GilbertTable {
    enter: f64,
    leave: f64,
    #[serde(default)]
    good_loss: f64,
    #[serde(default = "all")]
    bad_loss: f64,
}

fn all() -> f64 {
    1.0
}

/// A link whose queue may depend on the round trip of its path.
pub(super) struct ReadLink {
    pub(super) config: LinkConfig,
    /// The queue in bandwidth-delay products; otherwise `config` has it.
    queue_bdp: Option<f64>,
    /// Packets of full size that such a queue holds at least.
    queue_packets_least: u64,
}

impl ReadLink {
    pub(super) fn with_queue(&mut self, rtt: Duration) -> LinkConfig {
        let mut config = self.config.clone();
        if let (Some(factor), Some(rate)) = (self.queue_bdp, config.rate) {
            let least = u64::from(config.mtu).saturating_mul(self.queue_packets_least);
            config.queue = match QueueLimit::bandwidth_delay(rate, rtt, factor) {
                QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes.max(least)),
                other => other,
            };
        }
        config
    }
}

impl LinkTable {
    /// This table with what it leaves open taken from `base`.
    pub(super) fn over(self, base: &Self) -> Self {
        let has_queue =
            self.queue_bdp.is_some() || self.queue_bytes.is_some() || self.queue_packets.is_some();
        let has_bursts = self.burst.is_some() || self.gilbert.is_some();
        let queues = if has_queue { &self } else { base };
        let bursts = if has_bursts { &self } else { base };
        Self {
            rate_mbps: self.rate_mbps.or(base.rate_mbps),
            delay_ms: self.delay_ms.or(base.delay_ms),
            jitter_ms: self.jitter_ms.or(base.jitter_ms),
            jitter_reorders: self.jitter_reorders.or(base.jitter_reorders),
            queue_bdp: queues.queue_bdp,
            queue_bytes: queues.queue_bytes,
            queue_packets: queues.queue_packets,
            queue_packets_least: self.queue_packets_least.or(base.queue_packets_least),
            codel_ms: self.codel_ms.or(base.codel_ms),
            slot_ms: self.slot_ms.or(base.slot_ms),
            loss_percent: self.loss_percent.or(base.loss_percent),
            reorder_percent: self.reorder_percent.or(base.reorder_percent),
            reorder_ms: self.reorder_ms.or(base.reorder_ms),
            duplicate_percent: self.duplicate_percent.or(base.duplicate_percent),
            corrupt_percent: self.corrupt_percent.or(base.corrupt_percent),
            mtu: self.mtu.or(base.mtu),
            overhead: self.overhead.or(base.overhead),
            police: self.police.or(base.police),
            burst: bursts.burst,
            gilbert: bursts.gilbert,
        }
    }

    /// A link with these figures.
    pub(super) fn read(self, place: &str) -> Result<ReadLink, ParseError> {
        let mut config = LinkConfig::default();
        for figure in self.figures(place)? {
            figure.apply_to(&mut config);
        }
        config.overhead = self.overhead.unwrap_or(config.overhead);
        let has_queue = self.queue(place)?.is_some();
        let queue_bdp = match (self.queue_bdp, config.rate, has_queue) {
            (_, _, true) => None,
            (factor, Some(_), _) => Some(factor.unwrap_or(1.0)),
            (Some(_), None, _) => {
                return problem(place, "queue_bdp needs a rate_mbps; or give queue_bytes");
            }
            (None, None, _) => None,
        };
        Ok(ReadLink {
            config,
            queue_bdp,
            queue_packets_least: self.queue_packets_least.unwrap_or(0),
        })
    }

    /// The changes that set these figures on a link that is in use.
    pub(crate) fn changes(self, place: &str) -> Result<Vec<Change>, ParseError> {
        if self.overhead.is_some() {
            return problem(place, "the overhead of a link does not change");
        }
        if self.queue_bdp.is_some() && self.queue(place)?.is_none() {
            return problem(
                place,
                "a change gives its queue in queue_bytes or queue_packets",
            );
        }
        if self.reorder_percent.is_some() != self.reorder_ms.is_some() {
            return problem(
                place,
                "a change gives reorder_percent and reorder_ms together",
            );
        }
        self.figures(place)
    }

    /// What is given, except `overhead` and a queue that depends on the round trip.
    fn figures(&self, place: &str) -> Result<Vec<Change>, ParseError> {
        let mut figures = Vec::new();
        if let Some(mbps) = self.rate_mbps {
            figures.push(Change::Rate(rate(place, mbps)?));
        }
        if let Some(ms) = self.delay_ms {
            figures.push(Change::Delay(duration(place, "delay_ms", ms, MILLISECOND)?));
        }
        if let Some(ms) = self.jitter_ms {
            figures.push(Change::Jitter(duration(
                place,
                "jitter_ms",
                ms,
                MILLISECOND,
            )?));
        }
        figures.extend(self.jitter_reorders.map(Change::JitterReorders));
        figures.extend(self.queue(place)?.map(Change::Queue));
        if let Some(police) = self.police {
            figures.push(Change::Policer(police.read(place)?));
        }
        if let Some(ms) = self.codel_ms {
            let target = duration(place, "codel_ms", ms, MILLISECOND)?;
            figures.push(Change::Codel(Some(target).filter(|it| !it.is_zero())));
        }
        if let Some(ms) = self.slot_ms {
            figures.push(Change::Slot(duration(place, "slot_ms", ms, MILLISECOND)?));
        }
        if let Some(percent) = self.loss_percent {
            figures.push(Change::Loss(share(place, "loss_percent", percent)?));
        }
        if let Some(bursts) = self.bursts(place)? {
            figures.push(Change::Bursts(Some(bursts)));
        }
        if self.reorder_percent.is_some() || self.reorder_ms.is_some() {
            let share = share(
                place,
                "reorder_percent",
                self.reorder_percent.unwrap_or(0.0),
            )?;
            let delay = duration(
                place,
                "reorder_ms",
                self.reorder_ms.unwrap_or(0.0),
                MILLISECOND,
            )?;
            figures.push(Change::Reorder { share, delay });
        }
        if let Some(percent) = self.duplicate_percent {
            figures.push(Change::Duplicate(share(
                place,
                "duplicate_percent",
                percent,
            )?));
        }
        if let Some(percent) = self.corrupt_percent {
            figures.push(Change::Corrupt(share(place, "corrupt_percent", percent)?));
        }
        figures.extend(self.mtu.map(Change::Mtu));
        Ok(figures)
    }

    /// The queue, unless it is absent or depends on the round trip.
    fn queue(&self, place: &str) -> Result<Option<QueueLimit>, ParseError> {
        match (self.queue_bdp, self.queue_bytes, self.queue_packets) {
            (None, None, None) => Ok(None),
            (None, Some(bytes), None) => Ok(Some(QueueLimit::Bytes(bytes))),
            (None, None, Some(packets)) => Ok(Some(QueueLimit::Packets(packets))),
            (Some(f64::INFINITY), None, None) => Ok(Some(QueueLimit::Unlimited)),
            (Some(factor), None, None) => range(place, "queue_bdp", factor, 0.0, 1e6).map(|_| None),
            _ => problem(
                place,
                "only one of queue_bdp, queue_bytes and queue_packets",
            ),
        }
    }

    fn bursts(&self, place: &str) -> Result<Option<GilbertElliott>, ParseError> {
        match (self.burst, self.gilbert) {
            (None, None) => Ok(None),
            (Some(burst), None) => {
                let rate = range(place, "burst percent", burst.percent, 0.0, 99.0)? / 100.0;
                let length = range(place, "burst length", burst.length, 1.0, 1e6)?;
                if rate > length * (1.0 - rate) {
                    return problem(place, "bursts so short cannot lose so much");
                }
                Ok(Some(GilbertElliott::bursts(rate, length)))
            }
            (
                None,
                Some(GilbertTable {
                    enter,
                    leave,
                    good_loss,
                    bad_loss,
                }),
            ) => Ok(Some(GilbertElliott {
                enter,
                leave,
                good_loss,
                bad_loss,
            })),
            (Some(_), Some(_)) => problem(place, "only one of burst and gilbert"),
        }
    }

    /// Every figure of `link`.
    pub(super) fn of(link: &LinkConfig) -> Self {
        let LinkConfig {
            rate,
            delay,
            jitter,
            jitter_reorders,
            policer,
            queue,
            codel,
            slot,
            loss,
            bursts,
            faults,
            mtu,
            overhead,
        } = *link;
        let Faults {
            reorder,
            reorder_delay,
            duplicate,
            corrupt,
        } = faults;
        let figures = [
            Change::Rate(rate),
            Change::Delay(delay),
            Change::Jitter(jitter),
            Change::JitterReorders(jitter_reorders),
            Change::Queue(queue),
            Change::Slot(slot),
            Change::Loss(loss),
            Change::Reorder {
                share: reorder,
                delay: reorder_delay,
            },
            Change::Duplicate(duplicate),
            Change::Corrupt(corrupt),
            Change::Mtu(mtu),
        ];
        let bursts = bursts.map(|bursts| Change::Bursts(Some(bursts)));
        let table = figures
            .into_iter()
            .chain(policer.map(|policer| Change::Policer(Some(policer))))
            .chain(codel.map(|target| Change::Codel(Some(target))))
            .chain(bursts)
            .fold(Self::default(), Self::with);
        Self {
            overhead: Some(overhead),
            ..table
        }
    }

    /// The table with the figure that `change` sets; a cut sets none.
    pub(super) fn with(mut self, change: Change) -> Self {
        match change {
            Change::Rate(rate) => {
                self.rate_mbps = Some(rate.map_or(f64::INFINITY, |rate| rate as f64 / 1e6))
            }
            Change::Delay(delay) => self.delay_ms = Some(millis(delay)),
            Change::Jitter(jitter) => self.jitter_ms = Some(millis(jitter)),
            Change::JitterReorders(reorders) => self.jitter_reorders = Some(reorders),
            Change::Queue(QueueLimit::Unlimited) => self.queue_bdp = Some(f64::INFINITY),
            Change::Queue(QueueLimit::Bytes(bytes)) => self.queue_bytes = Some(bytes),
            Change::Queue(QueueLimit::Packets(packets)) => self.queue_packets = Some(packets),
            Change::Policer(policer) => self.police = Some(PoliceTable::of(policer)),
            Change::Codel(target) => self.codel_ms = Some(millis(target.unwrap_or_default())),
            Change::Slot(slot) => self.slot_ms = Some(millis(slot)),
            Change::Loss(loss) => self.loss_percent = Some(percent(loss)),
            Change::Bursts(bursts) => {
                // No bursts any more are bursts that never begin.
                let GilbertElliott {
                    enter,
                    leave,
                    good_loss,
                    bad_loss,
                } = bursts.unwrap_or(NO_BURSTS);
                self.gilbert = Some(GilbertTable {
                    enter,
                    leave,
                    good_loss,
                    bad_loss,
                });
            }
            Change::Reorder { share, delay } => {
                self.reorder_percent = Some(percent(share));
                self.reorder_ms = Some(millis(delay));
            }
            Change::Duplicate(share) => self.duplicate_percent = Some(percent(share)),
            Change::Corrupt(share) => self.corrupt_percent = Some(percent(share)),
            Change::Mtu(mtu) => self.mtu = Some(mtu),
            Change::Cut | Change::Restore => {}
        }
        self
    }
}

impl PoliceTable {
    fn read(self, place: &str) -> Result<Option<Policer>, ParseError> {
        let rate = rate(place, self.rate_mbps)?;
        Ok(rate.map(|rate| Policer {
            rate,
            burst: self.burst_bytes,
        }))
    }

    /// No policer is one of no rate.
    fn of(policer: Option<Policer>) -> Self {
        Self {
            rate_mbps: policer.map_or(f64::INFINITY, |policer| policer.rate as f64 / 1e6),
            burst_bytes: policer.map_or(0, |policer| policer.burst),
        }
    }
}

fn rate(place: &str, mbps: f64) -> Result<Option<u64>, ParseError> {
    if mbps == f64::INFINITY {
        return Ok(None);
    }
    let mbps = range(place, "rate_mbps", mbps, 1e-6, 1e6)?;
    Ok(Some((mbps * 1e6).round() as u64))
}

/// `value` of `unit`s in nanoseconds as a duration, at most [`MAX_DELAY`].
pub(super) fn duration(
    place: &str,
    what: &'static str,
    value: f64,
    unit: f64,
) -> Result<Duration, ParseError> {
    let most = MAX_DELAY.as_nanos() as f64 / unit;
    range(place, what, value, 0.0, most)
        .map(|value| Duration::from_nanos((value * unit).round() as u64))
}

/// A share in steps of 1e-12: one division, so that 7 % is the double next to 0.07.
fn share(place: &str, what: &'static str, percent: f64) -> Result<f64, ParseError> {
    range(place, what, percent, 0.0, 100.0).map(|percent| (percent * 1e10).round() / 1e12)
}

fn range(
    place: &str,
    what: &'static str,
    got: f64,
    least: f64,
    most: f64,
) -> Result<f64, ParseError> {
    // Not a number is in no range.
    if (least..=most).contains(&got) {
        return Ok(got);
    }
    Err(SetupError::Range {
        place: place.to_owned(),
        what,
        got,
        least,
        most,
    }
    .into())
}

fn problem<T>(place: &str, problem: &'static str) -> Result<T, ParseError> {
    Err(ParseError::Link {
        place: place.to_owned(),
        problem,
    })
}

fn millis(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / MILLISECOND
}

/// A share in percent, without the noise of the conversion: 7, not 7.000000000000001.
fn percent(share: f64) -> f64 {
    (share * 1e12).round() / 1e10
}

/// Nanoseconds.
const MILLISECOND: f64 = 1e6;

/// Nanoseconds.
pub(super) const SECOND: f64 = 1e9;

const NO_BURSTS: GilbertElliott = GilbertElliott {
    enter: 0.0,
    leave: 1.0,
    good_loss: 0.0,
    bad_loss: 0.0,
};
