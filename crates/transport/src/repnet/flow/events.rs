//! Events of the connections of a flow, and of its application.

use super::{CLOSE_LIMIT, Cause, Command, Flow, Leaving, Reason, Refusal};
use crate::repnet::delivery::Diverged;
use crate::repnet::hello::{Banner, Preamble, Purpose, Status};
use crate::repnet::state::{Event, Leg, LegState, Mode, Role, State};
use tailcut_units::Time;

impl Flow {
    /// Client: records that a connection is established. If hellos are in use, the hello is sent next.
    pub fn connected(&mut self, now: Time, leg: Leg) {
        self.counts_mut(leg).connected = true;
        let Some(flow) = self.key else {
            return self.established(now, leg);
        };
        let purpose = match self.rejoining.offer(leg) {
            Some(offer) => Purpose::Rejoin(offer),
            None => Purpose::Open(self.mode()),
        };
        self.commands
            .push_back(Command::SendHello(Preamble { purpose, leg, flow }));
    }

    /// Client: handles a complete banner on a connection.
    pub fn banner(&mut self, now: Time, leg: Leg, banner: &Banner) {
        let is_ours = self.key.is_some_and(|key| key.check() == banner.check);
        if banner.leg != leg || !is_ours {
            return self.refused(now, leg, Refusal::Foreign);
        }
        if self.rejoining.offer(leg).is_some() {
            let same = Some(banner.instance) == self.instance;
            if banner.status == Status::Joined && same {
                self.established(now, leg);
            } else {
                self.rejoin_failed(now, leg);
            }
            return;
        }
        match banner.status {
            Status::Opened | Status::Joined => {}
            // A busy server supports RepNet, so the refusal is no sign of a target without RepNet.
            Status::Busy => return self.unusable(now, leg, Reason::Refused),
            Status::Probed | Status::Unsupported => {
                return self.refused(now, leg, Refusal::Foreign);
            }
        }
        // Connections to two servers cannot form one flow: each server would run the request.
        if *self.instance.get_or_insert(banner.instance) != banner.instance {
            self.commands.push_back(Command::Learn(false));
            return self.unusable(now, leg, Reason::OtherInstance);
        }
        self.commands.push_back(Command::Learn(true));
        self.established(now, leg);
    }

    /// Client: handles a connection that could not be established, or whose hello ended without a banner.
    pub fn refused(&mut self, now: Time, leg: Leg, refusal: Refusal) {
        // A failed attempt to rejoin shows nothing about the target, because the flow already uses RepNet.
        if self.rejoining.offer(leg).is_some() {
            return self.rejoin_failed(now, leg);
        }
        let foreign = matches!(refusal, Refusal::Foreign | Refusal::Silent);
        // If no connection is left before the flow opened, the target counts as a server without RepNet.
        // The rule for servers without RepNet is rule 4 of the client in `docs/repnet-wire.md`.
        let last = self.leg(leg.other()) == LegState::Gone && !self.opened;
        if self.key.is_some() && (foreign || (last && refusal != Refusal::Local)) {
            self.commands.push_back(Command::Learn(false));
        }
        let reason = if foreign {
            Reason::Foreign
        } else {
            Reason::Refused
        };
        self.unusable(now, leg, reason);
    }

    fn established(&mut self, now: Time, leg: Leg) {
        // The budget counts this success even if the flow has dropped the connection in the meantime.
        self.commands.push_back(Command::Outcome(true));
        if self.leg(leg) == LegState::Pending {
            self.dispatch(now, Event::LegEstablished, leg);
            self.rejoining.over(leg);
            self.check_limits(now);
        }
    }

    /// Drops a connection whose handshake failed.
    pub(super) fn unusable(&mut self, now: Time, leg: Leg, reason: Reason) {
        if self.leg(leg) == LegState::Gone {
            return;
        }
        self.commands.push_back(Command::Outcome(false));
        self.dispatch_for(now, Event::LegFailed, leg, reason, Some(Cause::Leg(leg)));
    }

    /// Server: returns whether the flow would accept this connection now.
    pub fn wants(&self, leg: Leg) -> bool {
        self.state() == State::OneConn && self.leg(leg) == LegState::Pending
    }

