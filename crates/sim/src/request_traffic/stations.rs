//! Requests without packets: clients, servers with stations, and links that are stations too, a constant
//! delay apart. The machines are those of [`tailcut_requests`]; this file owns the clock.

use super::{Books, part_of, source};
use crate::config::RunConfig;
use crate::error::RunError;
use crate::extent::Extent;
use crate::run::RunControl;
use std::collections::{BTreeMap, VecDeque};
use tailcut_fabric::engine::{Engine, Event};
use tailcut_record::{RequestRecord, RunTotals};
use tailcut_requests::{
    Client, CopyId, Demand, JobId, Purpose, RequestHeader, RequestId, Response, Server, Station,
};
use tailcut_units::{Duration, HostId, Rate, Time};
use tailcut_workload::Requests;

/// Entities of the engine: a client's number with this bit, or a server's.
const CLIENT: u32 = 1 << 31;

/// Events between two looks at the control.
const LOOK_UP_EVERY: u32 = 1 << 14;

/// Messages under way, each as long as the others: they arrive in the order in which they left.
struct Pipe<T> {
    delay: Duration,
    under_way: VecDeque<(Time, T)>,
}

impl<T> Pipe<T> {
    fn new(delay: Duration) -> Self {
        Self {
            delay,
            under_way: VecDeque::new(),
        }
    }

    fn push(&mut self, now: Time, message: T) {
        let arrival = now.saturating_add(self.delay);
        self.under_way.push_back((arrival, message));
    }

    fn next(&self) -> Time {
        self.under_way.front().map_or(Time::MAX, |(time, _)| *time)
    }

    fn pop(&mut self) -> Option<T> {
        self.under_way.pop_front().map(|(_, message)| message)
    }
}

/// A message to a server.
struct Asked {
    client: HostId,
    server: HostId,
    header: RequestHeader,
}

struct ClientState {
    client: Client,
    link: Option<Link>,
    timer_at: Time,
}

/// A client's link: what has come so far waits for it in order.
struct Link {
    rate: Rate,
    station: Station,
    /// Bytes of each copy's chunks at the station.
    chunks: BTreeMap<JobId, VecDeque<(CopyId, u64)>>,
}

struct ServerState {
    server: Server,
    timer_at: Time,
}

struct Model<'a> {
    config: &'a RunConfig,
    requests: Requests,
    clients: Vec<ClientState>,
    servers: Vec<ServerState>,
    /// Which of `clients` asks: clients are numbered behind the servers.
    first_client: u32,
    copies: u32,
    purges: bool,
    asks: Pipe<Asked>,
    cancels: Pipe<Asked>,
    answers: Pipe<Response>,
    engine: Engine,
    books: Books,
    events: u64,
    now: Time,
}

/// Runs the requests of `config` to their end, or to the end of its drain.
///
/// # Errors
/// A workload that cannot be drawn, a policy that is none, or [`RunError::Stopped`].
pub(crate) fn run(
    config: &RunConfig,
    control: &dyn RunControl,
) -> Result<(Vec<RequestRecord>, RunTotals), RunError> {
    let parameters = &config.settings.designs.requests;
    let Some((label, part)) = part_of(config) else {
        return Err(RunError::Requests("a workload of requests is needed"));
    };
    let requests = source(config, part, label, parameters.link).map_err(RunError::Workload)?;
    let policy = parameters.policy(config.stack.replication);
    let client = |_| {
        Ok(ClientState {
            client: Client::new(policy)?,
            link: parameters.client_link.map(|rate| Link {
                rate,
                station: Station::new(parameters.discipline, parameters.preemption),
                chunks: BTreeMap::new(),
            }),
            timer_at: Time::MAX,
        })
    };
    let clients: Result<Vec<ClientState>, &'static str> = (0..part.clients).map(client).collect();
    let server = |_| ServerState {
        server: Server::new(parameters.server(Some(parameters.link))),
        timer_at: Time::MAX,
    };
    let delay = parameters.delay;
    let mut model = Model {
        config,
        requests,
        clients: clients.map_err(RunError::Requests)?,
        servers: (0..part.servers).map(server).collect(),
        first_client: part.servers,
        copies: u32::from(policy.copies),
        purges: policy.purge.is_some(),
        asks: Pipe::new(delay),
        cancels: Pipe::new(parameters.purge_delay.unwrap_or(delay)),
        answers: Pipe::new(delay),
        engine: Engine::new(config.engine),
        books: Books::new(policy.quorum),
        events: 0,
        now: Time::ZERO,
    };
    let whole = model.run(control);
    if !whole {
        return Err(RunError::Stopped);
    }
    let totals = RunTotals {
        events: model.events,
        simulated: model.now.since(Time::ZERO),
        ..RunTotals::default()
    };
    Ok((model.books.finish(), totals))
}

