//! Tests of the two ends of a flow over byte streams that are delivered, delayed and cut at random.
//! In every case, the delivered data equals the written data.

use proptest::prelude::*;
use std::collections::VecDeque;
use tailcut_transport::repnet::{
    Banner, Cause, Command, Flow, FlowKey, FlowLimits, InstanceId, Leg, LegState, Mode, Preamble,
    Purpose, Reason, Refusal, State, Status,
};
use tailcut_units::{Duration, Time};

const KEY: FlowKey = FlowKey(0xabcd << 100 | 1);
const SERVER: InstanceId = InstanceId(5);
const LIMITS: FlowLimits = FlowLimits {
    max_bytes: 3_000,
    archive_cap: 2_000,
    lag_cap: 2_500,
    leg_deadline: Duration::from_ms(3_000),
    confirm_timeout: Duration::from_ms(250),
    waiting_list_timeout: Duration::from_ms(1_000),
    idle_time: Some(Duration::from_ms(5)),
};

/// Item in flight on a connection, in one direction.
#[derive(Clone, Copy, Debug)]
enum Item {
    Hello(Preamble),
    Banner(Banner),
    Bytes(u64),
    Fin,
}

#[derive(Debug, Default)]
struct Connection {
    /// Queued items: one queue from the client, and one from the server.
    queues: [VecDeque<Item>; 2],
    /// Whether each end still uses this connection.
    held: [bool; 2],
    cut: bool,
    connecting: bool,
}

/// Results that one end has reported to its application.
#[derive(Debug, Default)]
struct Reported {
    bytes: u64,
    end: bool,
    failed: Option<Cause>,
    ended: u32,
}

const CLIENT: usize = 0;
const SERVER_SIDE: usize = 1;

struct World {
    now: Time,
    ends: [Option<Flow>; 2],
    told: [Reported; 2],
    connections: Vec<(Leg, Connection)>,
    /// For each end: indices of the connections that it uses as first and as second connection.
    legs: [[Option<usize>; 2]; 2],
    buried: bool,
    executions: u32,
}

impl World {
    fn new(mode: Mode) -> Self {
        let mut world = Self {
            now: Time::ZERO,
            ends: [
                Some(Flow::client(Time::ZERO, mode, Some(KEY), LIMITS)),
                None,
            ],
            told: Default::default(),
            connections: Vec::new(),
            legs: [[None; 2]; 2],
            buried: false,
            executions: 0,
        };
        world.commands(CLIENT);
        world
    }

    fn flow(&mut self, end: usize) -> Option<&mut Flow> {
        self.ends[end].as_mut()
    }

    fn commands(&mut self, end: usize) {
        while let Some(command) = self.flow(end).and_then(Flow::poll_command) {
            self.obey(end, command);
        }
    }

    fn obey(&mut self, end: usize, command: Command) {
        match command {
            Command::Open(leg) => {
                self.connections.push((
                    leg,
                    Connection {
                        held: [true, false],
                        connecting: true,
                        ..Connection::default()
                    },
                ));
                self.legs[end][leg as usize] = Some(self.connections.len() - 1);
            }
            Command::SendHello(preamble) => {
                let leg = preamble.leg as usize;
                if let Some(at) = self.legs[end][leg] {
                    self.connections[at].1.queues[end].push_back(Item::Hello(preamble));
                }
            }
            Command::Reset(leg, _) => self.reset(end, leg),
            Command::Leave(leg) | Command::Close(leg) | Command::Release(leg) => {
                if let Some(at) = self.legs[end][leg as usize].take() {
                    let connection = &mut self.connections[at].1;
                    connection.held[end] = false;
                    if matches!(command, Command::Leave(_)) && end == SERVER_SIDE {
                        connection.queues[end].push_back(Item::Fin);
                    }
                }
            }
            Command::MayRejoin(leg) => {
                let now = self.now;
                self.flow(end).expect("a flow").rejoin(now, leg);
            }
            Command::EndOfStream => {
                assert!(!std::mem::replace(&mut self.told[end].end, true));
                let other = self.ends[1 - end].as_ref().expect("the writer");
                assert_eq!(
                    self.told[end].bytes,
                    other.written(),
                    "the stream ended before its last byte"
                );
                assert!(other.is_finishing());
            }
            Command::Fail(cause) => {
                assert_eq!(self.told[end].failed.replace(cause), None);
            }
            Command::Ended => {
                self.told[end].ended += 1;
                for leg in Leg::ALL {
                    self.reset(end, leg);
                }
            }
            Command::Bury => self.buried = end == SERVER_SIDE,
            Command::Deliver => self.executions += u32::from(end == SERVER_SIDE),
            Command::NoteDiverged => panic!("both connections transfer the same bytes"),
            Command::Learn(_)
            | Command::Outcome(_)
            | Command::Promote { .. }
            | Command::Settled => {}
        }
    }

