//! A ticket: all that a client needs to reach and trust a server, as one piece of text.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use data_encoding::BASE32_NOPAD_NOCASE;

use crate::crypto::Fingerprint;
use crate::rng::Rng;

/// What a client must hold to be let in, beside knowing the server: 128 random bits.
#[derive(Clone, Copy)]
pub struct Secret([u8; 16]);

impl Secret {
    /// A new one.
    #[must_use]
    pub fn generate(rng: &mut Rng) -> Self {
        Self(rng.bytes())
    }

    /// From its bytes, which must come from a generator of good randomness.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl PartialEq for Secret {
    /// Looks at every byte, whichever differs.
    fn eq(&self, other: &Self) -> bool {
        let differences = self
            .0
            .iter()
            .zip(&other.0)
            .fold(0, |sum, (one, other)| sum | (one ^ other));
        std::hint::black_box(differences) == 0
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Where a server is, what it is known by, and what it lets a client in for. As text it
/// is `mpfec1:` and letters and digits; whoever reads it can connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    addresses: Vec<SocketAddr>,
    fingerprint: Fingerprint,
    secret: Secret,
    expires: Option<u64>,
}

impl Ticket {
    /// Addresses in a ticket at most.
    pub const MAX_ADDRESSES: usize = 16;

    /// A ticket for the server at `addresses` (1 to 16, the best first), until `expires`, in
    /// seconds since 1970. IPv6 scopes and flow labels mean nothing on another host and are
    /// left out.
    ///
    /// # Errors
    /// If there are no or too many addresses, or nothing can be sent to one of them.
    pub fn new(
        addresses: impl IntoIterator<Item = SocketAddr>,
        fingerprint: Fingerprint,
        secret: Secret,
        expires: Option<u64>,
    ) -> Result<Self, TicketError> {
        let addresses: Vec<_> = addresses
            .into_iter()
            .map(|address| SocketAddr::new(address.ip(), address.port()))
            .collect();
        if !(1..=Self::MAX_ADDRESSES).contains(&addresses.len()) {
            return Err(TicketError::AddressCount {
                got: addresses.len(),
            });
        }
        if let Some(address) = addresses
            .iter()
            .copied()
            .find(|address| !is_reachable(address))
        {
            return Err(TicketError::Address { address });
        }
        let expires = expires.filter(|expires| *expires != NEVER);
        Ok(Self {
            addresses,
            fingerprint,
            secret,
            expires,
        })
    }

    /// Where the server listens, the best first.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What the server's certificate must be.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What the server asks for.
    #[must_use]
    pub fn secret(&self) -> Secret {
        self.secret
    }

    /// When the server will no longer take it, in seconds since 1970.
    #[must_use]
    pub fn expires(&self) -> Option<u64> {
        self.expires
    }

    /// Whether the server will no longer take it at `now`, in seconds since 1970.
    #[must_use]
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Version 1: version, fingerprint, secret, time of expiry (2^64-1: never), number of
    /// addresses, for each its family (4 or 6), address and port; then a CRC-32 of all that.
    /// Numbers are big-endian.
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(MAX_BYTES);
        out.push(VERSION);
        out.extend_from_slice(self.fingerprint.as_bytes());
        out.extend_from_slice(self.secret.as_bytes());
        out.extend_from_slice(&self.expires.unwrap_or(NEVER).to_be_bytes());
        out.push(self.addresses.len() as u8);
        for address in &self.addresses {
            match address.ip() {
                IpAddr::V4(ip) => {
                    out.push(FAMILY_V4);
                    out.extend_from_slice(&ip.octets());
                }
                IpAddr::V6(ip) => {
                    out.push(FAMILY_V6);
                    out.extend_from_slice(&ip.octets());
                }
            }
            out.extend_from_slice(&address.port().to_be_bytes());
        }
        with_checksum(out)
    }

