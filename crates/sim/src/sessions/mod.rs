//! Storage sessions: what each becomes under a design, and what comes of it.
//!
//! A design with transfers of several ends (SCDP) writes to a group and reads from all replicas at once;
//! others send a flow to each server, or down a chain of them, and read whole blocks from one server
//! each. All flows of sessions have numbers of their own, above those of the workload's other flows.

mod carriage;
mod outcome;

use crate::application::{
    Application, Desk, Order, Outcome, message, transfer_flow, transfer_index,
};
pub(crate) use carriage::Carriage;
pub use carriage::{ReadBy, WriteBy};
use std::collections::BTreeMap;
use tailcut_record::{SessionOperation, SessionRecord};
use tailcut_transport::{Condition, Event, FlowStats, Segment, Share};
use tailcut_units::{Bytes, FlowId, HostId, Time};
use tailcut_workload::{Flow, Operation, Placement, Session, Storage};

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
            watched: BTreeMap::new(),
            rows: Vec::new(),
        }
    }

    /// What the flow `id`, the next one, is.
    fn enter(&mut self, id: FlowId, session: u32, role: Role) {
        debug_assert_eq!(transfer_index(id), self.ends.len(), "no number is left out");
        let first_row = self.running.get(&session).map_or(0, |r| r.first_row);
        self.ends.push(End {
            session,
            role,
            first_row,
        });
    }

    fn begin(&mut self, session: &Session, desk: &mut Desk<'_>) {
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
                WriteBy::Multicast if several => self.spread(session, &receivers, desk),
                WriteBy::Multicast | WriteBy::MultiUnicast => {
                    for (number, &server) in receivers.iter().enumerate() {
                        let flow = flow(session, session.client, server, session.bytes);
                        self.submit(session.number, number, flow, desk);
                    }
                }
                WriteBy::DaisyChain(_) => self.begin_chain(session, receivers, desk),
            },
            Operation::Read => {
                for (number, block) in session.blocks.iter().enumerate() {
                    let bytes = session.block_bytes(number);
                    match self.carriage.read {
                        ReadBy::AllReplicas if several => {
                            self.collect(session, block, bytes, desk);
                        }
                        ReadBy::AllReplicas | ReadBy::OneReplica => {
                            let flow = flow(session, block.read_from, session.client, bytes);
                            self.submit(session.number, 0, flow, desk);
                        }
                    }
                }
            }
        }
    }

    /// A flow of its own to receiver `number`.
    fn submit(&mut self, session: u32, number: usize, flow: Flow, desk: &mut Desk<'_>) {
        let id = desk.send_flow(&flow);
        self.enter(id, session, Role::Leg(number));
        if let Some(running) = self.running.get_mut(&session) {
            running.open += 1;
        }
    }

    fn begin_chain(&mut self, session: &Session, servers: Vec<HostId>, desk: &mut Desk<'_>) {
        let first = flow(session, session.client, servers[0], session.bytes);
        if let Some(running) = self.running.get_mut(&session.number) {
            running.chain = Some(Chain {
                flow: first,
                arrived: vec![None; servers.len()],
                servers,
            });
        }
        self.submit(session.number, 0, first, desk);
        self.watch_last(session.number);
    }

    /// Waits for the bytes of the flow that was submitted last, if a server is to follow.
    fn watch_last(&mut self, session: u32) {
        let id = transfer_flow(self.ends.len() - 1);
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

    /// One transfer to all receivers.
    fn spread(&mut self, session: &Session, receivers: &[HostId], desk: &mut Desk<'_>) {
        let to = |server| flow(session, session.client, server, session.bytes);
        let first = desk.spread(receivers, self.carriage.stragglers, to);
        debug_assert!(first.is_ok(), "replicas are few and on different hosts");
        let Ok(first) = first else { return };
        for place in 0..receivers.len() {
            let id = transfer_flow(transfer_index(first) + place);
            self.enter(id, session.number, Role::Spread);
        }
    }

    /// One transfer of a block from all its replicas.
    fn collect(&mut self, session: &Session, block: &Placement, bytes: u64, desk: &mut Desk<'_>) {
        let id = desk.number();
        self.enter(id, session.number, Role::Collect);
        // The row of a flow has one source: the replica from which the ideal is the shortest.
        let nearest = desk
            .recorder()
            .nearest(&block.replicas, session.client, bytes);
        let of_block = flow(session, nearest, session.client, bytes);
        desk.recorder().started(&Flow { id, ..of_block });
        // Session numbers are far apart by the time a port comes again.
        let port = FIRST_PORT + (self.ends.len() % usize::from(PORTS)) as u16;
        desk.order(Order::Collect {
            host: session.client,
            flow: id,
            port,
        });
        let of = block.replicas.len() as u16;
        for (index, &server) in (0u16..).zip(&block.replicas) {
            let part = desk.number();
            self.enter(part, session.number, Role::Sender);
            desk.recorder().is_part(part, id);
            desk.order(Order::Share {
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
}

impl Application for Sessions {
    fn next(&self) -> Option<Time> {
        self.storage.peek()
    }

    #[inline(never)]
    fn act(&mut self, desk: &mut Desk<'_>) {
        if let Some(session) = self.storage.next_session() {
            self.begin(&session, desk);
        }
    }

    #[inline(never)]
    fn event(&mut self, host: HostId, event: Event, desk: &mut Desk<'_>) {
        self.on_event(host, event, desk);
    }

    /// Only servers of chains look at bytes.
    fn hears_segments(&self) -> bool {
        matches!(self.carriage.write, WriteBy::DaisyChain(_))
    }

    /// A server of a chain may have enough to begin.
    fn segment_arrived(&mut self, segment: &Segment, desk: &mut Desk<'_>) {
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
        let End { session, role, .. } = self.ends[transfer_index(segment.flow)];
        let chain = self.running.get(&session).and_then(|r| r.chain.as_ref());
        if let (Role::Leg(number), Some(chain)) = (role, chain) {
            let next = Flow {
                start: desk.now(),
                src: chain.servers[number],
                dst: chain.servers[number + 1],
                ..chain.flow
            };
            self.submit(session, number + 1, next, desk);
            self.watch_last(session);
        }
    }

    fn started(&self) -> u64 {
        self.rows.last().map_or(0, |row| u64::from(row.session) + 1)
    }

    fn finish(self: Box<Self>, desk: &mut Desk<'_>) -> Outcome {
        Outcome {
            sessions: self.outcome(desk),
            ..Outcome::default()
        }
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
