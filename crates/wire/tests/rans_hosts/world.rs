//! Clients, servers and a network between them.
//! The network passes RANS headers separately from segments, or it passes only bytes.

use crate::bytes::{Carried, Sessions};
use crate::object::{Asked, byte_at};
use std::collections::{BTreeMap, BTreeSet};
use tailcut_requests::{
    AnswerHeader, Client, ClientEnd, Completion, CopyId, Demand, Discipline, Framed, Policy,
    Preemption, Purpose, RequestHeader, RequestId, Server, ServerConfig, ServerEnd, SideChannel,
};
use tailcut_transport::copies::{Answer, Ask, CopyNews, CopyOrder, Side};
use tailcut_transport::{Condition, Event, Segment, Transport};
use tailcut_units::{Duration, HostId, Rate, Time, mix64};
use tailcut_wire::rans::{MAX_BYTES, RansHeader, Unread, decode, encode};

/// Number of servers, and number of clients. Hosts 0 to `SERVERS - 1` are servers, and the next hosts are clients.
pub const SERVERS: usize = 3;
pub const CLIENTS: usize = 2;
/// Time from the sending host to the receiving host.
const DELAY: Duration = Duration::from_us(5);
/// Time between two packets of one host.
const GAP: Duration = Duration::from_ns(1_230);
/// Bytes of the application's request, which follow the header of an ask.
const REQUEST: u64 = 100;
/// Largest number of bytes in one part of an answer, and in one read from the disk.
const PART: u64 = 10_000;

/// Faults of the network: how many of 100 packets have each fault, on average. The packets are chosen at random.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub seed: u64,
    pub lost: u64,
    pub trimmed: u64,
    pub doubled: u64,
}

/// Scenario of a test: the policy of the clients, and their requests.
#[derive(Clone, Debug)]
pub struct Story {
    pub policy: Policy,
    /// Start time of each request in microseconds, and the size of its object in bytes.
    pub requests: Vec<(u64, u64)>,
}

/// Event at the client or the server of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A server has received a message.
    Asked(RequestHeader),
    /// The given number of bytes of an answer's stream has arrived at a client.
    Answered(CopyId, u64),
    /// A request is complete.
    Done(Completion),
}

/// Way in which the headers of a copy get from the client to the server, and back.
enum Way {
    Beside(SideChannel<RequestHeader>, SideChannel<AnswerHeader>),
    Bytes {
        messages: Unread<RequestHeader>,
        answers: Unread<AnswerHeader>,
        /// Number of messages that have been read, if each message is a separate session of the transport.
        heard: usize,
        /// Number of bytes that have been reported to the reader of messages and to the reader of answers.
        told: [u64; 2],
    },
}

struct Copy {
    client: usize,
    server: usize,
    is_open: bool,
    client_end: ClientEnd,
    server_end: Option<ServerEnd>,
    way: Way,
    /// Ranges that the client has requested, and ranges that the server has received.
    asked: [Asked; 2],
    /// Header of the message that cancels the copy.
    cancel: Option<RequestHeader>,
}

pub struct World<T> {
    hosts: Vec<T>,
    servers: Vec<Server>,
    clients: Vec<Client>,
    story: Story,
    faults: Faults,
    /// Whether each RANS message is a separate session of the transport, as in NDP and SCDP.
    has_messages: bool,
    over_bytes: bool,
    sessions: Sessions,
    copies: Vec<Copy>,
    numbers: BTreeMap<CopyId, u32>,
    /// For each object and each of its bytes, whether the client has received the byte.
    objects: BTreeMap<RequestId, Vec<bool>>,
    on_the_way: BTreeMap<(Time, u64), (usize, Carried)>,
    free: Vec<Time>,
    packets: u64,
    started: usize,
    now: Time,
    /// Segments that hosts have sent, each with its time and host.
    pub sent: Vec<(Time, usize, Segment)>,
    pub notes: Vec<(Time, usize, Note)>,
}

/// Returns the bytes of a header.
fn written(header: RansHeader) -> Vec<u8> {
    let mut bytes = vec![0; MAX_BYTES];
    let length = encode(&header, &mut bytes).expect("every header can be encoded");
    bytes.truncate(length);
    bytes
}

