//! The state machine of a RepNet flow (RepNet paper, section III, Tables I and II), without I/O and
//! without a word of TCP: the layer above connections performs its actions.
//!
//! `packages/repnet/spec/state-machine.json` is the same machine as a table and says what every word
//! means; the tests hold this file to it row by row. A flow has two *legs*, its connections; an
//! event has a *subject*, one of them.

use Action::*;
use LegState::*;
use State::*;

/// Which end of a flow this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It opened the flow.
    Client,
    /// It accepted the flow.
    Server,
}

/// What is replicated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// RepFlow: every byte goes over both legs.
    RepFlow,
    /// RepSYN: only the handshake is raced; the first leg to finish it carries everything.
    RepSyn,
}

/// Table I of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// One leg carries bytes, the other has not arrived; the flow is on the waiting list.
    OneConn,
    /// Both legs are wanted.
    DupConn,
    /// One leg is settled on, the other can no longer carry a byte of this flow.
    Chosen,
    /// No leg carries bytes any more.
    Ended,
}

/// What one leg is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LegState {
    /// Neither established (client) or arrived (server), nor gone.
    Pending,
    /// Established or arrived, and neither failed nor dropped nor finished.
    Live,
    /// Failed, dropped, finished, or given up while it was pending.
    Gone,
}

/// Leg 0 goes to the service's port, leg 1 to the port after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leg {
    /// To port p.
    First = 0,
    /// To port p + 1.
    Second = 1,
}

impl Leg {
    /// Both.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// What happened to a flow. The subject is a leg.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// At the client: the subject's handshake has finished.
    LegEstablished,
    /// At the server: the subject was matched with the flow's entry on the waiting list.
    SecondLegJoined,
    /// At the client: the connection was idle, and the subject, a new leg, is to carry the bytes from
    /// here on too.
    RejoinStarted,
    /// At a server that knows that the flow is RepSYN: the client chose the subject.
    ChoiceLearned,
    /// The subject was refused, reset or timed out.
    LegFailed,
    /// At the client: the subject was not established in time.
    LegDeadline,
    /// At the server: the subject did not arrive in time.
    WaitingListTimeout,
    /// The archive for the subject, which is pending, is over its limit.
    ArchiveOverThreshold,
    /// At the client: the flow turned out longer than replication is for; the subject is given up.
    BytesOverLimit,
    /// At the client: the subject is behind the other leg by more than a cap.
    LagOverCap,
    /// Both directions of the subject ended cleanly; the other leg is live or pending.
    LegFinished,
    /// The subject did not finish in time after the other leg had.
    ConfirmTimeout,
    /// Both directions of the subject ended cleanly, and it was the last leg.
    BothClosed,
    /// At the server: a connection of this flow came when the flow takes none.
    LateLeg,
    /// The application destroyed the flow. The subject does not matter.
    Abort,
    /// The legs carried different bytes or ended at different lengths.
    Diverged,
}

/// What the layer does, in the order given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The subject carries bytes from now on.
    AttachLeg,
    /// Give the flow to the application, unless it has it.
    OpenFlow,
    /// Put the flow on the waiting list.
    EnterWaitingList,
    /// Take it off.
    LeaveWaitingList,
    /// It stays there, without a timeout.
    KeepOnWaitingList,
    /// Keep what is written from byte 0.
    StartArchive,
    /// Write the whole archive on the subject before anything new.
    ReplayArchive,
    /// Forget the archive.
    FreeArchive,
    /// Drop the subject with a reset.
    ResetLeg,
    /// Drop the other leg with a reset.
    ResetOtherLeg,
    /// Keep the subject's error, to surface if the other leg never comes.
    HoldError,
    /// The other leg goes on; a confirm timeout may start.
    AwaitOtherLeg,
    /// Close the subject.
    ReleaseLeg,
    /// Close every leg as the application asked.
    CloseLegs,
    /// Report the error to the application.
    SurfaceError,
    /// At the server: put up a tombstone.
    Bury,
}

