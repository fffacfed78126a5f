//! Storage sessions: their transfers in each design, and their results.
//!
//! A design with transfers to or from several hosts (SCDP) writes to a multicast group.
//! A design with transfers to or from several hosts reads from all replicas at the same time.
//! Any other design writes with one flow to each server, or with one flow along a chain of servers.
//! A design without transfers between several hosts reads each block from one server.
//! The flows of sessions have separate numbers, above the numbers of all other flows.

mod outcome;
mod transfer_methods;

use crate::application::{
    Application, Desk, Order, Outcome, message, transfer_flow, transfer_index,
};
use std::collections::BTreeMap;
use tailcut_record::{SessionOperation, SessionRecord};
use tailcut_transport::{Condition, Event, FlowStats, Segment, Share};
use tailcut_units::{Bytes, FlowId, HostId, Time};
use tailcut_workload::{Flow, Operation, Placement, Session, Storage};
pub(crate) use transfer_methods::TransferMethods;
pub use transfer_methods::{ReadBy, WriteBy};

/// Role of a flow in its session.
#[derive(Clone, Copy, Debug)]
struct FlowRole {
    session: u32,
    role: Role,
    /// Index of the first row of the session.
    first_row: usize,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    /// Separate flow to the receiver with this index.
    Unicast(usize),
    /// Transfer to a group.
    /// The flows of the receivers have consecutive numbers. The first number is the number of the transfer.
    Multicast,
    /// Receiver of a transfer from several senders.
    Receiver,
    /// Sender of a transfer from several senders.
    Sender,
}

/// Session in progress.
#[derive(Debug)]
struct Running {
    /// Index of the session's first row.
    first_row: usize,
    receivers: usize,
    /// Number of open flows of this session.
    /// In a transfer from several senders, the number of open senders and receivers.
    open: usize,
    /// Flow of a transfer from several senders. It includes the costs of all senders.
    collected: FlowId,
    cost: FlowStats,
    chain: Option<Chain>,
}

/// Daisy chain of servers: each server sends the data to the next server.
#[derive(Debug)]
struct Chain {
    flow: Flow,
    servers: Vec<HostId>,
    /// Time at which each server received all bytes.
    arrived: Vec<Option<Time>>,
}

/// Sessions of a run.
pub(crate) struct Sessions {
    storage: Storage,
    methods: TransferMethods,
    /// Roles of flows, by flow number.
    flow_roles: Vec<FlowRole>,
    running: BTreeMap<u32, Running>,
    /// Flows of chains, each with the number of bytes that must still arrive before the next server starts.
    chain_bytes_left: BTreeMap<FlowId, u64>,
    rows: Vec<SessionRecord>,
}

impl Sessions {
    pub fn new(storage: Storage, methods: TransferMethods) -> Self {
        Self {
            storage,
            methods,
            flow_roles: Vec::new(),
            running: BTreeMap::new(),
            chain_bytes_left: BTreeMap::new(),
            rows: Vec::new(),
        }
    }

    /// Stores the role of flow `id`. This flow must be the next flow.
    fn add_role(&mut self, id: FlowId, session: u32, role: Role) {
        debug_assert_eq!(
            transfer_index(id),
            self.flow_roles.len(),
            "flows must have consecutive numbers"
        );
        let first_row = self.running.get(&session).map_or(0, |r| r.first_row);
        self.flow_roles.push(FlowRole {
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
        let several = self.methods.several_ends;
        match session.operation {
            Operation::Write => match self.methods.write {
                WriteBy::Multicast if several => self.multicast(session, &receivers, desk),
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
                    match self.methods.read {
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

    /// Sends a separate flow to the receiver with index `number`.
    fn submit(&mut self, session: u32, number: usize, flow: Flow, desk: &mut Desk<'_>) {
        let id = desk.send_flow(&flow);
        self.add_role(id, session, Role::Unicast(number));
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
        self.watch_last_chain_flow(session.number);
    }

    /// Watches the bytes of the chain's last flow, if another server follows in the chain.
    fn watch_last_chain_flow(&mut self, session: u32) {
        let id = transfer_flow(self.flow_roles.len() - 1);
        let chain = self.running.get(&session).and_then(|r| r.chain.as_ref());
        let follows = |number| chain.is_some_and(|chain| number + 1 < chain.servers.len());
        if let WriteBy::DaisyChain(after) = self.methods.write
            && let Some(FlowRole {
                role: Role::Unicast(number),
                ..
            }) = self.flow_roles.last()
            && follows(*number)
        {
            self.chain_bytes_left.insert(id, after.0.max(1));
        }
    }

    /// Sends one transfer to all receivers.
    fn multicast(&mut self, session: &Session, receivers: &[HostId], desk: &mut Desk<'_>) {
        let to = |server| flow(session, session.client, server, session.bytes);
        let first = desk.multicast(receivers, self.methods.stragglers, to);
        debug_assert!(first.is_ok(), "replicas are few and on different hosts");
        let Ok(first) = first else { return };
        for place in 0..receivers.len() {
            let id = transfer_flow(transfer_index(first) + place);
            self.add_role(id, session.number, Role::Multicast);
        }
    }

    /// Starts one transfer of a block from all its replicas.
    fn collect(&mut self, session: &Session, block: &Placement, bytes: u64, desk: &mut Desk<'_>) {
        let id = desk.number();
        self.add_role(id, session.number, Role::Receiver);
        // The row of a flow has one source.
        // The source is the replica with the shortest ideal time, so that no flow is faster than its ideal time.
        let nearest = desk
            .recorder()
            .nearest(&block.replicas, session.client, bytes);
        let of_block = flow(session, nearest, session.client, bytes);
        desk.recorder().started(&Flow { id, ..of_block });
        // A port is used again only after many sessions, when the last session of the port has ended long ago.
        let port = FIRST_PORT + (self.flow_roles.len() % usize::from(PORTS)) as u16;
        desk.order(Order::Collect {
            host: session.client,
            flow: id,
            port,
        });
        let of = block.replicas.len() as u16;
        for (index, &server) in (0u16..).zip(&block.replicas) {
            let part = desk.number();
            self.add_role(part, session.number, Role::Sender);
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

    /// Returns whether sessions write along chains. Only the servers of chains need to see segments.
    fn wants_segments(&self) -> bool {
        matches!(self.methods.write, WriteBy::DaisyChain(_))
    }

    /// Starts the next server of a chain when enough bytes have arrived.
    fn segment_arrived(&mut self, segment: &Segment, desk: &mut Desk<'_>) {
        if self.chain_bytes_left.is_empty() || segment.condition != Condition::Whole {
            return;
        }
        let Some(left) = self.chain_bytes_left.get_mut(&segment.flow) else {
            return;
        };
        // A repeated segment is counted twice, because the driver sees packets and not the state of the transport.
        *left = left.saturating_sub(u64::from(segment.payload));
        if *left > 0 {
            return;
        }
        self.chain_bytes_left.remove(&segment.flow);
        let FlowRole { session, role, .. } = self.flow_roles[transfer_index(segment.flow)];
        let chain = self.running.get(&session).and_then(|r| r.chain.as_ref());
        if let (Role::Unicast(number), Some(chain)) = (role, chain) {
            let next = Flow {
                start: desk.now(),
                src: chain.servers[number],
                dst: chain.servers[number + 1],
                ..chain.flow
            };
            self.submit(session, number + 1, next, desk);
            self.watch_last_chain_flow(session);
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

/// Ports of transfers from several senders.
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
