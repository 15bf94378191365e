//! Transport parameters: what each end tells the other during the handshake
//! (RFC 9000 §7.4, §18), authenticated by TLS.

use std::time::Duration;

use super::frame::{Covered, DELAY_EXPONENT, Field, MAX_STREAM_COUNT};
use super::reader::{Malformed, Reader};
use super::{ConnectionId, IssuedId, MIN_DATAGRAM, varint};
use crate::error::TransportError;
use crate::id::Side;

/// The parameters of one end. Values are within their ranges when they come from
/// [`parse`](Self::parse); the default is what holds for a peer that sends none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TransportParameters {
    /// Destination of the client's first packet; from a server only.
    pub(crate) original_destination_connection_id: Option<ConnectionId>,
    /// Source of this end's Initial packets.
    pub(crate) initial_source_connection_id: Option<ConnectionId>,
    /// Source of the Retry; from a server that sent one only.
    pub(crate) retry_source_connection_id: Option<ConnectionId>,
    /// A connection without packets for this long ends. Zero: never. In milliseconds.
    pub(crate) max_idle_timeout: Duration,
    /// Largest UDP payload that is taken, from 1200 bytes.
    pub(crate) max_udp_payload_size: u64,
    /// Bytes that the peer may send on all streams together.
    pub(crate) initial_max_data: u64,
    /// Bytes on each bidirectional stream that this end opens.
    pub(crate) initial_max_stream_data_bidi_local: u64,
    /// Bytes on each bidirectional stream that the peer opens.
    pub(crate) initial_max_stream_data_bidi_remote: u64,
    /// Bytes on each unidirectional stream that the peer opens.
    pub(crate) initial_max_stream_data_uni: u64,
    /// Bidirectional streams that the peer may open, at most 2^60.
    pub(crate) initial_max_streams_bidi: u64,
    /// Unidirectional streams that the peer may open, at most 2^60.
    pub(crate) initial_max_streams_uni: u64,
    /// How long acknowledgements are held back at most, below 2^14 ms. In milliseconds.
    pub(crate) max_ack_delay: Duration,
    /// Largest DATAGRAM frame that is taken, with type and length; 0 for none (RFC 9221 §3).
    pub(crate) max_datagram_frame_size: u64,
    /// Largest path ID that this end takes; the connection IDs that it hands out bound the
    /// peer as well.
    pub(crate) max_path_id: u32,
    /// Connection IDs of paths 0, 1, 2 and so on, at most 16.
    pub(crate) path_connection_ids: Vec<IssuedId>,
    /// K_max of blocks that are sent to this end, from 1 to 1024 source symbols.
    pub(crate) max_block_symbols: u16,
    /// Blocks that may be incomplete at this end at once, from 1 to 65 536.
    pub(crate) max_pending_blocks: u32,
    /// Blocks of this end are pipeline-coded with the coefficients of this seed, below 2^62.
    pub(crate) pipeline_seed: Option<u64>,
    /// Packets that one PARITY of this end covers, at most 256; 0: it sends none.
    pub(crate) parity_packets: u16,
    /// Bytes to which the windows of this end may grow; 0: they stay as they are.
    pub(crate) max_window: u64,
    /// Acknowledgements to this end are to tell when packets arrived.
    pub(crate) receive_times: bool,
}

impl Default for TransportParameters {
    fn default() -> Self {
        Self {
            original_destination_connection_id: None,
            initial_source_connection_id: None,
            retry_source_connection_id: None,
            max_idle_timeout: Duration::ZERO,
            max_udp_payload_size: 65_527,
            initial_max_data: 0,
            initial_max_stream_data_bidi_local: 0,
            initial_max_stream_data_bidi_remote: 0,
            initial_max_stream_data_uni: 0,
            initial_max_streams_bidi: 0,
            initial_max_streams_uni: 0,
            max_ack_delay: Duration::from_millis(25),
            max_datagram_frame_size: 0,
            max_path_id: u32::MAX,
            path_connection_ids: Vec::new(),
            max_block_symbols: 64,
            max_pending_blocks: 64,
            pipeline_seed: None,
            parity_packets: 0,
            max_window: 0,
            receive_times: false,
        }
    }
}

impl TransportParameters {
    /// Connection IDs of paths in the handshake at most.
    pub(crate) const MAX_PATH_CONNECTION_IDS: usize = 16;

