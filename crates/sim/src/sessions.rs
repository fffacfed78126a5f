//! Storage sessions: what each becomes under a design, and what comes of it.
//!
//! A design with transfers of several ends (SCDP) writes to a group and reads from all replicas at once;
//! others send a flow to each server, or down a chain of them, and read whole blocks from one server
//! each. All flows of sessions have numbers of their own, above those of the workload's other flows.

use crate::measures::Watch;
use crate::recorder::{LEG, Recorder};
use std::collections::{BTreeMap, VecDeque};
use tailcut_fabric::Fabric;
use tailcut_record::{SessionEnd, SessionOperation, SessionRecord, Straggling};
use tailcut_transport::{
    Condition, Event, FlowStats, Message, Part, PathPin, Receipt, Replication, Segment, Share,
    Straggler, Stragglers, Transport,
};
use tailcut_units::{Bytes, FlowId, HostId, Time};
use tailcut_workload::{Flow, Operation, Placement, Session, Storage};

/// How a write reaches its servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteBy {
    /// One transfer to a multicast group where the design has that, else as by `MultiUnicast`.
    Multicast,
    /// A flow from the client to each server.
    MultiUnicast,
    /// A flow to the first server, and from each server to the next once it has so many bytes. The next
    /// flow then runs as if all bytes were there; a server is done when those before it are, too.
    DaisyChain(Bytes),
}

/// How a read gets its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadBy {
    /// One transfer from all replicas where the design has that, else as by `OneReplica`.
    AllReplicas,
    /// A flow from one replica of each block.
    OneReplica,
}

/// What a design makes of sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carriage {
    pub write: WriteBy,
    pub read: ReadBy,
    /// Whether the design has transfers with several ends.
    pub several_ends: bool,
    pub stragglers: Stragglers,
}

/// Something that a host's application does.
#[derive(Debug)]
pub(crate) enum Step {
    Submit(HostId, Message),
    Spread {
        host: HostId,
        message: Message,
        receivers: Vec<HostId>,
        stragglers: Stragglers,
    },
    Collect {
        host: HostId,
        flow: FlowId,
        port: u16,
    },
    Share {
        host: HostId,
        message: Message,
        port: u16,
        share: Share,
    },
}

impl Step {
    pub fn host(&self) -> HostId {
        match self {
            Self::Submit(host, _)
            | Self::Spread { host, .. }
            | Self::Collect { host, .. }
            | Self::Share { host, .. } => *host,
        }
    }

    pub fn take(&self, now: Time, transport: &mut impl Transport) {
        let part = match self {
            Self::Submit(_, message) => return transport.submit(now, *message),
            Self::Spread {
                message,
                receivers,
                stragglers,
                ..
            } => Part::Spread {
                message: *message,
                receivers,
                stragglers: *stragglers,
            },
            Self::Collect { flow, port, .. } => Part::Collect {
                flow: *flow,
                port: *port,
            },
            Self::Share {
                message,
                port,
                share,
                ..
            } => Part::Share {
                message: *message,
                port: *port,
                share: *share,
            },
        };
        let taken = transport.take_part(now, part);
        debug_assert!(taken.is_ok(), "a design with several ends has them");
    }
}

/// What a flow is to its session.
#[derive(Clone, Copy, Debug)]
struct End {
    session: u32,
    role: Role,
    /// The place of the session's first row.
    first_row: usize,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    /// A flow of its own to the receiver of this number.
    Leg(usize),
    /// The transfer to a group; its receivers' flows follow one another from this one on.
    Spread,
    /// The transfer from several senders, at the receiver.
    Collect,
    /// The same at one of the senders.
    Sender,
}

/// A session that goes on.
#[derive(Debug)]
struct Running {
    /// The place of its first row.
    first_row: usize,
    receivers: usize,
    /// Flows of this session that have not ended, or ends of its transfer from several senders.
    open: usize,
    group: Option<HostId>,
    /// The transfer's flow, of which its senders' costs are part.
    collected: FlowId,
    cost: FlowStats,
    chain: Option<Chain>,
}

/// A daisy chain.
#[derive(Debug)]
struct Chain {
    flow: Flow,
    servers: Vec<HostId>,
    /// By server: when it had received everything.
    arrived: Vec<Option<Time>>,
}

