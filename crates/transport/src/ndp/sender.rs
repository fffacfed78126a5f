//! Sending half of one flow.

use super::config::NdpConfig;
use super::header::{NdpHeader, NdpKind};
use super::paths::Paths;
use super::window::Window;
use crate::receiver_driven::Sending;
use crate::tcp::rtt::RttEstimator;
use crate::{Condition, Ecn, FlowStats, Header, PathPin, Segment};
use alloc::collections::VecDeque;
use tailcut_units::{Duration, FiveTuple, FlowId, Time};

/// Largest number of doublings of the timeout. The limit prevents an overflow of the factor.
/// The configured upper bound of the timeout usually applies earlier.
const MAX_BACK_OFF: u32 = 20;

/// A pull counts as lost after this multiple of the longest wait for a pull so far.
/// While n flows have their turn, n full packets arrive, each with at most 10 trimmed headers.
/// Each full packet or header adds a pull, so the next round of turns takes at most about 11 times as long.
const TURNS_UNTIL_LOST: u64 = 12;

/// Parameters of a flow that the application submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) flow: FlowId,
    pub(crate) tuple: FiveTuple,
    pub(crate) bytes: u64,
    pub(crate) pin: PathPin,
}

#[derive(Debug)]
pub(crate) struct Sender {
    task: Task,
    /// Number of packets of the flow, at least 1.
    packets: u64,
    /// Number of packets that the application has provided so far.
    ready: u64,
    /// Whether packets have the class below all other classes.
    below: bool,
    /// Number of the first packet that was never sent.
    next: u64,
    /// Number of packets of the first window that have not been sent.
    to_push: u64,
    /// Latest count of pulls from the receiver.
    pulled: u64,
    /// Number of packets that may be sent now, because of pulls and timeouts.
    credit: u64,
    /// State of each packet. "Done" means acknowledged, and "waiting" means queued for retransmission.
    window: Window,
    again: VecDeque<u64>,
    /// Number of sent packets that were not answered, not returned by a switch, and do not count as lost.
    in_flight: u64,
    /// Estimated number of pulls that wait at the receiver. The estimate comes from the answers of the receiver.
    due: u64,
    /// Whether the receiver knows the end of the flow.
    end_known: bool,
    /// Time of the latest pull, or start of the flow before the first pull.
    pulled_at: Time,
    /// Longest time for which the flow has waited for a pull. Zero before the first pull.
    longest_wait: Duration,
    /// Payload bytes that count towards demotion.
    counted: u64,
    paths: Paths,
    rtt: RttEstimator,
    /// Number of consecutive timeouts without new information from the receiver.
    back_off: u32,
    /// Number of the lowest packet in flight.
    oldest: Option<u64>,
    /// Start of the timer of the packet `oldest`.
    /// The timer starts when the packet leaves, or when it becomes the lowest packet in flight.
    oldest_since: Time,
    heard_at: Time,
    pub(crate) stats: FlowStats,
    /// Whether the session waits in the host's queue of sessions that may send.
    pub(crate) queued: bool,
    /// Time of the earliest entry of the session in the timer queue.
    pub(crate) timer_at: Time,
    pub(crate) closed: bool,
}

impl Sender {
    pub(crate) fn new(now: Time, task: Task, config: &NdpConfig, seed: u64) -> Self {
        // A flow without bytes sends one empty packet, so that the receiver learns about the flow.
        let packets = task.bytes.div_ceil(u64::from(config.mss)).max(1);
        let paths = match task.pin.index() {
            // A pinned flow has a single path, so it needs no choice of paths.
            Some(_) => 0,
            None => config.paths,
        };
        Self {
            task,
            packets,
            ready: packets,
            below: false,
            next: 0,
            to_push: u64::from(config.initial_window).min(packets),
            pulled: 0,
            credit: 0,
            window: Window::default(),
            again: VecDeque::new(),
            in_flight: 0,
            due: 0,
            end_known: false,
            pulled_at: now,
            longest_wait: Duration::ZERO,
            counted: 0,
            paths: Paths::new(paths, packets, seed),
            rtt: RttEstimator::new(config.initial_rto),
            back_off: 0,
            oldest: None,
            oldest_since: now,
            heard_at: now,
            stats: FlowStats {
                copies: 1,
                ..FlowStats::default()
            },
            queued: false,
            timer_at: Time::MAX,
            closed: false,
        }
    }

    /// Sets the number of bytes that the application has provided.
    /// Before the end of the flow, only full packets are sent.
    pub(crate) fn set_ready(&mut self, bytes: u64, config: &NdpConfig) {
        self.ready = match bytes >= self.task.bytes {
            true => self.packets,
            // A packet that was sent cannot be withdrawn.
            false => (bytes / u64::from(config.mss)).max(self.next),
        };
        let first_window = u64::from(config.initial_window).min(self.ready);
        self.to_push = first_window.saturating_sub(self.next);
    }

    /// Sets whether later packets have the class below all other classes.
    pub(crate) fn set_below(&mut self, below: bool) {
        self.below = below;
    }