/// What a flow does on an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The state after it.
    pub next: State,
    /// What to do.
    pub actions: &'static [Action],
}

const fn to(next: State, actions: &'static [Action]) -> Option<Step> {
    Some(Step { next, actions })
}

/// How a client's flow starts: in DUP_CONN, with both legs pending.
pub const CLIENT_START: Step = Step {
    next: DupConn,
    actions: &[StartArchive],
};

/// How a server's flow starts when its first leg arrives.
pub const SERVER_START: Step = Step {
    next: OneConn,
    actions: &[AttachLeg, EnterWaitingList, StartArchive, OpenFlow],
};

/// What a flow in `state` does on `event`, given what the leg that is not the subject is doing and
/// whether the flow is on the waiting list. `None`: nothing, the event does not concern it.
pub const fn transition(
    role: Role,
    mode: Mode,
    state: State,
    event: Event,
    other: LegState,
    on_waiting_list: bool,
) -> Option<Step> {
    match (state, role) {
        (OneConn, Role::Server) => one_conn(mode, event, other),
        (DupConn, Role::Client) => dup_conn_client(mode, event, other),
        (DupConn, Role::Server) => dup_conn_server(mode, event, other),
        (Chosen, Role::Client) => chosen_client(mode, event, other),
        (Chosen, Role::Server) => chosen_server(mode, event, other, on_waiting_list),
        (Ended, Role::Server) if matches!(event, Event::LateLeg) => to(Ended, &[ResetLeg]),
        (OneConn, Role::Client) | (Ended, _) => None,
    }
}

const fn one_conn(mode: Mode, event: Event, other: LegState) -> Option<Step> {
    const JOINED: &[Action] = &[LeaveWaitingList, AttachLeg, ReplayArchive, FreeArchive];
    const SETTLED: &[Action] = &[FreeArchive, KeepOnWaitingList];
    match (event, other) {
        (Event::SecondLegJoined, Live) => to(DupConn, JOINED),
        (Event::SecondLegJoined, Gone) => to(Chosen, JOINED),
        (Event::ChoiceLearned, Pending) if matches!(mode, Mode::RepSyn) => to(Chosen, SETTLED),
        (Event::WaitingListTimeout, Live) => to(Chosen, &[LeaveWaitingList, FreeArchive]),
        (Event::WaitingListTimeout, Gone) => {
            to(Ended, &[LeaveWaitingList, FreeArchive, SurfaceError, Bury])
        }
        (Event::ArchiveOverThreshold, Live) => to(Chosen, SETTLED),
        (Event::ArchiveOverThreshold, Gone) => to(Ended, &[FreeArchive, SurfaceError, Bury]),
        (Event::LegFailed, Pending) => to(OneConn, &[ResetLeg, HoldError]),
        (Event::LegFinished, Pending) => CLOSED,
        (Event::LateLeg, _) => to(OneConn, &[ResetLeg]),
        (Event::Abort, _) => ABORTED,
        _ => None,
    }
}

const CLOSED: Option<Step> = to(Ended, &[FreeArchive, Bury]);
const ABORTED: Option<Step> = to(Ended, &[CloseLegs, FreeArchive, Bury]);
const RELEASED: Option<Step> = to(Ended, &[ReleaseLeg, FreeArchive, Bury]);
const AFTER_THE_FINISH: Option<Step> = to(Ended, &[ResetLeg, FreeArchive, Bury]);
const GAVE_UP: Option<Step> = to(Ended, &[ResetLeg, FreeArchive, SurfaceError, Bury]);
const DIVERGED: Option<Step> = to(
    Ended,
    &[ResetLeg, ResetOtherLeg, FreeArchive, SurfaceError, Bury],
);

const SETTLED: Option<Step> = to(Chosen, &[ResetLeg, FreeArchive]);

