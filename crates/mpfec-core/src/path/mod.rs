//! One subflow: its address, packet number space, congestion control and liveness.

mod app_limit;
mod ecn;
mod liveness;
mod loss_rate;
mod losses;
mod mtu;
mod overdue;
mod pair;
mod parity;
mod quiet;
mod set;
mod silence;
mod stalls;
mod validation;
mod way_back;
mod window;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpfec_congestion::{
    CongestionController, ControllerKind, DeliveryRate, Pacer, PacketState, RttEstimator,
};
use mpfec_sched::PathEstimates;

use crate::address::FourTuple;
use crate::parity::{ParityReceiver, ParitySender};
use crate::recovery::{PacketSpace, Pto, ReceivedPackets, Reordering};

use self::app_limit::AppLimit;
pub(crate) use self::ecn::EcnValidation;
pub(crate) use self::liveness::{Liveness, MIN_PROBE_INTERVAL};
pub(crate) use self::loss_rate::LossRate;
use self::losses::LossWatch;
pub(crate) use self::mtu::{MIN_MTU, MtuDiscovery};
pub(crate) use self::pair::PacketPair;
use self::quiet::Quiet;
pub(crate) use self::set::{ClosedIds, Given, LocalCid, MAX_PATH_ID, PathSet, RemoteCid};
use self::silence::Silence;
use self::stalls::Stalls;
pub(crate) use self::validation::Validation;
use self::way_back::WayBack;

/// Why a path changed its state, for people and for statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathReason {
    /// Its address answered the challenge.
    Validated,
    /// What was sent on it stayed unanswered for a PTO.
    Silent,
    /// It answered again after this long.
    Answered(Duration),
    /// Its address never answered the challenge.
    NeverAnswered,
    /// The application closed it.
    ClosedHere,
    /// The peer closed it, with this code.
    ClosedByPeer(u64),
    /// The interface or socket it used is gone.
    InterfaceGone,
}

impl std::fmt::Display for PathReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Validated => f.write_str("its address answered"),
            Self::Silent => f.write_str("what was sent on it stayed unanswered"),
            Self::Answered(after) => write!(f, "it answered after {} ms", after.as_millis()),
            Self::NeverAnswered => f.write_str("its address never answered"),
            Self::ClosedHere => f.write_str("closed by the application"),
            Self::ClosedByPeer(code) => write!(f, "closed by the peer (code {code:#x})"),
            Self::InterfaceGone => f.write_str("its interface is gone"),
        }
    }
}

/// A subflow between two addresses.
#[derive(Debug)]
pub(crate) struct Path {
    /// Path ID on the wire; never used again within the connection.
    pub(crate) id: u32,
    /// Index into the scheduler's per-path counters, below `MAX_PATHS`; used again.
    pub(crate) slot: usize,
    pub(crate) tuple: FourTuple,
    /// The address before the peer's moved, until the new one is validated.
    pub(crate) previous_tuple: Option<FourTuple>,
    /// Addresses that are tried in turn until one answers.
    pub(crate) alternatives: VecDeque<FourTuple>,
    pub(crate) validation: Validation,
    /// What tells congestion control how long the path takes for a packet, where it asks for that.
    pub(crate) pair: Option<PacketPair>,
    /// Whether the application was told that the path is up.
    pub(crate) announced: bool,
    pub(crate) liveness: Liveness,
    pub(crate) backup: bool,
    /// The peer's latest word on whether the path is only for backup.
    peer_status: u64,
    /// The peer's latest word on what the path takes of a relay's link.
    peer_share: u64,
    /// That share (`rho_r`, UC Eq. 7.3), if there was a word.
    pub(crate) share: Option<f64>,
    pub(crate) ecn: EcnValidation,
    pub(crate) mtu: MtuDiscovery,
    pub(crate) space: PacketSpace<PacketState>,
    pub(crate) received: ReceivedPackets,
    pub(crate) reordering: Reordering,
    /// Parity over what leaves on the path, where the profile has it.
    pub(crate) parity: Option<Box<ParitySender>>,
    /// Gives back what is missing, once the peer sends parity.
    pub(crate) rebuilder: Option<Box<ParityReceiver>>,
    pub(crate) pto: Pto,
    /// Packets to send beyond cwnd because a PTO fired (RFC 9002 §7.5).
    pub(crate) probes: u8,
    pub(crate) rtt: RttEstimator,
    /// How long the peer may hold back an acknowledgement.
    peer_ack_delay: Duration,
    /// Share of those that may be late that it has held back longer, lately.
    late_answers: f64,
    pub(crate) controller: Box<dyn CongestionController>,
    pub(crate) pacer: Pacer,
    pub(crate) delivery: DeliveryRate,
    pub(crate) delivery_rate: u64,
    pub(crate) loss: LossRate,
    /// What gets lost of what the peer sends on it, answers among it.
    incoming: LossRate,
    pub(crate) losses: LossWatch,
    /// What it carries and loses from group to group, if the profile knows groups.
    pub(crate) estimates: Option<Box<PathEstimates>>,
    pub(crate) app_limit: AppLimit,
    pub(crate) counters: PathCounters,
    pub(crate) last_received: Option<Instant>,
    /// Whether the peer fell silent, at a client.
    pub(crate) quiet: Quiet,
    /// The path on which the newest RTT sample came back.
    pub(crate) rtt_route: u32,
    /// How long the acknowledgement of that sample came back, as congestion control is told it.
    pub(crate) took_back: Option<i64>,
    pub(crate) way_back: WayBack,
    /// When something sent on the path was acknowledged last.
    pub(crate) last_answer: Option<Instant>,
    /// Packets whose answers were overdue since then.
    pub(crate) unanswered: u64,
    silence: Silence,
    stalls: Stalls,
    /// Whether it was idle for so long that it must be kept alive.
    pub(crate) is_to_be_asked: bool,
    /// Acknowledgements written since the path itself last carried one of its own.
    pub(crate) acks_elsewhere: u8,
    /// Acknowledgements that left elsewhere leave on this path as well.
    pub(crate) repeats_acks: bool,
}

