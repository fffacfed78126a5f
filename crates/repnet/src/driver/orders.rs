//! Execution of the commands of a flow's state machine.

use super::Core;
use crate::clock;
use crate::connection::{Connection, Slot};
use crate::error::RepNetError;
use std::io;
use tailcut_transport::repnet::{Cause, Command, Event, Leg, Reason, Role, State};

impl Core {
    pub(super) fn run_commands(&mut self) {
        while let Some(command) = self.flow.poll_command() {
            self.perform(command);
        }
        let waits = self.flow.role() == Role::Server && self.flow.state() == State::OneConn;
        if waits != self.counted.waiting {
            let waiting = &self.around.counters.0.waiting;
            if waits {
                waiting.up()
            } else {
                waiting.down()
            }
            self.counted.waiting = waits;
        }
    }

    pub(super) fn perform(&mut self, command: Command) {
        match command {
            Command::Open(leg) => {
                self.slots[leg as usize] = Slot::Connecting(self.host.open(leg));
                self.wake_driver();
            }
            Command::SendHello(preamble) => {
                if let Some(connection) = self.connection(preamble.leg) {
                    connection.say_hello(&preamble);
                }
            }
            Command::Learn(capable) => self.host.learn(capable),
            Command::Outcome(established) => self.host.outcome(established),
            Command::Promote { leg, paired } => {
                self.around.counters.0.legs_established.up();
                self.apply_nodelay(leg);
                if paired {
                    self.around.counters.0.legs_paired.up();
                    self.around
                        .counters
                        .0
                        .bytes_sent_twice
                        .add(self.flow.to_send(leg).1);
                    self.counted.paired = true;
                    if std::mem::take(&mut self.counted.rejoining) {
                        self.around.counters.0.legs_rejoined.up();
                    }
                }
            }
            Command::Deliver => self.app.opened = true,
            Command::EndOfStream => self.app.end = true,
            Command::Settled => self.check = None,
            Command::Reset(leg, reason) => self.reset(leg, reason),
            Command::Leave(leg) => {
                self.around.counters.0.dropped_lost.up();
                match (self.flow.role(), self.take_connection(leg)) {
                    (Role::Client, Some(connection)) => {
                        let tcp = connection.into_parts().0;
                        // If the process is killed, the connection must end with a reset.
                        // The server may still end it with a FIN.
                        // The call fails only if the connection has ended already.
                        let _ = tcp.set_zero_linger();
                        self.slots[leg as usize] = Slot::Draining(tcp);
                    }
                    // The client has chosen the other connection, and discards all bytes of this one.
                    // A reset needs only one packet.
                    // A FIN needs three: the FIN, its acknowledgment and the client's reset.
                    (Role::Server, Some(connection)) => connection.reset(),
                    (_, None) => {}
                }
            }
            Command::Close(leg) => drop(self.take_connection(leg)),
            Command::Release(leg) => {
                if let Some(connection) = self.take_connection(leg) {
                    let (tcp, is_finished) = connection.into_parts();
                    self.around.lingering.add(&self.runtime, tcp, is_finished);
                }
            }
            Command::MayRejoin(leg) => {
                if self.host.may_rejoin() {
                    self.check = Some(Box::default());
                    self.counted.rejoining = true;
                    self.flow.rejoin(clock::now(), leg);
                }
            }
            Command::NoteDiverged => self.around.counters.0.diverged.up(),
            Command::Fail(cause) => self.fail(cause),
            Command::Bury => self.host.bury(),
            Command::Ended => self.end(),
        }
    }

    fn take_connection(&mut self, leg: Leg) -> Option<Connection> {
        match std::mem::take(&mut self.slots[leg as usize]) {
            Slot::Open(connection) => Some(connection),
            Slot::Empty | Slot::Connecting(_) | Slot::Draining(_) => None,
        }
    }

    fn reset(&mut self, leg: Leg, reason: Reason) {
        let slot = std::mem::take(&mut self.slots[leg as usize]);
        if !matches!(slot, Slot::Empty | Slot::Draining(_)) {
            self.around.counters.0.dropped(reason);
        }
        match slot {
            Slot::Open(connection) if self.leaves_unused(reason) => {
                if let Some(tcp) = connection.leave() {
                    self.around.lingering.add(&self.runtime, tcp, true);
                }
            }
            slot => self.drop_slot(slot),
        }
    }

    /// Returns whether a client gives up a connection on which it has not used the flow.
    /// The server may have opened a flow, and its application must not take the end for a reset by an application.
    fn leaves_unused(&self, reason: Reason) -> bool {
        let is_unused = match reason {
            // Another server has opened its own flow.
            Reason::OtherInstance => true,
            Reason::Event(Event::Abort | Event::LegDeadline) => !self.app.opened,
            _ => false,
        };
        is_unused && self.flow.role() == Role::Client && self.flow.is_by_hello()
    }

    pub(super) fn drop_slot(&self, slot: Slot) {
        match slot {
            Slot::Open(connection) => connection.reset(),
            // With pairing by hello, an unfinished attempt can be dropped, because no byte of the flow was sent on it.
            // With pairing by port, the server waits for this connection.
            Slot::Connecting(attempt) if self.flow.is_by_hello() => drop(attempt),
            Slot::Connecting(attempt) => self.around.lingering.give_up(&self.runtime, attempt),
            Slot::Draining(leg) => self.around.lingering.add(&self.runtime, leg, false),
            Slot::Empty => {}
        }
    }

    fn fail(&mut self, cause: Cause) {
        let error = match cause {
            Cause::Leg(leg) => match self.errors[leg as usize].take() {
                Some(error) => error,
                None => io::ErrorKind::ConnectionReset.into(),
            },
            Cause::LegDeadline => RepNetError::LegDeadline {
                within: self.around.leg_deadline,
            }
            .into(),
            Cause::ArchiveFull => RepNetError::ArchiveFull {
                cap: self.around.archive_cap,
            }
            .into(),
            Cause::Diverged => RepNetError::Diverged {
                delivered: self.flow.delivered(),
            }
            .into(),
        };
        self.app.failure = Some(error);
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.counted.ended, true) {
            return;
        }
        let counters = self.around.counters.clone();
        counters.0.live.down();
        match self.winner() {
            Some(Leg::First) => counters.0.won_first.up(),
            Some(Leg::Second) => counters.0.won_second.up(),
            None => {}
        }
        self.app.ended = true;
        for leg in Leg::ALL {
            let slot = std::mem::take(&mut self.slots[leg as usize]);
            self.drop_slot(slot);
        }
        self.host.bury();
        self.wake();
        self.wake_driver();
    }
}
