//! Requests over the fabric: clients and servers of [`tailcut_transport::rans`] on its hosts, each copy in its
//! class over what carries it. The first hosts are servers, those behind them clients.

use super::{Books, source};
use crate::config::{RequestsPart, RunConfig};
use crate::extent::Started;
use crate::layer::{Layer, PurgeKeys};
use crate::run::RunError;
use std::collections::{BTreeMap, VecDeque};
use tailcut_fabric::topology::Topology;
use tailcut_record::RunRecord;
use tailcut_transport::FlowStats;
use tailcut_transport::rans::{
    Answer, Ask, Carry, Client, CopyChange, CopyEvent, CopyId, Demand, Departure, End, Policy,
    Purpose, RequestHeader, RequestId, Server, ToldWindow, purge_key, purges,
};
use tailcut_transport::tcp::Role;
use tailcut_units::{Duration, HostId, Rate, Time};
use tailcut_workload::Requests;

/// What a host does with requests.
enum Part {
    Client(Box<Client>),
    Server(Box<Server>),
    Neither,
}

/// A copy on its way, and the ends of what carries it.
struct Copy<H> {
    header: RequestHeader,
    client: HostId,
    server: HostId,
    asked: Option<H>,
    accepted: Option<H>,
    /// Bytes that the client has said.
    said: u64,
    /// What they mean: messages that are not at the server yet, with their last byte's end.
    messages: VecDeque<(u64, RequestHeader)>,
    /// Bytes of the answer that the client has.
    delivered: u64,
    /// Windows that the answer tells and that are not at the client yet.
    windows: VecDeque<ToldWindow>,
}

impl<H> Copy<H> {
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
pub(crate) struct Network<'a, H> {
    config: &'a RunConfig,
    /// By host.
    parts: Vec<Part>,
    requests: Requests,
    /// How many hosts are servers.
    servers: u32,
    policy: Policy,
    /// By their numbers, which their flows have.
    copies: Vec<Copy<H>>,
    numbers: BTreeMap<CopyId, u32>,
    books: Books,
}

