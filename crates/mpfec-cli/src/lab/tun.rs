//! TUN devices, which give and take IP packets.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;

/// A new device called `name` in the namespace of this thread; it is gone when closed.
#[expect(unsafe_code, reason = "TUNSETIFF has no safe wrapper")]
pub(super) fn open(name: &str) -> io::Result<OwnedFd> {
    let device = OpenOptions::new().read(true).write(true).open(DEVICE)?;
    let mut ifr_name = [0; libc::IFNAMSIZ];
    // One less: the name ends with a zero.
    if name.len() >= ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, byte) in ifr_name.iter_mut().zip(name.bytes()) {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    let request = libc::ifreq {
        ifr_name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            ifru_flags: (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short,
        },
    };
    // SAFETY: the descriptor is open, and the kernel reads and writes no more than the `ifreq`
    // that it is given, which lives until the call returns.
    unsafe { set_interface(device.as_raw_fd(), &raw const request) }?;
    Ok(device.into())
}

/// What devices are made of.
pub(super) const DEVICE: &str = "/dev/net/tun";

nix::ioctl_write_ptr_bad!(set_interface, libc::TUNSETIFF, libc::ifreq);
