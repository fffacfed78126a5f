//! Requests over the fabric. The clients and servers of [`tailcut_requests`] run on hosts.
//! Each copy has a class, and its own connection or message.
//! The first hosts are servers, and the next hosts are clients.

use super::copy::Copy;
use super::{RequestLog, source};
use crate::application::{Application, Desk, Order, Outcome};
use crate::config::{RequestsPart, RunConfig};
use crate::error::RunError;
use std::collections::{BTreeMap, BTreeSet};
use tailcut_fabric::topology::Topology;
use tailcut_requests::{
    CancelScope, Client, CopyId, Demand, Departure, Framed, Policy, Purpose, RequestHeader,
    RequestId, Response, Server, ServerEnd,
};
use tailcut_transport::copies::{Ask, CopyNews, CopyOrder, End, Side, copy_of_flow};
use tailcut_transport::{Event, FlowStats};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};
use tailcut_workload::Requests;

/// Role of a host.
enum HostRole {
    Client(Box<Client>),
    Server(Box<Server>),
    Neither,
}

impl HostRole {
    fn on_timeout(&mut self, now: Time) {
        match self {
            Self::Client(client) => client.on_timeout(now),
            Self::Server(server) => server.on_timeout(now),
            Self::Neither => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        match self {
            Self::Client(client) => client.next_timeout(),
            Self::Server(server) => server.next_timeout(),
            Self::Neither => None,
        }
    }
}

/// Clients and servers of a run on their hosts, and the copies between them.
pub(crate) struct Network {
    /// Role of each host.
    roles: Vec<HostRole>,
    requests: Requests,
    /// Number of servers, which are the first hosts.
    servers: u32,
    policy: Policy,
    /// Copies that a purge cancels at servers.
    purge: CancelScope,
    /// Size of a request in bytes, without the header.
    request: u64,
    /// Largest part of an answer, in bytes.
    part: u64,
    /// Copies. The index of a copy is its number, and the flow number of the copy contains this number.
    copies: Vec<Copy>,
    /// Numbers of copies at clients.
    copies_at_clients: BTreeMap<CopyId, u32>,
    /// Numbers of copies at servers.
    copies_at_servers: BTreeMap<CopyId, u32>,
    /// Times at which the driver must call hosts, each with its host.
    due: BTreeSet<(Time, u32)>,
    /// Time of the next call, by host.
    due_at: Vec<Option<Time>>,
    log: RequestLog,
}

impl Network {
    /// Creates the idle clients and servers of `part`. `label` is the number of the part in the workload.
    ///
    /// # Errors
    /// The workload cannot be generated, or parameters are inconsistent.
    pub fn new(
        config: &RunConfig,
        topology: &Topology,
        part: &RequestsPart,
        label: u64,
    ) -> Result<Self, RunError> {
        let parameters = &config.settings.designs.requests;
        let (servers, clients) = (part.servers, part.clients);
        if topology.hosts() < servers + clients {
            return Err(RunError::Requests("more servers and clients than hosts"));
        }
        let link = link_of_servers(topology, part);
        let requests = source(config, part, label, link).map_err(RunError::Workload)?;
        let policy = parameters.policy(config.stack.replication);
        let part_of = |number: u32| {
            Ok(if number < servers {
                HostRole::Server(Box::new(Server::new(parameters.server(None))))
            } else if number < servers + clients {
                HostRole::Client(Box::new(Client::new(policy).map_err(RunError::Requests)?))
            } else {
                HostRole::Neither
            })
        };
        // Without a disk and without chunk requests, the server has the complete answer immediately.
        // An answer without a disk and without chunks is a single part.
        let part = match parameters.disk.is_some() || policy.asks_in_pieces() {
            true => parameters.chunk.0,
            false => u64::MAX,
        };
        let hosts = topology.hosts();
        Ok(Self {
            roles: (0..hosts).map(part_of).collect::<Result<_, RunError>>()?,
            requests,
            servers,
            policy,
            purge: parameters.purge,
            request: parameters.request_size.0,
            part,
            copies: Vec::new(),
            copies_at_clients: BTreeMap::new(),
            copies_at_servers: BTreeMap::new(),
            due: BTreeSet::new(),
            due_at: vec![None; hosts as usize],
            log: RequestLog::new(policy.quorum),
        })
    }
}

/// Returns the rate of the servers' slowest link. The servers are the first hosts.
pub(crate) fn link_of_servers(topology: &Topology, part: &RequestsPart) -> Rate {
    let links = (0..part.servers).flat_map(|host| topology.uplinks_of(HostId(host)));
    let rates = links.map(|link| topology.links[link as usize].config.rate);
    rates.min().unwrap_or(Rate::from_gbps(1))
}

impl Application for Network {
    fn next(&self) -> Option<Time> {
        let due = self.due.first().map(|(time, _)| *time);
        Time::earlier(due, self.requests.peek())
    }

    fn begins_more(&self) -> bool {
        self.requests.peek().is_some()
    }

