//! Requests over the fabric: clients and servers of [`tailcut_transport::rans`] on its hosts, each copy in its
//! class over what carries it. The first hosts are servers, those behind them clients.

use super::{Books, source};
use crate::application::{Application, Desk, Order, Outcome};
use crate::config::{RequestsPart, RunConfig};
use crate::error::RunError;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tailcut_fabric::topology::Topology;
use tailcut_transport::rans::{
    Answer, Ask, CancelScope, Client, CopyId, CopyNews, CopyOrder, Demand, Departure, End, Policy,
    Purpose, RequestHeader, RequestId, Server, Side, copy_of_flow,
};
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

/// A window that an answer tells and that is not at the client yet.
struct Told {
    /// The client knows it once it has this many bytes of the answer.
    through: u64,
    /// The window in bytes.
    window: u64,
}

/// A copy on its way. Segments carry no payload here: what the bytes of either end mean stands beside
/// them, by the byte that ends it, and the other end reads it once it has that byte.
struct Copy {
    header: RequestHeader,
    client: HostId,
    server: HostId,
    /// Whether the client may say more.
    is_asked: bool,
    /// Whether the server may answer.
    is_accepted: bool,
    /// Bytes that the client has said.
    said: u64,
    /// What they mean: messages that are not at the server yet, with their last byte's end.
    messages: VecDeque<(u64, RequestHeader)>,
    /// Bytes of the answer that the client has.
    delivered: u64,
    windows: VecDeque<Told>,
}

impl Copy {
    /// The next message of which the server has every byte, once it has `total`.
    fn message_within(&mut self, total: u64) -> Option<RequestHeader> {
        let (end, _) = self.messages.front()?;
        let is_whole = *end <= total;
        is_whole
            .then(|| self.messages.pop_front())?
            .map(|(_, header)| header)
    }

