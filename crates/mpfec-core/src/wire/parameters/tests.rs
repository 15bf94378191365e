use proptest::prelude::*;

use super::*;
use crate::wire::ResetToken;

/// One parameter as it travels.
fn raw(id: u64, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_bytes(id, value, &mut out);
    out
}

fn raw_number(id: u64, number: u64) -> Vec<u8> {
    let mut value = Vec::new();
    varint::encode(number, &mut value);
    raw(id, &value)
}

fn parse(bytes: &[u8]) -> Result<TransportParameters, TransportError> {
    TransportParameters::parse(bytes, Side::Server)
}

fn is_refused(bytes: &[u8]) -> bool {
    parse(bytes).is_err_and(|error| error.code == TransportError::TRANSPORT_PARAMETER_ERROR)
}

fn issued() -> impl Strategy<Value = IssuedId> {
    any::<([u8; 8], [u8; 16])>().prop_map(|(cid, token)| IssuedId {
        cid: ConnectionId::from(cid),
        reset_token: ResetToken(token),
    })
}

fn cid() -> impl Strategy<Value = Option<ConnectionId>> {
    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..=20))
        .prop_map(|bytes| bytes.and_then(|bytes| ConnectionId::new(&bytes)))
}

prop_compose! {
    fn parameters()(
        cids in (cid(), cid(), cid()),
        idle in 0_u64..1 << 40,
        payload in 1200_u64..1 << 20,
        data in any::<[u32; 5]>(),
        streams in (0..=MAX_STREAM_COUNT, 0..=MAX_STREAM_COUNT),
        delay in 0_u64..1 << 14,
        max_path_id: u32,
        path_connection_ids in proptest::collection::vec(issued(), 0..=16),
        max_block_symbols in 1_u16..=1024,
        max_pending_blocks in 1_u32..=65_536,
        pipeline_seed in proptest::option::of(0_u64..1 << 62),
        parity_packets in 0_u16..=256,
        max_window in 0_u64..1 << 62,
        receive_times: bool,
    ) -> TransportParameters {
        TransportParameters {
            original_destination_connection_id: cids.0,
            initial_source_connection_id: cids.1,
            retry_source_connection_id: cids.2,
            max_idle_timeout: Duration::from_millis(idle),
            max_udp_payload_size: payload,
            initial_max_data: data[0].into(),
            initial_max_stream_data_bidi_local: data[1].into(),
            initial_max_stream_data_bidi_remote: data[2].into(),
            initial_max_stream_data_uni: data[3].into(),
            initial_max_streams_bidi: streams.0,
            initial_max_streams_uni: streams.1,
            max_ack_delay: Duration::from_millis(delay),
            max_datagram_frame_size: data[4].into(),
            max_path_id,
            path_connection_ids,
            max_block_symbols,
            max_pending_blocks,
            pipeline_seed,
            parity_packets,
            max_window,
            receive_times,
        }
    }
}

#[test]
fn a_peer_that_says_nothing_gets_the_defaults() {
    assert_eq!(parse(&[]), Ok(TransportParameters::default()));
}

#[test]
fn parameters_that_mean_nothing_here_are_passed_over() {
    let mut bytes = raw(31 * 7 + 27, b"grease");
    bytes.extend(raw(0x0c, &[]));
    bytes.extend(raw(31 * 7 + 27, b"grease"));
    bytes.extend(raw_number(MAX_PATH_ID, 9));
    assert_eq!(
        parse(&bytes).map(|parameters| parameters.max_path_id),
        Ok(9)
    );
}

#[test]
fn no_parameter_is_taken_twice() {
    for id in (0..=0x10).chain([0x20]).chain(MAX_PATH_ID..=RECEIVE_TIMES) {
        let one = raw_number(id, 3);
        let error = parse(&[one.clone(), one].concat()).err();
        assert!(error.is_some(), "parameter {id:#x}");
    }
}