const fn dup_conn_client(mode: Mode, event: Event, other: LegState) -> Option<Step> {
    const LEFT_WITH_PENDING: Option<Step> = to(Chosen, &[ResetLeg]);
    const RACE_WON: &[Action] = &[
        ResetOtherLeg,
        AttachLeg,
        ReplayArchive,
        FreeArchive,
        OpenFlow,
    ];
    match (event, other, mode) {
        (Event::LegEstablished, Pending, Mode::RepFlow) => {
            to(DupConn, &[AttachLeg, ReplayArchive, OpenFlow])
        }
        (Event::LegEstablished, Live, Mode::RepFlow) => {
            to(DupConn, &[AttachLeg, ReplayArchive, FreeArchive])
        }
        (Event::LegEstablished, Pending, Mode::RepSyn) => to(Chosen, RACE_WON),
        (Event::LegFailed | Event::LegDeadline, Live, _) => SETTLED,
        (Event::LegFailed | Event::LegDeadline, Pending, _) => LEFT_WITH_PENDING,
        (Event::LegFailed, Gone, _) => AFTER_THE_FINISH,
        (
            Event::ArchiveOverThreshold | Event::BytesOverLimit | Event::LagOverCap,
            Live,
            Mode::RepFlow,
        ) => SETTLED,
        (Event::LegFinished, Live, Mode::RepFlow) => to(DupConn, &[AwaitOtherLeg]),
        (Event::LegFinished, Pending, Mode::RepFlow) => to(Ended, &[ResetOtherLeg, FreeArchive]),
        _ => dup_conn(event, other),
    }
}

const fn dup_conn_server(mode: Mode, event: Event, other: LegState) -> Option<Step> {
    match (event, other) {
        (Event::ChoiceLearned, Live) if matches!(mode, Mode::RepSyn) => {
            to(Chosen, &[ResetOtherLeg, FreeArchive])
        }
        (Event::LegFailed, Live) => to(Chosen, &[ResetLeg]),
        (Event::LegFailed, Gone) => AFTER_THE_FINISH,
        (Event::LegFinished, Live) => to(DupConn, &[AwaitOtherLeg]),
        (Event::LateLeg, _) => to(DupConn, &[ResetLeg]),
        _ => dup_conn(event, other),
    }
}

/// What both ends do alike in DUP_CONN.
const fn dup_conn(event: Event, other: LegState) -> Option<Step> {
    match (event, other) {
        (Event::ConfirmTimeout, Live) => to(DupConn, &[ReleaseLeg]),
        (Event::ConfirmTimeout, Gone) => RELEASED,
        (Event::BothClosed, _) => CLOSED,
        (Event::Abort, _) => ABORTED,
        (Event::Diverged, _) => DIVERGED,
        _ => None,
    }
}

const fn chosen_client(mode: Mode, event: Event, other: LegState) -> Option<Step> {
    const OPENED: &[Action] = &[AttachLeg, ReplayArchive, FreeArchive, OpenFlow];
    const REJOINED: &[Action] = &[AttachLeg, ReplayArchive, FreeArchive];
    match (event, other) {
        // The subject is a second leg for a connection that was idle.
        (Event::RejoinStarted, Live) if matches!(mode, Mode::RepFlow) => {
            to(Chosen, &[StartArchive])
        }
        (Event::LegEstablished, Live) if matches!(mode, Mode::RepFlow) => to(DupConn, REJOINED),
        (Event::LegFailed | Event::LegDeadline | Event::ArchiveOverThreshold, Live)
            if matches!(mode, Mode::RepFlow) =>
        {
            SETTLED
        }
        (Event::LegEstablished, Gone) => to(Chosen, OPENED),
        (Event::LegDeadline, Gone) => to(Ended, &[ResetLeg, FreeArchive, SurfaceError]),
        _ => chosen(event, other),
    }
}

const fn chosen_server(
    mode: Mode,
    event: Event,
    other: LegState,
    on_waiting_list: bool,
) -> Option<Step> {
    match event {
        Event::SecondLegJoined if matches!((mode, other), (Mode::RepFlow, Live)) => {
            to(DupConn, &[LeaveWaitingList, AttachLeg])
        }
        Event::WaitingListTimeout => to(Chosen, &[KeepOnWaitingList]),
        Event::LateLeg if on_waiting_list => to(Chosen, &[ResetLeg, LeaveWaitingList]),
        Event::LateLeg => to(Chosen, &[ResetLeg]),
        _ => chosen(event, other),
    }
}

