//! Targets for state machines that peers drive: flows of RepNet, their table at a server, and the guard's queue.

use crate::choice::Choices;
use std::collections::BTreeMap;
use tailcut_requests::{Admission, Class, Gate, GateConfig, JobId};
use tailcut_transport::repnet::{
    Banner, Command, Flow, FlowKey, FlowLimits, FlowTable, InstanceId, Leg, LegState, Mode,
    Placement, Refusal, Role, Status,
};
use tailcut_units::{Duration, Time};

/// Number of events in one run, at most.
const EVENTS: usize = 300;
/// Number of commands that one event may cause, at most.
const COMMANDS: usize = 32;

/// Connection that the flow of a client opens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    No,
    Connecting,
    /// The connection exists, and its hello has no answer yet.
    Greeting,
}

/// Flow with the results that it has reported.
struct Watched {
    flow: Flow,
    now: Time,
    /// Number of bytes that the application has received.
    received: u64,
    /// Number of reports: the end of the peer's direction, the end of the flow, and its failure.
    finished: u32,
    ended: u32,
    failed: u32,
    opening: [Opening; 2],
}

impl Watched {
    /// Executes commands as a driver does that accepts every offer.
    fn obey(&mut self) {
        for _ in 0..COMMANDS {
            match self.flow.poll_command() {
                None => return,
                Some(Command::MayRejoin(leg)) => self.flow.rejoin(self.now, leg),
                Some(Command::Open(leg)) => self.opening[leg as usize] = Opening::Connecting,
                Some(Command::Reset(leg, _) | Command::Leave(leg) | Command::Close(leg)) => {
                    self.opening[leg as usize] = Opening::No;
                }
                Some(Command::EndOfStream) => self.finished += 1,
                Some(Command::Ended) => self.ended += 1,
                Some(Command::Fail(_)) => self.failed += 1,
                Some(_) => {}
            }
        }
        panic!("an event causes more than {COMMANDS} commands");
    }

    fn check(&self) {
        let flow = &self.flow;
        assert_eq!(flow.delivered(), self.received);
        // A connection that joins again starts to count again.
        assert!(flow.fresh(Leg::First) + flow.fresh(Leg::Second) <= self.received);
        assert!(flow.keep_from() <= flow.written());
        for leg in Leg::ALL {
            if flow.leg(leg) == LegState::Live {
                let (from, bytes) = flow.to_send(leg);
                assert_eq!(from + bytes, flow.written(), "{leg:?}");
                assert!(flow.keep_from() <= from, "bytes for {leg:?} are gone");
            }
        }
        assert!(self.finished <= 1 && self.ended <= 1 && self.failed <= 1);
        assert!(
            !flow.has_ended() || self.ended == 1,
            "the end is not reported"
        );
        if flow.has_ended() {
            assert_eq!(flow.next_timeout(), None, "a timer after the end");
        }
    }

    /// Advances the time to the next timeout, and runs everything that is due.
    fn expire(&mut self) {
        let Some(at) = self.flow.next_timeout() else {
            return;
        };
        self.now = self.now.max(at);
        for _ in 0..COMMANDS {
            if self.flow.next_timeout().is_none_or(|at| at > self.now) {
                return;
            }
            self.flow.on_timeout(self.now);
            self.obey();
        }
        panic!("a timer expires again and again");
    }
}

const KEY: FlowKey = FlowKey(0xabcd << 100 | 1);

fn limits(choices: &mut Choices<'_>) -> FlowLimits {
    FlowLimits {
        max_bytes: 3_000,
        archive_cap: 2_000,
        lag_cap: 2_500,
        leg_deadline: Duration::from_ms(3_000),
        confirm_timeout: Duration::from_ms(250),
        waiting_list_timeout: Duration::from_ms(1_000),
        idle_time: choices.bool().then(|| Duration::from_ms(5)),
    }
}

fn leg(choices: &mut Choices<'_>) -> Leg {
    *choices.one_of(&Leg::ALL)
}

fn banner(choices: &mut Choices<'_>, leg: Leg) -> Banner {
    const ALL: [Status; 5] = [
        Status::Opened,
        Status::Joined,
        Status::Busy,
        Status::Probed,
        Status::Unsupported,
    ];
    let is_other = choices.below(8) == 1;
    Banner {
        status: *choices.one_of(&ALL),
        leg: if is_other { leg.other() } else { leg },
        check: KEY.check() ^ u32::from(choices.below(16) == 1),
        instance: InstanceId(choices.below(8).max(6).into()),
    }
}