/// The sessions of a run.
pub(crate) struct Sessions {
    storage: Storage,
    carriage: Carriage,
    /// By number of the flow.
    ends: Vec<End>,
    running: BTreeMap<u32, Running>,
    /// What applications do next, at `due_at`.
    due: VecDeque<Step>,
    due_at: Time,
    /// Flows of chains, and the bytes after which the next server begins.
    watched: BTreeMap<FlowId, u64>,
    rows: Vec<SessionRecord>,
}

impl Sessions {
    pub fn new(storage: Storage, carriage: Carriage) -> Self {
        Self {
            storage,
            carriage,
            ends: Vec::new(),
            running: BTreeMap::new(),
            due: VecDeque::new(),
            due_at: Time::ZERO,
            watched: BTreeMap::new(),
            rows: Vec::new(),
        }
    }

    /// Sessions that have started.
    pub fn started(&self) -> u64 {
        self.rows.last().map_or(0, |row| u64::from(row.session) + 1)
    }

    /// When an application does something next.
    pub fn peek(&self) -> Option<Time> {
        if self.due.is_empty() {
            self.storage.peek()
        } else {
            Some(self.due_at)
        }
    }

    /// What is due: the next steps that [`Sessions::peek`] told of.
    #[inline(never)]
    pub fn next(
        &mut self,
        fabric: &mut Fabric<Segment, Watch<'_>>,
        recorder: &mut Recorder,
    ) -> VecDeque<Step> {
        if self.due.is_empty()
            && let Some(session) = self.storage.next_session()
        {
            self.due_at = session.start;
            self.begin(&session, fabric, recorder);
        }
        std::mem::take(&mut self.due)
    }

    /// Whether a flow belongs to a session.
    pub const fn has(flow: FlowId) -> bool {
        flow.0 & LEG != 0
    }

    fn number(&mut self, session: u32, role: Role) -> FlowId {
        let first_row = self.running.get(&session).map_or(0, |r| r.first_row);
        self.ends.push(End {
            session,
            role,
            first_row,
        });
        FlowId(LEG | (self.ends.len() - 1) as u32)
    }

    fn begin(
        &mut self,
        session: &Session,
        fabric: &mut Fabric<Segment, Watch<'_>>,
        recorder: &mut Recorder,
    ) {
        let receivers: Vec<HostId> = match session.operation {
            Operation::Write => session.blocks[0].replicas.clone(),
            Operation::Read => vec![session.client],
        };
        self.running.insert(
            session.number,
            Running {
                first_row: self.rows.len(),
                receivers: receivers.len(),
                open: 0,
                group: None,
                collected: FlowId(0),
                cost: FlowStats::default(),
                chain: None,
            },
        );
        self.rows
            .extend(receivers.iter().map(|&receiver| SessionRecord {
                session: session.number,
                operation: match session.operation {
                    Operation::Write => SessionOperation::Write,
                    Operation::Read => SessionOperation::Read,
                },
                client: session.client,
                receiver,
                bytes: Bytes(session.bytes),
                start: session.start,
                class: session.class as u8,
                ..SessionRecord::default()
            }));
        let several = self.carriage.several_ends;
        match session.operation {
            Operation::Write => match self.carriage.write {
                WriteBy::Multicast if several => self.spread(session, receivers, fabric, recorder),
                WriteBy::Multicast | WriteBy::MultiUnicast => {
                    for (number, &server) in receivers.iter().enumerate() {
                        let flow = flow(session, session.client, server, session.bytes);
                        self.submit(session.number, number, flow, recorder);
                    }
                }
                WriteBy::DaisyChain(_) => self.begin_chain(session, receivers, recorder),
            },
            Operation::Read => {
                for (number, block) in session.blocks.iter().enumerate() {
                    let bytes = session.block_bytes(number);
                    match self.carriage.read {
                        ReadBy::AllReplicas if several => {
                            self.collect(session, block, bytes, recorder);
                        }
                        ReadBy::AllReplicas | ReadBy::OneReplica => {
                            let flow = flow(session, block.read_from, session.client, bytes);
                            self.submit(session.number, 0, flow, recorder);
                        }
                    }
                }
            }
        }
    }