/// What both ends do alike in CHOSEN.
const fn chosen(event: Event, other: LegState) -> Option<Step> {
    match (event, other) {
        (Event::LegFailed, Gone) => GAVE_UP,
        (Event::ConfirmTimeout, Gone) => RELEASED,
        (Event::BothClosed, _) => CLOSED,
        (Event::Abort, _) => ABORTED,
        (Event::Diverged, _) => GAVE_UP,
        _ => None,
    }
}

/// One flow's place in the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    role: Role,
    mode: Mode,
    state: State,
    legs: [LegState; 2],
    on_waiting_list: bool,
}

impl Machine {
    /// A replicated flow at the end that opens it: perform [`CLIENT_START`].
    pub const fn client(mode: Mode) -> Self {
        Self {
            role: Role::Client,
            mode,
            state: CLIENT_START.next,
            legs: [Pending; 2],
            on_waiting_list: false,
        }
    }

    /// A flow of one plain connection: settled on its first leg from the start. Perform
    /// [`CLIENT_START`] here too.
    pub const fn plain_client() -> Self {
        Self {
            role: Role::Client,
            mode: Mode::RepFlow,
            state: Chosen,
            legs: [Pending, Gone],
            on_waiting_list: false,
        }
    }

    /// A flow at the end that accepts it, when `leg` is the first to arrive: perform
    /// [`SERVER_START`].
    pub const fn server(mode: Mode, leg: Leg) -> Self {
        let mut legs = [Pending; 2];
        legs[leg as usize] = Live;
        Self {
            role: Role::Server,
            mode,
            state: SERVER_START.next,
            legs,
            on_waiting_list: true,
        }
    }

    /// Takes `event`, whose subject is `leg`, and gives what is to be done.
    pub fn handle(&mut self, event: Event, leg: Leg) -> &'static [Action] {
        let other = self.leg(leg.other());
        let Some(step) = transition(
            self.role,
            self.mode,
            self.state,
            event,
            other,
            self.on_waiting_list,
        ) else {
            return &[];
        };
        self.state = step.next;
        let (this, that) = (leg as usize, leg.other() as usize);
        if matches!(event, Event::RejoinStarted) {
            self.legs[this] = Pending;
        }
        for action in step.actions {
            match action {
                AttachLeg => self.legs[this] = Live,
                // A late connection is none of the flow's legs.
                ResetLeg | ReleaseLeg if event != Event::LateLeg => self.legs[this] = Gone,
                ResetOtherLeg => self.legs[that] = Gone,
                LeaveWaitingList | Bury => self.on_waiting_list = false,
                _ => {}
            }
        }
        if matches!(event, Event::LegFinished | Event::BothClosed) {
            self.legs[this] = Gone;
        }
        // A server waits in ONE_CONN only.
        if self.role == Role::Server && self.state != OneConn {
            self.legs = self.legs.map(|leg| if leg == Pending { Gone } else { leg });
        }
        if self.state == Ended {
            self.legs = [Gone; 2];
        }
        step.actions
    }

    /// Which end of the flow this is.
    pub const fn role(&self) -> Role {
        self.role
    }
    /// What is replicated.
    pub const fn mode(&self) -> Mode {
        self.mode
    }
    /// The flow's state.
    pub const fn state(&self) -> State {
        self.state
    }
    /// What a leg is doing.
    pub const fn leg(&self, leg: Leg) -> LegState {
        self.legs[leg as usize]
    }
    /// The leg that may yet come while the other one carries the flow.
    pub fn awaited_leg(&self) -> Option<Leg> {
        Leg::ALL
            .into_iter()
            .find(|leg| self.leg(*leg) == Pending && self.leg(leg.other()) != Pending)
    }
}