impl<T: Transport> World<T> {
    pub fn new(
        host: impl Fn(HostId) -> T,
        has_messages: bool,
        over_bytes: bool,
        story: &Story,
        faults: Faults,
    ) -> Self {
        let server = |_| {
            Server::new(ServerConfig {
                discipline: Discipline::Fifo,
                preemption: Preemption::Resume,
                disk: Some(Rate::from_gbps(20)),
                link: None,
                chunk: PART,
            })
        };
        let client = |_| Client::new(story.policy).expect("a sound policy");
        let count = SERVERS + CLIENTS;
        Self {
            hosts: (0..count as u32).map(|id| host(HostId(id))).collect(),
            servers: (0..SERVERS).map(server).collect(),
            clients: (0..CLIENTS).map(client).collect(),
            story: story.clone(),
            faults,
            has_messages,
            over_bytes,
            sessions: Sessions::default(),
            copies: Vec::new(),
            numbers: BTreeMap::new(),
            objects: BTreeMap::new(),
            on_the_way: BTreeMap::new(),
            free: vec![Time::ZERO; count],
            packets: 0,
            started: 0,
            now: Time::ZERO,
            sent: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Runs until no host has work to do and no packet is in flight.
    pub fn run(&mut self) {
        loop {
            for at in 0..self.hosts.len() {
                self.serve(at);
            }
            let arrival = self.on_the_way.keys().next().map(|(at, _)| *at);
            let hosts = self.hosts.iter().zip(&self.free);
            let ready = hosts.filter(|(host, _)| host.has_transmit());
            let ready = ready.map(|(_, free)| *free);
            let timeouts = self.hosts.iter().filter_map(Transport::next_timeout);
            let servers = self.servers.iter().filter_map(Server::next_timeout);
            let clients = self.clients.iter().filter_map(Client::next_timeout);
            let all = ready.chain(timeouts).chain(servers).chain(clients);
            let next = all.chain(arrival).chain(self.next_start()).min();
            let Some(next) = next else {
                break;
            };
            self.now = next.max(self.now + Duration::from_ps(1));
            assert!(self.now < Time::from_ns(600_000_000_000), "it does not end");
            self.advance();
        }
        if !self.over_bytes {
            return;
        }
        for (number, word) in self.sessions.words() {
            let (header, length) = decode(&word).expect("a header");
            let cancel = self.copies[number as usize].cancel;
            assert_eq!(Some(header), cancel.map(RansHeader::Request));
            assert_eq!(length, word.len());
        }
    }

    fn next_start(&self) -> Option<Time> {
        let (us, _) = self.story.requests.get(self.started)?;
        Some(Time::ZERO + Duration::from_us(*us))
    }

    fn advance(&mut self) {
        while let Some(first) = self.on_the_way.first_entry()
            && first.key().0 <= self.now
        {
            let (to, carried) = first.remove();
            let segment = match carried {
                Carried::Segment(segment, _) if !self.over_bytes => segment,
                carried => self.sessions.unpacked(carried),
            };
            self.hosts[to].on_segment(self.now, segment);
            self.hear(to);
        }
        while self.next_start().is_some_and(|at| at <= self.now) {
            let number = self.started as u32;
            let (_, bytes) = self.story.requests[self.started];
            self.started += 1;
            let client = number as usize % CLIENTS;
            let servers = (0..SERVERS as u32).map(|k| HostId((number + k) % SERVERS as u32));
            let servers: Vec<HostId> = servers.collect();
            let id = RequestId(number);
            self.objects.insert(id, vec![false; bytes as usize]);
            self.clients[client].submit(self.now, id, bytes, &servers);
            self.settle(SERVERS + client);
        }
        for at in 0..self.hosts.len() {
            self.hosts[at].on_timeout(self.now);
            match at.checked_sub(SERVERS) {
                None => self.servers[at].on_timeout(self.now),
                Some(client) => self.clients[client].on_timeout(self.now),
            }
            self.hear(at);
            self.settle(at);
        }
    }

    fn serve(&mut self, at: usize) {
        self.hear(at);
        if self.free[at] <= self.now
            && let Some(segment) = self.hosts[at].poll_transmit(self.now)
        {
            self.free[at] = self.now + GAP;
            self.send(at, segment);
            self.hear(at);
        }
    }

    fn send(&mut self, from: usize, segment: Segment) {
        self.sent.push((self.now, from, segment));
        let to = segment.tuple.dst.0 as usize;
        let draw = mix64(self.faults.seed ^ mix64(self.packets)) % 100;
        let at = self.now + DELAY;
        let faults = self.faults;
        let (lost, trimmed, doubled) = (faults.lost, faults.trimmed, faults.doubled);
        if draw < lost {
            self.packets += 1;
        } else if draw < lost + trimmed && segment.trimmable && segment.payload > 0 {
            self.put(at, from, to, &segment, Condition::Trimmed);
        } else {
            self.put(at, from, to, &segment, Condition::Whole);
            if draw >= 100 - doubled {
                let later = at + DELAY;
                self.put(later, from, to, &segment, Condition::Whole);
            }
        }
    }

    fn put(&mut self, at: Time, from: usize, to: usize, segment: &Segment, condition: Condition) {
        let mut carried = match self.over_bytes {
            true => self.sessions.packed(from, segment),
            false => Carried::Segment(*segment, Vec::new()),
        };
        if condition == Condition::Trimmed {
            match &mut carried {
                Carried::Segment(segment, _) => segment.condition = condition,
                Carried::Datagram(_, _, bytes) => {
                    let kept = tailcut_wire::set_condition(bytes, condition);
                    bytes.truncate(kept.expect("a header of ours"));
                }
            }
        }
        self.packets += 1;
        self.on_the_way.insert((at, self.packets), (to, carried));
    }

    /// Processes the events of a host's transport.
    fn hear(&mut self, at: usize) {
        while let Some(event) = self.hosts[at].poll_event() {
            if let Event::Copy(number, news) = event {
                self.news(number, news, at);
                self.settle(at);
            }
        }
    }

    fn order(&mut self, at: usize, order: CopyOrder) {
        let carried = self.hosts[at].carry(self.now, order);
        carried.expect("ports enough");
    }

    fn note(&mut self, at: usize, note: Note) {
        self.notes.push((self.now, at, note));
    }

    fn news(&mut self, number: u32, news: CopyNews, at: usize) {
        let copy = &mut self.copies[number as usize];
        match news {
            CopyNews::Accepted { room } => copy.server_end = Some(ServerEnd::new(PART, room)),
            CopyNews::Room(room) => {
                let end = copy.server_end.as_mut();
                end.expect("it was accepted").set_send_space(room);
                self.write_answer(number);
            }
            CopyNews::Message => self.hear_messages(number, None),
            CopyNews::Delivered { total } if at < SERVERS => {
                self.hear_messages(number, Some(total));
            }
            CopyNews::Delivered { total } => self.hear_answer(number, Some(total)),
            CopyNews::Whole => {
                self.hear_answer(number, None);
                self.order(at, CopyOrder::Finish { number });
            }
            CopyNews::Ended { side, .. } => match side {
                Side::Client => copy.is_open = false,
                Side::Server => self.stop(number),
            },
        }
    }

    /// Stops the work of a copy's server.
    fn stop(&mut self, number: u32) {
        let copy = &mut self.copies[number as usize];
        let ask = copy.server_end.take().and_then(|end| end.ask());
        if let Some(ask) = ask {
            let cancel = RequestHeader {
                purpose: Purpose::Cancel(self.story.policy.purge.unwrap_or_default()),
                body: 0,
                ..ask
            };
            let client = HostId(copy.client as u32);
            self.servers[copy.server].on_message(self.now, client, cancel, Demand::default());
        }
    }

    /// Delivers the first `total` bytes of the client's messages to the server. With `None`, delivers one more message.
    fn hear_messages(&mut self, number: u32, total: Option<u64>) {
        let copy = &mut self.copies[number as usize];
        let end = copy.server_end.as_mut().expect("it was accepted");
        let mut heard = Vec::new();
        match &mut copy.way {
            Way::Beside(messages, _) => {
                match total {
                    Some(total) => end.on_arrived(total),
                    None => end.on_message_arrived(messages.next_message()),
                }
                while let Ok(Some(header)) = end.read(messages) {
                    heard.push(header);
                }
            }
            Way::Bytes {
                messages,
                heard: place,
                told,
                ..
            } => {
                let from = copy.client;
                let bytes = self.sessions.arrived(from, number, *place, total);
                match total {
                    Some(total) => {
                        messages.push(&bytes[told[0] as usize..]);
                        told[0] = total;
                        end.on_arrived(total);
                    }
                    None => {
                        *place += 1;
                        messages.push(&bytes);
                        end.on_message_arrived(bytes.len() as u64);
                    }
                }
                while let Some(header) = end.read(messages).expect("a message") {
                    assert_eq!(messages.take_body(), vec![0xaa; header.body as usize]);
                    heard.push(header);
                }
            }
        }
        let (at, client) = (copy.server, HostId(copy.client as u32));
        for header in heard {
            let copy = &mut self.copies[number as usize];
            if let Purpose::Ask | Purpose::More = header.purpose {
                copy.asked[1].add(&header);
            }
            self.note(at, Note::Asked(header));
            self.servers[at].on_message(self.now, client, header, Demand::default());
            if header.purpose == Purpose::Reprioritise {
                let class = header.priority;
                self.order(at, CopyOrder::SetClass { number, class });
            }
        }
    }

    /// Delivers the first `total` bytes of the answer to the client. With `None`, delivers all bytes.
    fn hear_answer(&mut self, number: u32, total: Option<u64>) {
        let copy = &mut self.copies[number as usize];
        let machine = &mut self.clients[copy.client - SERVERS];
        let end = &mut copy.client_end;
        let total = match &mut copy.way {
            Way::Beside(_, answers) => {
                let total = total.unwrap_or_else(|| answers.written());
                let Ok(()) = end.on_arrived(self.now, total, answers, machine);
                total
            }
            Way::Bytes { answers, told, .. } => {
                let bytes = self.sessions.arrived(copy.server, number, 0, total);
                let total = bytes.len() as u64;
                answers.push(&bytes[told[1] as usize..]);
                told[1] = total;
                let read = end.on_arrived(self.now, total, answers, machine);
                read.expect("headers of answers");
                let body = answers.take_body();
                let request = end.copy().request;
                let object = self.objects.get_mut(&request).expect("a request");
                let places = copy.asked[0].places(body.len() as u64);
                for (byte, place) in body.into_iter().zip(places) {
                    assert_eq!(byte, byte_at(request.0, place));
                    object[place as usize] = true;
                }
                total
            }
        };
        let (at, id) = (copy.client, end.copy());
        self.note(at, Note::Answered(id, total));
    }

    /// Sends the parts of an answer that are available and that fit into the send buffer.
    fn write_answer(&mut self, number: u32) {
        let copy = &mut self.copies[number as usize];
        let (at, client) = (copy.server, HostId(copy.client as u32));
        let Some(end) = &mut copy.server_end else {
            return;
        };
        let (class, of) = (end.priority(), end.stream_bytes());
        while let Some(parts) = self.copies[number as usize]
            .server_end
            .as_mut()
            .and_then(ServerEnd::write)
        {
            let copy = &mut self.copies[number as usize];
            match &mut copy.way {
                Way::Beside(_, answers) => {
                    if let Some(header) = parts.header {
                        answers.write(header);
                    }
                }
                Way::Bytes { .. } => {
                    let header = parts
                        .header
                        .map(|header| written(RansHeader::Answer(header)));
                    let mut bytes = header.unwrap_or_default();
                    let request = copy.client_end.copy().request.0;
                    let places = copy.asked[1].places(parts.bytes - bytes.len() as u64);
                    bytes.extend(places.into_iter().map(|place| byte_at(request, place)));
                    self.sessions.write(at, number, &bytes);
                }
            }
            let answer = Answer {
                client,
                class,
                bytes: parts.bytes,
                of,
                is_last: parts.is_last,
            };
            self.order(at, CopyOrder::Answer { number, answer });
        }
    }

    /// Processes the output of the client or server at host `at`.
    fn settle(&mut self, at: usize) {
        let Some(client) = at.checked_sub(SERVERS) else {
            while let Some(response) = self.servers[at].poll_transmit() {
                let number = self.numbers[&response.copy];
                if let Some(end) = &mut self.copies[number as usize].server_end {
                    end.add(response.bytes);
                }
                self.write_answer(number);
            }
            while self.servers[at].poll_departure().is_some() {}
            return;
        };
        while let Some(completion) = self.clients[client].poll_completion() {
            let whole = self.objects[&completion.request].iter().all(|has| *has);
            assert!(
                whole || !self.over_bytes,
                "bytes are missing: {completion:?}"
            );
            self.note(at, Note::Done(completion));
        }
        while let Some((server, header)) = self.clients[client].poll_transmit() {
            self.say(at, server, header);
        }
    }

    /// Sends a message from a client to a server.
    fn say(&mut self, at: usize, server: HostId, header: RequestHeader) {
        let header = RequestHeader {
            body: if header.purpose == Purpose::Ask {
                REQUEST
            } else {
                0
            },
            ..header
        };
        let bytes = header.framed_bytes();
        if header.purpose == Purpose::Ask {
            let number = self.copies.len() as u32;
            self.numbers.insert(header.copy, number);
            self.copies
                .push(Copy::new(at, server, header.copy, self.over_bytes));
            self.write_message(number, header);
            self.order(
                at,
                CopyOrder::Ask(Ask {
                    number,
                    server,
                    class: header.priority,
                    bytes,
                }),
            );
            return;
        }
        let number = self.numbers[&header.copy];
        let copy = &mut self.copies[number as usize];
        if !copy.is_open {
            return;
        }
        if let Purpose::Cancel(_) = header.purpose {
            copy.is_open = false;
            copy.cancel = Some(header);
            let word = written(RansHeader::Request(header));
            self.sessions.begin(at, number, true, &word);
            self.order(at, CopyOrder::Reset { number });
            return;
        }
        let class = header.priority;
        self.write_message(number, header);
        self.order(at, CopyOrder::SetClass { number, class });
        self.order(at, CopyOrder::Say { number, bytes });
    }

    fn write_message(&mut self, number: u32, header: RequestHeader) {
        let copy = &mut self.copies[number as usize];
        if let Purpose::Ask | Purpose::More = header.purpose {
            copy.asked[0].add(&header);
        }
        match &mut copy.way {
            Way::Beside(messages, _) => messages.write(header),
            Way::Bytes { .. } => {
                let mut bytes = written(RansHeader::Request(header));
                bytes.resize(bytes.len() + header.body as usize, 0xaa);
                match self.has_messages {
                    true => self.sessions.begin(copy.client, number, false, &bytes),
                    false => self.sessions.write(copy.client, number, &bytes),
                }
            }
        }
    }

    /// Returns the number of messages with the purpose `purpose` that servers have received.
    pub fn heard(&self, purpose: Purpose) -> usize {
        let purposes = self.notes.iter().filter_map(|(_, _, note)| match note {
            Note::Asked(header) => Some(header.purpose),
            _ => None,
        });
        purposes.filter(|heard| *heard == purpose).count()
    }

    /// Returns the completed requests.
    pub fn done(&self) -> BTreeSet<RequestId> {
        let requests = self.notes.iter().filter_map(|(_, _, note)| match note {
            Note::Done(completion) => Some(completion.request),
            _ => None,
        });
        requests.collect()
    }
}

impl Copy {
    fn new(client: usize, server: HostId, copy: CopyId, over_bytes: bool) -> Self {
        Self {
            client,
            server: server.0 as usize,
            is_open: true,
            client_end: ClientEnd::new(copy),
            server_end: None,
            way: match over_bytes {
                false => Way::Beside(SideChannel::default(), SideChannel::default()),
                true => Way::Bytes {
                    messages: Unread::default(),
                    answers: Unread::default(),
                    heard: 0,
                    told: [0; 2],
                },
            },
            asked: Default::default(),
            cancel: None,
        }
    }
}
