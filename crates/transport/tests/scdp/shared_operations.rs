//! Tests of SCDP's transfers with several ends, with arbitrary sequences of operations.
//! The operations are submit, deliver, drop, duplicate, reorder, trim and timeout.
//! Every receiver completes exactly once, with enough different symbols of every block.
//! No two senders of an object send the same symbol, and no state remains.
//! In credit mode, every symbol that a receiver has requested from a sender has arrived, is lost, or is in flight.
//! The invariant about requested symbols holds at every arrival.

use crate::passing::{self, Passing, World as _};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tailcut_transport::scdp::{
    Balance, CreditConfig, DecodeSpeed, Host, Mode, ModelCodec, Object, ScdpConfig, ScdpHeader,
    ScdpKind,
};
use tailcut_transport::{
    Condition, Event, Header, Message, Part, PathPin, Replication, Segment, Share, StragglerPolicy,
    Stragglers, Transport,
};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

const HOSTS: usize = 4;

/// Operation of a test. Indices are taken modulo the number of possible choices.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Write { from: u8, bytes: u32 },
    Read { to: u8, bytes: u32 },
    Transmit { host: u8 },
    Deliver { which: u16 },
    DeliverOldest,
    Drop { which: u16 },
    Duplicate { which: u16 },
    Trim { which: u16 },
    Wait { microseconds: u16 },
    Timeout,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let bytes = || prop_oneof![1 => 0u32..3_000, 4 => 3_000u32..60_000, 1 => 60_000u32..200_000];
    let host = || 0u8..HOSTS as u8;
    let operation = prop_oneof![
        1 => (host(), bytes()).prop_map(|(from, bytes)| Operation::Write { from, bytes }),
        1 => (host(), bytes()).prop_map(|(to, bytes)| Operation::Read { to, bytes }),
        40 => host().prop_map(|host| Operation::Transmit { host }),
        10 => any::<u16>().prop_map(|which| Operation::Deliver { which }),
        40 => Just(Operation::DeliverOldest),
        4 => any::<u16>().prop_map(|which| Operation::Drop { which }),
        3 => any::<u16>().prop_map(|which| Operation::Duplicate { which }),
        6 => any::<u16>().prop_map(|which| Operation::Trim { which }),
        10 => (0u16..500).prop_map(|microseconds| Operation::Wait { microseconds }),
        2 => Just(Operation::Timeout),
    ];
    proptest::collection::vec(operation, 1..500)
}

/// Transfer of an object, with the symbols that each receiver has.
struct Transfer {
    object: Object,
    group: Option<u32>,
    senders: usize,
    ended: usize,
    receivers: BTreeMap<usize, Received>,
    sent: BTreeMap<(u32, u32), usize>,
}

#[derive(Default)]
struct Received {
    symbols: BTreeMap<u32, BTreeSet<u32>>,
    completed: u32,
}

struct World {
    passing: Passing<Host<ModelCodec>>,
    config: ScdpConfig,
    groups: Vec<Vec<usize>>,
    transfers: Vec<Transfer>,
    /// Index of the transfer to which each flow belongs.
    flows: Vec<usize>,
    /// Numbers of the used credits, for each receiver, addresses and session.
    used: BTreeMap<(usize, FiveTuple, FlowId), Used>,
}

#[derive(Default)]
struct Used {
    seen: BTreeSet<u32>,
    /// Number of symbols that arrived after they had counted as lost and their credits were removed.
    forgotten: u32,
}

fn scdp(segment: &Segment) -> ScdpHeader {
    match segment.header {
        Header::Scdp(header) => header,
        Header::Credit(_) => ScdpHeader {
            kind: ScdpKind::Pull,
            ..ScdpHeader::default()
        },
        _ => panic!("not SCDP: {segment:?}"),
    }
}

impl passing::World<Host<ModelCodec>> for World {
    fn passing(&self) -> &Passing<Host<ModelCodec>> {
        &self.passing
    }

    fn passing_mut(&mut self) -> &mut Passing<Host<ModelCodec>> {
        &mut self.passing
    }

    fn collect(&mut self, host: usize) {
        while let Some(event) = self.passing.hosts[host].poll_event() {
            let transfer = &mut self.transfers[self.flows[event.flow().0 as usize]];
            match event {
                Event::Completed(_) => {
                    let received = transfer.receivers.get_mut(&host).expect("a receiver");
                    received.completed += 1;
                    for block in 0..transfer.object.blocks() {
                        let got = received.symbols.get(&block).map_or(0, BTreeSet::len);
                        let k = transfer.object.source_symbols(block) as usize;
                        assert!(
                            got >= k,
                            "block {block} has {got} different symbols, but needs {k}"
                        );
                    }
                    if let Some(group) = transfer.group {
                        self.groups[group as usize].retain(|member| *member != host);
                    }
                }
                Event::Closed(..) => transfer.ended += 1,
                Event::Received(_, receipt) => assert!(receipt.in_vain <= receipt.symbols),
                Event::Failed(..) => panic!("{event:?} at host {host}"),
                Event::Established(_)
                | Event::Arrived(..)
                | Event::Block(..)
                | Event::Opened(..)
                | Event::Late(_)
                | Event::Straggling(..)
                | Event::Copy(..) => {}
            }
        }
    }
}

