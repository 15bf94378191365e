//! What fuzz targets and benchmarks reach of the parts that the crate keeps to itself. Not
//! for applications: it changes whenever those parts do.

mod crypto;
#[cfg(test)]
mod last_path;
#[cfg(test)]
mod many_paths;
mod operations;
#[cfg(test)]
mod parity;
mod scene;

use std::ops::RangeInclusive;
use std::time::Duration;

use bytes::Bytes;

use crate::id::{Dir, Side, StreamId};
use crate::wire::frame::{Ack, AckFacts, Frame, Frames, SymbolCode, SymbolHeader};
use crate::wire::header::{self, LongHeader, Marks, Protected, ShortHeader};
use crate::wire::{ConnectionId, TAG_LEN, TransportParameters, packet_number};

pub use self::crypto::{Link, ticket};
pub use self::operations::connection;

/// Reads the headers of all packets in a datagram as if there were no protection, writes
/// them again, and reads the same. Returns how many there are.
///
/// # Panics
/// If what was written reads differently, or a position is out of bounds.
pub fn packet(datagram: &[u8]) -> usize {
    let mut rest = datagram;
    let mut packets = 0;
    while let Ok(parsed) = header::parse(rest) {
        packets += 1;
        let end = match &parsed {
            Protected::Long { end, .. } => *end,
            _ => rest.len(),
        };
        let first = rest[0];
        let mut again = Vec::new();
        if write_again(&parsed, rest, &mut again) {
            let marks_equal = match (header::parse(&again), parsed) {
                (
                    Ok(Protected::Long {
                        kind,
                        dcid,
                        scid,
                        token,
                        packet_number_at,
                        end: again_end,
                    }),
                    Protected::Long {
                        kind: kind_was,
                        dcid: dcid_was,
                        scid: scid_was,
                        token: token_was,
                        packet_number_at: at_was,
                        end,
                    },
                ) => {
                    (kind, dcid, scid) == (kind_was, dcid_was, scid_was)
                        && again[token] == rest[token_was]
                        && again_end - packet_number_at == end - at_was
                        && again[0] & 0xf3 == first & 0xf3
                }
                (Ok(again), parsed) => again == parsed,
                (Err(_), _) => false,
            };
            assert!(marks_equal, "a header reads differently when written again");
        }
        rest = &rest[end..];
        if rest.is_empty() {
            break;
        }
    }
    packets
}

/// Writes what was read of the first packet in `bytes`, with as much behind the header.
/// False for packets that this endpoint never sends.
fn write_again(parsed: &Protected, bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let number_len = usize::from(bytes[0] & 3) + 1;
    // The smallest number that takes as many bytes.
    let packet_number = [0, 0x80, 0x8000, 0x80_0000][number_len - 1];
    assert_eq!(packet_number::encode_len(packet_number, None), number_len);
    match parsed {
        Protected::Short {
            dcid,
            packet_number_at,
        } => {
            let key_phase = bytes[0] & 4 != 0;
            let header = ShortHeader {
                dcid: *dcid,
                key_phase,
                packet_number,
                largest_acked: None,
            };
            let marks = header.encode(out);
            assert_eq!(marks.packet_number_at, *packet_number_at);
            out.resize(out.len().max(bytes.len()), 0);
        }
        Protected::Long {
            kind,
            dcid,
            scid,
            token,
            packet_number_at,
            end,
        } => {
            if end - packet_number_at >= 1 << 14 {
                return false;
            }
            let header = LongHeader {
                kind: *kind,
                dcid: *dcid,
                scid: *scid,
                token: &bytes[token.clone()],
                packet_number,
                largest_acked: None,
            };
            let marks = header.encode(out);
            out.resize(marks.packet_number_at + end - packet_number_at, 0);
            marks.patch_length(out);
        }
        Protected::Retry { dcid, scid, token } => {
            let Some(tag) = bytes.last_chunk::<TAG_LEN>() else {
                return false;
            };
            header::encode_retry_without_tag(*dcid, *scid, &bytes[token.clone()], out);
            out.extend_from_slice(tag);
            assert_eq!(out[1..], bytes[1..], "a retry has one form only");
        }
        Protected::VersionNegotiation { versions, .. } => {
            assert!(!versions.is_empty() && bytes[versions.clone()].len().is_multiple_of(4));
            return false;
        }
        Protected::UnknownVersion { .. } => return false,
    }
    true
}

/// Reads the frames of a packet's payload, writes those before the first error again, and
/// reads the same. Returns how many there are.
///
/// # Panics
/// If what was written reads differently, or has another size than foretold.
pub fn frames(payload: &[u8]) -> usize {
    let frames: Vec<Frame> = Frames::new(Bytes::copy_from_slice(payload))
        .map_while(Result::ok)
        .collect();
    let mut again = Vec::new();
    for frame in &frames {
        let start = again.len();
        frame.encode(&mut again);
        assert_eq!(again.len() - start, frame.size(), "size of {frame:?}");
        assert_eq!(u64::from(again[start]), frame.ty(), "type of {frame:?}");
    }
    let read_again: Result<Vec<Frame>, _> = Frames::new(Bytes::from(again)).collect();
    assert_eq!(
        read_again.as_ref(),
        Ok(&frames),
        "frames read differently when written again"
    );
    frames.len()
}

/// Reads transport parameters as either end's, writes them again, and reads the same.
///
/// # Panics
/// If what was written reads differently.
pub fn parameters(bytes: &[u8]) {
    for from in [Side::Client, Side::Server] {
        if let Ok(parameters) = TransportParameters::parse(bytes, from) {
            let mut again = Vec::new();
            parameters.encode(&mut again);
            assert_eq!(TransportParameters::parse(&again, from), Ok(parameters));
        }
    }
}

