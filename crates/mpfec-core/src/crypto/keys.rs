//! Keys of long-header packets: Initial (RFC 9001 §5.2) and Handshake.

use std::fmt;

use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{self, DirectionalKeys, Version};

use super::protection::{self, OpenError, Opened};
use crate::id::Side;
use crate::wire::header::Marks;

/// Keys of one packet number space of the handshake, both directions.
pub(crate) struct Keys {
    local: DirectionalKeys,
    remote: DirectionalKeys,
}

impl Keys {
    /// The keys of Initial packets, which anybody can derive who saw the client's first
    /// destination connection ID (RFC 9001 §5.2, with the salt of QUIC version 1).
    pub(crate) fn initial(dcid: &[u8], side: Side) -> Self {
        let suite = TLS13_AES_128_GCM_SHA256
            .tls13()
            .expect("a suite of TLS 1.3");
        let quic = suite
            .quic
            .expect("ring provides packet protection for every suite of TLS 1.3");
        let side = match side {
            Side::Client => rustls::Side::Client,
            Side::Server => rustls::Side::Server,
        };
        quic::Keys::initial(Version::V1, suite, quic, dcid, side).into()
    }

    /// Seals the packet of the header that `marks` describes, up to the end of `buf`. It
    /// grows by the tag, and to the shortest length that can be protected; the length in
    /// its header is written.
    pub(crate) fn seal_packet(&self, packet_number: u64, marks: &Marks, buf: &mut Vec<u8>) {
        protection::seal(
            &*self.local.header,
            &*self.local.packet,
            0,
            packet_number,
            marks,
            buf,
        );
    }

    /// Opens one whole packet in place. `largest` is the largest number opened so far in
    /// its space. If this fails, the bytes are spoilt.
    pub(crate) fn open_packet(
        &self,
        packet: &mut [u8],
        packet_number_at: usize,
        largest: Option<u64>,
    ) -> Result<Opened, OpenError> {
        let unmasked = protection::unmask(&*self.remote.header, packet, packet_number_at, largest)?;
        protection::open(&*self.remote.packet, 0, &unmasked, packet)
    }
}

impl From<quic::Keys> for Keys {
    fn from(keys: quic::Keys) -> Self {
        Self {
            local: keys.local,
            remote: keys.remote,
        }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let text: String = text.split_whitespace().collect();
        HEXLOWER
            .decode(text.as_bytes())
            .expect("hexadecimal digits")
    }

    /// The connection ID of RFC 9001 Appendix A.
    fn dcid() -> Vec<u8> {
        hex("8394c8f03e515708")
    }

    /// Appends a packet as its header and payload, and says where its parts are.
    fn put(buf: &mut Vec<u8>, header: &[u8], number_len: usize, payload: &[u8]) -> Marks {
        let start = buf.len();
        buf.extend_from_slice(header);
        let payload_at = buf.len();
        buf.extend_from_slice(payload);
        Marks {
            start,
            packet_number_at: payload_at - number_len,
            payload_at,
            is_long: true,
        }
    }

    /// RFC 9001 Appendix A.2: a CRYPTO frame and PADDING.
    fn client_payload() -> Vec<u8> {
        let mut payload = hex(
            "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868
             04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578
             616d706c652e636f6dff01000100000a00080006001d00170018001000070005
             04616c706e000500050100000000003300260024001d00209370b2c9caa47fba
             baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400
             0d0010000e0403050306030203080408050806002d00020101001c0002400100
             3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000
             75300901100f088394c8f03e51570806048000ffff",
        );
        payload.resize(1162, 0);
        payload
    }

    /// RFC 9001 Appendix A.3: an ACK and a CRYPTO frame.
    fn server_payload() -> Vec<u8> {
        hex(
            "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf739
             88cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c94
             0d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00
             020304",
        )
    }

    /// RFC 9001 Appendix A.3, the packet as it leaves.
    fn server_packet() -> Vec<u8> {
        hex(
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a
             5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3
             dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84
             022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4
             2158407dd074ee",
        )
    }

    #[test]
    fn a_client_initial_is_sealed_as_in_rfc_9001_a_2() {
        let mut buf = Vec::new();
        let header = hex("c300000001088394c8f03e5157080000449e00000002");
        let marks = put(&mut buf, &header, 4, &client_payload());

        Keys::initial(&dcid(), Side::Client).seal_packet(2, &marks, &mut buf);

        assert_eq!(buf.len(), 1200);
        let begin = "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11";
        assert_eq!(buf[..32], hex(begin));
        assert_eq!(buf[1184..], hex("e221af44860018ab0856972e194cd934"));
    }

    #[test]
    fn a_server_initial_is_sealed_as_in_rfc_9001_a_3() {
        let mut buf = Vec::new();
        let header = hex("c1000000010008f067a5502a4262b50040750001");
        let marks = put(&mut buf, &header, 2, &server_payload());

        Keys::initial(&dcid(), Side::Server).seal_packet(1, &marks, &mut buf);

        assert_eq!(buf, server_packet());
    }

    #[test]
    fn a_server_initial_is_opened_as_in_rfc_9001_a_3() {
        let mut packet = server_packet();
        let keys = Keys::initial(&dcid(), Side::Client);

        let opened = keys
            .open_packet(&mut packet, 18, None)
            .expect("the packet is authentic");

        assert_eq!(opened.packet_number, 1);
        assert!(opened.reserved_ok);
        assert!(!opened.key_phase);
        assert_eq!(packet[opened.payload], server_payload());
    }

    #[test]
    fn a_change_of_any_byte_is_noticed() {
        let keys = Keys::initial(&dcid(), Side::Client);
        for at in 0..server_packet().len() {
            let mut packet = server_packet();
            packet[at] ^= 0x10;
            let opened = keys.open_packet(&mut packet, 18, None);
            assert_eq!(opened, Err(OpenError::Authentication), "byte {at}");
        }
    }

    #[test]
    fn a_packet_of_any_shorter_length_is_refused() {
        let keys = Keys::initial(&dcid(), Side::Client);
        for length in 0..server_packet().len() {
            let mut packet = server_packet();
            let opened = keys.open_packet(&mut packet[..length], 18, None);
            assert_eq!(opened, Err(OpenError::Authentication), "length {length}");
        }
    }

    #[test]
    fn an_empty_packet_behind_another_one_is_filled_up_and_opens() {
        let client = Keys::initial(&dcid(), Side::Client);
        let server = Keys::initial(&dcid(), Side::Server);
        let mut buf = vec![0xaa; 100];
        let header = hex("c000000001088394c8f03e51570800004000 07");
        let marks = put(&mut buf, &header, 1, &[]);

        client.seal_packet(7, &marks, &mut buf);

        assert_eq!(buf[..100], [0xaa; 100]);
        let opened = server
            .open_packet(&mut buf[100..], marks.packet_number_at - 100, Some(6))
            .expect("the packet is authentic");
        assert_eq!(opened.packet_number, 7);
        assert_eq!(buf[100..][opened.payload], [0, 0, 0]);
    }
}
