//! Second connection for a flow that continues on one connection (`docs/repnet-wire.md`, "Legs that rejoin").
//! A flow continues on one connection if a message was long, or if a connection failed or lagged.
//! When the flow is idle, its client opens another connection.
//! The new connection uses another port, so it may use another path.

use super::{Command, Flow, Reason, earlier};
use crate::repnet::hello::Rejoin;
use crate::repnet::state::{Event, Leg, LegState, Mode, Role, State};
use tailcut_units::{Duration, Time};

/// Pause before the next attempt to rejoin, after a useless attempt. Each useless attempt doubles the pause.
const FIRST_PAUSE: Duration = Duration::from_ms(50);
/// Upper bound of the pause.
const LONGEST_PAUSE: Duration = Duration::from_ms(60_000);

/// State of the attempts to open a second connection again.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rejoining {
    /// Number of attempts so far.
    message: u64,
    /// Number of bytes sent and received before the current message.
    before: u64,
    /// Time of the next check whether the flow is idle, and the number of transferred bytes at the start of the check.
    watch: Option<(Time, u64)>,
    pause: Duration,
    not_before: Option<Time>,
    again: Option<Time>,
    /// Connection that tries to rejoin, with its positions and its deadline.
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

    /// Records that a connection failed to rejoin, or lagged immediately. The next attempt must wait.
    fn was_useless(&mut self, now: Time) {
        // The first useless attempt causes no pause, because `pause` starts at 0.
        self.not_before = Some(now.saturating_add(self.pause));
        let doubled = self.pause.saturating_mul(2);
        self.pause = doubled.max(FIRST_PAUSE).min(LONGEST_PAUSE);
    }
}

impl Flow {
    /// Client: starts the check whether the flow is idle, after a byte was transferred.
    pub(super) fn watch(&mut self, now: Time) {
        // Only clients open connections.
        // RepSYN uses a single connection, and a new connection identifies its flow by its hello.
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
        // The flow may be busy again by now, so a new check whether it is idle starts.
        if self.rejoining.again.take_if(|at| *at <= now).is_some() {
            self.watch(now);
        }
        if let Some((leg, _, at)) = self.rejoining.offered
            && at <= now
        {
            self.rejoin_failed(now, leg);
        }
    }

    /// Handles a flow in which no byte was transferred for some time. Later bytes belong to another message.
    fn idle(&mut self, now: Time) {
        // A connection that joins at the end of the flow would have nothing to transfer.
        if self.peer_finished() || self.count.ending {
            return;
        }
        self.rejoining.before = self.activity();
        if self.state() == State::DupConn
            && Leg::ALL.iter().all(|leg| self.leg(*leg) == LegState::Live)
        {
            let leg = self.slower();
            if self.behind(leg) == 0 && self.to_send(leg).1 == 0 {
                // The second connection did not lag, so the next attempt need not wait.
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

    /// Client: answers [`Command::MayRejoin`]. Opens the connection, if the flow is still in the same state.
    pub fn rejoin(&mut self, now: Time, leg: Leg) {
        let settled = self.state() == State::Chosen && self.leg(leg) == LegState::Gone;
        // A connection that joins at the end of the flow would have nothing to transfer.
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

    /// Starts the byte counts of a connection at the current position of the streams.
    /// The connection must deliver all later bytes of the other connection too.
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

    /// Drops a connection that is still trying to rejoin, because it cannot join any more or would be useless.
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

    /// Server: returns whether a connection with this hello may rejoin now.
    /// Both ends must agree on the positions of both directions.
    pub fn stands_at(&self, leg: Leg, rejoin: &Rejoin) -> bool {
        let other = leg.other();
        // The numbers of attempts increase. The client has dropped attempts with a smaller or equal number.
        let stands = rejoin.message > self.rejoining.message
            && rejoin.sent == self.delivered()
            && rejoin.received == self.written();
        let goes_on = !self.peer_finished() && !self.count.ending;
        let carried = self.leg(other) == LegState::Live && self.behind(other) == 0;
        // The connection may join if the flow has no second connection yet.
        // A connection may also replace a second connection that the client has dropped.
        let has_place = self.state() == State::Chosen || self.leg(leg) != LegState::Gone;
        self.mode() == Mode::RepFlow && stands && goes_on && carried && has_place
    }

    /// Server: adds a connection that rejoins. [`stands_at`](Self::stands_at) must return `true`.
    pub fn rejoined(&mut self, now: Time, leg: Leg, rejoin: &Rejoin) {
        if self.leg(leg) == LegState::Live {
            self.dispatch_for(now, Event::LegFailed, leg, Reason::Replaced, None);
        } else if self.state() == State::OneConn {
            // The flow still waits for a second connection that the client has dropped.
            self.dispatch(now, Event::WaitingListTimeout, leg);
        }
        self.rejoining.message = rejoin.message;
        self.start_here(leg);
        self.dispatch(now, Event::SecondLegJoined, leg);
    }
}