    /// Server: handles the arrival of the second connection. Returns whether the flow accepts it.
    /// If the flow rejects it, the driver resets the connection, or closes it if the mode is RepSYN.
    pub fn joined(&mut self, now: Time, leg: Leg) -> bool {
        if self.wants(leg) {
            self.counts_mut(leg).connected = true;
            self.dispatch(now, Event::SecondLegJoined, leg);
            return true;
        }
        // The driver resets the connection itself, so only the action for the waiting list is performed here.
        let actions = self.machine.handle(Event::LateLeg, leg);
        if actions.contains(&crate::repnet::state::Action::LeaveWaitingList) {
            self.timers.waiting = None;
        }
        false
    }

    /// Handles the failure of a connection that transfers bytes. The driver has already read all data from it.
    pub fn failed(&mut self, now: Time, leg: Leg) {
        match self.leg(leg) {
            LegState::Gone => {}
            LegState::Pending => self.refused(now, leg, Refusal::Failed),
            LegState::Live => {
                // The server accepts a connection that rejoins only while the other connection is live.
                self.give_up_rejoin(now);
                self.fail_by(now, Event::LegFailed, leg, Cause::Leg(leg));
            }
        }
    }

    /// Records `bytes` that were read from a connection. Returns the number of new bytes for the application.
    /// The new bytes are the last part of the `bytes`.
    pub fn received(&mut self, now: Time, leg: Leg, bytes: u64) -> u64 {
        if self.leg(leg) != LegState::Live || bytes == 0 {
            return 0;
        }
        self.watch(now);
        let before = self.delivered();
        let counts = self.counts_mut(leg);
        counts.received = counts.received.saturating_add(bytes);
        let received = counts.received;
        let fresh = match self.delivery.advance(received) {
            Ok(None) => return 0,
            Ok(Some(total)) => total - before,
            Err(Diverged) => {
                self.diverged(now, leg);
                return 0;
            }
        };
        self.counts_mut(leg).fresh += fresh;
        self.learn_choice(now, leg);
        self.check_limits(now);
        fresh
    }

    /// Handles the end of the peer's direction on a connection.
    pub fn end_received(&mut self, now: Time, leg: Leg) {
        if self.leg(leg) != LegState::Live {
            return;
        }
        self.give_up_rejoin(now);
        let received = self.counts(leg).received;
        if received < self.delivered() {
            // The application already has more bytes than this connection will ever deliver.
            // Nothing is lost if the second connection of the flow is live, or has delivered everything.
            let other_live = self.leg(leg.other()) == LegState::Live;
            if other_live || (self.peer_finished() && self.state() == State::DupConn) {
                self.commands.push_back(Command::NoteDiverged);
                self.dispatch_for(
                    now,
                    Event::LegFailed,
                    leg,
                    Reason::EarlyFin,
                    Some(Cause::Leg(leg)),
                );
            } else {
                self.diverged(now, leg);
            }
            return;
        }
        self.counts_mut(leg).ended = true;
        match self.delivery.finish(received) {
            Ok(true) => {
                self.learn_choice(now, leg);
                self.commands.push_back(Command::EndOfStream);
            }
            Ok(false) => {}
            Err(Diverged) => return self.diverged(now, leg),
        }
        self.maybe_finished(now, leg);
    }

    /// Handles the error that the two connections transferred different bytes. The difference was found on `leg`.
    pub fn diverged(&mut self, now: Time, leg: Leg) {
        self.commands.push_back(Command::NoteDiverged);
        self.fail_by(now, Event::Diverged, leg, Cause::Diverged);
    }

    /// Records that the driver has passed the next `bytes` of the written data to a connection.
    pub fn sent(&mut self, leg: Leg, bytes: u64) {
        self.counts_mut(leg).sent += bytes;
    }

    /// Records that the driver has closed the sending direction of a connection, after all its bytes.
    pub fn end_sent(&mut self, now: Time, leg: Leg) {
        self.counts_mut(leg).finished = true;
        self.maybe_finished(now, leg);
        if matches!(self.leaving, Leaving::Closing | Leaving::Confirming) {
            self.close_when_sent(now);
        }
    }

