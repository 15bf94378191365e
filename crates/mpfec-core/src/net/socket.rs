//! A UDP socket with segmentation offload, ECN marks and local addresses.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use quinn_udp::{EcnCodepoint, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;

use super::recv_buffers::RecvBuffers;
use super::send_error::{is_about_a_packet, is_assigned, is_gone, is_invalid, is_too_big};
use crate::address::{Ecn, Transmit};

/// A UDP socket, bound to an address and possibly to an interface.
#[derive(Debug)]
pub(crate) struct UdpSocket {
    io: tokio::net::UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
}

/// One UDP payload that arrived.
#[derive(Debug)]
pub(crate) struct Received {
    /// Who sent it; never an IPv4-mapped address.
    pub(crate) remote: SocketAddr,
    /// Which of this host's addresses it was sent to, where the system tells.
    pub(crate) local_ip: Option<IpAddr>,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) data: BytesMut,
}

/// What became of a transmission.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The system took all of it.
    All,
    /// The system took the first so many bytes, whole datagrams; the rest is to be tried
    /// again when the socket is writable. A new socket is blocked until it was polled once.
    Blocked(usize),
    /// The system took none or not all of it, and will not: as good as lost on the way.
    Lost,
    /// The same, since the datagrams are larger than the interface takes.
    TooBig,
    /// The interface or address is gone: the socket is to be dropped.
    Gone,
}

impl UdpSocket {
    /// Binds to `address`, and to the interface named `interface` if given: then nothing
    /// leaves or arrives by another one, whatever the routing table says. Where the system
    /// does not allow that, the address alone must do. Must be called within a runtime.
    ///
    /// # Errors
    /// What the system says, for example that the address or interface is not there.
    pub(crate) fn bind(address: SocketAddr, interface: Option<&str>) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        if address.is_ipv6() {
            // One socket for both families if it is bound to no address.
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        let mut bound = None;
        if let Some(name) = interface {
            match bind_to_interface(&socket, address, name) {
                Ok(()) => bound = Some(name.to_owned()),
                Err(error) if is_gone(&error) => return Err(error),
                Err(error) => tracing::warn!(
                    interface = name,
                    %address,
                    %error,
                    "cannot bind to the interface; the routing table decides by the address"
                ),
            }
        }
        ask_for_buffers(&socket);
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        #[cfg(target_os = "linux")]
        stop_timestamps(&socket);
        let io = tokio::net::UdpSocket::from_std(socket.into())?;
        let local = io.local_addr()?;
        tracing::debug!(
            %local,
            interface = bound,
            gso = state.max_gso_segments(),
            gro = state.gro_segments(),
            may_fragment = state.may_fragment(),
            "socket bound"
        );
        Ok(Self { io, state, local })
    }