    /// At one instant, timeouts are handled before new requests start.
    fn act(&mut self, desk: &mut Desk<'_>) {
        let now = desk.now();
        if let Some((_, number)) = self.due.first().filter(|(time, _)| *time <= now) {
            let host = HostId(*number);
            self.roles[host.0 as usize].on_timeout(now);
            self.serve_host(host, desk);
        } else if self.requests.peek().is_some_and(|next| next <= now) {
            self.start(desk);
        }
    }

    fn event(&mut self, host: HostId, event: Event, desk: &mut Desk<'_>) {
        if let Event::Copy(number, news) = event {
            self.on_copy_event(host, number, news, desk);
            self.serve_host(host, desk);
        }
    }

    /// Returns whether priorities can be swapped.
    /// In this case an answer depends on the window, so the server passes the answer on in parts as segments depart.
    fn wants_departures(&self) -> bool {
        self.policy.swap_lead.is_some()
    }

    fn started(&self) -> u64 {
        self.log.so_far().started
    }

    /// Records the sent part of an unfinished answer.
    fn cut_off(&mut self, flow: FlowId, stats: FlowStats) {
        let number = copy_of_flow(flow);
        let copy = number.and_then(|number| self.copies.get(number as usize));
        if let Some(copy) = copy {
            let bytes = copy.object_bytes(stats.payload_sent);
            self.log.sent(copy.client.end.copy(), bytes);
        }
    }

    fn finish(self: Box<Self>, _desk: &mut Desk<'_>) -> Outcome {
        Outcome {
            requests: self.log.finish(),
            ..Outcome::default()
        }
    }
}

impl Network {
    fn start(&mut self, desk: &mut Desk<'_>) {
        let Some(request) = self.requests.next() else {
            return;
        };
        let copies = u32::from(self.policy.copies);
        let drawn = self.requests.servers(request.number, copies);
        let servers: Vec<HostId> = drawn.into_iter().map(HostId).collect();
        let client = HostId(self.servers + request.client);
        let first = servers.first().copied().unwrap_or_default();
        desk.recorder().began(request.start);
        self.log.started(&request, client, first);
        if let HostRole::Client(machine) = &mut self.roles[client.0 as usize] {
            let id = RequestId(request.number);
            machine.submit(desk.now(), id, request.bytes, &servers);
        }
        self.serve_host(client, desk);
    }

    /// Handles the output of a host after an input to the host, and updates the time of the host's next call.
    fn serve_host(&mut self, host: HostId, desk: &mut Desk<'_>) {
        match self.roles[host.0 as usize] {
            HostRole::Client(_) => self.serve_client(host, desk),
            HostRole::Server(_) => self.serve_server(host, desk),
            HostRole::Neither => {}
        }
        let next = self.roles[host.0 as usize].next_timeout();
        let due_at = &mut self.due_at[host.0 as usize];
        if *due_at != next {
            if let Some(was) = *due_at {
                self.due.remove(&(was, host.0));
            }
            self.due.extend(next.map(|time| (time, host.0)));
            *due_at = next;
        }
    }

    fn on_copy_event(&mut self, host: HostId, number: u32, news: CopyNews, desk: &mut Desk<'_>) {
        let now = desk.now();
        let Some(copy) = self.copies.get_mut(number as usize) else {
            return;
        };
        match news {
            CopyNews::Accepted { room } => copy.accept(self.part, room),
            CopyNews::Message => {
                let bytes = copy.messages.next_message();
                self.on_message_bytes(number, desk, |end| end.on_message_arrived(bytes));
            }
            CopyNews::Delivered { total } if host == copy.client.host => {
                self.on_answer_bytes(now, number, Some(total));
            }
            CopyNews::Delivered { total } => {
                self.on_message_bytes(number, desk, |end| end.on_arrived(total));
            }
            CopyNews::Room(room) => {
                if let Some(end) = &mut copy.server.end {
                    end.set_send_space(room);
                }
                self.write_answer(number, desk);
            }
            CopyNews::Whole => {
                self.on_answer_bytes(now, number, None);
                // The answer is complete, so the client sends no further message.
                desk.order(Order::Copy(host, CopyOrder::Finish { number }));
            }
            CopyNews::Ended { side, stats, end } => match side {
                Side::Client => copy.client.is_open = false,
                Side::Server => self.ended(now, number, stats, end),
            },
        }
    }

    /// Reports that the client has the first `total` bytes of an answer. `None` means all bytes.
    fn on_answer_bytes(&mut self, now: Time, number: u32, total: Option<u64>) {
        let copy = &mut self.copies[number as usize];
        if let HostRole::Client(machine) = &mut self.roles[copy.client.host.0 as usize] {
            copy.on_answer_bytes(now, total, machine);
        }
    }