    /// The text that stands for `bytes`, whatever they are, with the right checksum.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn text_of(bytes: &[u8]) -> String {
        to_text(&with_checksum(bytes.to_vec()))
    }

    fn decode(bytes: &[u8]) -> Result<Self, TicketError> {
        let (bytes, checksum) = bytes.split_last_chunk().ok_or(TicketError::CutOff)?;
        if crc32(bytes) != u32::from_be_bytes(*checksum) {
            return Err(TicketError::Damaged);
        }
        let mut rest = bytes;
        let [version] = take(&mut rest)?;
        if version != VERSION {
            return Err(TicketError::Version { got: version });
        }
        let fingerprint = Fingerprint::from_bytes(take(&mut rest)?);
        let secret = Secret(take(&mut rest)?);
        let expires = Some(u64::from_be_bytes(take(&mut rest)?));
        let [count] = take(&mut rest)?;
        let addresses = (0..count)
            .map(|_| take_address(&mut rest))
            .collect::<Result<Vec<_>, _>>()?;
        if !rest.is_empty() {
            return Err(TicketError::Trailing { bytes: rest.len() });
        }
        Self::new(addresses, fingerprint, secret, expires)
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_text(&self.encode()))
    }
}

impl FromStr for Ticket {
    type Err = TicketError;

    /// Space around the text and upper-case letters do no harm.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let (scheme, rest) = text
            .split_at_checked(SCHEME.len())
            .ok_or(TicketError::Scheme)?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(TicketError::Scheme);
        }
        if rest.len() > BASE32_NOPAD_NOCASE.encode_len(MAX_BYTES) {
            return Err(TicketError::TooLong {
                characters: rest.len(),
            });
        }
        if let Some((at, found)) = rest.char_indices().find(|(_, char)| !is_base32(*char)) {
            return Err(TicketError::Character {
                at: SCHEME.len() + at,
                found,
            });
        }
        let bytes = BASE32_NOPAD_NOCASE
            .decode(rest.as_bytes())
            .map_err(|_| TicketError::CutOff)?;
        Self::decode(&bytes)
    }
}

/// Why text is no ticket, or a ticket cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// It is something else.
    #[error("a ticket starts with {SCHEME:?}")]
    Scheme,
    /// A character that no ticket has.
    #[error("character {found:?} at position {at} does not belong in a ticket")]
    Character {
        /// Its position in bytes, from 0.
        at: usize,
        /// The character.
        found: char,
    },
    /// The end is missing.
    #[error("the ticket is cut off")]
    CutOff,
    /// More than any ticket needs.
    #[error("{characters} characters behind {SCHEME:?} are too many for a ticket")]
    TooLong {
        /// How many there are.
        characters: usize,
    },
    /// A character was changed, left out or added.
    #[error("the ticket is damaged: its checksum is wrong")]
    Damaged,
    /// A later version of mpfec made it.
    #[error("ticket of version {got}; this program reads version {VERSION}")]
    Version {
        /// Its version.
        got: u8,
    },
    /// Something behind the end.
    #[error("{bytes} bytes behind the end of the ticket")]
    Trailing {
        /// How much.
        bytes: usize,
    },
    /// None, or too many.
    #[error("{got} addresses where a ticket has 1 to {max}", max = Ticket::MAX_ADDRESSES)]
    AddressCount {
        /// How many there are.
        got: usize,
    },
    /// An address of neither IPv4 nor IPv6.
    #[error("address of unknown family {got}")]
    Family {
        /// What stands in the ticket.
        got: u8,
    },
    /// An address that nothing can be sent to.
    #[error("nothing can be sent to {address}")]
    Address {
        /// The address.
        address: SocketAddr,
    },
}