    /// The client has `total` bytes of the answer, and what they tell.
    fn heard(&mut self, now: Time, client: &mut Client, total: u64) {
        let id = self.header.copy;
        while let Some(told) = self.windows.front()
            && told.through <= total
        {
            client.on_window(id, told.window);
            self.windows.pop_front();
        }
        let fresh = total - self.delivered;
        self.delivered = total;
        client.on_bytes(now, id, fresh);
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
    /// Bytes of a client's message.
    message: u64,
    /// By their numbers, which their flows have.
    copies: Vec<Copy>,
    numbers: BTreeMap<CopyId, u32>,
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
        let policy = parameters.policy(config.design.replication);
        let part_of = |number: u32| {
            Ok(if number < servers {
                Part::Server(Box::new(Server::new(parameters.server(None))))
            } else if number < servers + clients {
                Part::Client(Box::new(Client::new(policy).map_err(RunError::Requests)?))
            } else {
                Part::Neither
            })
        };
        let hosts = topology.hosts();
        Ok(Self {
            parts: (0..hosts).map(part_of).collect::<Result<_, RunError>>()?,
            requests,
            servers,
            policy,
            purge: parameters.purge,
            message: parameters.request_size.0,
            copies: Vec::new(),
            numbers: BTreeMap::new(),
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

    /// Answers tell their senders' windows as they leave.
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
            self.books.sent(copy.header.copy, stats.payload_sent);
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
            CopyNews::Accepted => copy.is_accepted = true,
            CopyNews::Message => {
                if let Some((_, header)) = copy.messages.pop_front() {
                    self.heard(number, header, desk);
                }
            }
            CopyNews::Delivered { total } if host == copy.client => {
                if let Part::Client(client) = &mut self.parts[host.0 as usize] {
                    copy.heard(now, client, total);
                }
            }
            CopyNews::Delivered { total } => {
                while let Some(header) = self.copies[number as usize].message_within(total) {
                    self.heard(number, header, desk);
                }
            }
            CopyNews::Told { through, window } => {
                if copy.windows.back().map(|last| last.window) != Some(window) {
                    copy.windows.push_back(Told { through, window });
                }
            }
            CopyNews::Whole => {
                if let Part::Client(client) = &mut self.parts[host.0 as usize] {
                    copy.heard(now, client, copy.header.object);
                }
                // No message follows.
                desk.order(Order::Copy(host, CopyOrder::Finish { number }));
            }
            CopyNews::Ended { side, stats, end } => match side {
                Side::Client => copy.is_asked = false,
                Side::Server => self.ended(now, number, stats, end),
            },
        }
    }

    /// A message of a copy's client is at its server.
    fn heard(&mut self, number: u32, header: RequestHeader, desk: &mut Desk<'_>) {
        let copy = &self.copies[number as usize];
        let Part::Server(server) = &mut self.parts[copy.server.0 as usize] else {
            return;
        };
        let id = header.copy;
        let (cpu, seek) = self.requests.work(id.request.0, id.copy);
        server.on_message(desk.now(), copy.client, header, Demand { cpu, seek });
        if header.purpose == Purpose::Reprioritise && copy.is_accepted {
            let class = header.priority;
            let order = CopyOrder::SetClass { number, class };
            desk.order(Order::Copy(copy.server, order));
        }
    }

    /// What carried a copy is over at its server, which tells what was sent. If it did not end whole, work
    /// for it stops there.
    fn ended(&mut self, now: Time, number: u32, stats: FlowStats, end: End) {
        let copy = &mut self.copies[number as usize];
        copy.is_accepted = false;
        let header = copy.header;
        if end != End::Whole
            && let Part::Server(server) = &mut self.parts[copy.server.0 as usize]
        {
            let cancel = RequestHeader {
                purpose: Purpose::Cancel(self.purge),
                ..header
            };
            server.on_message(now, copy.client, cancel, Demand::default());
        }
        self.books.departed(Departure {
            time: now,
            copy: header.copy,
            service: Duration::ZERO,
            sent: stats.payload_sent,
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
            let bytes = self.message;
            let mut order = |order| desk.order(Order::Copy(host, order));
            match header.purpose {
                Purpose::Ask => {
                    let number = self.copies.len() as u32;
                    order(CopyOrder::Ask(Ask {
                        number,
                        server,
                        class: header.priority,
                        bytes,
                    }));
                    // Where classes may change or pieces are asked for, messages may follow.
                    let more = self.policy.swap_lead.is_some() || self.policy.asks_in_pieces();
                    if !more {
                        order(CopyOrder::Finish { number });
                    }
                    self.books.asked(header.copy);
                    self.numbers.insert(header.copy, number);
                    self.copies.push(Copy {
                        header,
                        client: host,
                        server,
                        is_asked: true,
                        is_accepted: false,
                        said: bytes,
                        messages: VecDeque::from([(bytes, header)]),
                        delivered: 0,
                        windows: VecDeque::new(),
                    });
                }
                Purpose::Cancel(_) => {
                    let number = self.numbers.remove(&header.copy);
                    let Some(number) = number else { continue };
                    let copy = &mut self.copies[number as usize];
                    if copy.is_asked {
                        copy.is_asked = false;
                        order(CopyOrder::Reset { number });
                    }
                }
                Purpose::More | Purpose::Reprioritise => {
                    let Some(&number) = self.numbers.get(&header.copy) else {
                        continue;
                    };
                    let copy = &mut self.copies[number as usize];
                    if copy.is_asked {
                        let class = header.priority;
                        order(CopyOrder::SetClass { number, class });
                        order(CopyOrder::Say { number, bytes });
                        copy.said += bytes;
                        copy.messages.push_back((copy.said, header));
                    }
                }
            }
        }
    }

    fn serve_server(&mut self, host: HostId, desk: &mut Desk<'_>) {
        let Part::Server(server) = &mut self.parts[host.0 as usize] else {
            return;
        };
        while let Some(response) = server.poll_transmit() {
            let Some(&number) = self.numbers.get(&response.copy) else {
                continue;
            };
            let copy = &self.copies[number as usize];
            if copy.is_accepted {
                let answer = Answer {
                    client: copy.client,
                    class: response.priority,
                    bytes: response.bytes,
                    of: copy.header.object,
                    is_last: response.is_last,
                };
                desk.order(Order::Copy(host, CopyOrder::Answer { number, answer }));
            }
        }
        while let Some(departure) = server.poll_departure() {
            // What it sends, and when it is gone, what carries it tells.
            self.books.served(departure.copy, departure.service);
        }
    }
}
