//! One flow over two byte streams that somebody else owns: what a driver over real sockets needs
//! beside the sockets and the bytes.
//!
//! A driver tells a [`Flow`] what happened to its connections and what the application did, and
//! then takes [`Command`]s until there are none. It keeps the bytes: what was written from
//! [`Flow::keep_from`] on, of which [`Flow::to_send`] says how much a leg still has to be given,
//! and what [`Flow::received`] says is new. The simulated [`Endpoint`](super::Endpoint) owns its
//! TCP and does not need this.
//!
//! Rules beyond the state machine are those of `docs/repnet-wire.md` and of the npm package:
//! whether the two banners come from one server, when a kept-alive flow gets a second leg again,
//! when a size or a lag settles it.

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

/// What bounds one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowLimits {
    /// Client: bytes sent plus received since the flow was idle, beyond which it settles on one
    /// leg; `u64::MAX` for never.
    pub max_bytes: u64,
    /// Bytes that are kept for a leg that has not come.
    pub archive_cap: u64,
    /// Client: bytes by which a leg may be behind the other one.
    pub lag_cap: u64,
    /// Client: in which a leg has to be established, hello included.
    pub leg_deadline: Duration,
    /// For which a flow that has finished on one leg waits for the other.
    pub confirm_timeout: Duration,
    /// Server: for which the second leg is waited for.
    pub waiting_list_timeout: Duration,
    /// Client, RepFlow with hellos: without a byte in either direction after which the flow counts
    /// as idle and gets a second leg again; `None`: never.
    pub idle_time: Option<Duration>,
}

/// Why a leg was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// An event of the state machine.
    Event(Event),
    /// What answered is no RepNet server, or nothing did.
    Foreign,
    /// The two legs reached two servers.
    OtherInstance,
    /// The server takes no leg now, or the connection failed in its hello.
    Refused,
    /// The end of the stream came before what the other leg had brought.
    EarlyFin,
    /// It had not kept up when the flow was idle.
    Behind,
    /// A leg that rejoins took its place.
    Replaced,
    /// It was to rejoin a flow that is ending.
    NotNeeded,
}

/// What the application is told when a flow fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// What the connection of this leg failed of.
    Leg(Leg),
    /// No leg was established in time.
    LegDeadline,
    /// No leg is left to send to, and more was written than may be kept for the one that is to
    /// come.
    ArchiveFull,
    /// The legs carried different bytes, or ended at different lengths.
    Diverged,
}

/// How the hello of a leg ended, where it did not end with a banner that opens or joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Something that is no banner of this hello.
    Foreign,
    /// The end of the stream.
    Silent,
    /// A failure of the connection.
    Failed,
    /// A failure of this machine (no descriptor, no port), which says nothing about the target.
    Local,
}

/// What the driver has to do, in the order given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Open a connection for this leg.
    Open(Leg),
    /// Send this preamble on the leg that it names, and read the banner.
    SendHello(Preamble),
    /// The target is known to speak RepNet, or not to.
    Learn(bool),
    /// A leg was established, or failed by itself: for the budget.
    Outcome(bool),
    /// The leg carries bytes from now on.
    Promote {
        /// The leg.
        leg: Leg,
        /// Whether the other leg carries bytes too.
        paired: bool,
    },
    /// The flow is to be given to the application: connected, or accepted.
    Deliver,
    /// Every byte of the peer has been received; its end is to be told to the application.
    EndOfStream,
    /// The flow has settled on one leg.
    Settled,
    /// Drop the leg's connection by a reset, or its attempt to connect.
    Reset(Leg, Reason),
    /// The leg lost its race. A client discards what still comes on it until the server ends it; a
    /// server ends it by a FIN.
    Leave(Leg),
    /// Close the leg's connection. Everything was sent on it.
    Close(Leg),
    /// The leg may end by itself: discard what still comes on it, for a while.
    Release(Leg),
    /// A second leg may be opened again: call [`Flow::rejoin`] if the budget has room.
    MayRejoin(Leg),
    /// A leg ended short of the other one, or carried other bytes.
    NoteDiverged,
    /// The application is to see this failure.
    Fail(Cause),
    /// Server: remember the flow, so that a late leg of it is known.
    Bury,
    /// No leg carries bytes any more.
    Ended,
}

#[derive(Clone, Copy, Default, Debug)]
struct Timers {
    deadline: Option<Time>,
    waiting: Option<Time>,
    confirm: Option<Time>,
    /// A flow that was closed is aborted then.
    close: Option<Time>,
}

/// As many as there mostly are at a time.
const COMMANDS: usize = 8;

/// The earlier of two times that may not be.
fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// For which a closed flow may go on sending what was written.
const CLOSE_LIMIT: Duration = Duration::from_ms(60_000);

/// One end of a flow.
#[derive(Debug)]
pub struct Flow {
    machine: Machine,
    limits: FlowLimits,
    /// With hellos: the flow's name.
    key: Option<FlowKey>,
    /// Client: the server that has the flow, once a banner is in.
    instance: Option<InstanceId>,
    count: Count,
    delivery: Delivery,
    archive: Archive,
    /// The host gave the flow up, or is done with it.
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
    /// Everything written is to be sent, then the legs are closed.
    Closing,
    /// The same, and the peer has ended too: the legs get their time to confirm.
    Confirming,
    /// Legs are to be reset.
    Resetting,
}