    /// Records at the server that bytes of a client's messages have arrived, by calling `arrive`.
    /// After a call of `arrive`, the server processes all complete messages.
    fn on_message_bytes(
        &mut self,
        number: u32,
        desk: &mut Desk<'_>,
        arrive: impl FnOnce(&mut ServerEnd),
    ) {
        let copy = &mut self.copies[number as usize];
        let HostRole::Server(machine) = &mut self.roles[copy.server.host.0 as usize] else {
            return;
        };
        if let Some(end) = &mut copy.server.end {
            arrive(end);
        }
        while let Some(header) = copy.read_message() {
            let at = &copy.server;
            match header.purpose {
                Purpose::Ask => {
                    self.copies_at_servers.insert(header.copy, number);
                }
                Purpose::Reprioritise => {
                    let class = header.priority;
                    let order = CopyOrder::SetClass { number, class };
                    desk.order(Order::Copy(at.host, order));
                }
                Purpose::More | Purpose::Cancel(_) => {}
            }
            let id = header.copy;
            let (cpu, seek) = self.requests.work(id.request.0, id.copy);
            machine.on_message(desk.now(), at.client, header, Demand { cpu, seek });
        }
    }

    /// Passes the available part of an answer to the transport, up to the send space.
    fn write_answer(&mut self, number: u32, desk: &mut Desk<'_>) {
        let copy = &mut self.copies[number as usize];
        if let Some(answer) = copy.write_answer() {
            let order = CopyOrder::Answer { number, answer };
            desk.order(Order::Copy(copy.server.host, order));
        }
    }

    /// Handles the end of a copy's transfer at the server, and records the bytes that were sent.
    /// If the answer is incomplete, the server stops its work for the copy.
    fn ended(&mut self, now: Time, number: u32, stats: FlowStats, end: End) {
        let copy = &mut self.copies[number as usize];
        let at = &mut copy.server;
        at.is_open = false;
        if let Some(ask) = at.end.as_ref().and_then(ServerEnd::ask) {
            self.copies_at_servers.remove(&ask.copy);
            if end != End::Whole
                && let HostRole::Server(machine) = &mut self.roles[at.host.0 as usize]
            {
                let cancel = RequestHeader {
                    purpose: Purpose::Cancel(self.purge),
                    body: 0,
                    ..ask
                };
                machine.on_message(now, at.client, cancel, Demand::default());
            }
        }
        self.log.departed(Departure {
            time: now,
            copy: copy.client.end.copy(),
            service: Duration::ZERO,
            sent: copy.object_bytes(stats.payload_sent),
            is_purged: end == End::Purged,
        });
    }

    fn serve_client(&mut self, host: HostId, desk: &mut Desk<'_>) {
        let HostRole::Client(client) = &mut self.roles[host.0 as usize] else {
            return;
        };
        while let Some(completion) = client.poll_completion() {
            desk.recorder().ended();
            self.log.completed(desk.now(), completion);
        }
        while let Some((server, header)) = client.poll_transmit() {
            let mut order = |order| desk.order(Order::Copy(host, order));
            match header.purpose {
                Purpose::Ask => {
                    let header = RequestHeader {
                        body: self.request,
                        ..header
                    };
                    let number = self.copies.len() as u32;
                    order(CopyOrder::Ask(Ask {
                        number,
                        server,
                        class: header.priority,
                        bytes: header.framed_bytes(),
                    }));
                    // Further messages follow if priorities can change or if chunks are requested.
                    let more = self.policy.swap_lead.is_some() || self.policy.asks_in_pieces();
                    if !more {
                        order(CopyOrder::Finish { number });
                    }
                    self.log.copy_sent(header.copy);
                    self.copies_at_clients.insert(header.copy, number);
                    self.copies.push(Copy::new(header, host, server));
                }
                Purpose::Cancel(_) => {
                    let number = self.copies_at_clients.remove(&header.copy);
                    let Some(number) = number else { continue };
                    let at = &mut self.copies[number as usize].client;
                    if at.is_open {
                        at.is_open = false;
                        order(CopyOrder::Reset { number });
                    }
                }
                Purpose::More | Purpose::Reprioritise => {
                    let Some(&number) = self.copies_at_clients.get(&header.copy) else {
                        continue;
                    };
                    let copy = &mut self.copies[number as usize];
                    if copy.client.is_open {
                        let (class, bytes) = (header.priority, header.framed_bytes());
                        order(CopyOrder::SetClass { number, class });
                        order(CopyOrder::Say { number, bytes });
                        copy.messages.write(header);
                    }
                }
            }
        }
    }

    fn serve_server(&mut self, host: HostId, desk: &mut Desk<'_>) {
        let HostRole::Server(server) = &mut self.roles[host.0 as usize] else {
            return;
        };
        let responses: Vec<Response> = std::iter::from_fn(|| server.poll_transmit()).collect();
        while let Some(departure) = server.poll_departure() {
            // Only the service time is recorded here. The transport reports the bytes and the time of departure later.
            self.log.served(departure.copy, departure.service);
        }
        for response in responses {
            if let Some(&number) = self.copies_at_servers.get(&response.copy) {
                if let Some(end) = &mut self.copies[number as usize].server.end {
                    end.add(response.bytes);
                }
                self.write_answer(number, desk);
            }
        }
    }
}
