//! Bytes out are bytes in.

use mpfec_codec::CodecKind;
use proptest::prelude::*;

use super::harness::{Faults, Flow, Net, assert_empty, config};
use crate::config::TransportConfig;
use crate::id::{Dir, Side};
use crate::stream::StreamEvent;

/// Runs flows to their end. Symbol sizes change on the way.
fn run(net: &mut Net, flows: &mut [Flow], sizes: &[u16]) {
    for step in 0.. {
        assert!(step < 100_000, "no end of it: {flows:?}");
        if step % 13 == 0 && !sizes.is_empty() {
            let size = sizes[step / 13 % sizes.len()];
            net.client.set_symbol_size(size);
            net.server.set_symbol_size(size);
        }
        if step % 29 == 28 && step < 90 && !sizes.is_empty() {
            net.client.limit_symbol_size(sizes[step / 29 % sizes.len()]);
        }
        for flow in flows.iter_mut() {
            flow.work(net);
        }
        net.step();
        if flows.iter().all(|flow| flow.ended) && net.is_quiet() {
            break;
        }
    }
    for flow in flows {
        assert!(flow.received == flow.data, "stream {} is corrupt", flow.id);
        for event in [
            StreamEvent::Finished { stream: flow.id },
            StreamEvent::Delivered { stream: flow.id },
        ] {
            let count = net
                .events
                .iter()
                .filter(|seen| **seen == (flow.from, event))
                .count();
            assert_eq!(count, 1, "{event:?}");
        }
    }
    assert_empty(&net.client);
    assert_empty(&net.server);
}

fn uni(net: &mut Net, from: Side, len: usize) -> Flow {
    let id = net.end(from).open(Dir::Uni).expect("streams are left");
    Flow::new(id, from, len)
}

#[test]
fn without_loss_nothing_is_repaired_and_nothing_is_acknowledged_by_block() {
    let mut net = Net::new(&config(CodecKind::RaptorQ), Faults::default(), 1);
    let mut flows = [uni(&mut net, Side::Client, 1 << 20)];
    run(&mut net, &mut flows, &[]);
    let (sent, received) = (net.client.stats(), net.server.stats());
    assert_eq!((sent.sent_repair_symbols, sent.resent_symbols), (0, 0));
    assert_eq!(
        (received.redundant_symbols, received.decoded_blocks),
        (0, 0)
    );
    assert_eq!(
        (sent.sent_stream_bytes, received.delivered_bytes),
        (1 << 20, 1 << 20)
    );
    assert_eq!(sent.sent_source_symbols, received.received_symbols);
}

#[test]
fn of_what_is_written_only_what_has_arrived_counts_as_acknowledged() {
    for codec in CodecKind::ALL {
        let faults = Faults {
            loss: 20,
            reordering: 20,
            ..Faults::default()
        };
        let mut net = Net::new(&config(codec), faults, 5);
        let mut flow = uni(&mut net, Side::Client, 200_000);
        let mut seen = Vec::new();
        while !flow.ended {
            flow.work(&mut net);
            if let Some(bytes) = net.client.acknowledged(flow.id) {
                let arrived = net.server.stats().received_bytes;
                let most = arrived.min(flow.written as u64);
                assert!(bytes <= most, "{codec}: {bytes} of {most}");
                seen.push(bytes);
            }
            net.step();
        }
        assert_eq!(seen[0], 0, "{codec}: nothing has left yet");
        let between = |bytes: &&u64| (1..200_000).contains(*bytes);
        assert!(seen.iter().filter(between).count() > 5, "{codec}: {seen:?}");
        while !net.is_quiet() {
            net.step();
        }
        assert_eq!(net.client.acknowledged(flow.id), None, "{codec}: delivered");
    }
}

#[test]
fn a_tenth_lost_costs_about_a_tenth_more_symbols() {
    let faults = Faults {
        loss: 10,
        reordering: 20,
        ..Faults::default()
    };
    let mut net = Net::new(&config(CodecKind::RaptorQ), faults, 2);
    let mut flows = [uni(&mut net, Side::Client, 4 << 20)];
    run(&mut net, &mut flows, &[]);
    let stats = net.client.stats();
    let share = stats.sent_repair_symbols as f64 / stats.sent_source_symbols as f64;
    assert!((0.09..0.16).contains(&share), "{share}");
    assert!(net.server.stats().decoded_blocks > 20);
}

#[test]
fn uncoded_every_lost_symbol_is_sent_again_and_no_more() {
    let faults = Faults {
        loss: 10,
        ..Faults::default()
    };
    let mut net = Net::new(&config(CodecKind::Uncoded), faults, 3);
    let mut flows = [uni(&mut net, Side::Client, 1 << 20)];
    run(&mut net, &mut flows, &[]);
    let share =
        net.client.stats().resent_symbols as f64 / net.client.stats().sent_source_symbols as f64;
    assert!((0.05..0.15).contains(&share), "{share}");
    assert_eq!(net.server.stats().redundant_symbols, 0);
}