    /// A flow of its own to receiver `number`.
    fn submit(&mut self, session: u32, number: usize, flow: Flow, recorder: &mut Recorder) {
        let id = self.number(session, Role::Leg(number));
        recorder.started(&Flow { id, ..flow });
        if let Some(running) = self.running.get_mut(&session) {
            running.open += 1;
        }
        self.due
            .push_back(Step::Submit(flow.src, message(id, flow.dst, flow.bytes)));
    }

    fn begin_chain(&mut self, session: &Session, servers: Vec<HostId>, recorder: &mut Recorder) {
        let first = flow(session, session.client, servers[0], session.bytes);
        if let Some(running) = self.running.get_mut(&session.number) {
            running.chain = Some(Chain {
                flow: first,
                arrived: vec![None; servers.len()],
                servers,
            });
        }
        self.submit(session.number, 0, first, recorder);
        self.watch_last(session.number);
    }

    /// Waits for the bytes of the flow that was submitted last, if a server is to follow.
    fn watch_last(&mut self, session: u32) {
        let id = FlowId(LEG | (self.ends.len() - 1) as u32);
        let chain = self.running.get(&session).and_then(|r| r.chain.as_ref());
        let follows = |number| chain.is_some_and(|chain| number + 1 < chain.servers.len());
        if let WriteBy::DaisyChain(after) = self.carriage.write
            && let Some(End {
                role: Role::Leg(number),
                ..
            }) = self.ends.last()
            && follows(*number)
        {
            self.watched.insert(id, after.0.max(1));
        }
    }

    /// A segment reached its host: a server of a chain may have enough to begin.
    pub fn arrived(&mut self, now: Time, segment: &Segment, recorder: &mut Recorder) {
        if self.watched.is_empty() || segment.condition != Condition::Whole {
            return;
        }
        let Some(left) = self.watched.get_mut(&segment.flow) else {
            return;
        };
        // What comes twice counts twice: the driver sees packets, not what the transport makes of them.
        *left = left.saturating_sub(u64::from(segment.payload));
        if *left > 0 {
            return;
        }
        self.watched.remove(&segment.flow);
        let End { session, role, .. } = self.ends[(segment.flow.0 ^ LEG) as usize];
        let chain = self.running.get(&session).and_then(|r| r.chain.as_ref());
        if let (Role::Leg(number), Some(chain)) = (role, chain) {
            let next = Flow {
                start: now,
                src: chain.servers[number],
                dst: chain.servers[number + 1],
                ..chain.flow
            };
            self.due_at = now;
            self.submit(session, number + 1, next, recorder);
            self.watch_last(session);
        }
    }

    /// One transfer to all receivers.
    fn spread(
        &mut self,
        session: &Session,
        receivers: Vec<HostId>,
        fabric: &mut Fabric<Segment, Watch<'_>>,
        recorder: &mut Recorder,
    ) {
        let group = fabric.form_group(&receivers);
        debug_assert!(group.is_ok(), "replicas are few and on different hosts");
        let Ok(group) = group else { return };
        let ids: Vec<FlowId> = receivers
            .iter()
            .map(|_| self.number(session.number, Role::Spread))
            .collect();
        for (&id, &server) in ids.iter().zip(&receivers) {
            let flow = flow(session, session.client, server, session.bytes);
            recorder.started(&Flow { id, ..flow });
        }
        if let Some(running) = self.running.get_mut(&session.number) {
            running.group = Some(group);
        }
        self.due.push_back(Step::Spread {
            host: session.client,
            message: message(ids[0], group, session.bytes),
            receivers,
            stragglers: self.carriage.stragglers,
        });
    }

    /// One transfer of a block from all its replicas.
    fn collect(
        &mut self,
        session: &Session,
        block: &Placement,
        bytes: u64,
        recorder: &mut Recorder,
    ) {
        let id = self.number(session.number, Role::Collect);
        // The row of a flow has one source: the replica from which the ideal is the shortest.
        let nearest = recorder.nearest(&block.replicas, session.client, bytes);
        let of_block = flow(session, nearest, session.client, bytes);
        recorder.started(&Flow { id, ..of_block });
        // Session numbers are far apart by the time a port comes again.
        let port = FIRST_PORT + (self.ends.len() % usize::from(PORTS)) as u16;
        self.due.push_back(Step::Collect {
            host: session.client,
            flow: id,
            port,
        });
        let of = block.replicas.len() as u16;
        for (index, &server) in (0u16..).zip(&block.replicas) {
            let part = self.number(session.number, Role::Sender);
            recorder.is_part(part, id);
            self.due.push_back(Step::Share {
                host: server,
                message: message(part, session.client, bytes),
                port,
                share: Share { index, of },
            });
        }
        if let Some(running) = self.running.get_mut(&session.number) {
            running.collected = id;
            running.open += block.replicas.len() + 1;
        }
    }