/// What a path has done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PathCounters {
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) lost_packets: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) delivered_bytes: u64,
}

/// What a path begins with, beside its identity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathStart {
    pub(crate) now: Instant,
    pub(crate) congestion: ControllerKind,
    /// Bytes of UDP payload that may be tried.
    pub(crate) max_mtu: u16,
    /// The RTT to assume before anything is measured.
    pub(crate) rtt: Duration,
    /// How long the peer may hold back an acknowledgement.
    pub(crate) peer_ack_delay: Duration,
}

impl Path {
    pub(crate) fn new(
        id: u32,
        slot: usize,
        tuple: FourTuple,
        validation: Validation,
        start: &PathStart,
        parity: Option<Box<ParitySender>>,
    ) -> Self {
        let now = start.now;
        Self {
            id,
            slot,
            tuple,
            previous_tuple: None,
            alternatives: VecDeque::new(),
            validation,
            pair: None,
            announced: false,
            liveness: Liveness::default(),
            backup: false,
            peer_status: 0,
            peer_share: 0,
            share: None,
            ecn: EcnValidation::default(),
            mtu: MtuDiscovery::new(start.max_mtu),
            space: PacketSpace::new(),
            received: ReceivedPackets::new(MAX_ACK_DELAY),
            reordering: Reordering::default(),
            parity,
            rebuilder: None,
            pto: Pto::default(),
            probes: 0,
            rtt: RttEstimator::new(start.rtt),
            peer_ack_delay: start.peer_ack_delay,
            late_answers: 0.0,
            controller: start.congestion.build(MIN_MTU, now, INITIAL_WINDOW_PACKETS),
            pacer: Pacer::new(MIN_MTU, now),
            delivery: DeliveryRate::new(now),
            delivery_rate: 0,
            loss: LossRate::new(),
            incoming: LossRate::new(),
            losses: LossWatch::default(),
            estimates: None,
            app_limit: AppLimit::new(now),
            counters: PathCounters::default(),
            last_received: None,
            quiet: Quiet::default(),
            rtt_route: id,
            took_back: None,
            way_back: WayBack::default(),
            last_answer: None,
            is_to_be_asked: false,
            unanswered: 0,
            silence: Silence::default(),
            stalls: Stalls::default(),
            acks_elsewhere: 0,
            repeats_acks: false,
        }
    }

