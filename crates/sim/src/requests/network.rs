//! Requests over the fabric: clients and servers of [`tailcut_transport::rans`] on its hosts, each copy a TCP
//! connection in its class. The first hosts are servers, those behind them clients.

use super::{Books, part_of, source};
use crate::config::RunConfig;
use crate::run::{RunControl, RunError};
use crate::simulation::{inject, to_packet};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailcut_fabric::engine::{Engine, Event};
use tailcut_fabric::topology::Topology;
use tailcut_fabric::{Delivery, Fabric};
use tailcut_record::RequestRecord;
use tailcut_transport::rans::{
    Carried, Carrier, Client, CopyId, Demand, Departure, Purpose, RequestHeader, RequestId, Server,
};
use tailcut_transport::tcp::{ConnectionEvent, Role, Summary, TcpConfig};
use tailcut_transport::{FlowStats, Segment};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};
use tailcut_workload::Requests;

/// Entities of events: a host whose NIC is free, or with this bit one whose timer is due.
const TIMER: u32 = 1 << 31;

/// Events between two looks at the control.
const LOOK_UP_EVERY: u32 = 1 << 16;

/// What a host does with requests.
enum Part {
    Client(Box<Client>),
    Server(Box<Server>),
    Neither,
}

struct Host {
    carrier: Carrier,
    part: Part,
    timer_at: Time,
    waits_for_nic: bool,
}

/// A copy on its way: what its connection carries. Flows are numbered as these are.
struct Copy {
    header: RequestHeader,
    client: HostId,
    server: HostId,
    asked: Option<Carried>,
    accepted: Option<Carried>,
    /// Bytes of the answer that the client has.
    delivered: u64,
}

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Both ends have all that was sent.
    Whole,
    /// The client reset it.
    Purged,
    /// Given up after too many retransmissions.
    Failed,
}

struct Network<'a> {
    config: &'a RunConfig,
    fabric: Fabric<Segment>,
    hosts: Vec<Host>,
    engine: Engine,
    requests: Requests,
    /// How many hosts are servers.
    servers: u32,
    copies_of_each: u32,
    copies: Vec<Copy>,
    flows: BTreeMap<CopyId, FlowId>,
    books: Books,
    events: u64,
    now: Time,
}

/// What a run leaves: rows, the network, its own events, and when it ended.
pub(crate) type Outcome = (Vec<RequestRecord>, Fabric<Segment>, u64, Time);

/// Runs the requests of `config` to their end, or to the end of its drain.
///
/// # Errors
/// A workload that cannot be drawn, parameters that make no sense, or [`RunError::Stopped`].
pub(crate) fn run(
    config: &RunConfig,
    topology: &Arc<Topology>,
    fabric: Fabric<Segment>,
    tcp: &TcpConfig,
    control: &dyn RunControl,
) -> Result<Outcome, RunError> {
    let parameters = &config.designs.requests;
    let Some((label, part)) = part_of(config) else {
        return Err(RunError::Requests("a workload of requests is needed"));
    };
    if topology.hosts() < part.servers + part.clients {
        return Err(RunError::Requests("more servers and clients than hosts"));
    }
    let links = (0..part.servers).map(|host| slowest_uplink(topology, HostId(host)));
    let link = links.min().unwrap_or(parameters.link);
    let requests = source(config, part, label, link).map_err(RunError::Workload)?;
    let policy = parameters.policy(config.design.replication);
    let mut hosts = Vec::with_capacity(topology.hosts() as usize);
    for number in 0..topology.hosts() {
        let part = match number {
            number if number < part.servers => {
                Part::Server(Box::new(Server::new(parameters.server(None))))
            }
            number if number < part.servers + part.clients => {
                Part::Client(Box::new(Client::new(policy).map_err(RunError::Requests)?))
            }
            _ => Part::Neither,
        };
        hosts.push(Host {
            carrier: Carrier::new(HostId(number), tcp).map_err(RunError::Transport)?,
            part,
            timer_at: Time::MAX,
            waits_for_nic: false,
        });
    }
    let mut network = Network {
        config,
        fabric,
        hosts,
        engine: Engine::new(config.engine),
        requests,
        servers: part.servers,
        copies_of_each: u32::from(policy.copies),
        copies: Vec::new(),
        flows: BTreeMap::new(),
        books: Books::new(policy.quorum),
        events: 0,
        now: Time::ZERO,
    };
    if !network.run(control) {
        return Err(RunError::Stopped);
    }
    network.count_open_connections();
    let rows = network.books.finish();
    Ok((rows, network.fabric, network.events, network.now))
}

fn slowest_uplink(topology: &Topology, host: HostId) -> Rate {
    let links = topology.uplinks_of(host);
    let rates = links.map(|link| topology.links[link as usize].config.rate);
    rates.min().unwrap_or(Rate::from_gbps(1))
}

