//! Recorder of a run: rows of flows, and samples of queues and links.

use crate::capacity::Capacity;
use crate::ideal::Ideal;
use crate::measures::{Arrivals, Bursts, Watch};
use tailcut_fabric::{Fabric, PortId};
use tailcut_record::{FlowLog, FlowRecord, LinkSample, PackedRun, QueueSample, Sampling};
use tailcut_transport::{Event, FlowStats, Segment};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};
use tailcut_workload::Flow;

/// Bit in the number of a flow that marks flows of storage sessions. Session flows have the last numbers in records.
pub(crate) const SESSION_FLOW: u32 = 1 << 31;

/// Number of flows, requests and sessions that have started, and how many of them are unfinished.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Started {
    pub started: u64,
    pub unfinished: u64,
}

/// Recorder of flows and samples.
pub(crate) struct Recorder {
    flows: FlowLog,
    /// Flows of sessions, by their numbers without [`SESSION_FLOW`].
    session_flows: FlowLog,
    /// Whether the flows of `session_flows` only carry load. If they do, the run has no sessions.
    pub has_load_only: bool,
    ideal: Ideal,
    /// Number of flows that the sender or the receiver has not finished, plus the number of open requests.
    unfinished: usize,
    last_start: Time,
    queues: Vec<QueueSample>,
    links: Vec<LinkSample>,
    capacity: Capacity,
    /// Bytes that each port had carried at the last sample.
    carried: Vec<u64>,
    sampled_at: Time,
    /// Number of samples of each port so far.
    instants: u64,
    /// Bursts of hosts. `None` if they are not measured.
    pub bursts: Option<Bursts>,
    /// Payload that reaches the hosts. `None` if it is not measured.
    pub arrivals: Option<Arrivals>,
}

impl Recorder {
    pub fn new(ideal: Ideal, capacity: Capacity) -> Self {
        Self {
            flows: FlowLog::new(),
            session_flows: FlowLog::new(),
            has_load_only: false,
            ideal,
            unfinished: 0,
            last_start: Time::ZERO,
            queues: Vec::new(),
            links: Vec::new(),
            carried: vec![0; capacity.links()],
            capacity,
            sampled_at: Time::ZERO,
            instants: 0,
            bursts: None,
            arrivals: None,
        }
    }

    /// Records the start of a flow.
    pub fn started(&mut self, flow: &Flow) {
        self.began(flow.start);
        self.list(flow);
    }

    /// Adds the row of a flow. The run does not wait for the flow.
    pub fn list(&mut self, flow: &Flow) {
        let row = FlowRecord {
            flow: FlowId(flow.id.0 & !SESSION_FLOW),
            src: flow.src,
            dst: flow.dst,
            bytes: Bytes(flow.bytes),
            start: flow.start,
            ideal_fct: self.ideal.fct(flow.src, flow.dst, flow.bytes),
            class: flow.class as u8,
            ..FlowRecord::default()
        };
        self.log(flow.id).begin(row);
    }

    /// Returns the log with the row of a flow.
    const fn log(&mut self, flow: FlowId) -> &mut FlowLog {
        match flow.0 & SESSION_FLOW {
            0 => &mut self.flows,
            _ => &mut self.session_flows,
        }
    }

    /// Changes the row of a flow, if it has one.
    fn change<T>(&mut self, flow: FlowId, change: impl FnOnce(&mut FlowRecord) -> T) -> Option<T> {
        self.log(flow)
            .change(FlowId(flow.0 & !SESSION_FLOW), change)
    }

    /// Counts the start of a flow, or of a request. Requests have no rows here.
    pub const fn began(&mut self, start: Time) {
        self.unfinished += 1;
        self.last_start = start;
    }

    /// Counts the end of a request. Requests have no rows here.
    pub const fn ended(&mut self) {
        self.unfinished -= 1;
    }

    /// Records an event of a transport. Returns the flow if its receiver has all data, or if the flow failed.
    /// After success and after failure, the application can continue.
    #[inline]
    pub fn event(&mut self, now: Time, event: Event) -> Option<FlowId> {
        if let Event::Closed(..) | Event::Failed(..) = event {
            self.unfinished -= 1;
        }
        self.change_row(now, event)
    }

    /// Changes the row of a flow, even if the run does not wait for the flow.
    /// Returns the flow like [`Recorder::event`].
    #[inline]
    pub fn change_row(&mut self, now: Time, event: Event) -> Option<FlowId> {
        match event {
            Event::Established(flow) => {
                self.change(flow, |row| {
                    row.handshake.get_or_insert(now.since(row.start));
                });
                None
            }
            Event::Completed(flow) => {
                let first = self.change(flow, |row| {
                    let first = row.fct.is_none();
                    row.fct.get_or_insert(now.since(row.start));
                    first
                });
                first?.then_some(flow)
            }
            Event::Closed(flow, stats) => {
                self.close(flow, stats);
                None
            }
            Event::Failed(flow, stats) => {
                self.close(flow, stats);
                Some(flow)
            }
            Event::Arrived(..)
            | Event::Block(..)
            | Event::Opened(..)
            | Event::Received(..)
            | Event::Late(_)
            | Event::Straggling(..)
            | Event::Copy(..) => None,
        }
    }