/// Reports events of connections and calls of the application to one flow, in any order.
///
/// # Panics
/// If bytes are lost or counted twice, if bytes are freed that a connection still needs, or if the end is reported twice.
/// If an event causes commands or timeouts without end.
pub fn repnet_flow(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mode = *choices.one_of(&[Mode::RepFlow, Mode::RepSyn]);
    let limits = limits(&mut choices);
    let now = Time::from_ns(1);
    let flow = match choices.below(3) {
        0 => Flow::client(now, mode, Some(KEY), limits),
        1 => Flow::client(now, mode, None, limits),
        _ => Flow::server(now, mode, leg(&mut choices), limits),
    };
    let mut end = Watched {
        flow,
        now,
        received: 0,
        finished: 0,
        ended: 0,
        failed: 0,
        opening: [Opening::No; 2],
    };
    end.obey();
    for _ in 0..EVENTS {
        if choices.is_empty() {
            break;
        }
        let (leg, now) = (leg(&mut choices), end.now);
        let amount = u64::from(choices.byte()) * 16;
        match choices.below(16) {
            0 if end.opening[leg as usize] == Opening::Connecting => {
                end.opening[leg as usize] = match end.flow.is_by_hello() {
                    true => Opening::Greeting,
                    false => Opening::No,
                };
                end.flow.connected(now, leg);
            }
            1 if end.opening[leg as usize] == Opening::Greeting => {
                end.opening[leg as usize] = Opening::No;
                let banner = banner(&mut choices, leg);
                end.flow.banner(now, leg, &banner);
            }
            2 if end.opening[leg as usize] != Opening::No => {
                end.opening[leg as usize] = Opening::No;
                let refusals = [
                    Refusal::Foreign,
                    Refusal::Silent,
                    Refusal::Failed,
                    Refusal::Local,
                ];
                end.flow.refused(now, leg, *choices.one_of(&refusals));
            }
            3 if end.flow.role() == Role::Server => drop(end.flow.joined(now, leg)),
            4 => end.flow.failed(now, leg),
            5 | 6 => {
                let fresh = end.flow.received(now, leg, amount);
                assert!(fresh <= amount);
                end.received += fresh;
            }
            7 => end.flow.end_received(now, leg),
            8 => {
                // A driver passes on only bytes that the flow gives to this connection.
                let (_, waiting) = end.flow.to_send(leg);
                end.flow.sent(leg, amount.min(waiting));
            }
            9 if end.flow.is_to_finish(leg) => end.flow.end_sent(now, leg),
            10 if !end.flow.is_finishing() => end.flow.write(now, amount),
            11 => end.flow.finish(now),
            12 => end.flow.close(now),
            13 if choices.bool() => end.flow.abort(now),
            14 => end.expire(),
            15 => end.now += Duration::from_ms(amount / 16),
            _ if end.flow.role() == Role::Server => end.flow.stop_waiting(now),
            _ => {}
        }
        end.obey();
        end.check();
    }
}

/// Places connections of any names in the table of a server, and ends flows.
///
/// # Panics
/// If a name opens twice while its first flow exists or is remembered, or if the table grows beyond its limit.
pub fn repnet_table(bytes: &[u8]) {
    const LIMIT: usize = 6;
    let mut choices = Choices::new(bytes);
    let lifetime = Duration::from_ms(100);
    let mut table: FlowTable<u32, u32> = FlowTable::new(false, lifetime, LIMIT);
    let mut now = Time::from_ns(1);
    let mut live = BTreeMap::new();
    // Names of ended flows with one connection, with the time until which the other connection is late.
    let mut ended: BTreeMap<u32, Time> = BTreeMap::new();
    for number in 0..EVENTS as u32 {
        if choices.is_empty() {
            break;
        }
        let (name, leg) = (choices.below(10), leg(&mut choices));
        match choices.below(4) {
            0 | 1 => match table.place(now, &name, leg) {
                Placement::New => {
                    assert!(!live.contains_key(&name), "{name} opens twice");
                    assert!(
                        ended.get(&name).is_none_or(|until| *until <= now),
                        "{name} opens again"
                    );
                    let ticket = table.add(now, name, leg, number);
                    live.insert(
                        name,
                        (ticket, number, [leg == Leg::First, leg == Leg::Second]),
                    );
                }
                Placement::Known(flow) => {
                    let (_, known, seen) = live.get_mut(&name).expect("a live flow");
                    assert_eq!(flow, *known);
                    seen[leg as usize] = true;
                    table.saw(&name, leg);
                }
                Placement::Late => {
                    assert!(ended.contains_key(&name), "{name} has never ended");
                    ended.insert(name, now + lifetime);
                }
                Placement::Full => assert!(table.len() + table.tombstones() >= LIMIT),
            },
            2 => {
                if let Some((ticket, _, seen)) = live.remove(&name) {
                    table.bury(now, &name, ticket);
                    if seen != [true, true] {
                        ended.insert(name, now + lifetime);
                    }
                }
            }
            _ => now += Duration::from_ms(choices.byte().into()),
        }
        assert_eq!(table.len(), live.len());
        assert!(table.len() + table.tombstones() <= LIMIT);
        for (name, (_, flow, _)) in &live {
            assert_eq!(table.live(name), Some(*flow));
        }
    }
}

