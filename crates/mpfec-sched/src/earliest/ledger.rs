//! The right to protect ahead of loss, earned by slots that nobody wanted.

use std::time::Instant;

use crate::view::{MAX_PATHS, PathId};

/// Counts idle slots against repairs that took the place of other data. It starts full, so
/// that first blocks and short messages are protected; bulk empties it once.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Slots left idle because there was too little data.
    common: f64,
    slots: [Slot; MAX_PATHS],
    /// Repairs ahead of loss per source symbol, lately.
    redundancy: f64,
    /// What delay-sensitive blocks may cost bulk data.
    sensitive: Allowance,
    /// What blocks that lost repairs may cost the others.
    again: Allowance,
}

/// Repairs ahead of loss in symbols that other data have to wait for: at most a share of all
/// source symbols, and what was saved up.
#[derive(Debug)]
struct Allowance {
    left: f64,
    full: f64,
    share: f64,
}

impl Allowance {
    fn new(share: f64, full: f64) -> Self {
        Self {
            left: full,
            full,
            share,
        }
    }

    fn on_source(&mut self, count: u32) {
        self.left = (self.left + self.share * f64::from(count)).min(self.full);
    }

    fn spend(&mut self, count: u32) {
        self.left -= f64::from(count);
    }

    fn is_left(&self) -> bool {
        self.left >= 1.0
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    owner: Option<PathId>,
    /// Slots of this path left idle because flow control was closed.
    own: f64,
    idle_since: Option<(Instant, Idle)>,
    /// What the spare repairs that were chosen last would otherwise have been.
    spare: Option<Idle>,
}

/// Why nobody wants a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    /// The application offers less than the paths carry.
    NoData,
    /// Flow control or the send buffer lets nothing out.
    Closed,
}

impl Idle {
    pub(super) fn closed(is_closed: bool) -> Option<Self> {
        is_closed.then_some(Self::Closed)
    }
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            common: FULL,
            slots: [Slot::default(); MAX_PATHS],
            redundancy: 0.0,
            sensitive: Allowance::new(SENSITIVE_SHARE, FULL),
            again: Allowance::new(AGAIN_SHARE, AGAIN_FULL),
        }
    }

    /// Forgets what a slot's former path earned.
    pub(super) fn follow(&mut self, slot: usize, owner: PathId) {
        let slot = &mut self.slots[slot];
        if slot.owner != Some(owner) {
            *slot = Slot {
                owner: Some(owner),
                ..Slot::default()
            };
        }
    }

    /// From 0, nothing ahead of loss, to 1, as much as pays.
    pub(super) fn exponent(&self, slot: usize) -> f64 {
        let earned = self.common.max(self.slots[slot].own);
        if earned < 1.0 { 0.0 } else { earned / FULL }
    }

    pub(super) fn redundancy(&self) -> f64 {
        self.redundancy
    }

    /// The path could send and has nothing.
    pub(super) fn on_idle(&mut self, slot: usize, now: Instant, why: Option<Idle>) {
        let slot = &mut self.slots[slot];
        slot.spare = None;
        if slot.idle_since.is_none() {
            slot.idle_since = why.map(|why| (now, why));
        }
    }

    /// The slot is about to be given to a repair for want of anything else.
    pub(super) fn note_spare(&mut self, slot: usize, why: Option<Idle>) {
        self.slots[slot].spare = why;
    }

    /// `count` symbols left, one each `symbol_seconds`.
    pub(super) fn on_busy(&mut self, slot: usize, now: Instant, symbol_seconds: f64, count: u32) {
        if let Some((since, why)) = self.slots[slot].idle_since.take() {
            let idle = now.saturating_duration_since(since).as_secs_f64() / symbol_seconds;
            self.earn(slot, why, idle);
        }
        let own = &mut self.slots[slot].own;
        if *own > 0.0 {
            *own *= 1.0 - (f64::from(count) / FADE).min(1.0);
        }
    }

    pub(super) fn on_source(&mut self, count: u32) {
        // (1 - w)^n to first order, for batches far below 1 / w.
        self.redundancy *= 1.0 - (WEIGHT * f64::from(count)).min(0.5);
        self.sensitive.on_source(count);
        self.again.on_source(count);
    }

    /// Whether a delay-sensitive block may be protected at the price of other data.
    pub(super) fn affords_sensitive(&self) -> bool {
        self.sensitive.is_left()
    }

    /// Whether a block that lost repairs may be protected at the price of other data.
    pub(super) fn affords_again(&self) -> bool {
        self.again.is_left()
    }

    /// Repairs of a delay-sensitive block ahead of loss that other data had to wait for.
    pub(super) fn on_sensitive(&mut self, count: u32) {
        self.redundancy += WEIGHT * f64::from(count);
        self.sensitive.spend(count);
    }

    /// Repairs ahead of loss of a block that lost repairs.
    pub(super) fn on_again(&mut self, count: u32) {
        self.redundancy += WEIGHT * f64::from(count);
        self.again.spend(count);
    }

    /// Repairs that nobody else's data had to wait for.
    pub(super) fn on_spare(&mut self, slot: usize, count: u32) {
        self.redundancy += WEIGHT * f64::from(count);
        if let Some(why) = self.slots[slot].spare {
            self.earn(slot, why, f64::from(count));
        }
    }

    /// Repairs ahead of loss that other data had to wait for.
    pub(super) fn on_ahead(&mut self, slot: usize, count: u32) {
        self.redundancy += WEIGHT * f64::from(count);
        let own = &mut self.slots[slot].own;
        let purse = if *own > self.common {
            own
        } else {
            &mut self.common
        };
        *purse = (*purse - f64::from(count)).max(0.0);
    }

    fn earn(&mut self, slot: usize, why: Idle, slots: f64) {
        let purse = match why {
            Idle::NoData => &mut self.common,
            Idle::Closed => &mut self.slots[slot].own,
        };
        *purse = (*purse + slots).min(FULL);
    }
}