    /// Appends all parameters, each as its ID, its length and its value.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let connection_ids = [
            (
                ORIGINAL_DESTINATION_CONNECTION_ID,
                self.original_destination_connection_id,
            ),
            (
                INITIAL_SOURCE_CONNECTION_ID,
                self.initial_source_connection_id,
            ),
            (RETRY_SOURCE_CONNECTION_ID, self.retry_source_connection_id),
        ];
        for (id, cid) in connection_ids {
            if let Some(cid) = cid {
                encode_bytes(id, cid.as_slice(), out);
            }
        }
        let numbers = [
            (MAX_IDLE_TIMEOUT, milliseconds(self.max_idle_timeout)),
            (MAX_UDP_PAYLOAD_SIZE, self.max_udp_payload_size),
            (INITIAL_MAX_DATA, self.initial_max_data),
            (
                INITIAL_MAX_STREAM_DATA_BIDI_LOCAL,
                self.initial_max_stream_data_bidi_local,
            ),
            (
                INITIAL_MAX_STREAM_DATA_BIDI_REMOTE,
                self.initial_max_stream_data_bidi_remote,
            ),
            (
                INITIAL_MAX_STREAM_DATA_UNI,
                self.initial_max_stream_data_uni,
            ),
            (INITIAL_MAX_STREAMS_BIDI, self.initial_max_streams_bidi),
            (INITIAL_MAX_STREAMS_UNI, self.initial_max_streams_uni),
            (MAX_ACK_DELAY, milliseconds(self.max_ack_delay)),
            (MAX_DATAGRAM_FRAME_SIZE, self.max_datagram_frame_size),
            (MAX_PATH_ID, u64::from(self.max_path_id)),
            (MAX_BLOCK_SYMBOLS, u64::from(self.max_block_symbols)),
            (MAX_PENDING_BLOCKS, u64::from(self.max_pending_blocks)),
        ];
        let seed = self.pipeline_seed.map(|seed| (PIPELINE_SEED, seed));
        let parity = Some(self.parity_packets).filter(|packets| *packets > 0);
        let parity = parity.map(|packets| (PARITY_PACKETS, u64::from(packets)));
        let window = Some(self.max_window).filter(|bytes| *bytes > 0);
        let window = window.map(|bytes| (MAX_WINDOW, bytes));
        let times = self.receive_times.then_some((RECEIVE_TIMES, 1));
        let optional = seed.into_iter().chain(parity).chain(window).chain(times);
        for (id, number) in numbers.into_iter().chain(optional) {
            varint::encode(id, out);
            varint::encode(varint::size(number) as u64, out);
            varint::encode(number, out);
        }
        varint::encode(PATH_CONNECTION_IDS, out);
        varint::encode(
            (self.path_connection_ids.len() * IssuedId::SIZE) as u64,
            out,
        );
        self.path_connection_ids
            .iter()
            .for_each(|issued| issued.write(out));
    }

    /// Reads the parameters of the end `from`. Those that have no meaning here are passed
    /// over.
    pub(crate) fn parse(bytes: &[u8], from: Side) -> Result<Self, TransportError> {
        let refuse = |Malformed(reason)| TransportError::transport_parameter(reason);
        let mut reader = Reader::new(bytes, 0);
        let mut parameters = Self::default();
        let mut seen = Seen::default();
        while !reader.is_empty() {
            let id = reader.varint().map_err(refuse)?;
            let len = reader.varint().map_err(refuse)?;
            let value = reader.slice(len).map_err(refuse)?;
            seen.note(id).map_err(refuse)?;
            if from == Side::Client && SERVER_ONLY.contains(&id) {
                return Err(refuse(Malformed("a parameter that only servers send")));
            }
            parameters.set(id, value).map_err(refuse)?;
        }
        Ok(parameters)
    }

    fn set(&mut self, id: u64, value: &[u8]) -> Result<(), Malformed> {
        let number = |least: u64, most: u64| read_number(value, least, most);
        match id {
            ORIGINAL_DESTINATION_CONNECTION_ID => {
                self.original_destination_connection_id = Some(read_connection_id(value)?);
            }
            INITIAL_SOURCE_CONNECTION_ID => {
                self.initial_source_connection_id = Some(read_connection_id(value)?);
            }
            RETRY_SOURCE_CONNECTION_ID => {
                self.retry_source_connection_id = Some(read_connection_id(value)?);
            }
            MAX_IDLE_TIMEOUT => {
                // A longer time is as good as this one, and adds to any other.
                let timeout = number(0, varint::MAX)?.min(LONGEST_IDLE_TIMEOUT);
                self.max_idle_timeout = Duration::from_millis(timeout);
            }
            MAX_UDP_PAYLOAD_SIZE => {
                self.max_udp_payload_size = number(MIN_DATAGRAM as u64, varint::MAX)?;
            }
            INITIAL_MAX_DATA => self.initial_max_data = number(0, varint::MAX)?,
            INITIAL_MAX_STREAM_DATA_BIDI_LOCAL => {
                self.initial_max_stream_data_bidi_local = number(0, varint::MAX)?;
            }
            INITIAL_MAX_STREAM_DATA_BIDI_REMOTE => {
                self.initial_max_stream_data_bidi_remote = number(0, varint::MAX)?;
            }
            INITIAL_MAX_STREAM_DATA_UNI => {
                self.initial_max_stream_data_uni = number(0, varint::MAX)?;
            }
            INITIAL_MAX_STREAMS_BIDI => {
                self.initial_max_streams_bidi = number(0, MAX_STREAM_COUNT)?
            }
            INITIAL_MAX_STREAMS_UNI => self.initial_max_streams_uni = number(0, MAX_STREAM_COUNT)?,
            ACK_DELAY_EXPONENT => {
                number(u64::from(DELAY_EXPONENT), u64::from(DELAY_EXPONENT))?;
            }
            MAX_ACK_DELAY => {
                self.max_ack_delay = Duration::from_millis(number(0, (1 << 14) - 1)?);
            }
            MAX_DATAGRAM_FRAME_SIZE => self.max_datagram_frame_size = number(0, varint::MAX)?,
            MAX_PATH_ID => self.max_path_id = number(0, u64::from(u32::MAX))? as u32,
            PATH_CONNECTION_IDS => self.path_connection_ids = read_issued_ids(value)?,
            MAX_BLOCK_SYMBOLS => self.max_block_symbols = number(1, 1024)? as u16,
            PIPELINE_SEED => self.pipeline_seed = Some(number(0, varint::MAX)?),
            MAX_PENDING_BLOCKS => self.max_pending_blocks = number(1, 65_536)? as u32,
            PARITY_PACKETS => self.parity_packets = number(0, Covered::MAX as u64)? as u16,
            MAX_WINDOW => self.max_window = number(0, varint::MAX)?,
            RECEIVE_TIMES => self.receive_times = number(0, 1)? == 1,
            _ => {}
        }
        Ok(())
    }
}