    /// Returns the host among `hosts` with the shortest ideal time for sending `bytes` to `to`.
    pub fn nearest(&mut self, hosts: &[HostId], to: HostId, bytes: u64) -> HostId {
        let ideal = &mut self.ideal;
        let nearest = hosts.iter().min_by_key(|host| ideal.fct(**host, to, bytes));
        nearest.copied().unwrap_or(to)
    }

    /// Records that flow `part` is one of several parts of flow `whole`. A part does not have its own row.
    /// Flow `part` and flow `whole` both belong to sessions.
    pub fn is_part(&mut self, part: FlowId, whole: FlowId) {
        self.session_flows.is_part(
            FlowId(part.0 ^ SESSION_FLOW),
            FlowId(whole.0 ^ SESSION_FLOW),
        );
    }

    /// Records that a complete segment reached its host.
    #[cold]
    pub fn arrived(&mut self, now: Time, segment: &Segment) {
        if self.has_load_only && segment.flow.0 & SESSION_FLOW != 0 {
            return;
        }
        let number = FlowId(segment.flow.0 & !SESSION_FLOW);
        let row = self.log(segment.flow).get(number);
        if let (Some(arrivals), Some(FlowRecord { class, .. })) = (&mut self.arrivals, row)
            && arrivals.counts(now)
        {
            arrivals.add(class, segment.payload);
        }
    }

    fn close(&mut self, flow: FlowId, stats: FlowStats) {
        self.change(flow, |row| {
            row.retransmissions = stats.retransmissions;
            row.timeouts = stats.timeouts;
            row.copies = u32::from(stats.copies).saturating_sub(1);
            row.payload_sent = Bytes(stats.payload_sent);
        });
        self.log(flow).end(FlowId(flow.0 & !SESSION_FLOW));
    }

    /// Adds the counters of an unfinished flow at the end of the run.
    /// If the flow has several senders, the counters are from one of the senders.
    pub fn cut_off(&mut self, flow: FlowId, stats: FlowStats) {
        self.change(flow, |row| {
            row.retransmissions += stats.retransmissions;
            row.timeouts += stats.timeouts;
            row.copies = row.copies.max(u32::from(stats.copies).saturating_sub(1));
            row.payload_sent.0 += stats.payload_sent;
        });
    }

    /// Samples every port that has a backlog or has sent data since the last sample. Returns the number of rows.
    pub fn sample<B: Clone>(&mut self, now: Time, fabric: &Fabric<B, Watch<'_, B>>) -> usize {
        let before = self.queues.len() + self.links.len();
        let interval = (self.sampled_at, now);
        self.instants += u64::from(self.sampled_at < now);
        self.sampled_at = now;
        for (port, carried) in self.carried.iter_mut().enumerate() {
            let port = port as u32;
            let report = fabric.port_report(now, PortId(port));
            if report.backlog_packets > 0 {
                self.queues.push(QueueSample {
                    time: now,
                    port,
                    backlog: Bytes(report.backlog_bytes),
                    packets: report.backlog_packets,
                });
            }
            let bytes = report.carried_bytes - *carried;
            *carried = report.carried_bytes;
            if bytes > 0 {
                let bytes = Bytes(bytes);
                self.links.push(LinkSample {
                    time: now,
                    link: port,
                    bytes,
                    utilisation: self.capacity.share(port, interval, bytes),
                });
            }
        }
        self.queues.len() + self.links.len() - before
    }

    /// Counts the samples of an idle network from `first` to the last one before `until`.
    /// Samples of an idle network have no rows. Returns their number.
    pub fn skip(&mut self, first: Time, every: Duration, until: Time) -> u64 {
        if until <= first {
            return 0;
        }
        let skipped = until.since(first).as_ps().div_ceil(every.as_ps());
        self.instants += skipped;
        self.sampled_at = first.saturating_add(every.saturating_mul(skipped - 1));
        skipped
    }

    /// Returns the description of the samples. `every` is their interval.
    pub fn sampling(&self, every: Duration) -> Sampling {
        Sampling {
            every_ns: every.as_ns(),
            instants: self.instants,
        }
    }

    /// Returns the number of flows whose sender has not finished, plus the number of open requests.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Returns the number of flows of the workload that have started, without flows of sessions.
    pub fn flows_started(&self) -> u64 {
        u64::from(self.flows.numbers())
    }

    /// Returns the start of the last flow or request so far.
    pub fn last_start(&self) -> Time {
        self.last_start
    }

    /// Stores the flows and the samples in the record.
    /// Flows of sessions, and flows that only carry load, have higher numbers than all other flows.
    pub fn finish(mut self, record: &mut PackedRun) {
        let after = self.flows.numbers();
        record.load_only = FlowLog::from_number(after);
        let to = match self.has_load_only {
            true => &mut record.load_only,
            false => &mut self.flows,
        };
        for (number, row) in (after..).zip(self.session_flows.iter()) {
            let flow = FlowId(number);
            to.begin(FlowRecord { flow, ..row });
            to.end(flow);
        }
        (record.flows, record.queues, record.links) = (self.flows, self.queues, self.links);
    }
}
