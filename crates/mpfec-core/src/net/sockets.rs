//! The sockets of an endpoint: numbered, made when a route needs them, dropped when they
//! are gone or nobody uses them.

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep};

use super::clock;
use super::driver::bind_address;
use super::interface::interfaces;
use super::recv_buffers::RecvBuffers;
use super::route::LocalAddress;
use super::send_error::{is_about_a_packet, is_gone};
use super::shared::{EndpointShared, lock};
use super::socket::{Sent, UdpSocket};
use crate::address::{Datagram, FourTuple, SocketId, Transmit};

/// Sockets in the order they were made; numbers are never used again.
#[derive(Debug)]
pub(super) struct Sockets {
    bound: Vec<Bound>,
    next_id: u32,
    /// When to look for those that nobody uses.
    next_look: Option<Instant>,
    /// Where handles look up what a socket is.
    shared: Arc<EndpointShared>,
}

/// What a socket of an endpoint is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalSocket {
    /// What it is bound to; the address may be unspecified.
    pub address: SocketAddr,
    /// What it was made for; `None` for those that a server listens on.
    pub made_for: Option<LocalAddress>,
}

#[derive(Debug)]
struct Bound {
    id: SocketId,
    socket: UdpSocket,
    /// What it was made for; `None` for those that a server listens on.
    local: Option<LocalAddress>,
    is_ipv4: bool,
    /// Nobody used it when that was looked at.
    was_unused: bool,
    /// What the system would not take yet.
    waiting: VecDeque<(Transmit, Vec<u8>)>,
    pause: Pause,
}

impl Sockets {
    pub(super) fn new(sockets: Vec<UdpSocket>, shared: Arc<EndpointShared>) -> Self {
        let mut all = Self {
            bound: Vec::new(),
            next_id: 0,
            next_look: None,
            shared,
        };
        for socket in sockets {
            all.add(socket, None);
        }
        all
    }

    pub(super) fn add(&mut self, socket: UdpSocket, local: Option<LocalAddress>) -> SocketId {
        let id = SocketId(self.next_id);
        self.next_id += 1;
        let is_ipv4 = socket.local_addr().is_ipv4();
        let known = LocalSocket {
            address: socket.local_addr(),
            made_for: local.clone(),
        };
        lock(&self.shared.sockets).insert(id, known);
        self.forget_oldest();
        self.look_later(clock::now());
        self.bound.push(Bound {
            id,
            socket,
            local,
            is_ipv4,
            was_unused: false,
            waiting: VecDeque::new(),
            pause: Pause::default(),
        });
        id
    }

    /// The four-tuple of a route, from a socket that exists or is made now.
    ///
    /// # Errors
    /// Why it cannot be made; a line in the log says so as well.
    pub(super) fn tuple(
        &mut self,
        local: &LocalAddress,
        remote: SocketAddr,
    ) -> io::Result<FourTuple> {
        let known = self
            .bound
            .iter_mut()
            .find(|bound| bound.local.as_ref() == Some(local) && bound.is_ipv4 == remote.is_ipv4());
        let socket = match known {
            Some(bound) => {
                bound.was_unused = false;
                bound.id
            }
            None => {
                let socket = bind(local, remote)?;
                self.add(socket, Some(local.clone()))
            }
        };
        Ok(FourTuple {
            socket,
            local_ip: None,
            remote,
        })
    }

    /// What a socket was made for.
    pub(super) fn local(&self, id: SocketId) -> Option<&LocalAddress> {
        self.bound
            .iter()
            .find(|bound| bound.id == id)?
            .local
            .as_ref()
    }

    /// What a socket was made for, whether or not it is still there.
    pub(super) fn made_for(&self, id: SocketId) -> Option<LocalAddress> {
        lock(&self.shared.sockets).get(&id)?.made_for.clone()
    }

    /// Drops the sockets of an interface, but for those whose address is among `kept` if that
    /// is given, and tells which they were.
    pub(super) fn remove_interface(
        &mut self,
        name: &str,
        kept: Option<&[IpAddr]>,
    ) -> Vec<SocketId> {
        let is_kept = |bound: &Bound| {
            let of_interface =
                matches!(&bound.local, Some(LocalAddress::Interface(local)) if local == name);
            let ip = bound.socket.local_addr().ip();
            // Bound to none, it uses whichever there is.
            !of_interface || kept.is_some_and(|kept| ip.is_unspecified() || kept.contains(&ip))
        };
        let gone = self.bound.iter().filter(|bound| !is_kept(bound));
        let gone = gone.map(|bound| bound.id).collect();
        self.bound.retain(is_kept);
        gone
    }