    /// A transport's word on one of the flows.
    #[inline(never)]
    pub fn event(
        &mut self,
        now: Time,
        host: HostId,
        event: Event,
        fabric: &mut Fabric<Segment, Watch<'_>>,
        recorder: &mut Recorder,
    ) {
        let flow = event.flow();
        let End {
            session,
            role,
            first_row,
        } = self.ends[(flow.0 ^ LEG) as usize];
        if let Event::Late(_) = event {
            // The session may be over by now, but not its rows.
            let mut rows = self.rows[first_row..].iter_mut();
            let receiver = rows.find(|row| row.session == session && row.receiver == host);
            if let Some(row) = receiver {
                row.late += 1;
            }
            return;
        }
        match role {
            Role::Leg(number) => {
                recorder.event(now, event);
                match event {
                    Event::Completed(_) => self.leg_completed(now, session, number),
                    Event::Failed(..) => self.leg_failed(session, number),
                    _ => {}
                }
            }
            Role::Spread => self.spread_event(now, host, event, fabric, recorder),
            Role::Collect => match event {
                Event::Received(_, receipt) => self.received(session, 0, receipt),
                Event::Completed(_) => {
                    recorder.event(now, event);
                    self.completed(session, 0, now);
                    self.end_ended(now, session, recorder);
                }
                Event::Failed(..) => {
                    self.failed(session, 0);
                    self.end_ended(now, session, recorder);
                }
                _ => {}
            },
            Role::Sender => {
                let (Event::Closed(_, stats) | Event::Failed(_, stats)) = event else {
                    return;
                };
                let Some(running) = self.running.get_mut(&session) else {
                    return;
                };
                running.cost.add(stats);
                running.cost.copies = 1;
                self.end_ended(now, session, recorder);
            }
        }
    }

    /// One of the ends of a transfer from several senders has ended.
    fn end_ended(&mut self, now: Time, session: u32, recorder: &mut Recorder) {
        let Some(running) = self.running.get_mut(&session) else {
            return;
        };
        running.open -= 1;
        if running.open == 0 {
            recorder.event(now, Event::Closed(running.collected, running.cost));
            self.running.remove(&session);
        }
    }

    /// A receiver has all of a flow of its own.
    fn leg_completed(&mut self, now: Time, session: u32, number: usize) {
        let Some(running) = self.running.get_mut(&session) else {
            return;
        };
        running.open -= 1;
        let over = running.open == 0;
        if let Some(chain) = &mut running.chain {
            chain.arrived[number] = Some(now);
            let done = chain.arrived.iter().take_while(|at| at.is_some()).count();
            let over = done == chain.servers.len();
            for receiver in 0..done {
                self.completed(session, receiver, now);
            }
            if over {
                self.running.remove(&session);
            }
            return;
        }
        // A read of several blocks is complete with the last of them.
        if over || running.receivers > 1 {
            self.completed(session, number, now);
        }
        if over {
            self.running.remove(&session);
        }
    }

    fn row(&mut self, session: u32, receiver: usize) -> Option<&mut SessionRecord> {
        let running = self.running.get(&session)?;
        self.rows.get_mut(running.first_row + receiver)
    }

    /// Receiver `receiver` has everything; the first word on it counts.
    fn completed(&mut self, session: u32, receiver: usize, now: Time) {
        if let Some(row) = self.row(session, receiver) {
            row.completion.get_or_insert(now.since(row.start));
            row.end = SessionEnd::Whole;
        }
    }

    /// The transfer to receiver `receiver` was given up.
    fn failed(&mut self, session: u32, receiver: usize) {
        if let Some(row) = self.row(session, receiver)
            && row.completion.is_none()
        {
            row.end = SessionEnd::Failed;
        }
    }

