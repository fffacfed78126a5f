//! Sending half of one flow.

use super::config::PFabricConfig;
use super::header::{PFabricHeader, PFabricKind};
use crate::ndp::{Task, Window as Packets};
use crate::receiver_driven::Sending;
use crate::tcp::congestion::{Ack, Congested, CongestionControl, NewReno, Window};
use crate::{Condition, Ecn, FlowStats, Header, Segment};
use tailcut_units::{Duration, FiveTuple, FlowId, Time};

#[derive(Debug)]
pub(crate) struct Sender {
    task: Task,
    /// Number of packets of the flow, at least 1.
    packets: u64,
    /// State of each packet. "Done" means acknowledged, and "waiting" means in flight.
    states: Packets,
    /// Bytes in flight. A packet without payload counts as one byte, so 0 means that no packet is in flight.
    in_flight: u64,
    /// Highest packet number sent so far, plus 1.
    high: u64,
    window: Window,
    growth: NewReno,
    timeouts_in_row: u8,
    probe_due: bool,
    /// Time of the next timeout. `Time::MAX` if nothing is in flight and the sender does not probe.
    pub(crate) deadline: Time,
    pub(crate) stats: FlowStats,
    /// Number of remaining bytes in the flow's entry of the host's ready queue. `None` if the flow has no entry.
    pub(crate) queued: Option<u64>,
    /// Time of the earliest entry of the session in the timer queue.
    pub(crate) timer_at: Time,
    pub(crate) closed: bool,
}

impl Sender {
    pub(crate) fn new(task: Task, config: &PFabricConfig) -> Self {
        let mss = u64::from(config.mss);
        let first = config.initial_window.min(config.max_window);
        Self {
            task,
            // A flow without bytes sends one empty packet, so that the receiver learns about the flow.
            packets: task.bytes.div_ceil(mss).max(1),
            states: Packets::default(),
            in_flight: 0,
            high: 0,
            window: Window {
                cwnd: u64::from(first) * mss,
                ssthresh: u64::MAX,
            },
            growth: NewReno::new(),
            timeouts_in_row: 0,
            probe_due: false,
            deadline: Time::MAX,
            stats: FlowStats {
                copies: 1,
                ..FlowStats::default()
            },
            queued: None,
            timer_at: Time::MAX,
            closed: false,
        }
    }

