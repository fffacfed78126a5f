//! Event loop of a driver, and the thread that runs it over a UDP socket.

use super::check_codec::GroupListeners;
use super::clock::{Clock, WallClock};
use super::engine::{Counts, Engine, News};
use super::incoming::{DecodeJob, Decoded};
use super::mailbox::Mailbox;
use super::outcome::{Failure, Received, Sent};
use super::outgoing::Task;
use super::pace::Pace;
use crate::codec::Codes;
use crate::udp::{Datagrams, Port};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use tailcut_units::{Duration, FlowId, Time};

/// Largest number of timers that run before the loop receives again.
/// Without a limit, many timers could delay the loop until the socket's buffer overflows.
const TIMERS: usize = 1_024;
/// Number of segments that are sent before the loop receives again.
/// With fewer segments, each message to the kernel has fewer datagrams.
/// With more segments, datagrams that have arrived wait longer.
const AT_ONCE: usize = 512;

/// Engine with its socket and clock.
#[derive(Debug)]
pub(super) struct Driver<N, C> {
    pub(super) engine: Engine,
    pub(super) net: N,
    pub(super) clock: C,
    pub(super) pace: Pace,
}

impl<N: Datagrams, C: Clock> Driver<N, C> {
    /// Receives datagrams, runs timers, and sends datagrams, once each.
    /// Returns whether the caller should call this function again immediately.
    pub(super) fn turn(&mut self) -> io::Result<bool> {
        let (engine, clock) = (&mut self.engine, &mut self.clock);
        // Pulls wait until the whole batch is processed. So one pull grants credits for all symbols of the batch.
        engine.host.hold_pulls(true);
        let arrived = self.net.receive(&mut |incoming| {
            let stamp = incoming.ancillary.stamp;
            let at = match stamp {
                Some(stamp) => clock.arrival(stamp),
                None => clock.now(),
            };
            engine.on_incoming(at, incoming);
        });
        // The pulls are released even after an error, so that they are not held forever.
        engine.host.hold_pulls(false);
        let arrived = arrived?;
        while let Some(refusal) = self.net.refusal()? {
            self.engine.on_refusal(self.clock.now(), &refusal);
        }
        // The clock is read after the reception. An earlier time could be older than the time stamps of the batch.
        let now = self.clock.now();
        let mut due = now;
        for _ in 0..TIMERS {
            if self.engine.next_timeout().is_none_or(|at| at > due) {
                break;
            }
            self.engine.on_timeout(due);
            // A timer that is set now may be due at the same time.
            // The time advances by one picosecond, so that this timer runs too.
            due = due.saturating_add(Duration::from_ps(1));
        }
        let before = self.engine.counts().sent;
        let allowed = self.pace.allowed(now, AT_ONCE);
        let left = self.engine.transmit(now, &mut self.net, allowed);
        self.pace.spend(self.engine.counts().sent - before);
        let is_open = self.pace.opens_at().is_none();
        // If the socket is blocked or the rate is used up, the sleep ends when that changes.
        // So the thread need not run again immediately.
        let more = self.engine.has_transmit() && !self.engine.is_blocked() && is_open;
        Ok(arrived > 0 || left || more)
    }
}

/// Change of an endpoint's membership in a multicast group: join or leave.
#[derive(Clone, Copy)]
pub(super) enum Membership {
    Joins,
    Leaves,
}

/// Request of an endpoint to its thread.
pub(super) enum Command {
    /// Send an object.
    Send {
        task: Task,
        number: u64,
        outcome: Arc<Outcome>,
    },
    /// Cancel a transfer.
    Cancel(u64),
    /// Stop sending an object to the receiver with this index.
    LeaveOut(u64, usize),
    /// Return the values of the counters.
    Count(Arc<Mailbox<Counts>>),
    /// Join a multicast group at an interface, or leave it.
    Member(Membership, IpAddr, u32, Arc<Mailbox<io::Result<()>>>),
    /// Send a check to a multicast group, and add the endpoints that answer to the list.
    CheckGroup(SocketAddr, GroupListeners),
    /// End the thread.
    Stop,
}