/// Requests of a gate as its caller knows them.
#[derive(Default)]
struct GateModel {
    /// Client of each running request.
    running: BTreeMap<JobId, u8>,
    /// Class, client and arrival number of each waiting request.
    waiting: BTreeMap<JobId, (Class, u8, usize)>,
}

impl GateModel {
    fn is_known(&self, job: JobId) -> bool {
        self.running.contains_key(&job) || self.waiting.contains_key(&job)
    }

    fn running_of(&self, client: u8) -> usize {
        self.running.values().filter(|of| **of == client).count()
    }

    fn waiting_of(&self, class: Class, client: u8) -> usize {
        let waiting = self.waiting.values();
        waiting.filter(|of| (of.0, of.1) == (class, client)).count()
    }

    /// Moves a request from the queue to a worker. No other request must have the right to start before it.
    fn start(&mut self, job: JobId) {
        let (class, client, number) = self.waiting.remove(&job).expect("a waiting request");
        for other in self.waiting.values() {
            assert!(other.0 >= class, "{other:?} has a higher class than {job}");
            let is_same = (other.0, other.1) == (class, client);
            assert!(!is_same || other.2 > number, "{other:?} came before {job}");
            let is_fair = self.running_of(other.1) >= self.running_of(client);
            assert!(other.0 > class || is_fair, "{other:?} has fewer workers");
        }
        self.running.insert(job, client);
    }

    /// Removes a request that makes room for a request of `client`.
    fn displace(&mut self, job: JobId, class: Class, client: u8) {
        let lost = self.waiting.remove(&job).expect("a waiting request");
        let (more, mine) = (
            self.waiting_of(lost.0, lost.1) + 1,
            self.waiting_of(class, client),
        );
        assert!(
            lost.0 > class || lost.0 == class && more > mine + 1,
            "{lost:?} for {client} in {class:?}"
        );
        for kept in self.waiting.values() {
            assert!(kept.0 <= lost.0, "{kept:?} has a lower class");
            let is_same = (kept.0, kept.1) == (lost.0, lost.1);
            assert!(!is_same || kept.2 < lost.2, "{kept:?} is newer");
        }
    }
}

/// Lets requests of several clients arrive and leave at the queue of a guard, whose limits change.
///
/// # Panics
/// If requests are lost, if more run than workers exist, or if a request starts before one that has the right to.
pub fn requests_gate(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut config = GateConfig {
        workers: 1 + choices.below(3),
        queue: choices.below(5),
    };
    let mut gate = Gate::new(config);
    let mut model = GateModel::default();
    for number in 0..EVENTS {
        if choices.is_empty() {
            break;
        }
        let job = JobId::from(choices.below(12));
        match choices.below(5) {
            0..=2 => {
                let class = *choices.one_of(&Class::ALL);
                let client = choices.below(3) as u8;
                let is_known = model.is_known(job);
                let has_worker = (model.running.len() as u32) < config.workers;
                match gate.arrive(job, client, class) {
                    Admission::Runs => {
                        assert!(!is_known && has_worker);
                        model.running.insert(job, client);
                    }
                    Admission::Waits => {
                        assert!(!is_known && !has_worker && class != Class::Optional);
                        model.waiting.insert(job, (class, client, number));
                    }
                    Admission::Displaces(other) => {
                        model.displace(other, class, client);
                        model.waiting.insert(job, (class, client, number));
                    }
                    Admission::Refused => assert!(is_known || !has_worker),
                }
            }
            3 => {
                let left = gate.leave(job);
                let ran = model.running.remove(&job).is_some();
                let waited = model.waiting.remove(&job).is_some();
                assert_eq!(left.map(|left| left.ran), (ran || waited).then_some(ran));
                if let Some(next) = left.and_then(|left| left.next) {
                    model.start(next);
                } else if ran && (model.running.len() as u32) < config.workers {
                    assert!(model.waiting.is_empty(), "a worker is idle");
                }
            }
            _ => {
                config = GateConfig {
                    workers: 1 + choices.below(3),
                    queue: choices.below(5),
                };
                for next in gate.set(config) {
                    model.start(next);
                    assert!(model.running.len() as u32 <= config.workers);
                }
            }
        }
        assert_eq!(gate.running() as usize, model.running.len());
        for class in Class::ALL {
            let waiting = model.waiting.values();
            let count = waiting.filter(|(of, ..)| *of == class).count();
            assert_eq!(gate.waiting(class), count);
        }
    }
}
