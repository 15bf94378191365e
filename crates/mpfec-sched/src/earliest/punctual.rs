//! Paths on which nothing gets lost or late: what they carry needs no protection.
//!
//! A slot that nobody wants costs no time, but on a metered link it costs money. A path that has lost
//! none of very many packets may still lose the next one: then the block that it was of waits for a round
//! trip, and so do those that are written meanwhile. If a path loses one packet in `n`, of `w` that are
//! written in a block and a round trip, and is trusted after `m` packets without a loss, the part of
//! late blocks is `w / n x e^(-m / n)`, at most `w / (e m)`, whatever `n`. What comes late delays a block as
//! much as what is lost, if no other path makes up for it; and a link that stands still for a moment, as
//! over the air, holds up all that is written meanwhile.

use crate::delta::LossProcess;
use crate::view::{PathView, View};

/// Packets after which a path that has lost none of them, and on which none was late, is trusted, while
/// `load` source symbols are written per second; `None` while there are no blocks.
pub(super) fn enough(load: f64, view: &View<'_>) -> Option<u64> {
    let block = f64::from(view.blocks.first()?.source_symbols);
    let waiting = block + load * view.slowest_rtt().as_secs_f64().max(MOMENT);
    Some((MANY * waiting).max(FEWEST) as u64)
}

/// What protection ahead of loss has to reckon with on `path`.
pub(super) fn losses(path: &PathView, enough: Option<u64>) -> LossProcess {
    if enough.is_some_and(|enough| path.punctual >= enough) {
        LossProcess::independent(0.0)
    } else {
        path.losses_to_expect()
    }
}

/// Times what waits for a lost packet: four blocks in a thousand are late at most.
const MANY: f64 = 100.0;
/// Seconds for which links stand still, or fewer.
const MOMENT: f64 = 0.2;
/// Fewer packets say nothing.
const FEWEST: f64 = 1000.0;
