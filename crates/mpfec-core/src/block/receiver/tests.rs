use mpfec_codec::BlockEncoder;

use super::*;

const T: usize = 10;

fn esi(value: u32) -> EncodingSymbolId {
    EncodingSymbolId::new(value).unwrap()
}

fn bytes(len: usize) -> Bytes {
    (0..len).map(|byte| (byte * 7 % 251) as u8).collect()
}

fn symbol(block: &Bytes, esi: u32) -> Bytes {
    let start = esi as usize * T;
    block.slice(start..block.len().min(start + T))
}

fn encoder(block: &Bytes) -> Box<dyn BlockEncoder> {
    let mut encoder = CodecKind::RaptorQ.encoder(SymbolSize::new(T as u32).unwrap());
    for index in 0..block.len().div_ceil(T) as u32 {
        encoder.push_source(symbol(block, index)).unwrap();
    }
    encoder.close();
    encoder
}

fn repair(encoder: &mut dyn BlockEncoder, value: u32) -> Bytes {
    let mut out = Vec::new();
    encoder.encode(esi(value), &mut out).unwrap();
    out.into()
}

fn receiver() -> BlockReceiver {
    BlockReceiver::new(0, SymbolSize::new(T as u32).unwrap(), u64::MAX, None)
}

#[test]
fn bytes_without_a_gap_are_handed_out_before_the_block_is_complete() {
    let block = bytes(45);
    let mut receiver = receiver();
    receiver
        .insert(esi(0), CodecKind::RaptorQ, &symbol(&block, 0))
        .unwrap();
    receiver
        .insert(esi(2), CodecKind::RaptorQ, &symbol(&block, 2))
        .unwrap();
    assert_eq!(receiver.take_ready().unwrap(), block[..10]);
    assert_eq!(receiver.take_ready(), None);
    receiver
        .insert(esi(1), CodecKind::RaptorQ, &symbol(&block, 1))
        .unwrap();
    assert_eq!(receiver.take_ready().unwrap(), block[10..30]);
    receiver
        .insert(esi(3), CodecKind::RaptorQ, &symbol(&block, 3))
        .unwrap();
    receiver.set_length(45).unwrap();
    assert!(!receiver.is_complete());
    receiver
        .insert(esi(4), CodecKind::RaptorQ, &symbol(&block, 4))
        .unwrap();
    assert!(receiver.is_complete());
    assert_eq!(receiver.take_ready().unwrap(), block[30..]);
}

#[test]
fn repair_symbols_stand_in_for_lost_ones_after_others_were_read() {
    let block = bytes(95);
    let mut encoder = encoder(&block);
    let mut receiver = receiver();
    for index in [0, 1, 2, 5, 6, 8, 9] {
        receiver
            .insert(esi(index), CodecKind::RaptorQ, &symbol(&block, index))
            .unwrap();
    }
    assert_eq!(receiver.take_ready().unwrap(), block[..30]);
    receiver.set_length(95).unwrap();
    let mut last = Insertion::Useful;
    for index in 10..20 {
        last = receiver
            .insert(
                esi(index),
                CodecKind::RaptorQ,
                &repair(&mut *encoder, index),
            )
            .unwrap();
        if last == Insertion::Decoded {
            break;
        }
    }
    assert_eq!(last, Insertion::Decoded);
    assert_eq!(receiver.take_ready().unwrap(), block[30..]);
    assert_eq!(
        receiver
            .insert(esi(3), CodecKind::RaptorQ, &symbol(&block, 3))
            .unwrap(),
        Insertion::Redundant
    );
}

#[test]
fn a_block_decodes_from_repair_symbols_alone() {
    let block = bytes(641);
    let mut encoder = encoder(&block);
    let mut receiver = receiver();
    receiver.set_length(641).unwrap();
    let decoded = (65..80 + 65).any(|index| {
        receiver
            .insert(
                esi(index),
                CodecKind::RaptorQ,
                &repair(&mut *encoder, index),
            )
            .unwrap()
            == Insertion::Decoded
    });
    assert!(decoded);
    assert_eq!(receiver.take_ready().unwrap(), block);
}

#[test]
fn symbols_that_contradict_what_is_known_of_the_block_are_errors() {
    let block = bytes(50);
    let mut receiver = BlockReceiver::new(100, SymbolSize::new(T as u32).unwrap(), 150, None);
    receiver
        .insert(esi(3), CodecKind::RaptorQ, &symbol(&block, 3))
        .unwrap();
    assert!(
        receiver.set_length(39).is_err(),
        "symbol 3 is there and ends at 40"
    );
    assert!(
        receiver.set_length(51).is_err(),
        "the next block begins at 150"
    );
    assert!(receiver.set_bound(139).is_err());
    assert!(
        receiver
            .insert(esi(5), CodecKind::RaptorQ, &symbol(&block, 0))
            .is_err(),
        "it would end at 160"
    );
    receiver.set_length(50).unwrap();
    assert!(receiver.set_length(49).is_err());
}