    /// Those that were made for routes. The others, which a server listens on, stay.
    pub(super) fn made(&self) -> impl Iterator<Item = SocketId> {
        let made = self.bound.iter().filter(|bound| bound.local.is_some());
        made.map(|bound| bound.id)
    }

    pub(super) fn close(&mut self, id: SocketId) {
        self.bound.retain(|bound| bound.id != id);
    }

    /// When to look which sockets are in use.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Something may not be used any more.
    pub(super) fn look_later(&mut self, now: Instant) {
        self.next_look.get_or_insert(now + LINGER);
    }

    /// Closes those that nobody used the last time either: on others, late packets may still
    /// arrive, or another path may begin.
    pub(super) fn close_unused(&mut self, now: Instant, used: &BTreeSet<SocketId>) {
        self.next_look = None;
        let mut is_any_left = false;
        self.bound.retain_mut(|bound| {
            let is_unused = bound.local.is_some() && !used.contains(&bound.id);
            let was_unused = std::mem::replace(&mut bound.was_unused, is_unused);
            let stays = !(is_unused && was_unused);
            is_any_left |= is_unused && stays;
            stays
        });
        if is_any_left {
            self.look_later(now);
        }
    }

    /// Bounds what is known of sockets that are gone.
    fn forget_oldest(&self) {
        let mut known = lock(&self.shared.sockets);
        let excess = known
            .len()
            .saturating_sub(self.bound.len() + MAX_REMEMBERED);
        let is_gone = |id: &SocketId| self.bound.iter().all(|bound| bound.id != *id);
        let oldest = known.keys().copied().filter(is_gone).take(excess);
        for id in oldest.collect::<Vec<_>>() {
            known.remove(&id);
        }
    }

    /// Receives a batch from each socket. Returns those that are of no more use.
    pub(super) fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut RecvBuffers,
        received: &mut Vec<(SocketId, Datagram)>,
    ) -> Vec<SocketId> {
        let mut gone = Vec::new();
        for bound in &mut self.bound {
            if !bound.pause.is_over(cx) {
                continue;
            }
            let id = bound.id;
            let result = bound.socket.poll_recv(cx, buffers, |datagram| {
                let tuple = FourTuple {
                    socket: id,
                    local_ip: datagram.local_ip,
                    remote: datagram.remote,
                };
                received.push((
                    id,
                    Datagram {
                        tuple,
                        ecn: datagram.ecn,
                        data: datagram.data,
                    },
                ));
            });
            match verdict(&result, bound.local.is_none(), bound.pause.failures) {
                Verdict::GoOn => bound.pause.failures = 0,
                Verdict::LookAgain => cx.waker().wake_by_ref(),
                Verdict::Pause(time) => {
                    if bound.pause.failures == 0 && time > SHORT_PAUSE {
                        tracing::warn!(local = %bound.socket.local_addr(), ?result, "cannot receive now");
                    }
                    bound.pause.begin(time, cx);
                }
                Verdict::Drop => {
                    tracing::debug!(local = %bound.socket.local_addr(), ?result, "socket failed");
                    gone.push(id);
                }
            }
        }
        if !gone.is_empty() {
            self.bound.retain(|bound| !gone.contains(&bound.id));
        }
        gone
    }

    /// Sends, or keeps what the system does not take yet, up to a bound. Returns what stands in
    /// the way if it is worth telling; a socket that is gone is dropped.
    pub(super) fn send(&mut self, transmit: &Transmit, contents: &[u8]) -> Option<Trouble> {
        let index = self
            .bound
            .iter()
            .position(|bound| bound.id == transmit.tuple.socket)?;
        let bound = self.bound.get_mut(index)?;
        if !bound.waiting.is_empty() {
            bound.wait(transmit, contents);
            return None;
        }
        let sent = bound.socket.try_send(transmit, contents);
        if let Sent::Blocked(sent) = sent {
            bound.wait(transmit, contents.get(sent..).unwrap_or_default());
        }
        let trouble = bound.trouble(&sent, transmit)?;
        if matches!(trouble, Trouble::Gone(_)) {
            self.bound.remove(index);
        }
        Some(trouble)
    }

    /// Sends what had to wait, as far as the system takes it now.
    pub(super) fn poll_pending(&mut self, cx: &mut Context<'_>) -> Vec<Trouble> {
        let mut troubles = Vec::new();
        for bound in &mut self.bound {
            while let Some((transmit, contents)) = bound.waiting.pop_front() {
                if !matches!(bound.socket.poll_writable(cx), Poll::Ready(Ok(()))) {
                    bound.waiting.push_front((transmit, contents));
                    break;
                }
                let sent = bound.socket.try_send(&transmit, &contents);
                if let Sent::Blocked(sent) = sent {
                    let rest = contents.get(sent..).unwrap_or_default().to_vec();
                    bound.waiting.push_front((transmit, rest));
                }
                if let Some(trouble) = bound.trouble(&sent, &transmit) {
                    if matches!(trouble, Trouble::Gone(_)) {
                        bound.waiting.clear();
                    }
                    troubles.push(trouble);
                }
            }
        }
        for trouble in &troubles {
            if let Trouble::Gone(gone) = trouble {
                self.bound.retain(|bound| bound.id != *gone);
            }
        }
        troubles
    }
}