impl Model<'_> {
    fn run(&mut self, control: &dyn RunControl) -> bool {
        let extent = Extent::new(&self.config.workload, self.config.drain);
        let mut until_look = LOOK_UP_EVERY;
        loop {
            let arrival = self.requests.peek().unwrap_or(Time::MAX);
            let timer = self.engine.peek().unwrap_or(Time::MAX);
            let due = [
                timer,
                self.answers.next(),
                self.asks.next(),
                self.cancels.next(),
                arrival,
            ];
            let Some(next) = due.into_iter().min() else {
                return true;
            };
            let drained = match arrival {
                Time::MAX => self.books.last_start().saturating_add(self.config.drain),
                _ => Time::MAX,
            };
            if next == Time::MAX || next > drained {
                return true;
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = LOOK_UP_EVERY;
                control.progress(extent.share(next, self.books.so_far()));
                if control.stop() {
                    return false;
                }
            }
            self.now = next;
            self.events += 1;
            // At one instant: what stations finish, then what arrives, then what starts.
            match due.iter().position(|time| *time == next) {
                Some(0) => self.timer(),
                Some(1) => self.answer(),
                Some(2) => {
                    if let Some(asked) = self.asks.pop() {
                        self.ask(asked);
                    }
                }
                Some(3) => {
                    if let Some(asked) = self.cancels.pop() {
                        self.ask(asked);
                    }
                }
                _ => self.start(),
            }
        }
    }

    fn start(&mut self) {
        let Some(request) = self.requests.next() else {
            return;
        };
        let drawn = self.requests.servers(request.number, self.copies);
        let servers: Vec<HostId> = drawn.into_iter().map(HostId).collect();
        let client = HostId(self.first_client + request.client);
        let first = servers.first().copied().unwrap_or_default();
        self.books.started(&request, client, first);
        let id = RequestId(request.number);
        self.clients[request.client as usize]
            .client
            .submit(self.now, id, request.bytes, &servers);
        self.serve_client(request.client);
    }

    /// A client's message arrives at its server.
    fn ask(&mut self, asked: Asked) {
        let copy = asked.header.copy;
        let (cpu, seek) = self.requests.work(copy.request.0, copy.copy);
        let state = &mut self.servers[asked.server.0 as usize];
        let demand = Demand { cpu, seek };
        state
            .server
            .on_message(self.now, asked.client, asked.header, demand);
        self.serve_server(asked.server.0);
    }

    /// A part of an answer arrives at its client's link.
    fn answer(&mut self) {
        let Some(response) = self.answers.pop() else {
            return;
        };
        let number = response.client.0 - self.first_client;
        let state = &mut self.clients[number as usize];
        match &mut state.link {
            None => {
                state
                    .client
                    .on_bytes(self.now, response.copy, response.bytes);
            }
            // The last switch purges too: what nobody waits for does not enter the link.
            Some(_) if self.purges && !state.client.is_pending(response.copy.request) => return,
            Some(link) => link.add(
                self.now,
                response,
                self.config.settings.designs.requests.chunk.0,
            ),
        }
        self.serve_client(number);
    }

    fn timer(&mut self) {
        let Some(event) = self.engine.pop_until(self.now) else {
            return;
        };
        let number = event.entity() & !CLIENT;
        if event.entity() & CLIENT == 0 {
            let state = &mut self.servers[number as usize];
            if state.timer_at == self.now {
                state.timer_at = Time::MAX;
                state.server.on_timeout(self.now);
                self.serve_server(number);
            }
            return;
        }
        let state = &mut self.clients[number as usize];
        if state.timer_at == self.now {
            state.timer_at = Time::MAX;
            state.client.on_timeout(self.now);
            if let Some(link) = &mut state.link {
                for (copy, bytes) in link.advance(self.now) {
                    state.client.on_bytes(self.now, copy, bytes);
                }
            }
            self.serve_client(number);
        }
    }

    /// After any input to a server: its answers, its departures, its timer.
    fn serve_server(&mut self, number: u32) {
        let state = &mut self.servers[number as usize];
        while let Some(response) = state.server.poll_transmit() {
            self.answers.push(self.now, response);
        }
        while let Some(departure) = state.server.poll_departure() {
            self.books.departed(departure);
        }
        if let Some(due) = state.server.next_timeout()
            && due < state.timer_at
        {
            state.timer_at = due;
            self.engine.push(Event::new(due, number, 0));
        }
    }

    /// After any input to a client: its messages, its completions, its timer.
    fn serve_client(&mut self, number: u32) {
        let state = &mut self.clients[number as usize];
        let client = HostId(self.first_client + number);
        while let Some((server, header)) = state.client.poll_transmit() {
            let asked = Asked {
                client,
                server,
                header,
            };
            match header.purpose {
                Purpose::Ask => self.books.asked(header.copy),
                Purpose::More => {}
                Purpose::Cancel(_) => {
                    if let Some(link) = &mut state.link {
                        link.remove(self.now, header.copy);
                    }
                    self.cancels.push(self.now, asked);
                    continue;
                }
                Purpose::Reprioritise => {
                    if let Some(link) = &mut state.link {
                        link.set_class(self.now, header.copy, header.priority);
                    }
                }
            }
            self.asks.push(self.now, asked);
        }
        while let Some(completion) = state.client.poll_completion() {
            self.books.completed(self.now, completion);
        }
        let link = state
            .link
            .as_ref()
            .and_then(|link| link.station.next_timeout());
        let due = Time::earlier(link, state.client.next_timeout());
        if let Some(due) = due
            && due < state.timer_at
        {
            state.timer_at = due;
            self.engine.push(Event::new(due, number | CLIENT, 0));
        }
    }
}

