//! Requests over the fabric: clients and servers of [`tailcut_requests`] on its hosts, each copy in its
//! class over what carries it. The first hosts are servers, those behind them clients.

use super::copy::Copy;
use super::{Books, source};
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

/// What a host does with requests.
enum Part {
    Client(Box<Client>),
    Server(Box<Server>),
    Neither,
}

impl Part {
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

/// The clients and servers of a run, on the hosts that are theirs, and what is between them.
pub(crate) struct Network {
    /// By host.
    parts: Vec<Part>,
    requests: Requests,
    /// How many hosts are servers.
    servers: u32,
    policy: Policy,
    /// What a purge takes away at servers.
    purge: CancelScope,
    /// Bytes of a request, which follow the header of an ask.
    request: u64,
    /// Bytes of the parts of an answer, at most.
    part: u64,
    /// By their numbers, which their flows have.
    copies: Vec<Copy>,
    /// Numbers of copies that clients want.
    asked: BTreeMap<CopyId, u32>,
    /// Numbers of copies that servers know of.
    served: BTreeMap<CopyId, u32>,
    /// When parts want to be called next, and which.
    due: BTreeSet<(Time, u32)>,
    /// The same by host.
    due_at: Vec<Option<Time>>,
    books: Books,
}

impl Network {
    /// Clients and servers of `part`, the workload's part `label`, that have nothing to do yet.
    ///
    /// # Errors
    /// A workload that cannot be drawn, or parameters that make no sense.
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
                Part::Server(Box::new(Server::new(parameters.server(None))))
            } else if number < servers + clients {
                Part::Client(Box::new(Client::new(policy).map_err(RunError::Requests)?))
            } else {
                Part::Neither
            })
        };
        // An answer that its server does not have by chunks leaves as one part.
        let part = match parameters.disk.is_some() || policy.asks_in_pieces() {
            true => parameters.chunk.0,
            false => u64::MAX,
        };
        let hosts = topology.hosts();
        Ok(Self {
            parts: (0..hosts).map(part_of).collect::<Result<_, RunError>>()?,
            requests,
            servers,
            policy,
            purge: parameters.purge,
            request: parameters.request_size.0,
            part,
            copies: Vec::new(),
            asked: BTreeMap::new(),
            served: BTreeMap::new(),
            due: BTreeSet::new(),
            due_at: vec![None; hosts as usize],
            books: Books::new(policy.quorum),
        })
    }
}