    fn reset(&mut self, end: usize, leg: Leg) {
        if let Some(at) = self.legs[end][leg as usize].take() {
            self.connections[at].1.cut = true;
        }
    }

    fn cut(&mut self, connection: usize) {
        if let Some((_, connection)) = self.connections.get_mut(connection) {
            connection.cut = true;
        }
    }

    /// Reports a cut connection to both ends.
    fn tell_cut(&mut self, at: usize) {
        let leg = self.connections[at].0;
        for end in [CLIENT, SERVER_SIDE] {
            if self.legs[end][leg as usize] == Some(at) {
                self.legs[end][leg as usize] = None;
                let now = self.now;
                let flow = self.flow(end).expect("whose leg it is");
                if flow.leg(leg) == LegState::Pending {
                    flow.refused(now, leg, Refusal::Failed);
                } else {
                    flow.failed(now, leg);
                }
                self.commands(end);
            }
        }
    }

    /// Moves an item on a connection. Returns whether there was an item.
    fn step(&mut self, at: usize, end: usize, most: u64) -> bool {
        let Some((leg, connection)) = self.connections.get_mut(at) else {
            return false;
        };
        let leg = *leg;
        if connection.cut {
            let news = self.legs.iter().any(|legs| legs[leg as usize] == Some(at));
            self.tell_cut(at);
            return news;
        }
        if std::mem::take(&mut connection.connecting) {
            let now = self.now;
            if self.legs[CLIENT][leg as usize] == Some(at) {
                self.flow(CLIENT).expect("a client").connected(now, leg);
                self.commands(CLIENT);
            }
            return true;
        }
        self.send(at, end, leg, most) | self.receive(at, 1 - end, leg, most)
    }

    fn send(&mut self, at: usize, end: usize, leg: Leg, most: u64) -> bool {
        let now = self.now;
        if self.legs[end][leg as usize] != Some(at) {
            return false;
        }
        let flow = self.flow(end).expect("whose leg it is");
        let (from, waiting) = flow.to_send(leg);
        let bytes = waiting.min(most);
        if bytes > 0 {
            assert!(from >= flow.keep_from(), "bytes that are not kept any more");
            flow.sent(leg, bytes);
            self.connections[at].1.queues[end].push_back(Item::Bytes(bytes));
        }
        let flow = self.flow(end).expect("whose leg it is");
        let fin = flow.is_to_finish(leg);
        if fin {
            flow.end_sent(now, leg);
            self.connections[at].1.queues[end].push_back(Item::Fin);
        }
        self.commands(end);
        bytes > 0 || fin
    }

    fn receive(&mut self, at: usize, end: usize, leg: Leg, most: u64) -> bool {
        let now = self.now;
        let queue = &mut self.connections[at].1.queues[1 - end];
        let Some(item) = queue.front_mut() else {
            return false;
        };
        let item = match item {
            Item::Bytes(left) if *left > most => {
                *left -= most;
                Item::Bytes(most)
            }
            _ => queue.pop_front().expect("the first"),
        };
        if let Item::Hello(preamble) = item {
            self.accept(at, preamble);
            return true;
        }
        if self.legs[end][leg as usize] != Some(at) {
            return true;
        }
        let flow = self.ends[end].as_mut().expect("whose leg it is");
        match item {
            Item::Banner(banner) => flow.banner(now, leg, &banner),
            Item::Bytes(bytes) => self.told[end].bytes += flow.received(now, leg, bytes),
            Item::Fin if flow.leg(leg) == LegState::Pending => {
                flow.refused(now, leg, Refusal::Silent);
            }
            Item::Fin => flow.end_received(now, leg),
            Item::Hello(_) => unreachable!("taken above"),
        }
        assert_eq!(self.told[end].bytes, flow.delivered());
        self.commands(end);
        true
    }