#[test]
fn a_block_that_is_cut_anew_keeps_what_was_read_and_decodes_the_rest() {
    let block = bytes(205);
    let mut receiver = receiver();
    receiver.set_length(205).unwrap();
    for index in [0, 1, 2, 3, 9, 20] {
        receiver
            .insert(esi(index), CodecKind::RaptorQ, &symbol(&block, index))
            .unwrap();
        if index == 2 {
            assert_eq!(receiver.take_ready().unwrap(), block[..30]);
        }
    }
    let size = SymbolSize::new(7).unwrap();
    receiver.cut(size).unwrap();
    assert_eq!(receiver.take_ready().unwrap(), block[30..35]);
    let mut encoder = CodecKind::RaptorQ.encoder(size);
    for start in (0..205).step_by(7) {
        encoder
            .push_source(block.slice(start..205.min(start + 7)))
            .unwrap();
    }
    encoder.close();
    receiver
        .insert(esi(5), CodecKind::RaptorQ, &block.slice(35..42))
        .unwrap();
    assert_eq!(receiver.take_ready().unwrap(), block[35..42]);
    let decoded = (30..70).any(|index| {
        receiver
            .insert(
                esi(index),
                CodecKind::RaptorQ,
                &repair(&mut *encoder, index),
            )
            .unwrap()
            == Insertion::Decoded
    });
    assert!(decoded);
    assert_eq!(receiver.take_ready().unwrap(), block[42..]);
}

#[test]
fn a_far_symbol_of_an_open_block_does_not_occupy_more_than_flow_control_allowed() {
    let mut receiver = receiver();
    receiver
        .insert(esi(1000), CodecKind::RaptorQ, &bytes(T))
        .unwrap();
    assert!(receiver.data.capacity() <= 2 * 1001 * T);
}

#[test]
fn one_byte_of_an_open_block_does_not_occupy_a_thousand() {
    let mut receiver = BlockReceiver::new(0, SymbolSize::new(1).unwrap(), u64::MAX, None);
    receiver
        .insert(esi(0), CodecKind::RaptorQ, &bytes(1))
        .unwrap();
    assert!(receiver.data.capacity() <= 64);
}

#[test]
fn what_repair_symbols_of_a_byte_occupy_is_a_few_bytes_each() {
    let mut receiver = BlockReceiver::new(0, SymbolSize::new(1).unwrap(), u64::MAX, None);
    receiver.set_length(1024).unwrap();
    for index in 1024..2046 {
        receiver
            .insert(esi(index), CodecKind::RaptorQ, &bytes(1))
            .unwrap();
    }
    let esis = receiver.repair_esis.capacity() * size_of::<EncodingSymbolId>();
    assert!(receiver.repair.capacity() + esis <= 16 * 1024);
}

#[test]
fn blocks_too_large_for_the_linear_code_have_no_repair_symbols_of_it() {
    for (length, is_allowed) in [(256, true), (257, false)] {
        let mut receiver = BlockReceiver::new(0, SymbolSize::new(1).unwrap(), u64::MAX, None);
        receiver.set_length(length).unwrap();
        let inserted = receiver.insert(esi(300), CodecKind::Linear, &bytes(1));
        assert_eq!(inserted.is_ok(), is_allowed, "{length}");
    }
}

#[test]
fn a_block_may_be_cut_twice_after_some_of_it_was_read() {
    let block = bytes(3000);
    let size = |bytes| SymbolSize::new(bytes).unwrap();
    let mut receiver = BlockReceiver::new(0, size(1000), u64::MAX, None);
    receiver
        .insert(esi(0), CodecKind::RaptorQ, &block.slice(..1000))
        .unwrap();
    assert_eq!(receiver.take_ready().unwrap(), block[..1000]);
    receiver.cut(size(600)).unwrap();
    receiver.cut(size(200)).unwrap();
    receiver.set_length(3000).unwrap();
    for index in (0..15).rev() {
        let start = index as usize * 200;
        receiver
            .insert(
                esi(index),
                CodecKind::RaptorQ,
                &block.slice(start..start + 200),
            )
            .unwrap();
    }
    assert!(receiver.is_complete());
    assert_eq!(receiver.take_ready().unwrap(), block[1000..]);
}