    /// A flow was given up: its receiver gets no more, nor do those after it in a chain.
    fn leg_failed(&mut self, session: u32, number: usize) {
        let Some(running) = self.running.get(&session) else {
            return;
        };
        let last = match running.chain {
            Some(_) => running.receivers,
            None => number + 1,
        };
        for receiver in number..last {
            self.failed(session, receiver);
        }
    }

    fn received(&mut self, session: u32, receiver: usize, receipt: Receipt) {
        if let Some(row) = self.row(session, receiver) {
            row.symbols += receipt.symbols;
            row.in_vain += receipt.in_vain;
            let missing = row.bytes.0.saturating_sub(receipt.bytes);
            row.missing = (missing > 0).then_some(Bytes(missing));
        }
    }

    /// An event of the transfer to a group whose first flow it names.
    fn spread_event(
        &mut self,
        now: Time,
        host: HostId,
        event: Event,
        fabric: &mut Fabric<Segment, Watch<'_>>,
        recorder: &mut Recorder,
    ) {
        let first = event.flow();
        let session = self.ends[(first.0 ^ LEG) as usize].session;
        let Some(running) = self.running.get(&session) else {
            return;
        };
        let Some(group) = running.group else { return };
        let rows = running.first_row..running.first_row + running.receivers;
        let receiver_at =
            |rows: &[SessionRecord], host: HostId| rows.iter().position(|row| row.receiver == host);
        let rows = &mut self.rows[rows];
        match event {
            Event::Received(_, receipt) => {
                if let Some(receiver) = receiver_at(rows, host) {
                    self.received(session, receiver, receipt);
                }
            }
            Event::Completed(_) => {
                if let Some(receiver) = receiver_at(rows, host) {
                    let leg = FlowId(first.0 + receiver as u32);
                    recorder.event(now, Event::Completed(leg));
                    fabric.leave_group(now, group, host, host);
                    self.completed(session, receiver, now);
                }
            }
            Event::Straggling(_, Straggler { receiver, dropped }) => {
                let at = receiver_at(rows, receiver);
                // One that has everything is not left out, though its last word is on the way.
                if let Some(row) = at.and_then(|at| rows.get_mut(at))
                    && row.completion.is_none()
                {
                    row.straggling = if dropped {
                        Straggling::LeftOut
                    } else {
                        Straggling::Reported
                    };
                }
                if dropped {
                    fabric.leave_group(now, group, receiver, host);
                }
            }
            Event::Closed(_, stats) | Event::Failed(_, stats) => {
                if matches!(event, Event::Failed(..)) {
                    let open = rows.iter_mut().filter(|row| row.completion.is_none());
                    open.for_each(|row| row.end = SessionEnd::Failed);
                }
                for receiver in 0..running.receivers as u32 {
                    let leg = FlowId(first.0 + receiver);
                    // The symbols are sent once for all: their cost is in the first receiver's row.
                    let stats = if receiver == 0 {
                        stats
                    } else {
                        FlowStats::default()
                    };
                    recorder.event(now, Event::Closed(leg, stats));
                }
                fabric.dissolve_group(group);
                self.running.remove(&session);
            }
            Event::Established(_) | Event::Arrived(..) | Event::Late(_) => {}
        }
    }

    /// What became of the sessions, receiver by receiver. What senders that are done have cost is told of
    /// transfers that the run ends before.
    pub fn finish(self, recorder: &mut Recorder) -> Vec<SessionRecord> {
        for running in self.running.values() {
            if running.cost != FlowStats::default() {
                recorder.cut_off(running.collected, running.cost);
            }
        }
        self.rows
    }
}

/// Ports that objects are collected at.
const FIRST_PORT: u16 = 1_024;
const PORTS: u16 = 30_000;

fn flow(session: &Session, src: HostId, dst: HostId, bytes: u64) -> Flow {
    Flow {
        id: FlowId(0),
        start: session.start,
        src,
        dst,
        bytes,
        path: None,
        class: session.class,
    }
}

fn message(flow: FlowId, dst: HostId, bytes: u64) -> Message {
    Message {
        flow,
        dst,
        bytes,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    }
}