    fn learn_choice(&mut self, now: Time, leg: Leg) {
        // In RepSYN a client sends only on the connection that it has chosen, so the first byte shows the choice.
        if self.role() == Role::Server && self.mode() == Mode::RepSyn {
            self.dispatch(now, Event::ChoiceLearned, leg);
        }
    }

    // Calls of the application.

    /// Records that the application wrote `bytes`.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.archive.write(bytes);
        self.count.written += bytes;
        self.watch(now);
        self.check_limits(now);
    }

    /// Records that the application has written its last byte.
    pub fn finish(&mut self, now: Time) {
        if self.count.ending {
            return;
        }
        self.count.ending = true;
        self.archive.finish();
        self.give_up_rejoin(now);
    }

    /// Closes the flow for the application. All written data is sent first.
    /// Connections that have finished wait for the peer to confirm, and then all connections are closed.
    pub fn close(&mut self, now: Time) {
        if self.has_ended() {
            return;
        }
        self.finish(now);
        self.leaving = match self.peer_finished() {
            true => Leaving::Confirming,
            false => Leaving::Closing,
        };
        // Without `CLOSE_LIMIT`, a peer that reads nothing could keep a closed flow in memory for ever.
        self.timers.close = Some(now.saturating_add(CLOSE_LIMIT));
        self.close_when_sent(now);
    }

    /// Continues a [`close`](Self::close).
    /// When one connection has received all data, the other connection gets time to confirm.
    /// If the peer has not ended, the connections are closed when all of them have received all data.
    pub(super) fn close_when_sent(&mut self, now: Time) {
        let live = Leg::ALL.map(|leg| self.leg(leg) == LegState::Live);
        // The close of a connection can send the end of our direction.
        // All our data must have been passed to this connection.
        // The connection must also have delivered all bytes that the application has.
        let given = |leg: Leg| {
            self.counts(leg).finished || (self.to_send(leg).1 == 0 && self.behind(leg) == 0)
        };
        let given = Leg::ALL.map(|leg| live[leg as usize] && given(leg));
        let finished = Leg::ALL.map(|leg| live[leg as usize] && self.counts(leg).finished);
        if self.leaving == Leaving::Closing && given == live && given.contains(&true) {
            for leg in Leg::ALL {
                self.counts_mut(leg).finished |= given[leg as usize];
            }
            // `Abort` closes the connections to which all data was passed.
            // `Abort` resets connections only in the state `Resetting`.
            self.dispatch(now, Event::Abort, Leg::First);
        } else if finished.contains(&true) {
            self.await_confirmation(now);
        }
    }

    /// Aborts the flow for the application: all its connections are reset.
    pub fn abort(&mut self, now: Time) {
        self.leaving = Leaving::Resetting;
        self.dispatch(now, Event::Abort, Leg::First);
    }

    /// Server: stops waiting for a second connection.
    pub fn stop_waiting(&mut self, now: Time) {
        if self.timers.waiting.take().is_some() {
            self.waiting_list_timed_out(now);
        }
    }

    pub(super) fn waiting_list_timed_out(&mut self, now: Time) {
        // The missing connection is no longer pending if the archive exceeded its limit.
        let missing = match Leg::ALL.map(|leg| self.leg(leg)) {
            [LegState::Pending, _] | [LegState::Gone, LegState::Live] => Leg::First,
            _ => Leg::Second,
        };
        self.dispatch(now, Event::WaitingListTimeout, missing);
    }

    pub(super) fn await_confirmation(&mut self, now: Time) {
        let at = now.saturating_add(self.limits.confirm_timeout);
        // The wait starts when the first connection has finished. Later calls must not extend it.
        self.timers.confirm.get_or_insert(at);
    }

    /// Reports a connection as finished when both directions have ended on it and it has delivered all bytes.
    fn maybe_finished(&mut self, now: Time, leg: Leg) {
        let counts = self.counts(leg);
        let all = counts.ended && counts.finished && counts.received == self.delivered();
        if all && self.leg(leg) == LegState::Live {
            let event = match self.leg(leg.other()) {
                LegState::Gone => Event::BothClosed,
                LegState::Live | LegState::Pending => Event::LegFinished,
            };
            self.dispatch(now, event, leg);
        }
    }
}
