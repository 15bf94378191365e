//! Notices interfaces that appear, vanish or change while the program runs.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::interface::{Interface, usable_interfaces};

/// Follows the usable interfaces of this host.
#[derive(Debug)]
pub struct InterfaceWatch {
    hint: Hint,
    known: Vec<Interface>,
    /// Something changed since the system was last asked.
    dirty: bool,
    changes: VecDeque<InterfaceChange>,
}

/// What happened to an interface, as far as paths are concerned: one that goes down or loses
/// its last address vanishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterfaceChange {
    /// It can carry a path now.
    Appeared(Interface),
    /// It cannot any more.
    Vanished(Interface),
    /// Its addresses are others, or the way to its gateway has come or gone.
    Changed {
        /// As it was.
        before: Interface,
        /// As it is.
        after: Interface,
    },
}

impl InterfaceWatch {
    /// Starts to watch. Where the system does not announce changes, it is asked every two
    /// seconds.
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O and time enabled.
    #[must_use]
    pub fn new() -> Self {
        // First listen, then look: nothing is missed in between.
        let hint = Hint::new();
        Self {
            hint,
            known: usable_interfaces(),
            dirty: false,
            changes: VecDeque::new(),
        }
    }

    /// The interfaces that are usable, up to the change last returned.
    #[must_use]
    pub fn current(&self) -> &[Interface] {
        &self.known
    }

    /// Waits for the next change. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> InterfaceChange {
        loop {
            if let Some(change) = self.changes.pop_front() {
                apply(&mut self.known, &change);
                return change;
            }
            if !self.dirty {
                self.hint.wait().await;
                self.dirty = true;
            }
            // An interface that comes up is a burst of messages: link, addresses, routes.
            let quiet = async { while timeout(SETTLE, self.hint.wait_for_more()).await.is_ok() {} };
            let _ = timeout(SETTLE_AT_MOST, quiet).await;
            let Ok(now) = tokio::task::spawn_blocking(usable_interfaces).await else {
                sleep(POLL).await;
                continue;
            };
            self.dirty = false;
            self.changes.extend(difference(&self.known, &now));
        }
    }
}

impl Default for InterfaceWatch {
    fn default() -> Self {
        Self::new()
    }
}

/// What turns `before` into `after`: what vanished first.
fn difference(before: &[Interface], after: &[Interface]) -> Vec<InterfaceChange> {
    let same = |a: &Interface, b: &Interface| a.index == b.index && a.name == b.name;
    let vanished = before
        .iter()
        .filter(|old| !after.iter().any(|new| same(old, new)))
        .map(|old| InterfaceChange::Vanished(old.clone()));
    let others = after
        .iter()
        .filter_map(|new| match before.iter().find(|old| same(old, new)) {
            None => Some(InterfaceChange::Appeared(new.clone())),
            Some(old) if old.addresses != new.addresses || old.has_gateway != new.has_gateway => {
                Some(InterfaceChange::Changed {
                    before: old.clone(),
                    after: new.clone(),
                })
            }
            Some(_) => None,
        });
    vanished.chain(others).collect()
}

fn apply(known: &mut Vec<Interface>, change: &InterfaceChange) {
    match change {
        InterfaceChange::Appeared(new) => known.push(new.clone()),
        InterfaceChange::Vanished(old) => known.retain(|interface| interface != old),
        InterfaceChange::Changed { before, after } => {
            for interface in known.iter_mut().filter(|interface| *interface == before) {
                interface.clone_from(after);
            }
        }
    }
}

/// Says that it is worth asking the system again.
#[derive(Debug)]
enum Hint {
    #[cfg(target_os = "linux")]
    Announced(netlink::Announcements),
    /// Now and then it is.
    Poll,
}

impl Hint {
    #[cfg(target_os = "linux")]
    fn new() -> Self {
        match netlink::Announcements::new() {
            Ok(announcements) => Self::Announced(announcements),
            Err(error) => Self::fall_back(&error),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> Self {
        Self::Poll
    }

    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only announcements can fail")
    )]
    fn fall_back(error: &io::Error) -> Self {
        tracing::debug!(%error, "the system does not announce interfaces; asking every two seconds");
        Self::Poll
    }

    async fn wait(&mut self) {
        #[cfg(target_os = "linux")]
        if let Self::Announced(announcements) = self {
            match announcements.next().await {
                Ok(()) => return,
                Err(error) => *self = Self::fall_back(&error),
            }
        }
        sleep(POLL).await;
    }

    /// Like [`wait`](Self::wait), but for ever if there is nothing to wait for but time.
    async fn wait_for_more(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Announced(_) => self.wait().await,
            Self::Poll => std::future::pending().await,
        }
    }
}

/// Kernel announcements of links and addresses (rtnetlink(7)).
#[cfg(target_os = "linux")]
mod netlink {
    use std::fmt;
    use std::future::poll_fn;
    use std::io;

    use rtnetlink::sys::protocols::NETLINK_ROUTE;
    use rtnetlink::sys::{AsyncSocket, SocketAddr, TokioSocket};

    pub(super) struct Announcements {
        socket: TokioSocket,
        buffer: Vec<u8>,
    }

    impl Announcements {
        pub(super) fn new() -> io::Result<Self> {
            let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
            socket.socket_mut().bind(&SocketAddr::new(0, GROUPS))?;
            Ok(Self {
                socket,
                buffer: Vec::with_capacity(BUFFER),
            })
        }

        /// Waits for the next one. What it says does not matter: the system is asked.
        pub(super) async fn next(&mut self) -> io::Result<()> {
            let Self { socket, buffer } = self;
            buffer.clear();
            match poll_fn(|cx| socket.poll_recv(cx, buffer)).await {
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => Ok(()),
                result => result,
            }
        }
    }

    impl fmt::Debug for Announcements {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Announcements").finish_non_exhaustive()
        }
    }

    /// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR.
    const GROUPS: u32 = 0x1 | 0x10 | 0x100;
    const BUFFER: usize = 16 << 10;
    /// There were more announcements than the kernel buffers.
    const ENOBUFS: i32 = 105;
}

/// Announcements this close together belong together.
const SETTLE: Duration = Duration::from_millis(150);
const SETTLE_AT_MOST: Duration = Duration::from_millis(600);
const POLL: Duration = Duration::from_secs(2);

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
