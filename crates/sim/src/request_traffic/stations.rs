//! Requests without packets. Servers consist of stations, and the links of clients are also stations.
//! The delay between client and server is constant.
//! The state machines are in [`tailcut_requests`]. This module contains the clock.

use super::{RequestLog, part_of, source};
use crate::config::RunConfig;
use crate::error::RunError;
use crate::progress::ProgressEstimate;
use crate::run::RunControl;
use std::collections::{BTreeMap, VecDeque};
use tailcut_fabric::engine::{Engine, Event};
use tailcut_record::{RequestRecord, RunTotals};
use tailcut_requests::{
    Client, CopyId, Demand, JobId, Purpose, RequestHeader, RequestId, Response, Server, Station,
};
use tailcut_units::{Duration, HostId, Rate, Time};
use tailcut_workload::Requests;

/// Flag in the entity of an event: set for a client, not set for a server.
/// All bits below the flag are the number of the client or server.
const CLIENT: u32 = 1 << 31;

/// Number of events between two calls of the run's control.
const EVENTS_PER_CHECK: u32 = 1 << 14;

/// Messages in flight. All messages have the same delay, so they arrive in the order of their departure.
struct DelayLine<T> {
    delay: Duration,
    in_flight: VecDeque<(Time, T)>,
}

impl<T> DelayLine<T> {
    fn new(delay: Duration) -> Self {
        Self {
            delay,
            in_flight: VecDeque::new(),
        }
    }

    fn push(&mut self, now: Time, message: T) {
        let arrival = now.saturating_add(self.delay);
        self.in_flight.push_back((arrival, message));
    }

    fn next(&self) -> Time {
        self.in_flight.front().map_or(Time::MAX, |(time, _)| *time)
    }

    fn pop(&mut self) -> Option<T> {
        self.in_flight.pop_front().map(|(_, message)| message)
    }
}

/// Message to a server.
struct ServerMessage {
    client: HostId,
    server: HostId,
    header: RequestHeader,
}

struct ClientState {
    client: Client,
    link: Option<Link>,
    timer_at: Time,
}

/// Link of a client. It is a station at which answers queue.
struct Link {
    rate: Rate,
    station: Station,
    /// For each job of the station, its chunks: the copy and the size in bytes of each chunk.
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
    /// Host number of the first client. Clients are numbered after the servers.
    first_client: u32,
    copies: u32,
    purges: bool,
    messages: DelayLine<ServerMessage>,
    cancels: DelayLine<ServerMessage>,
    answers: DelayLine<Response>,
    engine: Engine,
    log: RequestLog,
    events: u64,
    now: Time,
}

/// Executes the requests of `config` until all have ended, or until the end of the drain.
///
/// # Errors
/// The workload cannot be generated, the policy is invalid, or the run was stopped: [`RunError::Stopped`].
pub(crate) fn run(
    config: &RunConfig,
    control: &dyn RunControl,
) -> Result<(Vec<RequestRecord>, RunTotals), RunError> {
    let parameters = &config.settings.designs.requests;
    let Some((label, part)) = part_of(config) else {
        return Err(RunError::Requests("found no workload of requests"));
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
        messages: DelayLine::new(delay),
        cancels: DelayLine::new(parameters.purge_delay.unwrap_or(delay)),
        answers: DelayLine::new(delay),
        engine: Engine::new(config.engine, config.seed, part.servers.max(part.clients)),
        log: RequestLog::new(policy.quorum),
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
    Ok((model.log.finish(), totals))
}

impl Model<'_> {
    fn run(&mut self, control: &dyn RunControl) -> bool {
        let estimate = ProgressEstimate::new(&self.config.workload, self.config.drain);
        let mut until_check = EVENTS_PER_CHECK;
        loop {
            let arrival = self.requests.peek().unwrap_or(Time::MAX);
            let timer = self.engine.peek().unwrap_or(Time::MAX);
            let due = [
                timer,
                self.answers.next(),
                self.messages.next(),
                self.cancels.next(),
                arrival,
            ];
            let Some(next) = due.into_iter().min() else {
                return true;
            };
            let drained = match arrival {
                Time::MAX => self.log.last_start().saturating_add(self.config.drain),
                _ => Time::MAX,
            };
            if next == Time::MAX || next > drained {
                return true;
            }
            until_check -= 1;
            if until_check == 0 {
                until_check = EVENTS_PER_CHECK;
                control.progress(estimate.share(next, self.log.so_far()));
                if control.stop() {
                    return false;
                }
            }
            self.now = next;
            self.events += 1;
            // At one instant, the order is: timers, arrivals of messages, new requests.
            // The index in `due` gives this order.
            match due.iter().position(|time| *time == next) {
                Some(0) => self.timer(),
                Some(1) => self.deliver_answer(),
                Some(2) => {
                    if let Some(message) = self.messages.pop() {
                        self.deliver_message(message);
                    }
                }
                Some(3) => {
                    if let Some(message) = self.cancels.pop() {
                        self.deliver_message(message);
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
        self.log.started(&request, client, first);
        let id = RequestId(request.number);
        self.clients[request.client as usize]
            .client
            .submit(self.now, id, request.bytes, &servers);
        self.serve_client(request.client);
    }

    /// Delivers the message of a client to its server.
    fn deliver_message(&mut self, message: ServerMessage) {
        let copy = message.header.copy;
        let (cpu, seek) = self.requests.work(copy.request.0, copy.copy);
        let state = &mut self.servers[message.server.0 as usize];
        let demand = Demand { cpu, seek };
        state
            .server
            .on_message(self.now, message.client, message.header, demand);
        self.serve_server(message.server.0);
    }

    /// Delivers a part of an answer to the link of its client.
    fn deliver_answer(&mut self) {
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
            // The last switch also purges: an answer that the client no longer needs does not enter the link.
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
        let number = self.engine.number(event);
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

    /// Handles the output of a server after an input to the server: answers, departures and its timer.
    fn serve_server(&mut self, number: u32) {
        let state = &mut self.servers[number as usize];
        while let Some(response) = state.server.poll_transmit() {
            self.answers.push(self.now, response);
        }
        while let Some(departure) = state.server.poll_departure() {
            self.log.departed(departure);
        }
        if let Some(due) = state.server.next_timeout()
            && due < state.timer_at
        {
            state.timer_at = due;
            self.engine.push(Event::new(due, number, 0));
        }
    }

    /// Handles the output of a client after an input to the client: messages, completions and its timer.
    fn serve_client(&mut self, number: u32) {
        let state = &mut self.clients[number as usize];
        let client = HostId(self.first_client + number);
        while let Some((server, header)) = state.client.poll_transmit() {
            let message = ServerMessage {
                client,
                server,
                header,
            };
            match header.purpose {
                Purpose::Ask => self.log.copy_sent(header.copy),
                Purpose::More => {}
                Purpose::Cancel(_) => {
                    if let Some(link) = &mut state.link {
                        link.remove(self.now, header.copy);
                    }
                    self.cancels.push(self.now, message);
                    continue;
                }
                Purpose::Reprioritise => {
                    if let Some(link) = &mut state.link {
                        link.set_class(self.now, header.copy, header.priority);
                    }
                }
            }
            self.messages.push(self.now, message);
        }
        while let Some(completion) = state.client.poll_completion() {
            self.log.completed(self.now, completion);
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

    /// Serves the link until `now`. Returns the chunks that have arrived at the client.
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
