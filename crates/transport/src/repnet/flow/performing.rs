//! Execution of the actions of the state machine, and checks of a flow's limits: archive, bytes, lag.

use super::{Cause, Command, Flow, Leaving, Reason};
use crate::repnet::archive::Archive;
use crate::repnet::state::{Action, Event, Leg, LegState, Mode, Role, State};
use tailcut_units::Time;

impl Flow {
    pub(super) fn dispatch(&mut self, now: Time, event: Event, leg: Leg) {
        self.dispatch_for(now, event, leg, Reason::Event(event), None);
    }

    pub(super) fn fail_by(&mut self, now: Time, event: Event, leg: Leg, cause: Cause) {
        self.dispatch_for(now, event, leg, Reason::Event(event), Some(cause));
    }

    pub(super) fn dispatch_for(
        &mut self,
        now: Time,
        event: Event,
        leg: Leg,
        reason: Reason,
        cause: Option<Cause>,
    ) {
        let before = self.state();
        let actions = self.machine.handle(event, leg);
        if actions.is_empty() {
            return;
        }
        self.perform(now, actions, leg, reason, cause);
        match self.state() {
            now_in if now_in == before => {}
            State::Chosen => self.commands.push_back(Command::Settled),
            State::Ended => self.end(),
            State::OneConn | State::DupConn => {}
        }
        // The flow may stay idle, and gets a second connection then, too.
        if self.state() == State::Chosen {
            self.watch(now);
        }
        // A flow that is being closed may have lost the connection for which it waited.
        if self.leaving == Leaving::Closing && event == Event::LegFailed {
            self.close_when_sent(now);
        }
    }

    pub(super) fn perform(
        &mut self,
        now: Time,
        actions: &[Action],
        leg: Leg,
        reason: Reason,
        cause: Option<Cause>,
    ) {
        for action in actions {
            match action {
                Action::AttachLeg => self.attach(leg),
                Action::OpenFlow => {
                    if !core::mem::replace(&mut self.opened, true) {
                        self.commands.push_back(Command::Deliver);
                    }
                }
                Action::EnterWaitingList => {
                    let wait = self.limits.waiting_list_timeout;
                    self.timers.waiting = Some(now.saturating_add(wait));
                }
                Action::LeaveWaitingList | Action::KeepOnWaitingList => self.timers.waiting = None,
                Action::StartArchive => {
                    self.archive = Archive::start();
                    self.count.archived_from = self.count.written;
                }
                Action::FreeArchive => self.archive.free(),
                Action::ResetLeg => self.drop_leg(leg, reason),
                Action::ResetOtherLeg => self.drop_leg(leg.other(), reason),
                Action::HoldError => self.held = Some(leg),
                Action::AwaitOtherLeg => {
                    self.commands.push_back(Command::Close(leg));
                    self.await_confirmation(now);
                }
                Action::ReleaseLeg => {
                    // A connection can end by itself only after the end of our direction was passed to it.
                    if self.counts(leg).finished {
                        self.commands.push_back(Command::Release(leg));
                    } else {
                        self.drop_leg(leg, reason);
                    }
                }
                Action::CloseLegs => self.close_legs(reason),
                Action::SurfaceError => {
                    let held = self.held.map(Cause::Leg);
                    let cause = cause.or(held).unwrap_or(Cause::Leg(leg));
                    self.commands.push_back(Command::Fail(cause));
                }
                Action::Bury => self.commands.push_back(Command::Bury),
                // The position of the connection starts where the archive begins.
                // The driver therefore sends the archived data on a connection that joins late.
                Action::ReplayArchive => {}
            }
        }
    }

    fn attach(&mut self, leg: Leg) {
        let (from, written) = (self.count.archived_from, self.count.written);
        let kept = self.archive.is_kept();
        let counts = self.counts_mut(leg);
        counts.connected = true;
        // Without an archive, the connection can only transfer bytes that are written later.
        counts.sent = if kept { from } else { written };
        let paired = self.leg(leg.other()) == LegState::Live;
        // Both connections are established, so no connection can miss the deadline later.
        if paired {
            self.timers.deadline = None;
        }
        self.commands.push_back(Command::Promote { leg, paired });
    }