    /// Returns whether all packets are acknowledged.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.window.base() >= self.packets
    }

    /// Returns whether a packet may be sent now.
    #[inline]
    pub(crate) fn can_send(&self) -> bool {
        !self.closed
            && (self.to_push > 0
                || self.credit > 0 && (!self.again.is_empty() || self.next < self.ready))
    }

    /// Returns the next packet. The first window comes first, then retransmissions, then new packets.
    pub(crate) fn transmit(&mut self, now: Time, config: &NdpConfig) -> Option<Segment> {
        if self.closed {
            return None;
        }
        if self.to_push > 0 {
            self.to_push -= 1;
            return Some(self.send_new(now, config));
        }
        if self.credit == 0 {
            return None;
        }
        while let Some(index) = self.again.pop_front() {
            // An entry is stale if its packet was acknowledged after it was reported as lost.
            if self.window.waits(index) {
                self.credit -= 1;
                self.window.set_waits(index, false);
                self.stats.retransmissions += 1;
                let segment = self.send(now, index, config);
                if config.resends_count {
                    self.counted += u64::from(segment.payload);
                }
                return Some(segment);
            }
        }
        // The receiver rejects packets that are too far ahead as invalid.
        if self.next < self.ready && self.window.in_reach(self.next) {
            self.credit -= 1;
            return Some(self.send_new(now, config));
        }
        None
    }

    fn send_new(&mut self, now: Time, config: &NdpConfig) -> Segment {
        let index = self.next;
        self.next += 1;
        let segment = self.send(now, index, config);
        self.counted += u64::from(segment.payload);
        segment
    }

    /// Returns the class of the next packet.
    #[inline]
    pub(crate) fn class(&self, config: &NdpConfig) -> u8 {
        match self.below {
            false => config.demotion.class(self.counted),
            true => config.demotion.classes(),
        }
    }

    #[inline]
    fn send(&mut self, now: Time, index: u64, config: &NdpConfig) -> Segment {
        if self.oldest.is_none_or(|oldest| index < oldest) {
            self.oldest = Some(index);
            self.oldest_since = now;
        }
        self.in_flight += 1;
        let offset = index * u64::from(config.mss);
        let payload = (self.task.bytes - offset).min(u64::from(config.mss)) as u32;
        self.stats.payload_sent += u64::from(payload);
        let pinned = self.task.pin != PathPin::NONE;
        let path = if pinned {
            self.task.pin
        } else {
            self.paths.choose()
        };
        Segment {
            tuple: self.task.tuple,
            flow: self.task.flow,
            payload,
            // Trimming signals congestion, so packets need no marks.
            ecn: Ecn::NotCapable,
            priority: self.class(config),
            path,
            rank: 0,
            trimmable: true,
            condition: Condition::Whole,
            header: Header::Ndp(NdpHeader {
                kind: NdpKind::Data,
                first_window: index < u64::from(config.initial_window),
                last: index + 1 == self.packets,
                pinned,
                index,
                sent: now,
                ..NdpHeader::default()
            }),
        }
    }

    /// Processes an ACK, a NACK or a pull.
    pub(crate) fn on_answer(&mut self, now: Time, header: &NdpHeader, config: &NdpConfig) {
        // An answer to a packet that was never sent is invalid.
        if header.cumulative > self.next || header.index >= self.next {
            return;
        }
        let mut news = header.cumulative > self.window.base();
        // `set_done` must come before `set_done_below`. If packets arrive in order, `cumulative` includes this packet.
        // If `set_done_below` came first, a first ACK would look like a repeated ACK.
        // Only a first ACK gives a round-trip sample.
        let is_first_ack = header.kind == NdpKind::Ack && self.window.set_done(header.index);
        let done = self.window.done();
        self.window.set_done_below(header.cumulative);
        let is_answer = matches!(header.kind, NdpKind::Ack | NdpKind::Nack);
        self.end_known |= is_answer && header.index + 1 == self.packets;
        // If only `cumulative` reports a packet, the packet has been answered too, but its ACK was lost.
        self.on_answered(u64::from(is_answer) + self.window.done() - done);
        match header.kind {
            NdpKind::Ack => {
                self.paths.on_ack(header.path);
                if is_first_ack {
                    news = true;
                    // `min_rto` already includes the clock granularity of RFC 6298, so the granularity is 0 here.
                    self.rtt.on_sample_within(
                        now.since(header.sent),
                        Duration::ZERO,
                        config.min_rto..=config.max_rto,
                    );
                }
            }
            NdpKind::Nack => {
                self.paths.on_nack(header.path);
                news |= self.queue_again(header.index);
            }
            NdpKind::Pull | NdpKind::Data => {}
        }
        if header.pull > self.pulled {
            news = true;
            self.due = self.due.saturating_sub(header.pull - self.pulled);
            self.longest_wait = self.longest_wait.max(now.since(self.pulled_at));
            self.pulled_at = now;
            self.credit = self.credit.saturating_add(header.pull - self.pulled);
            self.pulled = header.pull;
        }
        // Pulls without a packet to send are saved for the next NACK, up to a window (deviations in the module `ndp`).
        if self.again.is_empty() && self.next >= self.packets {
            self.credit = self.credit.min(u64::from(config.initial_window));
        }
        self.heard_at = now;
        if news {
            self.back_off = 0;
        }
        self.find_oldest(now);
    }

    /// Counts packets that the receiver has answered, and the pulls that it will send for them.
    /// When the receiver knows the end of the flow, it keeps at most one pull for each missing packet.
    #[inline]
    fn on_answered(&mut self, packets: u64) {
        self.in_flight = self.in_flight.saturating_sub(packets);
        self.due += packets;
        if self.end_known {
            self.due = self.due.min(self.packets - self.window.done());
        }
    }

    /// Processes a header that a switch returned, because the queue of the switch was full even for headers.
    pub(crate) fn on_returned(&mut self, now: Time, header: &NdpHeader, path: PathPin) {
        if header.index >= self.next || !self.queue_again(header.index) {
            return;
        }
        self.paths.on_bounce(path);
        self.in_flight = self.in_flight.saturating_sub(1);
        // The receiver pulls once for each packet that arrives, whole or trimmed. A returned packet causes no pull.
        // If no pull is expected, a returned packet must be sent again now.
        if self.in_flight == 0 && self.due == 0 {
            self.credit = self.credit.saturating_add(1);
        }
        // The header comes from a switch and contains no information from the receiver, so the back-off stays.
        self.heard_at = now;
        self.find_oldest(now);
    }

    /// Queues packet `index` for retransmission. Returns `false` if it is acknowledged or already queued.
    fn queue_again(&mut self, index: u64) -> bool {
        if self.window.is_done(index) || self.window.waits(index) {
            return false;
        }
        self.window.set_waits(index, true);
        self.again.push_back(index);
        true
    }

    #[inline]
    fn find_oldest(&mut self, now: Time) {
        let Some(oldest) = self.oldest else { return };
        if self.window.is_done(oldest) || self.window.waits(oldest) {
            self.oldest = self.window.first_idle(self.next);
            self.oldest_since = now;
        }
    }

    /// Returns the time of the next timeout, or `None` if the sender waits for no packet.
    #[inline]
    pub(crate) fn deadline(&self, config: &NdpConfig) -> Option<Time> {
        // During the first window the host's link limits the sender, so a wait for an answer shows no loss.
        if self.closed || self.to_push > 0 {
            return None;
        }
        let (since, rto) = match self.oldest {
            Some(_) => (self.oldest_since, self.rtt.rto()),
            // The sender waits only for more data from its application.
            None if self.next == self.ready && self.ready < self.packets => return None,
            // All missing packets wait for pulls. The timer detects lost pulls.
            None => (self.heard_at, self.patience(config)),
        };
        let factor = 1 << self.back_off.min(MAX_BACK_OFF);
        Some(since.saturating_add(rto.saturating_mul(factor).min(config.max_rto)))
    }

    /// Returns the time after which a pull counts as lost.
    /// A flow with a due pull waits for its turn among all flows of the receiver.
    /// The earlier turns of this flow show how long a turn takes.
    fn patience(&self, config: &NdpConfig) -> Duration {
        match (self.due, self.longest_wait) {
            (0, _) => config.initial_rto,
            (_, Duration::ZERO) => config.max_rto,
            // More flows may have started since the last turn: during the round trip of the pulled packet and answer.
            (_, wait) => (wait + self.heard_at.since(self.pulled_at))
                .saturating_mul(TURNS_UNTIL_LOST)
                .max(config.initial_rto),
        }
    }

    /// Processes a timeout. The oldest packet in flight counts as lost.
    /// If no packet is in flight, a pull counts as lost. Returns `false` if the flow has failed.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &NdpConfig) -> bool {
        self.stats.timeouts += 1;
        self.back_off += 1;
        // The current time restarts the timer for the case that no packet is in flight.
        self.heard_at = now;
        if let Some(oldest) = self.oldest {
            self.in_flight = self.in_flight.saturating_sub(1);
            self.window.set_waits(oldest, true);
            // The packet moves to the front, so that it uses the credit that the lines below add.
            self.again.push_front(oldest);
            self.oldest = self.window.first_idle(self.next);
            self.oldest_since = now;
        } else {
            self.due = self.due.saturating_sub(1);
        }
        // Without the loss, the packet or the pull would have caused this credit.
        self.credit = self.credit.saturating_add(1);
        self.back_off <= config.max_timeouts
    }
}

impl Sending for Sender {
    fn flow(&self) -> FlowId {
        self.task.flow
    }

    fn stats(&self) -> FlowStats {
        self.stats
    }

    fn tuples(&self) -> impl Iterator<Item = FiveTuple> {
        core::iter::once(self.task.tuple)
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self) {
        // The large parts of the session's state are freed now. Its small parts stay until the time-wait ends.
        self.closed = true;
        self.window.release();
        self.again = VecDeque::new();
        self.paths = Paths::new(0, 0, 0);
    }

    fn timer_at(&mut self) -> &mut Time {
        &mut self.timer_at
    }
}
