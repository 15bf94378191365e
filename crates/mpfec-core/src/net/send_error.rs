//! What an error of a UDP socket means: a lost packet, or a socket that is of no more use.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Whether the error says that the interface or address a socket is bound to is gone, so
/// that the socket never works again.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::NetworkDown | io::ErrorKind::NotConnected
    ) || error
        .raw_os_error()
        .is_some_and(|code| NO_DEVICE.contains(&code))
}

/// Whether `ip` is still an address of this host, as far as the system tells: a socket bound
/// to one that is not fails like one without a route to the peer.
pub(super) fn is_assigned(ip: IpAddr) -> bool {
    match UdpSocket::bind(SocketAddr::new(ip, 0)) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::AddrNotAvailable,
    }
}

/// Whether the request itself was refused: segmentation offload or the source address.
pub(super) fn is_invalid(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
        || error.raw_os_error().is_some_and(|code| IO.contains(&code))
}

/// Whether a datagram was larger than the path or interface takes.
pub(super) fn is_too_big(error: &io::Error) -> bool {
    quinn_udp::is_msg_size_err(error)
}

/// Whether a receive error is about an earlier packet (an ICMP message that came back) and
/// says nothing about the socket.
pub(super) fn is_about_a_packet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::Interrupted
    ) || is_too_big(error)
}

/// ENXIO, ENODEV.
#[cfg(unix)]
const NO_DEVICE: &[i32] = &[6, 19];
#[cfg(not(unix))]
const NO_DEVICE: &[i32] = &[];
/// EIO: an adapter that cannot segment.
#[cfg(unix)]
const IO: &[i32] = &[5];
#[cfg(not(unix))]
const IO: &[i32] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_missing_device_is_told_from_an_unreachable_network() {
        let os = io::Error::from_raw_os_error;
        let (enodev, enetdown, eaddrnotavail) = (os(19), os(100), os(99));
        assert!(is_gone(&enodev) && is_gone(&enetdown) && is_gone(&eaddrnotavail));
        let (enetunreach, eperm, enobufs, emsgsize) = (os(101), os(1), os(105), os(90));
        assert!(
            ![&enetunreach, &eperm, &enobufs, &emsgsize]
                .into_iter()
                .any(is_gone)
        );
        assert!(is_too_big(&emsgsize) && is_invalid(&os(22)) && is_invalid(&os(5)));
        assert!(is_about_a_packet(&os(111)) && !is_about_a_packet(&enodev));
    }

    #[test]
    fn only_own_addresses_are_assigned() {
        assert!(is_assigned([127, 0, 0, 1].into()));
        assert!(!is_assigned([192, 0, 2, 1].into()));
    }
}