/// Which parameters there were: none may be there twice (RFC 9000 §7.4).
#[derive(Debug, Default)]
struct Seen {
    /// One bit for each of RFC 9000, RFC 9221, and of ours.
    bits: u64,
}

impl Seen {
    fn note(&mut self, id: u64) -> Result<(), Malformed> {
        let bit = match id {
            0..=0x20 => 1 << id,
            MAX_PATH_ID..=RECEIVE_TIMES => 1 << (0x21 + id - MAX_PATH_ID),
            // To remember all others would let the peer fill memory.
            _ => return Ok(()),
        };
        if self.bits & bit != 0 {
            return Err(Malformed("a parameter twice"));
        }
        self.bits |= bit;
        Ok(())
    }
}

fn encode_bytes(id: u64, value: &[u8], out: &mut Vec<u8>) {
    varint::encode(id, out);
    varint::encode(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(varint::MAX)
}

fn read_number(value: &[u8], least: u64, most: u64) -> Result<u64, Malformed> {
    let mut reader = Reader::new(value, 0);
    let number = reader.varint()?;
    if !reader.is_empty() {
        return Err(Malformed("a number of another length than its parameter"));
    }
    if !(least..=most).contains(&number) {
        return Err(Malformed("a number out of its range"));
    }
    Ok(number)
}

fn read_connection_id(value: &[u8]) -> Result<ConnectionId, Malformed> {
    ConnectionId::new(value).ok_or(Malformed("a connection ID of more than 20 bytes"))
}

fn read_issued_ids(value: &[u8]) -> Result<Vec<IssuedId>, Malformed> {
    let count = value.len() / IssuedId::SIZE;
    if count > TransportParameters::MAX_PATH_CONNECTION_IDS {
        return Err(Malformed(
            "more connection IDs than a handshake may hand out",
        ));
    }
    let mut reader = Reader::new(value, 0);
    let mut issued: Vec<IssuedId> = Vec::with_capacity(count);
    while !reader.is_empty() {
        let next = IssuedId::read(&mut reader)?;
        if issued.iter().any(|known| known.cid == next.cid) {
            return Err(Malformed("one connection ID for two paths"));
        }
        issued.push(next);
    }
    Ok(issued)
}

const ORIGINAL_DESTINATION_CONNECTION_ID: u64 = 0x00;
const MAX_IDLE_TIMEOUT: u64 = 0x01;
const STATELESS_RESET_TOKEN: u64 = 0x02;
const MAX_UDP_PAYLOAD_SIZE: u64 = 0x03;
const INITIAL_MAX_DATA: u64 = 0x04;
const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
const INITIAL_MAX_STREAM_DATA_UNI: u64 = 0x07;
const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
const ACK_DELAY_EXPONENT: u64 = 0x0a;
const MAX_ACK_DELAY: u64 = 0x0b;
const PREFERRED_ADDRESS: u64 = 0x0d;
const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
const RETRY_SOURCE_CONNECTION_ID: u64 = 0x10;
const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;
const MAX_PATH_ID: u64 = 0x4d01;
const PATH_CONNECTION_IDS: u64 = 0x4d02;
const MAX_BLOCK_SYMBOLS: u64 = 0x4d03;
const MAX_PENDING_BLOCKS: u64 = 0x4d04;
const PIPELINE_SEED: u64 = 0x4d05;
const PARITY_PACKETS: u64 = 0x4d06;
const MAX_WINDOW: u64 = 0x4d07;
const RECEIVE_TIMES: u64 = 0x4d08;
const SERVER_ONLY: [u64; 4] = [
    ORIGINAL_DESTINATION_CONNECTION_ID,
    STATELESS_RESET_TOKEN,
    PREFERRED_ADDRESS,
    RETRY_SOURCE_CONNECTION_ID,
];
/// A hundred years in milliseconds.
const LONGEST_IDLE_TIMEOUT: u64 = 100 * 366 * 86_400 * 1000;

#[cfg(test)]
mod tests;