impl World {
    fn new(policy_block: u32, mode: Mode) -> Self {
        let config = ScdpConfig {
            block_symbols: policy_block,
            mode,
            initial_window: 7,
            shared_window: 4,
            max_timeout: Duration::from_ms(100),
            max_timeouts: u32::MAX,
            time_wait: Duration::from_ms(10_000),
            ..ScdpConfig::default()
        };
        let host = |id| {
            let codec = ModelCodec::new([0.3, 0.2, 0.1], DecodeSpeed::paper(), id);
            Host::new(HostId(id as u32), config, codec).expect("a valid configuration")
        };
        Self {
            passing: Passing {
                now: Time::ZERO,
                hosts: (0..HOSTS as u64).map(host).collect(),
                on_the_way: Vec::new(),
            },
            config,
            groups: Vec::new(),
            transfers: Vec::new(),
            flows: Vec::new(),
            used: BTreeMap::new(),
        }
    }

    fn flow(&mut self) -> FlowId {
        self.flows.push(self.transfers.len());
        FlowId(self.flows.len() as u32 - 1)
    }

    fn start(&mut self, bytes: u32, senders: usize, group: Option<u32>, receivers: &[usize]) {
        let config = &self.config;
        let object = Object::new(u64::from(bytes), config.symbol, config.block_symbols);
        self.transfers.push(Transfer {
            object: object.expect("an object"),
            group,
            senders,
            ended: 0,
            receivers: receivers
                .iter()
                .map(|&host| (host, Received::default()))
                .collect(),
            sent: BTreeMap::new(),
        });
    }

    fn others(host: usize) -> Vec<usize> {
        (0..HOSTS).filter(|&other| other != host).collect()
    }

    fn write(&mut self, from: usize, bytes: u32) {
        let flow = self.flow();
        let receivers = Self::others(from);
        let hosts: Vec<HostId> = receivers.iter().map(|&host| HostId(host as u32)).collect();
        let group = self.groups.len() as u32;
        self.groups.push(receivers.clone());
        self.start(bytes, 1, Some(group), &receivers);
        let part = Part::Spread {
            message: message(flow, HostId::group(group), bytes),
            receivers: &hosts,
            stragglers: Stragglers {
                after: Duration::from_ms(20),
                policy: StragglerPolicy::Wait,
            },
        };
        self.passing.hosts[from]
            .take_part(self.passing.now, part)
            .expect("parts");
    }

