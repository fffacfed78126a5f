//! State machine of a RepNet flow (RepNet paper, section III, Tables I and II), without I/O and independent of TCP.
//! The layer above the connections performs the actions of the state machine.
//!
//! `packages/repnet/spec/state-machine.json` contains the same machine as a table, and defines all terms.
//! Tests compare this file with the table row by row.
//! A flow has two connections, called *legs* in the table and in names of the code.
//! Each event concerns one of the connections, the *subject*.

use Action::*;
use LegState::*;
use State::*;

/// Role of a host in a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The end that opened the flow.
    Client,
    /// The end that accepted the flow.
    Server,
}

/// Replication mode of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// RepFlow: both connections transfer every byte.
    RepFlow,
    /// RepSYN: only the handshakes race. The first connection that finishes its handshake transfers all data.
    RepSyn,
}

/// State of a flow (Table I of the paper).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// One connection transfers bytes, and the other has not arrived. The flow is on the waiting list.
    OneConn,
    /// Both connections are in use or expected.
    DupConn,
    /// The flow uses one connection. Its other connection cannot transfer bytes of the flow any more.
    Chosen,
    /// No connection transfers bytes any more.
    Ended,
}

/// State of one connection of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LegState {
    /// The connection is not yet established (client) or has not yet arrived (server), and is not `Gone`.
    Pending,
    /// The connection is established or has arrived. It has not failed, finished or been dropped.
    Live,
    /// The connection has failed, has finished, or was dropped. A pending connection may also be dropped.
    Gone,
}

/// Connection of a flow. The first connection uses the port of the service, and the second uses the next port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leg {
    /// Connection to the port of the service.
    First = 0,
    /// Connection to the next port.
    Second = 1,
}

impl Leg {
    /// Both connections of a flow.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];

    /// Returns the other connection of the flow.
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Event of a flow. Each event concerns one of the two connections of the flow (the subject).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// At the client: the handshake of the connection has finished.
    LegEstablished,
    /// At the server: the connection matched the entry of the flow on the waiting list.
    SecondLegJoined,
    /// At the client: the flow was idle with one connection, and this new connection will also transfer later bytes.
    RejoinStarted,
    /// At a server that received the mode RepSYN: the client has chosen this connection.
    ChoiceLearned,
    /// The connection was refused or reset, or it timed out.
    LegFailed,
    /// At the client: the connection was not established in time.
    LegDeadline,
    /// At the server: the connection did not arrive in time.
    WaitingListTimeout,
    /// The archive for the pending connection exceeds its limit.
    ArchiveOverThreshold,
    /// At the client: the flow is longer than the limit of replication, and this connection is dropped.
    BytesOverLimit,
    /// At the client: the connection lags behind the other by more than the limit.
    LagOverCap,
    /// Both directions of the connection ended cleanly. The other connection is live or pending.
    LegFinished,
    /// The other connection has finished, and this connection did not finish within the confirm timeout.
    ConfirmTimeout,
    /// Both directions of the connection ended cleanly, and it was the last connection of the flow.
    BothClosed,
    /// At the server: a connection of this flow arrived, but the flow accepts no further connection.
    LateLeg,
    /// The application aborted the flow. The event concerns the whole flow.
    Abort,
    /// The connections transferred different bytes, or ended at different lengths.
    Diverged,
}

/// Action for the layer above the connections. Actions are performed in the given order.
/// "This connection" is the connection that the event concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Use this connection to transfer bytes.
    AttachLeg,
    /// Report the flow to the application, unless it was reported before.
    OpenFlow,
    /// Add the flow to the waiting list.
    EnterWaitingList,
    /// Remove the flow from the waiting list.
    LeaveWaitingList,
    /// Keep the flow on the waiting list, without a timeout.
    KeepOnWaitingList,
    /// Keep all written bytes, from byte 0.
    StartArchive,
    /// Write the whole archive to this connection before new data.
    ReplayArchive,
    /// Free the archive.
    FreeArchive,
    /// Drop this connection with a reset.
    ResetLeg,
    /// Drop the other connection with a reset.
    ResetOtherLeg,
    /// Keep the error of this connection, and report it if the other connection never arrives.
    HoldError,
    /// Continue with the other connection. A confirm timeout may start.
    AwaitOtherLeg,
    /// Close this connection.
    ReleaseLeg,
    /// Close every connection, as the application requested.
    CloseLegs,
    /// Report the error to the application.
    SurfaceError,
    /// At the server: add a tombstone.
    Bury,
}

/// Reaction of a flow to an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// State after the event.
    pub next: State,
    /// Actions in the order in which they are performed.
    pub actions: &'static [Action],
}

const fn to(next: State, actions: &'static [Action]) -> Option<Step> {
    Some(Step { next, actions })
}

/// Start of a client's flow: in the state DUP_CONN, with both connections pending.
pub const CLIENT_START: Step = Step {
    next: DupConn,
    actions: &[StartArchive],
};