    /// Returns whether all packets are acknowledged.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.states.base() >= self.packets
    }

    /// Returns whether the sender sends only probes.
    fn probes(&self, config: &PFabricConfig) -> bool {
        self.timeouts_in_row >= config.probe_after
    }

    fn payload_of(&self, index: u64, config: &PFabricConfig) -> u32 {
        let mss = u64::from(config.mss);
        (self.task.bytes - index * mss).min(mss) as u32
    }

    /// Returns the number of bytes for which no ACK has arrived.
    #[inline]
    pub(crate) fn remaining(&self, config: &PFabricConfig) -> u64 {
        let mss = u64::from(config.mss);
        // Only the last packet may be shorter than a full packet.
        // The product below counts the last packet as full, so the difference is added first.
        let last = self.packets - 1;
        let short = if self.states.is_done(last) {
            mss - u64::from(self.payload_of(last, config))
        } else {
            0
        };
        self.task.bytes - (self.states.done() * mss - short)
    }

    /// Returns whether a packet may be sent now.
    #[inline]
    pub(crate) fn can_send(&self, config: &PFabricConfig) -> bool {
        self.probe_due || self.next_data(config).is_some()
    }

    /// Returns the number of the next packet, if the window admits it.
    #[inline]
    fn next_data(&self, config: &PFabricConfig) -> Option<u64> {
        if self.closed || self.probes(config) {
            return None;
        }
        let index = self.states.first_idle(self.packets)?;
        let fits = self.in_flight + u64::from(self.payload_of(index, config)) <= self.window.cwnd;
        (fits && self.states.in_reach(index)).then_some(index)
    }

    /// Returns the next probe or data packet, if one may leave.
    pub(crate) fn transmit(&mut self, now: Time, config: &PFabricConfig) -> Option<Segment> {
        if core::mem::take(&mut self.probe_due) {
            return Some(self.segment(PFabricKind::Probe, self.states.base(), 0, config));
        }
        let index = self.next_data(config)?;
        let payload = self.payload_of(index, config);
        self.states.set_waits(index, true);
        // A flow without bytes sends one empty packet. This packet must also count as in flight.
        self.in_flight += u64::from(payload.max(1));
        self.stats.payload_sent += u64::from(payload);
        if index < self.high {
            self.stats.retransmissions += 1;
        }
        self.high = self.high.max(index + 1);
        // The timer belongs to the oldest packet in flight, so a later packet does not restart it.
        if self.deadline == Time::MAX {
            self.deadline = now.saturating_add(config.rto);
        }
        Some(self.segment(PFabricKind::Data, index, payload, config))
    }

    #[inline]
    fn segment(
        &self,
        kind: PFabricKind,
        index: u64,
        payload: u32,
        config: &PFabricConfig,
    ) -> Segment {
        Segment {
            tuple: self.task.tuple,
            flow: self.task.flow,
            payload,
            ecn: Ecn::NotCapable,
            priority: 0,
            path: self.task.pin,
            // All flows with 4 GiB or more have the lowest rank.
            rank: u32::try_from(self.remaining(config)).unwrap_or(u32::MAX),
            trimmable: false,
            condition: Condition::Whole,
            header: Header::PFabric(PFabricHeader {
                kind,
                index,
                packets: self.packets,
                cumulative: 0,
            }),
        }
    }

    /// Processes an ACK. Returns `false` if the ACK is invalid for this flow.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        header: &PFabricHeader,
        config: &PFabricConfig,
    ) -> bool {
        if header.cumulative > self.high || header.index >= self.high {
            return false;
        }
        let (base, before) = (self.states.base(), self.remaining(config));
        while self.states.base() < header.cumulative {
            self.acknowledge(self.states.base(), config);
        }
        if header.kind == PFabricKind::Ack {
            self.acknowledge(header.index, config);
        }
        let acked = before - self.remaining(config);
        // Any ACK ends the probing, because it shows that packets arrive again.
        if self.probes(config) || acked > 0 {
            self.timeouts_in_row = 0;
            self.probe_due = false;
        }
        if acked > 0 {
            self.grow(now, acked, config);
        }
        if self.in_flight == 0 {
            self.deadline = Time::MAX;
        // Only an ACK of the first unacknowledged packet restarts the timer.
        // After an ACK beyond a hole, the timeout must still detect the hole.
        } else if self.states.base() > base {
            self.deadline = now.saturating_add(config.rto);
        }
        true
    }

    /// Records that the packet with number `index`, which was sent, has arrived.
    fn acknowledge(&mut self, index: u64, config: &PFabricConfig) {
        if self.states.waits(index) {
            self.in_flight -= u64::from(self.payload_of(index, config).max(1));
        }
        self.states.set_done(index);
    }

    fn grow(&mut self, now: Time, acked: u64, config: &PFabricConfig) {
        let mss = u64::from(config.mss);
        let ack = Ack {
            now,
            acked,
            marked: false,
            una: self.states.base() * mss,
            nxt: self.high * mss,
            mss,
            may_grow: true,
            // The limit L of NewReno is two segments (RFC 3465).
            slow_start_limit: 2 * mss,
            // NewReno does not use the round trip, so pFabric does not measure it.
            srtt: Duration::ZERO,
            rtt: None,
        };
        self.growth.on_ack(&mut self.window, &ack);
        let most = u64::from(config.max_window) * mss;
        self.window.cwnd = self.window.cwnd.min(most);
    }

    /// Processes a timeout: all packets in flight count as lost.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &PFabricConfig) {
        let mss = u64::from(config.mss);
        self.stats.timeouts += 1;
        self.timeouts_in_row = self.timeouts_in_row.saturating_add(1);
        // Only the first of several timeouts in a row sets the threshold.
        // At the later timeouts, only one packet was in flight.
        if self.timeouts_in_row == 1 {
            let congested = Congested {
                now,
                in_flight: self.in_flight,
                mss,
            };
            self.growth.on_timeout(&mut self.window, &congested);
        }
        self.window.cwnd = mss;
        // Packets that are not in flight are sent again, lowest number first.
        self.states.clear_waits();
        self.in_flight = 0;
        if self.probes(config) {
            self.probe_due = true;
            self.deadline = now.saturating_add(config.rto);
        } else {
            // The next packet that leaves starts the timer.
            self.deadline = Time::MAX;
        }
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
        self.deadline = Time::MAX;
        self.probe_due = false;
        self.states.release();
    }

    fn timer_at(&mut self) -> &mut Time {
        &mut self.timer_at
    }
}
