//! One flow over two byte streams that a driver owns.
//! A `Flow` is the logic that a driver over real sockets needs in addition to sockets and buffers.
//!
//! A driver reports events of the connections and calls of the application to a [`Flow`].
//! After each report, the driver executes [`Command`]s until there are none.
//! The driver keeps the bytes: it needs the written data after position [`Flow::keep_from`].
//! [`Flow::to_send`] returns the part that a connection has not yet received.
//! [`Flow::received`] returns the number of new bytes for the application.
//! The simulated [`Endpoint`](super::Endpoint) contains its own TCP and does not need a [`Flow`].
//!
//! In addition to the state machine, a flow follows the rules of `docs/repnet-wire.md` and of the npm package.
//! The flow checks that both banners come from the same server.
//! The flow opens a second connection again for an idle kept-alive flow.
//! The flow drops a connection if the flow is too large or the connection lags too far.

mod events;
mod leg;
mod performing;
mod rejoining;

use super::archive::Archive;
use super::delivery::Delivery;
use super::hello::{FlowKey, InstanceId, Preamble};
use super::state::{self, Event, Leg, LegState, Machine, Mode, Role, State};
use alloc::collections::VecDeque;
use leg::{Count, Counts};
use rejoining::Rejoining;
use tailcut_units::{Duration, Time};

/// Limits of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowLimits {
    /// Client: number of bytes after which the flow continues on one connection; `u64::MAX` means no limit.
    /// The number covers the bytes that were sent and received since the flow was last idle.
    pub max_bytes: u64,
    /// Largest number of bytes that are kept for a connection that has not arrived.
    pub archive_cap: u64,
    /// Client: largest number of bytes by which a connection may lag behind the other connection.
    pub lag_cap: u64,
    /// Client: time within which a connection must be established, including its hello.
    pub leg_deadline: Duration,
    /// Time for which a flow that has finished on one connection waits for the other connection.
    pub confirm_timeout: Duration,
    /// Server: time for which a flow waits for the second connection.
    pub waiting_list_timeout: Duration,
    /// Client, RepFlow with hellos: time without a byte in either direction, after which the flow counts as idle.
    /// An idle flow gets a second connection again. `None`: never.
    pub idle_time: Option<Duration>,
}

/// Reason why a connection of a flow was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// An event of the state machine.
    Event(Event),
    /// The answer did not come from a RepNet server, or there was no answer.
    Foreign,
    /// The two connections reached two different servers.
    OtherInstance,
    /// The server does not accept the connection now, or the connection failed during its hello.
    Refused,
    /// The stream ended too early: bytes that the other connection had delivered were missing.
    EarlyFin,
    /// The connection lagged behind the other when the flow was idle.
    Behind,
    /// A new connection, which rejoined the flow, has replaced this connection.
    Replaced,
    /// The connection was opened to rejoin the flow, but the flow is ending.
    NotNeeded,
}

/// Cause of a flow's failure, for the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Failure of this connection.
    Leg(Leg),
    /// No connection was established in time.
    LegDeadline,
    /// No connection can be used, and the written data exceeds the archive for the connection that is expected.
    ArchiveFull,
    /// The connections transferred different bytes, or ended at different lengths.
    Diverged,
}

/// Unsuccessful end of the hello on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The answer was not a banner for this hello.
    Foreign,
    /// The stream ended without a banner.
    Silent,
    /// The connection failed.
    Failed,
    /// This host failed (no descriptor, no port), which shows nothing about the target.
    Local,
}

/// Command for the driver. The driver executes commands in the given order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Open this connection of the flow.
    Open(Leg),
    /// Send this preamble on the connection that it names, and read the banner.
    SendHello(Preamble),
    /// Store whether the target supports RepNet.
    Learn(bool),
    /// Count a connection for the budget: `true` if it was established, `false` if it failed by itself.
    Outcome(bool),
    /// The connection now transfers bytes.
    Promote {
        /// Connection that now transfers bytes.
        leg: Leg,
        /// Whether the other connection transfers bytes too.
        paired: bool,
    },
    /// Report the flow to the application as connected or accepted.
    Deliver,
    /// Report the end of the stream to the application: all bytes of the peer have been received.
    EndOfStream,
    /// The flow uses only one connection for the rest of its life.
    Settled,
    /// Reset this connection, or cancel the attempt to open it.
    Reset(Leg, Reason),
    /// The connection has lost the race of RepSYN. A client discards its input until the server ends the connection.
    /// A server ends the connection with a FIN.
    Leave(Leg),
    /// Close this connection, on which everything was sent.
    Close(Leg),
    /// Let the connection end by itself. Discard its input for a limited time.
    Release(Leg),
    /// A second connection may be opened again. Call [`Flow::rejoin`] if the budget allows it.
    MayRejoin(Leg),
    /// Count a connection that ended before it had the bytes of the other connection, or transferred different bytes.
    NoteDiverged,
    /// Report this failure to the application.
    Fail(Cause),
    /// Server: remember the flow, so that one of its connections that arrives late is recognised.
    Bury,
    /// No connection transfers bytes any more.
    Ended,
}