impl Flow {
    /// A flow that this end opens, with hellos if it has a `key`, else as in the paper: two
    /// connections from one port. Both legs are to be opened.
    pub fn client(now: Time, mode: Mode, key: Option<FlowKey>, limits: FlowLimits) -> Self {
        let mut flow = Self::new(Machine::client(mode), key, limits);
        flow.timers.deadline = Some(now.saturating_add(limits.leg_deadline));
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

    /// A flow that this end accepts, when `leg` is the first to arrive.
    pub fn server(now: Time, mode: Mode, leg: Leg, limits: FlowLimits) -> Self {
        let mut flow = Self::new(Machine::server(mode, leg), None, limits);
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

    /// The next thing to do. To be called until `None` after every input.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// When [`on_timeout`](Self::on_timeout) is to be called, if ever.
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

    /// The clock has come to `now`.
    pub fn on_timeout(&mut self, now: Time) {
        let is_due = |at: &mut Option<Time>| at.take_if(|at| *at <= now).is_some();
        if is_due(&mut self.timers.deadline) {
            for leg in Leg::ALL {
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

    // What a driver asks.

    /// Which end of the flow this is.
    pub const fn role(&self) -> Role {
        self.machine.role()
    }
    /// Client: whether legs say hellos.
    pub const fn is_by_hello(&self) -> bool {
        self.key.is_some()
    }
    /// What is replicated.
    pub const fn mode(&self) -> Mode {
        self.machine.mode()
    }
    /// The flow's state.
    pub const fn state(&self) -> State {
        self.machine.state()
    }
    /// What a leg is doing.
    pub const fn leg(&self, leg: Leg) -> LegState {
        self.machine.leg(leg)
    }
    /// Whether no leg carries bytes any more.
    pub fn has_ended(&self) -> bool {
        self.state() == State::Ended
    }
    /// Whether the flow was given to the application.
    pub const fn is_opened(&self) -> bool {
        self.opened
    }
    /// Bytes that the application has written.
    pub const fn written(&self) -> u64 {
        self.count.written
    }
    /// Bytes that are the application's.
    pub const fn delivered(&self) -> u64 {
        self.delivery.delivered()
    }
    /// Whether the peer has ended its direction.
    pub const fn peer_finished(&self) -> bool {
        self.delivery.is_finished()
    }
    /// Whether the application has ended its direction.
    pub const fn is_finishing(&self) -> bool {
        self.count.ending
    }
    /// Whether both legs may yet bring bytes of which the other one's are a copy: their contents
    /// can be compared.
    pub fn is_compared(&self) -> bool {
        matches!(self.state(), State::OneConn | State::DupConn)
            || Leg::ALL
                .iter()
                .all(|leg| self.machine.leg(*leg) != LegState::Gone)
    }

    /// The stream's position of the first byte that a leg has not been given, and how many bytes
    /// follow it. Nothing for a leg that does not carry bytes.
    pub fn to_send(&self, leg: Leg) -> (u64, u64) {
        let sent = self.counts(leg).sent;
        match self.machine.leg(leg) {
            LegState::Live => (sent, self.count.written.saturating_sub(sent)),
            LegState::Pending | LegState::Gone => (sent, 0),
        }
    }

    /// Whether this leg has been given everything, and the end of our direction is to follow.
    pub fn is_to_finish(&self, leg: Leg) -> bool {
        let counts = self.counts(leg);
        self.machine.leg(leg) == LegState::Live
            && self.count.ending
            && !counts.finished
            && counts.sent == self.count.written
    }

    /// Whether this leg's connection is closed as soon as it has the end of our direction: the peer
    /// has ended its own, and all of it was read.
    pub fn closes_with_its_end(&self, leg: Leg) -> bool {
        let counts = self.counts(leg);
        counts.ended && counts.received == self.delivered()
    }

    /// The position in what was written from which on the driver has to keep it.
    pub fn keep_from(&self) -> u64 {
        let live = Leg::ALL.into_iter();
        let live = live.filter(|leg| self.machine.leg(*leg) == LegState::Live);
        let sent = live.map(|leg| self.counts(leg).sent).min();
        let archived = self.archive.is_kept().then_some(self.count.archived_from);
        let needed = sent.into_iter().chain(archived).min();
        needed.unwrap_or(self.count.written)
    }

    /// Bytes that this leg is behind what the application has been given: they may be read from it
    /// without regard to whether the application takes more.
    pub fn behind(&self, leg: Leg) -> u64 {
        self.delivered().saturating_sub(self.counts(leg).received)
    }

    /// Bytes that this leg brought before the other one.
    pub const fn fresh(&self, leg: Leg) -> u64 {
        self.counts(leg).fresh
    }

    /// Bytes that wait for the leg that is furthest along; 0 without one.
    pub fn queued(&self) -> u64 {
        let live = Leg::ALL.into_iter();
        let live = live.filter(|leg| self.machine.leg(*leg) == LegState::Live);
        live.map(|leg| self.to_send(leg).1).min().unwrap_or(0)
    }

    /// Whether the application is to be held back: a server does not give up a leg that is full.
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