/// Start of a server's flow, when its first connection arrives.
pub const SERVER_START: Step = Step {
    next: OneConn,
    actions: &[AttachLeg, EnterWaitingList, StartArchive, OpenFlow],
};

/// Returns the reaction of a flow in `state` to `event`.
/// `other` is the state of the connection that the event does not concern.
/// `on_waiting_list` shows whether the flow is on the waiting list. Returns `None` if the event has no effect.
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
        // The first connection has failed, and the flow continues at the same position.
        (Event::SecondLegJoined, Gone) => to(Chosen, JOINED),
        // The client has dropped the other connection, so this connection needs no archive.
        (Event::ChoiceLearned, Pending) if matches!(mode, Mode::RepSyn) => to(Chosen, SETTLED),
        (Event::WaitingListTimeout, Live) => to(Chosen, &[LeaveWaitingList, FreeArchive]),
        (Event::WaitingListTimeout, Gone) => {
            to(Ended, &[LeaveWaitingList, FreeArchive, SurfaceError, Bury])
        }
        (Event::ArchiveOverThreshold, Live) => to(Chosen, SETTLED),
        // No connection is left, and a late connection could not get the whole stream any more.
        (Event::ArchiveOverThreshold, Gone) => to(Ended, &[FreeArchive, SurfaceError, Bury]),
        // The other connection may still transfer the flow, so the error is not reported yet.
        (Event::LegFailed, Pending) => to(OneConn, &[ResetLeg, HoldError]),
        // The tombstone rejects a second connection that arrives later, so the request never runs twice.
        (Event::LegFinished, Pending) => CLOSED,
        // The connection that has already arrived has arrived again.
        (Event::LateLeg, _) => to(OneConn, &[ResetLeg]),
        (Event::Abort, _) => ABORTED,
        _ => None,
    }
}

const CLOSED: Option<Step> = to(Ended, &[FreeArchive, Bury]);
const ABORTED: Option<Step> = to(Ended, &[CloseLegs, FreeArchive, Bury]);
const RELEASED: Option<Step> = to(Ended, &[ReleaseLeg, FreeArchive, Bury]);
// The other connection has finished the flow, so an error of this connection does not matter.
const AFTER_THE_FINISH: Option<Step> = to(Ended, &[ResetLeg, FreeArchive, Bury]);
const GAVE_UP: Option<Step> = to(Ended, &[ResetLeg, FreeArchive, SurfaceError, Bury]);
// Two different answers to one request are an error, so the application must get a report.
const DIVERGED: Option<Step> = to(
    Ended,
    &[ResetLeg, ResetOtherLeg, FreeArchive, SurfaceError, Bury],
);

const SETTLED: Option<Step> = to(Chosen, &[ResetLeg, FreeArchive]);

const fn dup_conn_client(mode: Mode, event: Event, other: LegState) -> Option<Step> {
    // The archive stays until the other connection is established.
    const LEFT_WITH_PENDING: Option<Step> = to(Chosen, &[ResetLeg]);
    const RACE_WON: &[Action] = &[
        ResetOtherLeg,
        AttachLeg,
        ReplayArchive,
        FreeArchive,
        OpenFlow,
    ];
    match (event, other, mode) {
        // The first established connection opens the flow. The archive stays for the other connection.
        (Event::LegEstablished, Pending, Mode::RepFlow) => {
            to(DupConn, &[AttachLeg, ReplayArchive, OpenFlow])
        }
        (Event::LegEstablished, Live, Mode::RepFlow) => {
            to(DupConn, &[AttachLeg, ReplayArchive, FreeArchive])
        }
        // RepSYN: the race has ended, so the other connection is reset immediately.
        (Event::LegEstablished, Pending, Mode::RepSyn) => to(Chosen, RACE_WON),
        // A client must not wait for a connection without limit, because the server's tombstones must expire.
        (Event::LegFailed | Event::LegDeadline, Live, _) => SETTLED,
        (Event::LegFailed | Event::LegDeadline, Pending, _) => LEFT_WITH_PENDING,
        (Event::LegFailed, Gone, _) => AFTER_THE_FINISH,
        // Limits on archive, bytes and lag bound the memory of the client. They also end the replication of long flows.
        (
            Event::ArchiveOverThreshold | Event::BytesOverLimit | Event::LagOverCap,
            Live,
            Mode::RepFlow,
        ) => SETTLED,
        // Data on the other connection may not be delivered yet, so that connection is not dropped now.
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
        // The archive was freed when the second connection joined, so it need not be freed here.
        (Event::LegFailed, Live) => to(Chosen, &[ResetLeg]),
        (Event::LegFailed, Gone) => AFTER_THE_FINISH,
        // Data on the other connection may not be delivered yet, so that connection is not dropped now.
        (Event::LegFinished, Live) => to(DupConn, &[AwaitOtherLeg]),
        // A third connection is never part of a flow.
        (Event::LateLeg, _) => to(DupConn, &[ResetLeg]),
        _ => dup_conn(event, other),
    }
}