#[derive(Clone, Copy, Default, Debug)]
struct Timers {
    deadline: Option<Time>,
    waiting: Option<Time>,
    confirm: Option<Time>,
    /// Time at which a closed flow is aborted.
    close: Option<Time>,
}

/// Initial capacity of the command queue. More commands rarely wait at the same time.
const COMMANDS: usize = 8;

/// Returns the earlier of two optional times.
fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Time for which a closed flow may continue to send written data.
const CLOSE_LIMIT: Duration = Duration::from_ms(60_000);

/// State of a flow at one of its ends.
#[derive(Debug)]
pub struct Flow {
    machine: Machine,
    limits: FlowLimits,
    /// Identifier of the flow, if hellos are in use.
    key: Option<FlowKey>,
    /// Client: identifier of the server, after the first banner.
    instance: Option<InstanceId>,
    count: Count,
    delivery: Delivery,
    archive: Archive,
    /// Progress of the application's close or abort.
    leaving: Leaving,
    opened: bool,
    held: Option<Leg>,
    timers: Timers,
    rejoining: Rejoining,
    commands: VecDeque<Command>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaving {
    No,
    /// All written data is sent before the connections are closed.
    Closing,
    /// All written data is sent. The peer has ended its direction too, and the connections get time to confirm.
    Confirming,
    /// The connections are reset.
    Resetting,
}

impl Flow {
    /// Creates a flow that this host opens. With a `key` the flow uses hellos.
    /// Without a `key` it uses two connections from one port, as in the paper. The driver must open both connections.
    pub fn client(now: Time, mode: Mode, key: Option<FlowKey>, limits: FlowLimits) -> Self {
        let mut flow = Self::new(Machine::client(mode), key, limits);
        flow.timers.deadline = Some(now.saturating_add(limits.leg_deadline));
        // The start of a flow drops no connection, so this reason is never used.
        flow.perform(
            now,
            state::CLIENT_START.actions,
            Leg::First,
            Reason::Event(Event::LegEstablished),
            None,
        );
        flow.commands.extend(Leg::ALL.map(Command::Open));
        flow
    }

    /// Creates a flow that this host accepts, when its first connection arrives. `leg` is the index of this connection.
    pub fn server(now: Time, mode: Mode, leg: Leg, limits: FlowLimits) -> Self {
        let mut flow = Self::new(Machine::server(mode, leg), None, limits);
        // The start of a flow drops no connection, so this reason is never used.
        flow.perform(
            now,
            state::SERVER_START.actions,
            leg,
            Reason::Event(Event::LegEstablished),
            None,
        );
        flow
    }

    fn new(machine: Machine, key: Option<FlowKey>, limits: FlowLimits) -> Self {
        Self {
            machine,
            limits,
            key,
            instance: None,
            count: Count::default(),
            delivery: Delivery::default(),
            archive: Archive::start(),
            leaving: Leaving::No,
            opened: false,
            held: None,
            timers: Timers::default(),
            rejoining: Rejoining::default(),
            commands: VecDeque::with_capacity(COMMANDS),
        }
    }

    /// Returns the next command. After every input, the driver calls this function until it returns `None`.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Returns the time at which [`on_timeout`](Self::on_timeout) must be called, if any.
    pub fn next_timeout(&self) -> Option<Time> {
        let Timers {
            deadline,
            waiting,
            confirm,
            close,
        } = self.timers;
        let own = [deadline, waiting, confirm, close];
        own.into_iter().fold(self.rejoining.next_timeout(), earlier)
    }

    /// Runs the timers that are due at `now`.
    pub fn on_timeout(&mut self, now: Time) {
        let is_due = |at: &mut Option<Time>| at.take_if(|at| *at <= now).is_some();
        if is_due(&mut self.timers.deadline) {
            for leg in Leg::ALL {
                // The failure of the first connection may end the flow. Then the second connection needs no report.
                if self.machine.leg(leg) == LegState::Pending && !self.has_ended() {
                    self.commands.push_back(Command::Outcome(false));
                    self.fail_by(now, Event::LegDeadline, leg, Cause::LegDeadline);
                }
            }
        }
        if is_due(&mut self.timers.waiting) {
            self.waiting_list_timed_out(now);
        }
        if is_due(&mut self.timers.confirm) {
            // The slower connection had enough time, so the flow now closes its connections.
            if self.leaving == Leaving::Closing {
                self.dispatch(now, Event::Abort, Leg::First);
            }
            for leg in Leg::ALL {
                if self.machine.leg(leg) == LegState::Live {
                    self.dispatch(now, Event::ConfirmTimeout, leg);
                }
            }
        }
        if is_due(&mut self.timers.close) {
            self.abort(now);
        }
        self.rejoining_timeout(now);
    }

