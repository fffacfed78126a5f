//! What happens to a flow's connections, and what its application does.

use super::{CLOSE_LIMIT, Cause, Command, Flow, Leaving, Reason, Refusal};
use crate::repnet::delivery::Diverged;
use crate::repnet::hello::{Banner, Preamble, Purpose, Status};
use crate::repnet::state::{Event, Leg, LegState, Mode, Role, State};
use tailcut_units::Time;

impl Flow {
    /// Client: the connection of a leg is there. Its hello comes next, where one is used.
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

    /// Client: a whole banner has come on a leg.
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
            Status::Busy => return self.unusable(now, leg, Reason::Refused),
            Status::Probed | Status::Unsupported => {
                return self.refused(now, leg, Refusal::Foreign);
            }
        }
        if *self.instance.get_or_insert(banner.instance) != banner.instance {
            self.commands.push_back(Command::Learn(false));
            return self.unusable(now, leg, Reason::OtherInstance);
        }
        self.commands.push_back(Command::Learn(true));
        self.established(now, leg);
    }

    /// Client: a leg could not be connected, or its hello ended without a banner.
    pub fn refused(&mut self, now: Time, leg: Leg, refusal: Refusal) {
        if self.rejoining.offer(leg).is_some() {
            return self.rejoin_failed(now, leg);
        }
        let foreign = matches!(refusal, Refusal::Foreign | Refusal::Silent);
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
        self.commands.push_back(Command::Outcome(true));
        if self.leg(leg) == LegState::Pending {
            self.dispatch(now, Event::LegEstablished, leg);
            self.rejoining.over(leg);
            self.check_limits(now);
        }
    }

    /// A leg that cannot be used: its handshake ended wrongly.
    pub(super) fn unusable(&mut self, now: Time, leg: Leg, reason: Reason) {
        if self.leg(leg) == LegState::Gone {
            return;
        }
        self.commands.push_back(Command::Outcome(false));
        self.dispatch_for(now, Event::LegFailed, leg, reason, Some(Cause::Leg(leg)));
    }

    /// Server: whether this leg would be attached if it came now.
    pub fn wants(&self, leg: Leg) -> bool {
        self.state() == State::OneConn && self.leg(leg) == LegState::Pending
    }

    /// Server: the second leg has come. Whether the flow takes it; if not, it is to be reset, or
    /// closed where the flow is RepSYN.
    pub fn joined(&mut self, now: Time, leg: Leg) -> bool {
        if self.wants(leg) {
            self.counts_mut(leg).connected = true;
            self.dispatch(now, Event::SecondLegJoined, leg);
            return true;
        }
        let actions = self.machine.handle(Event::LateLeg, leg);
        if actions.contains(&crate::repnet::state::Action::LeaveWaitingList) {
            self.timers.waiting = None;
        }
        false
    }

    /// A connection that carries bytes failed. What it had brought has been read.
    pub fn failed(&mut self, now: Time, leg: Leg) {
        match self.leg(leg) {
            LegState::Gone => {}
            LegState::Pending => self.refused(now, leg, Refusal::Failed),
            LegState::Live => {
                self.give_up_rejoin(now);
                self.fail_by(now, Event::LegFailed, leg, Cause::Leg(leg));
            }
        }
    }

    /// `bytes` more were read from a leg. How many of them, at their end, the application has not
    /// been given.
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

    /// The end of the peer's direction was read from a leg.
    pub fn end_received(&mut self, now: Time, leg: Leg) {
        if self.leg(leg) != LegState::Live {
            return;
        }
        self.give_up_rejoin(now);
        let received = self.counts(leg).received;
        if received < self.delivered() {
            // The flow has more than this leg will ever bring. Where the other leg brings it, or
            // has brought all of it, nothing is lost.
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

    /// The legs carry different bytes: `leg` showed it.
    pub fn diverged(&mut self, now: Time, leg: Leg) {
        self.commands.push_back(Command::NoteDiverged);
        self.fail_by(now, Event::Diverged, leg, Cause::Diverged);
    }

    /// A leg was given the next `bytes` of what was written.
    pub fn sent(&mut self, leg: Leg, bytes: u64) {
        self.counts_mut(leg).sent += bytes;
    }

    /// A leg was given the end of our direction.
    pub fn end_sent(&mut self, now: Time, leg: Leg) {
        self.counts_mut(leg).finished = true;
        self.maybe_finished(now, leg);
        if matches!(self.leaving, Leaving::Closing | Leaving::Confirming) {
            self.close_when_sent(now);
        }
    }

    fn learn_choice(&mut self, now: Time, leg: Leg) {
        if self.role() == Role::Server && self.mode() == Mode::RepSyn {
            self.dispatch(now, Event::ChoiceLearned, leg);
        }
    }

    // The application.

    /// The application wrote `bytes` more.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.archive.write(bytes);
        self.count.written += bytes;
        self.watch(now);
        self.check_limits(now);
    }

    /// The application ended its direction.
    pub fn finish(&mut self, now: Time) {
        if self.count.ending {
            return;
        }
        self.count.ending = true;
        self.archive.finish();
        self.give_up_rejoin(now);
    }

    /// The application is done with the flow. What it wrote is sent; legs that have finished get
    /// their time to confirm; then everything is closed.
    pub fn close(&mut self, now: Time) {
        if self.has_ended() {
            return;
        }
        self.finish(now);
        self.leaving = match self.peer_finished() {
            true => Leaving::Confirming,
            false => Leaving::Closing,
        };
        self.timers.close = Some(now.saturating_add(CLOSE_LIMIT));
        self.close_when_sent(now);
    }

    /// After [`close`](Self::close): once a leg was given everything the other one has its time,
    /// and where nobody waits for the peer the legs are closed when all of them were.
    pub(super) fn close_when_sent(&mut self, now: Time) {
        let live = Leg::ALL.map(|leg| self.leg(leg) == LegState::Live);
        // A leg that was given everything, and has brought all that the application has, may be
        // given the end by closing it.
        let given = |leg: Leg| {
            self.counts(leg).finished || (self.to_send(leg).1 == 0 && self.behind(leg) == 0)
        };
        let given = Leg::ALL.map(|leg| live[leg as usize] && given(leg));
        let finished = Leg::ALL.map(|leg| live[leg as usize] && self.counts(leg).finished);
        if self.leaving == Leaving::Closing && given == live && given.contains(&true) {
            for leg in Leg::ALL {
                self.counts_mut(leg).finished |= given[leg as usize];
            }
            self.dispatch(now, Event::Abort, Leg::First);
        } else if finished.contains(&true) {
            self.await_confirmation(now);
        }
    }

    /// The application gives the flow up: its legs are reset.
    pub fn abort(&mut self, now: Time) {
        self.leaving = Leaving::Resetting;
        self.dispatch(now, Event::Abort, Leg::First);
    }

    /// Server: no second leg is waited for any more.
    pub fn stop_waiting(&mut self, now: Time) {
        if self.timers.waiting.take().is_some() {
            self.waiting_list_timed_out(now);
        }
    }

    pub(super) fn waiting_list_timed_out(&mut self, now: Time) {
        // It is not pending any more where too much had been written to keep for it.
        let missing = match Leg::ALL.map(|leg| self.leg(leg)) {
            [LegState::Pending, _] | [LegState::Gone, LegState::Live] => Leg::First,
            _ => Leg::Second,
        };
        self.dispatch(now, Event::WaitingListTimeout, missing);
    }

    pub(super) fn await_confirmation(&mut self, now: Time) {
        let at = now.saturating_add(self.limits.confirm_timeout);
        self.timers.confirm.get_or_insert(at);
    }

    /// The leg has both ends of stream; what it has to say is said.
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