    /// Goes on from other addresses where `before` was: what belongs to the number of the path
    /// stays, and what was measured between the addresses does not.
    pub(crate) fn go_on_from(&mut self, now: Instant, before: Self) {
        self.space = before.space;
        // Their answers would tell of the way that they took.
        self.space.forget_lost(now, Duration::ZERO);
        self.received = before.received;
        self.ecn = before.ecn;
        self.rebuilder = before.rebuilder;
        self.peer_status = before.peer_status;
        self.peer_share = before.peer_share;
        // The peer's reports count all parity of the path.
        self.parity = before.parity;
        let room = self.parity_room();
        if let Some(parity) = &mut self.parity {
            parity.on_mtu_update(room);
        }
    }

    /// Whether a frame that proves or measures the path is waiting to leave.
    pub(crate) fn has_challenges(&self, now: Instant) -> bool {
        self.validation.has_frames(now) || self.pair.as_ref().is_some_and(PacketPair::is_due)
    }

    /// Whether data may be scheduled on it.
    pub(crate) fn is_usable(&self) -> bool {
        self.validation.is_validated() && !self.liveness.is_suspected()
    }

    /// When the path is to be asked for an answer if nothing leaves on it before.
    pub(crate) fn keep_alive_at(&self, interval: Duration) -> Option<Instant> {
        let applies = !interval.is_zero() && self.is_usable() && !self.is_to_be_asked;
        let sent = self.space.last_ack_eliciting_sent().filter(|_| applies)?;
        // More often than answers come, it would fill a slow path with questions.
        sent.checked_add(interval.max(self.srtt()))
    }

    /// When a client asks whether the server, of which packets came and no longer do, still knows
    /// its address. If it has sent something itself, it waits for that answer.
    pub(crate) fn ask_at(&self) -> Option<Instant> {
        let applies = self.is_usable() && !self.space.ack_eliciting_in_flight();
        let at = self.quiet.ask_at(self.pto_base());
        at.filter(|_| applies && !self.is_to_be_asked)
    }

    /// Whether anything arrived on the path within two PTOs.
    pub(crate) fn was_heard_lately(&self, now: Instant) -> bool {
        self.heard_until().is_some_and(|until| now <= until)
    }

    /// Until when it counts as heard of lately.
    fn heard_until(&self) -> Option<Instant> {
        Some(self.last_received? + 2 * self.pto_base().min(HEARD_LATELY))
    }

    /// For how long it has been suspected, or not heard of lately.
    pub(crate) fn silent_for(&self, now: Instant) -> Option<Duration> {
        let unheard = self.heard_until().filter(|until| now > *until);
        let since = [self.liveness.suspected_since(), unheard];
        let since = since.into_iter().flatten().min()?;
        Some(now.saturating_duration_since(since))
    }

    /// Whether the path has been idle for so long that its RTT may have changed.
    pub(crate) fn is_unmeasured(&self, now: Instant) -> bool {
        let idle_until = |since: Instant| since + (4 * self.srtt()).max(IDLE);
        self.is_usable()
            && !self.space.ack_eliciting_in_flight()
            && self
                .space
                .last_ack_eliciting_sent()
                .is_some_and(|sent| now >= idle_until(sent))
    }

    /// Smoothed RTT; the initial guess before the first sample.
    pub(crate) fn srtt(&self) -> Duration {
        self.rtt.smoothed()
    }

    /// Age at which a packet older than an acknowledged one is lost (RFC 9002 §6.1.2).
    pub(crate) fn loss_delay(&self) -> Duration {
        let wait = self.loss_rtt().mul_f64(self.reordering.time_threshold());
        wait.max(Duration::from_millis(1)) + self.parity_wait()
    }

    /// The round trip that the time threshold is a multiple of (RFC 9002 §6.1.2).
    fn loss_rtt(&self) -> Duration {
        self.rtt.smoothed().max(self.rtt.latest())
    }

    /// A packet was acknowledged `age` after it left, when one `overtaken_by` numbers later had
    /// been, and whether it had been declared lost.
    pub(crate) fn on_order(&mut self, was_lost: bool, overtaken_by: u64, age: Duration) {
        let rtt = self.loss_rtt().max(Duration::from_millis(1));
        let age = age.as_secs_f64() / rtt.as_secs_f64();
        self.reordering.on_acked(was_lost, overtaken_by, age);
    }

    /// Packets that counted as lost arrived after all: `overtaken` by others, and `unheard` of
    /// while the path was silent, which never count as random loss.
    pub(crate) fn on_spurious(&mut self, overtaken: u64, unheard: u64) {
        let packets = overtaken + unheard;
        self.counters.lost_packets = self.counters.lost_packets.saturating_sub(packets);
        self.loss.on_spurious(overtaken);
        if overtaken > 0 {
            self.controller.on_spurious_loss();
        }
    }