impl Network<'_> {
    fn run(&mut self, control: &dyn RunControl) -> bool {
        let expected = self.config.workload.span() + self.config.drain;
        let mut until_look = LOOK_UP_EVERY;
        loop {
            let arrival = self.requests.peek().unwrap_or(Time::MAX);
            let end = match arrival {
                Time::MAX => self.books.last_start().saturating_add(self.config.drain),
                _ => Time::MAX,
            };
            let host_event = self.engine.peek().unwrap_or(Time::MAX);
            let limit = host_event.min(arrival).min(end);
            until_look -= 1;
            if until_look == 0 {
                until_look = LOOK_UP_EVERY;
                control.progress(self.now.since(Time::ZERO), expected);
                if control.stop() {
                    return false;
                }
            }
            if let Some(delivery) = self.fabric.advance(limit) {
                self.deliver(&delivery);
                continue;
            }
            if limit == end {
                return true;
            }
            self.now = limit;
            match host_event == limit {
                true => self.host_event(),
                false => self.start(),
            }
        }
    }

    fn start(&mut self) {
        let Some(request) = self.requests.next() else {
            return;
        };
        let drawn = self.requests.servers(request.number, self.copies_of_each);
        let servers: Vec<HostId> = drawn.into_iter().map(HostId).collect();
        let client = HostId(self.servers + request.client);
        let first = servers.first().copied().unwrap_or_default();
        self.books.started(&request, client, first);
        if let Part::Client(machine) = &mut self.hosts[client.0 as usize].part {
            let id = RequestId(request.number);
            machine.submit(self.now, id, request.bytes, &servers);
        }
        self.serve(client);
    }

    fn deliver(&mut self, delivery: &Delivery<Segment>) {
        self.now = delivery.time;
        let mut segment = delivery.body;
        if delivery.packet.ecn == tailcut_fabric::Ecn::Marked {
            segment.ecn = tailcut_transport::Ecn::Marked;
        }
        let host = delivery.host;
        self.hosts[host.0 as usize]
            .carrier
            .on_segment(self.now, &segment);
        self.serve(host);
    }

    fn host_event(&mut self) {
        let Some(event) = self.engine.pop_until(self.now) else {
            return;
        };
        self.events += 1;
        let number = event.entity() & !TIMER;
        let host = &mut self.hosts[number as usize];
        if event.entity() & TIMER == 0 {
            host.waits_for_nic = false;
        } else if host.timer_at == self.now {
            host.timer_at = Time::MAX;
            host.carrier.on_timeout(self.now);
            match &mut host.part {
                Part::Client(client) => client.on_timeout(self.now),
                Part::Server(server) => server.on_timeout(self.now),
                Part::Neither => {}
            }
        } else {
            return;
        }
        self.serve(HostId(number));
    }

    /// After any input to a host: its connections' events, what its part has to say, its NIC, its timer.
    fn serve(&mut self, number: HostId) {
        while let Some((class, event)) = self.hosts[number.0 as usize].carrier.poll_event() {
            self.connection_event(number, class, event);
        }
        match self.hosts[number.0 as usize].part {
            Part::Client(_) => self.serve_client(number),
            Part::Server(_) => self.serve_server(number),
            Part::Neither => {}
        }
        let host = &mut self.hosts[number.0 as usize];
        if !host.waits_for_nic && host.carrier.has_transmit() {
            let mut free_at = self.fabric.uplink_free_at(number);
            while free_at <= self.now
                && let Some(segment) = host.carrier.poll_transmit(self.now)
            {
                let packet = to_packet(&segment, &self.config.framing);
                inject(&mut self.fabric, self.now, number, packet, segment);
                free_at = self.fabric.uplink_free_at(number);
            }
            if free_at > self.now && host.carrier.has_transmit() {
                host.waits_for_nic = true;
                self.engine.push(Event::new(free_at, number.0, 0));
            }
        }
        let of_part = match &host.part {
            Part::Client(client) => client.next_timeout(),
            Part::Server(server) => server.next_timeout(),
            Part::Neither => None,
        };
        let due = host.carrier.next_timeout().into_iter().chain(of_part).min();
        if let Some(due) = due
            && due < host.timer_at
        {
            host.timer_at = due.max(self.now);
            self.engine
                .push(Event::new(host.timer_at, number.0 | TIMER, 0));
        }
    }

    fn connection_event(&mut self, host: HostId, class: u8, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Accepted { id, flow, .. } => {
                if let Some(copy) = self.copies.get_mut(flow.0 as usize) {
                    copy.accepted = Some(Carried { class, id });
                }
            }
            ConnectionEvent::Delivered { id, total }
            | ConnectionEvent::PeerFinished { id, total } => {
                let finished = matches!(event, ConnectionEvent::PeerFinished { .. });
                let flow = self.hosts[host.0 as usize]
                    .carrier
                    .flow(Carried { class, id });
                if let Some(flow) = flow {
                    self.received(host, flow, total, finished);
                }
            }
            ConnectionEvent::Reset { summary, .. } => self.ended(summary, End::Purged),
            ConnectionEvent::Failed { summary, .. } => self.ended(summary, End::Failed),
            ConnectionEvent::Closed { summary, .. } => self.ended(summary, End::Whole),
            ConnectionEvent::Established { .. } => {}
        }
    }

    /// Bytes of a copy arrived: of its answer at the client, or the whole request at its server.
    fn received(&mut self, host: HostId, flow: FlowId, total: u64, finished: bool) {
        let Some(copy) = self.copies.get_mut(flow.0 as usize) else {
            return;
        };
        match &mut self.hosts[host.0 as usize].part {
            Part::Client(client) => {
                let fresh = total - copy.delivered;
                copy.delivered = total;
                client.on_bytes(self.now, copy.header.copy, fresh);
            }
            Part::Server(server) if finished => {
                let id = copy.header.copy;
                let (cpu, seek) = self.requests.work(id.request.0, id.copy);
                let demand = Demand { cpu, seek };
                server.on_message(self.now, copy.client, copy.header, demand);
            }
            _ => {}
        }
    }

    /// A connection is over at one end. At the server's end that tells what was sent; if it was reset,
    /// work for it stops there and its packets leave the queues of NICs and switches.
    fn ended(&mut self, summary: Summary, end: End) {
        let flow = summary.flow;
        let Some(copy) = self.copies.get_mut(flow.0 as usize) else {
            return;
        };
        match summary.role {
            Role::Opener => copy.asked = None,
            Role::Acceptor => {
                copy.accepted = None;
                let (server, client, header) = (copy.server, copy.client, copy.header);
                if end != End::Whole {
                    self.purge_at(server, client, flow, header);
                }
                self.leave(header.copy, summary.stats, end == End::Purged);
            }
        }
    }

    fn purge_at(&mut self, server: HostId, client: HostId, flow: FlowId, header: RequestHeader) {
        if let Part::Server(machine) = &mut self.hosts[server.0 as usize].part {
            let policy = self.config.designs.requests.purge;
            let cancel = RequestHeader {
                purpose: Purpose::Cancel(policy),
                ..header
            };
            machine.on_message(self.now, client, cancel, Demand::default());
        }
        self.fabric.purge(|packet, segment| {
            segment.flow == flow && (packet.src, packet.dst) == (server, client)
        });
    }

    /// A copy has left its server with its connection.
    fn leave(&mut self, copy: CopyId, stats: FlowStats, is_purged: bool) {
        self.books.departed(Departure {
            time: self.now,
            copy,
            service: Duration::ZERO,
            sent: stats.payload_sent,
            is_purged,
        });
    }

    fn serve_client(&mut self, number: HostId) {
        loop {
            let host = &mut self.hosts[number.0 as usize];
            let Part::Client(client) = &mut host.part else {
                return;
            };
            if let Some(completion) = client.poll_completion() {
                self.books.completed(self.now, completion);
                continue;
            }
            let Some((server, header)) = client.poll_transmit() else {
                return;
            };
            match header.purpose {
                Purpose::Ask => {
                    let flow = FlowId(self.copies.len() as u32);
                    let bytes = self.config.designs.requests.request_size.0;
                    let asked = host
                        .carrier
                        .ask(self.now, header.priority, server, flow, bytes);
                    self.books.asked(header.copy);
                    self.flows.insert(header.copy, flow);
                    self.copies.push(Copy {
                        header,
                        client: number,
                        server,
                        asked,
                        accepted: None,
                        delivered: 0,
                    });
                }
                Purpose::Cancel(_) => {
                    let flow = self.flows.remove(&header.copy);
                    let copy = flow.and_then(|flow| self.copies.get_mut(flow.0 as usize));
                    if let Some(asked) = copy.and_then(|copy| copy.asked.take()) {
                        host.carrier.reset(self.now, asked);
                    }
                }
                // The classes of connections that are open stay: see the design's page.
                Purpose::Reprioritise => {}
            }
        }
    }

    fn serve_server(&mut self, number: HostId) {
        let host = &mut self.hosts[number.0 as usize];
        let Part::Server(server) = &mut host.part else {
            return;
        };
        while let Some(response) = server.poll_transmit() {
            let flow = self.flows.get(&response.copy);
            let copy = flow.and_then(|flow| self.copies.get(flow.0 as usize));
            if let Some(accepted) = copy.and_then(|copy| copy.accepted) {
                host.carrier.answer(self.now, accepted, response.bytes);
            }
        }
        while let Some(departure) = server.poll_departure() {
            // What it sends, and when it is gone, its connection tells.
            self.books.served(departure.copy, departure.service);
        }
    }

    /// Counts what connections that are still open have sent.
    fn count_open_connections(&mut self) {
        for copy in &self.copies {
            let carrier = &self.hosts[copy.server.0 as usize].carrier;
            if let Some(sent) = copy.accepted.and_then(|open| carrier.payload_sent(open)) {
                self.books.sent(copy.header.copy, sent);
            }
        }
    }
}