    // Getters for the driver.

    /// Returns the role of this host in the flow.
    pub const fn role(&self) -> Role {
        self.machine.role()
    }
    /// Client: returns whether connections use hellos.
    pub const fn is_by_hello(&self) -> bool {
        self.key.is_some()
    }
    /// Returns the replication mode.
    pub const fn mode(&self) -> Mode {
        self.machine.mode()
    }
    /// Returns the state of the flow.
    pub const fn state(&self) -> State {
        self.machine.state()
    }
    /// Returns the state of a connection.
    pub const fn leg(&self, leg: Leg) -> LegState {
        self.machine.leg(leg)
    }
    /// Returns whether no connection transfers bytes any more.
    pub fn has_ended(&self) -> bool {
        self.state() == State::Ended
    }
    /// Returns whether the application knows the flow as connected or accepted.
    pub const fn is_opened(&self) -> bool {
        self.opened
    }
    /// Returns the number of bytes that the application has written.
    pub const fn written(&self) -> u64 {
        self.count.written
    }
    /// Returns the number of bytes that were delivered for the application.
    pub const fn delivered(&self) -> u64 {
        self.delivery.delivered()
    }
    /// Returns whether the peer has ended its direction.
    pub const fn peer_finished(&self) -> bool {
        self.delivery.is_finished()
    }
    /// Returns whether the application has ended its direction.
    pub const fn is_finishing(&self) -> bool {
        self.count.ending
    }
    /// Returns whether both connections may still deliver copies of the same bytes.
    /// If two copies are possible, a driver can compare them.
    pub fn is_compared(&self) -> bool {
        matches!(self.state(), State::OneConn | State::DupConn)
            || Leg::ALL
                .iter()
                .all(|leg| self.machine.leg(*leg) != LegState::Gone)
    }

    /// Returns the position of the first byte that was not passed to a connection, and the number of bytes after it.
    /// The number of bytes is 0 for a connection that does not transfer bytes.
    pub fn to_send(&self, leg: Leg) -> (u64, u64) {
        let sent = self.counts(leg).sent;
        match self.machine.leg(leg) {
            LegState::Live => (sent, self.count.written.saturating_sub(sent)),
            LegState::Pending | LegState::Gone => (sent, 0),
        }
    }

    /// Returns whether all data was passed to this connection, and the end of our direction must follow now.
    pub fn is_to_finish(&self, leg: Leg) -> bool {
        let counts = self.counts(leg);
        self.machine.leg(leg) == LegState::Live
            && self.count.ending
            && !counts.finished
            && counts.sent == self.count.written
    }

    /// Returns whether this connection can be closed together with the end of our direction.
    /// The connection can be closed if the peer has ended its own direction, and all bytes of the peer were read.
    pub fn closes_with_its_end(&self, leg: Leg) -> bool {
        let counts = self.counts(leg);
        counts.ended && counts.received == self.delivered()
    }

    /// Returns the position in the written data after which the driver must keep all bytes.
    pub fn keep_from(&self) -> u64 {
        let live = Leg::ALL.into_iter();
        let live = live.filter(|leg| self.machine.leg(*leg) == LegState::Live);
        let sent = live.map(|leg| self.counts(leg).sent).min();
        let archived = self.archive.is_kept().then_some(self.count.archived_from);
        // The slowest live connection has not sent these bytes yet. A connection that joins later needs the archive.
        let needed = sent.into_iter().chain(archived).min();
        needed.unwrap_or(self.count.written)
    }

    /// Returns the number of bytes by which this connection lags behind the data of the application.
    /// The driver may read the bytes of the lag even if the application accepts no more.
    pub fn behind(&self, leg: Leg) -> u64 {
        self.delivered().saturating_sub(self.counts(leg).received)
    }

    /// Returns the number of bytes that this connection delivered before the other connection.
    pub const fn fresh(&self, leg: Leg) -> u64 {
        self.counts(leg).fresh
    }

    /// Returns the number of bytes that wait for the connection with the most progress. 0 means no connection.
    pub fn queued(&self) -> u64 {
        let live = Leg::ALL.into_iter();
        let live = live.filter(|leg| self.machine.leg(*leg) == LegState::Live);
        live.map(|leg| self.to_send(leg).1).min().unwrap_or(0)
    }

    /// Returns whether the driver must stop reading from the application.
    /// A server never drops a slow connection, so it must slow down its application.
    pub fn is_held_back(&self) -> bool {
        self.role() == Role::Server
            && Leg::ALL
                .iter()
                .any(|leg| self.to_send(*leg).1 > self.limits.lag_cap)
    }

    const fn counts(&self, leg: Leg) -> &Counts {
        &self.count.legs[leg as usize]
    }

    const fn counts_mut(&mut self, leg: Leg) -> &mut Counts {
        &mut self.count.legs[leg as usize]
    }
}