    /// Accepts a connection at the listening server.
    fn accept(&mut self, at: usize, preamble: Preamble) {
        let (now, leg) = (self.now, preamble.leg);
        let place = &mut self.legs[SERVER_SIDE][leg as usize];
        let status = match (preamble.purpose, self.ends[SERVER_SIDE].as_mut()) {
            (_, _) if self.buried => None,
            (Purpose::Open(mode), None) => {
                *place = Some(at);
                self.ends[SERVER_SIDE] = Some(Flow::server(now, mode, leg, LIMITS));
                Some(Status::Opened)
            }
            (Purpose::Open(_), Some(flow)) => flow.wants(leg).then(|| {
                *place = Some(at);
                assert!(flow.joined(now, leg));
                Status::Joined
            }),
            (Purpose::Rejoin(rejoin), Some(flow)) if flow.stands_at(leg, &rejoin) => {
                // The flow still has a connection in this position. The new connection replaces the old connection.
                if let Some(old) = place.replace(at) {
                    self.connections[old].1.cut = true;
                }
                flow.rejoined(now, leg, &rejoin);
                Some(Status::Joined)
            }
            _ => Some(Status::Busy),
        };
        if *place_of(&self.legs, leg) == Some(at) {
            // The reset belongs to the old connection, which the new connection replaces.
            if let Some(flow) = self.ends[SERVER_SIDE].as_mut() {
                let mut kept = Vec::new();
                while let Some(command) = flow.poll_command() {
                    if command != Command::Reset(leg, Reason::Replaced) {
                        kept.push(command);
                    }
                }
                for command in kept {
                    self.obey(SERVER_SIDE, command);
                }
            }
        }
        match status {
            None => self.connections[at].1.cut = true,
            Some(status) => {
                let banner = Banner {
                    status,
                    leg,
                    check: KEY.check(),
                    instance: SERVER,
                };
                let queue = &mut self.connections[at].1.queues[SERVER_SIDE];
                // The banner must leave before all data of the flow.
                queue.push_front(Item::Banner(banner));
            }
        }
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
        for end in [CLIENT, SERVER_SIDE] {
            let now = self.now;
            if let Some(flow) = self.flow(end) {
                if flow.next_timeout().is_some_and(|at| at <= now) {
                    flow.on_timeout(now);
                }
                assert!(
                    flow.next_timeout().is_none_or(|at| at > now),
                    "a timeout in the past"
                );
                self.commands(end);
            }
        }
    }

    fn write(&mut self, end: usize, bytes: u64) {
        let now = self.now;
        if let Some(flow) = self.flow(end)
            && flow.is_opened()
            && !flow.has_ended()
            && !flow.is_finishing()
            && flow.queued() < 1_500
            && !flow.is_held_back()
        {
            flow.write(now, bytes);
            self.commands(end);
        }
    }

    fn finish(&mut self, end: usize) {
        let now = self.now;
        if let Some(flow) = self.flow(end)
            && flow.is_opened()
            && !flow.has_ended()
        {
            flow.finish(now);
            self.commands(end);
        }
    }

    /// Moves all items, in turns, until none is left.
    fn settle(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for at in 0..self.connections.len() {
                for end in [CLIENT, SERVER_SIDE] {
                    moved |= self.step(at, end, u64::MAX);
                }
            }
        }
    }
}

fn place_of(legs: &[[Option<usize>; 2]; 2], leg: Leg) -> &Option<usize> {
    &legs[SERVER_SIDE][leg as usize]
}

#[test]
fn a_leg_that_came_first_and_alone_carries_on_when_the_other_one_is_late_whatever_was_written() {
    for first in Leg::ALL {
        let mut flow = Flow::server(Time::ZERO, Mode::RepFlow, first, LIMITS);
        // The application writes more bytes than the archive for the other connection may contain.
        flow.write(Time::ZERO, LIMITS.archive_cap + 1);
        assert_eq!(flow.state(), State::Chosen);
        let late = Time::ZERO + LIMITS.waiting_list_timeout;
        flow.on_timeout(late);
        assert_eq!(flow.leg(first), LegState::Live, "{first:?}");
        assert_eq!(flow.received(late, first, 7), 7);
        flow.end_received(late, first);
        let commands = std::iter::from_fn(|| flow.poll_command());
        assert!(
            commands
                .into_iter()
                .any(|command| command == Command::EndOfStream)
        );
    }
}

