//! What a run remembers of its flows, queues and links while it goes.

use crate::capacity::Capacity;
use crate::ideal::Ideal;
use crate::measures::{Arrivals, Bursts, Watch};
use tailcut_fabric::{Fabric, PortId};
use tailcut_record::{FlowLog, FlowRecord, LinkSample, QueueSample, Sampling};
use tailcut_transport::{Event, FlowStats, Segment};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};
use tailcut_workload::Flow;

/// The bit of a flow's number that tells flows of storage sessions from the workload's others. Records
/// number them after those.
pub(crate) const LEG: u32 = 1 << 31;

/// What of a workload has started, and what of that has not finished: flows, requests and sessions.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Started {
    pub started: u64,
    pub unfinished: u64,
}

/// Rows of flows, and samples.
pub(crate) struct Recorder {
    flows: FlowLog,
    /// Flows of sessions, by their numbers without [`LEG`].
    legs: FlowLog,
    ideal: Ideal,
    /// Flows whose sender or receiver is not done, and requests.
    unfinished: usize,
    last_start: Time,
    queues: Vec<QueueSample>,
    links: Vec<LinkSample>,
    capacity: Capacity,
    /// The bytes that each port had carried at the last sample.
    carried: Vec<u64>,
    sampled_at: Time,
    /// Samples of each port since the start.
    instants: u64,
    /// Bursts of hosts, where they are measured.
    pub bursts: Option<Bursts>,
    /// Payload that arrives, where it is measured.
    pub arrivals: Option<Arrivals>,
}

impl Recorder {
    pub fn new(ideal: Ideal, capacity: Capacity) -> Self {
        Self {
            flows: FlowLog::new(),
            legs: FlowLog::new(),
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

    /// A flow starts.
    pub fn started(&mut self, flow: &Flow) {
        self.began(flow.start);
        let row = FlowRecord {
            flow: FlowId(flow.id.0 & !LEG),
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

    /// Where the row of a flow is, by its number without [`LEG`].
    const fn log(&mut self, flow: FlowId) -> &mut FlowLog {
        match flow.0 & LEG {
            0 => &mut self.flows,
            _ => &mut self.legs,
        }
    }

    /// Changes the row of a flow, if it has one.
    fn change<T>(&mut self, flow: FlowId, change: impl FnOnce(&mut FlowRecord) -> T) -> Option<T> {
        self.log(flow).change(FlowId(flow.0 & !LEG), change)
    }

    /// Something starts: a flow, or a request that has no row here.
    pub const fn began(&mut self, start: Time) {
        self.unfinished += 1;
        self.last_start = start;
    }

    /// Something that has no row here has ended.
    pub const fn ended(&mut self) {
        self.unfinished -= 1;
    }

    /// A transport's word on a flow. Gives the flow when its receiver has all of it, or when it was
    /// given up: the application may then go on.
    #[inline]
    pub fn event(&mut self, now: Time, event: Event) -> Option<FlowId> {
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
                self.unfinished -= 1;
                self.close(flow, stats);
                None
            }
            Event::Failed(flow, stats) => {
                self.unfinished -= 1;
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

    /// The host among `hosts` from which `bytes` can be at `to` first.
    pub fn nearest(&mut self, hosts: &[HostId], to: HostId, bytes: u64) -> HostId {
        let ideal = &mut self.ideal;
        let nearest = hosts.iter().min_by_key(|host| ideal.fct(**host, to, bytes));
        nearest.copied().unwrap_or(to)
    }

    /// Flow `part` is one of several that make up flow `whole`, and has no row of its own. Both are flows
    /// of sessions.
    pub fn is_part(&mut self, part: FlowId, whole: FlowId) {
        self.legs
            .is_part(FlowId(part.0 ^ LEG), FlowId(whole.0 ^ LEG));
    }

    /// A segment reached its host whole.
    #[cold]
    pub fn arrived(&mut self, now: Time, segment: &Segment) {
        let number = FlowId(segment.flow.0 & !LEG);
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
        self.log(flow).end(FlowId(flow.0 & !LEG));
    }

    /// The run ends before a flow does, or before one of the senders of a flow that has several.
    pub fn cut_off(&mut self, flow: FlowId, stats: FlowStats) {
        self.change(flow, |row| {
            row.retransmissions += stats.retransmissions;
            row.timeouts += stats.timeouts;
            row.copies = row.copies.max(u32::from(stats.copies).saturating_sub(1));
            row.payload_sent.0 += stats.payload_sent;
        });
    }

    /// Samples every port that has something to say.
    pub fn sample<B: Clone>(&mut self, now: Time, fabric: &Fabric<B, Watch<'_, B>>) {
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
    }

    /// When samples were taken, `every` apart.
    pub fn sampling(&self, every: Duration) -> Sampling {
        Sampling {
            every_ns: every.as_ns(),
            instants: self.instants,
        }
    }

    /// Flows that have started and whose sender has not said that it is done, and open requests.
    pub fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Flows of the workload that have started, those of sessions not counted.
    pub fn flows_started(&self) -> u64 {
        u64::from(self.flows.numbers())
    }

    /// When the last flow or request so far started.
    pub fn last_start(&self) -> Time {
        self.last_start
    }

    /// The flows, those of sessions with numbers above those of the others, and the samples.
    pub fn finish(mut self) -> (FlowLog, Vec<QueueSample>, Vec<LinkSample>) {
        let after = self.flows.numbers();
        for (number, leg) in (after..).zip(self.legs.iter()) {
            let flow = FlowId(number);
            self.flows.begin(FlowRecord { flow, ..leg });
            self.flows.end(flow);
        }
        (self.flows, self.queues, self.links)
    }
}
