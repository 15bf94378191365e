use mpfec_codec::{CodecKind, SymbolSize};

use super::*;
use crate::id::{Dir, Side, StreamId};

/// A closed block of so many symbols of ten bytes.
fn block(symbols: usize) -> (BlockSender, BlockView) {
    let origin = Origin {
        stream: StreamId::new(Side::Client, Dir::Uni, 0),
        sbn: 0,
        offset: 0,
        symbol_size: SymbolSize::new(10).expect("in range"),
        codec: CodecKind::RaptorQ,
        group: None,
    };
    let (mut block, mut view) = (BlockSender::new(origin, None), BlockView::default());
    assert_eq!(
        block.append(&vec![1; 10 * symbols], 64, &mut view),
        10 * symbols
    );
    block.close(&mut view);
    (block, view)
}

#[test]
fn repair_symbols_that_are_lost_are_told_from_source_symbols() {
    let (mut block, mut view) = block(3);
    for esi in 0..3 {
        block.on_lost(esi, 0, &mut view);
    }
    assert_eq!((view.lost_once, view.repairs_lost), (3, 0));
    block.on_lost(3, 0, &mut view);
    assert_eq!((view.lost_once, view.repairs_lost), (4, 1));
}

#[test]
fn of_a_block_of_one_symbol_each_copy_but_the_first_is_a_repair() {
    let (mut block, mut view) = block(1);
    let lost = [0, 0, 0].map(|esi| {
        block.on_lost(esi, 0, &mut view);
        view.repairs_lost
    });
    assert_eq!(lost, [0, 1, 2]);
}