/// Result of a transfer, once it has ended. `Sending` waits for the result.
pub(super) type Outcome = Mailbox<Result<Sent, Failure>>;

/// Event counter of the kernel that wakes a thread while the thread waits for its socket.
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(eventfd(0, flags)?))
    }

    pub(super) fn ring(&self) {
        // A write fails only if the counter is full. In this case the thread wakes up anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn clear(&self) {
        // A read fails only if the counter is 0. In this case there is nothing to clear.
        let _ = rustix::io::read(&self.0, &mut [0u8; 8][..]);
    }
}

/// Threads that decode blocks. The threads end when this value is dropped.
struct Decoders {
    jobs: Sender<DecodeJob>,
    decoded: Receiver<Decoded>,
}

impl Decoders {
    fn start(count: usize, codes: &Arc<Codes>, bell: &Arc<Bell>) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<DecodeJob>();
        let (done, decoded) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        // At least one thread is needed. Without it, an object with losses would never become complete.
        for _ in 0..count.max(1) {
            let (queue, done) = (Arc::clone(&queue), done.clone());
            let (codes, bell) = (Arc::clone(codes), Arc::clone(bell));
            let work = move || {
                loop {
                    // One idle thread waits for the next job, and the other threads wait for the lock.
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(job) = next else { return };
                    // The send fails only if the thread of the endpoint has ended.
                    if done.send(job.run(&codes)).is_err() {
                        return;
                    }
                    bell.ring();
                }
            };
            thread::Builder::new()
                .name("cast decoder".to_owned())
                .spawn(work)?;
        }
        Ok(Self { jobs, decoded })
    }
}

/// State of an endpoint's thread.
pub(super) struct Thread {
    driver: Driver<Port, WallClock>,
    decoders: Decoders,
    commands: Receiver<Command>,
    bell: Arc<Bell>,
    received: Arc<Mailbox<Received>>,
    /// Number and result of each transfer, by its flow number.
    outcomes: HashMap<FlowId, (u64, Arc<Outcome>)>,
    /// Flow number of each transfer, by the number of the transfer.
    flows: HashMap<u64, FlowId>,
}

impl Thread {
    pub(super) fn new(
        driver: Driver<Port, WallClock>,
        decoders: usize,
        codes: &Arc<Codes>,
        commands: Receiver<Command>,
        bell: Arc<Bell>,
        received: Arc<Mailbox<Received>>,
    ) -> io::Result<Self> {
        Ok(Self {
            driver,
            decoders: Decoders::start(decoders, codes, &bell)?,
            commands,
            bell,
            received,
            outcomes: HashMap::new(),
            flows: HashMap::new(),
        })
    }