/// Why a transmission did not leave, and never will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The interface takes no datagrams of this size.
    TooBig {
        /// Where from and where to.
        tuple: FourTuple,
        /// Bytes of UDP payload.
        size: usize,
    },
    /// The socket is gone with its interface or address.
    Gone(SocketId),
}

impl Bound {
    /// Keeps a batch for later; beyond the bound it is lost, as in any full queue.
    fn wait(&mut self, transmit: &Transmit, contents: &[u8]) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((*transmit, contents.to_vec()));
        }
    }

    fn trouble(&self, sent: &Sent, transmit: &Transmit) -> Option<Trouble> {
        match sent {
            Sent::TooBig => Some(Trouble::TooBig {
                tuple: transmit.tuple,
                size: transmit.segment_size.unwrap_or(transmit.size),
            }),
            // An address that a server listens on may come back.
            Sent::Gone => self.local.as_ref().map(|_| Trouble::Gone(self.id)),
            Sent::All | Sent::Blocked(_) | Sent::Lost => None,
        }
    }
}

/// Leaves a socket alone for a while after it failed to receive.
#[derive(Debug, Default)]
struct Pause {
    /// In a row.
    failures: u32,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Pause {
    fn begin(&mut self, time: Duration, cx: &mut Context<'_>) {
        self.failures = self.failures.saturating_add(1);
        self.sleep = Some(Box::pin(sleep(time)));
        if self.is_over(cx) {
            cx.waker().wake_by_ref();
        }
    }

    /// Whether there is none; else the task is woken at its end.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(sleep) = &mut self.sleep
            && sleep.as_mut().poll(cx).is_ready()
        {
            self.sleep = None;
        }
        self.sleep.is_none()
    }
}

/// What to do with a socket after it was asked for datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    GoOn,
    /// What arrived was nothing, but something may follow: the system will not wake us for it.
    LookAgain,
    /// An error that may pass, and must not keep the task busy until it does.
    Pause(Duration),
    /// It is gone, as its interface or address is.
    Drop,
}

fn verdict(result: &Poll<io::Result<usize>>, is_listener: bool, failures: u32) -> Verdict {
    match result {
        Poll::Pending | Poll::Ready(Ok(1..)) => Verdict::GoOn,
        Poll::Ready(Ok(0)) => Verdict::LookAgain,
        Poll::Ready(Err(error)) if is_about_a_packet(error) => Verdict::Pause(SHORT_PAUSE),
        // A server's address may come back, and others wait for it to.
        Poll::Ready(Err(error)) if is_gone(error) && !is_listener => Verdict::Drop,
        Poll::Ready(Err(_)) => {
            Verdict::Pause((FIRST_PAUSE * (1 << failures.min(10))).min(LONGEST_PAUSE))
        }
    }
}

fn bind(local: &LocalAddress, remote: SocketAddr) -> io::Result<UdpSocket> {
    let result = match local {
        LocalAddress::Any => UdpSocket::bind(bind_address(None, remote), None),
        LocalAddress::Ip(ip) if ip.is_ipv4() != remote.is_ipv4() => {
            let error = "one is IPv4 and the other IPv6";
            Err(io::Error::new(io::ErrorKind::InvalidInput, error))
        }
        LocalAddress::Ip(ip) => UdpSocket::bind(bind_address(Some(*ip), remote), None),
        LocalAddress::Interface(name) => {
            let interface = interfaces()
                .into_iter()
                .find(|interface| interface.name == *name);
            let ip = interface.and_then(|interface| interface.address_towards(remote.ip()));
            UdpSocket::bind(bind_address(ip, remote), Some(name))
        }
    };
    if let Err(error) = &result {
        tracing::warn!(%local, %remote, %error, "cannot use this path");
    }
    result
}

/// A socket that nobody uses is closed after this time to twice as much.
const LINGER: Duration = Duration::from_secs(1);
/// Sockets that are gone and can still be asked for: events tell of them.
const MAX_REMEMBERED: usize = 1024;
/// Batches that wait for one socket.
const MAX_WAITING: usize = 16;
/// After many errors about packets in a row.
const SHORT_PAUSE: Duration = Duration::from_millis(1);
/// After an error of the socket's, doubling with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
#[path = "sockets_tests.rs"]
mod tests;
