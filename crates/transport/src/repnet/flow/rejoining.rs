//! A second leg for a connection that goes on (`docs/repnet-wire.md`, "Legs that rejoin"). A flow
//! settles when a message was long, or when a leg failed or fell behind; once it has been idle its
//! client opens another leg, from another port, so that it may take another path.

use super::{Command, Flow, Reason, earlier};
use crate::repnet::hello::Rejoin;
use crate::repnet::state::{Event, Leg, LegState, Mode, Role, State};
use tailcut_units::{Duration, Time};

/// Until the next try after one that was of no use; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_ms(50);
const LONGEST_PAUSE: Duration = Duration::from_ms(60_000);

/// When a flow gets a second leg again.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rejoining {
    /// Legs that have rejoined, or were to.
    message: u64,
    /// Bytes sent and received before the message of now.
    before: u64,
    /// Looked at then, with the activity of before.
    watch: Option<(Time, u64)>,
    pause: Duration,
    not_before: Option<Time>,
    again: Option<Time>,
    /// The leg that is to rejoin, where it comes in, and when it must have.
    offered: Option<(Leg, Rejoin, Time)>,
}

impl Rejoining {
    pub const fn before(&self) -> u64 {
        self.before
    }

    pub fn offer(&self, leg: Leg) -> Option<Rejoin> {
        let (offered, offer, _) = self.offered?;
        (offered == leg).then_some(offer)
    }

    pub fn over(&mut self, leg: Leg) {
        self.offered.take_if(|(offered, ..)| *offered == leg);
    }

    pub const fn end(&mut self) {
        self.watch = None;
        self.again = None;
        self.offered = None;
    }

    pub fn next_timeout(&self) -> Option<Time> {
        let watch = self.watch.map(|(at, _)| at);
        let deadline = self.offered.map(|(.., at)| at);
        earlier(earlier(watch, self.again), deadline)
    }

    /// A leg failed to rejoin, or fell behind at once: the next one has to wait.
    fn was_useless(&mut self, now: Time) {
        self.not_before = Some(now.saturating_add(self.pause));
        let doubled = self.pause.saturating_mul(2);
        self.pause = doubled.max(FIRST_PAUSE).min(LONGEST_PAUSE);
    }
}

impl Flow {
    /// Client: a byte moved, so that the flow is not idle.
    pub(super) fn watch(&mut self, now: Time) {
        let may_rejoin = self.role() == Role::Client
            && self.mode() == Mode::RepFlow
            && self.key.is_some()
            && !self.has_ended();
        if let (true, None, Some(idle)) = (may_rejoin, self.rejoining.watch, self.limits.idle_time)
        {
            self.rejoining.watch = Some((now.saturating_add(idle), self.activity()));
        }
    }

    pub(super) fn rejoining_timeout(&mut self, now: Time) {
        if let Some((_, seen)) = self.rejoining.watch.take_if(|(at, _)| *at <= now) {
            if self.activity() != seen || self.queued() > 0 {
                self.watch(now);
            } else {
                self.idle(now);
            }
        }
        if self.rejoining.again.take_if(|at| *at <= now).is_some() {
            self.watch(now);
        }
        if let Some((leg, _, at)) = self.rejoining.offered
            && at <= now
        {
            self.rejoin_failed(now, leg);
        }
    }