    /// Runs until the endpoint stops this thread or the socket fails.
    pub(super) fn run(mut self) {
        let ended = self.work();
        let failure = match ended {
            Ok(()) => Failure::Closed,
            Err(error) => Failure::Socket(error.kind()),
        };
        for (_, outcome) in self.outcomes.values() {
            outcome.put(Err(failure));
        }
        // Some requests may have arrived after the end of the loop. They must get an answer too.
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Send { outcome, .. } => outcome.put(Err(failure)),
                Command::Count(answer) => answer.close(),
                Command::Member(_, _, _, answer) => answer.close(),
                Command::Cancel(_)
                | Command::LeaveOut(..)
                | Command::CheckGroup(..)
                | Command::Stop => {}
            }
        }
        self.received.close();
    }

    fn work(&mut self) -> io::Result<()> {
        loop {
            while let Ok(command) = self.commands.try_recv() {
                if !self.on_command(command) {
                    return Ok(());
                }
            }
            while let Ok(decoded) = self.decoders.decoded.try_recv() {
                let now = self.driver.clock.now();
                self.driver.engine.on_decoded(now, &decoded);
            }
            // Requests and decoded blocks were handled first. So their packets are sent in this turn.
            let is_busy = self.driver.turn()?;
            while let Some(job) = self.driver.engine.poll_job() {
                // The decoders live as long as this thread. So the send cannot fail.
                let _ = self.decoders.jobs.send(job);
            }
            while let Some(news) = self.driver.engine.poll_news() {
                self.on_news(news);
            }
            if !is_busy {
                self.sleep()?;
            }
        }
    }

    /// Waits for the socket, the bell or the next timer.
    fn sleep(&mut self) -> io::Result<()> {
        let engine = &self.driver.engine;
        // The rate limit is only important if datagrams wait to be sent.
        let opens_at = engine.has_transmit().then(|| self.driver.pace.opens_at());
        let due = engine
            .next_timeout()
            .into_iter()
            .chain(opens_at.flatten())
            .min();
        let timeout = match due {
            Some(at) => Some(at.since(self.driver.clock.now())),
            None => None,
        };
        let timeout = timeout.map(|left| {
            // The time is rounded up. Otherwise the thread could wake up before the timer is due.
            let ns = left.as_ps().div_ceil(1_000);
            Timespec {
                tv_sec: (ns / 1_000_000_000) as _,
                tv_nsec: (ns % 1_000_000_000) as _,
            }
        });
        let wanted = match engine.is_blocked() {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        };
        let socket = self.driver.net.socket.as_fd();
        let mut files = [
            PollFd::from_borrowed_fd(socket, wanted),
            PollFd::new(&self.bell.0, PollFlags::IN),
        ];
        match poll(&mut files, timeout.as_ref()) {
            // A signal has interrupted the wait. The caller checks all events again.
            Err(rustix::io::Errno::INTR) => return Ok(()),
            result => result?,
        };
        // The next turn always reads the socket. So only the bell and the errors are checked here.
        let has_refusals = files[0].revents().contains(PollFlags::ERR);
        if files[1].revents().contains(PollFlags::IN) {
            self.bell.clear();
        }
        if has_refusals {
            self.driver.net.expect_refusals();
        }
        Ok(())
    }

    /// Handles a request of the endpoint. Returns `false` if the thread must end.
    fn on_command(&mut self, command: Command) -> bool {
        let now: Time = self.driver.clock.now();
        match command {
            Command::Stop => return false,
            Command::Send {
                task,
                number,
                outcome,
            } => match self.driver.engine.send(now, task) {
                Some(flow) => {
                    self.flows.insert(number, flow);
                    self.outcomes.insert(flow, (number, outcome));
                }
                None => outcome.put(Err(Failure::Unfit)),
            },
            Command::Member(change, group, interface, answer) => {
                let socket = &self.driver.net.socket;
                answer.put(match change {
                    Membership::Joins => socket.join(group, interface),
                    Membership::Leaves => socket.leave(group, interface),
                });
            }
            Command::Count(answer) => answer.put(self.driver.engine.counts()),
            Command::CheckGroup(group, listeners) => {
                self.driver.engine.check_group(group, listeners)
            }
            Command::LeaveOut(number, at) => {
                if let Some(flow) = self.flows.get(&number) {
                    self.driver.engine.leave_out(now, *flow, at);
                }
            }
            Command::Cancel(number) => {
                // The engine reports no event for a cancelled transfer. So its result is set here.
                if let Some(flow) = self.flows.remove(&number) {
                    self.driver.engine.cancel(now, flow);
                    if let Some((_, outcome)) = self.outcomes.remove(&flow) {
                        outcome.put(Err(Failure::Cancelled));
                    }
                }
            }
        }
        true
    }

    fn on_news(&mut self, news: News) {
        let (flow, result) = match news {
            News::Received {
                route,
                bytes,
                reservation,
            } => {
                self.received.put(Received {
                    from: route.to,
                    at: route.from,
                    bytes,
                    reservation,
                });
                return;
            }
            News::Sent(flow, stats, missed, symbol) => {
                (flow, Ok(Sent::new(&stats, missed, symbol)))
            }
            News::Failed(flow, failure) => (flow, Err(failure)),
        };
        // A cancelled transfer has no entry here, because its result was set earlier.
        if let Some((number, outcome)) = self.outcomes.remove(&flow) {
            self.flows.remove(&number);
            outcome.put(result);
        }
    }
}
