//! The changes of a connection's paths, one after the other.

use std::sync::Arc;

use super::connection::wait_for;
use super::shared::ConnectionShared;
use crate::connection::{CloseReason, PathEvent};

/// What happens to the paths of a connection. Each event is handed out once, to whichever
/// of these asks first. Holding one does not keep the connection open.
#[derive(Debug)]
pub struct PathEvents {
    shared: Arc<ConnectionShared>,
}

impl PathEvents {
    pub(super) fn new(shared: Arc<ConnectionShared>) -> Self {
        Self { shared }
    }

    /// Waits for the next change of a path.
    ///
    /// # Errors
    /// Why the connection is closed, once all events are taken.
    pub async fn next(&mut self) -> Result<PathEvent, CloseReason> {
        wait_for(&self.shared, &self.shared.notify.path, |state| {
            state.path_events.pop_front()
        })
        .await
    }

    /// How many events nobody took in time, the oldest of their time.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.shared.lock().missed_path_events
    }
}