/// Reads the frames of a payload and drops them: what a receiver pays for them. Returns how
/// many there are.
#[inline]
pub fn count_frames(payload: &Bytes) -> usize {
    Frames::new(payload.clone()).map_while(Result::ok).count()
}

/// Reads the header of the first packet. Returns where its packet number is.
#[inline]
pub fn packet_number_at(datagram: &[u8]) -> Option<usize> {
    match header::parse(datagram).ok()? {
        Protected::Short {
            packet_number_at, ..
        }
        | Protected::Long {
            packet_number_at, ..
        } => Some(packet_number_at),
        _ => None,
    }
}

/// Appends a 1-RTT packet that holds one symbol, without its tag. Returns where its payload
/// starts.
#[inline]
pub fn write_symbol_packet(packet_number: u64, symbol: &[u8], out: &mut Vec<u8>) -> usize {
    let header = ShortHeader {
        dcid: ConnectionId::from([0x5c; 8]),
        key_phase: false,
        packet_number,
        largest_acked: packet_number.checked_sub(200),
    };
    let Marks { payload_at, .. } = header.encode(out);
    let header = SymbolHeader {
        stream: StreamId::new(Side::Client, Dir::Uni, 3),
        sbn: packet_number / 64,
        offset: packet_number / 64 * 64 * symbol.len() as u64,
        symbol_size: symbol.len() as u16,
        esi: (packet_number % 64) as u32,
        block_length: None,
        fin: false,
        code: SymbolCode::RaptorQ,
        payload_len: symbol.len(),
        with_length: false,
    };
    header.encode(out);
    out.extend_from_slice(symbol);
    payload_at
}

/// Appends a PATH_ACK frame of `ranges`, which descend, to `out`. Returns how many it tells of.
#[inline]
pub fn write_ack(
    ranges: impl Iterator<Item = RangeInclusive<u64>> + Clone,
    room: usize,
    out: &mut Vec<u8>,
) -> usize {
    let facts = AckFacts {
        path: Some(1),
        delay: Duration::from_micros(4321),
        received: None,
        ecn: None,
    };
    Ack::encode(&facts, ranges, room, out)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_benchmarks_write_reads_as_what_it_is() {
        let mut out = Vec::new();
        let payload_at = write_symbol_packet(130, &[7; 1200], &mut out);
        assert_eq!(packet_number_at(&out), Some(9));
        assert_eq!(count_frames(&Bytes::from(out).slice(payload_at..)), 1);
        let mut out = Vec::new();
        let told = write_ack([5..=9, 0..=2].into_iter(), 100, &mut out);
        assert_eq!((told, frames(&out)), (2, 1));
    }

    /// Calls `check` with each file of a corpus and its name; of none outside the repository.
    fn replay(target: &str, mut check: impl FnMut(&str, &[u8])) {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/corpus")
            .join(target);
        let mut files: Vec<_> = fs::read_dir(corpus)
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("a readable corpus").path())
            .collect();
        files.sort();
        for file in files {
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            check(&name, &fs::read(&file).expect("a readable corpus"));
        }
    }

    #[test]
    fn the_corpora_hold_what_their_names_say() {
        replay("packet", |name, bytes| {
            let packets = packet(bytes);
            assert!(name != "coalesced" || packets == 3, "{packets} packets");
        });
        replay("frame", |name, bytes| {
            let read = frames(bytes);
            assert!(name != "paths" || read == 9, "{read} frames about paths");
            assert!(
                name != "streams" || read == 6,
                "{read} frames about streams"
            );
            assert!(name != "limits" || read == 8, "{read} limits");
            let symbols = match name {
                "symbol_at_the_end" | "symbol_last" | "symbol_open" | "symbol_repair" => Some(1),
                // A PING follows.
                "symbol_with_length" => Some(2),
                "symbol_cut_off" | "symbol_fin_open" | "symbol_too_large" | "block_too_long" => {
                    Some(0)
                }
                _ => None,
            };
            assert!(
                symbols.is_none_or(|symbols| symbols == read),
                "{name}: {read}"
            );
            assert!(name != "parity" || read == 3, "{read} about parity");
            // A PING follows.
            assert!(name != "timed_path_ack" || read == 2, "{read}: {name}");
            assert!(
                name != "timed_path_ack_cut_off" || read == 0,
                "{read}: {name}"
            );
        });
        replay("ticket", |name, bytes| {
            ticket(bytes);
            let text = String::from_utf8_lossy(bytes);
            let is_ticket = text.parse::<crate::endpoint::Ticket>().is_ok();
            let valid = ["text", "upper_case_text", "long_text"];
            assert!(
                name.len() == 40 || is_ticket == valid.contains(&name),
                "{name}"
            );
        });
        replay("parameters", |name, bytes| {
            parameters(bytes);
            let valid = [
                "client",
                "empty",
                "endless_idle_timeout",
                "exponent",
                "grease",
                "receive_times",
                "server",
            ];
            let is_valid = TransportParameters::parse(bytes, Side::Server).is_ok();
            assert!(
                name.len() == 40 || is_valid == valid.contains(&name),
                "{name}"
            );
        });
    }

    proptest! {
        #[test]
        fn no_bytes_fail_the_checks(mut bytes: Vec<u8>, ours: bool) {
            frames(&bytes);
            parameters(&bytes);
            if ours && bytes.len() > 5 {
                bytes[1..5].copy_from_slice(&[0x6d, 0x70, 0x66, 0x01]);
            }
            packet(&bytes);
        }
    }
}