#[test]
fn a_flow_whose_only_leg_has_failed_ends_when_the_other_one_is_late() {
    for first in Leg::ALL {
        let mut flow = Flow::server(Time::ZERO, Mode::RepFlow, first, LIMITS);
        flow.failed(Time::ZERO, first);
        assert_eq!(flow.state(), State::OneConn);
        flow.on_timeout(Time::ZERO + LIMITS.waiting_list_timeout);
        assert_eq!(flow.state(), State::Ended, "{first:?}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Step { at: usize, end: usize, most: u64 },
    Write { end: usize, bytes: u64 },
    Finish { end: usize },
    Cut { at: usize },
    Pass { us: u64 },
}

fn operation() -> impl Strategy<Value = Operation> {
    let end = 0_usize..2;
    prop_oneof![
        12 => (0_usize..3, end.clone(), 1_u64..1_500)
            .prop_map(|(at, end, most)| Operation::Step { at, end, most }),
        4 => (end.clone(), 1_u64..1_000).prop_map(|(end, bytes)| Operation::Write { end, bytes }),
        1 => end.prop_map(|end| Operation::Finish { end }),
        1 => (0_usize..4).prop_map(|at| Operation::Cut { at }),
        2 => prop_oneof![1_u64..3_000, 5_000_u64..20_000, 100_000_u64..4_000_000]
            .prop_map(|us| Operation::Pass { us }),
    ]
}

fn run(mode: Mode, operations: &[Operation], with_cuts: bool) -> World {
    let mut world = World::new(mode);
    for operation in operations {
        match *operation {
            Operation::Step { at, end, most } => {
                world.step(at, end, most);
            }
            Operation::Write { end, bytes } => world.write(end, bytes),
            Operation::Finish { end } => world.finish(end),
            Operation::Cut { at } if with_cuts => world.cut(at),
            // Without cuts, no operation needs a deadline, so the time does not pass.
            Operation::Pass { us } if !with_cuts => {
                world.pass(Duration::from_us(us.min(20_000) / 20))
            }
            Operation::Pass { us } => world.pass(Duration::from_us(us)),
            Operation::Cut { .. } => {}
        }
    }
    world
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::RepFlow), Just(Mode::RepSyn)]
}

proptest! {
    #[test]
    fn whatever_is_cut_or_late_bytes_come_once_in_order_and_the_flow_runs_once(
        mode in modes(),
        operations in proptest::collection::vec(operation(), 0..120),
    ) {
        let mut world = run(mode, &operations, true);
        world.settle();
        for end in [CLIENT, SERVER_SIDE] {
            world.finish(end);
        }
        world.settle();
        for _ in 0..40 {
            world.pass(Duration::from_ms(500));
            world.settle();
        }
        prop_assert!(world.executions <= 1);
        for end in [CLIENT, SERVER_SIDE] {
            let Some(flow) = &world.ends[end] else { continue };
            let written = world.ends[1 - end].as_ref().map_or(0, Flow::written);
            prop_assert!(flow.delivered() <= written);
            prop_assert!(world.told[end].ended <= 1);
            // No flow waits for ever: a flow that is not complete was reported as failed.
            let told = &world.told[end];
            prop_assert!(told.end || told.ended == 1 || world.told[1 - end].ended == 1, "{told:?}");
        }
    }

    #[test]
    fn with_nothing_cut_everything_arrives_and_nothing_fails(
        mode in modes(),
        operations in proptest::collection::vec(operation(), 0..120),
    ) {
        let mut world = run(mode, &operations, false);
        world.settle();
        for end in [CLIENT, SERVER_SIDE] {
            world.finish(end);
        }
        world.settle();
        for end in [CLIENT, SERVER_SIDE] {
            let other = world.ends[1 - end].as_ref().expect("both ends").written();
            prop_assert_eq!((world.told[end].bytes, world.told[end].end), (other, true));
            prop_assert_eq!(world.told[end].failed, None);
        }
        prop_assert_eq!(world.executions, 1);
        for _ in 0..4 {
            world.pass(Duration::from_ms(300));
            world.settle();
        }
        for flow in world.ends.iter().flatten() {
            prop_assert_eq!(flow.state(), State::Ended);
            prop_assert_eq!(flow.next_timeout(), None);
        }
    }
}