    /// The address it is bound to.
    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Receives one batch of messages and hands each datagram to `sink`. Ready with the
    /// number of datagrams; more may wait then.
    ///
    /// # Errors
    /// What the system says. Errors about packets that were sent are skipped, but for the last
    /// of many in a row, so that others have their turn; no wake-up follows an error.
    pub(crate) fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut RecvBuffers,
        mut sink: impl FnMut(Received),
    ) -> Poll<io::Result<usize>> {
        let mut skipped = 0;
        loop {
            ready!(self.io.poll_recv_ready(cx))?;
            let result = self.io.try_io(Interest::READABLE, || {
                buffers.receive(
                    |slices, meta| self.state.recv((&self.io).into(), slices, meta),
                    |meta, data| {
                        sink(Received {
                            remote: canonical(meta.addr),
                            local_ip: meta.dst_ip.map(|ip| ip.to_canonical()),
                            ecn: meta.ecn.map(from_codepoint),
                            data,
                        });
                    },
                )
            });
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if is_about_a_packet(&error) && skipped < MAX_SKIPPED => skipped += 1,
                result => return Poll::Ready(result),
            }
        }
    }

    /// Sends what is in `contents`: one datagram, or several of `transmit.segment_size`.
    /// Larger batches than the system takes are split.
    pub(crate) fn try_send(&self, transmit: &Transmit, contents: &[u8]) -> Sent {
        let segment = transmit.segment_size.unwrap_or(contents.len()).max(1);
        let mut sent = 0;
        while sent < contents.len() {
            let segments = self
                .state
                .max_gso_segments()
                .min(MAX_MESSAGE / segment)
                .max(1);
            let chunk = &contents[sent..contents.len().min(sent + segments * segment)];
            let result = self.io.try_io(Interest::WRITABLE, || {
                self.state
                    .try_send((&self.io).into(), &self.message(transmit, chunk, segment))
            });
            match result {
                Ok(()) => sent += chunk.len(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Sent::Blocked(sent);
                }
                // Segmentation offload was refused, and is off from now on.
                Err(error) if is_invalid(&error) && self.state.max_gso_segments() < segments => {}
                Err(error) => return self.classify(&error),
            }
        }
        Sent::All
    }

    /// Ready when the socket may take more.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_send_ready(cx)
    }

    fn message<'a>(
        &self,
        transmit: &Transmit,
        contents: &'a [u8],
        segment: usize,
    ) -> quinn_udp::Transmit<'a> {
        let is_v6 = self.local.is_ipv6();
        let map = |ip: IpAddr| if is_v6 { IpAddr::V6(mapped(ip)) } else { ip };
        let remote = transmit.tuple.remote;
        let destination = if is_v6 && remote.is_ipv4() {
            SocketAddr::new(map(remote.ip()), remote.port())
        } else {
            remote
        };
        quinn_udp::Transmit {
            destination,
            ecn: transmit.ecn.map(to_codepoint),
            contents,
            segment_size: (segment < contents.len()).then_some(segment),
            // Elsewhere the socket's address says it, and a stale one would be an error.
            src_ip: transmit
                .tuple
                .local_ip
                .filter(|_| self.local.ip().is_unspecified())
                .map(map),
        }
    }

    fn classify(&self, error: &io::Error) -> Sent {
        let ip = self.local.ip();
        let doubtful = is_invalid(error) || error.kind() == io::ErrorKind::NetworkUnreachable;
        if is_gone(error) || (doubtful && !ip.is_unspecified() && !is_assigned(ip)) {
            tracing::debug!(local = %self.local, %error, "socket is of no more use");
            return Sent::Gone;
        }
        if is_too_big(error) {
            return Sent::TooBig;
        }
        tracing::debug!(local = %self.local, %error, "datagram not sent");
        Sent::Lost
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn bind_to_interface(socket: &Socket, _: SocketAddr, name: &str) -> io::Result<()> {
    socket.bind_device(Some(name.as_bytes()))
}

#[cfg(target_vendor = "apple")]
fn bind_to_interface(socket: &Socket, address: SocketAddr, name: &str) -> io::Result<()> {
    let index = netdev::get_interfaces()
        .into_iter()
        .find(|interface| interface.name == name);
    let index = index.and_then(|interface| std::num::NonZeroU32::new(interface.index));
    let Some(index) = index else {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    };
    if address.is_ipv4() {
        socket.bind_device_by_index_v4(Some(index))
    } else {
        socket.bind_device_by_index_v6(Some(index))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn bind_to_interface(_: &Socket, _: SocketAddr, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Asks for large buffers. Linux grants what its limits allow, others all or nothing.
fn ask_for_buffers(socket: &Socket) {
    let sizes = || {
        std::iter::successors(Some(ASKED_BUFFER), |size| Some(size / 2))
            .take_while(|size| *size >= 1 << 18)
    };
    let _ = sizes().any(|size| socket.set_recv_buffer_size(size).is_ok());
    let _ = sizes().any(|size| socket.set_send_buffer_size(size).is_ok());
    let (receive, send) = (
        socket.recv_buffer_size().ok(),
        socket.send_buffer_size().ok(),
    );
    tracing::debug!(receive, send, "socket buffers");
}

/// quinn-udp 0.6 asks for timestamps, but leaves no room for them beside the other facts
/// about a merged message, so that its ECN mark would be cut off. We need none.
#[cfg(target_os = "linux")]
fn stop_timestamps(socket: &Socket) {
    let stopped = nix::sys::socket::setsockopt(
        socket,
        nix::sys::socket::sockopt::ReceiveTimestampns,
        &false,
    );
    if let Err(error) = stopped {
        tracing::debug!(%error, "timestamps stay on; ECN marks of merged messages are lost");
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        // Keeps the scope of a link-local address.
        IpAddr::V6(_) => address,
    }
}

fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

fn from_codepoint(mark: EcnCodepoint) -> Ecn {
    match mark {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}

fn to_codepoint(mark: Ecn) -> EcnCodepoint {
    match mark {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

/// Twice the product of 100 Mbit/s and 200 ms, and more than most systems grant unasked.
const ASKED_BUFFER: usize = 8 << 20;
/// Bytes of one message to the system, however many datagrams: an IPv4 packet's payload.
const MAX_MESSAGE: usize = 65_507;
/// Errors about packets that are skipped in one call.
const MAX_SKIPPED: usize = 16;

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