const fn job_of(copy: CopyId) -> JobId {
    ((copy.request.0 as u64) << 8) | copy.copy as u64
}

impl Link {
    fn add(&mut self, now: Time, response: Response, chunk: u64) {
        let job = job_of(response.copy);
        let unit = self.rate.serialisation(chunk);
        let work = self.rate.serialisation(response.bytes);
        self.station.add(now, job, response.priority, work, unit);
        let chunks = self.chunks.entry(job).or_default();
        chunks.push_back((response.copy, response.bytes));
    }

    /// Serves until `now`. Gives the chunks that have arrived.
    fn advance(&mut self, now: Time) -> Vec<(CopyId, u64)> {
        self.station.advance(now);
        let mut arrived = Vec::new();
        while let Some(progress) = self.station.poll_progress() {
            if let Some(chunks) = self.chunks.get_mut(&progress.job) {
                arrived.extend(chunks.pop_front());
                if chunks.is_empty() {
                    self.chunks.remove(&progress.job);
                }
            }
        }
        arrived
    }

    fn remove(&mut self, now: Time, copy: CopyId) {
        self.station.remove(now, job_of(copy));
        self.chunks.remove(&job_of(copy));
    }

    fn set_class(&mut self, now: Time, copy: CopyId, class: u8) {
        self.station.set_class(now, job_of(copy), class);
    }
}
