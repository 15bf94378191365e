//! What plain frames are made of: each field knows how it is written.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::id::StreamId;
use crate::wire::reader::{Malformed, Reader};
use crate::wire::{ConnectionId, IssuedId, LOCAL_CID_LEN, ResetToken, varint};

/// One field of a frame or transport parameter.
pub(crate) trait Field: Sized {
    /// Reads it; the value is within its range.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
    /// Bytes that [`write`](Self::write) appends.
    fn size(&self) -> usize;
    /// Appends it.
    fn write(&self, out: &mut Vec<u8>);
}

impl Field for u64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.varint()
    }

    fn size(&self) -> usize {
        varint::size(*self)
    }

    fn write(&self, out: &mut Vec<u8>) {
        varint::encode(*self, out);
    }
}

macro_rules! small_number {
    ($type:ty) => {
        impl Field for $type {
            fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                Self::try_from(reader.varint()?).map_err(|_| Malformed("number too large"))
            }

            fn size(&self) -> usize {
                varint::size(u64::from(*self))
            }

            fn write(&self, out: &mut Vec<u8>) {
                varint::encode(u64::from(*self), out);
            }
        }
    };
}

small_number!(u32);
small_number!(u16);

impl Field for StreamId {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.varint().map(Self)
    }

    fn size(&self) -> usize {
        varint::size(self.0)
    }

    fn write(&self, out: &mut Vec<u8>) {
        varint::encode(self.0, out);
    }
}

/// One byte, 0 or 1.
impl Field for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("neither 0 nor 1")),
        }
    }

    fn size(&self) -> usize {
        1
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl<const N: usize> Field for [u8; N] {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.array()
    }

    fn size(&self) -> usize {
        N
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

/// Eight bytes of connection ID, 16 of reset token.
impl Field for IssuedId {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let cid = ConnectionId::from(reader.array::<LOCAL_CID_LEN>()?);
        Ok(Self {
            cid,
            reset_token: ResetToken(reader.array()?),
        })
    }

    fn size(&self) -> usize {
        Self::SIZE
    }

    fn write(&self, out: &mut Vec<u8>) {
        debug_assert_eq!(
            self.cid.len(),
            LOCAL_CID_LEN,
            "only IDs of 8 bytes are handed out"
        );
        let end = out.len() + LOCAL_CID_LEN;
        out.extend_from_slice(self.cid.as_slice());
        out.resize(end, 0);
        out.extend_from_slice(&self.reset_token.0);
    }
}

/// One byte 4 or 6, the address, two bytes of port.
impl Field for SocketAddr {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let ip = match reader.byte()? {
            4 => IpAddr::V4(Ipv4Addr::from(reader.array::<4>()?)),
            6 => IpAddr::V6(Ipv6Addr::from(reader.array::<16>()?)),
            _ => return Err(Malformed("neither an IPv4 nor an IPv6 address")),
        };
        let port = u16::from_be_bytes(reader.array()?);
        let broadcast = ip == IpAddr::V4(Ipv4Addr::BROADCAST);
        if port == 0 || ip.is_unspecified() || ip.is_multicast() || broadcast {
            return Err(Malformed("not the address of a host"));
        }
        Ok(Self::new(ip, port))
    }

    fn size(&self) -> usize {
        if self.is_ipv4() {
            1 + 4 + 2
        } else {
            1 + 16 + 2
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self.ip() {
            IpAddr::V4(ip) => {
                out.push(4);
                out.extend_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                out.push(6);
                out.extend_from_slice(&ip.octets());
            }
        }
        out.extend_from_slice(&self.port().to_be_bytes());
    }
}

/// A frame that is its type byte and its fields in the order given.
macro_rules! plain_frame {
    (
        $(#[$meta:meta])*
        $name:ident = $ty:expr => { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$field_meta])* pub(crate) $field: $type,)*
        }

        impl $name {
            /// Reads what follows the type.
            pub(in crate::wire::frame) fn parse(
                reader: &mut $crate::wire::reader::Reader<'_>,
            ) -> Result<Self, $crate::wire::reader::Malformed> {
                use $crate::wire::frame::field::Field;
                Ok(Self { $($field: <$type>::read(reader)?,)* })
            }

            /// Bytes that [`encode`](Self::encode) appends.
            pub(crate) fn size(&self) -> usize {
                use $crate::wire::frame::field::Field;
                1 $(+ Field::size(&self.$field))*
            }

            /// Appends the frame.
            pub(crate) fn encode(&self, out: &mut Vec<u8>) {
                use $crate::wire::frame::field::Field;
                out.push($ty);
                $(Field::write(&self.$field, out);)*
            }
        }
    };
}

pub(in crate::wire::frame) use plain_frame;