    fn read(&mut self, to: usize, bytes: u32) {
        let port = 1_024 + self.transfers.len() as u16;
        let senders = Self::others(to);
        let flow = self.flow();
        let collect = Part::Collect { flow, port };
        self.passing.hosts[to]
            .take_part(self.passing.now, collect)
            .expect("parts");
        for (index, &sender) in (0u16..).zip(&senders) {
            let flow = self.flow();
            let part = Part::Share {
                message: message(flow, HostId(to as u32), bytes),
                port,
                share: Share {
                    index,
                    of: senders.len() as u16,
                },
            };
            self.passing.hosts[sender]
                .take_part(self.passing.now, part)
                .expect("parts");
        }
        self.start(bytes, senders.len(), None, &[to]);
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Write { from, bytes } => self.write(usize::from(from), bytes),
            Operation::Read { to, bytes } => self.read(usize::from(to), bytes),
            Operation::Transmit { host } => {
                self.transmit(usize::from(host));
            }
            Operation::Deliver { which } => self.at(which, Self::deliver),
            Operation::DeliverOldest => self.at(0, Self::deliver),
            Operation::Drop { which } => self.lose(which),
            Operation::Duplicate { which } => self.duplicate(which),
            Operation::Trim { which } => self.at(which, |world, at| {
                let segment = &mut world.passing.on_the_way[at].2;
                if segment.trimmable {
                    segment.condition = Condition::Trimmed;
                }
            }),
            Operation::Wait { microseconds } => self.wait(u32::from(microseconds)),
            Operation::Timeout => self.time_out(),
        }
        for host in 0..HOSTS {
            self.collect(host);
        }
    }

    fn transmit(&mut self, host: usize) -> bool {
        let may = self.passing.hosts[host].has_transmit();
        let Some(segment) = self.passing.hosts[host].poll_transmit(self.passing.now) else {
            return false;
        };
        assert!(may, "has_transmit is false, but there was {segment:?}");
        assert_eq!(segment.tuple.src.0 as usize, host, "in another's name");
        let header = scdp(&segment);
        if matches!(header.kind, ScdpKind::Symbol | ScdpKind::Credited) {
            let transfer = &mut self.transfers[self.flows[segment.flow.0 as usize]];
            let first = transfer.sent.insert((header.block, header.esi), host);
            assert_eq!(first, None, "a symbol of an object sent twice: {segment:?}");
            let (esi, senders) = (header.esi, u32::from(header.senders));
            let of_share = |share| esi % senders.max(1) == u32::from(share);
            assert!(
                !header.syn || of_share(header.share),
                "a symbol of another sender: {segment:?}"
            );
        }
        let to = match segment.tuple.dst.group_number() {
            Some(group) => self.groups[group as usize].clone(),
            None => vec![segment.tuple.dst.0 as usize],
        };
        for to in to {
            self.passing
                .on_the_way
                .push((self.passing.now, to, segment));
        }
        true
    }

    fn deliver(&mut self, at: usize) {
        let (_, to, segment) = self.passing.on_the_way.remove(at);
        let header = scdp(&segment);
        if matches!(header.kind, ScdpKind::Symbol | ScdpKind::Credited)
            && segment.condition == Condition::Whole
        {
            let transfer = &mut self.transfers[self.flows[segment.flow.0 as usize]];
            let received = transfer.receivers.get_mut(&to).expect("a receiver");
            let of_block = received.symbols.entry(header.block).or_default();
            of_block.insert(header.esi);
        }
        let before = self.balance(to, &segment);
        self.passing.hosts[to].on_segment(self.passing.now, segment);
        if let Some(before) = before.filter(|_| header.kind == ScdpKind::Credited) {
            self.check_balance(to, &segment, before, header.pull);
        }
        self.collect(to);
    }

    /// Returns the counts of a receiver for the session of a symbol.
    /// Returns `None` if the receiver does not know the session, or if the session has ended.
    fn balance(&self, to: usize, symbol: &Segment) -> Option<Balance> {
        let balance = self.passing.hosts[to].balance(symbol);
        balance.filter(|all| all.asked > 0)
    }

    /// Checks the counts after the arrival of a symbol with credit `number`.
    /// Every requested symbol has arrived, is lost, or is in flight. The symbol counts as arrived once.
    /// But a symbol that counted as lost long ago may have no credit any more.
    fn check_balance(&mut self, to: usize, symbol: &Segment, before: Balance, number: u32) {
        let Some(after) = self.balance(to, symbol) else {
            return;
        };
        let session = (to, symbol.tuple, symbol.flow);
        let used = self.used.entry(session).or_default();
        let is_new = used.seen.insert(number);
        let counted = after.arrived - before.arrived;
        if is_new && counted == 0 {
            used.forgotten += 1;
        }
        assert!(counted <= u32::from(is_new), "{before:?} {after:?}");
        assert_eq!(
            after.asked,
            after.arrived + after.lost + after.in_flight,
            "{after:?}"
        );
        let seen = used.seen.len() as u32;
        assert_eq!(after.arrived + used.forgotten, seen, "{after:?}");
        assert!(used.forgotten <= after.lost, "{after:?}");
    }

    /// Runs without loss and in order, after the operations. Every transfer must complete.
    fn finish(&mut self) {
        for step in 0.. {
            assert!(step < 50_000, "the transfers do not end");
            let mut moved = false;
            for host in 0..HOSTS {
                moved |= self.transmit(host);
            }
            // A multicast segment becomes three segments in flight.
            for _ in 0..HOSTS * 3 {
                if !self.passing.on_the_way.is_empty() {
                    self.deliver(0);
                    moved = true;
                }
            }
            if !self.let_time_pass(moved) {
                break;
            }
        }
        for (number, transfer) in self.transfers.iter().enumerate() {
            for (host, received) in &transfer.receivers {
                assert_eq!(received.completed, 1, "transfer {number} at host {host}");
            }
            assert_eq!(transfer.ended, transfer.senders, "transfer {number}");
        }
        for (number, host) in self.passing.hosts.iter().enumerate() {
            assert_eq!(host.open_sessions(), 0, "at host {number}");
        }
    }
}

fn message(flow: FlowId, dst: HostId, bytes: u32) -> Message {
    Message {
        flow,
        dst,
        bytes: u64::from(bytes),
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    }
}

fn check(block_symbols: u32, mode: Mode, operations: Vec<Operation>) {
    let mut world = World::new(block_symbols, mode);
    for operation in operations {
        world.apply(operation);
    }
    world.finish();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn transfers_of_one_block(operations in operations()) {
        check(100, Mode::Paper, operations);
    }

    #[test]
    fn transfers_of_many_small_blocks(operations in operations()) {
        check(5, Mode::Paper, operations);
    }

    #[test]
    fn transfers_of_one_block_under_credits(operations in operations()) {
        check(100, Mode::Credit(CreditConfig::default()), operations);
    }

    #[test]
    fn transfers_of_many_small_blocks_under_credits(operations in operations()) {
        check(5, Mode::Credit(CreditConfig::default()), operations);
    }
}