/// Returns the reactions that client and server share in the state DUP_CONN.
const fn dup_conn(event: Event, other: LegState) -> Option<Step> {
    match (event, other) {
        // The application has received the ends of both directions, each over a different connection.
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
        // This connection is a new second connection of an idle flow.
        (Event::RejoinStarted, Live) if matches!(mode, Mode::RepFlow) => {
            to(Chosen, &[StartArchive])
        }
        (Event::LegEstablished, Live) if matches!(mode, Mode::RepFlow) => to(DupConn, REJOINED),
        (Event::LegFailed | Event::LegDeadline | Event::ArchiveOverThreshold, Live)
            if matches!(mode, Mode::RepFlow) =>
        {
            SETTLED
        }
        // The failed connection may have transferred bytes, so this connection starts from byte 0.
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
        // A connection that rejoins starts at the current position of the flow, so nothing is replayed.
        Event::SecondLegJoined if matches!((mode, other), (Mode::RepFlow, Live)) => {
            to(DupConn, &[LeaveWaitingList, AttachLeg])
        }
        // The flow stays on the list without a timeout, so that a late connection is still recognised.
        Event::WaitingListTimeout => to(Chosen, &[KeepOnWaitingList]),
        // Both connections have arrived now, so no other connection can arrive.
        Event::LateLeg if on_waiting_list => to(Chosen, &[ResetLeg, LeaveWaitingList]),
        // If a late connection counted as a new flow, as in the paper, the request would run twice.
        Event::LateLeg => to(Chosen, &[ResetLeg]),
        _ => chosen(event, other),
    }
}

/// Returns the reactions that client and server share in the state CHOSEN.
const fn chosen(event: Event, other: LegState) -> Option<Step> {
    match (event, other) {
        (Event::LegFailed, Gone) => GAVE_UP,
        // The connection that delivered the end of the stream has failed in the meantime.
        // The application needs nothing more from the flow's remaining connection.
        (Event::ConfirmTimeout, Gone) => RELEASED,
        (Event::BothClosed, _) => CLOSED,
        (Event::Abort, _) => ABORTED,
        // The remaining connection ended before the last byte that the other connection had delivered.
        (Event::Diverged, _) => GAVE_UP,
        _ => None,
    }
}

/// Current state of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    role: Role,
    mode: Mode,
    state: State,
    legs: [LegState; 2],
    on_waiting_list: bool,
}

impl Machine {
    /// Creates the state of a replicated flow at its client. The caller performs [`CLIENT_START`].
    pub const fn client(mode: Mode) -> Self {
        Self {
            role: Role::Client,
            mode,
            state: CLIENT_START.next,
            legs: [Pending; 2],
            on_waiting_list: false,
        }
    }

    /// Creates the state of a flow with one plain connection. The flow uses this connection from the start.
    /// The caller also performs [`CLIENT_START`] for this flow.
    pub const fn plain_client() -> Self {
        Self {
            role: Role::Client,
            // The mode has no effect, because the reactions of a flow without a second connection do not depend on it.
            mode: Mode::RepFlow,
            state: Chosen,
            legs: [Pending, Gone],
            on_waiting_list: false,
        }
    }

    /// Creates the state of a flow at its server, when its first connection arrives.
    /// `leg` is the index of this connection. The caller performs [`SERVER_START`].
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

    /// Handles `event`, which concerns the connection `leg`. Returns the actions to perform.
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
                // A late connection is not part of the flow.
                ResetLeg | ReleaseLeg if event != Event::LateLeg => self.legs[this] = Gone,
                ResetOtherLeg => self.legs[that] = Gone,
                LeaveWaitingList | Bury => self.on_waiting_list = false,
                _ => {}
            }
        }
        if matches!(event, Event::LegFinished | Event::BothClosed) {
            self.legs[this] = Gone;
        }
        // A server waits for a connection only in the state ONE_CONN.
        if self.role == Role::Server && self.state != OneConn {
            self.legs = self.legs.map(|leg| if leg == Pending { Gone } else { leg });
        }
        if self.state == Ended {
            self.legs = [Gone; 2];
        }
        step.actions
    }

    /// Returns the role of this host in the flow.
    pub const fn role(&self) -> Role {
        self.role
    }
    /// Returns the replication mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }
    /// Returns the state of the flow.
    pub const fn state(&self) -> State {
        self.state
    }
    /// Returns the state of a connection.
    pub const fn leg(&self, leg: Leg) -> LegState {
        self.legs[leg as usize]
    }
    /// Returns the connection that may still arrive while the other connection transfers the flow.
    pub fn awaited_leg(&self) -> Option<Leg> {
        Leg::ALL
            .into_iter()
            .find(|leg| self.leg(*leg) == Pending && self.leg(leg.other()) != Pending)
    }
}
