//! One flow at its sender.

use super::config::NdpConfig;
use super::header::{NdpHeader, NdpKind};
use super::paths::Paths;
use super::window::Window;
use crate::tcp::rtt::RttEstimator;
use crate::{Condition, Ecn, FlowStats, Header, PathPin, Segment};
use alloc::collections::VecDeque;
use tailcut_units::{Duration, FiveTuple, FlowId, Time};

/// Doublings of the timeout at most; the upper bound of the timeout comes first.
const MAX_BACK_OFF: u32 = 20;

/// What a flow is, as its application gave it.
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
    /// Packets of the flow, at least one.
    packets: u64,
    /// How many of them the application has handed over.
    ready: u64,
    /// Whether they go below all classes.
    below: bool,
    /// The next packet that was never sent.
    next: u64,
    /// Packets of the first window that have not been pushed yet.
    to_push: u64,
    /// The receiver's count of pulls.
    pulled: u64,
    /// Packets that may be sent now.
    credit: u64,
    /// Acknowledged (done), or to be sent again (waits).
    window: Window,
    again: VecDeque<u64>,
    /// Packets sent, those that came back not counted.
    gone: u64,
    /// Payload bytes that count towards demotion.
    counted: u64,
    paths: Paths,
    rtt: RttEstimator,
    /// Timeouts since the receiver last said something new.
    back_off: u32,
    /// The lowest packet in flight, and since when it is in flight and the lowest, at the latest.
    oldest: Option<u64>,
    oldest_since: Time,
    heard_at: Time,
    pub(crate) stats: FlowStats,
    /// Whether the session is among those that have something to send.
    pub(crate) queued: bool,
    /// When the earliest entry of this session in the timer queue is due.
    pub(crate) timer_at: Time,
    pub(crate) closed: bool,
}

impl Sender {
    pub(crate) fn new(now: Time, task: Task, config: &NdpConfig, seed: u64) -> Self {
        let packets = task.bytes.div_ceil(u64::from(config.mss)).max(1);
        let paths = match task.pin.index() {
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
            gone: 0,
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

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    /// The application has handed over the first `bytes` bytes and no more: whole packets are sent.
    pub(crate) fn set_ready(&mut self, bytes: u64, config: &NdpConfig) {
        self.ready = match bytes >= self.task.bytes {
            true => self.packets,
            false => (bytes / u64::from(config.mss)).max(self.next),
        };
        let first_window = u64::from(config.initial_window).min(self.ready);
        self.to_push = first_window.saturating_sub(self.next);
    }

    /// What is sent from now on goes below all classes, or not.
    pub(crate) fn set_below(&mut self, below: bool) {
        self.below = below;
    }

    /// Whether every packet is acknowledged.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.window.base() >= self.packets
    }

    /// Whether there is something that may be sent now.
    #[inline]
    pub(crate) fn can_send(&self) -> bool {
        !self.closed
            && (self.to_push > 0
                || self.credit > 0 && (!self.again.is_empty() || self.next < self.ready))
    }

    /// The next packet: of the first window, else on credit, retransmissions first.
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

    /// The class of its next packet.
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
        self.gone += 1;
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

    /// An ACK, a NACK or a pull.
    pub(crate) fn on_answer(&mut self, now: Time, header: &NdpHeader, config: &NdpConfig) {
        if header.cumulative > self.next || header.index >= self.next {
            return;
        }
        let mut news = header.cumulative > self.window.base();
        // First: where packets arrive in order the sum tells of this one, too.
        let is_first_ack = header.kind == NdpKind::Ack && self.window.set_done(header.index);
        self.window.set_done_below(header.cumulative);
        match header.kind {
            NdpKind::Ack => {
                self.paths.on_ack(header.path);
                if is_first_ack {
                    news = true;
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
            self.credit = self.credit.saturating_add(header.pull - self.pulled);
            self.pulled = header.pull;
        }
        // A sender that has been asked for more than there is keeps a window of it.
        if self.again.is_empty() && self.next >= self.packets {
            self.credit = self.credit.min(u64::from(config.initial_window));
        }
        self.heard_at = now;
        if news {
            self.back_off = 0;
        }
        self.find_oldest(now);
    }

    /// A switch had no room even for a header.
    pub(crate) fn on_returned(&mut self, now: Time, header: &NdpHeader, path: PathPin) {
        if header.index >= self.next || !self.queue_again(header.index) {
            return;
        }
        self.paths.on_bounce(path);
        self.gone -= 1;
        // What has arrived, whole or trimmed, is answered by a pull each.
        let pulls_expected = self.gone.saturating_sub(self.pulled);
        if pulls_expected == 0 {
            self.credit = self.credit.saturating_add(1);
        }
        self.heard_at = now;
        self.find_oldest(now);
    }

    /// Packet `index` was lost. Says whether that is new.
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

    /// When the sender stops waiting; `None` when it waits for nothing.
    #[inline]
    pub(crate) fn deadline(&self, config: &NdpConfig) -> Option<Time> {
        if self.closed || self.to_push > 0 {
            return None;
        }
        let (since, rto) = match self.oldest {
            Some(_) => (self.oldest_since, self.rtt.rto()),
            // It waits for its application only.
            None if self.next == self.ready && self.ready < self.packets => return None,
            None => (self.heard_at, config.initial_rto),
        };
        let factor = 1 << self.back_off.min(MAX_BACK_OFF);
        Some(since.saturating_add(rto.saturating_mul(factor).min(config.max_rto)))
    }

    /// The timer has expired: the oldest packet in flight is lost, or with none in flight a pull is.
    /// Says whether the flow goes on.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &NdpConfig) -> bool {
        self.stats.timeouts += 1;
        self.back_off += 1;
        self.heard_at = now;
        if let Some(oldest) = self.oldest {
            self.window.set_waits(oldest, true);
            self.again.push_front(oldest);
            self.oldest = self.window.first_idle(self.next);
            self.oldest_since = now;
        }
        self.credit = self.credit.saturating_add(1);
        self.back_off <= config.max_timeouts
    }

    /// The flow has ended: gives back what is large.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.window.release();
        self.again = VecDeque::new();
        self.paths = Paths::new(0, 0, 0);
    }
}