    /// A packet that is no copy arrived on the path. Returns whether none before had a larger
    /// number.
    pub(crate) fn on_arrival(&mut self, now: Instant, packet_number: u64) -> bool {
        self.last_received = Some(now);
        match self.received.largest() {
            None => true,
            Some(largest) if packet_number > largest => {
                let missing = packet_number - largest - 1;
                self.incoming.update(1, missing.min(MOST_MISSING));
                true
            }
            Some(_) => {
                self.incoming.on_spurious(1);
                false
            }
        }
    }

    /// So many packets are given up, for the path is silent.
    pub(crate) fn on_given_up(&mut self, now: Instant, packets: u64) {
        if packets > 0 && self.unanswered == 0 {
            self.silence.begin(now);
        }
        self.unanswered += packets;
        self.counters.lost_packets += packets;
    }

    /// Something that was sent on the path was acknowledged, up to the packet `largest`, and no
    /// packet was lost for its size.
    pub(crate) fn count_burst(&mut self, now: Instant, largest: u64) {
        let suspected = self.liveness.suspected_since();
        if let Some(burst) = self.silence.on_answer(now, self.srtt(), suspected) {
            let overtaken = (largest + 1).saturating_sub(self.reordering.threshold());
            let (lost, runs) = self.space.take_lost_in_silence(burst, overtaken);
            self.loss.on_burst(lost, runs);
        }
    }

    /// Something that was sent on the path was acknowledged.
    pub(crate) fn on_answer(&mut self, now: Instant) {
        self.last_answer = Some(now);
        self.unanswered = 0;
        self.pto.on_ack();
        self.probes = 0;
    }

    /// Whether most of what it loses was not taken for the doing of a full queue: there backing
    /// off helps nobody.
    pub(crate) fn is_noisy(&self) -> bool {
        let verdicts = self.controller.loss_verdicts();
        verdicts.wireless + verdicts.unknown > verdicts.congestion
    }

    /// Goes on to the next address to try, if there are several.
    pub(crate) fn try_next(&mut self) {
        if let Some(next) = self.alternatives.pop_front() {
            self.alternatives
                .push_back(std::mem::replace(&mut self.tuple, next));
        }
    }

    /// Something authentic came from `tuple`: if that was one of those to try, it is the one.
    pub(crate) fn settle(&mut self, tuple: &FourTuple) {
        if let Some(answered) = self
            .alternatives
            .iter()
            .find(|known| known.is_same_route(tuple))
        {
            self.tuple = *answered;
            self.alternatives.clear();
        }
    }

    /// The peer says whether it wants the path only for backup; late words do not count.
    pub(crate) fn on_peer_status(&mut self, sequence: u64, backup: bool) {
        if sequence > self.peer_status {
            self.peer_status = sequence;
            self.backup = backup;
        }
    }

    /// The peer says what the path takes of a relay's link; late words do not count.
    pub(crate) fn on_peer_share(&mut self, sequence: u64, rho: Option<f64>) {
        if sequence > self.peer_share {
            self.peer_share = sequence;
            if let Some(rho) = rho {
                self.share = Some(rho);
                self.controller.on_share(rho);
            }
        }
    }

    /// Says so if congestion control takes losses for something else than before.
    pub(crate) fn report_verdict(&mut self) {
        let verdicts = self.controller.loss_verdicts();
        if let Some(evidence) = self.losses.check(verdicts, &self.rtt) {
            tracing::info!("path {}: {evidence}", self.id);
        }
    }
}

/// An idle path is asked for its RTT so often at most while others carry data.
const IDLE: Duration = Duration::from_millis(250);
/// The longest PTO that counts where it is asked whether a path was heard of.
const HEARD_LATELY: Duration = Duration::from_millis(500);
/// Of what a path loses while it is dead, so much counts.
const MOST_MISSING: u64 = 16;
/// Before the first sample (RFC 9002 §6.2.2), where not even the handshake gave one.
pub(crate) const INITIAL_RTT: Duration = Duration::from_millis(333);
/// How long this end holds back an acknowledgement.
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(5);
const INITIAL_WINDOW_PACKETS: u64 = 20;