    /// No byte has moved for a while, so that what comes next is another message.
    fn idle(&mut self, now: Time) {
        if self.peer_finished() || self.count.ending {
            return;
        }
        self.rejoining.before = self.activity();
        if self.state() == State::DupConn
            && Leg::ALL.iter().all(|leg| self.leg(*leg) == LegState::Live)
        {
            let leg = self.slower();
            if self.behind(leg) == 0 && self.to_send(leg).1 == 0 {
                self.rejoining.pause = Duration::ZERO;
                return;
            }
            self.rejoining.was_useless(now);
            self.dispatch_for(now, Event::LegFailed, leg, Reason::Behind, None);
        }
        let live = Leg::ALL.into_iter();
        let carrier = live
            .into_iter()
            .find(|leg| self.leg(*leg) == LegState::Live);
        let Some(leg) = carrier.map(Leg::other) else {
            return;
        };
        if self.state() != State::Chosen || self.leg(leg) != LegState::Gone {
            return;
        }
        match self.rejoining.not_before {
            Some(early) if now < early => self.rejoining.again = Some(early),
            _ => self.commands.push_back(Command::MayRejoin(leg)),
        }
    }

    /// Client: the answer to [`Command::MayRejoin`]. The leg is to be opened, if the flow is still
    /// as it was.
    pub fn rejoin(&mut self, now: Time, leg: Leg) {
        let settled = self.state() == State::Chosen && self.leg(leg) == LegState::Gone;
        if !settled || self.peer_finished() || self.count.ending {
            return;
        }
        self.rejoining.message += 1;
        let offer = Rejoin {
            message: self.rejoining.message,
            sent: self.written(),
            received: self.delivered(),
        };
        let at = now.saturating_add(self.limits.leg_deadline);
        self.rejoining.offered = Some((leg, offer, at));
        self.start_here(leg);
        self.dispatch(now, Event::RejoinStarted, leg);
        self.commands.push_back(Command::Open(leg));
    }

    /// What comes on the other leg from here on is what this one has to bring too.
    fn start_here(&mut self, leg: Leg) {
        let received = self.delivered();
        *self.counts_mut(leg) = super::Counts {
            received,
            ..super::Counts::default()
        };
    }

    pub(super) fn rejoin_failed(&mut self, now: Time, leg: Leg) {
        self.rejoining.over(leg);
        self.rejoining.was_useless(now);
        self.unusable(now, leg, Reason::Refused);
    }

    /// A leg that is still to rejoin is not waited for: it could not join any more, or would be of
    /// no use.
    pub(super) fn give_up_rejoin(&mut self, now: Time) {
        let carried = Leg::ALL.iter().any(|leg| self.leg(*leg) == LegState::Live);
        if self.state() != State::Chosen || !carried {
            return;
        }
        let pending = Leg::ALL.into_iter();
        let pending = pending
            .into_iter()
            .find(|leg| self.leg(*leg) == LegState::Pending);
        if let Some(leg) = pending {
            self.rejoining.over(leg);
            self.dispatch_for(now, Event::LegFailed, leg, Reason::NotNeeded, None);
        }
    }

    /// Server: whether a leg whose hello says this may rejoin now: only where both directions
    /// stand.
    pub fn stands_at(&self, leg: Leg, rejoin: &Rejoin) -> bool {
        let other = leg.other();
        let stands = rejoin.message > self.rejoining.message
            && rejoin.sent == self.delivered()
            && rejoin.received == self.written();
        let goes_on = !self.peer_finished() && !self.count.ending;
        let carried = self.leg(other) == LegState::Live && self.behind(other) == 0;
        // Until now there was no other leg, or one that is to be replaced: the client has given it
        // up.
        let has_place = self.state() == State::Chosen || self.leg(leg) != LegState::Gone;
        self.mode() == Mode::RepFlow && stands && goes_on && carried && has_place
    }

    /// Server: a leg rejoins, and [`stands_at`](Self::stands_at) holds.
    pub fn rejoined(&mut self, now: Time, leg: Leg, rejoin: &Rejoin) {
        if self.leg(leg) == LegState::Live {
            self.dispatch_for(now, Event::LegFailed, leg, Reason::Replaced, None);
        } else if self.state() == State::OneConn {
            self.dispatch(now, Event::WaitingListTimeout, leg);
        }
        self.rejoining.message = rejoin.message;
        self.start_here(leg);
        self.dispatch(now, Event::SecondLegJoined, leg);
    }
}