fn to_text(bytes: &[u8]) -> String {
    let digits = BASE32_NOPAD_NOCASE.encode(bytes).to_ascii_lowercase();
    format!("{SCHEME}{digits}")
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32(&bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], TicketError> {
    let (bytes, behind) = rest.split_first_chunk().ok_or(TicketError::CutOff)?;
    *rest = behind;
    Ok(*bytes)
}

fn take_address(rest: &mut &[u8]) -> Result<SocketAddr, TicketError> {
    let ip = match take(rest)? {
        [FAMILY_V4] => Ipv4Addr::from(take::<4>(rest)?).into(),
        [FAMILY_V6] => Ipv6Addr::from(take::<16>(rest)?).into(),
        [got] => return Err(TicketError::Family { got }),
    };
    Ok(SocketAddr::new(ip, u16::from_be_bytes(take(rest)?)))
}

fn is_reachable(address: &SocketAddr) -> bool {
    address.port() != 0 && !address.ip().is_unspecified() && !address.ip().is_multicast()
}

fn is_base32(char: char) -> bool {
    char.is_ascii_alphabetic() || ('2'..='7').contains(&char)
}

/// CRC-32 as in ISO 3309: notices any change within 32 bits, so any wrong character.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ ((crc & 1) * 0xedb8_8320)
        })
    })
}