#[test]
fn blocks_under_way_are_cut_anew_when_no_path_carries_their_symbols_any_more() {
    for codec in CodecKind::ALL {
        let faults = Faults {
            loss: 5,
            reordering: 20,
            ..Faults::default()
        };
        let mut net = Net::new(&config(codec), faults, 5);
        net.client.set_symbol_size(1350);
        let mut flows = [uni(&mut net, Side::Client, 1 << 20)];
        for room in [1400, 1300, 1200] {
            net.room = room;
            net.client.limit_symbol_size(room as u16 - 50);
            net.client.set_symbol_size(room as u16 - 50);
            for _ in 0..6 {
                flows[0].work(&mut net);
                net.step();
            }
        }
        run(&mut net, &mut flows, &[]);
        assert_eq!(
            net.client.stats().sent_stream_bytes,
            1 << 20,
            "each byte counts once"
        );
    }
}

#[test]
fn streams_of_one_priority_share_and_urgent_ones_go_first() {
    let mut net = Net::new(&config(CodecKind::RaptorQ), Faults::default(), 4);
    let bulk = net.client.open(Dir::Uni).unwrap();
    let late = net.client.open(Dir::Uni).unwrap();
    let urgent = net.client.open(Dir::Uni).unwrap();
    net.client.set_priority(urgent, 1);
    net.client.write(bulk, &vec![1; 2 << 20]).unwrap();
    net.step();
    net.client.write(late, &[2; 200_000]).unwrap();
    net.client.write(urgent, &[3; 200_000]).unwrap();
    let (mut read, mut urgent_read) = (0, 0);
    for step in 0.. {
        assert!(step < 1000);
        net.step();
        while let Ok(Some(chunk)) = net.server.read(urgent, 1 << 20) {
            urgent_read += chunk.len();
        }
        while let Ok(Some(chunk)) = net.server.read(late, 1 << 20) {
            assert_eq!(urgent_read, 200_000, "the urgent stream goes first");
            read += chunk.len();
        }
        if read == 200_000 {
            break;
        }
    }
    let mut bulk_read = 0;
    while let Ok(Some(chunk)) = net.server.read(bulk, 1 << 20) {
        bulk_read += chunk.len();
    }
    assert!((100_000..500_000).contains(&bulk_read), "{bulk_read}");
}

#[derive(Debug, Clone)]
struct Case {
    codec: CodecKind,
    faults: Faults,
    seed: u64,
    flows: Vec<(bool, usize)>,
    max_block_symbols: u16,
    sizes: Vec<u16>,
    window: u64,
    buffer: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let faults = (0_u64..30, 0_u64..20, 0_u64..20, 0_u64..60).prop_map(
        |(loss, spurious, duplicate, reordering)| Faults {
            loss,
            spurious,
            duplicate,
            reordering,
        },
    );
    (
        prop::sample::select(&CodecKind::ALL),
        faults,
        any::<u64>(),
        prop::collection::vec(
            (any::<bool>(), prop_oneof![0_usize..100, 0_usize..150_000]),
            1..8,
        ),
        prop_oneof![1_u16..4, 1_u16..200],
        prop::collection::vec(prop_oneof![20_u16..100, 100_u16..1300], 0..4),
        prop_oneof![2_000_u64..20_000, Just(8 << 20)],
        prop_oneof![5_000_u64..50_000, Just(8 << 20)],
    )
        .prop_map(
            |(codec, faults, seed, flows, max_block_symbols, sizes, window, buffer)| Case {
                codec,
                faults,
                seed,
                flows,
                max_block_symbols,
                sizes,
                window,
                buffer,
            },
        )
}

#[test]
fn a_combination_costs_its_coefficients_and_pipeline_packets_cost_none() {
    let [none, some, all] =
        [CodecKind::Pipeline, CodecKind::BatchMixed, CodecKind::Batch].map(|codec| {
            let faults = Faults {
                loss: 10,
                reordering: 10,
                ..Faults::default()
            };
            let mut net = Net::new(&config(codec), faults, 6);
            net.client.set_coded_slots(0b110);
            let mut flows = [uni(&mut net, Side::Client, 1 << 20)];
            run(&mut net, &mut flows, &[]);
            let stats = net.client.stats();
            let symbols = stats.sent_source_symbols + stats.sent_repair_symbols;
            stats.sent_coefficient_bytes as f64 / symbols as f64
        });
    assert_eq!(none, 0.0);
    assert!(6.0 < some && some < all && all < 20.0, "{some} {all}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn bytes_out_are_bytes_in_whatever_the_network_does(case in case()) {
        let config = TransportConfig {
            max_block_symbols: case.max_block_symbols,
            stream_window: case.window,
            connection_window: case.window * 2,
            send_buffer: case.buffer,
            ..config(case.codec)
        };
        let mut net = Net::new(&config, case.faults, case.seed);
        let mut flows: Vec<Flow> = case
            .flows
            .iter()
            .map(|(from_client, len)| uni(&mut net, if *from_client { Side::Client } else { Side::Server }, *len))
            .collect();
        run(&mut net, &mut flows, &case.sizes);
    }
}
