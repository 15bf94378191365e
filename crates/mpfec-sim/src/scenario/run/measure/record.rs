//! What is counted of each path.

use mpfec_core::PathStats;

/// What a path did, which may be closed and opened anew meanwhile.
#[derive(Debug, Default)]
pub(super) struct PathRecord {
    pub(super) sent_packets: Counter,
    pub(super) lost_packets: Counter,
    pub(super) received_bytes: Counter,
    pub(super) received_packets: Counter,
    pub(super) sent_bytes: Counter,
    pub(super) parity: ParityRecord,
    pub(super) received_at_sample: u64,
    pub(super) srtt_ms: Average,
    pub(super) queue_ms: Average,
    pub(super) srtt_in_sample: Average,
    pub(super) queue_in_sample: Average,
}

/// What a path's parity did.
#[derive(Debug, Default)]
pub(super) struct ParityRecord {
    pub(super) sent_bytes: Counter,
    pub(super) sent: Counter,
    pub(super) useful: Counter,
    pub(super) useless: Counter,
}

/// Adds up a counter that begins at 0 again with each new path.
#[derive(Debug, Default)]
pub(super) struct Counter {
    pub(super) path: Option<u32>,
    pub(super) last: u64,
    pub(super) total: u64,
}

/// Mean and maximum of samples.
#[derive(Debug, Default)]
pub(super) struct Average {
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) most: f64,
}

impl PathRecord {
    pub(super) fn add(&mut self, path: &PathStats) {
        self.sent_packets.update(path.id, path.sent_packets);
        self.lost_packets.update(path.id, path.lost_packets);
        self.sent_bytes.update(path.id, path.sent_bytes);
        self.parity.add(path);
        let ms = path.srtt.as_secs_f64() * 1e3;
        self.srtt_ms.add(ms);
        self.srtt_in_sample.add(ms);
    }

    /// Counts from now on.
    pub(super) fn forget(&mut self) {
        for counter in [
            &mut self.sent_packets,
            &mut self.lost_packets,
            &mut self.received_bytes,
            &mut self.received_packets,
            &mut self.sent_bytes,
            &mut self.parity.sent_bytes,
            &mut self.parity.sent,
            &mut self.parity.useful,
            &mut self.parity.useless,
        ] {
            counter.total = 0;
        }
        for average in [
            &mut self.srtt_ms,
            &mut self.queue_ms,
            &mut self.srtt_in_sample,
            &mut self.queue_in_sample,
        ] {
            *average = Average::default();
        }
    }
}

impl ParityRecord {
    pub(super) fn add(&mut self, path: &PathStats) {
        let (id, parity) = (path.id, &path.parity);
        self.sent_bytes.update(id, parity.sent_bytes);
        self.sent.update(id, parity.sent);
        self.useful.update(id, parity.useful);
        self.useless.update(id, parity.useless);
    }
}

impl Counter {
    pub(super) fn update(&mut self, path: u32, value: u64) {
        if self.path != Some(path) {
            self.path = Some(path);
            self.last = 0;
        }
        self.total += value.saturating_sub(self.last);
        self.last = value;
    }
}

impl Average {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.most = self.most.max(value);
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}