/// As many idle slots are remembered.
const FULL: f64 = 128.0;

/// Symbols after which half and more of a path's own credit is forgotten.
const FADE: f64 = 1024.0;

/// The share of delay-sensitive data.
const SENSITIVE_SHARE: f64 = 0.125;

/// The share of blocks that lost repairs. Where 3 % are lost they need half of it; where 20 % are,
/// all of them would take 5 % of the goodput.
const AGAIN_SHARE: f64 = 1.0 / 512.0;

/// As many symbols of it are saved up.
const AGAIN_FULL: f64 = 16.0;

/// Weight of one symbol in the running share of repairs.
const WEIGHT: f64 = 0.01;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn idle_slots_restore_what_repairs_ahead_of_loss_used_up() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut ledger = Ledger::new();
        ledger.on_ahead(0, 128);
        assert_eq!(ledger.exponent(0), 0.0);
        ledger.on_idle(0, start, Some(Idle::NoData));
        ledger.on_busy(0, start + Duration::from_millis(64), 0.001, 1);
        assert!(
            (ledger.exponent(0) - 0.5).abs() < 1e-9,
            "{}",
            ledger.exponent(0)
        );
        assert!(
            (ledger.exponent(1) - 0.5).abs() < 1e-9,
            "any path may use it"
        );
    }

    #[test]
    fn slots_idle_for_a_closed_window_count_for_their_path_alone() {
        #[expect(clippy::disallowed_methods, reason = "a test needs an epoch")]
        let start = Instant::now();
        let mut ledger = Ledger::new();
        ledger.on_ahead(0, 128);
        ledger.on_idle(1, start, Some(Idle::Closed));
        ledger.on_busy(1, start + Duration::from_secs(1), 0.001, 1);
        assert_eq!(ledger.exponent(0), 0.0);
        assert!(ledger.exponent(1) > 0.9);
    }

    #[test]
    fn blocks_that_lost_repairs_cost_one_symbol_in_512() {
        let mut ledger = Ledger::new();
        let mut spent = 0;
        for _ in 0..8 * 512 {
            ledger.on_source(1);
            while ledger.affords_again() {
                ledger.on_again(3);
                spent += 3;
            }
        }
        assert!((8..=8 + 16 + 2).contains(&spent), "{spent}");
    }
}