/// The slowest link of the servers, which are the first hosts.
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

    /// What stations finish, then what starts.
    fn act(&mut self, desk: &mut Desk<'_>) {
        let now = desk.now();
        if let Some((_, number)) = self.due.first().filter(|(time, _)| *time <= now) {
            let host = HostId(*number);
            self.parts[host.0 as usize].on_timeout(now);
            self.settle(host, desk);
        } else if self.requests.peek().is_some_and(|next| next <= now) {
            self.start(desk);
        }
    }

    fn event(&mut self, host: HostId, event: Event, desk: &mut Desk<'_>) {
        if let Event::Copy(number, news) = event {
            self.copy_news(host, number, news, desk);
            self.settle(host, desk);
        }
    }

    /// Answers that tell windows are handed over as they leave.
    fn hears_departures(&self) -> bool {
        self.policy.swap_lead.is_some()
    }

    fn started(&self) -> u64 {
        self.books.so_far().started
    }

    /// What has been sent of an answer that has not ended.
    fn cut_off(&mut self, flow: FlowId, stats: FlowStats) {
        let number = copy_of_flow(flow);
        let copy = number.and_then(|number| self.copies.get(number as usize));
        if let Some(copy) = copy {
            let bytes = copy.object_bytes(stats.payload_sent);
            self.books.sent(copy.client.end.copy(), bytes);
        }
    }

    fn finish(self: Box<Self>, _desk: &mut Desk<'_>) -> Outcome {
        Outcome {
            requests: self.books.finish(),
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
        self.books.started(&request, client, first);
        if let Part::Client(machine) = &mut self.parts[client.0 as usize] {
            let id = RequestId(request.number);
            machine.submit(desk.now(), id, request.bytes, &servers);
        }
        self.settle(client, desk);
    }

    /// After any input to a host's part: what it has to say, and when it wants to be called next.
    fn settle(&mut self, host: HostId, desk: &mut Desk<'_>) {
        match self.parts[host.0 as usize] {
            Part::Client(_) => self.serve_client(host, desk),
            Part::Server(_) => self.serve_server(host, desk),
            Part::Neither => {}
        }
        let next = self.parts[host.0 as usize].next_timeout();
        let due_at = &mut self.due_at[host.0 as usize];
        if *due_at != next {
            if let Some(was) = *due_at {
                self.due.remove(&(was, host.0));
            }
            self.due.extend(next.map(|time| (time, host.0)));
            *due_at = next;
        }
    }

    fn copy_news(&mut self, host: HostId, number: u32, news: CopyNews, desk: &mut Desk<'_>) {
        let now = desk.now();
        let Some(copy) = self.copies.get_mut(number as usize) else {
            return;
        };
        match news {
            CopyNews::Accepted { room } => copy.accept(self.part, room),
            CopyNews::Message => {
                let bytes = copy.messages.next_message();
                self.hear_messages(number, desk, |end| end.on_message_arrived(bytes));
            }
            CopyNews::Delivered { total } if host == copy.client.host => {
                self.hear_answer(now, number, Some(total));
            }
            CopyNews::Delivered { total } => {
                self.hear_messages(number, desk, |end| end.on_arrived(total));
            }
            CopyNews::Room(room) => {
                if let Some(end) = &mut copy.server.end {
                    end.set_room(room);
                }
                self.write_answer(number, desk);
            }
            CopyNews::Whole => {
                self.hear_answer(now, number, None);
                // No message follows.
                desk.order(Order::Copy(host, CopyOrder::Finish { number }));
            }
            CopyNews::Ended { side, stats, end } => match side {
                Side::Client => copy.client.is_open = false,
                Side::Server => self.ended(now, number, stats, end),
            },
        }
    }

    /// The client has the first `total` bytes of an answer; `None`: all of it.
    fn hear_answer(&mut self, now: Time, number: u32, total: Option<u64>) {
        let copy = &mut self.copies[number as usize];
        if let Part::Client(machine) = &mut self.parts[copy.client.host.0 as usize] {
            copy.hear_answer(now, total, machine);
        }
    }

    /// Bytes of a client's messages have arrived, as `arrive` tells: the server hears those that are whole.
    fn hear_messages(
        &mut self,
        number: u32,
        desk: &mut Desk<'_>,
        arrive: impl FnOnce(&mut ServerEnd),
    ) {
        let copy = &mut self.copies[number as usize];
        let Part::Server(machine) = &mut self.parts[copy.server.host.0 as usize] else {
            return;
        };
        if let Some(end) = &mut copy.server.end {
            arrive(end);
        }
        while let Some(header) = copy.hear_message() {
            let at = &copy.server;
            match header.purpose {
                Purpose::Ask => {
                    self.served.insert(header.copy, number);
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

    /// The server hands over what there is of an answer, and room for.
    fn write_answer(&mut self, number: u32, desk: &mut Desk<'_>) {
        let copy = &mut self.copies[number as usize];
        if let Some(answer) = copy.write_answer() {
            let order = CopyOrder::Answer { number, answer };
            desk.order(Order::Copy(copy.server.host, order));
        }
    }

    /// What carried a copy is over at its server, which tells what was sent. If it did not end whole, work
    /// for it stops there.
    fn ended(&mut self, now: Time, number: u32, stats: FlowStats, end: End) {
        let copy = &mut self.copies[number as usize];
        let at = &mut copy.server;
        at.is_open = false;
        if let Some(ask) = at.end.as_ref().and_then(ServerEnd::ask) {
            self.served.remove(&ask.copy);
            if end != End::Whole
                && let Part::Server(machine) = &mut self.parts[at.host.0 as usize]
            {
                let cancel = RequestHeader {
                    purpose: Purpose::Cancel(self.purge),
                    body: 0,
                    ..ask
                };
                machine.on_message(now, at.client, cancel, Demand::default());
            }
        }
        self.books.departed(Departure {
            time: now,
            copy: copy.client.end.copy(),
            service: Duration::ZERO,
            sent: copy.object_bytes(stats.payload_sent),
            is_purged: end == End::Purged,
        });
    }

    fn serve_client(&mut self, host: HostId, desk: &mut Desk<'_>) {
        let Part::Client(client) = &mut self.parts[host.0 as usize] else {
            return;
        };
        while let Some(completion) = client.poll_completion() {
            desk.recorder().ended();
            self.books.completed(desk.now(), completion);
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
                    // Where classes may change or pieces are asked for, messages may follow.
                    let more = self.policy.swap_lead.is_some() || self.policy.asks_in_pieces();
                    if !more {
                        order(CopyOrder::Finish { number });
                    }
                    self.books.asked(header.copy);
                    self.asked.insert(header.copy, number);
                    self.copies.push(Copy::new(header, host, server));
                }
                Purpose::Cancel(_) => {
                    let number = self.asked.remove(&header.copy);
                    let Some(number) = number else { continue };
                    let at = &mut self.copies[number as usize].client;
                    if at.is_open {
                        at.is_open = false;
                        order(CopyOrder::Reset { number });
                    }
                }
                Purpose::More | Purpose::Reprioritise => {
                    let Some(&number) = self.asked.get(&header.copy) else {
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
        let Part::Server(server) = &mut self.parts[host.0 as usize] else {
            return;
        };
        let responses: Vec<Response> = std::iter::from_fn(|| server.poll_transmit()).collect();
        while let Some(departure) = server.poll_departure() {
            // What it sends, and when it is gone, what carries it tells.
            self.books.served(departure.copy, departure.service);
        }
        for response in responses {
            if let Some(&number) = self.served.get(&response.copy) {
                if let Some(end) = &mut self.copies[number as usize].server.end {
                    end.add(response.bytes);
                }
                self.write_answer(number, desk);
            }
        }
    }
}