const SCHEME: &str = "mpfec1:";
const VERSION: u8 = 1;
const NEVER: u64 = u64::MAX;
const FAMILY_V4: u8 = 4;
const FAMILY_V6: u8 = 6;
const MAX_BYTES: usize = 1 + 32 + 16 + 8 + 1 + Ticket::MAX_ADDRESSES * (1 + 16 + 2) + 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address() -> impl Strategy<Value = SocketAddr> {
        (any::<IpAddr>(), any::<u16>())
            .prop_map(|(ip, port)| SocketAddr::new(ip, port))
            .prop_filter("nothing can be sent to it", is_reachable)
    }

    fn ticket() -> impl Strategy<Value = Ticket> {
        (
            proptest::collection::vec(address(), 1..=16),
            any::<[u8; 32]>(),
            any::<[u8; 16]>(),
            proptest::option::of(0..u64::MAX),
        )
            .prop_map(|(addresses, fingerprint, secret, expires)| {
                let fingerprint = Fingerprint::from_bytes(fingerprint);
                Ticket::new(addresses, fingerprint, Secret(secret), expires)
                    .expect("good addresses")
            })
    }

    fn example() -> Ticket {
        let addresses =
            ["192.0.2.1:4433", "[2001:db8::1]:4434"].map(|text| text.parse().expect("an address"));
        let fingerprint = Fingerprint::from_bytes(std::array::from_fn(|index| index as u8));
        Ticket::new(
            addresses,
            fingerprint,
            Secret([0x5a; 16]),
            Some(1_800_000_000),
        )
        .expect("good addresses")
    }

    proptest! {
        #[test]
        fn a_ticket_survives_as_text(ticket in ticket()) {
            let text = ticket.to_string();
            prop_assert_eq!(text.parse(), Ok(ticket.clone()));
            prop_assert_eq!(format!(" {}\r\n", text.to_uppercase()).parse(), Ok(ticket));
        }

        #[test]
        fn a_wrong_character_is_noticed(ticket in ticket(), at in any::<proptest::sample::Index>(), new in "[a-z2-7]") {
            let mut text = ticket.to_string();
            let at = at.index(text.len());
            prop_assume!(text[at..=at] != new);
            text.replace_range(at..=at, &new);
            prop_assert!(text.parse::<Ticket>().is_err());
        }

        #[test]
        fn a_missing_or_added_character_or_two_swapped_are_noticed(
            ticket in ticket(),
            at in any::<proptest::sample::Index>(),
            new in "[a-z2-7]",
        ) {
            let text = ticket.to_string();
            let at = at.index(text.len() - 1);
            let mut missing = text.clone();
            missing.remove(at);
            prop_assert!(missing.parse::<Ticket>().is_err());
            let mut added = text.clone();
            added.insert_str(at, &new);
            prop_assert!(added.parse::<Ticket>().is_err());
            let mut swapped = text.clone().into_bytes();
            swapped.swap(at, at + 1);
            let swapped = String::from_utf8(swapped).expect("ASCII");
            prop_assert!(swapped == text || swapped.parse::<Ticket>().is_err());
        }

        #[test]
        fn any_text_is_read_without_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
            prop_assert!(text.parse::<Ticket>().is_err());
            let with_scheme = format!("{SCHEME}{text}");
            prop_assert!(with_scheme.parse::<Ticket>().is_err());
            prop_assert!(Ticket::decode(&bytes).is_err());
        }

        #[test]
        fn what_is_read_is_written_the_same(head in any::<[u8; 57]>(), tail in proptest::collection::vec(0..8_u8, 0..200)) {
            let bytes = with_checksum([&[VERSION], &head[1..], &tail].concat());
            if let Ok(ticket) = Ticket::decode(&bytes) {
                prop_assert_eq!(ticket.encode(), bytes);
            }
        }
    }

    #[test]
    fn a_ticket_of_version_1_stays_readable() {
        assert_eq!(GOLDEN.parse(), Ok(example()));
        assert_eq!(example().to_string(), GOLDEN);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let parse = |text: &str| text.parse::<Ticket>().expect_err("no ticket");
        assert_eq!(parse(""), TicketError::Scheme);
        assert_eq!(parse("https://example.net"), TicketError::Scheme);
        assert_eq!(parse("mpfec1:"), TicketError::CutOff);
        assert_eq!(
            parse("mpfec1:ab-d"),
            TicketError::Character { at: 9, found: '-' }
        );
        assert_eq!(
            parse(&format!("{SCHEME}{}", "a".repeat(2000))),
            TicketError::TooLong { characters: 2000 }
        );
        let decode =
            |bytes: &[u8]| Ticket::decode(&with_checksum(bytes.to_vec())).expect_err("no ticket");
        assert_eq!(decode(&[2, 0]), TicketError::Version { got: 2 });
        assert_eq!(decode(&[1, 0]), TicketError::CutOff);
        let head = [&[1][..], &[0; 56]].concat();
        assert_eq!(
            decode(&[&head[..], &[0]].concat()),
            TicketError::AddressCount { got: 0 }
        );
        assert_eq!(
            decode(&[&head[..], &[1, 5]].concat()),
            TicketError::Family { got: 5 }
        );
        assert_eq!(
            decode(&[&head[..], &[0, 5]].concat()),
            TicketError::Trailing { bytes: 1 }
        );
    }

    #[test]
    fn addresses_that_nothing_can_be_sent_to_are_refused() {
        for text in [
            "192.0.2.1:0",
            "0.0.0.0:1",
            "[::]:1",
            "224.0.0.1:1",
            "[ff02::1]:1",
        ] {
            let address = text.parse().expect("an address");
            let ticket = Ticket::new(
                [address],
                Fingerprint::from_bytes([0; 32]),
                Secret([0; 16]),
                None,
            );
            assert_eq!(ticket, Err(TicketError::Address { address }));
        }
    }

    #[test]
    fn a_ticket_expires_at_its_second() {
        let ticket = example();
        assert!(!ticket.is_expired(1_799_999_999));
        assert!(ticket.is_expired(1_800_000_000));
    }

    #[test]
    fn what_is_printed_for_debugging_does_not_show_the_secret() {
        let shown = format!("{:?}", example());
        assert!(shown.contains("secret: Secret(..)"), "{shown}");
    }

    #[test]
    fn the_checksum_is_the_one_that_everybody_calls_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    const GOLDEN: &str = concat!(
        "mpfec1:aeaacaqdaqcqmbyibefawdanbyhraeiscmkbkfqxdamrugy4dupb6ws2ljnfuws2l",
        "jnfuws2ljnfuwqaaaaaa22j2iaaebgaaabacekrayqacdnyaaaaaaaaaaaaaaaaaaarcuqnh",
        "6odk",
    );
}