#[test]
fn values_out_of_their_range_are_refused() {
    assert!(is_refused(&raw_number(MAX_UDP_PAYLOAD_SIZE, 1199)));
    assert!(is_refused(&raw_number(
        INITIAL_MAX_STREAMS_UNI,
        MAX_STREAM_COUNT + 1
    )));
    assert!(is_refused(&raw_number(MAX_ACK_DELAY, 1 << 14)));
    assert!(is_refused(&raw_number(MAX_PATH_ID, 1 << 32)));
    assert!(is_refused(&raw_number(ACK_DELAY_EXPONENT, 4)));
    assert!(!is_refused(&raw_number(ACK_DELAY_EXPONENT, 3)));
    for (id, most) in [(MAX_BLOCK_SYMBOLS, 1024), (MAX_PENDING_BLOCKS, 65_536)] {
        assert!(is_refused(&raw_number(id, 0)) && is_refused(&raw_number(id, most + 1)));
        assert!(!is_refused(&raw_number(id, most)));
    }
    assert!(is_refused(&raw_number(PARITY_PACKETS, 257)));
    assert!(!is_refused(&raw_number(PARITY_PACKETS, 256)));
    assert!(is_refused(&raw_number(RECEIVE_TIMES, 2)));
    assert!(!is_refused(&raw_number(RECEIVE_TIMES, 1)));
    assert!(is_refused(&raw(INITIAL_SOURCE_CONNECTION_ID, &[0; 21])));
}

#[test]
fn lengths_that_contradict_each_other_are_refused() {
    assert!(is_refused(&raw(MAX_PATH_ID, &[])), "no number");
    assert!(is_refused(&raw(MAX_PATH_ID, &[0x40])), "half a number");
    assert!(is_refused(&raw(MAX_PATH_ID, &[1, 1])), "more than a number");
    assert!(is_refused(&[0x04, 5, 1]), "a value that is cut off");
    assert!(is_refused(&[0x04]) && is_refused(&[0x40]));
    assert!(
        is_refused(&raw(PATH_CONNECTION_IDS, &[0; 25])),
        "an ID that is cut off"
    );
    let many: Vec<u8> = (0..17).flat_map(|path| [path; 24]).collect();
    assert!(is_refused(&raw(PATH_CONNECTION_IDS, &many)));
    assert!(!is_refused(&raw(PATH_CONNECTION_IDS, &many[24..])));
    assert!(
        is_refused(&raw(PATH_CONNECTION_IDS, &[5; 48])),
        "one ID for two paths"
    );
}

#[test]
fn a_client_does_not_speak_for_the_server() {
    for id in SERVER_ONLY {
        let bytes = raw(id, &[7; 16]);
        assert!(
            TransportParameters::parse(&bytes, Side::Client).is_err(),
            "parameter {id:#x}"
        );
        assert!(TransportParameters::parse(&bytes, Side::Server).is_ok());
    }
}

#[test]
fn an_endless_idle_timeout_still_adds_to_a_time() {
    let parsed = parse(&raw_number(MAX_IDLE_TIMEOUT, varint::MAX)).expect("any time is valid");
    let century = Duration::from_secs(100 * 365 * 86_400);
    assert!(parsed.max_idle_timeout >= century && parsed.max_idle_timeout < 2 * century);
}

proptest! {
    #[test]
    fn parameters_arrive_as_they_were_sent(parameters in parameters()) {
        let mut out = Vec::new();
        parameters.encode(&mut out);
        prop_assert_eq!(parse(&out), Ok(parameters));
    }

    #[test]
    fn any_bytes_parse_without_a_panic_and_write_again(
        sent in parameters(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        noise: Vec<u8>,
        from_noise: bool,
    ) {
        let mut bytes = Vec::new();
        sent.encode(&mut bytes);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(parsed) = parse(if from_noise { &noise } else { &bytes }) {
            let mut again = Vec::new();
            parsed.encode(&mut again);
            prop_assert_eq!(parse(&again), Ok(parsed));
        }
    }
}
