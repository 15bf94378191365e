//! Encoding plans: the row operations that turn source into intermediate symbols
//! (RFC 6330 §5.3.3.4), which depend on K alone and cost as much as using them.

use std::sync::{Arc, Mutex, PoisonError};

use ::raptorq::SourceBlockEncodingPlan;

/// The plan for blocks of `source_symbols`, made if it is not at hand.
///
/// Shared by the whole process: connections of one kind use the same few K, and a
/// plan is about as large as the block it is for.
pub(super) fn plan(source_symbols: u16) -> Arc<SourceBlockEncodingPlan> {
    if let Some(plan) = lock(|plans| plans.get(source_symbols)) {
        return plan;
    }
    // Not under the lock: it takes up to a millisecond. Two threads may both do it.
    let plan = Arc::new(SourceBlockEncodingPlan::generate(source_symbols));
    lock(|plans| plans.insert(source_symbols, Arc::clone(&plan)));
    plan
}

fn lock<T>(use_plans: impl FnOnce(&mut Plans<SourceBlockEncodingPlan>) -> T) -> T {
    static PLANS: Mutex<Plans<SourceBlockEncodingPlan>> = Mutex::new(Plans::new());
    // A panic elsewhere cannot leave it half changed in a way that matters: entries are whole.
    use_plans(&mut PLANS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Plans by K, the last used last, bounded by the sum of their K.
struct Plans<P> {
    entries: Vec<(u16, Arc<P>)>,
}

impl<P> Plans<P> {
    const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    fn get(&mut self, source_symbols: u16) -> Option<Arc<P>> {
        let index = self
            .entries
            .iter()
            .position(|entry| entry.0 == source_symbols)?;
        let entry = self.entries.remove(index);
        let plan = Arc::clone(&entry.1);
        self.entries.push(entry);
        Some(plan)
    }

    fn insert(&mut self, source_symbols: u16, plan: Arc<P>) {
        self.entries.retain(|entry| entry.0 != source_symbols);
        self.entries.push((source_symbols, plan));
        let mut total: u32 = self.entries.iter().map(|entry| u32::from(entry.0)).sum();
        let excess = self.entries.iter().take_while(|entry| {
            let is_excess = total > MAX_TOTAL;
            total -= u32::from(entry.0);
            is_excess
        });
        let excess = excess.count();
        self.entries.drain(..excess);
    }
}

/// Most source symbols that all kept plans together are for. A plan takes about 1 kB
/// for each, so this is 16 MB, sixteen plans of the largest K or a hundred of K up to 160.
const MAX_TOTAL: u32 = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_plan_serves_two_blocks_of_one_size() {
        assert!(Arc::ptr_eq(&plan(17), &plan(17)));
    }

    #[test]
    fn the_plan_used_longest_ago_makes_room() {
        let mut plans = Plans::new();
        for source_symbols in 1009..=1024 {
            plans.insert(source_symbols, Arc::new(source_symbols));
        }
        assert_eq!(
            plans.get(1009).as_deref(),
            Some(&1009),
            "sixteen large plans fit"
        );
        plans.insert(1000, Arc::new(1000));
        assert_eq!(plans.get(1010), None, "it was the one used longest ago");
        assert_eq!(plans.get(1009).as_deref(), Some(&1009));
        assert_eq!(plans.get(1000).as_deref(), Some(&1000));
    }

    #[test]
    fn plans_of_every_size_stay_within_the_bound() {
        let mut plans = Plans::new();
        for source_symbols in 1..=1024 {
            plans.insert(source_symbols, Arc::new(()));
            let total: u32 = plans.entries.iter().map(|entry| u32::from(entry.0)).sum();
            assert!(total <= MAX_TOTAL, "{total} after K = {source_symbols}");
        }
        assert!(plans.get(1024).is_some());
    }
}