impl<'a, H: std::marker::Copy> Network<'a, H> {
    /// Clients and servers of `part`, the workload's part `label`, that have nothing to do yet.
    ///
    /// # Errors
    /// A workload that cannot be drawn, or parameters that make no sense.
    pub fn new(
        config: &'a RunConfig,
        topology: &Topology,
        part: &RequestsPart,
        label: u64,
    ) -> Result<Self, RunError> {
        let parameters = &config.designs.requests;
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
        Ok(Self {
            config,
            parts: (0..topology.hosts())
                .map(part_of)
                .collect::<Result<_, RunError>>()?,
            requests,
            servers,
            policy,
            copies: Vec::new(),
            numbers: BTreeMap::new(),
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

impl<C: Carry> Layer<C> for Network<'_, C::Handle> {
    const PURGE_KEYS: Option<PurgeKeys> = Some(PurgeKeys {
        of: purge_key,
        purged_by: purges,
    });

    fn peek(&self) -> Option<Time> {
        self.requests.peek()
    }

    fn start(&mut self, now: Time) -> Option<HostId> {
        let request = self.requests.next()?;
        let copies = u32::from(self.policy.copies);
        let drawn = self.requests.servers(request.number, copies);
        let servers: Vec<HostId> = drawn.into_iter().map(HostId).collect();
        let client = HostId(self.servers + request.client);
        let first = servers.first().copied().unwrap_or_default();
        self.books.started(&request, client, first);
        if let Part::Client(machine) = &mut self.parts[client.0 as usize] {
            machine.submit(now, RequestId(request.number), request.bytes, &servers);
        }
        Some(client)
    }

    /// What happened to the host's copies, then what its part has to say.
    fn serve(&mut self, now: Time, host: HostId, carrier: &mut C) {
        while let Some(event) = carrier.poll_copy() {
            self.copy_event(now, host, carrier, event);
        }
        match self.parts[host.0 as usize] {
            Part::Client(_) => self.serve_client(now, host, carrier),
            Part::Server(_) => self.serve_server(now, host, carrier),
            Part::Neither => {}
        }
    }

    fn sent(&mut self, carrier: &mut C) {
        while let Some(told) = carrier.poll_told() {
            if let Some(copy) = self.copies.get_mut(told.number as usize)
                && copy.windows.back().map(|last| last.window) != Some(told.window)
            {
                copy.windows.push_back(told);
            }
        }
    }

    fn on_timeout(&mut self, now: Time, host: HostId) {
        match &mut self.parts[host.0 as usize] {
            Part::Client(client) => client.on_timeout(now),
            Part::Server(server) => server.on_timeout(now),
            Part::Neither => {}
        }
    }

    fn next_timeout(&self, host: HostId) -> Option<Time> {
        match &self.parts[host.0 as usize] {
            Part::Client(client) => client.next_timeout(),
            Part::Server(server) => server.next_timeout(),
            Part::Neither => None,
        }
    }

    fn last_start(&self) -> Time {
        self.books.last_start()
    }

    fn started(&self) -> Started {
        self.books.so_far()
    }

    fn finish(mut self, carriers: &[C], record: &mut RunRecord) {
        self.count_open_answers(carriers);
        record.requests = self.books.finish();
    }
}

impl<H: std::marker::Copy> Network<'_, H> {
    fn copy_event<C: Carry<Handle = H>>(
        &mut self,
        now: Time,
        host: HostId,
        carrier: &mut C,
        event: CopyEvent<H>,
    ) {
        let CopyEvent { number, change } = event;
        let Some(copy) = self.copies.get_mut(number as usize) else {
            return;
        };
        let is_client = host == copy.client;
        match change {
            CopyChange::Accepted(handle) => copy.accepted = Some(handle),
            CopyChange::Message => {
                let message = copy.messages.pop_front();
                self.heard(now, number, carrier, message.map(|(_, header)| header));
            }
            CopyChange::Delivered { total } if is_client => {
                if let Part::Client(client) = &mut self.parts[host.0 as usize] {
                    copy.heard(now, client, total);
                }
            }
            CopyChange::Delivered { total } => {
                while let Some(header) = self.copies[number as usize].message_within(total) {
                    self.heard(now, number, carrier, Some(header));
                }
            }
            CopyChange::Whole => {
                if let Part::Client(client) = &mut self.parts[host.0 as usize] {
                    copy.heard(now, client, copy.header.object);
                }
                // No message follows.
                if let Some(asked) = copy.asked {
                    carrier.finish(now, asked);
                }
            }
            CopyChange::Ended { role, stats, end } => self.ended(now, number, role, stats, end),
        }
    }

    /// A message of a copy's client is at its server.
    fn heard<C: Carry<Handle = H>>(
        &mut self,
        now: Time,
        number: u32,
        carrier: &mut C,
        message: Option<RequestHeader>,
    ) {
        let copy = &mut self.copies[number as usize];
        let (Some(header), Part::Server(server)) =
            (message, &mut self.parts[copy.server.0 as usize])
        else {
            return;
        };
        let id = header.copy;
        let (cpu, seek) = self.requests.work(id.request.0, id.copy);
        server.on_message(now, copy.client, header, Demand { cpu, seek });
        if header.purpose == Purpose::Reprioritise
            && let Some(accepted) = &mut copy.accepted
        {
            *accepted = carrier.set_class(now, *accepted, header.priority);
        }
    }

    /// What carried a copy is over at one end. At the server's end that tells what was sent; if it did not
    /// end whole, work for it stops there.
    fn ended(&mut self, now: Time, number: u32, role: Role, stats: FlowStats, end: End) {
        let Some(copy) = self.copies.get_mut(number as usize) else {
            return;
        };
        match role {
            Role::Opener => copy.asked = None,
            Role::Acceptor => {
                copy.accepted = None;
                let (server, client, header) = (copy.server, copy.client, copy.header);
                if end != End::Whole {
                    self.cancel_at(now, server, client, header);
                }
                self.leave(now, header.copy, stats, end == End::Purged);
            }
        }
    }

    fn cancel_at(&mut self, now: Time, server: HostId, client: HostId, header: RequestHeader) {
        if let Part::Server(machine) = &mut self.parts[server.0 as usize] {
            let scope = self.config.designs.requests.purge;
            let cancel = RequestHeader {
                purpose: Purpose::Cancel(scope),
                ..header
            };
            machine.on_message(now, client, cancel, Demand::default());
        }
    }

    /// A copy has left its server.
    fn leave(&mut self, now: Time, copy: CopyId, stats: FlowStats, is_purged: bool) {
        self.books.departed(Departure {
            time: now,
            copy,
            service: Duration::ZERO,
            sent: stats.payload_sent,
            is_purged,
        });
    }

    fn serve_client<C: Carry<Handle = H>>(&mut self, now: Time, host: HostId, carrier: &mut C) {
        let Part::Client(client) = &mut self.parts[host.0 as usize] else {
            return;
        };
        while let Some(completion) = client.poll_completion() {
            self.books.completed(now, completion);
        }
        while let Some((server, header)) = client.poll_transmit() {
            match header.purpose {
                Purpose::Ask => {
                    let number = self.copies.len() as u32;
                    let bytes = self.config.designs.requests.request_size.0;
                    let asked = carrier.ask(
                        now,
                        Ask {
                            number,
                            server,
                            class: header.priority,
                            bytes,
                        },
                    );
                    // Where classes may change or pieces are asked for, messages may follow.
                    let more = self.policy.swap_lead.is_some() || self.policy.asks_in_pieces();
                    if let Some(asked) = asked.filter(|_| !more) {
                        carrier.finish(now, asked);
                    }
                    self.books.asked(header.copy);
                    self.numbers.insert(header.copy, number);
                    self.copies.push(Copy {
                        header,
                        client: host,
                        server,
                        asked,
                        accepted: None,
                        said: bytes,
                        messages: VecDeque::from([(bytes, header)]),
                        delivered: 0,
                        windows: VecDeque::new(),
                    });
                }
                Purpose::Cancel(_) => {
                    let number = self.numbers.remove(&header.copy);
                    let copy = number.and_then(|number| self.copies.get_mut(number as usize));
                    if let Some(asked) = copy.and_then(|copy| copy.asked.take()) {
                        carrier.reset(now, asked);
                    }
                }
                Purpose::More | Purpose::Reprioritise => {
                    let number = self.numbers.get(&header.copy);
                    let copy = number.and_then(|number| self.copies.get_mut(*number as usize));
                    if let Some(copy) = copy
                        && let Some(asked) = &mut copy.asked
                    {
                        *asked = carrier.set_class(now, *asked, header.priority);
                        let bytes = self.config.designs.requests.request_size.0;
                        carrier.say(now, *asked, bytes);
                        copy.said += bytes;
                        copy.messages.push_back((copy.said, header));
                    }
                }
            }
        }
    }

    fn serve_server<C: Carry<Handle = H>>(&mut self, now: Time, host: HostId, carrier: &mut C) {
        let Part::Server(server) = &mut self.parts[host.0 as usize] else {
            return;
        };
        while let Some(response) = server.poll_transmit() {
            let number = self.numbers.get(&response.copy);
            let copy = number.and_then(|number| self.copies.get(*number as usize));
            if let Some(copy) = copy
                && let Some(accepted) = copy.accepted
            {
                let answer = Answer {
                    client: copy.client,
                    class: response.priority,
                    bytes: response.bytes,
                    of: copy.header.object,
                    is_last: response.is_last,
                };
                carrier.answer(now, accepted, answer);
            }
        }
        while let Some(departure) = server.poll_departure() {
            // What it sends, and when it is gone, what carries it tells.
            self.books.served(departure.copy, departure.service);
        }
    }

    /// Counts what has been sent of answers that have not ended.
    fn count_open_answers<C: Carry<Handle = H>>(&mut self, carriers: &[C]) {
        for copy in &self.copies {
            let carrier = &carriers[copy.server.0 as usize];
            if let Some(sent) = copy.accepted.and_then(|open| carrier.payload_sent(open)) {
                self.books.sent(copy.header.copy, sent);
            }
        }
    }
}
