//! One flow at its sender.

use super::config::PFabricConfig;
use super::header::{PFabricHeader, PFabricKind};
use crate::ndp::{Task, Window as Packets};
use crate::tcp::congestion::{Ack, Congested, CongestionControl, NewReno, Window};
use crate::{Condition, Ecn, FlowStats, Header, Segment};
use tailcut_units::{Duration, Time};

#[derive(Debug)]
pub(crate) struct Sender {
    task: Task,
    /// Packets of the flow, at least one.
    packets: u64,
    /// Acknowledged (done), or in flight (waits).
    states: Packets,
    /// Bytes in flight; a packet without payload counts one.
    in_flight: u64,
    /// One past the highest packet ever sent.
    high: u64,
    window: Window,
    growth: NewReno,
    timeouts_in_row: u8,
    probe_due: bool,
    /// When the timeout expires; `Time::MAX` while nothing is in flight and nothing is probed.
    pub(crate) deadline: Time,
    pub(crate) stats: FlowStats,
    /// What the flow stands in the host's queue with, while it does.
    pub(crate) queued: Option<u64>,
    /// When the earliest entry of this session in the timer queue is due.
    pub(crate) timer_at: Time,
    pub(crate) closed: bool,
}

impl Sender {
    pub(crate) fn new(task: Task, config: &PFabricConfig) -> Self {
        let mss = u64::from(config.mss);
        let first = config.initial_window.min(config.max_window);
        Self {
            task,
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

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    /// Whether every packet is acknowledged.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.states.base() >= self.packets
    }

    /// Whether the sender only probes.
    fn probes(&self, config: &PFabricConfig) -> bool {
        self.timeouts_in_row >= config.probe_after
    }

    fn payload_of(&self, index: u64, config: &PFabricConfig) -> u32 {
        let mss = u64::from(config.mss);
        (self.task.bytes - index * mss).min(mss) as u32
    }

    /// Bytes that are not known to have arrived.
    #[inline]
    pub(crate) fn remaining(&self, config: &PFabricConfig) -> u64 {
        let mss = u64::from(config.mss);
        let last = self.packets - 1;
        let short = if self.states.is_done(last) {
            mss - u64::from(self.payload_of(last, config))
        } else {
            0
        };
        self.task.bytes - (self.states.done() * mss - short)
    }

    /// Whether there is something that may be sent now.
    #[inline]
    pub(crate) fn can_send(&self, config: &PFabricConfig) -> bool {
        self.probe_due || self.next_data(config).is_some()
    }

    /// The packet that the window admits.
    #[inline]
    fn next_data(&self, config: &PFabricConfig) -> Option<u64> {
        if self.closed || self.probes(config) {
            return None;
        }
        let index = self.states.first_idle(self.packets)?;
        let fits = self.in_flight + u64::from(self.payload_of(index, config)) <= self.window.cwnd;
        (fits && self.states.in_reach(index)).then_some(index)
    }

    /// What leaves next, if anything.
    pub(crate) fn transmit(&mut self, now: Time, config: &PFabricConfig) -> Option<Segment> {
        if core::mem::take(&mut self.probe_due) {
            return Some(self.segment(PFabricKind::Probe, self.states.base(), 0, config));
        }
        let index = self.next_data(config)?;
        let payload = self.payload_of(index, config);
        self.states.set_waits(index, true);
        self.in_flight += u64::from(payload.max(1));
        self.stats.payload_sent += u64::from(payload);
        if index < self.high {
            self.stats.retransmissions += 1;
        }
        self.high = self.high.max(index + 1);
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

    /// An ACK. Says whether it can be one of this flow's.
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
        // While it probes, an ACK of whatever shows that the way is open again.
        if self.probes(config) || acked > 0 {
            self.timeouts_in_row = 0;
            self.probe_due = false;
        }
        if acked > 0 {
            self.grow(now, acked, config);
        }
        if self.in_flight == 0 {
            self.deadline = Time::MAX;
        } else if self.states.base() > base {
            self.deadline = now.saturating_add(config.rto);
        }
        true
    }

    /// Packet `index`, which has been sent, has arrived.
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
            slow_start_limit: 2 * mss,
            srtt: Duration::ZERO,
        };
        self.growth.on_ack(&mut self.window, &ack);
        let most = u64::from(config.max_window) * mss;
        self.window.cwnd = self.window.cwnd.min(most);
    }

    /// The timeout has expired: all that was in flight counts as lost.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &PFabricConfig) {
        let mss = u64::from(config.mss);
        self.stats.timeouts += 1;
        self.timeouts_in_row = self.timeouts_in_row.saturating_add(1);
        if self.timeouts_in_row == 1 {
            let congested = Congested {
                now,
                in_flight: self.in_flight,
                mss,
            };
            self.growth.on_timeout(&mut self.window, &congested);
        }
        self.window.cwnd = mss;
        self.states.clear_waits();
        self.in_flight = 0;
        if self.probes(config) {
            self.probe_due = true;
            self.deadline = now.saturating_add(config.rto);
        } else {
            self.deadline = Time::MAX;
        }
    }

    /// The flow has ended: gives back what is large.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.deadline = Time::MAX;
        self.probe_due = false;
        self.states.release();
    }
}