    /// Closes the connections for the application.
    /// If a connection has sent less than the other, it is reset, so that the peer does not receive two different ends.
    fn close_legs(&mut self, reason: Reason) {
        let resetting = self.leaving == Leaving::Resetting;
        let best = Leg::ALL
            .into_iter()
            .filter(|leg| self.counts(*leg).connected);
        let best = best.max_by_key(|leg| (self.counts(*leg).finished, self.counts(*leg).sent));
        for leg in Leg::ALL {
            let given_all = self.counts(leg).sent == self.count.written;
            if !resetting && (Some(leg) == best || (self.counts(leg).finished && given_all)) {
                self.commands.push_back(Command::Close(leg));
            } else {
                self.commands.push_back(Command::Reset(leg, reason));
            }
        }
    }

    /// Drops a connection.
    /// A loser of RepSYN that has sent its hello is not reset: it waits for the end from the server.
    /// A reset would cause an error at the server for every flow.
    fn drop_leg(&mut self, leg: Leg, reason: Reason) {
        // A flow at the server is RepSYN only if its hello requested this mode.
        let by_hello = self.is_by_hello() || self.role() == Role::Server;
        let said_hello = self.counts(leg).connected && by_hello;
        let lost = self.mode() == Mode::RepSyn && self.state() == State::Chosen;
        self.commands.push_back(match lost && said_hello {
            true => Command::Leave(leg),
            false => Command::Reset(leg, reason),
        });
    }

    fn end(&mut self) {
        self.timers = super::Timers::default();
        self.rejoining.end();
        for leg in Leg::ALL {
            let counts = self.counts(leg);
            // Both directions of this connection have ended, so it needs no reset.
            if counts.finished && counts.ended {
                self.commands.push_back(Command::Close(leg));
            }
        }
        self.commands.push_back(Command::Ended);
    }

    /// Checks the limits of the flow: archive, bytes, lag.
    pub(super) fn check_limits(&mut self, now: Time) {
        if self.archive.is_kept() && self.archive.bytes() > self.limits.archive_cap {
            let pending = Leg::ALL
                .into_iter()
                .find(|leg| self.leg(*leg) == LegState::Pending);
            if let Some(leg) = pending {
                // If the other connection has failed before, the failure of that connection is the cause.
                let cause = self.held.map_or(Cause::ArchiveFull, Cause::Leg);
                self.fail_by(now, Event::ArchiveOverThreshold, leg, cause);
            }
        }
        // A server never drops a slow connection.
        // The server slows down its application until the slower connection accepts bytes.
        // The client may also drop that connection.
        if self.state() != State::DupConn || self.role() == Role::Server {
            return;
        }
        if self.activity() - self.rejoining.before() > self.limits.max_bytes {
            self.dispatch(now, Event::BytesOverLimit, self.slower());
        }
        for leg in Leg::ALL {
            if self.lag(leg) > self.limits.lag_cap {
                self.dispatch(now, Event::LagOverCap, leg);
            }
        }
    }

    /// Returns the number of bytes transferred in both directions.
    pub(super) fn activity(&self) -> u64 {
        self.count.written + self.delivered()
    }

    /// Returns the connection to drop: a connection that is not live, or the connection that has received fewer bytes.
    /// If both connections have received equally many bytes, drops the connection to which fewer bytes were passed.
    /// If the numbers of passed bytes are equal too, drops the second connection.
    pub(super) fn slower(&self) -> Leg {
        let [first, second] = Leg::ALL.map(|leg| self.leg(leg) == LegState::Live);
        if !second {
            return Leg::Second;
        }
        if !first {
            return Leg::First;
        }
        let [one, two] = Leg::ALL.map(|leg| self.counts(leg));
        match (one.received, one.sent).cmp(&(two.received, two.sent)) {
            core::cmp::Ordering::Less => Leg::First,
            _ => Leg::Second,
        }
    }

    /// Returns the lag of a connection behind the other, in bytes.
    /// In the direction from the peer, the lag is the number of bytes that only the other connection has delivered.
    /// In our direction, the lag is the number of bytes that wait for this connection.
    /// Bytes in our direction count only if fewer bytes wait for the other connection.
    /// A connection that is ahead in the direction from the peer has no lag.
    /// The application needs the bytes of the connection that is ahead. So at most one connection lags.
    fn lag(&self, leg: Leg) -> u64 {
        let both = Leg::ALL.iter().all(|leg| self.leg(*leg) == LegState::Live);
        let (own, other) = (self.counts(leg), self.counts(leg.other()));
        if !both || other.received < own.received {
            return 0;
        }
        let waiting = if own.sent < other.sent {
            self.count.written - own.sent
        } else {
            0
        };
        waiting.max(other.received - own.received)
    }
}
