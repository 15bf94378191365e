//! Writers that wait for room.

use std::collections::BTreeMap;

use super::send::Obstacle;
use crate::id::StreamId;

/// Streams whose last write was cut short, and what was in the way.
///
/// A writer that was told that it can go on is still counted as waiting for the buffer until it
/// has written all that it wanted: it has more data, which is what schedulers want to know.
#[derive(Debug, Default)]
pub(super) struct BlockedWriters {
    writers: BTreeMap<StreamId, Blocked>,
    by_buffer: usize,
    by_window: usize,
    untold: usize,
    /// Turns given so far.
    turns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Blocked {
    obstacle: Obstacle,
    /// The application knows that it can go on.
    told: bool,
    /// Who got something goes behind those who got nothing.
    turn: u64,
}

impl BlockedWriters {
    /// A write was cut short, after some bytes if `got_some`. Returns whether this obstacle
    /// was not known to be in its way.
    pub(super) fn insert(&mut self, id: StreamId, obstacle: Obstacle, got_some: bool) -> bool {
        let before = self.writers.get(&id).copied();
        let turn = before.filter(|_| !got_some).map(|before| before.turn);
        let turn = turn.unwrap_or_else(|| {
            self.turns += 1;
            self.turns
        });
        let blocked = Blocked {
            obstacle,
            told: false,
            turn,
        };
        self.set(id, Some(blocked));
        before.is_none_or(|before| before.told || before.obstacle != obstacle)
    }

    /// A write went through, or there will be no more.
    pub(super) fn remove(&mut self, id: StreamId) {
        if !self.writers.is_empty() {
            self.set(id, None);
        }
    }

    /// Whether data wait for room in the buffer.
    pub(super) fn by_buffer(&self) -> bool {
        self.by_buffer > 0
    }

    /// Streams with data that wait, or waited, for room in the buffer.
    pub(super) fn waiting(&self) -> usize {
        self.by_buffer
    }

    /// Whether data wait for the peer's permission.
    pub(super) fn by_window(&self) -> bool {
        self.by_window > 0
    }

    /// What is in the way of a writer that has not been told to go on.
    pub(super) fn obstacle(&self, id: StreamId) -> Option<Obstacle> {
        self.writers
            .get(&id)
            .filter(|blocked| !blocked.told)
            .map(|blocked| blocked.obstacle)
    }

    /// Whether a writer of any stream is held up by `obstacle`.
    pub(super) fn has(&self, obstacle: Obstacle) -> bool {
        self.writers
            .values()
            .any(|blocked| !blocked.told && blocked.obstacle == obstacle)
    }

    /// The writers for which nothing is in the way any more, those first that had to wait
    /// the longest; they count as told. `changed` hears what those wait for now that waited for
    /// something else: they will not write before they are told to.
    pub(super) fn wake(
        &mut self,
        mut obstacle: impl FnMut(StreamId) -> Option<Obstacle>,
        mut changed: impl FnMut(Obstacle),
    ) -> Vec<StreamId> {
        if self.untold == 0 {
            return Vec::new();
        }
        let mut woken = Vec::new();
        let mut changes = Vec::new();
        for (id, blocked) in self.writers.iter().filter(|(_, blocked)| !blocked.told) {
            match obstacle(*id) {
                None => {
                    woken.push((blocked.turn, *id));
                    changes.push((
                        *id,
                        Blocked {
                            obstacle: Obstacle::Buffer,
                            told: true,
                            ..*blocked
                        },
                    ));
                }
                Some(now) if now != blocked.obstacle => {
                    changed(now);
                    changes.push((
                        *id,
                        Blocked {
                            obstacle: now,
                            ..*blocked
                        },
                    ));
                }
                Some(_) => {}
            }
        }
        for (id, blocked) in changes {
            self.set(id, Some(blocked));
        }
        woken.sort_unstable();
        woken.into_iter().map(|(_, id)| id).collect()
    }

    fn set(&mut self, id: StreamId, blocked: Option<Blocked>) {
        let before = match blocked {
            Some(blocked) => self.writers.insert(id, blocked),
            None => self.writers.remove(&id),
        };
        if let Some(before) = before {
            *self.counter(before.obstacle) -= 1;
            self.untold -= usize::from(!before.told);
        }
        if let Some(blocked) = blocked {
            *self.counter(blocked.obstacle) += 1;
            self.untold += usize::from(!blocked.told);
        }
    }

    fn counter(&mut self, obstacle: Obstacle) -> &mut usize {
        match obstacle {
            Obstacle::Buffer => &mut self.by_buffer,
            Obstacle::StreamWindow | Obstacle::ConnectionWindow => &mut self.by_window,
        }
    }
}
